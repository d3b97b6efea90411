"""The commit guard: may these paths be committed, and what follows from a commit. Internal: git's hooks run these.

Before: refused are staged paths that another agent holds, and paths whose claim the caller lost and its family has not
claimed again: their content may be based on a version that others have changed since.
After: the edit guard's claims, and an agent's shell claims without `--keep`, end with the commit of their content;
other claims made by hand or for a task stay and record it. A commit that bypassed the guard is reported to every agent
whose files it took.

A person commits what an agent at rest finished: one whose client said that its turn ended (Stop) and named nothing that
still runs, and which has not called since. Its claims end as with a commit of its own, and it is told. What the commit
has only in part (the file differs) stays claimed. An agent whose client reports no end of a turn is at work as long as
its claims last.

In git's hooks only the parent's id is known, so the family counts as one here.
"""

from __future__ import annotations

from dibs.errors import Conflict, Fenced, Forbidden, Held, accepting, restoring
from dibs.operations.agents import roles
from dibs.operations.agents.names import name_of
from dibs.operations.agents.records import get_agent, get_agents
from dibs.operations.claims import endings, resources, views
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import FOLLOW_UPS, check_text, iso, lineage_of, related
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.guards import changes
from dibs.operations.guards.edit_guard import BY, OWNERS, PATH, READ, is_present
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NotRequired, TypedDict

    from dibs.errors import DibsError
    from dibs.operations.claims.answers import BlockerView
    from dibs.operations.claims.records import Claim, Loss
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.guards.requests import CommitCheckRequest, CommittedRequest
    from dibs.stores.seam import Transaction

    class CommitCheckAnswer(TypedDict):
        """Of `commit-check`."""

        agent: str
        tokens: list[list[str | int]]  # paths that the family holds, each with its token
        held: int  # its claims

    class TakenPaths(TypedDict):
        """What a commit past the guard took from a holder, or a person's commit finished for one."""

        agent: str
        name: NotRequired[str]
        paths: list[str]

    class CommittedAnswer(TypedDict):
        """Of `committed`."""

        released: list[str]
        kept: list[str]  # claims
        unseen: list[TakenPaths]
        finished: list[TakenPaths]  # work of agents at rest that a person committed: their claims ended


PATHS_PER_TRIP = 64  # paths looked up in one trip
MANY_PATHS = 256  # from here on, reading every claim is cheaper than reading every path
MAX_CLAIMS_READ = 100_000  # more than a workspace ever has
MAX_ROUNDS = 8  # retries after a dead holder's claim was ended and its waiter served
MAX_LOSSES_READ = 1_000  # records of lost claims
MAX_SHOWN = 16  # blockers named in a refusal, and paths in an event
# paths with their tokens: the ten that a commit's message names, and one more to see that there are more
MAX_TOKENS_RETURNED = 11
HOW = ("checked", "past", "replayed")  # how a commit met the guard; `_committed` has what they mean


# --- before a commit


def _check(tx: Transaction, call: Call, request: CommitCheckRequest) -> CommitCheckAnswer | DibsError:
    """May the caller commit these paths of this working tree? `owned`: whose unfinished work is in them; read by it?"""
    paths, tree = request["paths"], request["tree"]
    refusal: DibsError | None = roles.refusal_to(call, get_agent(tx, call.agent), "commit", request["client"])
    if refusal is not None:
        return _refuse(tx, call, refusal, paths, tree)
    for _ in range(MAX_ROUNDS):
        others, own = _sorted(tx, call, paths, tree)
        others, _ = _by_rest(tx, call, others)
        gone = endings.gone(tx, call, others)
        if not gone:
            break
        endings.clear(tx, call, (), gone)
    if others:
        blockers = [_blocker(tx, record, paths) for record in others[:MAX_SHOWN]]
        return _refuse(tx, call, Held(blockers=blockers, more=max(0, len(others) - MAX_SHOWN)), paths, tree)
    lost = (
        _lost(tx, call, paths, tree, own)
        or _unsettled(tx, call, paths, tree)
        or _foreign(tx, call, request["owned"], own)
    )
    if lost is not None:
        return _refuse(tx, call, lost, paths, tree)
    tokens = _tokens(paths, own)
    tx.append("commit.checked", call.agent, tree, {"paths": len(paths), "tokens": sorted({n for _, n in tokens})})
    return {"agent": call.agent, "tokens": tokens, "held": len(own)}


def _unsettled(tx: Transaction, call: Call, paths: Sequence[Resource], tree: str) -> Conflict | None:
    """Refuse a path that another agent overwrote while it was held: first decide what it should contain."""
    for start in range(0, len(paths), PATHS_PER_TRIP):
        unsettled = changes.unsettled(tx, tree, [path[1] for path in paths[start : start + PATHS_PER_TRIP]])
        for name, ids in unsettled.items():
            return Conflict(
                f"{name} was changed; {changes.actor_of(tx, ids[-1], call.agent)}, and it is not settled what it "
                f"should contain. `{restoring(ids[-1])}` brings back what was there before; or read it and edit it; "
                f"or `{accepting(ids[-1])}` if it is right as it is.",
                path=name,
                violations=ids,
            )
    return None


