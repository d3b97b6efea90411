"""The words of a request between a caller and a server that has the store: plain JSON values, both ways.

A request is `{"op", "call", "fields", "via"}`, an answer one of `{"result"}`, `{"refused": [code, message, fields]}`,
`{"need": [process…]}`. client/server_link.py says what they mean and what each side does; here they are only written
and read. Reading holds every value to its type: a far caller may send anything.
"""

from __future__ import annotations

from dibs.errors import DibsError, Invalid, Unavailable, from_parts
from dibs.jsontext import is_text
from dibs.operations.core.call import Call, NeedsFacts, of_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    from dibs.operations.core.call import Fields, Process
    from dibs.operations.core.declare import Field, Operation
    from dibs.operations.core.policy import Policy
    from dibs.stores.seam import Json

    class CallMessage(TypedDict, total=False):
        """A call as it is sent; what is empty is left out."""

        agent: str
        fallback: str
        request: str
        kind: str
        session: str
        how: str  # the caller is identified
        rules: str
        client: Process
        ancestors: list[Process]
        typed: bool  # in a shell
        facts: dict[str, bool | None]  # processes and whether they live

    class AnswerMessage(TypedDict, total=False):
        """What a server answers: a result, a refusal, or the processes that the caller has to look at."""

        result: Json
        refused: list[Json]  # `DibsError.parts`
        need: list[Process]
        who: list[str]  # the caller, where its transaction found it out: id, how, name
        ahead: int  # ms that the store's clock is ahead of the wall clock
        g: int  # requests that were decided in the same commit


# Texts of a call: the word that is sent → the attribute.
TEXTS = {
    "agent": "agent", "fallback": "fallback", "request": "request", "kind": "kind", "session": "session",
    "how": "identified_by", "rules": "rules",
}  # fmt: skip
MAX_TEXT = 1_000  # letters of each of these
MAX_NAME = 200  # letters of a machine's id, its boot's and a namespace's
MAX_PROCESSES = 512  # above one caller
MAX_FACTS = 20_000  # processes that one request may have looked at: a sweep asks for all agents' in some rounds
HERE_PARTS = 3  # host, boot, pid namespace: the caller's machine
PROCESS_PARTS = 5  # host, boot, pid namespace, pid, start time
CONNECTION_DIGITS = 32  # of the name of a connection: nobody hits another's by chance


def call_out(call: Call) -> CallMessage:
    """A call as it is sent: what is empty is left out."""
    found: Json = {word: value for word, name in TEXTS.items() if (value := getattr(call, name))}
    if call.client is not None:
        found["client"] = call.client
    if call.ancestors:
        found["ancestors"] = call.ancestors
    if call.from_shell:
        found["typed"] = True
    if call.facts:
        found["facts"] = call.facts
    message: CallMessage = found
    return message


def call_in(policy: Policy, sent: Json, via: Json = None) -> Call:
    """A call as it was sent; Invalid if it is none."""
    if not isinstance(sent, dict):
        raise Invalid("call: an object", field="call")
    for name, value in sent.items():
        known = name in TEXTS and is_text(value) and len(value) <= MAX_TEXT
        if not known and not (name in _OTHERS and _OTHERS[name](value)):
            raise Invalid(f"call: {ascii(name)[:60]} cannot be read", field="call")
    call = Call(
        policy, agent=sent.get("agent", ""), fallback=sent.get("fallback", ""), client=sent.get("client"),
        ancestors=sent.get("ancestors", ()), request=sent.get("request", ""), kind=sent.get("kind", ""),
        from_shell=sent.get("typed", False), session=sent.get("session", ""), identified_by=sent.get("how", ""),
    )  # fmt: skip
    call.rules = sent.get("rules", "")
    call.facts = sent.get("facts", {})
    if via is not None:
        if not (isinstance(via, list) and len(via) in {2, 3} and _is_connection(via[0]) and _is_number(via[1])):
            raise Invalid("via: the connection and the number of the request", field="via")
        call.exchange = via[0], via[1], bool(via[2:] and via[2])
    return call


def fields_in(operation: Operation, sent: Json, *, anywhere: bool = False, place: str = "") -> Fields:
    """The fields of a request as they were sent, with their resources; the operation's declaration checks the rest.

    `anywhere`: see `paths.received`. `place`: a far caller's name, which goes before its working trees.
    """
    if not isinstance(sent, dict):
        raise Invalid("fields: an object", field="fields")
    return _Reader(anywhere, place).inside({field.name: field for field in operation.fields}, sent)


