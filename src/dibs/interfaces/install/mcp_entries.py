"""The entry by which a client starts `dibs mcp`: into its list of servers, and out again.

Pure functions from text to text; `plan.py` reads and writes the files, a client's install.py says which file and which
form. The command names no machine: it looks for `.dibs/dibs` from the client's folder upward, since a client that is
started in a folder below the top starts its servers there. A server of our name that is not ours stays as it is.
"""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.interfaces.install import jsonc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "dibs"
KEY = "mcpServers"
# For sh. No `$`: clients put variables of their own in its place. No single quote: TOML puts it between two.
START = 'exec "`until [ -x .dibs/dibs ] || [ . -ef / ]; do cd ..; done; pwd`/.dibs/dibs" mcp'
COMMAND = ("sh", "-c", START)
MARK = "/.dibs/dibs"  # an entry whose command has this is ours


def is_offered() -> bool:
    """Can this dibs serve them? The SDK is looked for, not imported."""
    from importlib.util import find_spec

    return find_spec("mcp") is not None


# --- JSON


def merged(
    text: str | None,
    entry: dict[str, object],
    path: str,
    keys: tuple[str, ...] = (KEY,),
    start: Mapping[str, object] | None = None,
) -> str | None:
    """The text with our entry below `keys`; None if a server of that name is not ours. A new one has `start`."""
    if text is None or not text.strip("\ufeff" + jsonc.SPACE):
        return jsonc.dump({**(start or {}), **_nested(keys, {NAME: entry})})
    servers = jsonc.document(text, path)
    for place, key in enumerate(keys):
        inner = servers.get(key)
        if inner is None:
            return jsonc.insert(text, servers, _nested(keys[place + 1 :], {NAME: entry}), key)
        if inner.kind != "object":
            raise Invalid(f"{path}: {key} is not an object; nothing was changed", path=path)
        servers = inner
    known = servers.get(NAME)
    if known is None:
        return jsonc.insert(text, servers, entry, NAME)
    if known.plain() == entry:
        return text
    return jsonc.replace(text, known, entry) if command_of(known.plain()) else None


def _nested(keys: tuple[str, ...], inner: dict[str, object]) -> dict[str, object]:
    for key in reversed(keys):
        inner = {key: inner}
    return inner


def cleaned(
    text: str, path: str, keys: tuple[str, ...] = (KEY,), start: Mapping[str, object] | None = None
) -> str | None:
    """The text without our entry, and without the objects that become empty; None if nothing but `start` is left."""
    above = [jsonc.document(text, path)]
    for key in keys:
        inner = above[-1].get(key)
        if inner is None or inner.kind != "object":
            return text
        above.append(inner)
    known = above[-1].get(NAME)
    if known is None or not command_of(known.plain()):
        return text
    names = [*keys, NAME]
    place = len(names) - 1
    while place and len(above[place].items) == 1:
        place -= 1
    left = jsonc.remove(text, above[place], [name for name, _ in above[place].keys].index(names[place]))
    rest = jsonc.document(left, path).plain()
    commented = "//" in left.replace("://", "") or "/*" in left
    return None if rest in ({}, dict(start or {})) and not commented else left


def command(text: str, path: str, keys: tuple[str, ...] = (KEY,)) -> list[str]:
    """Our command in the text, for doctor; [] if it has none of ours."""
    servers: object = plain(text, path)
    for key in keys:
        servers = servers.get(key) if isinstance(servers, dict) else None
    return command_of(servers.get(NAME)) if isinstance(servers, dict) else []


def plain(text: str, path: str) -> dict[str, object]:
    """The document as plain values."""
    return jsonc.document(text, path).members()


def command_of(entry: object) -> list[str]:
    """The command of an entry, if it is ours."""
    if not isinstance(entry, dict):
        return []
    command = entry.get("command")  # one word, and its arguments; or all words
    words = [*(command if isinstance(command, list) else [command]), *(entry.get("args") or ())]
    ours = all(isinstance(word, str) for word in words) and any(MARK in word for word in words)
    return words if ours else []


# --- TOML: a block of lines between two comments, at the end of the file

BEGIN = "# dibs: begin; made by `dibs init`, and `dibs init --uninstall` takes it out\n"
END = "# dibs: end\n"


def merged_toml(text: str | None, table: str, lines: str, path: str) -> str | None:
    """The text with our table in a block of its own; None if such a table is not ours."""
    block = f"{BEGIN}[{table}.{NAME}]\n{lines}{END}"
    before, begin, after = _parted(text or "")
    if begin:
        return f"{before}{block.replace(chr(10), begin[len(BEGIN) - 1 :])}{after}"
    if _table(text or "", table, path) is not None:
        return None
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    made = f"{text or ''}{gap}{block}"
    if not _is_toml(made):
        message = f"{path}: {table} is written in one line, and nothing can be added to it: make tables such as "
        raise Invalid(f"{message}[{table}.NAME] of it, or use --no-mcp. Nothing was changed.", path=path)
    return made


def cleaned_toml(text: str) -> str | None:
    """The text without our block; None if nothing else is left."""
    before, begin, after = _parted(text)
    if not begin:
        return text
    for gap in ("\n\n", "\r\n\r\n"):
        before = before.removesuffix(gap[len(gap) // 2 :]) if before.endswith(gap) else before
    return f"{before}{after}" if f"{before}{after}".strip() else None


def command_toml(text: str, table: str, path: str) -> list[str]:
    """Our command in the text; [] if it has none of ours."""
    return command_of(_table(text, table, path))


def _parted(text: str) -> tuple[str, str, str]:
    """What is before and after our block. Its lines may end otherwise by now: git may check out with CRLF."""
    for newline in ("\n", "\r\n"):
        before, begin, rest = text.partition(BEGIN.replace("\n", newline))
        _, end, after = rest.partition(END.replace("\n", newline))
        if begin and end:
            return before, begin, after
    return text, "", ""


def _is_toml(text: str) -> bool:
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _table(text: str, table: str, path: str) -> object:
    import tomllib

    try:
        servers = tomllib.loads(text).get(table)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{path} is not valid TOML ({error}); fix it first. Nothing was changed.", path=path) from None
    return servers.get(NAME) if isinstance(servers, dict) else None
