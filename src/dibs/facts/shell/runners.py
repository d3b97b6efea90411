"""Programs that run others by name: `uv run X`, `npx X`, `python -m X`, and those that run a text in their arguments.

For each: the place of the other command in its words (0: none; -1: it was read here), and whether that is the name of a
package.
"""

from __future__ import annotations

from dibs.facts.shell.formatters import FORMATTERS
from dibs.facts.shell.options import has, leading, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.facts.shell.commands import Call


def _behind(short: str, long: tuple[str, ...], *commands: str) -> Callable[[Call], tuple[int, bool]]:
    """`uv run X`, `poetry run X`: X comes after their own command and its options."""

    def find(call: Call) -> tuple[int, bool]:
        end, _ = leading(call.words, short, long)
        if call.words[end : end + 1] == ["tool"]:
            end += 1
        if end >= len(call.words) or call.words[end] not in commands:
            return 0, False
        more, _ = leading(call.words[end:], short, long)
        return end + more, call.words[end] in {"dlx", "x"}

    return find


def _package(call: Call) -> tuple[int, bool]:
    """`npx X`, `bunx X`, `uvx X`."""
    end, given = leading(call.words, "pc", ("package", "call", "from", "with", "python", "index-url"))
    return (0 if any(option in {"c", "call"} for option, _ in given) else end), True


def _yarn(call: Call) -> tuple[int, bool]:
    """`yarn X` runs a script or a program, unless X is one of yarn's commands."""
    end, _ = leading(call.words, "", ("cwd",))
    if end < len(call.words) and call.words[end] in {"run", "exec", "dlx"}:
        end += 1
    return (end if end < len(call.words) and call.words[end] in FORMATTERS else 0), False


def _python(call: Call) -> tuple[int, bool]:
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
            return (at if value in FORMATTERS or value in _MODULES else 0), False
        if option == "c" and isinstance(value, str):
            _program(call, value, end)
            return 0, False
    _file(call, end)
    return 0, False


_MODULES = frozenset(("flake8", "mypy", "pylint", "pip", "pyright", "pycodestyle", "pydocstyle", "bandit", "codespell"))


def _node(call: Call) -> tuple[int, bool]:
    """`node -e TEXT`, `ruby -e TEXT`, or a text on their input."""
    if call.name == "ruby":
        from dibs.facts.shell import writers as shell_writers

        shell_writers.TABLE["perl"](call)  # `ruby -i -pe`: the same options
    end, given = leading(call.words, "erpI", ("eval", "print", "require", "import", "input-type"))
    for option, value in given:
        if option in {"e", "p", "eval", "print"} and isinstance(value, str):
            _program(call, value, end)
            return 0, False
    _file(call, end)
    return 0, False


def _evaluated(*signs: str) -> Callable[[Call], tuple[int, bool]]:
    """`deno eval TEXT`, `php -r TEXT`, `bun -e TEXT`; else `bun x PROGRAM`."""

    def find(call: Call) -> tuple[int, bool]:
        for index, word in enumerate(call.words[1:-1], 1):
            text = call.words[index + 1]
            if word in signs and isinstance(text, str):
                _program(call, text, index + 2)
                return 0, False
        return _behind("", (), "x")(call) if call.name == "bun" else (0, False)

    return find


def _file(call: Call, end: int) -> None:
    """A program on the input, or in a file that this command has just written."""
    if end >= len(call.words) or call.words[end] == "-":
        _program(call, "", end + 1)
    else:
        _program(call, call.known_text(call.words[end]) or " ", end + 1)


def _parallel(call: Call) -> tuple[int, bool]:
    """`parallel COMMAND ::: WORDS`, or with the lines of its input; each is put in the place of `{}`, or at the end."""
    from dibs.facts.shell.commands import Call as Inner
    from dibs.facts.shell.unknown import ANY, either

    end, _ = leading(call.words, "jnNISaCdLsJ", ("jobs", "max-args", "colsep", "arg-file", "delimiter", "joblog"))
    words = call.words[end:]
    sign = next((at for at, word in enumerate(words) if word in {":::", ":::+", "::::"}), len(words))
    command, listed = words[:sign], words[sign + 1 :]
    found = either(listed) if words[sign : sign + 1] == [":::"] else call.stdin.lines if call.stdin else ANY
    if not command or any(not isinstance(word, str) for word in command) or ":::" in listed:
        return 0, False
    text = " ".join([str(word) for word in command])
    for place, value in _PLACES.items():
        text = text.replace(place, f'"{value}"')
    text = text if "DIBS_FED" in text else f'{text} "$DIBS_FED"'
    Inner(call.reader, ["bash", "-c", text], call.env, call.text, {**call.assignments, "DIBS_FED": found}).run()
    return -1, False


_PLACES = {
    "{.}": "${DIBS_FED%.*}", "{//}": "${DIBS_FED%/*}", "{/}": "${DIBS_FED##*/}", "{/.}": "${DIBS_FED##*/}",
    "{}": "$DIBS_FED",
}  # fmt: skip


def _script(call: Call) -> tuple[int, bool]:
    """`script -c TEXT FILE`: the text is run, and what it prints is written into the file."""
    from dibs.facts.shell.commands import Call as Inner
    from dibs.facts.shell.options import last

    given, operands = options(call.words[1:], "cEmoOIBT", ("command", "log-out", "log-in", "log-io", "log-timing"))
    for path in operands[:1]:
        call.write(path)
    text = last(given, "c", "command")
    if not isinstance(text, str) or not text:
        return 0, False
    Inner(call.reader, ["sh", "-c", text], call.env, call.text, call.assignments).run()
    return -1, False


def _program(call: Call, text: str, end: int) -> None:
    """Search a program, given as an argument or on the input; its own arguments begin at `end`."""
    if not text and call.stdin:
        text = call.stdin.raw or call.stdin.text or ""
    if text:
        from dibs.facts.shell import scripts as shell_scripts

        shell_scripts.look(call, text, call.words[end:])


def _codex(call: Call) -> tuple[int, bool]:
    return (1 if call.words[1:2] in (["apply_patch"], ["applypatch"]) else 0), False


_UV = (
    "python",
    "with",
    "extra",
    "group",
    "package",
    "project",
    "directory",
    "env-file",
    "index-url",
    "with-requirements",
)
TABLE: dict[str, Callable[[Call], tuple[int, bool]]] = {
    "bun": _evaluated("-e", "--eval"),
    "bundle": _behind("", (), "exec"),
    "bunx": _package,
    "codex": _codex,
    "deno": _evaluated("eval"),
    "hatch": _behind("e", ("env",), "run"),
    "node": _node,
    "npm": _behind("p", ("package", "prefix"), "exec", "x"),
    "npx": _package,
    "parallel": _parallel,
    "pdm": _behind("p", ("project",), "run"),
    "php": _evaluated("-r"),
    "pipenv": _behind("", ("python",), "run"),
    "pipx": _behind("", ("spec",), "run"),
    "pnpm": _behind("CF", ("dir", "filter"), "exec", "dlx"),
    "poetry": _behind("CP", ("directory", "project"), "run"),
    "python": _python,
    "python3": _python,
    "ruby": _node,
    "rye": _behind("", (), "run"),
    "script": _script,
    "uv": _behind("p", _UV, "run"),
    "uvx": _package,
    "yarn": _yarn,
}
