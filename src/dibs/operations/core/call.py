"""A call of an operation: the caller, its process and the known facts; the outcomes of one; small functions for all.

core/entry.py has the entry, which every call passes. Nothing here imports an operation.
"""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.operations.core.declare import MAX_TEXT, NEAR, PROCESS, has_controls
from dibs.stores.seam import COMMIT, Envelope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypedDict, TypeVar

    from dibs.operations.claims.records import Claim, Waiter
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.policy import Policy
    from dibs.operations.core.records import Job
    from dibs.stores.seam import Json, Transaction

    Answer = dict[str, Json]  # of any operation: its declaration names the TypedDict
    Fields = dict[str, Json]  # of a request before its check; `requests.pyi` of its room has its type
    Process = list[Json]
    A = TypeVar("A")  # the type of an answer

    class Command(TypedDict):
        """A command that has to run before an operation is decided, under the claim of a task."""

        command: str
        task: str
        resource: Resource  # that the claim is on
        token: int
        expires_at: str
        field: str  # that named the command
        into: str  # the field that takes its result


JANUARY = 10  # in months counted from March, so that the leap day ends the year
MAX_ID = 200
PROGRAM = "dibs.open"  # how the caller was named: by a Python program, which may run in an agent's shell
DIBS_SENDER = "dibs"  # the name under which dibs itself sends messages
# Words that mean somebody else wherever an agent can be named: nobody could send a message to an agent of that id.
RESERVED = {
    DIBS_SENDER: "that is dibs' own name", "all": "that means every agent", "-": "that means the other side of a talk",
}  # fmt: skip
OF_TYPE = "type:"  # before a type of agents
OF_TREE = "tree:"  # before a working tree that holds something: no agent
TOKEN: int = COMMIT  # type: ignore[assignment] # the number of the commit that grants: the engine fills it in
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
WHOLE_HOURS_MS = 2 * HOUR_MS  # from here on, whole hours are exact enough


class FollowUps:
    """Consequences of a decision in a room above the deciding one.

    A room imports only rooms below it, so it calls these; entry.py, above all rooms, sets them.
    """

    __slots__ = (
        "change_accepted", "job_steps", "lapse", "started", "suspicions", "sweep", "task_claim_ended",
        "task_wait_ended",
    )  # fmt: skip

    task_claim_ended: Callable[[Transaction, Claim, str], None]  # its claim, and why it ended
    task_wait_ended: Callable[[Transaction, str, str], None]  # the agent and its waiter
    lapse: Callable[[Transaction, Call, Sequence[Claim | Waiter]], list[Claim | Waiter]]  # past a deadline → what ended
    sweep: Callable[[Transaction, Call, int], object]  # at most that many records
    suspicions: Callable[[Transaction, Call], int]  # those that are due at once
    started: Callable[[Transaction, Call, str], list[str]]  # in that working tree; tasks that it took over
    change_accepted: Callable[[Transaction, Call, str], str]  # a change's id; its path
    job_steps: dict[str, Callable[[Transaction, Json, int], int]]  # kind of job → records that a step used


FOLLOW_UPS = FollowUps()


# --- outcomes: a body returns its answer (it is done), a `DibsError` (it is refused), or one of the classes below


class NeedsFacts(Exception):
    """An operation lacks a fact: the driver looks, outside the transaction, and runs it again.

    Raised, not returned: what the transaction has written so far is undone.
    """

    UNSETTLED = "could not determine which processes are alive; try again."  # after too many rounds of questions

    def __init__(self, processes: list[Process]) -> None:
        super().__init__("facts are needed")
        self.processes = processes


class Outcome(Envelope):
    """What a transaction came to, where that is neither an answer nor a refusal. Its writes are committed."""

    __slots__ = ()


class Undecided(Outcome):
    """The operation is run again: a retry gets no answer from before."""

    __slots__ = ()


