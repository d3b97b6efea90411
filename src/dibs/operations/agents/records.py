"""What is stored of agents: their records, names, processes, credentials. Nothing is decided here."""

from __future__ import annotations

from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal, NotRequired, TypedDict

    from dibs.stores.seam import Json, Range, Transaction

    Process = list[Json]  # host, boot, process id, start time; for a process elsewhere also its namespace

    CredentialKind = Literal["agent", "person", "machine"]

    class Kill(TypedDict):
        """That an agent was killed: each of its calls is refused."""

        at: int  # ms
        by: str  # who did it
        why: str
        all: NotRequired[bool]  # by a kill of all agents

    class Worker(TypedDict):
        """What a task may ask of whoever takes it."""

        type: str  # what it does, such as `tester`; the agent says so at its boot
        can: list[str]  # what it can do

    class PersonWait(TypedDict):
        """That an agent waits for a person."""

        since: int  # ms
        what: str  # a permission, a question: in the client's words

    class Gate(TypedDict):
        """What the gate at the end of a turn said in this turn."""

        sent: int  # how often it sent the agent back
        missing: list[str]  # what was missing the last time

    class Limit(TypedDict):
        """That an agent cannot go on: a usage limit, or an error that ended its turn."""

        since: int  # ms
        what: str  # in its client's words
        until: NotRequired[int]  # ms; absent: it is not known

    class Agent(Worker):
        """An agent, from its first call on."""

        agent: str  # its id; a subagent's is `PARENT/OWN`
        name: str  # short, for people and refusals
        incarnation: int  # rises with each start of its process
        process: Process | None  # where it runs
        former: list[Process]  # where it ran before: calls from there are fenced
        killed: Kill | None
        since: int  # ms: its first call
        seen: int  # ms: its last call, roughly
        left: bool  # it signed off
        kind: NotRequired[Literal["person"]]
        machine: NotRequired[str]  # the machine's credential that it came with
        client: NotRequired[str]  # the program that it runs in, such as `claude`
        client_type: NotRequired[str]  # what the client calls it: a subagent's type
        where: NotRequired[str]  # its machine's name, for people
        works: NotRequired[bool]  # it asked for tasks, so tasks may be assigned to it
        assigned: NotRequired[int]  # ms: until then tasks may be waiting for it alone
        strikes: NotRequired[int]  # tasks that failed one after the other
        struck: NotRequired[int]  # ms: when the last one did
        heard: NotRequired[dict[str, int]]  # type → ms: messages to that type up to then were received
        rules: NotRequired[str]  # the digest of the rules that it was shown last
        rules_at: NotRequired[int | str]  # the commit of that; before it is done, its placeholder
        files: NotRequired[dict[str, str]]  # shared texts that it was shown at boot: name → digest
        mourned: NotRequired[str]  # the process whose death was told
        ended: NotRequired[str]  # the process that ended in order
        turn: NotRequired[int]  # ms: a turn is open since then; absent: none is, or its client reports none
        rested: NotRequired[int]  # ms: its turn ended then, and left nothing running; absent while it is at work
        busy: NotRequired[bool]  # its turn ended, and left something running
        doing: NotRequired[str]  # the first words of its last prompt
        waits: NotRequired[PersonWait]
        gate: NotRequired[Gate]
        reminded: NotRequired[list[str]]  # what was missing when its person was told last
        asked: NotRequired[bool]  # its last call was a permission that nobody could give
        open_end: NotRequired[bool]  # the person asked to stop early, or for work that is not committed
        limited: NotRequired[Limit]
        stalled: NotRequired[int]  # ms: its turn is open, and there was no sign and no CPU time since then
        handed: NotRequired[str]  # the process whose work was handed over
        also: NotRequired[list[str]]  # other ids of the same agent
        same: NotRequired[str]  # this is such an id: the agent that it means

    class Named(TypedDict):
        """Whose name it is."""

        agent: str

    class ProcessOwner(TypedDict):
        """Which agent runs in a process."""

        agent: str
        program: NotRequired[bool]  # it calls dibs from Python: what it starts is no shell of an agent

    class Credential(TypedDict):
        """A credential for callers from afar. Its secret is not stored."""

        id: str
        kind: CredentialKind  # whom it is for
        who: str
        role: str  # the highest rank that it gives
        hash: str  # of the secret
        note: str
        by: str  # who made it
        since: int  # ms
        until: int  # ms
        revoked: int  # ms; 0: it is not
        machines: NotRequired[list[str]]  # the machines whose processes it speaks for

    class MachineOwner(TypedDict):
        """Which credential's word counts for the processes of a machine."""

        credential: str  # its id
        kind: CredentialKind
        who: str


def agent_key(agent: str) -> str:
    """An agent."""
    return f"a\t{agent}"


def agent_keys(agents: Iterable[str]) -> list[str]:
    """Several agents."""
    return [f"a\t{agent}" for agent in agents]


AGENT_KEYS = "a\t"  # before every agent's id


def subagents_range(agent: str) -> Range:
    """The agents below this one."""
    return prefix_range(f"a\t{agent}/")


def name_key(name: str) -> str:
    """The agent with this name, if that is not its id; also an alias of it."""
    return f"nm\t{name}"


NAME_KEYS = "nm\t"  # before every name


def process_key(process: str) -> str:
    """The agent in this client process."""
    return f"p\t{process}"


def credential_key(identifier: str) -> str:
    """A credential: for whom, its role and end, the hash of its secret."""
    return f"cr\t{identifier}"


CREDENTIAL_KEYS = "cr\t"  # before every credential's id


def machine_key(host: str) -> str:
    """The credential that has this machine: the one whose word counts for its processes."""
    return f"ch\t{host}"


def get_agent(tx: Transaction, agent: str) -> Agent | None:
    """The record of an agent; None if it is unknown."""
    record: Agent | None = tx.get(f"a\t{agent}")
    return record


def registered_agent(tx: Transaction, agent: str) -> Agent:
    """The record of an agent that has one, such as the caller of an operation that writes."""
    record: Agent = tx.get(f"a\t{agent}")
    return record


def get_agents(tx: Transaction, agents: Iterable[str]) -> dict[str, Agent | None]:
    """The records of many agents by their ids, in one trip."""
    ids = list(dict.fromkeys(agents))
    return dict(zip(ids, tx.get_many(agent_keys(ids)).values(), strict=True))


def put_agent(tx: Transaction, agent: Agent) -> None:
    """Write an agent's record."""
    tx.put(f"a\t{agent['agent']}", agent)
