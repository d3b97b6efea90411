"""The look for trouble: what no operation comes across by itself. Every sweep does it.

- An alert whose cause is gone is cleared (kinds.py says when).
- An agent that is alive, gave no sign for long, and holds what others want: silent. Found from the waiters, so a
  workspace where nobody waits costs nothing.
- An agent that was active for a while after the rules changed, and was not told.
- A store that warns, or stands in for another; the caller's machine says so.

`due` asks, without a write, whether a sweep would find anything: a waiter asks it often, and sweeps only then.
Each look is bounded: MAX_OPEN alerts, MAX_WANTING waiters and interests, the agents that the caller brings.
"""

from __future__ import annotations

from dibs.operations.agents.records import get_agent, get_agents
from dibs.operations.alerts import kinds, records, suspicions
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import due as due_entry
from dibs.operations.core.call import process_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from dibs.operations.agents.records import Agent, Process
    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

MAX_WANTING = 64  # waiters, and as many interests, by whose wishes one look finds silent holders
RULES_NOTICED = "rules"  # the suspicion that waits for `[alerts] rules` before it is looked into


def look(tx: Transaction, call: Call, agents: Sequence[Record], store: dict[str, Any] | None) -> dict[str, int]:
    """Clear alerts without a cause, and leave suspicions for what was found; returns how many of each."""
    done = {"cleared": 0, "found": 0}
    for alert, why in _over(tx, call, store):
        records.clear(tx, call, alert, why)
        done["cleared"] += 1
    for kind, subject, agent, facts in _found(tx, call, agents, store):
        if kind == RULES_NOTICED:
            _notice_rules(tx, call, agent, facts["commits"])
        else:
            suspicions.put(tx, kind, subject, agent, event="", **facts)
        done["found"] += 1
    return done


def is_due(tx: Transaction, call: Call, agents: Sequence[Record], store: dict[str, Any] | None) -> bool:
    """Would a look find anything?"""
    if next(_over(tx, call, store), None) is not None:
        return True
    return next(_found(tx, call, agents, store), None) is not None


def _over(tx: Transaction, call: Call, store: dict[str, Any] | None) -> Iterator[tuple[Record, str]]:
    """The alerts whose cause is gone, and why."""
    for alert in records.live(tx):
        why = _store_is_well(alert, store) or kinds.gone(tx, call, alert)
        if why:
            yield alert, why


def _store_is_well(alert: Record, store: dict[str, Any] | None) -> str:
    if alert["kind"] != "store" or "lasts" not in alert["facts"] or store is None:
        return ""
    if alert["facts"]["lasts"] == "fallback":
        return "" if store["fallback"] else "the server is back"
    return "" if alert["facts"]["lasts"] in store["warnings"] else "the store no longer warns"


def _found(
    tx: Transaction, call: Call, agents: Sequence[Record], store: dict[str, Any] | None
) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """New trouble: kind, subject, agent, facts. What has an alert already is left out."""
    for silent, process, wanted in _silent(tx, call):
        if _is_new(tx, "silent", silent["agent"]):
            held = claim_records.claims_of(tx, silent["agent"], limit=1)
            facts = {
                "since": silent["seen"], "pid": process[3],
                "commits": [[claim["token"], claim["claim"]] for claim in held[:1]],
                "resources": list(dict.fromkeys(resource for resource, _ in wanted)),
                "wanted_by": list(dict.fromkeys(one for _, one in wanted)),
            }  # fmt: skip
            yield "silent", silent["agent"], silent["agent"], facts
    for agent in _on_old_rules(tx, call, agents):
        told = agent.get("rules_at")  # the commit with the event that it was told the rules it goes by
        commits = [] if told is None else [[told, agent["agent"]]]
        yield RULES_NOTICED, agent["agent"], agent["agent"], {"commits": commits}
    for text in store["warnings"] if store is not None and not store["fallback"] else ():
        subject = f"warning:{text[:60]}"
        if _is_new(tx, "store", subject):
            yield "store", subject, "", {"warning": text, "lasts": text}


