"""One simple command: its wrappers are removed, and its effects on the shell or on files are found.

Commands that run other commands (`sudo`, `env`, `xargs`, `bash -c`, `eval`, `find -exec`) are followed. What a program
does with its words is in its row of the table (programs.py). All other commands are only noted.
"""

from __future__ import annotations

import os

from dibs.shell import flows as shell_flows
from dibs.shell.call import Interpreter, ProgramCall
from dibs.shell.findings import ALIAS, Env, Simple, is_positional
from dibs.shell.options import leading
from dibs.shell.programs import GIT, PROGRAMS, SHELL_TEXT, SHELLS, function
from dibs.shell.unknown import ANY, Unknown, between, program_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import Values
    from dibs.shell.options import Fields, Given
    from dibs.shell.rows import Wrapper
    from dibs.shell.streams import Stream
    from dibs.shell.unknown import Field

AGENT_VARIABLES = ("DIBS_AGENT",)  # they name the agent as which a command calls dibs
MAX_WRAPPERS = 16  # wrappers around one command
ONLY_PATHS = frozenset(("add", "rm", "stage"))  # git's commands with no operands but paths
_PROGRAM_FOLDERS = frozenset((".bin", "bin", "sbin"))  # absolute, of `node_modules`, of `.venv`, `venv`, `env`
_SEARCHED = "python node"  # interpreters, in the first line of a script: its text is no shell's
MAX_FED_LINES = 200  # of xargs -I, each of which is read as a command; with more, it gets one of them, unknown which
FED_VARIABLE = "DIBS_FED"  # in the place of xargs's input in a script


class CommandInterpreter(Interpreter):
    """An interpreter of single commands; walk.py adds the statements around them."""

    __slots__ = ()

    def command(
        self, words: Fields, env: Env, text: str, assignments: Values | None = None, stdin: Stream | None = None
    ) -> Env | None:
        """Find a command's effects; returns the shell's state if the command failed, where that differs."""
        command = Command(self, words, env, text, assignments, stdin)
        failed = command.effects()
        self.reading.opened = self.reading.opened or command.foreign
        return failed


