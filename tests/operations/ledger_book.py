"""What the tests of the ledger share: lines by name, with times in seconds, and looks that judge as a hook does."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from dibs.ledger import attribution, state
from dibs.ledger.state import MISSING, SECOND_NS, WHOLE, State
from dibs.ledger.working_tree import Seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.ledger.state import Change, Head, Line

BASE = 1_000_000  # seconds: every example begins here, so that no time is 0


def ns(seconds: float) -> int:
    """A time of an example, as the ledger has it."""
    return int((BASE + seconds) * SECOND_NS)


def stamp(seconds: float, offset: int = 0) -> str:
    """The same, as a line has it."""
    return f"{ns(seconds)}:{offset}"


def signed(content: str, seconds: float) -> str:
    """The signature of a file with this content that was written then."""
    return MISSING if content == MISSING else f"{len(content)}:{ns(seconds)}:{ns(seconds)}:7"


def _mtime(content: str, seconds: float) -> int:
    return 0 if content == MISSING else ns(seconds)


class Book:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.counted: list[Change] = []
        self.state = State()
        self._ids = itertools.count(1)

    def write(self, *lines: Sequence[str]) -> list[Change]:
        """Append; the changes that count."""
        self.lines += lines
        counted = self.state.add(lines)
        self.counted += counted
        return counted

    def begin(
        self, agent: str, at: float, call: str = "", *, is_open: bool = True, left: bool = False, diary: int = -1
    ) -> str:
        """A call begins; its id."""
        call = call or f"{agent}-{next(self._ids)}"
        self.write(state.call_line(stamp(at), call, agent, is_open=is_open, left=left, diary=diary))
        return call

    def edit(self, agent: str, at: float, path: str = "x", how: str = WHOLE, expected: str = "") -> str:
        """A call begins that names one path and writes nothing else; its id."""
        call = self.begin(agent, at, is_open=False)
        self.name(call, path, how, expected)
        return call

    def name(self, call: str, path: str = "x", how: str = WHOLE, expected: str = "") -> None:
        """The call names a path."""
        self.write(state.name_line(call, how, expected, path))

    def end(self, call: str, at: float, *, left: bool = False) -> None:
        """The call is over."""
        self.write(state.call_end_line(stamp(at), call, left=left))

    def step(self, agent: str, at: float) -> None:
        """A prompt, a stop, a boot."""
        self.write(state.turn_line(stamp(at), agent))

    def leave(self, agent: str, at: float) -> None:
        """The session is over."""
        self.write(state.session_end_line(stamp(at), agent))

    def see(self, content: str, at: float, path: str = "x", written: float | None = None) -> None:
        """A look that found what was known, or a path for the first time."""
        self.write(state.look_line(stamp(at), content, signed(content, at if written is None else written), path))

    def survey(self, at: float) -> None:
        """A look at all that is watched, by a hook that has read everything."""
        self.write(state.survey_line(stamp(at), self.state.moves))

    def change(
        self, actor: str, after: str, at: float, path: str = "x", *, before: str = "", grade: str = "sure",
        suspects: Sequence[str] = (), flags: str = "", id: str = "",
    ) -> list[Change]:  # fmt: skip
        """A line about a change, whatever the calls say."""
        head = self.state.heads.get(path)
        before = before or (head.content if head is not None else MISSING)
        verdict = attribution.Verdict(actor, grade, suspects or [actor])
        now = Seen(path, signed(after, at), after, None)
        return self.write(state.change_line(id or f"t{next(self._ids)}", stamp(at), before, now, verdict, flags))

    def judge(
        self, after: str, written: float, now: float, path: str = "x", offset: int = 0
    ) -> tuple[str, str, list[str]]:
        """Whose change a look at `now` finds it to be, and how certain; and who might have done it."""
        found = attribution.judge(self.state, path, after, ns(written), ns(now), offset, written=_mtime(after, written))
        return found.actor, found.grade, found.suspects

    def find(self, after: str, written: float, now: float, path: str = "x", *, gitted: bool = False) -> Change | None:
        """A look at `now` finds this content, which was written then: judged and appended, as a hook does."""
        head = self.state.heads.get(path)
        verdict = attribution.judge(
            self.state, path, after, ns(written), ns(now), 0, known=head, written=_mtime(after, written)
        )
        flags = state.flags_of(verdict.how or None, in_git=gitted)
        before = head.content if head is not None else MISSING
        seen = Seen(path, signed(after, written), after, None)
        counted = self.write(state.change_line(f"t{next(self._ids)}", stamp(now), before, seen, verdict, flags))
        return counted[0] if counted else None

    def head(self, path: str = "x") -> Head:
        """What is known of a path."""
        return self.state.heads[path]

    def owners(self, path: str = "x") -> list[str]:
        """Whose unfinished work it is."""
        return self.head(path).owners
