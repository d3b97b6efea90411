"""Units of pools for the length of a command (`[[pools.use]]`). Internal: run before a shell call, and after it.

Each command has units of its own: they are given to it before it runs, all that it needs or none, and end with it. The
order, the waiting and the deadlocks are those of every claim (operations/claims). A command of an agent that holds
enough units by hand, which no other command of it uses, runs under those; they do not end with it.

- success: the claims that end with the command, and those that it runs under.
- refusal: names the holders; after the pool's time it passes instead, where the config says so (`on_timeout`).
- end: the call's own end. No client tells of every end: an interrupt, a permission that was denied. So a machine
  may report that nothing runs below a holder's client which began after the grant (`idle`); then the units end.
- crash: a unit is tied to the client's process, as every claim of a guard. A hook that outlives its client gets none.
"""

from __future__ import annotations

from dibs.errors import DibsError, Held
from dibs.operations.agents.records import get_agent
from dibs.operations.claims import endings, grants, pooled, records, resources
from dibs.operations.core.call import Undecided
from dibs.operations.core.declare import ANYWHERE, NEAR, WAITING, Field, Operation
from dibs.operations.core.policy import MAX_HOOK_WAIT_MS
from dibs.operations.guards.edit_guard import SHELL, is_orphan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import TypedDict

    from dibs.operations.claims.answers import ClaimAnswer
    from dibs.operations.claims.records import Claim
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call, Process
    from dibs.operations.guards.requests import EndIdleRequest, UnitsInUseRequest, UnitsRequest
    from dibs.stores.seam import Transaction

    class UnitsAnswer(TypedDict):
        """Of `units`."""

        claims: list[ClaimAnswer]  # that end with the command
        under: list[str]  # made by hand; they do not

    class UnitInUse(TypedDict):
        """A claim on units for a command, as a machine needs it to see whether the command runs."""

        claim: str
        agent: str
        age: int  # ms since the grant
        process: Process | None  # the holder's client

    class UnitsInUseAnswer(TypedDict):
        """Of `units-in-use`."""

        claims: list[UnitInUse]


GONE = "the client that this hook asks for is gone: it runs nothing any more."
# From the end of its hook, a client takes a moment to start the command; a machine with many suites takes longer.
START_MS = 10_000
# A client asks its person after the hook. While it does, nothing runs; who goes to lunch then does not keep the unit.
ASKS_MS = 120_000


def _units(tx: Transaction, call: Call, request: UnitsRequest) -> UnitsAnswer | Undecided | DibsError:
    """The units that a command needs: all of them or none. A pool is named once for each unit of it."""
    if is_orphan(tx, call):
        place = records.get_waiter(tx, call.agent, request["waiter"]) if request["waiter"] else None
        if place is not None:
            endings.drop_waiter(tx, place, "gave_up")
            endings.serve(tx, place["resources"])
        return Held(GONE)
    under: list[str] = []
    wanted: dict[int, list[Resource]] = {}
    for name in dict.fromkeys(resource[1] for resource in request["resources"]):
        pool, count = ("name", name, ""), sum(resource[1] == name for resource in request["resources"])
        own = _by_hand(tx, call, _here(call, [pool], request["machine"])[0], count, [*request["busy"], *under])
        under += own
        if not own:
            wanted.setdefault(count, []).append(pool)
    taken: list[ClaimAnswer] = []
    placed = {count: _is_place(tx, call, request, pools) for count, pools in wanted.items()}
    for count, pools in sorted(wanted.items(), key=lambda one: not placed[one[0]]):  # first what it waits for
        answer = _claim(tx, call, request, pools, count, request["waiter"] if placed[count] else "")
        if isinstance(answer, (DibsError, Undecided)):
            _give_back(tx, call, [one["claim"] for one in taken])
            passes = all(pooled.configured(call, pool[1])["on_timeout"] == "pass" for pool in pools)
            return {"claims": [], "under": []} if isinstance(answer, Held) and passes else answer
        taken.append(answer)
    return {"claims": taken, "under": under}


def _claim(
    tx: Transaction, call: Call, request: UnitsRequest, pools: Sequence[Resource], count: int, waiter: str
) -> ClaimAnswer | Undecided | DibsError:
    """As many units of each of these pools, in one claim.

    It lasts as long as a claim may, because no suite renews it; an ordinary time where nobody would see its holder die.
    """
    policy = call.policy
    told = policy.patterns or any("ttl" in pooled.configured(call, one[1]) for one in pools)
    lasts = policy.max_ttl if call.from_current_process and not told else None
    asked = grants.CLAIM.request(
        resources=pools, units=count, by=SHELL, reason=request["words"], ttl=lasts, interest=True,
        wait=request["wait"], waiter=waiter, wake=request["wake"], unusable=request["unusable"],
        pressure=request["pressure"], machine=request["machine"],
    )  # fmt: skip
    return grants.claim(tx, call, asked)


def _here(call: Call, pools: Sequence[Resource], machine: str) -> list[str]:
    """The names of pools, with the caller's machine where each has its own units."""
    return [resource[1] for resource in pooled.on_machine(call, pools, call.here or machine)]


