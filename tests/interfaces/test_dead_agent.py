"""A person finds a dead agent: what it left, and how its work goes on, from the command line in three steps at most."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.interfaces.repository import DIBS, PATIENCE, Agent, Repository
from tests.scratch import repo as _repo

repo = _repo
SENTENCE = "ada-1 exited just now without signing off. Task docker is back in the queue."
WORK = "2 files with uncommitted work."


def at_work(repo: Repository) -> Agent:
    """An agent with a task and uncommitted work in two files."""
    ada = repo.agent("ada-1")
    ada.boot()
    repo.terminal("task", "add", "Build the image", "--id", "docker")
    assert ada.dibs("task", "claim", "docker")["ok"]
    ada.edit("a.py", "a.py at first\nmore\n")
    ada.edit("new.py", "new\n")
    return ada


def typed(repo: Repository, *words: str, answer: str | None = None) -> str:
    """What a person sees who types this; with an answer, at a terminal that asks for it."""
    ours, theirs = pty.openpty() if answer is not None else (-1, -1)
    try:
        if answer is not None:
            os.write(ours, f"{answer}\n".encode())
        done = subprocess.run(
            [DIBS, *words], cwd=repo.folder, env={**repo.env, "NO_COLOR": "1", "COLUMNS": "300"}, check=False,
            stdin=theirs if answer else subprocess.DEVNULL, stdout=theirs if answer else subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=PATIENCE,
        )  # fmt: skip
        text = (done.stdout or b"" if answer is None else os.read(ours, 1 << 16)) + done.stderr
    finally:
        for end in {ours, theirs} - {-1}:
            os.close(end)
    assert b"Traceback" not in text, text
    return text.decode()


def test_a_dead_agent_is_told_with_its_task_and_files_and_what_can_be_done(repo: Repository) -> None:
    at_work(repo).client.kill()
    status = typed(repo, "status"), typed(repo, "alerts"), typed(repo, "status")
    for text in status[1:]:
        assert SENTENCE in text
        assert WORK in text
        assert "dibs diff ada-1" in text
        assert "kill" not in text
    (alert,) = repo.terminal("alerts")["alerts"]
    assert f"or: `dibs handover ada-1 --to NEXT`, `dibs undo ada-1`, `dibs alerts ack {alert['id']}`" in status[1]
    assert [(one["act"], one["label"], one["command"]) for one in alert["actions"]] == [
        ("diff", "Show diff", "dibs diff ada-1"),
        ("handover", "Hand to …", "dibs handover ada-1 --to NEXT"),
        ("undo", "Undo …", "dibs undo ada-1"),
        ("dismiss", "Dismiss", f"dibs alerts ack {alert['id']}"),
    ]
    assert [one["path"] for one in alert["unfinished"]["files"]] == ["a.py", "new.py"]
    shown = typed(repo, "diff", "ada-1")
    assert "+more" in shown
    assert "+++ b/new.py" in shown
    assert "was dead already" in typed(repo, "kill", "ada-1", "--why", "not needed")


def test_a_dead_agent_that_held_nothing_and_left_files_is_one_line_of_the_status(repo: Repository) -> None:
    ada, bob = repo.agent("ada-1"), repo.agent("bob-1")
    for agent in (ada, bob):
        agent.boot()
    ada.edit("a.py", "a.py at first\nmore\n")
    ada.dibs("release", "a.py")
    assert "left uncommitted work" not in typed(repo, "status")
    for agent in (ada, bob):
        agent.client.kill()
    line = "ada-1 has exited and left uncommitted work in 1 file: `dibs diff ada-1`, `dibs handover ada-1 --to NEXT`"
    assert line in typed(repo, "status")
    assert repo.terminal("status")["alert_groups"] == []
    assert "bob-1 has exited" not in typed(repo, "status")
    typed(repo, "undo", "ada-1", "--yes")
    assert "left uncommitted work" not in typed(repo, "status")


def test_a_dead_agents_work_is_undone_in_two_steps(repo: Repository) -> None:
    at_work(repo).client.kill()
    assert "dibs undo ada-1" in typed(repo, "diff", "ada-1")
    typed(repo, "undo", "ada-1", "--yes")
    assert (repo.folder / "a.py").read_text() == "a.py at first\n"
    assert not (repo.folder / "new.py").exists()
    assert repo.terminal("diff", "ada-1")["files"] == []


def test_a_dead_agents_work_goes_to_the_next_one_that_starts_and_the_dead_one_is_fenced_when_it_wakes(
    repo: Repository,
) -> None:
    ada = at_work(repo)
    ada.client.kill()
    typed(repo, "diff", "ada-1")
    assert "kept for the next agent" in typed(repo, "handover", "ada-1", "--to", "NEXT", "--note", "tests are red")
    bob = repo.agent("bob-1")
    briefing = bob.boot()
    for words in ("Your task is docker", "You hold a.py, new.py", "tests are red", "diff ada-1` shows it"):
        assert words in briefing
    assert "left uncommitted work" not in briefing
    assert repo.terminal("alerts")["alerts"] == []
    assert "handed the work of ada-1 over to bob-1 (task docker, 2 claims and uncommitted work in 2 files)" in typed(
        repo, "explain", "ada-1"
    )
    bob.read("a.py")
    bob.edit("a.py", "a.py at first\nmore\nand more\n")
    assert bob.bash("git add a.py new.py && git commit -qm done")[0].code == 0
    bob.edit("b.py", "b\n")
    back = repo.agent("ada-1")
    assert "docker" in back.boot("resume")
    assert "bob-1" in back.may_edit("b.py").refusal
    assert "bob-1" in back.dibs("task", "done", "docker", "--token", "3")["error"]["message"]


def test_of_agents_that_start_at_the_same_time_one_gets_it(repo: Repository) -> None:
    at_work(repo).client.kill()
    assert repo.terminal("handover", "ada-1", "--to", "NEXT")["to"] is None
    starting = [repo.agent(f"new-{number}") for number in range(4)]
    with ThreadPoolExecutor(len(starting)) as pool:
        briefings = list(pool.map(Agent.boot, starting))
    assert len([one for one in briefings if "Your task is docker" in one]) == 1
    assert len(repo.events("handover.made")) == 1
    assert len(repo.claims()) == 1


def test_the_work_of_an_agent_that_is_at_work_passes_after_a_question(repo: Repository) -> None:
    ada, bob = at_work(repo), repo.agent("bob-1")
    bob.boot()
    assert "nothing was handed over yet" in typed(repo, "handover", "ada-1", "--to", "bob-1")
    refused = typed(repo, "handover", "ada-1", "--to", "bob-1", answer="n")
    assert "ada-1 is at work and loses:" in refused
    assert "uncommitted work in a.py, new.py" in refused
    assert "ada-1" in repo.claims()
    assert "is bob-1's now" in typed(repo, "handover", "ada-1", "--to", "bob-1", answer="y")
    assert repo.claims()["bob-1"] == ["a.py", "new.py", "task:docker"]
    assert "bob-1" in ada.may_edit("a.py").refusal
    told = bob.hook("UserPromptSubmit", prompt="go on").told
    assert "handed the work of ada-1 over to you" in told
    bob.read("a.py")
    assert bob.bash("git add a.py new.py && git commit -qm done")[0].code == 0, "its own work from now on"


def test_an_agent_may_hand_over_its_own_work_and_no_other(repo: Repository) -> None:
    ada, bob = at_work(repo), repo.agent("bob-1")
    bob.boot()
    assert bob.dibs("handover", "ada-1", "--to", "bob-1", "--yes")["error"]["code"] == "forbidden"
    assert ada.dibs("handover", "ada-1", "--to", "bob-1")["to"] == "bob-1"


def test_a_person_elsewhere_sees_and_hands_over_a_dead_agents_work_and_a_viewer_does_not(repo: Repository) -> None:
    at_work(repo).client.kill()
    bob = repo.agent("bob-1")
    bob.boot()
    url = typed(repo, "serve", "--detach", "--port", "0").split()[2]
    try:
        kim, vic = (
            repo.terminal("token", "new", *words)["token"]
            for words in (("--person", "kim"), ("--agent", "vic", "--role", "viewer"))
        )
        assert posted(url, vic, "diff", agent="ada-1")["error"]["code"] == "forbidden"
        assert posted(url, vic, "handover", agent="ada-1", to="bob-1")["error"]["code"] == "forbidden"
        assert [one["path"] for one in posted(url, kim, "diff", agent="ada-1")["files"]] == ["a.py", "new.py"]
        (alert,) = posted(url, kim, "alerts")["alerts"]
        assert alert["unfinished"]["count"] == 2
        assert WORK in alert["text"]
        answer = posted(url, kim, "handover", agent="ada-1", to="bob-1")
        assert ([one["path"] for one in answer["files"]], answer["tasks"]) == (["a.py", "new.py"], ["docker"])
        assert posted(url, kim, "alerts")["alerts"] == []
    finally:
        typed(repo, "serve", "--stop")
    bob.read("a.py")
    assert bob.bash("git add a.py new.py && git commit -qm done")[0].code == 0, "its own work from now on"


def posted(url: str, token: str, operation: str, **fields: object) -> Any:
    """What a server answers."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    request = Request(f"{url}/v1/{operation}", json.dumps(fields).encode(), headers)  # noqa: S310 - a server of this test
    try:
        with urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - the same
            return json.load(answer)
    except HTTPError as refused:
        with refused:
            return json.load(refused)
