"""What a scripted model says, turn by turn, and what it has heard when it is asked for the next one.

A script has a name; the prompt that a client is started with carries it as `[[scenario NAME]]`. The step is the number
of turns that the model has taken since that prompt, so nothing is remembered between two requests and one server plays
for a whole fleet. Turns can wait for each other by name, which is how a test puts two agents into the order it needs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = re.compile(r"\[\[scenario ([^\s\]]+)\]\]")


def marked(name: str, text: str = "go") -> str:
    """The prompt that lets the model play the script of that name."""
    return f"[[scenario {name}]] {text}"


@dataclass(frozen=True)
class Say:
    """The model says something."""

    text: str


@dataclass(frozen=True)
class Use:
    """The model calls a tool with JSON."""

    tool: str
    input: dict[str, Any]


@dataclass(frozen=True)
class Freeform:
    """The model calls a tool with plain text; Codex's apply_patch is such a tool."""

    tool: str
    text: str


Block = Say | Use | Freeform


@dataclass(frozen=True)
class Turn:
    """One answer of the model. It is held back until every name of `after` was signalled."""

    blocks: tuple[Block, ...]
    after: tuple[str, ...] = ()
    then: str = ""  # signalled when the model is told what came of the calls
    tokens: int = 100  # how long the conversation is said to be; a client whose window is full compacts it
    thinks: float = 0.0  # seconds that the model takes for it: no hook of this agent runs meanwhile


@dataclass(frozen=True)
class Heard:
    """A piece of a request: `system`, `user`, `result` (of a tool), or `model` for what the model itself had said."""

    role: str
    text: str


@dataclass(frozen=True)
class Conversation:
    """All that the model is told with one request."""

    pieces: tuple[Heard, ...]

    @property
    def scenario(self) -> str:
        """The script to play, named by the last prompt that names one; empty where none does."""
        found = self._mark()
        return found[1] if found else ""

    @property
    def step(self) -> int:
        """How many turns the model has taken since the prompt that named the script."""
        taken, before = 0, ""
        for piece in self.since_prompt():
            if piece.role == "model" and before != "model":
                taken += 1
            before = piece.role
        return taken

    def since_prompt(self) -> tuple[Heard, ...]:
        """The pieces after the prompt that named the script."""
        found = self._mark()
        return self.pieces[found[0] + 1 :] if found else self.pieces

    def results(self) -> list[str]:
        """What the tools answered since the prompt, in order."""
        return [piece.text for piece in self.since_prompt() if piece.role == "result"]

    def _mark(self) -> tuple[int, str] | None:
        for at in range(len(self.pieces) - 1, -1, -1):
            names = MARK.findall(self.pieces[at].text) if self.pieces[at].role == "user" else ()
            if names:
                return at, str(names[-1])
        return None


def listed(names: str | tuple[str, ...]) -> tuple[str, ...]:
    """One name or several, as several."""
    return (names,) if isinstance(names, str) else names


@dataclass
class Script:
    """The turns of one scenario. Behind the last one the model asks `rest`, if there is one, and else says "done"."""

    name: str
    turns: list[Turn] = field(default_factory=list)
    rest: Callable[[Conversation], Turn] | None = None

    def turn(self, *blocks: Block, after: str | tuple[str, ...] = (), then: str = "", tokens: int = 100) -> Script:
        """One more turn; see Turn for what may be said about it."""
        self.turns.append(Turn(blocks, listed(after), then, tokens))
        return self

    def at(self, step: int, heard: Conversation) -> Turn:
        """The model's turn at that step."""
        if step < len(self.turns):
            return self.turns[step]
        return self.rest(heard) if self.rest else Turn((Say("done"),))

    def signal_of(self, step: int) -> str:
        """What is signalled when the results of that step's calls are told."""
        return self.turns[step].then if 0 <= step < len(self.turns) else ""
