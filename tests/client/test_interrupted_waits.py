"""An interrupted claim leaves nothing behind: no place in the queue, and no claim that nobody knows of."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import partial
from typing import Any

import pytest

import dibs
from dibs.canonical import Canonical
from dibs.verify.checker import verify_store
from tests.scratch import DIBS, Shell
from tests.stores.interrupts import Interrupter
from tests.waiting import LIMIT_S, until

WATCHED = ("client/session.py", "stores/sqlite/store.py", "stores/turns.py")


def left_of(ws: Any, agent: str) -> list[Any]:
    """What the status shows of an agent."""
    status = ws.status()
    return [one for one in (*status["claims"], *status["waiting"]) if one["agent"] == agent]


@pytest.mark.parametrize("held", [True, False], ids=["held by another", "free"])
def test_an_interrupt_at_any_bytecode_of_a_wait_leaves_no_place_and_no_claim(shell: Shell, held: bool) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        if held:
            bob.claim("db:x")
        else:
            bob.whoami()
        ann.session.store.look(lambda _: None)
        points = 0

        def wait() -> None:
            try:
                ann.session.run_waiting(
                    ann.session.operation("claim"),
                    ann.caller(),
                    {"resources": [Canonical(("name", "db:x"))], "wait": 5},
                )
            except dibs.Held:
                pass

        step = 211 if held else 37
        start = 1
        while points < 6:  # on a busy machine the time is over before the wait begins: once more, from elsewhere
            for interrupt in Interrupter(*WATCHED).everywhere(wait, step, start):
                assert not left_of(bob, "ann"), f"a wait that was interrupted left something behind, from {start}"
                points += 1
                del interrupt
            ann.release(all=True)  # the last one came to its end, with the claim if that was free
            start = 1 + (start + 17) % step


@pytest.mark.parametrize("where", ["the call", "the end of the block"])
def test_an_interrupt_of_a_with_leaves_no_claim_in_a_process_that_continues(shell: Shell, where: str) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        ann.whoami()
        points = 0
        claims: list[dibs.Claim] = []

        def begin() -> None:
            ann.claim("db:y")

        def end() -> None:
            with claims[-1]:
                pass

        if where != "the call":
            claims.append(ann.claim("db:x"))
        for interrupt in Interrupter(*WATCHED).everywhere(begin if where == "the call" else end, 41):
            assert not left_of(bob, "ann")
            points += 1
            if where != "the call":
                claims.append(ann.claim("db:x"))
            del interrupt
        assert points > 6, "it was interrupted at several places"


@pytest.mark.parametrize("by", ["task next", "task claim"])
def test_an_interrupt_of_a_pull_gives_the_task_back_in_a_process_that_continues(shell: Shell, by: str) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        bob.task_add("work", id="t")
        ann.whoami()
        points = 0

        def take() -> None:
            if by == "task next":
                ann.task_next()
            else:
                ann.task_claim("t")

        for interrupt in Interrupter(*WATCHED).everywhere(take, 41):
            found = bob.task_show("t")["task"]
            assert (found["state"], found["attempt"]) == ("planned", 1), "it counts against nobody"
            assert not left_of(bob, "ann")
            points += 1
            del interrupt
        assert points > 6, "it was interrupted at several places"
        assert bob.task_show("t")["task"]["agent"] == "ann", "the last one was not interrupted"
        assert verify_store(bob.store).findings == []


@pytest.mark.parametrize("by", ["task done", "task turn"])
def test_an_interrupt_of_a_finish_gives_the_next_task_back_and_the_finished_one_stays(shell: Shell, by: str) -> None:
    """Either nothing is done, or the task is finished and nobody has the next one."""
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        bob.task_add("work", id="next", priority=-1)
        outcomes = set()
        tokens: list[int] = []
        tasks: list[str] = []

        def take() -> None:
            tasks.append(bob.task_add("work")["task"]["id"])
            tokens.append(ann.task_claim(tasks[-1])["token"])

        def finish() -> None:
            if by == "task done":
                ann.task_done(tasks[-1], token=tokens[-1], next=True)
            else:
                ann.task_turn(done=[{"id": tasks[-1], "token": tokens[-1]}], take=1)

        take()
        for interrupt in Interrupter(*WATCHED).everywhere(finish, 41):
            done = bob.task_show(tasks[-1])["task"]["state"] == "complete"
            outcomes.add(done)
            held = [one["resources"] for one in left_of(bob, "ann")]
            assert held == ([] if done else [[f"task:{tasks[-1]}"]])
            found = bob.task_show("next")["task"]
            assert (found["state"], found["attempt"]) == ("planned", 1)
            if done:
                take()
            del interrupt
        assert outcomes == {True, False}, "it was interrupted before and after the decision"
        assert bob.task_show("next")["task"]["agent"] == "ann", "the last one was not interrupted"
        assert verify_store(bob.store).findings == []


@pytest.mark.parametrize("by", ["task next", "task claim"])
def test_an_interrupted_wait_for_a_task_leaves_no_place_and_keeps_no_other_agent_from_it(shell: Shell, by: str) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        token = None
        if by == "task claim":
            bob.task_add("work", id="t")
            token = bob.task_claim("t")["token"]

        def interrupt(_: Any) -> None:
            raise KeyboardInterrupt

        def wait() -> None:
            if token is None:
                ann.task_next(wait=LIMIT_S)
            else:
                ann.task_claim("t", wait=LIMIT_S)

        ann.told = interrupt
        with pytest.raises(KeyboardInterrupt):
            wait()
        assert bob.store.look(lambda tx: tx.fetch([("tw\t", "tw\n")], 10).rows) == []
        if token is not None:
            bob.task_release("t", token=token)
            assert bob.task_next()["task"]["id"] == "t", "it is not kept for the one that was interrupted"


def test_an_interrupted_pull_of_a_task_that_the_agent_has_already_leaves_it(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann:
        ann.task_add("work", id="t")
        ann.task_claim("t")
        for interrupt in Interrupter(*WATCHED).everywhere(lambda: ann.task_claim("t"), 97):
            assert ann.task_show("t")["task"]["agent"] == "ann"
            del interrupt


@pytest.mark.parametrize("again", [False, True], ids=["once", "by a door that withdraws again"])
def test_a_second_interrupt_at_any_bytecode_of_the_withdrawal_leaves_no_place(shell: Shell, again: bool) -> None:
    watched = (*WATCHED, "client/wait_loop.py", "client/driver.py") if again else WATCHED[1:]
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        bob.claim("db:x")
        claim, fields = ann.session.operation("claim"), {"resources": [Canonical(("name", "db:x"))], "wait": 60_000}
        at, raised = 1, True
        while raised:
            call = ann.caller("")
            ann.session.run(claim, call, {**fields, "waiter": "", "wake": ""})
            assert len(left_of(bob, "ann")) == 1
            raised = Interrupter(*watched).interrupt(partial(ann.session.withdraw, call), at) is not None
            if raised and again:
                ann.session.withdraw(call)
            assert not left_of(bob, "ann"), f"a withdrawal that was interrupted at {at} left something behind"
            at += 41
        assert at > 300, "it was interrupted at several places"


TWICE = """
import os, sys
from dibs.interfaces.cli.main import main
from dibs.client import wait_loop

