"""The edit guard: may this agent write these files now? Internal: only doors that stand before a write run it.

One transaction decides, in this order, and the first "no" is the answer:
- role: the config lets this agent write there.
- strict: an explicit claim (by hand or for a task) covers the path already.
- held: nobody else holds it; then it is claimed, all paths or none. A refusal leaves an interest.
- unseen: a write that does not read what it writes over is refused if the agent has not seen what is there now; the
  claim is kept for the next try. What reads the file itself while it writes merges, and passes; it is told who changed
  the file since. What a person or an ended session left before the agent began may be written over; it is kept.
Paths that are free (git ignores them, or the config says so) need no claim and pass after the role.

Again: an edit of what one holds changes nothing and writes nothing until half of the claim's life is over. Crash: the
claim is there or it is not; if its process is dead, it ends when anybody looks. Race: the second one sees the first.
"""

from __future__ import annotations

from dibs.errors import Conflict, DibsError, Forbidden, Held
from dibs.operations.agents import roles
from dibs.operations.claims import endings, grants, holds, resources
from dibs.operations.claims.resources import ranges_for
from dibs.operations.core.call import related, within
from dibs.operations.core.declare import Operation
from dibs.operations.core.policy import covers, matches
from dibs.operations.guards.ledger import GIT, OUTSIDE, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Fetched, Range, Transaction

    # resource [kind, text, alias] · ignored by git · content at hand · what the ledger says of it (facts_of in
    # doors/hooks/edit_guard.py) or None · what is in it, where it is a directory
    Item = tuple[Sequence[str], bool, str, dict[str, Any] | None, Sequence[str]]

BY = "edit"  # what a claim of this guard says in `by`; the commit releases these and no others
SHOWN = 16
FREE, GUARDED, STRICT = "free", "guarded", "strict"
# What an agent knows of a file: what is there, an earlier content, only that it changed it, nothing; or it is not there
SAME, OLDER, BLIND, NOTHING, GONE = "same", "older", "blind", "nothing", "gone"
NO_AGENT = frozenset({"", GIT, OUTSIDE, UNKNOWN, "unknown"})


class _Caller:
    """Who wants to edit, with what, and what was read about it on the way in."""

    __slots__ = ("agent", "client", "got", "tool")

    def __init__(self, agent: Record, client: str, tool: str, got: Fetched | None) -> None:
        self.agent, self.client, self.tool = agent, client, tool
        self.got = got  # None: what is held is to be read for each working tree


def _edit(
    tx: Transaction,
    call: Call,
    got: Fetched,
    items: Sequence[Item],
    tree: str,
    local: bool = True,
    client: str = "",
    tool: str = "",
    more: Sequence[dict[str, Any]] = (),
) -> Any:
    """All of it or nothing. `more` is for files in other working trees than the first."""
    taken: list[dict[str, Any]] = []
    caller = _Caller(got.values[f"a\t{call.agent}"], client, tool, None if more else got)
    for part in ({"items": items, "tree": tree, "local": local}, *more):
        answer = _in_tree(tx, call, caller, part["items"], part["tree"], local=part["local"])
        if isinstance(answer, DibsError):
            _give_back(tx, call, taken)
            return answer
        taken += answer
    return {"claims": taken}


def _give_back(tx: Transaction, call: Call, taken: list[dict[str, Any]]) -> None:
    """What was granted in one working tree goes back when the other one refuses."""
    new = {answer["claim"] for answer in taken if not answer.get("renewed")}
    for claim in holds.of_agent(tx, holds.CLAIM, call.agent) if new else ():
        if claim["claim"] in new:
            endings.give_back(tx, claim, claim["resources"], "released")
            endings.serve(tx, claim["resources"])


def _in_tree(tx: Transaction, call: Call, caller: _Caller, items: Sequence[Item], tree: str, *, local: bool) -> Any:
    """The claims on the files of one working tree, or the refusal."""
    wanted: list[Item] = []
    strict: list[Item] = []
    for item in items:
        refusal: DibsError | None = roles.refusal_of_write(
            call, caller.agent, item[0], local=local, client=caller.client, tool=caller.tool
        )
        if refusal is not None:
            return _refuse(tx, call, item, tree, _held_within(tx, call, item, tree, refusal))
        if is_strict(call.policy.guards, item):
            strict.append(item)
            wanted.append(item)
        elif sort_of(call.policy.guards, item[0], ignored=item[1]) != FREE:
            wanted.append(item)
    if not wanted:
        return []
    normal = resources.normal([item[0] for item in wanted])
    met = list(holds.meeting(tx, normal, tree, caller.got))
    for item in strict:
        refusal = _not_explicit(tx, call, item, tree, met)
        if refusal is not None:
            return _refuse(tx, call, item, tree, refusal)
    held = _still_good(tx, call, normal, tree, met) or _take(tx, call, caller.got, wanted, normal, tree)
    if isinstance(held, DibsError):
        return held
    for item in wanted:
        unseen = _unseen(tx, call, item) if item[3] is not None else None
        if unseen is not None:
            return _refuse(tx, call, item, tree, unseen)
    disputed = [item[0][1] for item in wanted if item[3] is not None and item[3]["disputed"]]
    if disputed:
        from dibs.operations.guards import changes

        changes.settle(tx, tree, disputed)
    return [held]


