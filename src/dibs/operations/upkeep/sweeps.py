"""Sweeps: find and end what came due unnoticed. Each is bounded; the next one continues.

Nothing depends on a sweep: an expired claim blocks nobody, because every caller decides by the clock. A sweep makes it
visible in the log, wakes waiters, raises alerts and keeps the store small. Every claim sweeps a little, so that a store
in use needs no sweeper; `dibs sweep` does all of it. A sweep seals the log as the config says, and says when old events
are to leave the store: the caller's machine archives them first (log_retention.py).
"""

from __future__ import annotations

from dibs.operations.agents.records import AGENT_KEYS, agent_key
from dibs.operations.claims import endings
from dibs.operations.claims import records as claim_records
from dibs.operations.core import long_jobs
from dibs.operations.core.declare import ANYWHERE, NEAR, Field, Operation
from dibs.operations.upkeep import log_retention, records
from dibs.stores.seam import AFTER_KEY, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.operations.agents.records import Agent, Process
    from dibs.operations.alerts.watch import StoreState
    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call
    from dibs.operations.upkeep.answers import SweepAnswer
    from dibs.operations.upkeep.requests import UpkeepDueRequest, UpkeepRequest
    from dibs.stores.seam import Json, Transaction

    class UpkeepDueAnswer(TypedDict):
        """Of `upkeep-due`."""

        due: bool
        prune: bool  # old events are to leave the store
        turns: list[tuple[str, Process]]


DUE_PER_CALL = 8  # due records, after an agent's call
DUE_PER_SWEEP = 256  # due records, in one `sweep` transaction
AGENTS_PER_SWEEP = 500  # whose process is checked


def some(tx: Transaction, call: Call, limit: int) -> dict[str, int]:
    """Handle up to `limit` due records."""
    page = records.scan_due(tx, limit)
    done = {"claims": 0, "waiters": 0, "interests": 0, "answers": 0, "alerts": 0, "more": int(page.truncated)}
    done["looked_at"] = len(page.rows)
    if not page.rows:
        return done
    from dibs.operations.alerts.records import is_suspicion
    from dibs.operations.claims import waiters

    freed: list[Sequence[str]] = []
    suspected = False
    for _, key, record in page.rows:
        kind = claim_records.kind_at(key, record)
        if kind in {claim_records.CLAIM, claim_records.WAITER} and record["until"] > tx.now:
            waiters.suspect(tx, record)
            claim_records.put(tx, record)
            suspected = True
        elif kind == claim_records.CLAIM:
            for claim in endings.lapse(tx, call, [record]):
                freed += claim["resources"]
                done["claims"] += 1
                suspected = True
        elif kind == claim_records.WAITER:
            endings.drop_waiter(tx, record, "lapsed")
            freed += record["resources"]
            done["waiters"] += 1
        elif kind == claim_records.INTEREST:
            claim_records.remove(tx, record)
            tx.append("interest.ended", record["agent"], record["interest"], {"why": "lapsed"})
            done["interests"] += 1
        elif is_suspicion(record):
            from dibs.operations.alerts import watch

            done["alerts"] += watch.look_into(tx, call, key, record)
        else:
            done["more"] |= not _other(tx, key, record)
            done["answers"] += 1
    endings.serve(tx, freed)
    if suspected:
        from dibs.operations.alerts import watch

        done["alerts"] += watch.at_once(tx, call)
    return done


def _other(tx: Transaction, key: str, record: Json) -> bool:
    """Handle a due record that is neither claim, waiter nor interest: each family has its own end.

    Returns whether that is done; a large run goes in parts.
    """
    family = records.family_of(key)
    if family == "vo":
        from dibs.operations.votes import votes

        votes.came_due(tx, record)
    elif family == "eg":
        from dibs.operations.documents import documents

        documents.forget(tx, record)
    elif family == "m":
        from dibs.operations.messages import mailbox

        mailbox.expire(tx, key, record)
    elif family == "ml":
        from dibs.operations.messages import broadcasts

        broadcasts.lapse(tx, key, record)
    elif family == "ac":
        from dibs.operations.alerts import lifecycle

        lifecycle.forget(tx, key)
    elif family == "rp":
        from dibs.operations.landing import conflicts
        from dibs.operations.landing.records import place_of

        conflicts.clear(tx, place_of(key), record)
    elif family == "ho":
        from dibs.operations.handovers import offers

        offers.lapse(tx, record)
    elif family == "u":
        from dibs.operations.runs import run_endings

        return run_endings.came_due(tx, record)
    else:  # an old answer to a request id, or a loss that the agent never came back for
        tx.delete(key)
    return True


def _sweep(tx: Transaction, call: Call) -> SweepAnswer:
    return _one_sweep(tx, call, None)


def _upkeep(tx: Transaction, call: Call, request: UpkeepRequest) -> SweepAnswer:
    return _one_sweep(tx, call, request["store"])


