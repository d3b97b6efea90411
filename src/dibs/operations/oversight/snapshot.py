"""One snapshot of what `check` and `map` look at: agents, claims, waits, subscriptions, alerts, tasks, deploys.

It only reads, each part up to a limit; `cut` names the parts that have more.
"""

from __future__ import annotations

from dibs.operations.agents import presence, roles
from dibs.operations.alerts import delivery
from dibs.operations.alerts import views as alert_views
from dibs.operations.claims import endings, resources, views
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import iso
from dibs.operations.core.declare import AGENT, ANYWHERE, PERSON, Operation
from dibs.operations.guards.records import deploy_key, get_kept_of, target_of, unsettled_prefix
from dibs.operations.messages.records import SUBSCRIBER_KEYS, subscription_of
from dibs.operations.oversight import settlements
from dibs.operations.oversight.records import get_trial
from dibs.operations.runs.records import active_runs
from dibs.operations.tasks import lifecycle
from dibs.operations.tasks.records import dependent_range, end_of, get_tasks, in_state, task_of, with_defaults
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.agents.answers import AgentView
    from dibs.operations.agents.records import Agent
    from dibs.operations.alerts.answers import AlertView, Deliveries
    from dibs.operations.claims.answers import ClaimView
    from dibs.operations.claims.records import Claim, Waiter
    from dibs.operations.core.call import Call
    from dibs.operations.oversight.answers import SettledView
    from dibs.stores.seam import Json, Transaction

    class AgentFacts(AgentView):
        """An agent, its rank, and when it was last seen."""

        rank: str
        seen_ago: float  # seconds
        files: dict[str, str]  # shared texts that it was shown at boot: name → digest

    class ClaimFacts(ClaimView):
        """A claim, and its age."""

        held: float  # seconds
        gone: bool  # its process is

    class WaitFacts(TypedDict):
        """An agent that waits for a claim."""

        agent: str
        resources: list[str]
        since: str

    class SubscriptionFacts(TypedDict):
        """What an agent subscribes to."""

        what: str
        agent: str

    class TrialFacts(TypedDict):
        """The last test with many agents."""

        what: str
        agents: int
        edits: int
        lost: int
        clean: bool
        seconds: float  # that it took
        version: str
        store: str
        by: str
        at: str
        ago: float  # seconds

    class RunFacts(TypedDict):
        """An active run."""

        run: str
        coordinator: str

    class TaskFacts(TypedDict):
        """A quarantined task."""

        task: str
        title: str
        failures: int
        losses: int

    class FailedTask(TypedDict):
        """A task that failed for good."""

        task: str
        blocked: list[str]  # open tasks that come after it

    class ChangeFacts(TypedDict):
        """A change to a file under its holder, that is not settled."""

        id: str
        path: str
        tree: str
        holder: str
        agent: str
        how: str
        kept: bool  # what was overwritten is
        grade: str
        suspects: list[str]

    class DeployFacts(TypedDict):
        """The last deploy to a target."""

        target: str
        at: str
        agent: str
        commit: str
        result: str
        unsynced: bool

    class Snapshot(TypedDict):
        """What the audit of a workspace looks at."""

        agents: list[AgentFacts]
        claims: list[ClaimFacts]
        waiting: list[WaitFacts]
        subscriptions: list[SubscriptionFacts]
        alerts: list[AlertView]
        deliveries: Deliveries
        settled: dict[str, SettledView]
        test: TrialFacts | None
        runs: list[RunFacts]
        quarantined: list[TaskFacts]
        failed: list[FailedTask]
        unsettled: list[ChangeFacts]
        deploys: list[DeployFacts]
        events: int  # the number of the last one
        cut: list[str]  # parts that have more


MOST = 1_000  # agents, claims, waiters, quarantined tasks, unsettled paths, targets
MAX_SUBSCRIPTIONS = 5_000
MAX_RUNS = 100
MAX_FAILED, MAX_USERS = 200, 20  # failed tasks that are looked at, and tasks after one of them
RANGES = 50  # asked for at once


