"""An agent's work, and how it passes: its claims under new tokens, its task, its unfinished files, in one transaction.

What passes: claims to write or read that the agent made by hand or by editing, and the claim of its task. What belongs
to a running program does not: a watch, a command's own claim, the name of a leader or a deploy. A dead agent's claims
may have ended before: then its task is taken from the queue, if no other agent had it since, and its unfinished files
are claimed anew, if nobody holds them. Files are of the machine that they are on.
"""

from __future__ import annotations

from dibs.errors import Forbidden, Quota
from dibs.operations.agents import names, roles
from dibs.operations.claims import endings, grants, releases, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import FOLLOW_UPS, within
from dibs.operations.core.declare import RANKS, WORKER
from dibs.operations.guards.edit_guard import BY as BY_EDIT
from dibs.operations.handovers.records import get_offer
from dibs.operations.tasks import lifecycle, pulls, workforce
from dibs.operations.tasks.lifecycle import PLANNED
from dibs.operations.tasks.records import get_task, put_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.operations.agents.records import Agent
    from dibs.operations.claims.records import Claim, Loss, Terms
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.handovers.answers import LeftBehind, ToldWaiter
    from dibs.operations.handovers.records import Offer
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Transaction

PASSED = frozenset((endings.BY_HAND, endings.BY_TASK, BY_EDIT))
MAX_CLAIMS = 500  # in one hand-over: all in one transaction
MAX_TOLD = 16  # waiters that are told
HANDED = "handover"  # why the first holder lost a claim
KEPT = " (kept for the next agent)"  # at the end of a claim's reason


class Work:
    """What an agent has to pass on, as it is now."""

    def __init__(self, tx: Transaction, call: Call, agent: Agent, files: Iterable[Sequence[str]]) -> None:
        self.agent = agent
        self.offer = get_offer(tx, agent["agent"])
        kept: Offer | None = self.offer
        self.claims = [
            claim for claim in claim_records.claims_of(tx, agent["agent"], family=True) if _passes(tx, claim)
        ]
        own = {claim["claim"] for claim in self.claims}
        self.claims += [claim for claim in _kept(tx, kept) if claim["claim"] not in own]
        tasks = [*_lost_tasks(tx, agent["agent"]), *(kept["tasks"] if kept is not None else ())]
        self.tasks, self.left = _queued(tx, call, tasks)
        pairs = [*files, *(kept["files"] if kept is not None else ())]
        self.files = [list(pair) for pair in dict.fromkeys((tree, path) for tree, path in pairs)]

    @classmethod
    def offered(cls, tx: Transaction, call: Call, agent: Agent, offer: Offer) -> Work:
        """Only what was offered: an agent that goes on may have more by now."""
        work = cls.__new__(cls)
        work.agent, work.offer = agent, offer
        work.claims, work.files = _kept(tx, offer), offer["files"]
        work.tasks, work.left = _queued(tx, call, offer["tasks"])
        return work

    @property
    def is_empty(self) -> bool:
        """Is there nothing to pass on?"""
        return not (self.claims or self.tasks or self.files)

    @property
    def task_names(self) -> list[str]:
        """The tasks of it, at work and from the queue."""
        running = [claim["task"] for claim in self.claims if claim["by"] == endings.BY_TASK]
        return list(dict.fromkeys([*running, *[task["task"] for task in self.tasks]]))

    def stay(self, host: str) -> None:
        """Leave behind what is in the working trees of another machine than this one."""
        process = self.agent["process"]
        if process is None or not host or process[0] == host:
            return
        where = f"it is on {self.agent.get('where') or 'another machine'}"
        bound = [claim for claim in self.claims if claim["tree"]]
        names_ = [name for claim in bound for name in resources.shown(claim["resources"])] + [p for _, p in self.files]
        self.left += [{"resource": name, "why": where} for name in dict.fromkeys(names_)]
        self.claims = [claim for claim in self.claims if not claim["tree"]]
        self.files = []

    def refusal(self, tx: Transaction, call: Call, to: Agent) -> Forbidden | Quota | None:
        """Why this agent cannot have it; None if it can."""
        if len(self.claims) > MAX_CLAIMS:
            return Quota(what="claims handed over in one call", limit=MAX_CLAIMS)
        name = names.name_of(tx, to["agent"], to)
        for identifier in self.task_names:
            task = get_task(tx, identifier)
            if task is not None and to.get("kind") != "person" and not lifecycle.fits(to, task["needs"], task["for"]):
                text = lifecycle.unfit(task, name)
                return Forbidden(text, task=identifier, agent=to["agent"], needs=task["needs"], **{"for": task["for"]})
        role, allowed = roles.of(call, to, who=to["agent"])
        if role and RANKS[roles.rank_of(call, role)] < RANKS[WORKER]:
            return Forbidden(f"{name} only reads here (role {role}): it takes over no work.", agent=to["agent"])
        held = [claim for claim in self.claims if claim["by"] != endings.BY_TASK]
        wanted: list[Sequence[str]] = [resource for claim in held for resource in claim["resources"]]
        wanted += [["file", path] for _, path in self.files]
        barred = [one for one in wanted if allowed is not None and not roles.may_hold(allowed, one)]
        if barred:
            text = f"{name} may not write {resources.show(barred[0])} (role {role})."
            return Forbidden(text, agent=to["agent"], path=resources.show(barred[0]))
        return None


