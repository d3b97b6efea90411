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

A change has an id; reported again (a hook was killed, two hooks met), it has no second effect. The same content a
second time is a second change.
"""

from __future__ import annotations

from dibs.errors import NotFound
from dibs.operations.agents.names import name_of
from dibs.operations.claims import holds, resources
from dibs.operations.core.call import check_text, due, related
from dibs.operations.guards.ledger import LIKELY, MISSING, NOBODY, OUTSIDE, SURE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

CONTENT_LIFE_MS = 30 * 86_400_000  # how long a content can be restored
MAX_SUSPECTS_TOLD = 5  # with more, one more message helps nobody


def tell(
    tx: Transaction, call: Call, changes: Iterable[dict[str, Any]], tool: str, *, direct: bool = True
) -> list[dict[str, Any]]:
    """Judge these changes and tell the agents concerned; the caller by the answer, if it is `direct`."""
    found = []
    for change in changes:
        if call.place:
            _bind(tx, call, change)
        told = _one(tx, call, call.agent if direct else "", change, tool)
        if told is not None:
            found.append(told)
    return found


def _bind(tx: Transaction, call: Call, change: dict[str, Any]) -> None:
    """A far caller says what agents of its own credential did; of others, that something was done, not by whom."""
    named = {one for one in (change["actor"], *change["suspects"], *change["owners"]) if one}
    known = tx.fetch([f"a\t{one}" for one in named]).values if named else {}

    def is_own(agent: str) -> bool:
        record = known[f"a\t{agent}"]
        if call.machine:
            return record is not None and record.get("machine") == call.machine
        return related(agent, call.agent)

    change["owners"] = [one for one in change["owners"] if known.get(f"a\t{one}") is not None]
    change["suspects"] = [one for one in change["suspects"] if is_own(one)]
    if change["actor"] and not is_own(change["actor"]):
        change.update(actor="", grade=NOBODY)


def _one(tx: Transaction, call: Call, here: str, change: dict[str, Any], tool: str) -> dict[str, Any] | None:
    key = f"v\tv{change['id']}"
    if tx.fetch([key]).values[key] is not None:
        return None
    holder = _holder(tx, change)
    known = change["grade"] in {SURE, LIKELY}
    actor = change["actor"] if known else ""
    victims = [*change["owners"]]
    if holder is not None:  # work of another agent may lie in it: that one is told as well
        near = (holder["agent"], actor, *change["suspects"])
        victims = [holder["agent"], *[one for one in victims if not any(related(one, other) for other in near)]]
    if actor and (holder is None or related(holder["agent"], actor)):
        victims = [owner for owner in change["owners"] if not related(owner, actor)] or victims
    if change["grade"] == OUTSIDE:  # a holder whose calls are not reported (a person, a script) may have done it
        victims = [victim for victim in victims if any(related(victim, agent) for agent in change["heard"])]
    kin = [one for one in change["owners"] if actor and change.get("drops") and one != actor and related(one, actor)]
    kin = [one for one in kin if _is_there(tx, one)]
    if kin and all(related(victim, actor) for victim in victims):  # the work of no other agent
        return _record(tx, call, here, change, kin, actor, "taken", tool)
    if not victims:
        return None
    if actor and any(related(victim, actor) for victim in victims):
        now = "" if change["now"] == MISSING else change["now"]
        _put_back(tx, change["tree"], resources.show(change["resource"]), change["was"], now)
        if change["grade"] == SURE or change["named"]:
            return None
        return _record(tx, call, here, change, victims, actor, "doubted", tool)
    victims += kin
    shared = change["grade"] == SURE and any(related(owner, actor) for owner in change["owners"])
    if actor and (change["named"] or shared) and (holder is None or related(holder["agent"], actor)):
        return _record(tx, call, here, change, victims, actor, "taken", tool)
    how = "violated" if change["grade"] == SURE else "unattributed"
    return _record(tx, call, here, change, victims, actor, how, tool)


def _holder(tx: Transaction, change: dict[str, Any]) -> Record | None:
    """The holder of the path, by a live claim."""
    for record in holds.meeting(tx, resources.normal([change["resource"]]), change["tree"]):
        if (
            holds.CLAIM in record
            and record["until"] > tx.now
            and record["mode"] == resources.WRITE
            and not record["pending"]
        ):
            return record
    return None


def _is_there(tx: Transaction, agent: str) -> bool:
    """Has the agent's session not ended?"""
    record = tx.fetch([f"a\t{agent}"]).values[f"a\t{agent}"]
    return record is not None and not record["left"]


