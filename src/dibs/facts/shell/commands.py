"""One simple command: what it is called through is taken off, and what it does to the shell or to files is found.

Commands that run other commands (`sudo`, `env`, `xargs`, `bash -c`, `eval`, `find -exec`) are followed. The commands
that write files are in the table of `shell_writers`. All others are noted and nothing else.
"""

from __future__ import annotations

import os

from dibs.facts.shell.options import leading, options
from dibs.facts.shell.reading import Env, Simple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.facts.shell.options import Options, Words
    from dibs.facts.shell.reading import Reader

CARRIED = ("DIBS_AGENT",)  # variables of the shell that a command is told by: as whom it calls dibs
WRAPPED = 16  # wrappers around one command
SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "ash"))

# The names in the table of `shell_writers`, which is loaded only for them.
WRITERS = frozenset((
    "7z", "apply_patch", "applypatch", "awk", "bunzip2", "bzip2", "cp", "cpio", "csplit", "curl", "dd", "dos2unix",
    "ed", "ex", "fallocate", "gawk", "gcp", "gmv", "grm", "gsed", "gtar", "gunzip", "gzip", "iconv", "install",
    "link", "ln", "lzma", "mkfifo", "mv", "patch", "perl", "pigz", "rename", "rm", "rmdir", "rsync", "scp", "sed",
    "shred", "sort", "split", "sponge", "srm", "tar", "tee", "touch", "trash", "trash-put", "truncate", "unix2dos",
    "unlink", "unxz", "unzip", "unzstd", "vi", "vim", "wget", "xz", "yq", "zip", "zstd",
))  # fmt: skip

# Wrapper → its options that take a value, short and long; and how many words stand before the command.
WRAPPERS: dict[str, tuple[str, tuple[str, ...], int]] = {
    "builtin": ("", (), 0),
    "busybox": ("", (), 0),
    "caffeinate": ("tw", (), 0),
    "chrt": ("TPD", (), 1),
    "command": ("", (), 0),
    "coproc": ("", (), 0),
    "doas": ("uC", (), 0),
    "env": ("uCS", ("unset", "chdir", "split-string"), 0),
    "exec": ("a", (), 0),
    "ionice": ("cnpPu", ("class", "classdata"), 0),
    "nice": ("n", ("adjustment",), 0),
    "nocorrect": ("", (), 0),
    "noglob": ("", (), 0),
    "nohup": ("", (), 0),
    "setsid": ("", (), 0),
    "stdbuf": ("ioe", ("input", "output", "error"), 0),
    "sudo": (
        "ughpCDrtTUR",
        (
            "user", "group", "host", "prompt", "chdir", "close-from", "role", "type", "command-timeout", "other-user",
            "chroot",
        ),
        0,
    ),
    "taskset": ("", (), 1),
    "time": ("fo", ("format", "output"), 0),
    "timeout": ("sk", ("signal", "kill-after"), 1),
    "unbuffer": ("", (), 0),
    "xargs": (
        "adEILnPs",
        ("arg-file", "delimiter", "max-lines", "max-args", "max-procs", "max-chars", "process-slot-var"),
        0,
    ),
}  # fmt: skip