def _foreign(
    tx: Transaction, call: Call, owned: Sequence[tuple[Resource, Sequence[str], bool]], own: list[Claim]
) -> Held | None:
    """Refuse a path with unfinished work of another agent that is still there.

    An ended agent's may be committed, and what the caller holds and has read.
    """
    if call.fallback and call.agent == call.fallback:
        return None  # a person
    blockers: list[BlockerView] = []
    held = [resource for claim in own for resource in claim["resources"]]
    for path, owners, read in owned:
        if read and resources.all_covered([path[:2]], held):
            continue
        others = [owner for owner in owners if not related(owner, call.agent)]
        there = [owner for owner in others if is_present(tx, call, owner)] if len(others) == len(owners) else []
        if there:
            blockers.append({
                "agent": there[0], "resource": resources.show(path), "mode": resources.WRITE, "since": None,
                "until": None, "reason": "its uncommitted work", "paths": [path[1]], "more_paths": 0,
            })  # fmt: skip
    return Held(blockers=blockers[:MAX_SHOWN], more=max(0, len(blockers) - MAX_SHOWN)) if blockers else None


def _sorted(tx: Transaction, call: Call, paths: Sequence[Resource], tree: str) -> tuple[list[Claim], list[Claim]]:
    """Live write claims on these paths: other agents', and those of the caller's family."""
    others: list[Claim] = []
    own: list[Claim] = []
    met = [record for record in _met(tx, paths, tree) if record["mode"] == resources.WRITE]
    if any(record["until"] <= tx.now for record in met):
        from dibs.operations.claims import lapses, releases

        for record in lapses.kept(tx, call, met):
            releases.renew_one(tx, record, why="alive")
    for record in met:
        if record["until"] <= tx.now:
            continue
        (own if related(record["agent"], call.agent) else others).append(record)
    return others, own


def _by_rest(tx: Transaction, call: Call, others: list[Claim]) -> tuple[list[Claim], list[Claim]]:
    """These claims of other agents: those that a commit of this caller may not take in, and those that a person may."""
    if not others:
        return [], []
    from dibs.operations.core import authority

    if not authority.is_person(tx, call):
        return others, []
    agents = get_agents(tx, sorted({claim["agent"] for claim in others}))
    resting = {name for name, agent in agents.items() if agent is not None and "rested" in agent}
    return (
        [claim for claim in others if claim["agent"] not in resting],
        [claim for claim in others if claim["agent"] in resting],
    )


def _met(tx: Transaction, paths: Sequence[Resource], tree: str) -> Iterator[Claim]:
    """Every claim on one of these paths in this working tree, each once. A commit may have thousands of paths."""
    if len(paths) > MANY_PATHS:
        wanted = _PathSet(paths)
        for record in claim_records.all_claims(tx, MAX_CLAIMS_READ)[0]:
            if resources.same_tree(record["tree"], tree) and any(map(wanted.meets, record["resources"])):
                yield record
        return
    seen = set()
    for start in range(0, len(paths), PATHS_PER_TRIP):
        wanted_here = resources.normal(paths[start : start + PATHS_PER_TRIP])
        for record in claim_records.overlapping_claims(tx, wanted_here, tree):
            if record["claim"] not in seen:
                seen.add(record["claim"])
                yield record


class _PathSet:
    """Thousands of paths, compared with one resource after the other."""

    __slots__ = ("_above", "_files", "_inodes")

    def __init__(self, paths: Sequence[Resource]) -> None:
        self._files = {path[1] for path in paths}
        self._inodes = {path[2] for path in paths if len(path) > resources.PLAIN_PARTS and path[2]}
        self._above = {""}
        for text in self._files:
            self._above.update(_above(text))

    def meets(self, resource: Resource) -> bool:
        """Does the resource overlap any of the paths?"""
        kind, text = resource[0], resource[1]
        if kind in resources.LITERAL_KINDS:
            return text in self._files or text in self._above or any(up in self._files for up in _above(text))
        if kind == "glob":
            return any(resources.overlap(resource, ("file", path)) for path in self._files)
        return kind == "inode" and text in self._inodes


def _above(text: str) -> list[str]:
    """The directories above a path, without the top."""
    parts = text.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _blocker(tx: Transaction, record: Claim, paths: Sequence[Resource]) -> BlockerView:
    """One claim in the way, with the paths of the commit that it covers."""
    covered = [path for path in paths if _touches(record, path)]
    return {
        **views.blocker(tx, record, resources.normal(covered[:1])),
        "paths": resources.shown(covered[:MAX_SHOWN]),
        "more_paths": max(0, len(covered) - MAX_SHOWN),
    }


