"""Replays credentials: each is made once and revoked once, and a machine registers agents only while one of its counts.

Like the rest of the lookout this imports nothing of the operations. A credential that was made in a missing stretch of
the log is believed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.verify.reading import say, text, whole

if TYPE_CHECKING:
    from dibs.verify.checker import Report
    from dibs.verify.replay import OpenedEvent


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

    def on_made(self, event: OpenedEvent) -> None:
        """A credential is made, under an id that no live one has."""
        if event.subject in self._live:
            self._find(event, "was made a second time")
        self._live[event.subject] = text(event.data, "kind"), text(event.data, "who"), whole(event.data, "until")

    def on_revoked(self, event: OpenedEvent) -> None:
        """A credential is revoked that was made and not revoked."""
        if self._live.pop(event.subject, None) is None and not self._lost:
            self._find(event, "was revoked although there was none")

    def on_registered(self, event: OpenedEvent) -> None:
        """A machine registers an agent: then a credential of that machine counts."""
        if "machine" not in event.data:
            return
        machine = text(event.data, "machine")
        if not self._lost and not any(
            (kind, who) == ("machine", machine) and until > event.now for kind, who, until in self._live.values()
        ):
            message = f"{say(event.subject)} was registered by the machine {say(machine)}, which had no live credential"
            self._report.add(event.seq, "credential", message)

    def _find(self, event: OpenedEvent, what: str) -> None:
        self._report.add(event.seq, "credential", f"credential {say(event.subject)} {what}")
