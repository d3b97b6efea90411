"""What a change of a file means for its holder and its owner. The ledger says who made the change.

The owner of a path is the agent with unfinished work in it.

- By its owner or holder: nothing is said. If that is only likely, one line tells it, and the content is kept.
- By another agent, in a call that the edit guard let pass: the work was taken over; the earlier owner is told.
- By a relative that threw it away (a subagent's `git stash` of its parent's work, or the other way round): the owner is
  told, if it is still there. An edit by a relative is not told: parents and subagents continue each other's work.
- By one of several who may have made what was there: the same. It may have been the work of the others.
- By no agent, and its holder runs no hooks here (a person, a script): the holder's own work, as far as is known.
- By another agent otherwise: a violation. By nobody certain: unattributed. Both sides are told, the earlier content is
  kept for `dibs restore`, and the path is unsettled: no commit takes it until an agent decides what it should contain.
- Back to what an unsettled change took away: that settles it, and its owner is told; nothing is to be undone.
- The work of agents that are gone: it is kept, and its actor is told; it is not unsettled, because nobody holds it.

A change has an id; reported again (a hook was killed, two hooks met), it has no second effect. The same content a
second time is a second change.
"""

from __future__ import annotations

from dibs.errors import NotFound, accepting, restoring
from dibs.ledger.state import LIKELY, MISSING, NOBODY, OUTSIDE, SURE
from dibs.operations.agents.names import name_of
from dibs.operations.agents.records import get_agent, get_agents
from dibs.operations.claims import records as claim_records
from dibs.operations.claims import resources
from dibs.operations.core.call import check_text, related
from dibs.operations.guards import records
from dibs.operations.guards.records import CONTENT_LIFE_MS, MAX_UNSETTLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NotRequired, TypedDict

    from dibs.operations.claims.records import Claim
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.guards.records import KeptFile
    from dibs.stores.seam import Transaction

    class FoundChange(TypedDict):
        """A change of a file, as the ledger has it and a door brings it (audits.py declares the fields)."""

        id: str
        resource: Resource
        tree: str
        was: str
        now: str
        actor: str
        grade: str
        suspects: list[str]
        owners: list[str]
        named: bool
        drops: NotRequired[bool]
        heard: list[str]

    class ToldChange(TypedDict):
        """A change that was told, as its door learns it."""

        violation: str  # under which the content before it is kept
        path: str
        blob: str
        tree: str
        how: str
        text: str | None  # for the caller


MAX_SUSPECTS_TOLD = 5  # with more, one more message helps nobody
YOU = "you"  # the reader among the suspects


def tell(
    tx: Transaction, call: Call, changes: Iterable[FoundChange], tool: str, *, direct: bool = True
) -> list[ToldChange]:
    """Judge these changes and tell the agents concerned; the caller by the answer, if it is `direct`."""
    told: list[ToldChange] = []
    for change in changes:
        if call.place:
            _bind(tx, call, change)
        news = _tell_change(tx, call, change, tool, direct=direct)
        if news is not None:
            told.append(news)
    return told


def _bind(tx: Transaction, call: Call, change: FoundChange) -> None:
    """A far caller says what agents of its own credential did; of others, that something was done, not by whom."""
    owners = get_agents(tx, change["owners"])
    change["owners"] = [agent for agent in change["owners"] if owners[agent] is not None]
    change["suspects"] = accused(tx, call, change["suspects"])
    if change["actor"] and not accused(tx, call, [change["actor"]]):
        change["actor"], change["grade"] = "", NOBODY


def accused(tx: Transaction, call: Call, agents: Sequence[str]) -> list[str]:
    """Those of these agents that the caller can say something against: all; for a far caller, its credential's own."""
    if not call.place:
        return list(agents)
    known = get_agents(tx, agents)

    def is_own(agent: str) -> bool:
        record = known[agent]
        if call.machine:
            return record is not None and record.get("machine") == call.machine
        return related(agent, call.agent)

    return [one for one in agents if is_own(one)]


