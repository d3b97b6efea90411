"""The hint that there is mail: what is posted between two looks is told at the next, and nothing is told twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.client.session import Session
from dibs.operations.guards.audits import ACTIVITY
from dibs.workspace import mail_hint

if TYPE_CHECKING:
    from tests.scratch import Shell


def test_what_is_posted_between_two_looks_is_told_at_the_next_and_once(shell: Shell) -> None:
    shell.json("claim", "a.py", "--as", "bob/child", exit=0)
    session = Session(str(shell.folder), None)
    place = session.place

    def look() -> list[str]:
        """As a hook does: only where there is a mark, which is taken before the store is asked."""
        if not mail_hint.taken(place, "bob/child"):
            return []
        told = session.run(ACTIVITY, session.identify("bob/child"), {})["messages"]
        return [message["text"] for message in told]

    assert look() == []
    shell.json("send", "bob/child", "one", "--as", "ann", exit=0)
    assert not mail_hint.taken(place, "bob")
    assert look() == ["one"]
    assert look() == []
    shell.json("send", "bob/child", "two", "--as", "ann", exit=0)
    assert mail_hint.taken(place, "bob/child")
    shell.json(
        "send", "bob/child", "three", "--as", "ann", exit=0
    )  # after the mark was taken, before the store is asked
    told = session.run(ACTIVITY, session.identify("bob/child"), {})["messages"]
    assert [message["text"] for message in told] == ["two", "three"]
    assert look() == []
    shell.json("ask", "a.py", "please", "--as", "ann", exit=0)
    assert look() == ["please"]
    session.close()
