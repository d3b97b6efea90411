"""`status`: holders, waiters and agents. It only reads, and waits for nobody, not even for a stopped writer."""

from __future__ import annotations

from dibs.operations.agents import presence
from dibs.operations.alerts import views as alert_views
from dibs.operations.claims import endings, lapses, pooled, records, resources, views
from dibs.operations.core import paging
from dibs.operations.core.call import iso
from dibs.operations.core.declare import PAGED, Field, Operation
from dibs.operations.pools.shapes import size_of
from dibs.operations.tasks import holders, lifecycle
from dibs.operations.tasks.records import in_state, with_defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NotRequired, TypedDict

    from dibs.operations.alerts.records import Alert, Facts
    from dibs.operations.claims.answers import (
        PoolView,
        PoolWaiterView,
        StatusAnswer,
        Undelivered,
        UnitView,
        WaitedForView,
        WaiterView,
    )
    from dibs.operations.claims.records import Claim, Stored, Waiter
    from dibs.operations.claims.requests import StatusRequest
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Json, Transaction

    class Attention(TypedDict):
        """The part of the answer that is seldom there."""

        undelivered: NotRequired[list[Undelivered]]
        warnings: NotRequired[list[str]]  # the caller's machine adds them

    class InPools(TypedDict):
        """The part of the answer about pools."""

        pools: NotRequired[list[PoolView]]


PARTS = ("claims", "waiting", "agents", "tasks")
MAX_HOLDERS = 4  # shown for each waiter
MAX_ALERTS = 20  # the most severe; `alerts` has all


def _status(tx: Transaction, call: Call, request: StatusRequest) -> StatusAnswer:
    """What is live now. An expired claim, or one of a dead process, has no holder and is left out.

    `limit` applies to each of the four parts; one cursor continues all of them.
    """
    count = paging.check_limit(request["limit"])
    from_ = paging.several(request["after"], PARTS)

    def page(name: str, read: Callable[[str], paging.Page]) -> paging.Page | None:
        cursor = from_[name]
        return None if cursor is None else read(cursor)

    def live(rows: list[tuple[str, Claim]]) -> list[tuple[str, Claim]]:
        held = {claim["claim"] for claim in lapses.held(tx, call, [row[1] for row in rows])}
        return [row for row in rows if row[1]["claim"] in held]

    def present(rows: list[tuple[str, Waiter]]) -> list[tuple[str, Waiter]]:
        return [row for row in rows if row[1]["until"] > tx.now]

    def at_work(rows: list[tuple[str, Json]]) -> list[tuple[str, Task]]:
        tasks = [(place, with_defaults(task)) for place, task in rows]
        return [row for row in tasks if holders.live_claim(tx, row[1]) is not None]

    if request["resources"]:
        overlapping = _on(tx, request["resources"])
        claims = lapses.held(tx, call, [record for record in overlapping if records.is_claim(record)])
        waiters = [record for record in overlapping if records.is_waiter(record) and record["until"] > tx.now]
        parts = {
            "claims": page("claims", lambda at: paging.listed(_by_id(claims), records.id_of, count, at)),
            "waiting": page("waiting", lambda at: paging.listed(_by_id(waiters), records.id_of, count, at)),
        }
    else:
        parts = {
            "claims": page(
                "claims", lambda at: paging.read(tx, [(1, records.index_prefix(records.CLAIM), live)], count, at)
            ),
            "waiting": page(
                "waiting", lambda at: paging.read(tx, [(1, records.index_prefix(records.WAITER), present)], count, at)
            ),
        }
    place = in_state(lifecycle.EXECUTING)
    parts["agents"] = page("agents", lambda at: presence.listed(tx, call, count, at))
    parts["tasks"] = page("tasks", lambda at: paging.read(tx, [(1, place, at_work)], count, at))
    found = {name: [] if one is None else one.records for name, one in parts.items()}
    alerts = [] if request["resources"] or request["after"] else alert_views.live(tx)
    return {
        "claims": [views.held(tx, claim) for claim in sorted(found["claims"], key=lambda claim: claim["token"])],
        "waiting": [_waits(tx, one) for one in sorted(found["waiting"], key=lambda waiter: waiter["ticket"])],
        "agents": presence.with_load(tx, call, found["agents"]),
        "tasks": [lifecycle.shown(tx, task) for task in found["tasks"]],
        "alerts": [alert_views.short(tx, alert) for alert in alerts[:MAX_ALERTS]],
        "alert_groups": alert_views.grouped(tx, alerts),
        "alert_count": len(alerts),
        **_pools(tx, call, request),
        **_undelivered(alerts),
        **paging.together(parts),
    }