def _record(
    tx: Transaction, call: Call, here: str, change: dict[str, Any], victims: list[str], actor: str, how: str, tool: str
) -> dict[str, Any]:
    """Keep what a restore needs, log the change, and tell all sides; the agents in `here` by the answer."""
    identifier, name, tree = f"v{change['id']}", resources.show(change["resource"]), change["tree"]
    was = "" if change["was"] == MISSING else change["was"]
    now = "" if change["now"] == MISSING else change["now"]
    suspects = [one for one in change["suspects"] if one != actor]
    record: Record = {
        "violation": identifier, "path": name, "tree": tree, "holder": victims[0], "by": actor if how != "unattributed"
        else "", "at": tx.now, "blob": was, "overwritten": now, "until": tx.now + CONTENT_LIFE_MS, "how": how,
        "suspects": [*([actor] if actor and how == "unattributed" else []), *suspects][:MAX_SUSPECTS_TOLD],
    }  # fmt: skip
    if call.place:  # it can be restored there, and nowhere else
        record["place"] = call.place
    tx.put(f"v\t{identifier}", record, i2=due(record["until"]))
    if how in {"violated", "unattributed"} and not _put_back(tx, tree, name, was, now):
        _unsettle(tx, tree, name, identifier)
    data = {
        "id": identifier, "holder": victims[0], "tree": tree, "was": was, "now": now,
        "grade": change["grade"], "suspects": record["suspects"], "tool": check_text(tool, "tool"),
    }  # fmt: skip
    tx.append(f"edit.{how}", actor if how in {"violated", "taken"} else victims[0], name, data)
    from dibs.operations.messages import mailbox

    told = None
    texts = _texts(tx, record, victims, actor, change["grade"])
    if how in {"violated", "unattributed"} and unsettled(tx, tree, [name]):
        from dibs.operations.alerts import suspicions

        suspicions.put(
            tx, "violation", f"{tree}/{name}" if tree else name, record["by"] or victims[0], event=name, told=texts,
            path=name, tree=tree, holder=victims[0], by=record["by"], how=how, id=identifier, blob=was,
            reporter=call.reporter,
        )  # fmt: skip
    for agent, text in texts.items():
        if agent == here:
            told = text
        else:
            mailbox.post(tx, agent, call.voice, "violation", text, resource=name, violation=identifier)
    return {"violation": identifier, "path": name, "blob": was, "tree": tree, "how": how, "text": told}


