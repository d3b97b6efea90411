"""The committed part of an undo: which commits are meant, what a revert of them makes of each path, and that commit.

Nothing here touches the working tree or its index: the commit is made from an index of its own, so what others have
staged stays staged. Git's hooks run as for any commit.
"""

from __future__ import annotations

import os

from dibs.errors import Conflict, Unavailable
from dibs.git import queries as git
from dibs.ledger.state import MISSING
from dibs.machine.programs import run
from dibs.operations.core.call import within
from dibs.operations.guards import undo as rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dibs.operations.guards.undo import Merge, Outcome, Version
    from dibs.undo.scope import Scope

MAX_COMMITS = 5_000  # that are looked at; older ones are not found
COMMIT_TIMEOUT_S = 300.0  # git's hooks may run tests
SECOND_NS = 1_000_000_000
FORMAT = "%x01%H%x00%P%x00%ct%x00%an%x00%(trailers:key=Dibs-Agent,valueonly,separator=%x2C)%x00%ae%x00%at%x00%s"
KINDS = {"100755": "x", "120000": "l", "100644": ""}
MODES = {"x": "100755", "l": "120000", "": "100644"}
NONE = "0" * 40
PAUSED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


class Commit:
    """One commit, with what it changed of each path: before and after."""

    __slots__ = ("agents", "author", "authored", "changes", "id", "merge", "subject", "when")

    def __init__(self, parts: list[str]) -> None:
        self.id, parents, when, self.author, agents, email, at, self.subject = parts
        self.authored = (self.author, email, at)  # by whom and when: a rebase and an amend keep it
        self.merge = len(parents.split()) > 1
        self.when = int(when) * SECOND_NS
        self.agents = [agent.strip() for agent in agents.split(",") if agent.strip()]
        self.changes: dict[str, tuple[Version, Version]] = {}


def history(top: str) -> list[Commit]:
    """The last commits of HEAD, the newest first, without what they changed."""
    return _read(top, f"-n{MAX_COMMITS}", "--topo-order", "HEAD")


def _read(top: str, *words: str) -> list[Commit]:
    done = git.ask(top, "log", f"--format={FORMAT}", *words, fine=(0, 128))
    if not done.ok:
        return []
    return [Commit(part.rstrip("\n").split("\0")) for part in os.fsdecode(done.out).split("\x01")[1:]]


def follow_rewrites(top: str, commits: list[Commit], meant: set[str]) -> set[str]:
    """Add to `meant` what its commits were rewritten to, by a rebase or an amend; returns those that HEAD has not.

    The same author, time of writing and subject are the same commit, where only one of HEAD's has them. A commit that
    was amended is no longer missed if HEAD has what it became and the log names that.
    """
    known = {one.id: one for one in commits}
    gone = meant - set(known)
    if not gone:
        return gone
    there = {one.authored for one in commits if one.id in meant}
    for name in sorted(gone):
        for old in _read(top, "--no-walk", name, "--"):
            same = [one for one in commits if (one.authored, one.subject) == (old.authored, old.subject)]
            if len(same) == 1:
                meant.add(same[0].id)
            if len(same) == 1 or old.authored in there:
                gone.discard(name)
    return gone


def meant(commits: Iterable[Commit], scope: Scope) -> list[Commit]:
    """Those that are to be undone: the log says so, or their message names the agent and their time fits."""

    def fits(commit: Commit) -> bool:
        if commit.when + SECOND_NS < scope.since:
            return False
        if commit.id in scope.commits:
            return True
        if scope.kind not in {"agent", "task"}:
            return False
        return any(
            within(agent, span.agent) and span.start - SECOND_NS <= commit.when <= span.end
            for agent in commit.agents
            for span in scope.spans
        )

    return [commit for commit in commits if fits(commit)]


def since(top: str, commits: list[Commit], oldest: Commit) -> list[Commit]:
    """The commits from the oldest meant one on, the newest first, with what they changed."""
    recent = commits[: commits.index(oldest) + 1]
    wanted = {commit.id: commit for commit in recent}
    words = ("diff-tree", "--stdin", "-r", "-z", "--root", "--raw", "--no-renames", "--no-abbrev")
    out = git.ask(top, *git.PLAIN, *words, given=("\n".join(wanted) + "\n").encode(), timeout=60.0).out
    current: Commit | None = None
    parts = iter(out.split(b"\0"))
    for part in parts:
        if part.startswith(b":"):
            old_mode, new_mode, old, new, _ = part[1:].decode().split(" ")
            path = os.fsdecode(next(parts))
            if current is not None and "160000" not in {old_mode, new_mode}:  # a submodule
                current.changes[path] = version(old_mode, old), version(new_mode, new)
        elif part.strip():
            current = wanted.get(part.strip().decode())
    return recent


def version(mode: str, blob: str) -> Version:
    """A path of a tree: its blob and what kind of file it is."""
    return rules.GONE if not blob.strip("0") else (blob, KINDS.get(mode, ""))


