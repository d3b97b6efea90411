"""The landing queue: branches that are to become a part of the target branch, one after the other.

A landing is `queued` until it is `landed`, `refused` or `cancelled`; these three are final, and the branch is untouched
in all of them. lander.py has the side that lands; this file has the callers'.

- success: it is queued, and its place in the queue is told. Higher priority comes first, then the earlier one.
- retry: a branch is in the queue once. Queueing it again with the same commit answers with the landing that there is,
  also with one that has landed meanwhile (unless `again` is said: the target was reset); with another commit that
  commit takes the place of the former one, at the same place in the queue.
- refusal: the target itself (`invalid`); too long a queue (`quota`); a cancellation while the target moves to it, or
  of a landing that is decided (`conflict`).
- crash: the next lander finds the queue in the store, whether or not the agents that filled it are still there.
"""

from __future__ import annotations

from dibs.errors import Conflict, Invalid, NotFound, Quota
from dibs.operations.claims import records as claim_records
from dibs.operations.claims import resources
from dibs.operations.core import paging
from dibs.operations.core.call import due, iso, related
from dibs.operations.core.declare import ANYWHERE, PAGED, Field, Operation
from dibs.operations.core.policy import DAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call, Record
    from dibs.operations.landing.requests import LandingsCancelRequest, LandingsRequest, LandRequest
    from dibs.stores.seam import Transaction

QUEUED, LANDED, REFUSED, CANCELLED = "queued", "landed", "refused", "cancelled"
MOVING = "moving"  # the stage of a batch whose target is being moved: there is no way back
DEFAULT_TARGET = "main"
MAX_QUEUED = 1_000  # in one queue
MAX_BRANCH_CHARS = 250  # git's own limit is that of a file name
MAX_PRIORITY = 1_000
MAX_LISTED = 100
MAX_TARGETS = 32  # with a queue, that one process lands on
QUEUES = "landings\tqueue\t"  # how the entries of all queues begin
MAX_AGENTS = 8  # that are told of one landing
DECIDED_LIFE_MS = 7 * DAY  # of a decided landing; the log has it for as long as the log is kept
MAX_TIME_MS = 10**15 - 1  # subtracted from, so that an index, which is read upwards, has the newest first


# --- queueing


def _land(tx: Transaction, call: Call, request: LandRequest) -> Any:
    branch = request["branch"]
    target = target_of(call, request["onto"])
    _check_branch(branch, "branch")
    if branch == target:
        raise Invalid(f"{branch} is where branches land; name another one, or run this in its worktree", field="branch")
    state = state_of(tx, target)
    key = f"lb\t{target}\t{branch}"
    known: Record | None = tx.get(key)
    record = _fetch(tx, known["landing"]) if known is not None else None
    if record is not None and record["state"] == QUEUED:
        return _again(tx, call, record, request["commit"], request["priority"], request["home"])
    if record is not None and request["commit"] == record["commit"] and not request["again"]:
        return {"landing": shown(tx, record), "repeated": True}
    if state["queued"] >= MAX_QUEUED:
        tx.append("call.refused", call.agent, "land", {"code": Quota.code})
        return Quota(
            f"at most {MAX_QUEUED} branches wait to land on {target}; `dibs land --status` shows them.",
            what="queued landings",
            limit=MAX_QUEUED,
        )
    state["count"] += 1
    state["queued"] += 1
    landing: Record = {
        "landing": f"ld{tx.id()}", "target": target, "branch": branch, "commit": request["commit"],
        "agents": [call.agent], "at": tx.now, "order": state["count"], "priority": request["priority"], "state": QUEUED,
        "home": request["home"],
    }  # fmt: skip
    put(tx, landing)
    tx.put(key, {"landing": landing["landing"]})
    put_state(tx, state)
    _log_queued(tx, call, landing)
    return {"landing": shown(tx, landing), "place": _place(tx, landing)}


