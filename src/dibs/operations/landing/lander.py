"""The lander: the one process that moves a target branch. Internal; land/lander.py runs these.

The claim `land:TARGET` excludes other agents. The lander's own family is not blocked by it, so a record of the running
batch excludes a second process: it ends with the process, and its turn number rises with each lander. A lander says its
token and its turn with every step, and a stale one is refused; the turn is also in a ref of the repository, so that git
itself refuses the stale one (land/target.py).

- take: refused while another process lands (`held`), also while an agent holds the claim by hand to freeze the target.
  The claim of a lander whose process is dead ends here, whatever its deadline. What that lander was about to do is
  answered: whether the target moved is a fact of the repository, so the new lander looks, and says.
- batch: the first landings of the queue. They stay queued until they are decided, so a dead lander loses nothing.
- move: the intent to move the target, written before the target is. From then on nothing in it can be cancelled.
- done: the target has moved: each landing of the batch is landed, its agents are told.
- back: the target did not move; the intent is void and the landings are queued as before.
- refuse: one landing conflicts, fails the check, or cannot be found: its agents are told, with the end of the log.
- stop: nothing can land now (a lock file, a remote that refuses, a target that fails the check itself). Everything
  stays queued; each waiting agent is told once for each cause, and the queue shows it until something is decided.
"""

from __future__ import annotations

from dibs.errors import DibsError, Fenced, Forbidden, Held, quoted
from dibs.operations.agents import roles
from dibs.operations.agents.records import get_agent
from dibs.operations.claims import endings, grants
from dibs.operations.core.call import iso, related
from dibs.operations.core.declare import ANYWHERE, HOSTS, Field, Operation
from dibs.operations.landing import queue
from dibs.stores.seam import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.operations.landing.requests import (
        LandBackRequest,
        LandBatchRequest,
        LandConfirmRequest,
        LandDoneRequest,
        LandLeaveRequest,
        LandMoveRequest,
        LandRefuseRequest,
        LandStopRequest,
        LandTakeRequest,
        LandTurnRequest,
    )
    from dibs.stores.seam import Transaction

CLAIM_TTL_MS = 60_000  # the lander renews it; on another machine a dead one blocks the queue for this long
BY_LANDER = "land"  # the `by` of its claim
CHECKING = "checking"
CODES = ("conflict", "check", "missing", "tree", "forbidden")  # why a landing is refused
BRANCH_CODES = ("conflict", "check")  # of these, what the branch itself has to be repaired for
MAX_BATCH = 64
MAX_PATHS = 20  # named in a refusal
MAX_OUTPUT_CHARS = 1_200  # of a check, in a message
MAX_STOPPED = 64  # landings whose agents are told why nothing lands


def _take(tx: Transaction, call: Call, request: LandTakeRequest) -> Any:
    """Become the lander."""
    target = queue.target_of(call, request["onto"])
    agent = get_agent(tx, call.agent)
    for act in ("commit", "deploy") if request["pushes"] else ("commit",):
        refusal: DibsError | None = roles.refusal_to(call, agent, act)
        if refusal is not None:
            tx.append("call.refused", call.agent, "land", {"code": refusal.code})
            return refusal
    state = queue.state_of(tx, target)
    running = state["running"]
    if running is not None and running["process"] != request["lander"]:
        refusal = _still_lands(tx, call, target, running)
        if refusal is not None:
            return refusal
    reason = f"lands branches on {target}"
    wanted = [queue.resource_of(target)]
    claim = grants.claim_at_once(
        tx, call, grants.CLAIM.request(resources=wanted, ttl=CLAIM_TTL_MS, reason=reason, by=BY_LANDER)
    )
    if isinstance(claim, DibsError):
        return claim
    state["turn"] += 1
    interrupted = running if running is not None and running["stage"] == queue.MOVING else None
    state["running"] = {
        "process": request["lander"], "agent": call.agent, "at": tx.now, "token": claim["token"], "turn": state["turn"],
        "stage": CHECKING, "landings": [], "kept": bool(claim.get("renewed")),
    }  # fmt: skip
    if interrupted is not None:  # until the repository was asked, its intent stays
        for name in ("stage", "landings", "base", "commit", "moves"):
            state["running"][name] = interrupted[name]
    queue.put_state(tx, state)
    found = {"onto": target, "token": claim["token"], "turn": state["turn"], "expires_at": claim["expires_at"]}
    if interrupted is not None:
        found["interrupted"] = {name: interrupted[name] for name in ("base", "commit")}
    return found