whole = wait_loop._withdraw

def withdraw(*given):
    print("withdraws", file=sys.stderr)
    os.kill(os.getpid(), int(sys.argv[1]))
    for _ in range(1000):  # the handler runs here at the latest
        pass
    whole(*given)

wait_loop._withdraw = withdraw
wait_loop.rounds.step = lambda *_, **__: os.kill(os.getpid(), int(sys.argv[1]))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_signalled_again_and_again_leaves_its_queue(shell: Shell, number: signal.Signals) -> None:
    shell.json("claim", "db:x", "--as", "bob", exit=0)
    done = subprocess.run(
        [sys.executable, "-c", TWICE, str(int(number)), "claim", "db:x", "--wait", f"{LIMIT_S}s", "--as", "ann"],
        cwd=shell.folder, env=shell.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr.count("withdraws") == 3, done.stderr
    assert done.returncode == 128 + number
    assert shell.json("status")["waiting"] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_at_once_and_leaves_no_place(shell: Shell, number: signal.Signals) -> None:
    shell.json("claim", "db:x", "--as", "bob", exit=0)
    waiting = subprocess.Popen(
        [DIBS, "claim", "db:x", "--wait", "60s", "--as", "ann"],
        cwd=shell.folder, env=shell.environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        until(lambda: shell.json("status")["waiting"])
        waiting.send_signal(number)
        assert waiting.wait(LIMIT_S) == 128 + number
        assert shell.json("status")["waiting"] == []
        assert b"interrupted" in waiting.communicate()[1]
    finally:
        waiting.kill()
        waiting.communicate()


SWALLOWED = """
import os, sys, weakref
from dibs.interfaces.cli.main import main
from dibs.client.upkeep import rounds as upkeep

class Thing:
    pass

def interrupted(_):
    os.kill(os.getpid(), int(sys.argv[1]))
    for _ in range(1000):  # the handler runs here at the latest
        pass

def step(*_, **__):
    thing = Thing()
    seen = weakref.ref(thing, interrupted)
    del thing

upkeep.step = step
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("words", [("claim", "db:x"), ("task", "next"), ("lead", "--name", "x")])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_whose_exception_a_callback_swallows_ends_the_wait(
    shell: Shell, number: signal.Signals, words: tuple[str, ...]
) -> None:
    shell.json("claim", "db:x", "role:x", "--as", "bob", exit=0)
    command = ("--", "true") if words[0] == "lead" else ()
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED, str(int(number)), *words, "--wait", f"{LIMIT_S}s", "--as", "ann", *command],
        cwd=shell.folder, env=shell.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "ignored in" in done.stderr, "it was swallowed"
    assert done.returncode == 128 + number, "else it waits to its end, and is refused"
    assert shell.json("status")["waiting"] == []


@pytest.mark.torture
def test_a_command_that_is_interrupted_at_any_time_holds_nothing_afterwards(shell: Shell) -> None:
    for turn in range(150):
        for words in (
            ("claim", "db:x", "--as", "ann", "--json"),
            ("claim", "db:x", "--wait", "9s", "--as", "ann", "--json"),
        ):
            if turn % 2:
                shell.run("claim", "db:x", "--as", "bob")
            command = subprocess.Popen([DIBS, *words], cwd=shell.folder, env=shell.environment, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)  # fmt: skip
            try:
                command.wait(0.02 + turn % 75 / 1000)
            except subprocess.TimeoutExpired:
                command.send_signal(signal.SIGINT)
            said = command.communicate()[0]
            status = shell.json("status")
            mine = [one for one in (*status["claims"], *status["waiting"]) if one["agent"] == "ann"]
            if command.returncode == 0:
                assert json.loads(said)["ok"]
                assert mine
            elif command.returncode == 130:
                assert not mine
            shell.run("release", "--all", "--as", "ann")
            shell.run("release", "--all", "--as", "bob")