class Call:
    """One simple command as it is about to run."""

    __slots__ = ("assignments", "cwd", "env", "name", "reader", "reading", "stdin", "text", "words")

    def __init__(
        self,
        reader: Reader,
        words: Words,
        env: Env,
        text: str,
        assignments: dict[str, str | None],
        stdin: tuple[str, str | None] | None = None,
    ) -> None:
        self.reader = reader
        self.reading = reader.reading
        self.words = words
        self.env = env
        self.cwd = env.cwds[0]
        self.text = text
        self.assignments = assignments
        self.stdin = stdin
        self.name = ""

    def run(self) -> Env | None:
        """Find out what it does; what the shell would know if it failed, where that differs."""
        if not self._unwrap():
            return None
        first = self.words[0] if self.words else None
        self.name = os.path.basename(first) if first else ""
        words = [self.name if first else None, *self.words[1:]] if self.words else []
        known: dict[str, str | None] = {}
        for name in CARRIED:
            value = self.env.variables.get(name)
            if isinstance(value, str):
                known[name] = value
        self.reading.note(Simple(words, self.cwd, self.text, {**known, **self.assignments}))
        if not self.name:
            return None
        if "/" not in (first or "") and self._function():
            return None
        builtin = _BUILTINS.get(self.name)
        if builtin:
            return builtin(self)
        if self.name in SHELLS:
            self._shell()
        elif self.name == "find":
            from dibs.facts.shell import find as shell_find

            shell_find.find(self)
        elif self.name in WRITERS:
            from dibs.facts.shell import writers as shell_writers

            shell_writers.TABLE[self.name](self)
        return None

    # What the writers use.

    def write(self, path: str | None, how: str = "write") -> None:
        """This path is written."""
        self.reading.write(self.cwd, path, how, self.text)

    def doubt(self) -> None:
        """Something is written, and nobody can tell what."""
        self.reading.doubt(self.text)

    def full(self, path: str) -> str:
        """A path joined with the directory, as far as that is known."""
        return path if path.startswith("/") or self.cwd is None else os.path.join(self.cwd, path)

    def is_directory(self, path: str) -> bool:
        """Is this a directory when the command runs?"""
        return path.endswith("/") or self.env.is_directory(self.full(path))

    def options(self, short: str = "", long: tuple[str, ...] = ()) -> tuple[Options, Words]:
        """Options and operands; `short` and `long` are the options that take a value."""
        return options(self.words[1:], short, long)

    # Commands that run commands.

    def _unwrap(self) -> bool:
        """Take off what the command is called through; False if nothing is run."""
        for _ in range(WRAPPED):
            while self.words and self.words[0] in {"{", "!"}:  # `coproc { rm x; }`, which the grammar does not know
                self.words.pop(0)
            while self.words and _assignment(self.words[0]):
                name, _, value = (self.words.pop(0) or "").partition("=")
                self.assignments[name] = value
            name = os.path.basename(self.words[0] or "") if self.words else ""
            if name not in WRAPPERS:
                return bool(self.words)
            if not self._peel(name):
                return False
        return bool(self.words)

    def _peel(self, name: str) -> bool:
        short, long, operands = WRAPPERS[name]
        end, given = leading(self.words, short, long)
        if name == "command" and any(option in {"v", "V"} for option, _ in given):
            self.reading.note(Simple(self.words, self.cwd, self.text, self.assignments))
            return False
        rest = self.words[end + operands :]
        if not rest and name != "xargs":
            self.reading.note(Simple(self.words, self.cwd, self.text, self.assignments))
        elif name == "xargs":
            rest = _fed(rest or ["echo"], given)
        for option, value in given:
            if option in {"C", "chdir", "D"} and name in {"env", "sudo"}:
                self.cwd = os.path.join(self.cwd or "", value) if value and (self.cwd or value[0] == "/") else None
            elif option in {"S", "split-string"} and name == "env":
                rest = [*(value.split() if value else [None]), *rest]
            elif option in {"o", "output"} and name == "time":
                self.write(value)
        self.words = rest
        return True

    def _shell(self) -> None:
        """`bash -c TEXT`, or a text on its input."""
        inline, operands, i = False, self.words[1:], 0
        while i < len(operands):
            word = operands[i]
            if word is None:
                break
            if word == "--" or word[:1] not in {"-", "+"} or word == "-":
                i += word in {"--", "-"}
                break
            short = not word.startswith("--")
            inline = inline or (short and "c" in word)
            i += 2 if word in {"--rcfile", "--init-file"} or (short and word[-1] in "oO") else 1
        rest = operands[i:]
        if inline and rest:
            self._text(rest[0], rest[1:])
        elif self.stdin and self.stdin[0] == "text" and not rest:
            self._text(self.stdin[1], [])

    def _text(self, text: str | None, parameters: Words) -> None:
        if text is None:
            self.opaque()
            return
        known = {name: value for name, value in self.assignments.items() if value is not None}
        variables = {"HOME": self.reader.home, **known} if self.reader.home else dict(known)
        inside = Env([self.cwd], {**variables})
        inside.made = set(self.env.made)
        position(inside, parameters[1:])
        self.reader.script(text, inside)

    def opaque(self) -> None:
        """A text that is run and cannot be known; only if what is typed of it shows that it writes is it a doubt."""
        if signs(self.text):
            self.doubt()

    def _function(self) -> bool:
        saved = {name: value for name, value in self.env.variables.items() if _positional(name)}
        before = self.env.copy()
        position(before, self.words[1:])
        if not self.reader.function(self.name, before):
            return False
        for name in [name for name in before.variables if _positional(name)]:
            del before.variables[name]
        before.variables.update(saved)
        self.env.become(before)
        return True


def position(env: Env, words: Words) -> None:
    """Set the parameters `$1`, `$2`, … and `$@`."""
    for name in [name for name in env.variables if _positional(name)]:
        del env.variables[name]
    env.variables["@"] = list(words)
    for number, word in enumerate(words, 1):
        if word is not None:
            env.variables[str(number)] = word


