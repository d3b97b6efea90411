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
from dibs.operations.landing import queue, records
from dibs.stores.seam import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, NotRequired, TypedDict

    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call
    from dibs.operations.landing.answers import LandingView
    from dibs.operations.landing.records import Batch, Landing, TargetState
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

    class Intent(TypedDict):
        """A move of the target that a dead lander may have made."""

        base: str
        commit: str

    class TurnGiven(TypedDict):
        """The caller is the lander."""

        onto: str
        token: int
        turn: int
        expires_at: str
        interrupted: NotRequired[Intent]

    class QueuedLanding(TypedDict):
        """What a lander has to know of a landing."""

        landing: str
        branch: str
        commit: str
        agents: list[str]
        priority: int
        home: str

    class NextBatch(TypedDict):
        """The next landings, and the length of the queue."""

        landings: list[QueuedLanding]
        queued: int

    class Standing(TypedDict):
        """How a landing stands, and whether another process lands."""

        free: bool  # nobody lands
        queued: int
        landing: LandingView | None
        agent: NotRequired[str]  # that holds the claim on landing
        lands: NotRequired[bool]  # it is the lander


CLAIM_TTL_MS = 60_000  # the lander renews it; on another machine a dead one blocks the queue for this long
BY_LANDER = "land"  # the `by` of its claim
CHECKING: Final = "checking"
CODES = ("conflict", "check", "missing", "tree", "forbidden")  # why a landing is refused
BRANCH_CODES = ("conflict", "check")  # of these, what the branch itself has to be repaired for
MAX_BATCH = 64
MAX_PATHS = 20  # named in a refusal
MAX_OUTPUT_CHARS = 1_200  # of a check, in a message
MAX_STOPPED = 64  # landings whose agents are told why nothing lands


def _take(tx: Transaction, call: Call, request: LandTakeRequest) -> TurnGiven | DibsError:
    """Become the lander."""
    target = queue.target_of(call, request["onto"])
    agent = get_agent(tx, call.agent)
    for act in ("commit", "deploy") if request["pushes"] else ("commit",):
        refusal: DibsError | None = roles.refusal_to(call, agent, act)
        if refusal is not None:
            tx.append("call.refused", call.agent, "land", {"code": refusal.code})
            return refusal
    state = records.get_state(tx, target)
    former = state["running"]
    if former is not None and former["process"] != request["lander"]:
        refusal = _still_lands(tx, call, target, former)
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
    batch: Batch = {
        "process": request["lander"], "agent": call.agent, "at": tx.now, "token": claim["token"], "turn": state["turn"],
        "stage": CHECKING, "landings": [], "kept": bool(claim.get("renewed")),
    }  # fmt: skip
    answer: TurnGiven = {
        "onto": target, "token": claim["token"], "turn": state["turn"], "expires_at": claim["expires_at"],
    }  # fmt: skip
    if former is not None and former["stage"] == queue.MOVING:  # until the repository was asked, its intent stays
        batch["stage"], batch["landings"], batch["moves"] = former["stage"], former["landings"], former["moves"]
        batch["base"], batch["commit"] = former["base"], former["commit"]
        answer["interrupted"] = {"base": former["base"], "commit": former["commit"]}
    state["running"] = batch
    records.put_state(tx, state)
    return answer


def _still_lands(tx: Transaction, call: Call, target: str, batch: Batch) -> Held | None:
    """The lander's process, if it is still there; the claim of a dead one ends here."""
    claim = queue.holder(tx, target)
    mine = claim is not None and claim["token"] == batch["token"]
    alive = call.alive(batch["process"])
    if alive or (alive is None and mine):
        blocker = {
            "agent": batch["agent"], "resource": f"land:{target}", "mode": "write", "since": iso(tx, batch["at"]),
            "until": iso(tx, claim["until"]) if claim is not None else "", "reason": f"lands branches on {target}",
            "pid": batch["process"][3] if batch["process"] else 0,
        }  # fmt: skip
        return Held(blockers=[blocker], more=0)
    if claim is not None and mine and claim["by"] == BY_LANDER:
        endings.end(tx, claim, "gone")
        endings.serve(tx, claim["resources"], call.agent)
    return None


def _batch(tx: Transaction, call: Call, request: LandBatchRequest) -> NextBatch | Fenced:
    """The next landings, at most `size`; those in `without` are passed over."""
    mine = _mine(tx, call, request)
    if isinstance(mine, Fenced):
        return mine
    state, batch = mine
    passed = set(request["without"])
    queued = records.queued_landings(tx, state["target"], records.MAX_QUEUED)
    landings = [landing for landing in queued if landing["landing"] not in passed][
        : max(1, min(request["size"], MAX_BATCH))
    ]
    batch["stage"], batch["landings"] = CHECKING, [landing["landing"] for landing in landings]
    records.put_state(tx, state)
    return {"landings": [_next(landing) for landing in landings], "queued": state["queued"]}


