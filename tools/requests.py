"""The types of requests: for each operation with fields, the dict that its body gets (`Operation.checked`).

Every declared field is in it, with its value or its default, so that a body reads `request["ttl"]` and no default is
written twice. Each room has its own `requests.pyi`. They are types alone: there is no module `requests.py`, a room
imports them below TYPE_CHECKING, and a hook loads nothing. `make generate` writes them from the declarations.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import dibs
from dibs.operations.core.declare import Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.declare import Field

COLUMNS = 120  # of a line, as the formatter has it
TOP = Path(dibs.__file__).parent
FOLDERS = ("operations", "audit", "undo")  # below dibs, where operations and queries are declared
KEYWORDS = frozenset(("class", "for"))  # of Python that are names of fields: their class has another form

TYPES = {
    "agent": "str", "amount": "float", "channel": "str", "commit": "str", "duration": "int", "file": "str",
    "flag": "bool", "integer": "int", "json": "Any", "number": "int", "object": "Any", "process": "Process",
    "raw": "str", "raws": "Sequence[str]", "ref": "str", "resource": "Sequence[str]",
    "resources": "Sequence[Sequence[str]]", "text": "str", "texts": "dict[str, str]", "tree": "str",
    "words": "Sequence[str]",
}  # fmt: skip


def declared() -> list[Operation]:
    """Every operation and query that a module declares, those in no catalogue among them."""
    by_id = {
        id(operation): operation
        for folder in FOLDERS
        for path in sorted((TOP / folder).rglob("[!_]*.py"))
        for value in vars(importlib.import_module(_module_of(path))).values()
        for operation in (value if isinstance(value, tuple) else (value,))
        if isinstance(operation, Operation)
    }
    return [*by_id.values()]


def _module_of(path: Path) -> str:
    return ".".join(["dibs", *path.relative_to(TOP).with_suffix("").parts])


def files() -> dict[str, str]:
    """The text of each room's requests.pyi, by its path below the project's top."""
    rooms: dict[str, dict[str, Operation]] = {}
    for operation in declared():
        if operation.fields:
            room = operation.body.__module__.rpartition(".")[0].replace(".", "/")
            rooms.setdefault(room, {})[name_of(operation)] = operation
    return {f"src/{room}/requests.pyi": _text(classes) for room, classes in sorted(rooms.items())}


def name_of(operation: Operation) -> str:
    """The name of an operation's request: that of `task add` is TaskAddRequest."""
    words = operation.name.replace("-", " ").split()
    return f"{''.join([word.capitalize() for word in words])}Request"


def _text(operations: dict[str, Operation]) -> str:
    classes = "\n".join(_class(name, operation) for name, operation in sorted(operations.items()))
    typing = ", ".join(word for word in ("Any", "Literal", "TypedDict") if word in classes)
    imports = "from collections.abc import Sequence\n" if "Sequence[" in classes else ""
    imports += f"from typing import {typing}\n"
    if "Process" in classes:
        imports += "\nfrom dibs.operations.core.call import Process\n"
    return f'"""The requests of this room. Made by `make generate` from its declarations."""\n\n{imports}\n{classes}'


def _class(name: str, operation: Operation) -> str:
    text = f"The request of `{operation.name}`."
    if not KEYWORDS.isdisjoint(field.name for field in operation.fields):
        rows = "".join(_line(f'        "{field.name}"', field, ",") for field in operation.fields)
        return f'{name} = TypedDict(  # {text[0].lower()}{text[1:-1]}\n    "{name}",\n    {{\n{rows}    }},\n)\n'
    rows = "".join(_line(f"    {field.name}", field) for field in operation.fields)
    return f'class {name}(TypedDict):\n    """{text}"""\n\n{rows}'


def _line(name: str, field: Field, end: str = "") -> str:
    """A field and its type, in one line or with the words of a choice in lines of their own."""
    line = f"{name}: {type_of(field)}{end}\n"
    if len(line) <= COLUMNS:
        return line
    before, _, words = line.rpartition("]")[0].partition("Literal[")
    indent = " " * (len(name) - len(name.lstrip()))
    lines = "".join(f"{indent}    {word},\n" for word in words.split(", "))
    return f"{before}Literal[\n{lines}{indent}]{end}\n"


def type_of(field: Field) -> str:
    """The type of a field's value in a request, as it is written."""
    if field.kind == "choice":
        words = [*field.choices, *([field.default] if field.default == "" else [])]
        return "Literal[" + ", ".join(f'"{word}"' for word in words) + "]"
    if field.kind == "rows":
        type_ = f"Sequence[tuple[{', '.join(map(type_of, field.items))}]]"
    elif field.kind == "json" and field.items:
        type_ = "Sequence[Any]"
    else:
        type_ = TYPES[field.kind]
    is_optional = field.default is None and not field.required and type_ != "Any"
    return f"{type_} | None" if is_optional else type_
