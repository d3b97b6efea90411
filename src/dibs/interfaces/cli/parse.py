"""Parses a command's arguments by its declaration. One small parser: argparse alone would cost 10 ms, click 60.

Options may stand anywhere, as `--name value` or `--name=value`; `--` ends them. Every command takes the common ones,
also before its name. A command may declare one-letter options (`-n 20`, `-n20`, `-f`). A positional argument may also
be given by name: `run show --run r1`.
"""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.operations.core import declare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from dibs.operations.core.declare import Field

COMMON = (*[field.name.replace("_", "-") for field in declare.COMMON], "color")  # take a value, on every command
COLORS = ("auto", "always", "never")
SWITCHES = ("json", "help")
MAX_CHOICES_CHARS = 30  # most letters of choices that a usage line spells out
LETTER = 2  # letters of `-n`


class Words:
    """A parsed command line."""

    __slots__ = ("common", "fields", "help", "json", "rest")

    def __init__(self) -> None:
        self.common: dict[str, str] = {}
        self.fields: dict[str, Any] = {}
        self.json = False
        self.help = False
        self.rest: list[str] = []  # what follows `--`


def parse(
    command: str,
    fields: tuple[Field, ...],
    arguments: list[str],
    *,
    rest: str = "",
    short: dict[str, str] | None = None,
    old: Mapping[str, str] | None = None,
) -> Words:
    """Sort the arguments into fields. An error says what is wrong, and how the command is used.

    `rest` is what follows `--`, for a command that runs another one; `short` maps letters to fields; `old` are fields
    that usage does not name.
    """
    words = Words()
    if short:
        arguments = _lengthen(arguments, fields, short)
    options = {field.name.replace("_", "-"): field for field in fields if not field.internal}
    fields = tuple([field for field in fields if field.name not in old]) if old else fields
    loose: list[str] = []
    left = iter(arguments)
    for word in left:
        if word == "--":
            if rest:
                words.rest = list(left)
            else:
                loose += left
        elif word == "-h":
            words.help = True
        elif word.startswith("--"):
            wrong = _option(options, words, word, left)
            if wrong:
                raise _wrong(command, fields, wrong, rest)
        elif word.startswith("-") and len(word) > 1 and not _number(word):
            raise _wrong(command, fields, f"unknown option {word}", rest)
        else:
            loose.append(word)
    if "color" in words.common:
        _color(words.common["color"])
    if not words.help:
        _place(command, fields, loose, words, rest)
    return words


def _color(chosen: str) -> None:
    """Apply `--color`."""
    if chosen not in COLORS:
        raise Invalid(f"color: one of {', '.join(COLORS)}, not {chosen!r}", field="color")
    from dibs.interfaces.cli import terminal

    terminal.color_choice(chosen)


def _lengthen(arguments: list[str], fields: tuple[Field, ...], short: dict[str, str]) -> list[str]:
    """One-letter options as the long ones: `-n 20` and `-n20` are `--limit=20`."""
    flags = {field.name for field in fields if field.kind == "flag"}
    found: list[str] = []
    left = iter(arguments)
    for word in left:
        if word == "--":
            return [*found, word, *left]
        name = short.get(word[1:2]) if word[:1] == "-" and word[:2] != "--" else None
        if name is None or (name in flags and len(word) > LETTER):
            found.append(word)
            continue
        option = f"--{name.replace('_', '-')}"
        if name in flags:
            found.append(option)
        elif len(word) > LETTER:
            found.append(f"{option}={word[LETTER:].removeprefix('=')}")
        else:
            value = next(left, None)
            found.append(option if value is None else f"{option}={value}")
    return found


def _option(options: dict[str, Field], words: Words, word: str, left: Iterator[str]) -> str:
    """One `--name`, with its value after the `=` or in the next word. Returns what is wrong with it, or ""."""
    name, given, value = word[2:].partition("=")
    field = options.get(name)
    if name in SWITCHES or (field is not None and field.kind == "flag"):
        if given:
            return f"--{name} takes no value"
        if name in SWITCHES:
            setattr(words, name, True)
        elif field is not None:
            words.fields[field.name] = True
        return ""
    if field is None and name not in COMMON:
        return f"unknown option --{name}{_near(name, [*options, *COMMON, *SWITCHES])}"
    following = value if given else next(left, None)
    if following is None:
        return f"--{name} needs a value"
    if not given and following[:2] == "--" and _is_option(following, options):  # `--as $NOTHING --json`
        return f"--{name} needs a value, and {following} is an option; `--{name}={following}` says that it is meant"
    if field is not None and field.kind == "resources":
        words.fields.setdefault(field.name, []).append(following)
    elif field is not None:
        words.fields[field.name] = following
    elif not following:  # `--as "$AGENT"` with an empty variable would act as another agent
        return f"--{name} needs a value, and the one given is empty"
    else:
        words.common[name] = following
    return ""


def _is_option(word: str, options: dict[str, Field]) -> bool:
    name = word[2:].partition("=")[0]
    return name in options or name in COMMON or name in SWITCHES


def _place(command: str, fields: tuple[Field, ...], loose: list[str], words: Words, rest: str) -> None:
    """Give the loose words to the positional fields; the last may take many."""
    for field in fields:
        if not field.positional:
            continue
        if field.kind == "resources":
            if loose:
                words.fields[field.name] = [*words.fields.get(field.name, ()), *loose]
            loose = []
        elif loose and field.name not in words.fields:
            words.fields[field.name] = loose.pop(0)
    if loose:
        raise _wrong(command, fields, f"unexpected argument: {' '.join(loose[:3])}", rest)
    for field in fields:
        if field.required and field.name not in words.fields:
            name = field.metavar if field.positional else f"--{field.name.replace('_', '-')}"
            which = f": {', '.join(field.choices)}" if field.choices and field.choices[0] not in field.help else ""
            raise _wrong(command, fields, f"{name} is missing ({field.help}{which})", rest)


def usage(command: str, fields: tuple[Field, ...], rest: str = "") -> str:
    """The usage line of a command."""
    parts = [f"dibs {command}"]
    for field in fields:
        if field.internal:
            continue
        if field.positional:
            name = f"{field.metavar}…" if field.kind == "resources" else field.metavar
            parts.append(name if field.required else f"[{name}]")
        else:
            option = f"--{field.name.replace('_', '-')}"
            if field.kind != "flag":
                option += f" {value_of(field)}"
            parts.append(option if field.required else f"[{option}]")
    if rest:
        parts.append(f"-- {rest}")
    return " ".join(parts)


def value_of(field: Field) -> str:
    """An option's value in a usage line: its choices if they are short, else its metavar."""
    choices = "|".join(field.choices)
    return choices if 0 < len(choices) <= MAX_CHOICES_CHARS else field.metavar


def _wrong(command: str, fields: tuple[Field, ...], message: str, rest: str = "") -> Invalid:
    return Invalid(f"{command}: {message}", usage=f"usage: {usage(command, fields, rest)}", command=command)


def _number(word: str) -> bool:
    return word[1:2].isdigit()


def _near(name: str, known: list[str]) -> str:
    from dibs.interfaces.cli.suggest import closest

    near = closest(name, known)
    return f"; did you mean --{near}?" if near else ""
