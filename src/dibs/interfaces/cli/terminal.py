"""Output for people: plain text in a pipe; on a terminal colours and tables that fit (rich is loaded only then).

Texts of agents (names, reasons, titles) pass through `clean`: no control character reaches a terminal, and nothing is
taken for markup.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self, TextIO

    from rich.console import Console, Group
    from rich.table import Table as RichTable

LEAST_FOLDER = 4  # columns below which a folder is not worth showing
GAP = 2  # columns between two columns of a table
READABLE, SHORT = 12, 6  # columns that a free text keeps, and that any other cell keeps, on a narrow terminal
UNLIMITED = 10_000  # columns of a pipe: nothing is cut there
_choice = ["auto"]
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

# How a column looks, by its title, and which ones give way when the terminal is narrow.
_STYLES = {
    "HELD BY": "bold", "AGENT": "bold", "BY": "bold", "LEFT": "green", "WAITING": "yellow", "TOKEN": "dim",
    "SEEN": "dim", "STARTED": "dim", "WRITTEN": "dim", "AGE": "dim", "EVENT": "dim", "COMMAND": "cyan",
}  # fmt: skip
_ELASTIC = frozenset(
    {
        "FILE",
        "RESOURCE",
        "FOR",
        "TITLE",
        "AFTER",
        "WHY",
        "TASKS",
        "OPERATION",
        "TALLY",
        "ON",
        "WHAT",
        "WAITING",
        "TYPE, CAN",
    }
)
_PATHS = frozenset({"FILE", "RESOURCE"})  # cut in the middle
_STATES = {
    "alive": "green", "complete": "green", "ok": "green", "current": "green", "executing": "cyan", "active": "cyan",
    "gone": "red", "killed": "red", "failed": "red", "quarantined": "red", "old": "yellow", "silent": "yellow",
    "idle": "dim", "left": "dim", "cancelled": "dim",
}  # fmt: skip


class Line(str):
    """A line with a style for terminals."""

    __slots__ = ("style",)

    style: str

    def __new__(cls, text: str, style: str) -> Self:
        made = super().__new__(cls, text)
        made.style = style
        return made


class Aside(str):
    """A line about the answer, for stderr: the answer itself can be piped."""

    __slots__ = ()


class Table:
    """Rows below a head. An empty head is not shown."""

    __slots__ = ("head", "rows", "titles")

    def __init__(self, head: Sequence[str], rows: Iterable[Sequence[str]], *, titles: bool = True) -> None:
        self.head = tuple(head)
        self.rows = [tuple([clean(cell) for cell in row]) for row in rows]
        self.titles = titles  # whether the head is printed


def color_choice(chosen: str) -> None:
    """Set the choice of `--color`."""
    _choice[0] = chosen


def colored(stream: TextIO) -> bool:
    """Whether this stream gets colours: --color, else NO_COLOR, else whether it is a terminal."""
    if _choice[0] != "auto":
        return _choice[0] == "always"
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and _is_terminal(stream)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (ValueError, AttributeError):  # closed, or none at all
        return False


def is_terminal() -> bool:
    """Whether the output is a terminal."""
    return _is_terminal(sys.stdout)


def width() -> int:
    """Columns of the terminal; of a common one where there is none."""
    import shutil

    return max(40, shutil.get_terminal_size((100, 24)).columns)


def clean(text: str) -> str:
    """One line of text without control characters: they are spelt out, and white space becomes a space."""
    if text.isprintable():
        return text
    return "".join([letter if letter.isprintable() else _spelt(letter) for letter in text])


def _spelt(letter: str) -> str:
    if letter.isspace():
        return " "
    if letter == "\u200d":  # joins emoji; terminals disagree about what it makes of them
        return ""
    return f"\\x{ord(letter):02x}" if ord(letter) < 256 else f"\\u{ord(letter):04x}"  # noqa: PLR2004 - one byte


def styled(text: str, style: str, stream: TextIO) -> str:
    """A text in a style, if the stream has colours."""
    if not style or not colored(stream):
        return text
    codes = ";".join([_CODES[word] for word in style.split()])
    return f"\033[{codes}m{text}\033[0m"


def complain(message: str) -> None:
    """An error or a refusal, on standard error."""
    text = "\n".join([clean(line) for line in message.split("\n")])
    sys.stderr.write(f"{styled('dibs:', 'bold red', sys.stderr)} {text}\n")


def write(items: Iterable[str | Table]) -> None:
    """Print lines and tables."""
    given = list(items)
    sys.stdout.write("".join([f"{line}\n" for line in text([one for one in given if not isinstance(one, Aside)])]))
    asides = [clean(one) for one in given if isinstance(one, Aside)]
    if asides:
        sys.stdout.flush()
        sys.stderr.write("".join([f"{line}\n" for line in asides]))


def text(items: Iterable[str | Table]) -> list[str]:
    """Lines and tables as the lines that are printed."""
    pretty = is_terminal() or colored(sys.stdout)
    found: list[str] = []
    for item in items:
        if isinstance(item, Table):
            found += _rich(item) if pretty else plain(item)
        else:
            style = item.style if isinstance(item, Line) else ""
            found += [styled(clean(line), style, sys.stdout) for line in item.split("\n")]
    return found


def plain(table: Table) -> list[str]:
    """A table as text: columns as wide as their widest cell."""
    rows = [table.head, *table.rows] if table.titles else table.rows
    if not rows:
        return []
    widths = [max([cells(row[place]) for row in rows]) for place in range(len(table.head))]
    return ["  ".join([_padded(cell, w) for cell, w in zip(row, widths, strict=True)]).rstrip() for row in rows]


def _padded(cell: str, columns: int) -> str:
    return cell + " " * (columns - cells(cell))


def cells(text: str) -> int:
    """How many columns a text takes: two for a wide character (CJK, emoji), none for a combining one."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        [
            0 if category(letter) in {"Mn", "Me", "Cf"} else 2 if east_asian_width(letter) in {"W", "F"} else 1
            for letter in text
        ]
    )


