"""Facts by git, from real repositories: what is staged, changed, committed, followed; and what dibs keeps there."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from dibs.errors import Unavailable
from dibs.git import objects
from dibs.git import queries as git
from dibs.guards import git_scope
from dibs.machine.programs import run
from tests.interfaces.worker_processes import alive, number_in
from tests.waiting import LIMIT_S, in_time, until

if TYPE_CHECKING:
    from dibs.client.session import Session

ODD = ["with blank.py", "quote'\".py", "tab\there", "new\nline", "süß.py", "[id].tsx", "-dash"]


class Repo:
    """A repository with one commit, and git to go on with."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.top = folder, str(folder)
        folder.mkdir()
        self.git("init", "-q", "-b", "main", *options)
        self.git("config", "user.name", "T")
        self.git("config", "user.email", "t@example.org")
        self.write("a.py", "1\n")
        self.commit("first")

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, message: str = "x") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def test_the_blobs_of_more_files_than_a_command_line_takes_are_found(repo: Repo) -> None:
    paths = [*[f"{'x' * 200}{number}" for number in range(12_000)], "a.py"]
    assert git.blobs(repo.top, "HEAD", paths) == {"a.py": repo.git("rev-parse", "HEAD:a.py")}


def test_of_the_files_that_git_brings_back_only_the_first_are_looked_up(repo: Repo) -> None:
    look = git_scope.GitFootprint(cast("Session", None))
    look.top = repo.top
    look.undo(["a.py", *map(str, range(git_scope.MAX_FILES_NAMED))], "HEAD", "none")
    look.undo(["more"], "", "none")
    assert len(look.undone) == git_scope.MAX_FILES_NAMED
    assert look.undone[:2] == [(repo.top, "a.py", repo.git("rev-parse", "HEAD:a.py")), (repo.top, "0", "none")]


def test_staged_has_every_path_that_a_commit_would_change(repo: Repo) -> None:
    repo.write("gone.py", "to be deleted, and not alike\n")
    repo.write("old.py", "some text that git recognises again\n")
    repo.commit()
    repo.git("rm", "-q", "gone.py")
    repo.git("mv", "old.py", "src.py")
    for name in ODD:
        repo.write(name, name)
    repo.git("add", "-A")
    repo.write("a.py", "changed and not staged\n")
    assert sorted(git.staged(repo.top)) == sorted([*ODD, "gone.py", "old.py", "src.py"])


def test_staged_before_the_first_commit_and_from_another_index(tmp_path: Path, repo: Repo) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=fresh, check=True)
    (fresh / "a").write_text("1")
    subprocess.run(["git", "add", "a"], cwd=fresh, check=True)
    assert git.staged(str(fresh)) == ["a"]
    assert git.head(str(fresh)) == ""
    repo.write("b.py", "1\n")
    index = str(tmp_path / "index")
    environment = {**os.environ, "GIT_INDEX_FILE": index}
    subprocess.run(["git", "add", "b.py"], cwd=repo.folder, env=environment, check=True)
    assert "b.py" in git.staged(repo.top, index)
    assert git.staged(repo.top) == []


