"""A session: one caller in one workspace. It finds the workspace, opens its store, looks up facts, runs operations.

Shared by the CLI, the Python API, the hooks and the server. It decides nothing: driver.py runs an operation until it is
decided; where that is "wait", wait_loop.py waits and runs it again.

A request has two halves. The caller's half is here: what only the caller's machine knows (rules, processes, commands).
The store's half is a link: `StoreLink` (driver.py) asks the store itself; server_link.py asks a server, which has the
store and does the same there. Both give the same answers.
"""

from __future__ import annotations

import os
import sys

from dibs.client.identity import identify_local
from dibs.errors import DibsError, Invalid, InvalidSyntax, Moved, Unavailable
from dibs.machine import caller, clock, processes
from dibs.operations.core.call import Call, RunCommand
from dibs.stores import FAR
from dibs.workspace import config, location
from dibs.workspace.paths import Paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from dibs.client.driver import Driver
    from dibs.errors import Stale
    from dibs.operations.core.call import Answer, Command, Fields, Process
    from dibs.operations.core.declare import Around, Operation
    from dibs.stores.seam import Json, Store

    class Link(Protocol):
        """The store's half of a request, wherever it is done."""

        def attempt(self, session: Session, operation: Operation, call: Call, fields: Fields) -> Json:
            """Let the operation be decided once: its outcome, a refusal as a value. Raises what the driver mends."""

        def recall(self, session: Session, call: Call) -> bool:
            """Take back what an interrupted call sent and never got an answer to; False if there is nothing such."""

        def close(self) -> None:
            """Close connections; the next request opens them again."""

    class Shared(Protocol):
        """What a server has opened once for all its callers."""

        @property
        def store(self) -> Store:
            """The store; sessions never close it."""

        def config(self, place: location.Place) -> config.Config:
            """The settings of a working tree."""

        def reopen_after(self, error: BaseException) -> bool:
            """Was the store moved or replaced? Then `store` is the new one."""


STORE_TIMEOUT_S = 5.0


class Door:
    """What a door does for its sessions: the floors above a session, as it sees them. A hook's does nothing of it."""

    __slots__ = ()

    def run_command(self, _: Session, __: Call, ___: Fields, command: Command, /) -> Fields:
        """Run a command that an operation asks for; the request with its result."""
        raise Invalid(f"{command['field']}: no command is run from here", field=command["field"])

    def run_around(self, name: Around, session: Session, call: Call, fields: Fields) -> Answer:
        """Run an operation as a part of more (`Operation.around`)."""
        raise NotImplementedError

    def announce(self, text: str) -> None:
        """Tell a person that a long operation runs."""

    def show_progress(self, done: int, total: int) -> None:
        """Tell a person how many events of a log are read."""

    def prove_guards(self, _: Session, /) -> list[Json] | None:
        """Try the guards, for `check`; None where nobody may try them."""
        return None


