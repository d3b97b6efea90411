"""Credentials: who a caller is that a server cannot see, proved by a secret of which the store has a hash only.

A person makes one (`dibs token new`) for

- an agent: speaks for that agent and its subagents, nobody else.
- a person: speaks for that person, and for any agent, as a person at a terminal does.
- a machine: a host whose dibs names its own agents. The agents that it registers are its own: no other machine's
  credential speaks for them, and it speaks for no agent that another registered.

The door that got a credential passes its id and the hash of its secret (`Call.credential`). Every call verifies them in
the transaction that decides, reads too, so that a revocation counts at once. The credential's role is the caller's,
whatever the caller says; without one the config decides, as for any agent.

- refusal: `unauthorized` (unknown, revoked, expired; raised, so that it leaves no event), `forbidden` for the word of
  another agent.
- retry: a second `token new` with the same request id gets the first answer without the secret, which was shown once.
  A second `token revoke` changes nothing.
"""

from __future__ import annotations

from _operator import _compare_digest as same_text  # hmac's own, without its imports

from dibs.errors import Forbidden, Invalid, NotFound, Quota, Unauthorized
from dibs.operations.agents.records import CREDENTIAL_KEYS, credential_key, get_agent
from dibs.operations.agents.roles import rank_of
from dibs.operations.core.authority import comes_from_agent
from dibs.operations.core.call import check_agent_id, due, iso, lineage_of, within
from dibs.operations.core.declare import BY_PERSON, NEAR, PAGED, PERSON, RANKS, Field, Operation
from dibs.operations.core.policy import DAY, MAX_DURATION_MS, MINUTE
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from dibs.operations.agents.answers import (
        CredentialView,
        TokenListAnswer,
        TokenNewAnswer,
        TokenRevokeAnswer,
    )
    from dibs.operations.agents.records import Agent, Credential, CredentialKind
    from dibs.operations.agents.requests import (
        BearerRequest,
        ServeTokenRequest,
        TokenListRequest,
        TokenNewRequest,
        TokenRevokeRequest,
    )
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

    class Bearer(TypedDict):
        """Of `bearer`."""

        kind: CredentialKind
        who: str
        role: str
        until: int

    class KnownBearer(TypedDict):
        """A credential, as a server compares it."""

        id: str
        hash: str
        kind: CredentialKind
        who: str
        role: str
        why: str  # it may not be used; "": it may

    class BearersAnswer(TypedDict):
        """Of `bearers`."""

        bearers: list[KnownBearer]


AGENT_KIND: Literal["agent"] = "agent"
PERSON_KIND: Literal["person"] = "person"
MACHINE_KIND: Literal["machine"] = "machine"
LIFE_MS = 90 * DAY  # long enough for a quarter's work, short enough that a forgotten one ends
KEPT_MS = 7 * DAY  # how long one that ended stays listed
MAX_CREDENTIALS = 1_000  # in one workspace, with those that ended lately
HASH_CHARS = 64  # SHA-256, hexadecimal
FINGERPRINT_CHARS = 16  # of the hash, in answers and events: tells two secrets apart, proves nothing


# --- verification, on the way into every call


def live(tx: Transaction, identifier: str, digest: str, record: Credential | None) -> Credential:
    """The record of a credential whose secret has this hash, if it may be used now; else `Unauthorized`."""
    if record is None or not same_text(record["hash"], digest):
        raise Unauthorized(why="unknown")
    if record["revoked"]:
        raise Unauthorized(why="revoked", credential=identifier)
    if record["until"] <= tx.now:
        raise Unauthorized(why="expired", credential=identifier)
    return record


def read(tx: Transaction, identifier: str, digest: str) -> Credential:
    """The record of a presented credential; `Unauthorized` if it may not be used."""
    return live(tx, identifier, digest, tx.get(credential_key(identifier)))