def _kept(tx: Transaction, offer: Offer | None) -> list[Claim]:
    """The claims that are kept for an offer, as far as they are live."""
    if offer is None:
        return []
    claims = claim_records.claims_of(tx, offer["by"], family=True)
    return [claim for claim in claims if claim["claim"] in offer["claims"] and claim["until"] > tx.now]


def _passes(tx: Transaction, claim: Claim) -> bool:
    """Is it of the agent's work, and live?"""
    leads = any(one[0] == "name" and one[1].startswith(grants.LEADER_PREFIXES) for one in claim["resources"])
    return (
        claim["by"] in PASSED
        and not leads
        and claim["mode"] != resources.WATCH
        and not claim["pending"]
        and claim["until"] > tx.now
    )


def _lost_tasks(tx: Transaction, agent: str) -> list[str]:
    """The tasks that the agent lost and no other agent had since."""
    found = []
    for _, loss in claim_records.losses_of(tx, agent, family=True):
        for resource in loss["resources"]:
            task = get_task(tx, resource[1][5:]) if resource[0] == "name" and resource[1].startswith("task:") else None
            if task is not None and task["claim"] == loss["claim"] and not loss.get("settled"):
                found.append(task["task"])
    return found


def _queued(tx: Transaction, call: Call, tasks: Iterable[str]) -> tuple[list[Task], list[LeftBehind]]:
    """Those of these tasks that can be taken from the queue; and those for which no further attempt is due."""
    found: list[Task] = []
    left: list[LeftBehind] = []
    for identifier in dict.fromkeys(tasks):
        task = get_task(tx, identifier)
        if task is None:
            continue
        if task["state"] in lifecycle.FAILED_STATES:
            left.append({"resource": f"task:{identifier}", "why": f"it is {task['state']}"})
        elif _is_ready(tx, call, task):
            found.append(task)
    return found, left


def _is_ready(tx: Transaction, call: Call, task: Task) -> bool:
    """Is it in the queue, for any agent?"""
    waits = task["open"] or task["kids"] or task["window"] or task["assigned"]
    return task["state"] == PLANNED and not waits and workforce.early_claim(tx, call, task) is None


# --- passing it on


class Passed:
    """What passed."""

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        self.tasks: list[str] = []
        self.files: list[list[str]] = []
        self.left: list[LeftBehind] = []
        self.waiting: list[ToldWaiter] = []


def pass_on(tx: Transaction, call: Call, work: Work, to: Agent, *, until: int = 0, own: bool = False) -> Passed:
    """Pass an agent's work to another one. With `until` that one only keeps it; `own`: the first holder wishes it.

    The queue is not served in between: this comes before the waiters, which keep their turn and are told.
    """
    passed, tied = Passed(), not until and to["process"] is not None and to.get("kind") != "person"
    passed.left += work.left
    mine = [claim for claim in work.claims if claim["agent"] == to["agent"]]
    others = [claim for claim in work.claims if claim["agent"] != to["agent"]]
    for claim in others:
        if not own and within(claim["agent"], work.agent["agent"]):
            _lose(tx, claim)
    by = "" if own else call.agent
    given = releases.without_doubles(
        [releases.given_up(tx, claim, claim["resources"], to["agent"], by=by) for claim in others]
    )
    _end_waits(tx, to["agent"], given)
    for claim in given:
        claim["reason"] = _reason(claim["reason"], keep=bool(until))
        passed.claims.append(releases.hand_over(tx, call, claim, to["agent"], until=until, tied=tied))
    passed.claims += [_kept_longer(tx, claim, until) for claim in mine]
    for task in work.tasks:
        passed.tasks.append(task["task"])
        if until:  # `task next` gives it to nobody meanwhile
            task["awaited"] = until
            put_task(tx, task)
        else:
            task["awaited"] = 0
            taken = pulls.grant(tx, call, task, agent=to["agent"])
            passed.claims += [one for one in claim_records.claims_of(tx, to["agent"]) if one["claim"] == taken["claim"]]
    passed.tasks = list(dict.fromkeys([*work.task_names, *passed.tasks]))
    _claim_files(tx, call, work, to, passed, until=until, tied=tied)
    passed.waiting = _tell_waiters(tx, call, work.agent, to, passed.claims)
    return passed


def _kept_longer(tx: Transaction, claim: Claim, until: int) -> Claim:
    """A claim that its keeper has already, of an offer that is made again."""
    later = min(until, claim["life"])
    if later > claim["until"]:
        claim["until"], claim["renewed"] = later, tx.now
        claim_records.put(tx, claim)
        tx.append("claim.renewed", claim["agent"], claim["claim"], {"until": later})
    return claim