def _positional(name: str) -> bool:
    return name == "@" or name.isdigit()


def _assignment(word: str | None) -> bool:
    name, equals, _ = (word or "").partition("=")
    return bool(equals) and name.isidentifier() and name.isascii()


def _fed(words: Words, given: Options) -> Words:
    """The command of xargs: with words from its input at the end, or in the place that was named."""
    place = next((value for option, value in given if option == "I"), None)
    place = "{}" if any(option in {"i", "replace"} for option, _ in given) else place
    if place is None:
        return [*words, None]
    return [None if word is not None and place in word else word for word in words]


def signs(text: str) -> bool:
    """Does a text look as if it wrote something?"""
    if ">" in text:
        return True
    for mark in "\"'`$(){};&|":
        text = text.replace(mark, " ")
    return any(os.path.basename(word) in WRITERS for word in text.split())


# ------------------------------------------------------------------------------------------------------------------
# Commands of the shell itself


def _cd(call: Call) -> Env | None:
    given, operands = call.options()
    env, cwd = call.env, call.cwd
    stack = env.variables.get("DIRSTACK")
    if call.name == "popd":
        known = isinstance(stack, list) and bool(stack)
        to = stack[-1] if isinstance(stack, list) and known else None
        env.variables["DIRSTACK"] = stack[:-1] if isinstance(stack, list) else []
    elif call.name == "pushd":
        if not operands:
            env.cwds = [None]
            return None
        env.variables["DIRSTACK"] = [*(stack if isinstance(stack, list) else []), cwd]
        to = operands[0]
    else:
        to = operands[0] if operands else call.reader.home or None
    before = env.copy()
    if to == "-":
        to = env.old
    new = None if to is None else to if to.startswith("/") else None if cwd is None else os.path.join(cwd, to)
    if new is not None:
        physical = any(option == "P" for option, _ in given)
        new = os.path.realpath(new) if physical else os.path.normpath(new)
    env.old = cwd
    env.cwds = [new]
    return None if new is not None and env.is_directory(new) else before


def _eval(call: Call) -> Env | None:
    known = [word for word in call.words[1:] if word is not None]
    if len(known) + 1 == len(call.words):
        call.reader.script(" ".join(known), call.env)
    else:
        call.opaque()
    return None


def _trap(call: Call) -> Env | None:
    _, operands = call.options()
    if operands and operands[0]:
        call.reader.script(operands[0], call.env.copy())
    return None


def _names(call: Call) -> Env | None:
    """Commands that give variables new values: read, mapfile, getopts, printf -v, let, unset, export and their like."""
    for word in call.words[1:]:
        name = (word or "").partition("=")[0].partition("[")[0]
        call.env.variables.pop(name.rstrip("+-*/%"), None)
    return None


def _set(call: Call) -> Env | None:
    if "--" in call.words:
        position(call.env, call.words[call.words.index("--") + 1 :])
    elif any(word is None or word[:1] not in {"-", "+"} for word in call.words[1:]):
        for name in [name for name in call.env.variables if _positional(name)]:
            del call.env.variables[name]
    return None


def _shift(call: Call) -> Env | None:
    known = call.env.variables.get("@")
    if isinstance(known, list) and len(call.words) == 1:
        position(call.env, known[1:])
    else:
        for name in [name for name in call.env.variables if _positional(name)]:
            del call.env.variables[name]
    return None


def _mkdir(call: Call) -> Env | None:
    """A new directory is no file that anybody could lose; it matters for what is put into it."""
    for word in call.options("m", ("mode",))[1]:
        if word is not None and (call.cwd is not None or word.startswith("/")):
            path = os.path.normpath(call.full(word))
            while path not in call.env.made and not os.path.isdir(path) and os.path.dirname(path) != path:
                call.env.made.add(path)
                path = os.path.dirname(path)
    return None


_BUILTINS: dict[str, Callable[[Call], Env | None]] = {
    "cd": _cd,
    "chdir": _cd,
    "declare": _names,
    "eval": _eval,
    "export": _names,
    "getopts": _names,
    "let": _names,
    "local": _names,
    "mapfile": _names,
    "mkdir": _mkdir,
    "popd": _cd,
    "printf": _names,
    "pushd": _cd,
    "read": _names,
    "readarray": _names,
    "set": _set,
    "shift": _shift,
    "trap": _trap,
    "typeset": _names,
    "unset": _names,
}