def _still_lands(tx: Transaction, call: Call, target: str, running: Record) -> Held | None:
    """The lander's process, if it is still there; the claim of a dead one ends here."""
    claim = queue.holder(tx, target)
    mine = claim is not None and claim["token"] == running["token"]
    alive = call.alive(running["process"])
    if alive or (alive is None and mine):
        blocker = {
            "agent": running["agent"], "resource": f"land:{target}", "mode": "write", "since": iso(tx, running["at"]),
            "until": iso(tx, claim["until"]) if claim is not None else "", "reason": f"lands branches on {target}",
            "pid": running["process"][3] if running["process"] else 0,
        }  # fmt: skip
        return Held(blockers=[blocker], more=0)
    if claim is not None and mine and claim["by"] == BY_LANDER:
        endings.end(tx, claim, "gone")
        endings.serve(tx, claim["resources"], call.agent)
    return None


def _batch(tx: Transaction, call: Call, request: LandBatchRequest) -> Any:
    """The next landings, at most `size`; those in `without` are passed over."""
    state, refusal = _mine(tx, call, request["onto"], request["token"], request["turn"])
    if refusal is not None:
        return refusal
    passed = set(request["without"])
    left = [one for one in queue.queued(tx, state["target"], queue.MAX_QUEUED) if one["landing"] not in passed]
    chosen = left[: max(1, min(request["size"], MAX_BATCH))]
    state["running"].update(stage=CHECKING, landings=[one["landing"] for one in chosen])
    queue.put_state(tx, state)
    names = ("landing", "branch", "commit", "agents", "priority")
    shown = [{"home": one.get("home", ""), **{name: one[name] for name in names}} for one in chosen]
    return {"landings": shown, "queued": state["queued"]}


def _move(tx: Transaction, call: Call, request: LandMoveRequest) -> Any:
    """The intent to move the target from `base` to `commit`. `moves`: each landing, its tip, the commit it becomes."""
    moves = request["moves"]
    state, refusal = _mine(tx, call, request["onto"], request["token"], request["turn"])
    if refusal is not None:
        return refusal
    found = tx.get_many([f"lq\t{identifier}" for identifier, _, _ in moves])
    gone = [identifier for identifier, tip, _ in moves if not _wants(found[f"lq\t{identifier}"], tip)]
    if gone or not moves:
        return {"gone": gone}
    landings = [identifier for identifier, _, _ in moves]
    state["running"].update(
        stage=queue.MOVING,
        landings=landings,
        base=request["base"],
        commit=request["commit"],
        moves=[list(one) for one in moves],
    )
    queue.put_state(tx, state)
    data = {"base": request["base"], "commit": request["commit"], "landings": landings, "token": request["token"]}
    tx.append("landing.moving", call.agent, state["target"], data)
    return {"gone": []}


def _wants(landing: Record | None, tip: str) -> bool:
    """Is this still what the queue asks for?"""
    return landing is not None and landing["state"] == queue.QUEUED and landing["commit"] in {"", tip}


def _done(tx: Transaction, call: Call, request: LandDoneRequest) -> Any:
    """The target has moved as intended."""
    token = request["token"]
    state, refusal = _mine(tx, call, request["onto"], token, request["turn"])
    if refusal is not None:
        return refusal
    running = state["running"]
    if running["stage"] != queue.MOVING:
        return {"landed": []}
    known = tx.get_many([f"lq\t{identifier}" for identifier, _, _ in running["moves"]])
    base, commit, moves = running["base"], running["commit"], running.pop("moves")
    state["last"] = {"commit": commit, "at": tx.now, "agent": call.agent, "token": token}
    state.pop("stopped", None)
    _forget_intent(running)
    queue.put_state(tx, state)
    landed = []
    for identifier, tip, became in moves:
        landing = known[f"lq\t{identifier}"]
        if landing is None or landing["state"] != queue.QUEUED:
            continue
        queue.decide(tx, landing, queue.LANDED, landed=became, token=token)
        data = {"target": state["target"], "branch": landing["branch"], "base": base, "commit": became, "token": token}
        tx.append("landing.landed", call.agent, identifier, data)
        text = (
            f"{landing['branch']} ({tip[:12]}) landed on {state['target']} as {became[:12]}. {request['note']}".strip()
        )
        queue.tell(tx, call, landing["agents"], text, landing, commit=became)
        landed.append(identifier)
    return {"landed": landed}


def _forget_intent(running: Record) -> None:
    for name in ("base", "commit"):
        running.pop(name, None)
    running.update(stage=CHECKING, landings=[])


def _back(tx: Transaction, call: Call, request: LandBackRequest) -> Any:
    """The target did not move."""
    state, refusal = _mine(tx, call, request["onto"], request["token"], request["turn"])
    if refusal is not None:
        return refusal
    state["running"].pop("moves", None)
    _forget_intent(state["running"])
    queue.put_state(tx, state)
    return {}


