"""`dibs worker` as real processes: what a command gets, what becomes of what it gives, every way in which it ends."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.interfaces.worker_processes import PATIENCE, Place, alive, number_in, place
from tests.scratch import DIBS
from tests.waiting import until

__all__ = ["place"]  # a fixture

SHORT = '[[claims.patterns]]\nmatch = "task:*"\nttl = "3s"\n'  # a claim on a task whose deadline a test can wait for
QUICK = '[tasks]\nbackoff = "10ms"\n'
HANGS = "echo $$ > pid; exec sleep 600"


def events_of(place: Place, kind: str, subject: str) -> list[dict[str, Any]]:
    found = place.json("log", "--kind", kind, "--limit", "0", exit=0)["events"]
    return [event for event in found if event["subject"] == subject]


def completions(place: Place, task: str) -> int:
    return sum(event["data"]["to"] == "complete" for event in events_of(place, "task.moved", task))


# --- what a command gets


def test_a_command_gets_its_task_on_standard_input_and_in_its_environment(place: Place) -> None:
    place.add("first", "--payload", '{"n": 1}')
    place.add("second", "--payload", "[2]", "--after", "first", "--key", "once", "--attempts", "3")
    names = "DIBS_WORKSPACE DIBS_AGENT DIBS_TASK DIBS_TOKEN DIBS_TASK_KEY DIBS_ATTEMPT DIBS_RUN"
    show = " ".join(f'\\"{name}\\":\\"${name}\\"' for name in names.split()).replace(" ", ",")
    running = place.drain(f'echo "{{\\"env\\":{{{show}}},\\"in\\":$(cat)}}"')
    first, second = place.task("first")["result"], place.task("second")["result"]
    token = running.events("taken")[1]["token"]
    assert second["env"] == {
        "DIBS_WORKSPACE": str(place.folder), "DIBS_AGENT": running.events("started")[0]["agent"],
        "DIBS_TASK": "second", "DIBS_TOKEN": str(token), "DIBS_TASK_KEY": "once", "DIBS_ATTEMPT": "1", "DIBS_RUN": "",
    }  # fmt: skip
    assert first["env"]["DIBS_TASK_KEY"] == "first"
    assert (first["in"]["payload"], first["in"]["inputs"], first["in"]["task"]["id"]) == ({"n": 1}, {}, "first")
    assert second["in"]["payload"] == [2]
    assert second["in"]["inputs"]["first"]["in"]["payload"] == {"n": 1}
    place.clean()


def test_the_agent_is_named_by_as_then_by_the_environment_then_by_host_and_process(place: Place) -> None:
    named = [
        place.drain("true", "--as", "ann", DIBS_AGENT="bob"),
        place.drain("true", DIBS_AGENT="bob"),
        place.drain("true"),
    ]
    agents = [running.events("started")[0]["agent"] for running in named]
    assert agents[:2] == ["ann", "bob"]
    assert agents[2].startswith("worker-")
    assert agents[2].endswith(f"-{named[2].pid}")


def test_a_worker_that_an_agent_starts_is_its_subagent_and_does_not_take_its_place(place: Place) -> None:
    place.add("one")
    inner = 'dibs worker --exec "echo \\$DIBS_AGENT" --drain >&2 < /dev/null'
    outer = f"import dibs, os; ws = dibs.open(agent='ann'); os.system({inner!r}); ws.claim('a')"
    ran = subprocess.run(
        [sys.executable, "-c", outer],
        cwd=place.folder,
        env={**place.environment, "DIBS_AGENT": "ann"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr  # ann is not fenced
    assert place.task("one")["result"]["output"].startswith("ann/worker-")


# --- what becomes of what it gives


@pytest.mark.parametrize(
    ("command", "result"),
    [
        ("echo '{\"a\": [1, null]}'", {"a": [1, None]}),
        ("echo 42", 42),
        ("echo hello; echo you", {"output": "hello\nyou"}),
        ('echo \'{"a": 1, "a": 2}\'', {"output": '{"a": 1, "a": 2}'}),
        ("echo NaN", {"output": "NaN"}),
        ("echo '{\"tasks\": 3}'", {"tasks": 3}),
    ],
)
def test_the_output_is_the_result(place: Place, command: str, result: Any) -> None:
    place.add("one")
    place.drain(command)
    assert place.task("one")["result"] == result


def test_no_output_is_no_result(place: Place) -> None:
    place.add("one")
    place.drain("echo")
    assert place.state("one") == "complete"
    assert "result" not in place.task("one")


@pytest.mark.parametrize("command", ["head -c 70000 /dev/zero | tr '\\0' x", "printf '\\377\\376'", "printf 'a\\032b'"])
def test_what_is_too_long_or_no_text_is_kept_as_a_file(place: Place, command: str) -> None:
    place.add("one")
    place.drain(command)
    kept = place.task("one")["result"]
    content = (place.folder / ".dibs" / "local" / kept["kept"]).read_bytes()
    assert content == subprocess.run(command, shell=True, capture_output=True, check=True).stdout
    assert kept["size"] == len(content)


def test_an_output_of_tasks_breaks_the_task_down_and_it_comes_again_with_their_results(place: Place) -> None:
    place.add("plan")
    script = (
        'in=$(cat); if [ "$DIBS_TASK" != plan ]; then echo "\\"$DIBS_TASK\\""; '
        'elif echo "$in" | grep -q \'"inputs":{}\'; then '
        'echo \'{"tasks": [{"title": "a", "id": "a"}, {"title": "b", "id": "b", "after": ["a"]}]}\'; '
        'else echo "$in"; fi'
    )
    running = place.drain(script)
    (split,) = running.events("split")
    assert split["children"] == ["a", "b"]
    assert place.task("plan")["result"]["inputs"] == {"a": "a", "b": "b"}
    assert [place.state(name) for name in ("plan", "a", "b")] == ["complete"] * 3
    place.clean()


def test_children_that_the_command_adds_itself_are_waited_for(place: Place) -> None:
    place.add("plan")
    script = (
        'if [ "$DIBS_TASK" = plan ] && [ ! -e added ]; then touch added; '
        "dibs task add child --id child --parent plan >&2; fi; echo $DIBS_TASK"
    )
    running = place.drain(script)
    assert [event["task"] for event in running.events("returned")] == ["plan"]
    assert [place.state(name) for name in ("plan", "child")] == ["complete"] * 2
    assert "error" not in place.task("plan")


def test_parts_that_make_no_sense_fail_the_task_for_good(place: Place) -> None:
    place.add("plan")
    place.drain('echo \'{"tasks": [{"title": "a", "after": ["nothing"]}]}\'')
    task = place.task("plan")
    assert task["state"] == "failed"
    assert "nothing" in task["error"]["why"]


def test_a_result_without_what_the_task_requires_fails_for_good(place: Place) -> None:
    place.add("one", "--require", "score")
    running = place.drain("echo '{\"other\": 1}'")
    assert running.events("failed")[0]["class"] == "permanent"
    assert "score" in place.task("one")["error"]["why"]


def test_exit_code_65_is_a_failure_for_good_with_the_last_line_as_its_reason(place: Place) -> None:
    place.add("one")
    running = place.drain("echo first >&2; printf '\\033[31mno such page\\033[0m\\n\\n' >&2; exit 65")
    task = place.task("one")
    assert (task["state"], task["error"]["class"]) == ("failed", "permanent")
    assert task["error"]["why"] == "exit code 65: no such page"
    assert "first\n" in running.errors


def test_other_exit_codes_and_death_by_a_signal_are_tried_again(place: Place) -> None:
    place.configure(QUICK)
    place.add("one")
    running = place.drain('case $DIBS_ATTEMPT in 1) exit 3;; 2) kill -KILL $$;; *) echo "\\"$DIBS_ATTEMPT\\"";; esac')
    assert [event["why"] for event in running.events("failed")] == ["exit code 3", "killed by SIGKILL"]
    assert place.task("one")["result"] == "3"
    assert completions(place, "one") == 1
    place.clean()


def test_what_always_fails_is_quarantined_and_the_worker_goes_on(place: Place) -> None:
    place.configure(QUICK)
    place.add("bad", "--attempts", "2", "--priority", "9")
    place.add("good")
    place.drain('test "$DIBS_TASK" = good')
    assert (place.state("bad"), place.state("good")) == ("quarantined", "complete")


def test_a_command_that_is_not_there_is_a_failure_not_the_workers_end(place: Place) -> None:
    place.add("one", "--attempts", "1")
    running = place.drain("no-such-command-here")
    assert running.events("failed")[0]["why"].startswith("exit code 127: ")


# --- while it works


def test_a_line_about_progress_is_told_to_the_store_and_not_passed_on(place: Place) -> None:
    place.add("one")
    running = place.worker(
        'echo "dibs: progress 40 half of it" >&2; echo "dibs: progress 400" >&2; read x < go; echo ok'
    )
    os.mkfifo(place.folder / "go")
    task = until(lambda: place.task("one").get("progress") and place.task("one"), "progress")
    assert (task["progress"], task["note"]) == (40, "half of it")
    (place.folder / "go").write_text("\n")
    running.await_event("done", task="one")
    assert place.task("one")["notes"][0]["text"] == "half of it"
    assert running.errors == ["dibs: progress 400\n"]  # no percentage: somebody's own words


@pytest.mark.slow
def test_a_claim_is_kept_for_as_long_as_the_command_takes(place: Place) -> None:
    place.configure(SHORT)
    place.add("one")
    running = place.worker("sleep 7; echo ok")  # more than twice the claim's life: that is what is tested
    running.await_event("done", task="one")
    assert len(events_of(place, "claim.renewed", events_of(place, "task.moved", "one")[0]["data"]["claim"])) >= 3
    assert place.task("one")["result"] == {"output": "ok"}


def test_a_task_that_is_called_off_ends_its_command_with_all_it_started(place: Place) -> None:
    place.add("one", "--priority", "1")
    place.add("two")
    running = place.worker("if [ $DIBS_TASK = two ]; then exit 0; fi; sleep 600 & echo $! > below; echo $$ > pid; wait")
    below = until(lambda: number_in(place.folder / "below"))
    pid = until(lambda: number_in(place.folder / "pid"))
    place.json("task", "cancel", "one", "--as", "boss", exit=0)
    lost = running.await_event("lost", task="one")
    assert "cancelled" in lost["why"]
    assert not alive(pid)
    until(lambda: not alive(below))
    running.await_event("done", task="two")
    assert place.state("one") == "cancelled"
    place.clean()


def test_a_killed_agents_worker_ends_its_command_and_itself(place: Place) -> None:
    place.add("one")
    running = place.worker(HANGS, "--as", "ann")
    pid = until(lambda: number_in(place.folder / "pid"))
    place.json("kill", "ann", "--why", "enough", "--as", "boss", exit=0)
    assert running.end() == 1
    assert not alive(pid)
    assert place.state("one") == "planned"
    assert json.loads(running.out[-1])["error"]["code"] == "killed"


# --- ends


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_command_and_gives_the_task_back(place: Place, number: int, code: int) -> None:
    place.add("one")
    running = place.worker(HANGS)
    pid = until(lambda: number_in(place.folder / "pid"))
    running.signal(number)
    assert running.end() == code
    assert not alive(pid)
    task = place.task("one")
    assert (task["state"], task["attempt"]) == ("planned", 1)
    assert "stopped" in task["note"]
    (agent,) = [one for one in place.json("agents", "--all")["agents"] if one["agent"].startswith("worker-")]
    assert agent["state"] == "left"
    place.clean()


def test_a_signal_that_the_worker_was_started_to_ignore_stays_ignored(place: Place) -> None:
    os.mkfifo(place.folder / "go")
    place.add("one")
    done = subprocess.Popen(["nohup", DIBS, "worker", "--exec", "read x < go", "--limit", "1"], cwd=place.folder,
                            env=place.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    until(lambda: place.state("one") == "executing")
    done.send_signal(signal.SIGHUP)
    (place.folder / "go").write_text("\n")
    assert done.wait(PATIENCE) == 0
    assert place.state("one") == "complete"


def test_a_signal_ends_a_worker_that_waits(place: Place) -> None:
    running = place.worker("true")
    running.await_event("idle")
    running.signal(signal.SIGTERM)
    assert running.end() == 143


def test_when_the_worker_is_killed_its_command_dies_and_another_does_the_task(place: Place) -> None:
    place.configure(QUICK)
    place.add("one")
    running = place.worker("echo $$ > pid; sleep 600 & echo $! > below; wait")
    pid = until(lambda: number_in(place.folder / "pid"))
    below = until(lambda: number_in(place.folder / "below"))
    os.kill(running.pid, signal.SIGKILL)
    other = place.drain('echo "\\"$DIBS_ATTEMPT $DIBS_TASK_KEY\\""')
    until(lambda: not alive(pid) and not alive(below))
    assert place.task("one")["result"] == "2 one"
    assert other.events("done")[0]["task"] == "one"
    place.clean()


def test_a_worker_that_waits_brings_the_task_of_a_dead_one_back_by_itself(place: Place) -> None:
    place.add("one")
    first = place.worker(HANGS)
    until(lambda: number_in(place.folder / "pid"))
    second = place.worker("echo second")
    second.await_event("idle")
    os.kill(first.pid, signal.SIGKILL)
    second.await_event("done", task="one")
    assert place.task("one")["result"] == {"output": "second"}


def test_a_stopped_worker_that_comes_back_late_is_refused_and_its_command_was_ended(place: Place) -> None:
    place.configure(SHORT)
    place.add("one")
    first = place.worker("echo $$ > pid; sleep 600; echo first")
    pid = until(lambda: number_in(place.folder / "pid"))
    first.signal(signal.SIGSTOP)
    second = place.worker("echo second")
    second.await_event("done", task="one")  # at the claim's deadline
    assert not alive(pid), "the keeper ends the command when its claim is over"
    first.signal(signal.SIGCONT)
    first.await_event("lost", task="one")
    assert place.task("one")["result"] == {"output": "second"}
    assert completions(place, "one") == 1
    place.clean()


def test_a_worker_started_anew_under_its_name_counts_what_it_was_at_as_failed(place: Place) -> None:
    place.configure(QUICK)
    place.add("one")
    first = place.worker(HANGS, "--as", "ann")
    until(lambda: number_in(place.folder / "pid"))
    os.kill(first.pid, signal.SIGKILL)
    place.drain('echo "\\"$DIBS_ATTEMPT\\""', "--as", "ann")
    assert place.task("one")["result"] == "2"
    place.clean()


def test_a_second_worker_under_the_same_name_takes_the_firsts_place(place: Place) -> None:
    first = place.worker("true", "--as", "ann")
    first.await_event("idle")
    second = place.worker("true", "--as", "ann")
    second.await_event("idle")
    assert first.end() == 1
    assert json.loads(first.out[-1])["error"]["code"] == "fenced"
    assert second.process.poll() is None


# --- when it ends by itself


def test_a_task_that_is_added_wakes_a_worker_that_waits(place: Place) -> None:
    running = place.worker("echo ok", "--limit", "1")
    running.await_event("idle")
    place.add("one")
    assert running.end() == 0
    assert place.state("one") == "complete"


def test_limit_ends_after_so_many_tasks(place: Place) -> None:
    for name in ("a", "b", "c"):
        place.add(name)
    running = place.worker("true", "--limit", "2")
    assert running.end() == 0
    assert [place.state(name) for name in ("a", "b", "c")] == ["complete", "complete", "planned"]
    assert running.events("ended")[0]["done"] == 2


def test_idle_ends_after_so_long_without_a_task(place: Place) -> None:
    running = place.worker("true", "--idle", "100ms")
    assert running.end() == 0
    assert running.events("ended")[0]["done"] == 0


def test_drain_waits_for_what_others_are_at_and_for_what_comes_after(place: Place) -> None:
    os.mkfifo(place.folder / "go")
    place.add("one")
    place.add("two", "--after", "one")
    first = place.worker("read x < go", "--limit", "1")
    first.await_event("taken", task="one")
    second = place.worker("true", "--drain")
    second.await_event("idle")
    assert second.process.poll() is None
    (place.folder / "go").write_text("\n")
    assert second.end() == 0
    assert second.events("done")[0]["task"] == "two"


def test_drain_leaves_what_waits_for_a_failed_task(place: Place) -> None:
    place.add("one")
    place.add("two", "--after", "one")
    place.drain("exit 65")
    assert place.state("two") == "planned"


def test_only_tasks_for_its_type_and_what_it_can_are_taken(place: Place) -> None:
    place.add("other", "--for", "tester")
    place.add("able", "--needs", "rust")
    place.add("typed", "--for", "writer")
    running = place.drain("true", "--type", "writer", "--can", "rust,go")
    assert {event["task"] for event in running.events("done")} == {"able", "typed"}
    assert place.state("other") == "planned"


def test_only_tasks_of_its_run_are_taken_and_the_run_knows_what_it_used(place: Place) -> None:
    run = place.json("run", "start", "build", "--as", "boss", exit=0)["run"]["id"]
    place.add("own", "--run", run)
    place.add("other")
    running = place.drain('echo "\\"$DIBS_RUN\\""', "--run", run)
    assert [event["task"] for event in running.events("done")] == ["own"]
    assert place.task("own")["result"] == run
    agent = running.events("started")[0]["agent"]
    shown = place.json("run", "show", run, exit=0)
    assert agent in json.dumps(shown)
    assert '"memory"' in json.dumps(shown)


BURNS = """python3 -c 'import time
block = bytearray(120 << 20)
block[::4096] = bytes([1]) * len(block[::4096])
end = time.process_time() + 0.2
while time.process_time() < end: pass'"""