def _again(tx: Transaction, call: Call, landing: Record, commit: str, priority: int, home: str) -> dict[str, Any]:
    """The branch is queued already: another commit takes the place of its former one."""
    same = commit == landing["commit"] and priority <= landing["priority"]
    if call.agent not in landing["agents"]:
        landing["agents"] = [*landing["agents"], call.agent][-MAX_AGENTS:]
        same = False
    if not same:
        landing.update(commit=commit, priority=max(priority, landing["priority"]), home=home)
        put(tx, landing)
        _log_queued(tx, call, landing)
    return {"landing": shown(tx, landing), "place": _place(tx, landing), "repeated": True}


def _log_queued(tx: Transaction, call: Call, landing: Record) -> None:
    data = {name: landing[name] for name in ("target", "branch", "commit", "priority") if landing[name]}
    if call.request:
        data["request"] = ["land", call.request]
    tx.append("landing.queued", call.agent, landing["landing"], data)


def _check_branch(branch: str, field: str) -> None:
    if not 0 < len(branch) <= MAX_BRANCH_CHARS or not branch.isprintable() or " " in branch or branch.startswith("-"):
        raise Invalid(f"{field}: the name of a branch, not {branch[:60]!r}", field=field)


def target_of(call: Call, onto: str) -> str:
    """The branch that is landed on: the one that is named, else the config's."""
    target: str = onto or call.policy.work["land"]["branch"] or DEFAULT_TARGET
    _check_branch(target, "onto")
    return target


def _place(tx: Transaction, landing: Record) -> int:
    """Its place in the queue, from 1."""
    first, mine = _queue_of(landing["target"]), _entry(landing)
    return 1 + sum(1 for entry, _, _ in tx.scan(1, first, MAX_QUEUED).rows if entry < mine)


# --- cancelling


def _cancel(tx: Transaction, call: Call, request: LandingsCancelRequest) -> Any:
    found = _find(tx, call, request["landing"], request["onto"])
    if found["state"] == CANCELLED:
        return {"landing": shown(tx, found)}
    refusal = None
    if found["state"] != QUEUED:
        refusal = f"{found['branch']} is {found['state']} already."
    elif found["landing"] in moving(state_of(tx, found["target"])):
        refusal = f"{found['target']} is being moved to {found['branch']} at this moment."
    if refusal:
        tx.append("call.refused", call.agent, "landings cancel", {"code": Conflict.code})
        return Conflict(refusal, landing=found["landing"], state=found["state"])
    decide(tx, found, CANCELLED)
    tx.append("landing.cancelled", call.agent, found["landing"], {"target": found["target"], "branch": found["branch"]})
    text = f"{call.name or call.agent} took {found['branch']} out of the queue for {found['target']}; it is untouched."
    tell(tx, call, [agent for agent in found["agents"] if not related(agent, call.agent)], text, found)
    return {"landing": shown(tx, found)}


def _asks_to_cancel(tx: Transaction, call: Call, request: LandingsCancelRequest) -> tuple[str, Sequence[str]]:
    """Of another agent's landing: an orchestrator."""
    found = _known(tx, call, request["landing"], request["onto"])
    if found is None:
        return "", ()  # the body refuses it as not queued, after the caller's right is checked
    own = any(related(agent, call.agent) for agent in found["agents"])
    return ("" if own else "orchestrator"), found["agents"]


def _find(tx: Transaction, call: Call, word: str, onto: str) -> Record:
    """A landing by its id or by its branch; raises if there is none."""
    found = _known(tx, call, word, onto)
    if found is None:
        target = target_of(call, onto)
        raise NotFound(f"{word} is not queued to land on {target}; `dibs land --status` shows the queue.", landing=word)
    return found


def _known(tx: Transaction, call: Call, word: str, onto: str) -> Record | None:
    target = target_of(call, onto)
    _check_branch(word, "landing")
    known = tx.get_many([f"lq\t{word}", f"lb\t{target}\t{word}"])
    by_branch = known[f"lb\t{target}\t{word}"]
    return known[f"lq\t{word}"] or (_fetch(tx, by_branch["landing"]) if by_branch is not None else None)