def _refuse(tx: Transaction, call: Call, request: LandRefuseRequest) -> Any:
    """One landing is refused; its branch is untouched."""
    code = request["code"]
    state, refusal = _mine(tx, call, request["onto"], request["token"], request["turn"])
    if refusal is not None:
        return refusal
    found = tx.get(f"lq\t{request['landing']}")
    if found is None or found["state"] != queue.QUEUED:
        return {"refused": False}
    if state.pop("stopped", None) is not None:  # the check runs, or git merges: nothing stops it any more
        queue.put_state(tx, state)
    end = request["output"][-MAX_OUTPUT_CHARS:]
    named = list(request["paths"])[:MAX_PATHS]
    queue.decide(tx, found, queue.REFUSED, code=code, why=request["why"], paths=named, output=end, log=request["log"])
    data = {
        "target": state["target"],
        "branch": found["branch"],
        "code": code,
        "why": request["why"],
        "token": request["token"],
    }
    tx.append("landing.refused", call.agent, request["landing"], data)
    mends = "Repair it and run" if code in BRANCH_CODES else "Then run"
    kept = f"The branch is untouched. {mends} `dibs land {quoted(found['branch'])}` again."
    shown = f"\n{end}" if end else ""
    where = f" The whole output: {request['log']}." if request["log"] else ""
    text = f"{found['branch']} did not land on {state['target']}: {request['why']} {kept}{where}{shown}"
    queue.tell(tx, call, found["agents"], text, found, code=code, paths=named)
    return {"refused": True}


def _stop(tx: Transaction, call: Call, request: LandStopRequest) -> Any:
    """Nothing can land now, or these cannot. `what` is the cause without what changes from look to look."""
    state, refusal = _mine(tx, call, request["onto"], request["token"], request["turn"])
    if refusal is not None:
        return refusal
    cause = digest_of(request["what"])[:12]
    named = set(request["landings"])
    found = [one for one in queue.queued(tx, state["target"], MAX_STOPPED) if not named or one["landing"] in named]
    new = [one for one in found if one.get("stopped") != cause]
    before = state.get("stopped")
    if before is not None and before["cause"] == cause and not new:
        return {"told": 0}
    known = before["at"] if before is not None and before["cause"] == cause else tx.now
    state["stopped"] = {"at": known, "cause": cause, "why": request["why"], "agent": call.agent}
    queue.put_state(tx, state)
    data = {"why": request["why"], "landings": [one["landing"] for one in found], "token": request["token"]}
    tx.append("landing.stopped", call.agent, state["target"], data)
    for landing in new:
        landing["stopped"] = cause
        queue.put(tx, landing)
        text = f"{landing['branch']} cannot land on {state['target']} now and stays queued: {request['why']}"
        queue.tell(tx, call, landing["agents"], text, landing)
    return {"told": len(new)}


def _leave(tx: Transaction, call: Call, request: LandLeaveRequest) -> Any:
    """The lander ends; a waiter may land."""
    state, refusal = _mine(tx, call, request["onto"], request["token"], request["turn"])
    if refusal is not None:
        return refusal
    kept = state["running"]["kept"]
    if state["running"]["stage"] == queue.MOVING:  # an intent stays for the next lander to look into
        state["running"]["process"] = None
    else:
        state["running"] = None
    queue.put_state(tx, state)
    claim = queue.holder(tx, state["target"])
    if claim is not None and not kept:
        released = [queue.resource_of(state["target"])]
        endings.give_back(tx, claim, released, "released")
        endings.serve(tx, released, call.agent)
    return {}


def _mine(tx: Transaction, call: Call, onto: str, token: int, turn: int) -> tuple[Record, Fenced | None]:
    """The target's state, and the refusal of a lander that is no longer the one."""
    target = queue.target_of(call, onto)
    state, claim = queue.state_of(tx, target), queue.holder(tx, target)
    running = state["running"]
    live = claim is not None and claim["token"] == token and related(claim["agent"], call.agent)
    if live and running is not None and running["turn"] == turn and running["token"] == token:
        return state, None
    tx.append("call.refused", call.agent, f"land:{target}", {"code": Fenced.code})
    return state, Fenced(
        resource=f"land:{target}",
        given=token,
        holder=claim["agent"] if claim is not None else None,
        token=claim["token"] if claim is not None else None,
        since=iso(tx, claim["since"]) if claim is not None else None,
    )


def _confirm(tx: Transaction, call: Call, request: LandConfirmRequest) -> Any:
    """Is this process still the lander?"""
    refusal = _mine(tx, call, request["onto"], request["token"], request["turn"])[1]
    if refusal is None:
        tx.certify()
    return refusal or {}


