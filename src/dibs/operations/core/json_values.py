"""Values that agents bring: payloads, results, documents. Plain JSON, not too large, not too deep.

A value goes into the store as it is. One text is refused everywhere: the placeholder for the commit's number, which the
store would fill in.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.errors import Invalid
from dibs.jsontext import is_text
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.declare import Field
    from dibs.stores.seam import Json

MAX_JSON_DEPTH = 32  # levels of nesting; more is a mistake or an attack
MAX_SAFE_INTEGER = 2**53  # whole numbers beyond this are not the same in every JSON reader


def check(value: Json, field: str, largest: int) -> Json:
    """The value, if it can be kept; `largest` letters of JSON text, 0 for no limit."""
    _walk(value, field, 0)
    size = len(jsontext.encode(value)) if largest else 0
    if size > largest:
        raise Invalid(f"{field}: {size} letters of JSON, at most {largest}; put it into a file", field=field, size=size)
    return value


def check_field(field: Field, value: Json) -> None:
    """The value of a field of kind `json`; nested.py looks at those with `items`."""
    if value is not None:
        check(value, field.name, field.longest)


def _walk(value: Json, field: str, depth: int) -> None:
    if depth > MAX_JSON_DEPTH:
        raise Invalid(f"{field}: nested more than {MAX_JSON_DEPTH} levels deep", field=field)
    if isinstance(value, dict):
        for name, inner in value.items():
            if not is_text(name) or COMMIT in name:
                raise Invalid(f"{field}: a name in an object is a text without U+001A", field=field)
            _walk(inner, field, depth + 1)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _walk(inner, field, depth + 1)
    elif isinstance(value, str):
        _check_text(value, field)
    elif isinstance(value, float):
        if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124 - not a number
            raise Invalid(f"{field}: {value} is not JSON", field=field)
    elif isinstance(value, int) and not isinstance(value, bool):
        if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            raise Invalid(f"{field}: a whole number beyond 2^53 is not safe in JSON; write it as a text", field=field)
    elif value is not None and not isinstance(value, bool):
        raise Invalid(f"{field}: a value of type {type(value).__name__} is not JSON", field=field)


def _check_text(text: str, field: str) -> None:
    if COMMIT in text:
        raise Invalid(f"{field}: no U+001A in a text", field=field)
    if not is_text(text):
        raise Invalid(f"{field}: a text has a lone surrogate (half of a character)", field=field)


MAX_KEY_CHARS = 200  # as of an agent's id


def check_key(key: object, *, least: int = 1) -> str:
    """A document's key, in the form in which names are compared."""
    if not isinstance(key, str) or not least <= len(key) <= MAX_KEY_CHARS:
        raise Invalid(f"key: a text of 1 to {MAX_KEY_CHARS} characters", field="key")
    if not key.isprintable() or " " in key or key.startswith("-"):
        raise Invalid("key: no blanks, no control characters and no dash first", field="key")
    text: str = key
    if text.isascii():
        return text
    import unicodedata  # as for names that are claimed: one key, however its accents were typed

    return unicodedata.normalize("NFC", text)
