"""The answer is lost and the call is made again, by its request id: one effect, the same answer."""

from __future__ import annotations

import contextlib
import signal
from typing import Any

import pytest

from dibs.client.session import Session
from dibs.errors import DibsError
from dibs.operations.core.call import Call
from tests.canonical import canonical
from tests.faults.kit import Actor, Dice, World, size

pytestmark = pytest.mark.slow


def draw(dice: Dice) -> tuple[str, str, dict[str, Any]]:
    """An agent, an operation, its fields."""
    agent = f"agent-{dice.randrange(4)}"
    files = [["file", f"f{dice.randrange(12)}.py"] for _ in range(dice.choice((1, 1, 2, 3)))]
    return agent, *dice.choice(
        (
            ("claim", {"resources": files, "reason": "first"}),
            ("claim", {"resources": files, "mode": "read", "ttl": dice.choice((1, 50, 60_000))}),
            ("claim", {"resources": files, "interest": True}),
            ("release", {"resources": files[:1]}),
            ("release", {"all": True}),
            ("renew", {}),
            ("ask", {"resource": files[0], "text": "please"}),
            ("boot", {}),
            ("leave", {}),
            ("sweep", {}),
        )
    )


def answer_of(call: Any) -> Any:
    try:
        return call()
    except DibsError as error:
        return [error.code, error.message, error.fields]


@pytest.mark.long
def test_a_call_made_again_by_its_request_id_has_one_effect_and_the_same_answer(world: World, dice: Dice) -> None:
    session = Session(str(world.folder), None)
    policy = session.config.policy

    def here(agent: str, operation: str, fields: dict[str, Any], request: str) -> Any:
        call = Call(policy, agent=agent, request=request)
        return answer_of(
            lambda: session.run(session.operation(operation), call, canonical(session.operation(operation), fields))
        )

    calls = size(600, 10_000)
    killed = retried = effects = 0
    try:
        for number in range(calls):
            agent, operation, fields = draw(dice)
            request = f"r{number}"
            what = f"DIBS_SEED={dice.number}, call {number}: {agent} {operation} {fields}"
            before = session.store.head()
            if number % 3 == 2:  # the caller dies right after the commit, before anybody hears of it
                first: Any = None
                caller = world.blank()
                caller.do("arm", at=1, number=signal.SIGKILL, match="after COMMIT")
                world.start_floor(caller, agent, operation, request, **fields)
                try:
                    first = answer_of(caller.receive)  # no commit, no death: invalid, or nothing to do
                except EOFError:
                    killed += 1
                caller.close()
            else:
                first = here(agent, operation, fields, request)
            done = session.store.head()
            effects += done.commit > before.commit
            assert done.commit <= before.commit + 1, what
            second = here(agent, operation, fields, request)
            third = here(agent, operation, fields, request)
            after = session.store.head()
            retried += 1
            if done.commit > before.commit:
                assert (after.commit, after.seq) == (done.commit, done.seq), f"{what}: a second effect"
                assert second == third, what
                assert first is None or first == second, what
    finally:
        session.close()
    world.check()
    print(f"{retried} calls made again, {killed} after the caller's death, {effects} with an effect")
    assert killed > calls / 6


def test_a_waiter_that_dies_after_its_turn_came_gets_the_same_claim_by_its_request_id(world: World) -> None:
    for number in range(size(4, 100)):
        name = ["file", f"f{number}.py"]
        world.here("claim", "holder", resources=[name])
        waiter = world.blank()
        asked = {"resources": [name], "wait": 30_000}
        assert world.floor(waiter, "waiter", "claim", f"w{number}", **asked)["waiting"]
        world.here("release", "holder", resources=[name])  # the turn comes
        granted = [event for event in world.events() if event["kind"] == "claim.granted"][-1]
        assert granted["agent"] == "waiter"
        waiter.kill()
        again = world.here("claim", "waiter", f"w{number}", **asked)
        assert again["token"] == granted["data"]["token"]
        once_more = world.here("claim", "waiter", f"w{number}", **asked)
        assert once_more == again
    world.check()


def test_a_request_id_outlives_the_process_of_the_api_that_used_it(world: World) -> None:
    first = world.actor("ann")
    first.do("arm", at=1, number=signal.SIGKILL, match="after COMMIT")
    first.start("claim", "a.py", request_id="job-7")
    with contextlib.suppress(EOFError):
        first.receive()
    first.await_death()
    second = world.actor("ann")  # another incarnation: what was granted moved to it at its boot
    answer = second.call("claim", "a.py", request_id="job-7")
    granted = [event for event in world.events() if event["kind"] == "claim.granted"]
    assert len(granted) == 1
    assert answer["token"] == granted[0]["data"]["token"]
    world.check()


def test_processes_that_retry_the_same_request_at_once_get_one_claim(world: World) -> None:
    callers: list[Actor] = [world.blank() for _ in range(8)]
    for number in range(size(10, 200)):
        for caller in callers:
            world.start_floor(caller, "ann", "claim", f"r{number}", resources=[["file", f"f{number}.py"]])
        answers = [caller.receive() for caller in callers]
        assert all(answer == answers[0] for answer in answers), number
    granted = [event for event in world.events() if event["kind"] == "claim.granted"]
    assert len(granted) == size(10, 200)
    world.check()