class Command(ProgramCall):
    """A call that is run."""

    __slots__ = ()

    def effects(self) -> Env | None:
        """Unwrap it, and follow it as its program's row says."""
        if not self._unwrap():
            self.reading.prints(program_path(self.words[2:]) if self.words[1:2] == ["-v"] else ANY)
            return None
        first = self.words[0]
        self.name = os.path.basename(first if isinstance(first, str) else _program(first))
        self._note([self.name or first, *self.words[1:]])
        if not self.name:
            self.reading.opened = self.reading.opened or not isinstance(first, str)
            self.reading.prints(ANY)
            return None
        if isinstance(first, str) and (
            self._made_here(first) if "/" in first else self._function() or self._alias()
        ):  # fmt: skip
            return None
        self.program = PROGRAMS[self.name]
        if "shell" in self.program:
            self._shell()
            return None
        if "runs" in self.program and self._through():
            return None
        if "builtin" in self.program and not self.foreign:
            shell_flows.flow(self)
            failed: Env | None = function(self.program["builtin"])(self)
            return failed
        self.judge()
        shell_flows.flow(self)
        if "acts" in self.program:
            function(self.program["acts"])(self)
        elif "writes" in self.program and self._operands() >= self.program.get("operands", 0):
            name, *arguments = self.program["writes"]
            function(name)(self, *arguments)
        return None

    def output(self) -> Field:
        """What the command prints."""
        from dibs.shell import outputs as shell_outputs

        return shell_outputs.piece(self)

    def judge(self) -> None:
        """Note whether it may write files that it does not name."""
        row = self.program
        if "look" in row or "harmless" in row or ("writes" in row and "rule" not in row):
            return  # it writes nothing; or it names its files, or left a doubt
        if "quick_verbs" in row and self.words[1:2] and self.words[1] in row["quick_verbs"].split():
            return
        from dibs.shell import harmless as shell_harmless

        shell_harmless.judge(self)

    def _made_here(self, path: str) -> bool:
        """Run a script that this command has written itself; False if it has not."""
        text = self.known_text(path)
        if text is None:
            return False
        first = text.partition("\n")[0]
        if any(name in first for name in _SEARCHED.split()):
            from dibs.shell import scripts as shell_scripts

            self.reading.opened = True
            shell_scripts.look(self, text, self.words[1:])
        else:
            self._text(text, self.words)
        return True

    def _operands(self) -> int:
        """The number of words that are no options."""
        return len([word for word in self.words[1:] if not isinstance(word, str) or word[:1] != "-"])

    def _through(self) -> bool:
        """`uv run X`, `npx X`, `python -m X`: X is read like any other command. False for other commands."""
        name, *arguments = self.program["runs"]
        end, package = function(name)(self, *arguments)
        rest = self.words[end:]
        if end < 0:
            return True
        if not end or not rest:
            return False
        first = rest[0]
        if package and isinstance(first, str):  # `prettier@3`, `@biomejs/biome`
            name = first[:1] + first[1:].partition("@")[0]
            rest = [name.rpartition("/")[2] if name[:1] == "@" else name, *rest[1:]]
        env = self.env.copy()
        env.cwds = [self._directory()]
        self.interpreter.command(rest, env, self.text, self.assignments, self.stdin)
        return True

    def _directory(self) -> str | None:
        """Where a program runs another one: `uv --directory DIR run X`."""
        if "folder" not in self.program.get("manages", {}):
            return self.cwd
        from dibs.shell import managers as shell_managers

        return shell_managers.directory(self)[0]

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
            wrapper = PROGRAMS[name].get("wraps") if name else None
            self.foreign = self.foreign or _is_foreign(first)
            if wrapper is None:
                return bool(self.words)
            if not self._peel(wrapper):
                return False
        return bool(self.words)

    def _peel(self, wrapper: Wrapper) -> bool:
        end, given = leading(self.words, wrapper.get("short", ""), tuple(wrapper.get("long", "").split()))
        if any(option in wrapper.get("locates", "").split() for option, _ in given):
            self._note(self.words)
            return False
        rest = self.words[end + wrapper.get("operands", 0) :]
        if "dash" in wrapper and rest[:1] == ["-"]:
            rest = rest[1:]
        if "default" in wrapper:
            rest = self._fed(rest or [wrapper["default"]], given)
            self.stdin = None
        elif not rest:
            self._note(self.words)
        if "detaches" in wrapper:
            self.reading.detached = True
        if "named" in wrapper and rest[1:2] == ["{"]:
            rest = rest[1:]
        if "text" in wrapper:
            rest = self._joined(rest) if wrapper["text"] == "*" else self._after(wrapper["text"], rest)
        for option, value in given:
            if option in wrapper.get("folder", "").split():
                known = isinstance(value, str) and value and (self.cwd or value[0] == "/")
                self.cwd = os.path.join(self.cwd or "", value) if known and isinstance(value, str) else None
            elif option in wrapper.get("splits", "").split():
                rest = [*(value.split() if isinstance(value, str) else [ANY]), *rest]
            elif option in wrapper.get("output", "").split():
                self.write(value or ANY)
        self.words = rest
        return True

    @staticmethod
    def _joined(words: Fields) -> Fields:
        """Words that are joined and given to a shell."""
        known = [word for word in words if isinstance(word, str)]
        return [*SHELL_TEXT, " ".join(known)] if known and len(known) == len(words) else words

    @staticmethod
    def _after(option: str, words: Fields) -> Fields:
        """The words, or the text after an option that is given to a shell."""
        return [*SHELL_TEXT, *words[1:]] if words[:1] == [option] else words

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

    def _text(self, text: Field, parameters: Fields) -> None:
        if not isinstance(text, str):
            self.opaque()
            return
        home = self.interpreter.home
        inside = Env([self.cwd], {"HOME": home} if home else {}, self.env.source)
        for name in self.env.exported_names:
            if name in self.env.variables:
                inside.variables[name] = self.env.variables[name]
        inside.variables.update(self.assignments)
        inside.made, inside.given = set(self.env.made), self.stdin
        inside.position(parameters[1:])
        if parameters and parameters[0] != ANY:
            inside.variables["0"] = parameters[0]
        self.interpreter.script(text, inside)

    def _note(self, words: Fields) -> None:
        carried = {name: self.env.variables[name] for name in AGENT_VARIABLES if name in self.env.variables}
        all_given = {**carried, **self.assignments}
        known = {name: value if isinstance(value, str) else None for name, value in all_given.items()}
        typed = [word if isinstance(word, str) else None for word in words]
        if None in typed and typed[0] == GIT:
            typed = self._for_git(words)
        patch = self._patch() if typed[:1] == [GIT] and self.stdin and "apply" in typed[1:] else ("", "", None)
        self.reading.note(Simple(typed, self.cwd, self.text, known, patch))

    def _patch(self) -> tuple[str, str, list[str] | None]:
        """The patch on the input of `git apply`: its text, or the file that it comes from, or the files it is for."""
        assert self.stdin is not None, "asked for only with an input"
        from dibs.shell import git_outputs as shell_git_outputs

        files = shell_git_outputs.patch_files(self)
        text = None if files is not None else self.stdin.raw if self.stdin.raw is not None else self.stdin.text
        return text or "", self.stdin.source() if text is None else "", files

    def _for_git(self, words: Fields) -> list[str | None]:
        """The words of a git command; an unknown path with a known beginning is every path that begins so."""
        specs: list[str | None] = []
        for index, word in enumerate(words):
            only_paths = "--" in words[:index] or (words[1] in ONLY_PATHS and not str(words[index - 1]).startswith("-"))
            ways = word.below if isinstance(word, Unknown) and only_paths and word.relative and self.cwd else None
            if isinstance(word, str):
                specs.append(word)
            elif word.whole and not word.below:
                continue  # a list without a line in it
            elif not ways or not all(ways) or any(letter in way for way in ways for letter in "*?[\\:"):
                specs.append(None)
            else:
                whole = word.whole
                specs += [spec for way in ways for spec in ([way] if whole or way.endswith("/") else [way, f"{way}*"])]
        return specs

    def _fed(self, words: Fields, given: Given) -> Fields:
        """The command of xargs: with words from its input at the end, or in the place named by -I."""
        place = next((value for option, value in given if option == "I"), None)
        place = "{}" if any(option in {"i", "replace"} for option, _ in given) else place
        text = None if any(option in {"a", "arg-file"} for option, _ in given) or not self.stdin else self.stdin.text
        word = self._file_words(given) or (self.stdin.lines if self.stdin else ANY)
        if not isinstance(place, str):
            null = any(option in {"0", "null"} for option, _ in given)
            split = "\0" if null else None
            word = word if null or any(option in {"d", "delimiter"} for option, _ in given) else word.split()
            return [*words, *([word] if text is None else [part for part in text.split(split) if part.strip()])]
        lines = [line.strip() for line in text.split("\n") if line.strip()] if text is not None else []
        if 1 < len(lines) <= MAX_FED_LINES:
            for line in lines[1:]:
                self.run([_replaced(word, place, line) for word in words])
        fed: Field = lines[0] if 1 <= len(lines) <= MAX_FED_LINES else word
        if words and words[0] in SHELLS and isinstance(fed, Unknown):  # its text is read with a variable in that place
            self.assignments[FED_VARIABLE] = fed
            fed = "${" + FED_VARIABLE + "}"
        return [_replaced(word, place, fed) for word in words]

    def _file_words(self, given: Given) -> Unknown | None:
        """The words of `xargs -a FILE`."""
        file = next((value for option, value in given if option in {"a", "arg-file"}), None)
        if not isinstance(file, str) or self.cwd is None or self.reading.is_written(self.full(file)):
            return None if file is None else ANY
        from dibs.shell.streams import lines_of

        return lines_of(self.full(file))

    def _function(self) -> bool:
        positional = {name: value for name, value in self.env.variables.items() if is_positional(name)}
        inside = self.env.copy()
        inside.position(self.words[1:])
        if not self.interpreter.function(self.name, inside):
            return False
        inside.forget_parameters()
        inside.variables.update(positional)
        self.env.become(inside)
        return True

    def _alias(self) -> bool:
        """Read what an alias stands for, if this command has defined it; its words follow."""
        text = self.env.variables.get(ALIAS + self.name)
        if not isinstance(text, str):
            return False
        inside = self.env.copy()
        del inside.variables[ALIAS + self.name]
        inside.given = self.stdin
        inside.position(self.words[1:])
        self.reading.unsure += 1
        self.interpreter.script(f'{text} "$@"', inside)
        self.reading.unsure -= 1
        return False  # a shell that expands no aliases runs the program of that name


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