def _pools(tx: Transaction, call: Call, request: StatusRequest) -> InPools:
    """The pools of the config, or those among them that are named; nothing where there is none."""
    named = {resources.pool_of(resource) for resource in request["resources"]}
    wanted = [name for name in pooled.names_of(call) if not named or name in named]
    if request["after"] or not wanted or (request["resources"] and not any(named)):
        return {}
    return {"pools": [_pool(tx, call, name) for name in wanted]}


def _pool(tx: Transaction, call: Call, name: str) -> PoolView:
    """One pool: who has which unit, and who waits."""
    stored = list(records.within_ranges(tx, records.ranges_of([["name", name]])))
    claims = lapses.held(tx, call, [record for record in stored if records.is_claim(record)])
    waiters = [record for record in stored if records.is_waiter(record) and record["until"] > tx.now]
    taken: list[UnitView] = [
        {"unit": unit, "agent": claim["agent"], "since": iso(tx, claim["since"]), "until": iso(tx, claim["until"])}
        for claim in sorted(claims, key=lambda claim: claim["token"])
        for unit in pooled.named(claim["resources"], name)
    ]
    waiting: list[PoolWaiterView] = [
        {
            "agent": waiter["agent"],
            "units": pooled.count_of(waiter, name),
            "since": iso(tx, waiter["since"]),
        }
        for waiter in sorted(waiters, key=lambda waiter: waiter["ticket"])
    ]
    size = size_of(pooled.configured(call, name))
    held = len({unit["unit"] for unit in taken})
    return {"name": name, "size": size, "free": max(0, size - held), "taken": taken, "waiting": waiting}


def _undelivered(alerts: Sequence[Alert[Facts]]) -> Attention:
    """The alerts whose last delivery failed, and why; nothing where there is none."""
    shown: Json = [
        {"id": alert["alert"], "kind": alert["kind"], **alert_views.delivery_of(alert["delivery"])}
        for alert in alerts
        if alert["delivery"] and alert["delivery"]["why"]
    ]
    return {"undelivered": shown[:MAX_ALERTS]} if shown else {}


def _on(tx: Transaction, wanted: Sequence[Resource]) -> list[Stored]:
    return list(records.overlapping(tx, resources.normal(wanted), ""))


def _by_id(stored: Sequence[Stored]) -> list[Stored]:
    return sorted(stored, key=records.id_of)


def _waits(tx: Transaction, waiter: Waiter) -> WaiterView:
    shown: WaiterView = {
        "agent": waiter["agent"],
        "resources": resources.shown(waiter["resources"]),
        "mode": waiter["mode"],
        "since": iso(tx, waiter["since"]),
        "until": iso(tx, waiter["deadline"]),
        "reason": waiter["reason"],
        "holders": [_holds(tx, claim, waiter) for claim in _in_the_way(tx, waiter)],
    }
    if "units" in waiter:
        shown["units"] = waiter["units"]
    return shown


def _in_the_way(tx: Transaction, waiter: Waiter) -> list[Claim]:
    """The first live claims that a waiter waits for."""
    claims = []
    for claim in records.overlapping_claims(tx, waiter["resources"], waiter["tree"]):
        if claim["until"] > tx.now and endings.blocks_request(claim, waiter):
            claims.append(claim)
            if len(claims) == MAX_HOLDERS:
                break
    return claims


def _holds(tx: Transaction, claim: Claim, waiter: Waiter) -> WaitedForView:
    overlap = resources.any_overlap(claim["resources"], waiter["resources"])
    return {
        "agent": claim["agent"],
        "claim": claim["claim"],
        "resource": resources.show(overlap if overlap is not None else claim["resources"][0]),
        "since": iso(tx, claim["since"]),
        "expires_at": iso(tx, claim["until"]),
    }


OPERATIONS = (
    Operation(
        "status",
        _status,
        "Show which agent holds what, and which agents wait.",
        group="claims",
        fields=(
            Field(
                "resources",
                "resources",
                "only claims that overlap these",
                positional=True,
                default=(),
                metavar="RESOURCE",
            ),
            *PAGED,
        ),
        answer="StatusAnswer",
        wants=("rules",),
        afterwards="warnings",
        writes=False,
    ),
)
