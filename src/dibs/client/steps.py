"""What a session does before and after an operation: things of the caller's machine, which operations do not touch.

Declarations name these steps (`Operation.beforehand`, `Operation.afterwards`).

A step before completes the request, a step after completes the answer. Nothing is decided here.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.client.memory_files import BootDecision
    from dibs.client.session import Session
    from dibs.operations.agents.answers import (
        AgentsAnswer,
        BootAnswer,
        KillAnswer,
        RulesAnswer,
        ScratchAnswer,
        TokenNewAnswer,
    )
    from dibs.operations.claims.answers import ClaimAnswer, ReleaseAnswer, StatusAnswer
    from dibs.operations.core.call import Answer, Call, Fields
    from dibs.operations.core.declare import Afterwards, Beforehand
    from dibs.operations.handovers.answers import HandoverAnswer
    from dibs.operations.upkeep.answers import SweepAnswer
    from dibs.stores.seam import Json


def _look_for_trouble(session: Session, call: Call, fields: Fields) -> Fields:
    """What is shown is what is true now: an alert whose cause is gone is cleared first."""
    from dibs.client.upkeep import rounds

    rounds.step(session, "call", call.agent or call.fallback, every=0, deliver=False)
    return fields


def _evidence(session: Session, result: Answer) -> Answer:
    from dibs.client import evidence, unfinished

    unfinished.complete(session, result["alerts"], result.get("groups", ()))
    return evidence.complete(session, result)


def _unfinished_files(session: Session, call: Call, fields: Fields) -> Fields:
    from dibs.client import unfinished

    return unfinished.gather(session, call, fields)


def _own_unfinished_files(session: Session, call: Call, fields: Fields) -> Fields:
    """The caller's files with uncommitted work; not for a program without a ledger, which finishes many tasks."""
    if not call.agent or not notes_claims(session):
        return fields
    from dibs.client import unfinished

    pairs = unfinished.files(session, [call.agent])[call.agent]
    return {**fields, "left": [path for _, path in pairs[: unfinished.MAX_FILES]]} if pairs else fields


def _pass_files_on(session: Session, result: HandoverAnswer) -> HandoverAnswer:
    from dibs.client import unfinished

    return unfinished.pass_on(session, result)


def _archive_old_events(session: Session, result: SweepAnswer) -> SweepAnswer:
    from dibs.client.upkeep import log_upkeep

    return log_upkeep.complete(session, result)


def _usage(_: Session, result: AgentsAnswer) -> AgentsAnswer:
    """What the processes of this machine's agents use, if that was asked for."""
    if not result.pop("usage", False):
        return result
    from dibs.client import agent_usage

    return agent_usage.complete(result)


def _save_contents(session: Session, call: Call, fields: Fields) -> Fields:
    """Before claims end: what their files contain is noted, or saved if they are taken away by force."""
    if not fields.get("force"):
        if session.short_lived and os.path.exists(f"{session.place.private}/live"):
            from dibs.client import local_details

            local_details.note_changes(session)
        return fields
    from dibs.client import content_backup

    return content_backup.save(session, call, fields)


def _pin_contents(session: Session, result: ReleaseAnswer) -> ReleaseAnswer:
    if result.get("kept"):
        from dibs.client import content_backup

        content_backup.pin(session, result)
    return result


def _beliefs(session: Session, call: Call, fields: Fields) -> Fields:
    """What a shell's environment and the agent's memory files make it believe; a program says itself what it is."""
    if not call.from_shell:
        return fields
    from dibs.client import env_beliefs, memory_files

    env_beliefs.name(call)
    own, tree = call.identified_by != "--as", session.place.top
    return {
        **fields,
        **env_beliefs.fields(own=own),
        "tree": tree,
        "files": memory_files.digests(memory_files.load(session)),
    }


def _make_secret(session: Session, _: Call, fields: Fields) -> Fields:
    """A credential's secret is made here and kept until the answer; the store is told its hash only."""
    from dibs.client import secrets

    return {**fields, "hash": secrets.new(session)}


def _show_secret(session: Session, result: TokenNewAnswer) -> TokenNewAnswer:
    from dibs.client import secrets

    return secrets.shown(session, result)


def _note_claim(session: Session, result: ClaimAnswer) -> ClaimAnswer:
    """A claim is noted, so that its files are known as they were before it (`dibs undo`).

    A program that claims thousands of times a minute notes them only where a ledger was begun.
    """
    if notes_claims(session):
        from dibs.client import local_details

        local_details.note_claim(session, result)
    return result


def notes_claims(session: Session) -> bool:
    """Are the files of a claim looked at? That takes longer than the claim itself, and may ask git."""
    return session.short_lived or os.path.exists(f"{session.place.private}/live")


def _still_running(_: Session, result: KillAnswer) -> KillAnswer:
    from dibs.client import still_running

    return still_running.complete(result)


def _briefing(session: Session, result: BootDecision) -> BootAnswer:
    from dibs.client import local_details

    return local_details.briefing(session, result)


def _rules_text(session: Session, result: RulesAnswer) -> RulesAnswer:
    from dibs.client import local_details

    return local_details.rules_text(session, result)


def _scratch_folder(session: Session, result: ScratchAnswer) -> ScratchAnswer:
    from dibs.client import local_details

    return local_details.scratch_folder(session, result)


def _warnings(session: Session, result: StatusAnswer) -> StatusAnswer:
    from dibs.client import local_details

    return local_details.with_warnings(session, result)


def _landing_home(session: Session, call: Call, fields: Fields) -> Fields:
    """The branch that is landed on, and the clone in which the landing's commit is for certain."""
    from dibs.client.landing_settings import home_of

    return {**_landing_branch(session, call, fields), "home": home_of(session)}


def _landing_branch(session: Session, _: Call, fields: Fields) -> Fields:
    """The branch that is landed on, where the caller names none: only the repository knows it."""
    if fields.get("onto") or not session.place.common:
        return fields
    from dibs.client.landing_settings import target_of

    return {**fields, "onto": target_of(session)}


BEFOREHAND: dict[Beforehand, Callable[[Session, Call, Fields], Fields]] = {
    "landing branch": _landing_branch,
    "landing home": _landing_home,
    "look for trouble": _look_for_trouble,
    "save contents": _save_contents,
    "beliefs": _beliefs,
    "make a secret": _make_secret,
    "own unfinished files": _own_unfinished_files,
    "unfinished files": _unfinished_files,
}
AFTERWARDS: dict[Afterwards, Callable[[Session, Json], Json]] = {
    "archive old events": _archive_old_events,
    "evidence": _evidence,
    "usage": _usage,
    "pin contents": _pin_contents,
    "note claim": _note_claim,
    "pass files on": _pass_files_on,
    "show the secret": _show_secret,
    "still running": _still_running,
    "briefing": _briefing,
    "rules text": _rules_text,
    "scratch folder": _scratch_folder,
    "warnings": _warnings,
}
