"""Deploys: who may, one at a time for each target, and what was deployed last. Internal: the deploy doors run these.

The claim `deploy:TARGET` keeps others away. The caller's own claims do not block it, so a second deploy by the same
agent, or by its family, is kept away by a record of the one that runs, which ends with its process.
Finishing takes the token: after it was lost the outcome is still logged, but it is not what counts as deployed.
"""

from __future__ import annotations

from dibs.errors import Fenced, Held
from dibs.operations import ending, holds, resources, roles
from dibs.operations.call import check_text, iso, related
from dibs.operations.declare import Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.errors import DibsError
    from dibs.operations.call import Call, Process, Record
    from dibs.stores.seam import Fetched, Transaction

RESULTS = ("ok", "failed", "unverified", "unchecked", "interrupted")  # unchecked: told to do without a verification
GOOD = ("ok", "unchecked")  # what counts as deployed


def resource_of(target: str) -> list[str]:
    """The name under which a target is claimed."""
    return ["name", f"deploy:{target}"]


def _check(tx: Transaction, call: Call, got: Fetched, targets: Sequence[str] = (), client: str = "") -> Any:
    """May the caller deploy to these targets now? Gives what was deployed there last."""
    refusal: DibsError | None = roles.refusal_to(call, got.values[f"a\t{call.agent}"], "deploy", client)
    last: dict[str, Any] = {}
    for target in targets:
        refusal = refusal or _held(tx, call, target)
        key = f"d\t{check_text(target, 'target')}"
        last[target] = tx.fetch([key]).values[key]
    if refusal is not None:
        tx.append("deploy.refused", call.agent, ", ".join(targets), {"code": refusal.code})
        return refusal
    return {"last": last}


def _held(tx: Transaction, call: Call, target: str) -> Held | None:
    """Whoever else holds a target, unless its process is dead."""
    wanted = [resource_of(target)]
    others = [
        record
        for record in holds.meeting(tx, wanted, "")
        if holds.CLAIM in record
        and record["until"] > tx.now
        and record["mode"] != resources.WATCH
        and not related(record["agent"], call.agent)
    ]
    gone = [claim["claim"] for claim in ending.gone(tx, call, others)]
    blockers = [holds.blocker(tx, record, wanted) for record in others if record["claim"] not in gone]
    return Held(blockers=blockers, more=0) if blockers else None


def _refused(tx: Transaction, call: Call, got: Fetched, target: str = "", code: str = "") -> dict[str, Any]:
    """A door found a reason against a deploy (behind, placeholders, a dirty tree): the log has it."""
    tx.append("deploy.refused", call.agent, check_text(target, "target"), {"code": check_text(code, "code")})
    return {}


def _start(
    tx: Transaction,
    call: Call,
    got: Fetched,
    target: str,
    token: int,
    commit: str = "",
    command: str = "",
    process: Process | None = None,
) -> Any:
    """A deploy begins, under a live token, if no other one runs."""
    claim = _live(tx, target, token)
    if claim is None:
        return _fenced(tx, call, target, token)
    key = f"D\t{target}"
    running = tx.fetch([key]).values[key]
    if running is not None and running["process"] != process and call.alive(running["process"]) is not False:
        blocker = {
            "agent": running["agent"], "resource": f"deploy:{target}", "mode": "write", "since": iso(tx, running["at"]),
            "until": "", "reason": f"a deploy of {running['commit'][:12] or 'this target'} is running",
        }  # fmt: skip
        tx.append("deploy.refused", call.agent, target, {"code": "held"})
        return Held(blockers=[blocker], more=0)
    tx.put(key, {"process": process, "agent": call.agent, "commit": commit, "at": tx.now, "token": token})
    data = {"commit": check_text(commit, "commit"), "token": token, "command": check_text(command, "command")}
    tx.append("deploy.started", call.agent, target, data)
    return {"target": target, "token": token}


def _finish(
    tx: Transaction,
    call: Call,
    got: Fetched,
    target: str,
    token: int,
    result: str,
    commit: str = "",
    seconds: float = 0,
    exit: int | None = None,
    keep: bool = False,
) -> Any:
    """A deploy ended. The claim is given back with the commit, unless it was the caller's before."""
    assert result in RESULTS, result
    claim = _live(tx, target, token)
    key = f"D\t{target}"
    running = tx.fetch([key]).values[key]
    if running is not None and running["token"] == token:
        tx.delete(key)
    data = {"commit": commit, "result": result, "token": token, "seconds": seconds, "exit": exit}
    if claim is None:
        tx.append("deploy.finished", call.agent, target, {**data, "fenced": True})
        return _fenced(tx, call, target, token)
    tx.append("deploy.finished", call.agent, target, data)
    if result in GOOD:
        tx.put(f"d\t{target}", {"commit": commit, "result": result, "at": tx.now, "agent": call.agent, "token": token})
    if keep:
        claim["commit"] = commit
        holds.put(tx, claim)
        tx.append("claim.committed", claim["agent"], claim["claim"], {"commit": commit})
    else:
        released = [one for one in claim["resources"] if resources.same(one, resource_of(target))]
        ending.give_back(tx, claim, released, "released", commit=commit)
        ending.serve(tx, released)
    return {"target": target, "token": token, "result": result}


def _live(tx: Transaction, target: str, token: int) -> Record | None:
    """The claim on the target that has this token, if it is live."""
    wanted = [resource_of(check_text(target, "target"))]
    for record in holds.meeting(tx, wanted, ""):
        if holds.CLAIM in record and record["token"] == token and record["until"] > tx.now:
            return record
    return None


def _fenced(tx: Transaction, call: Call, target: str, token: int) -> Fenced:
    """Who holds the target now."""
    name = f"deploy:{target}"
    tx.append("call.refused", call.agent, name, {"code": "fenced"})
    now_held = None
    for record in holds.meeting(tx, [resource_of(target)], ""):
        if holds.CLAIM in record and record["until"] > tx.now and record["mode"] != resources.WATCH:
            now_held = record
    return Fenced(
        resource=name,
        given=token,
        holder=now_held["agent"] if now_held else None,
        token=now_held["token"] if now_held else None,
        since=iso(tx, now_held["since"]) if now_held else None,
    )


CHECK = Operation("deploy-check", _check, "May these targets be deployed to?", errors=(Held,))
REFUSED = Operation("deploy-refused", _refused, "A deploy was refused by a door.")
START = Operation("deploy-start", _start, "A deploy begins.", errors=(Held, Fenced))
FINISH = Operation("deploy-finish", _finish, "A deploy ended.", errors=(Fenced,))
