"""Lock files that a killed git left: the lander continues where they are its own, else it names them and keeps all."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import dibs
from dibs.errors import Unavailable
from dibs.git import locks
from dibs.land import target as landing_target
from dibs.land.lander import Lander
from dibs.machine import clock
from dibs.stores.seam import digest_of
from tests.land.landing_repo import LandingRepo
from tests.scratch import DIBS
from tests.waiting import until

SHARED = ("index.lock", "HEAD.lock", "refs/heads/main.lock", "refs/dibs/land/main.lock")
HARMLESS = ("packed-refs.lock", "config.lock", "worktrees/tree-a/index.lock", "refs/heads/a.lock")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LandingRepo:
    monkeypatch.setattr(landing_target, "LOCK_TIMEOUT_S", 0.0)
    found = LandingRepo(tmp_path / "repo")
    found.line("a", 5, "five of a")
    found.queue("a")
    return found


def land(repo: LandingRepo) -> int:
    """Land the queue by a lander of this process."""
    ws = dibs.Workspace(str(repo.folder), "ann")
    lander = Lander(ws.session, ws.caller())
    lander.take()
    try:
        return lander.run(lambda: False)
    finally:
        lander.leave()


def plant(repo: LandingRepo, name: str) -> Path:
    lock = repo.folder / ".git" / name
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    return lock


@pytest.mark.parametrize("name", SHARED)
def test_a_lock_file_that_stays_is_named_with_what_to_do_and_everything_stays_queued(
    repo: LandingRepo, name: str
) -> None:
    lock, before = plant(repo, name), repo.main()
    for _ in range(2):
        with pytest.raises(Unavailable) as caught:
            land(repo)
        assert caught.value.fields["lock"] == str(lock)
        assert re.search(rf"{re.escape(str(lock))}, \d+s old\. No process has it open", caught.value.message)
        assert caught.value.message.endswith(f"Remove it: `rm {lock}`.")
    assert (repo.states(), repo.main()) == ({"a": "queued"}, before)
    (told,) = repo.told("ag-a")  # once, however often it is tried
    assert "stays queued" in told
    assert str(lock) in told
    assert f"a lock file of git is in the way: {lock}" in repo.run("land", "--status").stdout
    assert "nothing lands now" in repo.run("status").stdout
    lock.unlink()
    assert land(repo) == 1
    assert repo.json("landings", exit=0)["stopped"] is None
    repo.clean()


def test_lock_files_that_concern_nobody_here_do_not_stop_a_landing(repo: LandingRepo) -> None:
    for name in HARMLESS:
        plant(repo, name)
    assert land(repo) == 1


def test_a_lock_file_of_a_git_at_work_is_waited_for(repo: LandingRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = plant(repo, "index.lock")
    monkeypatch.setattr(landing_target, "LOCK_TIMEOUT_S", 600.0)
    monkeypatch.setattr(clock, "sleep", lambda _: lock.unlink(missing_ok=True))  # the other git has ended meanwhile
    assert land(repo) == 1
    repo.clean()


def test_a_process_that_has_the_lock_file_open_and_a_git_that_runs_here_are_named(repo: LandingRepo) -> None:
    lock = plant(repo, "index.lock")
    with lock.open() as opened:
        process = subprocess.Popen(["sleep", "600"], stdin=opened)
    try:
        until(lambda: Path(f"/proc/{process.pid}/cmdline").read_bytes())  # for a moment of its start it has none
        said = locks.describe(str(lock), [str(repo.folder)])
        assert f"`sleep 600` (pid {process.pid}) has open. Wait" in said
        assert "rm " not in said
    finally:
        process.kill()
        process.wait()
    git = subprocess.Popen(["git", "cat-file", "--batch"], cwd=repo.folder, stdin=subprocess.PIPE)
    try:
        until(lambda: f"(pid {git.pid}) runs in this repository" in locks.describe(str(lock), [str(repo.folder)]))
    finally:
        git.communicate()
    lock.unlink()
    assert "gone now" in locks.describe(str(lock), [])


def test_a_worktree_of_main_that_a_lock_file_kept_behind_is_brought_along_by_the_next_lander(repo: LandingRepo) -> None:
    lock = repo.folder / ".git" / "index.lock"
    hooks = repo.folder.parent / "hooks"
    hooks.mkdir()
    hook = hooks / "reference-transaction"  # right after main has moved
    hook.write_text(f'#!/bin/sh\nif [ "$1" = committed ] && grep -q refs/heads/main$; then touch {lock}; fi\n')
    hook.chmod(0o755)
    repo.git("config", "core.hooksPath", str(hooks))
    assert land(repo) == 1
    assert repo.states() == {"a": "landed"}
    (told,) = repo.told("ag-a")
    assert "landed on main" in told
    assert f"{repo.folder} has main checked out and could not follow it" in told
    assert str(lock) in told
    assert "five of a" not in (repo.folder / "base.txt").read_text()
    hook.unlink()
    lock.unlink()
    (repo.folder / "mine.txt").write_text("mine\n")
    assert land(repo) == 0
    assert "five of a" in (repo.folder / "base.txt").read_text()
    assert (repo.folder / "mine.txt").read_text() == "mine\n"
    repo.clean()


def test_lock_files_in_the_clean_worktree_of_a_dead_lander_do_not_stop_the_next_one(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    check = f"test -e {begun} || {{ touch {begun}; exec sleep 600; }}"
    repo = LandingRepo(tmp_path / "repo", check=check)
    repo.change("a", a="1\n")
    process = subprocess.Popen([DIBS, "land", "a"], cwd=repo.folder, env=repo.environment, stderr=subprocess.DEVNULL)
    until(begun.exists)
    process.kill()
    process.wait()
    admin = repo.folder / ".git" / "worktrees"
    (own,) = [one for one in admin.iterdir() if (one / "locked").exists()]
    for name in ("index.lock", "HEAD.lock", "gitdir.lock"):
        (own / name).touch()
    unborn = admin / "unborn"  # git was killed while it made one
    unborn.mkdir()
    (unborn / "locked").write_text((own / "locked").read_text())
    assert repo.land("--all")["landed"] == 1
    assert [one.name for one in admin.iterdir()] == ["tree-a"]
    repo.clean()


def with_remote(folder: Path) -> tuple[LandingRepo, Path]:
    """A repository that lands on a remote, and the remote."""
    repo = LandingRepo(folder / "repo", 'remote = "origin"')
    there = folder / "there.git"
    repo.git("init", "-q", "--bare", "-b", "main", str(there))
    repo.git("remote", "add", "origin", str(there))
    repo.git("push", "-q", "origin", "main")
    return repo, there


def behind_remote(folder: Path) -> LandingRepo:
    """A repository with a branch to land, whose remote has a commit that it has to fetch first."""
    repo, there = with_remote(folder)
    repo.change("a", a="1\n")
    repo.git("clone", "-q", str(there), str(folder / "clone"))
    repo.git("commit", "-q", "--allow-empty", "-m", "from elsewhere", cwd=folder / "clone")
    repo.git("push", "-q", "origin", "HEAD:main", cwd=folder / "clone")
    return repo


@pytest.mark.parametrize(
    ("target", "minutes", "landed"), [("main", 0, 1), ("other", 0, 0), ("other", 11, 1)],
    ids=["of this target", "of another that may live", "of another that is dead"],
)  # fmt: skip
def test_a_tree_that_a_killed_git_had_half_made_does_not_stop_the_next_fetch(
    target: str, minutes: int, landed: int, tmp_path: Path
) -> None:
    """Git writes a HEAD of zeros first, and the commit a moment later; a fetch and a gc trip over that HEAD."""
    repo = behind_remote(tmp_path)
    half = tmp_path / "dibs-land-x" / "repo"
    repo.git("worktree", "add", "-q", "--detach", "--lock", "--reason", f"dibs land: {target}, turn 1", str(half))
    (repo.folder / ".git/worktrees/repo/HEAD").write_text("0" * 40 + "\n")
    made = half.joinpath(".git").stat().st_mtime - 60 * minutes
    os.utime(half / ".git", (made, made))
    assert "bad object worktrees/repo/HEAD" in repo.run("land", "a").stderr or landed
    assert repo.states() == {"a": "landed" if landed else "queued"}
    assert half.exists() is not bool(landed)


def beginning(repo: LandingRepo) -> str:
    """How the folders of this target's landers begin."""
    return f"dibs-land-{digest_of(f'{repo.folder}/.git main')[:10]}-"


