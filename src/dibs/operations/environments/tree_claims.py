"""What a working tree has to run next to others: units of pools, for the variables of [env.vars].

The holder is the tree itself: no agent's end, no process's death and no new session ends its claims.

- success: each variable has its units; the same ones as before, as long as the config asks for as many of that pool.
  New variables get theirs in one claim, all or none. Units that the config no longer asks for, or that their pool no
  longer has, are given back first.
- block: of a range of ports, several units of one variable follow one another; of any other pool they are the first
  free ones.
- refusal (`held`): not enough units are free, or not that many in a row; what the tree has stays and is renewed.
- retry: the same again; it costs no event unless an eighth of the time is over.
- expiry: not used (asked for) during `idle`, it expires like any claim. A tree that was removed loses it at once
  (guards/removed_trees.py).
- race: the units are chosen in the transaction that grants them; earlier waiters for a pool come first.
- death: units of holders whose process is dead count as free, once the free ones do not suffice.
- from afar: a tree is of the credential that names it; another one's is never touched. Any agent at work there, and any
  person, may take and give back for it.
"""

from __future__ import annotations

from dibs.errors import Held, Invalid, NotFound
from dibs.operations.claims import endings, pooled, resources, views
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import iso
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.core.policy import HOUR, MAX_DURATION_MS
from dibs.operations.environments import records
from dibs.operations.environments.vacancies import Vacancies
from dibs.operations.pools.shapes import shape_of, size_of, units_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypedDict

    from dibs.operations.claims.records import Claim, Terms
    from dibs.operations.core.call import Call
    from dibs.operations.core.policy import EnvVariable
    from dibs.operations.environments.requests import EnvListRequest, EnvReleaseRequest, EnvTakeRequest
    from dibs.operations.pools.shapes import Shape
    from dibs.stores.seam import Transaction

    Wanted = dict[str, dict[str, int]]  # variable → pool → units
    Units = dict[str, dict[str, list[str]]]

    class VariableUnits(TypedDict):
        """The units of one pool that a variable of a tree has."""

        variable: str
        pool: str
        units: list[str]
        token: int

    class EnvAnswer(TypedDict):
        """Of `env-take`: what a working tree has now."""

        holder: str
        tree: str
        variables: list[EnvVariable]  # as the config at the store has them
        units: list[VariableUnits]
        new: list[str]  # variables that got units just now
        expires_at: str  # if nobody uses the tree until then; "" where it has nothing

    class EnvReleaseAnswer(TypedDict):
        """Of `env-release`."""

        holder: str
        released: list[str]

    class TreeView(TypedDict):
        """What one tree has."""

        holder: str
        tree: str
        units: list[VariableUnits]
        since: str
        expires_at: str

    class EnvListAnswer(TypedDict):
        """Of `env-list`."""

        trees: list[TreeView]


MAX_BLOCKERS_SHOWN = 16  # in a refusal; more are counted
MAX_NAME = 300  # letters of a ledger's name
NOT_SET_UP = (
    "[env.vars] of .dibs/config.toml names no variables: a working tree has nothing of its own. `dibs help machine`"
)


# --- take


def _take(tx: Transaction, call: Call, request: EnvTakeRequest) -> EnvAnswer | Held:
    """Give a working tree the units of its variables, and renew what it has."""
    holder, env = records.id_of_tree(request["name"], call.place), call.policy.env
    if not env["vars"]:
        raise NotFound(NOT_SET_UP)
    wanted = _wanted(call, env["vars"], call.here or request["machine"])
    kept = _keep(tx, call, holder, wanted, request["tree"])
    missing: Wanted = {}
    for name, pools in wanted.items():
        for pool, count in pools.items():
            if pool not in kept.get(name, {}):
                missing.setdefault(name, {})[pool] = count
    if missing:
        refusal = _grant(tx, call, holder, missing, request)
        if refusal is not None:
            return refusal
    claims = records.claims_of(tx, holder)
    return {
        "holder": holder, "tree": request["tree"], "variables": env["vars"], "units": _shown(claims),
        "new": sorted(missing), "expires_at": iso(tx, min(claim["until"] for claim in claims)) if claims else "",
    }  # fmt: skip


def _wanted(call: Call, variables: Iterable[EnvVariable], machine: str) -> Wanted:
    """The units that the variables refer to; of a pool of each machine, this machine's."""
    found: Wanted = {}
    for variable in variables:
        for part in variable["parts"]:
            if part["kind"] == "pool":
                ((_, full),) = pooled.on_machine(call, [["name", f"{resources.POOL}{part['what']}"]], machine)
                pools, pool = found.setdefault(variable["name"], {}), full.removeprefix(resources.POOL)
                pools[pool] = max(part["count"], pools.get(pool, 0))
    return found


