"""A client's payload, as an Event in dibs' own terms. Nothing is decided.

A moment (boot, before, after, prompt, stop, end, born, died, note) and, around a tool call, what the tool does (edit,
patch, shell, read, other) to which paths. A client's names for events and tools are in its file in interfaces/agents; a
tool's input is read in the same way for all, since MCP servers' tools come through any client.
"""

from __future__ import annotations

import os

from dibs.interfaces.agents import (
    AFTER,
    BEFORE,
    DIED,
    EDIT,
    FAIL,
    GUEST,
    GUEST_FIELD,
    OTHER,
    PATCH,
    READ,
    SHELL,
    STOP,
    dialect,
)
from dibs.machine import caller, links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dibs.interfaces.agents.adapter import Dialect

# Names of fields, without case and underscores: `filePath` and `file_path` are one.
_PATHS = frozenset((
    "absolutepath", "file", "filename", "filepath", "notebookpath", "outputpath", "path", "pathinproject",
    "relativepath", "relativeworkspacepath", "targetfile", "targetnotebook", "targetpath", "uri",
))  # fmt: skip
_LISTS = ("files", "paths", "edits", "changes", "operations", "replacements")  # of paths, or of objects with one each
_MOVES = (
    ("source", "destination"),
    ("from", "to"),
    ("old_path", "new_path"),
    ("oldPath", "newPath"),
    ("src", "dst"),
)  # fmt: skip - both are written
_MOVING = ("move", "rename", "copy")
_DELETING = ("delete", "remove", "unlink", "trash")
# How the name of a tool begins that only looks, unless another word of it says that it writes
_LOOKING = (
    "analy", "check", "describe", "diagnose", "explain", "fetch", "find", "get", "grep", "lint", "list", "open",
    "preview", "query", "read", "review", "search", "show", "validate", "view",
)  # fmt: skip
_WRITING = ("apply", "create", "edit", "fix", "insert", "replace", "save", "update", "write")
MAX_EVENT_CHARS = 100  # of an event's name; those of today have at most 20
# in the name of a tool that runs a shell
_SHELL_NAMES = ("shell", "bash", "exec", "monitor", "terminal", "process", "run_command", "runcommand")
_OLD = ("old_string", "old_str", "oldString")
_NEW = ("new_string", "new_str", "newString")
_WHOLE = ("content", "contents", "file_text", "text")
_CONTENTS = frozenset((
    "body", "code", "codeedit", "content", "contents", "data", "diff", "edits", "filetext", "newcode", "newcontent",
    "newsource", "newstr", "newstring", "newtext", "oldstr", "oldstring", "oldtext", "patch", "repl", "replacement",
    "text",
))  # fmt: skip


_COMMANDS = ("command", "cmd", "input")
_PATCHES = (*_COMMANDS, "patchText", "patch")
_BACKGROUND = ("run_in_background", "is_background", "isBackground", "background")
_FINISHED = ("completed", "failed", "killed", "stopped", "cancelled")  # the status of a task that no longer runs
_PLACES = ("directory", "dir_path", "workdir", "cwd", "working_directory", "workingDirectory")


class Event:
    """One call of one hook, in dibs' own terms."""

    __slots__ = ("background", "call", "client", "command", "content", "cwd", "dialect", "edits", "error", "halted",
                 "kind", "moment", "name", "own", "paths", "plan", "said", "session", "source", "subagent", "tool",
                 "transcript", "type", "units", "until")  # fmt: skip

    def __init__(self, client: str, spoken: Dialect, name: str, moment: str) -> None:
        self.client, self.dialect, self.name, self.moment = client, spoken, name, moment
        self.session = self.subagent = self.type = self.cwd = self.source = self.said = ""
        self.tool = self.kind = self.command = self.call = self.error = self.transcript = ""
        self.plan = False  # the agent only plans
        self.halted = False  # the turn did not end by itself
        self.background = False  # the client itself leaves the command running, or at a stop a task of the turn
        self.until = 0  # once it has waited in line: until when its client lets it, on the clock since boot
        self.units: list[str] | None = None  # claims on units of pools that the command runs under, once that is known
        self.own = ""  # the client's own settings, if it sent this through another client's hooks
        self.paths: list[str] = []
        self.content: str | None = None  # an edit's whole content, if it brings one
        self.edits: list[tuple[str, str, bool]] = []  # old text, new text, everywhere: an edit's replacements

    @property
    def agent(self) -> str:
        """The agent's id: from the client's environment, else the client's own session id."""
        base = caller.environ().get("DIBS_AGENT") or self.session
        return f"{base}/{self.subagent.replace('/', '-')}" if self.subagent else base

    @property
    def key(self) -> str:
        """The call's key in the ledger: ids of calls are unique to an agent."""
        return f"{self.agent} {self.call or self.tool}"

    @property
    def where(self) -> str:
        """The directory of the agent's shell."""
        return self.cwd or caller.cwd()

    def real(self, path: str) -> str:
        """The real path of a path from the client."""
        return links.real(os.path.join(self.where, path))