def cut(text: str, columns: int) -> str:
    """A text that takes no more columns; its end is an ellipsis if it was longer."""
    if cells(text) <= columns:
        return text
    kept, used = [], 1
    for letter in text:
        used += cells(letter)
        if used > columns:
            break
        kept.append(letter)
    return "".join(kept) + "…"


def cut_path(path: str, columns: int) -> str:
    """A path that gives way in the middle: its folder shrinks, the name of the file stays."""
    if cells(path) <= columns:
        return path
    place = path.rfind("/", 0, len(path.rstrip("/"))) + 1
    name = path[place:]
    room = columns - cells(name)
    if place and room >= LEAST_FOLDER:
        return f"{cut(path[:place], room - 1)}/{name}"
    return cut(name, columns)


def _rich(table: Table) -> list[str]:
    """A table in colours, cut to the terminal's width where there is one."""
    console = console_for(sys.stdout)
    with console.capture() as shown:
        console.print(rich_table(table))
    return [line.rstrip() for line in shown.get().splitlines()]


def console_for(stream: TextIO, *, live: bool = False) -> Console:
    """Rich's console for this stream, with our choice of colours and no markup, emoji codes or highlighting."""
    from rich.console import Console

    with_colors = colored(stream)
    return Console(
        file=stream, force_terminal=with_colors or live, color_system="standard" if with_colors else None,
        markup=False, emoji=False, highlight=False, width=width() if _is_terminal(stream) else UNLIMITED,
    )  # fmt: skip


def rich_table(table: Table) -> RichTable:
    """The table as rich draws it. Cells are plain text: nothing in them is markup."""
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(box=None, pad_edge=False, show_header=table.titles, padding=(0, GAP, 0, 0), header_style="dim")
    widths = _widths(table)
    for title, columns in zip(table.head, widths, strict=True):
        drawn.add_column(Text(title), style=_STYLES.get(title, ""), width=columns, no_wrap=True, overflow="ellipsis")
    for row in table.rows:
        drawn.add_row(
            *[
                Text(_shortened(title, cell, columns), _state_style(title, cell), no_wrap=True, overflow="ellipsis")
                for title, cell, columns in zip(table.head, row, widths, strict=True)
            ]
        )
    return drawn


def _widths(table: Table) -> list[int]:
    """How wide each column is: as its widest cell; on a narrow terminal the widest give way, free texts first."""
    from rich.cells import cell_len

    rows = [table.head, *table.rows] if table.titles else table.rows
    found = [max([cell_len(row[place]) for row in rows], default=0) for place in range(len(table.head))]
    room = (width() if is_terminal() else UNLIMITED) - GAP * (len(found) - 1) - 1
    elastic = [place for place, title in enumerate(table.head) if title in _ELASTIC]
    for places, least in ((elastic, READABLE), (range(len(found)), SHORT), (range(len(found)), 1)):
        while sum(found) > room and any(found[place] > least for place in places):
            found[max(places, key=lambda place: found[place])] -= 1
    return found


def _shortened(title: str, cell: str, columns: int) -> str:
    return cut_path(cell, columns) if title in _PATHS else cell


def _state_style(title: str, cell: str) -> str:
    return _STATES.get(cell.partition(" ")[0], "") if title in {"STATE", "HEALTH", "RULES"} else ""


def drawing(items: Iterable[str | Table]) -> Group:
    """Lines and tables as one object that rich can redraw."""
    from rich.console import Group
    from rich.text import Text

    return Group(
        *[
            rich_table(item)
            if isinstance(item, Table)
            else Text(
                "\n".join([clean(line) for line in item.split("\n")]),
                style=item.style if isinstance(item, Line) else "",
            )
            for item in items
        ]
    )
