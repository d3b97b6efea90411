"""Git in an agent's shell while another agent is at work in the same working tree: what passes, and what does not."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interfaces.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interfaces.repository import Agent


class Shared(Repository):
    """Ada is to change src/held.py and bob lib/own.py, in one working tree. There are a remote and branches."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name in ("src/held.py", "src/free.py", "lib/own.py", "lib/more.py", "docs/page.md"):
            self.write(name, f"{name} at first\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "files")
        self.git("tag", "v1")
        for branch, name in (("free", "lib/more.py"), ("taken", "src/held.py")):
            self.git("checkout", "-q", "-b", branch, "v1")
            self.write(name, f"of {branch}\n")
            self.git("commit", "-qam", f"change {name}")
        self.git("checkout", "-q", "main")
        self.git("branch", "same", "v1")
        self.remote = folder / "remote.git"
        self.git("init", "-q", "--bare", "-b", "main", str(self.remote))
        self.git("remote", "add", "origin", str(self.remote))
        self.git("push", "-q", "-u", "origin", "main", "free", "taken")
        self.git("branch", "--set-upstream-to=origin/main", "main")
        self.ada, self.bob = self.agent("ada"), self.agent("bob")

    def both_at_work(self) -> Agent:
        """The usual state; gives bob."""
        self.ada.edit("src/held.py", "ada's work\n")
        self.bob.edit("lib/own.py", "bob's work\n")
        return self.bob

    def elsewhere(self, name: str, text: str, message: str = "from elsewhere") -> None:
        """Somebody pushes a change of a file to the remote."""
        other = self.scratch / "other"
        if not other.exists():
            self.git("clone", "-q", str(self.remote), str(other))
            self.git("config", "user.name", "else", cwd=other)
            self.git("config", "user.email", "else@example.com", cwd=other)
        self.git("pull", "-q", "--rebase", cwd=other)
        (other / name).parent.mkdir(exist_ok=True, parents=True)
        (other / name).write_text(text)
        self.git("add", "-A", cwd=other)
        self.git("commit", "-qm", message, cwd=other)
        self.git("push", "-q", cwd=other)


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    made = Shared(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """The same for many lines of which none is run."""
    made = Shared(tmp_path_factory.mktemp("busy"))
    made.both_at_work()
    made.elsewhere("lib/arrives.py", "new\n")
    yield made
    made.close()


# --- what passes


ORDINARY = """
git status
git diff HEAD~1
git log --oneline -5
git fetch
git fetch origin main
git pull
git pull --rebase
git pull --ff-only
git pull origin main
git pull --rebase origin main
git pull --no-rebase --no-edit
git fetch && git merge origin/main
git fetch origin && git merge --ff-only @{u}
git fetch; git merge FETCH_HEAD
git merge free
git merge --no-ff -m 'bring it in' free
git merge same
git merge main
git merge origin/main
git rebase same
git rebase main
git rebase origin/main
git cherry-pick free
git cherry-pick v1..free
git cherry-pick main..free
git cherry-pick -n free
git cherry-pick ^v1 free
git revert --no-edit free
git revert -n v1..free
git merge --abort
git rebase --abort
git rebase --continue
git cherry-pick --quit
git merge-base main free
git checkout main
git checkout HEAD
git switch main
git checkout -- lib/own.py
git checkout lib/own.py
git checkout HEAD -- lib/own.py
git checkout free -- lib/more.py
git checkout v1 lib/own.py
git restore lib/own.py
git restore --source=HEAD~1 lib/own.py
git restore --staged lib/own.py
git restore --staged .
git reset
git reset HEAD lib/own.py
git reset -q HEAD -- lib
git reset --soft HEAD
git add lib/own.py
git add lib
git add -u lib
git add -p lib/own.py
git add -A lib docs
git add lib/own.py && git commit -m 'own work'
git commit -m 'own' lib/own.py
git commit -m own -- lib/own.py
git commit --allow-empty -m nothing
git commit --amend --no-edit
git commit -m "$(cat <<'END'
a message of several lines

Co-Authored-By: somebody
END
)" -- lib/own.py
git -c user.name=x commit -m own lib/own.py
git -C lib add own.py
git -C lib status
cd lib && git add own.py
git stash list
git stash push lib/own.py
git stash push -m 'own' -- lib
git stash show
git branch
git branch topic
git branch -d same
git branch -D same
git branch -f same main
git branch -m same other
git tag v2
git worktree add ../other-tree free
git worktree add -b topic2 ../topic2
git worktree list
git push
git push origin main
git push -u origin HEAD
git push --no-verify origin free
git push origin --delete free
git clean -n
git clean -fd docs
git rm --cached docs/page.md
git rm docs/page.md
git rm -q 'docs/*.md'
git mv docs/page.md docs/new.md
git submodule update --init --recursive
git config user.name x
git bisect log
git show free:lib/more.py > /tmp/out.txt
git diff > /tmp/own.diff
git apply --check ../own.diff
git apply ../own.diff
git am ../own.mbox
git format-patch -1 -o /tmp
git remote update
git gc --auto
git lfs status
git update-index --refresh
git update-ref refs/tags/mine HEAD
git update-ref refs/heads/topic3 HEAD
git reflog
git notes add -m x
git symbolic-ref --short HEAD
git sparse-checkout list
git ls-files | head
git blame src/held.py
git archive -o /tmp/x.tar HEAD
git stash push -m wip lib/own.py && git pull --rebase && git stash pop
git replace -l
"""


def ordinary() -> list[str]:
    """One command a line; a here-document is one command."""
    found: list[str] = []
    inside = False
    for line in ORDINARY.strip().split("\n"):
        if inside:
            found[-1] += f"\n{line}"
            inside = not line.startswith(")")
        else:
            found.append(line)
            inside = "<<" in line
    return found


@pytest.mark.slow
def test_ordinary_git_passes_while_another_holds_a_file_that_it_does_not_touch(busy: Shared) -> None:
    busy.write("../own.diff", busy.git("diff", "v1", "free"))
    busy.write("../own.mbox", busy.git("format-patch", "--stdout", "v1..free"))
    assert len(ordinary()) > 100
    refused = [f"{line}: {answer.err}" for line in ordinary() if not (answer := busy.bob.may_run(line)).allowed]
    assert not refused, "".join(refused)


def test_the_same_passes_where_nobody_else_is_there(shared: Shared) -> None:
    shared.bob.edit("lib/own.py", "bob's work\n")
    lines = [
        "git checkout -b x", "git switch free", "git reset --hard HEAD~1", "git rebase taken", "git merge taken",
        "git add -A", "git commit -am x", "git stash", "git clean -fd", "git branch -m trunk", "git checkout taken",
        "git update-ref refs/heads/main free", "git symbolic-ref HEAD refs/heads/free", "git bisect start",
        "git stash pop", "git filter-branch --tree-filter true HEAD", "git read-tree -u --reset HEAD",
        "git checkout-index -f -a", "git cherry-pick v1..taken", "git revert --no-edit HEAD", "git checkout $BRANCH",
        'git add "$f"', "curl -s http://127.0.0.1:9/x | git apply",
    ]  # fmt: skip
    refused = [f"{line}: {answer.err}" for line in lines if not (answer := shared.bob.may_run(line)).allowed]
    assert not refused, "".join(refused)


# --- what would touch the held file


TOUCHES = """
git merge taken
git merge --squash taken
git merge free taken
git cherry-pick taken
git cherry-pick v1..taken
git cherry-pick free taken
git cherry-pick -n taken
git revert --no-edit taken
git rebase taken
git pull origin taken
git pull --rebase origin taken
git checkout taken -- src
git checkout taken src/held.py
git restore --source=taken src
git restore -s v1 -- .
git apply ../taken.diff
git am ../taken.mbox
git rm --cached src/held.py
git stage -A
git stage src
git update-index --add src/held.py
git update-index --cacheinfo 100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,src/held.py
git checkout-index -f -a
git read-tree -u --reset HEAD
git read-tree --reset -u v1
git reset --hard
git reset --hard taken
git reset --keep taken
git rebase --autostash free
git merge --autostash free
git pull --autostash
"""


def test_what_would_touch_the_held_file_is_refused_with_its_holder_and_no_word_of_gits_own_errors(busy: Shared) -> None:
    busy.write("../taken.diff", busy.git("diff", "v1", "taken"))
    busy.write("../taken.mbox", busy.git("format-patch", "--stdout", "v1..taken"))
    for line in TOUCHES.strip().splitlines():
        refusal = busy.bob.may_run(line).refusal
        assert "src/held.py" in refusal, line
        assert "ada" in refusal, line
        assert "fatal" not in refusal, line
        assert "could not check" not in refusal, line


def test_a_pull_is_judged_by_what_the_remote_has_now_and_brings_nothing_by_being_judged(shared: Shared) -> None:
    bob = shared.both_at_work()
    assert bob.may_run("git pull").allowed
    shared.elsewhere("src/held.py", "theirs\n")
    head = shared.git("rev-parse", "HEAD")
    for line in ("git pull", "git pull --rebase", "git pull origin main", "git fetch && git merge origin/main",
                 "git fetch; git rebase origin/main", "git fetch && git reset --hard origin/main"):  # fmt: skip
        assert "src/held.py (ada, 29 min left" in bob.may_run(line).refusal, line
    assert shared.git("rev-parse", "HEAD") == head
    for line in ("git fetch origin main && git merge FETCH_HEAD", "git fetch origin main:new && git merge new",
                 "git branch topic taken && git merge topic",
                 "git tag topic taken; git cherry-pick topic"):  # fmt: skip
        assert "src/held.py (ada, 29 min left" in bob.may_run(line).refusal, line
    assert bob.may_run("git fetch origin free:new && git merge new").allowed
    assert not (shared.folder / ".git" / "FETCH_HEAD").exists()
    assert "refs/dibs/coming" not in shared.git("for-each-ref")


def test_a_remote_that_does_not_answer_is_said_and_what_is_known_of_it_counts(shared: Shared) -> None:
    bob = shared.both_at_work()
    shared.elsewhere("src/held.py", "theirs\n")
    shared.git("fetch", "-q")
    shared.git("remote", "set-url", "origin", str(shared.scratch / "gone.git"))
    refusal = bob.may_run("git pull").refusal
    assert "src/held.py (ada" in refusal
    assert "judged by what is known of it" in refusal
    shared.git("update-ref", "refs/remotes/origin/main", "main")
    assert bob.may_run("git pull").allowed


# --- what stopped half-way


def stop_a_rebase(shared: Shared, *more: str) -> None:
    """A rebase of bob's that met a conflict in lib/own.py; `more` are files of commits that are still to come."""
    shared.git("checkout", "-q", "-b", "mine", "v1")
    for number, name in enumerate(["lib/own.py", *more]):
        shared.write(name, f"mine {number}\n")
        shared.git("commit", "-qam", f"mine {name}")
    shared.git("checkout", "-q", "main")
    shared.write("lib/own.py", "of main\n")
    shared.git("commit", "-qam", "main has another")
    shared.git("checkout", "-q", "mine")
    with pytest.raises(subprocess.CalledProcessError):
        shared.git("rebase", "main")
    shared.write("lib/own.py", "solved\n")
    shared.git("add", "lib/own.py")


def test_a_rebase_that_stopped_goes_on_while_it_touches_nobodys_file(shared: Shared) -> None:
    stop_a_rebase(shared, "lib/more.py")
    assert shared.ada.may_edit("src/held.py").silent, "held, and as it was"
    for line in ("git rebase --continue", "git rebase --skip", "git rebase --abort"):
        assert shared.bob.may_run(line).allowed, line
    done, _ = shared.bob.bash("GIT_EDITOR=true git rebase --continue")
    assert done.code == 0, done


def test_what_is_still_to_come_of_a_rebase_counts_and_so_does_what_giving_up_would_throw_away(shared: Shared) -> None:
    stop_a_rebase(shared, "src/held.py")
    assert shared.ada.may_edit("src/held.py").silent
    for line in ("git rebase --continue", "git rebase --skip"):
        assert "src/held.py (ada" in shared.bob.may_run(line).refusal, line
    shared.ada.end()
    ada = shared.agent("ada2")
    ada.edit("docs/page.md", "ada's\n")
    for line in ("git rebase --abort", "git rebase --skip"):
        assert "docs/page.md (ada" in shared.bob.may_run(line).refusal, line
    assert shared.bob.may_run("git rebase --continue").allowed


def test_a_merge_that_stopped_is_judged_by_what_is_staged(shared: Shared) -> None:
    shared.git("checkout", "-q", "-b", "mine", "v1")
    shared.write("lib/own.py", "mine\n")
    shared.git("commit", "-qam", "mine")
    shared.git("checkout", "-q", "main")
    shared.write("lib/own.py", "of main\n")
    shared.git("commit", "-qam", "main has another")
    with pytest.raises(subprocess.CalledProcessError):
        shared.git("merge", "mine")
    shared.ada.edit("src/held.py", "ada's\n")
    for line in ("git merge --abort", "git merge --continue", "git merge --quit"):
        assert shared.bob.may_run(line).allowed, line
    shared.git("add", "src/held.py")
    for line in ("git merge --abort", "git merge --continue"):
        assert "src/held.py (ada" in shared.bob.may_run(line).refusal, line


# --- HEAD


SWITCHES = """
git checkout free
git switch -c new free
git checkout -b new/name free
git checkout -B same v1
git checkout --detach
git switch --detach v1
git checkout v1
git checkout HEAD~1
git branch -m trunk
git branch -m main trunk
git branch -M main trunk
git symbolic-ref HEAD refs/heads/same
git bisect start HEAD v1~1
git rebase v1 same
git update-ref HEAD free
git update-ref refs/heads/main free
git branch -f main free
git update-ref -d refs/heads/main
git filter-branch --msg-filter cat HEAD
git replace HEAD v1
git branch new free && git checkout new
git checkout $BRANCH
git fetch && git checkout -t origin/free
"""


def test_another_branch_under_the_feet_of_others_is_refused_with_a_working_tree_as_the_way_out(busy: Shared) -> None:
    for line in SWITCHES.strip().splitlines():
        refusal = busy.bob.may_run(line).refusal
        assert "src/held.py (ada" in refusal, line
        assert "git restore" not in refusal, line
        assert "git worktree add" in refusal or "$BRANCH" in line, line


def test_a_branch_at_the_same_commit_is_under_nobodys_feet(busy: Shared) -> None:
    for line in ("git checkout same", "git switch same", "git switch -c new", "git switch -C new",
    "git checkout -b new",
                 "git checkout -B new", "git branch new && git checkout new"):  # fmt: skip
        assert busy.bob.may_run(line).allowed, line


def test_the_way_out_works(shared: Shared) -> None:
    bob = shared.both_at_work()
    for line in (
        "git switch -c feature/x free",
        "git checkout -b y free",
        "git checkout free",
        "cd lib && git switch taken",
    ):
        found = re.search("`(git worktree add [^`]+)`", bob.may_run(line).refusal)
        assert found is not None, line
        done, _ = bob.bash(found[1])
        assert done.code == 0, done
    trees = shared.git("worktree", "list")
    assert all(f"repo-{name} " in trees for name in ("feature-x", "y", "free", "taken")), trees
    there = shared.agent("bob", client=bob.client, cwd=shared.scratch / "repo-free")
    assert there.may_run("git switch -c another").allowed, "in ones own working tree nobody minds"
    shared.ada.dibs("claim", "docs/page.md")
    assert there.may_run("git switch -c another").allowed, "a claim by hand is at work in the main one"


def test_commits_of_an_agent_that_is_at_work_are_neither_rewritten_nor_dropped(shared: Shared) -> None:
    ada, bob = shared.ada, shared.bob
    ada.edit("docs/page.md", "ada's\n")
    done, _ = ada.bash("git commit -m 'by ada' docs/page.md")
    assert done.code == 0, done
    assert "Dibs-Agent: ada" in shared.git("log", "-1", "--format=%B")
    shared.elsewhere("lib/arrives.py", "new\n")
    for line in ("git commit --amend --no-edit", "git reset --soft HEAD~1", "git reset --hard HEAD~1",
                 "git rebase -i HEAD~1", "git pull --rebase", "git update-ref refs/heads/main v1"):  # fmt: skip
        refusal = bob.may_run(line).refusal
        assert "a commit of ada, who is at work" in refusal, line
    assert bob.may_run("git pull --no-rebase --no-edit").allowed
    assert bob.may_run("git revert --no-edit HEAD").allowed
    bob.stop()
    assert ada.may_run("git commit --amend --no-edit").allowed, "its own"
    ada.end()
    assert bob.may_run("git commit --amend --no-edit").allowed


def test_whoever_claimed_head_or_the_stashes_by_hand_keeps_others_from_moving_them(shared: Shared) -> None:
    ada, bob = shared.ada, shared.bob
    bob.edit("lib/own.py", "bob's work\n")
    ada.dibs("claim", "git:head", "git:stash")
    for line in ("git switch -c new", "git commit -m x lib/own.py", "git reset --soft HEAD~1"):
        assert "ada holds git:head" in bob.may_run(line).refusal, line
    for line in ("git stash", "git stash drop", "git stash clear"):
        assert "ada holds git:stash" in bob.may_run(line).refusal, line
    assert bob.may_run("git add lib/own.py").allowed
    ada.dibs("release", "--all")
    assert bob.may_run("git switch -c new").allowed


def test_a_script_that_moves_head_is_noticed_and_told_once_to_those_at_work_there(shared: Shared) -> None:
    ada, bob = shared.ada, shared.bob
    ada.edit("docs/page.md", "ada's\n")
    shared.write("away.sh", "git checkout -q -b elsewhere\n")
    shared.write("bring.sh", "git merge -q --ff-only free\n")
    bob.bash("sh bring.sh")
    _, answer = ada.bash("true")
    assert "HEAD" not in answer.told, "the branch grew: she goes on where she was"
    assert ada.may_run("make", "long").allowed, "a call that is open meanwhile finds the same in git's diary"
    bob.bash("sh away.sh")
    answer = ada.did("Bash", "long", command="make")
    assert "was moved while a command of bob ran (checkout: moving from main to elsewhere)" in answer.told
    _, answer = ada.bash("true")
    assert "HEAD" not in answer.told
    moved = ada.dibs("log", "--kind", "git.moved")["events"]
    assert [(event["agent"], event["data"]["what"].split(":")[0]) for event in moved] == [
        ("bob", "merge free"), ("bob", "checkout"),
    ]  # fmt: skip


# --- stashes


def test_a_stash_of_another_agent_is_not_taken_and_one_of_ones_own_is(shared: Shared) -> None:
    ada, bob = shared.ada, shared.bob
    ada.edit("docs/page.md", "ada's\n")
    done, _ = ada.bash("git stash push -m hers docs/page.md")
    assert done.code == 0, done
    ada.dibs("release", "--all")
    for line in ("git stash pop", "git stash drop", "git stash clear", "git stash drop stash@{0}", "git stash pop 0",
                 "git stash branch new"):  # fmt: skip
        assert "which ada made" in bob.may_run(line).refusal, line
    bob.edit("lib/own.py", "bob's\n")
    done, _ = bob.bash("git stash")
    assert done.code == 0, done
    assert "which ada made" in bob.may_run("git stash drop stash@{1}").refusal
    assert "which ada made" in bob.may_run("git stash clear").refusal
    assert "which bob made" in ada.may_run("git stash pop").refusal
    assert bob.may_run("git stash apply stash@{1}").allowed
    done, _ = bob.bash("git stash pop")
    assert done.code == 0, done
    done, _ = ada.bash("git stash pop")
    assert done.code == 0, done
    assert (shared.folder / "docs/page.md").read_text() == "ada's\n"


# --- no way around


def test_a_push_past_gits_own_hook_to_a_protected_branch_is_refused(busy: Shared) -> None:
    for line in ("git push --no-verify", "git push --no-verify origin main", "git push origin HEAD:main --no-verify",
                 "git -c core.hooksPath=/dev/null push origin main", "git push --all --no-verify",
                 "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/x git push origin main",
                 "HUSKY=0 git push origin +free:main"):  # fmt: skip
        assert "past git's own hook" in busy.bob.may_run(line).refusal, line


def _ignore(shared: Shared, pattern: str) -> None:
    """Git ignores this, by a committed file."""
    shared.write(".gitignore", f"{pattern}\n")
    shared.git("add", ".gitignore")
    shared.git("commit", "-qm", "ignored", "--", ".gitignore")


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("git clean -fdx", "git clean -fdx -e .dibs/local"),
        ("git clean -xfd", "git clean -xfd -e .dibs/local"),
        ("git clean -fdX", "git clean -fdX -e '!.dibs/local' -e '!.dibs/local/**'"), ("git stash -a", "git stash -u"),
        ("git stash push --all -m x", "git stash push -m x -u"), ("cd lib && git clean -fdx ..", ""),
        ("git sparse-checkout set lib", "git sparse-checkout set lib .dibs"),
    ],
)  # fmt: skip
def test_what_would_take_dibs_own_record_away_is_refused_with_the_command_that_leaves_it(
    shared: Shared, line: str, instead: str
) -> None:
    bob = shared.bob
    bob.edit("lib/own.py", "bob's\n")
    _ignore(shared, "*.o")
    shared.write("lib/a.o", "made\n")
    refusal = bob.may_run(line).refusal
    assert "dibs' own record" in refusal
    found = re.search("Run `([^`]+)` instead", refusal)
    assert found is not None
    assert not instead or found[1] == instead
    done, _ = bob.bash(f"cd lib && {found[1]}" if "cd lib" in line else found[1])
    assert done.code == 0, done
    assert (shared.local / "dibs.db").exists()
    assert not ("clean" in line and instead and (shared.folder / "lib/a.o").exists())


