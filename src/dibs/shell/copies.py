"""Commands that copy or move files (cp, mv, ln, rsync, …): which paths they write."""

from __future__ import annotations

import os

from dibs.shell.globs import LimitReached
from dibs.shell.options import has, last
from dibs.shell.unknown import ANY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.options import Fields, Given
    from dibs.shell.unknown import Field


def _into(call: ProgramCall, folder: Field, source: Field, how: str = "write") -> None:
    """Put a source into a directory under its own name."""
    if not isinstance(folder, str) or not isinstance(source, str):
        call.doubt_in(folder)
        return
    name = os.path.basename(source.rstrip("/"))
    if name in {"", ".", ".."}:
        _contents(call, folder, source, how)
    else:
        _arrives(call, source, os.path.join(folder, name), how)


def _arrives(call: ProgramCall, source: str, to: str, how: str) -> None:
    """Put a source at this path; a directory with everything in it."""
    call.write(to, how)
    if call.cwd is None and not to.startswith("/"):
        return
    place = call.full(to)
    if how == "write":
        call.reading.copied(call.full(source), place)
    if how == "symlink":
        call.interpreter.view.linked(place, os.path.join(os.path.dirname(place), source))
    elif how == "link":
        call.interpreter.view.linked(place, call.full(source))
    elif not os.path.isfile(call.full(source)):
        call.interpreter.view.whole(place)


def _contents(call: ProgramCall, folder: str, source: str, how: str) -> None:
    """Put a directory's contents into another one."""
    try:
        known = call.cwd is not None or source.startswith("/")
        names = call.interpreter.view.entries(call.full(source)) if known else []
    except LimitReached:
        names = []
    for name in names:
        call.write(os.path.join(folder, name), how)
    if not names:
        call.write(folder, how)


def _copy(call: ProgramCall, sources: Fields, to: Field, given: Given, how: str = "write") -> None:
    """Put sources at a path, or into it if it is a directory."""
    plain = has(given, "T", "no-target-directory")
    if not isinstance(to, str):
        call.write(to)
        return
    first = sources[0] if plain and how == "write" and len(sources) == 1 else ANY
    if isinstance(first, str) and call.is_directory(first) and call.is_directory(to):
        _contents(call, to, first, how)
        return
    inside = not plain and (len(sources) > 1 or call.is_directory(to))
    for source in sources:
        if inside:
            _into(call, to, source, how)
        else:
            _arrives(call, source if isinstance(source, str) else ".", to.rstrip("/") or to, how)


_COPY_SHORT, _COPY_LONG = "tSgmo", ("target-directory", "suffix", "group", "mode", "owner")


def _places(call: ProgramCall, short: str, long: tuple[str, ...]) -> tuple[Given, Fields, Field]:
    """Options, sources and destination; "" if no destination is given."""
    given, operands = call.options(short, long)
    if has(given, "t", "target-directory"):
        into = last(given, "t", "target-directory")
        return given, operands, into.rstrip("/") + "/" if isinstance(into, str) else into
    if len(operands) < 2:  # noqa: PLR2004 - a source and a place
        return given, operands, ""
    return given, operands[:-1], operands[-1]


def cp(call: ProgramCall) -> None:
    """Each source at its new place."""
    given, sources, to = _places(call, "tS", ("target-directory", "suffix"))
    if to == "":
        return
    if has(given, "parents") and isinstance(to, str):
        for source in sources:
            if isinstance(source, str):
                call.write(os.path.join(to, source.lstrip("/")))
            else:
                call.doubt_in(to)
        return
    if _is_kept(call, sources, to, given):
        return
    link = "symlink" if has(given, "s", "symbolic-link") else "link" if has(given, "l", "link") else "write"
    _with_backups(call, sources, to, given, link)


def _is_kept(call: ProgramCall, sources: Fields, to: Field, given: Given) -> bool:
    """`cp -n`, `mv -n`: a file that is there stays as it is."""
    if not has(given, "n", "no-clobber") or len(sources) != 1 or not isinstance(to, str):
        return False
    source = sources[0]
    if call.is_directory(to) and isinstance(source, str):
        to = os.path.join(to, os.path.basename(source.rstrip("/")))
    return call.cwd is not None and os.path.isfile(call.full(to)) and not call.reading.is_written(call.full(to))


