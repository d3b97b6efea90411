"""Who calls a tool: never an argument, always what the client's side of the connection shows.

In this order:

1. the credential of the connection (HTTP): an agent's own speaks for that agent and its subagents, a machine's or a
   person's for the agent that the others find, and never for the person;
2. the call's id, if dibs' own hook noted it before the call: it tells a subagent from its parent;
3. what the client says of its session: the metadata that Codex sends with each call; on stdio `DIBS_AGENT` and
   `CLAUDE_CODE_SESSION_ID` in the server's own environment;
4. on stdio the client's process: its session's start was recorded with it, and a client without hooks gets an id that
   lasts as long as the process; over HTTP an id that lasts as long as the protocol's session, or the connection.

Nothing is decided here: what a caller may do is for operations/core/authority.py and credentials.py.
"""

from __future__ import annotations

import os

from dibs.machine import processes
from dibs.operations.core.call import MAX_ID, Call, process_name
from dibs.server.identity import Identity
from dibs.stores.seam import digest_of
from dibs.workspace import call_notes
from dibs.workspace.known_clients import NAMES, PROCESS_NAMES, SESSION_VARIABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dibs.client.session import Session

SHELLS = frozenset(("sh", "dash", "bash", "zsh", "ksh", "fish", "busybox", "env", "timeout", "nice", "nohup"))
CALL_IDS = ("claudecode/toolUseId", "callId")  # in a call's metadata; the `tool_use_id` of the client's hooks
CODEX = "x-codex-turn-metadata"
HOOK = "the client's hook"
UNKNOWN = "mcp"  # the kind of a client that dibs does not know


class Who:
    """The caller of one tool: its identity, and the agent that the call itself names ("" if it names none).

    `fleeting`: it is known by its connection alone.
    """

    __slots__ = ("agent", "fleeting", "identity")

    def __init__(self, identity: Identity, agent: str = "", *, fleeting: bool = False) -> None:
        self.identity = identity
        self.agent = agent
        self.fleeting = fleeting

    @property
    def key(self) -> str:
        """What tells one caller from another."""
        return f"{self.identity.id} {self.agent or self.identity.agent}"


def named(local: str, meta: Mapping[str, Any]) -> tuple[str, str]:
    """The agent that a call's metadata leads to, and how; `local` is `.dibs/local`. ("", "") if they lead to none."""
    for key in CALL_IDS:
        call = meta.get(key)
        agent = call_notes.agent_of(local, call) if isinstance(call, str) else ""
        if agent:
            return agent, HOOK
    turn = meta.get(CODEX)
    session = turn.get("session_id") if isinstance(turn, dict) else None
    if isinstance(session, str) and 0 < len(session) <= MAX_ID:
        return session, CODEX
    return "", ""


def kind_of(client: str) -> str:
    """The kind of client by the name that it gives itself (`claude-code`, `codex-mcp-client`)."""
    return next((kind for kind in NAMES if client.lower().startswith(kind)), UNKNOWN)


def unnamed(told_apart_by: str) -> str:
    """The id of a client that names no session."""
    return f"{UNKNOWN}-{digest_of(told_apart_by)[:12]}"


class Process:
    """The client that started this process, for a server on stdio: looked up once, since neither changes."""

    def __init__(self, chain: list[tuple[list[Any], str]] | None = None) -> None:
        self.chain = processes.ancestors() if chain is None else chain
        self.client = next((process for process, name in self.chain if name not in SHELLS), None)
        self._kinds = [name for process, name in self.chain if process == self.client and name in PROCESS_NAMES]
        self._variable = next((name for name in ("DIBS_AGENT", *SESSION_VARIABLES) if os.environ.get(name)), "")

    def who(self, local: str, meta: Mapping[str, Any], client: str) -> Who:
        """The caller of one tool; `client` is the client's own name."""
        agent, how = named(local, meta)
        if not agent and self._variable:
            agent, how = os.environ[self._variable], self._variable
        kind = self._kinds[0] if self._kinds else SESSION_VARIABLES.get(self._variable) or kind_of(client)
        return Who(Started(self, agent, how, kind))


class Started(Identity):
    """The client that started this process: not a shell's word, and never a person."""

    __slots__ = ("how", "process")

    def __init__(self, process: Process, agent: str, how: str, kind: str) -> None:
        super().__init__(agent=agent, kind=kind, client=process.client)
        self.process = process
        self.how = how

    def call(self, session: Session, agent: str = "", request: str = "") -> Call:
        """The caller of one operation. A client that no hook has told of gets an id that lasts as long as it."""
        return Call(
            session.config.policy, agent=agent or self.agent,
            fallback=unnamed(process_name(self.client or processes.this())), client=self.client,
            ancestors=[one for one, _ in self.process.chain], request=request, kind=self.kind,
            identified_by=self.how, model=True,
        )  # fmt: skip
