"""Short programs in a command's arguments (`python -c`, `python - <<E`, `node -e`): files that they name plainly.

This is not a parser of Python or JavaScript: it searches the text for calls that open files for writing, with a literal
name or a variable that was just set to one. A file found is most likely written; others may be written too, so such a
command stays open.
"""

from __future__ import annotations

from dibs.shell.programs import SHELL_TEXT
from dibs.shell.unknown import matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.shell.call import ProgramCall
    from dibs.shell.unknown import Field

    Fields = Sequence[Field]

MAX_PROGRAM_LETTERS = 1_000_000  # of a program that are searched
_NAME = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

# Calls with a file name as their first argument: their effect on it, and on the file of their second.
_CALLS: dict[str, tuple[str, str]] = {
    "fs.appendFileSync": ("append", ""), "fs.copyFileSync": ("read", "write"), "fs.readFileSync": ("read", ""),
    "fs.renameSync": ("move", "write"), "fs.rmSync": ("delete", ""), "fs.unlinkSync": ("delete", ""),
    "fs.writeFileSync": ("write", ""), "appendFileSync": ("append", ""), "readFileSync": ("read", ""),
    "writeFileSync": ("write", ""), "fs.writeFile": ("write", ""), "fs.readFile": ("read", ""),
    "writeFile": ("write", ""), "readFile": ("read", ""), "fs.appendFile": ("append", ""),
    "Bun.write": ("write", ""), "Deno.writeTextFileSync": ("write", ""), "Deno.readTextFileSync": ("read", ""),
    "os.remove": ("delete", ""), "os.rename": ("move", "write"), "os.replace": ("move", "write"),
    "os.unlink": ("delete", ""), "shutil.copy": ("copy", "write"), "shutil.copyfile": ("copy", "write"),
    "shutil.copy2": ("copy", "write"), "shutil.move": ("move", "write"), "shutil.rmtree": ("delete", ""),
    "appendFile": ("append", ""), "copyFileSync": ("read", "write"), "copyFile": ("read", "write"),
    "os.truncate": ("write", ""), "renameSync": ("move", "write"), "rmSync": ("delete", ""),
    "unlinkSync": ("delete", ""),
    "Deno.removeSync": ("delete", ""), "file_put_contents": ("write", ""),
    "File.write": ("write", ""), "File.read": ("read", ""), "File.delete": ("delete", ""), "IO.write": ("write", ""),
}  # fmt: skip
_JS = ("write", "append", "copyFile", "rename", "rmSync", "unlinkSync", "readFile")  # however the module is called
# Methods of a path of Python's.
_METHODS = {
    "write_text": "write", "write_bytes": "write", "unlink": "delete", "touch": "touch", "read_text": "read",
    "read_bytes": "read",
}  # fmt: skip


# Calls that start a program: a text for a shell, or a list of words.
_STARTS = frozenset((
    "os.system", "os.popen", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output",
    "subprocess.Popen", "check_call", "check_output", "execSync", "child_process.execSync", "cp.execSync",
))  # fmt: skip


FOUND = "\0"  # before a pattern that the program searches for, in a name: no literal has it
MAX_NAMES = 200  # of one argument; with more, it is unknown
MAX_NAME_LETTERS = 4096  # no system takes a longer path


def _pairs(values: list[str], more: list[str]) -> list[str]:
    """All names joined with all others; none if they are too many, or too long."""
    if len(values) * len(more) > MAX_NAMES:
        return []
    return [f"{value}/{end}" for value in values for end in more if len(value) + len(end) < MAX_NAME_LETTERS]


def look(call: ProgramCall, source: str, arguments: Fields = ()) -> None:
    """Name the files that a program plainly writes; `arguments` are the words after the program."""
    if len(source) > MAX_PROGRAM_LETTERS or "chdir(" in source or call.cwd is None:
        return
    program = _Program(source, arguments)
    program.read()
    for path in program.reads:
        call.reading.read(call.full(path.replace(FOUND, "")))
    for path, how in program.writes:
        name = path.replace(FOUND, "")
        call.write(matches(name) if name != path and any(mark in name for mark in "*?[") else name, how)
    for words, place in program.started:
        _start(call, words, place)


