"""One simple command: its wrappers are removed, and its effects on the shell or on files are found.

Commands that run other commands (`sudo`, `env`, `xargs`, `bash -c`, `eval`, `find -exec`) are followed. The commands
that write files are in the table of writers.py. All others are only noted.
"""

from __future__ import annotations

import os

from dibs.facts.shell import flows as shell_flows
from dibs.facts.shell.builtin import ALIAS, BUILTINS, exported, is_positional, position
from dibs.facts.shell.findings import Env, Simple
from dibs.facts.shell.options import leading, options
from dibs.facts.shell.unknown import ANY, Unknown, between, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.shell.findings import Reader, Target
    from dibs.facts.shell.options import Fields, Given
    from dibs.facts.shell.streams import Stream
    from dibs.facts.shell.unknown import Field

AGENT_VARIABLES = ("DIBS_AGENT",)  # they name the agent as which a command calls dibs
MAX_WRAPPERS = 16  # wrappers around one command
ONLY_PATHS = frozenset(("add", "rm", "stage"))  # git's commands with no operands but paths
NO_FILES = ("2>&1", ">&2", "&>/dev/null", ">/dev/null", "> /dev/null")  # redirections that write no file
_PROGRAM_FOLDERS = frozenset((".bin", "bin", "sbin"))  # absolute, of `node_modules`, of `.venv`, `venv`, `env`
MAX_FED_LINES = 200  # of xargs -I, each of which is read as a command; with more, it gets one of them, unknown which
XARGS_INPUT = "DIBS_FED"  # a variable in the place of xargs's input in a script
SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "ash"))

# The names in the table of writers.py, which is loaded only for them.
WRITERS = frozenset((
    "7z", "apply_patch", "applypatch", "awk", "bsdtar", "bunzip2", "bzip2", "cp", "cpio", "csplit", "curl", "dd",
    "dos2unix", "ed", "ex", "fallocate", "gawk", "gcp", "gmv", "grm", "gsed", "gtar", "gunzip", "gzip", "iconv",
    "install", "link", "ln", "lzma", "mkfifo", "mv", "nvim", "openssl", "patch", "perl", "pigz", "rename", "rm",
    "rmdir", "rsync", "scp", "sed", "shred", "shuf", "sort", "split", "sponge", "srm", "tar", "tee", "touch",
    "trash", "trash-put", "truncate", "uniq", "unix2dos", "unlink", "unxz", "unzip", "unzstd", "vi", "vim", "wget",
    "xxd", "xz", "yq", "zip", "zstd",
))  # fmt: skip

_PROGRAM_INTERPRETERS = frozenset(("perl",))  # its effects are in its program text

_TO_SECOND = frozenset(("uniq", "xxd"))  # they write their second operand

# The most frequent commands that never write, whatever their arguments; the whole table is loaded for others.
PLAIN_LOOKS = frozenset((
    "[", "basename", "cat", "cmp", "cut", "date", "diff", "dirname", "du", "echo", "egrep", "file", "find", "grep",
    "head", "hostname", "id", "jq", "less", "ls", "md5sum", "nl", "od", "printenv", "ps", "pwd", "realpath", "seq",
    "sleep", "stat", "tac", "tail", "test", "tr", "tree", "true", "uname", "uniq", "wc", "which", "whoami",
))  # fmt: skip
_GIT_LOOKS = (["status"], ["log"], ["diff"], ["show"], ["rev-parse"], ["ls-files"], ["blame"], ["fetch"])

# The names in the table of runners.py, which is loaded only for them.
RUNNERS = frozenset((
    "bun", "bundle", "bunx", "codex", "deno", "hatch", "node", "npm", "npx", "parallel", "pdm", "php", "pipenv",
    "pipx", "pnpm", "poetry", "python", "python3", "ruby", "rye", "script", "uv", "uvx", "yarn",
))  # fmt: skip

