"""One snapshot of what `check` and `map` look at: agents, claims, waits, subscriptions, alerts, tasks, deploys.

It only reads, each part up to a limit; `cut` names the parts that have more.
"""

from __future__ import annotations

from dibs.operations.agents import presence, roles
from dibs.operations.alerts import delivery, records
from dibs.operations.claims import endings, resources, views
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import iso
from dibs.operations.core.declare import AGENT, ANYWHERE, PERSON, Operation
from dibs.operations.oversight import settlements, trials
from dibs.operations.runs.records import active_runs
from dibs.operations.tasks import lifecycle
from dibs.operations.tasks.records import dependent_range, end_of, get_tasks, in_state, task_of, with_defaults
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.agents.records import Agent
    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

MOST = 1_000  # agents, claims, waiters, quarantined tasks, unsettled paths, targets
MAX_SUBSCRIPTIONS = 5_000
MAX_RUNS = 100
MAX_FAILED, MAX_USERS = 200, 20  # failed tasks that are looked at, and tasks after one of them
RANGES = 50  # asked for at once


def _read(tx: Transaction, call: Call) -> dict[str, Any]:
    """Everything, in one snapshot."""
    cut: list[str] = []

    def scanned(index: str, name: str) -> list[Any]:
        page = tx.scan(1, index, MOST)
        if page.truncated:
            cut.append(name)
        return [record for _, _, record in page.rows]

    def fetched(prefix: str, name: str, limit: int = MOST) -> list[tuple[str, Any]]:
        page = tx.fetch([prefix_range(prefix)], limit)
        if page.truncated:
            cut.append(name)
        return page.rows

    page = presence.listed(tx, call, MOST, "")
    if page.more:
        cut.append("agents")
    found = scanned(claim_records.index_prefix(claim_records.CLAIM), "claims")
    claims: list[Claim] = [claim for claim in found if claim["until"] > tx.now]
    gone = {claim["claim"] for claim in endings.gone(tx, call, claims)}
    places = scanned(claim_records.index_prefix(claim_records.WAITER), "waiting")
    waiting = [place for place in places if place["until"] > tx.now]
    subscribers = [key.split("\t")[1:] for key, _ in fetched("sk\t", "subscriptions", MAX_SUBSCRIPTIONS)]
    return {
        "agents": [_agent(tx, call, agent) for agent in page.records],
        "claims": [_claim(tx, claim, gone) for claim in claims],
        "waiting": [
            {"agent": one["agent"], "resources": resources.shown(one["resources"]), "since": iso(tx, one["since"])}
            for one in waiting
        ],
        "subscriptions": [{"what": what, "agent": agent} for what, agent in subscribers],
        "alerts": [records.shown(tx, alert) for alert in records.live(tx)],
        "deliveries": delivery.waiting(tx),
        "settled": settlements.settled(tx),
        "test": _test(tx),
        "runs": [
            {"run": run["run"], "coordinator": run["coordinator"]}
            for run in active_runs(tx, MAX_RUNS)
        ],
        "quarantined": [_task(task) for task in scanned(in_state(lifecycle.QUARANTINED), "tasks")],
        "failed": _failed(tx, scanned(in_state(lifecycle.FAILED), "tasks")),
        "unsettled": _unsettled(tx, fetched("vu\t", "violations")),
        "deploys": [
            {"target": key.partition("\t")[2], "at": iso(tx, one["at"]), "agent": one["agent"], "commit": one["commit"],
             "result": one["result"], "unsynced": bool(one.get("unsynced"))}
            for key, one in fetched("d\t", "deploys")
        ],
        "events": tx.tail().seq,
        "cut": cut,
    }  # fmt: skip


def _agent(tx: Transaction, call: Call, agent: Agent) -> dict[str, Any]:
    role = roles.of(call, agent, who=agent["agent"])[0]
    is_person = agent.get("kind") == PERSON
    rank = roles.rank_of(call, role) if role else PERSON if is_person else AGENT
    shown = {**presence.shown(tx, call, agent), "rank": rank, "seen_ago": max(0, tx.now - agent["seen"]) / 1000}
    if agent.get("files"):
        shown["files"] = agent["files"]
    return shown


def _claim(tx: Transaction, claim: Claim, gone: set[str]) -> dict[str, Any]:
    held = (tx.now - claim["since"]) / 1000
    return {**views.held(tx, claim), "held": held, "gone": claim["claim"] in gone}


def _task(stored: Record) -> dict[str, Any]:
    task = with_defaults(stored)
    return {"task": task["task"], "title": task["title"], "failures": task["failures"], "losses": task["losses"]}


def _failed(tx: Transaction, tasks: list[Record]) -> list[dict[str, Any]]:
    """The tasks that failed for good, each with some of the open tasks that come after it."""
    names = [task["task"] for task in tasks[:MAX_FAILED]]
    users: dict[str, list[str]] = {name: [] for name in names}
    for start in range(0, len(names), RANGES):
        ranges = [dependent_range(name) for name in names[start : start + RANGES]]
        for key, _ in tx.fetch(ranges, MOST).rows:
            users[task_of(key)].append(end_of(key))
    wanted = list(dict.fromkeys(user for some in users.values() for user in some[:MAX_USERS]))
    after = get_tasks(tx, wanted) if wanted else {}
    open_ = {name for name, one in after.items() if one is not None and one["state"] not in lifecycle.FINAL_STATES}
    return [{"task": name, "blocked": [user for user in some if user in open_]} for name, some in users.items()]


def _test(tx: Transaction) -> dict[str, Any] | None:
    found = trials.last(tx)
    if found is None:
        return None
    return {**{key: one for key, one in found.items() if key != "at"}, "at": iso(tx, found["at"]),
            "ago": max(0, tx.now - found["at"]) / 1000}  # fmt: skip


def _unsettled(tx: Transaction, rows: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """The paths that were changed under their holder, and are not settled, with the changes."""
    wanted = [(key, one) for key, one in rows if one["until"] > tx.now]
    ids = list(dict.fromkeys(change for _, one in wanted for change in one["ids"]))[:MOST]
    found = tx.get_many([f"v\t{change}" for change in ids])
    return [
        {"id": one["violation"], "path": one["path"], "tree": one["tree"], "holder": one["holder"],
         "agent": one["by"], "how": one["how"], "kept": bool(one["blob"]), "grade": one.get("grade", ""),
         "suspects": one["suspects"]}
        for one in found.values() if one is not None
    ]  # fmt: skip


READ = Operation(
    "oversight read",
    _read,
    "Read what the audit of a workspace looks at.",
    sent_by=ANYWHERE,
    wants=("rules",),
    writes=False,
)

INTERNAL = (READ,)