def _tell_change(tx: Transaction, call: Call, change: FoundChange, tool: str, *, direct: bool) -> ToldChange | None:
    if records.get_kept(tx, f"v{change['id']}") is not None:
        return None
    holder = _holder(tx, call, change)
    actor = change["actor"] if change["grade"] in {SURE, LIKELY} else ""
    victims = _victims(change, holder, actor)
    report = _Report(call, change, holder, victims, actor, tool, call.agent if direct else "")
    kin = [one for one in change["owners"] if actor and change.get("drops") and one != actor and related(one, actor)]
    kin = [one for one in kin if not _is_gone(tx, call, one)]
    if kin and all(related(victim, actor) for victim in victims):  # the work of no other agent
        report.victims = kin
        return _record(tx, report, "taken")
    if not victims:
        return None
    if actor and any(related(victim, actor) for victim in victims):
        _put_back(tx, report)
        if change["grade"] == SURE or change["named"]:
            return None
        if not change["owners"] and not report.suspects:  # nobody's work was there, and nobody else may have done it
            return None
        return _record(tx, report, "doubted")
    there = [victim for victim in victims if not _is_gone(tx, call, victim)]
    report.left = not there  # an agent that is gone holds nothing: nobody has to settle it
    report.victims = [*(there or victims), *kin]
    shared = change["grade"] == SURE and any(related(owner, actor) for owner in change["owners"])
    if actor and (change["named"] or shared or report.left) and (holder is None or related(holder["agent"], actor)):
        return _record(tx, report, "taken")
    return _record(tx, report, "violated" if change["grade"] == SURE else "unattributed")


def _victims(change: FoundChange, holder: Claim | None, actor: str) -> list[str]:
    """The agents whose file it was: the holder, and those with unfinished work in it."""
    victims = [*change["owners"]]
    if holder is not None:  # work of another agent may lie in it: that one is told as well
        near = (holder["agent"], actor, *change["suspects"])
        victims = [holder["agent"], *[one for one in victims if not any(related(one, other) for other in near)]]
    if actor and (holder is None or related(holder["agent"], actor)):
        victims = [owner for owner in change["owners"] if not related(owner, actor)] or victims
    if change["grade"] == OUTSIDE:  # a holder whose calls are not reported (a person, a script) may have done it
        victims = [victim for victim in victims if any(related(victim, agent) for agent in change["heard"])]
    return victims


def _holder(tx: Transaction, call: Call, change: FoundChange) -> Claim | None:
    """The holder of the path, by a live claim. An agent that is gone holds nothing."""
    for record in claim_records.overlapping_claims(tx, resources.normal([change["resource"]]), change["tree"]):
        if (
            record["until"] > tx.now
            and record["mode"] == resources.WRITE
            and not record["pending"]
            and not _is_gone(tx, call, record["agent"])
        ):
            return record
    return None


def _is_gone(tx: Transaction, call: Call, agent: str) -> bool:
    """Has that agent's session ended, or its process? One that is not registered may be there."""
    record = get_agent(tx, agent)
    return record is not None and (bool(record["left"]) or call.alive(record["process"]) is False)


