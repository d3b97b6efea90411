"""Words of the shell: turns the text of a word into the fields that a command would get, without running anything.

In the shell's order: braces, tilde, parameters, splitting, pathname expansion, quote removal. The tree gives the ends
of words and the contents of `$(…)`; this module reads the inside of one word. A field that cannot be known is an
`Unknown`.

A word is split into items (character, kind). The kind says which later steps still apply to it. Quoted text, to which
none of them applies, is one item of several characters.
"""

from __future__ import annotations

from dibs.shell import globs as shell_globs
from dibs.shell.findings import LITERAL_LETTERS
from dibs.shell.unknown import ANY, PLAIN, Unknown, between

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.shell.findings import Value
    from dibs.shell.unknown import Field

    Item = tuple[Field, int]
    Holes = dict[int, tuple[int, Callable[[], Value]]]  # start of an expansion → its end and its value

QUOTED, LITERAL, EXPANDED, BREAK = range(4)  # from quotes · as typed · from a variable, unquoted · between two fields
MAX_NESTED_BRACES = 50  # in one word; finding their ends takes the square of it
MAX_BRACE_FIELDS = 1_000  # made by the braces of one word; with more, unknown
_NAME = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
_ANSI = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_CODES = {"x": (16, 2), "u": (16, 4), "U": (16, 8)}


def fields(
    text: str, holes: Holes, cwd: str | None, home: str, view: shell_globs.FileView, separators: str = " \t\n"
) -> list[Field]:
    """The fields that one word becomes; holes are counted from the start of the text."""
    if not holes and not text.strip(LITERAL_LETTERS):
        return [text]
    expanded: list[Field] = []
    for word in _braces(_items(text, holes)):
        for field in _split(_tilde(word, cwd, home), separators):
            expanded += _files(field, cwd, view)
    return expanded


def value(text: str, holes: Holes, cwd: str | None, home: str) -> Field:
    """The text that a word has in an assignment: no braces, no splitting, no files."""
    items = _tilde(_items(text, holes), cwd, home)
    return _vague(items) or "".join([" " if kind == BREAK else str(item) for item, kind in items])


def _vague(items: list[Item]) -> Unknown | None:
    """The known beginning of a word with an unknown part; None if the whole word is known."""
    for index, (item, _) in enumerate(items):
        if isinstance(item, Unknown):
            before = ""
            for character, kind in items[:index]:
                if kind != QUOTED and character in {"*", "?", "["}:
                    return between(before, ANY, "")  # a pattern: its matches begin alike
                before += str(character)
            rest = items[index + 1 :]
            after = "".join([other if isinstance(other, str) else "" for other, _ in rest])
            if all(isinstance(other, str) and (kind == QUOTED or other not in "*?[") for other, kind in rest):
                beginning = between(before, item, after)
                if not rest or beginning.whole:
                    return beginning
            beginning = between(before, item.begun(), after)
            return Unknown(beginning.below, _end(rest))
    return None


def _end(items: list[Item]) -> str:
    """The known text after the last unknown part and the last wildcard; "" if there is none."""
    ending = ""
    for item, kind in reversed(items):
        if not isinstance(item, str) and kind == LITERAL:
            return ""  # an expansion that the grammar has not seen: its name is among the letters
        if not isinstance(item, str) or (kind != QUOTED and item in {"*", "?", "[", "]"}):
            break
        ending = item + ending
    # `a/../b` ends otherwise than its text
    return "" if "//" in ending or not {".", ".."}.isdisjoint(ending.split("/")) else ending


def pattern(text: str, holes: Holes) -> list[shell_globs.Atom] | None:
    """A word as a pattern, or None if a part of it is unknown."""
    items = _items(text, holes)
    known = [(item, kind != QUOTED) for item, kind in items if isinstance(item, str)]
    return shell_globs.singly(known) if len(known) == len(items) else None


def _items(text: str, holes: Holes) -> list[Item]:
    items: list[Item] = []
    i = 0
    while i < len(text):
        character = text[i]
        if i in holes:
            i = _hole(items, holes[i], EXPANDED)
        elif character == "\\":
            if text[i + 1 : i + 2] not in {"\n", ""}:
                items.append((text[i + 1], QUOTED))
            i += 2
        elif character == "'":
            end = text.find("'", i + 1)
            end = len(text) if end < 0 else end
            items.append((text[i + 1 : end], QUOTED))
            i = end + 1
        elif character == '"':
            i = _double(items, text, i + 1, holes)
        elif character == "$":
            i = _dollar(items, text, i, holes)
        else:
            unclear = character in "`()"  # an unrecognised substitution, or a pattern of ksh
            items.append((ANY if unclear else character, LITERAL))
            i += 1
    return items


