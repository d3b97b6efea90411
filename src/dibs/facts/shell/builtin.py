"""Builtins of the shell that change its state: its directory, its variables and parameters, its traps."""

from __future__ import annotations

import os

from dibs.facts import links
from dibs.facts.shell.options import last
from dibs.facts.shell.unknown import ANY, MAX_BEGINNINGS, Unknown, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.facts.shell.commands import Call
    from dibs.facts.shell.findings import Env
    from dibs.facts.shell.options import Fields
    from dibs.facts.shell.unknown import Field


def position(env: Env, words: Fields) -> None:
    """Set the parameters `$1`, `$2`, … and `$@`."""
    for name in [name for name in env.variables if is_positional(name)]:
        del env.variables[name]
    env.variables["@"] = list(words)
    for number, word in enumerate(words, 1):
        if word is not ANY:
            env.variables[str(number)] = word


def is_positional(name: str) -> bool:
    """Is this a parameter (`$1`, `$@`)?"""
    return name == "@" or name.isdigit()


ALIAS = "alias "  # among the variables, before the name of an alias: what it stands for
EXPORTED = "export "  # among the variables, under a name that none can have: the names that other programs get


def exported(env: Env) -> list[str]:
    """The names of the variables that programs get."""
    found = env.variables.get(EXPORTED)
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def export(env: Env, name: str) -> None:
    """Programs get this variable from now on."""
    env.variables[EXPORTED] = [*exported(env), name]


def _cd(call: Call) -> Env | None:
    given, operands = call.options()
    env, cwd = call.env, call.cwd
    if call.name == "pushd" and any(option == "n" for option, _ in given):
        return None
    searched = "CDPATH" in call.assignments or "CDPATH" in env.variables
    if searched and operands and not str(operands[0]).startswith(("/", ".")):
        before = env.copy()
        env.cwds = [None]
        return before
    stack = env.variables.get("DIRSTACK")
    if call.name == "popd":
        known = isinstance(stack, list) and bool(stack)
        to: Field | None = stack[-1] if isinstance(stack, list) and known else None
        env.variables["DIRSTACK"] = stack[:-1] if isinstance(stack, list) else []
    elif call.name == "pushd":
        if not operands:
            env.cwds = [None]
            return None
        env.variables["DIRSTACK"] = [*(stack if isinstance(stack, list) else []), cwd or ANY]
        to = operands[0]
    else:
        to = operands[0] if operands else call.reader.home or None
    before = env.copy()
    if to == "-" or (to == "~-" and env.old):
        to = env.old
    known = isinstance(to, str) and (cwd is not None or to.startswith("/"))
    new = os.path.join(cwd or "/", to) if known and isinstance(to, str) else None
    if new is not None:
        physical = any(option == "P" for option, _ in given)
        new = links.real(new) if physical else os.path.normpath(new)
    env.old = cwd
    env.cwds = [new]
    return None if new is not None and env.is_directory(new) else before


def _eval(call: Call) -> Env | None:
    known = [word for word in call.words[1:] if isinstance(word, str)]
    if len(known) + 1 == len(call.words):
        call.reader.script(" ".join(known), call.env)
    else:
        call.opaque()
        call.env.source = ""
    return None


def _alias(call: Call) -> Env | None:
    """`alias r='rm -f'`: from the next line on, in a shell that expands them, `r` is that."""
    for word in call.words[1:]:
        name, equals, text = word.partition("=") if isinstance(word, str) else ("", "", "")
        if equals and name:
            call.env.variables[ALIAS + name] = text
    return None


def _trap(call: Call) -> Env | None:
    _, operands = call.options()
    if operands and operands[0] and isinstance(operands[0], str):
        call.reading.traps.append(operands[0])
    return None


def _names(call: Call) -> Env | None:
    """Commands that set variables: read, mapfile, getopts, printf -v, let, unset, export and similar ones."""
    if call.name == "printf" and call.words[1:2] == ["-v"] and call.words[2:]:
        name = call.words[2]
        from dibs.facts.shell import outputs as shell_outputs

        if not isinstance(name, str):
            call.env.source = ""  # any variable may be set
        else:
            call.env.variables.pop(name, None)
            found = shell_outputs.printed(call.words[3:])
            if found != ANY and name.isidentifier():
                call.env.variables[name] = found
        return None
    for word in call.words[1:]:
        if not isinstance(word, str):
            call.env.source = ""  # `export $(cat .env)`
            continue
        name = word.partition("=")[0].partition("[")[0]
        call.env.variables.pop(name.rstrip("+-*/%"), None)
    return None


