"""The Python API for asyncio: `async with dibs.aio.open(agent="ann") as ws: async with ws.claim("a", wait=60) as c: …`.

The methods of a plain workspace as coroutines. Nothing here blocks the event loop:
- the calls of one workspace go through one thread of its own, one after the other;
- a call that waits (`wait=`) gets a thread and a connection of its own, so that it holds nobody up;
- a task that is cancelled while it waits leaves the queue before CancelledError is raised; what it was granted in the
  same moment is given back.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from dibs.errors import DibsError, Unavailable
from dibs.interfaces.python.aio_methods import AsyncMethods
from dibs.interfaces.python.claim import Claim
from dibs.interfaces.python.workspace import Workspace
from dibs.operations.claims.waiters import WITHDRAW, left_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from datetime import datetime
    from types import TracebackType
    from typing import Any, Self, TypeVar

    from dibs.audit.answers import UndoAnswer
    from dibs.interfaces.python.binder import Path
    from dibs.operations.agents.answers import BootAnswer
    from dibs.operations.claims.answers import ClaimAnswer, Mode
    from dibs.operations.documents.answers import StateSetAnswer

    R = TypeVar("R")

WAITS_KEPT = 4  # connections of waits that have ended, kept for the next ones


def open(path: Path = ".", agent: str | None = None, *, timeout: float | str | None = None) -> AsyncWorkspace:  # noqa: A001 - dibs.aio.open
    """Open the workspace that `path` lies in, as `agent`: in an `async with`, or `await` it and close it."""
    return AsyncWorkspace(path, agent, timeout=timeout)


class _Cancelled(Exception):
    """Raised in the thread of a wait: the task that waits was cancelled."""


class AsyncWorkspace(AsyncMethods):
    """One agent's way into one workspace, for the tasks of one event loop."""

    def __init__(self, path: Path = ".", agent: str | None = None, *, timeout: float | str | None = None) -> None:
        self._given = (path, agent, timeout)
        self._workspace: Workspace | None = None
        self._thread = ThreadPoolExecutor(1, "dibs-aio")
        self._spare: list[Workspace] = []  # connections for waits
        self._waits: dict[_Wait, asyncio.Event] = {}  # that go on, and how their end is told

    @property
    def workspace(self) -> Workspace:
        """The plain workspace below; its methods block."""
        if self._workspace is None:
            raise Unavailable("this workspace is not open: use it in an `async with`, or await it first.")
        self._workspace.session.refuse_forked()  # here: after a fork the thread below would never answer
        return self._workspace

    @property
    def root(self) -> str:
        """The folder whose `.dibs/` this is."""
        return self.workspace.root

    @property
    def briefing(self) -> BootAnswer:
        """What the agent was told at its start."""
        return self.workspace.briefing

    async def update(
        self, key: str, change: Callable[[Any], Any], default: object = None, attempts: int = 100
    ) -> StateSetAnswer:
        """Set a document to what `change` makes of its value; see Workspace.update. `change` runs in a thread."""
        return await self.in_thread(lambda: self.workspace.update(key, change, default, attempts))

    async def undo(
        self,
        what: str,
        *paths: Path,
        since: float | str | None = None,
        theirs: bool = False,
        dry_run: bool = False,
    ) -> UndoAnswer:
        """Undo what a claim, a task or an agent changed; see Workspace.undo. One that has begun is done to its end."""

        def undone() -> UndoAnswer:
            return self.workspace.undo(what, *paths, since=since, theirs=theirs, dry_run=dry_run)

        return await self.in_thread(undone)

    async def close(self) -> None:
        """Close the store; calls that wait end with Unavailable. Claims stay until they are released or expire."""
        if self._workspace is not None:
            _ = self.workspace  # raises after a fork: what is open is the parent's
        for wait, ended in list(self._waits.items()):
            self._leave(wait)
            await ended.wait()
        workspace, self._workspace = self._workspace, None
        spare, self._spare = self._spare, []
        for one in (workspace, *spare):
            if one is not None:
                await self._submit(one.close)
        thread, self._thread = self._thread, ThreadPoolExecutor(1, "dibs-aio")  # it may be opened again
        thread.shutdown(wait=False)

    async def _opened(self) -> Self:
        if self._workspace is None:
            path, agent, timeout = self._given
            self._workspace = await self._submit(lambda: Workspace(path, agent, timeout=timeout))
        return self

    def __await__(self) -> Generator[Any, None, Self]:
        return self._opened().__await__()

    async def __aenter__(self) -> Self:
        return await self._opened()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        """What it is, for the debugger."""
        return f"<Async{repr(self._workspace)[1:]}" if self._workspace else f"<AsyncWorkspace {self._given[0]}, closed>"

    # --- calls

    async def in_thread(self, call: Callable[[], R]) -> R:
        """Do this in the workspace's thread, after what was asked before. Raises Unavailable if it is not open."""
        _ = self.workspace  # raises it
        return await self._submit(call)

    async def _submit(self, call: Callable[[], R]) -> R:
        return await asyncio.wrap_future(self._thread.submit(call))

    async def ask_for(self, name: str, request_id: str | None, given: dict[str, object]) -> Any:
        """The answer of one declared operation. Every method calls this."""
        withdraws = self.workspace.session.operation(name).withdraws

        def give_back(answer: Any) -> None:
            _, claims = left_by(answer)
            if claims:
                self.workspace.session.run(WITHDRAW, self.workspace.caller(""), {"claims": claims})

        undo = give_back if withdraws and not request_id else None  # a retry with the request id will be told of it
        if given.get("wait"):
            return await self._wait(lambda ws: ws.ask_for(name, request_id, given), undo)
        return await self._whole(self._thread, lambda: self.workspace.ask_for(name, request_id, given), undo)

    def _claim(self, request_id: str | None, auto_renew: bool, given: dict[str, object]) -> ClaimRequest:
        return ClaimRequest(lambda: self._granted(request_id, auto_renew, given))

    async def _granted(self, request_id: str | None, auto_renew: bool, given: dict[str, object]) -> AsyncClaim:
        """The claim, once it is granted. A task that is cancelled meanwhile holds nothing."""
        main = self.workspace

        def ask(ws: Workspace) -> Claim:
            asked = ws.resources_of(given)
            answer = ws.ask_for("claim", request_id, {**given, "resources": asked or None})
            return Claim(main, answer, asked, auto_renew=auto_renew)

        def undo(claim: Claim) -> None:
            if not request_id and not claim.answer.get("renewed"):
                claim.release()

        if given.get("wait"):
            return AsyncClaim(self, await self._wait(ask, undo))
        return AsyncClaim(self, await self._whole(self._thread, lambda: ask(main), undo))

    async def _wait(self, ask: Callable[[Workspace], R], undo: Callable[[R], None] | None) -> R:
        """A call in a thread and with a connection of its own, since it may take long."""
        main = self.workspace
        twin = self._spare.pop() if self._spare else await self.in_thread(main.twin)
        wait, thread = _Wait(), ThreadPoolExecutor(1, "dibs-aio-wait")
        twin.told = wait.told
        ended = self._waits[wait] = asyncio.Event()
        try:
            return await self._whole(thread, lambda: ask(twin), undo, lambda: self._leave(wait))
        except _Cancelled:
            raise Unavailable("the workspace was closed while this call waited.") from None
        finally:
            del self._waits[wait]
            ended.set()
            thread.shutdown(wait=False)
            if self._workspace is main and len(self._spare) < WAITS_KEPT:
                self._spare.append(twin)
            else:
                twin.close()

    def _leave(self, wait: _Wait) -> None:
        """End a wait: its thread leaves the queue."""
        channel = wait.cancel()
        if channel:  # it sleeps: only a wake lets it look up
            self._thread.submit(self.workspace.wake, channel)

    async def _whole(
        self,
        thread: ThreadPoolExecutor,
        call: Callable[[], R],
        undo: Callable[[R], None] | None,
        leave: Callable[[], None] | None = None,
    ) -> R:
        """Do this in that thread, all of it or nothing.

        If the task is cancelled, `leave` makes a call end that waits, and what it was given in the last moment is
        undone before CancelledError is raised.
        """
        job = thread.submit(call)
        asked = asyncio.wrap_future(job)
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            if job.cancel() or job.cancelled():  # it had not begun
                raise
            if leave is not None:
                leave()
            await _to_its_end(asked)
            if undo is not None and not asked.cancelled() and asked.exception() is None:
                answer = asked.result()
                await _to_its_end(asyncio.wrap_future(self._thread.submit(_quietly, lambda: undo(answer))))
            raise


