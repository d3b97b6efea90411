"""A forbidden write, tried through the exact command that a client's settings name.

A probe agent claims a path; then the settings' own command is run as the client would run it, with the payload that
the client would send for another agent's write to that path. A guard that works refuses it with exit code 2 and a
refusal in the client's dialect. Nothing is written, and both agents leave afterwards.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.doors.hooks import journal
from dibs.errors import DibsError
from dibs.facts import git, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from dibs.doors.session import Session

HOLDER, OTHER = "dibs-doctor-holder", "dibs-doctor-other"
PATHS = ("dibs-doctor-probe", ".dibs/doctor-probe")  # neither is ever made
LIMIT = 25.0  # seconds; more than the settings give a hook
EVENTS = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool", "copilot": "preToolUse"}

# The command runs without this process above it: run by an agent's client, doctor would otherwise give the probe that
# client's own process, and so its agent's identity.
DETACHED = 'exec 4<&0; ( sh -c "$1" <&4; echo "$?" >&3 ) &'


class Claimed:
    """A path that the probe's holder has claimed for as long as this lasts."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.path = PATHS[0]

    def __enter__(self) -> Self:
        self.path = self._free_path()
        resource = list(self._session.paths.resource(self.path, self._session.place.top))
        self._as(HOLDER, "boot", {})  # its last process was another doctor's
        self._as(HOLDER, "claim", {"resources": [resource], "reason": "dibs doctor tries the guards", "ttl": 300_000})
        return self

    def __exit__(self, *_: object) -> None:
        for agent in (OTHER, HOLDER):
            try:
                self._as(agent, "boot", {})
                self._as(agent, "leave", {})
            except DibsError:
                pass  # it never came, or the claim ends by itself in a few minutes
        try:
            os.unlink(f"{self._session.place.local}/journal/{journal.name_of(OTHER)}")
        except OSError:
            pass

    def _free_path(self) -> str:
        """One that git does not ignore: what it ignores needs no claim."""
        top = self._session.place.top
        try:
            ignored = git.is_ignored(top, PATHS) if self._session.place.common else set()
        except DibsError:
            ignored = set()
        return next((path for path in PATHS if path not in ignored), PATHS[0])

    def _as(self, agent: str, operation: str, fields: dict[str, Any]) -> None:
        call = self._session.identify(agent, client=processes.this())
        self._session.run(self._session.operation(operation), call, fields)


def payload(client: str, tree: str, path: str) -> dict[str, Any]:
    """What the client sends before a write."""
    full = os.path.join(tree, path)
    if client == "copilot":
        return {"sessionId": OTHER, "cwd": tree, "toolName": "create", "toolArgs": {"path": full, "file_text": "x\n"}}
    sent = {"session_id": OTHER, "transcript_path": "", "cwd": tree, "hook_event_name": EVENTS[client]}
    if client == "codex":
        patch = f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"
        return {**sent, "tool_name": "apply_patch", "tool_input": {"command": patch}}
    tool = "Write" if client == "claude" else "write_file"
    return {**sent, "tool_name": tool, "tool_input": {"file_path": full, "content": "x\n"}}


def attempt(client: str, command: str, tree: str, path: str) -> str:
    """Try it; "" if the write was refused as it must be, else what happened instead."""
    code, out, err = _run(command, tree, jsontext.encode(payload(client, tree, path)))
    said = " ".join((err or out).split())[:300]
    if code is None:
        return f"it would fail open: the hook gave no answer within {LIMIT:.0f} s"
    if code == 0 and not out.strip():
        return "it fails open: the write was let through"
    if code != 2:  # noqa: PLR2004 - the one code that all clients take for a refusal
        return f"it fails open: exit code {code} lets the write through ({said or 'it said nothing'})"
    if not _denies(client, out):
        return f"refused with exit code 2, but not in the client's own form ({said or 'it said nothing'})"
    return "" if HOLDER in out else f"refused, but not because of the claim: {said}"


def _denies(client: str, out: str) -> bool:
    try:
        answer = jsontext.decode(out.strip())
        if client == "gemini":
            return bool(answer["decision"] == "deny")
        inner = answer if client == "copilot" else answer["hookSpecificOutput"]
        return bool(inner["permissionDecision"] == "deny")
    except (ValueError, KeyError, TypeError):
        return False


def _run(command: str, tree: str, given: str) -> tuple[int | None, str, str]:
    """Run a settings' command as its client would; its exit code (None: too slow) and what it said."""
    import subprocess

    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DIBS_AGENT", "DIBS_TREE", "CLAUDE_PROJECT_DIR"}
    }
    environment["CLAUDE_PROJECT_DIR"] = environment["PWD"] = tree
    ours, theirs = os.pipe()
    try:
        started = subprocess.Popen(  # noqa: S603 - the very command that the client would run
            ["sh", "-c", f"exec 3>&{theirs}; {DETACHED}", "sh", command],  # noqa: S607 - as the client would find it
            cwd=tree, env=environment, pass_fds=(theirs,),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        os.close(theirs)
        theirs = -1
        try:
            out, err = started.communicate(given.encode(), timeout=LIMIT)
        except subprocess.TimeoutExpired:
            started.kill()
            return None, "", ""
        code = os.read(ours, 16).strip()
    finally:
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)
    return int(code) if code.isdigit() else None, out.decode(errors="replace"), err.decode(errors="replace")
