"""The end of a turn: gathers what the agent leaves, for the gate (operations/guards/stop_gate.py), which decides.

What the agent said and was asked is read here, and does not leave this process.
"""

from __future__ import annotations

from dibs.operations.core.call import within
from dibs.operations.guards import stop_gate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.guards.payload import Event
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Call, Fields
    from dibs.operations.guards.audits import OwnAnswer

OUTPUTS = (".err", ".log", ".out", ".tmp")  # where the call that wrote a new file is no longer known
MAX_COMMITS = 20  # of a turn, the last ones
MAX_FILES = 200  # that git is asked about
MS_NS, SECOND_MS = 1_000_000, 1_000


class SentBack(str):
    """What an agent reads that is to continue, instead of ending its turn."""

    __slots__ = ()


def judge(session: Session, call: Call, event: Event, tree: Tree, mine: OwnAnswer) -> str:
    """What is said at the end of this turn: to the agent, which continues (SentBack), or to the person."""
    level, command = stop_gate.level_and_command(session.config.policy.work["gates"]["stop"])
    if level == stop_gate.OFF or not mine["turn"]:
        return ""
    files = unfinished(session, tree, call.agent, mine["turn"] * MS_NS)
    commits = _commits(session, call.agent, mine["turn"] // SECOND_MS)
    if not files and not commits:
        return ""
    how = event.dialect.ENDS
    excused = event.plan or event.background or event.halted or mine["asks"] or stop_gate.asks_person(event.said)
    fields: Fields = {
        "files": files[:MAX_FILES], "commits": len(commits), "excused": bool(excused),
        "answerable": bool(how) and bool(event.said), "shown": bool(how),
    }  # fmt: skip
    if level == stop_gate.LAND and commits:
        fields.update(_branch(session, commits))
    if level == stop_gate.VERIFY and not excused:
        from dibs.guards import verification

        fields["failed"] = verification.outcome(session, event.agent, command)
    said = session.run(stop_gate.GATE, call, fields)
    return SentBack(said["block"]) if said["block"] else str(said["tell"])


def unfinished(session: Session, tree: Tree, agent: str, since: int) -> list[str]:
    """The files that the agent named and changed since then and did not commit, but for what the config calls free."""
    paths = [
        path
        for path, owners in tree.state.owned().items()
        if any(within(owner, agent) for owner in owners) and _is_of_turn(tree, path, agent, since)
    ]
    free = session.config.policy.guards["free"]
    if free and paths:
        from dibs.operations.core.policy import covers

        paths = [path for path in paths if not any(covers(pattern, ["file", path]) for pattern in free)]
    if not paths or not session.place.common:
        return []
    from dibs.git.queries import dirty

    found = dirty(tree.top, [f":(top,literal){path}" for path in paths[:MAX_FILES]])
    changed = {one.path for one in found if one.tree != "?" or not _is_output(tree, one.path)}
    return [path for path in paths if path in changed]


def _is_output(tree: Tree, path: str) -> bool:
    """Is a new file what a program put out (`pytest > report.txt`)? What a model writes itself, its call announces."""
    calls = [call.how(path) for call in tree.state.calls.values() if path in call.named]
    return not any(content for _, content in calls) if calls else path.endswith(OUTPUTS)


def _is_of_turn(tree: Tree, path: str, agent: str, since: int) -> bool:
    head = tree.state.heads[path]
    change = head.change
    return change is not None and within(change.actor, agent) and change.looked >= since and head.named >= since


def _commits(session: Session, agent: str, since: int) -> list[str]:
    """The commits made here since then (s), but for those that name other agents as their makers.

    One of the very second in which the turn began counts only if it names this agent.
    """
    from dibs.git import reflog

    made = reflog.commits_after(session.place.top, since) if session.place.common else []
    if not made:
        return []
    from dibs.git.commits import makers

    found = []
    for commit, at in made[-MAX_COMMITS:]:
        names = makers(session.place.top, [commit])
        if any(within(name, agent) for name in names) or (not names and at > since):
            found.append(commit)
    return found


def _branch(session: Session, commits: list[str]) -> Fields:
    """The branch of these commits, and how many of them are not on the branch that others are landed on."""
    from dibs.client.landing_settings import target_of
    from dibs.git import commits as git_commits
    from dibs.git import queries as git

    top, target = session.place.top, target_of(session)
    branch = git.branch(top)
    if not branch or branch == target or not git.commit(top, f"refs/heads/{target}"):
        return {}
    missing = set(git_commits.missing_from(top, "HEAD", f"refs/heads/{target}"))
    unlanded = len(missing.intersection(commits))
    return {"unlanded": unlanded, "branch": branch, "target": target, "head": git.head(top)}
