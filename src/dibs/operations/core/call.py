"""Who calls, and whether they may: the way into every operation that writes.

Each call passes here before its operation decides anything: the caller is named, a killed agent and a process that is
no longer its agent's current one are refused, a request id that was answered before gets the same answer again, an
agent not seen before is registered. One copy of these rules, for all doors.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.errors import ERRORS, DibsError, Fenced, Invalid, Killed
from dibs.operations.core.declare import AGENT, RANKS, is_text
from dibs.stores.seam import COMMIT, digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.operations.core.declare import Operation
    from dibs.operations.core.policy import Policy
    from dibs.stores.seam import Fetched, Range, Transaction

    Record = dict[str, Any]
    Process = list[Any]

REQUEST_LIFE = 24 * 3_600_000  # a retry comes within minutes; a day covers a laptop closed overnight
AHEAD = 48  # rows that an operation has read for it on the way in; it reads on if it needs more
SEEN_EVERY = 60_000  # writing "last seen" at each call would double what a claim writes
HOW_TO_WAIT = frozenset({"wait", "waiter", "wake", "saved"})  # differs from look to look of one request
FORMER = 8  # processes an agent ran in before, kept so that they are recognised as fenced
JANUARY = 10  # in months counted from March, so that the leap day ends the year
MAX_ID, MAX_TEXT = 200, 2_000
OWN = "dibs"  # the name under which dibs itself sends messages


class Need(Exception):
    """An operation lacks a fact: the door looks, outside the transaction, and runs it again."""

    def __init__(self, processes: list[Process]) -> None:
        super().__init__("facts are needed")
        self.processes = processes


class Call:
    """One call of one operation: who, from which process, with which facts. Made by a door."""

    __slots__ = (
        "agent",
        "ancestors",
        "client",
        "decided",
        "facts",
        "fallback",
        "how",
        "inside",
        "jobs",
        "kind",
        "name",
        "operation",
        "policy",
        "request",
        "rules",
        "session",
        "tied",
        "typed",
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
    ) -> None:
        self.policy = policy
        self.agent = agent  # empty: whoever is registered for one of the ancestors, else the fallback
        self.fallback = fallback
        self.client = client
        self.ancestors = list(ancestors)
        self.request = request
        self.kind = kind  # the client's kind (`claude`), as far as the door can see it: part of a new agent's name
        self.typed = typed  # words of a shell or a script, git's hooks among them; not a client's own call
        self.session = session  # the id in the session variable of the client whose shell this is, if any
        self.how = how  # by what the caller was named: `--as`, a variable, its process, the operating system's user
        self.inside = ""  # set on the way in: the agent whose shell the call comes from (see speech.py)
        self.name = ""  # set on the way in: the name by which people and models speak of the caller (see names.py)
        self.operation = ""  # set on the way in: a request id belongs to one operation
        self.rules = ""  # digest of the workspace's rules, where the operation wants to know
        self.tied = False  # set on the way in: the call comes from the agent's current process, and claims end with it
        self.decided: Any = None  # what the last transaction decided, for a caller that was interrupted before it heard
        self.jobs: list[
            Record
        ] = []  # set on the way: the jobs that are going, where tasks are looked for (long_jobs.py)
        self.facts: dict[str, bool | None] = {}  # process → alive, dead, or cannot be seen from here

    def know(self, processes: Iterable[Process | None]) -> None:
        """Raise Need for those of these processes at which nobody has looked yet."""
        missing = [p for p in processes if p is not None and process_name(p) not in self.facts]
        if missing:
            raise Need(missing)

    def is_program(self, process: Process | None) -> bool:
        """Does this process call for itself? A client stands above the hooks and shells that it starts."""
        return not self.typed and process not in self.ancestors

    @property
    def is_person(self) -> bool:
        """Is this the operating system's user, with no client above? Known once the caller is named."""
        return self.how == "user" and (self.client is None or self.is_program(self.client))

    def alive(self, process: Process | None) -> bool | None:
        """Is that process alive? None where it cannot be seen from here. Raises Need where nobody has looked yet."""
        self.know([process])
        return None if process is None else self.facts[process_name(process)]


def process_name(process: Process) -> str:
    """A process as text: host, boot, pid namespace, pid, start time."""
    return ":".join([str(part) for part in process])


