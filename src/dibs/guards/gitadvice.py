"""Texts about a git command: how it was typed, and the beginning of the safe command that a refusal proposes.

The agent's own options (its message, its author, its flags) are kept; left out are paths, and options that would take
in more than is named.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.git.effects import GitEffect

MAX_VALUE_CHARS = 200  # of an option's value, in a safe command
MAX_COMMAND_CHARS = 120  # of the command, in a refusal
IN_A_FILE = "Write the patch into a file first, and name it."
NEW_TREE = "`git worktree add`"  # in a text for refusals: the door puts the place in
OWN_TREE = f"Work in a working tree of your own ({NEW_TREE}), or wait until they have committed."
MAX_NAMES_TRIED = 100  # for a new folder


def placed(text: str, session: Session, where: str) -> str:
    """A text for a refusal with the whole command for a new working tree, to be typed as it is."""
    if NEW_TREE not in text:
        return text
    return text.replace(NEW_TREE, f"`git worktree add {quoted(new_place(session, where))}`")


def new_place(session: Session, where: str, name: str = "") -> str:
    """A folder next to the main working tree that does not exist, as it is typed in a directory.

    Without a name, git names a new branch after the folder, so there must be no such branch either.
    """
    root, branches = session.place.root, f"{session.place.common}/refs/heads"
    parent = os.path.dirname(root)
    base = f"{os.path.basename(root)}-{name}" if name else os.path.basename(root)
    folder = base
    for number in range(1 if name else 2, MAX_NAMES_TRIED):
        folder = base if number == 1 else f"{base}-{number}"
        taken = os.path.lexists(f"{parent}/{folder}") or (not name and os.path.lexists(f"{branches}/{folder}"))
        if not taken:
            break
    return f"../{folder}" if os.path.dirname(os.path.realpath(where)) == parent else f"{parent}/{folder}"


def what(effect: GitEffect) -> str:
    """The command as the agent gave it."""
    shown = effect.text or " ".join([word if word is not None else "…" for word in effect.words])
    shown = " ".join(shown.split())
    return shown if len(shown) <= MAX_COMMAND_CHARS else shown[: MAX_COMMAND_CHARS - 1] + "…"


def git_prefix(effect: GitEffect) -> list[str]:
    """`git` with the options before the subcommand."""
    return [_value(word) for word in effect.words[: effect.at]]


def without_paths(
    effect: GitEffect,
    *,
    verb: str = "",
    drop: tuple[str, ...] = (),
    keep: tuple[str, ...] | None = None,
    also: tuple[str, ...] = (),
) -> str:
    """The same command with its options as they were typed, and without its paths."""
    from dibs.git import subcommands

    short, long, _ = subcommands.KINDS[effect.kind]
    told = [*git_prefix(effect), verb or effect.kind]
    words = effect.words[effect.at + 1 :]
    i = 0
    while i < len(words) and words[i] != "--":
        word = words[i] or ""
        i += 1
        if len(word) < 2 or word[0] != "-":  # noqa: PLR2004 - a lone dash is no option
            continue
        if word.startswith("--"):
            name, equals, _ = word[2:].partition("=")
            value = i < len(words) and not equals and name in long
            if _kept(name, drop, keep):
                told += [_value(word), *([_value(words[i])] if value else [])]
            i += bool(value)
            continue
        flags, letter, attached = _cluster(word, short)
        flags = "".join([flag for flag in flags if _kept(flag, drop, keep)])
        value = bool(letter) and not attached and i < len(words)
        if letter and _kept(letter, drop, keep):
            told += [f"-{flags}{letter}", *([_value(words[i])] if value else [_value(attached)])]
        elif flags:
            told.append(f"-{flags}")
        i += bool(value)
    return " ".join([*told, *also])


def _kept(name: str, drop: tuple[str, ...], keep: tuple[str, ...] | None) -> bool:
    return name not in drop and name != "pathspec-from-file" and (keep is None or name in keep)


def _cluster(word: str, short: str) -> tuple[str, str, str]:
    """`-amMSG` is the flags `a`, the option `m` that takes a value, and the value, "" if that is the next word."""
    for at in range(1, len(word)):
        if word[at] in short:
            return word[1:at], word[at], word[at + 1 :]
    return word[1:], "", ""


def _value(word: str | None) -> str:
    return "…" if word is None or len(word) > MAX_VALUE_CHARS else quoted(word)


def quoted(text: str) -> str:
    """Quoted as one word for a shell."""
    plain = text and all(letter.isalnum() or letter in "/._-+@%,=:" for letter in text)
    name, equals, value = text.partition("=")
    if not plain and equals and name.startswith("--") and name.replace("-", "").isalnum():
        return f"{name}={quoted(value)}"
    return text if plain else "'" + text.replace("'", "'\\''") + "'"