# --- records; lander.py uses them as well


def state_of(tx: Transaction, target: str) -> Record:
    """The state of a target: how much is queued, the batch that is being landed, the last landing."""
    found: Record | None = tx.get(f"lt\t{target}")
    return found or {"target": target, "count": 0, "queued": 0, "turn": 0, "running": None, "last": None}


def put_state(tx: Transaction, state: Record) -> None:
    """Write it."""
    tx.put(f"lt\t{state['target']}", state)


def moving(state: Record) -> list[str]:
    """The landings to which the target is being moved."""
    running = state["running"]
    return list(running["landings"]) if running is not None and running["stage"] == MOVING else []


def put(tx: Transaction, landing: Record) -> None:
    """Write a landing: listed with the queued or the decided ones."""
    if landing["state"] == QUEUED:
        tx.put(f"lq\t{landing['landing']}", landing, _entry(landing))
        return
    entry = f"landings\tover\t{landing['target']}\t{MAX_TIME_MS - landing['decided']:015d}\t{landing['landing']}"
    tx.put(f"lq\t{landing['landing']}", landing, entry, due(landing["decided"] + DECIDED_LIFE_MS))


def _queue_of(target: str) -> str:
    return f"{QUEUES}{target}\t"


def _entry(landing: Record) -> str:
    rank = MAX_PRIORITY - landing["priority"]
    return f"{_queue_of(landing['target'])}{rank:05d}\t{landing['order']:012d}\t{landing['landing']}"


def queued(tx: Transaction, target: str, limit: int) -> list[Record]:
    """The first landings of a queue."""
    return [record for _, _, record in tx.scan(1, _queue_of(target), limit).rows]


def targets(tx: Transaction) -> list[str]:
    """The branches for which something is queued."""
    found: list[str] = []
    for _ in range(MAX_TARGETS):
        after = f"{_queue_of(found[-1])}\U0010ffff" if found else ""
        rows = tx.scan(1, QUEUES, 1, after).rows
        if not rows:
            break
        found.append(rows[0][2]["target"])
    return found


def _fetch(tx: Transaction, identifier: str) -> Record | None:
    """A landing; None of one that is decided and forgotten."""
    found: Record | None = tx.get(f"lq\t{identifier}")
    return found


def decide(tx: Transaction, landing: Record, outcome: str, **facts: Any) -> None:
    """The end of a landing, once."""
    assert landing["state"] == QUEUED, "a landing is decided once"
    landing.update(state=outcome, decided=tx.now, **facts)
    put(tx, landing)
    key = f"lb\t{landing['target']}\t{landing['branch']}"
    if outcome == LANDED and landing["commit"]:  # a later request for the same commit is told so
        tx.put(key, {"landing": landing["landing"]}, i2=due(tx.now + DECIDED_LIFE_MS))
    else:
        tx.delete(key)
    state = state_of(tx, landing["target"])
    state["queued"] -= 1
    put_state(tx, state)


def tell(tx: Transaction, call: Call, agents: Sequence[str], text: str, landing: Record, **data: Any) -> None:
    """Leave a message for the agents of a landing."""
    from dibs.operations.messages import mailbox

    data = {"landing": landing["landing"], "branch": landing["branch"], **data}
    for agent in agents:
        mailbox.post(tx, agent, call.voice, "landing", text, **data)


# --- looking


def _landings(tx: Transaction, call: Call, request: LandingsRequest) -> dict[str, Any]:
    target = target_of(call, request["onto"])
    sections: list[Any] = [(paging.INDEX, _queue_of(target), None)]
    if not request["queue"]:
        sections.append((paging.INDEX, f"landings\tover\t{target}\t", None))
    page = paging.read(tx, sections, paging.check_limit(request["limit"], MAX_LISTED), request["after"])
    state = state_of(tx, target)
    last, stopped = state["last"], state.get("stopped") if state["queued"] else None
    return {
        "onto": target,
        "queued": state["queued"],
        "lander": _lander(tx, target, state),
        "last": {**last, "at": iso(tx, last["at"])} if last is not None else None,
        "stopped": {"since": iso(tx, stopped["at"]), "why": stopped["why"]} if stopped is not None else None,
        "landings": [shown(tx, record) for record in page.records],
        **page.answer(),
    }


