"""The edit guard: may this agent write these files now? Internal: only doors in front of a write run it.

One transaction decides, in this order, and the first "no" is the answer:
- role: the config lets this agent write there.
- strict: an explicit claim (by hand or for a task) covers the path already.
- held: no other agent holds it; then it is claimed, all paths or none. A refusal leaves an interest. With `wait`, the
  hook has a place in line first, for that long: an ordinary wait, with its turn, lease and search for deadlocks.
- unseen: a write that overwrites without reading is refused if the agent has not seen the present content; the claim is
  kept for the retry. A tool that reads the file while it writes merges, and passes; it is told who changed the file
  since. Content from before the agent's start, by a person or an ended session, may be overwritten; it is kept.
Free paths (ignored by git, or free by the config) need no claim and pass after the role. A path that the command itself
claims by hand before it writes it is left to that claim: it is refused if another agent holds it and the write would
run all the same.

Retry: an edit of a held file writes nothing until half of the claim's life has passed. Crash: the claim exists or not;
if its process is dead, it ends at the next look. Race: the second transaction sees the first.
"""

from __future__ import annotations

from dibs.errors import Conflict, Deadlock, DibsError, Forbidden, Held, Quota, quoted
from dibs.ledger.state import GIT, OUTSIDE, UNKNOWN
from dibs.operations.agents import roles
from dibs.operations.agents.records import get_agent, registered_agent
from dibs.operations.claims import endings, grants, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.claims.records import ranges_for
from dibs.operations.core.call import Undecided, related, within
from dibs.operations.core.declare import ANYWHERE, WAITING, Field, Operation
from dibs.operations.core.policy import MAX_HOOK_WAIT_MS, MIGRATIONS, covers, is_migration, matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final, Literal, NotRequired, TypedDict

    from dibs.operations.agents.records import Agent
    from dibs.operations.claims.answers import ClaimAnswer
    from dibs.operations.claims.records import Claim, InterestRequest, Stored
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.core.declare import Ahead
    from dibs.operations.core.policy import Policy
    from dibs.operations.guards.requests import EditRequest
    from dibs.stores.seam import Transaction

    Level = Literal["free", "guarded", "strict"]  # what the guards ask of a path

    class Knowledge(TypedDict):
        """What the ledger says of a path, and what the agent knows of it: `_FACTS` explains each field."""

        merges: bool
        known: str
        author: str
        suspects: NotRequired[Sequence[str]]
        owners: Sequence[str]
        since: bool
        disputed: bool
        loose: NotRequired[bool]

    class Target(TypedDict):
        """A path that an agent wants to write: `_TARGETS` explains each field."""

        resource: Resource
        ignored: bool
        content: str
        facts: NotRequired[Knowledge | None]
        inside: Sequence[str]
        claimed: NotRequired[str]

    class TreeTargets(TypedDict):
        """The paths in one working tree."""

        targets: Sequence[Target]
        tree: str
        local: bool

    class EditAnswer(TypedDict):
        """Of `edit`."""

        claims: list[ClaimAnswer]


BY = "edit"  # the `by` of this guard's claims; a commit releases these and no others
SHELL = "shell"  # the `by` of a claim that lasts as long as one command
MAX_UNSEEN_NAMED = 20  # files in the text of a refusal that asks to read them
MAX_UNSEEN_LISTED = 200  # and in its fields
MAX_BLOCKERS_SHOWN = 16
FREE: Final = "free"
GUARDED: Final = "guarded"
STRICT: Final = "strict"
# What an agent knows of a file: the present content, an earlier one, only that it changed it, nothing; or the file is
# missing
SAME, OLDER, BLIND, NOTHING, GONE = "same", "older", "blind", "nothing", "gone"
# The command itself claims the path first: it writes only if that was granted, or in any case
DEPENDS, BEFORE = "depends", "before"
NO_AGENT = frozenset({"", GIT, OUTSIDE, UNKNOWN, "unknown"})


