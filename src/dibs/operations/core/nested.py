"""Fields with `items`: a list of objects, one object, or a list of rows, each with fields of its own (declare.py).

Apart from json_values.py, which a hook does not need.
"""

from __future__ import annotations

from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.declare import Field
    from dibs.stores.seam import Json


def check(field: Field, value: Json) -> Json:
    """The value, if each object in it has the fields that are declared for it."""
    if field.kind == "object":
        return _check_inside(field, 0, {one.name: one for one in field.items}, value)
    if field.kind == "rows":
        return _check_rows(field, value)
    return _check_items(field, value) if value is not None or field.required else value


def _check_items(field: Field, value: Json) -> list[dict[str, Json]]:
    """A list of objects, each with the fields that are declared for it."""
    name = field.name
    needed = ", ".join([one.name for one in field.items if one.required])
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, dict) for item in value):
        raise Invalid(f"{name}: a list of objects, each with at least {needed}", field=name)
    if field.most is not None and len(value) > field.most:
        raise Invalid(f"{name}: at most {field.most} at once, not {len(value)}", field=name)
    if field.least is not None and len(value) < field.least:
        raise Invalid(f"{name}: at least {field.least}, each with at least {needed}", field=name)
    known = {one.name: one for one in field.items}
    return [_check_inside(field, place + 1, known, item) for place, item in enumerate(value)]


def _check_rows(field: Field, value: list[Json]) -> list[list[Json]]:
    """A list of lists, each with one value for each column."""
    known = {one.name: one for one in field.items}
    found = []
    for place, row in enumerate(value):
        if not isinstance(row, (list, tuple)) or len(row) != len(known):
            raise Invalid(f"{field.name}: item {place + 1}: a list of {', '.join(known)}", field=field.name)
        found.append([*_check_inside(field, place + 1, known, dict(zip(known, row, strict=True))).values()])
    return found


def _check_inside(field: Field, place: int, known: dict[str, Field], item: dict[str, Json]) -> dict[str, Json]:
    """One object; a refusal says where it is, unless there is only one."""
    try:
        return _check_item(known, item)
    except Invalid as error:
        where = f"{field.name}: item {place}" if place else field.name
        raise Invalid(f"{where}: {error.message}", field=error.fields.get("field", field.name)) from None


def _check_item(known: dict[str, Field], item: dict[str, Json]) -> dict[str, Json]:
    """One object of a list. What is null was not said."""
    found: dict[str, Json] = {}
    for name, value in item.items():
        if name not in known:
            raise Invalid(f"there is no field {name!r}", field=str(name))
        found[name] = value if value is None else known[name].check(value)
    for name, field in known.items():
        if field.required and item.get(name) is None:
            raise Invalid(f"{name} is missing ({field.help})", field=name)
    return found