class Unreadable(Exception):
    """The payload is not what this client sends, so nothing in it can be trusted."""


def read(client: str, name: str, sent: Any) -> Event | None:
    """A payload as an Event; None for an event that dibs ignores. Raises Unreadable in doubt."""
    own = ""
    if isinstance(sent, dict) and "conversation_id" in sent:
        client, own = _sender(client, sent)
    elif isinstance(sent, dict) and GUEST_FIELD in sent and "hook_event_name" not in sent:
        client, name = GUEST, _text(sent, GUEST_FIELD)
    spoken = _dialect(client)
    if not isinstance(sent, dict):
        raise Unreadable("the payload is not an object")
    name = _text(sent, "hook_event_name") or name
    if not name:
        raise Unreadable("the payload names no event")
    moment = spoken.EVENTS.get(name) or _any_spelling(spoken, name)
    if not moment:  # an entry of a user's own, or of a newer version of the client
        if _may_ask(name):
            raise Unreadable(f"no event {name[:40]!r} of {client} is known here")
        return None  # nothing that dibs decides
    event = Event(client, spoken, name, moment)
    event.own = own
    event.session = _text(sent, "conversation_id") or _text(sent, "session_id") or _text(sent, "sessionId")
    if not event.session:
        raise Unreadable("the payload names no session")
    event.subagent = _text(sent, "agent_id") or _text(sent, "agentId")
    event.type = _text(sent, "agent_type") or _text(sent, "agentType")
    for value in (event.session, event.subagent, event.type):
        if not value.isascii() and not value.isprintable():
            raise Unreadable("the payload names a session or an agent by text that is not valid Unicode")
    event.cwd = _text(sent, "cwd")
    if not event.cwd and isinstance(sent.get("workspace_roots"), list):
        event.cwd = next((root for root in sent["workspace_roots"] if isinstance(root, str)), "")
    if event.cwd and event.cwd[0] != "/":
        event.cwd = os.path.join(caller.cwd(), event.cwd)
    event.source = _text(sent, "source") or _text(sent, "notification_type")
    event.call = _text(sent, "tool_use_id") or _text(sent, "toolUseId")
    if event.call and not event.call.isprintable():  # Cursor joins two ids by a line break; the ledger has lines
        event.call = "_".join(event.call.split())
    if moment in {BEFORE, AFTER}:
        _read_tool(event, sent)
    else:
        _read_turn(event, sent)
        event.tool = _text(sent, "tool_name") or _text(sent, "toolName")
    event.background = event.background or _leaves_tasks(sent.get("background_tasks"))
    return event


def _dialect(client: str) -> Dialect:
    try:
        return dialect(client)
    except ImportError:
        from dibs.workspace.known_clients import NAMES

        which = f"no client {client[:40]!r} is known here" if client else "the hook names no client"
        raise Unreadable(f"{which}; there are {', '.join(NAMES)}") from None


def _read_turn(event: Event, sent: Mapping[str, Any]) -> None:
    """What a person, or at the end of a turn the agent, said; and how it ended."""
    event.transcript = _text(sent, "transcript_path") or _text(sent, "transcriptPath")
    if event.moment in {STOP, DIED, FAIL}:
        event.said = _text(sent, "last_assistant_message") or _text(sent, "prompt_response")
        event.plan = sent.get("permission_mode") == "plan"
        ended = sent.get("stopReason") or sent.get("stop_reason") or sent.get("status") or ""
        event.halted = ended not in {"", "end_turn", "completed"}
    else:
        event.said = _text(sent, "prompt") or _text(sent, "message")
    if event.moment == FAIL:
        error = sent.get("error")
        if isinstance(error, dict):  # Copilot's
            event.error, event.said = _text(error, "name"), _text(error, "message")
        else:
            event.error = _text(sent, "error")
        event.halted = sent.get("recoverable") is not True