def enter(tx: Transaction, call: Call) -> Forbidden | None:
    """Verify the call's credential; take its role; why it does not speak for this agent, or None."""
    assert call.credential is not None
    record = read(tx, *call.credential)
    kind, who = record["kind"], record["who"]
    call.role, call.machine, call.person = record["role"], "", False
    if call.role and rank_of(call, call.role) == PERSON and comes_from_agent(tx, call):
        call.role = ""  # no agent has a person's rank: the config says what it may do
    if kind == PERSON_KIND:
        call.person = bool(call.role) and call.agent == who
        return None
    if kind == AGENT_KIND:
        own = within(call.agent, who) or within(call.agent, _alias(tx, who))
        return None if own else _another(call, kind, who)
    call.machine = who
    records = {ancestor: get_agent(tx, ancestor) for ancestor in lineage_of(call.agent)}
    own = all(record is None or record.get("machine") == who for record in records.values())
    if own and any(record is None and is_of_another(tx, ancestor, kind, who) for ancestor, record in records.items()):
        own = False
    return None if own else _another(call, kind, who)


def speaks_for(credential: Credential, agent: str, record: Agent | None) -> bool:
    """Is this agent one of the credential's? For what is known of an agent that does not call now."""
    kind, who = credential["kind"], credential["who"]
    if kind == AGENT_KIND:
        return within(agent, who) or (record is not None and record.get("same") == who)
    registered = record.get("machine", "") if record is not None else ""
    return bool(registered == (who if kind == MACHINE_KIND else ""))


def _alias(tx: Transaction, agent: str) -> str:
    """The agent that this id is another id of (aliases.py); never one that only has it as a name."""
    record = get_agent(tx, agent)
    return str(record.get("same", agent)) if record is not None else agent


def user_of(tx: Transaction, machine: str, user: str) -> str:
    """By what name a machine's user calls that names no agent: two machines may have a user of one name."""
    record = get_agent(tx, user)
    if record is not None:
        return user if record.get("machine") == machine else f"{user}@{machine}"
    return f"{user}@{machine}" if is_of_another(tx, user, MACHINE_KIND, machine) else user


def _another(call: Call, kind: str, who: str) -> Forbidden:
    if kind == AGENT_KIND:
        text = f"this credential speaks for {who} and its subagents, not for {call.agent}."
    else:
        text = f"this credential is the machine {who}'s; {call.agent} was not registered by that machine."
    return Forbidden(f"{text} A person makes another: `dibs token new`.", agent=who, wanted=call.agent)


# --- making, listing, revoking


def _new(tx: Transaction, call: Call, request: TokenNewRequest) -> TokenNewAnswer | Quota:
    owners = ((AGENT_KIND, request["agent"]), (PERSON_KIND, request["person"]), (MACHINE_KIND, request["machine"]))
    named = [(kind, who) for kind, who in owners if who]
    if len(named) != 1:
        raise Invalid("say whose it is: exactly one of --agent, --person and --machine", field="agent")
    (kind, who), role = named[0], request["role"]
    check_agent_id(who)
    if kind != AGENT_KIND and "/" in who:
        raise Invalid(f"{kind}: a name without a slash, which separates subagents", field=kind)
    if role and role not in RANKS and role not in call.policy.guards["roles"]["named"]:
        raise Invalid(f"role: one of {', '.join(RANKS)}, or a role of the config, not {role!r}", field="role")
    if kind == MACHINE_KIND and role == PERSON:
        raise Invalid("role: a machine's agents are not people; make a credential for the person", field="role")
    if len(tx.fetch([prefix_range(CREDENTIAL_KEYS)], MAX_CREDENTIALS).rows) >= MAX_CREDENTIALS:
        return _full()
    role = role or (PERSON if kind == PERSON_KIND else "")
    record = make(tx, call, kind, who, role, request["expires"], request["note"], request["hash"])
    return {"credential": shown(tx, record)}


