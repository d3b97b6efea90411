"""The command line, as real processes on a real database: words in, one answer and one exit code out."""

from __future__ import annotations

import json
import os
import pwd
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from dibs.interfaces.cli.command import names
from tests.scratch import DIBS, Shell
from tests.waiting import LIMIT_S, until


def test_init_makes_a_workspace_once_and_twice_changes_nothing(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    made = {
        ".dibs/config.toml", ".dibs/.gitignore", ".dibs/rules.md", ".dibs/hook", ".dibs/local/", ".dibs/local/dibs.db",
        ".dibs/local/run", ".dibs/dibs",
    }  # fmt: skip
    assert set(shell.json("init", "--clients", "none", "--dry-run", exit=0)["changes"]) == made
    assert not (tmp_path / ".dibs").exists()
    assert set(shell.json("init", "--clients", "none", exit=0)["changes"]) == made
    before = {p: p.read_bytes() for p in (tmp_path / ".dibs").rglob("*") if p.is_file()}
    assert shell.json("init", "--clients", "none", exit=0)["changes"] == []
    assert {p: p.read_bytes() for p in (tmp_path / ".dibs").rglob("*") if p.is_file()} == before
    assert os.stat(tmp_path / ".dibs" / "local").st_mode & 0o777 == 0o700


def test_git_ignores_what_belongs_to_this_machine(shell: Shell) -> None:
    listed = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=shell.folder, capture_output=True, text=True, check=True
    ).stdout
    committed = [".dibs/.gitignore", ".dibs/config.toml", ".dibs/dibs", ".dibs/hook", ".dibs/rules.md"]
    assert sorted(listed.split()[1::2]) == committed


def test_a_claim_is_granted_once_and_refused_with_all_the_keys(shell: Shell) -> None:
    granted = shell.json("claim", "a.py", "db:x", "--as", "ann", "--reason", "why", exit=0)
    assert {"claim", "token", "resources", "mode", "expires_at"} <= set(granted)
    assert granted["resources"] == ["a.py", "db:x"]
    refused = shell.json("claim", "a.py", "--as", "bob", exit=1)
    assert refused["error"]["code"] == "held"
    (blocker,) = refused["error"]["blockers"]
    assert {"agent", "resource", "mode", "since", "until", "reason"} <= set(blocker)
    assert blocker["reason"] == "why"


def test_every_command_of_a_session_gives_its_keys(shell: Shell) -> None:
    token = str(shell.json("claim", "a.py", "--as", "ann", exit=0)["token"])
    assert shell.json("renew", "--as", "ann", exit=0)["renewed"][0]["resources"] == ["a.py"]
    assert shell.json("confirm", "a.py", "--token", token, exit=0)["holder"] == "ann"
    assert shell.json("confirm", "a.py", "--token", "999", exit=1)["error"]["holder"] == "ann"
    assert shell.json("ask", "a.py", "please", "--as", "bob", exit=0)["message"]
    status = shell.json("status", exit=0)
    assert {"claims", "waiting", "agents", "tasks"} <= set(status)
    booted = shell.json("boot", "--as", "ann", "--type", "coder", "--can", "py,sql", exit=0)
    assert {"agent", "incarnation", "held", "lost", "task", "messages", "rules"} <= set(booted)
    assert booted["messages"][0]["text"] == "please"
    shell.json("ack", booted["messages"][0]["message"], "--as", "ann", exit=0)
    assert shell.json("inbox", "--as", "ann", exit=0)["messages"] == []
    assert shell.json("release", "a.py", "--as", "ann", "--commit", shell.commit(), exit=0)["released"] == ["a.py"]
    assert [a["agent"] for a in shell.json("agents", exit=0)["agents"]] == ["ann", "bob"]
    shell.json("kill", "bob", "--why", "test", "--as", "ann", exit=0)
    assert shell.json("claim", "b.py", "--as", "bob", exit=1)["error"]["code"] == "killed"
    shell.json("revive", "bob", "--as", "ann", exit=0)
    events = shell.json("log", exit=0)["events"]
    assert all({"seq", "at", "kind", "agent", "subject", "data"} <= set(event) for event in events)
    verified = shell.json("verify", exit=0)
    head = f"{verified['last']}:{verified['link']}"
    shell.json("claim", "c.py", "--as", "ann", exit=0)
    shell.json("verify", "--head", head, exit=0)
    assert shell.json("verify", "--head", f"1:{'0' * 40}", exit=1)["findings"]
    assert shell.json("doctor", exit=0)["failed"] == []
    shell.json("sweep", "--as", "ann", exit=0)
    shell.json("seal", "--as", "ann", exit=0)
    assert shell.json("prune", "--keep", "1s", "--as", "ann", exit=64)["error"]["field"] == "keep"
    config = shell.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text() + '\n[log]\nkeep = "0.001s"\n')
    shell.json("prune", "--keep", "0.001s", "--as", "ann", exit=0)
    shell.json("verify", exit=0)
    shell.json("leave", "--as", "ann", exit=0)


