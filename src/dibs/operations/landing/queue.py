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
from dibs.operations.core.call import iso, related
from dibs.operations.core.declare import ANYWHERE, PAGED, Field, Operation
from dibs.operations.core.policy import DAY
from dibs.operations.landing import records
from dibs.operations.landing.records import MAX_PRIORITY, MAX_QUEUED, QUEUED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call
    from dibs.operations.core.paging import Section
    from dibs.operations.landing.answers import (
        LandAnswer,
        LanderView,
        LandingCancelAnswer,
        LandingsAnswer,
        LandingView,
        LastLandingView,
    )
    from dibs.operations.landing.records import Landing, LastLanding, Outcome, TargetState
    from dibs.operations.landing.requests import LandingsCancelRequest, LandingsRequest, LandRequest
    from dibs.stores.seam import Json, Transaction

LANDED: Final = "landed"
REFUSED: Final = "refused"
CANCELLED: Final = "cancelled"
MOVING: Final = "moving"  # the stage of a batch whose target is being moved: there is no way back
DEFAULT_TARGET = "main"
MAX_BRANCH_CHARS = 250  # git's own limit is that of a file name
MAX_LISTED = 100
MAX_AGENTS = 8  # that are told of one landing
VIEW_FIELDS = ("home", "landed", "token", "why", "code", "paths", "output", "log")  # shown if they are there
DECIDED_LIFE_MS = 7 * DAY  # of a decided landing; the log has it for as long as the log is kept


# --- queueing


def _land(tx: Transaction, call: Call, request: LandRequest) -> LandAnswer | Quota:
    branch, commit = request["branch"], request["commit"]
    target = target_of(call, request["onto"])
    _check_branch(branch, "branch")
    if branch == target:
        raise Invalid(f"{branch} is where branches land; name another one, or run this in its worktree", field="branch")
    state = records.get_state(tx, target)
    known = records.landing_of(tx, target, branch)
    if known is not None and known["state"] == QUEUED:
        return _again(tx, call, known, commit, request["priority"], request["home"])
    if known is not None and commit == known["commit"] and not request["again"]:
        return {"landing": shown(tx, known), "repeated": True}
    if state["queued"] >= MAX_QUEUED:
        tx.append("call.refused", call.agent, "land", {"code": Quota.code})
        return Quota(
            f"at most {MAX_QUEUED} branches wait to land on {target}; `dibs land --status` shows them.",
            what="queued landings",
            limit=MAX_QUEUED,
        )
    state["count"] += 1
    state["queued"] += 1
    landing: Landing = {
        "landing": f"ld{tx.id()}", "target": target, "branch": branch, "commit": commit, "agents": [call.agent],
        "at": tx.now, "order": state["count"], "priority": request["priority"], "state": QUEUED,
        "home": request["home"],
    }  # fmt: skip
    records.put_landing(tx, landing)
    records.put_branch(tx, landing)
    records.put_state(tx, state)
    _log_queued(tx, call, landing)
    return {"landing": shown(tx, landing), "place": records.place_in_queue(tx, landing)}


def _again(tx: Transaction, call: Call, landing: Landing, commit: str, priority: int, home: str) -> LandAnswer:
    """The branch is queued already: another commit takes the place of its former one."""
    same = commit == landing["commit"] and priority <= landing["priority"]
    if call.agent not in landing["agents"]:
        landing["agents"] = [*landing["agents"], call.agent][-MAX_AGENTS:]
        same = False
    if not same:
        landing.update({"commit": commit, "priority": max(priority, landing["priority"]), "home": home})
        records.put_landing(tx, landing)
        _log_queued(tx, call, landing)
    return {"landing": shown(tx, landing), "place": records.place_in_queue(tx, landing), "repeated": True}


def _log_queued(tx: Transaction, call: Call, landing: Landing) -> None:
    facts = {
        "target": landing["target"], "branch": landing["branch"], "commit": landing["commit"],
        "priority": landing["priority"],
    }  # fmt: skip
    data: dict[str, Json] = {name: value for name, value in facts.items() if value}
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


# --- cancelling


def _cancel(tx: Transaction, call: Call, request: LandingsCancelRequest) -> LandingCancelAnswer | Conflict:
    record = _find(tx, call, request["landing"], request["onto"])
    if record["state"] == CANCELLED:
        return {"landing": shown(tx, record)}
    branch, target = record["branch"], record["target"]
    refusal = None
    if record["state"] != QUEUED:
        refusal = f"{branch} is {record['state']} already."
    elif record["landing"] in moving(records.get_state(tx, target)):
        refusal = f"{target} is being moved to {branch} at this moment."
    if refusal:
        tx.append("call.refused", call.agent, "landings cancel", {"code": Conflict.code})
        return Conflict(refusal, landing=record["landing"], state=record["state"])
    decide(tx, record, CANCELLED)
    tx.append("landing.cancelled", call.agent, record["landing"], {"target": target, "branch": branch})
    text = f"{call.name or call.agent} took {branch} out of the queue for {target}; it is untouched."
    tell(tx, call, [agent for agent in record["agents"] if not related(agent, call.agent)], text, record)
    return {"landing": shown(tx, record)}


