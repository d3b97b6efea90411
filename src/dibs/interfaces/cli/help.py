"""`dibs help`, made from the declarations, so that it cannot differ from what the commands do."""

from __future__ import annotations

import sys

from dibs.errors import YES
from dibs.interfaces.cli import parse, terminal
from dibs.interfaces.cli.command import Command, family_of, find, names
from dibs.operations.core import declare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.declare import Field

# The groups that commands and operations declare, in the order of the help, with their titles.
GROUPS = {
    "setup": "Set up",
    "claims": "Claims",
    "agents": "Agents",
    "messages": "Messages",
    "tasks": "Tasks",
    "runs": "Runs: one job of the whole fleet",
    "state": "Shared documents",
    "votes": "Votes",
    "worktrees": "Worktrees: coming conflicts, landing on main",
    "guards": "Guards",
    "record": "The log and its upkeep",
    "server": "A server for the workspace",
    "about": "About dibs",
}
FAMILIES = {
    "task": "tasks",
    "run": "runs",
    "state": "state",
    "vote": "votes",
    "store": "record",
    "token": "server",
}  # word → group
EVERYDAY = (
    ("dibs status", "who holds what, and who waits (--watch keeps it on the screen)"),
    ("dibs claim PATH…", "claim files before you change them"),
    ("dibs release PATH…", "give them back"),
    ("dibs ask PATH TEXT", "ask the holder to release it"),
    ("dibs agents", "which agents are there"),
    ("dibs task list", "the work to do (task add, task next, task done)"),
    ("dibs log [PATH]", "what happened, and who did it"),
    ("dibs doctor", "prove that the guards work"),
)
MORE = "`dibs help COMMAND` explains one, `dibs help --all` lists all of them, `dibs help topics` the guides."
WHAT = "dibs keeps coding agents that share a repository from overwriting each other's work."
COMMON = (
    *[(f"--{field.name.replace('_', '-')} {field.metavar}", field.help) for field in declare.COMMON],
    ("--color WHEN", "colours: auto (default: on a terminal, unless NO_COLOR is set), always, never"),
    ("--json", "print one JSON object, also for refusals"),
    ("--help", "print this help"),
)
EXITS = "Exit codes: 0 yes · 1 no, the reason is printed · 2 could not decide · 64 usage error · 130, 143 interrupted"
OK = "With --json, `ok` is true exactly when the exit code is 0; an `error` object says why something was not done."
MAX_COLUMNS = 100  # columns: longer lines are hard to read
MAX_LEFT_COLUMNS = 34  # columns of the left side of a list, at most


def everyday() -> list[str | terminal.Table]:
    """The everyday commands."""
    return [
        terminal.Table(("COMMAND", "WHAT"), [(f"  {left}", text) for left, text in EVERYDAY], titles=False),
        "",
        *[terminal.Line(line, "dim") for line in wrapped(MORE, _width())],
    ]


def overview(*, every: bool, as_json: bool = False) -> int:
    """`dibs help`: the everyday commands, or all of them by group."""
    if as_json:
        return _print_json(commands=[_described(name) for members in grouped().values() for name in members])
    width = _width()
    lines: list[str | terminal.Table] = [*wrapped(WHAT, width), "", bold("usage: dibs COMMAND …"), ""]
    if not every:
        terminal.write([*lines, *everyday()])
        return YES
    for group, members in grouped().items():
        lines += [bold(f"{GROUPS[group]}:"), *_pairs([_summary(name) for name in members], width), ""]
    lines += [bold("Common options, before or after the command:"), *_pairs(COMMON, width), ""]
    lines += [*wrapped(EXITS, width), *wrapped(OK, width), "`dibs help COMMAND` explains one."]
    terminal.write(lines)
    return YES


def grouped() -> dict[str, list[str]]:
    """The names of all commands, by group."""
    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in names():
        found[find(name).group].append(name)
    return found


def _summary(name: str) -> tuple[str, str]:
    return name, find(name).help


def _described(name: str) -> dict[str, str]:
    command = find(name)
    usage = parse.usage(command.name, command.fields, command.rest)
    return {"command": name, "group": command.group, "help": command.help, "usage": usage}


def _print_json(**found: object) -> int:
    from dibs import jsontext

    sys.stdout.write(jsontext.encode({"ok": True, **found}) + "\n")
    return YES


