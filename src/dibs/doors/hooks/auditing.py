"""After a command: which files of other agents are not what they left there, and which of its own did this one change?

What a command writes cannot always be known beforehand (`make`, `python x.py`). So afterwards the files under others'
live claims are compared with what their holders' journals say; here only the facts are found, the operation says what
they mean.
"""

from __future__ import annotations

import os

from dibs.doors.hooks import briefing, journal
from dibs.doors.hooks.moments import RESTAMPED, identify, left_behind, open_session
from dibs.facts import clock, reflog
from dibs.operations import resources
from dibs.operations.audits import AUDIT, OTHERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.hooks.clients import Event
    from dibs.doors.session import Session
    from dibs.facts.workspace import Place

SLACK = 2_000_000_000  # ns: filesystems' times are coarse, and the command began a little after its hook


def after(event: Event, place: Place) -> str:
    """Audit one call; returns what the model should know."""
    session = open_session(place)
    call = identify(session, event)
    agent = event.agent
    own = journal.Journal(place.local, agent)
    claims = session.run(OTHERS, call, {})["claims"]
    found = changes(session, own, agent, claims, event.call or event.tool)
    release = own.claims_of(event.call or event.tool)  # what was claimed for this call alone
    news = session.run(AUDIT, call, {"found": found, "release": release, "tool": event.tool})
    for violation in news["violations"]:
        pin(place, violation["violation"], violation["blob"])
    before = own.diary_at(event.call or event.tool)
    missed = reflog.commits_since(place.top, before) if before >= 0 and place.common else []
    if missed:
        from dibs.doors import git

        git.tell_missed(session, call, missed)
    lines = [journal.line("C", event.call or event.tool), *_restamped(place, own, claims), journal.next_renewal()]
    journal.append(place.local, agent, lines)
    journal.compact(place.local, agent)
    return briefing.news(session, news)


def changes(
    session: Session, own: journal.Journal, agent: str, claims: list[dict[str, Any]], opened: str
) -> list[dict[str, Any]]:
    """The files under others' claims whose content is not what the holder left there."""
    found = []
    started = own.opened_at(opened)
    for holder in sorted({claim["agent"] for claim in claims}):
        theirs = journal.Journal(session.place.local, holder)
        mine = [claim for claim in claims if claim["agent"] == holder]
        for real, (signature, blob) in theirs.files().items():
            now = journal.signature(real)
            if now == signature or not (blob or signature == journal.MISSING):
                continue
            covered = _covered(session.place, real, mine)
            if covered is None or theirs.is_writing(real):
                continue
            changed = journal.blob_of(real) if now != journal.MISSING else ""
            if changed == blob:
                continue
            claim, resource, tree = covered
            sure = (
                bool(started) and _during(real, started)
                and not _others_at_work(session.place.local, agent, started)
            )  # fmt: skip
            found.append(
                {"claim": claim["claim"], "resource": resource, "tree": tree, "was": blob, "now": changed, "sure": sure}
            )
    return found


def _covered(place: Place, real: str, claims: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str], str] | None:
    """The claim that covers a file, the file as a resource, and its working tree."""
    for claim in claims:
        for top in {claim["tree"] or place.top, place.top, place.root}:
            if real.startswith(f"{top}/") and claim["tree"] in {"", top}:
                resource = ["file", real[len(top) + 1 :]]
                if any(resources.overlap(resource, held) for held in claim["resources"]):
                    return claim, resource, top
    return None


def _during(real: str, started: int) -> bool:
    """Was the file last changed while this call ran? What is gone was taken away at an unknown time."""
    try:
        changed = os.stat(real).st_mtime_ns
    except OSError:
        return True
    began = (clock.wall() - (clock.since_boot() - started)) * 1_000_000
    return changed >= began - SLACK


def _others_at_work(local: str, agent: str, started: int) -> bool:
    """Had any other agent a call open while this one ran?"""
    own = journal.name_of(agent)
    return any(journal.Journal(local, name=name).open_calls(started) for name in journal.agents(local) if name != own)


def pin(place: Place, identifier: str, blob: str) -> None:
    """Make a content that was overwritten one of git's objects with a name, so that it lasts."""
    from dibs.errors import DibsError
    from dibs.facts import objects

    content = objects.read_blob(f"{place.local}/objects", blob) if blob else None
    if content is None:
        return
    try:
        kept = objects.keep(objects.objects_of(place.common, place.local), content)
        objects.pin(place.common, f"kept/{identifier}", kept)
    except DibsError:
        pass  # it is still in dibs' own folder


def _restamped(place: Place, own: journal.Journal, claims: list[dict[str, Any]]) -> list[str]:
    """What the agent's own command did to files that it knows is its own doing, unless another agent holds them."""
    lines = []
    for real, (signature, _) in list(own.files().items())[-RESTAMPED:]:
        if (
            journal.inside(place, real)
            and journal.signature(real) != signature
            and _covered(place, real, claims) is None
        ):
            lines.append(left_behind(place.local, real))
    return lines
