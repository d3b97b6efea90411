"""Builtins of the shell that change its state: its directory, its variables and parameters, its traps."""

from __future__ import annotations

import os

from dibs.facts.shell.options import last
from dibs.facts.shell.unknown import ANY

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
        if word != ANY:
            env.variables[str(number)] = word


def is_positional(name: str) -> bool:
    """Is this a parameter (`$1`, `$@`)?"""
    return name == "@" or name.isdigit()


def _cd(call: Call) -> Env | None:
    given, operands = call.options()
    env, cwd = call.env, call.cwd
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
    if to == "-":
        to = env.old
    known = isinstance(to, str) and (cwd is not None or to.startswith("/"))
    new = os.path.join(cwd or "/", to) if known and isinstance(to, str) else None
    if new is not None:
        physical = any(option == "P" for option, _ in given)
        new = os.path.realpath(new) if physical else os.path.normpath(new)
    env.old = cwd
    env.cwds = [new]
    return None if new is not None and env.is_directory(new) else before


def _eval(call: Call) -> Env | None:
    known = [word for word in call.words[1:] if isinstance(word, str)]
    if len(known) + 1 == len(call.words):
        call.reader.script(" ".join(known), call.env)
    else:
        call.opaque()
    return None


def _trap(call: Call) -> Env | None:
    _, operands = call.options()
    if operands and operands[0] and isinstance(operands[0], str):
        call.reading.traps.append(operands[0])
    return None


def _names(call: Call) -> Env | None:
    """Commands that set variables: read, mapfile, getopts, printf -v, let, unset, export and similar ones."""
    for word in call.words[1:]:
        name = word.partition("=")[0].partition("[")[0] if isinstance(word, str) else ""
        call.env.variables.pop(name.rstrip("+-*/%"), None)
    return None


def _read(call: Call) -> Env | None:
    """`read`, `mapfile`: the first name, or the array, gets a value that begins like the lines of the input."""
    short = "adinNptu" if call.name == "read" else "dnOsuCc"
    given, names = call.options(short)
    array = last(given, "a") if call.name == "read" else names[0] if names else "MAPFILE"
    line = call.stdin.lines if call.stdin else ANY
    for index, name in enumerate(names or ["REPLY"]):
        if isinstance(name, str):
            call.env.variables.pop(name, None)
            if not index and line.below is not None:
                call.env.variables[name] = line
    if isinstance(array, str) and array:
        call.env.variables[array] = [line]
    return None


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
    "trap": _trap,
    "typeset": _names,
    "unset": _names,
    "wait": _wait,
}
