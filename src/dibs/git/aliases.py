"""The git commands of a line, with aliases resolved, and commands that git starts for each submodule.

Git is asked (`git config --get alias.NAME`) only for a subcommand that is not built in. An alias that begins with
`!` is a text for the shell and is read as one: what it writes is added to what the line writes.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.git import effects as git_effects
from dibs.git.plumbing import FETCH_LONG
from dibs.git.subcommands import top_of
from dibs.machine import caller
from dibs.shell.options import leading, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.effects import GitEffect
    from dibs.shell.findings import Reading, Simple

MAX_ALIAS_HOPS = 5  # aliases of aliases
MAKES_NAMES = frozenset({"tag", "fetch", "remote"})  # change only what names mean, nothing that other agents work on
MAX_SUBMODULES = 64  # each is looked into


def effects(reading: Reading) -> list[GitEffect]:
    """What the git commands of a line would do, in order; shell texts among them are added to the reading."""
    found: list[GitEffect] = []
    fetched: list[tuple[str, str]] = []
    later = False
    for simple in list(reading.git):
        for effect in _of(reading, simple, 0):
            effect.fetched, effect.later = list(fetched), later
            found.append(effect)
            later = True
        fetched += _fetches(simple)
        later = later or any(word in MAKES_NAMES for word in simple.words[1:])
    return [effect for effect in found if not effect.dry]


def _patched(reading: Reading, effect: GitEffect, text: str, file: str, files: list[str] | None) -> None:
    """The files of a patch on the input of `git apply`."""
    from dibs.git import subcommands

    if files is not None:
        effect.unknown, effect.paths = False, files
    elif text or not reading.is_written(file):
        subcommands.patched(effect, text or subcommands.text_of(file))


def _fetches(simple: Simple) -> list[tuple[str, str]]:
    """The remotes and refspecs that a command fetches; "" for the configured ones."""
    end, _ = leading(simple.words, "Cc", ("git-dir", "work-tree", "namespace"))
    name = simple.words[end] if end < len(simple.words) else ""
    if name in {"pull", "remote"}:
        return [("", "")]
    if name != "fetch":
        return []
    operands = [word or "" for word in options(simple.words[end + 1 :], "jo", FETCH_LONG)[1]]
    remote = operands[0] if operands else ""
    return [(remote, spec) for spec in operands[1:]] or [(remote, "")]


def _of(reading: Reading, simple: Simple, hops: int) -> list[GitEffect]:
    """The effects of one command: its own, or those of the alias's command."""
    effect = git_effects.effect(simple.words, simple.cwd, simple.assignments)
    if effect is None:
        return []
    effect.text = simple.text
    if effect.kind == "apply" and effect.action == "input" and simple.given != ("", "", None):
        _patched(reading, effect, *simple.given)
    if effect.kind == "submodule" and effect.action == "foreach":
        return _each_submodule(reading, effect, hops)
    if effect.force and effect.tree and effect.has("recurse-submodules") and effect.cwd is not None:
        return [effect, *_in_submodules(effect)]
    if effect.kind != "unknown" or effect.unknown or effect.cwd is None or hops >= MAX_ALIAS_HOPS:
        return [effect]
    meant = _given(effect) or _alias(effect.cwd, effect.words[effect.at] or "")
    if not meant:
        return [effect]
    rest = effect.words[effect.at + 1 :]
    if meant.startswith("!"):
        words = " ".join([meant[1:], *[_quoted(word) for word in rest]])
        return _script(reading, words, top_of(effect.cwd), hops)
    from dibs import shell
    from dibs.shell.findings import Simple as Command

    inner = shell.read(f"git {meant}", effect.cwd)
    if not inner.git:
        return [effect]
    words_meant = [*effect.words[: effect.at], *inner.git[0].words[1:], *rest]
    return _of(reading, Command(words_meant, simple.cwd, simple.text, simple.assignments), hops + 1)


def _script(reading: Reading, text: str, cwd: str, hops: int) -> list[GitEffect]:
    """A text for the shell that git would run."""
    from dibs import shell

    if hops >= MAX_ALIAS_HOPS:
        reading.doubt(text)
        return []
    inner = shell.read(text, cwd, home=caller.environ().get("HOME", ""))
    reading.writes += inner.writes
    reading.unresolved += inner.unresolved
    reading.commands += inner.commands
    return [effect for simple in inner.git for effect in _of(reading, simple, hops + 1)]


def _each_submodule(reading: Reading, effect: GitEffect, hops: int) -> list[GitEffect]:
    """`git submodule foreach COMMAND`: the command is run in each of them."""
    after = effect.words[effect.at + 1 :]
    words = after[after.index("foreach") + 1 :]
    while words and words[0] in {"--recursive", "-q", "--quiet", "--"}:
        words = words[1:]
    if effect.cwd is None or None in words:
        reading.doubt(effect.text)
        return []
    text = str(words[0]) if len(words) == 1 else " ".join([_quoted(word) for word in words])
    found: list[GitEffect] = []
    for folder in submodules(effect.cwd)[:MAX_SUBMODULES]:
        found += _script(reading, text, folder, hops)
    return found


def _in_submodules(effect: GitEffect) -> list[GitEffect]:
    """`git reset --hard --recurse-submodules`: the files in each of them, and in those within them, are overwritten."""
    folders = submodules(effect.cwd or "")
    for folder in folders:  # it grows
        if os.path.lexists(f"{folder}/.git"):
            folders += [inner for inner in submodules(folder) if inner not in folders][: MAX_SUBMODULES - len(folders)]
    resets = [git_effects.effect(["git", "reset", "--hard"], folder) for folder in folders[:MAX_SUBMODULES]]
    known = [reset for reset in resets if reset is not None and os.path.isdir(reset.cwd or "")]
    for reset in known:
        reset.text = effect.text
    return known


def submodules(cwd: str) -> list[str]:
    """The folders of the submodules, absolute."""
    top = top_of(cwd)
    found = []
    try:
        with open(f"{top}/.gitmodules", encoding="utf-8", errors="surrogateescape") as file:
            for row in file.read(1 << 20).splitlines():
                name, equals, value = row.partition("=")
                if equals and name.strip() == "path":
                    found.append(os.path.join(top, value.strip()))
    except OSError:
        pass
    return found


def _given(effect: GitEffect) -> str:
    """The alias given by `git -c alias.NAME=… NAME`."""
    begins = f"alias.{effect.words[effect.at]}=".lower()
    for option, word in zip(effect.words, effect.words[1 : effect.at], strict=False):
        if option == "-c" and word is not None and word.lower().startswith(begins):
            return word[len(begins) :]
    return ""


def _alias(cwd: str, name: str) -> str:
    """The command of an alias; "" if there is no alias."""
    from dibs.git import queries as git

    try:
        done = git.ask(cwd, "config", "--get", f"alias.{name}", fine=(0, 1, 2, 128))
    except Unavailable:  # no such directory: then git fails there, too
        return ""
    return os.fsdecode(done.out).strip() if done.ok else ""


def _quoted(word: str | None) -> str:
    if word is None:
        return '"$UNKNOWN"'
    return "'" + word.replace("'", "'\\''") + "'"
