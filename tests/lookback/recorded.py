"""Small sessions in the clients' own formats, written call by call."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
HOME = "/home/nobody/app"  # no such folder: sessions outlive their repositories


def at(seconds: float) -> str:
    """A time of the play."""
    return (BEGIN + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


class Written:
    """A file of one session."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._count = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def line(self, **fields: Any) -> None:
        """One line as it is."""
        with self.path.open("a") as file:
            file.write(json.dumps(fields) + "\n")

    def new_id(self) -> str:
        """The id of the next call."""
        self._count += 1
        return f"{self.path.stem}-{self._count}"


class Claude(Written):
    """A session of Claude Code."""

    def __init__(self, folder: Path, session: str, cwd: str = HOME, **more: Any) -> None:
        super().__init__(folder / ".claude" / "projects" / "-home-nobody-app" / f"{session}.jsonl")
        self._common = {"sessionId": session, "cwd": cwd, "version": "2.1.30", "gitBranch": "main", **more}

    def prompt(self, seconds: float, text: str, **more: Any) -> None:
        """A person types."""
        said = {"message": {"role": "user", "content": text}, "uuid": self.new_id()}
        self.line(type="user", timestamp=at(seconds), **said, **self._common, **more)

    def call(self, seconds: float, tool: str, *, error: str = "", id: str = "", **given: Any) -> None:
        """A call and its result, a tenth of a second later."""
        call = id or self.new_id()
        use = {"type": "tool_use", "id": call, "name": tool, "input": given}
        self.line(
            type="assistant", timestamp=at(seconds), message={"role": "assistant", "content": [use]}, **self._common
        )
        done = {"type": "tool_result", "tool_use_id": call, "content": error or "ok", "is_error": bool(error)}
        self.line(type="user", timestamp=at(seconds), message={"role": "user", "content": [done]}, **self._common)


class Codex(Written):
    """A session of Codex."""

    def __init__(self, folder: Path, session: str, cwd: str = HOME, **meta: Any) -> None:
        super().__init__(folder / ".codex" / "sessions" / "2026" / "05" / "01" / f"rollout-x-{session}.jsonl")
        own = {"id": session, "cwd": cwd, "cli_version": "0.166.0", "timestamp": at(0), **meta}
        self.line(timestamp=at(0), type="session_meta", payload=own)

    def item(self, seconds: float, **payload: Any) -> None:
        """Something of a turn."""
        self.line(timestamp=at(seconds), type="response_item", payload=payload)

    def patch(self, seconds: float, text: str, *, output: str = "Success.") -> None:
        """An apply_patch and its result."""
        call = self.new_id()
        self.item(seconds, type="custom_tool_call", name="apply_patch", input=text, call_id=call)
        self.item(seconds, type="custom_tool_call_output", call_id=call, output=output)

    def shell(self, seconds: float, command: str) -> None:
        """A command and its result."""
        call, given = self.new_id(), json.dumps({"command": ["bash", "-lc", command]})
        self.item(seconds, type="function_call", name="shell", arguments=given, call_id=call)
        self.item(seconds, type="function_call_output", call_id=call, output="ok")

    def prompt(self, seconds: float, text: str) -> None:
        """A person types."""
        self.line(timestamp=at(seconds), type="event_msg", payload={"type": "user_message", "message": text})


class Copilot(Written):
    """A session of Copilot CLI."""

    def __init__(self, folder: Path, session: str, cwd: str = HOME) -> None:
        super().__init__(folder / ".copilot" / "session-state" / session / "events.jsonl")
        self._id = session
        start = {"sessionId": session, "copilotVersion": "1.0.102", "context": {"cwd": cwd, "branch": "main"}}
        self.line(type="session.start", timestamp=at(0), data=start, id="1", parentId=None)

    def call(self, seconds: float, tool: str, *, success: bool = True, **given: Any) -> None:
        """A call and its result."""
        call = f"{self._id}-{self.new_id()}"
        begun = {"toolCallId": call, "toolName": tool, "arguments": given}
        self.line(type="tool.execution_start", timestamp=at(seconds), data=begun)
        self.line(type="tool.execution_complete", timestamp=at(seconds), data={"toolCallId": call, "success": success})

    def prompt(self, seconds: float, text: str) -> None:
        """A person types."""
        self.line(type="user.message", timestamp=at(seconds), data={"content": text})


class Gemini(Written):
    """A session of Gemini CLI, a line a message."""

    def __init__(self, folder: Path, session: str, cwd: str = HOME) -> None:
        super().__init__(folder / ".gemini" / "tmp" / "app" / "chats" / f"session-2026-05-01T10-00-{session}.jsonl")
        (self.path.parent.parent / ".project_root").write_text(cwd)
        self.line(sessionId=session, projectHash="app", startTime=at(0), lastUpdated=at(0), kind="main")

    def call(self, seconds: float, tool: str, *, status: str = "success", **given: Any) -> None:
        """A message with one call; it was written before, without the result."""
        call, message = self.new_id(), self.new_id()
        for state in ("executing", status):
            made = {"id": call, "name": tool, "args": given, "status": state, "timestamp": at(seconds)}
            self.line(id=message, timestamp=at(seconds), type="gemini", content="", toolCalls=[made])

    def prompt(self, seconds: float, text: str) -> None:
        """A person types."""
        self.line(id=self.new_id(), timestamp=at(seconds), type="user", content=text)
