"""Group commit: the one place in a server process through which all decisions go.

While one group of transactions is being synced the next one gathers; then it goes to the store together (`run_many`),
with one fsync for all. Nobody waits for others to come: a lone request makes a group of one.

There are two ways in. `decide` blocks a thread. If no group is running, the thread runs its group itself: a lone
caller then saves a change of threads, which is a fifth of its time. A thread of its own runs every other group.
`submit` does not block: an event loop hands in a function and is called back. (Letting the first waiting thread run the
next group was measured, too: no faster, and more to reason about.)

A loop may lend its own thread, for the same reason: the functions that its callbacks hand in within one turn are a
group, which it runs at the end of that turn. It does so only while the store is free and its disk is quick; otherwise
the loop would stand still for another process, or for the disk.

It knows nothing of the meaning of a request, its sender, or the engine.
"""

from __future__ import annotations

import threading
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any

from dibs.errors import Busy, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from dibs.stores.seam import Outcome, Store, Transaction

    T = TypeVar("T")
    Function = Callable[[Transaction], Any]
    Done = Callable[[Any, "Exception | None"], object]
    Post = Callable[..., object]

MAX_GROUP = 64  # keeps a transaction at 10 to 20 ms
MAX_WAITING = 1_000  # requests in the queue: some fifteen groups, below a second
WAIT_TIMEOUT_S = 60.0  # for a thread in the queue, and again for its group: above all timeouts of the stores
MAX_LENT_S = 0.05  # a group that kept a loop busy for longer: the disk is slow, or the machine has too much to do
LEND_AGAIN_S = 1.0  # after that, its own thread runs the groups of this time
CLOSE_TIMEOUT_S = 30.0  # for the running group to end; the store's own timeouts are shorter


class Request:
    """One function on its way through the group commit."""

    __slots__ = ("bell", "done", "error", "fn", "post", "state", "value")

    def __init__(self, fn: Function, done: Done | None = None, post: Post | None = None) -> None:
        self.fn, self.done, self.post = fn, done, post
        self.value: Any = None
        self.error: Exception | None = None
        self.state = WAITING
        self.bell: threading.Lock | None = None  # of a waiting thread; locked until the answer is there


WAITING, RUNNING, ANSWERED, CANCELLED = "waiting", "running", "answered", "cancelled"


