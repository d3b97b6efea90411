"""Which commands write no file of a working tree; any other may write anything.

An agent whose command can write nothing is not suspected when a file has changed. So a fact that is missing in a
program's row costs a doubt, and a wrong one costs a wrong answer. A command that writes only caches which git ignores
(a linter's) counts as harmless. Writers name what they write; everything else is open.
"""

from __future__ import annotations

import os

from dibs.shell.programs import function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall

_ASKS = (["--version"], ["--help"], ["-V"], ["-v"], ["version"], ["-h"], ["help"], ["-version"])
_SETUP_FILES = (
    "activate .bashrc .bash_profile .profile .zshrc nvm.sh .env env .envrc env.sh"  # files that set up a shell
)


def judge(call: ProgramCall) -> None:
    """Note whether a command may write files that it does not name, and whether it leaves something running."""
    row = call.program
    words = [word if isinstance(word, str) else "" for word in call.words[1:]]
    if "formatter" in row:
        from dibs.shell import formatters as shell_formatters

        kind = shell_formatters.judge(call)
        if kind:
            call.reading.opened = call.reading.opened or kind == "open"
            return
    if not _is_harmless(call, words):
        call.reading.opened = True
        _outputs(call)
        if "manages" in row:
            from dibs.shell import managers as shell_managers

            shell_managers.note_manifest(call)
    if "leaves" in row and _leaves(row["leaves"], words):
        call.reading.detached = True


def _is_harmless(call: ProgramCall, words: list[str]) -> bool:
    """Does this command, with these words, write no file of a working tree?"""
    row = call.program
    if words in _ASKS:
        return True
    if "rule" in row:
        name, *arguments = row["rule"]
        return bool(function(name)(call, words, *arguments))
    if "unless" in row:
        return set(row["unless"].split()).isdisjoint(words)
    if not set(row.get("only_with", "").split()).isdisjoint(words):
        return True
    first = next((word for word in words if word and not word.startswith("-")), words[0] if words else "")
    return first in row.get("verbs", "").split()


def _leaves(condition: tuple[str, str], words: list[str]) -> bool:
    """Does this command keep running after its shell has ended?"""
    return all(not needed or not set(needed.split()).isdisjoint(words) for needed in condition)


def _outputs(call: ProgramCall) -> None:
    """The files that an open program is told to write: a doubt for each that is there, and may be another agent's.

    Nothing is claimed for what a compiler makes; and a word after `-o` may be a format (`--output json`).
    """
    options, needed = call.program.get("outputs", ("", ""))
    more = options.split() if not needed or needed in call.words else ()
    for index, word in enumerate(call.words[1:], 1):
        if not isinstance(word, str) or not word.startswith("-"):
            continue
        option, equals, value = word.partition("=")
        if option in _OUTPUTS or option in more:
            path = value if equals else call.words[index + 1] if index + 1 < len(call.words) else ""
        else:
            path = word[2:] if word.startswith("-o") else ""
        if isinstance(path, str) and path and call.cwd is not None and os.path.isfile(call.full(path)):
            call.reading.may_write(call.text, call.full(path))


_OUTPUTS = frozenset((
    "--junit-xml", "--junitxml", "--log-file", "--out", "--out-file", "--outFile", "--outfile", "--output",
    "--output-file", "--output-path", "--result-file", "-o", "-out",
))  # fmt: skip


# ------------------------------------------------------------------------------------------------------------------
# Rules of single programs: does the command, with these words, write no file of a working tree?


def perl(_call: ProgramCall, words: list[str]) -> bool:
    """Is it a program that touches only the files its words name?"""
    text = " ".join(words)
    return not any(sign in text for sign in _PROGRAMS)


# In a program of perl: these start programs, open files or load what does.
_PROGRAMS = (
    "system(", "system ", "exec ", "exec(", "open(", "open ", "unlink", "rename", "print >", "qx", "`", "copy(",
    "move(", "copy ", "move ", "truncate", "link(", "File::", "Path::", "IO::", "rmtree", "make_path", "write_file",
    "spew",
)  # fmt: skip


def source(_call: ProgramCall, words: list[str]) -> bool:
    """`source x`: a file that sets up a shell does not write."""
    return bool(words) and os.path.basename(words[0]) in _SETUP_FILES.split()


def git(call: ProgramCall, _words: list[str]) -> bool:
    """Git: by its effects on files; a commit runs hooks, and a formatter's hook changes files."""
    from dibs.git import effects

    effect = effects.effect([word if isinstance(word, str) else None for word in call.words], call.cwd)
    if effect is None or effect.dry:
        return True
    if effect.kind == "unknown":
        return False
    if effect.kind in {"rm", "mv"} and not effect.unknown and not effect.all:
        return True  # edits of the files that it names
    exact = effect.paths and not effect.unknown and not effect.all
    if effect.tree and exact and effect.kind in {"checkout", "restore"}:
        return effect.cwd is not None and all(os.path.isfile(os.path.join(effect.cwd, path)) for path in effect.paths)
    if effect.kind == "commit":
        return effect.cwd is not None and not _formats(effect.cwd)
    return not effect.tree and effect.kind not in {"push", "submodule", "worktree", "bisect", "filter-branch", "gc"}


_HOOK_MANAGERS = ".pre-commit-config.yaml .husky lefthook.yml lefthook.yaml .lefthook.yml .overcommit.yml"


def _formats(cwd: str) -> bool:
    """Does this repository run formatters at a commit?"""
    from dibs.shell.git_outputs import top

    where = top(cwd)
    if where is None or any(os.path.exists(os.path.join(where, name)) for name in _HOOK_MANAGERS.split()):
        return True
    from dibs.workspace.location import common_of

    try:
        with open(f"{common_of(where)}/hooks/pre-commit", encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file]
    except OSError:
        return False
    if "# dibs:end" in lines:  # what follows is the repository's own
        lines = lines[lines.index("# dibs:end") + 1 :]
    return any(line and not line.startswith("#") for line in lines)


def unless_verb(_call: ProgramCall, words: list[str], verbs: str) -> bool:
    """All but some subcommands write nothing."""
    verb = next((word for word in words if not word.startswith("-")), "")
    return verb not in verbs.split()


def hub(call: ProgramCall, words: list[str]) -> bool:
    """A client of a service like GitHub: by its noun and verb."""
    noun, verb = ([word for word in words if not word.startswith("-")] + ["", ""])[:2]
    if noun in {"pr", "mr"}:
        return verb not in {"checkout", "co", "merge"}
    if noun in {"run", "release", "repo", "gist"}:
        return verb not in {"download", "clone", "sync", "fork"}
    return noun in call.program["verbs"].split()


def docker(call: ProgramCall, words: list[str], compose: str) -> bool:
    """By its subcommand, or by that of `compose`."""
    plain = [word for word in words if not word.startswith("-")]
    verbs = call.program["verbs"]
    if plain[:1] == ["compose"]:
        plain, verbs = plain[1:], compose
    return bool(plain) and plain[0] in verbs.split()


def rg(_call: ProgramCall, words: list[str]) -> bool:
    """`--pre` runs a command for each file."""
    return not any(word.startswith("--pre") for word in words)


def conda(call: ProgramCall, words: list[str]) -> bool:
    """`conda env export -f FILE` writes it; other subcommands read such a file."""
    plain = [word for word in words if not word.startswith("-")]
    if "export" in plain[:2]:
        return not any(word.startswith(("-f", "--file")) for word in words)
    return bool(plain) and plain[0] in call.program["verbs"].split()
