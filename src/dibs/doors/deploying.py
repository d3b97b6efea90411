"""What speaks against a deploy: shared by `dibs deploy`, `dibs sync-check`, git's pre-push and the shell guard.

In this order: the caller's role, somebody else who holds the target, uncommitted changes, commits of others that are
not here, placeholder texts in what ships. The first is the answer, and the log has it.

Placeholders: where the target says what it `ships`, every tracked text file there is searched; where it does not, the
lines that were added since the last good deploy of that target, and the first time none. `.dibs/` never ships. A
placeholder in small letters is found in any case, one with capitals as it is written; both only as whole words.
"""

from __future__ import annotations

import os

from dibs.errors import Behind, Conflict, DibsError, Forbidden, Invalid
from dibs.facts import git
from dibs.operations import deploys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from dibs.doors.session import Session
    from dibs.operations.call import Call

FOUND = 20  # places with a placeholder that are named
SHOWN = 5


class Standing:
    """Where a branch stands against the one it follows; `note` says why there is nothing to compare with."""

    __slots__ = ("ahead", "behind", "branch", "commit", "note", "upstream")

    def __init__(self, branch: str, commit: str, upstream: str = "", note: str = "") -> None:
        self.branch, self.commit, self.upstream, self.note = branch, commit, upstream, note
        self.behind = self.ahead = 0

    def as_json(self) -> dict[str, Any]:
        """The keys of `dibs sync-check`."""
        shown = {
            "branch": self.branch, "commit": self.commit, "behind": self.behind, "ahead": self.ahead,
            "upstream": self.upstream,
        }  # fmt: skip
        return {**shown, "note": self.note} if self.note else shown


def settings(session: Session, target: str) -> dict[str, Any]:
    """What the config says about a target."""
    found: dict[str, Any] = config(session).get("targets", {}).get(target, {})
    return found


def config(session: Session) -> dict[str, Any]:
    """The table `[deploy]`."""
    found: dict[str, Any] = session.config.policy.guards.get("deploy") or {}
    return found


def patience(session: Session) -> float:
    """Seconds to wait for a remote."""
    return float(config(session).get("fetch_timeout", git.NETWORK))


def targets_of(session: Session, branch: str) -> list[str]:
    """What a push to this branch deploys: nothing where it is not protected, else the targets of that branch."""
    from fnmatch import fnmatchcase

    if not any(fnmatchcase(branch, pattern) for pattern in config(session)["protected"]):
        return []
    named = [name for name, target in config(session).get("targets", {}).items() if target.get("branch") == branch]
    return named or [branch]


def check(
    session: Session, call: Call, target: str, top: str, *, dirty: bool = False, timeout: float | None = None
) -> DibsError | None:
    """Why this caller may not deploy this target from this working tree now; None if nothing speaks against it."""
    try:
        examine(session, call, target, top, dirty=dirty, timeout=timeout)
    except DibsError as error:
        return error
    return None


def examine(
    session: Session, call: Call, target: str, top: str, *, dirty: bool = False, timeout: float | None = None
) -> Standing:
    """The same, raised; gives where the branch stands. `dirty`: uncommitted changes are known and meant."""
    last = session.run(deploys.CHECK, call, {"targets": [target]})["last"][target]
    if not session.place.common:
        return Standing("", "", note="not in a git repository")
    named = settings(session, target)
    try:
        if not dirty:
            _refuse_dirty(session, call, top)
        standing = stand(top, named.get("remote", ""), named.get("branch", ""), timeout=timeout or patience(session))
        refuse_behind(standing)
        since = last["commit"] if last else ""
        refuse_placeholders(session, top, named.get("ships", ()), since, standing.commit)
    except (Behind, Conflict, Forbidden) as error:
        session.run(deploys.REFUSED, call, {"target": target, "code": error.code})
        raise
    return standing


def refuse_behind(standing: Standing) -> None:
    """Raise Behind where others have commits that are not here."""
    if standing.behind:
        raise Behind(**standing.as_json())


