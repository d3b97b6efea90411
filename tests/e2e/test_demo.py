"""`dibs demo` as people run it: real processes, a real kill, a real pause, and what is in the files afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.demo import plan, report
from tests.waiting import LIMIT_S, until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

AGENTS, EDITS = 5, 4  # the smallest fleet that has one agent without a part
DONE = plan.Size(AGENTS, EDITS).planned


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "dibs", "demo", *words]


def environment(folder: Path) -> dict[str, str]:
    """A caller inside another workspace, as another agent: none of it may reach the demo."""
    misleading = {"DIBS_AGENT": "somebody", "DIBS_WORKSPACE": str(folder / "nowhere"), "DIBS_STORE": "sqlite:/nowhere"}
    return {**os.environ, **misleading, "TMPDIR": str(folder)}


def content(repo: Path, branch: str, file: str) -> list[str]:
    shown = subprocess.run(["git", "show", f"{branch}:{file}"], cwd=repo, capture_output=True, text=True, check=True)
    return shown.stdout.splitlines()


def journaled(folder: Path) -> list[str]:
    lines = [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]
    return [line["edit"] for line in lines if line["kind"] == "wrote"]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("demo")
    words = command("--agents", str(AGENTS), "--edits", str(EDITS), "--keep", "--json")
    ran = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=120, cwd=folder, env=environment(folder)
    )
    assert ran.stderr == ""
    result: dict[str, Any] = json.loads(ran.stdout)
    assert ran.returncode == 0, result
    yield result
    shutil.rmtree(result["scratch"])


@pytest.mark.long
def test_without_dibs_edits_are_lost_and_with_it_none(played: dict[str, Any]) -> None:
    assert played["ok"] is True
    assert played["failed"] == []
    assert played["without"]["edits"] == played["with"]["edits"] == DONE
    assert played["without"]["lost"] > 0
    assert played["without"]["overwritten_by_paused"] > 0
    assert played["with"]["lost"] == 0


@pytest.mark.parametrize("which", ["without", "with"])
def test_the_committed_files_are_what_the_figures_say(played: dict[str, Any], which: str) -> None:
    scratch = Path(played["scratch"])
    files = [content(scratch / "repo", f"{which}-dibs", file) for file in plan.FILES]
    there = [edit for lines in files for edit in lines[1:]]
    wrote = journaled(scratch / which)
    assert len(wrote) == len(set(wrote)) == played[which]["edits"]
    assert played[which]["lost_edits"] == sorted(set(wrote) - set(there))
    assert played[which]["counters"] == sum(int(lines[0].removeprefix("edits: ")) for lines in files)
    if which == "with":
        assert sorted(there) == sorted(wrote)  # each edit once, and nothing else
        assert all(lines[0] == f"edits: {len(lines) - 1}" for lines in files)


def test_every_refusal_is_explained_and_is_in_the_log(played: dict[str, Any]) -> None:
    guarded = played["with"]
    assert guarded["refusals"] >= 1
    assert guarded["refusals_explained"] == guarded["refusals"] == guarded["refusals_in_log"]
    for sample in guarded["samples"]:
        assert f"holds {sample['file']} (" in sample["message"]
        assert " left)" in sample["message"]


def test_the_paused_agent_s_token_is_refused_and_names_who_holds_the_file(played: dict[str, Any]) -> None:
    stale = played["with"]["stale"][0]
    assert played["with"]["stale_tokens_refused"] >= 1
    assert played["with"]["paused_seconds"] > plan.SHORT_TTL_S
    assert (stale["agent"], stale["holder"]) == ("agent-03", "agent-04")
    assert stale["message"].startswith(
        f"token {stale['token']} for {stale['file']} is no longer live: agent-04 holds it"
    )


def test_the_killed_agent_s_file_goes_on_long_before_its_deadline(played: dict[str, Any]) -> None:
    dead = played["with"]["dead_holder"]
    assert dead["agent"] == "agent-02"
    assert dead["next"] != "agent-02"
    assert dead["milliseconds"] < 10_000  # a busy machine; the deadline is half an hour away


def test_no_alert_is_raised_but_for_the_agent_that_was_killed_and_the_one_that_was_paused(
    played: dict[str, Any],
) -> None:
    with dibs.open(f"{played['scratch']}/repo", agent="auditor") as workspace:
        events = workspace.log(kind="alert.raised", limit=0)["events"]
    assert [(event["data"]["what"], event["agent"]) for event in events] in (
        [("dead", "agent-02"), ("expired", "agent-03")], [("expired", "agent-03"), ("dead", "agent-02")],
    )  # fmt: skip


def test_verify_is_clean(played: dict[str, Any]) -> None:
    verified = played["with"]["verify"]
    assert verified["ok"] is True
    assert verified["live"] == 0
    assert verified["granted"] > DONE  # the edit that was fenced and the claim of the dead one were granted as well


@pytest.fixture
def paused(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A demo at its worst moment: one of its agents is stopped."""
    child = subprocess.Popen(
        command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment(tmp_path)
    )
    with child:
        assert child.stdout is not None
        line = "begins"
        while line and "is paused" not in line:
            line = child.stdout.readline()
        scratch = next(tmp_path.glob("dibs-demo-*"))
        assert len(fleet(scratch)) > 1
        yield child, scratch
        child.kill()


def test_ctrl_c_leaves_no_process_and_no_folder(paused: tuple[subprocess.Popen[str], Path]) -> None:
    child, scratch = paused
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=LIMIT_S)
    assert child.returncode == 130
    assert said == "dibs: interrupted\n"
    assert not scratch.exists()
    assert fleet(scratch) == []


def test_a_demo_that_is_killed_takes_its_fleet_with_it(paused: tuple[subprocess.Popen[str], Path]) -> None:
    child, scratch = paused
    child.kill()
    child.communicate(timeout=LIMIT_S)
    until(lambda: not fleet(scratch), "the end of the fleet")


def fleet(scratch: Path) -> list[str]:
    """The processes whose command line names the scratch folder."""
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(scratch) in line]


def test_a_size_that_cannot_show_everything_is_refused(tmp_path: Path) -> None:
    ran = subprocess.run(
        command("--agents", "3", "--json"), capture_output=True, text=True, check=False, timeout=LIMIT_S, cwd=tmp_path
    )
    assert ran.returncode == 64
    assert json.loads(ran.stdout)["error"]["code"] == "invalid"


def test_where_dibs_is_is_said_only_if_the_path_does_not_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = os.path.dirname(sys.executable)
    monkeypatch.setenv("PATH", folder)
    assert report._where() == []
    monkeypatch.setenv("PATH", "/nowhere")
    assert report._where() == [f"`dibs` is not on your PATH: it is {folder}/dibs"]
