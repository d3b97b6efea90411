"""After a call: what an agent is told, and which claims it no longer needs. changes.py judges each change.

Internal: only the doors around the agents' tool calls run these, and bring the facts.
"""

from __future__ import annotations

from dibs.ledger.state import LIKELY, NOBODY, OUTSIDE, SURE
from dibs.operations.agents.names import name_of
from dibs.operations.agents.records import get_agent, get_agents, put_agent, registered_agent
from dibs.operations.claims import endings, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import FOLLOW_UPS, check_text, iso, related
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.guards import changes, records
from dibs.operations.guards.edit_guard import BY, IN_TREE, PATH, SHELL, is_present
from dibs.operations.messages import mailbox
from dibs.operations.upkeep import sweeps
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.operations.claims.records import Claim
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call
    from dibs.operations.guards.changes import ToldChange
    from dibs.operations.guards.requests import (
        AuditRequest,
        ChangedRequest,
        DoubtRequest,
        GiveBackRequest,
        IdleRequest,
        OthersRequest,
        PeersRequest,
    )
    from dibs.operations.messages.answers import MessageView
    from dibs.stores.seam import Transaction

    class OtherClaim(TypedDict):
        """A claim of another agent, as a door needs it."""

        claim: str
        agent: str
        resources: Sequence[Resource]
        by: str
        since: str  # ISO times
        until: str
        reason: str
        tree: str

    class OthersAnswer(TypedDict):
        """Of `others`."""

        claims: list[OtherClaim]

    class NewsAnswer(TypedDict):
        """Of `activity`: what an agent is shown."""

        messages: list[MessageView]
        rules_changed: bool
        rules_first: bool  # it was never shown rules before

    class ChangedAnswer(TypedDict):
        """Of `changed`."""

        violations: list[ToldChange]

    class AuditAnswer(NewsAnswer, ChangedAnswer):
        """Of `audit`."""

    class IdleAnswer(TypedDict):
        """Of `idle`."""

        released: list[str]

    class OwnAnswer(TypedDict):
        """Of `mine`."""

        claims: list[list[str | list[str]]]  # claim, working tree, paths
        turn: int  # ms since 1970: when its turn began; 0: that is not known
        asks: bool  # its last call asked a person for something

    class KnownAnswer(TypedDict):
        """Of `known`."""

        known: bool

    class PeersAnswer(TypedDict):
        """Of `peers`."""

        there: list[str]
        mine: list[str]
        names: dict[str, str]


MAX_CLAIMS_READ = 2_000  # claims of other agents, by one audit


# --- who holds what here


def _others(tx: Transaction, call: Call, request: OthersRequest) -> OthersAnswer:
    """The live write claims of agents outside the caller's family that count in this working tree."""
    claims: list[OtherClaim] = [
        {
            "claim": record["claim"], "agent": record["agent"], "resources": record["resources"], "by": record["by"],
            "since": iso(tx, record["since"]), "until": iso(tx, record["until"]), "reason": record["reason"],
            "tree": record["tree"],
        } for record in others(tx, call, request["tree"])
    ]  # fmt: skip
    return {"claims": claims}


def others(tx: Transaction, call: Call, tree: str) -> list[Claim]:
    """The records of other agents' claims. A holder whose process is dead holds nothing."""
    claims, _ = claim_records.all_claims(tx, MAX_CLAIMS_READ)
    live = [
        record
        for record in claims
        if record["until"] > tx.now
        and record["mode"] == resources.WRITE
        and (not tree or record["tree"] in {"", tree})
        and not related(record["agent"], call.agent)
    ]
    return endings.living(tx, call, live)


# --- after a call


def _audit(tx: Transaction, call: Call, request: AuditRequest) -> AuditAnswer:
    """Judge the changed files, end the claims that lasted for the call, and answer with the agent's news.

    `unmade`: files that the call named, and that are as missing as before it (made and removed): nothing is held there.
    """
    violations = changes.tell(tx, call, request["found"], request["tool"])
    if request["unmade"]:
        _end_unmade(tx, call, request["unmade"])
    _give_back(tx, call, {"release": request["release"]})
    sweeps.some(tx, call, sweeps.DUE_PER_CALL)  # here, where nobody waits for the answer
    return {"violations": violations, **_news(tx, call)}