def _hole(items: list[Item], hole: tuple[int, Callable[[], Value]], kind: int) -> int:
    end, evaluate = hole
    content = evaluate()
    if isinstance(content, list):
        for index, element in enumerate(content):
            if index:
                items.append(("", BREAK))
            items.append(("", kind))
            characters = element if isinstance(element, str) else [element]
            items += [(character, kind) for character in characters]
    elif isinstance(content, Unknown):
        items.append((content.split() if kind == EXPANDED else content, kind))
    elif kind == QUOTED:
        items.append((content, kind))
    else:
        items += [(character, kind) for character in content]
    return end


def _dollar(items: list[Item], text: str, i: int, holes: Holes) -> int:
    after = text[i + 1 : i + 2]
    if after == "'":
        return _ansi(items, text, i + 2)
    if after == '"':
        return _double(items, text, i + 2, holes)
    # A dollar that starts nothing is literal; one that should start an expansion missing from the tree is a doubt.
    items.append((ANY if after and (after in _NAME or after in "{(@*#?!-[") else "$", LITERAL))
    return i + 1


def _double(items: list[Item], text: str, i: int, holes: Holes) -> int:
    """Read a double-quoted text; returns its end."""
    items.append(("", QUOTED))
    while i < len(text) and text[i] != '"':
        if i in holes:
            i = _hole(items, holes[i], QUOTED)
        elif text[i] == "\\" and text[i + 1 : i + 2] in {"$", "`", '"', "\\", "\n"}:
            if text[i + 1] != "\n":
                items.append((text[i + 1], QUOTED))
            i += 2
        else:
            after = text[i + 1 : i + 2]
            unclear = text[i] == "`" or (text[i] == "$" and after and (after in _NAME or after in "{(@*#?!-["))
            start = i
            i += 1
            while not unclear and i < len(text) and text[i] not in '"\\$`':
                i += 1
            items.append((ANY if unclear else text[start:i], QUOTED))
    return i + 1


def _ansi(items: list[Item], text: str, i: int) -> int:
    """Read `$'…'`; returns its end."""
    items.append(("", QUOTED))
    while i < len(text) and text[i] != "'":
        if text[i] != "\\" or i + 1 >= len(text):
            items.append((text[i], QUOTED))
            i += 1
            continue
        kind = text[i + 1]
        if kind in _CODES:
            base, most = _CODES[kind]
            i = _code(items, text, i + 2, base, most)
        elif kind in "01234567":
            i = _code(items, text, i + 1, 8, 3)
        elif kind == "c":
            items.append((chr(ord(text[i + 2 : i + 3] or "@") & 0x1F), QUOTED))
            i += 3
        else:
            items.append((_ANSI.get(kind, "\\" + kind), QUOTED))
            i += 2
    return i + 1


def _code(items: list[Item], text: str, i: int, base: int, most: int) -> int:
    digits = ""
    while len(digits) < most and text[i : i + 1] and text[i] in "0123456789abcdefABCDEF"[: base if base == 8 else 22]:  # noqa: PLR2004 - octal
        digits += text[i]
        i += 1
    number = int(digits or "0", base)
    # Bytes above ASCII may join their neighbours into one character; file names are not written that way.
    clear = bool(digits) and number < (0x80 if most < 4 else 0x110000) and number != 0  # noqa: PLR2004
    clear = clear and not 0xD800 <= number <= 0xDFFF  # noqa: PLR2004 - halves of surrogate pairs are no characters
    items.append((chr(number) if clear else ANY, QUOTED))
    return i


def _tilde(items: list[Item], cwd: str | None, home: str) -> list[Item]:
    if not items or items[0] != ("~", LITERAL):
        return items
    end = 1
    while end < len(items) and items[end] != ("/", LITERAL):
        end += 1
    if any(kind != LITERAL for _, kind in items[1:end]):
        return items
    name = "".join([character if isinstance(character, str) else "?" for character, _ in items[1:end]])
    known = {"": home, "+": cwd}.get(name)
    return [(known or ANY, QUOTED), *items[end:]]


def _split(items: list[Item], separators: str) -> list[list[Item]]:
    """Split into fields: values of unquoted variables are split at blanks, or as IFS says."""
    fields: list[list[Item]] = []
    current: list[Item] = []
    for item in items:
        character, kind = item
        if kind == BREAK or (kind == EXPANDED and isinstance(character, str) and character and character in separators):
            if current:
                fields.append(current)
            current = []
        elif kind != EXPANDED or character != "":
            current.append(item)
    return [*fields, current] if current else fields


