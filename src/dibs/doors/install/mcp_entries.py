"""The entry by which a client starts `dibs mcp`: into its list of servers, and out again.

Pure functions from text to text; `plan.py` reads and writes the files, a client's install.py says which file and which
form. The command names no machine: it looks for `.dibs/dibs` from the client's folder upward, since a client that is
started in a folder below the top starts its servers there. A server of our name that is not ours stays as it is.
"""

from __future__ import annotations

from dibs.doors.install import jsonc
from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


def merged(text: str | None, entry: dict[str, Any], path: str) -> str | None:
    """The text with our entry; None if a server of that name is somebody else's."""
    if text is None or not text.strip("\ufeff" + jsonc.SPACE):
        return jsonc.dump({KEY: {NAME: entry}})
    document = _document(text, path)
    servers = document.get(KEY)
    if servers is None:
        return jsonc.insert(text, document, {NAME: entry}, KEY)
    if servers.kind != "object":
        raise Invalid(f"{path}: {KEY} is not an object; nothing was changed", path=path)
    known = servers.get(NAME)
    if known is None:
        return jsonc.insert(text, servers, entry, NAME)
    if known.plain() == entry:
        return text
    return jsonc.replace(text, known, entry) if command_of(known.plain()) else None


def cleaned(text: str, path: str) -> str | None:
    """The text without our entry; None if nothing else is left."""
    document = _document(text, path)
    servers = document.get(KEY)
    if servers is None or servers.kind != "object":
        return text
    known = servers.get(NAME)
    if known is None or not command_of(known.plain()):
        return text
    if len(servers.items) > 1:
        return jsonc.remove(text, servers, [name for name, _ in servers.keys].index(NAME))
    left = jsonc.remove(text, document, [name for name, _ in document.keys].index(KEY))
    return None if _document(left, path).plain() == {} and "//" not in left and "/*" not in left else left


def command(text: str, path: str) -> list[str]:
    """Our command in the text, for doctor; [] if it has none of ours."""
    servers = _document(text, path).plain().get(KEY)
    return command_of(servers.get(NAME)) if isinstance(servers, dict) else []


def command_of(entry: Any) -> list[str]:
    """The command of an entry, if it is ours."""
    if not isinstance(entry, dict):
        return []
    words = [entry.get("command"), *(entry.get("args") or ())]
    ours = all(isinstance(word, str) for word in words) and any(MARK in word for word in words)
    return words if ours else []


def _document(text: str, path: str) -> jsonc.Node:
    try:
        document = jsonc.read(text)
    except ValueError as error:
        raise Invalid(f"{path} is not valid JSON ({error}); fix it first. Nothing was changed.", path=path) from None
    if document.kind != "object":
        raise Invalid(f"{path} holds no JSON object; nothing was changed", path=path)
    return document


# --- TOML: a block of lines between two comments, at the end of the file

BEGIN = "# dibs: begin; made by `dibs init`, and `dibs init --uninstall` takes it out\n"
END = "# dibs: end\n"


def merged_toml(text: str | None, table: str, lines: str, path: str) -> str | None:
    """The text with our table in a block of its own; None if such a table is somebody else's."""
    block = f"{BEGIN}[{table}.{NAME}]\n{lines}{END}"
    before, begin, after = _parted(text or "")
    if begin:
        return f"{before}{block}{after}"
    if _table(text or "", table, path) is not None:
        return None
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f"{text or ''}{gap}{block}"


def cleaned_toml(text: str) -> str | None:
    """The text without our block; None if nothing else is left."""
    before, begin, after = _parted(text)
    if not begin:
        return text
    before = before.removesuffix("\n") if before.endswith("\n\n") else before
    return f"{before}{after}" if f"{before}{after}".strip() else None


def command_toml(text: str, table: str, path: str) -> list[str]:
    """Our command in the text; [] if it has none of ours."""
    return command_of(_table(text, table, path))


def _parted(text: str) -> tuple[str, str, str]:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return (before, begin, after) if begin and end else (text, "", "")


def _table(text: str, table: str, path: str) -> Any:
    import tomllib

    try:
        servers = tomllib.loads(text).get(table)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{path} is not valid TOML ({error}); fix it first. Nothing was changed.", path=path) from None
    return servers.get(NAME) if isinstance(servers, dict) else None
