"""What the tests of the ledger share: lines by name, with times in seconds, and looks that judge as a hook does."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from dibs.ledger import attribution
from dibs.ledger.state import CLOSED, GITTED, MISSING, NAMED, OPEN, SECOND_NS, WHOLE, State

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
        kind = OPEN if is_open else CLOSED
        self.write(("O", stamp(at), call, agent, kind, "1" if left else "", str(diary), ""))
        return call

    def edit(self, agent: str, at: float, path: str = "x", how: str = WHOLE, expected: str = "") -> str:
        """A call begins that names one path and writes nothing else; its id."""
        call = self.begin(agent, at, is_open=False)
        self.name(call, path, how, expected)
        return call

    def name(self, call: str, path: str = "x", how: str = WHOLE, expected: str = "") -> None:
        """The call names a path."""
        self.write(("N", call, how, expected, path))

    def end(self, call: str, at: float, *, left: bool = False) -> None:
        """The call is over."""
        self.write(("C", stamp(at), call, "1" if left else ""))

    def step(self, agent: str, at: float) -> None:
        """A prompt, a stop, a boot."""
        self.write(("E", stamp(at), agent))

    def leave(self, agent: str, at: float) -> None:
        """The session is over."""
        self.write(("X", stamp(at), agent))

    def see(self, content: str, at: float, path: str = "x", written: float | None = None) -> None:
        """A look that found what was known, or a path for the first time."""
        self.write(("S", stamp(at), content, signed(content, at if written is None else written), path))

    def survey(self, at: float) -> None:
        """A look at all that is watched, by a hook that has read everything."""
        self.write(("L", stamp(at), str(self.state.moves)))

    def change(
        self, actor: str, after: str, at: float, path: str = "x", *, before: str = "", grade: str = "sure",
        suspects: Sequence[str] = (), flags: str = "", id: str = "",
    ) -> list[Change]:  # fmt: skip
        """A line about a change, whatever the calls say."""
        head = self.state.heads.get(path)
        before = before or (head.content if head is not None else MISSING)
        who = " ".join(suspects or [actor])
        name = id or f"t{next(self._ids)}"
        return self.write(("T", name, stamp(at), before, after, signed(after, at), actor, grade, who, flags, path))

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
        flags = (verdict.how and NAMED + verdict.how) + (GITTED if gitted else "")
        counted = self.write((
            "T", f"t{next(self._ids)}", stamp(now), head.content if head is not None else MISSING, after,
            signed(after, written), verdict.actor, verdict.grade, " ".join(verdict.suspects), flags, path,
        ))  # fmt: skip
        return counted[0] if counted else None

    def head(self, path: str = "x") -> Head:
        """What is known of a path."""
        return self.state.heads[path]

    def owners(self, path: str = "x") -> list[str]:
        """Whose unfinished work it is."""
        return self.head(path).owners
