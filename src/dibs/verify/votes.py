"""Replays votes: who may cast which ballot, and that the outcome follows from the ballots, once.

Like the rest of the lookout this imports nothing of the operations: a majority is defined here a second time. Memory
holds only the open votes. A vote whose beginning is in a missing stretch of the log is believed, and so is its outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.verify.reading import must, say, text, whole

if TYPE_CHECKING:
    from typing import Any

    from dibs.verify.checker import Report
    from dibs.verify.replay import OpenedEvent


class Vote:
    """A vote that is open."""

    __slots__ = ("ballots", "deadline", "electorate", "options")

    def __init__(self, options: list[str], electorate: list[str], deadline: int) -> None:
        self.options, self.electorate, self.deadline = options, electorate, deadline
        self.ballots: dict[str, str] = {}

    def outcome(self) -> tuple[str, str | None]:
        """The outcome of the ballots so far: an option, no majority possible, or undecided."""
        votes = list(self.ballots.values())
        needed = len(self.electorate) // 2 + 1
        missing = len(self.electorate) - len(votes)
        most = max(self.options, key=votes.count)
        if votes.count(most) >= needed:
            return "decided", most
        return ("undecided" if votes.count(most) + missing < needed else "open"), None


class Votes:
    """The votes that the events describe."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._open: dict[str, Vote] = {}
        self._lost = False  # an unknown vote may be open

    def lose(self) -> None:
        """Events are missing or unreadable: the votes may have changed in them."""
        self._open.clear()
        self._lost = True

    def on_opened(self, event: OpenedEvent) -> None:
        """A vote begins, under an id that no open one has."""
        options, electorate = _texts(event.data, "options"), _texts(event.data, "electorate")
        if event.subject in self._open:
            self._find(event, "was opened while it was open")
        self._open[event.subject] = Vote(options, electorate, whole(event.data, "deadline"))

    def on_cast(self, event: OpenedEvent) -> None:
        """A ballot: by an elector, its first, for an option, before the deadline and before the outcome."""
        option = text(event.data, "option")
        vote = self._open.get(event.subject)
        if vote is None:
            if not self._lost:
                self._find(event, f"got a ballot of {say(event.agent)} and was not open")
            return
        if event.agent not in vote.electorate:
            self._find(event, f"got a ballot of {say(event.agent)}, who is not an elector")
        elif event.agent in vote.ballots:
            self._find(event, f"got a second ballot of {say(event.agent)}")
        elif option not in vote.options:
            self._find(event, f"got a ballot for {say(option)}, which is not an option")
        elif event.now >= vote.deadline:
            self._find(event, f"got a ballot of {say(event.agent)} after its deadline")
        else:
            vote.ballots[event.agent] = option

    def on_decided(self, event: OpenedEvent) -> None:
        """The outcome, which follows from the ballots or from the deadline."""
        outcome, option = text(event.data, "outcome"), event.data.get("option")
        vote = self._open.pop(event.subject, None)
        if vote is None:
            if not self._lost:
                self._find(event, f"came out as {say(outcome)} and was not open")
            return
        counted = vote.outcome()
        if counted[0] == "open" and event.now >= vote.deadline:
            counted = "lapsed", None
        if (outcome, option) != counted:
            right = " ".join(filter(None, counted))
            self._find(event, f"came out as {say(outcome)} {say(option)}; by its ballots it is {say(right)}")

    def _find(self, event: OpenedEvent, what: str) -> None:
        self._report.add(event.seq, "vote", f"vote {say(event.subject)} {what}")


def _texts(data: dict[str, Any], name: str) -> list[str]:
    value: Any = data.get(name)
    must(
        isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value),
        f"`{name}` is not a list of texts",
    )
    return list(value)