class Session:
    """A workspace, opened by one caller."""

    def __init__(
        self,
        cwd: str,
        given: str | None,
        *,
        timeout: float | None = None,
        short_lived: bool = False,
        place: location.Place | None = None,
        missing: str = "wait",
        shared: Shared | None = None,
        door: Door | None = None,
    ) -> None:
        self.cwd = cwd
        self._missing = missing  # what to do while a local Redis server is started (stores/opening.py)
        self.place = location.find(cwd, given) if place is None else place
        self.replaced = ""  # what `.dibs/local/run` named before this session rewrote it
        if not self.place.exists:
            raise Invalid(f"{self.place.root} is not a workspace yet; run `dibs init` there", path=self.place.root)
        if _make_local(self.place.local):
            from dibs.client.upkeep import push_look
            from dibs.stores import opening
            from dibs.workspace import launcher

            launcher.put(self.place)  # a fresh clone, or a removed folder: from now on hooks find dibs quickly
            push_look.begin(self.place)
            opening.restored_pin(self.place.local, self.place.shared)
        elif shared is None and not _is_started_by(f"{self.place.local}/run"):
            from dibs.workspace import launcher

            self.replaced = launcher.mend(self.place)
        self._shared = shared  # a server's: what it opened once for all its callers
        self.config = (
            config.load(self.place.config, self.place.local, self.place.top, self.place.shared)
            if shared is None
            else shared.config(self.place)
        )
        error = self.config.error
        if error is not None and shared is None and missing != "refuse" and not isinstance(error, InvalidSyntax):
            raise error  # a command says which setting means nothing; a hook goes by what was valid last
        self.paths = Paths(self.place.top, self.config.fold, self.place.common, is_real=True)
        self.timeout = STORE_TIMEOUT_S if timeout is None else timeout
        self.short_lived = short_lived
        self._pid = os.getpid()
        self.ahead: int | None = None  # `wall_ahead` of the store, where a server of this machine was asked last
        self._store: Store | None = None if shared is None else shared.store
        self._link: Link | None = None
        self._is_given = False  # the caller opened the store (`use`), whatever the config names
        self.channels: list[str] = []  # names under which this process can be woken, free for the next wait
        self.interrupt: BaseException | None = None  # what the handler of a signal raised; a wait raises it again
        self.secrets: dict[str, str] = {}  # of credentials that are being made: secrets.py
        self._chain: list[tuple[Process, str]] | None = None  # the processes above this one
        self.door = door if door is not None else Door()

    def reread(self) -> str:
        """Reload the config, in a long-running process. Returns why it cannot be read; then the former one counts.

        The store stays the same: only `dibs store move` changes it.
        """
        if self._shared is None:
            try:
                self.config = config.load(self.place.config, self.place.local, self.place.top, self.place.shared)
            except Invalid as error:
                return error.message
        return self.config.problem

    @property
    def store(self) -> Store:
        """The store, opened when it is first needed."""
        self.refuse_forked()
        if self._store is None:
            from dibs.stores import opening

            if self.place.shared != self.place.local and not os.path.exists(f"{self.place.shared}/dibs"):
                from dibs.workspace import launcher

                launcher.keep(self.place)  # an older dibs made this workspace
            self._store = opening.open_store(
                self.place.local, self.config.store, self.config.id, self.timeout,
                short_lived=self.short_lived, missing=self._missing, shared=self.place.shared,
            )  # fmt: skip
        return self._store

    @property
    def is_far(self) -> bool:
        """Does a server elsewhere have the store? Then that server decides everything."""
        if self._shared is not None or self._is_given:
            return False
        return (caller.environ().get("DIBS_STORE") or self.config.store).startswith(FAR)

    @property
    def link(self) -> Link:
        """The store's half of this session's requests; the store itself, unless a door set another."""
        self.refuse_forked()
        if self._link is None:
            if self.is_far:
                from dibs.client.far_link import FarLink

                self._link = FarLink()
            else:
                from dibs.client.driver import StoreLink

                self._link = StoreLink()
        return self._link

    @link.setter
    def link(self, link: Link) -> None:
        self._link = link

    def follow(self, error: Stale) -> bool:
        """Continue at the store that the workspace was moved to; finishes a move that was cut short.

        False if this machine does not know that store. One of a server's callers must not close its store: the server
        opens the other one.
        """
        if self._shared is not None:
            if not self._shared.reopen_after(error):
                return False
            self._store = self._shared.store
            return True
        from dibs.client import store_move

        if not isinstance(error, Moved) or not store_move.follow(self, error):
            return False
        self.close()
        return True

    def use(self, store: Store) -> None:
        """Use this store from now on; the caller has opened it."""
        self.close()
        self._store, self._link, self._is_given = store, None, True

    def deadline(self, at: str) -> int:
        """A time of an answer on this machine's clock since boot, whatever its own time of day is."""
        return clock.of_iso(at) - (self.store.wall_ahead() if self.ahead is None else self.ahead)

    def refuse_forked(self) -> None:
        """Refuse a session of the parent process: its connections, and the process that it speaks for, are not ours."""
        if os.getpid() != self._pid:
            from dibs.stores.turns import forked

            raise forked(self.place.root)

    def close(self) -> None:
        """Close the store, if it was opened, and what the link has open. After a fork they are the parent's."""
        if os.getpid() != self._pid:
            return
        if self._link is not None:
            self._link.close()
        if self._shared is None:
            store, self._store = self._store, None  # first: a call of another thread opens it again
            if store is not None:
                self.channels.clear()
                store.close()

    def answer(
        self,
        operation: Operation,
        call: Call,
        fields: Fields,
        on_wait: Callable[[dict[str, Any]], None] | None = None,
    ) -> Json:
        """Answer one request of a door, with the steps that the operation declares around it.

        `on_wait` is called at each poll of a wait.
        """
        self.refuse_forked()
        if operation.is_query:
            if self.is_far:
                from dibs.client.far_link import FarLink

                if isinstance(self.link, FarLink) and self.link.answers(operation):
                    return self.link.answer(self, operation, call, fields)
            if call.credential is not None or operation.writes:
                from dibs.operations.core.entry import caller_of

                self.run(caller_of(operation), call, {})
            request = operation.checked(fields)
            return operation.body(self, call, request) if request else operation.body(self, call)
        if operation.around:
            return self.door.run_around(operation.around, self, call, fields)
        if operation.beforehand:
            from dibs.client import steps

            fields = steps.BEFOREHAND[operation.beforehand](self, call, fields)
        if fields.get("wait"):
            return self.finish(operation, self.run_waiting(operation, call, fields, on_wait))
        return self.finish(operation, self.run(operation, call, fields))

    def finish(self, operation: Operation, result: Json) -> Json:
        """Complete an operation's answer with what only the caller's machine knows."""
        if not operation.afterwards:
            return result
        from dibs.client import steps

        return steps.AFTERWARDS[operation.afterwards](self, result)

    def run(self, operation: Operation, call: Call, fields: Fields) -> Json:
        """Run one operation and return its answer; a refusal is raised."""
        if "rules" in operation.wants:
            from dibs.workspace import rules_file

            call.rules = rules_file.digest(self.place)
        if "units" in operation.wants and any(one[1].startswith("pool:") for one in fields.get("resources", ())):
            from dibs.client import unit_facts

            fields = unit_facts.complete(self, fields)
        from dibs.client.driver import Driver

        driver = Driver(operation, call, fields)
        outcome = self.conclude(driver, driver.run(self, self.link))
        if operation.boots and self._shared is None and self.config.server["start"] == "auto" and not self.is_far:
            from dibs.workspace import auto_serve

            auto_serve.start(self.place)
        return outcome

    def conclude(self, driver: Driver, outcome: Json) -> Json:
        """The outcome, once the commands have run that the operation asks for; a refusal is raised."""
        while isinstance(outcome, RunCommand):
            driver.fields = self.door.run_command(self, driver.call, driver.fields, outcome.command)
            outcome = driver.run(self, self.link)
        if isinstance(outcome, DibsError):
            raise outcome
        return outcome

    def run_waiting(
        self,
        operation: Operation,
        call: Call,
        fields: Fields,
        on_wait: Callable[[dict[str, Any]], None] | None = None,
    ) -> Json:
        """Run an operation that may have to wait, until it is granted, refused, or times out."""
        from dibs.client import wait_loop

        return wait_loop.run(self, operation, call, fields, on_wait)

    def withdraw(self, call: Call) -> None:
        """End what an interrupted call left, even if its answer was never read."""
        from dibs.client import wait_loop

        wait_loop.withdraw(self, call)

    def chain(self) -> list[tuple[Process, str]]:
        """The processes above this one with their names, nearest first; looked up once."""
        if self._chain is None:
            self._chain = processes.ancestors()
        return self._chain

    def identify(self, agent: str | None, *, client: Process | None = None, request: str = "") -> Call:
        """The caller: by the given name, the environment and the processes above this one."""
        return identify_local(self.config.policy, self.chain(), agent, client=client, request=request)

    def operation(self, name: str) -> Operation:
        """The declared operation of that name."""
        from dibs.client import catalogue

        return catalogue.operation(name)


def _make_local(local: str) -> bool:
    """Make the folder for this machine's files. `init` makes it too; True if it was missing, as in a fresh clone."""
    try:
        try:
            os.mkdir(local, 0o700)
        except FileNotFoundError:  # all of `.dibs/` was removed
            os.makedirs(local, 0o700, exist_ok=True)
    except FileExistsError:
        return False
    except OSError as error:
        message = f"{local} cannot be made: {error.strerror}. Nothing was changed."
        raise Unavailable(message, path=local) from None
    return True


def _is_started_by(run: str) -> bool:
    """Does `.dibs/local/run` name this dibs and its interpreter? A quick check; if not, `launcher.mend` decides."""
    try:
        with open(run, "rb", 0) as file:
            text = file.read()
    except OSError:
        return False
    home = __file__[: -len("client/session.py")]
    return os.fsencode(f"'{sys.executable}'") in text and os.fsencode(f"'{home}guards/start/entry.py'") in text