def _full() -> Quota:
    return Quota(f"at most {MAX_CREDENTIALS} credentials; expired and revoked ones are removed after a week.",
                 what="credentials", limit=MAX_CREDENTIALS)  # fmt: skip


def make(
    tx: Transaction, call: Call, kind: CredentialKind, who: str, role: str, expires: int, note: str, digest: str
) -> Credential:  # fmt: skip
    """Keep a new credential. The secret is not here, and never was."""
    if len(digest) != HASH_CHARS:
        raise Invalid("a credential needs the hash of its secret", field="hash")
    record: Credential = {
        "id": tx.id(), "kind": kind, "who": who, "role": role, "hash": digest, "by": call.agent, "note": note,
        "since": tx.now, "until": tx.now + expires, "revoked": 0,
    }  # fmt: skip
    tx.put(credential_key(record["id"]), record, i2=due(record["until"] + KEPT_MS))
    data = {"kind": kind, "who": who, "role": role, "until": record["until"], "fingerprint": digest[:FINGERPRINT_CHARS]}
    tx.append("token.made", call.agent, record["id"], data)
    return record


def _list(tx: Transaction, call: Call, request: TokenListRequest) -> TokenListAnswer:
    from dibs.operations.core import paging

    def wanted(rows: list[tuple[str, Credential]]) -> list[tuple[str, Credential]]:
        return [row for row in rows if request["all"] or _state(tx, row[1]) == "live"]

    sections = [(paging.KEYS, CREDENTIAL_KEYS, wanted)]
    page = paging.read(tx, sections, paging.check_limit(request["limit"]), request["after"])
    return {"credentials": [shown(tx, record) for record in page.records], **page.answer()}


def _revoke(tx: Transaction, call: Call, request: TokenRevokeRequest) -> TokenRevokeAnswer:
    identifier = request["id"]
    record: Credential | None = tx.get(credential_key(identifier))
    if record is None:
        raise NotFound(f"no credential {identifier} is known here; `dibs token list --all` lists them.", id=identifier)
    return {"credential": shown(tx, end(tx, call, record))}


def end(tx: Transaction, call: Call, record: Credential) -> Credential:
    """Revoke a credential; one that was revoked stays as it is."""
    if not record["revoked"]:
        record["revoked"] = tx.now
        tx.put(credential_key(record["id"]), record, i2=due(tx.now + KEPT_MS))
        tx.append("token.revoked", call.agent, record["id"], {"who": record["who"]})
    return record


def shown(tx: Transaction, record: Credential) -> CredentialView:
    """A credential as people see it, without its hash."""
    view: CredentialView = {
        "id": record["id"], "kind": record["kind"], "who": record["who"], "role": record["role"],
        "state": _state(tx, record), "by": record["by"], "note": record["note"], "since": iso(tx, record["since"]),
        "until": iso(tx, record["until"]), "fingerprint": record["hash"][:FINGERPRINT_CHARS],
    }  # fmt: skip
    if record["revoked"]:
        view["revoked_at"] = iso(tx, record["revoked"])
    return view


def is_live(tx: Transaction, record: Credential) -> bool:
    """May this credential be used now?"""
    return _state(tx, record) == "live"


def is_of_another(tx: Transaction, identifier: str, kind: str, who: str) -> bool:
    """Was this id given to another bearer, by a credential that counts? Then no machine takes it for an agent."""
    rows = tx.fetch([prefix_range(CREDENTIAL_KEYS)], MAX_CREDENTIALS).rows
    return any(
        credential["who"] == identifier
        and credential["kind"] != MACHINE_KIND
        and (credential["kind"], credential["who"]) != (kind, who)
        for _, credential in rows
        if is_live(tx, credential)
    )


def _state(tx: Transaction, record: Credential) -> Literal["live", "expired", "revoked"]:
    return "revoked" if record["revoked"] else "live" if record["until"] > tx.now else "expired"


# --- a server's own