class _Report:
    """One change that is to be told: whose file it was, and who did it."""

    __slots__ = ("actor", "call", "grade", "here", "holder", "id", "left", "name", "now", "suspects", "tool", "tree",
                 "victims", "was")  # fmt: skip

    def __init__(
        self, call: Call, change: FoundChange, holder: Claim | None, victims: list[str], actor: str, tool: str,
        here: str,
    ) -> None:  # fmt: skip
        self.call = call  # whose word it is
        self.id, self.name, self.tree = f"v{change['id']}", resources.show(change["resource"]), change["tree"]
        self.was = "" if change["was"] == MISSING else change["was"]
        self.now = "" if change["now"] == MISSING else change["now"]
        self.holder = holder["agent"] if holder is not None else ""
        self.victims, self.actor, self.grade = victims, actor, change["grade"]
        self.suspects = [one for one in change["suspects"] if one != actor]
        self.left = False  # no victim is there any more
        self.tool, self.here = tool, here  # the agent in `here` is told by the answer

    def whose(self, tx: Transaction, reader: str = "") -> str:
        """Whose file it is, for one reader."""
        if reader:
            own = self.holder and related(self.holder, reader)
            return "which you hold" if own else "in which you have uncommitted work"
        names = " and ".join([name_of(tx, victim) for victim in self.victims[:2]])
        if self.victims[0] == self.holder:
            return f"which {names} {'hold' if ' and ' in names else 'holds'}"
        return f"in which {names} {'have' if ' and ' in names else 'has'} uncommitted work"

    def did(self, tx: Transaction, reader: str = "") -> str:
        """Who did it, as far as is known, for one reader."""
        return _who(tx, self.grade, [self.actor] if self.actor else self.suspects, reader)

    def may_restore(self, agent: str) -> bool:
        """Would `dibs restore` be granted to that agent? Not while another one holds the file."""
        return bool(self.was) and (not self.holder or related(self.holder, agent))


def who_did_it(grade: str, names: Sequence[str]) -> str:
    """The one sentence about the actor of a change, in messages, alerts and reports."""
    if grade == OUTSIDE:
        return "no agent did it: a person, or a program that runs in the background"
    if grade == SURE and names:
        return f"{names[0]} did it"
    if grade == LIKELY and names:
        return f"probably {names[0]} did it"
    if names and names[0] == YOU:
        return f"who did it is not known: it may have been {' or '.join(names[:MAX_SUSPECTS_TOLD])}"
    return "who did it is not known" + (f": {' or '.join(names[:MAX_SUSPECTS_TOLD])}" if names else "")


def _who(tx: Transaction, grade: str, agents: Sequence[str], reader: str) -> str:
    """The same for one reader, which comes first among the suspects and is not called by its name."""
    own = [YOU] if reader in agents else []
    return who_did_it(grade, [*own, *[name_of(tx, one) for one in agents if one != reader]])


def actor_of(tx: Transaction, identifier: str, reader: str) -> str:
    """The same about a change that was reported."""
    kept = records.get_kept(tx, identifier)
    if kept is None:
        return _who(tx, "", (), reader)
    return _who(tx, kept.get("grade", ""), [kept["by"]] if kept["by"] else kept.get("suspects", []), reader)


def _record(tx: Transaction, report: _Report, how: str) -> ToldChange:
    """Keep what a restore needs, log the change, and tell all sides."""
    actor, first = report.actor, report.victims[0]
    sure = how != "unattributed"
    suspects = [*([actor] if actor and not sure else []), *report.suspects][:MAX_SUSPECTS_TOLD]
    by = actor if sure else ""
    kept = records.new_kept(tx, report.id, report.name, report.tree, holder=first, by=by, blob=report.was)
    kept.update({"overwritten": report.now, "how": how, "suspects": suspects, "grade": report.grade})
    records.put_kept(tx, kept, report.call.place)
    counts = how in {"violated", "unattributed"}
    restored = _put_back(tx, report) if counts else ""
    data = {
        "id": report.id, "holder": first, "tree": report.tree, "was": report.was, "now": report.now,
        "grade": report.grade, "suspects": suspects, "tool": check_text(report.tool, "tool"),
    }  # fmt: skip
    if restored:
        data = {"id": restored, "tree": report.tree, "was": report.was, "now": report.now, "undo": report.id}
        tx.append("edit.restored", actor, report.name, data)
        texts = dict.fromkeys(report.victims, f"{report.name} is again as it was before change {restored}.")
    else:
        tx.append(f"edit.{how}", actor if how in {"violated", "taken"} else first, report.name, data)
        texts = _texts(tx, report, how)
        if counts and not report.left:
            _unsettle(tx, report.tree, report.name, report.id)
            _alert(tx, report, how, texts)
    return {
        "violation": report.id, "path": report.name, "blob": report.was, "tree": report.tree, "how": how,
        "text": _post(tx, report, texts),
    }  # fmt: skip