def test_boot_exits_1_when_something_believed_held_is_lost(shell: Shell) -> None:
    shell.json("claim", "task:TASK-103", "--as", "one", "--ttl", "0.05s", exit=0)
    shell.json("claim", "task:TASK-103", "--as", "two", "--wait", "60s", exit=0)
    done = shell.run("boot", "--task", "TASK-103", "--as", "one")
    assert done.returncode == 1
    assert done.stdout.startswith("You LOST TASK-103 under a minute ago (it expired). two took TASK-103 ")
    assert shell.run("boot", "--task", "TASK-103", "--as", "two").returncode == 0


def test_people_get_text_and_refusals_on_stderr(shell: Shell) -> None:
    assert "claimed a.py (write), token" in shell.run("claim", "a.py", "--as", "ann").stdout
    refused = shell.run("claim", "a.py", "--as", "bob")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "ann holds a.py" in refused.stderr
    for words in (["status"], ["agents"], ["log"], ["verify"], ["inbox", "--as", "ann"], ["sweep", "--as", "ann"]):
        assert shell.run(*words).stdout, words


@pytest.mark.parametrize("name", ["src/x.py", "src//x.py", "src/../src/x.py", "./src/x.py", "link.py", "dir/x.py",
                                  "src/", "src/**", "**/x.py", "src/*.py", "hard.py"])  # fmt: skip
def test_accident_c_every_alias_of_a_file_meets_it(shell: Shell, name: str) -> None:
    (shell.folder / "src").mkdir()
    (shell.folder / "src" / "x.py").write_text("x")
    (shell.folder / "link.py").symlink_to("src/x.py")
    (shell.folder / "dir").symlink_to("src")
    os.link(shell.folder / "src" / "x.py", shell.folder / "hard.py")
    shell.json("claim", "src/x.py", "--as", "ann", exit=0)
    assert shell.json("claim", name, "--as", "bob", exit=1)["error"]["code"] == "held"
    shell.json("release", "--all", "--as", "ann", exit=0)
    shell.json("claim", name, "--as", "bob", exit=0)
    assert shell.json("claim", "src/x.py", "--as", "ann", exit=1)["error"]["code"] == "held"


