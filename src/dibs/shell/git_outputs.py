"""What git commands print: the names of files, the top of the working tree, a patch."""

from __future__ import annotations

import os

from dibs.machine import links
from dibs.shell.programs import GIT
from dibs.shell.unknown import ANY, MAX_NAMES, PLAIN, Later, Unknown, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.streams import Printer
    from dibs.shell.unknown import Field


GIT_TIMEOUT_S = 1.0


def git_words(call: Printer) -> tuple[str | None, list[str]]:
    """A git command's directory, and its words after git's own options; none if some are unknown."""
    end, cwd = 1, call.cwd
    while end < len(call.words) and str(call.words[end]).startswith("-"):
        if call.words[end] == "-C":
            there = call.words[end + 1] if end + 1 < len(call.words) else ""
            known = isinstance(there, str) and (cwd is not None or there.startswith("/"))
            cwd = os.path.join(cwd or "/", there) if known and isinstance(there, str) else None
        end += 2 if call.words[end] in {"-C", "-c"} else 1
    words = [word for word in call.words[end:] if isinstance(word, str)]
    return cwd, words if len(words) + end == len(call.words) else words[:1]


_GIT_PLAIN = frozenset((
    "branch", "config", "describe", "log", "merge-base", "name-rev", "rev-list", "rev-parse", "shortlog", "stash",
    "symbolic-ref", "tag",
))  # fmt: skip
_PATHS_ONLY = ("--name-only", "--name-status", "-l", "--files-with-matches", "--porcelain", "-s", "--short")


def text(call: ProgramCall) -> Field:
    """What a git command prints."""
    cwd, words = git_words(call)
    if words == ["rev-parse", "--show-toplevel"]:
        here = top(cwd)
        return ANY if here is None else f"{here}\n"
    if not words:
        return ANY
    name = words[0]
    if name == "rev-parse" and any(word in {"--git-dir", "--git-common-dir"} for word in words):
        inside = cwd is not None and os.path.isdir(os.path.join(cwd, ".git"))
        return ".git\n" if inside and len(words) == 2 else ANY  # noqa: PLR2004 - nothing else is asked
    if name in _GIT_PLAIN and not any(word.startswith(("--show-toplevel", "--absolute")) for word in words):
        return PLAIN
    if name == "ls-files" or any(word in _PATHS_ONLY for word in words):
        around = _beginnings(cwd, words)
        whole = len([word for word in call.words if isinstance(word, str)]) == len(call.words)
        if call.reading.opened or not whole or cwd is None or not isinstance(around, Unknown):
            return around
        return Later(lambda: _names(cwd, words, around))
    return ANY


def _names(cwd: str, words: list[str], around: Unknown) -> Unknown:
    names = _ask(cwd, words)
    return around if names is None else Unknown(names, whole=True)


# Commands that git itself is asked, with the options that change nothing but the list; and how it is asked.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "ls-files": ("-z", "-c", "--cached", "-m", "--modified", "-d", "--deleted", "-o", "--others", "--exclude-standard"),
    "diff": ("-z", "--name-only", "--cached", "--staged", "--no-renames", "HEAD"),
    "grep": ("-l", "-z", "-lz", "-il", "-li", "-lw", "-lE", "-lF", "-lP", "-i", "-w", "-E", "-F", "-P", "-I",
             "--name-only", "--files-with-matches", "--ignore-case", "--word-regexp", "--extended-regexp",
             "--fixed-strings"),
}  # fmt: skip
_SAFELY = {
    "ls-files": ("ls-files", "-z"), "diff": ("diff", "-z", "--no-ext-diff", "--no-textconv"),
    "grep": ("grep", "-z", "-l", "--no-textconv"),
}  # fmt: skip


def _ask(cwd: str, words: list[str]) -> list[str] | None:
    """What git lists; None if it is too much, or if git is asked in a way that is not known here."""
    allowed = _OPTIONS.get(words[0])
    if allowed is None:
        return None
    options = [word for word in words[1:] if word.startswith("-") and word != "--"]
    if any(word not in allowed and not word.startswith("--diff-filter=") for word in options):
        return None
    from dibs.errors import DibsError
    from dibs.git import queries

    try:
        out = queries.ask(
            cwd, *queries.PLAIN, *_SAFELY[words[0]], *words[1:], timeout=GIT_TIMEOUT_S, fine=(0, 1)
        ).out  # fmt: skip
    except (DibsError, OSError):
        return None
    names = [os.fsdecode(name) for name in out.split(b"\0") if name]
    return names if len(names) <= MAX_NAMES else None


def _beginnings(cwd: str | None, words: list[str]) -> Field:
    """File names relative to the directory or to the top: below the named folders, or below the directory."""
    if any(".." in word.split("/") for word in words) or cwd is None:
        return ANY
    behind = words[words.index("--") + 1 :] if "--" in words else words[1:]
    folders = [word for word in behind if not word.startswith("-") and os.path.isdir(os.path.join(cwd, word))]
    plain = not any(mark in word for word in behind for mark in "*?[:")
    whole = "--" in words and plain and len(folders) == len([word for word in behind if not word.startswith("-")])
    if folders and (words[0] == "ls-files" or os.path.exists(os.path.join(cwd, ".git"))) and (
        whole or words[0] in {"ls-files", "grep"}
    ):  # fmt: skip
        return either([_below(word) for word in folders]) if plain else PLAIN
    return PLAIN


def _below(name: str) -> str:
    """The beginning of the names below a starting point."""
    return name if name.endswith("/") or os.path.splitext(name)[1] else name + "/"


def top(cwd: str | None) -> str | None:
    """The top of the working tree."""
    if cwd is None:
        return None
    here = links.real(cwd)
    while not os.path.exists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above
    return here


def patch_files(call: ProgramCall) -> list[str] | None:
    """The files of the patch that `git diff` puts on the input; None if it comes from anything else."""
    printer = call.stdin.printer() if call.stdin else None
    if printer is None or printer.name != GIT or call.reading.opened:
        return None
    cwd, words = git_words(printer)
    whole = cwd is not None and not any(isinstance(word, Unknown) for word in printer.words)
    return _diff_files(cwd, words) if whole and cwd is not None else None


def _diff_files(cwd: str, words: list[str]) -> list[str] | None:
    """The files, absolute, in the patch that `git diff` or `git show` prints; None if it is not known."""
    odd = ("--output", "--no-index", "--relative", "--ext-diff", "--textconv", "--src-prefix", "--dst-prefix", "-o")
    if words[:1] not in (["diff"], ["show"]) or any(word.startswith(odd) for word in words):
        return None
    from dibs.errors import DibsError
    from dibs.git import queries

    plain = [words[0], "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"]
    plain += ["--format="] if words[0] == "show" else []
    try:
        out = queries.ask(cwd, *queries.PLAIN, *plain, *words[1:], timeout=GIT_TIMEOUT_S).out
    except (DibsError, OSError):
        return None
    here = top(cwd) or cwd
    return [os.path.join(here, os.fsdecode(name).strip("\n")) for name in out.split(b"\0") if name.strip()]
