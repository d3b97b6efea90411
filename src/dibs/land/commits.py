"""The commits of a landing: what the target would be with a branch in it. Made by git's own merge, in no working tree.

- merge: a merge commit of the target and the branch's tip. Several branches are chained, and one more merge commit puts
  the chain on the target: so every commit on the target's first-parent line has passed the check.
- squash: one commit with the merged content.
- rebase: the branch's commits one by one; each is merged with its own parent as the base, as a cherry-pick does.
  Commits whose content is there already are left out. A branch with merges in it is squashed: replaying what was
  resolved would bring the conflicts back.

Every commit says who landed it in its trailers, and is signed where git's commit.gpgsign says so. No ref is touched
here: until the target is moved nothing has happened.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable, quoted
from dibs.git import merges
from dibs.git import queries as git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.core.policy import LandSettings
    from dibs.operations.landing.lander import QueuedLanding

MAX_COMMITS = 1_000  # of one branch that are replayed; a longer one is squashed
MAX_SUBJECTS = 50  # listed in a squashed commit's message
MERGE, REBASE = "merge", "rebase"  # any other way is a squash


class Prepared:
    """A landing as a commit on top of the target, or why there is none."""

    __slots__ = ("code", "commit", "commits", "landing", "paths", "tip", "why")

    def __init__(self, landing: QueuedLanding, tip: str = "") -> None:
        self.landing, self.tip = landing, tip
        self.commit = ""
        self.commits: list[str] = []  # that were replayed, the oldest first
        self.code = self.why = ""  # of a refusal
        self.paths: list[str] = []  # that conflict

    @property
    def id(self) -> str:
        """The landing's id."""
        return self.landing["landing"]

    @property
    def branch(self) -> str:
        """Its branch."""
        return self.landing["branch"]