def _next(landing: Landing) -> QueuedLanding:
    return {
        "landing": landing["landing"], "branch": landing["branch"], "commit": landing["commit"],
        "agents": landing["agents"], "priority": landing["priority"], "home": landing.get("home", ""),
    }  # fmt: skip


def _move(tx: Transaction, call: Call, request: LandMoveRequest) -> dict[str, list[str]] | Fenced:
    """The intent to move the target from `base` to `commit`. `moves`: each landing, its tip, the commit it becomes."""
    moves = request["moves"]
    mine = _mine(tx, call, request)
    if isinstance(mine, Fenced):
        return mine
    state, batch = mine
    landings = [identifier for identifier, _, _ in moves]
    known = records.get_landings(tx, landings)
    gone = [identifier for identifier, tip, _ in moves if not _wants(known[identifier], tip)]
    if gone or not moves:
        return {"gone": gone}
    batch["stage"], batch["landings"], batch["moves"] = queue.MOVING, landings, [list(move) for move in moves]
    batch["base"], batch["commit"] = request["base"], request["commit"]
    records.put_state(tx, state)
    data = {"base": request["base"], "commit": request["commit"], "landings": landings, "token": request["token"]}
    tx.append("landing.moving", call.agent, state["target"], data)
    return {"gone": []}


def _wants(landing: Landing | None, tip: str) -> bool:
    """Is this still what the queue asks for?"""
    return landing is not None and landing["state"] == records.QUEUED and landing["commit"] in {"", tip}


def _done(tx: Transaction, call: Call, request: LandDoneRequest) -> dict[str, list[str]] | Fenced:
    """The target has moved as intended."""
    token = request["token"]
    mine = _mine(tx, call, request)
    if isinstance(mine, Fenced):
        return mine
    state, batch = mine
    if batch["stage"] != queue.MOVING:
        return {"landed": []}
    base, commit, moves = batch["base"], batch["commit"], batch["moves"]
    known = records.get_landings(tx, [identifier for identifier, _, _ in moves])
    state["last"] = {"commit": commit, "at": tx.now, "agent": call.agent, "token": token}
    state.pop("stopped", None)
    _forget_intent(batch)
    records.put_state(tx, state)
    landed = []
    for identifier, tip, became in moves:
        landing = known[identifier]
        if landing is None or landing["state"] != records.QUEUED:
            continue
        landing["landed"], landing["token"] = became, token
        queue.decide(tx, landing, queue.LANDED)
        data = {"target": state["target"], "branch": landing["branch"], "base": base, "commit": became, "token": token}
        tx.append("landing.landed", call.agent, identifier, data)
        text = (
            f"{landing['branch']} ({tip[:12]}) landed on {state['target']} as {became[:12]}. {request['note']}".strip()
        )
        queue.tell(tx, call, landing["agents"], text, landing, commit=became)
        landed.append(identifier)
    return {"landed": landed}


def _forget_intent(batch: Batch) -> None:
    batch.pop("moves", None)
    batch.pop("base", None)
    batch.pop("commit", None)
    batch["stage"], batch["landings"] = CHECKING, []


def _back(tx: Transaction, call: Call, request: LandBackRequest) -> NoAnswer | Fenced:
    """The target did not move."""
    mine = _mine(tx, call, request)
    if isinstance(mine, Fenced):
        return mine
    state, batch = mine
    _forget_intent(batch)
    records.put_state(tx, state)
    return {}


def _refuse(tx: Transaction, call: Call, request: LandRefuseRequest) -> dict[str, bool] | Fenced:
    """One landing is refused; its branch is untouched."""
    code, why, log = request["code"], request["why"], request["log"]
    mine = _mine(tx, call, request)
    if isinstance(mine, Fenced):
        return mine
    state, _ = mine
    record = records.get_landing(tx, request["landing"])
    if record is None or record["state"] != records.QUEUED:
        return {"refused": False}
    if state.pop("stopped", None) is not None:  # the check runs, or git merges: nothing stops it any more
        records.put_state(tx, state)
    end = request["output"][-MAX_OUTPUT_CHARS:]
    named = list(request["paths"])[:MAX_PATHS]
    record.update({"code": code, "why": why, "paths": named, "output": end, "log": log})
    queue.decide(tx, record, queue.REFUSED)
    data = {"target": state["target"], "branch": record["branch"], "code": code, "why": why, "token": request["token"]}
    tx.append("landing.refused", call.agent, request["landing"], data)
    mends = "Repair it and run" if code in BRANCH_CODES else "Then run"
    advice = f"The branch is untouched. {mends} `dibs land {quoted(record['branch'])}` again."
    shown = f"\n{end}" if end else ""
    where = f" The whole output: {log}." if log else ""
    text = f"{record['branch']} did not land on {state['target']}: {why} {advice}{where}{shown}"
    queue.tell(tx, call, record["agents"], text, record, code=code, paths=named)
    return {"refused": True}


