"""JSON text, encoded and decoded by the interpreter's own C functions without importing the `json` package.

`import json` costs 9 to 15 ms because of `re`; the hook path has about 6 ms in all. The C functions behind it are
the same. Where they are missing or refuse, the `json` package does the work.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeGuard


class _Context:
    """What the C scanner wants to know; the same as json.JSONDecoder's defaults."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None
    memo: dict[str, str] = {}  # noqa: RUF012 - the C scanner reads it as an attribute and clears it itself
    array_hook = None


def _no_default(value: Any) -> Any:
    message = f"a {type(value).__name__} is not JSON"
    raise TypeError(message)


try:
    from _json import encode_basestring_ascii, make_encoder, make_scanner

    # The stub asks for a scanner; the C function reads attributes of whatever it gets.
    _scan = make_scanner(_Context())  # type: ignore[arg-type]
    _encode = make_encoder(None, _no_default, encode_basestring_ascii, None, ":", ",", False, False, False)

    def encode(value: Any) -> str:
        """A plain value as compact JSON text, ASCII only, in the order of its keys."""
        return "".join(_encode(value, 0))

    def decode(text: str) -> Any:
        """The value of a JSON text that dibs wrote itself (nothing may stand before or after it)."""
        try:
            value, end = _scan(text, 0)
        except (
            StopIteration,
            SystemError,
            ValueError,
        ):  # its words depend on whether `json` is loaded
            message = "not JSON text"
            raise ValueError(message) from None
        if end != len(text):
            message = "more than one JSON value"
            raise ValueError(message)
        return value

    def decode_all(texts: list[str]) -> list[Any]:
        """The values of many texts in one go: the names of fields are then made once, not once a text."""
        if len(texts) < 2:  # noqa: PLR2004 - one alone gains nothing
            return [decode(text) for text in texts]
        values: list[Any] = decode(f"[{','.join(texts)}]")
        if len(values) != len(texts):
            message = "more than one JSON value"
            raise ValueError(message)
        return values

except ImportError:  # pragma: no cover - an interpreter without the C functions
    import json

    def encode(value: Any) -> str:
        """A plain value as compact JSON text, ASCII only, in the order of its keys."""
        return json.dumps(value, separators=(",", ":"), allow_nan=False)

    def decode(text: str) -> Any:
        """The value of a JSON text."""
        return json.loads(text)

    def decode_all(texts: list[str]) -> list[Any]:
        """The values of many texts."""
        return [json.loads(text) for text in texts]


def is_text(value: object) -> TypeGuard[str]:
    """Is it a text that can be kept and printed? Half of a character that takes two units (a lone surrogate) is not."""
    if not isinstance(value, str):
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
