"""Ledgers that a server has read before: only what was appended since is read again.

Every hook needs the state of its working tree's ledger, and a hook's own process has to read and replay all of it. A
server keeps the states of its last hooks, each with its file open, so that no other file can come to have its number
(`replace` in ledger/ledger_files.py writes a new file). A state is lent to one hook at a time; two hooks at once have
two.

What a hook only assumed (lines that it has not written yet) is taken back before the state is kept: a kept state is
what the file's lines say, and nothing else.
"""

from __future__ import annotations

import os
import threading

from dibs.ledger import ledger_files
from dibs.ledger.state import State, is_look, is_survey, path_of
from dibs.ledger.working_tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.ledger.state import Change, Head, Line

MAX_STATES = 8  # of one working tree: as many as threads answer hooks
END_BYTES = 64
MAX_TREES = 32  # the one that was used first goes first


class Ledger:
    """One ledger's file, open, and the state after its first `length` bytes."""

    __slots__ = ("end", "fd", "length", "number", "state", "written")

    def __init__(self, fd: int) -> None:
        status = os.fstat(fd)
        self.fd, self.number, self.length = fd, (status.st_dev, status.st_ino), 0
        self.written, self.end = 0, b""  # when it was last written, and its last bytes, as far as it was read
        self.state = State()

    def note(self, length: int) -> None:
        """The state is that of so many bytes now."""
        status = os.fstat(self.fd)
        self.length, self.written = length, status.st_mtime_ns if status.st_size == length else 0
        self.end = os.pread(self.fd, min(length, END_BYTES), max(0, length - END_BYTES))

    def catch_up(self, path: str) -> bool:
        """Read what was appended; False if the file is another, or was changed in any other way."""
        try:
            status = os.stat(path)
        except OSError:
            return False
        if (status.st_dev, status.st_ino) != self.number or status.st_size < self.length:
            return False
        if status.st_size == self.length:
            return not self.length or status.st_mtime_ns == self.written
        if os.pread(self.fd, len(self.end), self.length - len(self.end)) == self.end:
            data = b""
            while part := os.pread(self.fd, status.st_size - self.length - len(data), self.length + len(data)):
                data += part
            data = data[: data.rfind(b"\n") + 1]
            self.state.add(ledger_files.rows(data))
            self.length += len(data)
            return True
        return False

    def close(self) -> None:
        """Close the file."""
        os.close(self.fd)


class KeptTree(Tree):
    """A working tree whose ledger is lent by a server; `give_back` ends that."""

    def __init__(self, top: str, folder: str, ledgers: KeptLedgers) -> None:
        super().__init__(top, folder)
        self._ledgers = ledgers
        self._ledger: Ledger | None = None
        self._assumed: list[Line] = []
        self._before: tuple[int, int, int, list[tuple[int, int]]] | None = None
        self._heads: list[tuple[str, Head | None, Any]] = []

    @property
    def state(self) -> State:
        """The ledger's state."""
        if self._state is None:
            self._before = None
            if self._ledger is not None:
                self._ledger.close()
            self._ledger = self._ledgers.take(self.folder)
            if self._ledger is None:
                self._known, self._state = (0, 0), State()
            else:
                self._known, self._state = (self._ledger.number[1], self._ledger.length), self._ledger.state
        return self._state

    def settle(self) -> None:
        """See `Tree.settle`."""
        if self._pending:
            self.write()
        else:
            self._assume(self._lines)

    def _assume(self, lines: Sequence[Line]) -> None:
        """Count lines that are not written yet; what they change is noted first."""
        state = self.state
        self._assumed = [*self._assumed, *lines] if self._before is not None else [*lines]
        if self._before is None:
            self._before, self._heads = (state.count, state.spare, state.moves, state.looks), []
        for line in lines:
            assert is_look(line) or is_survey(line), "a look that found nothing new has no other lines"
            if is_look(line):
                head = state.heads.get(path_of(line))
                was = None if head is None else (head.signature, head.looked, head.offset)
                self._heads.append((path_of(line), head, was))
        state.add(lines)

    def _take_back(self) -> None:
        """Undo what was assumed."""
        if self._before is None or self._state is None:
            return
        state = self._state
        for path, head, was in reversed(self._heads):
            if head is None:
                state.heads.pop(path, None)
            else:
                head.signature, head.looked, head.offset = was
        state.count, state.spare, state.moves, state.looks = self._before
        self._before = None

    def _refresh(self) -> None:
        """See `Tree._refresh`; the lines that others added come before those that are not written yet."""
        assumed = self._assumed if self._before is not None else []
        self._take_back()
        super()._refresh()
        if assumed:
            self._assume(assumed)

    def write(self) -> list[Change]:
        """See `Tree.write`."""
        self._take_back()
        return super().write()

    def give_back(self) -> None:
        """The hook is over: the state may be lent to another one."""
        self._take_back()
        ledger, self._ledger = self._ledger, None
        if ledger is None:
            return
        if self._state is None or self._known[0] != ledger.number[1]:
            ledger.close()
            return
        self._state = None
        ledger.note(self._known[1])
        self._ledgers.keep(self.folder, ledger)


class KeptLedgers:
    """The ledgers of all working trees that hooks asked for. Thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._kept: dict[str, list[Ledger]] = {}

    def tree(self, top: str, folder: str) -> KeptTree:
        """The working tree for one hook."""
        return KeptTree(top, folder, self)

    def take(self, folder: str) -> Ledger | None:
        """A ledger that is up to date; None if there is no file."""
        path = f"{folder}/live"
        while True:
            with self._mutex:
                kept = self._kept.get(folder)
                found = kept.pop() if kept else None
            if found is None:
                break
            if found.catch_up(path):
                return found
            found.close()
        try:
            found = Ledger(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return None
        if found.catch_up(path):
            return found
        found.close()
        return None

    def keep(self, folder: str, ledger: Ledger) -> None:
        """Keep it for the next hook."""
        old: list[Ledger] = []
        with self._mutex:
            kept = self._kept.pop(folder, [])
            self._kept[folder] = kept  # used last
            (kept if len(kept) < MAX_STATES else old).append(ledger)
            while len(self._kept) > MAX_TREES:
                old += self._kept.pop(next(iter(self._kept)))
        for one in old:
            one.close()

    def close(self) -> None:
        """Close all files."""
        with self._mutex:
            old = [one for kept in self._kept.values() for one in kept]
            self._kept.clear()
        for one in old:
            one.close()
