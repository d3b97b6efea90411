"""Resources for tests that call operations without a door: in the class that workspace/paths.py would have made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.canonical import Canonical

if TYPE_CHECKING:
    from dibs.operations.core.declare import Field, Operation


def canonical(operation: Operation, fields: dict[str, Any]) -> dict[str, Any]:
    """The request with its resources as workspace/paths.py would have made them."""
    made: dict[str, Any] = _object(operation.fields, fields)
    return made


def _object(declared: tuple[Field, ...], given: Any) -> Any:
    if not isinstance(given, dict):
        return given  # as odd as it came
    return {**given, **{one.name: _value(one, given[one.name]) for one in declared if one.name in given}}


def _value(field: Field, given: Any) -> Any:
    if field.items and field.kind == "object" and isinstance(given, dict):
        return _object(field.items, given)
    if not isinstance(given, (list, tuple)):
        return given
    if field.kind == "resource":
        return Canonical(given)
    if field.kind == "resources":
        return [Canonical(one) if isinstance(one, (list, tuple)) else one for one in given]
    if field.kind == "rows":
        return [list(map(_value, field.items, row)) if _fits(field, row) else row for row in given]
    return [_object(field.items, one) for one in given] if field.items else given


def _fits(field: Field, row: Any) -> bool:
    return isinstance(row, (list, tuple)) and len(row) == len(field.items)
