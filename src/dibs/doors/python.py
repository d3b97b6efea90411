"""The Python API: `import dibs; ws = dibs.open(agent="me"); with ws.claim("src/api.py", wait=60) as claim: …`.

The methods come from the declarations (`methods.py` is generated from them); what is written here is the way in and the
handle of a claim. Durations are seconds, or texts such as "30m". Refusals are raised, one class for each code.

The process that opens a workspace is the agent's incarnation: when it dies, its claims are free as soon as anybody
looks.
"""

from __future__ import annotations

import os

from dibs.doors.methods import Methods
from dibs.facts import processes
from dibs.operations.core.declare import Field
from dibs.session import read_fields as readers
from dibs.session.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Self

    from dibs.operations.core.call import Call
    from dibs.stores.seam import Store


def open(path: str = ".", agent: str | None = None, *, timeout: float | None = None) -> Workspace:  # noqa: A001 - dibs.open
    """Open the workspace that `path` lies in, as `agent` (else DIBS_AGENT, else the client's own session)."""
    return Workspace(path, agent, timeout=timeout)


# What no operation declares, since every call has it.
AGENT = Field("agent", "agent", "who calls")
REQUEST = Field("request_id", "text", "makes a retry get the first answer")
REPORT = (
    Field("run", "text", "which run"),
    Field("format", "choice", "how it is written", choices=("json", "md", "html")),
    Field("out", "text", "the file to write"),
)


class Workspace(Methods):
    """One agent's way into one workspace. Thread-safe; close it, or use it in a `with`."""

    def __init__(self, path: str = ".", agent: str | None = None, *, timeout: float | None = None) -> None:
        AGENT.check(agent or "")
        folder = os.path.abspath(path)
        self._session = Session(folder, os.environ.get("DIBS_WORKSPACE"), timeout=timeout)
        self._agent = agent
        self._process = processes.this()
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
        self, key: str, change: Callable[[Any], Any], default: Any = None, attempts: int = 100
    ) -> dict[str, Any]:
        """Set a document to what `change` makes of its value, however many others do the same at the same time.

        `change` gets a copy of the value (of `default` if there is none), gives the new one, and may be called again.
        Answers like `state_set`. Raises Conflict after so many attempts.
        """
        from dibs.doors import updating

        return updating.update(self, key, change, default, attempts)

    def run_report(self, run: str = "", *, format: str = "json", out: str = "") -> dict[str, Any]:
        """What a run did; with a format of "md" or "html" the text is under `text`, with `out` it is in that file.

        Answers: run, summary, performance, by_agent, by_task, errors[], warnings[], phases[], contention[], timeline,
        gates[], notes[]; or run, format and text or file.
        """
        from dibs.reports import build

        for field, value in zip(REPORT, (run, format, out), strict=True):
            field.check(value)
        made = build.report(self._session, self.caller(), readers.default_run(run))
        if format == "json" and not out:
            return made
        text = build.render(made, format)
        found = {"file": build.write_out(self._session, out, text)} if out else {"text": text}
        return {"run": made["run"], "format": format, **found}

    @property
    def session(self) -> Session:
        """What this stands on, for other doors."""
        return self._session

    def caller(self, request_id: str = "") -> Call:
        """Who calls through this, for other doors."""
        return self._session.identify(self._agent, client=self._process, request=request_id)

    def close(self) -> None:
        """Close the store. Claims stay until they are released, expire, or this process ends."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, name: str, request_id: str | None, /, **given: Any) -> Any:
        """Run one declared operation with the fields that were given."""
        operation = self._session.operation(name)
        values = {
            field.name: readers.read(self._session, field, given[field.name], typed=True)
            for field in operation.fields
            if given.get(field.name) is not None or (field.kind == "json" and field.required)  # then None is null
        }
        readers.add_run(operation, values)
        call = self.caller(REQUEST.check(request_id or ""))
        if name in {"run end", "run gates"}:  # with the archive, and what only a door can know
            from dibs.reports import build

            act = build.end if name == "run end" else build.gates
            return act(self._session, call, values)
        waits = self._session.run_waiting if values.get("wait") else self._session.run
        answer = self._session.finish(name, waits(operation, call, values))
        return Claim(self, answer, values["resources"]) if name == "claim" else answer


class Claim:
    """A claim that was granted. In a `with`, it is released at the end, and a loss in between is raised there.

    Claiming inside what one holds already gives the same token; such an inner claim is not released at its end.
    """

    __slots__ = ("_asked", "_workspace", "answer", "expires_at", "id", "mode", "resources", "token")

    def __init__(self, workspace: Workspace, answer: dict[str, Any], asked: list[list[str]]) -> None:
        self._workspace = workspace
        self._asked: list[Any] = asked  # canonical already (facts/paths made them), so doors pass them on
        self.answer = answer
        self.id: str = answer["claim"]
        self.token: int = answer["token"]
        self.resources: list[str] = answer["resources"]
        self.mode: str = answer["mode"]
        self.expires_at: str = answer["expires_at"]

    def check(self) -> None:
        """Raise Fenced unless the token is still live for every resource. Call it right before you write."""
        for resource in self._asked:
            self._workspace.confirm(resource, token=self.token)

    def renew(self) -> None:
        """Ask for a new deadline."""
        answer = self._workspace.renew(*self._asked)
        self.expires_at = answer["renewed"][0]["expires_at"]

    def release(self, *, commit: str = "", to: str = "") -> None:
        """Give it back, or hand it over. Raises Fenced if it was lost meanwhile."""
        self._workspace.release(*self._asked, token=self.token, commit=commit or None, to=to or None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.answer.get("renewed"):
            return
        if kind is None:
            self.release()
            return
        from dibs.errors import DibsError

        try:  # the error on its way matters more than that the claim is gone already
            self.release()
        except DibsError:
            pass

    def __repr__(self) -> str:
        """What it is, for the debugger."""
        return f"<Claim {self.id} on {', '.join(self.resources)} ({self.mode}), token {self.token}>"