def perform(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Any]) -> Any:
    """Run one operation in a transaction. A refusal is returned, not raised: its event is kept."""
    for name in operation.required:
        if name not in fields:
            raise Invalid(f"{operation.name} needs `{name}`", field=name)
    _check_caller(call)
    call.operation = operation.name
    if operation.agents:
        fields = _by_id(tx, operation, fields)
    if not operation.writes:
        return _named(tx, call, _done(tx, call, operation.body, fields))
    got = _way_in(tx, call, operation, fields)
    own, request_key = f"a\t{call.agent}", _request_key(call, operation)
    agent = got.values[own]
    call.tied = _comes_from(call, agent)
    refusal = (
        _out_of_place(tx, call)
        or _turned_away(call, operation, got)
        or _not_allowed(tx, call, operation, agent, fields)
    )
    if refusal is not None:
        return _refuse(tx, call, operation, refusal)
    if call.request:
        asked = {name: value for name, value in fields.items() if name not in HOW_TO_WAIT}
        digest = digest_of(jsontext.encode([operation.name, asked]))
        known = got.values[request_key]
        if known is not None and known["until"] > tx.now:
            return _same_answer(known, digest, call)
    active = False  # a boot sees to it itself, before it tells what is held
    if agent is None and not operation.registers:
        call.name = _name_of(tx, call.agent, None)
    elif operation.name != "boot":
        if agent is None and call.how == "--as" and call.typed:
            _question(tx, call)
        got.values[own], active = _seen(tx, call, agent)
        call.name = got.values[own].get("name") or _name_of(tx, call.agent, got.values[own])
    result = _done(tx, call, operation.body, fields, got)
    if active:
        from dibs.operations.claims import releases

        releases.renew_active(tx, call)
    if operation.json or not operation.takes or isinstance(result, DibsError):  # a grant to a hook is read by nobody
        _named(tx, call, result)
    if call.request and not (isinstance(result, dict) and ("waiting" in result or "again" in result)):
        _keep_answer(tx, request_key, digest, result)
    return result


def _question(tx: Transaction, call: Call) -> None:
    """Is the name of a new agent only a slip of the keyboard? Then it would act for nobody; a boot says it is meant."""
    from dibs.operations.agents import names

    near = names.slip(tx, call.agent)
    if near:
        text = (
            f"no agent {call.agent} is known here; did you mean {near}? To add it, `dibs boot --as {call.agent}` first."
        )
        raise Invalid(text, field="as", near=near)


def _check_caller(call: Call) -> None:
    """Refuse a name that no store can look up. What the caller says is checked by its fields (declare.py)."""
    if not (is_text(call.agent) and is_text(call.session)):
        raise Invalid("as: the caller's id is not valid Unicode: it contains half of a character", field="as")


def _name_of(tx: Transaction, agent: str, record: Record | None) -> str:
    """The name of an agent whose record has none yet."""
    from dibs.operations.agents import names

    return names.name_of(tx, agent, record)


def _done(tx: Transaction, call: Call, body: Any, fields: dict[str, Any], *got: Fetched) -> Any:
    """What the operation says. What it raises speaks of agents by their names, too."""
    try:
        return body(tx, call, *got, **fields)
    except DibsError as error:
        _named(tx, call, error)
        raise


def _way_in(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Any]) -> Fetched:
    """Name the caller, and make the first trip: who it is, those above it, and what the operation wants to see."""
    ranges = operation.ahead(call, **fields) if operation.ahead is not None else []
    if not call.agent:
        name_caller(tx, call)
    check_agent_id(call.agent)
    if call.request:
        check_request_id(call.request)
    got = _first_trip(tx, call, operation, ranges)
    record = got.values[f"a\t{call.agent}"]
    if (record is None or "same" in record) and _goes_by_name(tx, call):
        ranges = operation.ahead(call, **fields) if operation.ahead is not None else []
        return _first_trip(tx, call, operation, ranges)
    return got


def _first_trip(tx: Transaction, call: Call, operation: Operation, ranges: Sequence[Range]) -> Fetched:
    keys = [f"a\t{ancestor}" for ancestor in lineage_of(call.agent)]
    if call.request:
        keys.append(_request_key(call, operation))
    return tx.fetch(keys, ranges, AHEAD)


def _turned_away(call: Call, operation: Operation, got: Fetched) -> DibsError | None:
    """Why this caller may do nothing at all: it was killed, or another process is its agent's by now."""
    for ancestor in lineage_of(call.agent):
        record = got.values[f"a\t{ancestor}"]
        if record is not None and record["killed"]:
            return Killed(agent=record["agent"], why=record["killed"]["why"])
    agent = got.values[f"a\t{call.agent}"]
    if agent is not None and operation.name != "boot" and _is_fenced(call, agent):
        return Fenced(agent=call.agent, incarnation=agent["incarnation"])
    return None


def _request_key(call: Call, operation: Operation) -> str:
    return f"q\t{call.agent}\t{operation.name}\t{call.request}"


