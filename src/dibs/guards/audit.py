"""After a look: the agents that a change concerns are told, and the agent gets its news. The store is opened for that.

The need is known without the store: unreported changes, claims that end with the call, commits that git's hooks did not
report, mail, or a sign of life that is due.
"""

from __future__ import annotations

import os

from dibs.ledger import contents, ledger_files
from dibs.ledger.state import OUTSIDE, report_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.client.session import Session
    from dibs.guards.payload import Event
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Call, Fields
    from dibs.operations.guards.changes import FoundChange, ToldChange
    from dibs.workspace.location import Place

LOOK_EVERY_MS = 60_000  # between two looks for trouble by hooks; a look costs them a few milliseconds


def report(
    event: Event,
    place: Place,
    known: Iterable[Tree],
    tell_missed: Callable[[Session, Call, Sequence[tuple[str, str]]], None],
    *,
    release: Sequence[str] = (),
    diary: int = -1,
    merging: Callable[[Session, Call], None] | None = None,
    unmade: Sequence[tuple[str, str]] = (),
) -> str:
    """Report everything that is due; returns what the model should know.

    `tell_missed` reports commits that git's hooks did not report, `merging` a merge that is under way or over.
    `unmade`: the files that the call named, and that are as missing as before it, each with its working tree.
    """
    moves, missed = _head(place, diary)
    due = [tree for tree in known if tree.untold()]
    from dibs.workspace import mail_hint

    hinted = mail_hint.taken(place, event.agent) or ledger_files.is_elsewhere(place.local)
    if not (due or release or unmade or moves or missed or hinted or ledger_files.is_due(place.local, event.agent)):
        return ""
    from dibs.guards.caller import identify, open_session

    session = open_session(place)
    call = identify(session, event)
    if merging is not None:
        merging(session, call)
    told = audit(session, call, due, release=release, tool=event.tool, unmade=unmade)
    if missed:
        tell_missed(session, call, missed)
    if moves:
        from dibs.git import reflog
        from dibs.operations.guards.head_moves import MOVED

        here = [tree.state for tree in known if tree.top == place.top]
        owners = {owner for state in here for found in state.owned().values() for owner in found}
        fields = {"tree": place.top, "size": reflog.size(place.top), "moves": moves, "owners": sorted(owners)}
        session.run(MOVED, call, fields)
    return told


def _head(place: Place, diary: int) -> tuple[list[tuple[int, str, str, str]], list[tuple[str, str]]]:
    """What moved HEAD since git's reflog had this length, and the new commits."""
    if diary < 0 or not place.common:
        return [], []
    from dibs.git import reflog

    if reflog.size(place.top) == diary:
        return [], []
    return [move for move in reflog.moves_since(place.top, diary) if not move[3].startswith("commit")], (
        reflog.commits_since(place.top, diary)
    )


def tell(session: Session, call: Call, known: Iterable[Tree]) -> None:
    """Before a call and at other events: the agents concerned are told by message, this agent with its next news."""
    for tree in known:
        if tree.untold():
            from dibs.operations.guards.audits import CHANGED

            answer = session.run(CHANGED, call, {"found": facts_of(session, tree)})
            _done(session.place, tree, answer["violations"])


def _done(place: Place, tree: Tree, violations: list[ToldChange]) -> None:
    """Mark changes as reported, and keep overwritten contents for long."""
    for violation in violations:
        if violation["tree"] == tree.top:
            pin(place, violation["violation"], violation["blob"], tree.top)
    tree.add(*[report_line(change.id) for change in tree.untold()])
    tree.write()


def audit(
    session: Session, call: Call, due: Iterable[Tree], *, release: Sequence[str] = (), tool: str = "",
    unmade: Sequence[tuple[str, str]] = (),
) -> str:  # fmt: skip
    """Run the operation on the unreported changes, and keep the contents that they removed."""
    from dibs.guards import briefing
    from dibs.operations.guards.audits import AUDIT

    found: list[FoundChange] = []
    for tree in due:
        found += facts_of(session, tree)
    fields: Fields = {"found": found, "release": list(release), "tool": tool}
    if unmade:
        from dibs.guards.git_paths import resource_of

        fields["unmade"] = [[top, resource_of(session, path, top)] for top, path in unmade]
    news = session.run(AUDIT, call, fields)
    for tree in due:
        _done(session.place, tree, news["violations"])
    ledger_files.heard(session.place.local, call.agent, call.client)
    _look_for_trouble(session, call)
    return briefing.news(session, news)


def _look_for_trouble(session: Session, call: Call) -> None:
    """Where nobody else looked for a minute, the hook does, after its own work. It delivers nothing."""
    from dibs.machine import clock

    try:
        young = clock.wall() - os.stat(f"{session.place.local}/look").st_mtime_ns // 1_000_000 < LOOK_EVERY_MS
    except OSError:
        young = False
    if not young:
        from dibs.client.upkeep import rounds

        rounds.step(session, "hook", call.agent, every=LOOK_EVERY_MS, deliver=False)


def facts_of(session: Session, tree: Tree) -> list[FoundChange]:
    """The unreported changes, as the operation wants them."""
    from dibs.guards.git_paths import resource_of

    return [
        {
            "id": change.id, "resource": resource_of(session, change.path, tree.top), "tree": tree.top,
            "was": change.before, "now": change.after, "actor": change.actor, "grade": change.grade,
            "suspects": change.suspects, "owners": change.was_owned, "named": change.is_named,
            "drops": change.is_drop,
            "heard": list(tree.state.began) if change.grade == OUTSIDE else [],
        }
        for change in tree.untold()
    ]  # fmt: skip


def pin(place: Place, identifier: str, blob: str, tree: str) -> None:
    """Make an overwritten content a named git object, so that it lasts."""
    from dibs.errors import DibsError
    from dibs.git import objects

    content = contents.of_tree(place, blob, tree)
    if content is None:
        return
    try:
        kept = objects.keep(objects.objects_of(place.common, place.local), content)
        objects.pin(place.common, f"kept/{identifier}", kept)
    except DibsError:
        pass  # it is still in dibs' own folder