def _start(call: ProgramCall, words: list[str], place: str) -> None:
    """A command that the program runs, in a folder: a text for a shell, or its words."""
    command: list[Field] = [*SHELL_TEXT, words[0]] if len(words) == 1 else [*words]
    env = call.env.copy()
    env.cwds = [call.full(place) if place else call.cwd]
    call.interpreter.command(command, env, call.text)


class _Program:
    """A text that is searched for calls."""

    __slots__ = ("_arguments", "_at", "_text", "_values", "reads", "started", "writes")

    def __init__(self, text: str, arguments: Fields = ()) -> None:
        self._arguments = arguments
        self.started: list[tuple[list[str], str]] = []  # commands that it runs, and in which folder
        self._text = text
        self._at = 0
        self._values: dict[str, list[str]] = {}  # variables set to a literal name
        self.reads: dict[str, None] = {}
        self.writes: dict[tuple[str, str], None] = {}  # the path, and how

    def read(self) -> None:
        """Scan the text: skip comments and literals, look at names."""
        text = self._text
        while self._at < len(text):
            character = text[self._at]
            if character in "'\"`":
                self._literal()
            elif character == "#" or text.startswith("//", self._at):
                end = text.find("\n", self._at)
                self._at = end if end >= 0 else len(text)
            elif character in _NAME and not character.isdigit():
                self._word()
            else:
                self._at += 1

    def _word(self) -> None:
        """A dotted name: a call, or a variable that is set."""
        start, text = self._at, self._text
        while self._at < len(text) and (text[self._at] in _NAME or text[self._at] == "."):
            self._at += 1
        name = text[start : self._at]
        self._blanks()
        if name == "for":
            self._loop()
        elif text.startswith("(", self._at):
            self._called(name)
        elif text.startswith("=", self._at) and not text.startswith(("==", "=>"), self._at):
            self._at += 1
            self._values.pop(name, None)
            values = self._argument()
            if values:
                self._values[name] = values

    def _called(self, name: str) -> None:
        self._at += 1
        owner, _, method = name.rpartition(".")
        if name in {"open", "io.open", "codecs.open"}:
            self._opened(self._argument())
        elif name in _STARTS:
            self._started()
        elif name in {"fileinput.input", "fileinput.FileInput", "FileInput"}:
            self._does(self._argument(), "write" if "inplace" in self._text else "read")
        elif name in _CALLS or (method in _CALLS and method.startswith(_JS)):
            first, second = _CALLS[name if name in _CALLS else method]
            self._does(self._argument(), first)
            if second and self._comma():
                self._does(self._argument(), second)
        elif method in _METHODS and owner in self._values:
            self._does(self._values[owner], _METHODS[method])
        elif method == "open" and owner in self._values:
            self._opened(self._values[owner], first=True)
        elif name in {"Path", "pathlib.Path"}:
            self._path(self._argument())

    def _started(self) -> None:
        """`os.system("rm f")`, `subprocess.run(["rm", "f"])`, if all of it is literal."""
        self._blanks()
        words: list[str] = []
        listed = self._text.startswith("[", self._at)
        self._at += listed
        while True:
            self._blanks()
            if self._text[self._at : self._at + 1] not in {"'", '"'}:
                return
            literal = self._literal()
            if not literal or not self._ends():
                return
            words.append(literal)
            if not listed or not self._comma():
                break
        self._blanks()
        if not listed or (self._text.startswith("]", self._at) and len(words) > 1):
            self._at += listed
            self.started += [(words, place) for place in self._place()]

    def _place(self) -> list[str]:
        """The folder that `cwd=` names, in the rest of a call; "" if it names none, nothing if it is not known."""
        depth, at, text = 1, self._at, self._text
        while at < len(text) and depth:
            if text[at] in "'\"`":
                before, self._at = self._at, at
                self._literal()
                at, self._at = self._at, before
                continue
            depth += (text[at] in "([{") - (text[at] in ")]}")
            if depth == 1 and text.startswith(("cwd=", "cwd:"), at) and text[at - 1] in " ,({\n\t":
                self._at = at + 4
                return self._argument()
            at += 1
        return [""]

    def _path(self, values: list[str]) -> None:
        """`Path("f").write_text(…)`, `Path("d", "f")`, `(Path("d") / "f")`."""
        while values and self._comma():
            more = self._argument()
            values = _pairs(values, more)
        self._blanks()
        if not self._text.startswith(")", self._at):
            return
        self._at += 1
        values = self._joined(values)
        for method, how in (*_METHODS.items(), ("open", "open")):
            if self._text.startswith(f".{method}(", self._at):
                self._at += len(method) + 2
                if how == "open":
                    self._opened(values, first=True)
                else:
                    self._does(values, how)
                return

    def _joined(self, values: list[str]) -> list[str]:
        """`… / "f"` after a path; and the bracket around it."""
        at = self._at
        self._blanks()
        joined = self._text.startswith("/", self._at) and not self._text.startswith("//", self._at)
        while joined:
            self._at += 1
            more = self._argument()
            values = _pairs(values, more)
            self._blanks()
            joined = self._text.startswith("/", self._at) and bool(more)
            at = self._at
        self._at = at + self._text.startswith(").", at)
        return values

    def _opened(self, values: list[str], *, first: bool = False) -> None:
        """A call that opens a file, in the mode of its next argument."""
        mode = "r"
        if first or self._comma():
            self._blanks()
            if self._text.startswith("mode=", self._at):
                self._at += 5
            at = self._at
            modes = self._argument()
            mode = modes[0] if modes and not modes[0].strip("rwaxbt+U") else "r"
            self._at = self._at if modes else at
        self._does(values, "append" if "a" in mode else "write" if "w" in mode or "x" in mode else "read")
        if "+" in mode:
            self._does(values, "read" if "w" in mode else "write")
            if "w" not in mode:
                self._does(values, "read")

    def _does(self, values: list[str], how: str) -> None:
        for value in values:
            if how == "read":
                self.reads[value] = None
            elif how != "copy":
                self.writes[value, how] = None

    def _loop(self) -> None:
        """`for p in ["a", "b"]:`, `for (const p of ["a", "b"])`."""
        at, text = self._at, self._text
        line = text[at : text.find("\n", at) if "\n" in text[at:] else len(text)]
        head, sign, _ = line.partition(" in ") if " in " in line else line.partition(" of ")
        name = head.strip(" (").split(" ")[-1]
        if not sign or not name.isidentifier():
            return
        self._at = at + len(head) + len(sign)
        self._blanks()
        self._values.pop(name, None)
        names = [part.strip(" (") for part in head.split(",")]
        for wrapped in ("sorted(", "list("):
            self._at += len(wrapped) if text.startswith(wrapped, self._at) else 0
        values = self._searched()
        if values:
            self._values[names[0] if "os.walk(" in line else name] = values
        elif text[self._at : self._at + 1] in {"[", "("}:
            closing = False
            while not closing:
                self._at += 1
                self._blanks()
                values = [*dict.fromkeys((*values, *self._argument()))][: MAX_NAMES + 1]
                self._blanks()
                closing = text[self._at : self._at + 1] != ","
            if text[self._at : self._at + 1] in {"]", ")"} and len(values) <= MAX_NAMES:
                self._values[name] = values

    def _searched(self) -> list[str]:
        """`glob.glob("src/*.py")`, `Path("src").rglob("*.py")`, `os.walk("src")`: what is found, as patterns."""
        for wrapped in ("glob.glob(", "glob.iglob(", "iglob(", "glob(", "os.walk("):
            if self._text.startswith(wrapped, self._at):
                self._at += len(wrapped)
                folders = self._argument()
                end = "/**" if wrapped == "os.walk(" else ""
                return [f"{FOUND}{value}{end}" for value in folders]
        at, values = self._at, self._owner()
        for method, between in ((".rglob(", "/**/"), (".glob(", "/"), (".iterdir(", "/*")):
            if values and self._text.startswith(method, self._at):
                self._at += len(method)
                more = [""] if method == ".iterdir(" else self._argument()
                return [f"{FOUND}{value}" for value in _pairs(values, [f"{between[1:]}{name}" for name in more])]
        self._at = at
        return []

    def _owner(self) -> list[str]:
        """A path, of which a method follows: `Path("src")`, or a variable."""
        for wrapped in ("Path(", "pathlib.Path("):
            if self._text.startswith(wrapped, self._at):
                self._at += len(wrapped)
                values = self._argument() or ["."]
                self._blanks()
                closed = self._text.startswith(")", self._at)
                self._at += closed
                return values if closed else []
        start = self._at
        while self._at < len(self._text) and self._text[self._at] in _NAME:
            self._at += 1
        return self._values.get(self._text[start : self._at], [])

    def _argument(self) -> list[str]:
        """The names that an argument may have; none if unknown."""
        return self._followed(self._first())

    def _followed(self, values: list[str]) -> list[str]:
        """`Path("src") / "f"`: names that are joined."""
        at = self._at
        self._blanks()
        if values and self._text.startswith("/", self._at) and not self._text.startswith("//", self._at):
            self._at += 1
            more = self._argument()
            return _pairs(values, more)
        self._at = at
        return values if self._ends() else []

    def _path_join(self) -> list[str]:
        """The arguments of `os.path.join`; what is found in a folder stays in it, whatever is added."""
        values = self._argument()
        while values and self._comma():
            more = self._argument()
            if not more and all(FOUND in value for value in values):
                more, self._at = ["*"], max(self._text.find(")", self._at), self._at)
            values = _pairs(values, more)
        self._blanks()
        closed = self._text.startswith(")", self._at)
        self._at += closed
        return values if closed else []

    def _first(self) -> list[str]:
        """The first of names that may be joined."""
        self._blanks()
        text = self._text
        for wrapped in ("os.path.join(", "path.join("):
            if text.startswith(wrapped, self._at):
                self._at += len(wrapped)
                return self._path_join()
        for wrapped in ("Path(", "pathlib.Path(", "str("):
            if text.startswith(wrapped, self._at):
                at = self._at
                self._at += len(wrapped)
                values = self._argument()
                self._blanks()
                if values and text.startswith(")", self._at):
                    self._at += 1
                    return values
                self._at = at + len(wrapped)
                return []
        if text[self._at : self._at + 1] in {"'", '"'}:
            value = self._literal()
            return [value] if value else []
        start = self._at
        for argv, first in (("sys.argv[", 0), ("process.argv[", 1)):
            if text.startswith(argv, self._at):
                number, _, _ = text[self._at + len(argv) :].partition("]")
                self._at += len(argv) + len(number) + 1
                return self._given(int(number) - first - 1) if number.isdigit() and len(number) < 3 else []  # noqa: PLR2004
        while self._at < len(text) and text[self._at] in _NAME:
            self._at += 1
        name = text[start : self._at]
        if name in self._values:
            return self._values[name]
        self._at = start
        return []

    def _given(self, index: int) -> list[str]:
        """An argument of the program."""
        word = self._arguments[index] if 0 <= index < len(self._arguments) else None
        return [word] if isinstance(word, str) else []

    def _ends(self) -> bool:
        """Does the argument end here, so that nothing is added to it?"""
        at = self._at
        while at < len(self._text) and self._text[at] in " \t":
            at += 1
        return at >= len(self._text) or self._text[at] in ",)];\n#}" or self._text.startswith("else", at)

    def _comma(self) -> bool:
        self._blanks()
        if self._text.startswith(",", self._at):
            self._at += 1
            return True
        return False

    def _blanks(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in " \t\n":
            self._at += 1

    def _literal(self) -> str:
        """A literal text; "" if it is not a plain name."""
        text, start = self._text, self._at
        mark = text[start]
        if text.startswith(mark * 3, start):
            end = text.find(mark * 3, start + 3)
            self._at = end + 3 if end >= 0 else len(text)
            return ""
        end = start + 1
        while end < len(text) and text[end] != mark and (text[end] != "\n" or mark == "`"):
            end += 2 if text[end] == "\\" else 1
        self._at = end + 1
        value = text[start + 1 : end]
        formatted = start > 0 and text[start - 1] in "fF" and "{" in value
        plain = mark != "`" and not formatted and not any(sign in value for sign in "\\$\0\n`")
        return value if plain else ""
