"""Programs that run others by name: `uv run X`, `npx X`, `python -m X`, and those that run a text in their arguments.

Each function returns the place of the other command in the words (0: none; -1: it was read here), and whether that is
the name of a package.
"""

from __future__ import annotations

from dibs.shell.options import has, last, leading, options
from dibs.shell.programs import PROGRAMS, SHELL_TEXT
from dibs.shell.unknown import ANY, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.unknown import Field


def subcommand(call: ProgramCall, verbs: str, short: str = "", long: str = "") -> tuple[int, bool]:
    """`uv run X`, `poetry run X`: X comes after their own command and its options."""
    values = tuple(long.split())
    end, _ = leading(call.words, short, values)
    if call.words[end : end + 1] == ["tool"]:
        end += 1
    if end >= len(call.words) or call.words[end] not in verbs.split():
        return 0, False
    more, _ = leading(call.words[end:], short, values)
    return end + more, call.words[end] in {"dlx", "x"}


def package(call: ProgramCall) -> tuple[int, bool]:
    """`npx X`, `bunx X`, `uvx X`."""
    end, given = leading(call.words, "pc", ("package", "call", "from", "with", "python", "index-url"))
    return (0 if any(option in {"c", "call"} for option, _ in given) else end), True


def yarn(call: ProgramCall) -> tuple[int, bool]:
    """`yarn X` runs a script or a program, unless X is one of yarn's commands."""
    end, _ = leading(call.words, "", ("cwd",))
    if end < len(call.words) and call.words[end] in {"run", "exec", "dlx"}:
        end += 1
    return (end if end < len(call.words) and _is_formatter(call.words[end]) else 0), False


def _is_formatter(word: Field) -> bool:
    return isinstance(word, str) and "formatter" in PROGRAMS[word]


def python(call: ProgramCall) -> tuple[int, bool]:
    """`python -m X`; a program in its arguments is searched."""
    end, given = leading(call.words, "WXcm", (), final="cm")
    for option, value in given:
        if option == "m" and isinstance(value, str):
            at = end - 1
            call.words[at] = value  # also where it was a part of the option: `-mblack`
            if value == "json.tool":
                _, operands = options(call.words[at + 1 :], "", ("indent",))
                for path in operands[1:2]:
                    call.write(path)
            elif value in {"tarfile", "zipfile"}:
                given, operands = options(call.words[at + 1 :], "", ())
                if has(given, "e", "extract"):
                    call.doubt_in(operands[1] if len(operands) > 1 else ".")
            row = PROGRAMS[value]
            return (at if "formatter" in row or "module" in row else 0), False
        if option == "c" and isinstance(value, str):
            _program(call, value, end)
            return 0, False
    _file(call, end)
    return 0, False


def node(call: ProgramCall) -> tuple[int, bool]:
    """`node -e TEXT`, or a text on its input."""
    end, given = leading(call.words, "erpI", ("eval", "print", "require", "import", "input-type"))
    for option, value in given:
        if option in {"e", "p", "eval", "print"} and isinstance(value, str):
            _program(call, value, end)
            return 0, False
    _file(call, end)
    return 0, False


def ruby(call: ProgramCall) -> tuple[int, bool]:
    """`ruby -i -pe`, with the options of perl; else like node."""
    from dibs.shell import writers as shell_writers

    shell_writers.perl(call)
    return node(call)


def inline_program(call: ProgramCall, signs: str, verbs: str = "") -> tuple[int, bool]:
    """`deno eval TEXT`, `php -r TEXT`, `bun -e TEXT`; else `bun x PROGRAM`."""
    for index, word in enumerate(call.words[1:-1], 1):
        text = call.words[index + 1]
        if word in signs.split() and isinstance(text, str):
            _program(call, text, index + 2)
            return 0, False
    return subcommand(call, verbs) if verbs else (0, False)


def for_each_name(call: ProgramCall) -> None:
    """`fd … -x COMMAND`: like xargs, with the names that it finds."""
    places = [call.words.index(word) for word in ("-x", "-X", "--exec", "--exec-batch") if word in call.words]
    if not places:
        return
    end = min(places)
    rest, call.words = call.words[end + 1 :], call.words[:end]
    name = either([call.output()])
    rest = rest[: rest.index(";")] if ";" in rest else rest
    named = any(isinstance(word, str) and word.startswith("{") for word in rest)
    words = [name if isinstance(word, str) and word.startswith("{") else word for word in rest]
    call.run(words if named else [*words, name])


def _file(call: ProgramCall, end: int) -> None:
    """A program on the input, or in a file that this command has just written."""
    if end >= len(call.words) or call.words[end] == "-":
        _program(call, "", end + 1)
    else:
        _program(call, call.known_text(call.words[end]) or " ", end + 1)


def parallel(call: ProgramCall) -> tuple[int, bool]:
    """`parallel COMMAND ::: WORDS`, or with the lines of its input; each is put in the place of `{}`, or at the end."""
    end, _ = leading(call.words, "jnNISaCdLsJ", ("jobs", "max-args", "colsep", "arg-file", "delimiter", "joblog"))
    words = call.words[end:]
    sign = next((at for at, word in enumerate(words) if word in {":::", ":::+", "::::"}), len(words))
    command, listed = words[:sign], words[sign + 1 :]
    fed = either(listed) if words[sign : sign + 1] == [":::"] else call.stdin.lines if call.stdin else ANY
    if not command or any(not isinstance(word, str) for word in command) or ":::" in listed:
        return 0, False
    text = " ".join([str(word) for word in command])
    for place, value in _PLACES.items():
        text = text.replace(place, f'"{value}"')
    text = text if "DIBS_FED" in text else f'{text} "$DIBS_FED"'
    call.run([*SHELL_TEXT, text], DIBS_FED=fed)
    return -1, False


_PLACES = {
    "{.}": "${DIBS_FED%.*}", "{//}": "${DIBS_FED%/*}", "{/}": "${DIBS_FED##*/}", "{/.}": "${DIBS_FED##*/}",
    "{}": "$DIBS_FED",
}  # fmt: skip


def script(call: ProgramCall) -> tuple[int, bool]:
    """`script -c TEXT FILE`: the text is run, and what it prints is written into the file."""
    given, operands = options(call.words[1:], "cEmoOIBT", ("command", "log-out", "log-in", "log-io", "log-timing"))
    for path in operands[:1]:
        call.write(path)
    text = last(given, "c", "command")
    if not isinstance(text, str) or not text:
        return 0, False
    call.run([*SHELL_TEXT, text])
    return -1, False


def _program(call: ProgramCall, text: str, end: int) -> None:
    """Search a program, given as an argument or on the input; its own arguments begin at `end`."""
    if not text and call.stdin:
        text = call.stdin.raw or call.stdin.text or ""
    if text:
        from dibs.shell import scripts as shell_scripts

        shell_scripts.look(call, text, call.words[end:])


def tool(call: ProgramCall, names: str) -> tuple[int, bool]:
    """`codex apply_patch`: a tool of the client, as a command."""
    return (1 if call.words[1:2] and call.words[1] in names.split() else 0), False