def stand(top: str, remote: str = "", branch: str = "", *, timeout: float = git.NETWORK) -> Standing:
    """Fetch, and say how far HEAD is behind and ahead of the branch it follows, or of the one that is named."""
    standing = Standing(git.branch(top), git.head(top))
    if not standing.commit:
        standing.note = "there is no commit yet"
        return standing
    known = git.remotes(top)
    if remote and remote not in known:
        raise Invalid(f"there is no remote {remote} here; there is {', '.join(known) or 'none'}", field="remote")
    follows = git.upstream(top) if standing.branch else None
    if follows is None or remote or branch:
        theirs = remote or (follows.remote if follows else "") or _default(known)
        name = branch or (follows.branch if follows and follows.remote == theirs else standing.branch)
        if not theirs:
            standing.note = "there is no remote to compare with"
            return standing
        if not name:
            standing.note = "HEAD is on no branch; name one with --branch"
            return standing
        follows = git.Upstream(f"refs/remotes/{theirs}/{name}", theirs, name)
    if follows.remote != ".":  # a branch may follow another one of the same repository
        git.fetch(top, follows.remote, timeout)
    counts = git.behind_ahead(top, follows.ref)
    if counts is None:
        standing.note = f"{follows.remote} has no branch {follows.branch}"
        return standing
    standing.upstream = follows.name
    standing.behind, standing.ahead = counts
    return standing


def _default(known: list[str]) -> str:
    """The remote that is meant where none is named."""
    return "origin" if "origin" in known else known[0] if len(known) == 1 else ""


def _refuse_dirty(session: Session, call: Call, top: str) -> None:
    """What is recorded as deployed is a commit; a tree with other content is not that commit."""
    paths = [change.path for change in git.dirty(top, untracked=False)]
    if not paths:
        return
    holders = _holders(session, call, top, paths)
    paths.sort(key=lambda path: path in holders)
    named = [f"{path} ({holders[path]} is at work on it)" if path in holders else path for path in paths[:SHOWN]]
    shown = ", ".join(named) + (f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else "")
    if not holders:
        way = "Commit them, or deploy with --dirty."
    else:
        yours = "Commit your own. " if len(holders) < len(paths) else ""
        own = "deploy from a working tree of your own (`git worktree add`), or wait."
        way = f"{yours}Theirs are not yours to commit: {own}"
    raise Conflict(
        f"uncommitted changes would ship, or not, and nobody could tell: {shown}. {way}",
        paths=paths[:FOUND],
        holders=holders,
    )


def _holders(session: Session, call: Call, top: str, paths: Sequence[str]) -> dict[str, str]:
    """Which other agents hold which of these paths."""
    from dibs.operations import resources
    from dibs.operations.audits import OTHERS

    found: dict[str, str] = {}
    for claim in session.run(OTHERS, call, {"tree": top})["claims"]:
        for path in paths:
            if any(resources.overlap(["file", path], held) for held in claim["resources"]):
                found.setdefault(path, claim["agent"])
    return found


# --- placeholders


def refuse_placeholders(session: Session, top: str, ships: Sequence[str], since: str, commit: str) -> None:
    """Raise Forbidden for a placeholder in what ships."""
    words = [word for word in config(session)["placeholders"] if word.strip()]
    if not words:
        return
    found = _in_files(top, words, ships) if ships else _in_added_lines(top, words, since, commit)
    places = [place for place, _ in zip(found, range(FOUND), strict=False)]
    if not places:
        return
    lines = [f"{place['path']}:{place['line']}: {place['text']}" for place in places[:SHOWN]]
    more = f" … and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    raise Forbidden(f"placeholder texts would ship: {'; '.join(lines)}{more}. Finish them first.", placeholders=places)