def _is_place(tx: Transaction, call: Call, request: UnitsRequest, pools: Sequence[Resource]) -> bool:
    """Is the caller's place in the queue of these pools, or was it?"""
    names, waiter = _here(call, pools, request["machine"]), request["waiter"]
    place = records.get_waiter(tx, call.agent, waiter) if waiter else None
    if place is not None:
        return set(place.get("pools", ())) == set(names)
    handed = [one for one in records.claims_of(tx, call.agent) if one["pending"] and one.get("place") == waiter]
    return any(resources.pool_of(one) == names[0] for held in handed for one in held["resources"])


def _by_hand(tx: Transaction, call: Call, pool: str, count: int, busy: Collection[str]) -> list[str]:
    """The caller's claims by hand with enough units of a pool, which no other command of it uses; [] if none."""
    found: list[str] = []
    for claim in records.claims_of(tx, call.agent):
        if claim["by"] == SHELL or claim["pending"] or claim["until"] <= tx.now or claim["claim"] in busy:
            continue
        here = [one for one in claim["resources"] if resources.pool_of(one) == pool]
        if here and count > 0:
            found.append(claim["claim"])
            count -= len(here)
    return found if count <= 0 else []


def _give_back(tx: Transaction, call: Call, claims: Sequence[str]) -> None:
    for claim in records.claims_of(tx, call.agent) if claims else ():
        if claim["claim"] in claims:
            endings.give_back(tx, claim, claim["resources"], "released")
            endings.serve(tx, claim["resources"])


# --- ends that no client tells of


def _in_use(tx: Transaction, call: Call, request: UnitsInUseRequest) -> UnitsInUseAnswer:
    """The units that commands have: in these pools, or the caller's own."""
    if request["resources"]:
        names = [["name", pool] for pool in _here(call, request["resources"], request["machine"])]
        held = [one for one in records.within_ranges(tx, records.ranges_of(names)) if records.is_claim(one)]
    else:
        held = records.claims_of(tx, call.agent)
    return {
        "claims": [
            {
                "claim": one["claim"], "agent": one["agent"], "age": tx.now - one["since"],
                "process": holder["process"] if (holder := get_agent(tx, one["agent"])) is not None else None,
            } for one in held if _is_of_command(tx, one)
        ]
    }  # fmt: skip


def _is_of_command(tx: Transaction, claim: Claim) -> bool:
    """Is it a live claim on units, for a command?"""
    live = claim["by"] == SHELL and claim["until"] > tx.now and not claim["pending"]
    return live and any(map(resources.pool_of, claim["resources"]))


def _end_idle(tx: Transaction, call: Call, request: EndIdleRequest) -> NoAnswer:
    """End the units of commands of which nothing runs, by the word of the machine that they would run on.

    `over`: the caller's own turn is over. Otherwise a command that has just been let through may not have begun, and
    one of which a person is asked may begin yet.
    """
    for agent, claim in request["idle"]:
        held = next((one for one in records.claims_of(tx, agent) if one["claim"] == claim), None)
        if held is None or not _is_of_command(tx, held) or not _is_here(tx, call, agent):
            continue
        if (request["over"] and agent == call.agent) or not _may_begin(tx, held):
            endings.give_back(tx, held, held["resources"], "released", by=call.agent if agent != call.agent else "")
            endings.serve(tx, held["resources"])
    return {}


def _is_here(tx: Transaction, call: Call, agent: str) -> bool:
    """Does the agent's client run on the caller's machine, where it can be seen?"""
    holder = get_agent(tx, agent)
    process = holder["process"] if holder is not None else None
    return process is not None and call.client is not None and process[:3] == call.client[:3]


def _may_begin(tx: Transaction, claim: Claim) -> bool:
    """May the command of these units begin yet? Its client starts it, or asks a person whether it may."""
    if tx.now - claim["since"] < START_MS:
        return True
    holder = get_agent(tx, claim["agent"])
    asked = holder.get("waits", {}).get("since", 0) if holder is not None else 0
    return bool(asked >= claim["since"] and tx.now - asked < ASKS_MS)


UNITS = Operation(
    "units", _units, "May this command have its units of pools now?", sent_by=ANYWHERE,
    fields=(
        Field("resources", "resources", "the pools, each as often as it takes units", required=True),
        Field("words", "text", "the first words of the command", default=""),
        Field("busy", "words", "claims that other commands of the caller run under", default=()),
        Field("wait", "duration", "how long it waits in line", default=0, most=MAX_HOOK_WAIT_MS),
        *[grants.CLAIM.by_name[name] for name in ("unusable", "pressure", "machine")],
        *WAITING,
    ),
    errors=(Held,), takes=True, withdraws=True, wants=("units",),
)  # fmt: skip
IN_USE = Operation(
    "units-in-use", _in_use, "Which units do commands have?", sent_by=NEAR,
    fields=(
        Field("resources", "resources", "of these pools; else my own", default=()), grants.CLAIM.by_name["machine"],
    ), writes=False,
)  # fmt: skip
END_IDLE = Operation(
    "end-idle", _end_idle, "Nothing runs of the commands that have these units.", sent_by=NEAR,
    fields=(
        Field(
            "idle", "rows", "the claims", required=True,
            items=(
                Field("agent", "text", "the holder", required=True), Field("claim", "text", "its claim", required=True)
            ),
        ),
        Field("over", "flag", "my own turn has ended", default=False),
    ),
)  # fmt: skip

INTERNAL = (UNITS, IN_USE, END_IDLE)
