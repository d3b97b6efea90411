"""`dibs.work` and the worker's loop in one process: functions as handlers, a store that fails, lost answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import dibs
from dibs.errors import Busy, Fenced, Killed, Quota, Unavailable
from dibs.interfaces.cli.commands import worker as command
from dibs.interfaces.python.workspace import Workspace
from dibs.machine import clock
from dibs.operations.core import json_values
from dibs.operations.core.declare import MAX_JSON_CHARS
from dibs.workers import child_process, heartbeat, worker
from dibs.workers.task_command import result_of
from dibs.workers.worker import Worker
from tests.interfaces.worker_processes import alive, number_in
from tests.scratch import Shell
from tests.waiting import LIMIT_S, in_time, until


@pytest.fixture
def ws(shell: Shell) -> Iterator[Workspace]:
    with dibs.open(str(shell.folder), agent="ann") as opened:
        yield opened


@pytest.fixture
def boss(shell: Shell) -> Iterator[Workspace]:
    with dibs.open(str(shell.folder), agent="boss") as opened:
        yield opened


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker waits for is short here."""
    monkeypatch.setattr(worker, "RETRY_PAUSES_S", (0.001,))
    monkeypatch.setattr(heartbeat, "CONFIRM_INTERVAL_S", 0.02)


def state(ws: Workspace, task: str) -> str:
    return str(ws.task_show(task)["task"]["state"])


def completions(ws: Workspace, task: str) -> int:
    from dibs.stores.seam import read_event

    found = map(read_event, ws.store.events(0, 100_000))
    return sum(e["kind"] == "task.moved" and e["subject"] == task and e["data"]["to"] == "complete" for e in found)


# --- functions


def test_a_function_gets_task_payload_inputs_and_progress_and_gives_the_result(ws: Workspace, boss: Workspace) -> None:
    boss.task_add("first", id="a", payload={"n": 2})
    boss.task_add("second", id="b", payload={"n": 3}, after=["a"])
    seen: list[Any] = []

    def handler(task: dict[str, Any], payload: Any, inputs: dict[str, Any], progress: Callable[..., None]) -> Any:
        progress(50, f"at {task['id']}")
        seen.append((task["id"], inputs))
        return {"square": payload["n"] ** 2}

    counts = dibs.work(ws, handler, drain=True)
    assert counts == {"done": 2, "split": 0, "failed": 0, "lost": 0, "returned": 0}
    assert seen == [("a", {}), ("b", {"a": {"square": 4}})]
    assert ws.task_show("b")["task"]["result"] == {"square": 9}
    assert [note["text"] for note in ws.task_show("b")["task"]["notes"]] == ["at b"]


def test_an_exception_is_tried_again_and_permanent_is_not(ws: Workspace, boss: Workspace) -> None:
    boss.task_add("one", id="one", attempts=3)
    boss.task_add("two", id="two")

    def handler(task: dict[str, Any], *_: Any) -> Any:
        if task["id"] == "two":
            raise dibs.Permanent("there is no such page")
        if task["attempt"] == 1:
            message = "not\x00now"
            raise ValueError(message)
        return task["attempt"]

    counts = dibs.work(ws, handler, drain=True)
    assert (counts["done"], counts["failed"]) == (1, 2)
    assert ws.task_show("one")["task"]["result"] == 2
    two = ws.task_show("two")["task"]
    assert (two["state"], two["error"]["why"]) == ("failed", "there is no such page")


