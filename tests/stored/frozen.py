"""Frozen workspaces: how one is written into its folder, and how a copy of it comes to life somewhere else.

Nothing in a frozen folder names the machine that made it: what dibs writes for one machine alone (its launchers, the
cached config) is left out, as in a fresh clone, and the URL of the server is replaced.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import subprocess
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dibs.stores.redis.plain_socket import PlainWire
from tests.operations.fleet import WALL
from tests.stored.stage import ID, Stage

if TYPE_CHECKING:
    import pytest

    from tests.stores.redis_server import Server

HERE = Path(__file__).parent
FOLDERS = sorted(path.parent for path in HERE.glob("*/moment.json"))  # one for each frozen version
ENGINES = ("sqlite", "redis")
SERVER = "redis://server"  # in the place of the server's URL
NAMES_STORE = (".dibs/config.toml", ".dibs/local/store", ".git/dibs/config.toml", ".git/dibs/store")
# Of the machine that made it, and made again where they are missing.
LEFT_OUT = (
    ".dibs/local/run", ".dibs/local/config-*", ".dibs/local/archive.lock",
    ".dibs/local/redis-commit-clock", ".git/dibs/run", ".git/dibs/hook", ".git/dibs/dibs", ".git/index",
)  # fmt: skip
SOON_MS = 100  # between the end of the play and the first call after it


def freeze(stage: Stage, folder: Path, engine: str, server: Server | None = None) -> None:
    """Write what a play left; it ends here."""
    path = folder / "moment.json"
    moments = json.loads(path.read_text()) if path.exists() else {}
    moments[engine] = {"now": stage.now, "dead": sorted(stage.dead), "first_commit": stage.first_commit}
    stage.close()
    parts = {f"{engine}.tar.xz": _packed(stage.folder, server)}
    if server is not None:
        keys = {key: _read(server, key) for key in sorted(_keys(server))}
        parts["redis.json.xz"] = json.dumps(keys, sort_keys=True).encode()
    for name, data in parts.items():
        for own in (str(stage.folder.parent), str(Path.home()), f"@{os.uname().nodename}"):
            assert own.encode() not in data, f"{name} would name this machine: {own}"
        (folder / name).write_bytes(lzma.compress(data))
    path.write_text(json.dumps(moments, indent=1) + "\n")


def thaw(folder: Path, engine: str, place: Path, patch: pytest.MonkeyPatch, server: Server | None = None) -> Stage:
    """A copy of a frozen workspace in that place, opened by the present version shortly after the play ended."""
    moment = json.loads((folder / "moment.json").read_text())[engine]
    unpack(folder, engine, place)
    if server is not None:
        for name in NAMES_STORE:
            (place / name).write_text((place / name).read_text().replace(SERVER, server.url))
        wire = PlainWire(server.url, 5.0)
        for key, value in json.loads(lzma.decompress((folder / "redis.json.xz").read_bytes())).items():
            _write(wire, key, value)
        wire.close()
    stage = Stage(place, patch, now=moment["now"] + SOON_MS, ids="f", dead=moment["dead"], server=server)
    stage.first_commit = moment["first_commit"]
    return stage


def unpack(folder: Path, engine: str, place: Path) -> None:
    """The files of a frozen workspace, in that place; git's index is made again, it is of one machine alone."""
    with tarfile.open(folder / f"{engine}.tar.xz") as packed:
        packed.extractall(place, filter="data")
    subprocess.run(["git", "read-tree", "HEAD"], cwd=place, check=True)


def _packed(place: Path, server: Server | None) -> bytes:
    """The workspace as an archive that is the same whoever makes it."""
    out = {path for pattern in LEFT_OUT for path in place.glob(pattern)}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as packed:
        for path in sorted(place.rglob("*")):
            if path.is_file() and path not in out:
                name = path.relative_to(place).as_posix()
                data = path.read_bytes()
                if server is not None and name in NAMES_STORE:
                    data = data.replace(server.url.encode(), SERVER.encode())
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode, entry.mtime = len(data), path.stat().st_mode & 0o777, WALL // 1_000
                packed.addfile(entry, io.BytesIO(data))
    return made.getvalue()


# --- the keys of a server


def _keys(server: Server) -> list[str]:
    keys = [key.decode() for key in server.ask("KEYS", f"{{dibs:{ID}}}:*")]
    return [key for key in keys if not key.endswith((":clock", ":gate"))]


def _read(server: Server, key: str) -> list[Any]:
    """The type of a key, and the words that make it again: bytes as Latin-1, which has all of them."""
    kind = server.ask("TYPE", key)
    kind = kind.decode() if isinstance(kind, bytes) else kind
    if kind == "hash":
        found = server.ask("HGETALL", key)
        pairs = sorted(zip(found[::2], found[1::2], strict=True))
        return [kind, [[_text(name), _text(value)] for name, value in pairs]]
    if kind == "zset":
        return [kind, [_text(member) for member in server.ask("ZRANGE", key, 0, -1)]]
    if kind == "list":
        return [kind, [_text(word) for word in server.ask("LRANGE", key, 0, -1)]]
    assert kind == "stream", f"{key} is a {kind}"
    entries = server.ask("XRANGE", key, "-", "+")
    return [kind, [[_text(place), [_text(word) for word in words]] for place, words in entries]]


def _write(wire: PlainWire, key: str, value: list[Any]) -> None:
    kind, rows = value
    if kind == "hash":
        wire.call("HSET", key, *[_bytes(word) for pair in rows for word in pair])
    elif kind == "zset" and rows:
        wire.call("ZADD", key, *[word for member in rows for word in (0, _bytes(member))])
    elif kind == "list":
        wire.call("RPUSH", key, *map(_bytes, rows))
    else:
        for place, words in rows:
            wire.call("XADD", key, place, *map(_bytes, words))


def _text(word: bytes) -> str:
    return word.decode("latin-1")


def _bytes(word: str) -> bytes:
    return word.encode("latin-1")