def _reason(reason: str, *, keep: bool) -> str:
    plain = reason.removesuffix(KEPT)
    return f"{plain}{KEPT}" if keep else plain


def _lose(tx: Transaction, claim: Claim) -> None:
    """Its holder is told at its next start, and its late calls are refused with the present holder."""
    loss: Loss = {
        "claim": claim["claim"], "agent": claim["agent"], "resources": claim["resources"], "mode": claim["mode"],
        "token": claim["token"], "tree": claim["tree"], "task": claim["task"], "why": HANDED, "at": tx.now,
        "until": tx.now + endings.LOSS_LIFE_MS,
    }  # fmt: skip
    claim_records.put_loss(tx, loss)


def _end_waits(tx: Transaction, agent: str, given: Sequence[Claim]) -> None:
    """The receiver no longer waits for what it gets."""
    for waiter in claim_records.waiters_of(tx, agent):
        got = [
            resource
            for claim in given
            if resources.enough(claim["mode"], waiter["mode"]) and claim["tree"] in {"", waiter["tree"]}
            for resource in claim["resources"]
        ]
        if got and resources.all_covered(waiter["resources"], got):
            endings.drop_waiter(tx, waiter, "granted")


def _claim_files(tx: Transaction, call: Call, work: Work, to: Agent, passed: Passed, *, until: int, tied: bool) -> None:
    """Claim the unfinished files that no claim of the agent had any more, where nobody else holds them."""
    free: dict[str, list[list[str]]] = {}
    mine = [
        claim
        for claim in claim_records.claims_of(tx, to["agent"])
        if claim["until"] > tx.now and claim["mode"] == resources.WRITE
    ]
    for tree, path in work.files:
        wanted = resources.normal([["file", path]])
        holder = _holder(tx, call, wanted, tree, to["agent"])
        if holder is not None:
            passed.left.append({"resource": path, "why": "another agent holds it", "holder": holder})
            continue
        passed.files.append([tree, path])
        held = [one for claim in mine if claim["tree"] in {"", tree} for one in claim["resources"]]
        if not resources.all_covered(wanted, held):
            free.setdefault(tree, []).extend(wanted)
    for tree, missing in free.items():
        ttl, life = call.policy.lifetime(missing, None)
        name = names.name_of(tx, work.agent["agent"], work.agent)
        terms: Terms = {
            "agent": to["agent"], "mode": resources.WRITE, "tree": tree, "resources": missing,
            "reason": _reason(f"continues the work of {name}", keep=bool(until)), "task": "", "expect": 0, "ttl": ttl,
            "life": life, "fixed": False, "by": BY_EDIT, "tied": tied,
        }  # fmt: skip
        deadline = min(until or tx.now + ttl, tx.now + life)
        claim = claim_records.new_claim(tx, terms, until=deadline, pending=False, alert_at=0, base={}, ends="")
        passed.claims.append(endings.grant(tx, claim, HANDED))


def _holder(tx: Transaction, call: Call, wanted: Sequence[Resource], tree: str, to: str) -> str | None:
    """Another living agent that holds it; claims that expired, or whose holder is dead, end."""
    blockers = [
        claim
        for claim in list(claim_records.overlapping_claims(tx, wanted, tree, most=claim_records.MAX_COST))
        if endings.blocks(claim, resources.WRITE, to)
    ]
    over = FOLLOW_UPS.lapse(tx, call, [claim for claim in blockers if claim["until"] <= tx.now])
    dead = endings.gone(tx, call, [claim for claim in blockers if claim["until"] > tx.now])
    for claim in dead:
        endings.end(tx, claim, "gone")
    return next((claim["agent"] for claim in blockers if claim not in over and claim not in dead), None)


def _tell_waiters(tx: Transaction, call: Call, agent: Agent, to: Agent, claims: Sequence[Claim]) -> list[ToldWaiter]:
    """Tell the agents in line that a person's or the holder's choice came before the queue."""
    from dibs.operations.messages import mailbox

    told: dict[str, ToldWaiter] = {}
    first, second = names.name_of(tx, agent["agent"], agent), names.name_of(tx, to["agent"], to)
    for claim in claims:
        for record in claim_records.overlapping(tx, claim["resources"], claim["tree"], most=claim_records.MAX_COST):
            if not claim_records.is_waiter(record) or record["until"] <= tx.now or record["agent"] in told:
                continue
            if within(record["agent"], to["agent"]) or len(told) >= MAX_TOLD:
                continue
            told[record["agent"]] = {"agent": record["agent"]}
            thing = ", ".join(resources.shown(record["resources"])[:3])
            text = f"{call.name} handed {thing} from {first} to {second}. You keep your place in line."
            mailbox.post(tx, record["agent"], call.voice, HANDED, text)
    return list(told.values())