def answer_out(place: str, value: Json) -> Json:
    """An answer for a far caller: its own working trees as it names them."""
    if isinstance(value, str):
        return value[len(place) + 1 :] if value.startswith(f"{place}:/") else value
    if isinstance(value, dict):
        return {name: answer_out(place, one) for name, one in value.items()}
    if isinstance(value, list):
        return [answer_out(place, one) for one in value]
    return value


class _Reader:
    """Reads the values of one request."""

    def __init__(self, anywhere: bool, place: str) -> None:
        self._anywhere, self._place = anywhere, place

    def inside(self, known: dict[str, Field], sent: Fields) -> Fields:
        found = {}
        for name, value in sent.items():
            field = known.get(name)
            found[name] = value if field is None or value is None else self._value(field, value)
        return found

    def _value(self, field: Field, value: Json) -> Json:
        """A value with the resources and working trees in it, wherever its field declares some."""
        if field.kind == "resource":
            return _resource(field, value, self._anywhere)
        if field.kind == "tree" and self._place and isinstance(value, str):
            return self._tree(field, value)
        if not isinstance(value, (list, dict)):
            return value
        if field.kind == "resources":
            return [_resource(field, one, self._anywhere) for one in value]
        if not field.items:
            return value
        known = {one.name: one for one in field.items}
        if isinstance(value, dict):
            return self.inside(known, value)
        found: list[Json] = []
        for item in value:
            if isinstance(item, dict):
                found.append(self.inside(known, item))
            elif isinstance(item, list) and len(item) == len(field.items):  # a row: one value for each column
                pairs = zip(field.items, item, strict=True)
                found.append([inner if inner is None else self._value(one, inner) for one, inner in pairs])
            else:
                found.append(item)
        return found

    def _tree(self, field: Field, value: str) -> str:
        if value and not value.startswith("/"):
            raise Invalid(f"{field.name}: the top of a working tree is an absolute path", field=field.name)
        return value and f"{self._place}:{value}"


def _resource(field: Field, value: Json, anywhere: bool) -> Json:
    from dibs.workspace import paths

    try:
        return paths.received(value, anywhere=anywhere)
    except Invalid as error:
        raise Invalid(f"{field.name}: {error.message}", field=field.name) from None


def error_out(error: DibsError) -> AnswerMessage:
    """A refusal as it is sent."""
    return {"refused": error.parts()}


def answer_in(answer: Json) -> Json:
    """What the server said: the result, or the refusal as a value. Raises `NeedsFacts` where it lacks facts."""
    if isinstance(answer, dict):
        if "result" in answer:
            return of_json(answer["result"])
        if "refused" in answer:
            return from_parts(answer["refused"])
        if "need" in answer:
            raise NeedsFacts(answer["need"])
    raise Unavailable("the server's answer cannot be read; is it another version of dibs?")


def is_process(value: Json) -> bool:
    """Is this the full name of a process?"""
    return (
        isinstance(value, list)
        and len(value) == PROCESS_PARTS
        and all(map(_is_name, value[:3]))
        and all(_is_number(part) for part in value[3:])
    )


def _is_name(value: Json) -> bool:
    """A part of a machine's name: it becomes a part of a key, and of a process's name, which colons divide."""
    return is_text(value) and len(value) <= MAX_NAME and value.isprintable() and ":" not in value


def _is_number(value: Json) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_connection(value: Json) -> bool:
    return isinstance(value, str) and len(value) == CONNECTION_DIGITS and value.isascii() and value.isalnum()


def _are_processes(value: Json) -> bool:
    return isinstance(value, list) and len(value) <= MAX_PROCESSES and all(map(is_process, value))


def _are_facts(value: Json) -> bool:
    return isinstance(value, dict) and len(value) <= MAX_FACTS and {*map(type, value.values())} <= {bool, _NONE}


_NONE = type(None)
_OTHERS: dict[str, Callable[[Json], bool]] = {
    "client": is_process,
    "ancestors": _are_processes,
    "typed": lambda value: isinstance(value, bool),
    "facts": _are_facts,
    "here": lambda value: isinstance(value, list) and len(value) == HERE_PARTS and all(map(_is_name, value)),
    "pid": _is_number,
}
