"""`find`: the existing files that its actions (-delete, -exec) would reach.

The expression is evaluated for each entry below the starting points. An unknown test may be true or false; an action
counts as reached unless it certainly is not.
"""

from __future__ import annotations

import os

from dibs.shell import globs as shell_globs
from dibs.shell.programs import PROGRAMS
from dibs.shell.unknown import ANY, MAX_BEGINNINGS, MAX_NAMES, Unknown, between

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.options import Fields
    from dibs.shell.unknown import Field

# Tests and actions by the number of words they take.
_ONE = frozenset((
    "-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-context", "-ctime", "-fls", "-fprint", "-fprint0", "-fstype",
    "-gid", "-group", "-ilname", "-iname", "-inum", "-ipath", "-iregex", "-iwholename", "-links", "-lname",
    "-maxdepth", "-mindepth", "-mmin", "-mtime", "-name", "-newer", "-newermt", "-path", "-perm", "-printf", "-regex",
    "-regextype", "-samefile", "-size", "-type", "-uid", "-used", "-user", "-wholename", "-xtype",
))  # fmt: skip
_EXEC = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_WRITES = frozenset(("-fprint", "-fprint0", "-fls", "-fprintf"))


def find(call: ProgramCall) -> None:
    """What one `find` would write."""
    links, roots, expression = _parts(call)
    actions = [index for index, word in enumerate(expression) if word == "-delete" or word in _EXEC]
    for index, word in enumerate(expression[:-1]):
        if word in _WRITES:
            call.write(expression[index + 1])
    if any(_does_something(call, expression, index) for index in actions):
        names = listed(call) if not any(str(expression[index]).endswith("dir") for index in actions) else None
        if names is not None and len(names) > MAX_EACH:
            _together(call, expression, actions, Unknown(names, whole=True))
            return
        for root in roots:
            _reach(call, root, expression, links)


def _together(call: ProgramCall, expression: Fields, actions: list[int], entries: Unknown) -> None:
    """The actions for very many entries: each writes one of them, as with xargs."""
    for index in actions:
        if expression[index] == "-delete":
            call.write(entries, "delete")
            continue
        words = [
            between(word.partition("{}")[0], entries, word.partition("{}")[2])
            if isinstance(word, str) and "{}" in word
            else word
            for word in _command(expression, index)
        ]
        call.interpreter.command(words, call.env.copy(), call.text)


def listed(call: ProgramCall) -> list[str] | None:
    """The names that it would print; None if they are too many, or not known."""
    links, roots, expression = _parts(call)
    if any(not isinstance(word, str) for word in [*roots, *expression]) or call.cwd is None:
        return None
    if any(word in {"-printf", "-fprintf", "-ls", "-quit"} for word in expression):
        return None
    tree = _Expression(call, expression, lists=True)
    view = call.interpreter.view.brief(MAX_LISTED_ENTRIES)
    try:
        for root in roots:
            _walk(call, str(root), tree, _Names(expression), view, links)
    except shell_globs.LimitReached:
        return None
    names = [f"{name.rstrip('/')}/" if _is_folder(call.full(name)) else name for name in tree.listed]
    folders = tuple([name for name in names if name.endswith("/")])
    if "./" in folders:
        return ["./"]
    names = [*folders, *[name for name in names if not name.startswith(folders)]] if folders else names
    return names if len(names) <= MAX_NAMES else None


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


MAX_EACH = 200  # entries for which an action is read one by one; their files are claimed
MAX_LISTED_ENTRIES = 20_000  # looked at for the names that a `find` prints; some ten milliseconds


def _parts(call: ProgramCall) -> tuple[str, Fields, Fields]:
    """Which links it follows (-H, -L), its starting points, its expression."""
    words, start, links = call.words[1:], 0, ""
    while start < len(words) and str(words[start]) in {"-H", "-L", "-P"}:
        links = str(words[start])[1]
        start += 1
    begin = start
    while start < len(words) and not _begins(words[start]):
        start += 1
    return links, words[begin:start] or ["."], words[start:]


def _begins(word: Field) -> bool:
    """Does the expression begin here?"""
    return isinstance(word, str) and word.startswith(("-", "(", "!", ","))


def _does_something(call: ProgramCall, expression: Fields, index: int) -> bool:
    """Would this action write? A command of -exec is tried with an unknown file, in a separate reading."""
    if expression[index] == "-delete":
        return True
    interpreter = call.interpreter.trial()
    words = [ANY if isinstance(word, str) and "{}" in word else word for word in _command(expression, index)]
    interpreter.command(words, call.env.copy(), call.text)
    reading = interpreter.reading
    for simple in reading.commands:
        call.reading.note(simple)
    call.reading.opened = call.reading.opened or reading.opened
    names = [simple.words[0] for simple in reading.commands if simple.words]
    shows = any(name and "shows" in PROGRAMS[name] for name in names)
    return bool(reading.writes or reading.unresolved or reading.git or shows)


