"""`.agent` folders and the task queue are one: files become tasks, scripts act on them, the files follow the record."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.agent_folder import Agents, ago
from tests.interfaces.repository import DIBS, Repository


def put(agents: Agents, state: str, task: str, text: str = "") -> Path:
    """A file of the registry."""
    path = agents.folder / "registry" / state / task
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def states(agents: Agents) -> dict[str, str]:
    """The state of each task in the queue."""
    return {task["id"]: task["state"] for task in agents.shell.json("task", "list", exit=0)["tasks"]}


def task(agents: Agents, name: str) -> dict[str, Any]:
    """One task of the queue."""
    found: dict[str, Any] = agents.shell.json("task", "show", name, exit=0)["task"]
    return found


def places(agents: Agents) -> dict[str, str]:
    """The folder of each file in the registry."""
    return {path.name: path.parent.name for path in (agents.folder / "registry").glob("*/*")}


def kill_when_there(process: subprocess.Popen[Any], path: Path) -> None:
    """SIGKILL as soon as this is there, or let it end by itself."""
    while process.poll() is None and not path.exists():
        time.sleep(0.001)
    process.kill()
    process.communicate()


# --- import


def test_a_claim_that_is_taken_over_is_as_old_as_its_file_says(agents: Agents) -> None:
    agents.claimed("T-1", f"ann:{ago(600)}\n")
    agents.shell.json("import", exit=0)
    told = agents.shell.run("boot", "--as", "bob", CURRENT_TASK_ID="T-1").stdout
    assert "ann took T-1 10 min ago: do not work on it." in told


def test_a_stale_claim_of_the_old_form_names_no_task_and_is_no_attempt(agents: Agents) -> None:
    """Its file has only the agent in it, and no time."""
    path = agents.claimed("T-1", "agent-old\n")
    os.utime(path, (time.time() - 7200, time.time() - 7200))
    agents.shell.json("import", exit=0)
    found = task(agents, "T-1")
    assert (found["title"], found["state"]) == ("T-1", "scoped")
    assert "payload" not in found
    assert "attempt" not in agents.shell.run("task", "show", "T-1").stdout
    assert agents.run("claim_task.sh", "T-1", "bob")[0] == 0
    assert agents.run("release_task.sh", "T-1", "bob")[0] == 0
    assert task(agents, "T-1")["title"] == "T-1"


def test_every_file_becomes_a_task_in_its_state_with_its_text(agents: Agents) -> None:
    for state in ("discovery", "scoped", "planned", "complete"):
        put(agents, state, f"T-{state}", f"# Do the {state} thing\n\nat once\n")
    agents.claimed("T-claimed", f"ann:{ago(60)}\n")
    put(agents, "executing", "T-mine", f"bob:{ago(60)}\n")
    put(agents, "executing", "T-orphan", "somebody began this\n")
    put(agents, "archive", "T-old", "left alone\n")
    report = agents.shell.json("import", exit=0)
    assert {one["task"]: one["state"] for one in report["tasks"]} == {
        "T-discovery": "discovery", "T-scoped": "scoped", "T-planned": "planned", "T-complete": "complete",
        "T-orphan": "planned",
    }  # fmt: skip
    assert states(agents) == {
        "T-discovery": "discovery", "T-scoped": "scoped", "T-planned": "planned", "T-complete": "complete",
        "T-claimed": "executing", "T-mine": "executing", "T-orphan": "planned",
    }  # fmt: skip
    found = task(agents, "T-scoped")
    assert (found["title"], found["payload"]) == ("Do the scoped thing", {"text": "# Do the scoped thing\n\nat once\n"})
    assert (task(agents, "T-claimed")["agent"], task(agents, "T-mine")["agent"]) == ("ann", "bob")
    assert places(agents) == {
        "T-discovery": "discovery", "T-scoped": "scoped", "T-planned": "planned", "T-complete": "complete",
        "T-claimed": "claimed", "T-mine": "claimed", "T-orphan": "planned", "T-old": "archive",
    }  # fmt: skip
    head = agents.shell.json("verify", exit=0)["last"]
    again = agents.shell.json("import", exit=0)
    assert (again["changes"], again["tasks"]) == ([], [])
    assert agents.shell.json("verify", exit=0)["last"] == head


def test_a_dry_run_names_the_tasks_and_adds_none(agents: Agents) -> None:
    put(agents, "planned", "T1")
    report = agents.shell.json("import", "--dry-run", exit=0)
    assert [(one["task"], one["state"]) for one in report["tasks"]] == [("T1", "planned")]
    assert states(agents) == {}


def test_a_task_whose_files_lie_in_two_states_is_reported_and_left(agents: Agents) -> None:
    put(agents, "planned", "T1", "a")
    put(agents, "complete", "T1", "b")
    put(agents, "planned", "T2")
    before = {name: content for name, content in agents.files().items() if name.startswith("registry")}
    report = agents.shell.json("import", exit=1)
    assert [(one["task"], one["code"]) for one in report["conflicts"]] == [("T1", "conflict")]
    assert "complete and planned" in report["conflicts"][0]["message"]
    assert states(agents) == {"T2": "planned"}
    assert {name: content for name, content in agents.files().items() if name.startswith("registry")} == before


def test_a_name_that_no_id_can_be_is_spelt_out_and_the_scripts_know_it(agents: Agents) -> None:
    put(agents, "scoped", "fix the login+.md", "text")
    agents.shell.json("import", exit=0)
    assert states(agents) == {"fix+20.the+20.login+2b..md": "scoped"}
    claimed = (0, "SUCCESS: Task fix the login+.md claimed by agent ann.\n")
    assert agents.run("claim_task.sh", "fix the login+.md", "ann") == claimed
    assert agents.run("boot.sh", CURRENT_TASK_ID="fix the login+.md", AGENT_ID="ann")[0] == 0


def test_whatever_lies_in_a_file_or_its_name_comes_in(agents: Agents) -> None:
    put(agents, "scoped", "long", "\u6f22" * 20_000)
    put(agents, "scoped", "---", "")
    (agents.folder / "registry" / "scoped" / "binary").write_bytes(bytes(range(256)) * 300)
    (agents.folder / "registry" / "scoped" / os.fsdecode(b"\xff\xfe")).write_text("\x1a")
    agents.shell.json("import", exit=0)
    assert sorted(states(agents)) == ["+2d.--", "+dcff.+dcfe.", "binary", "long"]
    assert set(task(agents, "long")["title"]) == {"\u6f22"}
    assert agents.shell.json("import", exit=0)["changes"] == []
    assert agents.run("check_stale.sh") == (0, "")


def test_a_task_of_the_queue_and_a_file_of_the_same_name_are_one(agents: Agents) -> None:
    agents.shell.json("task", "add", "from the queue", "--id", "TASK-300", exit=0)
    agents.scoped("TASK-300", "from the file\n")
    agents.shell.json("import", exit=0)
    assert task(agents, "TASK-300")["title"] == "from the queue"
    assert places(agents) == {"TASK-300": "planned"}, "the file follows the record"
    assert agents.run("claim_task.sh", "TASK-300", "ann") == (0, "SUCCESS: Task TASK-300 claimed by agent ann.\n")
    done = (0, "SUCCESS: Task TASK-300 completed by agent ann.\n")
    assert agents.run("release_task.sh", "TASK-300", "ann", "complete") == done
    assert states(agents) == {"TASK-300": "complete"}
    assert (agents.folder / "registry" / "complete" / "TASK-300").read_text() == "from the file\n"


def test_an_import_that_is_killed_leaves_whole_tasks_and_the_next_one_does_the_rest(agents: Agents) -> None:
    for number in range(40):
        put(agents, "scoped", f"T{number}", "x" * 500)
    local, tools = agents.shell.folder / ".dibs" / "local", agents.folder / "tools"
    for moment in (local / "registry.gate", local / "registry", tools / "claim_task.sh.before-dibs"):
        process = subprocess.Popen(
            [DIBS, "import"], cwd=agents.shell.folder, env=agents.shell.environment, stdout=subprocess.DEVNULL
        )
        kill_when_there(process, moment)
        assert set(states(agents).values()) <= {"scoped"}
        agents.shell.json("verify", exit=0)
    agents.shell.json("import", exit=0)
    assert len(states(agents)) == 40
    assert agents.shell.json("import", exit=0)["changes"] == []


# --- the scripts


def test_the_scripts_take_return_and_complete_the_task_itself(agents: Agents) -> None:
    agents.scoped("T1", "what is to be done\n")
    agents.shell.json("import", exit=0)
    assert agents.run("claim_task.sh", "T1", "ann") == (0, "SUCCESS: Task T1 claimed by agent ann.\n")
    assert (task(agents, "T1")["state"], task(agents, "T1")["agent"]) == ("executing", "ann")
    refused = agents.shell.json("task", "claim", "T1", "--as", "bob", exit=1)
    assert refused["error"]["blockers"][0]["agent"] == "ann"
    assert agents.run("release_task.sh", "T1", "ann") == (0, "SUCCESS: Task T1 released by agent ann.\n")
    assert states(agents) == {"T1": "scoped"}
    agents.run("claim_task.sh", "T1", "bob")
    agents.run("release_task.sh", "T1", "bob", "complete")
    assert (task(agents, "T1")["state"], task(agents, "T1")["agent"]) == ("complete", "bob")
    assert agents.run("release_task.sh", "T1", "bob") == (1, "ERROR: Task T1 is not claimed.\n")
    agents.shell.json("verify", exit=0)


def test_one_agent_has_one_task(scripts: Agents) -> None:
    for name in ("T1", "T2"):
        scripts.scoped(name)
    assert scripts.run("claim_task.sh", "T1", "ann")[0] == 0
    assert scripts.run("claim_task.sh", "T2", "ann") == (
        1, "ERROR: Agent ann already works on task T1. Release it before you claim task T2.\n",
    )  # fmt: skip
    assert places(scripts) == {"T1": "claimed", "T2": "scoped"}
    assert states(scripts)["T2"] == "scoped", "a refusal moves nothing"
    config = scripts.shell.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text() + "\n[tasks]\nmax_tasks = 2\n")
    assert scripts.run("claim_task.sh", "T2", "ann")[0] == 0


def test_the_files_follow_what_others_do_in_the_queue(scripts: Agents) -> None:
    scripts.scoped("T1", "one\n")
    put(scripts, "planned", "T2", "two\n")
    put(scripts, "discovery", "T3", "three\n")
    scripts.shell.json("import", exit=0)
    token = scripts.shell.json("task", "next", "--as", "worker", exit=0)["token"]
    scripts.shell.json("task", "move", "T3", "scoped", exit=0)
    assert scripts.run("check_stale.sh") == (0, "")
    assert places(scripts) == {"T1": "scoped", "T2": "claimed", "T3": "scoped"}
    assert scripts.claimed("T2").read_text().startswith("worker:")
    assert scripts.run("claim_task.sh", "T2", "ann") == (
        1, "ERROR: Task T2 is already claimed by another agent (worker).\n",
    )  # fmt: skip
    scripts.shell.json("task", "done", "T2", "--token", str(token), "--as", "worker", exit=0)
    assert scripts.run("check_stale.sh") == (0, ""), "finished is not stale"
    assert (scripts.folder / "registry" / "complete" / "T2").read_text() == "two\n"


def test_a_planned_task_that_is_lost_stays_in_the_queue_and_a_scoped_one_is_scoped_again(scripts: Agents) -> None:
    scripts.scoped("T1")
    put(scripts, "planned", "T2")
    scripts.shell.json("import", exit=0)
    scripts.run("claim_task.sh", "T1", "ann")
    scripts.run("claim_task.sh", "T2", "bob")
    for agent in ("ann", "bob"):
        scripts.shell.json("kill", agent, "--why", "test", exit=0)
    said = scripts.run("check_stale.sh")[1]
    assert [line.split()[2] for line in said.splitlines()] == ["T1", "T2"]
    assert states(scripts) == {"T1": "scoped", "T2": "planned"}
    assert places(scripts) == {"T1": "scoped", "T2": "planned"}


def test_a_file_that_somebody_moves_by_hand_moves_the_task(scripts: Agents) -> None:
    put(scripts, "discovery", "T1", "text\n")
    scripts.shell.json("import", exit=0)
    registry = scripts.folder / "registry"
    (registry / "discovery" / "T1").rename(registry / "scoped" / "T1")
    scripts.run("check_stale.sh")
    assert states(scripts) == {"T1": "scoped"}
    scripts.shell.json("task", "move", "T1", "planned", exit=0)
    (registry / "scoped" / "T1").rename(registry / "discovery" / "T1")
    scripts.run("check_stale.sh")
    assert states(scripts) == {"T1": "planned"}, "both moved: the record counts"
    assert places(scripts) == {"T1": "planned"}
    scripts.run("claim_task.sh", "T1", "ann")
    (registry / "complete").mkdir()
    (registry / "claimed" / "T1").rename(registry / "complete" / "T1")
    scripts.run("check_stale.sh")
    assert (states(scripts), places(scripts)) == ({"T1": "complete"}, {"T1": "complete"})


def test_a_finished_task_is_not_begun_again_by_its_file(scripts: Agents) -> None:
    scripts.scoped("T1")
    scripts.run("claim_task.sh", "T1", "ann")
    scripts.run("release_task.sh", "T1", "ann", "complete")
    registry = scripts.folder / "registry"
    (registry / "complete" / "T1").rename(registry / "scoped" / "T1")
    assert scripts.run("claim_task.sh", "T1", "bob") == (1, "ERROR: Task T1 is complete already.\n")
    assert places(scripts) == {"T1": "complete"}


def test_a_claim_script_that_is_killed_leaves_a_task_that_is_somebodys_or_nobodys(agents: Agents) -> None:
    for number in range(3):
        agents.scoped(f"T{number}", "text\n")
    agents.shell.json("import", exit=0)
    memory = agents.shell.folder / ".dibs" / "local" / "registry"
    moments = (memory, memory / "marks" / "T1", memory / "texts" / "T2")  # before; granted; its file about to be moved
    for number, moment in enumerate(moments):
        kill_when_there(agents.start("claim_task.sh", f"T{number}", f"a{number}"), moment)
    agents.run("check_stale.sh")
    found = agents.shell.json("task", "list", exit=0)["tasks"]
    assert len(found) == 3
    for one in found:
        folder = {"executing": "claimed", "scoped": "scoped"}[one["state"]]
        assert places(agents)[one["id"]] == folder
    agents.shell.json("verify", exit=0)


# --- in a client's shell


def test_the_id_that_a_script_names_is_another_id_of_the_session_whose_shell_it_is(repo: Repository) -> None:
    registry = repo.folder / ".agent" / "registry"
    for state in ("scoped", "claimed"):
        (registry / state).mkdir(parents=True)
    (registry / "scoped" / "TASK-500").write_text("the work\n")
    one, two = repo.agent("sess-77"), repo.agent("sess-78")
    one.boot()
    two.boot()
    assert repo.terminal("import")["ok"]
    words = (".agent/tools/claim_task.sh", "TASK-500", "agent-77")

    def claims(agent: Any) -> str:
        done = agent.client.run(*words, cwd=repo.folder, CLAUDE_CODE_SESSION_ID=agent.session, PATH=repo.path)
        return str(done.out)

    assert claims(one) == "SUCCESS: Task TASK-500 claimed by agent agent-77.\n"
    assert (registry / "claimed" / "TASK-500").read_text().startswith("agent-77:")
    assert "Your task is TASK-500" in one.boot("compact")
    assert claims(one) == "INFO: Task TASK-500 already claimed by this agent (agent-77). Refreshing claim.\n"
    assert claims(two).startswith("ERROR: agent-77 is another session (sess-77)")
    answer = two.client.run(*words[:2], "agent-78", cwd=repo.folder, CLAUDE_CODE_SESSION_ID=two.session, PATH=repo.path)
    assert answer.out == "ERROR: Task TASK-500 is already claimed by another agent (agent-77).\n"


# --- boot.sh

SEED = """#!/bin/bash
BRANCH=main
echo "root: $(basename "$PWD") branch $BRANCH"
[ -z "$STOP" ] || exit 7

