"""`dibs help`, made from the declarations, so that it cannot differ from what the commands do."""

from __future__ import annotations

import sys

from dibs.errors import YES
from dibs.interfaces.cli import parse, terminal
from dibs.interfaces.cli.audiences import EVERYDAY, HEADINGS, PLUMBING, TITLES, heading_of
from dibs.interfaces.cli.command import Command, family_of, find, names
from dibs.operations.core import declare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.declare import Field

FAMILIES = {
    "task": "tasks",
    "run": "runs",
    "state": "state",
    "vote": "votes",
    "store": "plumbing",
    "token": "server",
}  # word → heading
MORE = "`dibs help COMMAND` explains one, `dibs help --all` lists all of them, `dibs help topics` the guides."
HIDDEN = "`dibs help --plumbing` lists what hooks, servers and scripts run."
WHAT = "dibs keeps coding agents that share a repository from overwriting each other's work."
COMMON = (
    *[(f"--{field.name.replace('_', '-')} {field.metavar}", field.help) for field in declare.COMMON],
    ("--color WHEN", "colours: auto (default: on a terminal, unless NO_COLOR is set), always, never"),
    ("--json", "print one JSON object, also for refusals"),
    ("--help", "print this help"),
)
EXITS = "Exit codes: 0 yes · 1 no, the reason is printed · 2 could not decide · 64 usage error · 130, 143 interrupted"
OK = "With --json, `ok` is true exactly when the exit code is 0; an `error` object says why something was not done."
ANSWERS = (
    "Where there is no `error`, the answer itself says what is wrong: `lost` of `boot`, `failed` of `run gates`, "
    "`check` and `doctor`, `findings` of `verify`, `notes` of `undo`."
)
TOPICS = {  # what all commands have in common: `dibs help WORD`
    "options": (OK,),
    "json": (
        (
            '--json prints exactly one JSON object on stdout, also for refusals and errors: {"ok": false, "error": '
            '{"code": "held", "message": …}}. Notes go to stderr.'
        ),
        OK,
        ANSWERS,
        "Times are ISO 8601 in UTC. A listing takes --limit N --after CURSOR and answers `more` and `cursor`.",
    ),
    "exit-codes": (
        EXITS.removeprefix("Exit codes: "),
        "A hook that cannot decide refuses. `dibs help json` says what `ok` and `error` are.",
    ),
}
COMMON_LINE = (
    "Every command takes --as, --workspace, --request-id, --timeout, --color and --json: `dibs help options`, "
    "`dibs help json`, `dibs help exit-codes`."
)
MAX_COLUMNS = 100  # columns: longer lines are hard to read
MAX_LEFT_COLUMNS = 34  # columns of the left side of a list, at most


def everyday() -> list[str | terminal.Table]:
    """The everyday commands."""
    return [
        terminal.Table(("COMMAND", "WHAT"), [(f"  {left}", text) for left, text in EVERYDAY], titles=False),
        "",
        *[terminal.Line(line, "dim") for line in wrapped(MORE, _width())],
    ]


def overview(*, every: bool = False, plumbing: bool = False, as_json: bool = False) -> int:
    """`dibs help`: what people need; all of it by whom it is for; or what hooks and scripts run."""
    if as_json:
        return _print_json(commands=[_described(name) for members in grouped().values() for name in members])
    width = _width()
    lines: list[str | terminal.Table] = [*wrapped(WHAT, width), "", bold("usage: dibs COMMAND …"), ""]
    if not every and not plumbing:
        terminal.write([*lines, *everyday()])
        return YES
    last = ""
    for heading, members in grouped().items():
        whom, title = HEADINGS[heading]
        if (whom == PLUMBING) is not plumbing:
            continue
        if whom not in {last, PLUMBING}:
            lines += [*map(bold, wrapped(TITLES[whom], width)), ""]
        last = whom
        lines += [*map(bold, wrapped(f"{title}:", width)), *_pairs([_summary(name) for name in members], width), ""]
    lines += ["`dibs help COMMAND` explains one.", *([] if plumbing else wrapped(HIDDEN, width)), *topic_lines(width)]
    terminal.write(lines)
    return YES


def grouped() -> dict[str, list[str]]:
    """The names of all commands, by heading."""
    found: dict[str, list[str]] = {heading: [] for heading in HEADINGS}
    for name in names():
        found[heading_of(name, find(name).group)].append(name)
    return found


def _summary(name: str) -> tuple[str, str]:
    return name, find(name).help


def _described(name: str) -> dict[str, str]:
    command = find(name)
    usage = parse.usage(command.name, command.shown, command.rest)
    whom = HEADINGS[heading_of(name, command.group)][0]
    return {"command": name, "group": command.group, "for": whom, "help": command.help, "usage": usage}


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
            for field in command.shown
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
    lines = [bold(f"{HEADINGS[FAMILIES[word]][1]}."), ""]
    lines += _pairs([(f"dibs {name}", find(name).help) for name in family_of(word)], width)
    terminal.write([*lines, "", f"`dibs help {word} COMMAND` explains one."])
    return YES


def page(command: Command, width: int) -> list[str | terminal.Table]:
    """The help text of one command: what it does, examples, usage, options."""
    lines: list[str | terminal.Table] = [*wrapped(command.help, width), ""]
    if command.examples:
        lines += [bold("Examples:"), *_examples(command.examples, width), ""]
    usage = wrapped(f"usage: {parse.usage(command.name, command.shown, command.rest)}", width, "       ")
    lines += [*map(bold, usage), ""]
    rows = [_option(field, command) for field in command.shown]
    if rows:
        lines += [*_pairs(rows, width), ""]
    for note in command.notes:
        lines += [*wrapped(note, width), ""]
    keys = _keys(command)
    if keys:
        lines += wrapped(f"JSON fields: ok{'' if keys.startswith(';') else ', '}{keys}", width, "  ")
    if command.refusals:
        lines += wrapped(f"Refusals: {', '.join(command.refusals)}", width, "  ")
    return [*lines, *topic_lines(width)]


def _keys(command: Command) -> str:
    """The keys of a command's answer besides `ok`."""
    if command.operation is None:
        return command.json
    from dibs.operations.core.answer_keys import KEYS

    return KEYS[command.operation.answer]


def topic_lines(width: int) -> list[str]:
    """Where to read what all commands have in common."""
    return wrapped(COMMON_LINE, width, "  ")


def show_topic(word: str, *, as_json: bool = False) -> int:
    """What all commands have in common: `options`, `json`, `exit-codes`."""
    width = _width()
    if as_json:
        return _print_json(topic=word, text=" ".join(TOPICS[word]))
    lines: list[str | terminal.Table] = []
    if word == "options":
        lines += [bold("Options of every command, before or after its name:"), *_pairs(COMMON, width), ""]
    for paragraph in TOPICS[word]:
        lines += [*(line for part in paragraph.split(" · ") for line in wrapped(part, width)), ""]
    terminal.write(lines[:-1])
    return YES


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
