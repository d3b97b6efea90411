"""The table of commands that write files: for each, which of its words are written.

Each entry takes a `Call` and tells it the paths. What may be written counts as written: a copy that would be skipped, a
file that is not there. What a command writes and does not name is a doubt. Commands that only make directories or
change modes and owners are not in the table.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.facts.shell_commands import Call, Options, Words

PATCH_MAX = 1 << 20  # bytes of a patch file that are looked at for its names


def _has(given: Options, *names: str) -> bool:
    return any(option in names for option, _ in given)


def _value(given: Options, *names: str) -> str | None:
    """The last value of an option; "" if it was not given, None if it cannot be known."""
    found: str | None = ""
    for option, value in given:
        if option in names:
            found = value
    return found


def _operands(how: str, short: str = "", long: tuple[str, ...] = (), *, skip: int = 0) -> Callable[[Call], None]:
    """A command that writes all its operands (but the first few)."""

    def write(call: Call) -> None:
        _, operands = call.options(short, long)
        for path in operands[skip:]:
            call.write(path, how)

    return write


def _tee(call: Call) -> None:
    given, operands = call.options()
    for path in operands:
        call.write(path, "append" if _has(given, "a", "append") else "write")


# ------------------------------------------------------------------------------------------------------------------
# Copies


def _into(call: Call, folder: str | None, source: str | None, how: str = "write") -> None:
    """A source is put into a directory under its own name."""
    if folder is None or source is None:
        call.doubt()
        return
    name = os.path.basename(source.rstrip("/"))
    if name in {"", ".", ".."}:
        _contents(call, folder, source, how)
    else:
        _arrives(call, source, os.path.join(folder, name), how)


def _arrives(call: Call, source: str, to: str, how: str) -> None:
    """A source gets this path; if it is a directory, all that is in it comes along."""
    call.write(to, how)
    if how == "write" and (call.cwd is not None or to.startswith("/")) and not os.path.isfile(call.full(source)):
        call.reader.look.whole(call.full(to))


def _contents(call: Call, folder: str, source: str, how: str) -> None:
    """What is in a directory is put into another one."""
    names = call.reader.look.entries(call.full(source)) if call.cwd is not None or source.startswith("/") else []
    for name in names:
        call.write(os.path.join(folder, name), how)
    if not names:
        call.write(folder, how)


def _copy(call: Call, sources: Words, to: str | None, given: Options, how: str = "write") -> None:
    """Sources go to a place, or into it if it is a directory."""
    plain = _has(given, "T", "no-target-directory")
    if to is None:
        call.doubt()
        return
    inside = not plain and (len(sources) > 1 or call.is_directory(to))
    for source in sources:
        if inside:
            _into(call, to, source, how)
        else:
            _arrives(call, source or ".", to.rstrip("/") or to, how)


_COPY_SHORT, _COPY_LONG = "tSgmo", ("target-directory", "suffix", "group", "mode", "owner")


def _places(call: Call, short: str, long: tuple[str, ...]) -> tuple[Options, Words, str | None]:
    """Options, sources and where they go; "" for where if that is not said."""
    given, operands = call.options(short, long)
    if _has(given, "t", "target-directory"):
        into = _value(given, "t", "target-directory")
        return given, operands, into if into is None else into.rstrip("/") + "/"
    if len(operands) < 2:  # noqa: PLR2004 - a source and a place
        return given, operands, ""
    return given, operands[:-1], operands[-1]


def _cp(call: Call) -> None:
    given, sources, to = _places(call, "tS", ("target-directory", "suffix"))
    if to == "":
        return
    if _has(given, "parents") and to is not None:
        for source in sources:
            call.write(None if source is None else os.path.join(to, source.lstrip("/")))
        return
    _copy(call, sources, to, given, "link" if _has(given, "l", "s", "link", "symbolic-link") else "write")


def _mv(call: Call) -> None:
    given, sources, to = _places(call, "tS", ("target-directory", "suffix"))
    if to == "":
        return
    for source in sources:
        call.write(source, "move")
    _copy(call, sources, to, given)


def _install(call: Call) -> None:
    given, sources, to = _places(call, "tSgmo", (*_COPY_LONG, "strip-program"))
    if not _has(given, "d", "directory") and to != "":
        _copy(call, sources, to, given)


def _ln(call: Call) -> None:
    given, sources, to = _places(call, "tS", ("target-directory", "suffix"))
    if to == "":
        for source in sources:
            _into(call, ".", source, "link")
        return
    if _has(given, "n", "h", "no-dereference") and to is not None and os.path.islink(call.full(to)):
        given = [*given, ("T", None)]
    _copy(call, sources, to, given, "link")


def _rsync(call: Call) -> None:
    long = (
        "exclude", "include", "filter", "rsh", "rsync-path", "files-from", "exclude-from", "include-from", "temp-dir",
        "backup-dir", "suffix", "chmod", "chown", "log-file", "partial-dir", "compare-dest", "copy-dest", "link-dest",
        "bwlimit", "timeout", "port", "max-size", "min-size", "info", "debug", "out-format", "block-size",
    )  # fmt: skip
    given, operands = call.options("efTBM", long)
    if len(operands) < 2 or _has(given, "n", "dry-run", "list-only"):  # noqa: PLR2004 - a source and a place
        return
    to = operands[-1]
    if to is None:
        call.doubt()
    elif _remote(to):
        _gone(call, operands[:-1], given)
    elif _has(given, "delete", "delete-before", "delete-after", "delete-during", "delete-excluded", "del", "files-from"):
        call.write(to)
    else:
        for source in operands[:-1]:
            _synced(call, source, to, several=len(operands) > 2)  # noqa: PLR2004
        _gone(call, operands[:-1], given)


def _gone(call: Call, sources: Words, given: Options) -> None:
    if _has(given, "remove-source-files"):
        for source in sources:
            if source is None or not _remote(source):
                call.write(source, "delete")


def _remote(place: str) -> bool:
    """`host:path`, `rsync://…`: a colon before any slash."""
    return ":" in place.split("/", 1)[0]


def _synced(call: Call, source: str | None, to: str, *, several: bool) -> None:
    if source is None or _remote(source):
        if source is None or not source.endswith("/") and call.is_directory(to):
            _into(call, to, source and source.partition(":")[2])
        else:
            call.write(to)
    elif source.endswith("/"):
        _contents(call, to, source, "write")
    elif several or call.is_directory(to) or call.env.is_directory(call.full(source)):
        _into(call, to, source)
    else:
        call.write(to)


def _scp(call: Call) -> None:
    given, operands = call.options("cDFiJloPSX")
    if len(operands) > 1 and (operands[-1] is None or not _remote(operands[-1])):
        sources = [None if word is None else word.rpartition(":")[2] for word in operands[:-1]]
        _copy(call, sources, operands[-1], given)


# ------------------------------------------------------------------------------------------------------------------
# In place


def _sed(call: Call) -> None:
    """`sed -i`, as GNU has it (`-i`, `-i.bak`) and as BSD has it (`-i ''`, `-i .bak`)."""
    words = call.words[1:]
    suffix: str | None = ""
    inplace = False
    for index, word in enumerate(words):
        if word == "--":
            break
        if word is None:
            continue
        if word.startswith("--in-place") or (word.startswith("-") and not word.startswith("--") and "i" in _flags(word, "efEl")):
            inplace = True
            suffix = word.partition("=")[2] if word.startswith("--") else word.partition("i")[2]
            following = words[index + 1] if index + 1 < len(words) else None
            if not suffix and following is not None and (not following or _is_suffix(following, words[index + 2 :])):
                suffix = following
                words = [*words[:index], "-i", *words[index + 2 :]]
            else:
                words = [*words[:index], word.partition("i")[0].rstrip("-") + "-i" if suffix else word, *words[index + 1 :]]
            break
    call.words[1:] = words
    given, operands = call.options("efl", ("expression", "file", "line-length"))
    if not inplace and not _has(given, "i", "in-place"):
        return
    if not _has(given, "e", "f", "expression", "file"):
        operands = operands[1:]
    _inplace(call, operands, suffix)


def _flags(word: str, values: str) -> str:
    """The letters of a word of short options, up to the first that takes a value."""
    for index, letter in enumerate(word[1:], 1):
        if letter in values and letter != "E":
            return word[1:index]
        if letter == "i":
            return word[1 : index + 1]
    return word[1:]


def _is_suffix(word: str, rest: Words) -> bool:
    """Is this the suffix of a BSD `-i`? Then a script and a file follow."""
    return word.startswith(".") and "/" not in word and len([other for other in rest if other]) > 1


def _inplace(call: Call, operands: Words, suffix: str | None) -> None:
    for path in operands:
        call.write(path)
        if suffix and path is not None:
            name = os.path.basename(path)
            backup = suffix.replace("*", name) if "*" in suffix else name + suffix
            call.write(backup if "/" in backup else os.path.join(os.path.dirname(path), backup))


def _perl(call: Call) -> None:
    """`perl -i`, `perl -pi -e`, `perl -i.bak`."""
    suffix, inplace, script, i = "", False, False, 1
    words = call.words
    while i < len(words):
        word = words[i]
        if word is None or not word.startswith("-") or word in {"-", "--"}:
            i += word == "--"
            break
        letters = word[1:]
        at = 0
        while at < len(letters):
            letter = letters[at]
            if letter == "i":
                inplace, suffix = True, letters[at + 1 :]
                break
            if letter in "eE":
                script = True
                i += at + 1 == len(letters)
                break
            if letter in "IMmxCD0lF":
                i += letter == "I" and at + 1 == len(letters)
                if letter not in "0l":
                    break
            at += 1
        i += 1
    if inplace:
        _inplace(call, words[i if script else i + 1 :], suffix)


def _awk(call: Call) -> None:
    given, operands = call.options("fFvil", ("file", "field-separator", "assign", "include", "load"))
    if _value(given, "i", "include") == "inplace":
        files = operands if _has(given, "f", "file") else operands[1:]
        _inplace(call, [word for word in files if word is None or "=" not in word], "")


def _yq(call: Call) -> None:
    given, operands = call.options("pos", ("input-format", "output-format", "split-exp", "from-file"))
    if _has(given, "i", "inplace", "in-place"):
        for path in operands[1:]:
            call.write(path)


def _vi(call: Call) -> None:
    _, operands = call.options("cSTuUwWsp", ("cmd",))
    for path in operands:
        if path is None or not path.startswith("+"):
            call.write(path)


def _rename(call: Call) -> None:
    """The old names are known; the new ones come out of an expression."""
    given, operands = call.options("e")
    if not _has(given, "n", "no-act", "nono"):
        for path in operands:
            if path is None or os.path.lexists(call.full(path)):
                call.write(path, "move")
        call.doubt()


# ------------------------------------------------------------------------------------------------------------------
# Output named by an option


def _dd(call: Call) -> None:
    for word in call.words[1:]:
        if word is None:
            call.doubt()
        elif word.startswith("of="):
            call.write(word[3:])


def _sort(call: Call) -> None:
    long = ("output", "key", "field-separator", "buffer-size", "temporary-directory", "parallel", "files0-from")
    given, _ = call.options("oktST", long)
    if _has(given, "o", "output"):
        call.write(_value(given, "o", "output"))


_CURL_SHORT = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
_CURL_LONG = (
    "output", "output-dir", "dump-header", "cookie-jar", "header", "data", "data-raw", "data-binary", "data-urlencode",
    "json", "request", "user", "user-agent", "url", "proxy", "cookie", "form", "max-time", "connect-timeout", "retry",
    "retry-delay", "retry-max-time", "referer", "cacert", "cert", "key", "write-out", "upload-file", "resolve",
    "config", "range", "limit-rate", "trace", "trace-ascii", "stderr", "etag-save", "etag-compare", "continue-at",
)  # fmt: skip


def _curl(call: Call) -> None:
    given, operands = call.options(_CURL_SHORT, _CURL_LONG)
    folder = _value(given, "output-dir")
    urls = [*operands, *[value for option, value in given if option == "url"]]
    for option, value in given:
        if option in {"o", "output"}:
            call.write(None if value is None or folder is None else os.path.join(folder, value))
        elif option in {"D", "dump-header", "c", "cookie-jar", "trace", "trace-ascii", "stderr", "etag-save"}:
            call.write(value)
    if _has(given, "O", "remote-name", "remote-name-all"):
        for url in urls:
            call.write(None if folder is None else _last(url, folder))
        if _has(given, "J", "remote-header-name"):
            call.doubt()


def _last(url: str | None, folder: str) -> str | None:
    """The name a download gets from its address."""
    if url is None:
        return None
    name = url.partition("#")[0].partition("?")[0].rstrip("/").rpartition("/")[2]
    return os.path.join(folder, name) if name else None


def _wget(call: Call) -> None:
    long = (
        "output-document", "directory-prefix", "output-file", "append-output", "header", "user-agent", "timeout",
        "tries", "input-file", "user", "password", "post-data", "post-file", "method", "body-data", "wait", "quota",
    )  # fmt: skip
    given, operands = call.options("OPoaUTtiwQADIlRX", long)
    for option in (("o", "output-file"), ("a", "append-output")):
        if _has(given, *option):
            call.write(_value(given, *option))
    if _has(given, "spider"):
        return
    folder = _value(given, "P", "directory-prefix")
    if _has(given, "O", "output-document"):
        call.write(_value(given, "O", "output-document"))
    elif _has(given, "r", "recursive", "m", "mirror", "i", "input-file") or folder is None:
        call.doubt()
    else:
        for url in operands:
            if url is not None and "?" in url:
                call.write(os.path.join(folder, url.rpartition("/")[2]))
            else:
                call.write(_last(url, folder) or os.path.join(folder, "index.html") if url else None)


def _output(short: str, long: str, values: str = "") -> Callable[[Call], None]:
    """A command that writes what one option names."""

    def write(call: Call) -> None:
        given, _ = call.options(short + values, (long,))
        if _has(given, short, long):
            call.write(_value(given, short, long))

    return write


# ------------------------------------------------------------------------------------------------------------------
# Archives


def _packed(suffixes: tuple[str, ...], *, unpack: bool = False, keeps: bool = False) -> Callable[[Call], None]:
    """gzip and its like: FILE becomes FILE.gz, or the other way round."""

    def write(call: Call) -> None:
        given, operands = call.options("SboT", ("suffix", "threads", "output"))
        if _has(given, "c", "stdout", "to-stdout", "t", "test", "l", "list"):
            return
        down = unpack or _has(given, "d", "decompress", "uncompress")
        if _has(given, "o", "output"):
            call.write(_value(given, "o", "output"))
        if _has(given, "r", "recursive"):
            for path in operands:
                call.write(path)
            return
        for path in operands:
            if path is None:
                call.doubt()
                continue
            if not keeps and not _has(given, "k", "keep"):
                call.write(path, "delete")
            call.write(_unpacked(path, suffixes) if down else path + suffixes[0])

    return write


def _unpacked(path: str, suffixes: tuple[str, ...]) -> str:
    for suffix, plain in ((".tgz", ".tar"), (".tbz2", ".tar"), (".tbz", ".tar"), (".txz", ".tar"), (".tzst", ".tar")):
        if path.endswith(suffix):
            return path.removesuffix(suffix) + plain
    for suffix in suffixes:
        if path.endswith(suffix):
            return path.removesuffix(suffix)
    return path + ".out"


def _tar(call: Call) -> None:
    """Creating writes the archive; what extracting writes is not in the words."""
    words = call.words[1:]
    if words and words[0] and not words[0].startswith("-"):
        call.words[1] = "-" + words[0]  # the old style: `tar xzf a.tgz`, the values follow in order
        if "f" in words[0]:
            letters = words[0].replace("f", "") + "f"
            call.words[1] = "-" + letters
    given, _ = call.options("fCTXIbgHKNVL", ("file", "directory", "files-from", "exclude", "exclude-from", "use-compress-program"))
    if _has(given, "x", "extract", "get"):
        if not _has(given, "O", "to-stdout"):
            call.doubt()
    elif _has(given, "c", "create", "r", "append", "u", "update", "A", "concatenate", "delete"):
        archive = _value(given, "f", "file")
        if archive != "":
            call.write(archive)
    if _has(given, "remove-files"):
        call.doubt()


def _zip(call: Call) -> None:
    given, operands = call.options("bnotixP")
    for path in operands[:1]:
        call.write(path if path is None or "." in os.path.basename(path) else path + ".zip")
    if _has(given, "m", "move"):
        for path in operands[1:]:
            call.write(path, "delete")


def _unzip(call: Call) -> None:
    given, _ = call.options("dPx")
    if not _has(given, "l", "p", "t", "Z", "v", "c", "z"):
        call.doubt()


def _split(call: Call) -> None:
    """The names of the pieces are counted up from a prefix."""
    call.doubt()


# ------------------------------------------------------------------------------------------------------------------
# Patches


def _patch(call: Call) -> None:
    from dibs.facts import patches  # noqa: PLC0415 - only here

    long = ("strip", "input", "output", "directory", "reject-file", "fuzz", "suffix", "prefix", "basename-prefix", "ifdef")
    given, operands = call.options("pioFdrzBDgVxY", long)
    if _has(given, "dry-run"):
        return
    folder = _value(given, "d", "directory")
    if folder is None or (folder and call.cwd is None and not folder.startswith("/")):
        call.doubt()
        return
    if _has(given, "o", "output"):
        output = _value(given, "o", "output")
        call.write(None if output is None else os.path.join(folder, output))
        return
    if operands:
        call.write(None if operands[0] is None else os.path.join(folder, operands[0]))
        return
    source = _value(given, "i", "input")
    text = _patch_text(call, source if source is None or not folder else os.path.join(folder, source))
    count = _value(given, "p", "strip") or ""
    names = _named(patches.stripped(text, int(count)) if count.isdigit() and len(count) < 4 else [], text, given)  # noqa: PLR2004
    for name in names:
        call.write(os.path.join(folder, name))
    if not names:
        call.doubt()


def _named(names: list[str], text: str, given: Options) -> list[str]:
    """Without -p, patch takes the base names; those of the whole paths are added, so that nothing is missed."""
    from dibs.facts import patches  # noqa: PLC0415 - only here

    if names or _has(given, "p", "strip"):
        return names
    return [*(os.path.basename(name) for name in patches.stripped(text, 0)), *patches.diff_paths(text)]


def _patch_text(call: Call, source: str | None) -> str:
    if source == "" and call.stdin:
        kind, what = call.stdin
        if kind == "text":
            return what or ""
        source = what
    if not source or (call.cwd is None and not source.startswith("/")):
        return ""
    try:
        with open(call.full(source), encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(PATCH_MAX + 1)
    except (OSError, ValueError):
        return ""
    return text if len(text) <= PATCH_MAX else ""


def _apply_patch(call: Call) -> None:
    """Codex's own tool, as a command: the patch is its input or its only word."""
    from dibs.facts import patches  # noqa: PLC0415 - only here

    text = call.words[1] if len(call.words) > 1 else _patch_text(call, "")
    try:
        found = patches.paths(text or "")
    except ValueError:
        found = []
    for action, path in found:
        call.write(path, "delete" if action == "delete" else "write")
    if not found:
        call.doubt()


