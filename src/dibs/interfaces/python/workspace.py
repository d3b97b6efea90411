"""The Python API: `import dibs; ws = dibs.open(agent="me"); with ws.claim("src/api.py", wait=60) as claim: …`.

The methods come from the declarations: binder.py makes them, methods.pyi has their types. What is written here is the
way in. claim.py has the handle of a claim, aio.py the same for asyncio. Durations are seconds, or texts such as "30m".
Refusals are raised, one class for each code.

The process that opens a workspace is the agent's incarnation: when it dies, its claims are free as soon as anybody
looks.
"""

from __future__ import annotations

import os

from dibs.client import read_fields as readers
from dibs.client.adaptive_link import AdaptiveLink
from dibs.client.session import Session
from dibs.errors import DibsError, Invalid, Unavailable
from dibs.interfaces.python.claim import Claim
from dibs.interfaces.python.methods import Methods
from dibs.interfaces.python.renewal import Renewals
from dibs.interfaces.session_doors import ProgramDoor
from dibs.machine import processes
from dibs.operations.core.call import PROGRAM
from dibs.operations.core.declare import COMMON, Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any, NoReturn, Self

    from dibs.audit.answers import UndoAnswer
    from dibs.interfaces.python.binder import Path
    from dibs.operations.agents.answers import BootAnswer
    from dibs.operations.claims.answers import ClaimAnswer
    from dibs.operations.core.call import Call
    from dibs.operations.documents.answers import StateSetAnswer
    from dibs.stores.seam import Store


def open(path: Path = ".", agent: str | None = None, *, timeout: float | str | None = None) -> Workspace:  # noqa: A001 - dibs.open
    """Open the workspace that `path` lies in, as `agent` (else DIBS_AGENT, else the client's own session).

    `timeout`: how long a call waits for a busy store (default 5 s).
    """
    return Workspace(path, agent, timeout=timeout)


def init(path: Path = ".", clients: Sequence[str] = ()) -> str:
    """Make a folder a workspace, as `dibs init` does; gives its root, for `dibs.open`.

    `clients` names those whose settings get hooks ("claude", "codex", …); without it none do. Git's hooks are put in
    where there is a repository. A folder that is a workspace already stays as it is.
    """
    from dibs.interfaces.cli.commands import init as installer
    from dibs.interfaces.install import detection

    folder: str = PATH.check(readers.plain_path(path))
    chosen = detection.named(",".join(CLIENTS.check(clients)) or "none")
    try:
        place = installer.place_of(folder)
        installer.install(place, chosen)
    except OSError as error:
        raise Unavailable(f"{error.filename or folder} cannot be made: {error.strerror}", path=folder) from None
    return place.root


def _seconds(timeout: float | str | None) -> float | None:
    if timeout is None:
        return None
    from dibs.machine import durations

    return durations.read(timeout, "timeout") / 1000


class _ClosedError(Exception):
    """Raised in the thread of a call that waits: the workspace was closed."""


PATH = Field("path", "text", "a folder")
CLIENTS = Field("clients", "words", "whose settings get hooks")
AGENT, _, REQUEST, _ = COMMON