def _take(
    tx: Transaction, call: Call, got: Fetched | None, wanted: list[Item], normal: list[list[str]], tree: str
) -> dict[str, Any] | DibsError:
    """Claim it, or say who holds it; here, or in another working tree where the config minds that."""
    across = _elsewhere(tx, call, normal, tree, got)
    if across and call.policy.guards["across_worktrees"] == "block":
        held_there = _blocked(tx, call, normal, "", across)
        if held_there is not None:
            return _refuse(tx, call, wanted[0], tree, held_there)
    held: dict[str, Any] | DibsError = grants.take(
        tx, call, got, [item[0] for item in wanted], tree=tree, by=BY, interest=True,
        base={item[0][1]: item[2] for item in wanted},
    )  # fmt: skip
    if across and not isinstance(held, DibsError) and not held.get("renewed"):
        _warn(tx, call, endings.living(tx, call, across), normal, tree)
    return held


def is_strict(guards: dict[str, Any], item: Item) -> bool:
    """Does the item need an explicit claim? A directory does if anything in it does."""
    return any(sort_of(guards, ["file", text], ignored=False) == STRICT for text in item[4]) or (
        sort_of(guards, item[0], ignored=False) == STRICT
    )


def sort_of(guards: dict[str, Any], resource: Sequence[str], *, ignored: bool) -> str:
    """Free, guarded or strict; strict wins over free, because somebody wrote it down on purpose."""
    if any(matches(pattern, resource) for pattern in guards["strict"]):
        return STRICT
    if any(matches(path, resource) for path in guards["files"].values()):
        return STRICT
    if ignored or any(covers(pattern, resource) for pattern in guards["free"]):
        return FREE
    return GUARDED


def _still_good(
    tx: Transaction, call: Call, normal: list[list[str]], tree: str, met: list[Record]
) -> dict[str, Any] | None:
    """Live claims of the agent's own on all of it, in the first half of their life: nothing needs to be written."""
    good = [
        record
        for record in met
        if holds.CLAIM in record
        and record["agent"] == call.agent
        and record["mode"] == resources.WRITE
        and not record["pending"]
        and record["until"] - tx.now > record["ttl"] // 2
        and record["tree"] in {"", tree}
        and record["tied"] == call.tied
    ]
    held = [resource for record in good for resource in record["resources"]]
    return holds.granted(tx, good[0], renewed=True) if good and resources.all_covered(normal, held) else None


def _not_explicit(tx: Transaction, call: Call, item: Item, tree: str, met: list[Record]) -> DibsError | None:
    """A strict path without a claim that was asked for by name: by this agent, or by one above it."""
    wanted = resources.normal([item[0]])
    for record in met:
        if (
            holds.CLAIM in record
            and record["until"] > tx.now
            and record["mode"] == resources.WRITE
            and record["by"] != BY
            and within(call.agent, record["agent"])
            and resources.all_covered(wanted, record["resources"])
        ):
            return None
    held = _held_by_others(tx, call, item, tree, met)
    if held is not None:
        return held
    name = resources.show(item[0])
    return Forbidden(
        f"{name} is strict here: it needs an explicit claim first. Run `dibs claim {name} --reason WHY`, read it "
        "again, then edit.",
        path=name,
        strict=True,
    )


def _held_within(tx: Transaction, call: Call, item: Item, tree: str, refusal: DibsError) -> DibsError:
    """For a directory that is nobody's to write as a whole: whoever holds something in it is the better answer."""
    if not refusal.fields.get("within"):
        return refusal
    met = list(holds.meeting(tx, resources.normal([item[0]]), tree))
    return _held_by_others(tx, call, item, tree, met) or refusal


def _held_by_others(tx: Transaction, call: Call, item: Item, tree: str, met: list[Record]) -> Held | None:
    """The refusal because of others' live claims, with an interest left; None if nobody is in the way."""
    wanted = resources.normal([item[0]])
    found = [
        record
        for record in met
        if holds.CLAIM in record
        and record["until"] > tx.now
        and endings.blocks(record, resources.WRITE, call.agent)
        and resources.any_overlap(record["resources"], wanted) is not None
    ]
    return _blocked(tx, call, wanted, tree, found)