def test_a_command_that_ends_within_a_second_has_true_figures(place: Place) -> None:
    run = place.json("run", "start", "build", "--as", "boss", exit=0)["run"]["id"]
    place.configure(QUICK)
    place.add("burns", "--run", run)
    place.add("fails", "--run", run)
    running = place.drain(f"{BURNS}; test $DIBS_TASK = burns || exit 65", "--run", run)
    for task in ("burns", "fails"):
        used = place.task(task)["used"]
        assert used["cpu"] >= 0.2
        assert used["memory"] >= 120 << 20
        assert used["seconds"] >= used["cpu"]
    report = place.json("run", "report", "--run", run, exit=0)
    assert report["by_task"]["burns"]["used"] == place.task("burns")["used"]
    agent = report["by_agent"][running.events("started")[0]["agent"]]
    assert agent["peak"]["memory"] >= 120 << 20
    assert agent["peak"]["cpu"] > 0
    text = place.run("run", "report", "--run", run, "--format", "md").stdout
    assert "MiB" in next(line for line in text.splitlines() if line.startswith("| burns "))


def test_each_command_has_its_own_figures(place: Place) -> None:
    place.add("burns", "--priority", "1")
    place.add("rests")
    place.drain(f"test $DIBS_TASK = rests || {BURNS}")
    assert place.task("burns")["used"]["cpu"] >= 0.2
    assert place.task("rests")["used"]["cpu"] < 0.2
    assert place.task("rests")["used"]["memory"] < 120 << 20