def _touches(record: Claim, path: Resource) -> bool:
    return resources.any_overlap(record["resources"], resources.normal([path])) is not None


def _lost(tx: Transaction, call: Call, paths: Sequence[Resource], tree: str, own: list[Claim]) -> Fenced | None:
    """Refuse a path whose claim the family lost and has not claimed again."""
    losses = [loss for _, loss in _losses(tx, call.agent) if _counts(loss, tree)]
    if not losses:
        return None
    held = [resource for claim in own for resource in claim["resources"]]
    lost: dict[str, Loss] = {}
    for path in paths:
        wanted = resources.normal([path])[:1]
        for loss in losses:
            if resources.any_overlap(loss["resources"], wanted) and not resources.all_covered(wanted, held):
                lost.setdefault(path[1], loss)
    if not lost:
        return None
    name, loss = next(iter(lost.items()))
    claims = claim_records.overlapping_claims(tx, [["file", name]], "")
    holder = next((claim for claim in claims if _holds(tx, call, claim)), None)
    return Fenced(
        resource=name,
        given=loss["token"],
        holder=holder["agent"] if holder else None,
        token=holder["token"] if holder else None,
        since=iso(tx, holder["since"]) if holder else None,
        why=loss["why"],
        at=iso(tx, loss["at"]),
        paths=list(lost)[:MAX_SHOWN],
    )


def _holds(tx: Transaction, call: Call, claim: Claim) -> bool:
    return claim["until"] > tx.now and claim["mode"] == resources.WRITE and not related(claim["agent"], call.agent)


def _counts(loss: Loss, tree: str) -> bool:
    """Does a loss matter? Not a hand-over that was not picked up (no work was done), and not a read claim."""
    return (
        loss["why"] != "unclaimed"
        and loss["mode"] == resources.WRITE
        and resources.same_tree(loss.get("tree", ""), tree)
    )


def _losses(tx: Transaction, agent: str) -> list[tuple[str, Loss]]:
    """The losses of the agent, its ancestors and its subagents, with their keys."""
    prefixes = [claim_records.losses_prefix(name) for name in lineage_of(agent)]
    prefixes.append(claim_records.losses_prefix(agent, family=True))
    return tx.fetch([prefix_range(prefix) for prefix in sorted(prefixes)], MAX_LOSSES_READ).rows


def _tokens(paths: Sequence[Resource], own: list[Claim]) -> list[list[str | int]]:
    """The paths that the family holds, each with its token."""
    tokens: list[list[str | int]] = []
    for path in paths:
        for claim in own:
            if len(tokens) < MAX_TOKENS_RETURNED and resources.all_covered([path[:2]], claim["resources"]):
                tokens.append([path[1], claim["token"]])
                break
    return tokens


def _refuse(tx: Transaction, call: Call, error: DibsError, paths: Sequence[Resource], tree: str) -> DibsError:
    tx.append("commit.refused", call.agent, tree, {"code": error.code, "paths": resources.shown(paths[:MAX_SHOWN])})
    return error


# --- after a commit


def _committed(tx: Transaction, call: Call, request: CommittedRequest) -> CommittedAnswer:
    """What a commit means for claims. An item is a path and whether its file equals the committed content.

    `how`: checked (the guard saw it before), past (it did not, although git would have asked: `--no-verify`), or
    replayed (git does not ask: a rebase, a cherry-pick, a client that switches git's hooks off). `suspects`: the agents
    whose commands ran when it was made, if no words of theirs make a commit.
    """
    commit, tree, items, suspects = request["commit"], request["tree"], request["items"], request["suspects"]
    check_text(commit, "commit")
    others, own = _sorted(tx, call, [path for path, _ in items], tree)
    others, resting = _by_rest(tx, call, others)
    equal = [path for path, same in items if same]
    released: list[Resource] = []
    kept = []
    finished: list[TakenPaths] = []
    for claim in [*own, *resting]:
        done = _done(claim, equal) if claim["by"] == BY or claim.get("ends") == "commit" else []
        if claim in resting:
            finished += _tell_of(tx, call, claim, [path for path, _ in items], done, commit)
        if done:
            released += done
            by = call.agent if claim in resting else ""
            if not endings.give_back(tx, claim, done, "committed", commit=commit, by=by):
                continue
        claim["commit"] = commit
        claim_records.put(tx, claim)
        kept.append(claim["claim"])
        tx.append("claim.committed", claim["agent"], claim["claim"], {"commit": commit})
    _settle(tx, call, [path for path, _ in items], tree)
    endings.serve(tx, released)
    if suspects:
        suspects = changes.accused(tx, call, suspects) or [call.agent]
    bypass = (commit, tree, request["how"], suspects)
    unseen = _report_bypass(tx, call, others, items, *bypass) if request["how"] != "checked" else []
    return {"released": resources.shown(released), "kept": kept, "unseen": unseen, "finished": finished}


