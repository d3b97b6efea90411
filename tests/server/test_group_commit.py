"""The desk: decisions of many callers in groups, in order, each answered once, whatever others do."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Busy, Unavailable
from dibs.server.group_commit import MAX_GROUP, GroupCommit, Request
from dibs.server.group_store import GroupStore
from dibs.stores.seam import COMMIT
from dibs.stores.sqlite import store as sqlite_store
from dibs.testing import conformance
from dibs.testing.memory import MemoryStore
from tests.waiting import LIMIT_S, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from dibs.stores.seam import Outcome, Store, Transaction

PATIENCE_S = LIMIT_S / 4  # several of these may follow each other


class Watched(MemoryStore):
    """A store that remembers its groups; a test can stop it inside one, or let it fail."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.inside = threading.Semaphore(0)
        self.go = threading.Event()
        self.go.set()
        self.fault: BaseException | None = None

    def run_many(self, fns: Sequence[Callable[[Transaction], Any]]) -> list[Outcome]:
        self.sizes.append(len(fns))
        self.inside.release()
        assert self.go.wait(PATIENCE_S)
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        return super().run_many(fns)


@pytest.fixture
def store() -> Watched:
    return Watched()


@pytest.fixture
def desk(store: Watched, monkeypatch: pytest.MonkeyPatch) -> Iterator[GroupCommit]:
    monkeypatch.setattr("dibs.server.group_commit.CLOSE_TIMEOUT_S", PATIENCE_S)
    made = GroupCommit(store)
    yield made
    store.go.set()
    made.close()


def count(tx: Transaction) -> int:
    number: int = (tx.get("n") or 0) + 1
    tx.put("n", number)
    return number


def say(word: str) -> Callable[[Transaction], str]:
    def fn(tx: Transaction) -> str:
        said = tx.get("said") or []
        tx.put("said", [*said, word])
        return word

    return fn


class Answers:
    """Answers as they come."""

    def __init__(self) -> None:
        self.came: list[tuple[Any, Exception | None]] = []

    def __call__(self, value: Any, error: Exception | None) -> None:
        self.came.append((value, error))

    def wait(self, number: int) -> list[tuple[Any, Exception | None]]:
        until(lambda: len(self.came) >= number)
        assert len(self.came) == number
        return self.came


class Waiters:
    """Threads that ask, one after the other into the queue."""

    def __init__(self, desk: GroupCommit) -> None:
        self.desk = desk
        self.answers: dict[str, Any] = {}
        self.threads: list[threading.Thread] = []

    def ask(self, name: str, fn: Callable[[Transaction], Any]) -> None:
        def work() -> None:
            try:
                self.answers[name] = self.desk.decide(fn)
            except Exception as error:  # noqa: BLE001 - the test looks at it
                self.answers[name] = error

        before = len(self.desk._queue)
        self.threads.append(threading.Thread(target=work))
        self.threads[-1].start()
        until(lambda: len(self.desk._queue) > before)

    def join(self) -> dict[str, Any]:
        for thread in self.threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), "somebody got no answer"
        return self.answers


def stopped_inside(desk: GroupCommit, store: Watched, fn: Callable[[Transaction], Any] = count) -> Answers:
    """Bring the desk into a group that lasts until `store.go`."""
    store.go.clear()
    first = Answers()
    desk.submit(fn, first)
    assert store.inside.acquire(timeout=PATIENCE_S)
    return first


def test_a_lone_thread_is_answered_without_a_change_of_threads(desk: GroupCommit) -> None:
    assert desk.decide(lambda tx: (count(tx), threading.get_ident())) == (1, threading.get_ident())
    assert desk._thread is None
    with pytest.raises(LookupError):
        desk.decide(conformance._failing)
    assert desk.decide(count) == 2
    assert desk.look(lambda tx: tx.get_many(["n"])) == {"n": 2}