def _blocked(tx: Transaction, call: Call, wanted: list[list[str]], tree: str, found: list[Record]) -> Held | None:
    """A refusal that names these holders, but for those whose process is dead; the agent is told when it is free."""
    found = endings.living(tx, call, found)
    if not found:
        return None
    from dibs.operations.claims import waiters

    wish = {"agent": call.agent, "mode": resources.WRITE, "tree": tree, "resources": wanted, "reason": ""}
    waiters.leave_interest(tx, wish)
    blockers = [holds.blocker(tx, record, wanted) for record in found[:SHOWN]]
    return Held(blockers=blockers, more=max(0, len(found) - SHOWN), wanted=holds.wanted(found, wanted))


def _unseen(tx: Transaction, call: Call, item: Item) -> DibsError | None:
    """May the agent write over what is there? It holds the path by now, so nobody changes it before it has looked."""
    facts = item[3] or {}
    name, known, author = resources.show(item[0]), facts["known"], facts["author"]
    others = [owner for owner in facts["owners"] if not related(owner, call.agent)]
    if facts["merges"]:
        if known in {OLDER, BLIND}:
            _note(tx, call, f"{_who(tx, author)} changed {name} since you last read it; your change was made to that.")
        return None
    if known in {SAME, GONE}:
        return None
    if known in {OLDER, BLIND}:
        when = "since you last read or wrote it" if known == OLDER else "and you have not read what is there now"
        who = "your own command" if author == call.agent else _who(tx, author)
        return Conflict(
            f"{who} changed {name} {when}. You hold it now: read it again, then change what is there.",
            path=name,
            changed_by=author if author not in NO_AGENT else None,
        )
    living = [owner for owner in others if is_there(tx, call, owner)]
    if living or facts["since"]:
        who = _who(tx, living[0] if living else author)
        return Conflict(
            f"{who} changed {name}, and you have not read it. You hold it now: read it, then change what is there.",
            path=name,
            changed_by=living[0] if living else author if author not in NO_AGENT else None,
        )
    if others:
        _note(tx, call, f"{name} had uncommitted work of {_who(tx, others[0])}, which has ended; it is kept.")
    return None


def _who(tx: Transaction, agent: str) -> str:
    from dibs.operations.agents.names import name_of

    return "somebody" if agent in NO_AGENT else name_of(tx, agent)


def is_there(tx: Transaction, call: Call, agent: str) -> bool:
    """Is that agent still at work, as far as anybody can tell?"""
    record = tx.fetch([f"a\t{agent}"]).values[f"a\t{agent}"]
    return record is not None and not record["left"] and call.alive(record["process"]) is not False


def _note(tx: Transaction, call: Call, text: str) -> None:
    """One line that the agent is told after its call."""
    from dibs.operations.messages import mailbox

    mailbox.post(tx, call.agent, "dibs", "note", text)


def _elsewhere(tx: Transaction, call: Call, normal: list[list[str]], tree: str, got: Fetched | None) -> list[Record]:
    """Claims of other agents on the same paths in other working trees: a merge conflict to come."""
    if call.policy.guards["across_worktrees"] == "ignore":
        return []
    return [
        record
        for record in holds.meeting(tx, normal, "", got)
        if holds.CLAIM in record
        and record["tree"] not in {"", tree}
        and record["until"] > tx.now
        and record["mode"] == resources.WRITE
        and not related(record["agent"], call.agent)
    ]


def _warn(tx: Transaction, call: Call, across: list[Record], normal: list[list[str]], tree: str) -> None:
    """Tell both sides, once."""
    from dibs.operations.messages import mailbox

    for record in across[:SHOWN]:
        name = holds.blocker(tx, record, normal)["resource"]
        coming = "a merge conflict is coming; agree on who goes first."
        text = f"{_who(tx, call.agent)} now changes {name} in {tree}, and you in {record['tree']}: {coming}"
        mailbox.post(tx, record["agent"], "dibs", "across", text, resource=name)
        text = f"{_who(tx, record['agent'])} changes {name} in {record['tree']}, and you in {tree}: {coming}"
        mailbox.post(tx, call.agent, "dibs", "across", text, resource=name)


def _refuse(tx: Transaction, call: Call, item: Item, tree: str, error: DibsError) -> DibsError:
    name = resources.show(item[0])
    tx.append("edit.refused", call.agent, name, {"code": error.code, "tree": tree})
    return error


def _ahead(call: Call, items: Sequence[Item], more: Sequence[dict[str, Any]] = (), **_: Any) -> list[Range]:
    if more:  # each working tree's rows are read when it is its turn
        return []
    return ranges_for([item[0] for item in items])


EDIT = Operation("edit", _edit, "May these files be written now?", takes=True, ahead=_ahead)