async def _to_its_end(future: asyncio.Future[Any]) -> None:
    """Wait for it, also if the task is cancelled once more; it takes one transaction, or the store's time limit."""
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            continue
    if not future.cancelled():
        future.exception()  # it was looked at


def _quietly(call: Callable[[], None]) -> None:
    try:
        call()
    except DibsError:  # it is gone already
        pass


class _Wait:
    """One wait: how its thread is told that nobody waits any more."""

    def __init__(self) -> None:
        self._cancelled = False
        self._channel = ""

    def told(self, answer: dict[str, Any]) -> None:
        """In the thread: it has to wait."""
        self._channel = answer.get("wake", "")
        if self._cancelled:
            raise _Cancelled

    def cancel(self) -> str:
        """In the event loop: it is to end. Gives the name by which it can be woken, if it may sleep."""
        self._cancelled = True
        return self._channel


class ClaimRequest:
    """`await` it for a claim, or use it in an `async with`, where the claim is renewed and released at the end."""

    __slots__ = ("_ask", "_claim")

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._ask = ask
        self._claim: AsyncClaim | None = None

    def __await__(self) -> Generator[Any, None, AsyncClaim]:
        found: Generator[Any, None, AsyncClaim] = self._ask().__await__()
        return found

    async def __aenter__(self) -> AsyncClaim:
        self._claim = await self
        return await self._claim.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._claim is not None
        await self._claim.__aexit__(kind, error, trace)