def test_what_a_hook_inherits_does_not_lead_astray(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Repo(tmp_path / "other").write("other.py", "1\n")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other" / ".git" / "index"))
    repo.write("mine.py", "1\n")
    assert [change.path for change in git.dirty(repo.top)] == ["mine.py"]


def test_dirty_tells_what_differs_where_and_takes_pathspecs_as_written_there(repo: Repo) -> None:
    repo.write("src/b.py", "1\n")
    repo.write("src/gone.py", "1\n")
    repo.write(".gitignore", "*.log\n")
    repo.commit()
    repo.write("a.py", "2\n")
    repo.git("add", "a.py")
    repo.write("a.py", "3\n")
    repo.write("src/b.py", "2\n")
    (repo.folder / "src" / "gone.py").unlink()
    repo.write("new/deep/c.py", "1\n")
    repo.write("x.log", "1\n")
    found = {change.path: change.staged + change.tree for change in git.dirty(repo.top)}
    assert found == {"a.py": "MM", "src/b.py": " M", "src/gone.py": " D", "new/deep/c.py": "??"}
    assert [c.path for c in git.dirty(repo.top) if c.untracked] == ["new/deep/c.py"]
    assert [c.path for c in git.dirty(f"{repo.top}/src", ["."])] == ["src/b.py", "src/gone.py"]
    assert [c.path for c in git.dirty(repo.top, ["*.py"], untracked=False)] == ["a.py", "src/b.py", "src/gone.py"]
    assert "x.log" in [c.path for c in git.dirty(repo.top, ignored=True)]
    assert git.is_ignored(repo.top, ["x.log", "a.py", "new/y.log"]) == {"x.log", "new/y.log"}
    assert git.tracked_matching(repo.top, ["src"]) == ["src/b.py", "src/gone.py"]
    assert git.tracked_matching(f"{repo.top}/src", ["*.py"]) == ["src/b.py", "src/gone.py"]


def test_a_look_leaves_the_index_as_it_is(repo: Repo) -> None:
    os.utime(repo.folder / "a.py", (1, 1))  # git would write the new time into the index, and lock it for that
    before = (repo.folder / ".git" / "index").stat().st_mtime_ns
    assert git.dirty(repo.top) == []
    assert (repo.folder / ".git" / "index").stat().st_mtime_ns == before


def test_a_commit_tells_its_paths_and_their_blobs_also_the_first_one_and_a_merge(repo: Repo) -> None:
    first = git.head(repo.top)
    assert git.commit_paths(repo.top, first) == {"a.py": repo.git("rev-parse", "HEAD:a.py")}
    repo.git("checkout", "-q", "-b", "side")
    repo.write("süß.py", "1\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.git("rm", "-q", "a.py")
    second = repo.commit()
    assert git.commit_paths(repo.top, "HEAD") == {"a.py": ""}
    repo.git("merge", "-q", "side", "-m", "m")
    assert list(git.commit_paths(repo.top, "HEAD")) == ["süß.py"]
    assert list(git.diff_paths(repo.top, first, second)) == ["a.py"]
    with pytest.raises(Unavailable):
        git.commit_paths(repo.top, "nothing")


def test_differing_goes_by_gits_filters(repo: Repo) -> None:
    repo.write(".gitattributes", "*.txt text eol=crlf\n")
    (repo.folder / "b.txt").write_bytes(b"1\r\n")
    repo.write("[id].tsx", "1\n")
    commit = repo.commit()
    os.utime(repo.folder / "b.txt", (1, 1))
    assert git.differing(repo.top, commit, ["a.py", "b.txt", "[id].tsx"]) == set()
    repo.write("[id].tsx", "2\n")
    assert git.differing(f"{repo.top}/.git/..", commit, ["a.py", "b.txt", "[id].tsx"]) == {"[id].tsx"}
    assert git.differing(repo.top, commit, []) == set()


def test_a_stash_tells_what_it_would_write(repo: Repo) -> None:
    assert git.stash_paths(repo.top) == []
    repo.write("a.py", "2\n")
    repo.write("new.py", "1\n")
    repo.git("stash", "-q", "-u")
    assert git.stash_paths(repo.top) == ["a.py", "new.py"]


def test_branch_upstream_and_how_far_behind(repo: Repo, tmp_path: Path) -> None:
    assert git.branch(repo.top) == "main"
    assert git.upstream(repo.top) is None
    assert git.remotes(repo.top) == []
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "clone", "-q", "--bare", repo.top, str(remote)], check=True)
    repo.git("remote", "add", "origin", str(remote))
    git.fetch(repo.top, "origin")
    repo.git("branch", "-q", "-u", "origin/main")
    follows = git.upstream(repo.top)
    assert follows is not None
    assert (follows.ref, follows.name) == ("refs/remotes/origin/main", "origin/main")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(remote), str(clone)], check=True)
    for number in range(2):
        words = [
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@example.org",
            "commit",
            "--allow-empty",
            "-q",
            "-m",
            str(number),
        ]
        subprocess.run(["git", *words], cwd=clone, check=True)
    subprocess.run(["git", "push", "-q"], cwd=clone, check=True)
    repo.write("b.py", "1\n")
    repo.commit()
    assert git.behind_ahead(repo.top, follows.ref) == (0, 1)
    git.fetch(repo.top, "origin")
    assert git.behind_ahead(repo.top, follows.ref) == (2, 1)
    assert not (repo.folder / ".git" / "FETCH_HEAD").exists()
    assert git.behind_ahead(repo.top, "refs/remotes/origin/none") is None
    repo.git("checkout", "-q", "--detach")
    assert (git.branch(repo.top), git.upstream(repo.top)) == ("", None)
    repo.git("remote", "set-url", "origin", str(tmp_path / "nowhere"))
    with pytest.raises(Unavailable):
        git.fetch(repo.top, "origin")


