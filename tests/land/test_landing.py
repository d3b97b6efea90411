"""`dibs land` in real repositories: what lands, what is refused, and that main is never anything else."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import dibs
from dibs.errors import Fenced, Held
from dibs.land import target as landing_target
from dibs.land.lander import Lander
from dibs.land.target import Target
from tests.interfaces.worker_processes import alive
from tests.land.landing_repo import CHECK, LandingRepo
from tests.scratch import DIBS
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> LandingRepo:
    return LandingRepo(tmp_path / "repo")


def lander_of(repo: LandingRepo, agent: str) -> Lander:
    """A lander in this process."""
    ws = dibs.Workspace(str(repo.folder), agent)
    return Lander(ws.session, ws.caller())


def target_of(repo: LandingRepo, turn: int, token: int) -> Target:
    """Main, as a lander sees it."""
    return Target(str(repo.folder), str(repo.folder / ".git"), "main", turn, token)


def test_a_branch_lands_as_a_merge_that_says_who_and_main_s_worktree_follows(repo: LandingRepo) -> None:
    tip = repo.change("a", a="1\n")
    found = repo.land(agent="ann", cwd=repo.tree("a"))["landing"]
    assert (found["state"], found["landed"]) == ("landed", repo.main())
    message = repo.git("log", "-1", "--format=%B", "main")
    assert message.startswith("Land a\n")
    assert {"Dibs-Agent: ann", f"Dibs-Token: land:main={found['token']}"} <= set(message.splitlines())
    assert repo.git("rev-parse", "main^2") == repo.git("rev-parse", "a") == tip
    assert (repo.folder / "a.txt").read_text() == "1\n"
    assert "landed on main" in repo.told("ann")[0]
    assert "dibs land: a" in repo.git("reflog", "-1", "main")
    repo.clean()
    assert repo.land("a", agent="ann")["landing"]["landed"] == repo.main()  # it is there: nothing to do


def test_a_conflict_is_refused_with_its_files_and_the_branch_is_untouched(repo: LandingRepo) -> None:
    repo.line("a", 5, "five of a")
    tip = repo.line("b", 5, "five of b")
    repo.land("a")
    before = repo.main()
    found = repo.land("b", agent="bob", exit=1)["landing"]
    assert (found["code"], found["paths"]) == ("conflict", ["base.txt"])
    assert (repo.main(), repo.git("rev-parse", "b")) == (before, tip)
    assert "base.txt" in repo.told("bob")[0]
    repo.clean()


def test_a_failed_check_is_refused_with_the_end_of_its_output(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo", check="echo looking; ! test -e bad.txt")
    repo.change("a", bad="1\n")
    before = repo.main()
    found = repo.land("a", agent="ann", exit=1)["landing"]
    assert (found["code"], found["output"]) == ("check", "looking")
    assert Path(found["log"]).read_text() == "looking\n"
    assert "looking" in repo.told("ann")[0]
    assert repo.main() == before
    repo.clean()


def test_a_branch_does_not_choose_the_check_by_which_it_lands(repo: LandingRepo) -> None:
    tree = repo.tree("a")
    config = tree / ".dibs" / "config.toml"
    text = config.read_text().replace(json.dumps(CHECK), '"true"')
    repo.commit_files("my own check", {".dibs/config.toml": text, "a.txt": "broken\n"}, tree)
    before = repo.main()
    assert repo.land(exit=1, cwd=tree)["landing"]["code"] == "check"
    assert repo.main() == before


def test_the_check_sees_exactly_the_commit_in_a_working_tree_of_its_own(tmp_path: Path) -> None:
    check = 'test "$(git rev-parse HEAD)" = "$DIBS_COMMIT" && test ! -e made && touch made && git status --short'
    repo = LandingRepo(tmp_path / "repo", check=check)
    (repo.folder / "untracked").write_text("no part of it")
    for branch in ("a", "b"):
        repo.change(branch, **{branch: "1\n"})
        repo.land(branch)
    repo.clean()


def test_the_check_calls_dibs_with_the_rank_of_the_branch_s_agent_whoever_lands(tmp_path: Path) -> None:
    told = tmp_path / "told"
    asks = f"cd {tmp_path}/repo; dibs whoami --json > {told}; dibs token new --person evil --json >> {told}; "
    asks += f"dibs --as me kill x --why y --json >> {told}; true"
    repo = LandingRepo(tmp_path / "repo", check=asks)
    repo.change("a", a="1\n")
    repo.queue("a")
    assert repo.land("--all")["landed"] == 1
    who, made, spoke = [json.loads(line) for line in told.read_text().splitlines()]
    assert who["agent"] == "ag-a/check"
    assert [made["error"]["code"], spoke["error"]["code"]] == ["forbidden", "forbidden"]
    assert made["error"]["role"] == "agent"


def test_a_batch_is_one_check_and_each_commit_of_main_has_passed_it(tmp_path: Path) -> None:
    counted = tmp_path / "count"
    repo = LandingRepo(tmp_path / "repo", check=f"echo >> {counted}; ! grep -rqx broken --include=*.txt .")
    for name in "abc":
        repo.change(name, **{name: "1\n"})
    repo.change("breaks", x="broken\n")
    repo.commit_files("mends", {"x.txt": "fine\n"}, repo.tree("breaks"))
    before = len(repo.line_of_main())
    repo.queue("a", "breaks", "b", "c")
    assert repo.land("--all")["landed"] == 4
    assert counted.read_text().count("\n") == 1
    line = repo.line_of_main()
    assert len(line) == before + 1
    assert all(repo.is_green(commit) for commit in line)
    assert set(repo.states().values()) == {"landed"}
    repo.clean()


def test_a_failing_batch_is_bisected_and_only_the_culprit_is_refused(tmp_path: Path) -> None:
    counted = tmp_path / "count"
    repo = LandingRepo(tmp_path / "repo", "batch = 8", check=f"echo >> {counted}; ! test -e bad.txt")
    for name in "abcdefg":
        repo.change(name, **{"bad" if name == "c" else name: "1\n"})
    repo.queue(*"abcdefg")
    assert repo.land("--all")["landed"] == 6
    assert repo.states() == {**dict.fromkeys("abdefg", "landed"), "c": "refused"}
    assert counted.read_text().count("\n") <= 8  # one by one it would be seven and the base
    assert "did not land" in repo.told("ag-c")[0]
    repo.clean()


def test_a_branch_that_conflicts_only_with_another_one_of_the_batch_waits_for_its_outcome(repo: LandingRepo) -> None:
    repo.line("a", 5, "broken")  # fails the check
    repo.line("b", 5, "five of b")
    repo.line("c", 5, "five of c")
    repo.queue("a", "b", "c")
    repo.land("--all")
    assert repo.states() == {"a": "refused", "b": "landed", "c": "refused"}
    assert "conflicts with main" in repo.told("ag-c")[0]
    repo.clean()


def test_where_main_itself_fails_the_check_nobody_is_blamed(repo: LandingRepo) -> None:
    repo.commit_files("by hand", {"x.txt": "broken\n"}, repo.folder)
    repo.change("a", a="1\n")
    before = repo.main()
    found = repo.land("a", exit=1)["error"]
    assert "main itself fails" in found["message"]
    assert (repo.states(), repo.main()) == ({"a": "queued"}, before)
    repo.git("merge", "-q", "main", cwd=repo.tree("mends"))
    repo.commit_files("mends", {"x.txt": "fine\n"}, repo.tree("mends"))
    repo.land("mends", "--priority", "1")
    repo.land("--all")
    assert repo.states() == {"a": "landed", "mends": "landed"}


@pytest.mark.parametrize("method", ["rebase", "squash"])
def test_a_linear_history_keeps_its_authors_and_leaves_out_what_is_there(tmp_path: Path, method: str) -> None:
    repo = LandingRepo(tmp_path / "repo", f'method = "{method}"')
    repo.change("a", a="1\n")
    repo.git("-c", "user.name=x", "commit", "--amend", "-q", "--no-edit", "--author", "Ann <a@b>", cwd=repo.tree("a"))
    repo.change("b", b="1\n")
    repo.commit_files("two", {"c.txt": "2\n"}, repo.tree("b"))
    for branch in ("a", "b"):
        repo.land(branch)
    assert repo.git("rev-list", "--merges", "main") == ""
    assert "Ann" in repo.git("log", "--format=%an", "main").split()
    assert repo.git("rev-list", "--count", "main") == ("4" if method == "rebase" else "3")
    assert repo.git("log", "-1", "--format=%(trailers:key=Dibs-Landing)", "main").startswith("Dibs-Landing: ld")
    before = repo.main()
    assert repo.land("a", "--again")["landing"]["landed"] == before  # its content is there
    assert repo.main() == before
    repo.clean()


def test_every_commit_of_a_rebased_branch_is_checked_if_the_config_wants_that(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo", 'method = "rebase"', 'green = "every"')
    repo.change("a", a="1\n")
    repo.change("a", x="broken\n")
    repo.change("a", x="fine\n")
    why = repo.land("a", exit=1)["landing"]["why"]
    assert why.endswith("ended with exit code 1 at commit 2 of 3 of a.")
    repo.change("b", b="1\n")
    repo.change("b", b="2\n")
    repo.land("b")
    assert all(repo.is_green(commit) for commit in repo.line_of_main())
    assert repo.git("rev-list", "--count", "main") == "3"


@pytest.mark.parametrize("method", ["merge", "rebase"])
def test_landed_commits_are_signed_where_git_s_config_says_so(tmp_path: Path, method: str) -> None:
    repo = LandingRepo(tmp_path / "repo", f'method = "{method}"')
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    for name in "abc":
        repo.change(name, **{name: "1\n"})
    for name, value in (("commit.gpgsign", "true"), ("gpg.format", "ssh"), ("user.signingkey", f"{key}.pub")):
        repo.git("config", name, value)
    repo.queue("a", "b")
    assert repo.land("--all")["landed"] == 2
    for commit in repo.line_of_main()[:-1]:
        assert "BEGIN SSH SIGNATURE" in repo.git("cat-file", "commit", commit)
    key.unlink()
    before = repo.main()
    error = repo.land("c", exit=2)["error"]
    assert "cannot be signed" in error["message"]
    assert 'sign = "never"' in error["message"]
    assert (repo.main(), repo.states()["c"]) == (before, "queued")
    config = repo.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text() + 'sign = "never"\n')
    assert repo.land("--all")["landed"] == 1


@pytest.mark.parametrize("name", ["master", "trunk"])
def test_a_repository_without_a_main_branch_lands_on_the_one_it_has(tmp_path: Path, name: str) -> None:
    repo = LandingRepo(tmp_path / "repo")
    repo.change("a", a="1\n")
    repo.git("branch", "-m", "main", name)
    ws = dibs.Workspace(str(repo.folder), "ann")
    assert ws.land("a")["landing"]["onto"] == name  # and not only the command knows it
    assert f"1 queued to land on {name}" in repo.run("status").stdout
    assert repo.land("a")["landing"]["state"] == "landed"
    assert repo.git("log", "-1", "--format=%s", name) == "Land a"


def test_another_branch_can_be_landed_on_by_its_name(repo: LandingRepo) -> None:
    repo.git("branch", "release")
    repo.change("a", a="1\n")
    repo.change("b", b="1\n")
    before = repo.main()
    assert repo.land("a", "--onto", "release")["landing"]["state"] == "landed"
    assert repo.land("b", "--onto", "release", "--wait", "0")["place"] == 1
    assert repo.land("--all", "--onto", "release")["landed"] == 1
    assert repo.main() == before
    assert {"a.txt", "b.txt"} <= set(repo.git("ls-tree", "--name-only", "release").split())
    assert len(repo.json("landings", "--onto", "release", exit=0)["landings"]) == 2
    error = repo.land("a", "--onto", "nosuch", exit=64)["error"]
    assert "--onto" in error["message"]


def test_what_has_landed_is_not_queued_again_unless_main_was_reset(repo: LandingRepo) -> None:
    repo.change("a", a="1\n")
    before = repo.main()
    first = repo.land("a", agent="ann")["landing"]
    assert repo.land("a", agent="ann")["landing"]["id"] == first["id"]
    assert repo.land("a", "--wait", "0")["landing"]["state"] == "landed"
    assert len(repo.told("ann")) == 1
    repo.git("reset", "-q", "--hard", before)
    assert repo.land("a", agent="ann")["landing"]["id"] != first["id"]
    assert "a.txt" in repo.git("ls-tree", "--name-only", "main").split()


def test_a_worktree_of_main_that_was_deleted_by_hand_stops_nothing(repo: LandingRepo, tmp_path: Path) -> None:
    repo.git("switch", "-q", "-c", "elsewhere")
    gone = tmp_path / "gone"
    repo.git("worktree", "add", "-q", str(gone), "main")
    shutil.rmtree(gone)
    repo.change("a", a="1\n")
    assert repo.land("a")["landing"]["state"] == "landed"


def test_a_dirty_worktree_of_main_keeps_its_work_and_only_what_it_touches_is_refused(repo: LandingRepo) -> None:
    repo.line("a", 5, "five of a")
    repo.change("b", b="1\n")
    mine = (repo.folder / "base.txt").read_text() + "mine\n"
    (repo.folder / "base.txt").write_text(mine)
    found = repo.land("a", exit=1)["landing"]
    assert found["code"] == "tree"
    assert "base.txt" in found["why"]
    assert "stash" in found["why"]
    repo.land("b")
    assert (repo.folder / "base.txt").read_text() == mine
    assert (repo.folder / "b.txt").exists()
    (repo.folder / "c.txt").write_text("untracked and in the way")
    repo.change("c", c="1\n")
    assert repo.land("c", exit=1)["landing"]["code"] == "tree"


def test_main_that_a_person_moves_during_the_check_is_not_lost_and_the_landing_is_done_again(tmp_path: Path) -> None:
    hand = tmp_path / "by-hand.sh"
    check = f"test -e {tmp_path}/once || {{ touch {tmp_path}/once; sh {hand}; }}"
    repo = LandingRepo(tmp_path / "repo", check=check)
    git = f"git -C {repo.folder}"
    hand.write_text(f"echo 1 > {repo.folder}/hand.txt; {git} add hand.txt; {git} commit -q --no-verify -m 'by hand'\n")
    repo.change("a", a="1\n")
    repo.land("a")
    assert {"a.txt", "hand.txt"} <= set(repo.git("ls-tree", "--name-only", "main").split())
    assert repo.git("log", "-1", "--format=%s", "main^1") == "by hand"
    repo.clean()


def test_main_that_a_person_moves_right_before_the_move_stays(repo: LandingRepo) -> None:
    tip, before = repo.change("a", a="1\n"), repo.main()
    by_hand = repo.commit_files("by hand", {"hand.txt": "1\n"}, repo.folder)
    target = target_of(repo, 1, 10)
    target.fence(lambda: None)
    assert not target.move(before, tip, "late")
    assert repo.main() == by_hand


def test_two_landers_at_once_are_one_and_the_other_waits(repo: LandingRepo) -> None:
    for name in "ab":
        repo.change(name, **{name: "1\n"})
    repo.queue("a", "b")
    first = lander_of(repo, "ann")
    first.take()
    with pytest.raises(Held):
        lander_of(repo, "bob").take()
    assert repo.land("--all", exit=1)["error"]["code"] == "held"
    assert repo.land("a", "--wait", "300ms", exit=2)["landing"]["state"] == "queued"
    assert first.run(lambda: False) == 2
    first.leave()
    repo.clean()


def test_a_stale_lander_cannot_move_main_even_if_it_asks_git_alone(repo: LandingRepo) -> None:
    repo.change("a", a="1\n")
    before = repo.main()
    stale = target_of(repo, 1, 10)
    stale.fence(lambda: None)
    target_of(repo, 2, 20).fence(lambda: None)
    assert not stale.is_mine()
    assert not stale.move(before, repo.git("rev-parse", "a"), "late")
    assert repo.main() == before

    def lost() -> None:
        raise Fenced(resource="land:main", given=10, holder=None)

    with pytest.raises(Fenced):
        stale.fence(lost)


def test_a_push_goes_through_the_hook_and_a_moved_remote_is_merged_first(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo", 'remote = "origin"', hooks=True)
    there = tmp_path / "there.git"
    repo.git("init", "-q", "--bare", "-b", "main", str(there))
    repo.git("remote", "add", "origin", str(there))
    repo.git("push", "-q", "--no-verify", "origin", "main")
    other = tmp_path / "other"
    repo.git("clone", "-q", str(there), str(other))
    repo.commit_files("theirs", {"theirs.txt": "1\n"}, other)
    repo.git("push", "-q", "origin", "main", cwd=other)
    repo.change("a", a="1\n")
    repo.land("a", agent="ann")
    assert repo.git("rev-parse", "main", cwd=there) == repo.main()
    assert {"a.txt", "theirs.txt"} <= set(repo.git("ls-tree", "--name-only", "main").split())
    repo.clean()
    repo.json("claim", "deploy:main", "--as", "boss", "--reason", "freeze", exit=0)
    repo.change("b", b="1\n")
    before = repo.main()
    found = repo.land("b", agent="ann", exit=1)["error"]
    assert "freeze" in found["message"]
    assert (repo.main(), repo.git("rev-parse", "main", cwd=there)) == (before, before)
    assert repo.states()["b"] == "queued"


def test_a_remote_that_moves_during_the_check_is_merged_and_checked_again(tmp_path: Path) -> None:
    """Dibs' own hook before a push refuses then; that is no refusal of the landing."""
    moves = tmp_path / "moves.sh"
    check = f"test -e {tmp_path}/once || {{ touch {tmp_path}/once; sh {moves}; }}"
    repo = LandingRepo(tmp_path / "repo", 'remote = "origin"', check=check, hooks=True)
    there, other = tmp_path / "there.git", tmp_path / "other"
    repo.git("init", "-q", "--bare", "-b", "main", str(there))
    repo.git("remote", "add", "origin", str(there))
    repo.git("push", "-q", "--no-verify", "origin", "main")
    repo.git("clone", "-q", str(there), str(other))
    moves.write_text(f"cd {other}; echo 1 > theirs.txt; git add -A; git commit -q -m theirs; git push -q origin main\n")
    repo.change("a", a="1\n")
    assert repo.land("a")["landing"]["state"] == "landed"
    assert repo.git("rev-parse", "main", cwd=there) == repo.main()
    assert {"a.txt", "theirs.txt"} <= set(repo.git("ls-tree", "--name-only", "main").split())
    assert repo.git("log", "-1", "--format=%s", "main^1") == "theirs"