def _leaves_tasks(tasks: object) -> bool:
    """Does something run on after a turn? Claude Code lists its background commands and agents when it stops."""
    listed = tasks if isinstance(tasks, list) else []
    return any(not isinstance(one, dict) or one.get("status") not in _FINISHED for one in listed)


def _any_spelling(spoken: Dialect, name: str) -> str:
    """The moment of an event by its name in another spelling: `pre_tool_use` is `PreToolUse`."""
    plain = _field(name)
    return next((moment for known, moment in spoken.EVENTS.items() if _field(known) == plain), "")


def _may_ask(name: str) -> bool:
    """May this event ask for leave: does another client ask with it before a call, or is it no name of an event?"""
    from dibs.workspace.known_clients import NAMES

    if len(name) > MAX_EVENT_CHARS or not (name.isascii() and name.replace("_", "").replace("-", "").isalnum()):
        return True
    return any(_any_spelling(dialect(client), name) == BEFORE for client in NAMES)


def _sender(client: str, sent: dict[str, Any]) -> tuple[str, str]:
    """The client that sent this, and its own settings if the hook that it called is another client's."""
    from dibs.workspace.known_clients import MARKS

    for field, (name, settings) in MARKS.items():
        if field in sent and name != client:
            return name, settings
    return client, ""


def _read_tool(event: Event, sent: dict[str, Any]) -> None:
    """What the tool would do to which paths."""
    event.tool = _text(sent, "tool_name") or _text(sent, "toolName")
    given = sent.get("tool_input") if "tool_input" in sent else sent.get("toolArgs")
    if not event.tool:
        event.tool = _inferred(event, given)
    event.kind = event.dialect.TOOLS.get(event.tool, OTHER)
    if event.kind == OTHER:  # any name: an MCP server's tool, or one that is newer than this table
        if _runs(event.tool, given):
            event.kind = SHELL
        elif _writes(event, given):
            event.kind = EDIT
        else:
            return
    if isinstance(given, str):  # Copilot sometimes sends its arguments as a text
        from dibs import jsontext

        try:
            given = jsontext.decode(given)
        except ValueError:
            given = {"command": given} if event.kind in {PATCH, SHELL} else None
    if not isinstance(given, dict):
        raise Unreadable(f"{event.tool} has no input")
    if event.kind in {SHELL, PATCH}:
        _read_command(event, given, sent.get("tool_response"))
        return
    for path in _named(event, given):
        if not isinstance(path, str) or not path or "\0" in path:
            raise Unreadable(f"{event.tool} has no readable path")
        event.paths.append(path if path[0] not in "~f" else _plain_path(event, path))
    if not event.paths:
        raise Unreadable(f"{event.tool} names no path")
    if event.tool == "str_replace_editor" and given.get("command") == "view":
        event.kind = READ
    else:
        _read_change(event, given)


def _inferred(event: Event, given: Any) -> str:
    """The tool of a payload that names none, by what its input has."""
    for field, tool in event.dialect.NAMELESS if isinstance(given, dict) else ():
        if field in given:
            return tool
    raise Unreadable("the payload names no tool")


def _read_change(event: Event, given: dict[str, Any]) -> None:
    """Does an edit bring the whole content, or does it change what is there?"""
    several = given.get("edits", given.get("replacements"))
    if several is not None and len(set(event.paths)) > 1:
        return  # each of them is for one of these files
    for one in several if isinstance(several, list) else [given]:
        if not isinstance(one, dict):
            continue
        old = next((one[name] for name in _OLD if isinstance(one.get(name), str)), None)
        new = next((one[name] for name in _NEW if isinstance(one.get(name), str)), None)
        if old is not None and new is not None:
            event.edits.append((old, new, one.get("replace_all") is True))
    if not event.edits and several is None and event.tool != "NotebookEdit":
        event.content = next((given[name] for name in _WHOLE if isinstance(given.get(name), str)), None)


def _plain_path(event: Event, path: str) -> str:
    """A path as the system has it: clients put the home folder in for `~`, and take URLs of files."""
    if path.startswith("~/") and not os.path.lexists(os.path.join(event.where, "~")):
        return caller.environ().get("HOME", "~").rstrip("/") + path[1:]
    if path.startswith("file:///"):
        if "%" not in path:
            return path[7:]
        from urllib.parse import unquote

        return unquote(path[7:], errors="surrogateescape")
    return path


