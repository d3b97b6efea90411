"""Builtins of the shell that change its state: its directory, its variables and parameters, its traps.

Each is named by its row in programs.py, and returns the shell's state if the command failed, where that differs.
"""

from __future__ import annotations

import os

from dibs.machine import links
from dibs.shell.findings import ALIAS
from dibs.shell.options import last
from dibs.shell.unknown import ANY, MAX_BEGINNINGS, Unknown, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.findings import Env
    from dibs.shell.options import Fields, Given
    from dibs.shell.unknown import Field


def cd(call: ProgramCall) -> Env | None:
    """`cd`: to a folder, or home. It names the folder if the words do not."""
    given, operands = call.options()
    if operands[:1] == ["-"] or _is_searched(call, operands):
        call.reading.prints(ANY)
    if _is_searched(call, operands):
        return _somewhere(call)
    return _moved(call, given, operands[0] if operands else call.interpreter.home or None)


def pushd(call: ProgramCall) -> Env | None:
    """`pushd`: to a folder, and the present one is kept."""
    given, operands = call.options()
    if any(option == "n" for option, _ in given):
        return None
    if _is_searched(call, operands):
        return _somewhere(call)
    if not operands:
        call.env.cwds = [None]
        return None
    stack = call.env.variables.get("DIRSTACK")
    call.env.variables["DIRSTACK"] = [*(stack if isinstance(stack, list) else []), call.cwd or ANY]
    return _moved(call, given, operands[0])


def popd(call: ProgramCall) -> Env | None:
    """`popd`: back to the folder that was kept last."""
    given, operands = call.options()
    if _is_searched(call, operands):
        return _somewhere(call)
    stack = call.env.variables.get("DIRSTACK")
    folders = stack if isinstance(stack, list) else []
    call.env.variables["DIRSTACK"] = folders[:-1]
    return _moved(call, given, folders[-1] if folders else None)


def _is_searched(call: ProgramCall, operands: Fields) -> bool:
    """Is the folder searched for along CDPATH?"""
    searched = "CDPATH" in call.assignments or "CDPATH" in call.env.variables
    return searched and bool(operands) and not str(operands[0]).startswith(("/", "."))


def _somewhere(call: ProgramCall) -> Env:
    before = call.env.copy()
    call.env.cwds = [None]
    return before


def _moved(call: ProgramCall, given: Given, to: Field | None) -> Env | None:
    """Change the directory; returns the state before if that may fail."""
    env, cwd = call.env, call.cwd
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


def evaluate(call: ProgramCall) -> Env | None:
    """`eval`: its words are a script."""
    known = [word for word in call.words[1:] if isinstance(word, str)]
    if len(known) + 1 == len(call.words):
        call.interpreter.script(" ".join(known), call.env)
    else:
        call.opaque()
        call.env.source = ""
    return None


def alias(call: ProgramCall) -> Env | None:
    """`alias r='rm -f'`: from the next line on, in a shell that expands them, `r` is that."""
    for word in call.words[1:]:
        name, equals, text = word.partition("=") if isinstance(word, str) else ("", "", "")
        if equals and name:
            call.env.variables[ALIAS + name] = text
    return None


def trap(call: ProgramCall) -> Env | None:
    """`trap`: a script that runs when the shell ends."""
    _, operands = call.options()
    if operands and operands[0] and isinstance(operands[0], str):
        call.reading.traps.append(operands[0])
    return None


def printf(call: ProgramCall) -> Env | None:
    """`printf -v NAME`: the variable gets the text."""
    if call.words[1:2] != ["-v"] or not call.words[2:]:
        return declare(call)
    name = call.words[2]
    if not isinstance(name, str):
        call.env.source = ""  # any variable may be set
        return None
    from dibs.shell import outputs as shell_outputs

    call.env.variables.pop(name, None)
    text = shell_outputs.printf_text(call.words[3:])
    if text != ANY and name.isidentifier():
        call.env.variables[name] = text
    return None


def declare(call: ProgramCall) -> Env | None:
    """Commands that set variables: getopts, let, unset, export and similar ones."""
    for word in call.words[1:]:
        if not isinstance(word, str):
            call.env.source = ""  # `export $(cat .env)`
            continue
        name = word.partition("=")[0].partition("[")[0]
        call.env.variables.pop(name.rstrip("+-*/%"), None)
    return None


