"""Agents: boot, leaving, the kill switch, and who is there.

An incarnation is one client process of an agent id. A boot from the same process (after compaction) keeps it; a boot
from another (after resume) raises it and moves the live claims to it under new tokens, so that whatever the earlier
process still does with the old ones is refused.
"""

from __future__ import annotations

from dibs.errors import Invalid, NotFound
from dibs.operations.agents import aliases, beliefs, departures, names, roles
from dibs.operations.agents.records import put_agent, register, set_process
from dibs.operations.claims import endings, holds, releases, resources
from dibs.operations.core import long_jobs
from dibs.operations.core.call import check_agent_id, iso, name_caller, process_name, related
from dibs.operations.core.declare import PAGED, Field, Operation
from dibs.operations.messages import mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.operations.core import paging
    from dibs.operations.core.call import Call, Process, Record
    from dibs.stores.seam import Fetched, Transaction

HELD = 200  # claims listed in one briefing; it has the number of all
SHOWN = 1_000  # claims that are looked at for who else is at work
OTHERS, FILES = 6, 4  # agents at work that a briefing names, and what each of them holds
LATELY = 120_000  # ms: twice as long as may pass before an act is written down


# --- boot


def _boot(
    tx: Transaction,
    call: Call,
    got: Fetched,
    task: str = "",
    type: str = "",
    can: Sequence[str] = (),
    pid: Process | None = None,
    client_type: str = "",
    believed: Sequence[str] = (),
    also: str = "",
    files: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Register, compare what the agent believed with the live record, and say what is true now."""
    process = pid if pid is not None else call.client
    agent = got.values[f"a\t{call.agent}"]
    before = aliases.earlier_id(tx, call.agent, process_name(process)) if process is not None else ""
    if agent is None:
        agent = register(
            tx, call.agent, process=process, kind=client_type or type or call.kind, program=call.is_program(process),
            person=call.is_person,
        )  # fmt: skip
        moved = False
    else:
        moved = process is not None and agent["process"] is not None and agent["process"] != process
    was = "" if agent["left"] else agent["type"]
    agent["type"] = type or client_type or agent["type"]
    _changes_type(tx, agent, was)
    if client_type:
        agent["client_type"] = client_type
    agent["can"] = sorted(set(can)) or agent["can"]
    agent["seen"], agent["left"] = tx.now, False
    if process is not None and agent["process"] != process:
        set_process(tx, agent, process, program=call.is_program(process))
    if moved:
        agent["incarnation"] += 1
    known = agent.get("rules", "")
    if call.rules and known != call.rules:  # telling them is the acknowledgement; it is not asked of the model
        agent["rules"] = call.rules
        tx.append("rules.acknowledged", call.agent, call.agent, {"digest": call.rules})
    if not call.is_person:
        agent["works"] = True
    told = agent.get("files", {})
    if files:
        agent["files"] = {**told, **files}
    call.tied = process is not None and agent["process"] == process
    rivals = [aliases.adopt(tx, call, agent, one) for one in (before, also) if one]
    put_agent(tx, agent)
    call.name = agent["name"]
    releases.renew_active(tx, call)
    claims, unended = _live(tx, call)
    if moved:
        for claim in claims:
            departures.move(tx, claim, call.agent, "boot", tied=True)
        endings.serve(tx, _drop_waits(tx, call.agent, "left"))  # nobody is there any more to pick up its turn
    tx.append("agent.booted", call.agent, call.agent, {"incarnation": agent["incarnation"], "process": process})
    lost, more_lost = beliefs.losses(tx, call, claims)
    held = [holds.held(tx, claim) for claim in claims[:HELD]]
    current = beliefs.tasks(tx, call, [task, *believed], claims, lost)
    unread, more = mailbox.unread(tx, call.agent)
    for key, message in unread:
        mailbox.mark_shown(tx, key, message)
    answer = {
        "agent": call.agent,
        "incarnation": agent["incarnation"],
        "held": held,
        "held_count": len(claims),
        "lost": lost,
        "lost_count": len(lost) + more_lost + unended,
        "others": _others(tx, call),
        "task": current,
        "messages": [mailbox.shown(tx, message) for _, message in unread],
        "more_messages": more,
        "rules": {"digest": call.rules, "changed": known != call.rules, "first": not known} if call.rules else None,
    }
    if files:
        answer["files"] = {name: _change(told.get(name), digest) for name, digest in files.items()}
    rival = next((one for one in rivals if one is not None), None)
    if rival is not None:
        answer["rival"] = rival
    return answer


def _changes_type(tx: Transaction, agent: Record, was: str) -> None:
    """If it comes as an agent of its type, it gets what was kept for those."""
    if agent["type"] != was:
        from dibs.operations.messages import broadcasts

        broadcasts.changes_type(tx, agent, was)


def _change(before: str | None, now: str) -> str:
    """What is to be said of a file that the agent is told: is it new to it, or not as it was told last?"""
    return "new" if before is None else "same" if before == now else "changed"


def _live(tx: Transaction, call: Call) -> tuple[list[Record], int]:
    """The agent's claims that are live; what ended unnoticed is ended now, and counts as lost.

    Of very many, the sweeps end the rest; says how many these are.
    """
    found = holds.of_agent(tx, holds.CLAIM, call.agent)
    live = [claim for claim in found if claim["until"] > tx.now]
    over = [claim for claim in found if claim["until"] <= tx.now]
    freed: list[Any] = []
    for claim in over[: long_jobs.STEP]:
        endings.expire(tx, claim)
        freed += claim["resources"]
    endings.serve(tx, freed)
    return live, max(0, len(over) - long_jobs.STEP)


def _others(tx: Transaction, call: Call) -> dict[str, Any]:
    """Who else is at work, on what, and for how much longer; a few of them, and how many more there are."""
    found: dict[str, list[Record]] = {}
    for claim in holds.every(tx, holds.CLAIM, SHOWN)[0]:
        if claim["until"] > tx.now and claim["mode"] == resources.WRITE and not related(claim["agent"], call.agent):
            found.setdefault(claim["agent"], []).append(claim)
    chosen = sorted(found, key=lambda agent: -max(claim["since"] for claim in found[agent]))[:OTHERS]
    dead = {claim["agent"] for claim in endings.gone(tx, call, [claim for agent in chosen for claim in found[agent]])}
    shown = []
    for agent in chosen:
        if agent not in dead:
            latest = max(found[agent], key=lambda claim: claim["until"])
            texts = [text for claim in found[agent] for text in resources.shown(claim["resources"])]
            shown.append({"agent": agent, "resources": texts[:FILES], "more": max(0, len(texts) - FILES),
                          "left": holds.left(tx, latest)})  # fmt: skip
    return {"agents": shown, "more": max(0, len(found) - len(chosen))}


# --- leave


def _leave(tx: Transaction, call: Call, got: Fetched) -> dict[str, Any]:
    """The agent ends. What a subagent holds passes to its parent; what others hold is released."""
    parent = call.agent.rpartition("/")[0]
    heir = got.values[f"a\t{parent}"] if parent else None
    tied = heir is not None and heir["process"] is not None
    given = departures.begin(tx, call.agent, call.agent, departures.LEFT, to=parent, tied=tied)
    if parent:
        from dibs.operations.messages import subscriptions

        subscriptions.drop(tx, call.agent)
    agent = tx.fetch([f"a\t{call.agent}"]).values[f"a\t{call.agent}"]  # a task lost on the way was counted there
    agent["left"], agent["seen"] = True, tx.now
    _parts(tx, agent)
    put_agent(tx, agent)
    tx.append("agent.left", call.agent, call.agent, {})
    return {**given, "to": parent or None}


def _parts(tx: Transaction, agent: Record) -> None:
    """It is no longer among the agents of its type."""
    if agent["type"]:
        from dibs.operations.messages import broadcasts

        broadcasts.parts(tx, agent, agent["type"])


def _drop_waits(tx: Transaction, agent: str, why: str) -> list[Any]:
    """Take an agent out of every queue; returns where others may move up."""
    freed: list[Any] = []
    for waiter in holds.of_agent(tx, holds.WAITER, agent):
        endings.drop_waiter(tx, waiter, why)
        freed += waiter["resources"]
    for interest in holds.of_agent(tx, holds.INTEREST, agent):
        holds.remove(tx, interest)
        tx.append("interest.ended", interest["agent"], interest["interest"], {"why": why})
    return freed


# --- kill and revive


def _kill(tx: Transaction, call: Call, got: Fetched, agent: str, why: str) -> dict[str, Any]:
    """Void all that an agent and its subagents hold, and refuse everything they do until revived."""
    check_agent_id(agent)
    if not why:
        raise Invalid("say why: the agent and the log will be told", field="why")
    target = _known(tx, agent)
    if agent == call.agent:
        raise Invalid("an agent cannot kill itself; use `dibs leave`", agent=agent)
    target["killed"] = {"by": call.agent, "why": why, "at": tx.now}
    _parts(tx, target)
    put_agent(tx, target)
    tx.append("agent.killed", call.agent, agent, {"why": why})
    voided = departures.begin(tx, call.agent, agent, departures.KILLED, family=True)
    return {"agents": [shown(tx, call, target)], **voided}


def _asks(tx: Transaction, call: Call, agent: str, **_: Any) -> tuple[str, list[str]]:
    """To stop others is for an orchestrator; an agent's own subagents are its business."""
    return "orchestrator", [agent] if agent != call.agent else []


def _revive(tx: Transaction, call: Call, got: Fetched, agent: str) -> dict[str, Any]:
    """Let a killed agent act again. It gets nothing back."""
    check_agent_id(agent)
    target = _known(tx, agent)
    if target["killed"]:
        target["killed"] = None
        if not target["left"]:
            _changes_type(tx, target, "")
        put_agent(tx, target)
        tx.append("agent.revived", call.agent, agent, {})
    return {"agents": [shown(tx, call, target)]}


def _known(tx: Transaction, agent: str) -> Record:
    record: Record | None = tx.fetch([f"a\t{agent}"]).values[f"a\t{agent}"]
    if record is None:
        raise names.unknown(tx, agent)
    return record


# --- who is there

LEFT = "left"
STATES = ("alive", "gone", "unknown", LEFT, "killed")  # unknown: its process cannot be seen from here


def _agents(
    tx: Transaction,
    call: Call,
    all: bool = False,
    type: str = "",
    state: str = "",
    limit: int = 0,
    after: str = "",
) -> dict[str, Any]:
    from dibs.operations.core import paging

    def fits(agent: Record) -> bool:
        return (not type or agent["type"] == type) and (not state or _state(call, agent) == state)

    page = listed(tx, call, paging.check_limit(limit), after, all=all or state == LEFT, fits=fits)
    at_work = _at_work(tx, page.records)
    found = [{**shown(tx, call, agent), "tasks": at_work.get(agent["agent"], [])} for agent in page.records]
    return {"agents": found, **page.answer()}


def listed(
    tx: Transaction,
    call: Call,
    limit: int,
    after: str,
    *,
    all: bool = False,
    fits: Callable[[Record], bool] = bool,
) -> paging.Page:
    """The agents that are there, then those that were killed or whose process is gone, with `all` also who left."""
    from dibs.operations.core import paging

    def there(rows: list[tuple[str, Record]]) -> list[tuple[str, Record]]:
        call.know([agent["process"] for _, agent in rows])
        return [row for row in rows if _there(call, row[1]) and fits(row[1])]

    def elsewhere(rows: list[tuple[str, Record]]) -> list[tuple[str, Record]]:
        call.know([agent["process"] for _, agent in rows])
        return [
            row
            for row in rows
            if not _there(call, row[1])
            and "same" not in row[1]  # not one's other ids
            and (all or is_listed(row[1]))
            and fits(row[1])
        ]

    return paging.read(tx, [(paging.KEYS, "a\t", there), (paging.KEYS, "a\t", elsewhere)], limit, after)


def _there(call: Call, agent: Record) -> bool:
    """Is this agent there, as far as can be known?"""
    return not agent["left"] and not agent["killed"] and call.alive(agent["process"]) is not False


def is_listed(agent: Record) -> bool:
    """Is it among those whom listings show without being asked for all? Not one that left; one that was killed is."""
    return not agent["left"] or bool(agent["killed"])


def _whoami(tx: Transaction, call: Call) -> dict[str, Any]:
    """Whom dibs takes the caller for, and by what. Reading only: nobody becomes known by asking."""
    if not call.agent:
        name_caller(tx, call)
    check_agent_id(call.agent)
    identifier = names.found(tx, call.agent)
    call.agent = identifier
    record = tx.fetch([f"a\t{identifier}"]).values[f"a\t{identifier}"]
    live = [claim for claim in holds.of_agent(tx, holds.CLAIM, identifier) if claim["until"] > tx.now]
    return {
        "agent": identifier,
        "name": names.name_of(tx, identifier, record) if record else names.computed(identifier, call.kind),
        "role": roles.of(call, record)[0],
        "type": record["type"] if record else "",
        "incarnation": record["incarnation"] if record else 0,
        "known": record is not None,
        "held": len(live),
        "by": call.how,
    }


def _at_work(tx: Transaction, agents: list[Record]) -> dict[str, list[str]]:
    """The live tasks of each of these agents, by what they hold."""
    found: dict[str, list[str]] = {}
    for agent in agents:
        for claim in holds.of_agent(tx, holds.CLAIM, agent["agent"], limit=holds.ALL):
            if claim["by"] == endings.TASK and claim["until"] > tx.now:
                found.setdefault(agent["agent"], []).append(claim["task"])
    return found


def shown(tx: Transaction, call: Call, agent: Record) -> dict[str, Any]:
    """An agent as people and programs see it. `state` is what can be known: killed, left, gone, alive, or unknown."""
    process = agent["process"]
    shown = {
        "agent": agent["agent"],
        "name": names.name_of(tx, agent["agent"], agent),
        "kind": agent.get("kind", "agent"),
        "type": agent["type"],
        "can": agent["can"],
        "state": _state(call, agent),
        "health": _health(tx, call, agent),
        "incarnation": agent["incarnation"],
        "host": process[0] if process is not None else None,
        "pid": process[3] if process is not None else None,
        "since": iso(tx, agent["since"]),
        "last_seen": iso(tx, agent["seen"]),
        "breaker": _breaker(tx, call, agent),
    }
    if agent["left"]:
        shown["left_at"] = iso(tx, agent["seen"])  # its last act
    if agent["killed"]:
        shown["killed"] = agent["killed"]["why"]
    if agent.get("also"):
        shown["also"] = agent["also"]
    if call.rules:
        shown["rules"] = "current" if agent.get("rules") == call.rules else "old" if agent.get("rules") else "not told"
    return shown


def _state(call: Call, agent: Record) -> str:
    """What can be known of an agent, as far as somebody has looked."""
    if agent["killed"]:
        return "killed"
    if agent["left"]:
        return LEFT
    process = agent["process"]
    known = call.facts.get(process_name(process)) if process is not None else None
    return "unknown" if known is None else "alive" if known else "gone"


def _health(tx: Transaction, call: Call, agent: Record) -> str:
    """Dead (its local process is gone), seen (it acted lately), idle (alive, and did not), silent (who knows)."""
    alive = call.facts.get(process_name(agent["process"])) if agent["process"] is not None else None
    if alive is False:
        return "dead"
    if tx.now - agent["seen"] <= LATELY:
        return "seen"
    return "idle" if alive else "silent"


def _breaker(tx: Transaction, call: Call, agent: Record) -> str:
    """Does it get work, or does it keep failing? Most agents never failed."""
    if not agent.get("strikes"):
        return "closed"
    from dibs.operations.tasks import workforce

    return workforce.breaker(tx, call, agent)[0]


_AGENT = Field("agent", "agent", "the agent's id or name", positional=True, required=True, metavar="AGENT")

_WHOAMI = Operation(
    "whoami",
    _whoami,
    "Show which agent dibs takes you for, and why.",
    group="agents",
    answer="WhoamiAnswer",
    writes=False,
)

OPERATIONS = (
    Operation(
        "boot",
        _boot,
        "Register, compare your claims with the live record, and get a briefing.",
        group="agents",
        refuses="lost",
        fields=(
            Field("task", "text", "the task that you think is yours", default="", metavar="ID"),
            Field("type", "text", "your agent type", default="", metavar="T"),
            Field("can", "words", "your capabilities", default=(), metavar="C,…"),
            Field("pid", "process", "the process of your client", metavar="N"),
            Field("client_type", "text", "the type that the client's hook tells", default="", internal=True),
            Field("believed", "words", "tasks that its environment names", default=(), internal=True),
            Field("also", "text", "another id that its environment gives it", default="", internal=True),
            Field("files", "json", "what the briefing tells of which file, by digest", internal=True),
        ),
        may="viewer",
        answer="BootAnswer",
        boots=True,
        wants=("rules", "deliveries"),
        beforehand="beliefs",
        afterwards="briefing",
    ),
    Operation(
        "leave",
        _leave,
        "Sign off: your claims are released; a subagent's claims pass to its parent.",
        group="agents",
        may="viewer",
        answer="LeaveAnswer",
        idempotent=True,
    ),
    Operation(
        "kill",
        _kill,
        "Stop an agent: void its claims and refuse everything it does.",
        group="agents",
        fields=(_AGENT, Field("why", "text", "the reason", required=True, metavar="T")),
        errors=(NotFound, Invalid),
        may="agent",
        others="orchestrator",
        asks=_asks,
        answer="KillAnswer",
        destructive=True,
    ),
    Operation(
        "revive",
        _revive,
        "Let a killed agent act again.",
        group="agents",
        fields=(_AGENT,),
        errors=(NotFound,),
        may="agent",
        others="orchestrator",
        asks=_asks,
        answer="ReviveAnswer",
        idempotent=True,
    ),
    _WHOAMI,
    Operation(
        "agents",
        _agents,
        "List agents and persons, present ones first.",
        group="agents",
        fields=(
            Field("all", "flag", "also those that left", default=False),
            Field("type", "text", "only agents of this type", default="", metavar="T"),
            Field("state", "choice", "only agents in this state", default="", choices=STATES),
            *PAGED,
        ),
        answer="AgentsAnswer",
        wants=("rules",),
        writes=False,
    ),
)