def _tell_of(
    tx: Transaction, call: Call, claim: Claim, paths: Sequence[Resource], ended: Sequence[Resource], commit: str
) -> list[TakenPaths]:
    """Tell an agent at rest that a person committed its files; returns what it no longer holds."""
    from dibs.operations.messages import mailbox

    over = resources.shown(ended)
    left = [one for one in resources.shown([path for path in paths if _touches(claim, path)]) if one not in over]
    stays = "your claim on it stays: read it again before you write to it."
    for names, what in ((over, "your claim on it ended."), (left, stays)):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""  # noqa: PLR2004 - as many as named
            text = f"{call.name} committed {', '.join(names[:5])}{more}, which you held, in {commit[:12]}; {what}"
            mailbox.post(tx, claim["agent"], call.voice, "commit", text, resources=names[:MAX_SHOWN], commit=commit)
    return [{"agent": claim["agent"], "paths": over}] if over else []


def _done(claim: Claim, equal: list[Resource]) -> list[Resource]:
    """The resources of an edit claim whose file equals the committed content, each with its inode."""
    done: list[Resource] = []
    for place, resource in enumerate(claim["resources"]):
        if any(resources.same(resource, path) for path in equal):
            done.append(resource)
            done += [one for one in claim["resources"][place + 1 : place + 2] if one[0] == "inode"]
    return done


def _settle(tx: Transaction, call: Call, paths: Sequence[Resource], tree: str) -> None:
    """Settle losses that are committed now."""
    texts = {path[1] for path in paths}
    for key, loss in _losses(tx, call.agent):
        if _counts(loss, tree) and all(one[0] == "inode" or one[1] in texts for one in loss["resources"]):
            tx.delete(key)


def _report_bypass(
    tx: Transaction,
    call: Call,
    others: list[Claim],
    items: Sequence[tuple[Resource, bool]],
    commit: str,
    tree: str,
    how: str,
    suspects: Sequence[str],
) -> list[TakenPaths]:
    """The guard was bypassed: log it, and tell the holders of the committed paths."""
    from dibs.operations.messages import mailbox

    names = " or ".join([name_of(tx, one) for one in suspects])
    paths = [path for path, _ in items]
    unseen: list[TakenPaths] = []
    for record in others:
        taken = resources.shown([path for path in paths if _touches(record, path)][:MAX_SHOWN])
        unseen.append({"agent": record["agent"], "paths": taken})
        who = f"a program or a person, while a command of {names} ran," if suspects else call.name
        text = f"{who} committed {', '.join(taken[:5])}, which you hold, past the guard ({commit[:12]})."
        mailbox.post(tx, record["agent"], call.voice, "commit", text, resources=taken, commit=commit)
    if unseen or how == "past":
        from dibs.operations.alerts import suspicions

        taken = [path for one in unseen for path in one["paths"]][:MAX_SHOWN]
        holders = sorted({one["agent"] for one in unseen})
        data = {"tree": tree, "how": how, "paths": taken, "holders": holders}
        tx.append("commit.unverified", call.agent, commit, data)
        suspicions.put(
            tx, "bypass", commit, call.agent, told=holders, how=how, paths=taken, holders=holders,
            suspects=[name_of(tx, one) for one in suspects], reporter=call.reporter,
        )  # fmt: skip
        FOLLOW_UPS.suspicions(tx, call)
    return unseen


_TREE = Field("tree", "tree", "the top of the working tree", default="")
CHECK = Operation(
    "commit-check", _check, "May these paths be committed?", sent_by=ANYWHERE,
    fields=(
        Field("paths", "resources", "the staged paths", default=()),
        _TREE,
        Field("client", "text", "the client", default=""),
        Field("owned", "rows", "paths with unfinished work", default=(),
              items=(PATH, OWNERS, READ)),
    ),
    errors=(Held, Fenced, Conflict, Forbidden),
)  # fmt: skip
COMMITTED = Operation(
    "committed", _committed, "These paths were committed.", sent_by=ANYWHERE,
    fields=(
        Field("commit", "ref", "the commit", default=""),
        _TREE,
        Field("items", "rows", "its paths", default=(),
              items=(PATH, Field("same", "flag", "the file equals what was committed", required=True))),
        Field("how", "choice", "how the guard met it", choices=HOW, default=HOW[0]),
        Field("suspects", "words", "who may have made it, if that is not certain", default=()),
    ),
)  # fmt: skip

INTERNAL = (CHECK, COMMITTED)