def read(call: ProgramCall) -> Env | None:
    """`read`: each name gets its part of a line of the input; with -a, an array gets the words of one."""
    given, names = call.options("adinNptu")
    lines, separators = _lines(call), _separators(call)
    _set_names(call, names, lines, separators)
    array = last(given, "a")
    whole = lines is None or any(_words(line, separators) is None for line in lines)
    cells = lines if whole or lines is None else [cell for line in lines for cell in _words(line, separators) or []]
    _set_array(call, array, cells, lines)
    return None


def mapfile(call: ProgramCall) -> Env | None:
    """`mapfile`: an array gets the lines of the input."""
    _, names = call.options("dnOsuCc")
    lines = _lines(call)
    _set_names(call, names, lines, _separators(call))
    _set_array(call, names[0] if names else "MAPFILE", lines, lines)
    return None


def _separators(call: ProgramCall) -> object:
    """What separates the words of a line, if it is said."""
    return call.assignments.get("IFS", call.env.variables.get("IFS"))


def _set_names(call: ProgramCall, names: Fields, lines: list[str] | None, separators: object) -> None:
    """The names get values that begin like the lines of the input."""
    for index, name in enumerate(names or ["REPLY"]):
        if not isinstance(name, str):
            call.env.source = ""  # any variable may be set
            continue
        call.env.variables.pop(name, None)
        if lines is not None:
            columns = [_column(line, index, len(names), separators) for line in lines]
            certain = len(columns) == 1 and call.stdin and call.stdin.text
            call.env.variables[name] = columns[0] if certain else _one_of(call, columns)


def _set_array(call: ProgramCall, array: Field, cells: list[str] | None, lines: list[str] | None) -> None:
    """An array gets these elements, or nothing is known of them; "" for none."""
    if not isinstance(array, str):
        call.env.source = ""
    elif array:
        exact = call.stdin is not None and call.stdin.text is not None and len(lines or ()) <= MAX_BEGINNINGS
        call.env.variables[array] = [ANY] if cells is None else list(cells) if exact else [_one_of(call, cells)]


def _one_of(call: ProgramCall, texts: list[str]) -> Unknown:
    """One of some lines of the input, or of some beginnings of lines."""
    return Unknown(texts, whole=True) if call.stdin and call.stdin.lines.whole else either(texts)


def _lines(call: ProgramCall) -> list[str] | None:
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


def set_parameters(call: ProgramCall) -> Env | None:
    """`set`: the parameters may be others from now on."""
    if "--" in call.words:
        call.env.position(call.words[call.words.index("--") + 1 :])
    elif any(not isinstance(word, str) or word[:1] not in {"-", "+"} for word in call.words[1:]):
        call.env.forget_parameters()
    return None


def shift(call: ProgramCall) -> Env | None:
    """`shift`: the parameters move by one."""
    known = call.env.variables.get("@")
    if isinstance(known, list) and len(call.words) == 1:
        call.env.position(known[1:])
    else:
        call.env.forget_parameters()
    return None


def source(call: ProgramCall) -> Env | None:
    """`. FILE`: a text that the command itself contains is read here."""
    text = call.known_text(call.words[1]) if len(call.words) > 1 else None
    if text is None:
        call.judge()
        call.env.source = ""
    else:
        call.interpreter.script(text, call.env)
    return None


def mkdir(call: ProgramCall) -> Env | None:
    """A new directory is not a file that could be lost; it matters for later writes into it."""
    for word in call.options("m", ("mode",))[1]:
        if isinstance(word, str) and (call.cwd is not None or word.startswith("/")):
            path = os.path.normpath(call.full(word))
            while path not in call.env.made and not os.path.isdir(path) and os.path.dirname(path) != path:
                call.env.made.add(path)
                path = os.path.dirname(path)
    return None


def wait(call: ProgramCall) -> Env | None:
    """`wait`: background commands have ended after it."""
    call.reading.left = False
    return None


def disown(call: ProgramCall) -> Env | None:
    """`disown`: a background command outlives the shell."""
    call.reading.detached = True
    return None
