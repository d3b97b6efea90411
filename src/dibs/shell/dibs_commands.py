"""Finds dibs' own commands in a shell command before it runs, from the words alone: which ones, and as which agent.

It finds `dibs …` in every form: by name or path, as `.dibs/dibs`, through `python -m dibs`, `uv run` and the like,
with `DIBS_AGENT` before it, through env, or set earlier in the same command. Nothing is decided here
(operations/agents/speech.py does).
"""

from __future__ import annotations

import os

from dibs.machine import links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.shell.findings import Reading, Simple, Target

PYTHONS = ("python", "pypy")
RUNNERS = frozenset({"uv", "uvx", "pipx", "poetry", "pdm", "hatch", "rye"})  # `run dibs …`, `run -- dibs …`
OPTIONS_WITH_VALUE = frozenset({"--as", "--workspace", "--request-id", "--timeout"})  # common options that take a value
TWO_WORD_COMMANDS = frozenset({"store", "task", "run", "state", "vote"})  # commands of two words
RESERVED = frozenset(  # the same as in operations/core/authority.py
    {"kill", "revive", "seal", "prune", "init --uninstall", "store move"}
)
UNKNOWN_AGENT = "?"  # an agent that the words do not name
# How a command claims a file before it writes it: the write runs only if it was granted, or in any case
DEPENDS, BEFORE = "depends", "before"


def speaks_as(commands: Iterable[Simple]) -> list[tuple[str, str]]:
    """Each dibs command that names an agent or is reserved, as (subcommand, agent).

    "" is the caller itself. An agent that cannot be known from the words is `?`. `init --uninstall` is kept apart from
    `init`.
    """
    found: list[tuple[str, str]] = []
    for simple in commands:
        given = simple.assignments.get("DIBS_AGENT", "")
        whom = UNKNOWN_AGENT if given is None else given
        arguments = _arguments(simple.words)
        if arguments is not None:
            found.append(_read(arguments, whom))
        elif simple.words and _base(simple.words[0]) == "git" and whom:
            found.append(("git", whom))  # its hooks call dibs as that agent
    return [*dict.fromkeys([one for one in found if one[1] or one[0] in RESERVED])]


def claims_first(command: str, reading: Reading) -> dict[str, str]:
    """The files that the command itself claims before it writes them, by their paths, and how."""
    found: dict[str, str] = {}
    for place, simple in enumerate(reading.commands):
        words = _arguments(simple.words)
        if not words or words[0] != "claim" or simple.cwd is None:
            continue
        claimed = [links.real(os.path.join(simple.cwd, word)) for word in words[1:] if word and word[0] != "-"]
        # a redirection of a group, or next to a here-document, is in no single command's text
        later = [command.rpartition(simple.text)[2], *[one.text for one in reading.commands[place + 1 :]]]
        for target in reading.writes:
            real = links.real(target.path)
            if any(target.words in text for text in later) and any(_is_at(real, one) for one in claimed):
                found[target.path] = DEPENDS if _depends(command, simple.text, target) else BEFORE
    return found


def _is_at(real: str, claimed: str) -> bool:
    return real == claimed or real.startswith(f"{claimed}/")


def _depends(command: str, claim: str, target: Target) -> bool:
    """Does the write run only if the claim was granted? A sign in quotation marks may look like a separator."""
    after = command.partition(claim)[2]
    between = after[: after.rfind(target.words)].replace("&&", " ").replace(">&", " ").replace("&>", " ")
    stops = "|&" if command.lstrip().startswith("set -e") else "|&;\n"
    return not any(sign in between for sign in stops)


def _base(word: str | None) -> str:
    return (word or "").rpartition("/")[2]


def _arguments(words: Sequence[str | None]) -> list[str | None] | None:
    """The words after `dibs`, if these words start it."""
    if not words:
        return None
    name = _base(words[0])
    if name == "dibs":
        return list(words[1:])
    if name.startswith(PYTHONS):
        for place, word in enumerate(words[1:], 1):
            if word == "-m":
                return list(words[place + 2 :]) if words[place + 1 : place + 2] == ["dibs"] else None
            if word is not None and _base(word) == "dibs":
                return list(words[place + 1 :])
            if word is None or not word.startswith("-"):
                return None
    if name in RUNNERS:
        for place, word in enumerate(words[1:], 1):
            if word is not None and (_base(word) == "dibs" or _base(word).startswith(PYTHONS)):
                return _arguments(words[place:])
    return None


def _read(words: Sequence[str | None], whom: str) -> tuple[str, str]:
    """The subcommand and the agent: `--as` takes precedence over the variable."""
    loose: list[str | None] = []
    uninstall = False
    left = iter(words)
    for word in left:
        if word == "--":
            break
        if word in OPTIONS_WITH_VALUE:
            value = next(left, "")
            if word == "--as":
                whom = UNKNOWN_AGENT if value is None else value
        elif word is not None and word.startswith("--as="):
            whom = word[5:]
        elif word == "--uninstall":
            uninstall = True
        elif word is None or not word.startswith("-"):
            loose.append(word)
    first = (loose[0] if loose else "") or ""
    if first in TWO_WORD_COMMANDS and len(loose) > 1 and loose[1]:
        first = f"{first} {loose[1]}"
    return (f"{first} --uninstall" if uninstall and first == "init" else first), whom
