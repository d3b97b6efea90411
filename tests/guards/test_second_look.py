"""What happens to a file between the edit guard's first look at it and the claim is seen by its second look."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Conflict
from dibs.guards import edit_call, payload
from dibs.guards.caller import open_session
from dibs.workspace import location
from tests.interfaces.repository import Repository


def ask(repo: Repository, monkeypatch: pytest.MonkeyPatch, meanwhile: Any) -> None:
    """Ada wants to write a.py whole; before the claim is granted, something happens."""
    sent = {
        "session_id": "ada", "cwd": str(repo.folder), "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": {"file_path": str(repo.folder / "a.py"), "content": "ada's\n"}, "tool_use_id": "call",
    }  # fmt: skip
    event = payload.read("claude", "PreToolUse", sent)
    assert event is not None
    place = location.find(str(repo.folder), None)
    session = open_session(place)
    run = session.run
    todo = [meanwhile]

    def later(*given: Any, **more: Any) -> Any:
        for one in todo:
            todo.clear()
            one()
        return run(*given, **more)

    monkeypatch.setattr(session, "run", later)
    try:
        edit_call.allow(session, session.identify("ada"), event, edit_call.writes_of(event), {})
    finally:
        session.close()


def test_what_somebody_wrote_and_committed_before_the_claim_was_granted_has_to_be_read_first(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    ada.read("a.py")

    def meanwhile() -> None:
        bob.edit("a.py", "bob's\n")
        repo.git("commit", "-q", "-a", "-m", "bob's")
        bob.end()

    with pytest.raises(Conflict, match=r"bob changed a\.py since you last read or wrote it"):
        ask(repo, monkeypatch, meanwhile)
    assert repo.claims() == {"ada": ["a.py"]}, "the claim stays for the next try"


def test_where_nothing_happened_meanwhile_it_passes(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = repo.agent("ada")
    ada.boot()
    ada.read("a.py")
    ask(repo, monkeypatch, lambda: None)
    assert repo.claims() == {"ada": ["a.py"]}


def test_a_hook_writes_once_into_the_ledger_and_a_refused_one_writes_what_it_saw(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    live = repo.folder / ".git" / "dibs" / "live"
    before = live.read_text()
    assert ada.may_write("new.py").allowed
    added = live.read_text()[len(before) :]
    assert [line[0] for line in added.splitlines() if line.endswith("new.py")] == ["S", "N"], "one look, one name"
    before = live.read_text()
    assert "ada holds new.py" in bob.may_write("new.py").refusal
    assert [line[0] for line in live.read_text()[len(before) :].splitlines()] == ["L"], "a look at all that is watched"
