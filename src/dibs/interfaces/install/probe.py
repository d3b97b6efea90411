"""A forbidden write, tried through the exact command in a client's settings.

The command, the launcher and the interpreter are the installed ones; the workspace is a temporary one, so that the
probe leaves nothing in the real record. In it a probe agent claims a path. Then the settings' own command is run as the
client would run it, with the client's payload for another agent's write to that path, and to a free one. A working
guard refuses the first with exit code 2 and in the client's dialect, and lets the second pass. A harmless call of a
third agent, which was killed, is refused as well.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.errors import Unavailable
from dibs.interfaces import agents
from dibs.interfaces.agents.adapter import HOOK_TIMEOUT_S
from dibs.machine import processes
from dibs.operations.core.call import Call
from dibs.workspace import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from dibs.interfaces.agents.adapter import Client

HOLDER, OTHER, KILLED = "dibs-doctor-holder", "dibs-doctor-other", "dibs-doctor-killed"
PERSON = "dibs-doctor-person"
HELD, FREE = "dibs-doctor-held", "dibs-doctor-free"  # neither is ever created
PROBE_TIMEOUT_S = HOOK_TIMEOUT_S + 5.0  # more than the settings give a hook
REFUSED = 2  # the one exit code that all clients treat as a refusal

# The command runs without this process above it: otherwise, in an agent's shell, the probe would get that client's own
# process. So its exit code comes by a file.
DETACHED = 'exec 4<&0; ( sh -c "$1" <&4; echo "$?" >"$2" ) &'
# Variables that would lead the probe to another workspace, store or name.
CALLER_VARIABLES = ("DIBS_AGENT", "DIBS_TREE")


class Scratch:
    """A temporary workspace with the config of a real one, in which the holder has claimed a path."""

    def __init__(self, config: str) -> None:
        self._config = config
        self.folder = ""

    def __enter__(self) -> Self:
        import tempfile

        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="dibs-doctor-"))
        try:
            self._fill()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        import shutil

        shutil.rmtree(self.folder, ignore_errors=True)

    def _fill(self) -> None:
        from dibs.client.session import Session
        from dibs.stores import opening

        local = f"{self.folder}/.dibs/local"
        os.makedirs(local, 0o700)
        if os.path.exists(self._config):
            with open(self._config, "rb") as file, open(f"{self.folder}/.dibs/config.toml", "wb") as copy:
                copy.write(file.read())
        if location.find(self.folder, self.folder).root != self.folder:
            raise Unavailable(f"the folder for temporary files lies in a repository ({self.folder})", path=self.folder)
        session = Session(self.folder, self.folder)
        session.use(opening.open_new(local))
        try:
            call = session.identify(HOLDER, client=processes.this())
            resource = session.paths.canonical(HELD, self.folder)
            session.run(session.operation("claim"), call, {"resources": [resource], "ttl": 300_000})
            session.run(session.operation("boot"), Call(session.config.policy, agent=KILLED), {})
            person = Call(session.config.policy, agent=PERSON, identified_by="user")
            session.run(session.operation("kill"), person, {"agent": KILLED, "why": "a trial"})
        finally:
            session.close()


def attempt(client: str, command: str, tree: str, scratch: str) -> str:
    """Try it from a working tree; "" if the write was refused correctly, else what happened instead."""
    adapter = agents.of(client)
    code, out, err = _run(adapter, command, tree, scratch, adapter.probe(OTHER, scratch, HELD))
    said = " ".join((err or out).split())[:300]
    if code is None:
        return f"it would fail open: the hook gave no answer within {PROBE_TIMEOUT_S:.0f} s"
    if code == 0 and not out.strip():
        return "it fails open: the write was let through"
    if code != REFUSED:
        return f"it fails open: exit code {code} lets the write through ({said or 'no output'})"
    if not _denies(adapter, out):
        return f"refused with exit code 2, but not in the client's own form ({said or 'no output'})"
    code, _, _ = _run(adapter, command, tree, scratch, adapter.probe(OTHER, scratch, FREE))
    if code != 0:
        return f"refused, but not because of the claim: {said}"
    code, _, _ = _run(adapter, command, tree, scratch, _harmless(adapter, scratch))
    return "" if code == REFUSED else "a harmless call of a killed agent was let through"


def _harmless(adapter: Client, scratch: str) -> dict[str, object]:
    """The payload of a killed agent's call of a tool that writes nothing."""
    sent = adapter.probe(KILLED, scratch, FREE)
    tool = "toolName" if "toolName" in sent else "tool_name"
    return {**sent, tool: next(iter(adapter.hook.HARMLESS)), ("toolArgs" if "toolArgs" in sent else "tool_input"): {}}


def _denies(adapter: Client, out: str) -> bool:
    try:
        return adapter.denies(jsontext.decode(out.strip()))
    except (ValueError, LookupError, TypeError):
        return False


def _run(
    adapter: Client, command: str, tree: str, scratch: str, sent: dict[str, object]
) -> tuple[int | None, str, str]:  # fmt: skip
    """Run a settings' command as its client would before a call; its exit code (None: timeout) and its output."""
    import subprocess

    given = jsontext.encode(sent)
    astray = {*CALLER_VARIABLES, *[client.hook.PROJECT_VARIABLE for client in agents.every()]}
    environment = {name: value for name, value in os.environ.items() if name not in astray}
    if adapter.hook.PROJECT_VARIABLE:
        environment[adapter.hook.PROJECT_VARIABLE] = tree
    environment["PWD"] = tree
    environment["DIBS_WORKSPACE"], environment["DIBS_STORE"] = scratch, "sqlite:"
    ended = f"{scratch}/.dibs/local/exit"
    started = subprocess.Popen(  # noqa: S603 - the very command that the client would run
        ["sh", "-c", DETACHED, "sh", command, ended], cwd=tree, env=environment,  # noqa: S607 - as the client finds it
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = started.communicate(given.encode(), timeout=PROBE_TIMEOUT_S)
        with open(ended, encoding="ascii") as file:
            code = int(file.read())
        os.unlink(ended)
    except subprocess.TimeoutExpired:
        started.kill()
        return None, "", ""
    except (OSError, ValueError):
        return None, "", ""
    return code, out.decode(errors="replace"), err.decode(errors="replace")
