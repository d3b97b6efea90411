"""What an engine offers besides its store: the contract of an engine's folder, and who has it.

The folder has two modules that dibs asks for. `store.py` is what a hook loads: `open_store`. `engine.py` is for `dibs
up`, `dibs doctor`, `dibs store move` and the fallback: it says whether the store is a file that can be replaced, or a
server that dibs can start on this machine, and gives the store as a move sees it.
"""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.stores import ENGINES
from dibs.stores.opening import folder_of
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NotRequired, Protocol, TypedDict

    from dibs.stores.move.carry import Side
    from dibs.stores.opening import Opening
    from dibs.stores.seam import Row, Store

    class Opener(Protocol):
        """An engine's `store.py`."""

        def open_store(self, opening: Opening) -> Store:
            """Open the store. One that is not pinned yet may be new: make it, unless one was lost here."""

    class Engine(Protocol):
        """An engine's `engine.py`."""

        DATABASE: Database | None  # if the store is a file of this machine
        SERVER: LocalServer | None  # if dibs can start its server

        def open_side(self, opening: Opening, *, replaces: bool) -> Side:
            """The store as a move sees it; `replaces`: what is there already is set aside. Raises if it cannot move."""

    class Database(Protocol):
        """A store that is a file of this machine."""

        def path_of(self, local: str, url: str) -> str:
            """Where the file lies."""

        def refuse_missing(self, path: str) -> None:
            """Raise if the file no longer exists."""

        def replace(self, opening: Opening, prefix: str) -> tuple[int, str, list[Row]]:
            """A new database in the place of a damaged one, above every token that was answered.

            Returns the token that it begins above, the folder with the old files, and the old rows below `prefix`.
            """

        def begin(self, opening: Opening, commit: int) -> int:
            """An empty database above that commit and all of its own, an old one set aside; returns where it begins."""

    class ServerRecord(TypedDict, total=False):
        """The server that dibs started, as `server.json` has it and people read it."""

        how: str
        program: str
        pid: int  # 0 in a container
        container: str
        fsync: str
        folder: str
        store: str  # without the password
        since: str
        url: str  # with it: in the file alone

    class Start(TypedDict):
        """What became of a start."""

        started: bool
        server: NotRequired[ServerRecord]

    class Stop(TypedDict):
        """What was stopped, and how it had been started."""

        stopped: str
        how: str

    class LocalServer(Protocol):
        """Servers that dibs starts on this machine."""

        START_MUTEX: str  # the file below `.dibs/local` that the process has locked that starts one

        def is_local(self, url: str) -> bool:
            """Can dibs start a server at this address? Then no other machine can reach it."""

        def ensure_running(self, opening: Opening, fsync: str = ..., *, anew: bool = ...) -> Start:
            """Make sure that a server answers there, and say whether it was started. Raises with all attempts."""

        def refuse_stopped(self, local: str, url: str) -> None:
            """Raise if a person stopped it."""

        def begin(self, opening: Opening) -> bool:
            """Make the workspace there; False if it exists already."""

        def running(self, local: str) -> ServerRecord:
            """The server that dibs started, for people to read; empty if none."""

        def stop(self, local: str) -> Stop:
            """Stop the server that dibs started."""

        def hint(self, local: str, url: str) -> str:
            """How to start a server that is down, if dibs can."""

        def next_epoch(self, local: str) -> int:
            """A commit above every one that a server has answered on this machine."""

        def fallback_mark(self, workspace: str) -> str:
            """The file that tells other clones on this machine that another store replaces their server."""

        def place_text(self, url: str) -> str:
            """A URL without credentials and options: where the server is."""


BACKGROUND_VARIABLE = "DIBS_BACKGROUND"  # set for a `dibs up` that an engine starts because its server is down
NO_SERVER = "dibs started no server for this workspace, and stops no other."
UNADVERTISED = ("http://",)  # for loopback alone


def engine_of(url: str) -> Engine:
    """The engine of that URL; raises if there is none."""
    return _load(folder_of(url))


def database_of(url: str) -> Database | None:
    """The file that the store of that URL is; None for a server, and for a URL of no engine."""
    return engine_of(url).DATABASE if url.startswith(tuple(ENGINES)) else None


def server_of(url: str) -> LocalServer | None:
    """The servers of that URL's engine; None if dibs starts none, and for a URL of no engine."""
    return engine_of(url).SERVER if url.startswith(tuple(ENGINES)) else None


def every() -> list[Engine]:
    """All of them."""
    return [_load(folder) for folder in dict.fromkeys(ENGINES.values())]


def _load(folder: str) -> Engine:
    engine: Engine = __import__(f"dibs.stores.{folder}.engine", fromlist=("open_side",))
    return engine


def started_server(local: str) -> LocalServer | None:
    """The engine's servers of which dibs has started one for this workspace."""
    servers = [engine.SERVER for engine in every()]
    return next((server for server in servers if server is not None and server.running(local)), None)


def unknown(url: str) -> Invalid:
    """There is no engine for that: a mistake in the call, in DIBS_STORE or in the config."""
    url = hidden(url)
    *first, last = [f"`{start}`" for start in ENGINES if start not in UNADVERTISED]
    return Invalid(f"store {url}: dibs opens {', '.join(first)} and {last}", store=url)
