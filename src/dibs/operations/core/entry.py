"""The way into every operation: who calls, and whether they may.

Each call passes here before its operation decides anything: the caller is named, a killed agent and a process that is
no longer its agent's current one are refused, a request id that was answered before gets the same answer again, an
agent not seen before is registered. One copy of these rules, for all doors. It stands above all operations: it may
import any of them, and none imports it.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.errors import Deadlock, DibsError, Fenced, Held, Invalid, Killed, from_parts, quoted
from dibs.jsontext import is_text
from dibs.operations.agents.records import agent_key, credential_key, get_agent
from dibs.operations.core.call import (
    FOLLOW_UPS,
    PROGRAM,
    Outcome,
    Undecided,
    check_agent_id,
    check_request_id,
    lineage_of,
    of_json,
    to_json,
)
from dibs.operations.core.declare import AGENT, PREFETCH_ROWS, RANKS, VIEWER, WORKER, Operation
from dibs.stores.seam import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.operations.agents.records import Agent
    from dibs.operations.claims.records import Claim, Waiter
    from dibs.operations.core.call import Call
    from dibs.operations.core.records import (
        CancelJob,
        DepartureJob,
        PurgeJob,
        RaceJob,
        RequestAnswer,
        RunEndJob,
        UnblockJob,
    )
    from dibs.operations.messages.broadcasts import BroadcastJob
    from dibs.stores.seam import Json, Transaction

# Verifies the credential of a caller before it does something that is not an operation of its own.
CALLER = Operation("caller", lambda _tx, _call: None, "Verify the caller's credential.", writes=False)


def caller_of(operation: Operation) -> Operation:
    """The check of a caller whose operation runs above the session: its credential, and its rank if it writes."""
    if not operation.writes:
        return CALLER
    return Operation(operation.name, CALLER.body, operation.help, writes=False, rank=operation.rank)


REQUEST_LIFE_MS = 24 * 3_600_000  # a retry comes within minutes; a day covers a laptop closed overnight
# what ends with the next call of an agent, and the operations by which its client only reports
OVER_WITH_A_CALL = ("ended", "waits", "stalled", "asked", "limited")
PASSIVE = frozenset(("turn", "limited", "changed", "idle", "leave", "ended"))
SEEN_EVERY_MS = 60_000  # writing "last seen" at each call would double what a claim writes


def perform(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Json]) -> Json:
    """Run one operation in a transaction. A refusal is returned, not raised: its event is kept."""
    raw_fields = fields
    if operation.fields or fields:
        fields = operation.checked(fields)
    _check_caller(call)
    call.operation = operation.name
    if call.here and not call.barred:
        from dibs.operations.agents import places

        places.enter(tx, call, operation, fields)
    if operation.agents:
        fields = _with_agent_ids(tx, operation, fields)
    if not operation.writes:
        return _read(tx, call, operation, fields)
    agent = _enter(tx, call, operation, fields)
    if call.exchange is None or _credential_refusal(tx, call) is not None:  # only the caller gets a kept answer
        return _write(tx, call, operation, raw_fields, fields, agent)
    from dibs.operations.core import exchanges

    return exchanges.once(tx, call.exchange, lambda: _write(tx, call, operation, raw_fields, fields, agent))


def _write(
    tx: Transaction,
    call: Call,
    operation: Operation,
    raw_fields: dict[str, Json],
    fields: dict[str, Json],
    agent: Agent | None,
) -> Json:
    """Run an operation that writes: refuse its caller, or repeat the first answer, or let it decide."""
    call.from_current_process = _is_from_its_process(call, agent)
    if agent is not None and not operation.boots and _comes_back(call, agent):
        from dibs.operations.agents import presence

        presence.come_back(tx, call, agent)
    refusal = (
        _credential_refusal(tx, call)
        or _sender_refusal(call, operation)
        or _speech_refusal(tx, call, operation)
        or _killed_or_fenced(tx, call, operation, agent)
        or _rank_refusal(tx, call, operation, agent, fields)
    )
    if refusal is not None:
        return _refuse(tx, call, operation, refusal)
    if (
        call.identified_by == PROGRAM
        and call.shell_owner == call.agent
        and agent is not None
        and agent["process"] in call.ancestors
    ):
        call.client = agent["process"]  # a program in the agent's own shell is no new incarnation
    if call.request:
        unsaid = operation.not_in_digest
        asked = {name: fields[name] for name in raw_fields if name not in unsaid}
        digest = digest_of(jsontext.encode([operation.name, asked]))
        request_key = _request_key(call, operation)
        known: RequestAnswer | None = tx.get(request_key)
        if known is not None and known["until"] > tx.now:
            return _same_answer(known, digest, call)
    active = False  # a boot renews the claims itself, before it lists them
    if agent is None and not operation.registers:
        call.name = _computed_name(call.agent)
    elif not operation.boots:
        if agent is None and call.identified_by == "--as" and call.from_shell:
            _refuse_misspelt_name(tx, call)
        record, active = _touched_record(tx, call, agent)
        call.name = record["name"]
    result = _run_body(tx, call, operation.body, fields)
    if active:
        from dibs.operations.claims import releases

        releases.renew_active(tx, call)
    if operation.answer or not operation.takes or isinstance(result, DibsError):  # a grant to a hook is read by nobody
        _with_names(tx, call, result)
    if call.request and not isinstance(result, Undecided):
        _keep_answer(tx, request_key, digest, result)
    return result


def _refuse_misspelt_name(tx: Transaction, call: Call) -> None:
    """Refuse a new agent whose name is one typo away from a known one; a boot proves that it is meant."""
    from dibs.operations.agents import names

    near = names.slip(tx, call.agent)
    if near:
        add = f"To add it, `dibs boot --as {quoted(call.agent)}` first."
        text = f"no agent {call.agent} is known here; did you mean {near}? {add}"
        raise Invalid(text, field="as", near=near)


def _check_caller(call: Call) -> None:
    """Refuse an id that no store can look up. The fields of the request are checked by their declaration."""
    if not (is_text(call.agent) and is_text(call.session)):
        raise Invalid("as: the caller's id is not valid Unicode: it contains half of a character", field="as")


def _computed_name(agent: str) -> str:
    """The name of an agent that has no record yet."""
    from dibs.operations.agents import names

    return names.computed(agent)


def _run_body(tx: Transaction, call: Call, body: Callable[..., Json], fields: dict[str, Json]) -> Json:
    """The operation's answer. The text of what it raises has the agents' names, too."""
    try:
        return body(tx, call, fields) if fields else body(tx, call)  # no fields, no request
    except DibsError as error:
        _with_names(tx, call, error)
        raise


def _enter(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Json]) -> Agent | None:
    """Name the caller, and prefetch what the call needs in one trip; returns the caller's record."""
    if not call.agent:
        from dibs.operations.agents.speech import name_caller

        name_caller(tx, call)
    check_agent_id(call.agent)
    if call.request:
        check_request_id(call.request)
    record = _prefetch(tx, call, operation, fields)
    if (record is None or "same" in record) and _resolve_other_name(tx, call):
        record = _prefetch(tx, call, operation, fields)
    return record


