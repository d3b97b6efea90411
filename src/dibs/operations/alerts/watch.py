"""The look for trouble: what no operation comes across by itself. Every sweep does it.

- An alert whose cause is gone is cleared (lifecycle.py says when).
- An agent that is alive, gave no sign for long, and holds what others want: silent. Found from the waiters, so a
  workspace where nobody waits costs nothing.
- An agent that was active for a while after the rules changed, and was not told.
- A store that warns, or stands in for another; the caller's machine says so.

`due` asks, without a write, whether a sweep would find anything: a waiter asks it often, and sweeps only then.
Each look is bounded: MAX_OPEN alerts, some waiters and interests, the agents that the caller brings.
"""

from __future__ import annotations

from dibs.operations.agents.records import get_agent, get_agents
from dibs.operations.alerts import agent_causes, lifecycle, views
from dibs.operations.alerts.records import (
    STORE,
    alert_key,
    get_alert,
    is_about_store,
    put_suspicion,
    suspicion_key,
    suspicions_at_once,
)
from dibs.operations.claims import contention
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import process_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypedDict

    from dibs.operations.agents.records import Agent, Process
    from dibs.operations.alerts.records import (
        Alert,
        Evidence,
        F,
        Facts,
        SilenceFacts,
        StoreFacts,
        Suspicion,
    )
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

    class StoreState(TypedDict):
        """What the caller's machine says of the store."""

        fallback: bool  # SQLite replaces a server
        warnings: list[str]  # what a person should change

    class LookCounts(TypedDict):
        """What a look did."""

        cleared: int  # alerts
        suspected: int  # new suspicions


MAX_AT_ONCE = 64  # suspicions that one transaction looks into
RULES_NOTICED = "rules"  # the suspicion that waits for `[alerts] rules` before it is looked into


def look(tx: Transaction, call: Call, agents: Sequence[Agent], store: StoreState | None) -> LookCounts:
    """Clear alerts without a cause, and leave suspicions for what was found; returns how many of each."""
    done: LookCounts = {"cleared": 0, "suspected": 0}
    for alert, why in _over(tx, call, store):
        lifecycle.clear(tx, call, alert, why)
        done["cleared"] += 1
    for suspicion in _new_suspicions(tx, call, agents, store):
        is_rules = suspicion["suspicion"] == RULES_NOTICED
        # It gets some time: an agent whose hooks run is told with its next call.
        put_suspicion(tx, suspicion, tx.now + call.policy.work["alerts"]["rules"] if is_rules else None)
        done["suspected"] += 1
    return done


def is_due(tx: Transaction, call: Call, agents: Sequence[Agent], store: StoreState | None) -> bool:
    """Would a look find anything?"""
    if next(_over(tx, call, store), None) is not None:
        return True
    return next(_new_suspicions(tx, call, agents, store), None) is not None


def _over(tx: Transaction, call: Call, store: StoreState | None) -> Iterator[tuple[Alert[Facts], str]]:
    """The alerts whose cause is gone, and why."""
    for alert in views.live(tx):
        why = _store_is_well(alert, store) or lifecycle.gone(tx, call, alert)
        if why:
            yield alert, why


def _store_is_well(alert: Alert[Facts], store: StoreState | None) -> str:
    if not is_about_store(alert) or "lasts" not in alert["facts"] or store is None:
        return ""
    if alert["facts"]["lasts"] == "fallback":
        return "" if store["fallback"] else "the server is back"
    return "" if alert["facts"]["lasts"] in store["warnings"] else "the store no longer warns"