def test_a_remote_and_a_check_that_are_not_there_are_said_so(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo", 'remote = "nosuch"', check="no-such-program")
    repo.change("a", a="1\n")
    assert "there is no remote nosuch here" in repo.land("a", exit=64)["error"]["message"]
    config = repo.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text().replace('remote = "nosuch"', ""))
    said = repo.land("--all", exit=1)["error"]["message"]
    assert "exit code 127: the shell did not find it" in said
    assert "no-such-program: not found" in said
    assert repo.states() == {"a": "queued"}


def test_a_remote_that_refuses_leaves_main_and_the_queue_as_they_were(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo", 'remote = "origin"')
    there = tmp_path / "there.git"
    repo.git("init", "-q", "--bare", "-b", "main", str(there))
    repo.git("remote", "add", "origin", str(there))
    repo.git("push", "-q", "origin", "main")
    hook = there / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho not today; exit 1\n")
    hook.chmod(0o755)
    repo.change("a", a="1\n")
    before = repo.main()
    assert "not today" in repo.land("a", exit=1)["error"]["message"]
    assert (repo.main(), repo.states()) == (before, {"a": "queued"})
    hook.unlink()
    repo.land("--all")
    assert repo.states() == {"a": "landed"}


def test_what_a_dead_lander_left_is_settled_by_the_next_one(repo: LandingRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Death between the move and the record, and between the move and the worktree."""
    repo.line("a", 5, "five of a")
    repo.queue("a")
    lander = lander_of(repo, "ann")
    lander.take()

    def dies(*_: object) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(landing_target.Target, "bring_along", dies)
    with pytest.raises(KeyboardInterrupt):
        lander.run(lambda: False)
    monkeypatch.undo()
    lander.leave()
    assert repo.states() == {"a": "queued"}  # and main has it
    half = (repo.folder / "base.txt").read_text()
    assert "five of a" not in half
    (repo.folder / "base.txt").write_text(repo.git("show", "main:base.txt") + "\n")  # git was half way through
    assert repo.land("--all")["landed"] == 0
    assert repo.states() == {"a": "landed"}
    assert len(repo.told("ag-a")) == 1
    repo.clean()


def test_a_lander_that_watches_continues_when_what_stopped_it_is_over(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo")
    repo.commit_files("by hand", {"x.txt": "broken\n"}, repo.folder)
    repo.change("a", a="1\n")
    repo.queue("a")
    words = [DIBS, "land", "--watch"]
    process = subprocess.Popen(words, cwd=repo.folder, env=repo.environment, stderr=subprocess.PIPE)
    until(lambda: repo.told("ag-a"))
    repo.commit_files("mended", {"x.txt": "fine\n"}, repo.folder)
    until(lambda: repo.states() == {"a": "landed"})
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert said.count(b"main itself fails") == 1
    assert b"Traceback" not in said


def test_a_freeze_holds_the_queue_and_says_who(repo: LandingRepo) -> None:
    repo.change("a", a="1\n")
    repo.json("claim", "land:main", "--as", "boss", "--reason", "release", exit=0)
    assert repo.land("a", "--wait", "100ms", exit=2)["landing"]["state"] == "queued"
    assert "boss has land:main" in repo.run("land", "--status").stdout
    repo.json("release", "land:main", "--as", "boss", exit=0)
    repo.land("--all")
    assert repo.states() == {"a": "landed"}


def test_what_cannot_be_meant_is_said(repo: LandingRepo, tmp_path: Path) -> None:
    repo.change("a", a="1\n")
    repo.git("checkout", "-q", "--detach", cwd=repo.tree("a"))
    said = (("nosuch",), ("--all", "--status"), ("--all", "a"), ("--status", "a"), ())
    for words, cwd in (*[(words, repo.folder) for words in said], ((), repo.tree("a"))):
        assert repo.land(*words, cwd=cwd, exit=64)["error"]["code"] == "invalid"
    unchecked = LandingRepo(tmp_path / "unchecked" / "repo", check="")
    unchecked.change("a", a="1\n")
    assert "[land]" in unchecked.land("a", exit=64)["error"]["message"]
    assert unchecked.states() == {}, "a usage error queued the branch"
    assert repo.land("a", "--wait", "0")["place"] == 1
    assert repo.land("a", "--cancel")["landing"]["state"] == "cancelled"
    assert "queued to land" not in repo.run("status").stdout


def test_an_interrupted_lander_gives_back_its_claim_and_ends_its_check(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo", check=f"echo $$ > {tmp_path}/pid; exec sleep 600")
    repo.change("a", a="1\n")
    process = subprocess.Popen([DIBS, "land", "a"], cwd=repo.folder, env=repo.environment, stderr=subprocess.PIPE)
    pid = tmp_path / "pid"
    until(lambda: pid.exists() and pid.read_text().strip() != "")
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert b"Traceback" not in said
    until(lambda: not alive(int(pid.read_text())))
    assert repo.states() == {"a": "queued"}
    assert repo.json("status", exit=0)["claims"] == []
    repo.clean()


def test_an_interrupt_that_comes_too_late_is_told_what_became_of_it(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    hook = hooks / "reference-transaction"
    hook.write_text('#!/bin/sh\n[ "$1" != committed ] || ! grep -q refs/heads/main$ || kill -INT $LANDER\n')
    hook.chmod(0o755)
    repo.change("a", a="1\n")
    repo.git("config", "core.hooksPath", str(hooks))
    words = ["sh", "-c", f"LANDER=$$ exec {DIBS} land a --json"]
    done = subprocess.run(words, cwd=repo.folder, env=repo.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["landing"]["state"] == "landed"
    repo.clean()
