"""Replays credentials: each is made once and revoked once, and a machine registers agents only while one of its counts.

Like the rest of the lookout this imports nothing of the operations. A credential that was made in a missing stretch of
the log is believed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.lookout.reading import say, text, whole

if TYPE_CHECKING:
    from dibs.lookout.replay import Statement
    from dibs.lookout.verify import Report


class Credentials:
    """The credentials that the events describe."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._live: dict[str, tuple[str, str, int]] = {}  # id → kind, who, until
        self._lost = False  # an unknown credential may be live

    def lose(self) -> None:
        """Events are missing or unreadable: credentials may have been made or revoked in them."""
        self._live.clear()
        self._lost = True

    def on_made(self, said: Statement) -> None:
        """A credential is made, under an id that no live one has."""
        if said.subject in self._live:
            self._find(said, "was made a second time")
        self._live[said.subject] = text(said.data, "kind"), text(said.data, "who"), whole(said.data, "until")

    def on_revoked(self, said: Statement) -> None:
        """A credential is revoked that was made and not revoked."""
        if self._live.pop(said.subject, None) is None and not self._lost:
            self._find(said, "was revoked although there was none")

    def on_registered(self, said: Statement) -> None:
        """A machine registers an agent: then a credential of that machine counts."""
        if "machine" not in said.data:
            return
        machine = text(said.data, "machine")
        if not self._lost and not any(
            (kind, who) == ("machine", machine) and until > said.now for kind, who, until in self._live.values()
        ):
            message = f"{say(said.subject)} was registered by the machine {say(machine)}, which had no live credential"
            self._report.add(said.seq, "credential", message)

    def _find(self, said: Statement, what: str) -> None:
        self._report.add(said.seq, "credential", f"credential {say(said.subject)} {what}")
