"""What a session does before and after an operation: things of the caller's machine, which operations do not touch.

Declarations name these steps (`Operation.beforehand`, `Operation.afterwards`).

A step before completes the request, a step after completes the answer. Nothing is decided here.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.session.session import Session


def _save_contents(session: Session, call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    """Before claims are taken away by force: what their files contain is saved."""
    if not fields.get("force"):
        return fields
    from dibs.session import content_backup

    return content_backup.save(session, call, fields)


def _pin_contents(session: Session, result: dict[str, Any]) -> dict[str, Any]:
    if result.get("kept"):
        from dibs.session import content_backup

        content_backup.pin(session, result)
    return result


def _beliefs(session: Session, call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    """What a shell's environment and the agent's memory files make it believe; a program says itself what it is."""
    if not call.typed:
        return fields
    from dibs.session import env_beliefs, memory_files

    env_beliefs.name(call)
    own = call.how != "--as"
    return {**fields, **env_beliefs.fields(own=own), "files": memory_files.digests(memory_files.load(session))}


def _note_claim(session: Session, result: dict[str, Any]) -> dict[str, Any]:
    """A claim is noted where guards are at work.

    A program that claims thousands of times a minute notes them only where hooks have begun a ledger.
    """
    if os.path.exists(session.place.private if session.short_lived else f"{session.place.private}/live"):
        from dibs.session import local_details

        local_details.note_claim(session, result)
    return result


def _local_detail(name: str) -> Callable[[Session, dict[str, Any]], dict[str, Any]]:
    def complete(session: Session, result: dict[str, Any]) -> dict[str, Any]:
        from dibs.session import local_details

        found: dict[str, Any] = getattr(local_details, name)(session, result)
        return found

    return complete


BEFOREHAND = {"save contents": _save_contents, "beliefs": _beliefs}
AFTERWARDS = {
    "pin contents": _pin_contents,
    "note claim": _note_claim,
    "briefing": _local_detail("briefing"),
    "rules text": _local_detail("rules_text"),
    "scratch folder": _local_detail("scratch_folder"),
    "warnings": _local_detail("with_warnings"),
}