class Continue(Undecided):
    """Part of it is done; the next transaction does more."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__({})


class Wait(Undecided):
    """It has a place in a queue, and is run again when its turn comes, or by `look_in` at the latest."""

    __slots__ = ("look_in", "waiter")

    def __init__(self, waiter: str, look_in: int, answer: Answer) -> None:
        super().__init__(answer)
        self.waiter = waiter  # the id of the place
        self.look_in = look_in  # ms


class RunCommand(Undecided):
    """The caller runs a command first; its result is a field of the next attempt."""

    __slots__ = ("command",)

    def __init__(self, command: Command) -> None:
        super().__init__({})
        self.command = command


class JobsLeft(Outcome):
    """It is done but for jobs that take more transactions (long_jobs.py), and that add to its answer."""

    __slots__ = ("jobs",)

    def __init__(self, answer: Json, jobs: list[str]) -> None:
        super().__init__(answer)
        self.jobs = jobs


def with_jobs(answer: A, jobs: list[str]) -> A | JobsLeft:
    """An answer, with its unfinished jobs if there are any."""
    return JobsLeft(answer, jobs) if jobs else answer


def to_json(outcome: Json) -> Json:
    """An outcome that is not an error, as it is stored and sent."""
    if not isinstance(outcome, Outcome):
        return outcome
    if isinstance(outcome, Wait):
        return {"waiting": outcome.waiter, "look_in": outcome.look_in, **outcome.answer}
    if isinstance(outcome, RunCommand):
        return {"again": outcome.command}
    assert isinstance(outcome, JobsLeft), "what is continued at once is neither stored nor sent"
    return {**outcome.answer, "jobs": outcome.jobs}


def of_json(answer: Json) -> Json:
    """The outcome that was stored or sent as this."""
    if type(answer) is not dict:
        return answer
    if "look_in" in answer:
        shown = {key: value for key, value in answer.items() if key not in {"waiting", "look_in"}}
        return Wait(answer["waiting"], answer["look_in"], shown)
    if "again" in answer:
        return RunCommand(answer["again"])
    if "jobs" in answer:
        return JobsLeft({key: value for key, value in answer.items() if key != "jobs"}, answer["jobs"])
    return answer


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
        "exchange",
        "facts",
        "fallback",
        "from_current_process",
        "from_shell",
        "here",
        "host",
        "identified_by",
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
        "shell_owner",
        "waiter",
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
        from_shell: bool = False,
        session: str = "",
        identified_by: str = "",
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
        self.from_shell = from_shell  # from a shell or a script, git's hooks included; not a client's own call
        self.session = session  # the id in the session variable of the client whose shell this is, if any
        self.identified_by = (
            identified_by  # how the caller was named: `--as`, a variable, its process, the operating system's user
        )
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
        self.shell_owner = ""  # set on the way in: the agent whose shell the call comes from (see speech.py)
        self.name = ""  # set on the way in: the caller's readable name (see names.py)
        self.operation = ""  # set on the way in: a request id belongs to one operation
        self.rules = ""  # digest of the workspace's rules, if the operation wants it
        self.began = 0  # when its first transaction began, for one that takes several
        self.from_current_process = (
            False  # set on the way in: the call comes from the agent's current process, and claims end with it
        )
        # the last transaction's outcome, for a caller that was interrupted before it got the answer
        self.decided: Json = None
        self.waiter = ""  # its place in a queue, once an outcome has named it
        self.jobs: list[Job] = []  # set on the way: the jobs that are going, where tasks are looked for
        self.facts: dict[str, bool | None] = {}  # process → alive, dead, or cannot be seen from here
        # the connection of a request that goes through a server, its number there, and whether this is a retry of it
        self.exchange: tuple[str, int, bool] | None = None

    def know(self, processes: Iterable[Process | None]) -> None:
        """Raise NeedsFacts for the processes among these that were not checked yet."""
        missing = [p for p in processes if p is not None and process_name(p) not in self.facts]
        if missing:
            raise NeedsFacts(missing)

    def is_program(self, process: Process | None) -> bool:
        """Does this process call dibs itself? A client is above the hooks and shells that it starts."""
        return not self.from_shell and process not in self.ancestors

    @property
    def is_person(self) -> bool:
        """Is this the operating system's user, with no client above, or a person by credential? Known once named."""
        local = self.credential is None and self.identified_by == "user"
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
        """Is that process alive? None if it cannot be seen from here. Raises NeedsFacts if it was not checked yet."""
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
    if agent.startswith(OF_TREE):
        raise Invalid(f"an agent's id does not begin with `{OF_TREE}`: that means a working tree", agent=agent)
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