def test_an_interrupt_gives_the_task_back_and_goes_on_to_the_caller(ws: Workspace, boss: Workspace) -> None:
    boss.task_add("one", id="one")

    def handler(*_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dibs.work(ws, handler, drain=True)
    one = ws.task_show("one")["task"]
    assert (one["state"], one["attempt"]) == ("planned", 1)
    assert "stopped" in one["note"]


@pytest.mark.parametrize("result", [{1, 2}, {"x": float("nan")}, 2**60, {"x": "\x1a"}, "y" * 70_000, b"bytes"])
def test_a_result_that_cannot_be_kept_fails_for_good(ws: Workspace, boss: Workspace, result: Any) -> None:
    boss.task_add("one", id="one")
    counts = dibs.work(ws, lambda *_: result, drain=True)
    assert counts["failed"] == 1
    assert state(ws, "one") == "failed"


def test_progress_of_a_lost_task_is_refused_and_its_result_dropped(ws: Workspace, boss: Workspace) -> None:
    boss.task_add("one", id="one")
    refused = []

    def handler(_: Any, __: Any, ___: Any, progress: Callable[..., None]) -> Any:
        boss.task_cancel("one")

        def fenced() -> bool:
            try:
                progress(1)
            except Fenced:
                return True
            return False

        refused.append(until(fenced, "a refusal"))
        return "late"

    counts = dibs.work(ws, handler, drain=True)
    assert refused == [True]
    assert (counts["lost"], counts["done"]) == (1, 0)
    assert state(ws, "one") == "cancelled"


def test_who_has_a_task_already_is_told_so(ws: Workspace, boss: Workspace) -> None:
    boss.task_add("one", id="one")
    boss.task_add("two", id="two")
    mine = ws.task_next()
    with pytest.raises(Quota):
        dibs.work(ws, lambda *_: None, drain=True)
    ws.task_done("one", token=mine["token"])  # nobody took it away


def test_a_killed_agent_stops_working(ws: Workspace, boss: Workspace) -> None:
    boss.task_add("one", id="one")
    boss.task_add("two", id="two")

    def handler(*_: Any) -> Any:
        boss.kill("ann", why="enough")

    with pytest.raises(Killed):
        dibs.work(ws, handler, drain=True)
    assert (state(boss, "one"), state(boss, "two")) == ("planned", "planned")


def test_a_worker_that_is_told_to_stop_takes_no_more(ws: Workspace, boss: Workspace) -> None:
    for name in ("a", "b"):
        boss.task_add(name, id=name)
    made = Worker(ws, lambda _: made.stop())
    assert made.run()["done"] == 1
    assert state(ws, "b") == "planned"


def test_no_command_for_a_task_is_a_failure_that_another_worker_may_make_good(ws: Workspace, boss: Workspace) -> None:
    boss.task_add("one", id="one")
    counts = Worker(ws, command_for=lambda _: None, limit=1).run()
    assert counts["failed"] == 1
    assert state(ws, "one") == "planned"


# --- a store that fails


class Failing:
    """Makes calls of an operation fail: before they are done, or after, so that only the answer is lost."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ws: Workspace, name: str, *failures: Any, after: bool) -> None:
        self.left = list(failures)
        run = ws.session.run

        def call(operation: Any, *given: Any) -> Any:
            if operation.name != name or not self.left:
                return run(operation, *given)
            error = self.left.pop(0)
            if after:
                run(operation, *given)
            raise error

        monkeypatch.setattr(ws.session, "run", call)


@pytest.mark.parametrize("after", [False, True])
def test_a_result_is_not_lost_with_a_busy_store_nor_handed_in_twice(
    ws: Workspace, boss: Workspace, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    boss.task_add("one", id="one")
    boss.task_add("two", id="two")
    failing = Failing(monkeypatch, ws, "task done", Busy(), Unavailable("gone"), Busy(), after=after)
    told: list[dict[str, Any]] = []
    counts = dibs.work(ws, lambda task, *_: task["id"], drain=True, tell=told.append)
    assert failing.left == []
    assert counts["done"] == 2
    assert [completions(ws, name) for name in ("one", "two")] == [1, 1]
    assert ws.task_show("one")["task"]["result"] == "one"
    assert [event["event"] for event in told].count("store") == 1  # said once, not at every try


@pytest.mark.parametrize("after", [False, True])
def test_a_failure_is_told_in_spite_of_a_busy_store_and_counts_once(
    ws: Workspace, boss: Workspace, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    boss.task_add("one", id="one")
    failing = Failing(monkeypatch, ws, "task fail", Busy(), Busy(), after=after)

    def handler(*_: Any) -> Any:
        raise ValueError

    assert dibs.work(ws, handler, limit=1)["failed"] == 1
    assert failing.left == []
    one = ws.task_show("one")["task"]
    assert (one["attempt"], one["error"]["why"].partition(" (test_work.py:")[0]) == (2, "ValueError")


def test_a_task_whose_answer_was_lost_goes_back_and_is_done(
    ws: Workspace, boss: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    boss.task_add("one", id="one")
    run, failures = ws.session.run, [Unavailable("the answer is lost")]

    def lossy(operation: Any, call: Any, fields: dict[str, Any]) -> Any:
        answer = run(operation, call, fields)
        if operation.name == "task next" and failures:
            raise failures.pop()
        return answer

    monkeypatch.setattr(ws.session, "run", lossy)
    counts = dibs.work(ws, lambda *_: 1, drain=True)
    assert (counts["returned"], counts["done"]) == (1, 1)
    assert ws.task_show("one")["task"]["attempt"] == 1


def test_a_store_that_stays_away_ends_a_worker_that_has_no_task(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "STORE_TIMEOUT_MS", 50)

    def away(*_: Any, **__: Any) -> Any:
        raise Unavailable("no disk")

    made = Worker(ws, lambda _: None)
    monkeypatch.setattr(ws, "boot", lambda **_: {"agent": "ann", "held": []})
    monkeypatch.setattr(ws.session, "run", away)
    with pytest.raises(Unavailable, match="no disk"):
        made.run()


def test_a_result_that_no_store_takes_until_its_claim_is_over_is_lost_and_said_so(
    ws: Workspace, boss: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    boss.task_add("one", id="one")
    told: list[dict[str, Any]] = []

    Failing(monkeypatch, ws, "task done", *[Busy(pid=1, waited=5)] * 100, after=False)

    def handler(job: heartbeat.Job) -> None:
        job.hold.until = clock.since_boot() + 20

    counts = Worker(ws, handler, limit=1, tell=told.append).run()
    assert counts["lost"] == 1
    assert "lost" in [event["event"] for event in told]


# --- heartbeats


def test_a_busy_store_does_not_make_a_heartbeat_give_up(
    ws: Workspace, boss: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    boss.task_add("one", id="one")
    failing = Failing(monkeypatch, ws, "confirm", Busy(), Unavailable("x"), Busy(), after=False)
    counts = dibs.work(ws, lambda *_: until(lambda: not failing.left, "three looks") and 1, drain=True)
    assert (counts["done"], counts["lost"]) == (1, 0)


def test_a_claim_that_moved_under_a_new_token_is_lost(
    ws: Workspace, boss: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    boss.task_add("one", id="one")
    monkeypatch.setattr(heartbeat, "MAX_RENEWAL_INTERVAL_S", 0.05)
    renew = ws.renew

    def moved(*names: Any) -> Any:
        answer = renew(*names)
        answer["renewed"][0]["token"] += 1
        return answer

    monkeypatch.setattr(ws, "renew", moved)

    def handler(job: heartbeat.Job) -> str:
        until(lambda: job.lost is not None, "the loss")
        return "late"

    assert Worker(ws, handler, limit=1).run()["lost"] == 1


def test_much_progress_becomes_few_commits(ws: Workspace, boss: Workspace) -> None:
    boss.task_add("one", id="one")
    before = ws.store.head().commit

    def handler(_: Any, __: Any, ___: Any, progress: Callable[..., None]) -> None:
        for number in range(1_000):
            progress(number // 10)
        progress(99, "nearly")

    dibs.work(ws, handler, limit=1)
    assert ws.store.head().commit - before < 20
    assert ws.task_show("one")["task"]["note"] == "nearly"


# --- commands


def test_a_command_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "KILL_GRACE_MS", 100)
    keeper = child_process.Keeper()
    script = "trap '' TERM; echo $$ > pid; while :; do sleep 600; done"
    child = child_process.Child(keeper, ["/bin/sh", "-c", script], until=0, cwd=tmp_path)
    until(lambda: number_in(tmp_path / "pid"))
    child.end()
    assert child.wait(0.05) is None

    def over() -> bool:
        child.kill_after_grace()
        return child.wait(0.01) == -signal.SIGKILL

    until(over, "its end")
    keeper.close()


def test_asked_twice_a_command_has_to_end(tmp_path: Path) -> None:
    keeper = child_process.Keeper()
    child = child_process.Child(keeper, ["/bin/sh", "-c", "trap '' TERM; echo $$ > pid; while :; do sleep 600; done"],
                           until=0, cwd=tmp_path)  # fmt: skip
    until(lambda: number_in(tmp_path / "pid"))
    child.end()
    child.end()
    assert child.wait(LIMIT_S) == -signal.SIGKILL
    keeper.close()


def test_the_keeper_ends_a_command_whose_time_is_over_and_not_one_that_was_kept(tmp_path: Path) -> None:
    def play(life: float) -> None:
        kept, left = child_process.Keeper(), child_process.Keeper()
        soon = clock.since_boot() + int(life * 1000)
        first = child_process.Child(kept, ["sleep", "600"], until=soon)
        first.keep(soon + 3_600_000)
        second = child_process.Child(left, ["sleep", "600"], until=soon)
        assert second.wait(LIMIT_S) == -signal.SIGKILL
        assert clock.since_boot() >= soon
        assert first.wait(0.01) is None
        first.end()
        assert first.wait(LIMIT_S) == -signal.SIGTERM
        kept.close()
        left.close()

    in_time(play, life=0.5)
    assert not list(tmp_path.iterdir())


def test_a_keeper_that_was_killed_is_replaced() -> None:
    keeper = child_process.Keeper()
    child = child_process.Child(keeper, ["sleep", "600"], until=0)
    first = keeper.pid
    assert first
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    child.keep(clock.since_boot())  # over at once
    assert keeper.pid not in {0, first}
    assert child.wait(LIMIT_S) == -signal.SIGKILL
    keeper.close()


def test_a_command_starts_only_when_its_keeper_knows_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    popen = subprocess.Popen

    def noted(*given: Any, **named: Any) -> Any:
        made = popen(*given, **named)
        started.append(made.pid)
        return made

    def dies(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(subprocess, "Popen", noted)
    keeper = child_process.Keeper()
    monkeypatch.setattr(keeper, "tell", dies)
    with pytest.raises(MemoryError):
        child_process.Child(keeper, ["touch", str(tmp_path / "ran")], until=0)
    (pid,) = started
    assert not alive(pid)
    assert not (tmp_path / "ran").exists()


def test_what_a_command_leaves_running_ends_with_it(tmp_path: Path) -> None:
    keeper = child_process.Keeper()
    child = child_process.Child(keeper, ["/bin/sh", "-c", "sleep 600 & echo $! > pid"], until=0, cwd=tmp_path)
    assert child.wait(LIMIT_S) == 0
    pid = number_in(tmp_path / "pid")
    until(lambda: not alive(pid), "its end")
    keeper.close()


def test_a_command_that_writes_without_end_is_ended(
    ws: Workspace, boss: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dibs.client import json_input

    monkeypatch.setattr(json_input, "MAX_FILE_BYTES", 1 << 20)
    boss.task_add("one", id="one")
    counts = Worker(ws, command_for=lambda _: "exec yes", limit=1).run()
    assert counts["failed"] == 1
    one = ws.task_show("one")["task"]
    assert (one["state"], "standard output" in one["error"]["why"]) == ("failed", True)


def test_a_list_of_parts_with_a_value_that_the_store_refuses_stays_a_list_of_parts() -> None:
    parts = {"tasks": [{"title": "x", "payload": 2**60}]}
    assert result_of(cast("Any", None), json.dumps(parts).encode()) == parts


def test_a_long_list_of_parts_is_no_file(ws: Workspace) -> None:
    parts = {"tasks": [{"title": "x" * 100} for _ in range(900)]}
    assert result_of(ws.session, json.dumps(parts).encode()) == parts


def test_the_ways_to_say_how_a_command_ended() -> None:
    assert child_process.exit_text(3) == "exit code 3"
    assert child_process.exit_text(-9) == "killed by SIGKILL"
    assert child_process.exit_text(-99) == "killed by signal 99"


def test_help_names_all_that_is_told() -> None:
    events = " ".join(command.COMMAND.notes).rpartition("for each event: ")[2].rstrip(".").split(", ")
    assert sorted(events) == sorted(command._LINES)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x1a"))  # those that the store takes
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


class Kept:
    """Where what is no text goes."""

    def __init__(self, folder: Path) -> None:
        self.place = self
        self.local = str(folder)


@given(PLAIN)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_json_comes_through_as_it_is(tmp_path: Path, value: Any) -> None:
    assert result_of(cast("Any", Kept(tmp_path)), json.dumps(value).encode()) == value


@given(st.binary() | st.text().map(str.encode))
@example(b"9007199254740993")
@example(b'{"at": 1e999}')
@example(b'"\\ud800"')
@example(b'["\\u001a"]')
@example(b"[" * 40 + b"]" * 40)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_command_writes_can_be_handed_in(tmp_path: Path, output: bytes) -> None:
    value = result_of(cast("Any", Kept(tmp_path)), output)
    json_values.check(value, "result", MAX_JSON_CHARS)
    if isinstance(value, dict) and "kept" in value:
        assert (tmp_path / value["kept"]).read_bytes() == output
    else:
        assert (value is None) is (not output.decode().strip() or output.decode().strip() == "null")


@pytest.mark.parametrize("depth", [40, 500, 5_000, 200_000])
def test_json_that_is_nested_too_deeply_does_not_end_the_worker(ws: Workspace, boss: Workspace, depth: int) -> None:
    boss.task_add("one", id="one")
    command = f"head -c {depth} /dev/zero | tr '\\0' '['; head -c {depth} /dev/zero | tr '\\0' ']'"
    counts = Worker(ws, command_for=lambda _: command, limit=1).run()
    assert counts["done"] == 1
    assert state(ws, "one") == "complete"


def test_a_defect_in_the_heartbeats_does_not_end_them_and_is_said(
    ws: Workspace, boss: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    boss.task_add("one", id="one")
    failing = Failing(monkeypatch, ws, "confirm", KeyError("x"), KeyError("y"), after=False)
    told: list[dict[str, Any]] = []
    counts = dibs.work(ws, lambda *_: until(lambda: not failing.left, "two looks") and 1, limit=1, tell=told.append)
    assert counts["done"] == 1
    assert any("Please report" in event.get("why", "") for event in told)


def test_what_a_handler_raises_is_logged_with_its_traceback_and_kept_with_its_place(
    ws: Workspace, boss: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    boss.task_add("one", id="one", attempts=1)

    def deeper() -> None:
        message = "no such page"
        raise LookupError(message)

    def handler(*_: Any) -> None:
        deeper()

    assert dibs.work(ws, handler, limit=1)["failed"] == 1
    why = ws.task_show("one")["task"]["error"]["why"]
    assert why.startswith("LookupError: no such page (test_work.py:")
    assert why.endswith("in deeper)")
    assert "in handler, test_work.py:" in why
    assert "Traceback (most recent call last)" in caplog.text
    assert "raise LookupError(message)" in caplog.text


def test_what_a_handler_raises_goes_to_standard_error_where_nothing_is_configured(
    ws: Workspace, boss: Workspace
) -> None:
    boss.task_add("one", id="one", attempts=1)
    code = "import dibs; dibs.work(dibs.open(agent='carl'), lambda *_: 1 / 0, limit=1)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ws.root, capture_output=True, text=True, check=True)
    assert "task one failed" in done.stderr
    assert "ZeroDivisionError: division by zero" in done.stderr


def test_a_handler_that_takes_other_parameters_is_refused_before_a_task_is_taken(
    ws: Workspace, boss: Workspace
) -> None:
    boss.task_add("one", id="one")
    with pytest.raises(TypeError, match="handler\\(task, payload, inputs, progress\\)"):
        dibs.work(ws, lambda task: task, limit=1)  # type: ignore[arg-type, misc]
    assert ws.task_show("one")["task"]["state"] == "planned"


def test_a_call_that_cannot_be_made_fails_for_good_and_one_inside_does_not(ws: Workspace, boss: Workspace) -> None:
    class Handler:
        def __call__(self, *_: Any) -> Any:
            return len()  # type: ignore[call-arg]

    boss.task_add("inside", id="inside")
    assert dibs.work(ws, Handler(), limit=1)["failed"] == 1
    assert ws.task_show("inside")["task"]["state"] == "planned"
    boss.task_cancel("inside")
    boss.task_add("call", id="call")
    assert dibs.work(ws, max, limit=1)["failed"] == 1  # in C: it does not tell what it takes
    assert ws.task_show("call")["task"]["state"] == "failed"


def test_idle_is_seconds_or_a_text_and_nonsense_is_invalid(ws: Workspace) -> None:
    for idle in (0.05, "50ms"):
        began = clock.since_boot()
        assert sum(dibs.work(ws, lambda *_: None, idle=idle).values()) == 0
        assert clock.since_boot() - began >= 50
    for wrong in ("soon", -1, True, [3]):
        with pytest.raises(dibs.Invalid):
            dibs.work(ws, lambda *_: None, idle=wrong)  # type: ignore[arg-type]
    for name, value in (("limit", "x"), ("drain", 1), ("type", 5), ("can", [1]), ("run", 7)):
        settings: Any = {name: value}
        with pytest.raises(dibs.Invalid):
            dibs.work(ws, lambda *_: None, **settings)
    with pytest.raises(TypeError):
        dibs.work(ws, lambda *_: None, drian=True)  # type: ignore[call-arg]
