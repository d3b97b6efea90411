"""Deploy checks, shared by `dibs deploy`, git's pre-push and the shell guard.

Collects facts about the repository (uncommitted changes, position against the reference branch, placeholder texts that
ship) and passes them to operations/guards/deploy_guard.py, which decides. The first refusal ends the checks.

Placeholders: if the target has `ships`, every tracked text file there is searched; if not, only the lines added since
the last good deploy of that target, and nothing at the first deploy. `.dibs/` never ships. A placeholder in small
letters matches any case, one with capitals only as written; both only as whole words.
"""

from __future__ import annotations

import os

from dibs.errors import DibsError, Unavailable
from dibs.git import commits, sync
from dibs.git import queries as git
from dibs.operations.guards import deploy_guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.core.policy import DeploySettings, DeployTarget
    from dibs.operations.guards.deploy_guard import DeployToken, Placeholder
    from dibs.operations.guards.records import Deploy as LastGood
    from dibs.stores.seam import Json

MAX_PLACEHOLDERS = 20  # the search stops after this many


def settings(session: Session, target: str) -> DeployTarget:
    """The config of a target."""
    return config(session).get("targets", {}).get(target, {})


def config(session: Session) -> DeploySettings:
    """The table `[deploy]`."""
    return session.config.policy.guards.get("deploy") or {}


def fetch_timeout_s(session: Session) -> float:
    """The timeout for a remote, in seconds."""
    return float(config(session).get("fetch_timeout", git.FETCH_TIMEOUT_S))


def check(session: Session, call: Call, target: str, top: str, *, timeout: float | None = None) -> DibsError | None:
    """Why this caller may not deploy this target from this working tree now; None if it may."""
    try:
        examine(session, call, target, top, timeout=timeout)
    except DibsError as error:
        return error
    return None


def examine(
    session: Session, call: Call, target: str, top: str, *, timeout: float | None = None, **said: bool
) -> sync.BranchStatus:
    """The same, but raises; returns HEAD's position. `said`: dirty, unsynced, rollback."""
    last = session.run(deploy_guard.CHECK, call, {"targets": [target]})["last"][target]
    if not session.place.common:
        status = sync.BranchStatus(why="this is not a git repository")
        _judge(session, call, target, [status], **said)
        return status
    changed = [] if said.get("dirty") else [change.path for change in git.dirty(top, untracked=False)]
    if changed:
        _judge(session, call, target, [], changed=changed, tree=top, **said)
    status = sync.stand(top, *branch_for(session, target), timeout=timeout or fetch_timeout_s(session))
    ships, since = settings(session, target).get("ships", ()), last["commit"] if last else ""
    facts = {
        "contains": _contains(top, status.commit, last),
        "placeholders": placeholders(session, top, ships, since, status.commit),
    }
    _judge(session, call, target, [status], **facts, **said)
    return status


def branch_for(session: Session, target: str = "") -> tuple[str, str]:
    """The remote and the branch that the config names for a target, or for all; "" if it names none."""
    named, all_targets = settings(session, target), config(session)
    remote = named.get("remote") or all_targets.get("remote") or ""
    return remote, named.get("branch") or all_targets.get("branch") or ""


def _contains(top: str, commit: str, last: LastGood | None) -> bool | None:
    return sync.contains(top, commit, last["commit"]) if last and last["commit"] and commit else None


def _judge(session: Session, call: Call, target: str, syncs: Sequence[sync.BranchStatus], **facts: Json) -> None:
    given = {"target": target, "syncs": [one.as_json() for one in syncs], **facts}
    call.facts.clear()
    session.run(deploy_guard.JUDGE, call, given)


# --- placeholders


def placeholders(session: Session, top: str, ships: Sequence[str], since: str, commit: str) -> list[Placeholder]:
    """Where placeholders are in what ships."""
    words = [word for word in config(session)["placeholders"] if word.strip()]
    if not words or not commit:
        return []
    found = _in_files(top, words, ships) if ships else _in_added_lines(top, words, since, commit)
    return [place for place, _ in zip(found, range(MAX_PLACEHOLDERS), strict=False)]


