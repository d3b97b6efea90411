"""`dibs sweep --watch`: what dead agents held comes back within seconds, for as long as it runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dibs.errors import Busy, Unavailable
from dibs.workers import sweep_loop
from tests.interfaces.worker_processes import PATIENCE, Place, place
from tests.waiting import until

__all__ = ["place"]  # a fixture

HOLDS = """
import sys, dibs
ws = dibs.open(agent=sys.argv[1])
ws.task_next()
ws.claim(sys.argv[1] + ".py")
print("ready", flush=True)
sys.stdin.read()
"""


def holding(place: Place, agent: str) -> subprocess.Popen[str]:
    """A process that has a task and a claim."""
    made = subprocess.Popen(
        [sys.executable, "-c", HOLDS, agent],
        cwd=place.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert made.stdout is not None
    assert made.stdout.readline() == "ready\n"
    return made


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait(PATIENCE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.close()


def test_old_events_go_by_what_the_config_says(place: Place) -> None:
    config = place.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text() + '\n[log]\nkeep = "1s"\n')
    place.json("claim", "a.py", "--as", "ann", exit=0)

    def swept() -> bool:  # by this sweep, or by one in the background that the upkeep of a command has started
        place.json("sweep", "--as", "boss", exit=0)
        return bool(place.json("verify", "--live", exit=0)["first"] > 1)

    until(swept, "a sweep that drops events")
    kinds = [event["kind"] for event in place.json("log", exit=0)["events"]]
    assert kinds[0] == "agent.registered", "the log reads its archives"
    assert {"log.sealed", "log.pruned"} <= {*kinds}
    assert place.json("verify", exit=0)["archives"] >= 1
    assert [claim["agent"] for claim in place.json("status", exit=0)["claims"]] == ["ann"]
    place.clean()


@pytest.mark.parametrize("wrong", ["keep = true", 'keep = "soon"', 'kept = "1d"', 'keep = "500d"'])
def test_a_wrong_word_about_old_events_is_refused(place: Place, wrong: str) -> None:
    config = place.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text() + f"\n[log]\n{wrong}\n")
    assert "log.ke" in place.json("status", exit=64)["error"]["message"]


def test_one_sweep_brings_back_what_a_killed_process_was_at(place: Place) -> None:
    place.add("one")
    kill(holding(place, "ann"))
    assert place.state("one") == "executing"
    assert place.json("sweep", "--as", "boss", exit=0)["swept"]["claims"] == 2
    task = place.task("one")
    assert (task["state"], task["error"]["class"], task["attempt"]) == ("planned", "lost", 2)
    place.clean()


def test_a_watch_brings_it_back_by_itself_and_says_so_once(place: Place) -> None:
    place.add("one")
    process = holding(place, "ann")
    watch = place.start("sweep", "--watch", "--every", "50ms", "--json", "--as", "boss")
    kill(process)
    until(lambda: place.state("one") == "planned", "the task")
    until(lambda: watch.out, "a line about it")
    assert place.json("status", exit=0)["claims"] == []
    watch.signal(signal.SIGTERM)
    assert watch.end() == 143
    assert [json.loads(line) for line in watch.out] == [{"swept": {"claims": 2}}]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_watch_ends_when_it_is_told_to(place: Place, number: int, code: int) -> None:
    place.add("one")
    process = holding(place, "ann")
    watch = place.start("sweep", "--watch", "--as", "boss")
    kill(process)
    until(lambda: watch.out, "its first find")
    watch.signal(number)
    assert watch.end() == code
    assert watch.out == ["swept: 2 claims\n"]
    assert watch.errors == []


def test_a_watch_survives_a_store_that_is_away_for_a_while(place: Place) -> None:
    place.add("one")
    process = holding(place, "ann")
    watch = place.start("sweep", "--watch", "--every", "20ms", "--as", "boss")
    local = place.folder / ".dibs" / "local"
    until(lambda: any(a["agent"] == "boss" for a in place.json("agents")["agents"]), "the watch at work")
    database = local / "dibs.db"
    database.rename(local / "away")
    until(lambda: watch.errors, "a word about it")
    (local / "away").rename(database)
    kill(process)
    until(lambda: watch.out, "its first find")
    assert len(watch.errors) == 1  # said once, not at every try
    assert watch.process.poll() is None


def test_every_without_watch_is_refused(place: Place) -> None:
    assert place.json("sweep", "--every", "1s")["error"]["code"] == "invalid"
    assert place.json("sweep", "--watch", "--every", "often")["error"]["code"] == "invalid"


def test_help_tells_of_the_watch(place: Place) -> None:
    assert "--watch" in place.run("sweep", "--help").stdout
    assert "--watch" in place.run("help", "sweep").stdout
    assert "--watch" in place.run("__complete", "sweep", "--w").stdout


def test_an_ordinary_sweep_answers_as_before(place: Place) -> None:
    found = place.json("sweep", "--request-id", "r1", "--as", "boss", exit=0)
    assert found["more"] is False
    assert place.run("sweep", "--as", "boss").stdout == "swept: nothing was due\n"


def test_a_sweep_goes_on_until_nothing_is_due() -> None:
    answers = [
        {"swept": {"claims": 2, "alerts": 0}, "more": True},
        {"swept": {"claims": 1, "alerts": 0}, "more": False},
    ]
    assert sweep_loop.sweep(lambda: answers.pop(0)) == {"claims": 3}
    assert answers == []


def test_trouble_is_told_when_it_begins_and_again_when_it_comes_back() -> None:
    fine = {"swept": {"claims": 0}, "more": False}
    steps = [Busy(), Unavailable("x"), fine, Busy(), {"swept": {"claims": 1}, "more": False}]
    told: list[object] = []

    def once() -> dict[str, object]:
        step = steps.pop(0)
        if isinstance(step, Exception):
            raise step
        assert isinstance(step, dict)
        return step

    watch = sweep_loop.Watch(once, told.append, told.append)
    while steps:
        watch.step()
    assert told == [Busy().message, Busy().message, {"claims": 1}]


def test_a_folder_that_is_no_workspace_is_told_so(tmp_path: Path, place: Place) -> None:
    done = place.run("sweep", "--watch", cwd=tmp_path)
    assert done.returncode == 64


def test_a_change_of_the_config_counts_at_the_next_sweep(place: Place) -> None:
    config, told = place.folder / ".dibs" / "config.toml", place.folder / "told"
    before = config.read_text()
    watch = place.start("sweep", "--watch", "--every", "50ms", "--as", "boss")
    until((place.folder / ".dibs" / "local" / "look").exists, "the first sweep")
    config.write_text(f"{before}\n[alerts\n")
    until(lambda: watch.errors, "what is wrong with the config")
    config.write_text(f'{before}\n[alerts]\ncommand = "cat > {told}"\n')
    place.json("task", "add", "x", "--id", "x", "--attempts", "1", "--as", "boss", exit=0)
    place.json("task", "next", "--as", "ann", exit=0)
    place.json("task", "fail", "x", "--class", "transient", "--why", "broken", "--as", "ann", exit=0)
    until(lambda: told.exists() and told.read_text(), "the alert")
    watch.signal(signal.SIGTERM)
    assert watch.end() == 143
    assert [line for line in watch.errors if "former configuration" in line] == watch.errors
