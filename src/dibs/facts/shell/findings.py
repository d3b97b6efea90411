"""What reading a shell command finds, and what is known of the shell at one point of it.

Plain records, shared by the parts of the reader: `shell_words` (words), `shell_walk` (statements), `shell_commands`
(single commands), `shell_writers` (the table of commands that write). Nothing is looked at and nothing decided here.
"""

from __future__ import annotations

import os

from dibs.facts.shell.streams import Stream
from dibs.facts.shell.unknown import ANY, WAYS, Unknown, either, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.facts.shell.commands import Call
    from dibs.facts.shell.globs import Look
    from dibs.facts.shell.streams import Shown
    from dibs.facts.shell.unknown import Field

    Value = str | list[Field] | Unknown  # a variable: its text, an array's elements, or not knowable

STEPS = 20_000  # words and commands that are read before it is too much; a long script of a person has some hundreds
SCRIPTS = 8  # scripts in scripts (`bash -c`, `eval`)
LONG = 200_000  # characters of a command; what is longer is data, and nobody can say where it goes
HERE = 500  # here-documents in a command: the grammar takes the square of their number
HOPS = 8  # links that lead to links, all made by the command itself
PLACES = 8  # directories a command may run in (each `cd` that may fail adds one) before that counts as not knowable


def unreadable(source: str) -> bool:
    """Is this no command that the grammar could be asked about?"""
    return len(source) > LONG or "\0" in source or source.count("<<") > HERE


class TooMuch(Exception):
    """The command asks for more work than reading it is worth."""


class Target:
    """One file or directory that a command would create, change or delete.

    A path that is written in several ways has a target for each; it keeps what it held before only if all merge.
    """

    __slots__ = ("acts", "how", "merges", "path", "text", "words")

    def __init__(self, path: str, how: str, words: str) -> None:
        self.path = path  # absolute, joined with the directory; links, `.` and `..` stay as they are
        self.how = how  # write, append, delete, move, link, symlink, touch
        self.words = words  # the command as typed
        self.merges = False  # the command reads the file itself while it writes it: what it held before is in it
        self.text: str | None = None  # the exact content that it will have, where the words say so
        self.acts: list[tuple[int, bool]] = []  # each time it is written: at which moment, and does that merge

    def __repr__(self) -> str:
        return f"Target({self.path!r}, {self.how!r}, {self.words!r})"


class Doubt:
    """Something is written, and the words do not say what."""

    __slots__ = ("below", "cwd", "words")

    def __init__(self, words: str, below: list[str] | None, cwd: str | None) -> None:
        self.words = words  # the command as typed
        self.below = below  # how the absolute path begins: one of these ("/" at the end: in this folder); None: unknown
        self.cwd = cwd  # where it is run; None if that cannot be known

    def __repr__(self) -> str:
        return f"Doubt({self.words!r}, {self.below!r})"


class Simple:
    """One simple command, without the wrappers (sudo, env, …) it was called through."""

    __slots__ = ("assignments", "cwd", "text", "words")

    def __init__(self, words: list[str | None], cwd: str | None, text: str, assignments: dict[str, str | None]) -> None:
        self.words = words  # None: cannot be known from the words
        self.cwd = cwd  # None: cannot be known
        self.text = text  # as typed
        self.assignments = assignments  # `A=b` before the command, or through env

    def __repr__(self) -> str:
        return f"Simple({self.words!r}, {self.cwd!r})"