class GroupCommit:
    """All decisions of one process on one store, first come, first served."""

    def __init__(self, store: Store, *, max_group: int = MAX_GROUP, max_waiting: int = MAX_WAITING) -> None:
        self.store = store
        self._max_group, self._max_waiting = max_group, max_waiting
        self._lock = threading.Lock()  # of all below; held for a few steps, never while the store is used
        self._queue: deque[Request] = deque()
        self._is_led = False  # a thread runs a group, or its own was told to
        self._leader = 0  # the thread that runs a group
        self._is_lent = False  # a loop will run the next group at the end of its turn
        self._lend_from = 0.0  # no loop runs a group before this
        self._closed = False
        self._idle = threading.Condition(self._lock)
        self._work = threading.Condition(self._lock)
        self._thread_leads = False  # its own thread was told to
        self._thread: threading.Thread | None = None
        self.groups = self.requests = 0  # how many went through, for metrics and benchmarks
        self.lost_answers = 0  # whose receiver raised an error: a closed loop, a caller that has gone

    # --- the ways in

    def decide(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` in a transaction, in a group with others; durable when this returns."""
        request = Request(fn)
        with self._lock:
            if self._leader == threading.get_ident():
                message = "the store is busy: this very thread is in the middle of another decision."
                raise Busy(message, nested=True)
            self._enqueue(request)
            if self._is_led:
                request.bell = threading.Lock()
                request.bell.acquire()
            self._is_led = True
        if request.bell is None:
            self._lead()
        else:
            self._wait(request, request.bell)
        if request.error is not None:
            raise request.error
        value: T = request.value
        return value

    def _wait(self, request: Request, bell: threading.Lock) -> None:
        try:
            if bell.acquire(timeout=WAIT_TIMEOUT_S):
                return
        except BaseException:  # Ctrl-C: what has not begun is not done
            self.cancel(request)
            raise
        if self.cancel(request):
            raise Busy(waited=WAIT_TIMEOUT_S)
        if not bell.acquire(timeout=WAIT_TIMEOUT_S):
            raise _unknown()

    def submit(self, fn: Function, done: Done, post: Post | None = None, soon: Post | None = None) -> Request:
        """Hand in `fn` and return at once; `done(value, error)` is called when it is durable.

        It is called by the thread that ran the group. With `post` (a loop's `call_soon_threadsafe`) all answers of one
        group for the same `post` go there in one call. With `soon` (the `call_soon` of that loop, whose thread calls
        this) the loop may run the group itself. Raises Busy when too many wait.
        """
        request = Request(fn, done, post)
        with self._lock:
            self._enqueue(request)
            if not self._is_led:
                self._is_led = True
                if soon is not None and monotonic() >= self._lend_from:
                    self._is_lent = True
                    soon(self._lead_in_loop, post)
                else:
                    self._tell_thread()
        return request

    def cancel(self, request: Request) -> bool:
        """Remove a request that has not begun; nobody is called back. False if it has begun."""
        with self._lock:
            if request.state is not WAITING:
                return False
            request.state = CANCELLED
            self._queue.remove(request)
            return True

    def look(self, fn: Callable[[Transaction], T]) -> T:
        """Read; it waits for no group."""
        return self.store.look(fn)

    def close(self) -> None:
        """Let the running group end, refuse all others, and end its thread. The store stays open."""
        with self._lock:
            self._closed = True
            refused, self._queue = list(self._queue), deque()
            for request in refused:
                request.state = ANSWERED
                request.error = _closed()
            if self._is_lent:  # the loop may have ended
                self._is_lent = self._is_led = False
            self._work.notify_all()
            self._idle.wait_for(lambda: not self._is_led, CLOSE_TIMEOUT_S)
            thread = self._thread
        self._answer(refused)
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_TIMEOUT_S)

    # --- one group after the other

    def _enqueue(self, request: Request) -> None:
        if self._closed:
            raise _closed()
        if len(self._queue) >= self._max_waiting:
            message = f"the server is busy: {len(self._queue)} requests wait. Try again."
            raise Busy(message)
        self._queue.append(request)

    def _lead_in_loop(self, post: Post) -> None:
        """Run one group in the thread of the loop with this `post`, unless that would have to wait for others."""
        with self._lock:
            if not self._is_lent:
                return  # it was closed
            self._is_lent = False
        if not self._is_free():
            with self._lock:
                self._tell_thread()
            return
        began = monotonic()
        self._lead(post)
        now = monotonic()
        if now - began > MAX_LENT_S:
            self._lend_from = now + LEND_AGAIN_S

    def _is_free(self) -> bool:
        try:
            return self.store.is_free()
        except Exception:  # noqa: BLE001 - the group will say what is wrong
            return False

    def _lead(self, here: Post | None = None) -> None:
        """Run one group, then let the next one be run. Called by the leading thread; `here` is its loop's `post`."""
        group: list[Request] = []
        try:
            with self._lock:
                self._leader = threading.get_ident()
                while self._queue and len(group) < self._max_group:
                    request = self._queue.popleft()
                    request.state = RUNNING
                    group.append(request)
            if group:
                self._run(group)
        finally:
            self._answer(group, here)
            with self._lock:
                self._leader = 0
                self._hand_over()

    def _run(self, group: list[Request]) -> None:
        """Run a group. Each request has its answer afterwards, even if the store fails."""
        try:
            outcomes: list[Outcome] = self.store.run_many([request.fn for request in group])
            for request, (value, error) in zip(group, outcomes, strict=True):
                request.value, request.error = value, error
                request.state = ANSWERED
        except Exception as error:  # noqa: BLE001 - an engine that breaks its word must not stop the others
            self._fail(group, error)
        except BaseException:
            self._fail(group, _unknown())
            raise
        self.groups += 1
        self.requests += len(group)

    def _fail(self, group: list[Request], error: Exception) -> None:
        for request in group:
            if request.state is not ANSWERED:
                request.error, request.state = error, ANSWERED

    def _hand_over(self) -> None:
        """Let its thread run what has come meanwhile; if there is nothing, nobody leads."""
        if self._queue:
            self._tell_thread()
        else:
            self._is_led = False
            self._idle.notify_all()

    def _answer(self, group: list[Request], here: Post | None = None) -> None:
        """Answer each request: a thread by its bell, a loop by one call for all, this thread's own loop directly."""
        posts: dict[Post, list[Request]] = {}
        for request in group:
            if request.bell is not None:
                request.bell.release()
            elif request.post is not None:
                posts.setdefault(request.post, []).append(request)
            elif request.done is not None:
                self._deliver([request])
        for post, requests in posts.items():
            if post == here:
                self._deliver(requests)
                continue
            try:
                post(self._deliver, requests)
            except Exception:  # noqa: BLE001 - the loop is closed; the others have their answers
                self.lost_answers += len(requests)

    def _deliver(self, requests: list[Request]) -> None:
        for request in requests:
            assert request.done is not None
            try:
                request.done(request.value, request.error)
            except Exception:  # noqa: BLE001 - what a receiver does must not keep the others waiting
                self.lost_answers += 1

    # --- its own thread

    def _tell_thread(self) -> None:
        self._thread_leads = True
        if self._thread is None:
            self._thread = threading.Thread(target=self._work_on, name="group commit", daemon=True)
            self._thread.start()
        else:
            self._work.notify_all()

    def _work_on(self) -> None:
        while True:
            with self._lock:
                self._work.wait_for(lambda: self._thread_leads or (self._closed and not self._is_led))
                if not self._thread_leads:
                    return
                self._thread_leads = False
            self._lead()


def _closed() -> Unavailable:
    return Unavailable("the server is stopping. Nothing was changed; try again.")


def _unknown() -> Unavailable:
    message = (
        "the server was interrupted. Whether it was done is not known: ask again with the same request id, or look."
    )
    return Unavailable(message, unknown=True)