def target(
    resource: Resource,
    *,
    ignored: bool = False,
    content: str = "",
    facts: Knowledge | None = None,
    inside: Sequence[str] = (),
    claimed: str = "",
) -> Target:
    """One path that an agent wants to write, with the facts that the door gathered about it (`_TARGETS`)."""
    path: Target = {"resource": resource, "ignored": ignored, "content": content, "facts": facts, "inside": inside}
    return {**path, "claimed": claimed} if claimed else path


def _edit(tx: Transaction, call: Call, request: EditRequest) -> EditAnswer | Undecided | DibsError:
    """All targets or none. `more` has the files in further working trees. Nothing is held while it waits."""
    taken: list[ClaimAnswer] = []
    agent = registered_agent(tx, call.agent)
    if request["wait"] and is_orphan(tx, call):
        request = {**request, "wait": 0}
    first: TreeTargets = {"targets": request["targets"], "tree": request["tree"], "local": request["local"]}
    for part in (first, *request["more"]):
        answer = _in_tree(tx, call, agent, request, part)
        if isinstance(answer, (DibsError, Undecided)):
            _give_back(tx, call, taken)
            return answer
        taken += answer
    return {"claims": taken}


def _give_back(tx: Transaction, call: Call, taken: list[ClaimAnswer]) -> None:
    """Release the claims of one working tree when another one refuses."""
    new = {answer["claim"] for answer in taken if not answer.get("renewed")}
    for claim in claim_records.claims_of(tx, call.agent) if new else ():
        if claim["claim"] in new:
            endings.give_back(tx, claim, claim["resources"], "released")
            endings.serve(tx, claim["resources"])


def _in_tree(
    tx: Transaction, call: Call, agent: Agent, request: EditRequest, part: TreeTargets
) -> list[ClaimAnswer] | Undecided | DibsError:
    """The claims on the files of one working tree, or the refusal, or the place in line."""
    tree = part["tree"]
    wanted: list[Target] = []
    strict: list[Target] = []
    claimed: list[Target] = []
    for target in part["targets"]:
        refusal: DibsError | None = roles.refusal_of_write(
            call,
            agent,
            target["resource"],
            local=part["local"],
            client=request["client"],
            tool=request["tool"],
        )
        if refusal is not None:
            return _refuse(tx, call, target, tree, _held_within(tx, call, target, tree, refusal))
        level = level_of(call.policy, target)
        if target.get("claimed") and level != FREE:
            claimed.append(target)
            continue
        if level == STRICT:
            strict.append(target)
        if level != FREE:
            wanted.append(target)
    refusal = _claims_first(tx, call, claimed, tree) or _numbered_twin(tx, call, claimed, tree)
    if refusal is not None:
        return refusal
    if not wanted:
        return []
    normal = resources.normal([target["resource"] for target in wanted])
    overlapping = list(claim_records.overlapping(tx, normal, tree))
    for target in strict:
        refusal = _not_explicit(tx, call, target, tree, overlapping)
        if refusal is not None:
            return _refuse(tx, call, target, tree, refusal)
    covered = _numbered_twin(tx, call, wanted, tree) or _covering_claims(tx, call, normal, tree, overlapping)
    held = covered or _take(tx, call, request, wanted, normal, tree)
    if isinstance(held, (DibsError, Undecided)):
        return held
    dropped: list[str] = []
    unseen = [(target, refused) for target in wanted if (refused := _unseen(tx, call, target, dropped)) is not None]
    if unseen:
        for target, refused in unseen[:-1]:
            _refuse(tx, call, target, tree, refused)
        return _refuse(tx, call, unseen[-1][0], tree, _all_unseen(tx, [refused for _, refused in unseen]))
    note_dropped(tx, call, dropped)
    disputed = [target["resource"][1] for target in wanted if (facts := target.get("facts")) and facts["disputed"]]
    if disputed:
        from dibs.operations.guards import changes

        changes.settle(tx, call, tree, disputed)
    return [held]