def _asks_to_cancel(tx: Transaction, call: Call, request: LandingsCancelRequest) -> tuple[str, Sequence[str]]:
    """Of another agent's landing: an orchestrator."""
    record = _known(tx, call, request["landing"], request["onto"])
    if record is None:
        return "", ()  # the body refuses it as not queued, after the caller's right is checked
    own = any(related(agent, call.agent) for agent in record["agents"])
    return ("" if own else "orchestrator"), record["agents"]


def _find(tx: Transaction, call: Call, word: str, onto: str) -> Landing:
    """A landing by its id or by its branch; raises if there is none."""
    landing = _known(tx, call, word, onto)
    if landing is None:
        target = target_of(call, onto)
        raise NotFound(f"{word} is not queued to land on {target}; `dibs land --status` shows the queue.", landing=word)
    return landing


def _known(tx: Transaction, call: Call, word: str, onto: str) -> Landing | None:
    target = target_of(call, onto)
    _check_branch(word, "landing")
    return records.find_landing(tx, target, word)


# --- what lander.py does as well


def moving(state: TargetState) -> list[str]:
    """The landings to which the target is being moved."""
    running = state["running"]
    return list(running["landings"]) if running is not None and running["stage"] == MOVING else []


def decide(tx: Transaction, landing: Landing, outcome: Outcome) -> None:
    """The end of a landing, once."""
    assert landing["state"] == QUEUED, "a landing is decided once"
    landing["state"], landing["decided"] = outcome, tx.now
    until = tx.now + DECIDED_LIFE_MS
    records.put_landing(tx, landing, until)
    if outcome == LANDED and landing["commit"]:  # a later request for the same commit is told so
        records.put_branch(tx, landing, until)
    else:
        records.delete_branch(tx, landing)
    state = records.get_state(tx, landing["target"])
    state["queued"] -= 1
    records.put_state(tx, state)


def tell(tx: Transaction, call: Call, agents: Sequence[str], text: str, landing: Landing, **data: Json) -> None:
    """Leave a message for the agents of a landing."""
    from dibs.operations.messages import mailbox

    data = {"landing": landing["landing"], "branch": landing["branch"], **data}
    for agent in agents:
        mailbox.post(tx, agent, call.voice, "landing", text, **data)


# --- looking


def _landings(tx: Transaction, call: Call, request: LandingsRequest) -> LandingsAnswer:
    target = target_of(call, request["onto"])
    sections: list[Section] = [(paging.INDEX, records.queue_of(target), None)]
    if not request["queue"]:
        sections.append((paging.INDEX, records.decided_on(target), None))
    page = paging.read(tx, sections, paging.check_limit(request["limit"], MAX_LISTED), request["after"])
    state = records.get_state(tx, target)
    last, stopped = state["last"], state.get("stopped") if state["queued"] else None
    return {
        "onto": target,
        "queued": state["queued"],
        "lander": _lander(tx, target, state),
        "last": _last(tx, last) if last is not None else None,
        "stopped": {"since": iso(tx, stopped["at"]), "why": stopped["why"]} if stopped is not None else None,
        "landings": [shown(tx, record) for record in page.records],
        "more": page.more,
        "cursor": page.cursor,
    }


def _last(tx: Transaction, last: LastLanding) -> LastLandingView:
    return {"commit": last["commit"], "at": iso(tx, last["at"]), "agent": last["agent"], "token": last["token"]}


def _lander(tx: Transaction, target: str, state: TargetState) -> LanderView | None:
    """The agent that lands, or that keeps others from it; None if nobody does."""
    claim = holder(tx, target)
    if claim is None:
        return None
    batch = state["running"]
    if batch is not None and batch["token"] != claim["token"]:
        batch = None
    return {
        "agent": claim["agent"],
        "token": claim["token"],
        "since": iso(tx, claim["since"]),
        "reason": claim["reason"],
        "stage": batch["stage"] if batch is not None else "",
        "landings": batch["landings"] if batch is not None else [],
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


def shown(tx: Transaction, landing: Landing) -> LandingView:
    """A landing as people and programs see it."""
    view: LandingView = {
        "id": landing["landing"], "branch": landing["branch"], "commit": landing["commit"], "onto": landing["target"],
        "agent": landing["agents"][-1], "at": iso(tx, landing["at"]), "priority": landing["priority"],
        "state": landing["state"],
    }  # fmt: skip
    if "decided" in landing:
        view["decided_at"] = iso(tx, landing["decided"])
    stored: Json = landing
    outcome: Json = {name: stored[name] for name in VIEW_FIELDS if stored.get(name)}
    view.update(outcome)
    return view


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
        rank="agent",
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
        rank="agent",
        max_rank="orchestrator",
        required_rank=_asks_to_cancel,
        answer="LandingCancelAnswer",
        beforehand="landing branch",
        idempotent=True,
    ),
)  # fmt: skip