def _keep(tx: Transaction, call: Call, holder: str, wanted: Wanted, tree: str) -> Units:
    """What the tree has and the config still asks for, renewed; the rest is given back."""
    kept: Units = {}
    for claim in records.claims_of(tx, holder):
        left: Units = {}
        dropped: list[tuple[str, str]] = []
        for name, pools in claim["env"]["vars"].items():
            for pool, units in pools.items():
                fits = wanted.get(name, {}).get(pool) == len(units) and pool not in kept.get(name, {})
                if fits and set(units) <= set(units_of(_shape(call, pool))):
                    left.setdefault(name, {})[pool] = kept.setdefault(name, {})[pool] = units
                else:
                    dropped += [(pool, unit) for unit in units]
        claim["env"] = {"tree": tree, "vars": left}
        if dropped:
            _give_back(tx, claim, dropped)
        if left:
            _renew(tx, claim, call.policy.env["idle"])
    return kept


def _give_back(tx: Transaction, claim: Claim, units: Iterable[tuple[str, str]]) -> None:
    released = [_unit(pool, unit) for pool, unit in units]
    endings.give_back(tx, claim, released, "released")
    endings.serve(tx, released)


def _unit(pool: str, unit: str) -> list[str]:
    return ["name", f"{resources.POOL}{pool}:{unit}"]