def _lander(tx: Transaction, target: str, state: Record) -> dict[str, Any] | None:
    """The agent that lands, or that keeps others from it; None if nobody does."""
    claim = holder(tx, target)
    if claim is None:
        return None
    running = state["running"]
    mine = running is not None and running["token"] == claim["token"]
    return {
        "agent": claim["agent"],
        "token": claim["token"],
        "since": iso(tx, claim["since"]),
        "reason": claim["reason"],
        "stage": running["stage"] if mine else "",
        "landings": running["landings"] if mine else [],
    }


def resource_of(target: str) -> list[str]:
    """The name under which a target is claimed by the lander."""
    return ["name", f"land:{target}"]


def holder(tx: Transaction, target: str) -> Claim | None:
    """The live claim on landing, of any agent."""
    for record in claim_records.overlapping_claims(tx, [resource_of(target)], ""):
        if record["until"] > tx.now and record["mode"] != resources.WATCH:
            return record
    return None


def shown(tx: Transaction, landing: Record) -> dict[str, Any]:
    """A landing as people and programs see it."""
    found: dict[str, Any] = {
        "id": landing["landing"], "branch": landing["branch"], "commit": landing["commit"], "onto": landing["target"],
        "agent": landing["agents"][-1], "at": iso(tx, landing["at"]), "priority": landing["priority"],
        "state": landing["state"],
    }  # fmt: skip
    if "decided" in landing:
        found["decided_at"] = iso(tx, landing["decided"])
    for name in ("home", "landed", "token", "why", "code", "paths", "output", "log"):
        if landing.get(name):
            found[name] = landing[name]
    return found


_ONTO = Field("onto", "text", "the branch to land on (default: the config's, main)", default="", metavar="BRANCH")

OPERATIONS = (
    Operation(
        "land",
        _land,
        "Queue a branch to land: it is merged, checked, and becomes a part of main, one at a time.",
        group="worktrees",
        fields=(
            Field("branch", "text", "the branch, or the worktree that has it (default: the one you are in)",
                  positional=True, default="", metavar="BRANCH"),
            Field("commit", "text", "the commit to land (default: the branch's last one)", default="", longest=64,
                  metavar="SHA"),
            _ONTO,
            Field("priority", "integer", "higher comes first (default 0)", default=0, most=MAX_PRIORITY, metavar="N"),
            Field("again", "flag", "queue it although this commit has landed before", default=False),
            Field("home", "ref", "the clone that it is queued in", default="",
                  internal=True, sent_by=ANYWHERE),
        ),
        errors=(Quota, Invalid),
        may="agent",
        answer="LandAnswer",
        beforehand="landing home",
        idempotent=True,
    ),
    Operation(
        "landings",
        _landings,
        "List the landing queue, then what was decided lately.",
        group="worktrees",
        fields=(_ONTO, Field("queue", "flag", "only those that are queued", default=False), *PAGED),
        answer="LandingsAnswer",
        beforehand="landing branch",
        writes=False,
    ),
    Operation(
        "landings cancel",
        _cancel,
        "Take a branch out of the landing queue; the branch is untouched.",
        group="worktrees",
        fields=(
            Field("landing", "text", "the landing's id, or its branch", positional=True, required=True, metavar="ID"),
            _ONTO,
        ),
        errors=(NotFound, Conflict),
        may="agent",
        others="orchestrator",
        asks=_asks_to_cancel,
        answer="LandingCancelAnswer",
        beforehand="landing branch",
        idempotent=True,
    ),
)  # fmt: skip
