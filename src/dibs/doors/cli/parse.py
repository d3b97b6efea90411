"""Reading a command's words by its declaration. One small parser; argparse alone would cost 10 ms and click 60.

Options may stand anywhere, as `--name value` or `--name=value`; `--` ends them. Every command takes the common ones.
"""

from __future__ import annotations

from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.declare import Field

COMMON = ("as", "workspace", "request-id", "timeout")  # take a value, on every command
SWITCHES = ("json", "help")


class Words:
    """What a command line says."""

    __slots__ = ("common", "fields", "help", "json", "rest")

    def __init__(self) -> None:
        self.common: dict[str, str] = {}
        self.fields: dict[str, Any] = {}
        self.json = False
        self.help = False
        self.rest: list[str] = []  # what stood behind `--`


def parse(command: str, fields: tuple[Field, ...], arguments: list[str], *, rest: bool = False) -> Words:
    """Sort the words into fields. Says what is wrong, and how the command is used."""
    words = Words()
    options = {field.name.replace("_", "-"): field for field in fields if not field.positional and not field.hidden}
    positional = [field for field in fields if field.positional]
    loose: list[str] = []
    place = 0
    while place < len(arguments):
        word = arguments[place]
        place += 1
        if word == "--":
            if rest:
                words.rest = arguments[place:]
            else:
                loose += arguments[place:]
            break
        if word == "-h":
            words.help = True
            continue
        if not word.startswith("--") or len(word) < 3:
            if word.startswith("-") and len(word) > 1 and not _number(word):
                raise _wrong(command, fields, f"unknown option {word}")
            loose.append(word)
            continue
        name, given, value = word[2:].partition("=")
        if name in SWITCHES or (name in options and options[name].kind == "flag"):
            if given:
                raise _wrong(command, fields, f"--{name} takes no value")
            if name in SWITCHES:
                setattr(words, name, True)
            else:
                words.fields[options[name].name] = True
            continue
        if name not in options and name not in COMMON:
            raise _wrong(command, fields, f"unknown option --{name}{_near(name, [*options, *COMMON, *SWITCHES])}")
        if not given:
            if place >= len(arguments):
                raise _wrong(command, fields, f"--{name} needs a value")
            value = arguments[place]
            place += 1
        if name in options:
            words.fields[options[name].name] = value
        else:
            words.common[name] = value
    if not words.help:
        _place(command, fields, positional, loose, words)
    return words


def _place(command: str, fields: tuple[Field, ...], positional: list[Field], loose: list[str], words: Words) -> None:
    """Hand the loose words to the positional fields; the last may take many."""
    for field in positional:
        if field.kind == "resources":
            if loose:
                words.fields[field.name] = loose
            loose = []
        elif loose:
            words.fields[field.name] = loose.pop(0)
    if loose:
        raise _wrong(command, fields, f"too many words: {' '.join(loose[:3])}")
    for field in fields:
        if field.required and field.name not in words.fields:
            name = field.metavar if field.positional else f"--{field.name.replace('_', '-')}"
            raise _wrong(command, fields, f"{name} is missing ({field.help})")


def usage(command: str, fields: tuple[Field, ...]) -> str:
    """One line: how a command is written."""
    parts = [f"dibs {command}"]
    for field in fields:
        if field.hidden:
            continue
        if field.positional:
            name = f"{field.metavar}…" if field.kind == "resources" else field.metavar
            parts.append(name if field.required else f"[{name}]")
        else:
            option = f"--{field.name.replace('_', '-')}"
            if field.kind == "choice":
                option += " " + "|".join(field.choices)
            elif field.kind != "flag":
                option += f" {field.metavar}"
            parts.append(option if field.required else f"[{option}]")
    return " ".join(parts)


def _wrong(command: str, fields: tuple[Field, ...], message: str) -> Invalid:
    return Invalid(f"{command}: {message}", usage=f"usage: {usage(command, fields)}", command=command)


def _number(word: str) -> bool:
    return word[1:2].isdigit()


def _near(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1)
    return f"; did you mean --{close[0]}?" if close else ""