def _command(expression: Fields, index: int) -> Fields:
    """The words of an -exec, up to `;` or `+`."""
    end = index + 1
    while (
        end < len(expression)
        and expression[end] != ";"
        and not (expression[end] == "+" and expression[end - 1] == "{}")
    ):
        end += 1
    return expression[index + 1 : end]


def _reach(call: ProgramCall, root: Field, expression: Fields, links: str) -> None:
    """Evaluate the expression for all entries below a starting point."""
    if not isinstance(root, str) or (call.cwd is None and not root.startswith("/")):
        call.doubt(root)
        return
    try:
        _walk(call, root, _Expression(call, expression), _Names(expression), call.interpreter.view, links)
    except _Rest as rest:  # too many entries: report the remaining folders as a whole
        call.doubt(*_few(rest.folders))


class _Rest(shell_globs.LimitReached):
    """The folders that were not looked at."""

    def __init__(self, folders: list[str]) -> None:
        super().__init__()
        self.folders = folders


def _walk(
    call: ProgramCall, root: str, tree: _Expression, wanted: _Names, view: shell_globs.FileView, links: str
) -> None:  # fmt: skip
    """Go through all entries below a starting point."""
    waiting, later = [(root, 0)], [(root, 0)][:0]
    tree.work_out(root, 0)
    follows = bool(links.strip("P")) and os.path.isdir(call.full(root))
    try:
        while waiting or later:
            path, depth = (waiting or later)[-1]
            folder = call.full(path)
            is_folder = view.is_folder(folder) or (follows and (not depth or links == "L") and os.path.isdir(folder))
            if path in tree.pruned or depth >= tree.deepest or not is_folder or folder in _OF_THE_SYSTEM:
                (waiting or later).pop()
                continue
            names = view.entries(folder)
            (waiting or later).pop()
            slash = "" if path.endswith("/") else "/"
            for name in reversed(names):
                below = f"{path}{slash}{name}"
                if wanted.may_be(name):
                    tree.work_out(below, depth + 1)
                full = f"{folder}/{name}" if not folder.endswith("/") else folder + name
                if view.is_folder(full) or (links == "L" and os.path.isdir(full)):
                    if name in _HEAVY:
                        later += [(below, depth + 1)] if name != ".git" and wanted.goes_into(below) else []
                    elif below not in tree.pruned and wanted.goes_into(below):
                        waiting.append((below, depth + 1))
    except shell_globs.LimitReached:
        raise _Rest([path for path, _ in (*later, *waiting)]) from None


def _few(folders: list[str]) -> list[str]:
    """These folders, or their parents if there are too many."""
    deepest = max([path.count("/") for path in folders])
    while len(folders) > MAX_BEGINNINGS and deepest:
        folders = sorted({path.rpartition("/")[0] if path.count("/") >= deepest else path for path in folders})
        deepest -= 1
    return [f"{path}/" for path in folders]


_OF_THE_SYSTEM = frozenset(("/dev", "/proc", "/sys"))  # no files of agents are there

# Large folders that are rarely meant; they come last. Git's own is left out.
_HEAVY = frozenset((
    ".git", ".mypy_cache", ".next", ".nox", ".pnpm-store", ".tox", ".turbo", ".venv", ".yarn", "bower_components",
    "build", "dist", "env", "node_modules", "out", "site-packages", "target", "vendor", "venv",
))  # fmt: skip


class _Names:
    """The names that an expression requires, if that is plain: entries with other names are not evaluated."""

    __slots__ = ("_ends", "_names", "_patterns", "_without")

    def __init__(self, words: Fields) -> None:
        self._names: set[str] = set()
        self._ends: tuple[str, ...] = ()
        self._patterns: list[list[shell_globs.Atom]] = []
        inner = [word for word in words if isinstance(word, str)]
        self._without = _left_out(inner)
        if any(word in {"!", "-not", ",", "-prune"} for word in inner):
            return
        # One chain of tests, or names in brackets with -o between them: one of the names is needed either way.
        if any(word in {"-o", "-or"} for word in inner) and not _bracketed(inner):
            return
        for index, word in enumerate(words[:-1]):
            pattern = words[index + 1]
            if word != "-name" or not isinstance(pattern, str):
                continue
            if not any(mark in pattern for mark in "*?[\\"):
                self._names.add(pattern)
            elif pattern.startswith("*") and not any(mark in pattern[1:] for mark in "*?[\\"):
                self._ends = (*self._ends, pattern[1:])
            else:
                self._patterns.append(shell_globs.of_text(pattern))

    def goes_into(self, path: str) -> bool:
        """Could the expression match anything in this folder?"""
        return not any(shell_globs.matches(pattern, f"{path}/") for pattern in self._without)

    def may_be(self, name: str) -> bool:
        """Could the expression match an entry of this name?"""
        if not (self._names or self._ends or self._patterns):
            return True
        return (
            name in self._names
            or (bool(self._ends) and name.endswith(self._ends))
            or any(shell_globs.matches(pattern, name) for pattern in self._patterns)
        )


