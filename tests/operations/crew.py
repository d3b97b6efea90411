"""A fleet that works on tasks, in few words: for tests of what is decided about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.operations.core.policy import WORK
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND, MINUTE = 1_000, 60_000
TTL = 30 * MINUTE


def settings(**tasks: Any) -> dict[str, Any]:
    """What a config says to tasks: the defaults, and what is set here."""
    return {**WORK, "tasks": {**WORK["tasks"], **tasks}}


class Crew(Fleet):
    """Who adds, takes and ends tasks. The one who adds is `boss` unless said otherwise."""

    def __init__(self, **tasks: Any) -> None:
        super().__init__(work=settings(**tasks))

    def add(self, identifier: str, /, *, by: str = "boss", **fields: Any) -> Any:
        """A task, whose title is its id."""
        return self.call(by, "task add", **{"title": identifier, "id": identifier, **fields})["task"]

    def next(self, agent: str = "w", /, **fields: Any) -> Any:
        """Take the best one."""
        return self.call(agent, "task next", **fields)

    def take(self, identifier: str, agent: str = "w", /, **fields: Any) -> int:
        """Take a certain one; its token."""
        token: int = self.call(agent, "task claim", id=identifier, **fields)["token"]
        return token

    def done(self, identifier: str, token: int, agent: str = "w", /, **fields: Any) -> Any:
        """Finish it."""
        return self.call(agent, "task done", id=identifier, token=token, **fields)

    def fail(self, identifier: str, token: int, agent: str = "w", /, *, kind: str = "transient", **fields: Any) -> Any:
        """It did not work."""
        return self.call(agent, "task fail", id=identifier, token=token, **{"class": kind, "why": "no luck", **fields})

    def finish(self, identifier: str, agent: str = "w", /, **fields: Any) -> Any:
        """Take it and finish it."""
        return self.done(identifier, self.take(identifier, agent), agent, **fields)

    def show(self, identifier: str) -> Any:
        """All that is shown of it."""
        return self.call("viewer", "task show", id=identifier)["task"]

    def state(self, identifier: str) -> str:
        """Its state."""
        return str(self.show(identifier)["state"])

    def states(self, *identifiers: str) -> list[str]:
        """Their states."""
        return [self.state(one) for one in identifiers]

    def order(self, agent: str = "w") -> list[str]:
        """What `next` gives one after the other, each finished at once."""
        found = []
        for answer in self.ready(agent):
            found.append(answer["task"]["id"])
            self.done(found[-1], answer["token"], agent)
        return found

    def ready(self, agent: str) -> Iterator[Any]:
        """What `next` gives, until there is nothing."""
        from dibs.errors import NotFound

        while True:
            try:
                yield self.next(agent)
            except NotFound:
                return

    def bring(self, identifier: str, state: str) -> int:
        """Add a task and lead it to a state; the token where that was needed."""
        first = state if state in {"discovery", "scoped"} else "planned"
        self.add(identifier, state=first, attempts=1)
        if state == "cancelled":
            self.call("boss", "task cancel", id=identifier)
        if state in {"discovery", "scoped", "planned", "cancelled"}:
            return 0
        token = self.take(identifier)
        if state == "complete":
            self.done(identifier, token)
        elif state != "executing":
            self.fail(identifier, token, kind="permanent" if state == "failed" else "transient")
        assert self.state(identifier) == state
        return token

    def unchanged(self) -> Unchanged:
        """Nothing is written while this is entered."""
        return Unchanged(self)


class Unchanged:
    """No row and no event, whatever was refused meanwhile."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew

    def __enter__(self) -> None:
        self._before = self._look()

    def __exit__(self, *_: object) -> None:
        assert self._look() == self._before

    def _look(self) -> Any:
        rows = self._crew.store.look(lambda tx: tx.fetch([("\x20", "\U0010ffff")], 100_000).rows)
        return self._crew.store.head().commit, rows