class Reading:
    """What is known about a command after reading it."""

    __slots__ = (
        "_agent", "_known", "_look", "_read", "_seen", "_steps", "_times", "absent",
        "broken", "capturing", "commands",
        "detached", "from_where", "git", "left", "mixing", "moment", "opened", "piped", "sink", "traps",
        "unresolved", "unsure", "writes",
    )  # fmt: skip

    def __init__(self, look: Look) -> None:
        self._look = look
        self.writes: list[Target] = []
        self.git: list[Simple] = []
        self.commands: list[Simple] = []
        self.unresolved: list[Doubt] = []
        self.absent: list[str] = []  # what it would delete, and what is not there
        self.broken = False
        self.opened = False  # a program runs of which nobody knows what it writes
        self.left = False  # something was put into the background and not waited for
        self.detached = False  # something was made to outlive the shell
        # While the command is walked through:
        self.sink = self._agent = Stream()  # where the output of the commands goes
        self.piped: Stream | None = None  # what came out of the last `<(…)`
        self.moment = 0  # statements so far: what is read later than a file is written is not in it
        self.capturing = 0  # in how many `$(…)`
        self.mixing = False  # in front of `|&`, where messages about errors go along
        self.unsure = 0  # in how many branches that may not be taken
        self.from_where: dict[str, str] = {}  # copies that the command makes → of what
        self.traps: list[str] = []  # what runs when the shell ends
        self._seen: set[tuple[str, str]] = set()
        self._known: dict[tuple[str, str], Target] = {}
        self._times: dict[str, int] = {}  # how often a path is written
        self._read: dict[str, int] = {}  # files whose content is read → since which moment
        self._steps = 0

    @property
    def shown(self) -> list[str]:
        """Absolute paths whose content the agent gets to see."""
        return list(dict.fromkeys([path for path, how in self._agent.files if not how]))

    @property
    def git_shown(self) -> list[tuple[str, str]]:
        """Absolute paths of which git shows something, and what: "diff" or "show" (a version of the file)."""
        return list(dict.fromkeys([shown for shown in self._agent.files if shown[1]]))

    @property
    def kind(self) -> str:
        """Open: nobody knows all that it writes; closed: `writes` are all; harmless: it writes nothing."""
        if self.opened or self.broken or self.unresolved:
            return "open"
        return "closed" if self.writes else "harmless"

    @property
    def background(self) -> bool:
        """Do the words leave something running?"""
        return self.left or self.detached

    def step(self, steps: int = 1) -> None:
        """Some work was done; too much of it ends the reading."""
        self._steps += steps
        if self._steps > STEPS:
            raise TooMuch

    def write(
        self, cwd: str | None, path: Field, how: str, words: str, *, merges: bool = False, hops: int = 0
    ) -> Target | None:
        """A path that is written, as it is named from a directory; what cannot be told is unresolved."""
        if isinstance(path, Unknown):
            self.doubt(words, path, cwd)
            return None
        if cwd is None and not path.startswith("/"):
            self.doubt(words, ANY, cwd)
            return None
        if not path or path == "-":
            return None  # the empty name opens nothing; a lone dash is a stream wherever it may stand
        full = path if path.startswith("/") else os.path.join(cwd or "", path)
        if _is_device(full):
            return None
        target = self._known.get((full, how))
        if target is None and how == "delete" and not self.opened and not self._look.is_there(full):
            self.absent.append(full)
            return None  # there is nothing to delete, and nothing in the command that could make it
        if target is None:
            target = self._known[full, how] = Target(full, how, words)
            self.step()
            self._look.made(full)
            self.writes.append(target)
        target.acts.append((self.moment, merges or how in {"append", "move", "touch"}))
        self._times[full] = self._times.get(full, 0) + 1
        other = self._look.through(full, itself=how not in {"delete", "move", "link", "symlink"})
        if other is not None and hops < HOPS:
            self.write(None, other, how, words, merges=merges, hops=hops + 1)
        return target

    def stream(self) -> Stream:
        """A new stream, here."""
        made = Stream()
        made.level, made.mixed = self.unsure, self.mixing
        return made

    def mixes(self, stream: Stream | None) -> None:
        """Messages about errors go to where the output goes: so its text is not certain."""
        stream = stream or self.sink
        if stream is not self._agent:
            stream.mixed = True

    def prints(self, piece: Field | Call, files: Iterable[Shown] = ()) -> None:
        """A command puts something into its output: a text, or what it prints, and the content of files."""
        certain = self.unsure <= self.sink.level
        self.sink.add(piece, certain=certain)
        if certain:
            self.sink.files += files

    def read(self, path: str) -> None:
        """The content of this absolute path is read by something that may put it elsewhere."""
        path = os.path.normpath(path)
        while path not in self._read:
            self._read[path] = self.moment
            path = self.from_where.get(path, path)

    def copied(self, source: str, to: str) -> None:
        """A file gets the content of another one; who reads the copy reads that one."""
        source, to = os.path.normpath(source), os.path.normpath(to)
        if source != to:
            self.from_where[to] = source

    def settle(self) -> None:
        """All is read: which writes merge, and which texts are certain."""
        for target in self.writes:
            if self._times[target.path] > 1 or target.how != "write":
                target.text = None
            path = os.path.normpath(target.path)
            since = self._read.get(path, self.moment + 1)
            if self._origin(path):
                since = 0
            derived = target.text is None and target.how == "write"
            target.merges = all(merges or (derived and since <= moment) for moment, merges in target.acts)

    def _origin(self, path: str) -> bool:
        """Does a file come back to where its content was copied from?"""
        place = self.from_where.get(path, path)
        for _ in range(HOPS):
            if place == path:
                break
            place = self.from_where.get(place, "")
        return place == path and path in self.from_where

    def doubt(self, words: str, target: Unknown = ANY, cwd: str | None = None) -> None:
        """Something is written, and nobody can tell what; at most, where."""
        below = places(target, cwd)
        if below is not None and all(map(_is_device, below)):
            return
        for known in self.unresolved:
            if known.words == words and known.cwd == cwd:
                both = None if known.below is None or below is None else sorted({*known.below, *below})
                known.below = both if both is not None and len(both) <= WAYS else None
                return
        self.unresolved.append(Doubt(words, below, cwd))

    def note(self, command: Simple) -> None:
        """A simple command was found."""
        self.step()
        key = (command.text, f"{command.cwd} {command.words}")
        if key in self._seen:
            return
        self._seen.add(key)
        self.commands.append(command)
        if command.words and command.words[0] == "git":
            self.git.append(command)


