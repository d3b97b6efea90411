"""Programs that rewrite the files they are given: formatters, and linters with fixes.

With file names they are writers that merge: the file keeps its content in another format. With folders, or no operands,
they may write any file of their kinds that they find there: a doubt for each kind, and the command is open.
"""

from __future__ import annotations

import os

from dibs.shell.options import leading, options
from dibs.shell.unknown import WILDCARDS, Unknown, matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.rows import Formatter
    from dibs.shell.unknown import Field


def judge(call: ProgramCall) -> str:
    """Name the files that a formatter would write; returns closed, open, harmless, or "" if it does not apply."""
    row = call.program["formatter"]
    words = call.words[1:]
    if "verbs" in row:
        end, _ = leading(call.words, row.get("short", ""), tuple(row.get("long", "").split()))
        verb, words = str(call.words[end]) if end < len(call.words) else "", call.words[end + 1 :]
        if verb in call.program.get("fixers", {}):
            row = call.program["fixers"][verb]
        elif verb not in row["verbs"].split():
            return ""
    packages = "packages" in row
    if packages:  # after `--` come options of rustfmt and of the compiler
        words = [word for word in words if word != "--"]
    given, operands = options(words, row.get("short", ""), (*row.get("long", "").split(), *_LEAVES_OUT))
    if packages:  # `--bin NAME`, `-- -D warnings`: only rustfmt takes files
        operands = [word for word in operands if isinstance(word, str) and word.endswith(".rs")]
    if any(option in {"o", "output"} and value in row.get("no_output", "").split() for option, value in given):
        return "harmless"
    names = {option.lstrip("-") for option, _ in given}
    if "single_dash" in row:  # `-check`
        names = {word.lstrip("-").partition("=")[0] for word in words if isinstance(word, str) and word[:1] == "-"}
    only = set(row.get("only", "").split())
    if names.intersection(row.get("never", "").split()) or (only and not names & only) or names & {"help", "version"}:
        return "" if packages else "harmless"  # `cargo clippy` builds
    if operands == ["-"]:
        return "harmless"
    excluded = [str(value) for option, value in given if option in _LEAVES_OUT]
    excluded += [word[1:] for word in operands if isinstance(word, str) and word.startswith("!")]
    return _written(call, row, operands[row.get("skip", 0) :], _left_out(call, excluded))


# Options that name what a formatter leaves out: files, folders, patterns of theirs, several with commas between.
_LEAVES_OUT = (
    "exclude", "extend-exclude", "force-exclude", "skip", "extend-skip", "skip-glob", "extend-skip-glob",
    "ignore-pattern", "ignore-files",
)  # fmt: skip


def _left_out(call: ProgramCall, values: list[str]) -> list[str]:
    """The files and folders that are left out, as absolute paths or as names that count everywhere."""
    excluded: list[str] = []
    for text in ",".join(values).replace("|", ",").split(",") if values and call.cwd is not None else ():
        name = text.strip(" ^$()").replace("\\.", ".").removesuffix("/**").removesuffix("/*").removeprefix("**/")
        name = name.strip("/") if not os.path.isabs(name) or not os.path.lexists(name) else name
        if name and not any(mark in name for mark in "*?[]{}\\"):
            excluded.append(name if "/" not in name else os.path.normpath(call.full(name)))
    return excluded


def _written(call: ProgramCall, row: Formatter, operands: list[Field], without: list[str]) -> str:
    """The files, and the folders with files of its kinds."""
    folders: list[str] = ["."] if "here" in row and not operands else []
    named = 0
    for word in operands:
        if not isinstance(word, str) or word == "-" or word.startswith("!") or call.cwd is None:
            continue  # what is not known is left to the audit: a formatter keeps a file's content
        path = word.removesuffix("...")  # `./...`: the folder with all below it
        if os.path.isdir(call.full(path)):
            folders.append(path)
        elif any(mark in path for mark in WILDCARDS) and not os.path.lexists(call.full(path)):
            call.write(matches(path))  # `prettier --write "src/**/*.ts"`
        else:
            call.write(path, merges=True)
            named += 1
    for kind in row.get("kinds", "").split():
        for folder in folders:
            place = Unknown((f"{folder.rstrip('/')}/",))
            call.reading.doubt(
                call.text, place, call.cwd, end=kind.strip("*"), whole="packages" in row, without=without
            )  # fmt: skip
    return "closed" if named and named == len(operands) else "open"
