"""The difference between two versions of a file as text for people: what `undo` would do, what `diff` shows."""

from __future__ import annotations

from dibs.errors import counted
from dibs.ledger.state import MISSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.audit.answers import DiffFileView
    from dibs.operations.guards.undo import Version

MAX_DIFF_LINES = 400  # of one file


def lines(
    before: Version,
    after: Version,
    content: Callable[[str], bytes | None],
    names: tuple[str, str],
    *,
    context: int,
) -> list[str]:
    """A unified diff, its first two lines the names; a sentence for what is no text."""
    import difflib

    texts = []
    for blob, _ in (before, after):
        found = b"" if blob == MISSING else content(blob)
        if found is None or b"\0" in found or blob.startswith("~"):
            return [f"binary: {before[0][:12]} becomes {after[0][:12]}"]
        texts.append(found.decode("utf-8", "backslashreplace"))
    old, new = [text.splitlines() for text in texts]
    made = list(difflib.unified_diff(old, new, *names, lineterm="", n=context))
    if MISSING in {before[0], after[0]}:
        return made
    if not made and before[0] != after[0]:
        made = [f"only line ends: {_line_ends(texts[0])} become {_line_ends(texts[1])}"]
    if before[1] != after[1]:
        made.insert(0, f"mode: {before[1] or 'plain'} becomes {after[1] or 'plain'}")
    return made


def shortened(made: list[str]) -> str:
    """As one text: the first lines of very many."""
    if len(made) > MAX_DIFF_LINES:
        made = [*made[:MAX_DIFF_LINES], f"… and {counted(len(made) - MAX_DIFF_LINES, 'more line')}"]
    return "\n".join(made)


def _line_ends(text: str) -> str:
    """How the lines of a text end."""
    both = text.count("\r\n")
    found = {"CRLF": both, "LF": text.count("\n") - both, "CR": text.count("\r") - both}
    said = [f"{count} {name}" for name, count in found.items() if count]
    return " and ".join(said) or "none"


def view(path: str, tree: str, sides: tuple[Version, Version], made: list[str], *, stat: bool) -> DiffFileView:
    """One file's difference as an answer has it."""
    before, after = sides
    hunks = made[2:] if made and made[0].startswith("--- ") else made
    found: DiffFileView = {
        "path": path,
        "tree": tree,
        "change": "added" if before[0] == MISSING else "deleted" if after[0] == MISSING else "modified",
        "added": len([line for line in hunks if line.startswith("+")]),
        "removed": len([line for line in hunks if line.startswith("-")]),
        "likely": False,
        "shared": False,
        "problem": None,
    }
    if not stat:
        found["diff"] = shortened(made)
    return found
