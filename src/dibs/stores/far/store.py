"""The store of a workspace whose server is elsewhere: the log, and waiting, over HTTP.

What decides goes through client/far_link.py, as operations by name. Here is what a session reads of a store besides
operations: events, head, seals, a description, and the names under which it is woken. There is no transaction here:
nothing of a far store is read or written but by operations.
"""

from __future__ import annotations

import os

from dibs.error_subtypes import Unreachable
from dibs.errors import Unavailable
from dibs.machine import clock
from dibs.stores.far.connection import FarConnection, Lost
from dibs.stores.opening import configured_url
from dibs.stores.seam import ERROR, BaseStore, Event, Head, Seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from dibs.stores.opening import Opening
    from dibs.stores.seam import Check, Description, Outcome, T, Transaction

PAUSE_S = 0.2  # between two attempts at a server that does not answer
POLL_S = 20.0  # of one wait at the server; then it is asked again
EVENTS_PER_PAGE = 1_000


def open_store(opening: Opening) -> FarStore:
    """A server elsewhere. The first opening makes sure that it serves this very workspace."""
    url, workspace = opening.url, opening.workspace
    store = FarStore(url, opening.timeout, chosen=opening.is_pinned or configured_url("") == url)
    if opening.is_pinned:
        return store
    about = store.about()
    if workspace and about["id"] and about["id"] != workspace:
        message = (
            f"{url} serves another workspace ({about['workspace']}): its `id` in .dibs/config.toml is not this one's. "
            "Nothing was changed."
        )
        raise Unavailable(message, store=url)
    return store


class FarStore(BaseStore):
    """A server's store. Threads may share it."""

    def __init__(self, url: str, timeout: float, *, chosen: bool = True) -> None:
        """`chosen`: this machine chose the server, and not only a file of the repository."""
        self.url, self.timeout = url, timeout
        self.connection = FarConnection(url, timeout, chosen=chosen)
        self._ahead: int | None = None  # the store's time of day in an answer minus the clock when it was asked

    def reach(
        self, method: str, path: str, body: Callable[[int], Any], *, timeout: float = 0, writes: bool = False
    ) -> Any:
        """Ask the server, again and again while it does not answer, as long as a call waits for a busy store.

        `body` makes the request of each attempt, counted from 0. It must be one that can be repeated; `writes`: whether
        it was done matters.
        """
        end = clock.since_boot() + int(self.timeout * 1000)
        attempt, was_sent = 0, False
        while True:
            asked_at = clock.since_boot()
            try:
                answer = self.connection.ask(method, path, body(attempt), timeout=timeout)
            except Lost as lost:
                was_sent = was_sent or lost.sent
                left = end - clock.since_boot()
                if left <= 0:
                    raise self._unreachable(str(lost), was_sent=was_sent and writes) from None
                clock.sleep(min(PAUSE_S, left / 1000))
                attempt += 1
                continue
            if type(wall := answer.get("wall")) is int:
                self._ahead = wall - asked_at
                clock.hear(self._ahead)
            return answer

    def _unreachable(self, why: str, *, was_sent: bool) -> Unreachable:
        known = (
            " Whether the request was done is not known: ask again with the same request id, or look at `dibs status`."
            if was_sent
            else " Nothing was changed."
        )
        message = (
            f"the server {self.url} does not answer ({why}).{known} Is it running there (`dibs serve`), and is this "
            "the right address?"
        )
        return Unreachable(message, store=self.url, **({"unknown": True} if was_sent else {}))

    def _read(self, path: str) -> Any:
        return self.reach("GET", path, lambda _: None)

    # --- reading

    def head(self) -> Head:
        """Where the log ends."""
        return Head(*self._read("/link/head")["head"])

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events with a number above `after`, in order."""
        found: list[Event] = []
        while len(found) < limit:
            size = min(EVENTS_PER_PAGE, limit - len(found))
            page = self._read(f"/link/events?after={after}&limit={size}")["events"]
            found += [Event(*row) for row in page]
            if not page:
                break
            after = found[-1].seq
        return found

    def seals(self) -> list[Seal]:
        """The seals, in order."""
        return [Seal(*row) for row in self._read("/link/seals")["seals"]]

    def follow(self, after: int, timeout: float) -> bool:
        """Wait until the log has an event after number `after`."""
        found = self._poll("/link/follow", {"after": after}, timeout)
        return self.head().seq > after if found is None else bool(found["grown"])

    # --- waiting

    def watch(self, name: str) -> None:
        """Listen for `name`, at the server."""
        self.reach("POST", "/link/watch", lambda _: {"name": name})

    def wait(self, name: str, timeout: float) -> bool:
        """Wait until `name` is woken, at most `timeout` seconds; sooner back where the server waits no longer."""
        found = self._poll("/link/wait", {"name": name}, timeout)
        return found is None or bool(found["woken"])

    def _poll(self, path: str, asked: dict[str, Any], timeout: float) -> Any:
        """A wait at the server. None if that was lost: the caller looks, and learns whether there is a server."""
        seconds = min(timeout, POLL_S)
        try:
            return self.connection.ask("POST", path, {**asked, "timeout": seconds}, timeout=seconds + self.timeout)
        except Lost:
            return None

    def unwatch(self, name: str) -> None:
        """Stop listening; where that cannot be said, the server stops by itself."""
        try:
            self.connection.ask("POST", "/link/unwatch", {"name": name})
        except (Lost, Unavailable):
            pass

    # --- about it

    @property
    def address(self) -> str:
        """The server's URL."""
        return self.url

    def wall_ahead(self) -> int:
        """From the server's last answer, measured from before it was asked."""
        return super().wall_ahead() if self._ahead is None else self._ahead

    def about(self) -> dict[str, Any]:
        """The workspace that the server serves, and its store's description."""
        found: dict[str, Any] = self._read("/link/describe")
        return found

    def describe(self) -> Description:
        """What people should know about the server's store."""
        found: Description = self.about()["store"]
        return {**found, "address": self.url}

    def check(self) -> Iterator[Check]:
        """The checks of `dibs doctor` that can be made from here."""
        try:
            found = self.about()
        except Unavailable as error:
            yield "server", False, error.message, ERROR
            return
        said = f"{self.url} answers for workspace {found['id'] or found['workspace']}; {found['store']['persistence']}"
        yield "server", True, said, ERROR

    def close(self) -> None:
        """Close the connections."""
        self.connection.close()

    # --- what is not here

    def run(self, fn: Callable[[Transaction], T]) -> T:
        """No transaction runs here."""
        raise _not_here(fn)

    def look(self, fn: Callable[[Transaction], T]) -> T:
        """No transaction runs here."""
        raise _not_here(fn)

    def run_many(self, fns: Sequence[Callable[[Transaction], Any]]) -> list[Outcome]:
        """No transaction runs here."""
        raise _not_here(fns[0])


def _not_here(fn: Callable[..., Any]) -> Unavailable:
    where = f"{os.path.basename(fn.__code__.co_filename)}:{fn.__code__.co_firstlineno}"
    return Unavailable(f"the store is a server's: this cannot be done from here ({where}); do it there.", internal=True)
