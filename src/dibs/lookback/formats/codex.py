"""Codex' sessions: `~/.codex/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`, and `archived_sessions`.

Written for 0.20 to 0.166: one `{"timestamp", "type", "payload"}` a line, with `session_meta`, `turn_context`,
`response_item` (`function_call`, `custom_tool_call`, `local_shell_call` and their `…_output`) and `event_msg`. Before
0.32 (2025) the first line had the session, and the others were bare items without a time: they count at its start.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.lookback.formats.session import Session, list_of, ms_of, table_of, text_of, texts_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.lookback.moments import Moment

NAME = "Codex"
WRAPPED = frozenset((
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "ghost_snapshot",
    "inter_agent_communication", "inter_agent_communication_metadata",
))  # fmt: skip
BARE = frozenset((
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "local_shell_call", "local_shell_call_output", "web_search_call", "ghost_snapshot", "compaction",
    "compaction_summary", "tool_search_call", "tool_search_output", "image_generation_call", "agent_message", "other",
))  # fmt: skip
CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call"))
SHELLS = frozenset(("shell", "exec_command", "shell_command", "container.exec", "local_shell"))
# How a user's message begins that no person typed
NOT_TYPED = ("<", "# AGENTS.md")


def is_first(line: dict[str, object]) -> bool:
    """Is this a line of such a file?"""
    if text_of(line.get("type")) in WRAPPED and isinstance(line.get("payload"), dict):
        return True
    return "record_type" in line or ("instructions" in line and "id" in line and "timestamp" in line)


def folders(home: str, environ: Mapping[str, str]) -> list[str]:
    """Where Codex keeps them."""
    own = environ.get("CODEX_HOME") or f"{home}/.codex"
    return [f"{own}/sessions", f"{own}/archived_sessions"]


class Reader:
    """Reads one file."""

    def __init__(self, path: str) -> None:
        self.version = ""
        self._session = Session("codex")
        self._session.session = path.rpartition("/")[2].removesuffix(".gz").removesuffix(".jsonl")
        self._is_known = False  # the session's own line was there: a fork repeats that of its origin

    def read(self, line: dict[str, object]) -> Iterable[Moment] | None:
        """The moments of a line."""
        kind = text_of(line.get("type"))
        self._session.at = ms_of(line.get("timestamp")) or self._session.at
        inner = line.get("payload")
        if kind in WRAPPED and isinstance(inner, dict):
            if kind == "session_meta":
                return self._meta(inner)
            if kind == "turn_context":
                self._session.cwd = text_of(inner.get("cwd")) or self._session.cwd
                return ()
            if kind == "event_msg":
                typed = inner.get("type") == "user_message"
                return self._session.prompt(text_of(inner.get("message"))) if typed else ()
            return self._item(inner) if kind == "response_item" else ()
        if "record_type" in line:
            return ()
        if not kind and "id" in line and "timestamp" in line:
            return self._meta(line)
        return self._item(line) if kind in BARE else None

    def _meta(self, meta: dict[str, object]) -> Iterable[Moment]:
        if self._is_known:
            return ()
        self._is_known = True
        session = self._session
        session.session = text_of(meta.get("id")) or session.session
        session.cwd = text_of(meta.get("cwd")) or session.cwd
        session.branch = text_of(table_of(meta.get("git")).get("branch"))
        session.at = ms_of(meta.get("timestamp")) or session.at
        self.version = text_of(meta.get("cli_version"))
        spawned = table_of(table_of(table_of(meta.get("source")).get("subagent")).get("thread_spawn"))
        parent = text_of(spawned.get("parent_thread_id"))
        if parent:
            session.session, session.agent = parent, f"{parent}/{session.session}"
        return ()

    def _item(self, item: dict[str, object]) -> Iterable[Moment] | None:
        kind = text_of(item.get("type"))
        call = text_of(item.get("call_id")) or text_of(item.get("id"))
        if kind in CALLS:
            return self._call(item, call)
        if kind in {"function_call_output", "custom_tool_call_output", "local_shell_call_output"}:
            done, text = _outcome(item.get("output"))
            return self._session.result(call, done=done, text=text)
        if kind == "message" and item.get("role") == "user":
            text = texts_in(item.get("content"))
            return self._session.prompt(text) if text and not text.startswith(NOT_TYPED) else ()
        return () if kind in BARE else None

    def _call(self, item: dict[str, object], call: str) -> Iterable[Moment] | None:
        if item.get("type") == "local_shell_call":
            action = table_of(item.get("action"))
            return self._session.call("shell", {**action, "workdir": action.get("working_directory")}, call)
        name = text_of(item.get("name"))
        given = item.get("arguments", item.get("input"))
        if item.get("type") == "custom_tool_call":
            return self._session.call(name, {"command": given} if name == "apply_patch" else {}, call)
        try:
            read: object = jsontext.decode(given) if isinstance(given, str) and given else given
        except (ValueError, RecursionError):
            return None
        if not isinstance(read, dict):
            return None
        if name in SHELLS:
            name = "shell"
            words = list_of(read.get("command"))
            if words[:1] in (["apply_patch"], ["applypatch"]) and len(words) == 2:  # noqa: PLR2004 - with the patch
                name, read = "apply_patch", {"command": words[1]}
            elif isinstance(read.get("command"), str) and isinstance(read.get("shell"), str):
                read = {"command": read["command"], "workdir": read.get("workdir")}
        return self._session.call(name, read, call)

    def end(self) -> Iterable[Moment]:
        """The calls without a result."""
        return self._session.end()


def _outcome(output: object) -> tuple[bool, str]:
    """Was a call made, by its output? A text, a JSON text with an exit code, or an object with `success`."""
    if isinstance(output, dict):
        return output.get("success") is not False, text_of(output.get("content"))
    text = text_of(output)
    if text.startswith("{") and '"exit_code"' in text:
        try:
            code = table_of(jsontext.decode(text).get("metadata")).get("exit_code")
        except (ValueError, RecursionError, AttributeError):
            return True, text
        return code == 0 or code is None, text
    return not text.startswith(("apply_patch verification failed", "Exit code: 1", "failed")), text
