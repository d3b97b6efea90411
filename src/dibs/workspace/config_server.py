"""The part of `.dibs/config.toml` about `dibs serve`, checked. Loaded when the file changed."""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.machine import durations
from dibs.operations.core.policy import check_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    class ServerSettings(TypedDict):
        """[server] of the config, complete."""

        host: str  # the address that it listens at
        names: list[str]  # further host names that callers may use
        start: str  # one of STARTS
        idle: int  # ms without a call after which one that was started by itself ends
        port: int
        rate: int
        body: int
        connections: int
        waits: int
        streams: int


STARTS = ("off", "auto")
COUNTS = {  # settings that are whole numbers: the default, the least, the largest that makes sense
    "port": (0, 0, 65_535),  # 0: the one of last time if it is free, else any
    "rate": (1_000, 1, 1_000_000),  # calls a second of one credential; twice as many at once
    "body": (1024 * 1024, 1_024, 64 * 1024 * 1024),  # bytes of one request
    "connections": (1_024, 8, 100_000),
    "waits": (256, 1, 4_096),  # requests that wait at once: each has a thread
    "streams": (1_000, 1, 10_000),  # listeners of /events at once
}
IDLE_MS = 10 * 60_000  # a server that was started by itself ends when nobody called for this long


def read(text: dict[str, Any], path: str) -> dict[str, Any]:
    """What is said about the server, complete."""
    table = text.get("server", {})
    if not isinstance(table, dict):
        raise Invalid(f"{path}: [server] is a table", path=path)
    known = ("host", "names", "start", "idle", *COUNTS)
    for name in table:
        if name not in known:
            raise Invalid(f"{path}: there is no server.{name}; there are {', '.join(known)}", path=path)
    found: dict[str, Any] = {"host": table.get("host", "127.0.0.1"), "start": table.get("start", "off")}
    if not isinstance(found["host"], str) or not found["host"]:
        raise Invalid(f'{path}: server.host is an address such as "127.0.0.1"', path=path)
    if found["start"] not in STARTS:
        raise Invalid(f"{path}: server.start is one of {', '.join(STARTS)}, not {found['start']!r}", path=path)
    names = table.get("names", [])
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise Invalid(f"{path}: server.names is a list of host names", path=path)
    found["names"] = names
    found["idle"] = _idle(table.get("idle"), path)
    for name, (default, least, most) in COUNTS.items():
        given = table.get(name, default)
        if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
            raise Invalid(f"{path}: server.{name} is a whole number from {least} to {most}", path=path)
        found[name] = given
    return found


def _idle(given: Any, path: str) -> int:
    if given is None:
        return IDLE_MS
    return check_duration(durations.parse(str(given), f"{path}: server.idle"), f"{path}: server.idle")
