"""Holds answers and errors to their declarations: no key is missing, none is unknown, each has its type.

Fleet.internal, the tests' command line and every Workspace in a test go through here, so each answer of the whole suite
is compared with its TypedDict in operations/core/answers.py, each error with the annotations of its class.
"""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, is_typeddict

from dibs.doors.python.workspace import Workspace
from dibs.errors import ERRORS, DibsError
from dibs.operations.core import answers, index
from dibs.operations.core.declare import Operation
from dibs.session import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

DECIDED = {"BootAnswer": {"files"}}  # what a door turns into something else: the file system is its own to read


def hold(operation: Operation, answer: Any, *, decided: bool = False) -> None:
    """An answer of this operation; `decided`: as the operation gives it, before a door adds what only a door knows."""
    if not operation.answer or not isinstance(answer, dict):
        return
    left_out = DECIDED.get(operation.answer, set()) if decided else set()
    shown = {key: value for key, value in answer.items() if key != "jobs" and key not in left_out}
    name = operation.answer
    if "waiting" in answer and "look_in" in answer:
        assert decided, f"{operation.name}: nobody but a door is told to wait"
        name = "WaitingForAnswer"
    _hold(shown, getattr(answers, name), operation.name)


def hold_workspaces() -> None:
    """Every answer that a Workspace gives from now on."""
    call = Workspace._call

    def held(self: Workspace, name: str, request_id: str | None, /, **given: Any) -> Any:
        answer = call(self, name, request_id, **given)
        hold(catalogue.operation(name), answer)
        return answer

    Workspace._call = held  # type: ignore[method-assign]


def hold_command(words: tuple[str, ...], found: dict[str, Any]) -> None:
    """What a command printed with --json."""
    if "error" in found:
        facts = {key: value for key, value in found["error"].items() if key not in {"code", "message"}}
        hold_error(found["error"]["code"], facts)
        return
    if words[:2] == ("run", "start") and any(word.endswith(".toml") for word in words):
        return  # it drives a whole run, and tells how that went
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in index.FILES), "")
    if name == "land":  # one command for several operations
        name = {"--status": "landings", "--cancel": "landings cancel", "--all": ""}.get(words[-1], name)
    if name:
        hold(catalogue.operation(name), {key: value for key, value in found.items() if key != "ok"})


def hold_error(code: str, facts: dict[str, Any]) -> None:
    """The facts of an error."""
    known = error_hints(code)
    for name, value in facts.items():
        assert name in known, f"{code}: {name} is not declared"
        _hold(value, known[name], f"{code}.{name}")


def hold_refusal(error: DibsError) -> DibsError:
    """The same for the error itself; gives it back."""
    hold_error(error.code, error.fields)
    return error


@cache
def error_hints(code: str) -> dict[str, Any]:
    """The declared facts of an error."""
    found = ERRORS[code].__annotations__
    return {name.rstrip("_"): eval(hint, vars(answers)) for name, hint in found.items()}  # noqa: S307 - a type


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return answers.hints_of(kind.__name__)


def _hold(value: Any, hint: Any, where: str) -> None:
    """Nearly every answer is right, so that is asked first; only one that is not is looked at again, for the words."""
    if not _fits(hint)(value):
        _explain(value, hint, where)
        raise AssertionError(f"{where}: {value!r} is no {hint}, and nobody can say why")


# --- is it right?


@cache
def _fits(hint: Any) -> Callable[[Any], bool]:
    """What tells whether a value has this type; made once for each type."""
    kind, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: True  # noqa: ARG005 - whatever it is
    if is_typeddict(hint):
        return _fits_object(hint)
    if kind is list:
        fits = _fits(parts[0])
        return lambda value: isinstance(value, list) and all(map(fits, value))
    if kind is dict:
        fits = _fits(parts[1])
        return lambda value: isinstance(value, dict) and all(map(fits, value.values()))
    if kind is Literal:
        return lambda value: value in parts
    if kind in {Union, UnionType}:
        some = [_fits(part) for part in parts if part is not NoneType]
        null = NoneType in parts
        return lambda value: null if value is None else any(fits(value) for fits in some)
    return lambda value: _is_plain(value, hint)


def _fits_object(hint: Any) -> Callable[[Any], bool]:
    known: dict[str, Callable[[Any], bool]] = {}  # filled at the first call: an object may be part of itself
    always = {key for key, one in _hints(hint).items() if not answers.is_sometimes(one)}

    def fits(value: Any) -> bool:
        if not known:
            known.update({key: _fits(answers.plain(one)) for key, one in _hints(hint).items()})
        if not isinstance(value, dict) or not always <= value.keys():
            return False
        for key, one in value.items():
            is_right = known.get(key)
            if is_right is None or not is_right(one):
                return False
        return True

    return fits


def _is_plain(value: Any, hint: Any) -> bool:
    return isinstance(value, (int, float) if hint is float else hint) and (hint is bool or not isinstance(value, bool))


# --- what is wrong with it?


def _explain(value: Any, hint: Any, where: str) -> None:
    kind, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return
    if is_typeddict(hint):
        assert isinstance(value, dict), f"{where}: {value!r} is no {hint.__name__}"
        hints = _hints(hint)
        for key in value:
            assert key in hints, f"{where}.{key} is not declared in {hint.__name__} (it is {value[key]!r})"
        for key, one in hints.items():
            if key in value:
                _explain(value[key], answers.plain(one), f"{where}.{key}")
            else:
                assert answers.is_sometimes(one), f"{where}.{key} of {hint.__name__} is missing"
    elif kind is list:
        assert isinstance(value, list), f"{where}: {value!r} is no list"
        for place, one in enumerate(value):
            _explain(one, parts[0], f"{where}[{place}]")
    elif kind is dict:
        assert isinstance(value, dict), f"{where}: {value!r} is no object"
        for key, one in value.items():
            _explain(one, parts[1], f"{where}[{key!r}]")
    elif kind is Literal:
        assert value in parts, f"{where}: {value!r} is none of {parts}"
    elif kind in {Union, UnionType}:
        _explain_union(value, parts, where)
    else:
        assert _is_plain(value, hint), f"{where}: {value!r} is no {hint.__name__}"


def _explain_union(value: Any, parts: tuple[Any, ...], where: str) -> None:
    if value is None:
        assert NoneType in parts, f"{where} is null"
        return
    wrong = []
    for part in parts:
        if part is not NoneType:
            try:
                _explain(value, part, where)
            except AssertionError as error:
                wrong.append(str(error))
            else:
                return
    raise AssertionError("; ".join(wrong))
