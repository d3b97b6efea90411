"""The asyncio door: a real event loop, a real database, real tasks that are cancelled."""

from __future__ import annotations

import asyncio
import inspect
import random
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.client.session import Session
from dibs.interfaces.python.aio_methods import AsyncMethods
from dibs.interfaces.python.claim import Claim
from dibs.interfaces.python.methods import Methods
from dibs.operations.claims import waiters
from tests.stores.redis_server import running
from tests.waiting import LIMIT_S, in_time, until_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

    from dibs.interfaces.python.aio import AsyncWorkspace
    from dibs.operations.core.declare import Operation
    from tests.scratch import Shell

PATIENCE = LIMIT_S  # nobody waits for ever


def play(story: Coroutine[Any, Any, None]) -> None:
    """Run it to its end, in a loop of its own."""
    asyncio.run(asyncio.wait_for(story, 4 * PATIENCE))


@asynccontextmanager
async def two(shell: Shell) -> AsyncIterator[tuple[AsyncWorkspace, AsyncWorkspace]]:
    """Two agents."""
    folder = str(shell.folder)
    async with dibs.aio.open(folder, agent="ann") as ann, dibs.aio.open(folder, agent="bob") as bob:
        yield ann, bob


def test_a_claim_in_an_async_with_is_renewed_and_released(shell: Shell) -> None:
    async def story(ttl: float) -> None:
        async with dibs.aio.open(str(shell.folder), agent="ann") as ws:
            async with ws.claim("x.py", "db:y", ttl=ttl, reason="r") as claim:
                first = claim.claim.until
                await until_async(lambda: claim.claim.until > first + 500 * ttl)
                await claim.check()
                assert claim.live
                assert [c["agent"] for c in (await ws.status())["claims"]] == ["ann"]
            assert (await ws.status())["claims"] == []
            with pytest.raises(dibs.Fenced):
                await claim.check()
            assert repr(ws).startswith("<AsyncWorkspace ")

    in_time(lambda ttl: play(story(ttl)), life=0.6)


def test_a_claim_can_be_awaited_renewed_and_released_by_hand(shell: Shell) -> None:
    async def story() -> None:
        ws = await dibs.aio.open(str(shell.folder), agent="ann")
        claim = await ws.claim("x.py", ttl=60)
        await claim.renew()
        assert claim.remaining > 30
        await claim.release()
        assert claim.live is False
        await ws.close()

    play(story())


def test_refusals_are_raised_as_everywhere(shell: Shell) -> None:
    async def story() -> None:
        async with two(shell) as (ann, bob), ann.claim("x.py"):
            with pytest.raises(dibs.Held) as refused:
                await bob.claim("x.py")
            assert refused.value.blockers[0]["agent"] == "ann"
            with pytest.raises(dibs.Held):
                await bob.claim("x.py", wait=0.05)
            with pytest.raises(dibs.Invalid):
                await bob.claim("y.py", ttl="soon")
            with pytest.raises(dibs.NotFound):
                await bob.task_show("nothing")

    play(story())


def test_a_wait_holds_up_neither_the_loop_nor_other_calls(shell: Shell) -> None:
    async def story() -> None:
        async with two(shell) as (ann, bob):
            await ann.claim("x.py")
            await ann.claim("y.py")
            waits = [asyncio.ensure_future(bob.claim(name, wait=PATIENCE)) for name in ("x.py", "y.py")]
            await until_async(lambda: waiting(ann))
            for _ in range(20):
                await bob.update("n", lambda value: value + 1, 0)
            assert (await bob.state_get("n"))["value"] == 20
            assert not any(one.done() for one in waits)
            await ann.release(all=True)
            claims = await asyncio.gather(*waits)
            assert all(claim.live for claim in claims)

    async def waiting(ws: Any) -> bool:
        return len((await ws.status())["waiting"]) == 2

    play(story())