def _left_out(words: list[str]) -> list[list[shell_globs.Atom]]:
    """Folders excluded by `-not -path 'DIR/*'`, as patterns that end with the slash."""
    folders: list[list[shell_globs.Atom]] = []
    if "-o" in words or "-or" in words or "," in words:
        return folders
    for index, word in enumerate(words[:-2]):
        path = words[index + 2]
        if word in {"!", "-not"} and words[index + 1] in {"-path", "-wholename"} and path.endswith("/*"):
            folders.append(shell_globs.of_text(path[:-1]))
    return folders


def _bracketed(words: list[str]) -> bool:
    """Is there one pair of brackets, with nothing but names and -o in it, and no -o elsewhere?"""
    if words.count("(") != 1 or words.count(")") != 1:
        return False
    start, end = words.index("("), words.index(")")
    inside, outside = words[start + 1 : end], words[:start] + words[end + 1 :]
    names = inside[0::3] == ["-name"] * len(inside[0::3]) and set(inside[2::3]) <= {"-o", "-or"}
    return names and "-o" not in outside and "-or" not in outside and "-name" not in outside


class _Expression:
    """The tests and actions, evaluated for one entry after the other; None means `maybe`."""

    __slots__ = ("_at", "_call", "_depth", "_lists", "_path", "_prints", "_words", "deepest", "listed", "pruned",
                 "shallowest")  # fmt: skip

    def __init__(self, call: ProgramCall, words: Fields, *, lists: bool = False) -> None:
        self._call = call
        self._lists = lists  # nothing is done, the names that it prints are noted
        self._prints = any(word in {"-print", "-print0", "-delete"} or word in _EXEC for word in words)
        self.listed: list[str] = []
        self._words = words
        self._at, self._path, self._depth = 0, "", 0
        self.pruned: set[str] = set()
        self.deepest = self._number("-maxdepth", 1 << 30)
        self.shallowest = self._number("-mindepth", 0)

    def _number(self, name: str, default: int) -> int:
        for word, value in zip(self._words, self._words[1:], strict=False):
            if word == name and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:  # noqa: PLR2004
                return int(value)
        return default

    def work_out(self, path: str, depth: int) -> None:
        """Evaluate the expression for one entry."""
        if depth >= self.deepest:
            self.pruned.add(path)
        if self.shallowest <= depth <= self.deepest:
            self._at, self._path, self._depth = 0, path, depth
            result: bool | None = True
            while self._at < len(self._words):
                result = self._either(live=True)
                self._at += 1  # a comma, or an extra bracket
            if self._lists and not self._prints and result is not False:
                self.listed.append(path)

    def _either(self, *, live: bool | None) -> bool | None:
        result = self._both(live=live)
        while self._peek() in {"-o", "-or"}:
            self._at += 1
            other = self._both(live=False if result is True else live if result is False else None)
            result = True if result or other else None if result is None or other is None else False
        return result

    def _both(self, *, live: bool | None) -> bool | None:
        result: bool | None = True
        while self._at < len(self._words) and self._peek() not in {"-o", "-or", ")", ","}:
            if self._peek() in {"-a", "-and"}:
                self._at += 1
                continue
            test = self._one(live=False if result is False else live if result else None)
            result = False if result is False or test is False else None if result is None or test is None else True
        return result

    def _peek(self) -> Field:
        return self._words[self._at] if self._at < len(self._words) else ")"

    def _one(self, *, live: bool | None) -> bool | None:
        word = self._peek()
        self._at += 1
        if word in {"!", "-not"}:
            result = self._one(live=live)
            return None if result is None else not result
        if word == "(":
            result = self._either(live=live)
            self._at += 1
            return result
        if word == "-delete":
            # A folder goes only when everything in it is gone, which is found entry by entry.
            full = self._call.full(self._path)
            if live is not False and not self._lists and (not os.path.isdir(full) or os.path.islink(full)):
                self._call.write(self._path, "delete")
            return True
        if word in {"-print", "-print0"}:
            if live is not False and self._lists:
                self.listed.append(self._path)
            return True
        if word in _EXEC:
            return self._execute(live=live)
        if word == "-prune":
            if live is True:
                self.pruned.add(self._path)
            return True
        value = self._peek() if word in _ONE else None
        self._at += word in _ONE
        if word == "-fprintf":
            self._at += 2
        return self._test(word if isinstance(word, str) else "", value if isinstance(value, str) else None)

    def _execute(self, *, live: bool | None) -> bool | None:
        """The command's success decides what comes next, and is unknown."""
        there = str(self._words[self._at - 1]).endswith("dir")
        command = _command(self._words, self._at - 1)
        self._at += len(command) + 1
        if live is not False and self._lists:
            self.listed.append(self._path)
        elif live is not False:
            name = f"./{os.path.basename(self._path)}" if there else self._path
            words = [word.replace("{}", name) if isinstance(word, str) else word for word in command]
            env = self._call.env.copy()
            if there:
                env.cwds = [os.path.dirname(self._call.full(self._path))]
            self._call.interpreter.command(words, env, self._call.text)
        return None

    def _test(self, word: str, value: str | None) -> bool | None:
        if word in {"-print", "-print0", "-ls", "-true", "-depth", "-d", "-mount", "-xdev", "-maxdepth", "-mindepth"}:
            return True
        if word in _MEASURES:
            return self._measured(word, value or "")
        if value is None:
            return False if word == "-false" else None
        name = self._path.rstrip("/").rpartition("/")[2] or self._path
        if word in {"-name", "-path", "-wholename"}:
            return shell_globs.matches(shell_globs.of_text(value), name if word == "-name" else self._path)
        if word in {"-iname", "-ipath", "-iwholename"}:
            text = name if word == "-iname" else self._path
            return shell_globs.matches(shell_globs.of_text(value.lower()), text.lower())
        if word == "-type":
            full = self._call.full(self._path)
            if not os.path.lexists(full):
                return None  # the command itself makes it
            kind = "l" if os.path.islink(full) else "d" if os.path.isdir(full) else "f" if os.path.isfile(full) else ""
            return None if not kind else kind in value.split(",")
        return None

    def _measured(self, word: str, value: str) -> bool | None:
        """By its age or its size, as it is now; what the command itself makes may be anything."""
        full = self._call.full(self._path)
        if self._call.reading.is_written(full):
            return None
        try:
            if word == "-samefile":
                return os.path.samefile(full, self._call.full(value))
            if word in _AGES:
                return _is_old(os.lstat(full).st_mtime_ns, _AGES[word], value)
            if word == "-newer":
                return os.lstat(full).st_mtime_ns > os.stat(self._call.full(value)).st_mtime_ns
            if word == "-empty" and os.path.isdir(full) and not os.path.islink(full):
                return not os.listdir(full)
            size = os.lstat(full).st_size
        except OSError:
            return None
        return not size if word == "-empty" else _is_sized(size, value)


