"""Deploys: who may, one at a time for each target, and the last deploy. Internal: the deploy doors run these.

The claim `deploy:TARGET` excludes other agents. The caller's own claims do not block it, so a second deploy by the same
agent, or by its family, is excluded by a record of the running one, which ends with its process.
Finishing takes the token: after a lost claim the outcome is still logged, but it does not count as deployed.

The deploy checks use facts that a door brings (git/sync.py), in this order:
- uncommitted changes: refused without `dirty`;
- missing commits of the deciding branch: `behind`. It decides for every branch and for a detached HEAD;
- no comparison possible (no remote, no answer, a shallow clone): refused, exit 2, without `unsynced`;
- the last good deploy of the target, if it is not part of what ships: `behind`, because this would roll it back;
- placeholder texts.
`rollback` says that older content is wanted, so staleness is not checked. `unsynced` excuses only what cannot be known:
a copy that is known to be stale stays refused. Both are in the log, with the start and the end.
"""

from __future__ import annotations

from dibs.errors import Behind, Conflict, Fenced, Forbidden, Held, Invalid, Unavailable
from dibs.operations.agents import roles
from dibs.operations.agents.records import get_agent
from dibs.operations.claims import endings, resources, views
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import FOLLOW_UPS, check_text, iso, related
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.guards import audits, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final, TypedDict

    from dibs.errors import DibsError
    from dibs.operations.claims.answers import BlockerView
    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call, Process
    from dibs.operations.core.policy import Policy
    from dibs.operations.guards.records import Deploy, Risks, RunningDeploy
    from dibs.operations.guards.requests import (
        DeployCheckRequest,
        DeployFinishRequest,
        DeployJudgeRequest,
        DeployStartRequest,
    )
    from dibs.stores.seam import Transaction

    class Sync(TypedDict, total=False):
        """The status of a commit against a deciding branch: the fields of `syncs` in `JUDGE` (git/sync.py)."""

        branch: str
        commit: str
        behind: int | None
        ahead: int | None
        upstream: str
        why: str
        note: str

    class Placeholder(TypedDict):
        """A placeholder text in what ships."""

        path: str
        line: int
        text: str

    class DeployToken(TypedDict):
        """A running deploy, as its own command names it."""

        target: str
        token: int

    class LastDeploy(TypedDict):
        """The last good deploy, in a refusal."""

        commit: str
        agent: str
        at: str  # ISO time

    class DeployCheckAnswer(TypedDict):
        """Of `deploy-check`."""

        last: dict[str, Deploy | None]  # the last good deploy of each target

    class DeployJudgeAnswer(TypedDict):
        """Of `deploy-judge`."""

        target: str

    class DeployFinishAnswer(DeployToken):
        """Of `deploy-finish`."""

        result: str


RESULTS = ("ok", "failed", "unverified", "unchecked", "interrupted")  # unchecked: told to do without a verification
DEPLOYED_RESULTS = ("ok", "unchecked")  # what counts as deployed
UNSURE_RESULTS = ("unverified", "unchecked", "interrupted")  # what raises an alert
ACCEPTED_RISKS: Final = ("unsynced", "rollback")  # risks that a caller may accept; the log has them
UNKNOWN_FACTS: Sync = {"behind": None}  # if no door looked
MAX_SHOWN = 5  # paths and places, in a text
MAX_IN_FIELDS = 20  # paths and places, in the error's fields


def resource_of(target: str) -> list[str]:
    """The name under which a target is claimed."""
    if not target.isprintable():  # it is part of alerts and of the commands in them, each of one line
        raise Invalid("target: no control characters, and one line", field="target")
    return ["name", f"deploy:{target}"]


def pushed_targets(policy: Policy, branch: str) -> list[str]:
    """The targets that a push to this branch deploys: none if the branch is not protected."""
    from fnmatch import fnmatchcase

    table = policy.guards.get("deploy") or {}
    if not any(fnmatchcase(branch, pattern) for pattern in table.get("protected", ())):
        return []
    named = [name for name, target in table.get("targets", {}).items() if target.get("branch") == branch]
    return named or [branch]