def tree_entries(top: str, paths: Iterable[str]) -> dict[str, Version]:
    """What HEAD has of these paths."""
    wanted = set(paths)
    out = git.ask(top, "ls-tree", "-r", "-z", "--full-tree", "HEAD", timeout=60.0).out
    found: dict[str, Version] = dict.fromkeys(wanted, rules.GONE)
    for row in out.split(b"\0"):
        meta, tab, name = row.partition(b"\t")
        path = os.fsdecode(name)
        if tab and path in wanted:
            mode, _, blob = meta.decode().split(" ")
            found[path] = version(mode, blob)
    return found


def outcomes(
    top: str, commits: list[Commit], wanted: Callable[[str], bool], chosen: set[str], merge: Merge | None
) -> dict[str, tuple[Version, Outcome]]:
    """For each path of the meant commits: what HEAD has, and what it will have."""
    paths = {path for one in commits if one.id in chosen for path in one.changes if wanted(path)}
    heads = tree_entries(top, paths) if paths else {}
    found = {}
    for path in sorted(paths):
        runs = []
        for commit in reversed(commits):
            if path in commit.changes:
                before, after = commit.changes[path]
                by = commit.agents[0] if commit.agents else commit.author
                runs.append(rules.Run(before, after, by, commit.when, meant=commit.id in chosen))
        found[path] = heads[path], rules.undone(heads[path], rules.joined(runs), merge)
    return found


def read(top: str, blob: str) -> bytes:
    """A blob as git has it."""
    return git.ask(top, "cat-file", "blob", blob).out


def smudged(top: str, path: str, entry: Version) -> bytes:
    """A blob as git would write it to the working tree, after its filters."""
    if entry[1] == "l":
        return read(top, entry[0])
    return git.ask(top, "cat-file", "--filters", f"--path={path}", entry[0]).out


def keep(top: str, content: bytes) -> str:
    """Make it a blob of git's; no filter changes it."""
    return git.ask(top, "hash-object", "-w", "--stdin", "--no-filters", given=content).out.decode().strip()


def check(top: str, git_dir: str) -> None:
    """A merge or a rebase that is under way must end first."""
    for name in PAUSED:
        if os.path.exists(f"{git_dir}/{name}"):
            raise Conflict(
                f"{top} is in the middle of a merge, a rebase or the like; finish or abort it first", path=top
            )


# --- the revert commit


def commit(
    top: str, scratch: str, before: str, entries: list[tuple[str, Version]], message: str, agent: str, undo: str
) -> str:
    """Commit these paths on top of `before`; returns the commit. Done already, by a run that was killed: the same."""
    head = git.head(top)
    if head != before:
        trailer = git.ask(top, "log", "-1", "--format=%(trailers:key=Dibs-Undo,valueonly)", head).out.decode().strip()
        if trailer == undo and git.commit(top, f"{head}^") == before:
            return head
        raise Conflict(f"HEAD moved from {before[:8]} to {head[:8]}; run the command again", path=top)
    index = f"{scratch}/index-{undo}"
    try:
        git.ask(top, "read-tree", "HEAD", index=index)
        git.ask(top, "update-index", "-z", "--index-info", index=index, given=_info(entries))
        env = {**git.environment(index), "DIBS_AGENT": agent}
        given = f"{message}\n\nDibs-Undo: {undo}\n".encode()
        done = run(
            ["git", "-C", top, "commit", "-q", "--cleanup=verbatim", "-F", "-"], env=env, given=given,
            timeout=COMMIT_TIMEOUT_S,
        )  # fmt: skip
        if done.code:
            raise Conflict(f"git refused the revert commit: {done.said or done.code}", path=top)
    finally:
        if os.path.exists(index):
            os.unlink(index)
    return git.head(top)


def _info(entries: Iterable[tuple[str, Version]]) -> bytes:
    """Lines of `update-index --index-info`."""
    found = b""
    for path, (blob, kind) in entries:
        mode, name = ("0", NONE) if blob == MISSING else (MODES[kind], blob)
        found += f"{mode} {name}\t".encode() + os.fsencode(path) + b"\0"
    return found


def staged(top: str, paths: Iterable[str]) -> dict[str, Version]:
    """What the working tree's index has of these paths."""
    wanted = set(paths)
    found: dict[str, Version] = dict.fromkeys(wanted, rules.GONE)
    for row in git.ask(top, "ls-files", "-z", "--stage", "--full-name", timeout=60.0).out.split(b"\0"):
        meta, tab, name = row.partition(b"\t")
        path = os.fsdecode(name)
        if tab and path in wanted:
            mode, blob, stage = meta.decode().split(" ")
            found[path] = version(mode, blob) if stage == "0" else ("merge", "")
    return found


def stage(top: str, entries: list[tuple[str, Version]]) -> None:
    """Make the index have these."""
    if not entries:
        return
    done = run(
        ["git", "-C", top, "update-index", "-z", "--index-info"],
        env={**git.environment(), "GIT_OPTIONAL_LOCKS": "1"},
        given=_info(entries),
    )
    if done.code:
        raise Unavailable(f"git's index could not be written: {done.said}", path=top)