def _end_unmade(tx: Transaction, call: Call, unmade: Sequence[tuple[str, Resource]]) -> None:
    """End the edit guard's claims on files that were missing when they were claimed, and are missing again."""
    wanted = {(tree, path[1]) for tree, path in unmade}
    freed: list[Resource] = []
    for claim in claim_records.claims_of(tx, call.agent):
        base = claim.get("base") or {} if claim["by"] == BY and claim["until"] > tx.now else {}
        gone = [one for one in claim["resources"] if base.get(one[1]) == "" and (claim["tree"], one[1]) in wanted]
        if gone:
            gone = resources.with_aliases(claim["resources"], gone)
            endings.give_back(tx, claim, gone, "unchanged")
            freed += gone
    endings.serve(tx, freed)


def _give_back(tx: Transaction, call: Call, request: GiveBackRequest) -> NoAnswer:
    """End claims that lasted for a call. It brings no news: after a refused command nobody would read them."""
    freed: list[Resource] = []
    for claim in claim_records.claims_of(tx, call.agent) if request["release"] else ():
        if claim["claim"] in request["release"] and claim["by"] == SHELL:
            endings.give_back(tx, claim, claim["resources"], "released")
            freed += claim["resources"]
    endings.serve(tx, freed)
    return {}


def _changed(tx: Transaction, call: Call, request: ChangedRequest) -> ChangedAnswer:
    """The same if the agent cannot be told at once: every agent concerned gets a message, the caller too."""
    violations = changes.tell(tx, call, request["found"], "", direct=False)
    if violations:
        FOLLOW_UPS.suspicions(tx, call)
    return {"violations": violations}


# --- news


def _news(tx: Transaction, call: Call) -> NewsAnswer:
    """Messages to show now (see mailbox.py), and the rules if they changed since the agent was shown them.

    Showing the rules is the acknowledgement: it is recorded here, and the model need not confirm.
    """
    agent = registered_agent(tx, call.agent)
    news = []
    for key, message in mailbox.deliverable(tx, call.agent)[0]:
        mailbox.mark_shown(tx, key, message)
        news.append(mailbox.shown(tx, message))
    known = agent.get("rules", "")
    changed = bool(call.rules) and known != call.rules
    if changed:
        agent["rules"], agent["rules_at"] = call.rules, COMMIT
        put_agent(tx, agent)
        tx.append("rules.acknowledged", call.agent, call.agent, {"digest": call.rules})
    return {"messages": news, "rules_changed": changed, "rules_first": changed and not known}


def _activity(tx: Transaction, call: Call) -> NewsAnswer:
    """The agent is active: its claims are renewed on the way in (see entry.py), and it gets its news."""
    return _news(tx, call)


# --- when an agent stops


def _idle(tx: Transaction, call: Call, request: IdleRequest) -> IdleAnswer:
    """The agent's turn is over: edit claims on unchanged files are released, and a person may commit the others.

    `now` has the content (blob) of each file of the agent's edit claims, by claim and path. `busy`: it left something
    running, so it is still at work.
    """
    freed: list[Resource] = []
    for claim in claim_records.claims_of(tx, call.agent):
        if claim["until"] <= tx.now:
            continue
        # from an aborted command, whose end was not reported; pool_guard.py says when the unit of one ends
        if claim["by"] == SHELL and not any(map(resources.pool_of, claim["resources"])):
            endings.give_back(tx, claim, claim["resources"], "released")
            freed += claim["resources"]
        if claim["by"] != BY:
            continue
        base = claim.get("base") or {}
        same = [
            resource
            for resource in claim["resources"]
            if resource[1] in base
            and (request["now"] or {}).get(records.held_file(claim["claim"], resource[1])) == base[resource[1]]
        ]
        if same:
            same = resources.with_aliases(claim["resources"], same)
            endings.give_back(tx, claim, same, "unchanged")
            freed += same
    endings.serve(tx, freed)
    from dibs.operations.agents import turns

    agent = registered_agent(tx, call.agent)
    turns.rest(tx, agent, busy=request["busy"])
    put_agent(tx, agent)
    return {"released": resources.shown(freed)}


def _mine(tx: Transaction, call: Call) -> OwnAnswer:
    """The caller's own live claims that guards made; the door reads their files."""
    agent = get_agent(tx, call.agent)
    began = 0 if agent is None else agent["since"] if "/" in call.agent else agent.get("turn", 0)
    return {
        "turn": tx.wall + began - tx.now if began else 0,
        "asks": agent is not None and ("waits" in agent or "asked" in agent),
        "claims": [
            [record["claim"], record["tree"], [r[1] for r in record["resources"] if r[0] in resources.LITERAL_KINDS]]
            for record in claim_records.claims_of(tx, call.agent)
            if record["by"] in {BY, SHELL} and record["until"] > tx.now
        ],
    }