TABLE: dict[str, Callable[[Call], None]] = {
    "7z": _split,
    "apply_patch": _apply_patch,
    "applypatch": _apply_patch,
    "awk": _awk,
    "bunzip2": _packed((".bz2",), unpack=True),
    "bzip2": _packed((".bz2", ".bz")),
    "cp": _cp,
    "cpio": _split,
    "csplit": _split,
    "curl": _curl,
    "dd": _dd,
    "dos2unix": _operands("write"),
    "ed": _vi,
    "ex": _vi,
    "fallocate": _operands("write", "loi", ("length", "offset")),
    "gawk": _awk,
    "gcp": _cp,
    "gmv": _mv,
    "grm": _operands("delete"),
    "gsed": _sed,
    "gtar": _tar,
    "gunzip": _packed((".gz", ".z", ".Z"), unpack=True),
    "gzip": _packed((".gz", ".z", ".Z")),
    "iconv": _output("o", "output", "ft"),
    "install": _install,
    "link": _operands("link", skip=1),
    "ln": _ln,
    "lzma": _packed((".lzma",)),
    "mkfifo": _operands("write", "m", ("mode",)),
    "mv": _mv,
    "patch": _patch,
    "perl": _perl,
    "pigz": _packed((".gz",)),
    "rename": _rename,
    "rm": _operands("delete"),
    "rmdir": _operands("delete"),
    "rsync": _rsync,
    "scp": _scp,
    "sed": _sed,
    "shred": _operands("delete", "ns", ("iterations", "size", "random-source")),
    "sort": _sort,
    "split": _split,
    "sponge": _tee,
    "srm": _operands("delete"),
    "tar": _tar,
    "tee": _tee,
    "touch": _operands("touch", "drt", ("date", "reference", "time")),
    "trash": _operands("delete"),
    "trash-put": _operands("delete"),
    "truncate": _operands("write", "srS", ("size", "reference")),
    "unix2dos": _operands("write"),
    "unlink": _operands("delete"),
    "unxz": _packed((".xz", ".lzma"), unpack=True),
    "unzip": _unzip,
    "unzstd": _packed((".zst",), unpack=True, keeps=True),
    "vi": _vi,
    "vim": _vi,
    "wget": _wget,
    "xz": _packed((".xz", ".lzma")),
    "yq": _yq,
    "zip": _zip,
    "zstd": _packed((".zst",), keeps=True),
}
