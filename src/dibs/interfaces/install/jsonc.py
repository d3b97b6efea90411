"""JSON text with positions, so that an item can be inserted or removed while every other byte stays as it is.

Reads JSON with comments and trailing commas, as editors and clients accept it. A document is never written by dumping
the whole of it: people's order, indentation, comments and line ends are theirs.
"""

from __future__ import annotations

import json

from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

TYPE_CHECKING = False

MAX_DEPTH = 100  # settings are a few levels deep; more is an accident
SPACE = " \t\r\n"


class Node:
    """A value in a text: its start and end, and its members."""

    __slots__ = ("end", "items", "keys", "kind", "start", "value")

    def __init__(self, kind: str, start: int) -> None:
        self.kind = kind  # "object", "array", or "scalar"
        self.start = start
        self.end = start
        self.value: str | float | bool | None = None  # of a scalar
        self.items: list[Node] = []
        self.keys: list[tuple[str, int]] = []  # of an object: each key and where it starts

    def get(self, key: str) -> Node | None:
        """The member of that name; of several the last, like every reader of JSON."""
        found = None
        for (name, _), item in zip(self.keys, self.items, strict=True):
            if name == key:
                found = item
        return found

    def plain(self) -> object:
        """The value, without positions."""
        if self.kind == "object":
            return self.members()
        if self.kind == "array":
            return [item.plain() for item in self.items]
        return self.value

    def members(self) -> dict[str, object]:
        """The values of an object by their names, without positions."""
        return {name: item.plain() for (name, _), item in zip(self.keys, self.items, strict=True)}

    def begins(self, place: int) -> int:
        """Where the item at this place starts, its key included."""
        return self.keys[place][1] if self.kind == "object" else self.items[place].start


def document(text: str, path: str) -> Node:
    """The object in the text of a file; a refusal names the file and says that nothing was changed."""
    try:
        found = read(text)
    except ValueError as error:
        raise Invalid(f"{path} is not valid JSON ({error}); fix it first. Nothing was changed.", path=path) from None
    if found.kind != "object":
        raise Invalid(f"{path} holds no JSON object; nothing was changed", path=path)
    return found


def read(text: str) -> Node:
    """The document in a text. ValueError says what is wrong, and in which line."""
    reader = _Reader(text)
    place = reader.skip(1 if text.startswith("\ufeff") else 0)
    node = reader.value(place, 0)
    if reader.skip(node.end) != len(text):
        raise reader.wrong("more text after the end", node.end)
    return node