def _of_server(tx: Transaction, call: Call, request: ServeTokenRequest) -> TokenNewAnswer:
    """A person's credential for the local user of a server that starts, in the place of the last one's."""
    last = tx.get(credential_key(request["before"])) if request["before"] else None
    if last is not None:
        end(tx, call, last)
    made = make(tx, call, PERSON_KIND, call.agent, PERSON, MAX_DURATION_MS, "dibs serve", request["hash"])
    return {"credential": shown(tx, made)}


def _bearer(tx: Transaction, call: Call, request: BearerRequest) -> Bearer:
    """Whose credential was presented to a server."""
    record = read(tx, request["id"], request["hash"])
    return {"kind": record["kind"], "who": record["who"], "role": record["role"], "until": record["until"]}


def _bearers(tx: Transaction, call: Call) -> BearersAnswer:
    """All credentials with the hashes of their secrets, for a server that compares them itself."""
    rows = tx.fetch([prefix_range(CREDENTIAL_KEYS)], MAX_CREDENTIALS).rows
    return {"bearers": [{
        "id": record["id"], "hash": record["hash"], "kind": record["kind"], "who": record["who"],
        "role": record["role"], "why": "" if (state := _state(tx, record)) == "live" else state,
    } for _, record in rows]}  # fmt: skip


_HASH = Field(
    "hash", "text", "SHA-256 of the secret", default="", internal=True, longest=HASH_CHARS, sent_by=NEAR | {BY_PERSON}
)

# For `dibs serve` alone: a user who may start it may read the file that it writes.
OF_SERVER = Operation(
    "serve token",
    _of_server,
    "Make the credential of a server's own user.",
    sent_by=NEAR,
    fields=(_HASH, Field("before", "text", "the one to revoke", default="", internal=True, sent_by=NEAR)),
    registers=False,
)

BEARER = Operation(
    "bearer",
    _bearer,
    "Say whose credential this is.",
    sent_by=NEAR,
    fields=(Field("id", "text", "the credential's id", default="", internal=True, sent_by=NEAR), _HASH),
    writes=False,
)

BEARERS = Operation("bearers", _bearers, "List the credentials with their hashes.", writes=False)

OPERATIONS = (
    Operation(
        "token new",
        _new,
        "Make a credential for a server's caller; its secret is shown once.",
        group="server",
        fields=(
            Field("agent", "agent", "for this agent and its subagents", default="", metavar="AGENT"),
            Field("person", "text", "for this person, who may speak for any agent", default="", longest=200,
                  metavar="NAME"),
            Field("machine", "text", "for a machine, whose dibs names its own agents", default="", longest=200,
                  metavar="NAME"),
            Field("role", "text", "viewer, worker, agent, orchestrator, person, or a role of the config (default: "
                  "person for a person, else what the config says)", default="", longest=100, metavar="ROLE"),
            Field("expires", "duration", "how long it is valid (default 90d)", default=LIFE_MS, least=MINUTE,
                  most=MAX_DURATION_MS, metavar="D"),
            Field("note", "text", "what it is for", default="", longest=200, metavar="T"),
            _HASH,
        ),
        errors=(Invalid, Quota),
        rank=PERSON,
        answer="TokenNewAnswer",
        registers=False,
        beforehand="make a secret",
        afterwards="show the secret",
    ),
    Operation(
        "token list",
        _list,
        "List the credentials; never their secrets.",
        group="server",
        fields=(Field("all", "flag", "also those that expired or were revoked", default=False), *PAGED),
        errors=(Forbidden,),
        rank=PERSON,
        answer="TokenListAnswer",
        writes=False,
    ),
    Operation(
        "token revoke",
        _revoke,
        "Revoke a credential: its next call is refused.",
        group="server",
        fields=(Field("id", "text", "the credential", positional=True, required=True, longest=100, metavar="ID"),),
        errors=(NotFound,),
        rank=PERSON,
        answer="TokenRevokeAnswer",
        registers=False,
        idempotent=True,
        destructive=True,
    ),
)  # fmt: skip