def test_a_process_tells_its_words() -> None:
    words = ["sh", "-c", "echo up; read x", "a word with blanks"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        assert git.command_of(child.pid) == words
        child.communicate(b"\n")
    assert git.command_of(child.pid) == []


# --- starting programs


def test_a_program_gets_much_and_says_much_on_both_sides() -> None:
    given = b"x" * 1_000_000
    done = run(["sh", "-c", "tee /dev/stderr"], env={"PATH": os.environ["PATH"]}, given=given)
    assert (done.code, done.out == given, done.err == given) == (0, True, True)
    assert run(["sh", "-c", "exec <&-; exit 3"], env=os.environ, given=given).code == 3
    assert run(["sh", "-c", "kill -9 $$"], env=os.environ).code == -9


def test_a_program_that_takes_too_long_ends_with_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    def play(timeout: float) -> None:
        with pytest.raises(Unavailable, match="took longer"):
            run(["sh", "-c", f"sleep 600 & echo $! > {pids}; wait"], env=os.environ, timeout=timeout)
        assert number_in(pids), "it came that far"

    in_time(play, life=0.5)
    until(lambda: not alive(number_in(pids)), "the end of the child")


def test_what_a_program_leaves_behind_does_not_keep_the_answer_back() -> None:
    begun = time.monotonic()
    done = run(["sh", "-c", "sleep 60 & echo $!"], env=os.environ, timeout=30)
    assert done.code == 0
    assert time.monotonic() - begun < LIMIT_S
    os.kill(int(done.out), 9)


def test_a_program_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="cannot be started"):
        run(["no-such-program-here"], env=os.environ)


# --- kept contents


@pytest.mark.parametrize("content", [b"", b"text\n", os.urandom(3_000_000)])
def test_a_content_has_the_id_that_git_gives_it(repo: Repo, content: bytes) -> None:
    path = repo.folder / "file"
    path.write_bytes(content)
    assert objects.blob_id(content) == repo.git("hash-object", "--no-filters", "file")


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_git_reads_what_is_kept_and_a_pinned_one_lasts(tmp_path: Path, kind: str) -> None:
    repo = Repo(tmp_path / "r", f"--object-format={kind}")
    common = f"{repo.top}/.git"
    kept = objects.objects_of(common, "")
    blob, loose = objects.keep(kept, b"kept\n"), objects.keep(kept, b"loose\n")
    assert objects.keep(kept, b"kept\n") == blob
    assert repo.git("cat-file", "blob", blob) == "kept"
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    objects.pin(common, "kept/v1", blob)
    repo.git("gc", "-q", "--prune=now")
    assert objects.read_blob(kept, blob) == b"kept\n"
    assert objects.read_blob(kept, loose) is None
    objects.unpin(common, ["kept/v1"])
    repo.git("gc", "-q", "--prune=now")
    assert objects.read_blob(kept, blob) is None


def test_without_git_contents_are_kept_in_the_folder_that_is_named(tmp_path: Path) -> None:
    kept = objects.objects_of("", str(tmp_path))
    blob = objects.keep(kept, b"x", sync=False)
    assert objects.read_blob(kept, blob) == b"x"
    assert objects.read_blob(kept, "../../etc/passwd") is None
    assert objects.read_blob(kept, "0" * 40) is None
    objects.pin("", "kept/x", blob)  # there is nothing to pin it with, and nothing that clears it away


def test_a_damaged_content_is_not_given_out(tmp_path: Path) -> None:
    kept = objects.objects_of("", str(tmp_path))
    blob, other = objects.keep(kept, b"one"), objects.keep(kept, b"two")
    path = Path(kept) / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes((Path(kept) / other[:2] / other[2:]).read_bytes())
    assert objects.read_blob(kept, blob) is None
    path.write_bytes(b"")
    assert objects.read_blob(kept, blob) is None