def _alert(tx: Transaction, report: _Report, how: str, told: Iterable[str]) -> None:
    from dibs.operations.alerts import suspicions

    by = report.actor if how == "violated" else ""
    whose = report.whose(tx)
    text = f"{name_of(tx, by)} changed {report.name}, {whose}." if by else (
        f"{report.name}, {whose}, was changed; {report.did(tx)}."
    )  # fmt: skip
    suspicions.put(
        tx, "violation", _subject(report.tree, report.name), by or report.victims[0],
        event=report.name, told=told, path=report.name, tree=report.tree, holder=report.victims[0], how=how,
        id=report.id, blob=report.was, text=text, reporter=report.call.reporter,
    )  # fmt: skip


def _post(tx: Transaction, report: _Report, texts: dict[str, str]) -> str | None:
    """Send these texts; returns the one for the caller, which reads it in the answer."""
    from dibs.operations.messages import mailbox

    for agent, text in texts.items():
        if agent != report.here:
            mailbox.post(tx, agent, report.call.voice, "violation", text, resource=report.name, violation=report.id)
    return texts.get(report.here)


def _texts(tx: Transaction, report: _Report, how: str) -> dict[str, str]:
    """The short texts for each side. A remedy is told only to an agent to which it is granted."""
    path, actor = report.name, report.actor
    if how == "doubted":
        others = ", ".join([name_of(tx, one) for one in report.suspects])
        if not others:
            did = (
                "changed right after your edit: your client's formatter did it, or a person. Read it before you change "
            )
            return {actor: f"{path} {did}it again.{_back(tx, report, actor)}"}
        return {
            actor: f"{path} changed while your command ran, and {others} was at work too.{_back(tx, report, actor)}"
        }
    if how == "taken":
        return _taken(tx, report)
    if report.left:
        return {}
    texts: dict[str, str] = {}
    for one in [actor] if how == "violated" else [*([actor] if actor else []), *report.suspects][:MAX_SUSPECTS_TOLD]:
        did = "changed" if how == "violated" else "probably changed" if one == actor else "may have changed"
        undo = f": {'' if how == 'violated' else 'if it was you, '}undo it with `{restoring(report.id)}`, and"
        if not report.may_restore(one):
            undo = f", and {name_of(tx, report.victims[0])} is told how to bring it back:"
        kept = f" What was there is kept{undo} leave that file alone." if report.was else ""
        texts[one] = f"your command {did} {path}, {report.whose(tx)}.{kept}"
    return texts | {victim: _told(tx, report, victim, how) for victim in report.victims}


def _back(tx: Transaction, report: _Report, agent: str) -> str:
    """How what was there comes back: at once, or when the holder has released the file."""
    if not report.was:
        return ""
    if report.may_restore(agent):
        return f" `{restoring(report.id)}` brings back what was there."
    return (
        f" What was there is kept: `{restoring(report.id)}`, when {name_of(tx, report.holder)} has released the file."
    )


def _taken(tx: Transaction, report: _Report) -> dict[str, str]:
    """The work was continued, or thrown away by a relative; or its agent is gone, and the actor is told."""
    path, actor = report.name, report.actor
    if report.left:
        left = f"in which {name_of(tx, report.victims[0])}, which has ended, left uncommitted work"
        return {actor: f"your command changed {path}, {left}.{_back(tx, report, actor)}"}
    took = "took away" if report.grade == SURE else "probably took away"
    did = {
        True: f"{took} what you had not committed in {path}",
        False: f"continued {path}, in which you have uncommitted work",
    }
    return {
        victim: f"{name_of(tx, actor)} {did[related(victim, actor)]}.{_back(tx, report, victim)}"
        for victim in report.victims
    }