@pytest.mark.parametrize(
    "words",
    [(), ("--exec", "true", "--plan", "x"), ("--exec", "true", "--limit", "x"), ("--exec", "true", "--idle", "soon"),
     ("--exec", "true", "--limit", "-1"), ("--exec", "true", "extra"), ("--plan", "nowhere.toml")],
)  # fmt: skip
def test_words_that_make_no_sense_start_nothing(place: Place, words: tuple[str, ...]) -> None:
    assert place.json("worker", *words)["error"]["code"] == "invalid"
    assert place.json("agents")["agents"] == []


def test_without_json_it_tells_people_what_it_does(place: Place) -> None:
    place.add("one")
    place.add("bad")
    done = place.run("worker", "--exec", "test $DIBS_TASK = one || exit 65", "--drain", "--as", "ann")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "ann is ready"
    assert "one taken: do one" in lines
    assert "bad failed (permanent): exit code 65" in lines
    assert lines[-1] == "ann: 1 done, 1 failed"


def test_a_command_may_use_dibs_as_the_worker_that_it_is(place: Place) -> None:
    place.add("one")
    place.drain(f"dibs task note {shlex.quote('one')} 'from inside' >&2 && dibs claim a.py --json")
    task = place.task("one")
    assert task["notes"][0]["text"] == "from inside"
    assert task["result"]["resources"] == ["a.py"]
    assert place.json("status")["claims"] == []  # it left, and what it held is free