def test_what_comes_while_a_group_is_written_makes_the_next_one_in_its_order(desk: GroupCommit, store: Watched) -> None:
    first = stopped_inside(desk, store, say("first"))
    waiters, answers = Waiters(desk), Answers()
    for number in range(3):
        waiters.ask(f"thread {number}", say(f"thread {number}"))
        desk.submit(say(f"loop {number}"), answers)
    store.go.set()
    words = [f"{who} {number}" for number in range(3) for who in ("thread", "loop")]
    assert waiters.join() == {f"thread {number}": f"thread {number}" for number in range(3)}
    assert answers.wait(3) == [(f"loop {number}", None) for number in range(3)]
    assert first.wait(1) == [("first", None)]
    assert store.sizes == [1, 6]
    assert desk.look(lambda tx: tx.get("said")) == ["first", *words]
    assert (desk.groups, desk.requests) == (2, 7)


def test_a_group_has_a_limit_and_the_rest_follows_in_order(desk: GroupCommit, store: Watched) -> None:
    stopped_inside(desk, store)
    answers = Answers()
    for _ in range(2 * MAX_GROUP + 5):
        desk.submit(count, answers)
    store.go.set()
    assert answers.wait(2 * MAX_GROUP + 5) == [(number, None) for number in range(2, 2 * MAX_GROUP + 7)]
    assert store.sizes == [1, MAX_GROUP, MAX_GROUP, 5]


def test_nobody_is_answered_before_the_store_has_committed(desk: GroupCommit, store: Watched) -> None:
    first = stopped_inside(desk, store)
    waiters = Waiters(desk)
    waiters.ask("a", count)
    assert first.came == []
    assert waiters.answers == {}
    store.go.set()
    assert waiters.join() == {"a": 2}
    assert first.wait(1) == [(1, None)]


def test_what_one_raises_reaches_its_own_caller_alone(desk: GroupCommit, store: Watched) -> None:
    stopped_inside(desk, store)
    waiters, answers = Waiters(desk), Answers()
    waiters.ask("good", count)
    waiters.ask("bad", conformance._failing)
    desk.submit(conformance._failing, answers)
    desk.submit(count, answers)
    store.go.set()
    found = waiters.join()
    assert found["good"] == 2
    assert isinstance(found["bad"], LookupError)
    (_, error), (value, none) = answers.wait(2)
    assert isinstance(error, LookupError)
    assert (value, none) == (3, None)