def _is_new(tx: Transaction, kind: str, subject: str) -> bool:
    return tx.get(records.key_of(kind, subject)) is None


# --- silent


def _silent(tx: Transaction, call: Call) -> Iterator[tuple[Agent, Process, list[tuple[str, str]]]]:
    """The silent holders, each with its process and what others want of it."""
    holders = sorted(set(_wanted_holders(tx)))
    if not holders:
        return
    found = get_agents(tx, holders)
    limit: int = call.policy.work["alerts"]["silent"]
    quiet = [
        (agent, agent["process"])
        for agent in found.values()
        if agent is not None
        and agent["process"] is not None
        and not agent["left"]
        and not agent["killed"]
        and tx.now - agent["seen"] > limit
    ]
    call.know([process for _, process in quiet])
    for agent, process in quiet:
        if call.alive(process):
            wanted = kinds.wanted_of(tx, agent["agent"])
            if wanted:
                yield agent, process, wanted


def _wanted_holders(tx: Transaction) -> Iterable[str]:
    """The agents that hold what the first waiters and interests want."""
    found: dict[str, None] = {}
    for kind in (claim_records.WAITER, claim_records.INTEREST):
        for _, _, place in tx.scan(1, claim_records.index_prefix(kind), MAX_WANTING).rows:
            if place["until"] <= tx.now:
                continue
            for record in claim_records.overlapping_claims(tx, place["resources"], place["tree"]):
                if record["until"] > tx.now and record["agent"] != place["agent"]:
                    found[record["agent"]] = None
    return found


# --- rules


def _on_old_rules(tx: Transaction, call: Call, agents: Sequence[Record]) -> Iterator[Record]:
    """Agents that were told other rules, and of which this was not noticed yet."""
    if not call.rules:
        return
    for agent in agents:
        known = agent.get("rules")
        if not known or known == call.rules or agent["left"] or agent["killed"] or agent["process"] is None:
            continue
        if call.facts.get(process_name(agent["process"])) is False:
            continue
        keys = [records.key_of("rules", agent["agent"]), _rules_key(agent["agent"])]
        if all(value is None for value in tx.get_many(keys).values()):
            yield agent


def _rules_key(agent: str) -> str:
    return f"{suspicions.FAMILY}\t{RULES_NOTICED}\t{agent}"


def _notice_rules(tx: Transaction, call: Call, agent: str, commits: list[list[Any]]) -> None:
    """It gets some time: an agent whose hooks run is told with its next call."""
    later = tx.now + call.policy.work["alerts"]["rules"]
    record = {
        "suspicion": RULES_NOTICED, "subject": agent, "agent": agent, "since": tx.now, "commits": commits, "told": [],
        "facts": {},
    }  # fmt: skip
    tx.put(_rules_key(agent), record, i2=due_entry(later))


def _is_silent(agent: Agent, suspicion: Record) -> bool:
    """Has the agent done nothing since the suspicion, or is it stopped?"""
    return agent["left"] or agent["killed"] is not None or agent["seen"] <= suspicion["since"]


def look_into(tx: Transaction, call: Call, key: str, suspicion: Record) -> bool:
    """A due suspicion: an alert or nothing. Of the rules only if the agent acted since, and was still not told."""
    if suspicion["suspicion"] == RULES_NOTICED:
        agent = get_agent(tx, suspicion["agent"])
        if agent is None or not call.rules or agent.get("rules") == call.rules or _is_silent(agent, suspicion):
            tx.delete(key)
            return False
    return kinds.look_into(tx, call, key, suspicion)


def at_once(tx: Transaction, call: Call) -> int:
    """Look into the suspicions that were just left; returns how many alerts that raised."""
    raised = 0
    for _, key, suspicion in tx.scan(2, "due\t", MAX_WANTING, before=due_entry(suspicions.AT_ONCE + 1)).rows:
        raised += look_into(tx, call, key, suspicion)
    return raised