def _goes_by_name(tx: Transaction, call: Call) -> bool:
    """Is nobody known by this id, but somebody by this name, or is it another's other id? Then that one is meant."""
    from dibs.operations.agents import names

    found = names.found(tx, call.agent)
    same, call.agent = found == call.agent, found
    return not same


def _by_id(tx: Transaction, operation: Operation, fields: dict[str, Any]) -> dict[str, Any]:
    """The request with ids, where agents were spoken of by their names."""
    from dibs.operations.agents import names

    given = {field: fields[field] for field in operation.agents if fields.get(field)}
    return {**fields, **{field: names.found(tx, word) for field, word in given.items()}}


def _out_of_place(tx: Transaction, call: Call) -> DibsError | None:
    """Why an agent's shell may not say this: it speaks as somebody else."""
    if not call.typed:
        return None
    from dibs.operations.agents import speech

    return speech.refusal(tx, call)


def _not_allowed(
    tx: Transaction, call: Call, operation: Operation, agent: Record | None, fields: dict[str, Any]
) -> DibsError | None:
    """Why this caller may not do this, if so (authority.py)."""
    if not operation.may:
        return None
    asked, owners = operation.asks(tx, call, **fields) if operation.asks is not None else ("", ())
    needed, given = asked or operation.may, call.policy.guards["roles"]
    if RANKS[needed] <= RANKS[AGENT] and not given["default"] and not given["assign"]:
        return None  # without roles everybody is an agent at least
    from dibs.operations.core import authority

    return authority.refusal(tx, call, operation, agent, needed, owners)


def _named(tx: Transaction, call: Call, result: Any) -> Any:
    """An answer with the name beside each agent's id; a refusal is put into words with these."""
    from dibs.operations.agents import names

    known = {call.agent: call.name} if call.name else {}
    if isinstance(result, DibsError):
        names.tell(tx, result.fields, known)
        result.say_again()
    else:
        names.tell(tx, result, known)
    return result


def name_caller(tx: Transaction, call: Call) -> None:
    """The registered agent whose process is among the caller's ancestors, else the person at the terminal."""
    keys = [f"p\t{process_name(process)}" for process in call.ancestors]
    found = tx.fetch(keys).values
    for key in keys:
        if found[key] is not None:
            call.agent, call.how = found[key]["agent"], "process"
            return
    call.agent, call.how = call.fallback, "user"


def _comes_from(call: Call, agent: Record | None) -> bool:
    """Is the agent's client process known to be behind this call? An agent without one takes the caller's."""
    current = agent["process"] if agent is not None else None
    if current is None:
        return call.client is not None
    return current == call.client or current in call.ancestors


def _is_fenced(call: Call, agent: Record) -> bool:
    """Does this call come from a process that is not the agent's current one? Unknown counts as current."""
    if agent["process"] is None or call.tied:
        return False
    former = any(process == call.client or process in call.ancestors for process in agent["former"])
    return former or call.client is not None


def _refuse(tx: Transaction, call: Call, operation: Operation, error: DibsError) -> DibsError:
    data = {"code": error.code, **({"needs": error.fields["needs"]} if "needs" in error.fields else {})}
    tx.append("call.refused", call.agent, operation.name, data)
    _named(tx, call, error)
    return error


