"""Holds answers and errors to their declarations: no key is missing, none is unknown, each has its type.

Fleet.internal, the tests' command line and every Workspace in a test go through here, so each answer of the whole suite
is compared with its TypedDict in its room's answers.py, each error with the annotations of its class.
"""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from dibs.client import catalogue
from dibs.errors import ERRORS, DibsError
from dibs.interfaces import schema
from dibs.interfaces.python.workspace import Workspace
from dibs.operations.core import index
from dibs.operations.core.declare import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
        name = "WaitingAnswer"
    _hold(shown, schema.TYPES[name], operation.name)


def hold_workspaces() -> None:
    """Every answer that a Workspace gives from now on."""
    ask = Workspace.ask_for

    def held(
        self: Workspace,
        name: str,
        request_id: str | None,
        given: dict[str, Any],
        made: Callable[[Any], Any] | None = None,
    ) -> Any:
        def checked(answer: Any) -> Any:
            hold(catalogue.operation(name), answer)
            return answer if made is None else made(answer)

        return ask(self, name, request_id, given, checked)

    Workspace.ask_for = held  # type: ignore[method-assign]


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
    return schema.facts(ERRORS[code])


@cache
def _hints(kind: Any) -> dict[str, Any]:
    names = None if kind.__module__.endswith(".events") else schema.TYPES  # answers name types of other rooms
    return get_type_hints(kind, None, names, include_extras=True)


def _hold(value: Any, hint: Any, where: str) -> None:
    wrong = checks(hint)(value)
    assert not wrong, f"{where}{wrong}"


@cache
def checks(hint: Any) -> Callable[[Any], str]:
    """What says what is wrong with a value of this type, "" if nothing; made once for each type."""
    kind, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: ""  # noqa: ARG005 - whatever it is
    if is_typeddict(hint):
        return _checks_object(hint)
    if kind is list:
        return _checks_all(list, enumerate, parts[0])
    if kind is dict:
        return _checks_all(dict, dict.items, parts[1])
    if kind is Literal:
        return lambda value: "" if value in parts else f": {value!r} is none of {parts}"
    if kind in {Union, UnionType}:
        return _checks_union(parts)
    return lambda value: "" if _is_plain(value, hint) else f": {value!r} is no {hint.__name__}"


def _checks_object(hint: Any) -> Callable[[Any], str]:
    known: dict[str, Callable[[Any], str]] = {}  # filled at the first call: an object may be part of itself
    always = {key for key, one in _hints(hint).items() if not schema.is_sometimes(one)}

    def check(value: Any) -> str:
        if not known:
            known.update({key: checks(schema.plain(one)) for key, one in _hints(hint).items()})
        if not isinstance(value, dict):
            return f": {value!r} is no {hint.__name__}"
        for key, one in value.items():
            if key not in known:
                return f".{key} is not declared in {hint.__name__} (it is {one!r})"
            wrong = known[key](one)
            if wrong:
                return f".{key}{wrong}"
        missing = "" if always <= value.keys() else min(always - value.keys())
        return missing and f".{missing} of {hint.__name__} is missing"

    return check


def _checks_all(kind: type, items: Callable[[Any], Iterable[tuple[Any, Any]]], part: Any) -> Callable[[Any], str]:
    check = checks(part)

    def check_all(value: Any) -> str:
        if not isinstance(value, kind):
            return f": {value!r} is no {kind.__name__}"
        for place, one in items(value):
            wrong = check(one)
            if wrong:
                return f"[{place!r}]{wrong}"
        return ""

    return check_all


def _checks_union(parts: tuple[Any, ...]) -> Callable[[Any], str]:
    choices = [checks(part) for part in parts if part is not NoneType]

    def check(value: Any) -> str:
        if value is None:
            return "" if NoneType in parts else " is null"
        wrong = []
        for choice in choices:
            wrong.append(choice(value))
            if not wrong[-1]:
                return ""
        return "; ".join(wrong)

    return check


def _is_plain(value: Any, hint: Any) -> bool:
    return isinstance(value, (int, float) if hint is float else hint) and (hint is bool or not isinstance(value, bool))
