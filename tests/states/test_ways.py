"""A working tree is destroyed in thirteen ways at random moments; what its agents' hooks saw comes back, byte for byte.

Each play has an agent that works through its hooks: files that its calls name, programs that write files nobody named,
deletions, modes, links, commits. What a call named is in the ledger when its hook ends; what a program made unnamed is
in the state that is anchored right after. So a tree destroyed at once has to come back with all of the first, and one
destroyed after the anchor with everything.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.states import anchor, request, store
from dibs.workspace import location
from tests.faults.kit import size
from tests.guards.test_person_acts import terminal
from tests.states.trees import Picture, git, picture

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interfaces.repository import Agent, Repository

PATIENCE_S = 60.0
PLAYS = size(13, 100)


class Play:
    """One agent in one working tree, and what was there when its last hook had ended."""

    def __init__(self, repo: Repository, seed: int) -> None:
        self.repo, self.random = repo, random.Random(seed)
        self.top = repo.worktree("topic")
        self.agent: Agent = repo.agent("ada", cwd=self.top)
        self.agent.boot()
        self.named: dict[str, bytes | None] = {}  # what the calls named: content, None for a deleted file
        self.ledger = os.path.realpath(location.find(str(self.top), None).private)

    def step(self) -> None:
        """One call."""
        kind = self.random.choice(["write", "write", "program", "delete", "mode", "link", "commit", "crlf"])
        name = self.random.choice(["a.py", "b.py", "new.py", "deep/x.py"])
        text = "".join(self.random.choices("abc\n", k=self.random.randint(1, 200)))
        if kind == "write":
            self.agent.edit(name, text)
            self.named[name] = text.encode()
        elif kind == "crlf":
            self.agent.edit("crlf.txt", text + "\r\n")
            self.named["crlf.txt"] = (text + "\r\n").encode()
        elif kind == "delete" and (self.top / name).exists():
            self.agent.bash(f"rm {name}")
            self.named[name] = None
        elif kind == "mode" and (self.top / name).exists():
            self.agent.bash(f"chmod +x {name}")
        elif kind == "link":
            self.agent.bash(f"ln -sfn {name} link{self.random.randint(0, 2)}")
        elif kind == "commit":
            self.agent.bash("git add -A && git commit -qm step --allow-empty")
        else:
            number = self.random.randint(0, 3)
            code = f"open('made{number}', 'wb').write({os.urandom(30)!r})"
            (self.repo.scratch / "program.py").write_text(code)
            self.agent.bash(f"python3 {self.repo.scratch}/program.py")

    def catch_up(self) -> None:
        """Until the state of what is there is anchored."""
        end = time.monotonic() + PATIENCE_S
        asked = os.stat(f"{self.ledger}/{request.WANTED}").st_mtime_ns
        while not self._is_done(asked):
            assert time.monotonic() < end, store.failure(self.ledger)
            time.sleep(0.01)

    def _is_done(self, asked: int) -> bool:
        """Has an anchor begun after that, and ended? It makes no state if nothing is new."""
        rows = store.records(self.ledger)
        known = f"{self.ledger}/anchor.known"
        if not rows or not os.path.exists(known):
            return False
        return rows[-1]["at"] * 1_000_000 > asked or self._is_at_rest(rows[-1]["tree"])

    def _is_at_rest(self, tree: str) -> bool:
        before = store.records(self.ledger)
        with store.Store(location.find(str(self.top), None)).locked(alone=True):
            pass  # no anchor is under way
        anchor.take(location.find(str(self.top), None))
        after = store.records(self.ledger)
        return len(before) == len(after) and after[-1]["tree"] == tree


# --- the ways; each says whether the tree itself is gone


def remove(play: Play) -> bool:
    git(play.repo.folder, "worktree", "remove", "--force", str(play.top))
    return True


def rm(play: Play) -> bool:
    shutil.rmtree(play.top)
    return True


def rm_and_prune(play: Play) -> bool:
    shutil.rmtree(play.top)
    git(play.repo.folder, "worktree", "prune")
    return True


def branch_too(play: Play) -> bool:
    remove(play)
    git(play.repo.folder, "branch", "-D", "topic")
    return True


def branch_and_gc(play: Play) -> bool:
    branch_too(play)
    git(play.repo.folder, "reflog", "expire", "--expire=now", "--all")
    git(play.repo.folder, "gc", "-q", "--prune=now")
    return True


def client(play: Play) -> bool:
    """A client's clean-up: its agent ends, then the tree and the branch go."""
    play.agent.client.kill()
    return branch_too(play)