def _told(tx: Transaction, report: _Report, victim: str, how: str) -> str:
    """What one whose file it was is told."""
    path, whose = report.name, report.whose(tx, victim)
    accept = f"`{accepting(report.id)}`"
    restore = report.may_restore(victim)
    if report.grade == OUTSIDE:  # it is likely to stay: what brings back the earlier content comes last
        back = f"; or{_back(tx, report, victim)}" if restore else "."
        settle = (
            f" Read it. It cannot be committed before that is settled: edit it, or {accept} to keep it as it is{back}"
        )
        return f"{path}, {whose}, was changed; {report.did(tx, victim)}.{settle}"
    settle = f" It cannot be committed before that is settled: {'restore it, ' if restore else ''}edit it, or {accept}."
    if how == "violated":
        return f"{name_of(tx, report.actor)} changed {path}, {whose}, by a command.{_back(tx, report, victim)}{settle}"
    return f"{path}, {whose}, was changed; {report.did(tx, victim)}.{_back(tx, report, victim)}{settle}"


# --- what is unsettled


def _subject(tree: str, name: str) -> str:
    """The subject of the alert about an unsettled path."""
    return f"{tree}/{name}" if tree else name


def _unsettle(tx: Transaction, tree: str, name: str, identifier: str) -> None:
    known = records.get_unsettled(tx, tree, name)
    ids = [*(known["ids"] if known is not None else ()), identifier][-MAX_UNSETTLED:]
    records.put_unsettled(tx, tree, name, {"ids": ids, "until": tx.now + CONTENT_LIFE_MS})


def _put_back(tx: Transaction, report: _Report) -> str:
    """The unsettled change whose removed content is there again; it and those after it are settled. "" if none is."""
    known = records.get_unsettled(tx, report.tree, report.name)
    if known is None or not report.was:
        return ""
    for place, kept in enumerate(records.get_kept_of(tx, known["ids"]).values()):
        if kept is not None and kept["blob"] == report.now:
            if place:
                records.put_unsettled(tx, report.tree, report.name, {**known, "ids": known["ids"][:place]})
            else:
                settle(tx, report.call, report.tree, [report.name])
            return kept["violation"]
    return ""


def unsettled(tx: Transaction, tree: str, names: Sequence[str]) -> dict[str, list[str]]:
    """The unsettled paths among these, each with the ids of the changes."""
    known = records.get_unsettled_of(tx, tree, names)
    return {name: record["ids"] for name, record in known.items() if record["until"] > tx.now}


def owed_to(tx: Transaction, call: Call, kept: KeptFile) -> str:
    """The other agent that is still there and whose work an unsettled change took away; "" if there is none."""
    ids = unsettled(tx, kept["tree"], [kept["path"]]).get(kept["path"], ())
    owner = kept["holder"]
    is_owed = kept["violation"] in ids and not related(owner, call.agent) and not _is_gone(tx, call, owner)
    return owner if is_owed else ""


def settle(tx: Transaction, call: Call, tree: str, names: Iterable[str]) -> None:
    """Settle these paths: an agent decided what they should contain. Their alerts end with it."""
    for name in names:
        if records.get_unsettled(tx, tree, name) is not None:
            from dibs.operations.alerts import lifecycle

            records.delete_unsettled(tx, tree, name)
            lifecycle.recheck(tx, call, "violation", _subject(tree, name))


def accept(tx: Transaction, call: Call, identifier: str) -> str:
    """Accept the present content (`dibs ack vID`); returns the path."""
    kept = records.get_kept(tx, identifier)
    if kept is None:
        raise NotFound(f"there is no change {identifier}; `dibs restore` shows what is kept", id=identifier)
    settle(tx, call, kept["tree"], [kept["path"]])
    tx.append("edit.accepted", call.agent, kept["path"], {"id": identifier, "tree": kept["tree"]})
    return kept["path"]