def test_what_is_ignored_and_held_by_others_is_not_cleaned_away(shared: Shared) -> None:
    _ignore(shared, "out/")
    shared.ada.dibs("claim", "out/")
    shared.write("out/a.txt", "ada's\n")
    assert "out (ada" in shared.bob.may_run("git clean -fdx -e .dibs/local").refusal
    assert shared.bob.may_run("git clean -fd").allowed


def test_aliases_are_followed(shared: Shared) -> None:
    bob = shared.both_at_work()
    aliases = {
        "co": "checkout", "aa": "add -A", "undo": "reset --hard", "u2": "undo", "st": "status",
        "wipe": "!git checkout . && echo done", "put": "!echo x > src/held.py",
    }  # fmt: skip
    for name, meant in aliases.items():
        shared.git("config", f"alias.{name}", meant)
    for line in (
        "git co free",
        "git co .",
        "git aa",
        "git undo",
        "git u2",
        "git wipe",
        "cd lib && git wipe",
        "git put",
    ):
        assert "src/held.py" in bob.may_run(line).refusal, line
    assert "src/held.py" in bob.may_run("git -c alias.zap='!git checkout .' zap").refusal
    for line in ("git st", "git co lib/own.py", "git nosuch"):
        assert bob.may_run(line).allowed, line


