"""`handover AGENT --to AGENT|NEXT`: an agent's work passes to another one, alive or dead, in one transaction.

- success: claims, task and unfinished files (work.py) are the receiver's, under new tokens. It gets a briefing as a
  message and no longer waits for what it got. The first holder is told; its tokens are fenced: whatever it finishes,
  renews, confirms or edits late is refused with the receiver's name.
- NEXT: the caller keeps the claims for an hour, and the next agent that starts gets them (offers.py).
- cancelled: `cancel` ends an offer to NEXT: what was kept is released, the task goes back to the queue. The first
  holder gets nothing back, and its files stay as they are. Without an offer it is `not_found`.
- waiters: the choice of a person, an orchestrator or the holder comes before the queue. Waiters keep their turn, are
  told, and the answer names them. A hand-over that would cause a deadlock is refused.
- refusal: an unknown receiver, or one that is killed, left or dead (with those that are there); a task that does not
  fit it, a role that may not write it (`forbidden`); nothing to hand over (`not_found`). Nothing is changed then.
- limits: the receiver may have more tasks than it could pull. The attempt is not counted, its idempotency key stays.
- retry: the second call finds nothing to hand over; with the same request id it gets the first answer.
- race: the transactions are decided one after the other; of two hand-overs the second takes from the first's receiver
  nothing, because it names another agent.
- who: people and orchestrators; any agent its own work, and its subagents'.
"""

from __future__ import annotations

from dibs.errors import Deadlock, Forbidden, Held, Invalid, Killed, NotFound, Quota, quoted
from dibs.operations.agents import names
from dibs.operations.agents.presence import state_of
from dibs.operations.agents.records import AGENT_KEYS, get_agent, put_agent, registered_agent
from dibs.operations.alerts import lifecycle
from dibs.operations.claims import endings, releases
from dibs.operations.core.call import iso, process_name, within
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.handovers import briefing, offers
from dibs.operations.handovers.records import get_offer
from dibs.operations.handovers.work import Work, pass_on
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.errors import DibsError
    from dibs.operations.agents.records import Agent
    from dibs.operations.core.call import Call
    from dibs.operations.handovers.answers import HandoverAnswer
    from dibs.operations.handovers.briefing import Terms
    from dibs.operations.handovers.requests import HandoverRequest
    from dibs.operations.handovers.work import Passed
    from dibs.stores.seam import Transaction

NEXT = "NEXT"  # the next agent that starts
MAX_NAMED = 5  # agents that a refusal names
MAX_READ = 500  # agents that are looked at for that
MAX_FILES = 200  # with unfinished work, in one hand-over


def _handover(tx: Transaction, call: Call, request: HandoverRequest) -> HandoverAnswer | DibsError:
    """Pass an agent's work on."""
    to = request["to"]
    if bool(to) is request["cancel"]:
        raise Invalid("say who gets it: `--to AGENT` or `--to NEXT`; or `--cancel` to take an offer back", field="to")
    agent = get_agent(tx, request["agent"])
    if agent is None:
        raise names.unknown(tx, request["agent"])
    if request["cancel"]:
        return _cancelled(tx, call, agent, dry_run=request["dry_run"])
    work = Work(tx, call, agent, request["files"])
    call.know([agent["process"]])
    if work.is_empty:
        name = names.name_of(tx, agent["agent"], agent)
        raise NotFound(f"{name} has no claim, no task and no uncommitted work to hand over.", agent=agent["agent"])
    own = within(agent["agent"], call.agent)
    if to == NEXT:
        passed, offer = offers.make(tx, call, work, request["note"], own=own, dry_run=request["dry_run"])
        answer = _answer(tx, call, agent, None, passed, offer["handover"])
        if offer["handover"]:
            _settle(tx, call, agent["agent"])
        return {**answer, "until": iso(tx, offer["until"])}
    receiver = _receiver(tx, call, agent, to)
    if not isinstance(receiver, dict):
        return receiver
    work.stay(receiver["process"][0] if receiver["process"] is not None else "")
    refusal = work.refusal(tx, call, receiver)
    if refusal is not None:
        tx.append("call.refused", call.agent, "handover", {"code": refusal.code})
        return refusal
    if request["dry_run"]:
        return _answer(tx, call, agent, to, offers.as_is(work), "")
    if work.offer is not None:
        offers.end(tx, work.offer, "replaced")
    passed = pass_on(tx, call, work, receiver, own=own)
    terms: Terms = {"handover": f"o{tx.id()}", "by": call.agent, "note": request["note"], "own": own}
    briefing.tell(tx, call, work, receiver, passed, terms)
    _settle(tx, call, agent["agent"])
    return _answer(tx, call, agent, to, passed, terms["handover"])


