"""Finds, pins and opens the store of a workspace: `sqlite:`, `redis://…`, or a server that has it, `https://…`.

The first opening pins the store in `.dibs/local/store`; another one named later is refused, because agents on two
stores would not see each other. The pin's first line is the store in use. Further lines name the stores it replaces:
`moved-from URL` after `dibs store move` (a config that still names the old store is accepted), `fallback-from URL`
while SQLite is the fallback for a local server that does not start (`dibs up --allow-fallback`).

`git clean -x`, `git stash -a` and `rm` delete `.dibs/local/` as a whole. So the pin and the last answered commit are
also kept below git's own directory (`Place.shared`), from the first call that finds the pin. A workspace with a missing
database can then be told from one that never had a database, and is not silently started empty.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid, Unavailable
from dibs.machine import caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.stores.autostart import Autostart
    from dibs.stores.move.carry import Side
    from dibs.stores.redis.store import RedisStore
    from dibs.stores.seam import Row, Store

REDIS_SCHEMES = ("redis", "rediss", "unix", "redis+sentinel")
MOVED, FALLBACK = "moved-from", "fallback-from"
REDIS_COMMIT_FILE = "redis-commit"  # the highest commit of a server answered on this machine
# The pin's file; the file below git's directory that has the last answered commit.
PIN_FILE, ANSWERED_FILE = "store", "answered"
# Wait for the start of a local server that is down, refuse meanwhile, or do not start it.
WAIT, REFUSE, LEAVE = "wait", "refuse", "leave"


class Pin:
    """What `.dibs/local/store` says."""

    __slots__ = ("fallback", "former", "url")

    def __init__(self, text: str = "") -> None:
        lines = text.split("\n")
        self.url = lines[0].strip()
        pairs = [line.strip().partition(" ")[::2] for line in lines[1:]]
        self.former = [url for word, url in pairs if word == MOVED]
        self.fallback = next((url for word, url in pairs if word == FALLBACK), "")

    def stands_for(self, url: str) -> bool:
        """Does that URL mean this store?"""
        if url == self.url or url in self.former or url == self.fallback or f"{url}/" == self.url:
            return True
        return "expire=" in url + self.url and bare(url) in map(bare, (self.url, *self.former, self.fallback))

    def text(self) -> str:
        """The pin's text in its file."""
        lines = [self.url, *[f"{MOVED} {url}" for url in self.former]]
        return "\n".join([*lines, *([f"{FALLBACK} {self.fallback}"] if self.fallback else [])]) + "\n"


def configured_url(configured: str) -> str:
    """The store that is asked for here."""
    url = caller.environ().get("DIBS_STORE") or configured or "sqlite:"
    return url[:-1] if url.endswith("/") and is_far(url) and not url.endswith("//") else url  # one server, one name


def open_store(
    local: str,
    configured: str,
    workspace: str,
    timeout: float,
    *,
    short_lived: bool = False,
    missing: str = WAIT,
    shared: str = "",
) -> Store:
    """Open the store that this workspace coordinates through, and no other."""
    url = configured_url(configured)
    pin = second_copy_path(local, shared)
    if pin.url:
        refuse_other(pin, url)
        if bare(url) != bare(pin.url):
            url = pin.url
    if is_redis(url):
        return _redis(local, url, workspace, timeout, pinned=bool(pin.url), missing=missing, shared=shared)
    if is_far(url):
        return _far(local, url, workspace, timeout, pinned=bool(pin.url))
    refuse_unknown(url)
    return _sqlite(local, url, timeout, pinned=bool(pin.url), short_lived=short_lived, kept=kept_line(local, shared))


def second_copy_path(local: str, shared: str) -> Pin:
    """The pin, restored if `.dibs/local/` was deleted; its second copy is written if it is missing."""
    pin = read_pin(local)
    if not shared or shared == local:
        return pin
    try:
        found = read_pin(shared)
    except Unavailable:
        found = Pin()
    if pin.url:
        if found.text() != pin.text():
            keep_pin(shared, pin)
        return pin
    if not (
        is_redis(found.url) or is_far(found.url) or found.url.startswith("sqlite:")
    ):  # damaged, or none: nothing is known
        return pin
    try:
        write_pin(local, found)
    except Unavailable:
        pass  # it counts even so
    return found


def keep_pin(shared: str, pin: Pin) -> None:
    """Write the pin's second copy, if possible: a client's sandbox may forbid writes in git's folder."""
    try:
        os.makedirs(shared, 0o700, exist_ok=True)
        write_pin(shared, pin)
    except (OSError, Unavailable):
        pass


def kept_line(local: str, shared: str) -> str:
    """The path of the second copy of the last answered commit; "" without git."""
    return f"{shared}/{ANSWERED_FILE}" if shared and shared != local else ""


def open_new(local: str) -> Store:
    """A new store in that folder, ignoring the environment; for a scratch workspace."""
    _load_apsw()
    from dibs.stores.sqlite import store as sqlite_store

    path = sqlite_path(local, "sqlite:")
    sqlite_store.create(path)
    return sqlite_store.SqliteStore(path)


