"""Claude Code's sessions: `~/.claude/projects/FOLDER/SESSION.jsonl`, and its subagents' below `SESSION/subagents`.

Written for 1.0 to 2.1: one object a line with `type`, `sessionId`, `cwd`, `timestamp`, `version`; an assistant's
`message.content` has `tool_use`, a user's has `tool_result` with `is_error`. A subagent's lines have `isSidechain` and,
from 2.0 on, `agentId`. A session that is resumed or forked copies earlier lines with their ids: those count once.
"""

from __future__ import annotations

from dibs.lookback.formats.session import Session, list_of, ms_of, table_of, text_of, texts_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.lookback.moments import Moment

NAME = "Claude Code"
# Lines with nothing that concerns another session.
QUIET = frozenset((
    "agent-name", "ai-title", "attachment", "custom-title", "file-history-snapshot", "last-prompt", "mode",
    "permission-mode", "pr-link", "progress", "queue-operation", "summary", "system", "tag", "worktree-state",
))  # fmt: skip
# How a user's text begins that no person typed: output of local commands, reminders, a summary after a compaction.
NOT_TYPED = ("<", "Caveat:", "This session is being continued", "[Request interrupted")


def is_first(line: dict[str, object]) -> bool:
    """Is this a line of such a file?"""
    kind = text_of(line.get("type"))
    return (kind in {"user", "assistant"} and "sessionId" in line) or (kind in QUIET and "payload" not in line)


def folders(home: str, environ: Mapping[str, str]) -> list[str]:
    """Where Claude Code keeps them."""
    return [f"{environ.get('CLAUDE_CONFIG_DIR') or f'{home}/.claude'}/projects"]


class Reader:
    """Reads one file."""

    def __init__(self, path: str) -> None:
        del path  # each line says everything
        self.version = ""
        self._session = Session("claude")

    def read(self, line: dict[str, object]) -> Iterable[Moment] | None:
        """The moments of a line."""
        kind = text_of(line.get("type"))
        self.version = text_of(line.get("version")) or self.version
        if kind in QUIET:
            return ()
        message = line.get("message")
        if kind not in {"user", "assistant"} or not isinstance(message, dict):
            return None
        session = self._session
        session.session = text_of(line.get("sessionId")) or session.session
        child = text_of(line.get("agentId")) or "side"
        is_side = line.get("isSidechain") is True
        session.agent = f"{session.session}/{child.replace('/', '-')}" if is_side else session.session
        session.cwd = text_of(line.get("cwd")) or session.cwd
        session.branch = text_of(line.get("gitBranch"))
        session.at = ms_of(line.get("timestamp")) or session.at
        content = message.get("content")
        if kind == "assistant":
            return self._calls(content)
        found: list[Moment] = []
        parts = [table_of(part) for part in list_of(content)]
        for part in parts:
            if part.get("type") == "tool_result":
                done, text = part.get("is_error") is not True, texts_in(part.get("content"))
                found += session.result(text_of(part.get("tool_use_id")), done=done, text=text)
        is_typed = not is_side and line.get("isMeta") is not True and line.get("isCompactSummary") is not True
        text = texts_in(content)
        if is_typed and text and not found and not text.startswith(NOT_TYPED):
            found += session.prompt(text, text_of(line.get("uuid")))
        return found

    def _calls(self, content: object) -> list[Moment] | None:
        found: list[Moment] = []
        for part in [table_of(part) for part in list_of(content)]:
            if part.get("type") == "tool_use":
                made = self._session.call(text_of(part.get("name")), part.get("input"), text_of(part.get("id")))
                if made is None:
                    return None
                found += made
        return found

    def end(self) -> Iterable[Moment]:
        """The calls without a result."""
        return self._session.end()