def test_a_store_that_breaks_its_word_is_everybodys_error_and_the_desk_goes_on(
    desk: GroupCommit, store: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.server.group_commit.WAIT_TIMEOUT_S", PATIENCE_S)
    first = stopped_inside(desk, store)
    waiters = Waiters(desk)
    waiters.ask("a", count)
    store.fault = RuntimeError("broken")
    store.go.set()
    assert waiters.join() == {"a": 1}
    assert isinstance(first.wait(1)[0][1], RuntimeError)
    assert desk.decide(count) == 2


def test_an_interrupted_leader_leaves_nobody_waiting_and_says_that_nothing_is_known(
    desk: GroupCommit, store: Watched
) -> None:
    answers = Answers()

    def interrupted(_: Transaction) -> None:
        desk.submit(count, answers)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.decide(interrupted)
    assert answers.wait(1) == [(1, None)], "the one that came meanwhile is answered"
    assert desk.decide(count) == 2
    group = [Request(count), Request(count)]
    store.fault = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        desk._run(group)
    assert all(isinstance(request.error, Unavailable) and request.error.fields["unknown"] for request in group)


def test_a_decision_inside_a_decision_is_refused_and_not_waited_for(
    desk: GroupCommit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.server.group_commit.WAIT_TIMEOUT_S", 0.05)
    with pytest.raises(Busy) as refused:
        desk.decide(lambda tx: (count(tx), desk.decide(count)))
    assert refused.value.fields["nested"]
    assert desk.decide(count) == 1


def test_a_thread_waits_for_the_desk_only_so_long(
    desk: GroupCommit, store: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.server.group_commit.WAIT_TIMEOUT_S", 0.05)
    first = stopped_inside(desk, store)
    with pytest.raises(Busy):
        desk.decide(count)
    assert len(desk._queue) == 0
    store.go.set()
    assert first.wait(1) == [(1, None)]
    assert desk.decide(count) == 2


def test_a_request_whose_caller_has_gone_is_taken_out_unless_it_has_begun(desk: GroupCommit, store: Watched) -> None:
    stopped_inside(desk, store, say("first"))
    answers = Answers()
    requests = [desk.submit(say(word), answers) for word in ("a", "b", "c")]
    assert desk.cancel(requests[1]) is True
    assert desk.cancel(requests[1]) is False, "once"
    store.go.set()
    assert answers.wait(2) == [("a", None), ("c", None)]
    assert desk.cancel(requests[0]) is False, "it is done"
    assert desk.look(lambda tx: tx.get("said")) == ["first", "a", "c"]


def test_a_queue_that_is_full_refuses_at_once(store: Watched) -> None:
    desk = GroupCommit(store, max_waiting=4)
    stopped_inside(desk, store)
    answers = Answers()
    for _ in range(4):
        desk.submit(count, answers)
    with pytest.raises(Busy, match="4 requests wait"):
        desk.submit(count, answers)
    with pytest.raises(Busy):
        desk.decide(count)
    store.go.set()
    assert answers.wait(4) == [(number, None) for number in range(2, 6)]
    desk.close()


def test_closing_lets_the_running_group_end_and_refuses_the_rest(desk: GroupCommit, store: Watched) -> None:
    first = stopped_inside(desk, store)
    waiters, answers = Waiters(desk), Answers()
    waiters.ask("a", count)
    desk.submit(count, answers)
    closing = threading.Thread(target=desk.close)
    closing.start()
    until(lambda: desk._closed)
    with pytest.raises(Unavailable, match="stopping"):
        desk.decide(count)
    assert closing.is_alive(), "it waits for the running group"
    store.go.set()
    closing.join(PATIENCE_S)
    assert not closing.is_alive()
    assert first.wait(1) == [(1, None)]
    assert isinstance(waiters.join()["a"], Unavailable)
    assert isinstance(answers.wait(1)[0][1], Unavailable)
    assert store.look(lambda tx: tx.get("n")) == 1
    assert desk._thread is not None
    assert not desk._thread.is_alive()
    desk.close()


def test_closing_waits_for_a_group_that_a_callers_thread_runs(desk: GroupCommit, store: Watched) -> None:
    store.go.clear()
    found: list[int] = []
    leader = threading.Thread(target=lambda: found.append(desk.decide(count)))
    leader.start()
    assert store.inside.acquire(timeout=PATIENCE_S)
    ends: list[Any] = []

    def closes() -> None:
        desk.close()
        ends.append(list(found))

    closing = threading.Thread(target=closes)
    closing.start()
    until(lambda: desk._closed)
    closing.join(0.05)
    assert ends == [], "the group is still running"
    store.go.set()
    leader.join(PATIENCE_S)
    closing.join(PATIENCE_S)
    assert found == [1]
    assert len(ends) == 1


def test_answers_for_one_loop_come_in_one_call_a_group(desk: GroupCommit, store: Watched) -> None:
    async def talk() -> tuple[list[int], int]:
        loop = asyncio.get_running_loop()
        posts = []

        def post(call: Callable[..., object], *given: Any) -> None:
            posts.append(call)
            loop.call_soon_threadsafe(call, *given)

        def ask() -> asyncio.Future[int]:
            future: asyncio.Future[int] = loop.create_future()
            desk.submit(
                count, lambda value, error: future.set_exception(error) if error else future.set_result(value), post
            )
            return future

        stopped_inside(desk, store)
        asked = [ask() for _ in range(20)]
        store.go.set()
        return await asyncio.gather(*asked), len(posts)

    assert asyncio.run(talk()) == (list(range(2, 22)), 1)


def test_a_receiver_that_fails_and_a_loop_that_is_closed_keep_nobody_else_waiting(
    desk: GroupCommit, store: Watched
) -> None:
    loop = asyncio.new_event_loop()
    loop.close()

    def fails(_value: Any, _error: Exception | None) -> None:
        raise ValueError

    stopped_inside(desk, store)
    answers = Answers()
    desk.submit(count, fails)
    desk.submit(count, answers, loop.call_soon_threadsafe)
    desk.submit(count, answers)
    store.go.set()
    assert answers.wait(1) == [(4, None)]
    until(lambda: desk.lost_answers == 2)
    assert desk.decide(count) == 5


def test_threads_and_a_loop_on_one_file_are_all_answered_once_with_numbers_of_their_own(tmp_path: Path) -> None:
    sqlite_store.create(str(tmp_path / "dibs.db"))
    store = sqlite_store.SqliteStore(str(tmp_path / "dibs.db"))
    desk = GroupCommit(store)
    found: list[Any] = []

    def fn(tx: Transaction) -> Any:
        tx.append("counted", "a", "", {})
        return [count(tx), COMMIT]

    def hook() -> None:
        found.extend(desk.decide(fn) for _ in range(20))

    async def client() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(20):
            future: asyncio.Future[Any] = loop.create_future()
            desk.submit(fn, lambda value, _, future=future: future.set_result(value), loop.call_soon_threadsafe)  # type: ignore[misc]
            found.append(await future)

    async def clients() -> None:
        await asyncio.gather(*[client() for _ in range(8)])

    threads = [threading.Thread(target=hook) for _ in range(4)]
    for thread in threads:
        thread.start()
    asyncio.run(clients())
    for thread in threads:
        thread.join(PATIENCE_S)
    assert sorted(found) == [[number, number] for number in range(1, 241)]
    assert desk.requests == 240
    assert desk.groups < 200, "some went together"
    desk.close()
    store.close()


# --- a loop that lends its thread


class Lender:
    """The event loop of a server: what it hands in, and who ran the group."""

    def __init__(self, desk: GroupCommit) -> None:
        self.desk = desk
        self.loop = asyncio.get_running_loop()

    async def ask(self) -> tuple[int, bool]:
        future: asyncio.Future[tuple[int, bool]] = self.loop.create_future()
        here = threading.get_ident()
        self.desk.submit(
            lambda tx: (count(tx), threading.get_ident() == here),
            lambda value, error: future.set_exception(error) if error else future.set_result(value),
            self.loop.call_soon_threadsafe,
            self.loop.call_soon,
        )
        return await future


async def lent(desk: GroupCommit, number: int) -> list[tuple[int, bool]]:
    lender = Lender(desk)
    return await asyncio.gather(*[lender.ask() for _ in range(number)])


def test_a_loop_runs_what_came_in_one_turn_as_one_group_in_its_own_thread(desk: GroupCommit, store: Watched) -> None:
    assert asyncio.run(lent(desk, 5)) == [(number, True) for number in range(1, 6)]
    assert store.sizes == [5]
    assert desk._thread is None
    assert desk.decide(count) == 6


def test_a_loop_does_not_wait_for_another_process(tmp_path: Path) -> None:
    path = str(tmp_path / "dibs.db")
    sqlite_store.create(path)
    store, other = sqlite_store.SqliteStore(path), sqlite_store.SqliteStore(path)
    desk = GroupCommit(store)
    assert store.is_free()
    answers: list[Any] = []

    async def meet() -> None:
        def inside(tx: Transaction) -> None:
            assert not store.is_free()
            done = threading.Event()
            waiting = threading.Thread(target=lambda: (asyncio.run(beats(done)),))
            waiting.start()
            assert done.wait(PATIENCE_S), "the loop goes on while the store is taken"
            count(tx)

        async def beats(done: threading.Event) -> None:
            asked = asyncio.ensure_future(Lender(desk).ask())
            for _ in range(20):
                await asyncio.sleep(0)
            done.set()
            answers.append(await asked)

        await asyncio.get_running_loop().run_in_executor(None, other.run, inside)

    asyncio.run(meet())
    until(lambda: len(answers) == 1)
    assert answers == [(2, False)]
    desk.close()
    store.close()
    other.close()


def test_a_loop_that_was_kept_for_long_leaves_the_next_groups_to_the_desks_thread(
    desk: GroupCommit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.server.group_commit.MAX_LENT_S", -1.0)
    monkeypatch.setattr("dibs.server.group_commit.LEND_AGAIN_S", 3600.0)
    assert asyncio.run(lent(desk, 1)) == [(1, True)]
    assert asyncio.run(lent(desk, 1)) == [(2, False)]


def test_threads_are_answered_while_a_loop_lends_its_thread(desk: GroupCommit) -> None:
    async def both() -> list[Any]:
        loop = asyncio.get_running_loop()
        threads = [loop.run_in_executor(None, desk.decide, count) for _ in range(4)]
        return [*await lent(desk, 20), *await asyncio.gather(*threads)]

    found = asyncio.run(both())
    assert sorted(one if isinstance(one, int) else one[0] for one in found) == list(range(1, 25))


def test_a_desk_is_closed_although_the_loop_that_was_to_run_a_group_has_ended(desk: GroupCommit) -> None:
    answers = Answers()
    desk.submit(count, answers, lambda call, *given: call(*given), lambda *_: None)
    desk.close()
    assert isinstance(answers.wait(1)[0][1], Unavailable)
    with pytest.raises(Unavailable):
        desk.decide(count)


# --- a store whose decisions go through a desk


@pytest.mark.parametrize("case", conformance.CASES, ids=lambda case: case.__name__)
def test_a_store_behind_a_desk_conforms(case: Callable[[Callable[[], Store]], None]) -> None:
    desks: list[GroupCommit] = []

    def make() -> Store:
        desks.append(GroupCommit(MemoryStore()))
        return GroupStore(desks[-1])

    case(make)
    for desk in desks:
        desk.close()


def test_a_thread_that_settles_a_store_does_not_wait_for_the_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.server.group_commit.WAIT_TIMEOUT_S", 0.5)

    class Lossy(MemoryStore):
        def settle(self, fn: Callable[[], bool]) -> None:
            self._turns.call(lambda fn: fn(), fn, 5.0)

    desk = GroupCommit(Lossy())
    store = GroupStore(desk)
    seen: list[int] = []
    desk._is_led = True  # the desk's thread is at work, and waits for the store

    def give_up() -> bool:
        seen.append(store.run(count))
        return False

    store.settle(give_up)
    assert seen == [1], "it would be busy after half a second"
    desk._is_led = False
    desk.close()


def test_each_of_a_lent_group_is_answered_once_after_the_commit_and_by_its_own_refusal(tmp_path: Path) -> None:
    path = str(tmp_path / "dibs.db")
    sqlite_store.create(path)
    store, other = sqlite_store.SqliteStore(path), sqlite_store.SqliteStore(path)
    desk = GroupCommit(store)
    told: list[tuple[int, Any, str, int]] = []
    ran: list[int] = []

    def ask(loop: asyncio.AbstractEventLoop, number: int) -> None:
        def decide(tx: Transaction) -> int:
            ran.append(number)
            if number == 2:
                raise Busy
            tx.append("test", "ann", str(number), {})
            return number

        def done(value: Any, error: Exception | None) -> None:  # another process has it by now
            told.append((number, value, type(error).__name__, other.head().seq))

        desk.submit(decide, done, loop.call_soon_threadsafe, loop.call_soon)

    async def meet() -> None:
        for number in range(1, 5):
            ask(asyncio.get_running_loop(), number)
        assert not ran, "not before its turn"
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(meet())
    assert ran == [1, 2, 3, 4]
    assert told == [(1, 1, "NoneType", 3), (2, None, "Busy", 3), (3, 3, "NoneType", 3), (4, 4, "NoneType", 3)]
    assert (desk.groups, desk.lost_answers, desk._thread) == (1, 0, None)
    desk.close()
    store.close()
    other.close()


def test_a_desk_that_is_closed_before_the_loops_turn_refuses_what_was_lent_and_runs_nothing(
    desk: GroupCommit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.server.group_commit.CLOSE_TIMEOUT_S", 0.2)
    told: list[str] = []
    ran: list[bool] = []

    async def meet() -> None:
        loop = asyncio.get_running_loop()

        def done(_: Any, error: Exception | None) -> None:
            told.append(type(error).__name__)

        desk.submit(lambda _: ran.append(True), done, loop.call_soon_threadsafe, loop.call_soon)
        desk.close()
        assert not desk._is_led, "nobody is waited for that will not come"
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(meet())
    assert (ran, told) == ([], ["Unavailable"])