@pytest.mark.parametrize(
    "words",
    [
        ["claim"], ["claim", "x", "--mode", "own"], ["claim", "x", "--ttl", "soon"], ["claim", "x", "--ttl", "-5"],
        ["claim", "x", "--ttl", "99999h"], ["claim", "x", "--nonsense"], ["claim", "x", "--ttl"], ["claim", ""],
        ["claim", "../x"], ["claim", "/etc/passwd"], ["claim", "a\nb"], ["claim", "x" * 5000], ["claim", "y/" * 2500],
        ["claim", "x", "--wait", "2d"], ["confirm", "x"], ["confirm", "x", "--token", "abc"], ["release"],
        ["release", "x", "--all"], ["kill", "x"], ["nonsense"], ["boot", "--pid", "0"], ["boot", "--pid", "4194999"],
        ["log", "--since", "x"], ["verify", "--head", "5"], ["status", "--json=1"], ["claim", "glob:*/../b"],
        ["completion", "cmd"], ["claim", "x", "--request-id", "\t"],
    ],
)  # fmt: skip
def test_words_that_are_off_exit_64_say_why_and_change_nothing(shell: Shell, words: list[str]) -> None:
    shell.json("boot", "--as", "ann", exit=0)
    before = shell.json("verify", exit=0)["last"]
    if "--json=1" not in words:
        found = shell.json(*words, "--as", "ann", exit=64)
        assert found["error"]["code"] == "invalid"
    done = shell.run(*words, "--as", "ann")
    assert done.returncode == 64
    assert done.stderr.startswith("dibs: ")
    assert "Traceback" not in done.stderr
    assert shell.json("verify", exit=0)["last"] == before


@pytest.mark.parametrize(
    "words", [["{}"], ["help", "{}"], ["task", "{}"], ["agents", "{}"], ["claim", "a", "--ttl", "{}"], ["init", "{}"],
              ["claim", "a", "--{}"], ["status", "--workspace", "{}"], ["store", "move", "{}"]]
)  # fmt: skip
def test_a_whole_file_in_the_place_of_a_word_is_a_usage_error_of_one_line(shell: Shell, words: list[str]) -> None:
    done = shell.run(*[word.format("x" * 70_000) for word in words])
    assert done.returncode == 64
    assert len(done.stderr) < 1_000
    assert "xxxx…" in done.stderr


def test_a_store_of_an_unknown_kind_is_a_usage_error(shell: Shell) -> None:
    for words in (("store", "move", "mysql://shop"), ("demo", "--store", "mysql://shop")):
        error = shell.json(*words, exit=64)["error"]
        assert error["code"] == "invalid"
        assert "`redis://`" in error["message"]


