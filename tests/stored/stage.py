"""A workspace in a folder whose time only moves when told, on a machine without a name: where it is made and read.

`Stage` is a fleet (tests/operations/fleet.py) on the store of a real workspace. Its calls name agents and processes
that exist nowhere else. Clock, boot, host, processes and random ids are the stage's, so that one play gives the same
records and the same answers wherever it runs.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from dibs.audit import expected_archives
from dibs.client import catalogue
from dibs.client.session import Session
from dibs.client.upkeep import log_upkeep
from dibs.errors import DibsError
from dibs.interfaces import session_doors
from dibs.ledger import ledger_files
from dibs.machine import caller, clock, processes
from dibs.operations.core.call import Call, process_name
from dibs.verify.checker import verify_store
from dibs.workspace import location
from tests import declared
from tests.operations.fleet import Fleet
from tests.stores.redis_server import tell_time

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

    from tests.stores.redis_server import Server

ID = "stored"  # of the workspace
PERSON = "me@here"  # who calls without an agent's name
HOST = {"host": "host", "boot": "boot", "namespace": "ns"}  # the machine that `Fleet.process` speaks of
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


class Stage(Fleet):
    """Players in one workspace, at one moment."""

    def __init__(
        self, folder: Path, patch: pytest.MonkeyPatch, *, now: int, ids: str, dead: Mapping[str, bool] | None = None,
        server: Server | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.folder, self.patch, self._server = folder, patch, server
        self.dead = set(dead or ())
        self.rules = "r" * 12  # the digest of the rules that all agents were told
        numbers = itertools.count(1)
        if server is not None:
            tell_time(patch)
        patch.setattr(clock, "since_boot", lambda: self.now)
        patch.setattr(clock, "wall", lambda: self.now)
        patch.setattr(clock, "random_id", lambda: f"{ids}{next(numbers):0{12 - len(ids)}x}")
        patch.setattr(clock, "sleep", lambda _: None)
        patch.setattr(ledger_files, "now", lambda: (self.now * 1_000_000, 0))
        for name, value in HOST.items():
            patch.setitem(processes._cache, name, value)
        patch.setattr(processes, "alive", lambda process: process_name(process) not in self.dead)
        patch.setattr(processes, "ancestors", lambda *_: [])
        patch.setitem(caller.environ(), "USER", "me")
        self.now = now
        self.session = Session(
            str(folder), None, place=location.find(str(folder), None), door=session_doors.ProgramDoor()
        )
        self.policy = self.session.config.policy
        self.store = self.session.store  # type: ignore[assignment]
        self.first_commit = self.store.head().commit  # what its numbers begin after, if it is new

    def one_clock(self) -> None:
        """Let a new store on a file count from 1970, as a server does: then both engines keep the same times."""
        if self._server is None:
            self.store._sql("UPDATE head SET boot = ?, base = 0, now = 0", (HOST["boot"],))  # type: ignore[attr-defined]

    @property
    def now(self) -> int:
        """The time, in milliseconds, on every clock here."""
        return self._now

    @now.setter
    def now(self, value: int) -> None:
        self._now = value
        if getattr(self, "_server", None) is not None:
            self._server.ask("SET", f"{{dibs:{ID}}}:clock", str(value))  # type: ignore[union-attr]

    def later(self, milliseconds: int) -> None:
        """Time passes."""
        self.now += milliseconds

    def attempt(self, agent: str, name: str, /, **fields: Any) -> Any:
        """The answer to a call, or its refusal."""
        try:
            return self.call(agent, name, **fields)
        except DibsError as error:
            return error

    def refused(self, agent: str, name: str, /, **fields: Any) -> None:
        """A call that has to be refused."""
        answer = self.attempt(agent, name, **fields)
        assert isinstance(answer, DibsError), f"{name} of {agent} was not refused: {answer}"

    def caller(self, agent: str = "") -> Call:
        """A caller of the session: a person without a name."""
        call = Call(self.policy, agent=agent, fallback=PERSON)
        call.rules = self.rules
        return call

    def ask(self, name: str, /, **fields: Any) -> Any:
        """One request with all the steps around it, as a door makes it."""
        operation = catalogue.operation(name)
        answer = self.session.answer(operation, self.caller(), fields)
        declared.hold(operation, answer)
        return answer

    def archive(self) -> int:
        """Events leave the store for archives, as the config says; how many archives."""
        return log_upkeep.by_config(self.session, self.caller())

    def verify(self) -> Any:
        """The report of `dibs verify`, with all archives."""
        return verify_store(self.store, archives=expected_archives.expected(self.session, self.caller()))

    def rows(self) -> list[tuple[str, Any]]:
        """Every record of the store with its key."""
        rows: list[tuple[str, Any]] = self.store.look(lambda tx: tx.fetch([("\x20", "\U0010ffff")], 1_000_000).rows)
        return rows

    def reopen(self) -> None:
        """Close the store and open it again, as the next process does: it writes the second copy of the pin."""
        self.session.close()
        self.store = self.session.store  # type: ignore[assignment]

    def close(self) -> None:
        """Close the store."""
        self.session.close()