def _one_sweep(tx: Transaction, call: Call, store: StoreState | None) -> SweepAnswer:
    """End and forget what is due, in one transaction; `store`: what the caller's machine says of the store."""
    from dibs.operations.alerts import watch
    from dibs.operations.tasks import due_tasks, old_tasks

    due = log_retention.due(tx, call)  # first: where the log ends is not read together with much else on every engine
    done = {**some(tx, call, DUE_PER_SWEEP), "agents": 0, "sealed": 0, "pruned": 0}
    came = due_tasks.promote(tx, call)
    forgotten, older = old_tasks.some(tx, call)
    done["tasks"] = came.done + forgotten
    # one step is enough for a transaction
    left = call.jobs[long_jobs.take_step(tx, call.jobs[0]) :] if call.jobs else []
    dead_more, agents = _end_dead_claims(tx, call, done)
    looked = watch.look(tx, call, agents, store)
    done["cleared"] = looked["cleared"]
    done["alerts"] += watch.at_once(tx, call)
    more = bool(done.pop("more")) or came.more or older or bool(left) or dead_more
    del done["looked_at"]
    if due == "sealed" and not any(done.values()):  # alone: a seal is at the end of the log, no event may come between
        log_retention.seal(tx, call)
        done["sealed"] = 1
    prune = due == "pruned" or (bool(done["sealed"]) and log_retention.is_prune_due(tx, call))
    swept: Json = done
    return {"swept": swept, "more": more or (due == "sealed" and not done["sealed"]), "prune": prune}


def _end_dead_claims(tx: Transaction, call: Call, done: dict[str, int]) -> tuple[bool, list[Agent]]:
    """End the claims of agents whose process is gone, up to DUE_PER_SWEEP.

    Returns whether there may be more, and the agents that were looked at.

    If there are none, agents that are gone for good are forgotten. In a workspace with many known agents, each sweep
    continues after the last one's place.
    """
    agents, more = _agents(tx)
    suspects = _suspects(call, agents)
    over: list[Claim] = []
    cut = ""
    for agent in suspects:
        if call.alive(agent["process"]) is not False:
            continue
        for claim in claim_records.claims_of(tx, agent["agent"]):
            if claim["tied"] and len(over) < DUE_PER_SWEEP:
                endings.end(tx, claim, "gone")
                over.append(claim)
        if len(over) >= DUE_PER_SWEEP:
            cut = agent["agent"]
            break
    endings.serve(tx, [resource for claim in over for resource in claim["resources"]])
    done["claims"] += len(over)
    dead = [agent for agent in suspects if call.alive(agent["process"]) is False]
    if dead:
        from dibs.operations.agents import deaths

        deaths.tell(tx, call, dead, over)
    if cut:  # the next sweep begins with the same agent: it may hold more
        before = [agent["agent"] for agent in agents if agent["agent"] < cut]
        if before:
            records.put_sweep_place(tx, before[-1])
        return True, agents
    from dibs.operations.agents import forgotten

    done["agents"] = forgotten.some(tx, call, agents)
    if more:
        records.put_sweep_place(tx, agents[-1]["agent"])
    elif records.get_sweep_place(tx) is not None:
        records.delete_sweep_place(tx)
    return False, agents


def _agents(tx: Transaction) -> tuple[list[Json], bool]:
    """The agents that the next sweep looks at, and whether there are more."""
    low, high = prefix_range(AGENT_KEYS)
    last = records.get_sweep_place(tx)
    page = tx.fetch([(low if last is None else f"{agent_key(last)}{AFTER_KEY}", high)], AGENTS_PER_SWEEP)
    return [agent for _, agent in page.rows], page.truncated


def _suspects(call: Call, agents: list[Agent]) -> list[Agent]:
    """The agents whose process may be gone; it was looked whether they are."""
    present = [agent for agent in agents if agent["process"] is not None and not agent["left"]]
    call.know([agent["process"] for agent in present])
    return present


# --- whether there is anything to do


def _upkeep_due(tx: Transaction, call: Call, request: UpkeepDueRequest) -> UpkeepDueAnswer:
    """Would a sweep find anything? Waiters ask it often: it only reads.

    `turns`: agents, with their processes, of which the caller's machine can tell whether they are stalled.
    """
    from dibs.operations.agents import deaths, turns
    from dibs.operations.alerts import watch
    from dibs.operations.tasks import due_tasks, old_tasks

    log = log_retention.due(tx, call)
    answer: UpkeepDueAnswer = {"due": True, "prune": log == "pruned", "turns": []}
    if log == "sealed" or records.scan_due(tx, 1).rows or due_tasks.is_due(tx) or old_tasks.is_due(tx, call):
        return answer
    agents, _ = _agents(tx)
    suspects = _suspects(call, agents)
    answer["turns"] = turns.watched(tx, call, suspects)
    if not any(deaths.is_news(call, agent) for agent in suspects):
        answer["due"] = watch.is_due(tx, call, agents, request["store"])
    return answer


_STORE = Field(
    "store", "object", "what the caller's machine says of the store", sent_by=NEAR,
    items=(
        Field("fallback", "flag", "SQLite replaces a server", required=True),
        Field("warnings", "raws", "what a person should change", required=True),
    ),
)  # fmt: skip
UPKEEP_DUE = Operation(
    "upkeep-due",
    _upkeep_due,
    "Would a sweep find anything?",
    sent_by=ANYWHERE,
    fields=(_STORE,),
    writes=False,
    wants=("rules",),
)
# The same as a sweep, for whichever process of dibs is alive: it registers no agent, and any waiter may do it.
UPKEEP = Operation(
    "upkeep",
    _upkeep,
    "Look for trouble, and do what is due.",
    sent_by=ANYWHERE,
    fields=(_STORE,),
    registers=False,
    wants=("rules",),
)
INTERNAL = (UPKEEP_DUE, UPKEEP)

OPERATIONS = (
    Operation(
        "sweep",
        _sweep,
        "End claims that expired or whose process died, raise alerts, and drop old events as the config says.",
        group="record",
        rank="worker",
        registers=False,
        answer="SweepAnswer",
        wants=("rules",),
        afterwards="archive old events",
    ),
)