def _with_backups(call: ProgramCall, sources: Fields, to: Field, given: Given, how: str = "write") -> None:
    """The same, and with -b the copies of what was there."""
    before = {id(target): len(target.acts) for target in call.reading.writes}
    _copy(call, sources, to, given, how)
    if not has(given, "b", "backup", "S", "suffix"):
        return
    kind, suffix = last(given, "backup"), last(given, "S", "suffix") or "~"
    for target in [target for target in call.reading.writes if len(target.acts) > before.get(id(target), 0)]:
        there = id(target) in before or os.path.isfile(target.path)
        if target.how != "move" and there and isinstance(suffix, str):
            if kind in {"", "simple", "never", ANY}:
                call.write(target.path + suffix)
            else:
                call.doubt(target.path + ".~")


def mv(call: ProgramCall) -> None:
    """Each source, and its new place."""
    given, sources, to = _places(call, "tS", ("target-directory", "suffix"))
    if to == "":
        return
    if _is_kept(call, sources, to, given):
        return
    for source in sources:
        call.write(source, "move")
    _with_backups(call, sources, to, given)


def install(call: ProgramCall) -> None:
    """Each source at its new place; -d only makes directories."""
    given, sources, to = _places(call, "tSgmo", (*_COPY_LONG, "strip-program"))
    if not has(given, "d", "directory") and to != "":
        _with_backups(call, sources, to, given)


def link(call: ProgramCall) -> None:
    """The new name."""
    for path in call.options()[1][1:]:
        call.write(path, "link")


def ln(call: ProgramCall) -> None:
    """The new name; without one, the same name here."""
    given, sources, to = _places(call, "tS", ("target-directory", "suffix"))
    how = "symlink" if has(given, "s", "symbolic") else "link"
    if to == "":
        for source in sources:
            _into(call, ".", source, how)
        return
    if has(given, "n", "h", "no-dereference") and isinstance(to, str) and os.path.islink(call.full(to)):
        given = [*given, ("T", None)]
    _with_backups(call, sources, to, given, how)


def rsync(call: ProgramCall) -> None:
    """Files copied to a local destination."""
    long = (
        "exclude", "include", "filter", "rsh", "rsync-path", "files-from", "exclude-from", "include-from", "temp-dir",
        "backup-dir", "suffix", "chmod", "chown", "log-file", "partial-dir", "compare-dest", "copy-dest", "link-dest",
        "bwlimit", "timeout", "port", "max-size", "min-size", "info", "debug", "out-format", "block-size",
    )  # fmt: skip
    given, operands = call.options("efTBM", long)
    if len(operands) < 2 or has(given, "n", "dry-run", "list-only"):  # noqa: PLR2004 - a source and a place
        return
    to = operands[-1]
    if not isinstance(to, str):
        call.write(to)
    elif _remote(to):
        _gone(call, operands[:-1], given)
    elif has(given, "delete", "delete-before", "delete-after", "delete-during", "delete-excluded", "del", "files-from"):
        call.write(to)
    else:
        for source in operands[:-1]:
            _synced(call, source, to, several=len(operands) > 2)  # noqa: PLR2004
        _gone(call, operands[:-1], given)


def _gone(call: ProgramCall, sources: Fields, given: Given) -> None:
    if has(given, "remove-source-files"):
        for source in sources:
            if not isinstance(source, str) or not _remote(source):
                call.write(source, "delete")


def _remote(place: str) -> bool:
    """`host:path`, `rsync://…`: a colon before any slash."""
    return ":" in place.split("/", 1)[0]


def _synced(call: ProgramCall, source: Field, to: str, *, several: bool) -> None:
    if not isinstance(source, str):
        call.doubt_in(to)
    elif _remote(source):
        if not source.endswith("/") and call.is_directory(to):
            _into(call, to, source.partition(":")[2])
        else:
            call.write(to)
    elif source.endswith("/"):
        _contents(call, to, source, "write")
    elif several or call.is_directory(to) or call.env.is_directory(call.full(source)):
        _into(call, to, source)
    else:
        call.write(to)


def scp(call: ProgramCall) -> None:
    """Files received at a local destination."""
    given, operands = call.options("cDFiJloPSX")
    to = operands[-1] if len(operands) > 1 else "host:"
    if not isinstance(to, str) or not _remote(to):
        sources = [word.rpartition(":")[2] if isinstance(word, str) else word for word in operands[:-1]]
        _copy(call, sources, to, given)