def _renew(tx: Transaction, claim: Claim, idle: int) -> None:
    """A new deadline, once an eighth of the time is over, or after `idle` was changed."""
    until = tx.now + idle
    if claim["ttl"] == idle and until - claim["until"] < min(idle // 8, HOUR):
        claim_records.put(tx, claim)
        return
    claim["ttl"], claim["until"], claim["renewed"] = idle, until, tx.now
    claim["life"] = tx.now + MAX_DURATION_MS
    claim_records.put(tx, claim)
    tx.append("claim.renewed", claim["agent"], claim["claim"], {"until": until})


# --- new units


def _grant(tx: Transaction, call: Call, holder: str, missing: Wanted, request: EnvTakeRequest) -> Held | None:
    """Take what is missing, all of it in one claim or nothing."""
    chosen: Units = {}
    for pool in dict.fromkeys(pool for pools in missing.values() for pool in pools):
        counts = {name: pools[pool] for name, pools in missing.items() if pool in pools}
        found = _choose(tx, call, pool, counts, request["unusable"])
        if isinstance(found, Held):
            tx.append("claim.refused", holder, f"{resources.POOL}{pool}", {
                "code": found.code, "resources": [["name", f"{resources.POOL}{pool}"]], "mode": resources.WRITE,
                "tree": "", "blockers": found.blockers,
            })  # fmt: skip
            return found
        for name, units in found.items():
            chosen.setdefault(name, {})[pool] = units
    _write(tx, call, holder, chosen, request["tree"])
    return None


def _write(tx: Transaction, call: Call, holder: str, chosen: Units, tree: str) -> None:
    """One claim on all of these units."""
    idle = call.policy.env["idle"]
    terms: Terms = {
        "agent": holder, "mode": resources.WRITE, "tree": "", "task": "", "expect": 0, "ttl": idle, "fixed": True,
        "resources": [
            _unit(pool, unit) for pools in chosen.values() for pool, units in pools.items() for unit in units
        ],
        "reason": ", ".join(chosen), "by": endings.BY_TREE, "tied": False, "life": MAX_DURATION_MS,
    }  # fmt: skip
    claim = claim_records.new_claim(tx, terms, until=tx.now + idle, pending=False, alert_at=0, base={}, ends="")
    claim["env"] = {"tree": tree, "vars": chosen}
    sizes = {f"{resources.POOL}{pool}": size_of(_shape(call, pool)) for pools in chosen.values() for pool in pools}
    endings.grant(tx, claim, "request", sizes=sizes)


def _choose(
    tx: Transaction, call: Call, pool: str, counts: dict[str, int], unusable: Sequence[str]
) -> dict[str, list[str]] | Held:
    """Units of one pool for some variables; the refusal if there are not enough."""
    shape, name = _shape(call, pool), f"{resources.POOL}{pool}"
    in_a_row = "range" in shape
    in_use = unusable if in_a_row else ()
    there = Vacancies(tx, name, shape, in_use)
    if there.over:
        endings.clear(tx, call, there.over, ())
        there = Vacancies(tx, name, shape, in_use)
    found = _assigned(there.free, counts, in_a_row=in_a_row)
    dead = endings.gone(tx, call, there.holders) if found is None else ()
    if dead:
        endings.clear(tx, call, (), dead)
        there = Vacancies(tx, name, shape, in_use)
        found = _assigned(there.free, counts, in_a_row=in_a_row)
    return _shortage(tx, shape, name, counts, there, in_use) if found is None else found


def _shape(call: Call, pool: str) -> Shape:
    """Which units a pool of the config has."""
    known = call.policy.pools["named"].get(pool.partition("@")[0])
    return shape_of(known) if known is not None else {}


def _assigned(free: Sequence[str], counts: dict[str, int], *, in_a_row: bool) -> dict[str, list[str]] | None:
    """The free units for each variable, in order, or else the largest blocks first; None if they do not suffice."""
    for names in (list(counts), sorted(counts, key=lambda name: -counts[name])):
        left, found = [*free], {}
        for name in names:
            found[name] = _row(left, counts[name]) if in_a_row else left[: counts[name]]
            left = [unit for unit in left if unit not in found[name]]
        if all(len(found[name]) == count for name, count in counts.items()):
            return found
    return None


def _row(free: Sequence[str], count: int) -> list[str]:
    """The first ports that follow one another; [] if there are not that many."""
    row: list[str] = []
    for unit in free:
        row = [*row, unit] if row and int(unit) == int(row[-1]) + 1 else [unit]
        if len(row) == count:
            return row
    return []


def _shortage(
    tx: Transaction, shape: Shape, name: str, counts: dict[str, int], there: Vacancies, in_use: Sequence[str]
) -> Held:
    """The refusal: how many there are, how many of them are free, which agents and trees have the others."""
    size, asked = size_of(shape), sum(counts.values())
    text = f"{name} has {size} {'unit' if size == 1 else 'units'}, {len(there.free) or 'none'} free"
    if len(there.free) >= asked:
        text += f", but not {max(counts.values())} in a row"
    others = set(in_use) & set(units_of(shape))
    if others:
        text += f" (something on this machine listens on {len(others)})"
    text += (
        f"; this working tree needs {asked} for {', '.join(counts)}. `dibs env --list` shows which trees have them, "
        "`dibs env --release` in one of them gives them back."
    )
    shown = [views.blocker(tx, claim, [["name", name]]) for claim in there.holders[:MAX_BLOCKERS_SHOWN]]
    more = max(0, len(there.holders) - MAX_BLOCKERS_SHOWN)
    return Held(text, blockers=shown, more=more, wanted=[name], free={name: [len(there.free), size]}, units=asked)


# --- release, list


def _release(tx: Transaction, call: Call, request: EnvReleaseRequest) -> EnvReleaseAnswer:
    """Give back all that a working tree has."""
    holder = records.id_of_tree(request["name"], call.place)
    return {"holder": holder, "released": end_all(tx, holder, "released")}


def end_all(tx: Transaction, holder: str, why: str) -> list[str]:
    """End all claims of a tree in order: whoever waits for a unit gets it."""
    freed: list[Sequence[str]] = []
    for claim in records.claims_of(tx, holder):
        freed += claim["resources"]
        if why == "released":
            endings.give_back(tx, claim, claim["resources"], "released")
        else:
            endings.end(tx, claim, why)
    endings.serve(tx, freed)
    return resources.shown(freed)


def _list(tx: Transaction, call: Call, request: EnvListRequest) -> EnvListAnswer:
    """What all working trees have, or one of them."""
    trees: dict[str, list[Claim]] = {}
    name = request["name"]
    for claim in records.claims_of(tx, records.id_of_tree(name, call.place)) if name else records.all_claims(tx):
        trees.setdefault(claim["agent"], []).append(claim)
    return {
        "trees": [
            {
                "holder": holder, "tree": claims[-1]["env"]["tree"], "units": _shown(claims),
                "since": iso(tx, min(claim["since"] for claim in claims)),
                "expires_at": iso(tx, min(claim["until"] for claim in claims)),
            }
            for holder, claims in trees.items()
        ]
    }  # fmt: skip


def _shown(claims: Iterable[Claim]) -> list[VariableUnits]:
    return [
        {"variable": name, "pool": pool.partition("@")[0], "units": units, "token": claim["token"]}
        for claim in claims
        for name, pools in claim["env"]["vars"].items()
        for pool, units in pools.items()
    ]


NAME = Field("name", "text", "the name of its ledger, or another that no other tree has", required=True,
             longest=MAX_NAME)  # fmt: skip
TAKE = Operation(
    "env-take", _take, "Take what a working tree needs, the same units again.", sent_by=ANYWHERE,
    fields=(
        Field("tree", "tree", "the working tree", required=True),
        NAME,
        Field("machine", "channel", "the caller's machine", default=""),
        Field("unusable", "words", "ports that something on its machine listens on", default=()),
    ),
    errors=(Held, NotFound, Invalid), rank="worker", idempotent=True,
)  # fmt: skip
RELEASE = Operation(
    "env-release", _release, "Give back what a working tree has.", sent_by=ANYWHERE, fields=(NAME,),
    rank="worker", idempotent=True, destructive=True,
)  # fmt: skip
LIST = Operation(
    "env-list", _list, "What do the working trees have?", sent_by=ANYWHERE, writes=False,
    fields=(Field("name", "text", "only the tree with this name", default="", longest=MAX_NAME),),
)  # fmt: skip

INTERNAL = (TAKE, RELEASE, LIST)