def _new_suspicions(
    tx: Transaction, call: Call, agents: Sequence[Agent], store: StoreState | None
) -> Iterator[Suspicion[Facts]]:
    """New trouble. What has an alert already is left out."""
    for kind, holder, process, wanted in _holders_in_the_way(tx, call):
        if get_alert(tx, kind, holder["agent"]) is None:
            held = claim_records.claims_of(tx, holder["agent"], limit=1)
            evidence = [[claim["token"], claim["claim"]] for claim in held[:1]]
            facts: SilenceFacts = {
                "pid": process[3], "resources": list(dict.fromkeys(resource for resource, _ in wanted)),
                "wanted_by": list(dict.fromkeys(agent for _, agent in wanted)),
            }  # fmt: skip
            yield _suspicion(kind, holder["agent"], holder["agent"], holder["seen"], evidence, facts)
    for agent in _on_old_rules(tx, call, agents):
        told = agent.get("rules_at")  # the commit with the event that it was told the rules it goes by
        evidence = [] if told is None else [[told, agent["agent"]]]
        yield _suspicion(RULES_NOTICED, agent["agent"], agent["agent"], tx.now, evidence, {})
    for text in store["warnings"] if store is not None and not store["fallback"] else ():
        subject = f"warning:{text[:60]}"
        if get_alert(tx, STORE, subject) is None:
            warning: StoreFacts = {"warning": text, "lasts": text}
            yield _suspicion(STORE, subject, "", tx.now, [], warning)


def _suspicion(kind: str, subject: str, agent: str, since: int, evidence: list[Evidence], facts: F) -> Suspicion[F]:
    """A suspicion that no event of this commit shows."""
    return {
        "suspicion": kind, "subject": subject, "agent": agent, "since": since, "commits": evidence, "told": [],
        "facts": facts,
    }  # fmt: skip


# --- silent


def _holders_in_the_way(tx: Transaction, call: Call) -> Iterator[tuple[str, Agent, Process, list[tuple[str, str]]]]:
    """The holders that wait for a person or are silent, each with its process and what others want of it."""
    holders = sorted(contention.held_up(tx))
    if not holders:
        return
    limit: int = call.policy.work["alerts"]["silent"]
    quiet = [
        (agent, agent["process"])
        for agent in get_agents(tx, holders).values()
        if agent is not None
        and agent["process"] is not None
        and not agent["left"]
        and not agent["killed"]
        and ("waits" in agent or tx.now - agent["seen"] > limit)
    ]
    call.know([process for _, process in quiet])
    for agent, process in quiet:
        if call.alive(process):
            wanted = agent_causes.wanted_of(tx, agent["agent"])
            if wanted:
                yield "asks" if "waits" in agent else "silent", agent, process, wanted


# --- rules


def _on_old_rules(tx: Transaction, call: Call, agents: Sequence[Agent]) -> Iterator[Agent]:
    """Agents that were told other rules, and of which this was not noticed yet."""
    if not call.rules:
        return
    for agent in agents:
        known = agent.get("rules")
        if not known or known == call.rules or agent["left"] or agent["killed"] or agent["process"] is None:
            continue
        if call.facts.get(process_name(agent["process"])) is False:
            continue
        keys = [alert_key(RULES_NOTICED, agent["agent"]), suspicion_key(RULES_NOTICED, agent["agent"])]
        if all(value is None for value in tx.get_many(keys).values()):
            yield agent


def _is_silent(agent: Agent, suspicion: Suspicion[Facts]) -> bool:
    """Has the agent done nothing since the suspicion, or is it stopped?"""
    return agent["left"] or agent["killed"] is not None or agent["seen"] <= suspicion["since"]


def look_into(tx: Transaction, call: Call, key: str, suspicion: Suspicion[Facts]) -> bool:
    """A due suspicion: an alert or nothing. Of the rules only if the agent acted since, and was still not told."""
    if suspicion["suspicion"] == RULES_NOTICED:
        agent = get_agent(tx, suspicion["agent"])
        if agent is None or not call.rules or agent.get("rules") == call.rules or _is_silent(agent, suspicion):
            tx.delete(key)
            return False
    return lifecycle.look_into(tx, call, key, suspicion)


def at_once(tx: Transaction, call: Call) -> int:
    """Look into the suspicions that were just left; returns how many alerts that raised."""
    raised = 0
    for key, suspicion in suspicions_at_once(tx, MAX_AT_ONCE):
        raised += look_into(tx, call, key, suspicion)
    return raised
