"""What hooks leave in the ledger of a working tree: the last part of the play (make.py).

The lines come from `ledger/working_tree.py`, and from here where a hook adds a line by itself. A file's times cannot
be set as the stage wants them, so its signature is made from the stage's clock.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

from dibs.ledger import compaction, contents, ledger_files
from dibs.ledger import state as ledger_lines
from dibs.ledger.state import WHOLE
from dibs.ledger.working_tree import Tree
from tests.operations.fleet import OTHER_TREE
from tests.stored.stage import MINUTE, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.ledger.state import Line
    from tests.stored.stage import Stage


class LedgerPlay:
    """Agents that edit files of one working tree, with the lines that their hooks write."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.place = stage, stage.session.place
        self._times: dict[str, int] = {}  # path → when it was written or made executable
        stage.patch.setattr(contents, "signature", self._signature)
        numbers = itertools.count(1)
        stage.patch.setattr(os, "urandom", lambda count: next(numbers).to_bytes(count, "big"))  # the ids of changes

    def _signature(self, path: str) -> str:
        if not os.path.isfile(path):
            return contents.MISSING
        when = self._times.get(path, 0)
        mark = f":{contents.EXECUTABLE}" if os.access(path, os.X_OK) else ""
        return f"{os.path.getsize(path)}:{when}:{when}:7{mark}"

    def tree(self) -> Tree:
        """The working tree as the next hook finds it."""
        tree = Tree(self.place.top, self.place.private)
        tree.local = self.place.local
        return tree

    def touch(self, path: str) -> str:
        """The file changes now; its full path."""
        self.stage.later(SECOND)
        full = f"{self.place.top}/{path}"
        self._times[full] = ledger_files.now()[0]
        self.stage.later(SECOND)
        return full

    def save(self, path: str, text: str) -> None:
        """Some program writes a file."""
        full = self.touch(path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def look(self, *paths: str) -> Tree:
        """A hook looks at these files."""
        tree = self.tree()
        tree.look(paths)
        tree.write()
        return tree

    def survey(self) -> None:
        """A hook looks at all files that are watched."""
        tree = self.tree()
        tree.survey()
        tree.write()

    def begin(self, call: str, agent: str, path: str = "", text: str = "", *, left: bool = False) -> None:
        """A call begins: one that names the file it writes, or a command that may write any."""
        tree = self.tree()
        tree.open_call(call, agent, is_open=not path, left=left, claims=["c1", "c2"] if path else ())
        if path:
            tree.name(call, path, WHOLE, text.encode(), keep=True)
        else:
            tree.add(ledger_lines.tree_line(call, OTHER_TREE))
        tree.write()

    def end(self, call: str, *, left: bool = False) -> None:
        """The call has ended."""
        self.stage.later(SECOND)
        tree = self.tree()
        tree.add(ledger_lines.call_end_line(tree.stamp(), call, left=left))
        tree.write()

    def add(self, line: Callable[[str, str], Line], subject: str) -> None:
        """A line that a hook adds by itself, about an agent or a path, now."""
        tree = self.tree()
        tree.add(line(tree.stamp(), subject))
        tree.write()

    def edit(self, call: str, agent: str, path: str, text: str) -> None:
        """A whole edit by a client's own tool."""
        self.begin(call, agent, path, text)
        self.save(path, text)
        self.look(path)
        self.end(call)

    def compact(self) -> None:
        """The ledger is rewritten: what is over goes to the file `past`."""
        tree = self.tree()
        lines = compaction.compacted(tree.state, tree.now)
        ledger_files.replace(tree.folder, lines, tree._known, compaction.past(tree.state))


def ledger(stage: Stage) -> None:
    """Two agents and a person edit files; the ledger is compacted in the middle, so that it has both kinds of lines."""
    play = LedgerPlay(stage)
    for name in ("ann", "bob", "cid"):
        play.add(ledger_lines.session_line, name)
    play.tree().look_at_all()
    play.edit("call-1", "ann", "led/a.py", "one\n")
    play.survey()
    play.save("led/a.py", "formatted()\n")  # a formatter, right after the edit
    play.look("led/a.py")
    play.edit("call-2", "ann", "led/b.py", "first\n")
    play.begin("call-3", "bob", left=True)
    play.save("led/b.py", "of bob's command\n")
    play.look("led/b.py")
    play.end("call-3", left=True)
    play.add(ledger_lines.turn_line, "ann")
    play.add(ledger_lines.session_end_line, "cid")
    play.compact()
    stage.later(MINUTE)
    play.add(ledger_lines.session_line, "dan")
    play.edit("call-4", "ann", "led/c.py", "three\n")
    play.edit("call-5", "bob", "led/c.py", "three, by bob\n")
    os.chmod(play.touch("led/c.py"), 0o700)
    tree = play.look("led/c.py")
    tree.add(*[ledger_lines.report_line(change.id) for change in tree.untold()[:1]])
    tree.write()
    play.look(".gitignore")
    play.edit("call-6", "bob", "led/d.py", "four\n")
    play.add(ledger_lines.claim_line, "led/d.py")
    tree = play.tree()
    tree.add(ledger_lines.owner_line("ann", "led/d.py"))
    tree.write()
    play.edit("call-7", "ann", "led/e.py", "five\n")
    play.tree().finish(["led/e.py"])
    play.begin("call-8", "zed")
    ledger_files.heard(play.place.local, "zed", stage.process(40))
    stage.kill9(40)
    play.survey()
    play.add(ledger_lines.turn_line, "bob")
    play.add(ledger_lines.session_end_line, "dan")
    play.begin("call-9", "ann", "led/a.py", "under way\n")
    stage.later(SECOND)
    play.tree().look_at_all()