def _texts(tx: Transaction, record: Record, victims: list[str], actor: str, grade: str) -> dict[str, str]:
    """The short texts for each side."""
    path, how = record["path"], record["how"]
    back = f" `dibs restore {record['violation']}` brings back what was there." if record["blob"] else ""
    holder = " and ".join([name_of(tx, victim) for victim in victims[:2]])
    if how == "doubted":
        others = ", ".join([name_of(tx, one) for one in record["suspects"]])
        if not others:
            who = "your client's formatter did it, or a person"
            return {actor: f"{path} changed right after your edit: {who}. Read it before you change it again.{back}"}
        return {actor: f"{path} changed while your command ran, and {others} was at work too.{back}"}
    if how == "taken":
        took = "took away" if grade == SURE else "probably took away"
        did = {
            True: f"{took} what you had not committed in {path}",
            False: f"continued {path}, which you left unfinished",
        }
        return {victim: f"{name_of(tx, actor)} {did[related(victim, actor)]}.{back}" for victim in victims}
    settle = (
        f" It cannot be committed before that is settled: restore it, edit it, or `dibs ack {record['violation']}`."
    )
    if how == "violated":
        found = {actor: f"your command changed {path}, which {holder} holds. What was there is kept: undo it with "
                 f"`dibs restore {record['violation']}`, and leave that file alone."}  # fmt: skip
        return found | {victim: f"{name_of(tx, actor)} changed {path}, which you hold, by a command.{back}{settle}" for
                        victim in victims}  # fmt: skip
    who = "who did it is not known"
    if grade == LIKELY:
        who = f"probably {name_of(tx, actor)} did it"
    elif grade == OUTSIDE:
        who = "no agent did it: a person, or a program that runs in the background"
    found = {
        one: f"your command probably changed {path}, which {holder} holds. What was there is kept: if it was you, undo "
        f"it with `dibs restore {record['violation']}`."
        if one == actor
        else f"{path}, which {holder} holds, was changed while several agents were at work. If it was your command: "
        f"`dibs restore {record['violation']}`."
        for one in record["suspects"]
    }
    if grade == OUTSIDE:  # it is likely to stay: what brings back the earlier content comes last
        kept = f"`dibs ack {record['violation']}` to keep it as it is"
        back = f"{'; or ' if back else '.'}{back.strip()}"
        settle = f" Read it. It cannot be committed before that is settled: edit it, or {kept}{back}"
        return found | dict.fromkeys(victims, f"{path}, which you hold, was changed; {who}.{settle}")
    return found | dict.fromkeys(victims, f"{path}, which you hold, was changed; {who}.{back}{settle}")


# --- what is unsettled


def _key(tree: str, name: str) -> str:
    return f"vu\t{tree}\t{name}"  # not `u`: that is a run, and a sweep would take this for one


def _unsettle(tx: Transaction, tree: str, name: str, identifier: str) -> None:
    key = _key(tree, name)
    record = tx.fetch([key]).values[key] or {"ids": []}
    until = tx.now + CONTENT_LIFE_MS
    tx.put(key, {"ids": [*record["ids"], identifier][-8:], "until": until}, i2=due(until))


def _put_back(tx: Transaction, tree: str, name: str, was: str, now: str) -> bool:
    """Is the content that an unsettled change removed there again? Then both changes are settled."""
    key = _key(tree, name)
    record = tx.fetch([key]).values[key]
    if record is None or not was:
        return False
    earlier = tx.fetch([f"v\t{one}" for one in record["ids"]]).values.values()
    if any(one is not None and one["blob"] == now for one in earlier):
        tx.delete(key)
        return True
    return False


def unsettled(tx: Transaction, tree: str, names: Sequence[str]) -> dict[str, list[str]]:
    """The unsettled paths among these, each with the ids of the changes."""
    keys = {_key(tree, name): name for name in names}
    found = tx.fetch(list(keys)).values
    return {
        keys[key]: record["ids"] for key, record in found.items() if record is not None and record["until"] > tx.now
    }


def settle(tx: Transaction, tree: str, names: Iterable[str]) -> None:
    """Settle these paths: an agent decided what they should contain."""
    for name in names:
        if tx.fetch([_key(tree, name)]).values[_key(tree, name)] is not None:
            tx.delete(_key(tree, name))


def accept(tx: Transaction, call: Call, identifier: str) -> str:
    """Accept the present content (`dibs ack vID`); returns the path."""
    key = f"v\t{identifier}"
    record = tx.fetch([key]).values[key]
    if record is None:
        raise NotFound(f"there is no change {identifier}; `dibs restore --list` shows what is kept", id=identifier)
    settle(tx, record["tree"], [record["path"]])
    tx.append("edit.accepted", call.agent, record["path"], {"id": identifier, "tree": record["tree"]})
    return str(record["path"])