def _known(tx: Transaction, call: Call) -> KnownAnswer:
    """Is the caller registered? A client may report the end of a session that never began."""
    return {"known": get_agent(tx, call.agent) is not None}


def _peers(tx: Transaction, call: Call, request: PeersRequest) -> PeersAnswer:
    """Which of these agents are still at work, and which have ended in the process that the caller runs in.

    A client that is told to forget (`/clear`) continues under another id in the same process.
    """
    there, mine = [], []
    for agent, record in get_agents(tx, request["agents"]).items():
        if is_present(tx, call, agent):
            there.append(agent)
        elif record is not None and record["process"] is not None and record["process"] == call.client:
            mine.append(agent)
    return {"there": there, "mine": mine, "names": {agent: name_of(tx, agent) for agent in request["agents"]}}


def _doubt(tx: Transaction, call: Call, request: DoubtRequest) -> NoAnswer:
    """A guard could not decide and the config lets such calls through: the log records it."""
    tx.append("guard.doubted", call.agent, check_text(request["tool"], "tool") or "?", {"why": request["why"][:200]})
    return {}


_FOUND = Field(
    "found", "json", "the changed files, as the ledger has them", default=(),
    items=(
        Field("id", "channel", "the change", required=True),
        Field("resource", "resource", "the file", required=True),
        Field("tree", "tree", "its working tree", required=True),
        Field("was", "text", "the content before", required=True),
        Field("now", "text", "the content after", required=True),
        Field("actor", "text", "the agent that made it; empty if that is not known", required=True),
        Field("grade", "choice", "how certain that is", choices=(SURE, LIKELY, NOBODY, OUTSIDE), required=True),
        Field("suspects", "words", "the agents that may have made it", required=True),
        Field("owners", "words", "the agents that had unfinished work in it", required=True),
        Field("named", "flag", "a call of the actor named the file", required=True),
        Field("drops", "flag", "git or a program threw an uncommitted content away", default=False),
        Field("heard", "words", "the agents whose calls are reported", required=True),
    ),
)  # fmt: skip
_TOOL = Field("tool", "text", "the client's tool", default="", longest=0)
OTHERS = Operation(
    "others", _others, "Who else holds what in this working tree?", sent_by=ANYWHERE,
    fields=(Field("tree", "tree", "the working tree; empty for all", default=""),), writes=False,
)  # fmt: skip
MINE = Operation("mine", _mine, "Which files does the edit guard hold for me?", sent_by=ANYWHERE, writes=False)
KNOWN = Operation("known", _known, "Am I registered?", sent_by=ANYWHERE, writes=False)
_RELEASE = Field("release", "words", "the claims that end with the call", default=())
_UNMADE = Field(
    "unmade", "rows", "files that the call named, and that are as missing as before it", default=(),
    items=(IN_TREE, PATH),
)  # fmt: skip
AUDIT = Operation(
    "audit", _audit, "What did this call change that others hold?", sent_by=ANYWHERE,
    fields=(_FOUND, _RELEASE, _TOOL, _UNMADE),
    wants=("rules", "deliveries"),
)  # fmt: skip
GIVE_BACK = Operation(
    "give-back", _give_back, "The command does not run; its claims end.", sent_by=ANYWHERE, fields=(_RELEASE,)
)
CHANGED = Operation(
    "changed", _changed, "These files were changed; tell whom it concerns.", sent_by=ANYWHERE, fields=(_FOUND,)
)
ACTIVITY = Operation("activity", _activity, "I am here; what is new?", sent_by=ANYWHERE, wants=("rules", "deliveries"))
PEERS = Operation(
    "peers", _peers, "Which of these agents are at work?", sent_by=ANYWHERE,
    fields=(Field("agents", "words", "the agents", required=True),), writes=False,
)  # fmt: skip
IDLE = Operation(
    "idle", _idle, "The agent's turn ended.", sent_by=ANYWHERE,
    fields=(
        Field("now", "texts", "the content of each file, by claim and path"),
        Field("busy", "flag", "it left something running", default=False),
    ),
    wants=("rules",),
)  # fmt: skip
DOUBT = Operation(
    "doubt", _doubt, "A guard let something pass without knowing.", sent_by=ANYWHERE,
    fields=(Field("why", "raw", "why it could not be decided", default=""), _TOOL),
)  # fmt: skip

INTERNAL = (OTHERS, MINE, KNOWN, AUDIT, GIVE_BACK, CHANGED, ACTIVITY, PEERS, IDLE, DOUBT)