def test_outside_a_workspace_it_says_how_to_make_one(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert "dibs init" in shell.json("claim", "x", "--as", "ann", exit=64)["error"]["message"]
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    assert "dibs init" in shell.json("claim", "x", "--as", "ann", exit=64)["error"]["message"]
    assert not (tmp_path / ".dibs").exists()


def test_without_a_name_the_caller_is_the_operating_systems_user(shell: Shell) -> None:
    user = pwd.getpwuid(os.getuid()).pw_name
    assert shell.json("claim", "w", exit=0, USER="somebody-else")["agent"] == user
    assert shell.json("whoami", exit=0)["agent"] == user
    shell.json("task", "add", "T", "--id", "T", exit=0)
    assert shell.json("task", "next", exit=0)["task"]["agent"] == user
    assert shell.json("claim", "x", exit=0, DIBS_AGENT="env")["agent"] == "env"
    assert shell.json("claim", "y", exit=0, CLAUDE_CODE_SESSION_ID="s-1")["agent"] == "s-1"
    assert shell.json("claim", "z", "--as", "said", exit=0, DIBS_AGENT="env")["agent"] == "said"


def test_the_registered_agent_among_the_callers_ancestors_is_recognised(shell: Shell) -> None:
    script = f"'{DIBS}' boot --as shellagent --pid $$ --json >/dev/null && '{DIBS}' claim x.py --json"
    done = subprocess.run(["sh", "-c", script], cwd=shell.folder, capture_output=True, text=True, check=False)
    assert '"agent":"shellagent"' in done.stdout, done
    # its shell is gone, and with it the claim
    assert shell.json("claim", "x.py", "--as", "next", exit=0)["resources"] == ["x.py"]


def test_a_retry_by_request_id_is_answered_and_not_done_again(shell: Shell) -> None:
    first = shell.json("claim", "x", "--as", "ann", "--request-id", "r1", exit=0)
    shell.json("release", "x", "--as", "ann", exit=0)
    assert shell.json("claim", "x", "--as", "ann", "--request-id", "r1", exit=0) == first
    assert shell.json("status", exit=0)["claims"] == []


def test_a_waiting_claim_is_served_when_the_holder_releases(shell: Shell) -> None:
    shell.json("claim", "x", "--as", "ann", exit=0)
    waiting = subprocess.Popen(
        [DIBS, "claim", "x", "--as", "bob", "--wait", "30s", "--json"],
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    until(lambda: bool(shell.json("status")["waiting"]))
    shell.json("release", "x", "--as", "ann", exit=0)
    out, _ = waiting.communicate(timeout=LIMIT_S)
    assert '"ok":true' in out
    assert waiting.returncode == 0
    assert shell.json("status")["claims"][0]["agent"] == "bob"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_while_waiting_leaves_the_queue_at_once(shell: Shell, number: int, code: int) -> None:
    shell.json("claim", "x", "--as", "ann", exit=0)
    waiting = subprocess.Popen(
        [DIBS, "claim", "x", "--as", "bob", "--wait", "60s"], cwd=shell.folder, stderr=subprocess.PIPE, text=True
    )
    until(lambda: bool(shell.json("status")["waiting"]))
    waiting.send_signal(number)
    _, said = waiting.communicate(timeout=LIMIT_S)
    assert waiting.returncode == code
    assert "Traceback" not in said
    assert shell.json("status")["waiting"] == []
    assert list(shell.folder.glob(".dibs/local/wakes/*")) == []


def test_a_wait_that_is_over_is_refused_with_who_held_it(shell: Shell) -> None:
    shell.json("claim", "x", "--as", "ann", exit=0)
    refused = shell.json("claim", "x", "--as", "bob", "--wait", "0.3s", exit=1)
    assert refused["error"]["blockers"][0]["agent"] == "ann"


def test_all_worktrees_share_one_workspace(shell: Shell, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run([*git, "add", "-A"], cwd=shell.folder, check=True)
    subprocess.run([*git, "commit", "-qm", "one"], cwd=shell.folder, check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "tree")], cwd=shell.folder, check=True)
    shell.json("claim", "x.py", "--as", "ann", exit=0)
    refused = shell.json("claim", "x.py", "--as", "bob", exit=1, cwd=tmp_path / "tree")
    assert refused["error"]["blockers"][0]["agent"] == "ann"


def test_another_store_is_refused_while_this_one_is_pinned(shell: Shell, tmp_path: Path) -> None:
    shell.json("claim", "x", "--as", "ann", exit=0)
    refused = shell.json("claim", "x", "--as", "bob", exit=2, DIBS_STORE=f"sqlite:{tmp_path}/other.db")
    assert refused["error"]["code"] == "unavailable"
    assert not (tmp_path / "other.db").exists()
    config = shell.folder / ".dibs" / "config.toml"
    config.write_text(f'store = "sqlite:{tmp_path}/other.db"\n{config.read_text()}')
    refused = shell.json("status", exit=2)["error"]["message"]
    assert "Set `store` in .dibs/config.toml back" in refused, "not a variable that nobody has set"


def test_accident_e_an_unreadable_store_is_an_error_and_not_an_empty_one(shell: Shell) -> None:
    shell.json("claim", "x", "--as", "ann", exit=0)
    local = shell.folder / ".dibs" / "local"
    for name in ("dibs.db", "dibs.db-wal", "dibs.db-shm"):
        if (local / name).exists():
            (local / name).rename(local / f"{name}.away")
    assert shell.json("claim", "x", "--as", "bob", exit=2)["error"]["code"] == "unavailable"
    assert shell.json("status", exit=2)["error"]["code"] == "unavailable"
    assert not (local / "dibs.db").exists()
    (local / "dibs.db").write_bytes(b"not a database at all" * 1000)
    assert shell.json("claim", "x", "--as", "bob", exit=2)["error"]["code"] == "unavailable"


def test_recovery_sets_the_damaged_database_aside_and_starts_above_its_tokens(shell: Shell) -> None:
    shell.json("boot", "--as", "bad", exit=0)
    token = shell.json("claim", "x", "--as", "ann", exit=0)["token"]
    database = shell.folder / ".dibs" / "local" / "dibs.db"
    for name in ("-wal", "-shm"):
        Path(f"{database}{name}").unlink(missing_ok=True)
    database.write_bytes(b"\0" * 20_000)
    assert shell.json("doctor", exit=1)["failed"]
    assert shell.json("doctor", "--recover", exit=2)["error"]["code"] == "unavailable"  # nobody said yes
    recovered = shell.json("doctor", "--recover", "--yes", "--as", "ann", exit=0)
    assert (Path(recovered["aside"]) / "dibs.db").read_bytes() == b"\0" * 20_000
    assert shell.json("status", exit=0)["claims"] == []
    assert shell.json("claim", "x", "--as", "bob", exit=0)["token"] > token
    assert shell.json("doctor", exit=0)["failed"] == []
    assert shell.json("doctor", "--recover", "--yes", "--as", "ann", exit=64)["error"]["code"] == "invalid"


def test_settings_in_the_config_are_obeyed_and_nonsense_in_it_is_said(shell: Shell) -> None:
    config = shell.folder / ".dibs" / "config.toml"
    text = config.read_text()
    config.write_text(text + '\n[[claims.patterns]]\nmatch = "db/**"\nmax_ttl = "1m"\n')
    assert "at most 1m" in shell.json("claim", "db/x", "--ttl", "5m", "--as", "a", exit=64)["error"]["message"]
    config.write_text("[claims")  # no TOML at all, as in the middle of a merge
    found = shell.run("claim", "db/x", "--ttl", "5m", "--as", "a")
    assert (found.returncode, "at most 1m" in found.stderr, str(config) in found.stderr) == (64, True, True)
    for broken in ('[claims]\nttl = "soon"', '[claims]\nordering = "maybe"', "claims = 5", "store = 5"):
        config.write_text(broken)
        assert str(config) in shell.json("claim", "x", "--as", "a", exit=64)["error"]["message"]
    config.write_text(text)
    shell.json("claim", "x", "--as", "a", exit=0)


def test_every_command_has_help_and_completion(shell: Shell) -> None:
    for name in names():
        shown = shell.run("help", *name.split())
        assert shown.returncode == 0
        assert f"usage: dibs {name}" in shown.stdout
        assert 0 <= shown.stdout.find("\nExamples:\n") < shown.stdout.find("\nusage: "), f"examples come first: {name}"
        if name in {"claim", "status", "log", "init", "verify", "doctor", "demo"}:
            assert shell.run(name, "--help").stdout == shown.stdout
    for kind in ("bash", "zsh", "fish"):
        assert "dibs __complete" in shell.run("completion", kind).stdout
    checked = subprocess.run(["bash", "-n"], input=shell.run("completion", "bash").stdout, text=True, check=False)
    assert checked.returncode == 0


def test_an_empty_name_is_a_usage_error_and_not_somebody_else(shell: Shell) -> None:
    refused = shell.json("claim", "x", "--as", "", exit=64)["error"]
    assert refused["message"] == "claim: --as needs a value, and the one given is empty"
    assert shell.json("status", exit=0)["claims"] == []


def test_help_is_one_object_for_programs(shell: Shell) -> None:
    assert {one["command"] for one in shell.json("help", exit=0)["commands"]} == set(names())
    asked = shell.json("help", "task", "done", exit=0)
    assert asked == json.loads(shell.run("task", "done", "--help", "--json").stdout)
    assert (asked["usage"].startswith("dibs task done ID "), asked["examples"][0]["line"]) == (
        True, "dibs task done T7 --result '{\"passed\": 12}'",
    )  # fmt: skip
    assert {"option": "ID", "help": "the task's id", "required": True} in asked["options"]
    for words in (("task",), ("task", "--help"), ("help", "task")):
        assert len(shell.json(*words, exit=0)["commands"]) == 18
    assert "complete" in shell.json("completion", "fish", exit=0)["script"]


def test_a_mistyped_command_or_option_gets_a_suggestion(shell: Shell) -> None:
    assert "did you mean `dibs claim`" in shell.run("clam").stderr
    assert "did you mean `dibs task`" in shell.run("tsk", "add").stderr, "as near as `ask`, and it begins alike"
    assert "did you mean --reason" in shell.run("claim", "x", "--reson", "y").stderr


def test_log_follows(shell: Shell) -> None:
    follower = subprocess.Popen(
        [DIBS, "log", "-f", "--kind", "claim.", "--json"], cwd=shell.folder, stdout=subprocess.PIPE, text=True
    )
    try:
        shell.json("claim", "x", "--as", "ann", exit=0)
        assert follower.stdout is not None
        assert '"kind":"claim.granted"' in follower.stdout.readline()
    finally:
        follower.terminate()
        follower.communicate(timeout=LIMIT_S)


def test_output_that_nobody_reads_is_no_traceback(shell: Shell) -> None:
    done = subprocess.run(
        f"'{DIBS}' help | head -c 1; '{DIBS}' log --limit 0 | true", shell=True, cwd=shell.folder, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr


def test_the_rules_are_shown_and_acknowledged_and_old_ones_are_visible(shell: Shell) -> None:
    told = shell.json("boot", "--as", "ann", exit=0)["rules"]
    assert (told["changed"], told["first"]) == (True, True)
    assert "Claim before you change" in told["text"]
    assert shell.json("rules", "--as", "ann", exit=0)["current"] is True
    rules = shell.folder / ".dibs" / "rules.md"
    rules.write_text(rules.read_text() + "\n11. Another one.\n")
    assert shell.json("rules", "--as", "ann", exit=0)["current"] is False
    assert {agent["agent"]: agent["rules"] for agent in shell.json("agents", exit=0)["agents"]}["ann"] == "old"
    (check,) = shell.json("check", "--check", "rules", exit=1)["checks"]
    assert (check["ok"], check["severity"], "ann" in check["message"]) == (False, "medium", True)
    assert "on old rules until their next boot or prompt: ann" in shell.run("status").stdout
    shell.json("claim", "x.py", "--as", "bob", exit=0)
    (check,) = shell.json("check", "--check", "rules", exit=1)["checks"]
    assert "ann acts on old rules" in check["message"]
    shell.json("claim", "y.py", "--as", "carl", exit=0)
    (check,) = shell.json("check", "--check", "rules", exit=1)["checks"]
    assert "bob holds something and was never told the rules" in check["message"]
    shell.run("boot", "--as", "carl")
    shell.run("boot", "--as", "bob")
    assert shell.json("rules", "--ack", "--as", "ann", exit=0)["current"] is True
    assert "on old rules" not in shell.run("status").stdout
    assert "Another one." in shell.run("rules", "--as", "ann").stdout
    (check,) = shell.json("check", "--check", "rules", exit=0)["checks"]
    assert check["ok"]


def test_an_agents_scratch_folder_is_made_and_its_own(shell: Shell) -> None:
    ann = Path(shell.json("scratch", "--as", "ann", exit=0)["scratch"])
    assert ann.is_dir()
    assert ann.stat().st_mode & 0o777 == 0o700
    assert shell.run("scratch", "--as", "ann").stdout.strip() == str(ann)
    assert Path(shell.json("scratch", "--as", "../up", exit=0)["scratch"]).is_relative_to(ann.parent)


def test_check_finds_a_violation_and_a_commit_past_the_guard(shell: Shell) -> None:
    assert shell.json("check", exit=0)["failed"] == []
    shell.json("claim", "a.py", "--as", "ann", exit=0)
    (shell.folder / "a.py").write_text("x")
    who = ["-c", "user.name=bob", "-c", "user.email=bob@example.org"]
    subprocess.run(["git", "add", "-A"], cwd=shell.folder, check=True)
    subprocess.run(
        ["git", *who, "commit", "-qnm", "past"], cwd=shell.folder, check=True, env={**os.environ, "DIBS_AGENT": "bob"}
    )
    found = shell.json("check", exit=1)
    assert found["failed"] == ["bypasses"]
    (found,) = [one for one in found["checks"] if one["check"] == "bypasses"]
    assert "bob" in found["message"]


def test_braces_are_claimed_as_their_alternatives(shell: Shell) -> None:
    got = shell.json("claim", "src/{a,c}*", "--as", "ann", exit=0)
    assert got["resources"] == ["src/a*", "src/c*"]
    assert shell.json("claim", "src/axe.py", "--as", "bob", exit=1)["error"]["code"] == "held"
    shell.json("claim", "src/b.py", "--as", "bob", exit=0)
    assert shell.json("release", "src/{a,c}*", "--as", "ann", exit=0)["released"] == ["src/a*", "src/c*"]
    assert "name one of them" in shell.json("ask", "src/{a,c}", "please", "--as", "bob", exit=64)["error"]["message"]


@pytest.mark.parametrize("written", ["x/[!", "src/\\*"])
def test_a_pattern_that_protects_nothing_is_not_granted(shell: Shell, written: str) -> None:
    refused = shell.json("claim", written, "--as", "ann", exit=64)["error"]
    assert "path:" in refused["message"]
    assert shell.json("status")["claims"] == []


def test_the_doctor_does_not_say_that_all_is_well_where_nothing_can_be_written(shell: Shell) -> None:
    shell.json("claim", "x", "--as", "ann", exit=0)
    done = subprocess.run(
        [DIBS, "doctor", "--json"], cwd=shell.folder, env=shell.environment, capture_output=True, text=True,
        check=False, timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16)),
    )  # fmt: skip
    assert '"space"' in done.stdout.partition('"failed":')[2].partition("]")[0], done.stdout
    assert done.returncode == 1
    assert list((shell.folder / ".dibs" / "local").glob("probe*")) == []


