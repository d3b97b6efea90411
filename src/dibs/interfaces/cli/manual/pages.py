"""A document in Markdown as lines for a terminal: wrapped, with headings, lists, code and tables. A pure function.

It knows what the documents of dibs use, and no more. A link to another document becomes the command that shows it.
"""

from __future__ import annotations

import re
import textwrap

from dibs.interfaces.cli import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LIST_ITEM = re.compile(r"(\s*)([-*]|\d+\.) (.*)")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
HIDDEN = re.compile(r"<!--.*?-->\n?|</?(?:sub|img|picture|source|br)\b[^>]*>", re.DOTALL)
MIN_COLUMN = 8  # columns of a table's column, at least
GAP = 2  # columns between two of them
FENCE = "```"
BAR = "\0"  # stands for a bar that ends no cell


def rendered(text: str, width: int, path: str, links: Mapping[str, str]) -> list[str]:
    """The lines of a document. `links` says under which topic each page is shown."""
    found: list[str] = []
    before = ""
    for kind, block in _blocks(HIDDEN.sub("", text)):
        if kind == "code":
            shown: list[str] = [terminal.Line(f"    {line}", "cyan") for line in block]
        elif kind == "table":
            rows = [_cells(_plain(line, path, links)) for line in block if not re.fullmatch(r"[|\s:-]+", line)]
            shown = table(rows, width)
        elif kind == "head":
            mark, _, title = block[0].partition(" ")
            title = _plain(title, path, links)
            shown = [terminal.Line(title.upper() if mark == "#" else title, "bold")]
        else:
            lines = [line.strip() if place else line for place, line in enumerate(block)]
            shown = _paragraph(_plain(" ".join(lines), path, links), width)
        apart = [""] if found and not kind == before == "item" else []
        found += [*apart, *shown]
        before = kind
    return found


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """The parts of a document: headings, code, tables, items of lists, paragraphs."""
    kind = ""
    block: list[str] = []
    for line in text.splitlines():
        now = _kind(line, kind)
        if block and (now != kind or _begins(line, now)):
            yield kind, block
            block = []
        if kind == "code" and line.startswith(FENCE):
            now = ""  # the end of it
        elif now and not line.startswith(FENCE):
            block.append(line)
        kind = now
    if block:
        yield kind, block


def _kind(line: str, before: str) -> str:
    """What a line is part of; "" for a blank one."""
    if line.startswith(FENCE) or before == "code":
        return "code"
    if not line.strip():
        return ""
    if line.startswith("#"):
        return "head"
    if line.startswith("|"):
        return "table"
    return "item" if LIST_ITEM.match(line) or (before == "item" and line.startswith(" ")) else "text"


def _begins(line: str, kind: str) -> bool:
    """Does this line begin another block of the same kind?"""
    return (
        kind == "head"
        or (kind == "item" and bool(LIST_ITEM.match(line)))
        or (kind == "code" and line.startswith(FENCE))
    )


def _plain(text: str, path: str, links: Mapping[str, str]) -> str:
    """A text without the marks of links and emphasis."""
    return re.sub(r"\*\*([^*]+)\*\*", r"\1", LINK.sub(lambda link: _link(link, path, links), text))


def _link(link: re.Match[str], path: str, links: Mapping[str, str]) -> str:
    picture, text, target = link[1], link[2], link[3]
    if picture:
        return f"(a picture: {text})"
    if target.startswith(("http://", "https://")):
        return text if text == target else f"{text} ({target})"
    parts = path.split("/")[:-1]
    for part in target.partition("#")[0].removesuffix(".md").split("/"):
        parts = parts[:-1] if part == ".." else [*parts, part]
    topic = links.get("/".join(parts))
    return f"{text} (`dibs help {topic}`)" if topic else text


def _paragraph(text: str, width: int) -> list[str]:
    item = LIST_ITEM.match(text)
    lead = f"{item[1]}{item[2]} " if item else ""
    body = item[3] if item else text
    return textwrap.wrap(
        body, width, initial_indent=lead, subsequent_indent=" " * len(lead), break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _cells(line: str) -> list[str]:
    """The cells of a row; a bar inside code, or after a backslash, does not end one."""
    row = line.strip().removeprefix("|").removesuffix("|").replace("\\|", BAR)
    hidden = re.sub(r"`[^`]*`", lambda code: code[0].replace("|", BAR), row)
    return [cell.strip().replace(BAR, "|") for cell in hidden.split("|")]


def table(rows: list[list[str]], width: int) -> list[str]:
    """Columns that share the width; long cells are wrapped. The first row is the head; what is empty is left out."""
    count = max(len(row) for row in rows)
    head, *body = [row + [""] * (count - len(row)) for row in rows]
    used = [place for place in range(count) if any(row[place] for row in body or [head])]
    head, *body = [[row[place] for place in used] for row in (head, *body)]
    sizes = _sizes([head, *body], width - GAP * (len(used) - 1))
    shown: list[str] = [terminal.Line(line, "bold") for line in _row(head, sizes)] if any(head) else []
    return shown + [line for row in body for line in _row(row, sizes)]


def _sizes(rows: list[list[str]], room: int) -> list[int]:
    """How wide each column is: what it needs, the widest ones less until all fit."""
    sizes = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    while sum(sizes) > room and max(sizes) > MIN_COLUMN:
        sizes[sizes.index(max(sizes))] -= 1
    return sizes


def _row(cells: list[str], sizes: list[int]) -> list[str]:
    both = list(zip(cells, sizes, strict=True))
    columns = [[part.ljust(size) for part in _wrapped(cell, size) or [""]] for cell, size in both]
    height = max(len(column) for column in columns)
    filled = [column + [" " * size] * (height - len(column)) for column, size in zip(columns, sizes, strict=True)]
    return [(" " * GAP).join(line).rstrip() for line in zip(*filled, strict=True)]


def _wrapped(cell: str, size: int) -> list[str]:
    if len(cell) <= size:
        return [cell]  # with the spaces that it begins with
    return textwrap.wrap(cell, max(size, 1), break_on_hyphens=False)
