"""What CLAUDE.md, AGENTS.md and GEMINI.md say about dibs: one short marked block, for every model that reads them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BEGIN = "<!-- dibs:begin -->"
END = "<!-- dibs:end -->"
NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
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


def targets(clients: list[str], read: Callable[[str], str | None]) -> list[str]:
    """Which files get the block: those that are there, and one for each client that would otherwise read nothing.

    Claude Code reads AGENTS.md only where there is no CLAUDE.md, so none is made beside one; Codex reads AGENTS.md,
    Gemini GEMINI.md, Copilot all three.
    """
    if not clients:
        return []
    found = [name for name in NAMES if read(name) is not None]
    if "codex" in clients and "AGENTS.md" not in found:
        found.append("AGENTS.md")
    if "gemini" in clients and "GEMINI.md" not in found:
        found.append("GEMINI.md")
    if "claude" in clients and not {"CLAUDE.md", "AGENTS.md"} & set(found):
        found.append("CLAUDE.md")
    if "copilot" in clients and not found:
        found.append("AGENTS.md")
    if "AGENTS.md" in found and "@AGENTS.md" in (read("CLAUDE.md") or ""):
        found.remove("CLAUDE.md")  # it takes AGENTS.md in, block and all
    return sorted(found)


def merged(text: str | None) -> str:
    """The page with the block at its end, or with the block brought up to date."""
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