class CommitBuilder:
    """Makes the commits of one lander."""

    def __init__(self, top: str, common: str, target: str, settings: LandSettings, token: int) -> None:
        self.top, self._target, self._method, self._token = top, target, settings["method"], token
        self._objects = merges.Objects(common)
        self._signs: bool | None = None if settings["sign"] == "git" else False  # None until git was asked
        self._who: dict[str, str] | None = None  # the committer, where git knows none

    def prepare(self, base: str, landing: QueuedLanding) -> Prepared:
        """A landing on top of a commit. Without anything new in it, its commit is that one."""
        tip = git.commit(self.top, landing["commit"] or f"refs/heads/{landing['branch']}")
        made = Prepared(landing, tip)
        if not tip:
            what = f"the commit {landing['commit'][:12]}" if landing["commit"] else f"the branch {landing['branch']}"
            made.code, made.why = "missing", f"{what} is not in this repository."
        elif self.contains(base, tip):
            made.commit = base
        else:
            self._build(base, made)
        return made

    def contains(self, commit: str, other: str) -> bool:
        """Is another commit part of this one's history?"""
        return git.ask(self.top, "merge-base", "--is-ancestor", other, commit, fine=(0, 1)).ok

    def together(self, base: str, chain: Sequence[Prepared]) -> str:
        """The commit that the target is moved to, for a chain of landings."""
        last = chain[-1].commit
        new = [one for one in chain if one.commit != base]
        if self._method != MERGE or len({one.commit for one in new}) < 2:  # noqa: PLR2004 - several
            return last
        names = ", ".join([one.branch for one in new])
        text = f"Land {len(new)} branches: {names}"
        trailers = [f"Dibs-Token: land:{self._target}={self._token}"]
        return self._commit(self.tree(last), (base, last), text, trailers, {})

    def tree(self, commit: str) -> str:
        """The tree of a commit."""
        return self._objects.ask(self.top, "rev-parse", f"{commit}^{{tree}}").strip()

    def paths(self, before: str, after: str) -> list[str]:
        """The files that differ between two commits."""
        return list(git.diff_paths(self.top, before, after))

    # --- one landing

    def _build(self, base: str, made: Prepared) -> None:
        commits = self._linear(base, made.tip) if self._method == REBASE else []
        if commits:
            self._replay(base, made, commits)
            return
        merge = merges.merge(self.top, self._objects, base, made.tip)
        if self._refused(made, merge):
            return
        trailers = self._trailers(made)
        if self._method == MERGE:
            text = f"Land {made.branch}"
            made.commit = self._commit(merge.tree, (base, made.tip), text, trailers, {})
        elif merge.tree == self.tree(base):
            made.commit = base
        else:
            made.commit = self._commit(merge.tree, (base,), self._summary(base, made), trailers, self._author(made.tip))

    def _replay(self, base: str, made: Prepared, commits: Sequence[str]) -> None:
        """Each commit on top of the one before, with its own parent as the base of the merge."""
        here, tree = base, self.tree(base)
        for commit in commits:
            stand_in = self._objects.ask(
                self.top, "commit-tree", tree, "-p", f"{commit}^", "-m", "the target", env=self._identity(commit)
            ).strip()
            merge = merges.merge(self.top, self._objects, stand_in, commit)
            if self._refused(made, merge):
                return
            if merge.tree != tree:
                text = self._objects.ask(self.top, "log", "-1", "--format=%B", commit)
                here = self._commit(merge.tree, (here,), text, self._trailers(made), self._author(commit))
                made.commits.append(here)
                tree = merge.tree
        made.commit = here

    def _linear(self, base: str, tip: str) -> list[str]:
        """The commits of a branch without merges, oldest first; none for another one, or if it is too long."""
        words = ("rev-list", "--reverse", "--topo-order", "--parents", f"--max-count={MAX_COMMITS + 1}")
        rows = [row.split() for row in self._objects.ask(self.top, *words, f"{base}..{tip}", "--").splitlines()]
        plain = all(len(row) == 2 for row in rows)  # noqa: PLR2004 - a commit and its parent
        return [row[0] for row in rows] if plain and len(rows) <= MAX_COMMITS else []

    def _refused(self, made: Prepared, merge: merges.Merge) -> bool:
        if merge.outcome == merges.CLEAN:
            return False
        made.code = "conflict"
        if merge.outcome == merges.UNRELATED:
            made.why = f"it has no commit in common with {self._target}."
            return True
        made.paths = [file["path"] for file in merge.files]
        shown = ", ".join(made.paths[:5]) + (f" and {len(made.paths) - 5} more" if len(made.paths) > 5 else "")  # noqa: PLR2004
        how = "rebase" if self._method == REBASE else "merge"
        made.why = f"it conflicts with {self._target} in {shown}. In its worktree: `git {how} {quoted(self._target)}`."
        return True

    # --- git's words

    def _trailers(self, made: Prepared) -> list[str]:
        agents = [f"Dibs-Agent: {agent}" for agent in made.landing["agents"]]
        return [*agents, f"Dibs-Token: land:{self._target}={self._token}", f"Dibs-Landing: {made.id}"]

    def _summary(self, base: str, made: Prepared) -> str:
        """The message of a squashed branch: that of its only commit, or its name and their subjects."""
        words = ("log", "--reverse", "--no-merges", f"--max-count={MAX_SUBJECTS}")
        subjects = self._objects.ask(self.top, *words, "--format=%s", f"{base}..{made.tip}", "--").splitlines()
        if len(subjects) == 1:
            return self._objects.ask(self.top, *words, "--format=%B", f"{base}..{made.tip}", "--")
        return "\n".join([f"Land {made.branch}", "", *[f"* {subject}" for subject in subjects]])

    def _author(self, commit: str) -> dict[str, str]:
        found = self._objects.ask(self.top, "log", "-1", "--format=%an%x00%ae%x00%ad", "--date=raw", commit)
        name, email, date = found.strip("\n").split("\0")
        return {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": date}

    def _commit(
        self, tree: str, parents: Sequence[str], text: str, trailers: Sequence[str], author: dict[str, str]
    ) -> str:
        words = [part for parent in parents for part in ("-p", parent)]
        message = text.strip("\n") + "\n"
        if trailers:
            given = [part for trailer in trailers for part in ("--trailer", trailer)]
            message = self._objects.ask(
                self.top, "interpret-trailers", "--if-exists", "addIfDifferent", *given, given=os.fsencode(message)
            )
        env = {**self._identity(parents[-1]), **author}
        if self._signed():
            return self._signed_commit((tree, *words), message, env)
        return self._objects.ask(self.top, "commit-tree", tree, *words, given=os.fsencode(message), env=env).strip()

    def _signed(self) -> bool:
        if self._signs is None:
            asked = git.ask(self.top, "config", "--type=bool", "--get", "commit.gpgsign", fine=(0, 1, 128))
            self._signs = asked.out.strip() == b"true"
        return self._signs

    def _signed_commit(self, words: Sequence[str], message: str, env: dict[str, str]) -> str:
        try:
            done = self._objects.ask(self.top, "commit-tree", "-S", *words, given=os.fsencode(message), env=env)
        except Unavailable as error:
            raise Unavailable(
                f"git's commit.gpgsign is on and the landed commit cannot be signed here: {error.message.rstrip('.')}. "
                'Unlock the key for this process, or set `sign = "never"` in [land] of .dibs/config.toml.',
                program="git",
                path=self.top,
            ) from None
        return done.strip()

    def _identity(self, commit: str) -> dict[str, str]:
        """The committer: git's own setting; where there is none, the author of what is landed."""
        if self._who is None:
            try:
                self._objects.ask(self.top, "var", "GIT_COMMITTER_IDENT")
                self._who = {}
            except Unavailable:
                found = self._author(commit)
                name, email = found["GIT_AUTHOR_NAME"], found["GIT_AUTHOR_EMAIL"]
                self._who = {
                    "GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email,
                    "GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": email,
                }  # fmt: skip
        return self._who