# Wrapper → its options with a value, short and long; and the number of words before the command.
WRAPPERS: dict[str, tuple[str, tuple[str, ...], int]] = {
    "builtin": ("", (), 0),
    "busybox": ("", (), 0),
    "caffeinate": ("tw", (), 0),
    "chrt": ("TPD", (), 1),
    "command": ("", (), 0),
    "chroot": ("", ("userspec", "groups"), 1),
    "coproc": ("", (), 0),
    "cross-env": ("", (), 0),
    "doas": ("uC", (), 0),
    "env": ("uCS", ("unset", "chdir", "split-string"), 0),
    "exec": ("a", (), 0),
    "flock": ("wE", ("timeout", "wait", "conflict-exit-code"), 1),
    "ionice": ("cnpPu", ("class", "classdata"), 0),
    "nice": ("n", ("adjustment",), 0),
    "nocorrect": ("", (), 0),
    "noglob": ("", (), 0),
    "nohup": ("", (), 0),
    "setsid": ("", (), 0),
    "stdbuf": ("ioe", ("input", "output", "error"), 0),
    "strace": ("aeEIoOpPsSuUX", ("output", "trace", "user"), 0),
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
    "unshare": ("RwSGl", ("root", "wd", "setuid", "setgid", "propagation", "setgroups", "map-user", "map-group"), 0),
    "watch": ("n", ("interval",), 0),
    "xargs": (
        "adEILnPs",
        ("arg-file", "delimiter", "max-lines", "max-args", "max-procs", "max-chars", "process-slot-var"),
        0,
    ),
}  # fmt: skip