def test_ok_says_the_same_as_the_exit_code_when_a_boot_finds_a_loss(shell: Shell) -> None:
    shell.json("claim", "x", "--ttl", "1ms", "--as", "ann", exit=0)
    until(lambda: shell.run("claim", "x", "--as", "bob").returncode == 0)
    booted = shell.json("boot", "--as", "ann", exit=1)  # `json` holds `ok` to the exit code
    assert booted["ok"] is False
    assert booted["lost"][0]["resources"] == ["x"]


def test_a_release_names_a_commit_of_this_repository_and_the_log_shows_it(shell: Shell) -> None:
    commit = shell.commit()
    shell.json("claim", "x", "--as", "ann", exit=0)
    for wrong in ("deadbeef" * 5, "nonsense", "--all"):
        refused = shell.json("release", "x", f"--commit={wrong}", "--as", "ann", exit=64)["error"]
        assert refused["field"] == "commit"
    shell.json("release", "x", "--commit", commit[:12], "--as", "ann", exit=0)
    assert f"with commit {commit[:8]}." in shell.run("log", "--kind", "claim.released").stdout


@pytest.mark.parametrize("words", [
    ("--help",), ("help", "claim"), ("status",), ("log",), ("agents",), ("init", "--dry-run", "--clients", "all"),
    ("init", "--clients", "all"), ("init", "--json", "--dry-run", "--clients", "all"), ("doctor",), ("verify",),
    ("claim", "a.py"), ("claim", "a.py", "--json"), ("claim", "../out"), ("inbox",), ("restore",),
    ("nonsense",),
])  # fmt: skip
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["at the end", "at the first word"])
def test_a_reader_that_goes_away_ends_a_command_quietly(shell: Shell, words: tuple[str, ...], unbuffered: str) -> None:
    """`dibs … | head`: there is nobody left to tell, and it is no error of the workspace."""
    shell.json("claim", "b.py", "--as", "ann", exit=0)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [DIBS, *words], cwd=shell.folder, stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
            timeout=60, env={**shell.environment, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    finally:
        os.close(writing)
    usage = words[-1] in {"nonsense", "../out"}
    assert done.returncode == (64 if usage else 2), done
    assert bool(done.stderr) is usage, done.stderr
    assert "ipe" not in done.stderr


def test_a_claim_in_a_repository_without_a_working_tree_is_answered(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path)], check=True)
    shell = Shell(tmp_path)
    shell.json("init", "--clients", "none", exit=0)
    for wanted in (["x"], ["src/", "lib/*.py"]):  # what is granted is never answered with an error
        granted = shell.json("claim", *wanted, "--as", "ann", exit=0)
        assert granted["token"]
    assert len(shell.json("release", "--all", "--as", "ann", exit=0)["released"]) == 3


