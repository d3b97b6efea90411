"""Which store a workspace coordinates through: `sqlite:`, `redis://…`; found, pinned, opened.

The first opening pins the store in `.dibs/local/store`; another one named later is refused, because agents on two
stores would not see each other.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.stores.seam import Store

REDIS = ("redis", "rediss", "unix", "redis+sentinel")


def open_store(local: str, configured: str, workspace: str, timeout: float, *, short_lived: bool = False) -> Store:
    """Open the store that this workspace coordinates through, and no other."""
    url = os.environ.get("DIBS_STORE") or configured or "sqlite:"
    pin = f"{local}/store"
    pinned = _read(pin)
    if pinned and pinned != url:
        from dibs.stores.redis_wire import hidden

        message = (
            f"this workspace coordinates through {hidden(pinned)}, not {hidden(url)}: agents on two stores would not see "
            "each other. Unset DIBS_STORE, or move the workspace: `dibs store move URL`."
        )
        raise Unavailable(message, store=hidden(url), pinned=hidden(pinned))
    scheme = url.partition(":")[0]
    if scheme in REDIS:
        return _redis(local, url, workspace, timeout, pinned=bool(pinned))
    if scheme != "sqlite":
        message = f"store {url}: dibs opens `sqlite:`, `redis://`, `rediss://`, `unix://` and `redis+sentinel://`"
        raise Unavailable(message, store=url)
    return _sqlite(local, url, timeout, pinned=bool(pinned), short_lived=short_lived)


def _sqlite(local: str, url: str, timeout: float, *, pinned: bool, short_lived: bool) -> Store:
    _load_apsw()
    from dibs.stores import sqlite

    path = url.partition(":")[2] or f"{local}/dibs.db"
    if not pinned:
        if not os.path.exists(path):
            try:
                sqlite.create(path)
            except Unavailable:
                if not os.path.exists(path):  # else another process made it in the same moment
                    raise
        _pin(f"{local}/store", url)
    return sqlite.SqliteStore(path, timeout=timeout, short_lived=short_lived)


def _redis(local: str, url: str, workspace: str, timeout: float, *, pinned: bool) -> Store:
    if not workspace:
        message = (
            "a store that several machines share needs the `id` of this workspace in .dibs/config.toml; run `dibs init`"
        )
        raise Invalid(message, store=url)
    try:
        from dibs.stores import redis_epoch
        from dibs.stores.redis import RedisStore
        from dibs.stores.redis_wire import open_wire

        wire = open_wire(url, timeout)
    except ImportError as error:
        message = f"store {url.partition(':')[0]}: needs `pip install 'dibs[redis]'` ({error})"
        raise Unavailable(message, store=url) from None
    store = RedisStore(wire, workspace, timeout=timeout, memory=f"{local}/redis-commit")
    if not pinned:
        redis_epoch.begin(store)
        _pin(f"{local}/store", url)
    return store


def _load_apsw() -> None:
    """Save apsw from loading all of `collections` (2 ms) for its `abc`, which the interpreter has loaded already.

    A stand-in is there while apsw is loaded; whoever wants `collections` afterwards gets the real one.
    """
    import sys

    if "collections" in sys.modules or "apsw" in sys.modules:
        return
    import _collections_abc

    standing_in = type(sys)("collections")
    standing_in.__dict__["abc"] = _collections_abc
    sys.modules["collections"] = standing_in
    sys.modules["collections.abc"] = _collections_abc
    try:
        import apsw  # noqa: F401 - for its being loaded
    finally:
        del sys.modules["collections"], sys.modules["collections.abc"]


def database_path(local: str, configured: str) -> str:
    """Where the SQLite file lies, for doctor."""
    url = _read(f"{local}/store") or os.environ.get("DIBS_STORE") or configured or "sqlite:"
    return url.partition(":")[2] or f"{local}/dibs.db"


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096).strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}. Nothing was changed.", path=path) from None


def _pin(path: str, url: str) -> None:
    """From now on this workspace's store is this one, and a missing database is an error."""
    making = f"{path}.{os.getpid()}"
    try:
        with open(making, "w", encoding="utf-8") as file:
            file.write(url + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(making, path)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}. Nothing was changed.", path=path) from None