def test_a_cancelled_wait_leaves_the_queue_at_once(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLL_MS", "PROCESS_POLL_MS", "HOLDER_CHECK_DELAY_MS"):  # it does not look up by itself
        monkeypatch.setattr(waiters, name, 600_000)

    async def story() -> None:
        async with two(shell) as (ann, bob), ann.claim("x.py"):
            wait = asyncio.ensure_future(bob.claim("x.py", wait=600))

            async def queued() -> bool:
                return bool((await ann.status())["waiting"])

            await until_async(queued)
            wait.cancel()
            with pytest.raises(asyncio.CancelledError):
                await wait
            assert (await ann.status())["waiting"] == []

    play(story())


def test_a_grant_in_the_moment_of_the_cancellation_is_given_back(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    granted, go_on = threading.Event(), threading.Event()
    finish = Session.finish

    def slow(self: Session, operation: Operation, result: Any) -> Any:
        if operation.name == "claim":  # it is granted; whoever asked has not heard of it
            granted.set()
            assert go_on.wait(PATIENCE)
        return finish(self, operation, result)

    async def story() -> None:
        async with two(shell) as (ann, bob):
            for wait in (None, 5):
                granted.clear()
                go_on.clear()
                monkeypatch.setattr(Session, "finish", slow)
                asked = asyncio.ensure_future(ann.claim("x.py", wait=wait))
                await asyncio.to_thread(granted.wait, PATIENCE)
                monkeypatch.setattr(Session, "finish", finish)
                asked.cancel()
                await asyncio.sleep(0)
                go_on.set()
                with pytest.raises(asyncio.CancelledError):
                    await asked
                assert (await bob.status())["claims"] == []

    play(story())


def test_a_workspace_that_is_closed_ends_its_waits(shell: Shell) -> None:
    async def story() -> None:
        async with dibs.aio.open(str(shell.folder), agent="ann") as ann, ann.claim("x.py"):
            async with dibs.aio.open(str(shell.folder), agent="bob") as bob:
                wait = asyncio.ensure_future(bob.claim("x.py", wait=600))

                async def queued() -> bool:
                    return bool((await ann.status())["waiting"])

                await until_async(queued)
            with pytest.raises(dibs.Unavailable):
                await wait
            assert (await ann.status())["waiting"] == []

    play(story())


def test_a_workspace_that_was_closed_says_so_and_can_be_opened_again(shell: Shell) -> None:
    async def story() -> None:
        async with dibs.aio.open(str(shell.folder), agent="ann") as ws:
            claim = await ws.claim("x.py")
        await ws.close()  # once more
        for call in (claim.check, claim.renew, claim.release, ws.status):
            with pytest.raises(dibs.Unavailable, match="await it first"):
                await call()
        await ws
        await claim.check()
        await claim.release()
        async with ws, ws.claim("x.py"):
            assert [one["agent"] for one in (await ws.status())["claims"]] == ["ann"]

    play(story())


def test_a_claim_that_was_released_is_not_asked_about_in_the_event_loop(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    plain = Claim.check

    def check(claim: Claim) -> None:
        threads.append(threading.current_thread())
        plain(claim)

    monkeypatch.setattr(Claim, "check", check)

    async def story() -> None:
        async with dibs.aio.open(str(shell.folder), agent="ann") as ws:
            claim = await ws.claim("x.py")
            await claim.release()
            with pytest.raises(dibs.Fenced):
                async with claim:
                    pytest.fail("the block ran without the claim")

    play(story())
    assert [thread is threading.main_thread() for thread in threads] == [False]


def test_a_timeout_is_a_cancellation(shell: Shell) -> None:
    async def story() -> None:
        async with two(shell) as (ann, bob), ann.claim("x.py"):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await bob.claim("x.py", wait=600)
            assert (await ann.status())["waiting"] == []

    play(story())


@pytest.fixture(params=["sqlite", "redis"])
def place(request: pytest.FixtureRequest, shell: Shell) -> Iterator[Shell]:
    """A workspace in each of the stores."""
    if request.param == "sqlite":
        yield shell
        return
    with running() as server:
        shell.json("store", "move", server.url, exit=0)
        yield shell


@pytest.mark.parametrize("seed", range(2))
def test_tasks_cancelled_at_random_points_leave_nothing_behind(place: Shell, seed: int) -> None:
    dice, shell = random.Random(seed), place

    async def story() -> None:
        async with dibs.aio.open(str(shell.folder), agent="viewer") as viewer:
            opened = [await dibs.aio.open(str(shell.folder), agent=f"a{n}") for n in range(3)]
            inside: list[str] = []
            granted = 0

            async def work(name: str, ws: Any, wait: float | None) -> None:
                nonlocal granted
                async with ws.claim("x.py", wait=wait) as claim:
                    inside.append(name)
                    assert len(inside) == 1, inside
                    granted += 1
                    try:
                        await asyncio.sleep(dice.random() * 0.01)
                        await claim.check()
                    finally:
                        inside.remove(name)

            for _ in range(25):
                tasks = [
                    asyncio.ensure_future(work(f"a{n}", ws, dice.choice((None, 5, 5)))) for n, ws in enumerate(opened)
                ]
                await asyncio.sleep(dice.random() ** 2 * 0.05)
                for task in dice.sample(tasks, dice.randrange(4)):
                    task.cancel()
                for result in await asyncio.gather(*tasks, return_exceptions=True):
                    assert result is None or isinstance(result, (asyncio.CancelledError, dibs.Held)), result
                shown = await viewer.status()
                assert (shown["claims"], shown["waiting"]) == ([], [])
            assert granted > 5
            for ws in opened:
                await ws.close()

    play(story())


def test_a_task_taken_in_the_moment_of_the_cancellation_goes_back(shell: Shell) -> None:
    async def story() -> None:
        async with two(shell) as (boss, ann):
            for number in range(12):
                wait = asyncio.ensure_future(ann.task_next(wait=600))
                await asyncio.sleep(0.02)
                await boss.task_add("x", id=f"t{number}")
                await asyncio.sleep(number * 0.001)
                wait.cancel()
                try:
                    taken = await wait
                except asyncio.CancelledError:
                    assert (await boss.task_show(f"t{number}"))["task"]["state"] == "planned"
                    taken = await ann.task_next()
                await ann.task_done(f"t{number}", token=taken["token"])

    play(story())


def test_a_cancelled_call_gives_back_what_it_took_and_nothing_that_the_agent_had(shell: Shell) -> None:
    """A cancellation after the store has decided: `task_claim` of what is held, and `task_done` that takes the next."""

    async def cancelled(call: Coroutine[Any, Any, Any], ws: AsyncWorkspace) -> None:
        held, go_on = threading.Event(), threading.Event()
        ask = ws.workspace.ask_for

        def slowly(name: str, request_id: str | None, given: dict[str, Any], made: Any = None) -> Any:
            answer = ask(name, request_id, given, made)
            held.set()
            go_on.wait(LIMIT_S)
            return answer

        ws.workspace.ask_for = slowly  # type: ignore[method-assign]
        running = asyncio.ensure_future(call)
        await asyncio.to_thread(held.wait, LIMIT_S)
        running.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        del ws.workspace.ask_for

    async def story() -> None:
        async with two(shell) as (ann, boss):
            for name in ("first", "second", "third"):
                await boss.task_add("x", id=name)
            token = (await ann.task_claim("first"))["token"]
            await cancelled(ann.task_claim("first"), ann)
            assert (await boss.task_show("first"))["task"]["agent"] == "ann", "it had that one before"
            await cancelled(ann.task_done("first", token=token, next=True), ann)
            assert (await boss.task_show("first"))["task"]["state"] == "complete"
            assert (await boss.task_show("second"))["task"]["state"] == "planned", "nobody heard of it"
            await cancelled(ann.task_turn(take=1), ann)
            assert (await boss.task_show("second"))["task"]["state"] == "planned"
            await cancelled(ann.task_next(), ann)
            assert (await boss.task_show("second"))["task"]["state"] == "planned"
            await cancelled(ann.task_next(request_id="r"), ann)
            again = await ann.task_next(request_id="r")
            assert again["task"]["id"] == "second", "a retry is told of it"
            await cancelled(ann.task_done("second", token=again["token"], next=True), ann)
            assert (await boss.task_show("third"))["task"]["state"] == "planned"

    play(story())


def test_every_method_is_there_with_the_same_parameters() -> None:
    names = [name for name in vars(Methods) if not name.startswith("_")]
    assert len(names) > 50
    for name in names:
        plain, other = inspect.signature(getattr(Methods, name)), inspect.signature(getattr(AsyncMethods, name))
        assert list(plain.parameters) == list(other.parameters), name
        if name != "claim":
            assert inspect.iscoroutinefunction(getattr(AsyncMethods, name)), name
            assert plain.return_annotation == other.return_annotation, name


def test_documents_are_updated_without_a_loss(shell: Shell) -> None:
    async def story() -> None:
        async with two(shell) as (ann, bob):
            changes = [ws.update("n", lambda value: value + 1, 0) for _ in range(10) for ws in (ann, bob)]
            await asyncio.gather(*changes)
            assert (await ann.state_get("n"))["value"] == 20

    play(story())