def test_what_has_a_place_may_be_named_too(shell: Shell) -> None:
    run = shell.json("run", "start", "spring", "--as", "boss", exit=0)["run"]["id"]
    for command in ("show", "progress", "gates"):
        for words in ([run], ["--run", run], [f"--run={run}"]):
            assert shell.json("run", command, *words)["run"]["id"] == run
    for words in ([run], ["--run", run]):
        assert shell.run("run", "report", *words).stdout.startswith("# spring\n")
    assert shell.json("run", "end", run, "--as", "boss", exit=0)["run"]["state"] == "ended"
    claimed = shell.json("claim", "--resources", "a.py", "b.py", "--resources=c.py", "--as", "ann", exit=0)
    assert sorted(claimed["resources"]) == ["a.py", "b.py", "c.py"]
    assert "unexpected argument: b" in shell.run("run", "show", "--run", "a", "b").stderr


@pytest.mark.parametrize("words", [["--as", "--json"], ["--as", "--wait", "1s"], ["--reason", "--as=ann"]])
def test_an_option_is_never_the_value_of_another_one(shell: Shell, words: list[str]) -> None:
    refused = shell.run("claim", "a.py", *words)  # as `--as $NOTHING --json` arrives
    assert refused.returncode == 64
    assert f"{words[0]} needs a value, and {words[1]} is an option" in refused.stdout + refused.stderr
    assert shell.json("agents", exit=0)["agents"] == []
    assert shell.json("claim", "a.py", "--reason=--json", "--as", "ann", exit=0)["token"]  # said on purpose


