"""`dibs run start FILE` as people run it: real workers, real commands, real kills, and what is there afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.waiting import until

pytestmark = pytest.mark.slow

DIBS = str(Path(sys.executable).parent / "dibs")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PATIENCE = 60.0  # seconds for something to become true on a busy machine

ONE_STEP = """
pattern = "pipeline"
workers = 2
items = ["a", "b", "c"]
[[steps]]
name = "sorting"
exec = '''{command}'''
"""


class Place:
    """A scratch workspace with the examples in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "CLAUDE", "CODEX"))},
            "PATH": f"{Path(DIBS).parent}:{os.environ['PATH']}",
        }
        self.started: list[subprocess.Popen[str]] = []
        shutil.copytree(EXAMPLES, folder / "examples")
        self.run("init", "--clients", "none")

    def run(self, *words: str, code: int = 0, **environment: str) -> str:
        """Run dibs to its end."""
        done = warm.dibs(words, self.folder, {**self.environment, **environment}, timeout=PATIENCE)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr, self.logs())
        assert "Traceback" not in done.stderr
        return done.stdout

    def json(self, *words: str, code: int = 0) -> dict[str, Any]:
        """The object that a command prints last."""
        found: dict[str, Any] = json.loads(self.run(*words, "--json", code=code).splitlines()[-1])
        return found

    def begin(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """Start `dibs run start` and do not wait for it."""
        child = subprocess.Popen(
            [DIBS, "run", "start", *words], cwd=self.folder, env={**self.environment, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.started.append(child)
        return child

    def close(self) -> None:
        for child in self.started:
            child.kill()
            child.communicate()

    def plan(self, text: str) -> str:
        (self.folder / "work.toml").write_text(text)
        return "work.toml"

    def the_run(self) -> str:
        """The run that was started; waits until it is there."""
        runs = until(lambda: self.json("run", "list")["runs"])
        return str(runs[0]["id"])

    def tasks(self, run: str) -> list[dict[str, Any]]:
        return list(self.json("task", "list", "--run", run)["tasks"])

    def at_work(self, run: str) -> list[dict[str, Any]]:
        return [task for task in self.tasks(run) if task["state"] == "executing"]

    def pid(self, agent: str) -> int:
        (found,) = [one for one in self.json("agents")["agents"] if one["agent"] == agent]
        return int(found["pid"])

    def events(self, kind: str) -> list[dict[str, Any]]:
        return list(self.json("log", "--kind", kind, "--limit", "0")["events"])

    def result(self, task: str) -> Any:
        return self.json("task", "show", task)["task"].get("result")

    def logs(self) -> str:
        return "".join(path.read_text() for path in sorted((self.folder / ".dibs/local/runs").glob("*.log")))

    def check_afterwards(self, run: str) -> str:
        """The report and the archive are there, the log is clean, nothing is held and every task ended once."""
        self.run("verify")
        assert self.json("status")["claims"] == []
        shown = self.json("run", "show", run)["run"]
        assert shown["state"] == "ended"
        assert (self.folder / ".dibs/local" / shown["archive"]["file"]).is_file()
        ended = [event["subject"] for event in self.events("task.moved") if event["data"]["to"] == "complete"]
        assert len(ended) == len(set(ended))
        return (self.folder / ".dibs/local/runs" / f"{run}.html").read_text()


def processes(word: str) -> list[str]:
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if word in line]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


# --- the examples


@pytest.mark.long
def test_the_pipeline_finishes_although_one_of_its_four_workers_is_killed_halfway(place: Place) -> None:
    driver = place.begin("examples/pipeline.toml", STAGE_SECONDS="0.6")
    run = place.the_run()
    victim = until(lambda: [task for task in place.at_work(run) if "/analysis/" in task["id"]])[0]
    os.kill(place.pid(victim["agent"]), signal.SIGKILL)
    said, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, (said, errors, place.logs())
    assert f"worker {victim['agent']} ended (killed by SIGKILL)" in said
    page = place.check_afterwards(run)
    assert victim["agent"] in page
    assert "killed by SIGKILL" in page
    report = place.json("run", "report", "--run", run, "--format", "json")
    assert report["summary"]["complete"] == report["summary"]["total"] == 19
    assert report["summary"]["agents_used"] == 4
    (lost,) = [event for event in place.events("task.moved") if event["data"].get("class") == "lost"]
    assert (lost["subject"], lost["data"]["to"]) == (victim["id"], "planned")
    assert place.result(f"{run}/validation/1")["checked"] == 6
    assert [phase["phase"] for phase in report["phases"]] == ["discovery", "analysis", "execution", "validation"]


def test_map_reduce_counts_the_words_of_all_texts(place: Place) -> None:
    ended = place.json("run", "start", "examples/map_reduce.toml")
    run = ended["run"]["id"]
    place.check_afterwards(run)
    texts = [path.read_text() for path in (place.folder / "examples/texts").glob("*.txt")]
    result = place.result(f"{run}/sum/1")
    assert result["words"] == sum(len(text.split()) for text in texts)
    assert result["most"][0][0] == "the"


def test_in_scatter_gather_the_first_valid_result_wins_and_the_others_are_called_off(place: Place) -> None:
    run = place.json("run", "start", "examples/scatter_gather.toml")["run"]["id"]
    place.check_afterwards(run)
    states = {task["id"].split("/")[1]: task["state"] for task in place.tasks(run)}
    assert states["from-the-root"] == "complete"
    assert states["upwards"] == "cancelled"
    assert states["guess"] in {"failed", "cancelled"}, "what `accept` refuses does not win, however quick it is"
    assert place.result(f"{run}/from-the-root/1")["factor"] == 1_000_003
    until(lambda: not processes("factor.py upwards"))


def test_a_plan_is_broken_down_and_finished_with_the_results_of_its_parts(place: Place) -> None:
    run = place.json("run", "start", "examples/plan.toml")["run"]["id"]
    place.check_afterwards(run)
    assert place.result(f"{run}/plan/1") == {"built": ["garden", "roof", "walls"]}
    done = [event["subject"] for event in place.events("task.moved") if event["data"]["to"] == "complete"]
    assert done.index(f"walls-{run}-plan-1") < done.index(f"roof-{run}-plan-1")
    assert done[-1] == f"{run}/plan/1"


def test_a_vote_is_decided_by_the_majority_of_its_electors(place: Place) -> None:
    ended = place.json("run", "start", "examples/vote.toml")
    place.check_afterwards(ended["run"]["id"])
    assert (ended["vote"]["state"], ended["vote"]["option"]) == ("decided", "no")
    cast = {event["agent"]: event["data"]["option"] for event in place.events("vote.cast")}
    assert cast.items() >= {("careful", "no"), ("tired", "no")}
    assert len(place.events("vote.decided")) == 1


def test_on_a_terminal_there_is_a_bar_for_each_step(place: Place) -> None:
    mine, theirs = os.openpty()
    child = subprocess.Popen(
        [DIBS, "run", "start", "examples/map_reduce.toml"], cwd=place.folder, stdin=theirs, stdout=theirs,
        stderr=theirs, start_new_session=True, env={**place.environment, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    said = b""
    while True:
        try:
            data = os.read(mine, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not data:
            break
        said += data
    os.close(mine)
    assert child.wait(PATIENCE) == 0, said
    for word in (b"count", b"sum", b"all", b"is complete", b"7/7"):
        assert word in said


# --- what can go wrong


def test_an_interrupted_run_gives_its_tasks_back_and_can_be_resumed(place: Place) -> None:
    file = place.plan(ONE_STEP.format(command="while [ ! -e go ]; do sleep 0.05; done; echo 1"))
    driver = place.begin(file)
    run = place.the_run()
    until(lambda: len(place.at_work(run)) == 2)
    driver.send_signal(signal.SIGINT)
    said, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 130, (said, errors)
    assert f"--resume {run}" in errors
    assert [task["state"] for task in place.tasks(run)] == ["planned"] * 3
    assert all(task["attempt"] == 1 for task in place.tasks(run)), "nobody's fault"
    assert place.json("run", "show", run)["run"]["state"] == "active"
    (place.folder / "go").touch()
    assert place.json("run", "start", file, "--resume", run)["run"]["id"] == run
    place.check_afterwards(run)
    again = place.json("run", "start", file, "--resume", run, code=1)
    assert again["error"]["code"] == "conflict"


def test_a_run_whose_driver_is_killed_takes_its_workers_with_it_and_can_be_resumed(place: Place) -> None:
    file = place.plan(ONE_STEP.format(command="while [ ! -e go ]; do sleep 0.05; done; echo 1"))
    driver = place.begin(file)
    run = place.the_run()
    until(lambda: len(place.at_work(run)) == 2)
    driver.kill()
    driver.communicate(timeout=PATIENCE)
    until(lambda: not processes(f"--run {run}"))
    (place.folder / "go").touch()
    place.json("run", "start", file, "--resume", run)
    place.check_afterwards(run)


def test_when_all_workers_died_another_one_is_started(place: Place) -> None:
    file = place.plan(ONE_STEP.format(command="while [ ! -e go ]; do sleep 0.05; done; echo 1"))
    driver = place.begin(file)
    run = place.the_run()
    for task in until(lambda: len(place.at_work(run)) == 2 and place.at_work(run)):
        os.kill(place.pid(task["agent"]), signal.SIGKILL)
    (place.folder / "go").touch()
    said, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, (said, errors, place.logs())
    assert "another one is started" in said
    place.check_afterwards(run)


def test_a_task_that_kills_every_worker_is_quarantined_and_the_run_is_not_complete(place: Place) -> None:
    killer = 'case "$(cat)" in *\'"item":"b"\'*) kill -9 $PPID;; esac; echo 1'
    file = place.plan(ONE_STEP.format(command=killer) + "attempts = 3\n")
    ended = place.json("run", "start", file, "--keep-going", code=1)
    run = ended["run"]["id"]
    place.check_afterwards(run)
    assert {task["id"].rpartition("/")[2]: task["state"] for task in place.tasks(run)} == {
        "1": "complete", "2": "quarantined", "3": "complete",
    }  # fmt: skip
    assert "was lost" in ended["error"]["message"]


def test_a_run_without_workers_left_stays_and_says_how_to_go_on(place: Place) -> None:
    file = place.plan(ONE_STEP.format(command="kill -9 $PPID") + "attempts = 50\n")
    stopped = place.json("run", "start", file, code=2)
    assert stopped["why"] == "deserted"
    assert "--resume" in stopped["error"]["message"]
    assert place.json("run", "show", stopped["run"]["id"])["run"]["state"] == "active"


FAILS = "pattern = 'pipeline'\nworkers = 1\nitems = ['a', 'b', 'c']\n" + "".join(
    f"[[steps]]\nname = '{name}'\nexec = '''{command}'''\n"
    for name, command in (("first", 'case "$(cat)" in *\'"item":"a"\'*) exit 65;; esac; echo 1'), ("second", "echo 2"))
)


@pytest.mark.parametrize(("words", "complete"), [((), 0), (("--keep-going",), 4)])
def test_a_task_that_fails_for_good_ends_the_rest_unless_it_is_to_keep_going(
    place: Place, words: tuple[str, ...], complete: int
) -> None:
    ended = place.json("run", "start", place.plan(FAILS), *words, code=1)
    run = ended["run"]["id"]
    place.check_afterwards(run)
    states = [task["state"] for task in place.tasks(run)]
    assert states.count("failed") == 1
    if complete:
        assert states.count("complete") == complete
        assert states.count("cancelled") == 1
    else:
        assert states.count("cancelled") >= 1
    assert ended["error"]["message"].startswith(f"run {run} is not complete: {run}/first/1 (exit code 65")


def test_a_run_that_takes_too_long_is_stopped_and_stays(place: Place) -> None:
    file = place.plan(ONE_STEP.format(command="sleep 60"))
    stopped = place.json("run", "start", file, "--within", "1s", code=2)
    assert stopped["why"] == "late"
    assert {task["state"] for task in place.tasks(stopped["run"]["id"])} == {"planned"}


def test_a_detached_run_goes_on_by_itself(place: Place) -> None:
    started = place.json("run", "start", "examples/map_reduce.toml", "--detach")
    run = started["run"]["id"]
    until(lambda: place.json("run", "show", run)["run"].get("archive"))
    until(lambda: not processes(run))
    assert '"ok":true' in Path(started["log"]).read_text().replace(" ", "")
    place.check_afterwards(run)


def test_a_step_without_a_command_waits_for_an_agent_of_its_type(place: Place) -> None:
    text = ONE_STEP.format(command="echo 1").replace('["a", "b", "c"]', '["a"]')
    driver = place.begin(place.plan(text + "[[steps]]\nname = 'review'\ntype = 'reviewer'\n"))
    run = place.the_run()
    place.run("boot", "--as", "claude", "--type", "reviewer")
    taken = place.json("task", "next", "--wait", "30s", "--as", "claude")
    assert taken["task"]["id"] == f"{run}/review/1"
    assert place.json("task", "inputs", taken["task"]["id"])["inputs"] == {f"{run}/sorting/1": 1}
    place.run("task", "done", taken["task"]["id"], "--token", str(taken["token"]), "--as", "claude")
    said, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, (said, errors)
    place.check_afterwards(run)