class Call:
    """One simple command as it is about to run."""

    __slots__ = ("assignments", "cwd", "env", "foreign", "name", "reader", "reading", "stdin", "text", "words")

    def __init__(
        self,
        reader: Reader,
        words: Fields,
        env: Env,
        text: str,
        assignments: dict[str, Field],
        stdin: Stream | None = None,
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
        self.foreign = False  # it, or a wrapper, is a program of its own that only has the name of a known one

    def run(self) -> Env | None:
        """Find its effects; returns the shell's state if the command failed, where that differs."""
        failed = self._effects()
        self.reading.opened = self.reading.opened or self.foreign
        return failed

    def _effects(self) -> Env | None:
        if not self._unwrap():
            self.reading.prints(located(self.words[2:]) if self.words[:2] == ["command", "-v"] else ANY)
            return None
        first = self.words[0]
        known = isinstance(first, str)
        self.name = os.path.basename(first if isinstance(first, str) else _program(first))
        self._note([self.name or first, *self.words[1:]])
        if not self.name:
            self.reading.opened = self.reading.opened or not known
            self.reading.prints(ANY)
            return None
        if known and "/" not in str(first) and (self._function() or self._alias()):
            return None
        if isinstance(first, str) and "/" in first and self._made_here(first):
            return None
        if self.name in SHELLS:
            self._shell()
            return None
        if self.name in RUNNERS and self._through():
            return None
        builtin = None if self.foreign else BUILTINS.get(self.name)
        if builtin:
            if self.name not in {"eval", "trap"}:
                shell_flows.flow(self)
            return builtin(self)
        if self.name not in PLAIN_LOOKS and not (self.name == "git" and self.words[1:2] in _GIT_LOOKS):
            self.judge()
        shell_flows.flow(self)
        if self.name == "git":
            self._git_output()
        elif self.name in {"fd", "fdfind"}:
            self._fd()
        elif self.name == "find":
            from dibs.facts.shell import find as shell_find

            shell_find.find(self)
        elif self.name in WRITERS and (self.name not in _TO_SECOND or self._names_two()):
            from dibs.facts.shell import writers as shell_writers

            shell_writers.TABLE[self.name](self)
        return None

    def _made_here(self, path: str) -> bool:
        """Run a script that this command has written itself; False if it has not."""
        text = self.known_text(path)
        if text is None:
            return False
        first = text.partition("\n")[0]
        if "python" in first or "node" in first:
            from dibs.facts.shell import scripts as shell_scripts

            self.reading.opened = True
            shell_scripts.look(self, text, self.words[1:])
        else:
            self._text(text, self.words)
        return True

    def _git_output(self) -> None:
        """`git diff --output=FILE`, `git archive -o FILE`."""
        for index, word in enumerate(self.words):
            if not isinstance(word, str) or not word.startswith(("--output", "-o")):
                continue
            if word.startswith("--output="):
                self.write(word[9:])
            elif word == "--output" or (word == "-o" and "archive" in self.words[:index]):
                self.write(self.words[index + 1] if index + 1 < len(self.words) else ANY)

    def _fd(self) -> None:
        """`fd … -x COMMAND`: like xargs, with the names that it finds."""
        places = [self.words.index(word) for word in ("-x", "-X", "--exec", "--exec-batch") if word in self.words]
        if not places:
            return
        from dibs.facts.shell import outputs as shell_outputs

        end = min(places)
        rest, self.words = self.words[end + 1 :], self.words[:end]
        found = either([shell_outputs.piece(self)])
        rest = rest[: rest.index(";")] if ";" in rest else rest
        named = any(isinstance(word, str) and word.startswith("{") for word in rest)
        words = [found if isinstance(word, str) and word.startswith("{") else word for word in rest]
        Call(self.reader, words if named else [*words, found], self.env, self.text, self.assignments).run()

    def _names_two(self) -> bool:
        """Are there two operands? Without a second one, these commands write to their output."""
        return len([word for word in self.words[1:] if not isinstance(word, str) or word[:1] != "-"]) > 1

    def judge(self) -> None:
        """Note whether it may write files that it does not name."""
        if self.name in WRITERS and self.name not in _PROGRAM_INTERPRETERS:
            return  # it names its files, or left a doubt
        from dibs.facts.shell import harmless as shell_harmless

        shell_harmless.judge(self)

    def _through(self) -> bool:
        """`uv run X`, `npx X`, `python -m X`: X is read like any other command. False for other commands."""
        from dibs.facts.shell import runners as shell_runners

        end, package = shell_runners.TABLE[self.name](self)
        rest = self.words[end:]
        if end < 0:
            return True
        if not end or not rest:
            return False
        first = rest[0]
        if package and isinstance(first, str):  # `prettier@3`, `@biomejs/biome`
            name = first[:1] + first[1:].partition("@")[0]
            rest = [name.rpartition("/")[2] if name[:1] == "@" else name, *rest[1:]]
        Call(self.reader, rest, self.env, self.text, self.assignments, self.stdin).run()
        return True

    # Used by the writers.

    def write(self, path: Field, how: str = "write", *, merges: bool = False) -> Target | None:
        """The command writes this path."""
        return self.reading.write(self.cwd, path, how, self.text, merges=merges)

    def doubt(self, *fields: Field) -> None:
        """The command writes an unknown path, of which at most the beginning is known."""
        self.reading.doubt(self.text, either(fields).begun() if fields else ANY, self.cwd)

    def doubt_in(self, folder: Field) -> None:
        """The command writes an unknown path in this folder."""
        self.doubt(folder.rstrip("/") + "/" if isinstance(folder, str) else folder)

    def full(self, path: str) -> str:
        """A path joined with the directory, as far as it is known."""
        return path if path.startswith("/") or self.cwd is None else os.path.join(self.cwd, path)

    def is_directory(self, path: str) -> bool:
        """Is this a directory when the command runs?"""
        return path.endswith("/") or self.env.is_directory(self.full(path))

    def options(self, short: str = "", long: tuple[str, ...] = ()) -> tuple[Given, Fields]:
        """Options and operands; `short` and `long` are the options that take a value."""
        return options(self.words[1:], short, long)

    # Commands that run commands.

    def _unwrap(self) -> bool:
        """Remove the wrappers; False if nothing is run."""
        for _ in range(MAX_WRAPPERS):
            while self.words and self.words[0] in {"{", "!"}:  # `coproc { rm x; }`, which the grammar does not know
                self.words.pop(0)
            while self.words and _assignment(self.words[0]):
                word = self.words.pop(0)
                if isinstance(word, str):
                    name, _, value = word.partition("=")
                    self.assignments[name] = value
            first = self.words[0] if self.words else ""
            name = os.path.basename(first if isinstance(first, str) else _program(first))
            self.foreign = self.foreign or _is_foreign(first)
            if name not in WRAPPERS:
                return bool(self.words)
            if not self._peel(name):
                return False
        return bool(self.words)

    def _peel(self, name: str) -> bool:
        short, long, operands = WRAPPERS[name]
        end, given = leading(self.words, short, long)
        if name == "command" and any(option in {"v", "V"} for option, _ in given):
            self._note(self.words)
            return False
        rest = self.words[end + operands :]
        if name == "env" and rest[:1] == ["-"]:
            rest = rest[1:]  # as with -i
        if not rest and name != "xargs":
            self._note(self.words)
        elif name == "xargs":
            rest = self._fed(rest or ["echo"], given)
            self.stdin = None
        if name in {"nohup", "setsid", "coproc"}:
            self.reading.detached = True
        if name == "coproc" and rest[1:2] == ["{"]:  # with a name
            rest = rest[1:]
        elif (name == "flock" and rest[:1] == ["-c"]) or name == "watch":
            rest = ["sh", "-c", *rest[1:]] if name == "flock" else self._joined(rest)
        for option, value in given:
            if option in {"C", "chdir", "D"} and name in {"env", "sudo"}:
                known = isinstance(value, str) and value and (self.cwd or value[0] == "/")
                self.cwd = os.path.join(self.cwd or "", value) if known and isinstance(value, str) else None
            elif option in {"S", "split-string"} and name == "env":
                rest = [*(value.split() if isinstance(value, str) else [ANY]), *rest]
            elif option in {"o", "output"} and name in {"time", "strace"}:
                self.write(value or ANY)
        self.words = rest
        return True

    @staticmethod
    def _joined(words: Fields) -> Fields:
        """Words that are joined and given to a shell."""
        known = [word for word in words if isinstance(word, str)]
        return ["sh", "-c", " ".join(known)] if known and len(known) == len(words) else words

    def _shell(self) -> None:
        """`bash -c TEXT`, or a script on its input."""
        inline, standard, operands, i = False, False, self.words[1:], 0
        while i < len(operands):
            word = operands[i]
            if not isinstance(word, str):
                break
            if word == "--" or word[:1] not in {"-", "+"} or word == "-":
                i += word in {"--", "-"}
                break
            short = not word.startswith("--")
            inline = inline or (short and "c" in word)
            standard = standard or (short and "s" in word)
            i += 2 if word in {"--rcfile", "--init-file"} or (short and word[-1] in "oO") else 1
        rest = operands[i:]
        if inline and rest:
            self._text(rest[0], rest[1:])
        elif self.stdin and (standard or not [word for word in rest if word != "/dev/stdin"]):
            text = self.stdin.text if self.stdin.raw is None else self.stdin.raw
            if text is None:
                self.reading.opened = True
            else:
                self.stdin = None
                self._text(text, [self.name, *rest])
        else:
            script = self.known_text(rest[0]) if rest else None
            if script is not None:
                self._text(script, rest)
                return
            self.judge()
            self.reading.prints(ANY)

    def known_text(self, path: Field) -> str | None:
        """The text of a script, if the command itself contains it: from `<(…)`, or a file that it has just written."""
        if path == "/dev/fd/63" and self.reading.piped:
            return self.reading.piped.text
        if path == "/dev/stdin" and self.stdin:
            return self.stdin.text if self.stdin.raw is None else self.stdin.raw
        if not isinstance(path, str) or (self.cwd is None and not path.startswith("/")):
            return None
        return self.reading.text_of(self.full(path))

    def _text(self, text: Field, parameters: Fields) -> None:
        if not isinstance(text, str):
            self.opaque()
            return
        inside = Env([self.cwd], {"HOME": self.reader.home} if self.reader.home else {}, self.env.source)
        for name in exported(self.env):
            if name in self.env.variables:
                inside.variables[name] = self.env.variables[name]
        inside.variables.update(self.assignments)
        inside.made, inside.given = set(self.env.made), self.stdin
        position(inside, parameters[1:])
        if parameters and parameters[0] != ANY:
            inside.variables["0"] = parameters[0]
        self.reader.script(text, inside)

    def _note(self, words: Fields) -> None:
        carried = {name: self.env.variables[name] for name in AGENT_VARIABLES if name in self.env.variables}
        all_given = {**carried, **self.assignments}
        known = {name: value if isinstance(value, str) else None for name, value in all_given.items()}
        typed = [word if isinstance(word, str) else None for word in words]
        if None in typed and typed[0] == "git":
            typed = self._for_git(words)
        given = self._patch() if typed[:1] == ["git"] and self.stdin and "apply" in typed[1:] else ("", "", None)
        self.reading.note(Simple(typed, self.cwd, self.text, known, given))

    def _patch(self) -> tuple[str, str, list[str] | None]:
        """The patch on the input of `git apply`: its text, or the file that it comes from, or the files it is for."""
        assert self.stdin is not None, "asked for only with an input"
        files = self.patched()
        text = None if files is not None else self.stdin.raw if self.stdin.raw is not None else self.stdin.text
        return text or "", self.stdin.source() if text is None else "", files

    def patched(self) -> list[str] | None:
        """The files of the patch that `git diff` puts on the input; None if it comes from anything else."""
        call = self.stdin.from_git() if self.stdin else None
        if call is None or self.reading.opened:
            return None
        from dibs.facts.shell import outputs as shell_outputs
        from dibs.facts.shell import searches as shell_searches

        cwd, words = shell_outputs.git_words(call)
        whole = cwd is not None and not any(isinstance(word, Unknown) for word in call.words)
        return shell_searches.patched(cwd, words) if whole and cwd is not None else None

    def _for_git(self, words: Fields) -> list[str | None]:
        """The words of a git command; an unknown path with a known beginning is every path that begins so."""
        found: list[str | None] = []
        for index, word in enumerate(words):
            only_paths = "--" in words[:index] or (words[1] in ONLY_PATHS and not str(words[index - 1]).startswith("-"))
            ways = word.below if isinstance(word, Unknown) and only_paths and word.relative and self.cwd else None
            if isinstance(word, str):
                found.append(word)
            elif word.whole and not word.below:
                continue  # a list without a line in it
            elif not ways or not all(ways) or any(letter in way for way in ways for letter in "*?[\\:"):
                found.append(None)
            else:
                whole = word.whole
                found += [spec for way in ways for spec in ([way] if whole or way.endswith("/") else [way, f"{way}*"])]
        return found

    def _fed(self, words: Fields, given: Given) -> Fields:
        """The command of xargs: with words from its input at the end, or in the place named by -I."""
        place = next((value for option, value in given if option == "I"), None)
        place = "{}" if any(option in {"i", "replace"} for option, _ in given) else place
        text = None if any(option in {"a", "arg-file"} for option, _ in given) or not self.stdin else self.stdin.text
        word = self._listed(given) or (self.stdin.lines if self.stdin else ANY)
        if not isinstance(place, str):
            null = any(option in {"0", "null"} for option, _ in given)
            split = "\0" if null else None
            word = word if null or any(option in {"d", "delimiter"} for option, _ in given) else word.split()
            return [*words, *([word] if text is None else [one for one in text.split(split) if one.strip()])]
        lines = [line.strip() for line in text.split("\n") if line.strip()] if text is not None else []
        if 1 < len(lines) <= MAX_FED_LINES:
            for line in lines[1:]:
                fed = [_replaced(word, place, line) for word in words]
                Call(self.reader, fed, self.env, self.text, dict(self.assignments)).run()
        one: Field = lines[0] if 1 <= len(lines) <= MAX_FED_LINES else word
        if words and words[0] in SHELLS and isinstance(one, Unknown):  # its text is read with a variable in that place
            self.assignments[XARGS_INPUT] = one
            one = "${" + XARGS_INPUT + "}"
        return [_replaced(word, place, one) for word in words]

    def _listed(self, given: Given) -> Unknown | None:
        """The words of `xargs -a FILE`."""
        file = next((value for option, value in given if option in {"a", "arg-file"}), None)
        if not isinstance(file, str) or self.cwd is None or self.reading.is_written(self.full(file)):
            return None if file is None else ANY
        from dibs.facts.shell import outputs as shell_outputs

        return shell_outputs.lines_of(self.full(file))

    def opaque(self) -> None:
        """An unknown text is run; it is a doubt only if its known part shows that it writes."""
        self.reading.opened = True
        if signs(self.text):
            self.doubt()

    def _function(self) -> bool:
        saved = {name: value for name, value in self.env.variables.items() if is_positional(name)}
        before = self.env.copy()
        position(before, self.words[1:])
        if not self.reader.function(self.name, before):
            return False
        for name in [name for name in before.variables if is_positional(name)]:
            del before.variables[name]
        before.variables.update(saved)
        self.env.become(before)
        return True

    def _alias(self) -> bool:
        """Read what an alias stands for, if this command has defined it; its words follow."""
        text = self.env.variables.get(ALIAS + self.name)
        if not isinstance(text, str):
            return False
        inside = self.env.copy()
        del inside.variables[ALIAS + self.name]
        inside.given = self.stdin
        position(inside, self.words[1:])
        self.reading.unsure += 1
        self.reader.script(f'{text} "$@"', inside)
        self.reading.unsure -= 1
        return False  # a shell that expands no aliases runs the program of that name


def located(names: Fields) -> Unknown:
    """What `which` and `command -v` print: the place of a program, which ends with its name."""
    name = names[0] if len(names) == 1 else ANY
    return Unknown(("/",), f"/{name}") if isinstance(name, str) and name and "/" not in name else ANY


def _program(word: Unknown) -> str:
    """The name of a program whose folder is not known: `$(which rm)`, `$VENV/bin/black`; "" if it is not."""
    return word.end.rpartition("/")[2] if "/" in word.end else ""


def _is_foreign(word: Field) -> bool:
    """Does a program with this path only have the name of a known one, as far as its folder tells (`script/test`)?

    Its name still tells what it may write: most likely it is the known one (`$VENV/bin/black`).
    """
    if isinstance(word, Unknown):
        return True
    folder, slash, _ = word.rpartition("/")
    if not slash:
        return False
    above, _, last = folder.rpartition("/")
    return last not in _PROGRAM_FOLDERS or not (word.startswith("/") or last == ".bin" or above.endswith("env"))


def _assignment(word: Field) -> bool:
    if isinstance(word, Unknown):
        return bool(word.below) and all(map(_assignment, word.below or ()))
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier() and name.isascii()


def _replaced(word: Field, place: str, by: Field) -> Field:
    if not isinstance(word, str) or place not in word:
        return word
    return (
        word.replace(place, by)
        if isinstance(by, str)
        else between(word.partition(place)[0], by, word.partition(place)[2])
    )


def signs(text: str) -> bool:
    """Does a text look like it writes files?"""
    for harmless in NO_FILES:
        text = text.replace(harmless, " ")
    if ">" in text:
        return True
    for mark in "\"'`$(){};&|":
        text = text.replace(mark, " ")
    words = {os.path.basename(word) for word in text.split()}
    return bool(words & WRITERS - {"curl", "wget"})  # their output is run, not kept