def _read(tx: Transaction, call: Call) -> Snapshot:
    """Everything, in one snapshot."""
    cut: list[str] = []

    def scanned(index: str, name: str) -> list[Json]:
        page = tx.scan(1, index, MOST)
        if page.truncated:
            cut.append(name)
        return [record for _, _, record in page.rows]

    def fetched(prefix: str, name: str, limit: int = MOST) -> list[tuple[str, Json]]:
        page = tx.fetch([prefix_range(prefix)], limit)
        if page.truncated:
            cut.append(name)
        return page.rows

    page = presence.listed(tx, call, MOST, "")
    if page.more:
        cut.append("agents")
    stored: list[Claim] = scanned(claim_records.index_prefix(claim_records.CLAIM), "claims")
    kept = endings.kept(tx, call, stored)
    claims = [claim for claim in stored if claim["until"] > tx.now or claim in kept]
    gone = {claim["claim"] for claim in endings.gone(tx, call, claims)}
    places: list[Waiter] = scanned(claim_records.index_prefix(claim_records.WAITER), "waiting")
    waiting = [place for place in places if place["until"] > tx.now]
    subscribers = [subscription_of(key) for key, _ in fetched(SUBSCRIBER_KEYS, "subscriptions", MAX_SUBSCRIPTIONS)]
    return {
        "agents": [_agent(tx, call, agent) for agent in page.records],
        "claims": [_claim(tx, claim, gone) for claim in claims],
        "waiting": [
            {"agent": place["agent"], "resources": resources.shown(place["resources"]),
             "since": iso(tx, place["since"])}
            for place in waiting
        ],
        "subscriptions": [{"what": what, "agent": agent} for what, agent in subscribers],
        "alerts": [alert_views.shown(tx, alert) for alert in alert_views.live(tx)],
        "deliveries": delivery.waiting(tx),
        "settled": settlements.settled(tx),
        "test": _test(tx),
        "runs": [
            {"run": run["run"], "coordinator": run["coordinator"]}
            for run in active_runs(tx, MAX_RUNS)
        ],
        "quarantined": [_task(task) for task in scanned(in_state(lifecycle.QUARANTINED), "tasks")],
        "failed": _failed(tx, scanned(in_state(lifecycle.FAILED), "tasks")),
        "unsettled": _unsettled(tx, fetched(unsettled_prefix(), "violations")),
        "deploys": [
            {"target": target_of(key), "at": iso(tx, deploy["at"]), "agent": deploy["agent"],
             "commit": deploy["commit"], "result": deploy["result"], "unsynced": bool(deploy.get("unsynced"))}
            for key, deploy in fetched(deploy_key(""), "deploys")
        ],
        "events": tx.tail().seq,
        "cut": cut,
    }  # fmt: skip


def _agent(tx: Transaction, call: Call, agent: Agent) -> AgentFacts:
    role = roles.of(call, agent, who=agent["agent"])[0]
    is_person = agent.get("kind") == PERSON
    rank = roles.rank_of(call, role) if role else PERSON if is_person else AGENT
    seen_ago = max(0, tx.now - agent["seen"]) / 1000
    return {
        **presence.shown(tx, call, agent), "rank": rank, "seen_ago": seen_ago, "files": agent.get("files", {})
    }  # fmt: skip


def _claim(tx: Transaction, claim: Claim, gone: set[str]) -> ClaimFacts:
    held = (tx.now - claim["since"]) / 1000
    return {**views.held(tx, claim), "held": held, "gone": claim["claim"] in gone}


def _task(stored: Json) -> TaskFacts:
    task = with_defaults(stored)
    return {"task": task["task"], "title": task["title"], "failures": task["failures"], "losses": task["losses"]}


def _failed(tx: Transaction, tasks: list[Json]) -> list[FailedTask]:
    """The tasks that failed for good, each with some of the open tasks that come after it."""
    names = [task["task"] for task in tasks[:MAX_FAILED]]
    users: dict[str, list[str]] = {name: [] for name in names}
    for start in range(0, len(names), RANGES):
        ranges = sorted([dependent_range(name) for name in names[start : start + RANGES]])  # as an engine reads them
        for key, _ in tx.fetch(ranges, MOST).rows:
            users[task_of(key)].append(end_of(key))
    wanted = list(dict.fromkeys(user for some in users.values() for user in some[:MAX_USERS]))
    after = get_tasks(tx, wanted) if wanted else {}
    open_ = {name for name, task in after.items() if task is not None and task["state"] not in lifecycle.FINAL_STATES}
    return [{"task": name, "blocked": [user for user in some if user in open_]} for name, some in users.items()]


def _test(tx: Transaction) -> TrialFacts | None:
    trial = get_trial(tx)
    if trial is None:
        return None
    facts: Json = {**trial, "at": iso(tx, trial["at"]), "ago": max(0, tx.now - trial["at"]) / 1000}
    typed: TrialFacts = facts
    return typed


def _unsettled(tx: Transaction, rows: list[tuple[str, Json]]) -> list[ChangeFacts]:
    """The paths that were changed under their holder, and are not settled, with the changes."""
    ids = list(dict.fromkeys(change for _, path in rows if path["until"] > tx.now for change in path["ids"]))[:MOST]
    changes = get_kept_of(tx, ids)
    return [
        {"id": change["violation"], "path": change["path"], "tree": change["tree"], "holder": change["holder"],
         "agent": change["by"], "how": change["how"], "kept": bool(change["blob"]), "grade": change.get("grade", ""),
         "suspects": change["suspects"]}
        for change in changes.values() if change is not None
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
