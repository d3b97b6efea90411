"""Lines of a terminal: texts with styles, cut and filled to a number of columns. Knows nothing of dibs.

A line is a list of (text, style). Styles are words (`bad`, `wait`, `dim` …) that paint.py turns into colours; without
colours the letters and words of a line say the same.
"""

from __future__ import annotations

from dibs.interfaces.cli.terminal import cells, cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.interfaces.top.rows import Line, Span


def width_of(line: Iterable[Span]) -> int:
    """How many columns a line takes."""
    return sum([cells(text) for text, _ in line])


def fit(line: Iterable[Span], columns: int) -> Line:
    """The line in exactly this many columns: cut with an ellipsis, or filled with blanks."""
    found: Line = []
    left = columns
    for text, style in line:
        size = cells(text)
        if size > left:
            if left > 0:
                kept = cut(text, left)
                found.append((kept, style))
                left -= cells(kept)
            break
        if text:
            found.append((text, style))
            left -= size
    if left > 0:
        found.append((" " * left, ""))
    return found


def spaced(columns: int, *spans: Span) -> Line:
    """Cells of a row, each after a blank, in exactly this many columns."""
    return fit([part for span in spans for part in ((" ", ""), span)], columns)


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """A text in exactly this many columns."""
    if columns <= 0:
        return ""
    text = cut(text, columns)
    blanks = " " * (columns - cells(text))
    return blanks + text if right else text + blanks


def between(left: Iterable[Span], right: Iterable[Span], columns: int, fill: str = " ", style: str = "") -> Line:
    """Two texts at the two ends of a line; the left one gives way."""
    end = list(right)
    size = width_of(end)
    begin = list(left)
    room = max(0, columns - size - 1)
    if width_of(begin) > room:
        begin = fit(begin, room)
    gap = max(0, columns - size - width_of(begin))
    return fit([*begin, (fill * gap, style), *end], columns)


def bar(part: float, columns: int, letter: str) -> str:
    """How much is left, as a bar of letters."""
    full = max(0, min(columns, round(part * columns)))
    return letter * full + "-" * (columns - full)


def window(count: int, rows: int, selected: int, top: int) -> int:
    """The first row to show, so that the selected one is seen; as near to `top` as it can be."""
    if selected < top:
        top = selected
    elif selected >= top + rows:
        top = selected - rows + 1
    return max(0, min(top, count - rows))


def wrapped(text: str, columns: int, most: int) -> list[str]:
    """A text in lines, broken at blanks; no more than `most`, the last one cut."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and cells(longer) > columns:
            lines.append(line)
            line = word
        else:
            line = longer
    lines.append(line)
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    return [cut(one, columns) for one in lines]


def text_of(lines: Sequence[Sequence[Span]]) -> str:
    """Lines as plain text."""
    return "".join(["".join([text for text, _ in line]).rstrip() + "\n" for line in lines])