def pointer(play: Play) -> bool:
    """The `.git` of the tree went first, so that git prunes what it knew of the tree; then the files."""
    (play.top / ".git").unlink()
    git(play.repo.folder, "worktree", "prune", "--expire=now")
    shutil.rmtree(play.top)
    return True


def moved(play: Play) -> bool:
    """As with a disk that is no longer mounted there."""
    play.top.rename(play.top.with_name("elsewhere"))
    git(play.repo.folder, "worktree", "prune")
    return True


def reset(play: Play) -> bool:
    git(play.top, "reset", "-q", "--hard", "main")
    return False


def clean(play: Play) -> bool:
    git(play.top, "checkout", "-q", ".", check=False)
    git(play.top, "clean", "-qfdx")
    return False


def checkout(play: Play) -> bool:
    git(play.top, "checkout", "-qf", "--detach", "main")
    return False


def stash(play: Play) -> bool:
    git(play.top, "stash", "push", "-qu", check=False)
    git(play.top, "stash", "drop", "-q", check=False)
    return False


def killed(play: Play) -> bool:
    """A kill -9 of whatever looks at the tree, in the middle of it, then the tree goes."""
    for number in Path("/proc").iterdir():
        try:
            words = (number / "cmdline").read_bytes()
        except OSError:
            continue
        if b"dibs.states.anchor" in words and os.fsencode(str(play.top)) in words:
            os.kill(int(number.name), signal.SIGKILL)
    return rm_and_prune(play)


WAYS: tuple[Callable[[Play], bool], ...] = (
    remove, rm, rm_and_prune, branch_too, branch_and_gc, client, pointer, moved, reset, clean, checkout, stash, killed,
)  # fmt: skip


@pytest.mark.parametrize("number", range(PLAYS))
def test_what_hooks_saw_comes_back_whatever_destroys_the_tree(anchored: Repository, number: int) -> None:
    play = Play(anchored, number)
    for _ in range(play.random.randint(2, 7)):
        play.step()
    at_once = play.random.random() < 0.5
    if not at_once:
        play.catch_up()
    there = picture(play.top)
    head = git(play.top, "rev-parse", "HEAD")
    tick = time.time()
    is_gone = WAYS[number % len(WAYS)](play)
    to = anchored.scratch / "back"
    words = ["restore", "--tree", str(play.top), "--to", str(to)]
    if not is_gone:
        time.sleep(0.002)
        words += ["--at", time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(tick)) + f".{int(tick * 1000) % 1000:03d}"]
    answer = anchored.person.dibs(*words)
    if at_once and answer["ok"] is False:
        assert not any(play.named.values()), answer
        return
    assert answer["ok"], answer
    assert answer["missing"] == []
    back = picture(to)
    for path, content in play.named.items():
        found = back.get(path)
        assert (found[1] if found else None) == content, (path, answer)
    if at_once:
        lost = {path for path in there if back.get(path) != there[path]}
        assert all(path not in play.named or _mode_alone(there, back, path) for path in lost), lost
    else:
        assert back == there
        assert answer["head"] == head
    if is_gone and play.named:
        assert anchored.claims() == {}, "its claims ended"
    if is_gone and not at_once:
        again = anchored.person.dibs("restore", "--tree", str(play.top))
        assert again["ok"], again
        assert picture(play.top) == there
        assert git(play.top, "rev-parse", "HEAD") == head
        assert anchored.person.dibs("alerts")["alerts"] == []
    assert anchored.person.dibs("verify")["ok"]


def _mode_alone(there: Picture, back: Picture, path: str) -> bool:
    return path in back and there[path][1] == back[path][1]


def test_the_agents_of_a_lost_tree_are_told_the_one_command(anchored: Repository) -> None:
    play = Play(anchored, 1)
    play.agent.edit("a.py", "precious\n")
    play.catch_up()
    remove(play)
    (alert,) = anchored.person.dibs("alerts")["alerts"]
    assert alert["remedy"] == "dibs restore --tree topic"
    assert "unfinished work of ada: a.py" in alert["text"]
    (message,) = anchored.terminal("inbox", "--as", "ada")["messages"]
    assert "`dibs restore --tree topic`" in message["text"]
    answer = anchored.person.dibs("restore", "--tree", "topic")
    assert (answer["checkout"], answer["files"]) == ("branch topic", ["a.py"])
    assert anchored.person.dibs("alerts")["alerts"] == []
    refused = anchored.person.dibs("restore", "--tree", "topic")["error"]
    assert refused["code"] == "conflict"
    mine = anchored.agent("bob", cwd=play.top)
    mine.boot()
    told = mine.may_run("git checkout a.py").refusal
    assert "uncommitted work that ada left" in told or "ada" in told, "it is ada's again"


