"""Commands that pack, unpack and patch: which paths they write."""

from __future__ import annotations

import os

from dibs.shell.options import has, last
from dibs.shell.unknown import MAX_NAMES, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.shell.call import ProgramCall
    from dibs.shell.options import Given
    from dibs.shell.unknown import Field

MAX_PATCH_BYTES = 1 << 20  # read of a patch file for its file names
MAX_UNPACKED_BYTES = 16 << 20  # of a compressed archive whose names are looked up; a tenth of a second or two
LIST_TIMEOUT_MS = 200  # for the names in an archive


def pack(call: ProgramCall, suffixes: str, keeps: str = "") -> None:
    """Gzip and its like: FILE becomes FILE.gz; with -d, the other way round."""
    given, _ = call.options(*_PACKER_VALUES)
    _compress(call, suffixes.split(), keeps=bool(keeps), unpacks=has(given, "d", "decompress", "uncompress"))


def unpack(call: ProgramCall, suffixes: str, keeps: str = "") -> None:
    """Gunzip and its like: FILE.gz becomes FILE."""
    _compress(call, suffixes.split(), keeps=bool(keeps), unpacks=True)


_PACKER_VALUES = ("SboT", ("suffix", "threads", "output"))


def _compress(call: ProgramCall, suffixes: list[str], *, keeps: bool, unpacks: bool) -> None:
    given, operands = call.options(*_PACKER_VALUES)
    if has(given, "c", "stdout", "to-stdout", "t", "test", "l", "list"):
        return
    if has(given, "o", "output"):
        call.write(last(given, "o", "output"))
    if has(given, "r", "recursive"):
        for path in operands:
            call.write(path)
        return
    for path in operands:
        if not isinstance(path, str):
            call.doubt(path)
            continue
        if not keeps and not has(given, "k", "keep"):
            call.write(path, "delete")
        call.write(_plain_name(path, suffixes) if unpacks else path + suffixes[0])


def _plain_name(path: str, suffixes: list[str]) -> str:
    for suffix, plain in ((".tgz", ".tar"), (".tbz2", ".tar"), (".tbz", ".tar"), (".txz", ".tar"), (".tzst", ".tar")):
        if path.endswith(suffix):
            return path.removesuffix(suffix) + plain
    for suffix in suffixes:
        if path.endswith(suffix):
            return path.removesuffix(suffix)
    return path + ".out"


def tar(call: ProgramCall) -> None:
    """Creating writes the archive; for extracting, only the folder is in the words."""
    first = call.words[1] if len(call.words) > 1 else "-"
    if isinstance(first, str) and first and not first.startswith("-"):
        # The old style: `tar xzf a.tgz`, the values follow in order.
        call.words[1] = "-" + (first.replace("f", "") + "f" if "f" in first else first)
    given, operands = call.options(
        "fCTXIbgHKNVL", ("file", "directory", "files-from", "exclude", "exclude-from", "use-compress-program")
    )
    if has(given, "x", "extract", "get"):
        nowhere = ("C", "") in given or ("directory", "") in given  # an empty name is no folder: it ends there
        if not has(given, "O", "to-stdout") and not nowhere:
            folder = last(given, "C", "directory") or "."
            renamed = has(given, "T", "files-from", "strip-components", "transform", "xform", "wildcards")
            members = None if renamed or operands else _members(call, last(given, "f", "file"), tar_names)
            if members is not None and isinstance(folder, str):
                call.write(Unknown([_in_folder(folder, name) for name in members], whole=True))
            elif operands and isinstance(folder, str) and not renamed:
                call.doubt(*[_in_folder(folder, name) for name in operands])
            else:
                call.doubt_in(folder)
    elif has(given, "c", "create", "r", "append", "u", "update", "A", "concatenate", "delete"):
        archive = last(given, "f", "file")
        if archive != "":
            call.write(archive)
    if has(given, "remove-files"):
        for path in operands:
            call.write(path, "delete")