def _seen(tx: Transaction, call: Call, agent: Record | None) -> tuple[Record, bool]:
    """The caller's record, made at its first call and touched now and then; and whether it was touched."""
    if agent is None:
        program = call.is_program(call.client)
        person = call.is_person
        return register(tx, call.agent, process=call.client, kind=call.kind, program=program, person=person), False
    every = min(SEEN_EVERY, call.policy.shortest // 4)  # often enough to renew a claim before its second half is over
    if tx.now - agent["seen"] <= every and (agent["process"] is not None or call.client is None):
        return agent, False
    agent["seen"] = tx.now
    if agent["process"] is None and call.client is not None:
        set_process(tx, agent, call.client, program=call.is_program(call.client))
    put_agent(tx, agent)
    return agent, True


def register(
    tx: Transaction, identifier: str, *, process: Process | None, kind: str = "", program: bool = False,
    person: bool = False,
) -> Record:  # fmt: skip
    """Make an agent known, and give it a name. Its parent is in its id."""
    from dibs.operations.agents import names

    agent: Record = {
        "agent": identifier, "type": "", "can": [], "incarnation": 1, "process": None, "former": [],
        "killed": None, "since": tx.now, "seen": tx.now, "left": False,
    }  # fmt: skip
    if person:
        agent["kind"] = "person"
    if process is not None:
        set_process(tx, agent, process, program=program)
    names.give(tx, agent, kind)
    tx.append("agent.registered", identifier, identifier, {"process": process, "name": agent["name"]})
    put_agent(tx, agent)
    return agent


def set_process(tx: Transaction, agent: Record, process: Process, *, program: bool = False) -> None:
    """From now on this is the process that the agent runs in; the one before is fenced.

    `program`: it calls for itself, from Python; what it starts is no agent's shell (see speech.py).
    """
    before = agent["process"]
    if before is not None:
        if "/" not in agent["agent"]:
            tx.delete(f"p\t{process_name(before)}")
        agent["former"] = [*[p for p in agent["former"] if p != process], before][-FORMER:]
    agent["former"] = [p for p in agent["former"] if p != process]
    agent["process"] = process
    if "/" not in agent["agent"]:  # a subagent runs in its parent's process, which goes by the parent's name
        mine = {"agent": agent["agent"], "program": True} if program else {"agent": agent["agent"]}
        tx.put(f"p\t{process_name(process)}", mine)


def put_agent(tx: Transaction, agent: Record) -> None:
    """Write an agent's record. One from before there were names gets one now."""
    if "name" not in agent:
        from dibs.operations.agents import names

        names.give(tx, agent)
    tx.put(f"a\t{agent['agent']}", agent)


def _same_answer(known: Record, digest: str, call: Call) -> Any:
    if known["digest"] != digest:
        raise Invalid(
            f"request id {call.request!r} was used for another request; a new request needs a new id",
            field="request_id",
        )
    if "error" in known:
        code, message, fields = known["error"]
        return ERRORS[code](message, **fields)
    return known["result"]


def _keep_answer(tx: Transaction, key: str, digest: str, result: Any) -> None:
    until = tx.now + REQUEST_LIFE
    record: Record = {"digest": digest, "until": until}
    if isinstance(result, DibsError):
        record["error"] = [result.code, result.message, result.fields]
    else:
        record["result"] = result
    tx.put(key, record, i2=due(until))


# --- names and words


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
    """Refuse ids that would break a key, a line of the log or somebody's terminal."""
    if not agent or len(agent) > MAX_ID:
        raise Invalid(f"an agent's id has 1 to {MAX_ID} characters", agent=agent[:MAX_ID])
    if not agent.isprintable() or " " in agent:
        raise Invalid("an agent's id has no blanks and no control characters", agent=agent)
    if agent.casefold() == OWN:
        raise Invalid("an agent cannot be called `dibs`: dibs itself speaks under that name", agent=agent)
    if not all(agent.split("/")):
        raise Invalid("an agent's id has no empty part between slashes", agent=agent)


def check_request_id(request: str) -> None:
    """Refuse request ids that would break a key."""
    if len(request) > MAX_ID or not request.isprintable():
        raise Invalid(f"a request id has at most {MAX_ID} printable characters", field="request_id")


def check_text(text: str | None, field: str) -> str:
    """People's words: not too long, and no control characters but newline and tab."""
    if not text:
        return ""
    if len(text) > MAX_TEXT:
        raise Invalid(f"{field}: at most {MAX_TEXT} characters, not {len(text)}", field=field)
    if not text.isprintable() and any((letter < " " and letter not in "\n\t") or letter == "\x7f" for letter in text):
        raise Invalid(f"{field}: no control characters", field=field)
    return text


def due(when: int) -> str:
    """The entry in the second index under which a sweep finds a record at that time."""
    return f"due\t{when:015d}"


def iso(tx: Transaction, when: int) -> str:
    """A time of the store's clock as the wall clock shows it now: ISO 8601, UTC, to the millisecond."""
    seconds, ms = divmod(tx.wall + when - tx.now, 1000)
    days, rest = divmod(seconds, 86_400)
    return f"{_day(days)}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}.{ms:03d}Z"


def _day(days: int) -> str:
    """A day since 1970 as text. The last one asked for is kept: one answer has many times of one day."""
    global _last_day  # noqa: PLW0603 - a cache of one entry
    if _last_day[0] == days:
        return _last_day[1]
    # the civil calendar from a day count (Howard Hinnant's method): no module that knows a clock is imported here
    z = days + 719_468
    era, of_era = divmod(z, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    day, month = of_year - (153 * shifted + 2) // 5 + 1, shifted + 3 if shifted < JANUARY else shifted - 9
    year += era * 400 + (shifted >= JANUARY)
    _last_day = (days, f"{year:04d}-{month:02d}-{day:02d}")
    return _last_day[1]


_last_day = (-1, "")


TOKEN = COMMIT  # a token is the number of the commit that grants