def _claims_first(tx: Transaction, call: Call, claimed: list[Target], tree: str) -> DibsError | None:
    """Refuse what the command claims itself, if another agent holds it and the write would not wait for that claim.

    What the agent has not seen is refused, too, unless the claim has to wait: then nobody knows what will be there.
    """
    for target in claimed:
        overlapping = list(claim_records.overlapping(tx, resources.normal([target["resource"]]), tree))
        held = _held_by_others(tx, call, target, tree, overlapping)
        refused = _unseen(tx, call, target, []) if held is None else held if target["claimed"] != DEPENDS else None
        if refused is not None:
            return _refuse(tx, call, target, tree, refused)
    return None


def _numbered_twin(tx: Transaction, call: Call, wanted: list[Target], tree: str) -> DibsError | None:
    """The refusal of a new file if another agent has a migration of its number under way."""
    for target in wanted:
        if not target["content"] and "migrat" in target["resource"][1]:
            from dibs.operations.guards import migrations

            refusal = migrations.refusal(tx, call, target["resource"])
            if refusal is not None:
                return _refuse(tx, call, target, tree, refusal)
    return None


def _take(
    tx: Transaction, call: Call, asked: EditRequest, wanted: list[Target], normal: list[list[str]], tree: str
) -> ClaimAnswer | Undecided | DibsError:
    """Claim it, or wait, or refuse with its holder; here, or in another working tree if the config says so."""
    across = _elsewhere(tx, call, normal, tree)
    if across and call.policy.guards["across_worktrees"] == "block":
        held_there = _blocked(tx, call, normal, "", across)
        if held_there is not None:
            return _refuse(tx, call, wanted[0], tree, held_there)
    request = grants.CLAIM.request(
        resources=[target["resource"] for target in wanted], tree=tree, by=BY, interest=True, wait=asked["wait"],
        waiter=asked["waiter"], wake=asked["wake"],
    )  # fmt: skip
    base = {target["resource"][1]: target["content"] for target in wanted}
    held = grants.claim(tx, call, request, base)
    if across and not isinstance(held, (DibsError, Undecided)) and not held.get("renewed"):
        _warn(tx, call, endings.living(tx, call, across), normal, tree)
    return held


def level_of(policy: Policy, target: Target) -> str:
    """Free, guarded or strict: whether the target needs an explicit claim. A directory does if anything in it does."""
    if any(guard_level(policy, ["file", text], ignored=False) == STRICT for text in target["inside"]):
        return STRICT
    return guard_level(policy, target["resource"], ignored=target["ignored"], known=bool(target["inside"]))


def guard_level(policy: Policy, resource: Resource, *, ignored: bool, known: bool = False) -> Level:
    """Free, guarded or strict; strict wins over free, because it was configured on purpose.

    `known`: what is in the directory has been asked about, file by file.
    """
    guards = policy.guards
    for pattern in guards["strict"]:
        if matches(pattern, resource) and (pattern != MIGRATIONS or (not known and is_migration(resource[1]))):
            return STRICT
    if any(matches(path, resource) for path in guards["files"].values()):
        return STRICT
    if ignored or any(covers(pattern, resource) for pattern in guards["free"]):
        return FREE
    return GUARDED


def _covering_claims(
    tx: Transaction, call: Call, normal: list[list[str]], tree: str, overlapping: list[Stored]
) -> ClaimAnswer | None:
    """The agent's own live claims that cover everything, in the first half of their life: nothing to write."""
    good = [
        record
        for record in overlapping
        if claim_records.is_claim(record)
        and record["agent"] == call.agent
        and record["mode"] == resources.WRITE
        and not record["pending"]
        and record["until"] - tx.now > record["ttl"] // 2
        and record["tree"] in {"", tree}
        and record["tied"] == call.from_current_process
    ]
    held = [resource for record in good for resource in record["resources"]]
    if not good or not resources.all_covered(normal, held):
        return None
    answer = endings.grant_answer(tx, good[0])
    answer["renewed"] = True
    return answer