def open_pinned(local: str, workspace: str, timeout: float) -> Store:
    """The pinned store, ignoring the configuration; for a move."""
    url = read_pin(local).url
    if is_far(url):
        return _far(local, url, workspace, timeout, pinned=True)
    if is_redis(url):
        return redis_store(local, url, workspace, timeout)
    return _sqlite(local, url, timeout, pinned=True, short_lived=True)


def refuse_other(pin: Pin, url: str) -> None:
    """Refuse a URL that does not mean the pinned store: no two agents may use different stores."""
    if pin.stands_for(url):
        return
    from dibs.stores.urls import hidden

    named = caller.environ().get("DIBS_STORE")
    mend = "Unset DIBS_STORE" if named else "Set `store` in .dibs/config.toml back"
    message = (
        f"this workspace coordinates through {hidden(pin.url)}, not {hidden(url)}: agents on two stores would not see "
        f"each other. {mend}, or move the workspace: `dibs store move URL`."
    )
    raise Unavailable(message, store=hidden(url), pinned=hidden(pin.url))


def is_far(url: str) -> bool:
    """Is that a server of dibs, which has the store?"""
    return url.startswith(("https://", "http://"))


def _far(local: str, url: str, workspace: str, timeout: float, *, pinned: bool) -> Store:
    """A server elsewhere. The first opening makes sure that it serves this very workspace."""
    from dibs.stores.far_store import FarStore

    store = FarStore(url, timeout, chosen=pinned or configured_url("") == url)
    if not pinned:
        found = store.about()
        if workspace and found["id"] and found["id"] != workspace:
            message = (
                f"{url} serves another workspace ({found['workspace']}): its `id` in .dibs/config.toml is not this "
                "one's. Nothing was changed."
            )
            raise Unavailable(message, store=url)
        write_pin(local, Pin(url))
    return store


def is_redis(url: str) -> bool:
    """Is that a Redis server?"""
    scheme, mark, _ = url.partition("://")
    return bool(mark) and scheme in REDIS_SCHEMES


def refuse_unknown(url: str) -> None:
    """Raise if there is no engine for that URL."""
    if not is_redis(url) and not is_far(url) and not url.startswith("sqlite:"):
        raise unknown(url)


def unknown(url: str) -> Invalid:
    """There is no engine for that: a mistake in the call, in DIBS_STORE or in the config."""
    from dibs.stores.urls import hidden

    url = hidden(url)
    message = (
        f"store {url}: dibs opens `sqlite:`, `redis://`, `rediss://`, `unix://`, `redis+sentinel://` and `https://`"
    )
    return Invalid(message, store=url)


def sqlite_path(local: str, url: str) -> str:
    """Where the file of a `sqlite:` URL lies."""
    return url.partition(":")[2] or f"{local}/dibs.db"


def _sqlite(local: str, url: str, timeout: float, *, pinned: bool, short_lived: bool, kept: str = "") -> Store:
    _load_apsw()
    from dibs.stores.sqlite import store as sqlite_store

    path = sqlite_path(local, url)
    if not pinned:
        if not os.path.exists(path):
            _refuse_lost_database(path, kept)
            try:
                sqlite_store.create(path)
            except Unavailable:
                if not os.path.exists(path):  # else another process made it at the same moment
                    raise
        write_pin(local, Pin(url))
    return sqlite_store.SqliteStore(path, timeout=timeout, short_lived=short_lived, kept=kept)


def _refuse_lost_database(path: str, kept: str) -> None:
    """Refuse if a database that answered here before is missing: an empty one would have lost all claims."""
    from dibs.stores.sqlite import database_file
    from dibs.stores.sqlite.gate import Gate

    if kept and Gate(f"{path}.gate", 0, kept).remembered()[1]:
        raise database_file.cannot_open(path)


def _redis(
    local: str, url: str, workspace: str, timeout: float, *, pinned: bool, missing: str, shared: str
) -> Store:  # fmt: skip
    store = redis_store(local, url, workspace, timeout, shared)
    if url.startswith(("redis:", "unix:")):
        if os.path.exists(fallback_mark(workspace)):
            from dibs.stores import autostart

            autostart.refuse_fallback_elsewhere(local, url, workspace)
        if missing != LEAVE:
            store.missing = _when_missing(local, url, patient=missing == WAIT)
    if not pinned:
        from dibs.stores.redis import epoch

        epoch.begin(store)
        write_pin(local, Pin(url))
    return store


def _when_missing(local: str, url: str, *, patient: bool) -> Callable[[], None]:
    """The function that the engine calls when no server listens; loaded only then."""
    known: list[Autostart] = []

    def missing() -> None:
        if not known:
            from dibs.stores.autostart import Autostart

            known.append(Autostart(local, url, patient=patient))
        known[0]()

    return missing