def test_a_folder_that_takes_no_file_is_named_and_not_called_an_error_of_dibs(shell: Shell) -> None:
    shell.json("claim", "db:x", "--as", "ann", exit=0)
    shutil.rmtree(shell.folder / ".git" / "dibs", ignore_errors=True)
    (shell.folder / ".git" / "dibs").symlink_to("/sys/kernel")  # no user may write there, root included
    refused = shell.json("undo", "ann", "--as", "ann", exit=2)["error"]
    assert refused["code"] == "unavailable"
    assert refused["path"].endswith(".git/dibs/undo")
    assert "internal" not in refused


@pytest.mark.parametrize("words", [["status"], ["claim", "x.py"], ["init"], ["log"], ["task", "next", "--as", "a"]])
def test_a_removed_folder_is_called_that(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "worktree").mkdir()
    command = f"rmdir ../worktree && {DIBS} {' '.join(words)} --json"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path / "worktree", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "the current folder was removed" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        (["--ttl", "100d"], "ttl: at most 8h for x.py"),
        (["--ttl", "0"], "ttl: a duration from 1ms to 366d, not 0s"),
        (["--wait", "36h"], "wait: a duration from 0s to 1d, not 36h"),
    ],
)
def test_a_limit_of_a_duration_is_told_as_it_is_written(shell: Shell, words: list[str], limit: str) -> None:
    assert limit in shell.json("claim", "x.py", *words, "--as", "ann", exit=64)["error"]["message"]
