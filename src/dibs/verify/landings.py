"""Replays landings: each is decided once, by a lander whose token was live, and the tokens of a target rise.

Like the rest of the lookout this imports nothing of the operations. Memory holds only the queued landings and the last
token of each target. A landing whose beginning is in a missing stretch of the log is believed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.verify.reading import must, say, text, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.verify.checker import Report
    from dibs.verify.replay import OpenedEvent


class Landings:
    """The landings that the events describe."""

    def __init__(self, report: Report, is_live: Callable[[str, int, int], bool]) -> None:
        """`is_live(name, token, now)`: was a claim on this name live then, with this token?"""
        self._report, self._is_live = report, is_live
        self._queued: dict[str, str] = {}  # landing → its target
        self._tokens: dict[str, int] = {}  # target → the last lander's token
        self._lost = False

    def lose(self) -> None:
        """Events are missing or unreadable: landings may have changed in them."""
        self._queued.clear()
        self._tokens.clear()
        self._lost = True

    def on_queued(self, event: OpenedEvent) -> None:
        """A branch is queued, or another commit of it."""
        self._queued[event.subject] = text(event.data, "target")

    def on_moving(self, event: OpenedEvent) -> None:
        """A target is about to be moved: by a live token that is not below the last one's."""
        landings = event.data.get("landings")
        must(isinstance(landings, list) and bool(landings), "`landings` is not a list of landings")
        self._check_token(event, event.subject)
        for landing in landings if isinstance(landings, list) else ():
            if landing not in self._queued and not self._lost:
                self._find(event, f"was moved to landing {say(landing)}, which was not queued", "target")

    def on_decided(self, event: OpenedEvent) -> None:
        """A landing is landed or refused by the lander."""
        target = text(event.data, "target")
        self._check_token(event, target)
        self._end(event, event.kind.partition(".")[2])

    def on_stopped(self, event: OpenedEvent) -> None:
        """The lander says that nothing can land now."""
        self._check_token(event, event.subject)

    def on_cancelled(self, event: OpenedEvent) -> None:
        """A landing is taken out of the queue."""
        self._end(event, "cancelled")

    def _end(self, event: OpenedEvent, how: str) -> None:
        if self._queued.pop(event.subject, None) is None and not self._lost:
            self._find(event, f"was {how} and was not queued")

    def _check_token(self, event: OpenedEvent, target: str) -> None:
        token = whole(event.data, "token")
        if token < self._tokens.get(target, 0):
            self._find(event, f"has the token {token}, which is below an earlier lander's")
        elif not self._is_live(f"land:{target}", token, event.now):
            self._find(event, f"has the token {token}, which was not live on land:{target}")
        self._tokens[target] = max(token, self._tokens.get(target, 0))

    def _find(self, event: OpenedEvent, what: str, noun: str = "landing") -> None:
        self._report.add(event.seq, "landing", f"{noun} {say(event.subject)} {what}")