def test_variables_that_name_another_place_are_followed(shared: Shared) -> None:
    bob = shared.both_at_work()
    top = shared.folder
    for line in (f"cd /tmp && GIT_WORK_TREE={top} GIT_DIR={top}/.git git checkout -f",
                 f"cd / && git --git-dir={top}/.git --work-tree={top} reset --hard",
                 f"cd /tmp && GIT_DIR={top}/.git git checkout -b x free"):  # fmt: skip
        assert "src/held.py" in bob.may_run(line).refusal, line
    assert bob.may_run("GIT_INDEX_FILE=/tmp/other.index git add -A").allowed, "that index is nobody elses"


def test_a_command_for_each_submodule_is_read(shared: Shared) -> None:
    shared.git("clone", "-q", str(shared.remote), "sub")
    shared.write(".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = x\n')
    shared.ada.edit("sub/src/held.py", "ada's\n")
    for line in ("git submodule foreach git reset --hard", "git submodule foreach --recursive 'git checkout .'",
                 "git submodule update --force", "git submodule deinit -f sub",
                 "git submodule deinit -f --all", "git reset --hard --recurse-submodules",
                 "git checkout -f --recurse-submodules"):  # fmt: skip
        assert "sub/src/held.py (ada" in shared.bob.may_run(line).refusal, line
    for line in ("git submodule update", "git submodule foreach git fetch", "git submodule status",
                 "git reset --hard --no-recurse-submodules"):  # fmt: skip
        assert shared.bob.may_run(line).allowed, line


def test_a_working_tree_in_which_another_is_at_work_is_neither_removed_nor_moved(shared: Shared) -> None:
    tree = shared.worktree("tree")
    shared.agent("ada", client=shared.ada.client, cwd=tree).edit("docs/page.md", "ada's\n")
    for line in ("git worktree remove --force ../tree", "git worktree move ../tree ../else"):
        assert "docs/page.md (ada" in shared.bob.may_run(line).refusal, line
    shared.worktree("idle")
    shared.ada.dibs("claim", "lib/more.py")
    assert shared.bob.may_run("git worktree remove ../idle").allowed


# --- the safe command


def test_with_many_files_the_safe_command_says_what_to_leave_out_and_works(shared: Shared) -> None:
    bob = shared.both_at_work()
    shared.ada.edit("src/with blank's.py", "ada's\n")
    names = [f"lib/new{number:02}.py" for number in range(15)]
    bob.bash(f"for f in {' '.join(names)}; do echo new > $f; done")
    for line, wanted in (
        ("git add -A", "git add -A -- . ':!src/held.py' ':!src/with blank'\\''s.py'"),
        ("cd lib && git add -A :/", "git add -A -- :/"),
    ):
        found = re.search("Run `([^`]+)` instead", bob.may_run(line).refusal)
        assert found is not None
        assert found[1].startswith(wanted)
        done, _ = bob.bash(f"{'cd lib && ' if 'cd ' in line else ''}{found[1]}")
        assert done.code == 0, done
        staged = shared.git("diff", "--cached", "--name-only").split("\n")
        assert "src/held.py" not in staged
        assert set(names) <= set(staged)
        shared.git("reset", "-q")
    shared.git("add", "-A", "lib")
    shared.git("commit", "-qm", "many")
    for line in ("git commit -am 'a message' --author='a b <a@example.com>'", "git stash push -m kept"):
        bob.bash(f"for f in {' '.join(names)}; do echo {line.split()[1]} > $f; done")
        found = re.search("Run `([^`]+)` instead", bob.may_run(line).refusal)
        assert found is not None
        assert "':!src/held.py'" in found[1]
        done, _ = bob.bash(found[1])
        assert done.code == 0, done
        assert shared.git("status", "--porcelain", "src/held.py") == " M src/held.py\n"
    assert shared.git("log", "-1", "--format=%an %s") == "a b a message\n"
    bob.bash(f"mkdir made; for f in {'.txt '.join(names)}.txt made/one.txt; do echo more > $f; done")
    shared.ada.edit("made/hers.txt", "ada's\n")
    found = re.search("Run `([^`]+)` instead", bob.may_run("git clean -fd").refusal)
    assert found is not None
    done, _ = bob.bash(found[1])
    assert done.code == 0, done
    assert (shared.folder / "made/hers.txt").exists()
    assert not (shared.folder / "made/one.txt").exists()
    assert not (shared.folder / f"{names[0]}.txt").exists()


def test_what_cannot_be_read_is_said_as_that(busy: Shared) -> None:
    refusal = busy.bob.may_run('git add "$f"').refusal
    assert '`git add "$f"` may take in files that others hold' in refusal
    assert "Write the names out." in refusal
    assert "`git checkout $BRANCH` may change files" in busy.bob.may_run("git checkout $BRANCH").refusal


# --- one git command at a time


@pytest.mark.slow
@pytest.mark.long
def test_a_git_command_waits_for_anothers_and_hears_to_try_again_when_that_takes_too_long(shared: Shared) -> None:
    ada, bob = shared.ada, shared.bob
    assert ada.may_run("git add docs/page.md", "call-a").allowed
    began = time.monotonic()
    refusal = bob.may_run("git add lib/own.py").refusal
    assert time.monotonic() - began > 9
    assert "a git command of ada runs" in refusal
    assert "Try again in a few seconds" in refusal
    assert "dibs claim" not in refusal
    assert ada.did("Bash", "call-a", command="git add docs/page.md").code == 0
    assert bob.may_run("git add lib/own.py").allowed


def test_a_git_command_that_was_broken_off_is_taken_over_by_the_agents_next_one(shared: Shared) -> None:
    ada, bob = shared.ada, shared.bob
    assert ada.may_run("git add docs/page.md", "broken-off").allowed
    done, _ = ada.bash("git commit --allow-empty -m x")
    assert done.code == 0, done
    assert "git:index" not in str(shared.claims())
    assert bob.may_run("git add lib/own.py").allowed