class _Reader:
    """A recursive reader of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._decoder = json.JSONDecoder(parse_constant=_no_constant)

    def wrong(self, what: str, place: int) -> ValueError:
        return ValueError(f"line {self.text.count(chr(10), 0, place) + 1}: {what}")

    def skip(self, place: int) -> int:
        """Past white space and comments."""
        text = self.text
        while place < len(text):
            if text[place] in SPACE:
                place += 1
            elif text.startswith("//", place):
                end = text.find("\n", place)
                place = len(text) if end < 0 else end
            elif text.startswith("/*", place):
                end = text.find("*/", place + 2)
                if end < 0:
                    raise self.wrong("a comment without an end", place)
                place = end + 2
            else:
                break
        return place

    def value(self, place: int, depth: int) -> Node:
        sign = self.text[place : place + 1]
        if depth > MAX_DEPTH:
            raise self.wrong("nested too deeply", place)
        if sign in {"{", "["}:
            return self.container(place, depth)
        node = Node("scalar", place)
        try:
            node.value, node.end = self._decoder.raw_decode(self.text, place)
        except ValueError:
            raise self.wrong("not JSON", place) from None
        return node

    def container(self, place: int, depth: int) -> Node:
        node = Node("object" if self.text[place] == "{" else "array", place)
        close = "}" if node.kind == "object" else "]"
        place = self.skip(place + 1)
        while self.text[place : place + 1] != close:
            if node.kind == "object":
                key = self.value(place, depth + 1)
                if not isinstance(key.value, str):
                    raise self.wrong("a name in quotes was expected", place)
                node.keys.append((key.value, key.start))
                place = self.skip(key.end)
                if self.text[place : place + 1] != ":":
                    raise self.wrong("a colon was expected", place)
                place = self.skip(place + 1)
            item = self.value(place, depth + 1)
            node.items.append(item)
            place = self.skip(item.end)
            if self.text[place : place + 1] == ",":
                place = self.skip(place + 1)
            elif self.text[place : place + 1] != close:
                raise self.wrong(f"a comma or {close} was expected", place)
        node.end = place + 1
        return node


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


# --- insertions and removals


def insert(text: str, node: Node, value: object, key: str | None = None) -> str:
    """The text with a new last item in an object (then with its key) or array."""
    close = node.end - 1
    if not node.items:
        return _fill(text, node, value, key)
    last = node.items[-1].end
    comma = _comma(text, last, close)
    written = text[node.start : node.begins(0)]
    inner = text[node.start : close].rstrip(SPACE)
    spot = node.start + len(inner)  # after the last item and its comments
    if "\n" not in written:  # on one line, and it stays so
        piece = _item(value, key, None, "", "\n")
        piece = f" {piece}," if comma else f", {piece}"  # a trailing comma stays one
        spot = comma or last
        return text[:spot] + piece + text[spot:]
    lead = _lead(text, node.begins(0))
    piece = newline(text) + lead + _item(value, key, unit(text), lead, newline(text))
    if comma:
        return text[:spot] + piece + "," + text[spot:]
    return text[:last] + "," + text[last:spot] + piece + text[spot:]


def remove(text: str, node: Node, place: int) -> str:
    """The text without one item of a container; the text around it stays."""
    start, item = node.begins(place), node.items[place]
    before = len(text[:start].rstrip(SPACE))
    comma = _comma(text, item.end, node.end - 1)
    if place + 1 < len(node.items) or not place:
        if len(node.items) == 1 and text[node.start + 1 : before].strip(SPACE) == "":
            return text[: node.start + 1] + text[node.end - 1 :].lstrip(SPACE)
        end = comma or item.end
        if "\n" not in text[before:start]:  # on one line: the space before the next item goes instead
            return text[:start] + text[end:].lstrip(" ")
        return text[:before] + text[end:]
    if comma:  # this list has trailing commas; the comma of the item before becomes it
        return text[:before] + text[comma:]
    dropped = _comma(text, node.items[place - 1].end, start)  # nothing follows it any more
    return text[: dropped - 1] + text[dropped:before] + text[item.end :]


def replace(text: str, node: Node, value: object) -> str:
    """The text with another value in the place of one."""
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    lead = line[: len(line) - len(line.lstrip(" \t"))]
    flat = "\n" not in text[node.start : node.end]
    return text[: node.start] + _item(value, None, None if flat else unit(text), lead, newline(text)) + text[node.end :]


def newline(text: str) -> str:
    """How lines end in a text."""
    return "\r\n" if "\r\n" in text else "\n"


def unit(text: str) -> str:
    """One step of indentation: that of the first indented line."""
    for line in text.splitlines():
        lead = line[: len(line) - len(line.lstrip(" \t"))]
        if lead and line.strip() and not line.strip().startswith(("*", "/")):
            return lead
    return "  "


def dump(value: object) -> str:
    """A new document."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _fill(text: str, node: Node, value: object, key: str | None) -> str:
    """Insert the first item of a container that may hold comments."""
    close = node.end - 1
    lead = _line_lead(text, node.start)
    step = unit(text)
    inner = text[node.start + 1 : close].rstrip(SPACE)
    spot = node.start + 1 + len(inner)
    end = newline(text)
    piece = end + lead + step + _item(value, key, step, lead + step, end)
    return text[:spot] + piece + end + lead + text[close:]


def _comma(text: str, place: int, limit: int) -> int:
    """The place after the next comma, or 0."""
    place = _Reader(text).skip(place)
    return place + 1 if place < limit and text[place] == "," else 0


def _lead(text: str, place: int) -> str:
    """The white space before an item that starts its line; else one step more than its line's."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line if not line.strip(" \t") else _line_lead(text, place) + unit(text)


def _line_lead(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place].removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _item(value: object, key: str | None, step: str | None, lead: str, end: str) -> str:
    """A value as text, with its key if it has one; in one line without a `step`."""
    if step is None:
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = json.dumps(value, indent=step, ensure_ascii=False).replace("\n", end + lead)
    return text if key is None else f"{json.dumps(key, ensure_ascii=False)}: {text}"