@pytest.mark.parametrize(
    "killed",
    [
        "before the reason was written", "before git knew the place", "with a HEAD of zeros", "without a HEAD",
        "when it was unlocked", "when its folder was gone", "when its folder and lock were gone",
    ],
)  # fmt: skip
def test_a_tree_of_a_lander_that_was_killed_at_any_point_does_not_stop_the_next_fetch(
    killed: str, tmp_path: Path
) -> None:
    """Also one killed while it removed what an earlier one had left: the lock goes first, then the tree."""
    repo = behind_remote(tmp_path)
    repo.environment["TMPDIR"] = str(tmp_path)  # where landers make them
    half = tmp_path / f"{beginning(repo)}x" / "repo"
    repo.git("worktree", "add", "-q", "--detach", "--lock", "--reason", "dibs land: main, turn 1", str(half))
    admin = repo.folder / ".git/worktrees/repo"
    (admin / "HEAD").write_text("0" * 40 + "\n")
    if killed == "before the reason was written":
        (admin / "locked").write_text("")
    elif killed == "before git knew the place":
        (admin / "gitdir").write_text("")
    elif killed == "without a HEAD":
        (admin / "HEAD").unlink()
    elif "lock" in killed:
        (admin / "locked").unlink()
    if "gone" in killed:
        shutil.rmtree(half.parent)
    said = repo.run("land", "a").stderr
    assert repo.states() == {"a": "landed"}, said
    assert [one.name for one in (repo.folder / ".git/worktrees").iterdir()] == ["tree-a"]
    assert not half.parent.exists()