def fallback_mark(workspace: str) -> str:
    """The file that tells other clones on this machine that SQLite is the fallback for their server."""
    environ = caller.environ()
    state = environ.get("XDG_STATE_HOME")
    if not state:
        state = f"{environ.get('HOME') or os.path.expanduser('~')}/.local/state"
    return f"{state}/dibs/fallback-{workspace}"


def redis_store(local: str, url: str, workspace: str, timeout: float, shared: str = "") -> RedisStore:
    """The workspace on a server; nothing is asked of it yet."""
    if not workspace:
        message = (
            "a store that several machines share needs the `id` of this workspace in .dibs/config.toml; run `dibs init`"
        )
        raise Invalid(message, store=url)
    try:
        from dibs.stores.redis.store import RedisStore
        from dibs.stores.redis.wire import open_wire

        wire = open_wire(url, timeout)
    except ImportError as error:
        message = f"this store needs `uv tool install 'FOLDER[redis]'` (a clone of dibs): {error}"
        raise Unavailable(message, store=url) from None
    kept = f"{shared}/{REDIS_COMMIT_FILE}" if shared and shared != local else ""
    store = RedisStore(wire, workspace, timeout=timeout, memory=f"{local}/{REDIS_COMMIT_FILE}", kept=kept)
    if "expire=" in url:
        from dibs.machine import durations
        from dibs.stores.urls import option_of

        store.expire = durations.parse(option_of(url, "expire"), "expire in the URL of the store")
    return store


def _load_apsw() -> None:
    """Import apsw without `collections` (2 ms), of which it needs only `abc.Mapping`.

    apsw checks whether a statement's values are a Mapping; dibs passes tuples. A stub is in place while apsw is loaded;
    a later import of `collections` gets the real module.
    """
    import sys

    if "collections" in sys.modules or "apsw" in sys.modules:
        return
    abc = sys.modules.get("_collections_abc")
    if abc is None:
        abc = type(sys)("collections.abc")
        abc.__dict__["Mapping"] = dict
    standing_in = type(sys)("collections")
    standing_in.__dict__["abc"] = abc
    sys.modules["collections"] = standing_in
    sys.modules["collections.abc"] = abc
    try:
        import apsw  # noqa: F401 - imported for its side effect
    finally:
        del sys.modules["collections"], sys.modules["collections.abc"]


def database_path(local: str, configured: str) -> str:
    """The path of the store's file; "" for a server."""
    url = read_pin(local).url or configured_url(configured)
    return "" if is_redis(url) or is_far(url) else sqlite_path(local, url)


def address_of(local: str, url: str) -> str:
    """The `address` of the store of this URL once it is opened."""
    return url if is_redis(url) or is_far(url) else sqlite_path(local, url)


def replace_database(local: str, shared: str, path: str, prefix: str) -> tuple[int, str, list[Row]]:
    """Replace the database with a new one; see stores/sqlite/health.py."""
    from dibs.stores.sqlite import health

    return health.replace_database(path, kept_line(local, shared), prefix)


def open_side(local: str, url: str, workspace: str, timeout: float, *, replaces: bool = False) -> Side:
    """A store as a move sees it."""
    if is_far(url):
        message = f"{url} is a server, whose store is moved where it runs: `dibs store move` there."
        raise Unavailable(message, store=url)
    if is_redis(url):
        from dibs.stores.move.redis_side import RedisSide

        return RedisSide(redis_store(local, url, workspace, timeout), replaces=replaces)
    from dibs.stores.move.sqlite_side import SqliteSide

    return SqliteSide(sqlite_path(local, url), timeout)


def refuse_missing(local: str) -> None:
    """Raise if this workspace is pinned to an SQLite file that no longer exists."""
    url = read_pin(local).url
    if url.startswith("sqlite:") and not os.path.exists(sqlite_path(local, url)):
        from dibs.stores.sqlite import database_file

        raise database_file.cannot_open(sqlite_path(local, url))


def read_pin(local: str) -> Pin:
    """The pin of this workspace; without a URL if no store was opened yet."""
    path = f"{local}/{PIN_FILE}"
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return Pin(file.read(16_384))
    except FileNotFoundError:
        return Pin()
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}. Nothing was changed.", path=path) from None


def write_pin(local: str, pin: Pin) -> None:
    """Pin this workspace to a store: from now on a missing database is an error."""
    from dibs.machine import atomic_write

    path = f"{local}/{PIN_FILE}"
    try:
        atomic_write.replace(path, pin.text(), mode=atomic_write.PRIVATE_MODE, sync=True)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}. Nothing was changed.", path=path) from None
    try:  # another store has another log: the witness of the old one does not apply
        os.unlink(f"{local}/{REDIS_COMMIT_FILE}-log")
    except OSError:
        pass


def bare(url: str) -> str:
    """A URL without its `expire` option, which is no part of the address."""
    if "expire=" not in url:
        return url
    from dibs.stores.urls import without_option

    return without_option(url, "expire")