def _not_explicit(
    tx: Transaction, call: Call, target: Target, tree: str, overlapping: list[Stored]
) -> DibsError | None:
    """Refuse a strict path without an explicit claim of this agent or of one of its ancestors."""
    wanted = resources.normal([target["resource"]])
    for record in overlapping:
        if (
            claim_records.is_claim(record)
            and record["until"] > tx.now
            and record["mode"] == resources.WRITE
            and record["by"] != BY
            and within(call.agent, record["agent"])
            and resources.all_covered(wanted, record["resources"])
        ):
            return None
    held = _held_by_others(tx, call, target, tree, overlapping)
    if held is not None:
        return held
    name = resources.show(target["resource"])
    return Forbidden(
        f"{name} is strict here: it needs an explicit claim first. Run `dibs claim {quoted(name)} --reason WHY`, "
        "read it again, then edit.",
        path=name,
        strict=True,
    )


def _held_within(tx: Transaction, call: Call, target: Target, tree: str, refusal: DibsError) -> DibsError:
    """For a directory that may not be written as a whole: a holder inside it is the better answer."""
    if not refusal.fields.get("within"):
        return refusal
    overlapping = list(claim_records.overlapping(tx, resources.normal([target["resource"]]), tree))
    return _held_by_others(tx, call, target, tree, overlapping) or refusal


def _held_by_others(tx: Transaction, call: Call, target: Target, tree: str, overlapping: list[Stored]) -> Held | None:
    """The refusal because of other agents' live claims, with an interest left; None if there are none."""
    wanted = resources.normal([target["resource"]])
    claims = [
        record
        for record in overlapping
        if claim_records.is_claim(record)
        and record["until"] > tx.now
        and endings.blocks(record, resources.WRITE, call.agent)
        and resources.any_overlap(record["resources"], wanted) is not None
    ]
    return _blocked(tx, call, wanted, tree, claims)


def _blocked(tx: Transaction, call: Call, wanted: list[list[str]], tree: str, claims: list[Claim]) -> Held | None:
    """The refusal that names these holders, without those whose process is dead; the agent is told when it is free."""
    claims = endings.living(tx, call, claims)
    if not claims:
        return None
    from dibs.operations.claims import views, waiters

    request: InterestRequest = {
        "agent": call.agent, "mode": resources.WRITE, "tree": tree, "resources": wanted, "reason": "",
    }  # fmt: skip
    waiters.leave_interest(tx, request)
    blockers = [views.blocker(tx, claim, wanted) for claim in claims[:MAX_BLOCKERS_SHOWN]]
    names = views.wanted(views.contested(claims, wanted), wanted)
    return Held(blockers=blockers, more=max(0, len(claims) - MAX_BLOCKERS_SHOWN), wanted=names)


def _unseen(tx: Transaction, call: Call, target: Target, dropped: list[str]) -> DibsError | None:
    """May the agent overwrite the present content? It holds the path already, so nobody else changes it now.

    `dropped` gets the path if the content is a person's that was left before the agent began.
    """
    facts = target.get("facts")
    if not facts:
        return None
    name, known, author = resources.show(target["resource"]), facts["known"], facts["author"]
    others = [owner for owner in facts["owners"] if not related(owner, call.agent)]
    if facts["merges"]:
        if known in {OLDER, BLIND} and author != call.agent:
            _note(tx, call, f"{_who(tx, author)} changed {name} since you last read it; your change was made to that.")
        return None
    if known in {SAME, GONE}:
        return None
    if known in {OLDER, BLIND}:
        when = "since you last read or wrote it" if known == OLDER else "and you have not read what is there now"
        who = "your own command" if author == call.agent else _who(tx, author)
        return Conflict(
            f"{who} changed {name} {when}. {_hold(target)}ead it again, then change what is there.",
            path=name,
            changed_by=author if author not in NO_AGENT else None,
        )
    makers = [] if author in NO_AGENT else [author]
    added = [one for one in makers or facts.get("suspects", ()) if facts["owners"] and not related(one, call.agent)]
    living = [agent for agent in (*others, *added) if is_present(tx, call, agent)]  # also who added to unfinished work
    if living or facts["since"]:
        who = _who(tx, living[0] if living else author)
        did = "changed" if makers or not living or living[0] in others else "may have changed"
        return Conflict(
            f"{who} {did} {name}, and you have not read it. {_hold(target)}ead it, then change what is there.",
            path=name,
            changed_by=living[0] if living else author if author not in NO_AGENT else None,
        )
    if others:
        _note(tx, call, f"{name} had uncommitted work of {_who(tx, others[0])}, which has ended; it is kept.")
    elif facts.get("loose"):
        dropped.append(name)
    return None


