"""`dibs deploy` and `dibs sync-check` in real repositories with a real remote."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.guards.test_git_hooks import Repository, commit, pushed, repo
from tests.interfaces.worker_processes import alive
from tests.scratch import DIBS
from tests.waiting import until

pytestmark = pytest.mark.slow

__all__ = ["pushed", "repo"]  # fixtures

DONE = ("--", "sh", "-c", "echo deployed > ../shipped")


def deploy(repo: Repository, *words: str, exit: int = 0) -> dict[str, Any]:
    """With `--json` before the command; what stands behind `--` is the command's own."""
    place = words.index("--")
    done = repo.run("deploy", "prod", "--as", "ann", "--json", *words[:place], *words[place:])
    assert done.returncode == exit, (done.stdout, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["ok"] is (exit == 0)
    assert "Traceback" not in done.stderr
    return found


def shipped(repo: Repository) -> bool:
    return (repo.folder.parent / "shipped").exists()


def ahead(repo: Repository, count: int) -> None:
    """Somebody else pushes."""
    other = repo.folder.parent / "other"
    repo.git("clone", "-q", str(repo.folder.parent / "remote.git"), str(other))
    for number in range(count):
        commit(repo, f"theirs-{number}.py", "1\n", cwd=other)
    repo.git("push", "-q", "origin", "main", cwd=other)


def configure(repo: Repository, text: str) -> None:
    path = repo.folder / ".dibs" / "config.toml"
    path.write_text(path.read_text() + text)
    repo.git("commit", "-q", "-a", "-m", "settings")


def test_a_deploy_that_is_verified_is_recorded_with_its_commit(pushed: Repository) -> None:
    found = deploy(pushed, "--verify", "test -f ../shipped", *DONE)
    assert {"target", "commit", "behind", "token", "verified"} <= set(found)
    assert (found["target"], found["behind"], found["verified"]) == ("prod", 0, True)
    assert found["commit"] == pushed.log("--format=%H")
    assert shipped(pushed)
    assert pushed.held() == []
    (event,) = pushed.events("deploy.finished")
    assert (event["data"]["result"], event["data"]["commit"]) == ("ok", found["commit"])
    pushed.json("verify", exit=0)


def test_the_command_finds_target_token_and_commit_and_its_output_is_not_in_the_json(pushed: Repository) -> None:
    line = 'echo to-stdout; echo "$DIBS_DEPLOY $DIBS_TOKEN $DIBS_COMMIT" > ../told'
    found = deploy(pushed, "--unverified", "--", "sh", "-c", line)
    told = (pushed.folder.parent / "told").read_text().split()
    assert told == ["prod", str(found["token"]), found["commit"]]
    assert found["verified"] is False
    assert pushed.events("deploy.finished")[0]["data"]["result"] == "unchecked"


def test_without_a_verification_it_does_not_start(pushed: Repository) -> None:
    assert deploy(pushed, *DONE, exit=1)["error"]["code"] == "unverified"
    assert not shipped(pushed)
    assert pushed.run("deploy", "prod", "--as", "ann").returncode == 64
    assert pushed.run("deploy", "prod", "--as", "ann", "--verify", "true", "--unverified", *DONE).returncode == 64


def test_a_verification_that_fails_is_said_and_recorded(pushed: Repository) -> None:
    words = ("--verify", "echo no such page >&2; exit 3", "--verify-timeout", "1ms", *DONE)
    error = deploy(pushed, *words, exit=1)["error"]
    assert (error["code"], error["started"], error["verified"]) == ("unverified", True, False)
    assert "no such page" in error["message"]
    assert pushed.events("deploy.finished")[0]["data"]["result"] == "unverified"
    assert pushed.held() == []


def test_a_verification_is_tried_again_while_its_time_lasts(pushed: Repository) -> None:
    line = "echo x >> ../tries; test $(wc -l < ../tries) -ge 2"
    assert deploy(pushed, "--verify", line, "--verify-timeout", "30s", *DONE)["verified"] is True


def test_a_command_that_fails_has_its_exit_code_in_the_answer(pushed: Repository) -> None:
    error = deploy(pushed, "--verify", "true", "--", "sh", "-c", "exit 7", exit=1)["error"]
    assert (error["code"], error["exit"]) == ("failed", 7)
    assert pushed.events("deploy.finished")[0]["data"]["result"] == "failed"
    assert pushed.held() == []
    assert deploy(pushed, "--verify", "true", "--", "no-such-command-here", exit=1)["error"]["exit"] == 127


def test_somebody_elses_claim_refuses_it(pushed: Repository) -> None:
    pushed.json("claim", "deploy:prod", "--as", "bob", "--reason", "mine", exit=0)
    error = deploy(pushed, "--verify", "true", *DONE, exit=1)["error"]
    assert (error["code"], error["blockers"][0]["agent"]) == ("held", "bob")
    assert not shipped(pushed)


def test_a_claim_made_before_stays_afterwards(pushed: Repository) -> None:
    token = pushed.json("claim", "deploy:prod", "--as", "ann", exit=0)["token"]
    assert deploy(pushed, "--verify", "true", *DONE)["token"] == token
    assert pushed.held() == [("ann", "deploy:prod")]


def test_a_second_deploy_of_the_same_agent_waits_for_nobody_and_is_refused(pushed: Repository) -> None:
    fifo = pushed.folder.parent / "fifo"
    os.mkfifo(fifo)
    words = [
        DIBS,
        "deploy",
        "prod",
        "--as",
        "ann",
        "--unverified",
        "--",
        "sh",
        "-c",
        f"echo up > {fifo}; read x < {fifo}",
    ]
    with subprocess.Popen(words, cwd=pushed.folder, env=pushed.environment) as first:
        assert fifo.read_text() == "up\n"  # it runs
        error = deploy(pushed, "--unverified", *DONE, exit=1)["error"]
        assert (error["code"], error["blockers"][0]["agent"]) == ("held", "ann")
        fifo.write_text("go\n")
        assert first.wait(timeout=60) == 0
    assert not shipped(pushed)
    assert pushed.held() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_deploy_ends_its_command_and_is_recorded(pushed: Repository, number: signal.Signals) -> None:
    fifo = pushed.folder.parent / "fifo"
    os.mkfifo(fifo)
    line = f"trap 'echo got it > ../told; exit 9' INT TERM; echo up > {fifo}; while :; do read x < {fifo}; done"
    words = [DIBS, "deploy", "prod", "--as", "ann", "--unverified", "--json", "--", "bash", "-c", line]
    with subprocess.Popen(
        words, cwd=pushed.folder, env=pushed.environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert fifo.read_text() == "up\n"
        running.send_signal(number)
        answer = json.loads(running.communicate(timeout=60)[0])
    assert running.returncode == 1
    assert answer["error"]["result"] == "interrupted"
    assert (pushed.folder.parent / "told").read_text() == "got it\n"
    assert pushed.events("deploy.finished")[0]["data"]["result"] == "interrupted"
    assert pushed.held() == []


def test_a_command_whose_claim_is_lost_is_ended_and_that_is_reported(pushed: Repository) -> None:
    fifo = pushed.folder.parent / "fifo"
    os.mkfifo(fifo)
    line = f"echo $$ > ../pid; echo up > {fifo}; exec sleep 600"
    words = [DIBS, "deploy", "prod", "--as", "ann", "--unverified", "--json", "--", "sh", "-c", line]
    with subprocess.Popen(
        words, cwd=pushed.folder, env=pushed.environment, stdout=subprocess.PIPE, text=True
    ) as running:
        assert fifo.read_text() == "up\n"
        pushed.json("kill", "ann", "--why", "enough", "--as", "boss", exit=0)
        pushed.json("claim", "deploy:prod", "--as", "bob", exit=0)
        answer = json.loads(running.communicate(timeout=60)[0])
    assert running.returncode == 1
    assert answer["error"]["code"] in {"fenced", "killed"}
    assert not alive(int((pushed.folder.parent / "pid").read_text()))
    assert pushed.held() == [("bob", "deploy:prod")]


def test_the_command_dies_with_the_deploy_that_was_killed(pushed: Repository) -> None:
    fifo = pushed.folder.parent / "fifo"
    os.mkfifo(fifo)
    line = f"sleep 600 & echo $! > ../pid; echo up > {fifo}; wait"
    words = [DIBS, "deploy", "prod", "--as", "ann", "--unverified", "--", "sh", "-c", line]
    with subprocess.Popen(words, cwd=pushed.folder, env=pushed.environment) as running:
        assert fifo.read_text() == "up\n"
        running.kill()
    pid = int((pushed.folder.parent / "pid").read_text())
    until(lambda: not alive(pid), "the end of what the command started")
    until(lambda: pushed.run("deploy", "prod", "--as", "ann", "--unverified", *DONE).returncode == 0, "the next deploy")


def test_a_command_that_outlived_its_deploy_keeps_the_next_one_away_by_its_pid(pushed: Repository) -> None:
    fifo = pushed.folder.parent / "fifo"
    os.mkfifo(fifo)
    line = f"echo $$ > ../pid; echo up > {fifo}; exec sleep 600"
    words = [DIBS, "deploy", "prod", "--as", "ann", "--unverified", "--", "sh", "-c", line]
    with subprocess.Popen(words, cwd=pushed.folder, env=pushed.environment) as running:
        assert fifo.read_text() == "up\n"
        pid = int((pushed.folder.parent / "pid").read_text())
        for keeper in keepers(running.pid):
            os.kill(keeper, signal.SIGKILL)  # so that nobody is left to end it
        running.kill()
    assert alive(pid)
    blocker = deploy(pushed, "--unverified", *DONE, exit=1)["error"]["blockers"][0]
    assert (blocker["pid"], f"pid {pid}" in blocker["reason"]) == (pid, True)
    assert not shipped(pushed)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), "its end")
    deploy(pushed, "--unverified", *DONE)