def _prefetch(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Json]) -> Agent | None:
    """Read the caller's record, its ancestors' records, and what the operation names; returns the first."""
    own, *keys = [agent_key(ancestor) for ancestor in reversed(lineage_of(call.agent))]
    if call.request:
        keys.append(_request_key(call, operation))
    if call.exchange is not None:
        from dibs.operations.core.records import exchange_key

        keys.append(exchange_key(call.exchange[0]))
    if call.credential is not None:
        keys.append(credential_key(call.credential[0]))
    more, ranges = operation.ahead(call, fields) if operation.ahead is not None else ((), ())
    tx.prefetch([own, *keys, *more], ranges, PREFETCH_ROWS)
    record: Agent | None = tx.get(own)
    return record


def _read(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Json]) -> Json:
    """The answer of an operation that only reads. Most need no rank; a reader is not registered."""
    if call.credential is not None or call.barred or operation.rank != VIEWER:
        refusal = _read_refusal(tx, call, operation, fields)
        if refusal is not None:
            return _with_names(tx, call, refusal)
    return _with_names(tx, call, _run_body(tx, call, operation.body, fields))


def _read_refusal(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Json]) -> DibsError | None:
    """Why this caller may not read this: its credential or its rank does not allow it."""
    agent = _enter(tx, call, operation, fields)
    refusal = _credential_refusal(tx, call) or _sender_refusal(call, operation)
    if refusal is not None:
        return refusal
    if agent is not None:
        call.name = agent["name"]  # else the answer's names would read it again
    if operation.rank != VIEWER:
        refusal = _speech_refusal(tx, call, operation) or _rank_refusal(tx, call, operation, agent, fields)
    return refusal


