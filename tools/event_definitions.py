"""The kinds of events, read from `operations/*/events.py`; operations/core/events.py says how one is defined."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from tools.sources import Source, named, sources

DOCSTRING = re.compile(r"([a-z]+\.[a-z]+): (.*) Subject: (.*)\.", re.DOTALL)


class Field(NamedTuple):
    """One name of an event's data."""

    name: str
    note: str  # what it is, or which values it has
    optional: bool


class Event(NamedTuple):
    """A kind of event."""

    kind: str
    room: str
    meaning: str
    subject: str
    fields: tuple[Field, ...]
    type: str  # the class of its data

    @property
    def data(self) -> str:
        """Its fields in one line: those that are always there, then the others."""
        always = _joined([field for field in self.fields if not field.optional])
        others = _joined([field for field in self.fields if field.optional])
        return f"{always}{'; ' if always and others else ''}{'at times ' if others else ''}{others}"


def events() -> list[Event]:
    """Every kind, by room and in the order of its definitions."""
    return [
        _event(source, node)
        for source in named("events")
        for node in source.definitions.values()
        if isinstance(node, ast.ClassDef) and DOCSTRING.fullmatch(_docstring(node))
    ]


def _event(source: Source, node: ast.ClassDef) -> Event:
    match = DOCSTRING.fullmatch(_docstring(node))
    assert match is not None
    kind, meaning, subject = match.groups()
    assert node.name == "".join(part.capitalize() for part in kind.split(".")), f"the class of {kind} is {node.name}"
    return Event(kind, source.room, meaning, subject, tuple(_fields(source, node)), node.name)


def _docstring(node: ast.ClassDef) -> str:
    return " ".join((ast.get_docstring(node) or "").split())


def _fields(source: Source, node: ast.ClassDef) -> list[Field]:
    """The fields of a class: those that Python takes only as texts, its own, then those of its bases."""
    own = [
        _field(source, part.target.id, part.annotation, source.comment(part))
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]
    names = [base.id for base in node.bases if isinstance(base, ast.Name)]
    first = [field for name in names if name in source.constants for field in _base(source, name)]
    last = [field for name in names if name not in source.constants for field in _base(source, name)]
    return [*first, *own, *last]


def _base(source: Source, name: str) -> list[Field]:
    if name in source.imports:
        room, file, name = source.imports[name]
        return _base(sources()[room, file], name)
    if name in source.constants:  # TypedDict("From", {"from": str}): names that Python takes only as texts
        call = source.constants[name]
        assert isinstance(call, ast.Call)
        table = call.args[1]
        assert isinstance(table, ast.Dict)
        return [
            _field(source, str(key.value), hint, source.comment(hint))
            for key, hint in zip(table.keys, table.values, strict=True)
            if isinstance(key, ast.Constant)
        ]
    node = source.definitions.get(name)
    return _fields(source, node) if isinstance(node, ast.ClassDef) else []


def _field(source: Source, name: str, hint: ast.expr, comment: str) -> Field:
    optional = isinstance(hint, ast.Subscript) and ast.unparse(hint.value) == "NotRequired"
    if isinstance(hint, ast.Subscript) and optional:
        hint = hint.slice
    if isinstance(hint, ast.Subscript) and ast.unparse(hint.value) == "Literal":
        values = hint.slice.elts if isinstance(hint.slice, ast.Tuple) else [hint.slice]
        lines = [value.lineno for value in values]
        notes = [_value(source, value, alone=lines.count(value.lineno) == 1) for value in values]
        comment = "; ".join([", ".join(notes), *([comment] if comment else [])])
    return Field(name, comment, optional)


def _value(source: Source, value: ast.expr, *, alone: bool) -> str:
    text = f"`{ast.literal_eval(value)}`"
    note = source.comment(value) if alone else ""
    return f"{text} ({note})" if note else text


def _joined(fields: list[Field]) -> str:
    """Names without a note in one pair of backquotes; a note follows its name."""
    parts: list[str] = []
    plain: list[str] = []
    for field in fields:
        plain.append(field.name)
        if field.note:
            note = f": {field.note}" if "(" in field.note else f" ({field.note})"
            parts.append(f"`{', '.join(plain)}`{note}")
            plain = []
    if plain:
        parts.append(f"`{', '.join(plain)}`")
    return _listed(parts)


def _listed(parts: list[str]) -> str:
    """A part that lists something itself ends with a semicolon."""
    text = ""
    for part in parts:
        text += ("; " if "`: " in text else ", ") if text else ""
        text += part
    return text
