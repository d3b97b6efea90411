"""`dibs import`: a home-made `.agent` folder is taken over, and can be given back."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.interfaces.agent_folder import OWN, OWN_BOOT, TOOLS, Agents, ago, seconds_left
from tests.scratch import DIBS, Shell

# --- taking over


def test_without_a_workspace_it_says_how_to_make_one_and_changes_nothing(tmp_path: Path) -> None:
    agents = Agents(Shell(tmp_path))
    before = agents.files()
    assert "dibs init" in agents.shell.json("import", exit=64)["error"]["message"]
    assert agents.files() == before
    assert not (tmp_path / ".dibs").exists()


def test_a_folder_without_a_registry_is_refused(shell: Shell) -> None:
    assert "registry" in shell.json("import", exit=64)["error"]["message"]
    assert shell.json("import", "nowhere", exit=64)["error"]["code"] == "invalid"


def test_claims_are_taken_over_with_the_life_that_is_left_to_them(agents: Agents) -> None:
    agents.claimed("TASK-1", f"ann:{ago(600)}\n")
    old = agents.claimed("TASK-2", "bob\n")
    os.utime(old, (ago(1200), ago(1200)))
    agents.claimed("TASK-3", f"team:eve:{ago(10)}\n")
    report = agents.shell.json("import", str(agents.folder), exit=0)
    assert [(claim["task"], claim["agent"]) for claim in report["claims"]] == [
        ("TASK-1", "ann"), ("TASK-2", "bob"), ("TASK-3", "team:eve"),
    ]  # fmt: skip
    left = [seconds_left(claim["expires_at"]) for claim in report["claims"]]
    assert 1100 < left[0] <= 1200
    assert 500 < left[1] <= 600
    assert 1690 < left[2] <= 1790
    assert agents.holders() == {"task:TASK-1": "ann", "task:TASK-2": "bob", "task:TASK-3": "team:eve"}
    refused = agents.shell.json("task", "claim", "TASK-1", "--as", "eve", exit=1)
    assert refused["error"]["blockers"][0]["agent"] == "ann"
    agents.shell.json("verify", exit=0)


def test_a_stale_claim_goes_back_to_scoped_and_is_said(agents: Agents) -> None:
    agents.claimed("TASK-1", f"ann:{ago(1900)}\n")
    done = agents.shell.run("import")
    assert done.returncode == 0
    assert "STALE: Task TASK-1 claimed by ann is stale (age: 190" in done.stdout
    assert not agents.claimed("TASK-1").exists()
    assert (agents.folder / "registry" / "scoped" / "TASK-1").exists()
    assert agents.holders() == {}


def test_running_it_twice_changes_nothing(agents: Agents) -> None:
    agents.claimed("TASK-1", f"ann:{ago(60)}\n")
    agents.claimed("TASK-2", "bob\n")
    agents.claimed("TASK-3", f"eve:{ago(9000)}\n")
    assert len(agents.shell.json("import", exit=0)["changes"]) == 3 + len(TOOLS)
    files, head = agents.files(), agents.shell.json("verify", exit=0)["last"]
    again = agents.shell.json("import", exit=0)
    assert again["changes"] == []
    assert again["claims"] == []
    assert agents.files() == files
    assert agents.shell.json("verify", exit=0)["last"] == head


def test_a_dry_run_says_it_all_and_changes_nothing(agents: Agents) -> None:
    agents.claimed("TASK-1", f"ann:{ago(60)}\n")
    agents.claimed("TASK-2", f"bob:{ago(9000)}\n")
    files, head = agents.files(), agents.shell.json("verify", exit=0)["last"]
    report = agents.shell.json("import", "--dry-run", exit=0)
    assert [claim["task"] for claim in report["claims"]] == ["TASK-1"]
    assert [stale["task"] for stale in report["stale"]] == ["TASK-2"]
    assert report["scripts"] == [f".agent/tools/{name}" for name in TOOLS]
    assert agents.files() == files
    assert agents.shell.json("verify", exit=0)["last"] == head


def test_a_conflict_with_a_live_claim_is_reported_and_overwrites_neither(agents: Agents) -> None:
    file = agents.claimed("TASK-1", f"ann:{ago(60)}\n")
    before = file.read_bytes()
    agents.shell.json("claim", "task:TASK-1", "--as", "bob", exit=0)
    report = agents.shell.json("import", exit=1)
    (conflict,) = report["conflicts"]
    assert (conflict["task"], conflict["agent"], conflict["holder"]) == ("TASK-1", "ann", "bob")
    assert report["error"]["code"] == "held"
    assert agents.holders() == {"task:TASK-1": "bob"}
    assert file.read_bytes() == before
    assert "CONFLICT: TASK-1 of ann: bob holds it" in agents.shell.run("import").stdout


@pytest.mark.parametrize("text", ["", "two words\n"])
def test_a_claimed_file_that_names_no_agent_is_reported_and_left(agents: Agents, text: str) -> None:
    agents.claimed("TASK-1", text)
    assert agents.shell.json("import", exit=1)["conflicts"][0]["code"] == "invalid"
    assert agents.claimed("TASK-1").exists()
    assert agents.holders() == {}


def test_a_killed_agent_gets_nothing_by_a_file(agents: Agents) -> None:
    agents.shell.json("boot", "--as", "ann", exit=0)
    agents.shell.json("kill", "ann", "--why", "test", "--as", "bob", exit=0)
    agents.claimed("TASK-1", f"ann:{ago(60)}\n")
    assert agents.shell.json("import", exit=1)["conflicts"][0]["code"] == "killed"
    assert agents.holders() == {}


def test_what_was_released_since_is_not_taken_up_again_by_a_second_import(agents: Agents) -> None:
    agents.claimed("TASK-1", f"ann:{ago(60)}\n")
    agents.shell.json("import", exit=0)
    agents.shell.json("release", "task:TASK-1", "--as", "ann", exit=0)
    assert agents.shell.json("import", exit=0)["claims"] == []
    assert agents.holders() == {}
    assert not agents.claimed("TASK-1").exists()


# --- the scripts in their place


def test_each_script_of_old_is_kept_beside_and_uninstall_puts_all_back(agents: Agents) -> None:
    (agents.folder / "tools" / "release_task.sh").unlink()
    (agents.folder / "tools" / "boot.sh").chmod(0o700)
    before = agents.files()
    agents.shell.json("import", exit=0)
    assert (agents.folder / "tools" / "claim_task.sh.before-dibs").read_text() == OWN + "# claim_task.sh\n"
    assert all(os.access(agents.folder / "tools" / name, os.X_OK) for name in TOOLS)
    assert agents.shell.json("import", "--uninstall", "--dry-run", exit=0)["changes"]
    assert agents.files() != before
    report = agents.shell.json("import", "--uninstall", exit=0)
    assert report["removed"] == [".agent/tools/release_task.sh"]
    assert agents.files() == before
    assert agents.shell.json("import", "--uninstall", exit=0)["changes"] == []
    assert agents.files() == before


def test_a_script_that_came_back_by_other_means_is_replaced_again_if_it_is_the_one_that_is_kept(
    scripts: Agents,
) -> None:
    (scripts.folder / "tools" / "boot.sh").write_text(OWN_BOOT + "# boot.sh\n")
    assert scripts.shell.json("import", exit=0)["scripts"] == [".agent/tools/boot.sh"]
    (scripts.folder / "tools" / "boot.sh").write_text("#!/bin/sh\n# a third one\n")
    before = scripts.files()
    assert "boot.sh.before-dibs" in scripts.shell.json("import", exit=64)["error"]["message"]
    assert scripts.files() == before


def test_the_scripts_name_no_machine_and_are_good_sh(scripts: Agents) -> None:
    for name in TOOLS:
        path = scripts.folder / "tools" / name
        assert str(scripts.shell.folder) not in path.read_text()
        assert str(Path(DIBS).parent) not in path.read_text()
        for shell in ("dash", "bash"):
            assert subprocess.run([shell, "-n", str(path)], check=False).returncode == 0


def test_they_work_from_any_folder_and_by_any_way_of_writing_their_path(scripts: Agents, tmp_path: Path) -> None:
    deep = scripts.shell.folder / "a b" / "c"
    deep.mkdir(parents=True)
    for number, cwd in enumerate((deep, scripts.folder / "tools", tmp_path)):
        scripts.scoped(f"T{number}")
        assert scripts.run("claim_task.sh", f"T{number}", f"ann-{number}", cwd=cwd)[0] == 0
        assert scripts.claimed(f"T{number}").exists()


def test_they_find_dibs_by_what_the_workspace_remembers_of_this_machine(scripts: Agents, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x"]
    tree = tmp_path / "linked tree"
    scripts.scoped("T1")
    subprocess.run([*git, "add", "-A"], cwd=scripts.shell.folder, check=True)
    subprocess.run([*git, "commit", "-qm", "one"], cwd=scripts.shell.folder, check=True)
    subprocess.run([*git, "worktree", "add", "-q", "-b", "linked", str(tree)], cwd=scripts.shell.folder, check=True)
    bare = "/usr/bin:/bin"
    assert shutil.which("dibs", path=bare) is None
    run = scripts.shell.folder / ".dibs" / "local" / "run"
    run.unlink(missing_ok=True)
    code, said = scripts.run("claim_task.sh", "T1", "ann", PATH=bare)
    hint = "uv tool install FOLDER (a clone of dibs), then: dibs init"
    assert (code, said) == (1, f"ERROR: dibs was not found on this machine: {hint}\n")
    run.write_text(f"python='{Path(DIBS).parent / 'python'}'\nentry=/nowhere\n")
    assert scripts.run("claim_task.sh", "T1", "ann", PATH=bare) == (0, "SUCCESS: Task T1 claimed by agent ann.\n")
    linked = subprocess.run(
        [tree / ".agent" / "tools" / "claim_task.sh", "T1", "bob"],
        cwd=tree, env={"PATH": bare}, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (linked.returncode, linked.stdout) == (1, "ERROR: Task T1 is already claimed by another agent (ann).\n")
