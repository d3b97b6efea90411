"""Copilot CLI's sessions: `~/.copilot/session-state/ID/events.jsonl`; before 0.0.372 `session-state/ID.jsonl`.

Written for 0.0.369 to 1.0.102: one event a line, `{"type", "data", "id", "timestamp", "parentId"}`, with
`session.start` (its `context` has the folder), `tool.execution_start`, `tool.execution_complete` and `user.message`.
"""

from __future__ import annotations

from dibs.lookback.formats.session import Session, ms_of, table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.lookback.moments import Moment

NAME = "Copilot CLI"
# How the types begin of events with nothing that concerns another session
QUIET = (
    "abort", "assistant.", "auto_mode", "capabilities.", "command.", "elicitation.", "external_tool.", "hook.", "mcp",
    "model.", "pending_", "permission.", "sampling.", "session.", "skill.", "subagent.", "system.", "tool.", "user.",
    "user_input.",
)  # fmt: skip


def is_first(line: dict[str, object]) -> bool:
    """Is this a line of such a file?"""
    return isinstance(line.get("data"), dict) and "." in text_of(line.get("type")) and "payload" not in line


def folders(home: str, environ: Mapping[str, str]) -> list[str]:
    """Where Copilot CLI keeps them."""
    return [f"{environ.get('COPILOT_HOME') or f'{home}/.copilot'}/session-state"]


class Reader:
    """Reads one file."""

    def __init__(self, path: str) -> None:
        self.version = ""
        self._session = Session("copilot")
        folder, _, name = path.rpartition("/")
        self._session.session = folder.rpartition("/")[2] if name.startswith("events.") else name.partition(".")[0]

    def read(self, line: dict[str, object]) -> Iterable[Moment] | None:
        """The moments of a line."""
        kind, data = text_of(line.get("type")), line.get("data")
        if not isinstance(data, dict):
            return None
        session = self._session
        session.at = ms_of(line.get("timestamp")) or session.at
        if kind in {"session.start", "session.resume", "session.context_changed"}:
            where = table_of(data.get("context")) or data
            self.version = text_of(data.get("copilotVersion")) or self.version
            session.session = text_of(data.get("sessionId")) or session.session
            session.cwd = text_of(where.get("cwd")) or session.cwd
            session.branch = text_of(where.get("branch")) or session.branch
            return ()
        call = text_of(data.get("toolCallId"))
        if kind == "tool.execution_start":
            child = text_of(data.get("parentToolCallId")) or text_of(line.get("agentId"))
            session.agent = f"{session.session}/{child.replace('/', '-')}" if child else session.session
            return session.call(text_of(data.get("toolName")), data.get("arguments"), call)
        if kind == "tool.execution_complete":
            text = text_of(table_of(data.get("error")).get("message"))
            return session.result(call, done=data.get("success") is not False, text=text)
        if kind == "user.message":
            session.agent = session.session
            text = text_of(data.get("content"))
            return session.prompt(text) if not text.startswith("<") else ()
        return () if kind.startswith(QUIET) else None

    def end(self) -> Iterable[Moment]:
        """The calls without a result."""
        return self._session.end()
