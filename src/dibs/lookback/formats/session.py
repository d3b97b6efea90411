"""What the formats share: a session under way in a file, with its calls that have no result yet.

A call counts when its result says that it was done, at the time of the result: people may take minutes to allow it. A
call without a result (the file ends, an old format has none) counts at its own time.
"""

from __future__ import annotations

import os

from dibs.guards import payload
from dibs.interfaces.agents import BEFORE, PATCH, SHELL, dialect
from dibs.interfaces.agents import EDIT as EDITS
from dibs.interfaces.agents import READ as READS
from dibs.lookback.moments import COMMAND, EDIT, OTHER, PROMPT, READ, Change, Moment, digests, ids_in, patch_lines
from dibs.shell import patches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
MAX_WAITING = 1_000  # calls without a result that one session keeps; older ones count as done
MAX_ID_LETTERS = 90  # of a session's id, and of a subagent's; an agent's id has at most 200
MAX_CONTENT_CHARS = 4_000_000  # of an edit that are compared by lines
# How a client begins the result of a call that it did not make
REFUSED = ("The user doesn't want", "User rejected", "Permission to use", "[Request interrupted", "rejected by user")


def text_of(value: object) -> str:
    """A value that should be a text; "" if it is not."""
    return value if isinstance(value, str) else ""


def table_of(value: object) -> dict[str, object]:
    """A value that should be an object; {} if it is not."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[object]:
    """A value that should be a list; [] if it is not."""
    return value if isinstance(value, list) else []


def whole(text: str) -> str:
    """A text that can be printed and encoded: half of a character becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def id_of(text: str) -> str:
    """A session's or a subagent's id in the form of an agent's id, in which a slash stands before a child."""
    plain = "".join([letter if letter.isprintable() else "-" for letter in whole(text)[:MAX_ID_LETTERS]])
    return plain.replace("/", "-").strip("- ") or "unknown"


def ms_of(value: object) -> int:
    """A time as these formats write it: ISO 8601 with an offset or Z, or a number of (milli)seconds; 0 if none."""
    if isinstance(value, str) and len(value) >= 19:  # noqa: PLR2004 - to the second
        from datetime import UTC, datetime

        try:
            read = datetime.fromisoformat(value)
        except ValueError:
            return 0
        read = read if read.tzinfo else read.replace(tzinfo=UTC)
        try:
            return max(0, int(read.timestamp() * 1000))
        except (OverflowError, ValueError):
            return 0
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14:  # noqa: PLR2004 - year 5138
        return int(value if value > 1e11 else value * 1000)  # noqa: PLR2004 - seconds until the year 5138
    return 0


class Session:
    """A session of one client while its file is read."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.session = self.agent = self.cwd = self.branch = ""
        self.at = 0
        self._event = next(name for name, moment in dialect(client).EVENTS.items() if moment == BEFORE)
        self._waiting: dict[str, Moment] = {}

    def moment(self, kind: str) -> Moment:
        """Something of this session, now."""
        session = id_of(self.session)
        child = self.agent.removeprefix(self.session).removeprefix("/") if self.agent != self.session else ""
        cwd = os.path.normpath(whole(self.cwd)) if self.cwd.startswith("/") else ""
        found = Moment(kind, self.at, self.client, session, f"{session}/{id_of(child)}" if child else session, cwd)
        found.branch = whole(self.branch)
        return found

    def prompt(self, text: str, own: str = "") -> list[Moment]:
        """A prompt of a person; its own id, where a copy of it may come again."""
        found = self.moment(PROMPT)
        found.call = own
        found.ids = ids_in(text)
        return [found]

    def call(self, tool: str, given: object, call: str) -> list[Moment] | None:
        """A call of a tool, which counts when its result is there. None if its input cannot be read."""
        sent = {
            "session_id": self.session or "session", "cwd": self.cwd or "/", "tool_name": tool, "tool_input": given,
            "hook_event_name": self._event,
        }  # fmt: skip
        try:
            event = payload.read(self.client, self._event, sent)
        except payload.Unreadable:
            event = None
        if event is None:
            return None
        found = self.moment(OTHER)
        found.call = call
        if event.kind == SHELL:
            found.kind, found.command = COMMAND, whole(event.command)
            found.cwd = whole(event.cwd) if event.cwd != "/" else found.cwd
        elif event.kind == READS:
            found.kind, found.reads = READ, [self._full(path) for path in event.paths]
        elif event.kind == PATCH:
            found.kind, found.changes = EDIT, self._patched(event.command)
        elif event.kind == EDITS:
            found.kind, found.changes = EDIT, self._changed(event)
        return self._begun(found)

    def result(self, call: str, *, done: bool, text: str = "") -> list[Moment]:
        """The result of a call: it was made, or it failed. A command that fails may have written all the same."""
        moment = self._waiting.pop(call, None)
        if moment is None:
            return []
        if not done and (moment.kind != COMMAND or text.lstrip().startswith(REFUSED)):
            moment.kind, moment.changes, moment.reads, moment.command = OTHER, [], [], ""
        moment.at = max(moment.at, self.at)
        return [moment]

    def end(self) -> list[Moment]:
        """The calls that never got a result."""
        left, self._waiting = list(self._waiting.values()), {}
        return left

    def _begun(self, moment: Moment) -> list[Moment]:
        if not moment.call:
            return [moment]
        waiting = self._waiting
        earlier = [waiting.pop(next(iter(waiting)))] if len(waiting) >= MAX_WAITING else []
        waiting[moment.call] = moment
        return earlier

    def _full(self, path: str) -> str:
        return os.path.normpath(os.path.join(whole(self.cwd) or "/", whole(path)))

    def _changed(self, event: payload.Event) -> list[Change]:
        if event.content is not None:
            came = digests(event.content[:MAX_CONTENT_CHARS])
            return [Change(self._full(path), whole=True, after=came) for path in event.paths]
        before: frozenset[int] | None = None
        after: frozenset[int] | None = None
        if event.edits:
            before = digests("\n".join([old for old, _, _ in event.edits])[:MAX_CONTENT_CHARS])
            after = digests("\n".join([new for _, new, _ in event.edits])[:MAX_CONTENT_CHARS])
        return [Change(self._full(path), before=before, after=after) for path in event.paths]

    def _patched(self, text: str) -> list[Change]:
        try:
            named = patches.paths(text)
        except ValueError:
            return []
        found = []
        for action, path in named:
            before, after = patch_lines(text[:MAX_CONTENT_CHARS], path)
            whole, goes = action in {"add", "delete"}, action == "delete"
            found.append(Change(self._full(path), whole=whole, goes=goes, before=before, after=after))
        return found


def texts_in(content: object, kinds: Iterable[str] = ("text", "input_text")) -> str:
    """The texts of a message's content: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = [table_of(part) for part in list_of(content)]
    return "\n".join([text_of(part.get("text")) for part in parts if text_of(part.get("type", "text")) in kinds])
