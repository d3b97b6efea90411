"""The result of reading a shell command, and the known state of the shell at one point of it.

Plain records, shared by the parts of the reader: words.py, walk.py (statements), commands.py (single commands), and the
readers of single programs. Nothing is looked up or decided here.
"""

from __future__ import annotations

import os

from dibs.machine import links
from dibs.shell.programs import GIT, PROGRAMS
from dibs.shell.streams import Stream
from dibs.shell.unknown import ANY, MAX_BEGINNINGS, MAX_NAMES, Unknown, either, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.shell.globs import FileView
    from dibs.shell.options import Fields
    from dibs.shell.streams import Printer, Shown
    from dibs.shell.unknown import Field

    Value = str | list[Field] | Unknown  # a variable: its text, an array's elements, or unknown

LITERAL_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./,:=@%+-"  # literal everywhere
MAX_STEPS = 20_000  # words and commands read; a person's long script has some hundreds
MAX_COMMAND_LETTERS = 2_000_000  # a longer command is data with an unknown destination; a second to read it
MAX_HERE_DOCUMENTS = 500  # the grammar's time grows with the square of their number
MAX_LINK_HOPS = 8  # links to links, all made by the command itself
ALIAS = "alias "  # among the variables, before the name of an alias: what it stands for
EXPORTED = "export "  # among the variables, under a name that none can have: the names that other programs get
MAX_DIRECTORIES = 8  # where a command may run (each `cd` that may fail adds one); with more, unknown


def unreadable(source: str) -> bool:
    """Is this text unfit for the grammar?"""
    return len(source) > MAX_COMMAND_LETTERS or "\0" in source or source.count("<<") > MAX_HERE_DOCUMENTS


class TooComplex(Exception):
    """The command takes more steps to read than allowed."""


class Target:
    """One file or directory that a command would create, change or delete.

    A path that is written in several ways has a target for each; its old content is kept only if all of them merge.
    """

    __slots__ = ("_told", "acts", "how", "merges", "path", "text", "words")

    def __init__(self, path: str, how: str, words: str) -> None:
        self.path = path  # absolute, joined with the directory; links, `.` and `..` are kept
        self.how = how  # write, append, delete, move, link, symlink, touch
        self.words = words  # the command as typed
        self.merges = False  # the command reads the file while it writes it: the old content is kept in it
        self.text: str | None = None  # the exact new content, if the words contain it
        self.acts: list[tuple[int, bool]] = []  # for each write: the step, and does it merge
        self._told = 0  # writes of which the content is known; each has left the same

    def says(self, text: str | None) -> None:
        """The last write leaves this content; it stays known only if every write leaves the same."""
        alike = text is not None and self._told + 1 == len(self.acts) and (not self._told or text == self.text)
        self.text, self._told = (text, len(self.acts)) if alike else (None, -1)

    @property
    def is_told(self) -> bool:
        """Is the content after each of its writes known?"""
        return self._told == len(self.acts)

    def __repr__(self) -> str:
        return f"Target({self.path!r}, {self.how!r}, {self.words!r})"


class Doubt:
    """A write to a path that the words do not give, or a file of which they do not say whether it is written."""

    __slots__ = ("below", "cwd", "end", "exact", "whole", "without", "words")

    def __init__(
        self, words: str, below: list[str] | None, cwd: str | None, end: str = "", *, exact: bool = False
    ) -> None:
        self.words = words  # the command as typed
        self.below = below  # how the absolute path begins: one of these ("/" at the end: in this folder); None: unknown
        self.cwd = cwd  # where it is run; None if unknown
        self.end = end  # how the path ends, or that of a folder that it lies in; "": unknown
        self.exact = exact  # `below` has whole paths, of which it may write any
        self.whole = False  # the command takes no names of files: it writes those that it finds
        self.without: list[str] = []  # what it leaves out: absolute paths, and names that count in any folder

    def __repr__(self) -> str:
        return f"Doubt({self.words!r}, {self.below!r}, {self.end!r})"


class Simple:
    """One simple command, without the wrappers (sudo, env, …) it was called through."""

    __slots__ = ("assignments", "cwd", "given", "text", "words")

    def __init__(
        self,
        words: list[str | None],
        cwd: str | None,
        text: str,
        assignments: dict[str, str | None],
        given: tuple[str, str, list[str] | None] = ("", "", None),
    ) -> None:
        self.words = words  # None: not known from the words
        self.cwd = cwd  # None: unknown
        self.text = text  # as typed
        self.assignments = assignments  # `A=b` before the command, or through env
        self.given = given  # of `git apply`: its input, as a text, as a file, or by the files that it changes

    def __repr__(self) -> str:
        return f"Simple({self.words!r}, {self.cwd!r})"


