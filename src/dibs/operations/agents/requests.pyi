"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import Literal, TypedDict

from dibs.operations.core.call import Process

class AgentsRequest(TypedDict):
    """The request of `agents`."""

    all: bool
    type: str
    state: Literal["alive", "gone", "unknown", "left", "killed", ""]
    usage: bool
    limit: int
    after: str

class BearerRequest(TypedDict):
    """The request of `bearer`."""

    id: str
    hash: str

class BootRequest(TypedDict):
    """The request of `boot`."""

    task: str
    type: str
    can: Sequence[str]
    pid: Process | None
    client_type: str
    believed: Sequence[str]
    tree: str
    also: str
    files: dict[str, str] | None

class ClientProcessRequest(TypedDict):
    """The request of `client-process`."""

    agent: str

class FoundRequest(TypedDict):
    """The request of `found`."""

    word: str
    known: bool

class KillRequest(TypedDict):
    """The request of `kill`."""

    agent: str
    why: str

class LimitedRequest(TypedDict):
    """The request of `limited`."""

    what: str
    ms: int

class NamedRequest(TypedDict):
    """The request of `named`."""

    words: Sequence[str]

class NamesRequest(TypedDict):
    """The request of `names`."""

    agents: Sequence[str]

class ReviveRequest(TypedDict):
    """The request of `revive`."""

    agent: str

class RulesRequest(TypedDict):
    """The request of `rules`."""

    ack: bool

class SameRequest(TypedDict):
    """The request of `same`."""

    alias: str

class ServeTokenRequest(TypedDict):
    """The request of `serve token`."""

    hash: str
    before: str

class StalledRequest(TypedDict):
    """The request of `stalled`."""

    quiet: Sequence[tuple[str, int]]

class TokenListRequest(TypedDict):
    """The request of `token list`."""

    all: bool
    limit: int
    after: str

class TokenNewRequest(TypedDict):
    """The request of `token new`."""

    agent: str
    person: str
    machine: str
    role: str
    expires: int
    note: str
    hash: str

class TokenRevokeRequest(TypedDict):
    """The request of `token revoke`."""

    id: str

class TurnRequest(TypedDict):
    """The request of `turn`."""

    what: Literal["prompted", "asks", "over", "denied"]
    text: str
    continues: bool
    open_end: bool

class UseRequest(TypedDict):
    """The request of `use`."""

    tool: str
    client: str

class WhoRequest(TypedDict):
    """The request of `who`."""

    agent: str