def _check(tx: Transaction, call: Call, request: DeployCheckRequest) -> DeployCheckAnswer | DibsError:
    """May the caller deploy to these targets now? Returns their last deploys."""
    refusal: DibsError | None = roles.refusal_to(call, get_agent(tx, call.agent), "deploy", request["client"])
    last: dict[str, Deploy | None] = {}
    for target in request["targets"]:
        refusal = refusal or _held(tx, call, target)
        last[target] = _last(tx, target)
    if refusal is not None:
        tx.append("deploy.refused", call.agent, ", ".join(request["targets"]), {"code": refusal.code})
        return refusal
    return {"last": last}


def _held(tx: Transaction, call: Call, target: str) -> Held | None:
    """Another agent's claim on a target, unless its process is dead."""
    wanted = [resource_of(target)]
    others = [
        record
        for record in claim_records.overlapping_claims(tx, wanted, "")
        if record["until"] > tx.now and record["mode"] != resources.WATCH and not related(record["agent"], call.agent)
    ]
    gone = [claim["claim"] for claim in endings.gone(tx, call, others)]
    blockers = [views.blocker(tx, record, wanted) for record in others if record["claim"] not in gone]
    return Held(blockers=blockers, more=0) if blockers else None


def _last(tx: Transaction, target: str) -> Deploy | None:
    """The last good deploy of a target."""
    return records.get_deploy(tx, check_text(target, "target"))


# --- may it ship?


def _judge(tx: Transaction, call: Call, request: DeployJudgeRequest) -> DeployJudgeAnswer | DibsError:
    """May this ship? `syncs`: its status against each deciding branch (Standing.as_json).

    `contains`: is the last good deploy part of it? `changed`: tracked files that differ from the commit. `under`:
    target and token of the deploy whose command asks (a push inside of `dibs deploy`); its accepted risks count here
    too.
    """
    target, syncs, changed = request["target"], request["syncs"], request["changed"]
    unsynced, rollback = request["unsynced"], request["rollback"]
    risks = _accepted_risks(tx, call, request["under"])
    unsynced, rollback = unsynced or risks["unsynced"], rollback or risks["rollback"]
    last = _last(tx, target)
    refusal: DibsError | None = None
    if changed and not request["dirty"]:
        refusal = _uncommitted(changed, _at_work(tx, call, request["tree"], changed))
    for sync in syncs or [UNKNOWN_FACTS]:
        refusal = refusal or stale(sync, target=target, unsynced=unsynced, rollback=rollback)
    if refusal is None and last is not None and last["commit"]:
        shown: LastDeploy = {"commit": last["commit"], "agent": last["agent"], "at": iso(tx, last["at"])}
        where: Sync = syncs[-1] if syncs else {}
        refusal = _rolls_back(where, shown, request["contains"], target=target, unsynced=unsynced, rollback=rollback)
    if refusal is None and request["placeholders"]:
        refusal = _unfinished(request["placeholders"])
    if refusal is not None:
        tx.append("deploy.refused", call.agent, target, {"code": refusal.code})
        return refusal
    return {"target": target}


def stale(sync: Sync, *, target: str = "", unsynced: bool = False, rollback: bool = False) -> DibsError | None:
    """Why a commit may not ship, by its status against the deciding branch; None if it may."""
    if rollback:
        return None
    named = {"target": target} if target else {}
    if sync.get("behind"):
        return Behind(**named, **sync)
    if sync.get("behind") is None and not unsynced:
        why = sync.get("why") or "nothing is known"
        return Unavailable(_not_comparable(why), **named, **{**sync, "why": why})
    return None