def _is_device(path: str) -> bool:
    if path.startswith("/dev/"):
        return not path.startswith("/dev/shm/")  # noqa: S108 - files in memory are files
    return path == "/dev" or path.startswith("/proc/self/fd/")


class Reader:
    """What every part of the reading has at hand."""

    __slots__ = ("home", "level", "look", "reading")

    def __init__(self, reading: Reading, home: str, look: Look, level: int = 0) -> None:
        self.reading = reading
        self.home = home
        self.look = look
        self.level = level

    def script(self, source: str, env: Env) -> None:
        """Read a text as a script of its own (`bash -c`, `eval`)."""
        from dibs.facts.shell import walk as shell_walk

        if self.level >= SCRIPTS:
            raise TooMuch
        if unreadable(source):
            self.reading.broken = True
        else:
            shell_walk.Script(source, self.reading, self.home, self.look, self.level + 1).read(env)

    def function(self, name: str, env: Env) -> bool:  # noqa: ARG002 - a script knows some
        """Walk through the function of this name, if there is one."""
        return False


class Env:
    """The shell at one point: where it may be, and which variables have a known value."""

    __slots__ = ("cwds", "given", "made", "old", "variables")

    def __init__(self, cwds: Iterable[str | None], variables: dict[str, Value]) -> None:
        self.cwds: list[str | None] = list(cwds)
        self.variables = variables
        self.old: str | None = None  # where `cd -` leads
        self.made: set[str] = set()  # directories that the command itself makes
        self.given: Stream | None = None  # what stands on the input, if anything is known of it

    def copy(self) -> Env:
        """The same, to be changed apart."""
        other = Env(self.cwds, dict(self.variables))
        other.old, other.made, other.given = self.old, set(self.made), self.given
        return other

    def become(self, other: Env) -> None:
        """From now on, what the other is."""
        self.cwds, self.variables = list(other.cwds), dict(other.variables)
        self.old, self.made = other.old, set(other.made)

    def join(self, other: Env) -> None:
        """One or the other, nobody knows which: keep what holds in both."""
        self.cwds += [cwd for cwd in other.cwds if cwd not in self.cwds]
        if None in self.cwds or len(self.cwds) > PLACES:
            self.cwds = [None]
        joined: dict[str, Value] = {}
        for name, value in self.variables.items():
            theirs = other.variables.get(name)
            if theirs == value:
                joined[name] = value
            elif theirs is not None and not isinstance(value, list) and not isinstance(theirs, list):
                one = either([value, theirs])
                if one.below is not None:
                    joined[name] = one
        self.variables = joined
        self.old = self.old if self.old == other.old else None
        self.made |= other.made  # taken to be there: then both the file and what is below the directory are found

    def same(self, other: Env) -> bool:
        """Does the other know exactly this?"""
        return self.cwds == other.cwds and self.old == other.old and self.variables == other.variables

    def is_directory(self, path: str) -> bool:
        """Is this absolute path a directory, or will it be one by what the command did before?"""
        return os.path.normpath(path) in self.made or os.path.isdir(path)