def _credential_refusal(tx: Transaction, call: Call) -> DibsError | None:
    """Why the caller's credential does not speak for this agent; raises if the credential is not valid."""
    if call.credential is None:
        return None
    from dibs.operations.agents import credentials

    return credentials.enter(tx, call)


def _sender_refusal(call: Call, operation: Operation) -> DibsError | None:
    """Why this request may not come from where it comes from (`Operation.unsendable`)."""
    if not call.barred:
        return None
    from dibs.error_subtypes import NotTakenFromSender

    what = f"`{operation.name}`" if call.barred == operation.name else f"`{call.barred}` of `{operation.name}`"
    text = f"{what} is not taken from {'an' if call.sender == AGENT else 'a'} {call.sender}'s credential."
    return NotTakenFromSender(text, agent=call.agent, act=operation.name, sender=call.sender, what=call.barred)


def _killed_or_fenced(tx: Transaction, call: Call, operation: Operation, agent: Agent | None) -> DibsError | None:
    """Why this caller may do nothing at all: it was killed, or its agent has another process by now."""
    for record in (*[get_agent(tx, ancestor) for ancestor in lineage_of(call.agent)[:-1]], agent):
        if record is not None and record["killed"]:
            return Killed(agent=record["agent"], why=record["killed"]["why"])
    if agent is not None and not operation.boots and _is_fenced(call, agent):
        return Fenced(agent=call.agent, incarnation=agent["incarnation"])
    return None


def _request_key(call: Call, operation: Operation) -> str:
    from dibs.operations.core.records import request_key

    return request_key(call, operation.name)


def _resolve_other_name(tx: Transaction, call: Call) -> bool:
    """Replace a name or an alias by the id of the agent that has it; returns whether there was one."""
    from dibs.operations.agents import names

    found = names.found(tx, call.agent)
    same, call.agent = found == call.agent, found
    return not same


def _with_agent_ids(tx: Transaction, operation: Operation, fields: dict[str, Json]) -> dict[str, Json]:
    """The request with the ids of the agents that it names."""
    from dibs.operations.agents import names

    given = {field: fields[field] for field in operation.agents if fields.get(field)}
    return {**fields, **{field: names.found(tx, word) for field, word in given.items()}}


def _speech_refusal(tx: Transaction, call: Call, operation: Operation) -> DibsError | None:
    """Why an agent's shell may not make this call: it speaks for another agent. A program is asked when it opens."""
    if not (call.from_shell or (operation.boots and call.identified_by == PROGRAM)):
        return None
    from dibs.operations.agents import speech

    return speech.refusal(tx, call)


