"""One caller's way into one workspace: finds it, opens its store, looks up the facts, runs operations.

Shared by the CLI and the Python API. It decides nothing: where an operation needs a fact, it looks and runs it again;
where an answer says "wait", it waits and asks again.
"""

from __future__ import annotations

import os
import sys

from dibs.errors import DibsError, Invalid, Unavailable
from dibs.facts import processes, workspace
from dibs.facts.paths import Paths
from dibs.operations.core.call import Call, Need, process_name
from dibs.operations.core.entry import perform
from dibs.session import config
from dibs.session.identity import identify_local
from dibs.stores.seam import Unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Store, Transaction

FACT_ROUNDS = 64  # times one call may ask for facts; each round brings at least one new one
TIMEOUT = 5.0  # seconds to wait for the store


class Session:
    """A workspace, opened by one caller."""

    def __init__(
        self,
        cwd: str,
        given: str | None,
        *,
        timeout: float | None = None,
        short_lived: bool = False,
        place: workspace.Place | None = None,
        missing: str = "wait",
    ) -> None:
        self.cwd = cwd
        self._missing = (
            missing  # what to do while a local server that does not run is started (storage/workspace_store.py)
        )
        self.place = workspace.find(cwd, given) if place is None else place
        self.replaced = ""  # what `.dibs/local/run` named until now, where it was written anew
        if not self.place.exists:
            raise Invalid(f"{self.place.root} is not a workspace yet; run `dibs init` there", path=self.place.root)
        if _make_local(self.place.local):
            from dibs.doors.install import launcher
            from dibs.storage import workspace_store

            launcher.put(self.place)  # a fresh clone: from now on its hooks take the fast way
            workspace_store.kept_twice(self.place.local, self.place.shared)  # or all of it was swept away
        elif not _is_started_by(f"{self.place.local}/run"):
            from dibs.doors.install import launcher

            self.replaced = launcher.mend(self.place)
        self.config = config.load(self.place.config, self.place.local, self.place.top, self.place.shared)
        self.paths = Paths(self.place.top, self.config.fold, self.place.common)
        self.timeout = TIMEOUT if timeout is None else timeout
        self.short_lived = short_lived
        self._store: Store | None = None
        self.channels: list[str] = []  # names under which this process is woken, not in use right now
        self.running: Callable[..., dict[str, Any]] | None = None  # how a command is run that an operation asks for
        self.around: Callable[[str], Callable[..., Any]] | None = None  # what is done around an operation, by its name
        self.progress: Callable[[int, int], None] | None = None  # how a person is told how far of how much it is
        self.telling: Callable[[str], None] | None = None  # how a person is told that something long goes on
        self._chain: list[tuple[list[Any], str]] | None = None  # who started this process does not change

    @property
    def store(self) -> Store:
        """The store, opened when it is first needed."""
        if self._store is None:
            from dibs.storage import workspace_store

            if self.place.shared != self.place.local and not os.path.exists(f"{self.place.shared}/hook"):
                from dibs.doors.install import launcher

                launcher.keep(self.place)  # an older dibs made this workspace
            self._store = workspace_store.open_store(
                self.place.local, self.config.store, self.config.id, self.timeout,
                short_lived=self.short_lived, missing=self._missing, shared=self.place.shared,
            )  # fmt: skip
        return self._store

    def use(self, store: Store) -> None:
        """Go on with this store, which the caller has opened."""
        self.close()
        self._store = store

    def close(self) -> None:
        """Close the store, if it was opened."""
        if self._store is not None:
            self._store.close()
            self._store = None
            self.channels.clear()

    def answer(
        self,
        operation: Operation,
        call: Call,
        fields: dict[str, Any],
        told: Callable[[dict[str, Any]], None] | None = None,
    ) -> Any:
        """One request of a door, from its fields to its answer, with all that its declaration says is done around it.

        `told` is called whenever it has to wait.
        """
        if operation.whole:
            return operation.body(self, call, **operation.checked(fields))
        if operation.around:
            assert self.around is not None, "doors/above.py attaches what stands above a session"
            return self.around(operation.around)(self, call, fields)
        if operation.beforehand:
            from dibs.session import steps

            fields = steps.BEFOREHAND[operation.beforehand](self, call, fields)
        if fields.get("wait"):
            return self.finish(operation, self.run_waiting(operation, call, fields, told))
        return self.finish(operation, self.run(operation, call, fields))

    def finish(self, operation: Operation, result: Any) -> Any:
        """An operation's answer with what only the caller's machine knows."""
        if not operation.afterwards:
            return result
        from dibs.session import steps

        return steps.AFTERWARDS[operation.afterwards](self, result)

    def run(self, operation: Operation, call: Call, fields: dict[str, Any]) -> Any:
        """Run one operation and return its answer; a refusal is raised."""
        if "rules" in operation.wants:
            from dibs.session import rules_file

            call.rules = rules_file.digest(self.place)
        hears = "deliveries" in operation.wants
        rounds = 0
        while rounds < FACT_ROUNDS:
            rounds += 1
            try:
                if hears:
                    self._deliver(call)
                    hears = False
                verb = self.store.run if operation.writes else self.store.look
                result = verb(lambda tx: _decide(tx, call, operation, fields))
            except Need as need:
                for process in need.processes:
                    call.facts[process_name(process)] = processes.alive(process)
                continue
            except Unsettled:
                self._settle(call)
                continue
            except Unavailable as error:
                if "moved" not in error.fields or not self._follow(error):
                    raise
                continue
            if isinstance(result, DibsError):
                raise result
            if type(result) is dict:
                if "again" in result:  # part of it is done, in a transaction of its own
                    rounds = 0
                    if result["again"] is not True:  # and a command is to be run before the rest
                        return self.run(operation, call, self._after_command(call, fields, result["again"]))
                    continue
                if "jobs" in result:
                    from dibs.session import long_jobs

                    long_jobs.carry_on(self, call, result)
            return result
        raise Unavailable("the facts about other processes would not settle; try again.")

    def _after_command(self, call: Call, fields: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
        """The request again, with what came of the command that the operation asks for."""
        if self.running is None:
            raise Invalid(f"{asked['field']}: no command is run from here", field=asked["field"])
        return self.running(self, call, fields, asked)

    def _deliver(self, call: Call) -> None:
        """What the agent subscribes to, into its inbox; most subscribe to nothing."""
        from dibs.operations.messages import mailbox

        if not call.agent or self.store.look(lambda tx: mailbox.subscribed(tx, call.agent)):
            from dibs.session import subscription_delivery

            subscription_delivery.deliver(self.store, call)

    def _follow(self, error: Unavailable) -> bool:
        """Another store is in charge: go on there, if this machine knows where; finishes a move that was cut short."""
        from dibs.storage import store_move

        if not store_move.follow(self, error):
            return False
        self.close()
        return True

    def _settle(self, call: Call) -> None:
        """The store lost answered commits: the operation for that gives up what rests on them."""
        from dibs.operations.upkeep.recovery import VOID

        store = self.store
        # Not through the way in: whoever comes first settles, also one that may do nothing else.
        mine = Call(call.policy, agent=call.agent or call.fallback)
        store.settle(lambda: bool(store.run(lambda tx: VOID.body(tx, mine, None))["more"]))

    def run_waiting(
        self,
        operation: Operation,
        call: Call,
        fields: dict[str, Any],
        told: Callable[[dict[str, Any]], None] | None = None,
    ) -> Any:
        """Run an operation that may have to wait, until it is granted, refused, or its time is over."""
        from dibs.session import wait_loop

        return wait_loop.run(self, operation, call, fields, told)

    def withdraw(self, call: Call) -> None:
        """End what an interrupted call left behind, also if the answer that names it was never read."""
        from dibs.session import wait_loop

        wait_loop.withdraw(self, call)

    def chain(self) -> list[tuple[list[Any], str]]:
        """The processes above this one with their names, nearest first; looked up once."""
        if self._chain is None:
            self._chain = processes.ancestors()
        return self._chain

    def identify(self, agent: str | None, *, client: list[Any] | None = None, request: str = "") -> Call:
        """Who is calling, from what was said, the environment and the processes above this one."""
        return identify_local(self.config.policy, self.chain(), agent, client=client, request=request)

    def operation(self, name: str) -> Operation:
        """The declared operation of that name."""
        from dibs.session import catalogue

        return catalogue.operation(name)


def _decide(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Any]) -> Any:
    """Run an operation, and keep what it decides where it is found although an interrupt comes before the answer."""
    call.decided = perform(tx, call, operation, fields)
    return call.decided


def _make_local(local: str) -> bool:
    """The folder for what belongs to this machine. `init` makes it; in a fresh clone the first call does: then True."""
    try:
        try:
            os.mkdir(local, 0o700)
        except FileNotFoundError:  # all of `.dibs/` was taken away
            os.makedirs(local, 0o700, exist_ok=True)
    except FileExistsError:
        return False
    except OSError as error:
        message = f"{local} cannot be made: {error.strerror}. Nothing was changed."
        raise Unavailable(message, path=local) from None
    return True


def _is_started_by(run: str) -> bool:
    """Does `.dibs/local/run` name this dibs and its interpreter? A quick look; if not, `launcher.mend` judges."""
    try:
        with open(run, "rb", 0) as file:
            text = file.read()
    except OSError:
        return False
    home = __file__[: -len("session/session.py")]
    return os.fsencode(f"'{sys.executable}'") in text and os.fsencode(f"'{home}doors/hooks/start/entry.py'") in text