class AsyncClaim:
    """A claim that was granted; see Claim."""

    __slots__ = ("_workspace", "claim")

    def __init__(self, workspace: AsyncWorkspace, claim: Claim) -> None:
        self._workspace = workspace
        self.claim = claim  # the plain one below; its methods block

    @property
    def answer(self) -> ClaimAnswer:
        """What the operation answered."""
        return self.claim.answer

    @property
    def id(self) -> str:
        """The claim's id."""
        return self.claim.id

    @property
    def token(self) -> int:
        """The fencing token."""
        return self.claim.token

    @property
    def resources(self) -> list[str]:
        """What is claimed."""
        return self.claim.resources

    @property
    def unit(self) -> str:
        """The one unit of a pool that it has."""
        return self.claim.unit

    @property
    def units(self) -> list[str]:
        """All units of pools that it has."""
        return self.claim.units

    @property
    def mode(self) -> Mode:
        """How."""
        return self.claim.mode

    @property
    def expires_at(self) -> str:
        """When it ends unless it is renewed."""
        return self.claim.expires_at

    @property
    def expires(self) -> datetime:
        """The same, with its time zone."""
        return self.claim.expires

    @property
    def remaining(self) -> float:
        """Seconds until then."""
        return self.claim.remaining

    @property
    def live(self) -> bool:
        """Is it ours, as far as is known without asking the store?"""
        return self.claim.live

    @property
    def lost(self) -> DibsError | None:
        """Why it is no longer ours, as far as it is known."""
        return self.claim.lost

    def on_lost(self, callback: Callable[[AsyncClaim, DibsError], None]) -> None:
        """Call this in the event loop when the claim was lost."""
        loop = asyncio.get_running_loop()
        self.claim.on_lost = lambda _, error: _in_loop(loop, callback, self, error)

    async def check(self) -> None:
        """Raise Fenced unless the token is still live for every resource. Await it right before you write."""
        await self._workspace.in_thread(self.claim.check)

    async def renew(self) -> None:
        """Ask for a new deadline."""
        await self._workspace.in_thread(self.claim.renew)

    async def release(self, *, commit: str = "", to: str = "") -> None:
        """Give it back, or hand it over. Raises Fenced if it was lost meanwhile."""
        await self._workspace.in_thread(lambda: self.claim.release(commit=commit, to=to))

    async def __aenter__(self) -> Self:
        if self.claim.live:
            self.claim.__enter__()
        else:  # it asks the store
            await self._workspace.in_thread(self.claim.__enter__)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        done = asyncio.ensure_future(self._workspace.in_thread(lambda: self.claim.__exit__(kind, error, trace)))
        try:
            await asyncio.shield(done)
        except asyncio.CancelledError:  # also then it is released
            await _to_its_end(done)
            raise

    def __repr__(self) -> str:
        """What it is, for the debugger."""
        return f"<Async{repr(self.claim)[1:]}"


def _in_loop(loop: asyncio.AbstractEventLoop, callback: Callable[..., None], *facts: object) -> None:
    try:
        loop.call_soon_threadsafe(callback, *facts)
    except RuntimeError:  # the loop has ended
        pass
