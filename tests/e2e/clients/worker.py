"""A scripted model that has lines to add to files which others want as well, and does what a refusal tells it.

Not a fixed list of turns: what it does next depends on what the tool said. It looks at the file, adds its line at the
end, and gives the file back; if somebody holds it, it waits for its turn with `dibs claim --wait`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.e2e.clients.scripts import Say, Turn

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.clients.kinds import ClaudeCode
    from tests.e2e.clients.scripts import Block, Conversation

TRIES = 25  # times that one line may be refused; each wait ends with the file in hand, so two would do
NUMBERED = re.compile(r"^ *\d+[\t→](.*)$", re.MULTILINE)

LOOK, ADD, WAIT, GIVE_BACK = "look", "add", "wait", "give back"
EDIT, WRITE, SHELL = "edit", "write", "shell"
HOW = (EDIT, WRITE, SHELL)  # the ways to add a line: after the last one, by writing the whole file, by `>>`


class Worker:
    """The model of one agent."""

    def __init__(self, name: str, client: ClaudeCode, files: list[Path], how: str) -> None:
        self.name, self._client, self._how = name, client, how
        self.lines = [(file, f"{name} {number}") for number, file in enumerate(files, 1)]
        self.refused = 0
        self._turns: dict[int, Turn] = {}
        self._left = list(self.lines)
        self._doing, self._shown, self._tries = "", "", 0

    def __call__(self, heard: Conversation) -> Turn:
        """The next turn. A request that comes a second time gets the same one."""
        if heard.step in self._turns:
            return self._turns[heard.step]
        if self._doing:
            self._take_in(heard.results()[-1])
        else:
            self._doing = LOOK
        turn = self._turns[heard.step] = Turn((self._call() if self._left else Say("done"),))
        return turn

    def _take_in(self, result: str) -> None:
        """What the last call brought, and so what is to be done now."""
        if self._doing == LOOK:
            self._shown, self._doing = result, ADD
        elif self._doing == WAIT:
            self._doing = LOOK
        elif self._doing == GIVE_BACK:
            self._left.pop(0)
            self._doing, self._tries = LOOK, 0
        elif self._refused(result):
            self._tries += 1
            assert self._tries < TRIES, f"refused {TRIES} times: {result}"
            self.refused += " holds " in result
            self._doing = WAIT if " holds " in result else LOOK
        else:
            self._doing = GIVE_BACK

    def _refused(self, result: str) -> bool:
        return not ("updated successfully" in result or (self._how == SHELL and "hook error" not in result))

    def _call(self) -> Block:
        file, line = self._left[0]
        if self._doing == LOOK:
            return self._client.read(file)
        if self._doing == WAIT:
            return self._client.shell(f"dibs claim {file.name} --wait 60s")
        if self._doing == GIVE_BACK:
            return self._client.shell(f"dibs release {file.name}")
        if self._how == SHELL:
            return self._client.shell(f"echo {line} >> {file.name}")
        shown = NUMBERED.findall(self._shown)
        assert shown, f"nothing to be seen in {self._shown!r}"
        while not shown[-1]:
            shown.pop()
        if self._how == WRITE:
            return self._client.write(file, "".join(f"{one}\n" for one in [*shown, line]))
        return self._client.edit(file, f"{shown[-1]}\n", f"{shown[-1]}\n{line}\n")