def _stop(tx: Transaction, call: Call, request: LandStopRequest) -> dict[str, int] | Fenced:
    """Nothing can land now, or these cannot. `what` is the cause without what changes from look to look."""
    why = request["why"]
    mine = _mine(tx, call, request)
    if isinstance(mine, Fenced):
        return mine
    state, _ = mine
    cause = digest_of(request["what"])[:12]
    named = set(request["landings"])
    queued = records.queued_landings(tx, state["target"], MAX_STOPPED)
    concerned = [landing for landing in queued if not named or landing["landing"] in named]
    new = [landing for landing in concerned if landing.get("stopped") != cause]
    before = state.get("stopped")
    if before is not None and before["cause"] == cause and not new:
        return {"told": 0}
    since = before["at"] if before is not None and before["cause"] == cause else tx.now
    state["stopped"] = {"at": since, "cause": cause, "why": why, "agent": call.agent}
    records.put_state(tx, state)
    data = {"why": why, "landings": [landing["landing"] for landing in concerned], "token": request["token"]}
    tx.append("landing.stopped", call.agent, state["target"], data)
    for landing in new:
        landing["stopped"] = cause
        records.put_landing(tx, landing)
        text = f"{landing['branch']} cannot land on {state['target']} now and stays queued: {why}"
        queue.tell(tx, call, landing["agents"], text, landing)
    return {"told": len(new)}


def _leave(tx: Transaction, call: Call, request: LandLeaveRequest) -> NoAnswer | Fenced:
    """The lander ends; a waiter may land."""
    mine = _mine(tx, call, request)
    if isinstance(mine, Fenced):
        return mine
    state, batch = mine
    if batch["stage"] == queue.MOVING:  # an intent stays for the next lander to look into
        batch["process"] = None
    else:
        state["running"] = None
    records.put_state(tx, state)
    claim = queue.holder(tx, state["target"])
    if claim is not None and not batch["kept"]:
        released = [queue.resource_of(state["target"])]
        endings.give_back(tx, claim, released, "released")
        endings.serve(tx, released, call.agent)
    return {}


def _mine(tx: Transaction, call: Call, request: LandConfirmRequest) -> tuple[TargetState, Batch] | Fenced:
    """The target's state and its batch; or the refusal of a lander that is no longer the one."""
    target, token = queue.target_of(call, request["onto"]), request["token"]
    state, claim = records.get_state(tx, target), queue.holder(tx, target)
    batch = state["running"]
    live = claim is not None and claim["token"] == token and related(claim["agent"], call.agent)
    if live and batch is not None and batch["turn"] == request["turn"] and batch["token"] == token:
        return state, batch
    tx.append("call.refused", call.agent, f"land:{target}", {"code": Fenced.code})
    return Fenced(
        resource=f"land:{target}",
        given=token,
        holder=claim["agent"] if claim is not None else None,
        token=claim["token"] if claim is not None else None,
        since=iso(tx, claim["since"]) if claim is not None else None,
    )


def _confirm(tx: Transaction, call: Call, request: LandConfirmRequest) -> NoAnswer | Fenced:
    """Is this process still the lander?"""
    mine = _mine(tx, call, request)
    if isinstance(mine, Fenced):
        return mine
    tx.certify()
    return {}


def _turn(tx: Transaction, call: Call, request: LandTurnRequest) -> Standing:
    """How a landing stands, and whether another process lands: for one that waits."""
    target = queue.target_of(call, request["onto"])
    state, claim = records.get_state(tx, target), queue.holder(tx, target)
    batch = state["running"]
    free = claim is None
    lands = batch is not None and claim is not None and claim["token"] == batch["token"]
    if batch is not None and lands:
        free = call.alive(batch["process"]) is False
    record = records.get_landing(tx, request["landing"]) if request["landing"] else None
    standing: Standing = {
        "free": free, "queued": state["queued"], "landing": queue.shown(tx, record) if record else None,
    }  # fmt: skip
    if claim is not None:
        standing["agent"], standing["lands"] = claim["agent"], lands
    return standing


def _targets(tx: Transaction, call: Call) -> dict[str, list[str]]:
    """Where something is queued."""
    return {"targets": records.targets(tx)}


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