def _in_files(top: str, words: Sequence[str], ships: Sequence[str]) -> Iterator[Placeholder]:
    """Search every tracked text file that ships."""
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


def _in_added_lines(top: str, words: Sequence[str], since: str, commit: str) -> Iterator[Placeholder]:
    """Search the lines that a commit adds to the last deployed one."""
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
    """Does a line contain this as a whole word?"""
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


def _place(path: str, line: int, text: bytes) -> Placeholder:
    return {"path": path, "line": line, "text": text.decode(errors="replace").strip()[:120]}


# --- pushes


def check_push(session: Session, call: Call, top: str, remote: str, updates: Sequence[tuple[str, str, str]]) -> None:
    """Raise the first refusal of a push: (branch there, commit here, commit there) for each; "" for none."""
    for branch, here, there in updates:
        if there:
            _check_dropped(session, call, top, remote, branch, here, there)
        targets = deploy_guard.pushed_targets(session.config.policy, branch)
        if not targets:
            continue
        last = session.run(deploy_guard.CHECK, call, {"targets": targets})["last"]
        for target in targets if here else ():
            facts = {
                "contains": _contains(top, here, last[target]), "under": _under(),
                "placeholders": _pushed_placeholders(session, top, target, there, here),
            }  # fmt: skip
            _judge(session, call, target, _pushed_syncs(session, top, target, remote, branch, here, there), **facts)


def _check_dropped(session: Session, call: Call, top: str, remote: str, branch: str, here: str, there: str) -> None:
    """Raise a refusal if the push takes other agents' commits off the branch, whichever branch it is."""
    if not git.commit(top, there):
        try:
            sync.fetched(top, remote, branch, fetch_timeout_s(session))
        except Unavailable:
            return  # a remote that does not answer takes no push either
    others = (f"--exclude={remote}/{branch}", "--remotes", "--branches")  # what they have does not go with the branch
    gone = commits.between(top, here, there) if here else commits.missing_from(top, there, *others)
    makers = commits.makers(top, gone)
    if makers:
        from dibs.operations.guards.push_reports import OVER

        session.run(OVER, call, {"remote": remote, "branch": branch, "makers": makers})


def _pushed_syncs(
    session: Session, top: str, target: str, remote: str, branch: str, here: str, there: str
) -> list[sync.BranchStatus]:
    """A pushed commit's position: against the branch it is pushed to, and against the reference branch."""
    own = sync.BranchStatus(branch, here, upstream=f"{remote}/{branch}")
    if there:
        if not git.commit(top, there):  # another push since the last fetch
            sync.fetched(top, remote, branch, fetch_timeout_s(session))
        sync.compare(top, own, there)
    else:
        own.behind = 0
    to, name = branch_for(session, target)
    usual = to or sync.usual_remote(top, git.remotes(top))
    if usual == remote and branch == (name or sync.known_default(top, remote)):
        return [own]
    counts = sync.stand(top, to, name, here=here, or_else=branch, timeout=fetch_timeout_s(session))
    counts.branch = branch
    return [own, counts]


def _under() -> DeployToken | None:
    """The deploy whose command this is, if so: target and token."""
    target, token = os.environ.get("DIBS_DEPLOY", ""), os.environ.get("DIBS_TOKEN", "")
    return {"target": target, "token": int(token)} if target and token.isdigit() else None


def _pushed_placeholders(session: Session, top: str, target: str, there: str, here: str) -> list[Placeholder]:
    """Placeholders in the lines that a push adds; with `ships`, only in files that ship."""
    found = placeholders(session, top, (), there, here)
    ships = settings(session, target).get("ships")
    if found and ships:
        shipped = set(git.tracked_matching(top, [f":(top,glob){pattern}" for pattern in ships]))
        found = [place for place in found if place["path"] in shipped]
    return found