def test_a_git_that_outlives_its_lander_for_a_moment_does_not_stop_the_next_fetch(tmp_path: Path) -> None:
    """The tree that it makes is there only after the next lander has looked for such trees."""
    repo = behind_remote(tmp_path)
    shims, half = tmp_path / "shims", tmp_path / f"{beginning(repo)}x" / "repo"
    shims.mkdir()
    add = f"worktree add -q --detach --lock --reason 'dibs land: main, turn 1' {half}"
    (shims / "git").write_text(
        "#!/bin/sh\n"
        f'case " $* " in *" fetch "*) if [ ! -e {tmp_path}/made ]; then touch {tmp_path}/made\n'
        f"{shutil.which('git')} -C {repo.folder} {add} && echo {'0' * 40} > {repo.folder}/.git/worktrees/repo/HEAD\n"
        f'fi;; esac\nexec {shutil.which("git")} "$@"\n'
    )
    (shims / "git").chmod(0o755)
    env = {**repo.environment, "PATH": f"{shims}:{repo.environment['PATH']}"}
    done = subprocess.run([DIBS, "land", "a"], cwd=repo.folder, env=env, capture_output=True, text=True, check=False)
    assert (tmp_path / "made").exists()
    assert (done.returncode, repo.states()) == (0, {"a": "landed"}), done.stderr
    assert not half.exists()


def test_a_lock_file_in_the_remote_leaves_the_queue_and_says_which(tmp_path: Path) -> None:
    repo, there = with_remote(tmp_path)
    repo.change("a", a="1\n")
    (there / "refs/heads/main.lock").touch()
    before = repo.main()
    error = repo.land("a", exit=1)["error"]
    assert "refs/heads/main.lock" in error["message"]
    assert (repo.main(), repo.states()) == (before, {"a": "queued"})
    (there / "refs/heads/main.lock").unlink()
    assert repo.land("--all")["landed"] == 1
    assert repo.git("rev-parse", "main", cwd=there) == repo.main()


def test_git_s_message_names_the_lock_file_and_a_system_without_proc_says_what_to_look_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "HAS_PROC", False)  # as on macOS
    lock = tmp_path / "a b.lock"
    lock.touch()
    assert f"left from one that was killed: `rm '{lock}'`." in locks.describe(str(lock), [])
    said = f"fatal: Unable to create '{lock}': File exists.\n\nAnother git process seems to be running"
    assert locks.named(said, "/") == str(lock)
    assert locks.named("fatal: cannot lock ref 'HEAD': is at 1 but expected 2", "/") == ""
