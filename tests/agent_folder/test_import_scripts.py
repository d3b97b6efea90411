"""The scripts that `dibs import` installs: they go on as people know them, and dibs decides.

The texts below are those of the scripts that were replaced, letter by letter: somebody's tools read them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from dibs.agent_folder.files import Registry
from tests.interfaces.agent_folder import TOOLS, Agents, ago, seconds_left

# --- claim_task.sh


@pytest.mark.parametrize("words", [(), ("T1",), ("", "ann"), ("T1", "")])
def test_claim_task_says_how_it_is_used(scripts: Agents, words: tuple[str, ...]) -> None:
    path = scripts.folder / "tools" / "claim_task.sh"
    assert scripts.run("claim_task.sh", *words) == (1, f"Usage: {path} <task_id> <agent_id>\n")


def test_claim_task_says_what_it_always_said(scripts: Agents) -> None:
    scripts.scoped("T1")
    start = int(time.time())
    assert scripts.run("claim_task.sh", "T1", "ann") == (0, "SUCCESS: Task T1 claimed by agent ann.\n")
    agent, _, stamp = scripts.claimed("T1").read_text().strip().partition(":")
    assert agent == "ann"
    assert start <= int(stamp) <= time.time()
    assert not (scripts.folder / "registry" / "scoped" / "T1").exists()
    assert scripts.run("claim_task.sh", "T1", "ann") == (
        0, "INFO: Task T1 already claimed by this agent (ann). Refreshing claim.\n",
    )  # fmt: skip
    assert scripts.run("claim_task.sh", "T1", "bob") == (
        1, "ERROR: Task T1 is already claimed by another agent (ann).\n",
    )  # fmt: skip
    assert scripts.run("claim_task.sh", "T2", "bob") == (1, "ERROR: Task T2 not found in scoped registry.\n")
    assert scripts.holders() == {"task:T1": "ann"}
    (claim,) = scripts.shell.json("status", exit=0)["claims"]
    assert claim["token"] > 0
    assert 1700 < seconds_left(claim["expires_at"]) <= 1800


@pytest.mark.parametrize("state", ["planned", "scoped"])
def test_claim_task_takes_a_task_that_has_no_file(scripts: Agents, state: str) -> None:
    scripts.shell.json("task", "add", "native", "--id", "N-1", "--state", state, "--as", "boss", exit=0)
    assert scripts.run("claim_task.sh", "N-1", "ann") == (0, "SUCCESS: Task N-1 claimed by agent ann.\n")
    assert scripts.holders() == {"task:N-1": "ann"}
    assert scripts.claimed("N-1").read_text().startswith("ann:")
    assert scripts.run("release_task.sh", "N-1", "ann")[0] == 0
    assert scripts.holders() == {}


@pytest.mark.parametrize("task", ["../claimed/T1", "..", ".", ".hidden", "/etc/passwd", "a/b", "x" * 300])
def test_a_task_is_a_file_of_the_registry_and_nothing_else(scripts: Agents, task: str) -> None:
    scripts.claimed("T1", f"ann:{ago(5)}")
    scripts.scoped(".hidden")
    assert scripts.run("claim_task.sh", task, "bob") == (1, f"ERROR: Task {task} not found in scoped registry.\n")
    assert scripts.run("release_task.sh", task, "bob") == (1, f"ERROR: Task {task} is not claimed.\n")
    assert scripts.holders() == {}


def test_an_agent_id_that_cannot_be_one_is_an_error_in_words(scripts: Agents) -> None:
    scripts.scoped("T1")
    code, said = scripts.run("claim_task.sh", "T1", "two words")
    assert code == 1
    assert said.startswith("ERROR: an agent's id")
    assert (scripts.folder / "registry" / "scoped" / "T1").exists()


def test_a_file_named_like_the_claim_does_not_turn_it_into_a_path(scripts: Agents) -> None:
    (scripts.shell.folder / "task:T1").write_text("x")
    scripts.scoped("T1")
    scripts.run("claim_task.sh", "T1", "ann")
    (event,) = scripts.shell.json("log", "--kind", "claim.granted", exit=0)["events"]
    assert event["data"]["resources"] == [["name", "task:T1"]]


def test_of_sixteen_agents_at_once_exactly_one_succeeds(scripts: Agents) -> None:
    scripts.scoped("T1", "what is to be done\n")
    running = [scripts.start("claim_task.sh", "T1", f"agent-{number}") for number in range(16)]
    ended = [(process.communicate(timeout=120)[0], process.returncode) for process in running]
    winners = [said for said, code in ended if code == 0]
    assert len(winners) == 1, ended
    (holder,) = scripts.holders().values()
    assert winners == [f"SUCCESS: Task T1 claimed by agent {holder}.\n"]
    losers = {said for said, code in ended if code == 1}
    assert losers == {f"ERROR: Task T1 is already claimed by another agent ({holder}).\n"}
    assert scripts.claimed("T1").read_text().startswith(f"{holder}:")
    assert not (scripts.folder / "registry" / "scoped" / "T1").exists()
    task = scripts.shell.json("task", "show", "T1", exit=0)["task"]
    assert (task["state"], task["agent"]) == ("executing", holder)
    scripts.shell.json("verify", exit=0)


def test_refreshing_what_was_taken_over_gives_it_a_full_life(agents: Agents) -> None:
    agents.claimed("T1", f"ann:{ago(1500)}\n")
    agents.shell.json("import", exit=0)
    assert agents.run("claim_task.sh", "T1", "ann") == (
        0, "INFO: Task T1 already claimed by this agent (ann). Refreshing claim.\n",
    )  # fmt: skip
    (claim,) = agents.shell.json("status", exit=0)["claims"]
    assert seconds_left(claim["expires_at"]) > 1700
    assert int(agents.claimed("T1").read_text().partition(":")[2]) > ago(60)


def test_the_claim_outlives_the_script_but_not_the_client_that_ran_it(scripts: Agents, tmp_path: Path) -> None:
    scripts.scoped("T1")
    scripts.scoped("T2")
    scripts.run("claim_task.sh", "T1", "ann")
    client = tmp_path / "claude"  # a process of that name is an agent's client
    shutil.copy("/bin/bash", client)
    words = f"'{scripts.folder}/tools/claim_task.sh' T2 bob; read -r _"
    with subprocess.Popen(
        [client, "-c", words], cwd=scripts.shell.folder, env=scripts.shell.environment, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stdout.readline() == "SUCCESS: Task T2 claimed by agent bob.\n"
        assert scripts.holders() == {"task:T1": "ann", "task:T2": "bob"}
        running.kill()
    assert scripts.holders() == {"task:T1": "ann"}
    assert scripts.run("claim_task.sh", "T2", "eve") == (0, "SUCCESS: Task T2 claimed by agent eve.\n")


def test_what_a_crash_left_between_the_record_and_the_files_is_put_right_by_the_next_call(scripts: Agents) -> None:
    scoped = scripts.scoped("T1")
    scripts.shell.json("claim", "task:T1", "--as", "ann", exit=0)  # granted, and then the script was killed
    assert scripts.run("claim_task.sh", "T1", "bob") == (
        1, "ERROR: Task T1 is already claimed by another agent (ann).\n",
    )  # fmt: skip
    assert scripts.claimed("T1").read_text().startswith("ann:")
    assert not scoped.exists()
    scripts.shell.json("release", "task:T1", "--as", "ann", exit=0)  # given back, and then the script was killed
    assert scripts.run("claim_task.sh", "T1", "bob") == (0, "SUCCESS: Task T1 claimed by agent bob.\n")
    assert scripts.claimed("T1").read_text().startswith("bob:")
    scripts.scoped("T2")
    scripts.shell.json("claim", "task:T2", "--as", "ann", exit=0)
    scripts.run("check_stale.sh")
    assert scripts.claimed("T2").read_text().startswith("ann:")


def test_files_that_cannot_be_moved_are_said_and_take_no_claim_away(scripts: Agents) -> None:
    scripts.scoped("T1")
    (scripts.folder / "registry" / "claimed").rmdir()
    (scripts.folder / "registry" / "claimed").write_text("in the way")
    process = scripts.start("claim_task.sh", "T1", "ann")
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "SUCCESS: Task T1 claimed by agent ann.\n")
    assert "ann holds T1, but" in said
    assert scripts.holders() == {"task:T1": "ann"}


def test_a_file_that_somebody_moved_away_in_this_moment_is_not_made_anew(tmp_path: Path) -> None:
    registry = Registry(str(tmp_path / ".agent"), str(tmp_path / "memory"))
    assert registry.mirror("T1", "ann", 1_000_000_000_000) is False
    assert registry.state("T1") == ""


def test_a_claim_that_was_made_by_moving_the_file_is_respected(scripts: Agents) -> None:
    os.rename(scripts.scoped("T1"), scripts.claimed("T1"))
    scripts.claimed("T1", f"ann:{ago(5)}\n")
    assert scripts.run("claim_task.sh", "T1", "bob") == (
        1, "ERROR: Task T1 is already claimed by another agent (ann).\n",
    )  # fmt: skip
    assert scripts.holders() == {"task:T1": "ann"}


# --- release_task.sh


def test_release_task_gives_back_what_one_holds_and_nothing_else(scripts: Agents) -> None:
    path = scripts.folder / "tools" / "release_task.sh"
    assert scripts.run("release_task.sh", "T1") == (1, f"Usage: {path} <task_id> <agent_id> [state]\n")
    scoped = scripts.scoped("T1", "what is to be done\n")
    assert scripts.run("release_task.sh", "T1", "ann") == (1, "ERROR: Task T1 is not claimed.\n")
    scripts.run("claim_task.sh", "T1", "ann")
    assert scripts.run("release_task.sh", "T1", "bob") == (1, "ERROR: Task T1 is claimed by another agent (ann).\n")
    assert scripts.run("release_task.sh", "T1", "ann", "nowhere")[0] == 1
    assert scripts.holders() == {"task:T1": "ann"}
    assert scripts.run("release_task.sh", "T1", "ann") == (0, "SUCCESS: Task T1 released by agent ann.\n")
    assert scoped.read_text() == "what is to be done\n"
    assert scripts.holders() == {}


def test_a_released_task_can_be_complete(scripts: Agents) -> None:
    scripts.scoped("T1", "what is to be done\n")
    scripts.run("claim_task.sh", "T1", "ann")
    done = (0, "SUCCESS: Task T1 completed by agent ann.\n")
    assert scripts.run("release_task.sh", "T1", "ann", "COMPLETE") == done
    assert (scripts.folder / "registry" / "complete" / "T1").read_text() == "what is to be done\n"
    assert not scripts.claimed("T1").exists()
    assert scripts.run("claim_task.sh", "T1", "bob") == (1, "ERROR: Task T1 not found in scoped registry.\n")


# --- check_stale.sh


def test_check_stale_releases_what_ended_and_never_what_is_live(scripts: Agents) -> None:
    scripts.scoped("T1", "what is to be done\n")
    scripts.scoped("T2")
    for task, agent in (("T1", "ann"), ("T2", "bob")):
        scripts.run("claim_task.sh", task, agent)
    scripts.claimed("T2", f"bob:{ago(7200)}\n")  # an old file, of a claim that was renewed by other means
    scripts.claimed("T3", "eve\n")
    os.utime(scripts.claimed("T3"), (ago(2000), ago(2000)))
    scripts.shell.json("release", "task:T1", "--as", "ann", exit=0)
    code, said = scripts.run("check_stale.sh")
    first, second = said.splitlines()
    assert code == 0
    age = int(first.removeprefix("STALE: Task T1 claimed by ann is stale (age: ").partition(" ")[0])
    assert 0 <= age < 60
    assert first == f"STALE: Task T1 claimed by ann is stale (age: {age} seconds). Releasing."
    age = int(second.removeprefix("STALE: Task T3 claimed by eve is stale (age: ").partition(" ")[0])
    assert second == f"STALE: Task T3 claimed by eve is stale (age: {age} seconds). Releasing."
    assert 2000 <= age < 2060
    assert (scripts.folder / "registry" / "scoped" / "T1").read_text() == "what is to be done\n"
    assert (scripts.folder / "registry" / "scoped" / "T3").exists()
    assert scripts.claimed("T2").exists()
    assert scripts.holders() == {"task:T2": "bob"}
    assert scripts.run("check_stale.sh") == (0, "")


# --- boot.sh

VERIFYING = "Verifying task state...\n"
READY = "✅ Initiation complete. Agent is ready.\n"


def believes(task: str) -> str:
    return f"{VERIFYING}Agent believes it is working on task: {task}\n"


def test_boot_says_what_it_always_said(scripts: Agents) -> None:
    fresh = f"{VERIFYING}ℹ️ No current task ID set. Agent is starting fresh.\n{READY}"  # noqa: RUF001 - its own sign
    assert scripts.run("boot.sh", AGENT_ID="ann") == (0, fresh)
    scripts.scoped("T1")
    missing = (
        "❌ FATAL: This agent was supposed to be working on T1, but the claim lock is missing. "
        "The task may have been released or become stale. Aborting.\n"
    )
    assert scripts.run("boot.sh", AGENT_ID="ann", CURRENT_TASK_ID="T1") == (1, believes("T1") + missing)
    assert scripts.holders() == {}, "a boot takes nothing, even if it is free"
    scripts.run("claim_task.sh", "T1", "ann")
    held = "✅ Confirmed: This agent (ann) still holds the claim for task T1.\n"
    assert scripts.run("boot.sh", AGENT_ID="ann", CURRENT_TASK_ID="T1") == (0, believes("T1") + held + READY)
    others = "❌ FATAL: Task T1 was claimed by another agent (ann). Aborting.\n"
    assert scripts.run("boot.sh", AGENT_ID="bob", CURRENT_TASK_ID="T1") == (1, believes("T1") + others)
    assert scripts.run("boot.sh", CURRENT_TASK_ID="T1")[0] == 1
    assert scripts.run("boot.sh", CURRENT_TASK_ID="T1", DIBS_AGENT="ann")[0] == 0


def test_the_accident_two_restored_agents_cannot_both_work_on_task_103(scripts: Agents) -> None:
    scripts.scoped("TASK-103")
    assert scripts.run("claim_task.sh", "TASK-103", "one")[0] == 0
    restored = {
        name: scripts.start("boot.sh", AGENT_ID=name, CURRENT_TASK_ID="TASK-103") for name in ("one", "two")
    }  # fmt: skip
    said = {name: (process.communicate(timeout=60)[0], process.returncode) for name, process in restored.items()}
    confirmed = "✅ Confirmed: This agent (one) still holds the claim for task TASK-103.\n"
    assert said["one"] == (believes("TASK-103") + confirmed + READY, 0)
    fatal = "❌ FATAL: Task TASK-103 was claimed by another agent (one). Aborting.\n"
    assert said["two"] == (believes("TASK-103") + fatal, 1)


def test_the_accident_also_with_claims_that_were_there_before_dibs(agents: Agents) -> None:
    agents.claimed("TASK-103", f"one:{ago(60)}\n")
    agents.shell.json("import", exit=0)
    codes = {name: agents.run("boot.sh", AGENT_ID=name, CURRENT_TASK_ID="TASK-103")[0] for name in ("two", "one")}
    assert codes == {"one": 0, "two": 1}


def test_boot_registers_the_agent_and_tells_what_else_it_lost(scripts: Agents) -> None:
    scripts.shell.json("claim", "src/a.py", "--as", "ann", exit=0)
    scripts.shell.json("kill", "ann", "--why", "test", "--as", "bob", exit=0)
    code, said = scripts.run("boot.sh", AGENT_ID="ann")
    assert code == 1
    assert said.splitlines()[-1].startswith("❌ FATAL: ann was killed (test)")
    scripts.shell.json("revive", "ann", "--as", "bob", exit=0)
    process = scripts.start("boot.sh", AGENT_ID="ann")
    out, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.endswith(READY)
    assert "You LOST src/a.py" in told
    known: list[dict[str, Any]] = scripts.shell.json("agents", exit=0)["agents"]
    assert "ann" in [agent["agent"] for agent in known]


def test_a_store_that_cannot_be_used_is_a_no_from_every_script(scripts: Agents) -> None:
    scripts.scoped("T1")
    scripts.claimed("T2", f"ann:{ago(5)}\n")
    database = scripts.shell.folder / ".dibs" / "local" / "dibs.db"
    for name in ("-wal", "-shm"):
        Path(f"{database}{name}").unlink(missing_ok=True)
    database.write_bytes(b"not a database at all" * 1000)
    before = scripts.files()
    for name in TOOLS:
        code, said = scripts.run(name, "T1", "ann", AGENT_ID="ann", CURRENT_TASK_ID="T1")
        assert code == 1, name
        assert "ERROR: " in said or "❌ FATAL: " in said
    assert scripts.files() == before
