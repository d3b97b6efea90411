"""The methods of the Python API, made from the declarations: one for each operation and query, at its first use.

`methods` gives a class a descriptor for each name, which loads no operation. At its first use, by a call or by `help`,
the descriptor makes an ordinary function of the declaration and puts it into the class in its own place. So from then
on a call costs nothing more, and `dir`, `inspect`, subclasses, mocks and pickle meet what a class written by hand would
show them. `make generate` writes the same signatures into the stubs that type checkers and editors read (`methods.pyi`;
`workers/calls.pyi` for workers).
"""

from __future__ import annotations

from dibs.operations.core import index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from types import FunctionType
    from typing import Any

    from dibs.operations.core.declare import Field, Operation

    Path = str | PathLike[str]

TYPES = {
    "text": "str", "agent": "str", "duration": "float | str", "integer": "int", "flag": "bool",
    "words": "Sequence[str]", "process": "int", "resource": "Path", "resources": "Path", "number": "int", "json": "Any",
    "commit": "str", "file": "str",
}  # fmt: skip
FEW = 5  # words to choose from that stand in a method's signature; more get a name
HANDLED = "claim"  # its method gives a handle that can be used in a `with`, and that renews the claim meanwhile
KEYWORDS = frozenset(("class", "for"))  # of Python that are names of fields; importing `keyword` takes 0.1 ms
WIDTH = 110  # columns of a docstring


class Method:
    """Stands in a class for a method that nobody has used yet."""

    __slots__ = ("_handle", "_is_async", "_operation", "_owner")

    def __init__(self, owner: type, operation: str, handle: str, *, is_async: bool) -> None:
        self._owner, self._operation, self._handle, self._is_async = owner, operation, handle, is_async

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        method = self.__wrapped__
        return method if instance is None else method.__get__(instance, owner)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function, from now on in the class; `inspect.unwrap` asks here, as mocks of coroutines do."""
        from dibs.client import catalogue

        operation = catalogue.operation(self._operation)
        method = function(operation, self._owner, self._handle, is_async=self._is_async)
        setattr(self._owner, method.__name__, method)
        return method


def methods(handle: str, *, is_async: bool = False) -> Callable[[type], type]:
    """Decorate a class whose objects have `ask_for` and `_claim`; `handle` is the type that `claim` returns."""

    def bind(owner: type) -> type:
        for name in (*index.FILES, *index.QUERIES):
            setattr(owner, method_name(name), Method(owner, name, handle, is_async=is_async))
        return owner

    return bind


# --- an operation as a function


def method_name(operation: str) -> str:
    """The name of an operation's method: `task next` is `task_next`."""
    return operation.replace(" ", "_")


def parameters(operation: Operation) -> list[tuple[str, str, str]]:
    """The parameters after `self`, each with its stars: name, type, and default ("" if it is required).

    A query takes by position what the environment may have, too: `run_report("r1")`.
    """
    shown = _shown(operation)
    first = [field for field in shown if field.positional or (operation.is_query and field.env)]
    keywords = [_parameter(field) for field in shown if field not in first]
    if operation.name == HANDLED:
        keywords.append(("auto_renew", "bool", "True"))
    if not operation.is_query:
        keywords.append(("request_id", "str | None", "None"))
    positional = [_parameter(field) for field in first]
    has_star = any(name.startswith("*") for name, _, _ in positional)
    return [*positional, *([] if has_star or not keywords else [("*", "", "")]), *keywords]


def _shown(operation: Operation) -> list[Field]:
    return [field for field in operation.fields if not field.internal]


def _parameter(field: Field) -> tuple[str, str, str]:
    if field.kind == "resources" and field.positional:
        return f"*{field.name}", type_of(field), ""
    if field.required:
        return _variable(field), type_of(field), ""
    return _variable(field), f"{type_of(field)} | None", "None"


def _variable(field: Field) -> str:
    """A keyword of Python gets a `_` at its end: `for_`."""
    return f"{field.name}_" if field.name in KEYWORDS else field.name


def type_of(field: Field) -> str:
    """The type of a parameter, as it is written."""
    if field.kind != "choice":
        return TYPES[field.kind]
    return choice_name(field) if len(field.choices) > FEW else choices(field)


def choices(field: Field) -> str:
    """The words that one can choose from, as a type."""
    words = ", ".join(f'"{word}"' for word in field.choices)
    return f"Literal[{words}]"


def choice_name(field: Field) -> str:
    """The name of a long list of words that one can choose from."""
    return f"_{field.name.capitalize()}"


def answer_of(operation: Operation, handle: str) -> str:
    """The type that a method returns."""
    return handle if operation.name == HANDLED else operation.answer


def documentation(operation: Operation) -> str:
    """The docstring, without indentation: what the operation does, the keys of its answer, and what it raises."""
    parts = [operation.help, ""]
    if operation.name == HANDLED:
        parts += ["In a `with` it is renewed until the end of the block, unless `auto_renew` is False.", ""]
    from dibs.operations.core.answer_keys import KEYS

    parts += _wrapped(f"Answers: {KEYS[operation.answer]}.")
    if operation.errors:
        raised = ", ".join([error.__name__ for error in operation.errors])
        parts += _wrapped(f"Raises: {raised}.")
    return "\n".join(parts)


def _wrapped(text: str) -> list[str]:
    """A paragraph as lines; `textwrap` would import `re`."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if len(longer) > WIDTH:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def source(operation: Operation, *, is_async: bool) -> str:
    """The function's text, without types: it hands the fields to `ask_for` of its object, or to `_claim`."""
    written = [f"{name}={default}" if default else name for name, _, default in parameters(operation)]
    fields = [
        f'"{field.name}": {_variable(field)}{" or None" if field.kind == "resources" else ""}'
        for field in _shown(operation)
    ]
    given = f"{{{', '.join(fields)}}}"
    define = f"def {method_name(operation.name)}({', '.join(['self', *written])}):"
    if operation.name == HANDLED:
        return f"{define}\n    return self._claim(request_id, auto_renew, {given})\n"
    key = "None" if operation.is_query else "request_id"
    call = f'self.ask_for("{operation.name}", {key}, {given})'
    return f"async {define}\n    return await {call}\n" if is_async else f"{define}\n    return {call}\n"


def function(operation: Operation, owner: type, handle: str, *, is_async: bool) -> FunctionType:
    """The function itself, as if it had been written in the class.

    It is compiled from its source, as a named tuple's is: so a wrong argument is the interpreter's own TypeError.
    """
    scope: dict[str, Any] = {"__name__": owner.__module__}
    exec(source(operation, is_async=is_async), scope)  # noqa: S102 - our own text; `compile` alone would take 0.7 ms
    method: FunctionType = scope[method_name(operation.name)]
    method.__qualname__ = f"{owner.__qualname__}.{method.__name__}"
    method.__code__ = method.__code__.replace(co_filename=f"<dibs {method.__qualname__}>")  # for tracebacks
    method.__doc__ = documentation(operation)
    method.__annotations__ = {
        **{name.lstrip("*"): type_ for name, type_, _ in parameters(operation) if type_},
        "return": answer_of(operation, handle),
    }
    return method
