"""One caller's way into one workspace: finds it, opens its store, looks up the facts, runs operations.

Shared by the CLI and the Python API. It decides nothing: where an operation needs a fact, it looks and runs it again;
where an answer says "wait", it waits and asks again.
"""

from __future__ import annotations

import os

from dibs.errors import DibsError, Invalid, Unavailable
from dibs.facts import clock, processes, workspace
from dibs.facts.paths import Paths
from dibs.operations.core.call import OWN, Call, Need, process_name
from dibs.operations.core.entry import perform
from dibs.session import config
from dibs.session.known_clients import PROCESS_NAMES, SESSION_VARIABLES
from dibs.stores.seam import Unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Store, Transaction

FACT_ROUNDS = 64  # times one call may ask for facts; each round brings at least one new one
TIMEOUT = 5.0  # seconds to wait for the store

HEARS = frozenset({"inbox", "boot", "activity", "audit"})  # before these, what an agent subscribes to is delivered
TOLD_RULES = frozenset({"boot", "status", "agents", "check", "activity", "audit", "idle", "rules"})


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
        if not self.place.exists:
            raise Invalid(f"{self.place.root} is not a workspace yet; run `dibs init` there", path=self.place.root)
        if _make_local(self.place.local):
            from dibs.doors.install import launcher
            from dibs.storage import workspace_store

            launcher.put(self.place)  # a fresh clone: from now on its hooks take the fast way
            workspace_store.second_copy_path(self.place.local, self.place.shared)  # or all of it was swept away
        self.config = config.load(self.place.config, self.place.local, self.place.top, self.place.shared)
        self.paths = Paths(self.place.top, self.config.fold, self.place.common)
        self.timeout = TIMEOUT if timeout is None else timeout
        self._short_lived = short_lived
        self._store: Store | None = None
        self._channels: list[str] = []  # names under which this process is woken, not in use right now
        self.running: Callable[..., dict[str, Any]] | None = None  # how a command is run that an operation asks for
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
                short_lived=self._short_lived, missing=self._missing, shared=self.place.shared,
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
            self._channels.clear()

    def run(self, operation: Operation, call: Call, fields: dict[str, Any]) -> Any:
        """Run one operation and return its answer; a refusal is raised."""
        if operation.name == "release" and fields.get("force") and "saved" not in fields:
            from dibs.session import content_backup

            answer = self.run(operation, call, content_backup.save(self, call, fields))
            content_backup.pin(self, answer)
            return answer
        return self._run(operation, call, fields)

    def _run(self, operation: Operation, call: Call, fields: dict[str, Any]) -> Any:
        if operation.name in TOLD_RULES:
            from dibs.session import rules_file

            call.rules = rules_file.digest(self.place)
        hears = operation.name in HEARS
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
                        return self._run(operation, call, self._after_command(call, fields, result["again"]))
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

    def finish(self, name: str, result: Any) -> Any:
        """An operation's answer with what only the file system knows; a claim is noted where guards are at work."""
        if name == "claim":
            # A program that claims thousands of times a minute notes them only where hooks have begun a ledger.
            if os.path.exists(f"{self.place.private}/live" if not self._short_lived else self.place.private):
                from dibs.session import local_details

                local_details.note_claim(self, result)
        elif name in {"boot", "rules", "scratch", "status"}:
            from dibs.session import local_details

            result = local_details.finish(self, name, result)
        return result

    def run_waiting(
        self,
        operation: Operation,
        call: Call,
        fields: dict[str, Any],
        told: Callable[[dict[str, Any]], None] | None = None,
    ) -> Any:
        """Run an operation that may have to wait, until it is granted, refused, or its time is over."""
        import dibs.operations.claims.waiters  # noqa: F401 - it will be needed inside the transaction, where others wait for us

        place: list[str] = []  # in the queue, as far as an answer told of it
        call.decided = None
        try:
            return self._wait_for(operation, call, fields, told, place)
        except DibsError:
            raise
        except BaseException:  # interrupted: leave the queue at once
            if operation.name == "claim":
                self.withdraw(call, "".join(place))
            raise

    def _wait_for(
        self,
        operation: Operation,
        call: Call,
        fields: dict[str, Any],
        told: Callable[[dict[str, Any]], None] | None,
        place: list[str],
    ) -> Any:
        end = clock.since_boot() + fields["wait"]
        opened = self.store
        channel = self._channels.pop() if self._channels else ""  # a process that never waits listens to nothing
        try:
            while True:
                call.facts.clear()  # who was alive at the last look may be dead by now
                left = max(0, end - clock.since_boot())
                waiter = "".join(place)
                result = self.run(operation, call, {**fields, "wait": left, "waiter": waiter, "wake": channel})
                if "waiting" not in result:
                    return result
                place[:] = [result["waiting"]]
                if self.store is not opened:  # the workspace was moved meanwhile: nobody wakes us by the old name
                    opened, channel = self.store, ""
                if told is not None:
                    told({**result, "wake": channel})
                if not channel:
                    channel = self._listen()
                    continue  # look again: a turn that came meanwhile had nobody to wake
                self.store.wait(channel, max(0.001, min(result["look_in"], end - clock.since_boot()) / 1000))
        finally:
            if channel and self._short_lived:
                self.store.unwatch(channel)
            elif channel:  # kept for the next wait: a new pipe each time would be a new file each time
                self._channels.append(channel)

    def _listen(self) -> str:
        """A new name under which this process is woken."""
        channel = clock.random_id()
        self.store.watch(channel)
        return channel

    def withdraw(self, call: Call, waiter: str = "") -> None:
        """End the place in the queue, and what it has become; also if the answer that names it was never read."""
        from dibs.operations.claims.waiters import WITHDRAW

        decided = call.decided if isinstance(call.decided, dict) else {}
        place, claim = decided.get("waiting") or waiter, decided.get("claim", "")
        if not place and not claim:
            return
        # What the agent held before it holds still; what was granted under a request id a retry will be told of.
        given_up = "" if decided.get("renewed") or call.request else claim
        request, call.request = call.request, ""
        try:
            self.run(WITHDRAW, call, {"waiter": place, "claim": given_up})
        except DibsError:
            pass
        finally:
            call.request = request

    def chain(self) -> list[tuple[list[Any], str]]:
        """The processes above this one with their names, nearest first; looked up once."""
        if self._chain is None:
            self._chain = processes.ancestors()
        return self._chain

    def identify(self, agent: str | None, *, client: list[Any] | None = None, request: str = "") -> Call:
        """Who is calling, from what was said, the environment and the processes above this one."""
        variable = next((name for name in SESSION_VARIABLES if os.environ.get(name)), "")
        session = os.environ.get(variable, "")
        named = agent or os.environ.get("DIBS_AGENT") or session
        how = "--as" if agent else "DIBS_AGENT" if os.environ.get("DIBS_AGENT") else variable
        typed = client is None
        chain = self.chain()
        if client is None:
            client = processes.client_among(chain, PROCESS_NAMES)
        own = os.environ.get("DIBS_AGENT", "")
        if typed and own and client is not None and processes.variable_of(client, "DIBS_AGENT") == own:
            session = own  # so whoever started the client named its agent
        kinds = [name for process, name in chain if name in PROCESS_NAMES and process == client]
        kinds += [kind for variable, kind in SESSION_VARIABLES.items() if variable in os.environ]
        return Call(
            self.config.policy,
            agent=named,
            fallback="" if named else user_name(),  # asked for only where nobody is named
            client=client,
            ancestors=[process for process, _ in chain],
            request=request,
            kind=kinds[0] if kinds else "",
            typed=typed,
            session=session,
            how=how,
        )

    def operation(self, name: str) -> Operation:
        """The declared operation of that name."""
        from dibs.session import catalogue

        return catalogue.operation(name)


def _decide(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Any]) -> Any:
    """Run an operation, and keep what it decides where it is found although an interrupt comes before the answer."""
    call.decided = perform(tx, call, operation, fields)
    return call.decided


def user_name() -> str:
    """The operating system's user; the environment is asked only where the system does not know its name."""
    try:
        import pwd

        name = pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        name = os.environ.get("USER") or os.environ.get("LOGNAME") or f"uid{os.getuid()}"
    return f"{name}@{os.uname().nodename}" if name.casefold() == OWN else name  # dibs itself goes by that name


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