def _rolls_back(
    where: Sync,
    last: LastDeploy,
    contains: bool | None,
    *,
    target: str,
    unsynced: bool,
    rollback: bool,
) -> DibsError | None:
    """Why a commit may not replace the last good deploy; None if it may."""
    if rollback or contains:
        return None
    if contains is False:
        return Behind(target=target, **where, deployed=last)
    if unsynced:
        return None
    why = where.get("why") or (
        f"whether {last['commit'][:12]}, the last good deploy of {target}, is part of this cannot be known here"
    )
    return Unavailable(_not_comparable(why), target=target, **{**where, "why": why}, deployed=last)


def _not_comparable(why: str) -> str:
    return f"whether this copy is stale cannot be known: {why}. Use --unsynced to deploy anyway; it is recorded."


def _accepted_risks(tx: Transaction, call: Call, under: DeployToken | None) -> dict[str, bool]:
    """The accepted risks of the running deploy that the caller is part of, if its token is live."""
    if under:
        running = records.get_running_deploy(tx, check_text(under["target"], "target"))
        if running is not None and running["token"] == under["token"] and related(running["agent"], call.agent):
            return {name: bool(running.get(name)) for name in ACCEPTED_RISKS}
    return dict.fromkeys(ACCEPTED_RISKS, False)


def _at_work(tx: Transaction, call: Call, tree: str, paths: Sequence[str]) -> dict[str, str]:
    """The other agents that hold these paths."""
    holders: dict[str, str] = {}
    for claim in audits.others(tx, call, tree):
        for path in paths:
            if any(resources.overlap(["file", path], held) for held in claim["resources"]):
                holders.setdefault(path, claim["agent"])
    return holders


def _uncommitted(changed: Sequence[str], holders: dict[str, str]) -> Conflict:
    """Refuse uncommitted changes: the record of a deploy names a commit, and this tree has other content."""
    paths = sorted(changed, key=lambda path: path in holders)
    named = [f"{path} ({holders[path]} is at work on it)" if path in holders else path for path in paths[:MAX_SHOWN]]
    shown = ", ".join(named) + (f" and {len(paths) - MAX_SHOWN} more" if len(paths) > MAX_SHOWN else "")
    if not holders:
        way = "Commit them, or deploy with --dirty."
    else:
        yours = "Commit your own. " if len(holders) < len(paths) else ""
        own = "deploy from a working tree of your own (`git worktree add --detach ../deploy`), or wait."
        way = f"{yours}Theirs are not yours to commit: {own}"
    return Conflict(
        f"uncommitted changes might ship, too: {shown}. {way}",
        paths=paths[:MAX_IN_FIELDS],
        holders=holders,
    )


def _unfinished(places: Sequence[Placeholder]) -> Forbidden:
    lines = [f"{place['path']}:{place['line']}: {place['text']}" for place in places[:MAX_SHOWN]]
    more = f" … and {len(places) - MAX_SHOWN} more" if len(places) > MAX_SHOWN else ""
    message = f"placeholder texts would ship: {'; '.join(lines)}{more}. Finish them first."
    return Forbidden(message, placeholders=list(places[:MAX_IN_FIELDS]))


# --- one deploy


def _start(tx: Transaction, call: Call, request: DeployStartRequest) -> DeployToken | DibsError:
    """Start a deploy, under a live token, if no other one runs. `runs`: the process of its command."""
    target, token = request["target"], request["token"]
    claim = _live(tx, call, target, token)
    if claim is None:
        return _fenced(tx, call, target, token)
    running = records.get_running_deploy(tx, target)
    alive = (
        _still_runs(call, running, token) if running is not None and running["process"] != request["process"] else None
    )
    if running is not None and alive is not None:
        reason = f"a deploy of {running['commit'][:12] or 'this target'} is running (pid {alive[3]})"
        blocker: BlockerView = {
            "agent": running["agent"], "resource": f"deploy:{target}", "mode": "write", "since": iso(tx, running["at"]),
            "until": "", "reason": reason, "pid": alive[3],
        }  # fmt: skip
        tx.append("deploy.refused", call.agent, target, {"code": "held"})
        return Held(blockers=[blocker], more=0)
    risks = _risks(unsynced=request["unsynced"], rollback=request["rollback"])
    deploy: RunningDeploy = {
        "process": request["process"], "agent": call.agent, "commit": request["commit"], "at": tx.now, "token": token,
    }  # fmt: skip
    if request["runs"] is not None:
        deploy["runs"] = request["runs"]
    if request["unsynced"]:
        deploy["unsynced"] = True
    if request["rollback"]:
        deploy["rollback"] = True
    records.put_running_deploy(tx, target, deploy)
    data = {
        "commit": check_text(request["commit"], "commit"), "token": token,
        "command": check_text(request["command"], "command"), **risks,
    }  # fmt: skip
    tx.append("deploy.started", call.agent, target, data)
    return {"target": target, "token": token}


