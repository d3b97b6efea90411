"""A call of an operation: the caller, its process and the known facts; and small functions that all operations share.

core/entry.py has the entry, which every call passes. Nothing here imports an operation.
"""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.operations.core.declare import MAX_TEXT, NEAR, PROCESS, has_controls
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from dibs.operations.core.policy import Policy
    from dibs.operations.core.records import Job
    from dibs.stores.seam import Transaction

    Record = dict[str, Any]
    Process = list[Any]

JANUARY = 10  # in months counted from March, so that the leap day ends the year
MAX_ID = 200
PROGRAM = "dibs.open"  # how the caller was named: by a Python program, which may run in an agent's shell
DIBS_SENDER = "dibs"  # the name under which dibs itself sends messages
# Words that mean somebody else wherever an agent can be named: nobody could send a message to an agent of that id.
RESERVED = {
    DIBS_SENDER: "that is dibs' own name", "all": "that means every agent", "-": "that means the other side of a talk",
}  # fmt: skip
OF_TYPE = "type:"  # before a type of agents
TOKEN: int = COMMIT  # type: ignore[assignment] # the number of the commit that grants: the engine fills it in
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
WHOLE_HOURS_MS = 2 * HOUR_MS  # from here on, whole hours are exact enough

# Consequences of a decision in a room above the deciding one, by name. A room imports only rooms below it, so it calls
# these; entry.py, above all rooms, puts them here.
FOLLOW_UPS: dict[str, Callable[..., Any]] = {}


class Need(Exception):
    """An operation lacks a fact: the door looks, outside the transaction, and runs it again."""

    UNSETTLED = "could not determine which processes are alive; try again."  # after too many rounds of questions

    def __init__(self, processes: list[Process]) -> None:
        super().__init__("facts are needed")
        self.processes = processes


class Call:
    """One call of one operation: caller, process, facts. Made by a door."""

    __slots__ = (
        "agent",
        "ancestors",
        "barred",
        "began",
        "client",
        "credential",
        "decided",
        "facts",
        "fallback",
        "here",
        "host",
        "how",
        "inside",
        "jobs",
        "kind",
        "machine",
        "model",
        "name",
        "operation",
        "person",
        "place",
        "policy",
        "request",
        "role",
        "rules",
        "sender",
        "session",
        "tied",
        "typed",
        "via",
    )

    def __init__(
        self,
        policy: Policy,
        *,
        agent: str = "",
        fallback: str = "",
        client: Process | None = None,
        ancestors: Iterable[Process] = (),
        request: str = "",
        kind: str = "",
        typed: bool = False,
        session: str = "",
        how: str = "",
        credential: tuple[str, str] | None = None,
        host: str = "",
        model: bool = False,
    ) -> None:
        self.policy = policy
        self.agent = agent  # empty: the agent registered for one of the ancestors, else the fallback
        self.fallback = fallback
        self.client = client
        self.ancestors = list(ancestors)
        self.request = request
        self.kind = kind  # the client's kind (`claude`), as far as the door can see it: part of a new agent's name
        self.typed = typed  # from a shell or a script, git's hooks included; not a client's own call
        self.session = session  # the id in the session variable of the client whose shell this is, if any
        self.how = how  # how the caller was named: `--as`, a variable, its process, the operating system's user
        # of a server's caller: the credential's id and the hash of its secret; verified on the way in (credentials.py)
        self.credential = credential
        self.model = model  # a model's own call, by a door that serves models alone: never a person's
        self.role = ""  # set on the way in: the credential's role
        self.machine = ""  # set on the way in: the machine whose credential it is
        self.person = False  # set on the way in: it is a person's, and the person speaks for itself
        self.host = host  # the name of the machine that the caller's process runs on, for people to read
        self.sender = PROCESS  # who sent the request: this machine, or the kind of a far caller's credential
        self.barred = ""  # of a far caller's request, what its sender may not send (`Operation.unsendable`)
        self.here = ""  # the id of a far caller's machine, by its own word until agents/places.py has looked
        self.place = ""  # a far caller's credential, by name: what it reports is of its place, not of this machine
        self.inside = ""  # set on the way in: the agent whose shell the call comes from (see speech.py)
        self.name = ""  # set on the way in: the caller's readable name (see names.py)
        self.operation = ""  # set on the way in: a request id belongs to one operation
        self.rules = ""  # digest of the workspace's rules, if the operation wants it
        self.began = 0  # when its first transaction began, for one that takes several
        self.tied = False  # set on the way in: the call comes from the agent's current process, and claims end with it
        # the last transaction's decision, for a caller that was interrupted before it got the answer
        self.decided: Any = None
        self.jobs: list[Job] = []  # set on the way: the jobs that are going, where tasks are looked for
        self.facts: dict[str, bool | None] = {}  # process → alive, dead, or cannot be seen from here
        # the connection of a request that goes through a server, its number there, and whether this is a retry of it
        self.via: tuple[str, int, bool] | None = None

    def know(self, processes: Iterable[Process | None]) -> None:
        """Raise Need for the processes among these that were not checked yet."""
        missing = [p for p in processes if p is not None and process_name(p) not in self.facts]
        if missing:
            raise Need(missing)

    def is_program(self, process: Process | None) -> bool:
        """Does this process call dibs itself? A client is above the hooks and shells that it starts."""
        return not self.typed and process not in self.ancestors

    @property
    def is_person(self) -> bool:
        """Is this the operating system's user, with no client above, or a person by credential? Known once named."""
        local = self.credential is None and self.how == "user"
        return self.person or (local and (self.client is None or self.is_program(self.client)))

    @property
    def voice(self) -> str:
        """In whose name a report of the caller is told to others: dibs' own for what this machine saw itself."""
        return self.reporter or DIBS_SENDER

    @property
    def reporter(self) -> str:
        """The agent by whose word alone something is known: the far caller; "" for what this machine saw itself."""
        return "" if self.sender in NEAR else self.agent

    def alive(self, process: Process | None) -> bool | None:
        """Is that process alive? None if it cannot be seen from here. Raises Need if it was not checked yet."""
        self.know([process])
        return None if process is None else self.facts[process_name(process)]


