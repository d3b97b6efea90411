"""A scripted model at work in a mixed fleet: bumps of one counter, and lines for files that others add to as well.

Not a fixed list of turns: what it does next depends on what the tool said. It reads a file, thinks, writes it, commits
it. When it is refused it does what the refusal says to the letter (`dibs claim F --wait 60s`, if that is the advice),
reads the file again and tries again, a bounded number of times; then it gives the step up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.e2e.clients.kinds import CODEX
from tests.e2e.clients.scripts import Say, Turn

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.clients.kinds import Client
    from tests.e2e.clients.scripts import Block, Conversation

TRIES = 20  # times that one step may be refused
LOOK, THINK, ACT, ADVICE, COMMIT, GIVE_BACK = "look", "think", "act", "advice", "commit", "give back"
EDIT, WHOLE, HEREDOC = "edit", "whole", "heredoc"
BUMP = "bump"
ADVISED = re.compile(r"`(dibs claim [^`]*--wait[^`]*)`")
SETTLED = re.compile(r"`(dibs ack [^`]+)` if it is right")  # a commit of what somebody else may have changed
LINE = re.compile(r"^(?: *\d+(?:[\t→:|]|\. ))?((?:line|begin) [a-z0-9-]+)$", re.MULTILINE)  # some clients number them
REFUSED = ("hook error: dibs:", "blocked by PreToolUse hook", "Tool execution blocked", "Denied by preToolUse")
WRITTEN = (
    "updated successfully", "created successfully", "Success. Updated", "Successfully", "updated with changes",
    "Created file",
)  # fmt: skip
DONE = "step-is-done"


@dataclass(frozen=True)
class Step:
    """One thing to do: a bump, or a line for a file, in one way."""

    file: Path
    how: str
    line: str = ""
    quiet: bool = False  # the model thinks; else it waits in a shell call


class MixedWorker:
    """The model of one agent."""

    def __init__(self, name: str, client: Client, steps: list[Step], *, think: float, releases: bool) -> None:
        self.name, self.steps = name, steps
        self.refused = self.stale = self.unsettled = 0
        self.done: list[Step] = []  # written, as far as its tools said
        self.given_up: list[str] = []
        self.told: list[str] = []  # every refusal, as it was read
        self._client, self._think, self._releases = client, think, releases
        self._turns: dict[int, Turn] = {}
        self._left = list(steps)
        self._doing, self._shown, self._advice, self._tries, self._retry = "", "", "", 0, ""

    def __call__(self, heard: Conversation) -> Turn:
        """The next turn. A request that comes a second time gets the same one."""
        if heard.step in self._turns:
            return self._turns[heard.step]
        if self._doing:
            self._take_in(heard.results()[-1])
        else:
            self._begin()
        turn = self._turns[heard.step] = self._turn()
        return turn

    # --- what the last call brought, and so what is to be done now

    def _begin(self) -> None:
        self._tries = 0
        self._doing = ACT if self._left and self._left[0].how == BUMP else LOOK

    def _take_in(self, result: str) -> None:
        step = self._left[0]
        if any(words in result for words in REFUSED):
            self._hear_refusal(result)
        elif self._doing == LOOK:
            self._shown, self._doing = result, THINK
            if step.quiet:
                self._doing = ACT
        elif self._doing == THINK:
            self._doing = ACT
        elif self._doing == ADVICE:
            self._doing = self._again()
        elif self._doing == ACT:
            if self._succeeded(result):
                self._doing = COMMIT
                self.done.append(step)
            else:  # the file is not what was read: the client's own tool says so
                self._try_again(result)
        elif self._doing == COMMIT:
            if DONE in result or "nothing to commit" in result or "no changes added" in result:
                self._doing = GIVE_BACK if self._releases else ""
            else:
                self._hear_commit(result)
        else:
            self._doing = ""
        if not self._doing:
            self._left.pop(0)
            self._begin()

    def _hear_refusal(self, result: str) -> None:
        self.refused += 1
        self.told.append(result)
        self._retry = COMMIT if self._doing == COMMIT else ""
        advised = ADVISED.search(result)
        self.stale += advised is None and "changed" in result
        self._try_again(result)
        if advised and self._doing:
            self._doing, self._advice = ADVICE, advised[1]

    def _hear_commit(self, result: str) -> None:
        """Git's hook said no. What it wrote is there, as far as its tools said: so it is right as it is."""
        self.unsettled += "not settled" in result
        self.told.append(result)
        settled = SETTLED.search(result)
        self._try_again(result)
        if settled and self._doing:
            self._doing, self._advice, self._retry = ADVICE, settled[1], COMMIT

    def _try_again(self, result: str) -> None:
        self._tries += 1
        if self._doing == COMMIT:
            self._retry = COMMIT
        if self._tries < TRIES:
            self._doing = self._again()
        else:
            step = self._left[0]
            self.given_up.append(f"{self.name}: {step.how} {step.line or step.file.name}: {result[:300]}")
            self._doing = ""

    def _again(self) -> str:
        if self._retry == COMMIT:
            self._retry = ""
            return COMMIT
        return ACT if self._left[0].how == BUMP else LOOK

    def _succeeded(self, result: str) -> bool:
        if self._left[0].how in {BUMP, HEREDOC}:
            return DONE in result
        return any(words in result for words in WRITTEN)

    # --- the call

    def _turn(self) -> Turn:
        if not self._left:
            return Turn((Say("done"),))
        quiet = self._left[0].quiet and self._doing == ACT and self._left[0].how != BUMP
        return Turn((self._call(),), thinks=self._think if quiet else 0.0)

    def _call(self) -> Block:
        step = self._left[0]
        name = step.file.name
        if self._doing == LOOK:
            return self._client.read(step.file)
        if self._doing == THINK:
            return self._client.shell(f"sleep {self._think}")
        if self._doing == ADVICE:
            return self._client.shell(self._advice)
        if self._doing == COMMIT:
            return self._client.shell(f"git commit -q -m '{self.name} {step.how}' -- {name} && echo {DONE}")
        if self._doing == GIVE_BACK:
            return self._client.shell(f"dibs release {name}")
        if step.how == BUMP:
            return self._client.shell(self._bump(name))
        return self._add(step)

    def _bump(self, name: str) -> str:
        if self._client.name == "gemini":  # which refuses `$(…)` itself
            added = f"awk '{{print $1 + 1}}' {name} > {name}.new"
            return f"{added} && sleep {self._think} && mv {name}.new {name} && echo {DONE}"
        return f"v=$(cat {name}); sleep {self._think}; echo $((v+1)) > {name}; echo {DONE}"

    def _add(self, step: Step) -> Block:
        shown = LINE.findall(self._shown)
        assert shown, f"nothing to be seen in {self._shown!r}"
        text = "".join(f"{line}\n" for line in [*shown, step.line])
        if step.how == HEREDOC:
            return self._client.shell(f"cat > {step.file.name} <<'EOF'\n{text}EOF\necho {DONE}")
        if step.how == WHOLE:
            return self._client.write(step.file, text)
        if self._client is CODEX:
            return CODEX.patch(f"*** Update File: {step.file}\n@@\n {shown[-1]}\n+{step.line}\n")
        return self._client.edit(step.file, f"{shown[-1]}\n", f"{shown[-1]}\n{step.line}\n")