def test_what_the_ledger_saw_after_the_last_state_comes_back_too(repo: Repository) -> None:
    tree = repo.worktree("topic")
    ada = repo.agent("ada", cwd=tree)
    ada.boot()
    ada.edit("a.py", "one\n")
    assert anchor.take(location.find(str(tree), None)) is not None
    ada.edit("a.py", "two\n")
    ada.bash("rm b.py && ln -s a.py link")
    there = picture(tree)
    shutil.rmtree(tree)
    to = repo.scratch / "back"
    assert repo.person.dibs("restore", "--tree", "topic", "--to", str(to))["ok"]
    assert picture(to) == there
    assert repo.claims() == {}


def test_where_no_state_could_be_anchored_the_ledgers_contents_come_back_and_doctor_says_why(
    anchored: Repository,
) -> None:
    anchored.private.mkdir(exist_ok=True)
    (anchored.private / "states").write_text("no folder: as a full disk")
    tree = anchored.worktree("topic")
    ada = anchored.agent("ada", cwd=tree)
    ada.boot()
    ada.edit("a.py", "precious\n")
    ledger = os.path.realpath(location.find(str(tree), None).private)
    end = time.monotonic() + PATIENCE_S
    while not store.failure(ledger):
        assert time.monotonic() < end
        time.sleep(0.01)
    (check,) = [one for one in anchored.person.dibs("doctor")["checks"] if one["check"] == "states"]
    assert (check["ok"], check["severity"]) == (False, "warning")
    assert f"the state of {tree} could not be anchored" in check["message"]
    shutil.rmtree(tree)
    to = anchored.scratch / "back"
    answer = anchored.person.dibs("restore", "--tree", "topic", "--to", str(to))
    assert answer["notes"] == ["no state was anchored: only what the ledger saw is there"]
    assert picture(to)["a.py"] == ("plain", b"precious\n")
    refused = anchored.person.dibs("restore", "--tree", "topic")["error"]
    assert refused["code"] == "invalid"
    assert "`--to DIR`" in refused["message"]


def test_a_folder_that_is_in_use_is_not_written_over_unless_told(anchored: Repository) -> None:
    play = Play(anchored, 2)
    play.agent.edit("a.py", "precious\n")
    play.catch_up()
    to = anchored.scratch / "used"
    to.mkdir()
    (to / "a.py").write_text("mine\n")
    (to / "other").write_text("mine\n")
    words = ("restore", "--tree", "topic", "--to", str(to))
    assert terminal(anchored, *words)["error"]["code"] == "conflict"
    assert (to / "a.py").read_text() == "mine\n"
    assert terminal(anchored, *words, "--overwrite")["ok"]
    assert ((to / "a.py").read_text(), (to / "other").read_text()) == ("precious\n", "mine\n")
    for wrong in (str(anchored.folder / ".git" / "x"), str(anchored.folder), str(anchored.local / "x")):
        assert terminal(anchored, "restore", "--tree", "topic", "--to", wrong)["error"]["code"] == "invalid"
    assert terminal(anchored, "restore", "--tree", "nowhere")["error"]["code"] == "not_found"
    assert terminal(anchored, "restore", "--tree", "topic", "--at", "3d", "--to", "x")["error"]["code"] == "not_found"
    assert subprocess.run(["git", "-C", to, "status"], check=False, capture_output=True).returncode != 0


def test_an_agent_says_only_a_new_folder_next_to_the_repository(anchored: Repository) -> None:
    play = Play(anchored, 2)
    play.agent.edit("a.py", "precious\n")
    play.catch_up()
    beside = anchored.folder.parent
    used = beside / "used"
    used.mkdir()
    for words in ((str(used), "--overwrite"), (str(beside / ".ssh"),), (str(beside.parent.parent / "elsewhere"),)):
        refused = anchored.person.dibs("restore", "--tree", "topic", "--to", *words)["error"]
        assert (refused["code"], "a person does it" in refused["message"]) == ("forbidden", True), words
    assert not (beside / ".ssh").exists()
    assert anchored.person.dibs("restore", "--tree", "topic", "--to", str(beside / "then"))["ok"]
    assert (beside / "then" / "a.py").read_text() == "precious\n"