def _rank_refusal(
    tx: Transaction, call: Call, operation: Operation, agent: Agent | None, fields: dict[str, Json]
) -> DibsError | None:
    """Why the caller's rank does not allow this operation (authority.py)."""
    if not operation.rank:  # a guard's own operation goes by the role itself; a credential that only reads has none
        if call.credential is None or not _only_reads(call, agent):
            return None
        from dibs.operations.core import authority

        return authority.refusal(tx, call, operation, agent, WORKER, ())
    asked, owners = operation.required_rank(tx, call, fields) if operation.required_rank is not None else ("", ())
    needed, given = asked or operation.rank, call.policy.guards["roles"]
    if RANKS[needed] <= RANKS[AGENT] and not call.role and not given["default"] and not given["assign"]:
        return None  # without roles each caller has at least the rank of an agent
    from dibs.operations.core import authority

    return authority.refusal(tx, call, operation, agent, needed, owners)


def _only_reads(call: Call, agent: Agent | None) -> bool:
    """Is the caller a viewer, by its credential or by the config?"""
    from dibs.operations.agents import roles

    role, _ = roles.of(call, agent)
    return bool(role) and RANKS[roles.rank_of(call, role)] <= RANKS[VIEWER]


def _with_names(tx: Transaction, call: Call, result: Json) -> Json:
    """An answer with the name next to each agent's id; the text of a refusal uses the names."""
    from dibs.operations.agents import names

    known = {call.agent: call.name} if call.name else {}
    if isinstance(result, DibsError):
        if isinstance(result, (Held, Fenced, Deadlock)) and _asks_person(tx, call):
            result.fields["person"] = True
        names.tell(tx, result.fields, known)
        result.say_again()
    else:
        names.tell(tx, result.answer if isinstance(result, Outcome) else result, known)
    return result


def _asks_person(tx: Transaction, call: Call) -> bool:
    """Is it a person who is refused? One that only reads is not named before."""
    if not call.agent:
        from dibs.operations.agents.speech import name_caller

        name_caller(tx, call)
    return call.is_person


def _is_from_its_process(call: Call, agent: Agent | None) -> bool:
    """Does this call come from the agent's current client process? An agent without one takes the caller's."""
    current = agent["process"] if agent is not None else None
    if current is None:
        return call.client is not None
    return current == call.client or current in call.ancestors


def _is_fenced(call: Call, agent: Agent) -> bool:
    """Does this call come from a process that is not the agent's current one? Unknown counts as current."""
    if agent["process"] is None or call.from_current_process:
        return False
    former = any(process == call.client or process in call.ancestors for process in agent["former"])
    return former or call.client is not None


def _comes_back(call: Call, agent: Agent) -> bool:
    """Does this call come from an earlier process of the agent, and is the later one dead?

    One session may run in two processes (a second window on it); when the second ends, the first goes on.
    """
    if agent["killed"] or not _is_fenced(call, agent) or call.client not in agent["former"]:
        return False
    return call.alive(agent["process"]) is False


def _refuse(tx: Transaction, call: Call, operation: Operation, error: DibsError) -> DibsError:
    data = {"code": error.code, **({"needs": error.fields["needs"]} if "needs" in error.fields else {})}
    spoke = call.credential is not None and "wanted" in error.fields  # the log names the credential's own agent
    tx.append("call.refused", error.fields["agent"] if spoke else call.agent, operation.name, data)
    _with_names(tx, call, error)
    return error