_AGES = {"-mtime": 86_400_000, "-mmin": 60_000}  # their unit, in milliseconds
_MEASURES = frozenset(("-empty", "-newer", "-samefile", "-size", *_AGES))


def _is_old(changed_ns: int, unit_ms: int, value: str) -> bool | None:
    """`-mtime +7`: in whole units, rounded down; close to the limit it is not certain."""
    from dibs.machine import clock

    number = value.lstrip("+-")
    if not number.isascii() or not number.isdigit():
        return None
    age, limit = clock.wall() - changed_ns // 1_000_000, int(number) * unit_ms
    if value[0] == "+":
        return None if abs(age - limit - unit_ms) < _UNCERTAIN_MS else age >= limit + unit_ms
    if value[0] == "-":
        return None if abs(age - limit) < _UNCERTAIN_MS else age < limit
    return None


_UNCERTAIN_MS = 60_000  # from the look to the command itself


def _is_sized(size: int, value: str) -> bool | None:
    """`-size +10k`: in whole units, rounded up."""
    number = value.lstrip("+-").rstrip("bcwkMG")
    if not number.isascii() or not number.isdigit():
        return None
    units = -(-size // _UNITS.get(value[-1], 512))
    return units > int(number) if value[0] == "+" else units < int(number) if value[0] == "-" else units == int(number)


_UNITS = {"b": 512, "c": 1, "w": 2, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