def _in_folder(folder: str, name: Field) -> str:
    """A member of an archive, where it is put."""
    if not isinstance(name, str) or any(mark in name for mark in "*?["):
        return f"{folder.rstrip('/')}/"
    return name if folder == "." else f"{folder.rstrip('/')}/{name}"


def _members(call: ProgramCall, archive: Field, names: Callable[[str, int], list[str]]) -> list[str] | None:
    """The files in an archive that is there and that the command has not made; None if they are not known."""
    if not isinstance(archive, str) or archive in {"", "-"} or (call.cwd is None and not archive.startswith("/")):
        return None
    path = call.full(archive)
    if call.reading.opened or call.reading.is_written(path):
        return None
    path = next((place for place in (path, f"{path}.zip", f"{path}.ZIP") if os.path.isfile(place)), "")
    if not path:
        return []  # there is no such archive, and nothing is unpacked
    from dibs.machine import clock

    try:
        members = names(path, clock.since_boot() + LIST_TIMEOUT_MS)
    except Exception:  # noqa: BLE001 - a damaged archive, or one of another kind: each library has errors of its own
        return None
    return members if len(members) <= MAX_NAMES else None


def tar_names(path: str, until: int) -> list[str]:
    """The names in a tar archive."""
    import tarfile

    from dibs.machine import clock

    members: list[str] = []
    # A compressed one is unpacked to its end for the names; in others one name leads to the next.
    with tarfile.open(path, "r:*" if os.stat(path).st_size <= MAX_UNPACKED_BYTES else "r:") as archive:
        for member in archive:
            if clock.since_boot() > until or len(members) > MAX_NAMES:
                raise TimeoutError
            members += [] if member.isdir() else [member.name.lstrip("/")]
    return members


def zip_names(path: str, _until: int) -> list[str]:
    """The names in a zip archive: its directory is at its end."""
    import zipfile

    with zipfile.ZipFile(path) as archive:
        return [name.lstrip("/") for name in archive.namelist() if not name.endswith("/")]


def zip_archive(call: ProgramCall) -> None:
    """The archive; -m deletes the files."""
    given, operands = call.options("bnotixP")
    for path in operands[:1]:
        call.write(path if not isinstance(path, str) or "." in os.path.basename(path) else path + ".zip")
    if has(given, "m", "move"):
        for path in operands[1:]:
            call.write(path, "delete")


def unzip(call: ProgramCall) -> None:
    """What is in the archive, in the folder that the words name."""
    given, operands = call.options("dPx")
    if has(given, "l", "p", "t", "Z", "v", "c", "z") or ("d", "") in given:
        return
    folder = last(given, "d") or "."
    names = None if has(given, "j", "a", "aa", "L", "x") else _members(call, operands[0] if operands else "", zip_names)
    if names is not None and isinstance(folder, str):
        call.write(Unknown([_in_folder(folder, name) for name in names], whole=True))
    else:
        call.doubt_in(folder)


def seven(call: ProgramCall) -> None:
    """`7z x -oDIR`, `7z a ARCHIVE`: the archive, or what is in it."""
    words = [word for word in call.words[1:] if isinstance(word, str) and not word.startswith("-")]
    if words[:1] in (["x"], ["e"]):
        folders = [word[2:] for word in call.words[1:] if isinstance(word, str) and word.startswith("-o")]
        call.doubt_in(folders[0] if folders else ".")
    elif words[:1] in (["a"], ["u"], ["d"], ["rn"]) and len(words) > 1:
        call.write(words[1] if "." in os.path.basename(words[1]) else words[1] + ".7z", merges=words[0] != "a")
    elif words[:1] not in (["l"], ["t"], ["h"], ["i"], ["b"]):
        call.doubt()