class Reading:
    """The result of reading a command."""

    __slots__ = (
        "_agent", "_by_place", "_doubts", "_known", "_placed", "_read", "_resolved", "_seen", "_steps", "_view",
        "absent", "broken", "capturing", "commands",
        "detached", "from_where", "git", "left", "mixing", "moment", "opened", "piped", "sink", "traps",
        "unresolved", "unsure", "writes",
    )  # fmt: skip

    def __init__(self, view: FileView) -> None:
        self._view = view
        self.writes: list[Target] = []
        self.git: list[Simple] = []
        self.commands: list[Simple] = []
        self.unresolved: list[Doubt] = []
        self.absent: list[str] = []  # what it would delete although it is missing
        self.broken = False
        self.opened = False  # it runs a program with unknown writes
        self.left = False  # a command runs in the background without `wait`
        self.detached = False  # a command outlives the shell
        # During the walk:
        self.sink = self._agent = Stream()  # the destination of the commands' output
        self.piped: Stream | None = None  # the output of the last `<(…)`
        self.moment = 0  # statements so far: a read after a write does not flow into it
        self.capturing = 0  # nesting in `$(…)`
        self.mixing = False  # before `|&`, where stderr goes along
        self.unsure = 0  # nesting in branches that may not run
        self.from_where: dict[str, str] = {}  # copies that the command makes → their originals
        self.traps: list[str] = []  # traps that run when the shell ends
        self._seen: set[tuple[str, str]] = set()
        self._known: dict[tuple[str, str], Target] = {}
        self._by_place: dict[str, list[Target]] = {}  # the first of the writes, see _places
        # By words, directory, end (None: of `may_write`), and whether the paths are whole ones.
        self._doubts: dict[tuple[str, str | None, str | None, bool], Doubt] = {}
        self._resolved: dict[str, str] = {}  # how paths begin → the same without links
        self._placed = 0  # how many of them
        self._read: dict[str, int] = {}  # files whose content is read → since which step
        self._steps = 0

    @property
    def shown(self) -> list[str]:
        """Absolute paths whose content the agent gets to see."""
        return list(dict.fromkeys([path for path, how in self._agent.files if not how]))

    @property
    def git_shown(self) -> list[tuple[str, str]]:
        """Absolute paths that git shows, and how: "diff" or "show" (a version of the file)."""
        return list(dict.fromkeys([shown for shown in self._agent.files if shown[1]]))

    @property
    def kind(self) -> str:
        """Open: some writes are unknown; closed: `writes` has all of them; harmless: it writes nothing."""
        if self.opened or self.broken or self.unresolved:
            return "open"
        return "closed" if self.writes else "harmless"

    @property
    def background(self) -> bool:
        """Does the command leave something running?"""
        return self.left or self.detached

    def step(self, steps: int = 1) -> None:
        """Count steps; too many end the reading."""
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise TooComplex

    def write(
        self, cwd: str | None, path: Field, how: str, words: str, *, merges: bool = False, hops: int = 0
    ) -> Target | None:
        """Note a written path, relative to a directory; an unknown one is a doubt."""
        if isinstance(path, Unknown):
            self.doubt(words, path, cwd, end=path.end.rstrip("/"), exact=path.whole)
            return None
        if cwd is None and not path.startswith("/"):
            self.doubt(words, ANY, cwd)
            return None
        if not path or path == "-":
            return None  # the empty name opens nothing; a lone dash is a stream
        full = path if path.startswith("/") else os.path.join(cwd or "", path)
        if full.startswith("/proc/self/cwd/") and cwd is not None:
            full = os.path.join(cwd, full[15:])
        if _is_device(full):
            return None
        target = self._known.get((full, how))
        if target is None and how == "delete" and not self.opened and not self._view.is_there(full):
            self.absent.append(full)
            return None  # there is nothing to delete, and the command does not make it
        if target is None:
            target = self._known[full, how] = Target(full, how, words)
            self.step()
            self._view.made(full)
            self.writes.append(target)
        target.acts.append((self.moment, merges or how in {"append", "move", "touch"}))
        other = self._view.through(full, itself=how not in {"delete", "move", "link", "symlink"})
        if other is not None and hops < MAX_LINK_HOPS:
            self.write(None, other, how, words, merges=merges, hops=hops + 1)
        return target

    def is_written(self, path: str) -> bool:
        """Has the command written this absolute path so far, under any of its names, or a folder that it lies in?"""
        return bool(self.writes) and _lies_in(links.real(path), self._places())

    def text_of(self, path: str) -> str | None:
        """The content of a file that the command has written by now, if no write can have left another one."""
        if not self.writes:
            return None
        place, places = links.real(path), self._places()
        targets = places.get(place, [])
        once = len(targets) == 1 and targets[0].is_told and not _lies_in(os.path.dirname(place), places)
        return targets[0].text if once and targets[0].how == "write" and not self._may_be_doubted(place) else None

    def _places(self) -> dict[str, list[Target]]:
        """The targets by the place where they lie, whatever their names: `f`, `./f`, and `f` through a link."""
        for target in self.writes[self._placed :]:
            self._by_place.setdefault(links.real(target.path), []).append(target)
        self._placed = len(self.writes)
        return self._by_place

    def stream(self) -> Stream:
        """A new stream, here."""
        made = Stream()
        made.level, made.mixed = self.unsure, self.mixing
        return made

    def mixes(self, stream: Stream | None) -> None:
        """Stderr goes where the output goes: its text is not certain."""
        stream = stream or self.sink
        if stream is not self._agent:
            stream.mixed = True

    def prints(self, piece: Field | Printer, files: Iterable[Shown] = ()) -> None:
        """Note a command's output: a text, or what it prints, and the content of files."""
        certain = self.unsure <= self.sink.level
        self.sink.add(piece, certain=certain)
        if certain:
            self.sink.files += files

    def read(self, path: str) -> None:
        """Note a read of this absolute path by a command that may write its content elsewhere."""
        path = os.path.normpath(path)
        while path not in self._read:
            self._read[path] = self.moment
            path = self.from_where.get(path, path)

    def copied(self, source: str, to: str) -> None:
        """Note a copy of a file; a read of the copy counts as a read of the original."""
        source, to = os.path.normpath(source), os.path.normpath(to)
        if source != to:
            self.from_where[to] = source

    def settle(self) -> None:
        """Finish the reading: which writes merge, and which texts are certain."""
        for target in self.writes:
            if target.text is not None and target.text != self.text_of(target.path):
                target.text = None
            path = os.path.normpath(target.path)
            since = self._read.get(path, self.moment + 1)
            if self._origin(path):
                since = 0
            derived = target.text is None and target.how == "write"
            target.merges = all(merges or (derived and since <= moment) for moment, merges in target.acts)

    def _may_be_doubted(self, place: str) -> bool:
        """May a target that the words leave open be the file at this place as well?"""
        return any(
            f"{doubt.end}/" in f"{place}/"
            and (doubt.below is None or any(f"{place}/".startswith(self._without_links(way)) for way in doubt.below))
            for doubt in self.unresolved
        )

    def _without_links(self, beginning: str) -> str:
        if beginning not in self._resolved:
            self._resolved[beginning] = _resolved(beginning)
        return self._resolved[beginning]

    def _origin(self, path: str) -> bool:
        """Does a copy return to its original?"""
        place = self.from_where.get(path, path)
        for _ in range(MAX_LINK_HOPS):
            if place == path:
                break
            place = self.from_where.get(place, "")
        return place == path and path in self.from_where

    def doubt(
        self, words: str, target: Unknown = ANY, cwd: str | None = None, *, end: str = "", whole: bool = False,
        exact: bool = False, without: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """Note a write to an unknown path, of which at most the beginning and the end are known; or one of several."""
        below = places(target, cwd)
        if below is not None and all(map(_is_device, below)):
            return
        exact = exact and below is not None
        known = self._doubts.get((words, cwd, end, exact))
        if known is not None:
            both = None if known.below is None or below is None else sorted({*known.below, *below})
            known.below = both if both is not None and len(both) <= (MAX_NAMES if exact else MAX_BEGINNINGS) else None
            known.exact = exact and known.below is not None
            known.without = [path for path in known.without if path in without]
            return
        doubt = self._doubts[words, cwd, end, exact] = Doubt(words, below, cwd, end, exact=exact)
        doubt.whole, doubt.without = whole, list(without)
        self.unresolved.append(doubt)

    def may_write(self, words: str, path: str) -> None:
        """Note a file, by its absolute path, that a command may write, though no claim is taken for it."""
        known = self._doubts.get((words, None, None, True))
        if known is None:
            known = self._doubts[words, None, None, True] = Doubt(words, [], None, exact=True)
            self.unresolved.append(known)
        if known.below is not None and path not in known.below:
            known.below.append(path)

    def note(self, command: Simple) -> None:
        """Note a simple command."""
        self.step()
        key = (command.text, f"{command.cwd} {command.words}")
        if key in self._seen:
            return
        self._seen.add(key)
        self.commands.append(command)
        name, *rest = command.words or [None]
        if name == GIT:
            self.git.append(command)
        elif name and rest[1:] and _ASKS.isdisjoint(rest) and PROGRAMS[name].get("switches") == f"{rest[0]} {rest[1]}":
            self.git.append(Simple([GIT, "switch", "--detach"], command.cwd, command.text, {}))


_ASKS = frozenset(("-h", "--help"))


def _lies_in(path: str, places: dict[str, list[Target]]) -> bool:
    """Is this one of these places, or in one of them?"""
    while path not in places:
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above
    return True


def _resolved(beginning: str) -> str:
    """How a path begins, without links."""
    folder, _, start = beginning.rpartition("/")
    return f"{links.real(folder or '/').rstrip('/')}/{start}"


def _is_letter(character: str) -> bool:
    """May this character be in the name of a variable?"""
    return character.isalnum() or character == "_"


def _is_device(path: str) -> bool:
    if path.startswith("/dev/"):
        return not path.startswith("/dev/shm/")  # noqa: S108 - files in memory are files
    return path == "/dev" or path.startswith("/proc/self/fd/")


def is_positional(name: str) -> bool:
    """Is this a parameter (`$1`, `$@`)?"""
    return name == "@" or name.isdigit()


class Env:
    """The shell's state at one point: its possible directories, and its variables with known values."""

    __slots__ = ("_inherits", "cwds", "given", "made", "old", "source", "variables")

    def __init__(self, cwds: Iterable[str | None], variables: dict[str, Value], source: str = "") -> None:
        self.cwds: list[str | None] = list(cwds)
        self.variables = variables
        self._inherits: dict[tuple[str, str], bool] = {}  # by source and name; shared by all copies
        self.source = source  # the whole command; "": an unknown text may have set any variable
        self.old: str | None = None  # where `cd -` leads
        self.made: set[str] = set()  # directories that the command itself makes
        self.given: Stream | None = None  # the input, if something of it is known

    @property
    def where(self) -> str | None:
        """The directory; None if it may be one of several."""
        return self.cwds[0] if len(self.cwds) == 1 else None

    @property
    def separators(self) -> str:
        """The characters at which the values of unquoted variables are split."""
        characters = self.variables.get("IFS")
        return characters if isinstance(characters, str) else " \t\n"

    @property
    def exported_names(self) -> list[str]:
        """The names of the variables that programs get."""
        names = self.variables.get(EXPORTED)
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def export(self, name: str) -> None:
        """Programs get this variable from now on."""
        self.variables[EXPORTED] = [*self.exported_names, name]

    def position(self, words: Fields) -> None:
        """Set the parameters `$1`, `$2`, … and `$@`."""
        self.forget_parameters()
        self.variables["@"] = list(words)
        for number, word in enumerate(words, 1):
            if word is not ANY:
                self.variables[str(number)] = word

    def forget_parameters(self) -> None:
        """Nothing is known of the parameters."""
        for name in [name for name in self.variables if is_positional(name)]:
            del self.variables[name]

    def copy(self) -> Env:
        """A copy that can change independently."""
        other = Env(self.cwds, dict(self.variables), self.source)
        other.old, other.made, other.given = self.old, set(self.made), self.given
        other._inherits = self._inherits
        return other

    def become(self, other: Env) -> None:
        """Take over the other's state."""
        self.cwds, self.variables = list(other.cwds), dict(other.variables)
        self.old, self.made, self.source = other.old, set(other.made), other.source

    def join(self, other: Env) -> None:
        """Merge with another possible state: keep what holds in both."""
        self.cwds += [cwd for cwd in other.cwds if cwd not in self.cwds]
        if None in self.cwds or len(self.cwds) > MAX_DIRECTORIES:
            self.cwds = [None]
        joined: dict[str, Value] = {}
        for name, value in self.variables.items():
            theirs = other.variables.get(name)
            if theirs == value:
                joined[name] = value
            elif theirs is not None and not isinstance(value, list) and not isinstance(theirs, list):
                joint = either([value, theirs])
                if joint.below is not None:
                    joined[name] = joint
        self.variables = joined
        self.old = self.old if self.old == other.old else None
        self.source = self.source if self.source == other.source else ""
        self.made |= other.made  # kept: then both the file and the directory's contents are found

    def same(self, other: Env) -> bool:
        """Does the other have exactly this state?"""
        return (
            self.cwds == other.cwds and self.old == other.old and self.variables == other.variables
            and self.source == other.source
        )  # fmt: skip

    def inherits(self, name: str) -> bool:
        """Does this variable come from outside? The command only uses it: each mention is `$NAME` or `${NAME…}`."""
        key = self.source, name
        if key not in self._inherits:
            self._inherits[key] = self._only_uses(name)
        return self._inherits[key]

    def _only_uses(self, name: str) -> bool:
        at = self.source.find(name)
        while at >= 0:
            before, after = self.source[max(at - 2, 0) : at], self.source[at + len(name) : at + len(name) + 1]
            within = _is_letter(before[-1:]) or _is_letter(after)  # a part of another name
            if not within and ((before[-1:] != "$" and before != "${") or after == "="):
                return False
            at = self.source.find(name, at + 1)
        return bool(self.source)

    def is_directory(self, path: str) -> bool:
        """Is this absolute path a directory, or has the command made it one before?"""
        return os.path.normpath(path) in self.made or os.path.isdir(path)