def _read(call: Call) -> Env | None:
    """`read`, `mapfile`: the first name, or the array, gets a value that begins like the lines of the input."""
    short = "adinNptu" if call.name == "read" else "dnOsuCc"
    given, names = call.options(short)
    array = last(given, "a") if call.name == "read" else names[0] if names else "MAPFILE"
    lines = _lines(call)
    separators = call.assignments.get("IFS", call.env.variables.get("IFS"))
    for index, name in enumerate(names or ["REPLY"]):
        if not isinstance(name, str):
            call.env.source = ""  # any variable may be set
        else:
            call.env.variables.pop(name, None)
            if lines is not None:
                found = [_column(line, index, len(names), separators) for line in lines]
                call.env.variables[name] = (
                    found[0] if len(found) == 1 and call.stdin and call.stdin.text else _one_of(call, found)
                )
    if not isinstance(array, str):
        call.env.source = ""
    elif array:
        whole = call.name != "read" or lines is None or any(_words(line, separators) is None for line in lines)
        cells = lines if whole or lines is None else [cell for line in lines for cell in _words(line, separators) or []]
        exact = call.stdin is not None and call.stdin.text is not None and len(lines or ()) <= MAX_BEGINNINGS
        call.env.variables[array] = [ANY] if cells is None else list(cells) if exact else [_one_of(call, cells)]
    return None


def _one_of(call: Call, texts: list[str]) -> Unknown:
    """One of some lines of the input, or of some beginnings of lines."""
    return Unknown(texts, whole=True) if call.stdin and call.stdin.lines.whole else either(texts)


def _lines(call: Call) -> list[str] | None:
    """The lines of the input, or how they begin; None if nothing is known of them."""
    if not call.stdin:
        return None
    text = call.stdin.text
    if text is not None:
        return text.removesuffix("\n").split("\n")
    below = call.stdin.lines.below
    return None if below is None else list(below)


def _words(line: str, separators: object) -> list[str] | None:
    """A line in words; None if it is not known where they end."""
    if separators is None or separators == " \t\n":
        return line.split()
    if not isinstance(separators, str) or len(separators) > 1:
        return None
    return line.split(separators) if separators else [line]


def _column(line: str, index: int, names: int, separators: object) -> str:
    """The part of a line that one of the names gets; the last one gets the rest."""
    words = _words(line, separators) if names > 1 else None
    if words is None:
        return line.strip() if names <= 1 and separators is None else line if not index else ""
    blank = separators if isinstance(separators, str) and separators else " "
    return blank.join(words[index:]) if index + 1 == names else words[index] if index < len(words) else ""


def _set(call: Call) -> Env | None:
    if "--" in call.words:
        position(call.env, call.words[call.words.index("--") + 1 :])
    elif any(not isinstance(word, str) or word[:1] not in {"-", "+"} for word in call.words[1:]):
        for name in [name for name in call.env.variables if is_positional(name)]:
            del call.env.variables[name]
    return None


def _shift(call: Call) -> Env | None:
    known = call.env.variables.get("@")
    if isinstance(known, list) and len(call.words) == 1:
        position(call.env, known[1:])
    else:
        for name in [name for name in call.env.variables if is_positional(name)]:
            del call.env.variables[name]
    return None


def _source(call: Call) -> Env | None:
    """`. FILE`: a text that the command itself contains is read here."""
    text = call.known_text(call.words[1]) if len(call.words) > 1 else None
    if text is None:
        call.judge()
        call.env.source = ""
    else:
        call.reader.script(text, call.env)
    return None


def _mkdir(call: Call) -> Env | None:
    """A new directory is not a file that could be lost; it matters for later writes into it."""
    for word in call.options("m", ("mode",))[1]:
        if isinstance(word, str) and (call.cwd is not None or word.startswith("/")):
            path = os.path.normpath(call.full(word))
            while path not in call.env.made and not os.path.isdir(path) and os.path.dirname(path) != path:
                call.env.made.add(path)
                path = os.path.dirname(path)
    return None


def _wait(call: Call) -> Env | None:
    """Background commands have ended after it."""
    if call.name == "wait":
        call.reading.left = False
    else:
        call.reading.detached = True
    return None


BUILTINS: dict[str, Callable[[Call], Env | None]] = {
    ".": _source,
    "alias": _alias,
    "cd": _cd,
    "chdir": _cd,
    "declare": _names,
    "disown": _wait,
    "eval": _eval,
    "export": _names,
    "getopts": _names,
    "let": _names,
    "local": _names,
    "mapfile": _read,
    "mkdir": _mkdir,
    "popd": _cd,
    "printf": _names,
    "pushd": _cd,
    "read": _read,
    "readarray": _read,
    "set": _set,
    "shift": _shift,
    "source": _source,
    "trap": _trap,
    "typeset": _names,
    "unset": _names,
    "wait": _wait,
}