def cpio(call: ProgramCall) -> None:
    """Copied in, or passed on to another folder."""
    given, operands = call.options("CDEFHIMORW", ("directory", "file", "pattern-file", "format"))
    if has(given, "i", "extract", "p", "pass-through"):
        call.doubt_in(
            operands[0] if operands and has(given, "p", "pass-through") else last(given, "D", "directory") or "."
        )
    elif has(given, "O", "F", "file"):
        call.write(last(given, "O", "F", "file"))


def split(call: ProgramCall) -> None:
    """The names of the pieces are a prefix with a counter."""
    _, operands = call.options("abCdlnt", ("suffix-length", "bytes", "lines", "number", "line-bytes"))
    call.doubt(operands[1] if len(operands) > 1 else "x")


def csplit(call: ProgramCall) -> None:
    """The same; an option names the prefix."""
    given, _ = call.options("bfnk", ("prefix", "suffix-format", "digits"))
    call.doubt(last(given, "f", "prefix") or "xx")


def patch(call: ProgramCall) -> None:
    """The file that is named, or those that the patch names."""
    from dibs.shell import git_outputs as shell_git_outputs
    from dibs.shell import patches

    long = "strip input output directory reject-file fuzz suffix prefix basename-prefix ifdef"
    given, operands = call.options("pioFdrzBDgVxY", tuple(long.split()))
    if has(given, "dry-run"):
        return
    folder = last(given, "d", "directory")
    if not isinstance(folder, str) or (folder and call.cwd is None and not folder.startswith("/")):
        call.doubt(folder)
        return
    if has(given, "o", "output") or operands:
        to = last(given, "o", "output") or operands[0]
        call.write(os.path.join(folder, to) if isinstance(to, str) else to, merges=not has(given, "o", "output"))
        return
    source = last(given, "i", "input")
    files = shell_git_outputs.patch_files(call) if source == "" else None
    for path in files or ():
        call.write(path, merges=True)
    if files is not None:
        return
    if isinstance(source, str):
        source = os.path.join(folder, source) if source and folder else source
    text = _patch_text(call, source if isinstance(source, str) else None)
    count = last(given, "p", "strip")
    count = count if isinstance(count, str) else ""
    names = _named(patches.stripped(text, int(count)) if count.isdigit() and len(count) < 4 else [], text, given)  # noqa: PLR2004
    for name in names:
        call.write(os.path.join(folder, name), merges=True)
        if has(given, "b", "backup"):
            call.write(f"{os.path.join(folder, name)}{last(given, 'z', 'suffix') or '.orig'}")
    if not names:
        call.doubt_in(folder or ".")


def _named(names: list[str], text: str, given: Given) -> list[str]:
    """Without -p, patch uses base names; the whole paths are added, so that nothing is missed."""
    from dibs.shell import patches

    if names or has(given, "p", "strip"):
        return names
    return [*(os.path.basename(name) for name in patches.stripped(text, 0)), *patches.diff_paths(text)]


def _patch_text(call: ProgramCall, source: str | None) -> str:
    if source == "" and call.stdin:
        text = call.stdin.raw or call.stdin.text
        source = call.stdin.file or call.stdin.source()
        if text or not source or call.reading.is_written(call.full(source)):
            return text or ""
    if not source or (call.cwd is None and not source.startswith("/")):
        return ""
    try:
        with open(call.full(source), encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(MAX_PATCH_BYTES + 1)
    except (OSError, ValueError):
        return ""
    return text if len(text) <= MAX_PATCH_BYTES else ""


def apply_patch(call: ProgramCall) -> None:
    """Codex's own tool, as a command: the patch is its input or its only word."""
    from dibs.shell import patches

    word = call.words[1] if len(call.words) > 1 else _patch_text(call, "")
    text = word if isinstance(word, str) else ""
    try:
        files = patches.paths(text)
    except ValueError:
        files = []
    added = patches.added(text)
    for action, path in files:
        target = call.write(path, "delete" if action == "delete" else "write", merges=action == "update")
        if target and action == "add":
            target.says(added.get(path))
    if not files:
        call.doubt()