# --- NEW: TASK STATE VERIFICATION ---
echo "Verifying task state..."
if [ -n "$CURRENT_TASK_ID" ]; then
    if [ -f ".agent/registry/claimed/$CURRENT_TASK_ID" ]; then
        if [ "$(cat ".agent/registry/claimed/$CURRENT_TASK_ID")" == "$AGENT_ID" ]; then
            echo "of old"
        else
            exit 1
        fi
    fi
fi
# --- END OF NEW LOGIC ---
echo "after on $BRANCH"
echo "✅ Initiation complete. Agent is ready."
"""


def own(agents: Agents, text: str) -> None:
    """The author's boot.sh."""
    path = agents.folder / "tools" / "boot.sh"
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.parametrize("text", [SEED, SEED.replace("# --- END OF NEW LOGIC ---\n", "")])
def test_the_authors_own_steps_run_around_the_check_and_their_no_counts(agents: Agents, text: str) -> None:
    own(agents, text)
    agents.scoped("T1")
    agents.shell.json("import", exit=0)
    agents.run("claim_task.sh", "T1", "ann")
    code, said = agents.run("boot.sh", CURRENT_TASK_ID="T1", AGENT_ID="ann")
    assert (code, said.splitlines()) == (0, [
        "root: repo branch main", "Verifying task state...", "Agent believes it is working on task: T1",
        "✅ Confirmed: This agent (ann) still holds the claim for task T1.", "after on main",
        "✅ Initiation complete. Agent is ready.",
    ])  # fmt: skip
    code, said = agents.run("boot.sh", CURRENT_TASK_ID="T1", AGENT_ID="bob")
    assert (code, said.splitlines()[-1]) == (1, "❌ FATAL: Task T1 was claimed by another agent (ann). Aborting.")
    assert agents.run("boot.sh", STOP="1") == (7, "root: repo branch main\n")
    before = (agents.folder / "tools" / "boot.sh.before-dibs").read_bytes()
    agents.shell.json("import", "--uninstall", exit=0)
    assert (agents.folder / "tools" / "boot.sh").read_bytes() == before == text.encode()