def _turn(tx: Transaction, call: Call, request: LandTurnRequest) -> dict[str, Any]:
    """How a landing stands, and whether another process lands: for one that waits."""
    target = queue.target_of(call, request["onto"])
    state, claim = queue.state_of(tx, target), queue.holder(tx, target)
    running = state["running"]
    free = claim is None
    lands = running is not None and claim is not None and claim["token"] == running["token"]
    if running is not None and lands:
        free = call.alive(running["process"]) is False
    record = tx.get(f"lq\t{request['landing']}") if request["landing"] else None
    found = {"free": free, "queued": state["queued"], "landing": queue.shown(tx, record) if record else None}
    if claim is not None:
        found.update(agent=claim["agent"], lands=lands)
    return found


def _targets(tx: Transaction, call: Call) -> dict[str, Any]:
    """Where something is queued."""
    return {"targets": queue.targets(tx)}


_ONTO = Field("onto", "text", "the target branch", default="")
_STEP = (
    _ONTO,
    Field("token", "integer", "the token of the claim on landing", required=True),
    Field("turn", "integer", "the lander's turn", required=True),
)
_LANDING = Field("landing", "text", "the landing's id", required=True)

TAKE = Operation(
    "land-take", _take, "Become the lander.", sent_by=HOSTS,
    fields=(
        _ONTO,
        Field("lander", "process", "the process that lands", required=True),
        Field("pushes", "flag", "the target is pushed to a remote", default=False),
    ),
    errors=(Held, Forbidden),
    takes=True,
)  # fmt: skip
BATCH = Operation(
    "land-batch", _batch, "The next landings.", sent_by=HOSTS,
    fields=(
        *_STEP,
        Field("size", "integer", "how many at most", required=True),
        Field("without", "words", "landings that are passed over", default=()),
    ),
    errors=(Fenced,),
)  # fmt: skip
MOVE = Operation(
    "land-move", _move, "The intent to move the target.", sent_by=HOSTS,
    fields=(
        *_STEP,
        Field("base", "text", "where it is", required=True),
        Field("commit", "text", "where it is moved to", required=True),
        Field("moves", "rows", "the landings of this move", required=True,
              items=(
                  _LANDING,
                  Field("tip", "text", "its commit", required=True),
                  Field("became", "text", "its commit on the target", required=True),
              )),
    ),
    errors=(Fenced,),
)  # fmt: skip
DONE = Operation(
    "land-done", _done, "The target has moved.", sent_by=HOSTS,
    fields=(*_STEP, Field("note", "text", "what its agents are told as well", default="")),
    errors=(Fenced,),
)  # fmt: skip
BACK = Operation("land-back", _back, "The target did not move.", sent_by=HOSTS, fields=_STEP, errors=(Fenced,))
REFUSE = Operation(
    "land-refuse", _refuse, "A landing is refused.", sent_by=HOSTS,
    fields=(
        *_STEP, _LANDING,
        Field("code", "choice", "why", choices=CODES, required=True),
        Field("why", "raw", "the same in words", required=True),
        Field("output", "raw", "the end of what the check said", default=""),
        Field("paths", "raws", "the files that conflict", default=()),
        Field("log", "raw", "the file with the whole output", default=""),
    ),
    errors=(Fenced,),
)  # fmt: skip
STOP = Operation(
    "land-stop", _stop, "Nothing can land now.", sent_by=HOSTS,
    fields=(
        *_STEP,
        Field("what", "raw", "the cause, for the same one to be told once", required=True),
        Field("why", "raw", "why, in words", required=True),
        Field("landings", "words", "the landings that it concerns (default: all that are queued)", default=()),
    ),
    errors=(Fenced,),
)  # fmt: skip
LEAVE = Operation("land-leave", _leave, "The lander ends.", sent_by=HOSTS, fields=_STEP, errors=(Fenced,))
CONFIRM = Operation(
    "land-confirm", _confirm, "Is this process still the lander?", sent_by=HOSTS, fields=_STEP, errors=(Fenced,)
)
TURN = Operation(
    "land-turn", _turn, "The state of a landing, and whether a lander is at work.", sent_by=ANYWHERE,
    fields=(_ONTO, Field("landing", "text", "the landing's id", default="")),
    writes=False,
)  # fmt: skip
TARGETS = Operation(
    "land-targets", _targets, "The branches for which something is queued.", sent_by=ANYWHERE, writes=False
)

INTERNAL = (TAKE, BATCH, MOVE, DONE, BACK, REFUSE, STOP, LEAVE, CONFIRM, TURN, TARGETS)
