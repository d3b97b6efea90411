"""A moment of a recorded session, in dibs' own terms: a call of a tool with what it does to which files, or a prompt.

No text of a prompt is kept, only the ids of issues and tasks that it names; of an edit only digests of its lines.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

EDIT, COMMAND, READ, PROMPT, OTHER = "edit", "command", "read", "prompt", "other"  # kinds of moments
MAX_LINES = 2_000  # of one side of an edit that are compared with another edit
LEAST_LETTERS = 4  # of a line that says where an edit was; `}` and `end` stand everywhere
_IDS = re.compile(r"(?<![\w/#&.-])(?:[A-Z][A-Z0-9]+-\d{1,7}|#\d{1,6})(?![\w-])")
# Names that look like an id of an issue: of standards, encodings, models, licences, platforms.
_NO_IDS = frozenset((
    "AES", "ARM", "BSD", "CP", "COVID", "CVE", "CWE", "ED", "ES", "GPT", "HTTP", "IPV", "ISO", "LGPL", "MD", "MIT",
    "PEP", "RFC", "RSA", "SHA", "SOC", "SSE", "TLS", "UTF", "WCAG", "X",
))  # fmt: skip


def ids_in(text: str) -> frozenset[str]:
    """The ids of issues and tasks that a text names: `TASK-103`, `#88`."""
    if "#" not in text and "-" not in text:
        return frozenset()
    found = _IDS.findall(text)
    return frozenset([one for one in found if one.partition("-")[0] not in _NO_IDS and not one.endswith("-0")])


def digests(text: str) -> frozenset[int]:
    """The lines of a text that say where it stands, as digests."""
    lines = [line.strip() for line in text.split("\n", MAX_LINES)[:MAX_LINES]]
    return frozenset([hash(line) for line in lines if len(line) >= LEAST_LETTERS and any(map(str.isalnum, line))])


class Change:
    """One file that a call changes."""

    __slots__ = ("after", "before", "goes", "path", "whole")

    def __init__(
        self, path: str, *, whole: bool = False, goes: bool = False,
        before: frozenset[int] | None = None, after: frozenset[int] | None = None,
    ) -> None:  # fmt: skip
        self.path = path  # absolute, as recorded
        self.whole = whole  # all of the content is replaced
        self.goes = goes  # the file is deleted
        self.before = before  # the lines that were replaced; None: not recorded
        self.after = after  # and those that came


class Moment:
    """One call or prompt."""

    __slots__ = (
        "agent", "at", "branch", "call", "changes", "client", "command", "cwd", "ids", "kind", "reads", "session",
    )  # fmt: skip

    def __init__(self, kind: str, at: int, client: str, session: str, agent: str, cwd: str) -> None:
        self.kind = kind
        self.at = at  # ms since 1970
        self.client = client
        self.session = session
        self.agent = agent  # the session, or a subagent of it, by its path: `session/child`
        self.cwd = cwd  # "": not recorded
        self.branch = ""  # that was checked out, if that is recorded
        self.call = ""  # the id of the call
        self.changes: list[Change] = []
        self.reads: list[str] = []
        self.command = ""
        self.ids: frozenset[str] = frozenset()

    @property
    def is_call(self) -> bool:
        """Is it a call of a tool?"""
        return self.kind != PROMPT


def patch_lines(text: str, path: str) -> tuple[frozenset[int], frozenset[int]]:
    """The lines that an apply_patch text takes from one file and adds to it."""
    return _split(line for name, line in _by_file(text) if name == path)


def _by_file(text: str) -> Iterable[tuple[str, str]]:
    name = ""
    for line in text.split("\n"):
        bare = line.strip()
        if bare.startswith(("*** Add File:", "*** Update File:", "*** Delete File:")):
            name = bare.partition(":")[2].strip()
        elif line[:1] in {"+", "-", " "}:
            yield name, line


def _split(lines: Iterable[str]) -> tuple[frozenset[int], frozenset[int]]:
    gone: list[str] = []
    came: list[str] = []
    for line in lines:
        if line[:1] != "+":
            gone.append(line[1:])
        if line[:1] != "-":
            came.append(line[1:])
    return digests("\n".join(gone)), digests("\n".join(came))