def _field(name: str) -> str:
    return name.lower().replace("_", "")


def _paths_in(given: dict[str, Any]) -> list[Any]:
    """The values of fields that name a file."""
    return [value for name, value in given.items() if value is not None and _field(name) in _PATHS]


def _named(event: Event, given: dict[str, Any]) -> list[Any]:
    """The files that a tool's input names, in any of its fields."""
    found = _paths_in(given)
    if found and event.tool in event.dialect.TOOLS:
        return found
    for pair in _MOVES if any(sign in event.tool.lower() for sign in _MOVING) else ():
        if all(isinstance(given.get(field), str) for field in pair):
            found += [given[field] for field in pair]
    for name in _LISTS:
        several = given.get(name, ())
        found += several if isinstance(several, dict) and name == "files" else ()
        for one in several if isinstance(several, list) else ():
            found += _paths_in(one) if isinstance(one, dict) else [one] if isinstance(one, str) else []
    return [path for path in found if not isinstance(path, str) or "://" not in path or path.startswith("file://")]


def _brings(given: Any) -> bool:
    """Does a tool's input have a content for a file in it?"""
    if not isinstance(given, dict):
        return False
    return any(_field(name) in _CONTENTS for name in given) or isinstance(given.get("files"), dict)


def _writes(event: Event, given: Any) -> bool:
    """Does an unknown tool look like one that writes? It names a file, and brings a content, or moves or deletes it."""
    if not isinstance(given, dict) or not any(isinstance(path, str) and path for path in _named(event, given)):
        return False
    own = event.tool.lower().rpartition("__")[2]
    if own.startswith(_LOOKING) and not any(sign in own for sign in _WRITING):
        return False
    if any(sign in own for sign in (*_MOVING, *_DELETING)):
        return True
    several = [one for name in _LISTS if isinstance(given.get(name), list) for one in given[name]]
    return _brings(given) or any(map(_brings, several))


def _runs(tool: str, given: Any) -> bool:
    """Does an unknown tool look like one that runs a shell command?"""
    plain = tool.lower().replace("-", "_")
    if not isinstance(given, dict) or not any(isinstance(given.get(field), str | list) for field in ("command", "cmd")):
        return False
    return plain.rpartition("__")[2].startswith("run") or any(sign in plain for sign in _SHELL_NAMES)


def _read_command(event: Event, given: Mapping[str, Any], answered: Any) -> None:
    """The words of a shell command, or the text of a patch."""
    if isinstance(given.get("task"), dict):  # of VS Code
        given = _of_task(given["task"])
    command = next((given[field] for field in (_PATCHES if event.kind == PATCH else _COMMANDS) if field in given), None)
    if isinstance(command, list) and all(isinstance(word, str) for word in command):  # a list of words, not shell
        command = _joined(command)
    if not isinstance(command, str):
        raise Unreadable(f"{event.tool} has no command")
    event.command = command
    event.background = any(given.get(field) is True for field in _BACKGROUND)
    if isinstance(answered, dict) and answered.get("backgroundTaskId"):
        event.background = True  # Claude Code moved it to the background while it ran
    where = next((given[field] for field in _PLACES if given.get(field)), "")
    if event.kind == SHELL and isinstance(where, str) and where:
        event.cwd = where if where.startswith("/") else f"{event.where}/{where}"


def _of_task(task: Mapping[str, object]) -> Mapping[str, object]:
    """A task of VS Code as the input of a shell: its command with its arguments, which are words of a shell, too."""
    more = task.get("args")
    words = [task.get("command"), *(more if isinstance(more, list) else ())]
    texts = [word for word in words if isinstance(word, str)]
    return {"command": " ".join(texts) if texts == words else None, "isBackground": task.get("isBackground")}


def _joined(words: list[str]) -> str:
    """A list of words as a command line."""
    if len(words) >= 3 and words[0].rpartition("/")[2] in {"bash", "sh", "zsh"} and words[1] in {"-c", "-lc"}:  # noqa: PLR2004
        return words[2]
    return " ".join(["'" + word.replace("'", "'\\''") + "'" for word in words])


def _text(sent: Mapping[str, Any], name: str) -> str:
    value = sent.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Unreadable(f"{name} is not a text")
    return value