def _risks(*, unsynced: bool | None, rollback: bool | None) -> Risks:
    """The accepted risks of a deploy, as they are stored."""
    risks: Risks = {}
    if unsynced:
        risks["unsynced"] = True
    if rollback:
        risks["rollback"] = True
    return risks


def _still_runs(call: Call, running: RunningDeploy, token: int) -> Process | None:
    """The process of a deploy, or of its command, that is still there.

    One that cannot be seen from here counts while its claim is live: a command never outlives that.
    """
    for process in (running["process"], running.get("runs")):
        if process is not None:
            alive = call.alive(process)
            if alive or (alive is None and running["token"] == token):
                return process
    return None


def _finish(tx: Transaction, call: Call, request: DeployFinishRequest) -> DeployFinishAnswer | DibsError:
    """End a deploy. The claim is released with the commit, unless the caller held it before."""
    target, token, result, commit = request["target"], request["token"], request["result"], request["commit"]
    claim = _live(tx, call, target, token)
    running = records.get_running_deploy(tx, target)
    risks: Risks = {}
    if running is not None and running["token"] == token and related(running["agent"], call.agent):
        records.delete_running_deploy(tx, target)
        risks = _risks(unsynced=running.get("unsynced"), rollback=running.get("rollback"))
    data = {
        "commit": commit, "result": result, "token": token, "seconds": request["seconds"], "exit": request["exit"],
        **risks,
    }  # fmt: skip
    if claim is None:
        tx.append("deploy.finished", call.agent, target, {**data, "fenced": True})
        _suspect(tx, call, target, commit, "fenced")
        return _fenced(tx, call, target, token)
    tx.append("deploy.finished", call.agent, target, data)
    if result in UNSURE_RESULTS:
        _suspect(tx, call, target, commit, result)
    if risks.get("unsynced") and result in DEPLOYED_RESULTS:
        _suspect(tx, call, target, commit, "unsynced")
    if result in DEPLOYED_RESULTS:
        good: Deploy = {
            "commit": commit, "result": result, "at": tx.now, "agent": call.agent, "token": token, **risks,
        }  # fmt: skip
        records.put_deploy(tx, target, good)
    if request["keep"]:
        claim["commit"] = commit
        claim_records.put(tx, claim)
        tx.append("claim.committed", claim["agent"], claim["claim"], {"commit": commit})
    else:
        released = [one for one in claim["resources"] if resources.same(one, resource_of(target))]
        endings.give_back(tx, claim, released, "released", commit=commit)
        endings.serve(tx, released)
    return {"target": target, "token": token, "result": result}


def _suspect(tx: Transaction, call: Call, target: str, commit: str, how: str) -> None:
    """A deploy ended of which nobody knows for certain that it is good."""
    from dibs.operations.alerts import suspicions

    kind = "deploy_stale" if how == "unsynced" else "deploy_unverified"
    suspicions.put(tx, kind, target, call.agent, told=[call.agent], commit=commit, how=how, reporter=call.reporter)
    FOLLOW_UPS.suspicions(tx, call)