def keepers(owner: int) -> list[int]:
    """The keepers that a process started."""
    found = subprocess.run(["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()]
    return [int(pid) for pid, parent, words in rows if int(parent) == owner and "keeper.py" in words]


def test_what_a_good_deploy_leaves_running_goes_on_and_what_a_failed_one_leaves_does_not(pushed: Repository) -> None:
    service = "sleep 600 > /dev/null 2>&1 & echo $! > ../pid"
    deploy(pushed, "--unverified", "--", "sh", "-c", service)
    first = int((pushed.folder.parent / "pid").read_text())
    assert alive(first)
    os.kill(first, signal.SIGKILL)
    deploy(pushed, "--unverified", "--", "sh", "-c", f"{service}; exit 3", exit=1)
    second = int((pushed.folder.parent / "pid").read_text())
    until(lambda: not alive(second), "its end")


def test_a_copy_that_is_behind_is_refused_with_how_many_commits(pushed: Repository) -> None:
    ahead(pushed, 2)
    error = deploy(pushed, "--verify", "true", *DONE, exit=1)["error"]
    assert (error["code"], error["behind"], error["upstream"]) == ("behind", 2, "origin/main")
    assert "2 commits behind origin/main" in error["message"]
    assert not shipped(pushed)
    assert pushed.held() == []
    assert pushed.events("deploy.refused")[0]["data"]["code"] == "behind"
    pushed.git("pull", "-q", "--rebase")
    deploy(pushed, "--verify", "true", *DONE)


def test_uncommitted_changes_are_refused_unless_they_are_meant(pushed: Repository) -> None:
    pushed.write("untracked.py", "1\n")
    deploy(pushed, "--verify", "true", *DONE)
    pushed.write("README.md", "changed\n")
    error = deploy(pushed, "--verify", "true", *DONE, exit=1)["error"]
    assert (error["code"], error["paths"]) == ("conflict", ["README.md"])
    deploy(pushed, "--verify", "true", "--dirty", *DONE)


def test_uncommitted_changes_of_another_are_named_with_their_holder_and_are_not_to_be_committed(
    pushed: Repository,
) -> None:
    pushed.write("README.md", "changed by bob\n")
    pushed.json("claim", "README.md", "--as", "bob", exit=0)
    message = deploy(pushed, "--verify", "true", *DONE, exit=1)["error"]["message"]
    assert "README.md (bob is at work on it)" in message
    assert "Commit" not in message
    pushed.json("release", "README.md", "--as", "bob", exit=0)
    assert "Commit them" in deploy(pushed, "--verify", "true", *DONE, exit=1)["error"]["message"]


def test_placeholders_added_since_the_last_good_deploy_are_refused(pushed: Repository) -> None:
    commit(pushed, "old.py", "# TODO: old\n")
    deploy(pushed, "--verify", "true", *DONE)  # the first time there is nothing to compare with
    commit(pushed, "page.html", "TODOS and MASTODON\nfine\nSee you, COMING SOON!\n")
    error = deploy(pushed, "--verify", "true", *DONE, exit=1)["error"]
    assert error["code"] == "forbidden"
    assert error["placeholders"] == [{"path": "page.html", "line": 3, "text": "See you, COMING SOON!"}]
    commit(pushed, "page.html", "a todo list\n")
    deploy(pushed, "--verify", "true", *DONE)


def test_where_the_config_says_what_ships_all_of_it_is_searched_and_nothing_else(pushed: Repository) -> None:
    pushed.write("notes.txt", "TODO\n")
    pushed.write("site/deep/page.html", "fine\nTBD\n")
    (pushed.folder / "site" / "image.bin").write_bytes(b"\0TODO\n")
    pushed.git("add", "-A")
    pushed.git("commit", "-q", "-m", "site")
    configure(pushed, '\n[deploy.targets.prod]\nverify = "true"\nships = ["site/**"]\n')
    error = deploy(pushed, *DONE, exit=1)["error"]
    assert [(place["path"], place["line"]) for place in error["placeholders"]] == [("site/deep/page.html", 2)]
    commit(pushed, "site/deep/page.html", "fine\n")
    assert deploy(pushed, *DONE)["verified"] is True  # and the config's own verification was run


def test_a_targets_branch_is_what_it_is_compared_with(pushed: Repository) -> None:
    configure(pushed, '\n[deploy.targets.prod]\nverify = "true"\nbranch = "main"\n')
    pushed.git("push", "-q", "origin", "main")
    pushed.git("checkout", "-q", "-b", "feature")
    ahead(pushed, 1)
    error = deploy(pushed, *DONE, exit=1)["error"]
    assert (error["code"], error["behind"], error["upstream"]) == ("behind", 1, "origin/main")


def test_a_worker_may_neither_deploy_nor_commit_nor_push(pushed: Repository) -> None:
    configure(pushed, '\n[roles.assign]\n"w*" = "worker"\n')
    done = pushed.run("deploy", "prod", "--as", "w1", "--json", "--unverified", *DONE)
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "forbidden")
    assert not shipped(pushed)
    assert pushed.held() == []
    assert "may not deploy" in pushed.git("push", "origin", "main", agent="w1", exit=1).stderr
    pushed.write("a.py", "1\n")
    pushed.git("add", "a.py")
    assert "may not commit" in pushed.git("commit", "-m", "a", agent="w1", exit=1).stderr
    pushed.git("commit", "-q", "-m", "a", agent="boss")


def test_a_remote_that_does_not_answer_is_a_doubt(pushed: Repository) -> None:
    (pushed.folder.parent / "remote.git").rename(pushed.folder.parent / "moved.git")
    assert deploy(pushed, "--verify", "true", *DONE, exit=2)["error"]["code"] == "unavailable"
    assert not shipped(pushed)
    assert pushed.held() == []
    assert pushed.json("sync-check", exit=2)["error"]["code"] == "unavailable"


def test_outside_git_nothing_can_be_compared_and_with_unsynced_a_deploy_is_claimed_and_verified(tmp_path: Path) -> None:
    place = Repository(tmp_path / "plain")
    place.folder.mkdir()
    place.json("init", exit=0)
    assert "not a git repository" in deploy(place, "--verify", "true", *DONE, exit=2)["error"]["why"]
    assert not shipped(place)
    found = deploy(place, "--unsynced", "--verify", "test -f ../shipped", *DONE)
    assert (found["verified"], found["behind"], found["unsynced"]) == (True, None, True)
    assert "not a git repository" in place.json("sync-check", exit=2)["error"]["why"]


# --- the default branch counts, from wherever


def stale_feature(repo: Repository) -> None:
    """A feature branch that is pushed and followed, while main went on by two commits."""
    repo.git("switch", "-q", "-c", "feature")
    commit(repo, "feature.py", "1\n")
    repo.git("push", "-q", "-u", "origin", "feature")
    ahead(repo, 2)


def test_a_feature_branch_that_is_behind_main_is_not_deployed_but_may_be_pushed(pushed: Repository) -> None:
    stale_feature(pushed)
    error = deploy(pushed, "--verify", "true", *DONE, exit=1)["error"]
    facts = {name: error[name] for name in ("code", "target", "branch", "behind", "upstream")}
    assert facts == {"code": "behind", "target": "prod", "branch": "feature", "behind": 2, "upstream": "origin/main"}
    assert error["commit"] == pushed.log("--format=%H")
    assert "git pull --rebase origin main" in error["message"]
    assert not shipped(pushed)
    commit(pushed, "more.py", "1\n")
    pushed.git("push", "-q", "origin", "feature", agent="bob")  # ordinary work
    pushed.git("pull", "-q", "--rebase", "origin", "main")
    assert deploy(pushed, "--verify", "true", *DONE)["behind"] == 0


def test_unsynced_does_not_excuse_a_copy_that_is_known_to_be_stale(pushed: Repository) -> None:
    ahead(pushed, 1)
    assert deploy(pushed, "--unsynced", "--verify", "true", *DONE, exit=1)["error"]["code"] == "behind"
    assert not shipped(pushed)


def test_the_last_good_deploy_is_rolled_back_only_on_purpose_and_the_log_has_it(pushed: Repository) -> None:
    commit(pushed, "new.py", "1\n")
    good = deploy(pushed, "--verify", "true", *DONE)["commit"]
    pushed.git("checkout", "-q", "--detach", "HEAD~1")  # it has all of origin/main, and not what was deployed
    (pushed.folder.parent / "shipped").unlink()
    error = deploy(pushed, "--verify", "true", *DONE, exit=1)["error"]
    assert (error["code"], error["target"], error["deployed"]["commit"]) == ("behind", "prod", good)
    assert "--rollback" in error["message"]
    assert not shipped(pushed)
    found = deploy(pushed, "--rollback", "--verify", "true", *DONE)
    assert (found["rollback"], shipped(pushed)) == (True, True)
    started, finished = pushed.events("deploy.started")[-1], pushed.events("deploy.finished")[-1]
    assert (started["data"]["rollback"], finished["data"]["rollback"]) == (True, True)
    log = pushed.run("log", "--raw").stdout
    assert len([line for line in log.splitlines() if "rollback=True" in line]) == len((started, finished))
    said = pushed.run("deploy", "prod", "--rollback", "--verify", "true", *DONE).stdout
    assert said.endswith(", verified, as a rollback\n")
    pushed.git("checkout", "-q", "main")
    deploy(pushed, "--verify", "true", *DONE)  # forward again, over the rollback
    pushed.json("verify", exit=0)


def test_what_cannot_be_compared_is_deployed_only_if_told_and_the_log_has_it(pushed: Repository) -> None:
    (pushed.folder.parent / "remote.git").rename(pushed.folder.parent / "moved.git")
    error = deploy(pushed, "--verify", "true", *DONE, exit=2)["error"]
    assert (error["code"], error["behind"], error["target"]) == ("unavailable", None, "prod")
    assert "--unsynced" in error["message"]
    assert not shipped(pushed)
    assert deploy(pushed, "--unsynced", "--verify", "true", *DONE)["unsynced"] is True
    assert pushed.events("deploy.refused")[-1]["data"]["code"] == "unavailable"
    assert pushed.events("deploy.finished")[-1]["data"]["unsynced"] is True


def test_a_protected_branch_takes_no_push_that_lacks_something_of_the_default_branch(pushed: Repository) -> None:
    configure(pushed, '\n[deploy]\nprotected = ["main", "live"]\n')
    pushed.git("push", "-q", "origin", "main", "main:live", agent="bob")
    stale_feature(pushed)
    done = pushed.git("push", "origin", "feature:live", agent="bob", exit=1)
    assert "live is 2 commits behind origin/main" in done.stderr
    pushed.git("pull", "-q", "--rebase", "origin", "main")
    pushed.git("push", "-q", "origin", "feature:live", agent="bob")


def test_a_first_push_to_an_empty_remote_passes(repo: Repository) -> None:
    remote = repo.folder.parent / "remote.git"
    repo.git("init", "-q", "--bare", "-b", "trunk", str(remote))
    repo.git("branch", "-M", "main")
    repo.git("remote", "add", "origin", str(remote))
    repo.git("push", "-q", "origin", "main:draft", agent="bob")
    repo.git("push", "-q", "origin", "main", agent="bob")
    there = repo.git("ls-remote", "--heads", "origin").stdout
    assert [line.split("/")[-1] for line in there.splitlines()] == ["draft", "main"]


def test_a_rollback_by_push_runs_under_a_deploy_that_is_called_one(pushed: Repository) -> None:
    commit(pushed, "new.py", "1\n")
    pushed.git("push", "-q", "origin", "main")
    push = ("--", "git", "push", "-q", "-f", "origin", "HEAD~1:main")
    assert deploy(pushed, "--unverified", *push, exit=1)["error"]["code"] == "failed"
    deploy(pushed, "--unverified", "--rollback", *push)
    assert (
        pushed.git("ls-remote", "origin", "main").stdout.split()[0] == pushed.git("rev-parse", "HEAD~1").stdout.strip()
    )


# --- sync-check


def test_sync_check_tells_behind_ahead_and_what_it_compared(pushed: Repository) -> None:
    found = pushed.json("sync-check", exit=0)
    assert (found["branch"], found["behind"], found["ahead"], found["upstream"]) == ("main", 0, 0, "origin/main")
    commit(pushed, "mine.py", "1\n")
    assert pushed.json("sync-check", exit=0)["ahead"] == 1
    ahead(pushed, 3)
    error = pushed.json("sync-check", exit=1)["error"]
    assert (error["code"], error["behind"], error["ahead"]) == ("behind", 3, 1)
    assert "3 commits behind" in pushed.run("sync-check").stderr
    linked = pushed.folder.parent / "linked"
    pushed.git("worktree", "add", "-q", "--detach", str(linked), "origin/main")
    found = pushed.json("sync-check", exit=0, cwd=linked)
    assert (found["branch"], found["behind"], found["upstream"], found["target"]) == ("", 0, "origin/main", "")


def test_sync_check_without_anything_to_compare_with_is_no_yes_unless_told(repo: Repository) -> None:
    error = repo.json("sync-check", exit=2)["error"]
    assert (error["code"], error["behind"], error["why"]) == ("unavailable", None, "there is no remote to compare with")
    assert repo.json("sync-check", "--unsynced", exit=0)["behind"] is None
    assert "not compared: there is no remote" in repo.run("sync-check", "--unsynced").stdout
    assert repo.json("sync-check", "--remote", "nowhere", exit=64)["error"]["code"] == "invalid"


def test_sync_check_from_a_branch_that_the_remote_does_not_have_compares_with_main(pushed: Repository) -> None:
    pushed.git("checkout", "-q", "-b", "fresh")
    assert pushed.json("sync-check", exit=0)["upstream"] == "origin/main"
    assert "origin has no branch gone" in pushed.json("sync-check", "--branch", "gone", exit=2)["error"]["why"]
