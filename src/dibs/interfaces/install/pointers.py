"""The text about dibs in the pages that models read (AGENTS.md and the like): one short marked block."""

from __future__ import annotations

import os

from dibs.interfaces import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BEGIN = "<!-- dibs:begin -->"
END = "<!-- dibs:end -->"
TEXT = f"""\
{BEGIN}
## Several agents work here: dibs
dibs decides who may change what. Its hooks claim a file for you when you edit it, and refuse what another agent holds.
- `dibs boot` says what you hold, what you lost and who wrote to you; `dibs status` says who holds what.
  (If `dibs` is not on the PATH, it is `.dibs/dibs`.)
- `dibs claim PATH…` before work on several files; `dibs release --all` after it. Refused: wait, ask, or do other work.
- The rules for everybody are in `.dibs/rules.md`.
{END}
"""


def names() -> list[str]:
    """The pages that some client reads."""
    return sorted({page for client in agents.every() for page in client.pages})


def targets(chosen: list[str], read: Callable[[str], str | None]) -> list[str]:
    """The files that get the block: existing pages, and one for each client that would otherwise read none."""
    if not chosen:
        return []
    found = [name for name in names() if read(name) is not None]
    # the client with the fewest pages first
    used = sorted([agents.of(name) for name in chosen], key=lambda client: len(client.pages))
    for client in used:
        if not set(client.pages) & set(found):
            found.append(client.pages[0])
    for client in agents.every():
        first = client.pages[0]
        if client.imports_pages and any(f"@{page}" in (read(first) or "") for page in found if page != first):
            found = [page for page in found if page != first]  # it imports the other page, with the block
    return sorted(found)


def merged(text: str | None) -> str:
    """The page with the block at its end, or with the block updated."""
    if not text:
        return TEXT
    end = "\r\n" if "\r\n" in text else "\n"
    ours = TEXT.replace("\n", end)
    bounds = _bounds(text)
    if bounds is not None:
        return text[: bounds[0]] + ours + text[bounds[1] :]
    return text + ("" if text.endswith("\n") else end) + end + ours


def cleaned(text: str) -> str | None:
    """The page without the block; None if nothing is left."""
    bounds = _bounds(text)
    if bounds is None:
        return text
    start, stop = bounds
    before, after = text[:start], text[stop:]
    if not after:  # the empty line above it is ours too
        before = before.removesuffix("\r\n") if before.endswith("\r\n\r\n") else before
        before = before.removesuffix("\n") if before.endswith("\n\n") else before
    left = before + after
    return left if left.strip() else None


def _bounds(text: str) -> tuple[int, int] | None:
    start = text.find(BEGIN)
    stop = text.find(END, start)
    if start < 0 or stop < 0:
        return None
    stop += len(END)
    for end in ("\r\n", "\n"):
        if text.startswith(end, stop):
            return start, stop + len(end)
    return start, stop


def real_name(folder: str, name: str) -> str:
    """The file behind a page that may be a link (CLAUDE.md → AGENTS.md is common)."""
    return os.path.realpath(os.path.join(folder, name))
