"""What sessions did next to each other: when they were at work, files that two edited, issues that two were given.

A session is at work from one call to the next if these are at most half an hour apart: a person who comes back the
next day to an old session begins another stretch of it.
"""

from __future__ import annotations

from dibs.operations.core.call import related

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.lookback.moments import Change, Moment

MINUTE_MS = 60_000
PAUSE_MS = 30 * MINUTE_MS  # a longer one ends a stretch of work
NEAR_MINUTES = (1, 5, 30)  # between two sessions' edits of a file
NEAR_MS = NEAR_MINUTES[-1] * MINUTE_MS
MAX_STRETCHES = 200_000
SAME, ANOTHER, WHOLE, UNKNOWN = "same place", "another place", "whole file", "not recorded"
MAX_EDITS_A_FILE = 16  # agents whose last edit of a file is remembered
TIDY_EVERY = 4_096  # edits


class Stretch:
    """A session at work in one working tree, without a long pause."""

    __slots__ = ("calls", "client", "end", "repository", "session", "start", "tree")

    def __init__(self, moment: Moment, tree: str, repository: str) -> None:
        self.session, self.client, self.tree, self.repository = moment.session, moment.client, tree, repository
        self.start = self.end = moment.at
        self.calls = 0


class NearEdit:
    """An edit of a file shortly after another session's edit of it."""

    __slots__ = ("after_ms", "at", "by", "first", "path", "place", "repository")

    def __init__(self, moment: Moment, first: str, path: str, after_ms: int, place: str, repository: str) -> None:
        self.at, self.by, self.first, self.path = moment.at, moment.agent, first, path
        self.after_ms, self.place, self.repository = after_ms, place, repository


class SharedId:
    """An issue or task that two sessions were given."""

    __slots__ = ("at", "by", "first", "id", "repository", "since", "together")

    def __init__(self, name: str, moment: Moment, first: str, since: int, repository: str, *, together: bool) -> None:
        self.id, self.at, self.by, self.first, self.since = name, moment.at, moment.session, first, since
        self.repository, self.together = repository, together


class SharedWork:
    """Collects it, moment by moment."""

    def __init__(self) -> None:
        self.stretches: list[Stretch] = []
        self.near: list[NearEdit] = []
        self.ids: list[SharedId] = []
        self._open: dict[tuple[str, str], Stretch] = {}  # by session and working tree
        self._edits: dict[str, dict[str, tuple[int, Change]]] = {}  # by path and agent
        self._named: dict[tuple[str, str], dict[str, int]] = {}  # by repository and id: sessions, since when
        self._last: dict[str, int] = {}  # when each session was at work last
        self._count = 0

    def saw(self, moment: Moment, tree: str, repository: str) -> None:
        """A call or a prompt of a session."""
        key = moment.session, tree
        stretch = self._open.get(key)
        if stretch is None or moment.at - stretch.end > PAUSE_MS:
            stretch = self._open[key] = Stretch(moment, tree, repository)
            if len(self.stretches) < MAX_STRETCHES:
                self.stretches.append(stretch)
        stretch.end = max(stretch.end, moment.at)
        stretch.calls += moment.is_call
        self._last[moment.session] = moment.at
        for name in sorted(moment.ids):
            self._given(name, moment, repository)

    def _given(self, name: str, moment: Moment, repository: str) -> None:
        sessions = self._named.setdefault((repository, name), {})
        if moment.session not in sessions and sessions:
            first, since = next(iter(sessions.items()))
            together = any(moment.at - self._last.get(one, 0) <= PAUSE_MS for one in sessions)
            self.ids.append(SharedId(name, moment, first, since, repository, together=together))
        sessions.setdefault(moment.session, moment.at)

    def edited(self, moment: Moment, path: str, change: Change, repository: str) -> None:
        """An agent changed a file."""
        agents = self._edits.setdefault(path, {})
        others = [(at, agent, edit) for agent, (at, edit) in agents.items() if not related(agent, moment.agent)]
        if others:
            at, first, edit = max(others, key=lambda one: one[0])
            if moment.at - at <= NEAR_MS:
                place = place_of(edit, change)
                self.near.append(NearEdit(moment, first, path, moment.at - at, place, repository))
        agents.pop(moment.agent, None)
        agents[moment.agent] = moment.at, change
        if len(agents) > MAX_EDITS_A_FILE:
            del agents[next(iter(agents))]
        self._count += 1
        if self._count % TIDY_EVERY == 0:
            last = {name: max(at for at, _ in edits.values()) for name, edits in self._edits.items()}
            self._edits = {name: edits for name, edits in self._edits.items() if moment.at - last[name] <= NEAR_MS}


def place_of(earlier: Change, later: Change) -> str:
    """Are two edits of a file at the same place: does the later one replace a line that the earlier one had?"""
    if earlier.whole or later.whole or earlier.goes or later.goes:
        return WHOLE
    if earlier.after is None or later.before is None:
        return UNKNOWN
    return SAME if later.before & (earlier.after | (earlier.before or frozenset())) else ANOTHER


class Together:
    """How many sessions were at work at once in one place."""

    def __init__(self, stretches: Iterable[Stretch]) -> None:
        self.sessions: set[str] = set()  # that were not alone
        self.pairs: set[tuple[str, str]] = set()
        self.most = 0
        self.ms = 0  # with two sessions or more
        self._count(list(stretches))

    def _count(self, stretches: list[Stretch]) -> None:
        moments = sorted(
            [(one.start, 1, number) for number, one in enumerate(stretches)]
            + [(one.end, 2, number) for number, one in enumerate(stretches)]
        )
        at_work: dict[str, int] = {}
        since = 0
        for at, what, number in moments:
            session = stretches[number].session
            if len(at_work) > 1:
                self.ms += at - since
            since = at
            if what == 1:
                for other in at_work:
                    if other != session:
                        self.pairs.add((min(other, session), max(other, session)))
                        self.sessions |= {other, session}
                at_work[session] = at_work.get(session, 0) + 1
                self.most = max(self.most, len(at_work))
            else:
                at_work[session] -= 1
                if not at_work[session]:
                    del at_work[session]