def _cancelled(tx: Transaction, call: Call, agent: Agent, *, dry_run: bool) -> HandoverAnswer:
    """End the offer of an agent's work."""
    offer = get_offer(tx, agent["agent"])
    if offer is None:
        name = names.name_of(tx, agent["agent"], agent)
        raise NotFound(f"no work of {name} is kept for the next agent.", agent=agent["agent"])
    call.know([agent["process"]])
    answer = _answer(tx, call, agent, None, offers.as_is(Work.offered(tx, call, agent, offer)), offer["handover"])
    if not dry_run:
        offers.cancel(tx, call, offer)
    return {**answer, "cancelled": True}


def _settle(tx: Transaction, call: Call, agent: str) -> None:
    """Note that the work of this process was handed over: if it is dead, nobody need be alarmed any more."""
    record = registered_agent(tx, agent)
    if record["process"] is not None:
        record["handed"] = process_name(record["process"])
        put_agent(tx, record)
        lifecycle.recheck(tx, call, "dead", agent)


def _receiver(tx: Transaction, call: Call, agent: Agent, to: str) -> Agent | Killed | Forbidden:
    """The agent that gets it, or why it cannot: unknown, killed, left, dead, or the same one."""
    if to == agent["agent"]:
        raise Invalid("to: another agent than the one whose work it is", field="to")
    killed = releases.check_receiver(tx, to)
    if killed is not None:
        return killed
    record = get_agent(tx, to)
    assert record is not None, "check_receiver raises for an unknown agent"
    if not record["left"] and call.alive(record["process"]) is not False:
        return record
    name = names.name_of(tx, to, record)
    why = "has left" if record["left"] else "is dead: its process has exited"
    there = _there(tx, call, {agent["agent"], to})
    listed = f"Agents that are there: {', '.join(there)}; or" if there else "No other agent is there:"
    first = quoted(names.name_of(tx, agent["agent"], agent))
    text = f"{name} {why}. {listed} `dibs handover {first} --to {NEXT}` keeps it for the next agent that starts."
    tx.append("call.refused", call.agent, "handover", {"code": Forbidden.code})
    return Forbidden(text, agent=to)


def _there(tx: Transaction, call: Call, but: set[str]) -> list[str]:
    """The names of agents that could have it, the last seen first; a few of them."""
    rows = tx.fetch([prefix_range(AGENT_KEYS)], MAX_READ).rows
    found: list[Agent] = [
        agent for _, agent in rows
        if not agent["left"] and not agent["killed"] and "same" not in agent and agent.get("kind") != "person"
        and "/" not in agent["agent"] and agent["agent"] not in but and agent["process"] is not None
    ]  # fmt: skip
    found.sort(key=lambda agent: (-agent["seen"], agent["agent"]))
    call.know([agent["process"] for agent in found[:MAX_READ]])
    living = [agent for agent in found if call.alive(agent["process"]) is not False]
    return [names.name_of(tx, agent["agent"], agent) for agent in living[:MAX_NAMED]]


def _answer(
    tx: Transaction, call: Call, agent: Agent, to: str | None, passed: Passed, identifier: str
) -> HandoverAnswer:
    return {
        "handover": identifier,
        "agent": agent["agent"],
        "state": state_of(call, agent),
        "own": within(agent["agent"], call.agent),
        "to": to,
        "claims": [endings.grant_answer(tx, claim) for claim in passed.claims],
        "tasks": passed.tasks,
        "files": [{"tree": tree, "path": path} for tree, path in passed.files],
        "left": passed.left,
        "waiting": passed.waiting,
    }


def _asks(tx: Transaction, call: Call, request: HandoverRequest) -> tuple[str, list[str]]:
    """Only an orchestrator hands another agent's work over; any agent may hand over its own and its subagents' work."""
    return "orchestrator", [request["agent"]]


OPERATIONS = (
    Operation(
        "handover",
        _handover,
        "Hand an agent's work over to another agent: claims, task, unfinished files and a briefing.",
        group="agents",
        fields=(
            Field("agent", "agent", "whose work: its id or name", positional=True, required=True, metavar="AGENT"),
            Field("to", "agent", "the agent that gets it; NEXT: the next one that starts", default="",
                  metavar="AGENT|NEXT"),
            Field("cancel", "flag", "take an offer to NEXT back: what is kept is released", default=False),
            Field("note", "text", "what the receiver should know", default="", metavar="T"),
            Field("dry_run", "flag", "only show what would pass", default=False),
            Field(
                "files", "rows", "the agent's files with unfinished work", default=(), internal=True, sent_by=ANYWHERE,
                most=MAX_FILES,
                items=(
                    Field("tree", "tree", "the working tree", required=True),
                    Field("path", "raw", "the path", required=True),
                ),
            ),
        ),
        errors=(NotFound, Invalid, Forbidden, Killed, Held, Deadlock, Quota),
        rank="worker",
        max_rank="orchestrator",
        required_rank=_asks,
        answer="HandoverAnswer",
        destructive=True,
        beforehand="unfinished files",
        afterwards="pass files on",
    ),
)  # fmt: skip