def test_a_boot_script_that_verifies_no_task_runs_first_and_its_no_counts(agents: Agents) -> None:
    own(agents, '#!/bin/sh\necho "on $(basename "$PWD")"\nexit ${STOP:-0}\n')
    agents.shell.json("import", exit=0)
    code, said = agents.run("boot.sh", AGENT_ID="ann")
    assert code == 0
    assert said.splitlines()[:2] == ["on repo", "Verifying task state..."]
    assert agents.run("boot.sh", AGENT_ID="ann", STOP="5") == (5, "on repo\n")


def test_a_boot_script_whose_check_cannot_be_told_apart_is_not_run_and_that_is_said(agents: Agents) -> None:
    own(agents, '#!/bin/sh\n[ "$CURRENT_TASK_ID" ] && cat .agent/registry/claimed/$CURRENT_TASK_ID\nexit 9\n')
    agents.shell.json("import", exit=0)
    process = agents.start("boot.sh", AGENT_ID="ann")
    out, told = process.communicate(timeout=60)
    assert (process.returncode, out.splitlines()[0]) == (0, "Verifying task state...")
    assert "boot.sh.before-dibs are not run" in told


def test_boot_says_which_task_an_agent_still_has_if_it_names_none(scripts: Agents) -> None:
    scripts.scoped("T1")
    scripts.run("claim_task.sh", "T1", "ann")
    code, said = scripts.run("boot.sh", AGENT_ID="ann")
    assert code == 0
    assert "No current task ID set, but this agent (ann) still holds the claim for task T1." in said
    assert json.loads(scripts.shell.run("boot", "--as", "ann", "--json").stdout)["task"]["id"] == "T1"
