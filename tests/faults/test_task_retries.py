"""The answer about a task is lost and the call is made again, by its request id: one effect, the same answer."""

from __future__ import annotations

import signal
from collections import Counter
from typing import Any

import pytest

from dibs.client.session import Session
from dibs.errors import DibsError
from dibs.operations.core.call import Call
from tests.canonical import canonical
from tests.faults.kit import Actor, Dice, World, size

pytestmark = pytest.mark.slow


class Caller:
    """Draws calls about tasks that make sense often enough."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.tokens: list[tuple[str, str, int]] = []
        self.number = 0

    def draw(self) -> tuple[str, str, dict[str, Any]]:
        """An agent, an operation, its fields."""
        dice = self.dice
        agent = f"agent-{dice.randrange(4)}"
        chance = dice.random()
        if chance < 0.3:
            self.number += 1
            after = [f"t{dice.randrange(1, self.number)}"] if self.number > 1 and dice.random() < 0.2 else []
            return agent, "task add", {"title": "x", "id": f"t{self.number}", "after": after}
        if chance < 0.55 or not self.tokens:
            return agent, "task next", {}
        agent, name, token = dice.choice(self.tokens[-6:])
        return agent, *dice.choice(
            (
                ("task done", {"id": name, "token": token, "result": {"n": 1}}),
                ("task done", {"id": name, "token": token, "next": True}),
                ("task fail", {"id": name, "token": token, "class": "transient", "why": "x"}),
                ("task release", {"id": name, "token": token}),
                ("task progress", {"id": name, "token": token, "percent": 50}),
                ("task split", {"id": name, "token": token, "children": [{"title": "a"}, {"title": "b"}]}),
                ("task cancel", {"id": name}),
                ("task move", {"id": name, "state": "planned"}),
                ("task note", {"id": name, "text": "here"}),
            )
        )

    def heard(self, agent: str, answer: Any) -> None:
        """What an answer teaches."""
        for found in (answer, answer.get("next")) if isinstance(answer, dict) else ():
            if isinstance(found, dict) and "token" in found:
                self.tokens.append((agent, found["task"]["id"], found["token"]))


def answer_of(call: Any) -> Any:
    try:
        return call()
    except DibsError as error:
        return [error.code, error.message, error.fields]


@pytest.mark.long
def test_a_call_about_a_task_made_again_by_its_request_id_has_one_effect_and_the_same_answer(
    world: World, dice: Dice
) -> None:
    session = Session(str(world.folder), None)
    caller = Caller(dice)
    calls = size(300, 10_000)
    killed, effects = 0, Counter[str]()

    def here(agent: str, operation: str, fields: dict[str, Any], request: str) -> Any:
        call = Call(session.config.policy, agent=agent, request=request)
        return answer_of(
            lambda: session.run(session.operation(operation), call, canonical(session.operation(operation), fields))
        )

    try:
        for number in range(calls):
            agent, operation, fields = caller.draw()
            request = f"r{number}"
            what = f"DIBS_SEED={dice.number}, call {number}: {agent} {operation} {fields}"
            before = session.store.head()
            first: Any = None
            if number % 3 == 2:  # the caller dies right after the commit, before anybody hears of it
                process = world.blank()
                process.do("arm", at=1, number=signal.SIGKILL, match="after COMMIT")
                world.start_floor(process, agent, operation, request, **fields)
                try:
                    first = answer_of(process.receive)  # no commit, no death: it made no sense
                except EOFError:
                    killed += 1
                process.close()
            else:
                first = here(agent, operation, fields, request)
            done = session.store.head()
            assert done.commit <= before.commit + 1, what
            second = here(agent, operation, fields, request)
            third = here(agent, operation, fields, request)
            after = session.store.head()
            if done.commit > before.commit:
                effects[operation] += 1
                assert (after.commit, after.seq) == (done.commit, done.seq), f"{what}: a second effect"
                assert second == third, what
                assert first is None or first == second, what
            caller.heard(agent, second)
    finally:
        session.close()
    world.check()
    print(f"{calls} calls made again, {killed} after the caller's death, with an effect: {dict(effects)}")
    assert killed > calls / 8
    assert len(effects) >= 8


def test_processes_that_retry_the_same_request_at_once_get_one_task(world: World) -> None:
    rounds = size(10, 200)
    for number in range(2 * rounds):
        world.here("task add", "boss", title="x", id=f"t{number}")
    callers: list[Actor] = [world.blank() for _ in range(6)]
    for number in range(rounds):
        for caller in callers:
            world.start_floor(caller, "ann", "task next", f"n{number}")
        answers = [caller.receive() for caller in callers]
        assert all(answer == answers[0] for answer in answers), number
        given = answers[0]
        for caller in callers:
            fields = {"id": given["task"]["id"], "token": given["token"], "result": 1}
            world.start_floor(caller, "ann", "task done", f"d{number}", **fields)
        answers = [caller.receive() for caller in callers]
        assert all(answer == answers[0] for answer in answers), number
    events = world.events()
    assert len([e for e in events if e["kind"] == "claim.granted"]) == rounds
    assert len([e for e in events if e["kind"] == "task.moved" and e["data"]["to"] == "complete"]) == rounds
    world.check()


def test_many_who_ask_at_once_get_each_a_task_of_its_own(world: World) -> None:
    rounds = size(5, 100)
    callers: list[Actor] = [world.blank() for _ in range(8)]
    for number in range(rounds):
        for place in range(8):
            world.here("task add", "boss", title="x", id=f"t{number}-{place}")
        for place, caller in enumerate(callers):
            world.start_floor(caller, f"w{place}", "task next")
        answers = [caller.receive() for caller in callers]
        assert {answer["task"]["id"] for answer in answers} == {f"t{number}-{place}" for place in range(8)}
        for place, (caller, answer) in enumerate(zip(callers, answers, strict=True)):
            fields = {"id": answer["task"]["id"], "token": answer["token"]}
            world.start_floor(caller, f"w{place}", "task done", "", **fields)
        assert all(caller.receive()["task"]["state"] == "complete" for caller in callers)
    world.check()