def _live(tx: Transaction, call: Call, target: str, token: int) -> Claim | None:
    """The caller's claim on the target that has this token, if it is live."""
    wanted = [resource_of(check_text(target, "target"))]
    for record in claim_records.overlapping_claims(tx, wanted, ""):
        if record["token"] == token and record["until"] > tx.now:
            return record if related(record["agent"], call.agent) else None
    return None


def _fenced(tx: Transaction, call: Call, target: str, token: int) -> Fenced:
    """The refusal of a stale token, with the present holder."""
    name = f"deploy:{target}"
    tx.append("call.refused", call.agent, name, {"code": "fenced"})
    now_held = None
    for record in claim_records.overlapping_claims(tx, [resource_of(target)], ""):
        if record["until"] > tx.now and record["mode"] != resources.WATCH:
            now_held = record
    return Fenced(
        resource=name,
        given=token,
        holder=now_held["agent"] if now_held else None,
        token=now_held["token"] if now_held else None,
        since=iso(tx, now_held["since"]) if now_held else None,
    )


_TARGET = Field("target", "text", "the target", required=True)
_TOKEN = Field("token", "integer", "the token of the claim on it", required=True)
_COMMIT = Field("commit", "ref", "the commit that ships", default="")
_RISKS = tuple([Field(risk, "flag", "a risk that the caller accepts", default=False) for risk in ACCEPTED_RISKS])
CHECK = Operation(
    "deploy-check", _check, "May these targets be deployed to?", sent_by=ANYWHERE,
    fields=(
        Field("targets", "words", "the targets", default=()),
        Field("client", "text", "the client", default=""),
    ),
    errors=(Forbidden, Held),
)  # fmt: skip
JUDGE = Operation(
    "deploy-judge", _judge, "May this ship?", sent_by=ANYWHERE,
    fields=(
        _TARGET,
        Field("syncs", "json", "its status against each deciding branch", default=(),
              items=(
                  Field("branch", "raw", "its branch"),
                  Field("commit", "text", "its commit"),
                  Field("behind", "integer", "the commits that it lacks; not known, if nothing is said"),
                  Field("ahead", "integer", "the commits that the branch lacks"),
                  Field("upstream", "raw", "the deciding branch"),
                  Field("why", "raw", "why nothing is known"),
                  Field("note", "raw", "what else is to be said"),
              )),
        Field("contains", "flag", "the last good deploy is part of it; not known, if nothing is said"),
        Field("changed", "raws", "tracked files that differ from the commit", default=()),
        Field("tree", "tree", "the top of the working tree", default=""),
        Field("placeholders", "json", "placeholder texts in what ships", default=(),
              items=(
                  Field("path", "raw", "the file", required=True),
                  Field("line", "integer", "its line", required=True),
                  Field("text", "raw", "the text", required=True),
              )),
        *_RISKS,
        Field("dirty", "flag", "uncommitted changes are accepted", default=False),
        Field("under", "object", "the running deploy whose command asks", items=(_TARGET, _TOKEN)),
    ),
    errors=(Behind, Conflict, Forbidden, Unavailable),
)  # fmt: skip
START = Operation(
    "deploy-start", _start, "A deploy begins.", sent_by=ANYWHERE,
    fields=(
        _TARGET, _TOKEN, _COMMIT,
        Field("command", "text", "its command", default=""),
        Field("process", "process", "the process of the deploy"),
        Field("runs", "process", "the process of its command"),
        *_RISKS,
    ),
    errors=(Held, Fenced),
)  # fmt: skip
FINISH = Operation(
    "deploy-finish", _finish, "A deploy ended.", sent_by=ANYWHERE,
    fields=(
        _TARGET, _TOKEN, _COMMIT,
        Field("result", "choice", "what came of it", choices=RESULTS, required=True),
        Field("seconds", "amount", "how long it took", default=0),
        Field("exit", "number", "the exit code of its command"),
        Field("keep", "flag", "the claim stays: the caller held it before", default=False),
    ),
    errors=(Fenced,),
)  # fmt: skip

INTERNAL = (CHECK, JUDGE, START, FINISH)