def _touched_record(tx: Transaction, call: Call, agent: Agent | None) -> tuple[Agent, bool]:
    """The caller's record, made at its first call, with a recent `seen`; and whether it was written now."""
    if agent is None:
        from dibs.operations.agents.registration import register

        return register(tx, call, call.client, call.kind), False
    every = min(SEEN_EVERY_MS, call.policy.shortest // 4)  # in time to renew a claim before it expires
    rested = agent.pop("rested", 0)  # it is at work again
    lately = tx.now - agent["seen"] <= every and (agent["process"] is not None or call.client is None)
    over = [one for one in OVER_WITH_A_CALL if one in agent and not (one == "limited" and call.operation in PASSIVE)]
    if lately and not rested and not over:
        return agent, False
    from dibs.operations.agents.records import put_agent
    from dibs.operations.agents.registration import set_process

    agent["seen"] = tx.now
    for one in over:  # it connected again; it acts
        del agent[one]  # type: ignore[misc]
    if agent["process"] is None and call.client is not None:
        set_process(tx, agent, call.client, program=call.is_program(call.client), host=call.host)
    put_agent(tx, agent)
    return agent, True


def _same_answer(known: RequestAnswer, digest: str, call: Call) -> Json:
    if known["digest"] != digest:
        raise Invalid(
            f"request id {call.request!r} was used for another request; a new request needs a new id",
            field="request_id",
        )
    if "error" in known:
        return from_parts(known["error"])
    return of_json(known["result"])


def _keep_answer(tx: Transaction, key: str, digest: str, result: Json) -> None:
    from dibs.operations.core.records import put_request_answer

    until = tx.now + REQUEST_LIFE_MS
    record: RequestAnswer = {"digest": digest, "until": until}
    if isinstance(result, DibsError):
        record["error"] = result.parts()
    else:
        record["result"] = to_json(result)
    put_request_answer(tx, key, record)


# --- consequences in a room above the one that decides


def _task_claim_ended(tx: Transaction, claim: Claim, why: str) -> None:
    from dibs.operations.tasks import outcomes

    outcomes.orphaned(tx, claim, why)


def _task_wait_ended(tx: Transaction, agent: str, waiter: str) -> None:
    from dibs.operations.tasks import pulls

    pulls.withdraw(tx, agent, waiter)


def _lapse(tx: Transaction, call: Call, over: Sequence[Claim | Waiter]) -> list[Claim | Waiter]:
    from dibs.operations.claims import lapses

    return lapses.clear(tx, call, over)


def _sweep(tx: Transaction, call: Call, count: int) -> dict[str, int]:
    from dibs.operations.upkeep import sweeps

    return sweeps.some(tx, call, count)


def _suspicions(tx: Transaction, call: Call) -> int:
    from dibs.operations.alerts import watch

    return watch.at_once(tx, call)


def _started(tx: Transaction, call: Call, tree: str) -> list[str]:
    from dibs.operations.handovers.records import get_offers

    if call.is_person or "/" in call.agent or not get_offers(tx, 1):  # as a rule: then nothing more is loaded
        return []
    from dibs.operations.handovers import offers

    return offers.take(tx, call, tree)


def _change_accepted(tx: Transaction, call: Call, change: str) -> str:
    from dibs.operations.guards import changes

    return changes.accept(tx, call, change)


def _unblock(tx: Transaction, job: UnblockJob, room: int) -> int:
    from dibs.operations.tasks import outcomes

    return outcomes.unblock_step(tx, job, room)


def _call_off(tx: Transaction, job: CancelJob | RaceJob, room: int) -> int:
    from dibs.operations.tasks import cancellations

    return cancellations.step(tx, job, room)


def _free_claims(tx: Transaction, job: DepartureJob, room: int) -> int:
    from dibs.operations.agents import departures

    return departures.step(tx, job, room)


def _end_run(tx: Transaction, job: RunEndJob, room: int) -> int:
    from dibs.operations.runs import run_endings

    return run_endings.step(tx, job, room)


def _purge_run(tx: Transaction, job: PurgeJob, room: int) -> int:
    from dibs.operations.runs import run_endings

    return run_endings.purge_step(tx, job, room)


def _send(tx: Transaction, job: BroadcastJob, room: int) -> int:
    from dibs.operations.messages import broadcasts

    return broadcasts.step(tx, job, room)


FOLLOW_UPS.task_claim_ended = _task_claim_ended
FOLLOW_UPS.task_wait_ended = _task_wait_ended
FOLLOW_UPS.lapse = _lapse
FOLLOW_UPS.sweep = _sweep
FOLLOW_UPS.suspicions = _suspicions
FOLLOW_UPS.started = _started
FOLLOW_UPS.change_accepted = _change_accepted
FOLLOW_UPS.job_steps = {
    "unblock": _unblock,
    "cancel": _call_off,
    "race": _call_off,
    "claims": _free_claims,
    "run end": _end_run,
    "run purge": _purge_run,
    "send": _send,
}