def _hold(target: Target) -> str:
    return "R" if target.get("claimed") else "You hold it now: r"


def note_dropped(tx: Transaction, call: Call, paths: Sequence[str]) -> None:
    """Tell the agent, after its call, how a person's changes come back that it dropped without having read them."""
    if not paths:
        return
    named, more = paths[:MAX_UNSEEN_NAMED], len(paths) - MAX_UNSEEN_NAMED
    had = named[0] if len(paths) == 1 else f"{len(paths)} files"
    listed = "" if len(paths) == 1 else f": {', '.join(named)}{f' and {more} more' if more > 0 else ''}"
    files = " ".join([quoted(name) for name in named]) if more <= 0 else "PATH…"
    back = f"`dibs undo {quoted(call.agent)} {files} --yes` brings them back."
    _note(tx, call, f"{had} had uncommitted changes that no agent made, and that you have not read{listed}. {back}")


def _all_unseen(tx: Transaction, refusals: list[DibsError]) -> DibsError:
    """One refusal for all files that have to be read first, so that the agent need not try once for each."""
    facts = list({refusal.fields["path"]: refusal.fields for refusal in refusals}.values())  # one may be named twice
    if len(facts) == 1:
        return refusals[-1]
    paths = [fact["path"] for fact in facts]
    named = [f"{fact['path']} ({_who(tx, fact['changed_by'] or '')})" for fact in facts[:MAX_UNSEEN_NAMED]]
    more = f" and {len(paths) - len(named)} more" if len(paths) > len(named) else ""
    return Conflict(
        f"{len(paths)} files were changed, and you have not read what is there now: {', '.join(named)}{more}. You hold "
        "them now: read each of them, then change what is there.",
        path=paths[0],
        paths=paths[:MAX_UNSEEN_LISTED],
        changed_by=facts[0]["changed_by"],
    )


def _who(tx: Transaction, agent: str) -> str:
    from dibs.operations.agents.names import name_of

    return "an unknown agent or program" if agent in NO_AGENT else name_of(tx, agent)


def is_orphan(tx: Transaction, call: Call) -> bool:
    """Does a hook ask whose client is dead? It outlives its client, and nobody would run what it is granted."""
    if call.from_current_process:
        return False
    agent = get_agent(tx, call.agent)
    process = agent["process"] if agent is not None else None
    call.know([process])
    return call.alive(process) is False


def is_present(tx: Transaction, call: Call, agent: str) -> bool:
    """Is that agent still at work, as far as is known?"""
    record = get_agent(tx, agent)
    return record is not None and not record["left"] and call.alive(record["process"]) is not False


def _note(tx: Transaction, call: Call, text: str) -> None:
    """A line that the agent is told after its call."""
    from dibs.operations.messages import mailbox

    mailbox.post(tx, call.agent, "dibs", "note", text)


def _elsewhere(tx: Transaction, call: Call, normal: list[list[str]], tree: str) -> list[Claim]:
    """Claims of other agents on the same paths in other working trees: a merge conflict is coming."""
    if call.policy.guards["across_worktrees"] == "ignore":
        return []
    return [
        record
        for record in claim_records.overlapping_claims(tx, normal, "")
        if record["tree"] not in {"", tree}
        and record["until"] > tx.now
        and record["mode"] == resources.WRITE
        and not related(record["agent"], call.agent)
    ]