def _files(field: list[Item], cwd: str | None, view: shell_globs.FileView) -> list[Field]:
    vague = _vague(field)
    if vague:
        return [vague]
    atoms = [(character, kind != QUOTED) for character, kind in field if isinstance(character, str) and character]
    if shell_globs.is_pattern(atoms):
        atoms = shell_globs.singly(atoms)
        try:
            names = shell_globs.files(atoms, cwd, view)
        except shell_globs.LimitReached:
            start = next(i for i, (text, active) in enumerate(atoms) if active and text in "*?[")
            return [between(shell_globs.plain(atoms[:start]), ANY if start else PLAIN, "")]
        if names:
            return list(names)
    return [shell_globs.plain(atoms)]


# ------------------------------------------------------------------------------------------------------------------
# Braces


def _braces(items: list[Item]) -> list[list[Item]]:
    opened = items.count(("{", LITERAL))
    if not opened:
        return [items]
    if opened > MAX_NESTED_BRACES:
        return [[(ANY, LITERAL)]]
    words = _expand(items, MAX_BRACE_FIELDS)
    return words if words is not None else [[(ANY, LITERAL)]]


def _expand(items: list[Item], room: int) -> list[list[Item]] | None:
    """The words that the first braces make, with those of the rest; None if there are too many."""
    for start, item in enumerate(items):
        if item != ("{", LITERAL):
            continue
        close, commas = _group(items, start)
        if not close:
            continue
        inside = items[start + 1 : close]
        choices = _choices(items, start, close, commas) if commas else _sequence(inside)
        if choices is None:
            continue
        words: list[list[Item]] = []
        rests = _expand(items[close + 1 :], room)
        if rests is None:
            return None
        for choice in choices:
            firsts = _expand(choice, room)
            if firsts is None or len(words) + len(firsts) * len(rests) > room:
                return None
            words += [[*items[:start], *first, *rest] for first in firsts for rest in rests]
        return words
    return [items]


def _group(items: list[Item], start: int) -> tuple[int, list[int]]:
    """The places of the closing brace and of the commas between; 0 if the braces do not close."""
    depth = 0
    commas: list[int] = []
    for i in range(start, len(items)):
        character, kind = items[i]
        if kind != LITERAL:
            continue
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return i, commas
        elif character == "," and depth == 1:
            commas.append(i)
    return 0, []


def _choices(items: list[Item], start: int, close: int, commas: list[int]) -> list[list[Item]]:
    cuts = [start, *commas, close]
    return [items[cuts[i] + 1 : cuts[i + 1]] for i in range(len(cuts) - 1)]


def _sequence(inside: list[Item]) -> list[list[Item]] | None:
    """`{1..5}`, `{01..10..2}`, `{a..e}`; None if it is none of these."""
    if any(kind != LITERAL or isinstance(character, Unknown) for character, kind in inside):
        return None
    parts = "".join([str(character) for character, _ in inside]).split("..")
    if len(parts) not in {2, 3} or not all(parts):
        return None
    numbers = [_number(part) for part in parts]
    step = abs(numbers[2] or 1) if len(parts) == 3 and numbers[2] is not None else 1  # noqa: PLR2004 - from, to, step
    first, last = numbers[0], numbers[1]
    if first is not None and last is not None:
        wide = max(len(part) for part in parts[:2]) if any(_padded(part) for part in parts[:2]) else 0
        texts = [str(number).zfill(wide) for number in _count(first, last, step)]
    elif len(parts[0]) == len(parts[1]) == 1 and parts[0].isalpha() and parts[1].isalpha():
        texts = [chr(code) for code in _count(ord(parts[0]), ord(parts[1]), step)]
    else:
        return None
    return [[(character, QUOTED) for character in text] for text in texts]


def _number(part: str) -> int | None:
    digits = part[1:] if part[0] in "+-" else part
    return int(part) if digits.isascii() and digits.isdigit() and len(digits) < 18 else None  # noqa: PLR2004 - 64 bits


def _padded(part: str) -> bool:
    digits = part.lstrip("+-")
    return len(digits) > 1 and digits.startswith("0")


def _count(first: int, last: int, step: int) -> range:
    if first <= last:
        return range(first, min(last, first + (MAX_BRACE_FIELDS + 1) * step) + 1, step)
    return range(first, max(last, first - (MAX_BRACE_FIELDS + 1) * step) - 1, -step)