def process_name(process: Process) -> str:
    """A process as text: host, boot, pid namespace, pid, start time."""
    return ":".join([str(part) for part in process])


def lineage_of(agent: str) -> list[str]:
    """An agent's ancestors, the eldest first, and the agent itself: `a`, `a/b`, `a/b/c`."""
    found = []
    place = agent.find("/")
    while place >= 0:
        found.append(agent[:place])
        place = agent.find("/", place + 1)
    return [*found, agent]


def related(agent: str, other: str) -> bool:
    """Are they the same agent, or is one the other's ancestor? Then they never block each other."""
    return agent == other or agent.startswith(other + "/") or other.startswith(agent + "/")


def within(agent: str, ancestor: str) -> bool:
    """Is this the agent itself or one of its descendants?"""
    return agent == ancestor or agent.startswith(ancestor + "/")


def check_agent_id(agent: str) -> None:
    """Refuse ids that would break a key, a line of the log or a terminal."""
    if not agent or len(agent) > MAX_ID:
        raise Invalid(f"an agent's id has 1 to {MAX_ID} characters", agent=agent[:MAX_ID])
    if not agent.isprintable() or " " in agent:
        raise Invalid("an agent's id has no blanks and no control characters", agent=agent)
    if agent.casefold() in RESERVED:
        raise Invalid(f"an agent cannot be called `{agent}`: {RESERVED[agent.casefold()]}", agent=agent)
    if agent.startswith(OF_TYPE):
        raise Invalid(f"an agent's id does not begin with `{OF_TYPE}`: that means the agents of a type", agent=agent)
    if agent.startswith("-"):
        raise Invalid("an agent's id does not begin with a dash: a command would take it for an option", agent=agent)
    if not all(agent.split("/")):
        raise Invalid("an agent's id has no empty part between slashes", agent=agent)


def check_request_id(request: str) -> None:
    """Refuse request ids that would break a key."""
    if len(request) > MAX_ID or not request.isprintable():
        raise Invalid(f"a request id has at most {MAX_ID} printable characters", field="request_id")


def check_text(text: str | None, field: str) -> str:
    """People's words that no field declares: not too long, and no control characters but newline and tab."""
    if not text:
        return ""
    if len(text) > MAX_TEXT:
        raise Invalid(f"{field}: at most {MAX_TEXT} characters, not {len(text)}", field=field)
    if not text.isprintable() and has_controls(text):
        raise Invalid(f"{field}: no control characters", field=field)
    return text


def due(when: int) -> str:
    """The entry in the second index by which a sweep finds a record at that time."""
    return f"due\t{when:015d}"


def in_words(ms: int) -> str:
    """A duration for people, rounded down so that it never promises too much."""
    if ms < MINUTE_MS:
        return "under a minute"
    if ms < WHOLE_HOURS_MS:
        return f"{ms // MINUTE_MS} min"
    return f"{ms // HOUR_MS} h" if ms < 2 * DAY_MS else f"{ms // DAY_MS} days"


def span(ms: int) -> str:
    """A duration for people where seconds matter: how long ago, how long an offer stands."""
    return f"{ms // 1000} s" if ms < MINUTE_MS else in_words(ms)


def iso(tx: Transaction, when: int) -> str:
    """A time of the store's clock as the wall clock shows it now: ISO 8601, UTC, to the millisecond."""
    seconds, ms = divmod(tx.wall + when - tx.now, 1000)
    days, rest = divmod(seconds, 86_400)
    return f"{_day(days)}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}.{ms:03d}Z"


_last_day = (-1, "")


def _day(days: int) -> str:
    """A day since 1970 as text. The last one is cached: one answer has many times of one day."""
    global _last_day  # noqa: PLW0603 - a cache of one entry
    last = _last_day  # read once: another thread may replace it
    if last[0] == days:
        return last[1]
    # the civil calendar from a day count (Howard Hinnant's method): no module that knows a clock is imported here
    z = days + 719_468
    era, of_era = divmod(z, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    day, month = of_year - (153 * shifted + 2) // 5 + 1, shifted + 3 if shifted < JANUARY else shifted - 9
    year += era * 400 + (shifted >= JANUARY)
    text = f"{year:04d}-{month:02d}-{day:02d}"
    _last_day = (days, text)
    return text