def _warn(tx: Transaction, call: Call, across: list[Claim], normal: list[list[str]], tree: str) -> None:
    """Tell both sides, once."""
    from dibs.operations.claims import views
    from dibs.operations.messages import mailbox

    for record in across[:MAX_BLOCKERS_SHOWN]:
        name = views.blocker(tx, record, normal)["resource"]
        coming = "a merge conflict is coming; agree on who goes first."
        text = f"{_who(tx, call.agent)} now changes {name} in {tree}, and you in {record['tree']}: {coming}"
        mailbox.post(tx, record["agent"], call.voice, "across", text, resource=name)
        text = f"{_who(tx, record['agent'])} changes {name} in {record['tree']}, and you in {tree}: {coming}"
        mailbox.post(tx, call.agent, "dibs", "across", text, resource=name)


def _refuse(tx: Transaction, call: Call, target: Target, tree: str, error: DibsError) -> DibsError:
    name = resources.show(target["resource"])
    tx.append("edit.refused", call.agent, name, {"code": error.code, "tree": tree})
    return error


def _ahead(call: Call, request: EditRequest) -> Ahead:
    if request["more"]:  # the rows of each working tree are read in its turn
        return (), []
    return (), ranges_for([target["resource"] for target in request["targets"]])


_FACTS = (
    Field("merges", "flag", "it changes a part of what is there", required=True),
    Field("known", "choice", "what the agent knows of it", choices=(SAME, OLDER, BLIND, NOTHING, GONE), required=True),
    Field("author", "text", "the agent that made what is there", required=True),
    Field("suspects", "words", "the agents that may have made it, if that is not known", default=()),
    Field("owners", "words", "the agents with unfinished work in it", required=True),
    Field("since", "flag", "it was changed after the agent began", required=True),
    Field("disputed", "flag", "others changed it, and the agent knows what is there", required=True),
    Field("loose", "flag", "uncommitted, and made by no agent", default=False),
)
_TARGETS = Field(
    "targets", "json", "the paths to be written", required=True,
    items=(
        Field("resource", "resource", "the path", required=True),
        Field("ignored", "flag", "by git", required=True),
        Field("content", "text", "the blob of the file as it is now; empty if there is none", required=True),
        Field("facts", "object", "what the ledger says; nothing if it says nothing", items=_FACTS),
        Field("inside", "raws", "the files in it, if it is a directory", required=True),
        Field("claimed", "choice", "how the command itself claims it first", choices=(DEPENDS, BEFORE), default=""),
    ),
)  # fmt: skip
_TREE = Field("tree", "tree", "the top of their working tree", required=True)
# Columns of the rows in which doors bring paths, and the unfinished work in them, to this guard's neighbours.
IN_TREE = Field("tree", "tree", "the working tree", required=True)
PATH = Field("path", "resource", "the path", required=True)
OWNERS = Field("owners", "words", "the agents whose work it is", required=True)
READ = Field("read", "flag", "the caller has read what is there", required=True)
EDIT = Operation(
    "edit", _edit, "May these files be written now?", sent_by=ANYWHERE,
    fields=(
        _TARGETS,
        _TREE,
        Field("local", "flag", "this working tree has dibs' own record", default=True),
        Field("client", "text", "the client", default=""),
        Field("tool", "text", "its tool", default="", longest=0),
        Field("more", "json", "paths in further working trees", default=(),
              items=(_TARGETS, _TREE, Field("local", "flag", "it has dibs' own record", required=True))),
        Field("wait", "duration", "how long it waits in line", default=0, most=MAX_HOOK_WAIT_MS),
        *WAITING,
    ),
    errors=(Conflict, Deadlock, Forbidden, Held, Quota), takes=True, ahead=_ahead, withdraws=True,
)  # fmt: skip

INTERNAL = (EDIT,)