def show(name: str, *, as_json: bool = False) -> int:
    """Help on one command."""
    if as_json:
        command = find(name)
        options = [
            {"option": written, "help": text, "required": field.required}
            for field in command.fields
            if not field.internal
            for written, text in [_option(field, command)]
        ]
        examples = [{"line": line, "help": text} for line, text in command.examples]
        return _print_json(**_described(name), options=options, examples=examples, refusals=list(command.refusals))
    from dibs.interfaces.cli.manual.topics import pointer

    terminal.write([*page(find(name), _width()), *pointer(name)])
    return YES


def show_family(word: str, *, as_json: bool = False) -> int:
    """Help on the commands of two words that begin with this one."""
    if as_json:
        return _print_json(commands=[_described(name) for name in family_of(word)])
    width = _width()
    lines = [bold(f"{GROUPS[FAMILIES[word]]}."), ""]
    lines += _pairs([(f"dibs {name}", find(name).help) for name in family_of(word)], width)
    terminal.write([*lines, "", f"`dibs help {word} COMMAND` explains one.", *wrapped(EXITS, width)])
    return YES


def page(command: Command, width: int) -> list[str | terminal.Table]:
    """The help text of one command: what it does, examples, usage, options."""
    lines: list[str | terminal.Table] = [*wrapped(command.help, width), ""]
    if command.examples:
        lines += [bold("Examples:"), *_examples(command.examples, width), ""]
    usage = wrapped(f"usage: {parse.usage(command.name, command.fields, command.rest)}", width, "       ")
    lines += [*map(bold, usage), ""]
    rows = [_option(field, command) for field in command.fields if not field.internal]
    if rows:
        lines += [*_pairs(rows, width), ""]
    lines += [*map(bold, common_lines(width)[:1]), *common_lines(width)[1:], ""]
    for note in command.notes:
        lines += [*wrapped(note, width), ""]
    keys = _keys(command)
    if keys:
        lines += wrapped(f"JSON fields: ok{'' if keys.startswith(';') else ', '}{keys}", width, "  ")
    if command.refusals:
        lines += wrapped(f"Refusals: {', '.join(command.refusals)}", width, "  ")
    return [*lines, *exit_lines(width)]


def _keys(command: Command) -> str:
    """The keys of a command's answer besides `ok`."""
    if command.operation is None:
        return command.json
    from dibs.operations.core.answer_keys import KEYS

    return KEYS[command.operation.answer]


def common_lines(width: int) -> list[str]:
    """The options that every command takes."""
    return ["Common options:", *_pairs(COMMON, width)]


def exit_lines(width: int) -> list[str]:
    """What the exit codes mean."""
    return wrapped(EXITS, width, "  ")


def bold(text: str) -> terminal.Line:
    """A line that stands out."""
    return terminal.Line(text, "bold")


def _option(field: Field, command: Command) -> tuple[str, str]:
    """One field: its form on a command line, and its meaning."""
    text = field.help
    if field.choices and (field.positional or len("|".join(field.choices)) > parse.MAX_CHOICES_CHARS):
        text = f"{text}: {', '.join(field.choices)}"
    if field.positional:
        return field.metavar, text
    letter = next((f"-{letter}, " for letter, name in command.short.items() if name == field.name), "")
    value = "" if field.kind == "flag" else f" {parse.value_of(field)}"
    return f"{letter}--{field.name.replace('_', '-')}{value}", text


def _examples(examples: tuple[tuple[str, str], ...], width: int) -> list[str]:
    longest = max([len(line) for line, _ in examples])
    fits = all(2 + longest + 4 + len(text) <= width for _, text in examples)
    if fits:
        return [f"  {line:<{longest}}  # {text}" for line, text in examples]
    return [line for command, text in examples for line in (f"  # {text}", f"  {command}")]


def _pairs(rows: list[tuple[str, str]] | tuple[tuple[str, str], ...], width: int) -> list[str]:
    """Two columns; the right one is wrapped."""
    left = min(MAX_LEFT_COLUMNS, width // 3, max([len(name) for name, _ in rows]))
    lines = []
    for name, text in rows:
        parts = wrapped(text, max(20, width - left - 4))
        if len(name) > left:
            lines.append(f"  {name}")
        else:
            lines.append(f"  {name:<{left}}  {parts.pop(0)}")
        lines += [" " * (left + 4) + line for line in parts]
    return lines


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A paragraph as lines."""
    import textwrap

    found = textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return found or [""]


def _width() -> int:
    """Columns of a help text: the terminal's, up to a readable limit."""
    return min(MAX_COLUMNS, terminal.width())
