"""The answers of the room of agents, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict

from dibs.operations.core.answers import Page

if TYPE_CHECKING:
    from dibs.operations.claims.answers import AlertShort, ClaimView
    from dibs.operations.messages.answers import MessageView

AgentState = Literal["alive", "gone", "unknown", "left", "killed"]
Activity = Literal[
    "working", "idle", "waits for a person", "limited", "stalled", "exited", "left", "killed", "unknown"
]  # unknown: it runs where nothing can be seen from here, and was not heard of lately
Health = Literal["dead", "seen", "idle", "silent"]
Breaker = Literal["closed", "open", "half-open"]


class PersonWaitView(TypedDict):
    """That an agent waits for a person."""

    since: str
    what: str  # a permission, a question: in its client's words


class LimitView(TypedDict):
    """That an agent cannot go on: a usage limit, or an error that ended its turn."""

    since: str
    what: str  # in its client's words
    until: NotRequired[str]  # as far as the client said


class AgentView(TypedDict):
    """An agent, or a person."""

    agent: str
    name: str
    kind: Literal["agent", "person"]
    type: str
    can: list[str]
    state: AgentState  # of its process
    health: Health
    activity: Activity  # what it is at: the one word for people
    doing: NotRequired[str]  # the first words of its last prompt
    waits: NotRequired[PersonWaitView]
    limited: NotRequired[LimitView]
    stalled_since: NotRequired[str]
    idle_since: NotRequired[str]  # its last turn ended then
    holds: NotRequired[int]  # claims; in `agents` and `status`
    holds_up: NotRequired[list[str]]  # agents that want what it holds; in `agents` and `status`, if there are any
    holds_up_name: NotRequired[list[str]]
    incarnation: int
    client: str  # the kind of its client (`claude`), "" if that is not known
    host: str | None
    host_name: str | None  # for people
    pid: int | None
    since: str
    last_seen: str
    left_at: NotRequired[str]
    breaker: Breaker
    killed: NotRequired[str]  # why
    also: NotRequired[list[str]]  # its other ids
    rules: NotRequired[Literal["current", "old", "not told"]]
    tasks: NotRequired[list[str]]  # that it works on; in `agents`
    assigned: NotRequired[list[str]]  # that wait for it to take them; in `agents`, if there are any
    cpu: NotRequired[float]  # percent of one core, with --usage, on this machine
    memory: NotRequired[int]  # bytes, the same


class AgentsAnswer(Page):
    """Of `agents`."""

    agents: list[AgentView]
    usage: NotRequired[bool]  # it was asked for; `cpu` and `memory` are there where they could be measured


class WhoamiAnswer(TypedDict):
    """Of `whoami`."""

    agent: str
    name: str
    role: str
    type: str
    incarnation: int
    known: bool
    held: int
    by: str


class CredentialView(TypedDict):
    """A credential for a server's caller."""

    id: str
    kind: Literal["agent", "person", "machine"]
    who: str  # the agent, person or machine
    who_name: NotRequired[str]
    role: str  # "": what the config says
    state: Literal["live", "expired", "revoked"]
    by: str
    by_name: NotRequired[str]
    note: str
    since: str
    until: str
    fingerprint: str  # of the secret's hash
    revoked_at: NotRequired[str]


class TokenNewAnswer(TypedDict):
    """Of `token new`."""

    credential: CredentialView
    token: NotRequired[str]  # what its owner sends; not in the answer to a retry
    file: NotRequired[str]  # where the command wrote it instead


class TokenListAnswer(Page):
    """Of `token list`."""

    credentials: list[CredentialView]


class TokenRevokeAnswer(TypedDict):
    """Of `token revoke`."""

    credential: CredentialView


class LossView(TypedDict):
    """A claim or a task that an agent may believe to have, and has not."""

    claim: str
    resources: list[str]
    ago: str
    mode: str
    token: int | None
    why: str
    at: str
    task: str
    had: bool
    holder: str | None
    holder_name: NotRequired[str]
    since: str | None
    since_ago: NotRequired[str]
    believed: NotRequired[bool]
    state: NotRequired[str | None]
    finished_by: NotRequired[str | None]
    finished_by_name: NotRequired[str]


class OtherAgent(TypedDict):
    """An agent that is at work, too."""

    agent: str
    name: NotRequired[str]
    resources: list[str]
    more: int
    left: str


class OtherAgents(TypedDict):
    """Some of those."""

    agents: list[OtherAgent]
    more: int


class CurrentTask(TypedDict):
    """The task that an agent works on."""

    id: str
    token: int
    expires_at: str
    title: NotRequired[str]
    run: NotRequired[str]  # that it belongs to
    progress: NotRequired[int]  # percent
    note: NotRequired[str]
    note_by: NotRequired[str]
    note_by_name: NotRequired[str]


class RulesView(TypedDict):
    """The rules, as a boot tells them."""

    digest: str
    changed: bool
    first: bool
    text: NotRequired[str]


class FileView(TypedDict):
    """A file that a boot tells of."""

    name: str
    path: str
    part: Literal["whole", "top", "end", "none"]
    text: str
    characters: int  # of the whole file
    digest: str
    change: Literal["new", "same", "changed"]  # since the agent was last told


class Rival(TypedDict):
    """Another agent whose id this process was known by."""

    id: str
    agent: str
    name: NotRequired[str]
    since: str


class RoleView(TypedDict):
    """An agent's role, and what it lets the agent do."""

    role: str
    scratch: str  # its own folder; empty for a role that writes nothing
    write: list[str]  # patterns of the paths that it may write
    commit: bool
    deploy: bool


class Briefing(TypedDict):
    """What an agent is told when it boots."""

    agent: str
    name: NotRequired[str]
    incarnation: int
    role: RoleView | None
    held: list[ClaimView]
    held_count: int
    lost: list[LossView]
    lost_count: int
    others: OtherAgents
    task: CurrentTask | None
    messages: list[MessageView]
    more_messages: bool
    rules: RulesView | None
    alerts: list[AlertShort]  # open ones that concern the agent


class BootAnswer(Briefing):
    """Of `boot`."""

    files: NotRequired[list[FileView]]
    rival: NotRequired[Rival]


class LeaveAnswer(TypedDict):
    """Of `leave`."""

    released: list[str]
    passed: list[str]
    count: int
    to: str | None
    to_name: NotRequired[str]


class RunningView(TypedDict):
    """A process below the client of a killed agent."""

    agent: str
    name: str
    pid: int
    command: str


class EndedView(TypedDict):
    """The process of a killed agent's client, which was ended."""

    pid: int
    by: str  # the signal that did; "" if it had exited meanwhile


class KillAnswer(TypedDict):
    """Of `kill`."""

    agents: list[AgentView]  # of all: the first 200
    killed: int  # how many
    voided: list[str]
    count: int
    running: list[RunningView]  # on this machine, started before; dibs does not end these
    ended: NotRequired[EndedView]  # with `dibs kill --end`


class ReviveAnswer(TypedDict):
    """Of `revive`."""

    agents: list[AgentView]  # of all: the first 200
    revived: int  # how many; an agent that was not killed does not count


class RulesAnswer(TypedDict):
    """Of `rules`."""

    digest: str
    acknowledged: str
    current: bool
    text: NotRequired[str]


class ScratchAnswer(TypedDict):
    """Of `scratch`."""

    agent: str
    name: NotRequired[str]
    scratch: str