def _in_files(top: str, words: Sequence[str], ships: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every tracked text file that matches what ships."""
    where = [f":(top,glob){pattern}" for pattern in ships] + [":(top,exclude).dibs"]
    for exact in (True, False):
        chosen = [word for word in words if _exact(word) is exact]
        if not chosen:
            continue
        options = ["-I", "-n", "-z", "-w", "--fixed-strings", "--full-name", *([] if exact else ["-i"])]
        patterns = [part for word in chosen for part in ("-e", word)]
        done = git.ask(top, *git.PLAIN, "grep", "--no-color", *options, *patterns, "--", *where, fine=(0, 1))
        for row in done.out.split(b"\n"):
            path, _, rest = row.partition(b"\0")
            line, _, text = rest.partition(b"\0")
            if line.isdigit():
                yield _place(os.fsdecode(path), int(line), text)


def _in_added_lines(top: str, words: Sequence[str], since: str, commit: str) -> Iterator[dict[str, Any]]:
    """The lines that a commit adds to another, which was deployed before."""
    if not since or not git.commit(top, since):
        return
    options = ("--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--src-prefix=a/")
    done = git.ask(
        top, *git.PLAIN, "diff", *options, "--dst-prefix=b/", since, commit, "--", ":(top,exclude).dibs"
    )  # fmt: skip
    path, line, body = "", 0, False
    for row in done.out.split(b"\n"):
        if row.startswith(b"diff --git "):
            body = False
        elif row.startswith(b"@@ "):
            body = True
            line = int(row.split(b"+", 1)[1].split(b" ", 1)[0].split(b",", 1)[0])
        elif not body and row.startswith(b"+++ "):
            path = os.fsdecode(row[6:].rstrip(b"\t"))
        elif body and row.startswith(b"+"):
            text = row[1:].decode(errors="replace")
            if any(_has(text, word) for word in words):
                yield _place(path, line, row[1:])
            line += 1


def _exact(word: str) -> bool:
    return word != word.lower()


def _has(text: str, word: str) -> bool:
    """Does a line have this as a whole word?"""
    if not _exact(word):
        text = text.lower()
    start = text.find(word)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(word) : start + len(word) + 1]
        if not _in_word(before) and not _in_word(after):
            return True
        start = text.find(word, start + 1)
    return False


def _in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _place(path: str, line: int, text: bytes) -> dict[str, Any]:
    return {"path": path, "line": line, "text": text.decode(errors="replace").strip()[:120]}


# --- pushes


def check_push(session: Session, call: Call, top: str, remote: str, updates: Sequence[tuple[str, str, str]]) -> None:
    """Raise what speaks against a push: (branch there, commit here, commit there) for each; "" for none."""
    for branch, here, there in updates:
        targets = targets_of(session, branch)
        if not targets:
            continue
        session.run(deploys.CHECK, call, {"targets": targets})
        try:
            if here and there:
                _refuse_behind(top, remote, branch, here, there)
                for target in targets:
                    _refuse_pushed(session, top, target, there, here)
        except (Behind, Forbidden) as error:
            session.run(deploys.REFUSED, call, {"target": targets[0], "code": error.code})
            raise


def _refuse_behind(top: str, remote: str, branch: str, here: str, there: str) -> None:
    """What the remote has now is known from git itself; it may not be here at all."""
    counts = git.behind_ahead(top, there, here) if git.commit(top, there) else None
    if counts is None or counts[0]:
        behind, ahead = counts or (None, None)
        raise Behind(branch=branch, commit=here, behind=behind, ahead=ahead, upstream=f"{remote}/{branch}")


def _refuse_pushed(session: Session, top: str, target: str, there: str, here: str) -> None:
    """Placeholders in what a push adds; with `ships`, only in files that ship."""
    try:
        refuse_placeholders(session, top, (), there, here)
    except Forbidden as error:
        ships = settings(session, target).get("ships")
        if not ships:
            raise
        shipped = set(git.tracked_matching(top, [f":(top,glob){pattern}" for pattern in ships]))
        if any(place["path"] in shipped for place in error.placeholders):
            raise
