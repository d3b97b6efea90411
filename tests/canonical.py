"""Resources for tests that call operations without a door: in the class that facts/ would have made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.canonical import Canonical

if TYPE_CHECKING:
    from dibs.operations.core.declare import Operation


def canonical(operation: Operation, fields: dict[str, Any]) -> dict[str, Any]:
    """The request with its resources as facts/ would have made them."""
    made: dict[str, Any] = {}
    for field in operation.fields:
        given = fields.get(field.name)
        if field.kind == "resource" and isinstance(given, (list, tuple)):
            made[field.name] = Canonical(given)
        elif field.kind == "resources" and isinstance(given, (list, tuple)):
            made[field.name] = [Canonical(one) for one in given]
    return {**fields, **made}