class Workspace(Methods):
    """One agent's way into one workspace. Thread-safe; close it, or use it in a `with`."""

    named_by = PROGRAM

    def __init__(self, path: Path = ".", agent: str | None = None, *, timeout: float | str | None = None) -> None:
        if agent is not None and not AGENT.check(agent):  # an empty variable would act as another agent
            raise Invalid("agent: an agent's id or name, not an empty text", field="agent")
        folder = os.path.abspath(PATH.check(readers.plain_path(path)))
        named = os.environ.get("DIBS_WORKSPACE")
        self._session = Session(folder, named, timeout=_seconds(timeout), door=ProgramDoor())
        if not self._session.is_far:
            self._session.link = AdaptiveLink(self._session.place.local)
        self._agent = agent
        self._process = processes.this()
        self.renewals = Renewals()
        self._closings = 0
        self._calls = self._calls_at_close = 0  # how many have begun
        self.told: Callable[[dict[str, Any]], None] | None = None  # called whenever a call has to wait
        self.briefing: BootAnswer
        if agent or os.environ.get("DIBS_AGENT"):
            self.briefing = self.boot()  # this process is the agent's incarnation from now on

    @property
    def root(self) -> str:
        """The folder whose `.dibs/` this is."""
        return self._session.place.root

    @property
    def store(self) -> Store:
        """The store itself, for reading the log: `store.events()`, `store.head()`."""
        return self._session.store

    def update(
        self, key: str, change: Callable[[Any], Any], default: object = None, attempts: int = 100
    ) -> StateSetAnswer:
        """Set a document to what `change` makes of its value, however many others do the same at the same time.

        `change` gets a copy of the value (of `default` if there is none), gives the new one, and may be called again.
        Answers like `state_set`. Raises Conflict after so many attempts.
        """
        from dibs.interfaces.python import update_loop

        return update_loop.update(self, key, change, default, attempts)

    def undo(
        self,
        what: str,
        *paths: Path,
        since: float | str | None = None,
        theirs: bool = False,
        dry_run: bool = False,
    ) -> UndoAnswer:
        """Undo what a claim, a task or an agent changed, byte for byte, as `dibs undo` does; or an earlier undo.

        `paths`: only these files, folders or globs. `theirs` keeps what others built on it, by a merge; without it that
        raises Conflict. `dry_run` only says what would be done. Done where the workspace was opened, on this machine.
        """
        from dibs.undo import undo

        ago, plain = "" if since is None else since, tuple([readers.plain_path(path) for path in paths])
        return undo.Undo(self._session, self.caller()).run(what, plain, ago, theirs=theirs, dry_run=dry_run)

    @property
    def session(self) -> Session:
        """What this stands on, for other doors."""
        return self._session

    def caller(self, request_id: str = "") -> Call:
        """Who calls through this, for other doors."""
        call = self._session.identify(self._agent, client=self._process, request=request_id)
        call.identified_by = self.named_by if self._agent or call.identified_by == "DIBS_AGENT" else call.identified_by
        return call

    def close(self) -> None:
        """Close the store; calls that wait in other threads end with Unavailable. A later call opens it again.

        Claims stay until they are released, expire, or this process ends; none is renewed.
        """
        self._closings += 1
        self._calls_at_close = self._calls
        self.renewals.stop()
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def twin(self) -> Workspace:
        """The same agent and process with a connection of its own, for calls that wait."""
        made = object.__new__(Workspace)
        own = self._session
        twin = Session(own.cwd, None, timeout=own.timeout, place=own.place, door=own.door)
        if not twin.is_far:
            twin.link = AdaptiveLink(twin.place.local)
        made._session = twin
        made._agent, made._process, made.renewals, made.told = self._agent, self._process, Renewals(), None
        made._closings = made._calls = made._calls_at_close = 0
        return made

    def wake(self, channel: str) -> None:
        """Let a call look up that waits under this name."""
        from dibs.operations.upkeep.store_reads import WAKE

        self._session.run(WAKE, self.caller(), {"channel": channel})

    def resources_of(self, given: dict[str, object]) -> list[Any]:
        """The canonical resources of what the caller wrote."""
        field = next(one for one in self._session.operation("claim").fields if one.kind == "resources")
        found: list[Any] = readers.read(self._session, field, given[field.name] or (), typed=True)
        return found

    def _claim(self, request_id: str | None, auto_renew: bool, given: dict[str, object]) -> Claim:
        asked = self.resources_of(given)

        def made(answer: ClaimAnswer) -> Claim:
            return Claim(self, answer, asked, auto_renew=auto_renew)

        claim: Claim = self.ask_for("claim", request_id, {**given, "resources": asked or None}, made)
        return claim

    def ask_for(
        self, name: str, request_id: str | None, given: dict[str, object], made: Callable[[Any], Any] | None = None
    ) -> Any:
        """The answer of one declared operation, or what is made of it. Every method calls this; so do other doors.

        An interrupted call leaves nothing behind of which its caller does not know: no place in a queue, no claim.
        """
        operation = self._session.operation(name)
        nulls = {
            field.name for field in operation.fields if field.kind == "json" and field.required
        }  # there, None is null
        said = {name: value for name, value in given.items() if value is not None or name in nulls}
        values = readers.request(self._session, operation, said, typed=True)
        before = self._closings
        self._calls += 1

        def told(answer: dict[str, Any]) -> None:
            if self._closings != before:
                raise _ClosedError
            if self.told is not None:
                self.told(answer)

        call = self.caller(REQUEST.check(request_id or ""))
        try:
            answer = self._session.answer(operation, call, values, told)
            return answer if made is None else made(answer)
        except DibsError:
            raise
        except (_ClosedError, OSError):
            if self._closings == before:
                raise
            if self._calls == self._calls_at_close:  # to leave the queue it was opened, and no later call needs it
                self._session.close()
            raise Unavailable("the workspace was closed while this call waited.") from None
        except BaseException:
            if operation.withdraws:
                self._session.withdraw(call)
            raise

    def __reduce__(self) -> NoReturn:
        message = "a Workspace belongs to its process: open it again in the other one (dibs.open)"
        raise TypeError(message)

    def __repr__(self) -> str:
        """What it is, for the debugger."""
        return f"<Workspace {self.root} as {self._agent or os.environ.get('DIBS_AGENT') or 'the caller'}>"
