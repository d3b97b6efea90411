"""Which agent makes a tool call, as its client's hook noted it: one small file a call, below `.dibs/local/calls`.

A client's hook knows the agent, a subagent included; a server behind the tool knows only the call's id. The hook writes
the note before the call and takes it away after it; what a killed client leaves behind goes with the old files of the
guards. On the hook path: nothing is imported.
"""

from __future__ import annotations

import os

FOLDER = "calls"
MAX_CALL = 128  # letters of a call's id; the clients' have 25 to 40
MAX_AGENT_BYTES = 1_024


def put(local: str, call: str, agent: str) -> None:
    """Note the agent that makes a call. What cannot be written is not known: then the session counts."""
    name = _name(call)
    if not name or not agent:
        return
    data = agent.encode("utf-8", "surrogateescape")
    for attempt in (0, 1):
        try:
            file = os.open(f"{local}/{FOLDER}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            if attempt:
                return
            try:
                os.mkdir(f"{local}/{FOLDER}", 0o700)
            except OSError:
                pass  # another hook made it meanwhile, or a sandbox forbids it
        except OSError:
            return
        else:
            os.write(file, data)
            os.close(file)
            return


def drop(local: str, call: str) -> None:
    """The call has ended."""
    name = _name(call)
    if name:
        try:
            os.unlink(f"{local}/{FOLDER}/{name}")
        except OSError:
            pass


def agent_of(local: str, call: str) -> str:
    """The agent that makes a call; "" if no hook noted it."""
    name = _name(call)
    if not name:
        return ""
    try:
        file = os.open(f"{local}/{FOLDER}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, MAX_AGENT_BYTES).decode("utf-8", "replace")
    finally:
        os.close(file)


def _name(call: str) -> str:
    """The file's name for a call's id: the id itself, as far as it is plain."""
    if not call or len(call) > MAX_CALL:
        return ""
    name = call.replace("-", "_")
    return call if name.replace("_", "").isascii() and name.replace("_", "").isalnum() else ""
