"""Agents: boot, leave, kill, revive, and the list of agents.

An incarnation is one client process of an agent id. A boot from the same process (after compaction) keeps it. A boot
from another process (after a resume) raises it and moves the live claims to it under new tokens, so that the earlier
process is refused when it uses the old ones.
"""

from __future__ import annotations

from dibs.errors import Invalid, NotFound
from dibs.operations.agents import aliases, beliefs, departures, names, roles, speech, stops, turns
from dibs.operations.agents.records import AGENT_KEYS, get_agent, put_agent, registered_agent
from dibs.operations.agents.registration import register, set_process
from dibs.operations.claims import contention, endings, lapses, releases, resources, views
from dibs.operations.claims import records as claim_records
from dibs.operations.core import long_jobs
from dibs.operations.core.call import FOLLOW_UPS, OF_TREE, check_agent_id, iso, process_name, related, with_jobs
from dibs.operations.core.declare import ANYWHERE, BY_AGENT, MAX_TEXTS, PAGED, Field, Operation
from dibs.operations.messages import mailbox
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, NotRequired, TypedDict

    from dibs.operations.agents.answers import (
        AgentsAnswer,
        AgentState,
        AgentView,
        Breaker,
        CurrentTask,
        Health,
        KillAnswer,
        LeaveAnswer,
        LossView,
        OtherAgent,
        OtherAgents,
        ReviveAnswer,
        Rival,
        RoleView,
        RulesView,
        WhoamiAnswer,
    )
    from dibs.operations.agents.departures import Voided
    from dibs.operations.agents.records import Agent
    from dibs.operations.agents.requests import AgentsRequest, BootRequest, KillRequest, ReviveRequest
    from dibs.operations.claims.answers import AlertShort, ClaimView
    from dibs.operations.claims.records import Claim
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core import paging
    from dibs.operations.core.call import Call, JobsLeft, Process
    from dibs.operations.messages.answers import MessageView
    from dibs.stores.seam import Transaction

    Change = Literal["new", "same", "changed"]

    class Briefing(TypedDict):
        """A part of the answer to a boot."""

        held: list[ClaimView]
        held_count: int
        lost: list[LossView]
        lost_count: int
        others: OtherAgents
        task: CurrentTask | None
        messages: list[MessageView]
        more_messages: bool
        alerts: list[AlertShort]
        files: NotRequired[dict[str, Change]]
        rival: NotRequired[Rival]

    class Boot(Briefing):
        """The answer to a boot (`BootAnswer`) before the caller's machine adds the texts."""

        agent: str
        incarnation: int
        role: RoleView | None
        rules: RulesView | None

    class UsageAsked(TypedDict):
        """A part of the answer to `agents`."""

        usage: NotRequired[bool]

    class Assigned(TypedDict):
        """A part of an agent's view."""

        assigned: NotRequired[list[str]]


MAX_CLAIMS_LISTED = 200  # in one briefing, which also has the total
MAX_ALERTS_LISTED = 8  # in one briefing
MAX_ASSIGNED_SHOWN = 20  # of one agent, in a list of agents
MAX_CLAIMS_READ = 1_000  # in the search for other agents at work
OTHERS, FILES = 6, 4  # other agents that a briefing names, and the files of each


# --- boot


def _boot(tx: Transaction, call: Call, request: BootRequest) -> Boot:
    """Register the agent, compare its beliefs with the live record, and brief it."""
    files = request["files"]
    process = request["pid"] if request["pid"] is not None else call.client
    before = aliases.earlier_id(tx, call.agent, process_name(process)) if process is not None else ""
    agent, moved, is_new = _started(tx, call, process, request)
    known, told = agent.get("rules", ""), agent.get("files", {})
    if call.rules and known != call.rules:  # showing the rules is the acknowledgement; the model need not confirm
        agent["rules"], agent["rules_at"] = call.rules, COMMIT
        tx.append("rules.acknowledged", call.agent, call.agent, {"digest": call.rules})
    agent.update({"files": dict([*{**told, **files}.items()][-MAX_TEXTS:])} if files else {})
    call.from_current_process = process is not None and agent["process"] == process
    rivals = [aliases.adopt(tx, call, agent, alias) for alias in (before, request["also"]) if alias]
    put_agent(tx, agent)
    call.name = agent["name"]
    if is_new:
        FOLLOW_UPS.started(tx, call, request["tree"])
    claims, unended = _live(tx, call, moved=moved)
    if moved:
        _move(tx, call.agent, claims)
    tx.append("agent.booted", call.agent, call.agent, {"incarnation": agent["incarnation"], "process": process})
    answer: Boot = {
        "agent": call.agent,
        "incarnation": agent["incarnation"],
        "role": roles.told(call, agent),
        **_briefing(tx, call, claims, unended, [request["task"], *request["believed"]]),
        "rules": {"digest": call.rules, "changed": known != call.rules, "first": not known} if call.rules else None,
    }
    if files:
        answer["files"] = {name: _change(told.get(name), digest) for name, digest in files.items()}
    rival = next((other for other in rivals if other is not None), None)
    if rival is not None:
        answer["rival"] = rival
    return answer


def _started(tx: Transaction, call: Call, process: Process | None, request: BootRequest) -> tuple[Agent, bool, bool]:
    """The record of an agent that starts, not written yet; whether it comes from another process than before.

    And whether it is a new start: not one of the process that it has already, after a compaction.
    """
    agent, moved = get_agent(tx, call.agent), False
    is_new = agent is None or agent["left"] or process is None or agent["process"] != process
    type_, client_type = request["type"], request["client_type"]
    if agent is None:
        agent = register(tx, call, process, client_type or type_ or call.kind)
    elif process is not None:
        moved = agent["process"] is not None and agent["process"] != process
    was = "" if agent["left"] else agent["type"]
    agent["type"] = type_ or client_type or agent["type"]
    _take_on_type(tx, agent, was)
    if client_type and call.sender != BY_AGENT:  # a role may depend on it; from afar, one agent's word gives it none
        agent["client_type"] = client_type
    agent["can"] = sorted(set(request["can"])) or agent["can"]
    agent["seen"], agent["left"] = tx.now, False
    for over in ("ended", "waits", "stalled", "asked", "limited"):
        agent.pop(over, None)  # type: ignore[misc]
    if process is not None and agent["process"] != process:
        agent.pop("turn", None)  # of a process that ended in the middle of it
    if process is not None and agent["process"] != process:
        set_process(tx, agent, process, program=call.is_program(process), host=call.host)
    agent["client"] = call.kind or agent.get("client", "")
    if moved:
        agent["incarnation"] += 1
    if not call.is_person:
        agent["works"] = True
    return agent, moved, is_new


def _move(tx: Transaction, agent: str, claims: list[Claim]) -> None:
    """The agent has another process: its live claims are that one's, under new tokens."""
    for claim in claims:
        departures.move(tx, claim, agent, "boot", tied=True)
    endings.serve(tx, _drop_waits(tx, agent, "left"))  # no process is left that could pick up its turn


def come_back(tx: Transaction, call: Call, agent: Agent) -> None:
    """An earlier process of the agent goes on, because the later one is dead: the same as a boot from there."""
    assert call.client is not None
    set_process(tx, agent, call.client, program=call.is_program(call.client), host=call.host)
    agent["incarnation"] += 1
    agent["seen"], call.from_current_process = tx.now, True
    put_agent(tx, agent)
    _move(tx, call.agent, _live(tx, call, moved=True)[0])
    tx.append("agent.booted", call.agent, call.agent, {"incarnation": agent["incarnation"], "process": call.client})


def _briefing(tx: Transaction, call: Call, claims: list[Claim], unended: int, believed: Sequence[str]) -> Briefing:
    """What an agent is told at its start: what it holds, lost and has to do, and what others told it."""
    lost, more_lost = beliefs.losses(tx, call, claims)
    held = [views.held(tx, claim) for claim in claims[:MAX_CLAIMS_LISTED]]
    current = beliefs.tasks(tx, call, believed, claims, lost)
    unread, more = mailbox.unread(tx, call.agent)
    for key, message in unread:
        mailbox.mark_shown(tx, key, message)
    return {
        "held": held,
        "held_count": len(claims),
        "lost": lost,
        "lost_count": len(lost) + more_lost + unended,
        "others": _others(tx, call),
        "task": current,
        "messages": [mailbox.shown(tx, message) for _, message in unread],
        "more_messages": more,
        "alerts": _alerts(tx, call.agent),
    }


def _alerts(tx: Transaction, agent: str) -> list[AlertShort]:
    """The open alerts that concern the agent. Most workspaces have none: then nothing more is loaded."""
    from dibs.operations.alerts.records import get_alerts

    if not get_alerts(tx, 1):
        return []
    from dibs.operations.alerts import views

    return views.concerning(tx, agent, MAX_ALERTS_LISTED)


def _take_on_type(tx: Transaction, agent: Agent, was: str) -> None:
    """An agent that comes with a new type gets the messages that were kept for that type."""
    if agent["type"] != was:
        from dibs.operations.messages import broadcasts

        broadcasts.take_on_type(tx, agent, was)


def _change(before: str | None, now: str) -> Change:
    """A file of the briefing: is it new to the agent, or changed since it was last told?"""
    return "new" if before is None else "same" if before == now else "changed"


def _live(tx: Transaction, call: Call, *, moved: bool) -> tuple[list[Claim], int]:
    """The agent's live claims, renewed; claims that ended unnoticed are ended now and count as lost.

    Another process than before (`moved`) keeps nothing past its deadline: the one that would have is gone. Of very
    many, the sweeps end the rest; returns how many these are.
    """
    over = [claim for claim in claim_records.claims_of(tx, call.agent) if claim["until"] <= tx.now]
    ended = over[: long_jobs.RECORDS_PER_STEP]
    if moved:
        for claim in ended:
            endings.expire(tx, claim)
    else:
        ended = lapses.lapse(tx, call, ended)
    endings.serve(tx, [resource for claim in ended for resource in claim["resources"]])
    releases.renew_active(tx, call)
    live = [claim for claim in claim_records.claims_of(tx, call.agent) if claim["until"] > tx.now]
    return live, max(0, len(over) - long_jobs.RECORDS_PER_STEP)


def _others(tx: Transaction, call: Call) -> OtherAgents:
    """The other agents at work, on what, and for how much longer; a few of them, and how many more there are."""
    by_agent: dict[str, list[Claim]] = {}
    for claim in claim_records.all_claims(tx, MAX_CLAIMS_READ)[0]:
        if claim["agent"].startswith(OF_TREE):  # a working tree is no agent at work
            continue
        if claim["until"] > tx.now and claim["mode"] == resources.WRITE and not related(claim["agent"], call.agent):
            by_agent.setdefault(claim["agent"], []).append(claim)
    chosen = sorted(by_agent, key=lambda agent: -max(claim["since"] for claim in by_agent[agent]))[:OTHERS]
    dead = {
        claim["agent"] for claim in endings.gone(tx, call, [claim for agent in chosen for claim in by_agent[agent]])
    }
    shown: list[OtherAgent] = []
    for agent in chosen:
        if agent not in dead:
            latest = max(by_agent[agent], key=lambda claim: claim["until"])
            texts = [text for claim in by_agent[agent] for text in resources.shown(claim["resources"])]
            shown.append({"agent": agent, "resources": texts[:FILES], "more": max(0, len(texts) - FILES),
                          "left": views.left(tx, latest)})  # fmt: skip
    return {"agents": shown, "more": max(0, len(by_agent) - len(chosen))}


# --- leave


def _leave(tx: Transaction, call: Call) -> LeaveAnswer | JobsLeft:
    """The agent ends. A subagent's claims pass to its parent; any other agent's are released."""
    parent = call.agent.rpartition("/")[0]
    heir = get_agent(tx, parent) if parent else None
    tied = heir is not None and heir["process"] is not None
    job, jobs = departures.begin(tx, call.agent, call.agent, departures.LEFT, to=parent, tied=tied)
    if parent:
        from dibs.operations.messages import subscriptions

        subscriptions.drop(tx, call.agent)
    agent = registered_agent(tx, call.agent)  # a task lost on the way was counted there
    agent["left"], agent["seen"] = True, tx.now
    _parts(tx, agent)
    put_agent(tx, agent)
    tx.append("agent.left", call.agent, call.agent, {})
    left = departures.left(job)
    answer: LeaveAnswer = {
        "released": left["released"], "passed": left["passed"], "count": left["count"], "to": parent or None,
    }  # fmt: skip
    return with_jobs(answer, jobs)


def _parts(tx: Transaction, agent: Agent) -> None:
    """Remove the agent from the list of its type."""
    if agent["type"]:
        from dibs.operations.messages import broadcasts

        broadcasts.parts(tx, agent, agent["type"])


def _drop_waits(tx: Transaction, agent: str, why: str) -> list[Resource]:
    """Remove an agent from every queue; returns the resources whose waiters may move up."""
    freed: list[Resource] = []
    for waiter in claim_records.waiters_of(tx, agent):
        endings.drop_waiter(tx, waiter, why)
        freed += waiter["resources"]
    for interest in claim_records.interests_of(tx, agent):
        claim_records.remove(tx, interest)
        tx.append("interest.ended", interest["agent"], interest["interest"], {"why": why})
    return freed


# --- kill and revive


def _kill(tx: Transaction, call: Call, request: KillRequest) -> KillAnswer | JobsLeft:
    """Void everything that an agent and its subagents hold, and refuse all their calls until revived."""
    agent, why = request["agent"], request["why"]
    if not why:
        raise Invalid("say why: the agent is notified, and the log records it", field="why")
    if agent == "all":
        from dibs.operations.agents import kill_all

        agents, voided, jobs = kill_all.run(tx, call, why, lambda target: _killed(tx, call, target, why))
        views = [shown(tx, call, record) for record in agents[: kill_all.MAX_SHOWN]]
        return with_jobs(_kill_answer(views, len(agents), voided), jobs)
    check_agent_id(agent)
    target = _known(tx, agent)
    if agent == call.agent:
        raise Invalid("an agent cannot kill itself; use `dibs leave`", agent=agent)
    call.know([target["process"]])  # only below a client that is there something may still run
    target["killed"] = {"by": call.agent, "why": why, "at": tx.now}
    _killed(tx, call, target, why)
    view = shown(tx, call, target)
    job, jobs = departures.begin(tx, call.agent, agent, departures.KILLED, family=True)
    return with_jobs(_kill_answer([view], 1, departures.voided(job)), jobs)


def _kill_answer(agents: list[AgentView], killed: int, voided: Voided) -> KillAnswer:
    return {
        "agents": agents, "killed": killed, "voided": voided["voided"], "count": voided["count"], "running": [],
    }  # fmt: skip


def _killed(tx: Transaction, call: Call, target: Agent, why: str) -> None:
    """Write the record of an agent that is killed from now on."""
    _parts(tx, target)
    put_agent(tx, target)
    stops.mark(tx, target)
    tx.append("agent.killed", call.agent, target["agent"], {"why": why})


def _asks(tx: Transaction, call: Call, request: KillRequest | ReviveRequest) -> tuple[str, list[str]]:
    """Only an orchestrator stops another agent; any agent may stop its own subagents."""
    parent = request["agent"].rpartition("/")[0]  # no agent stops or revives itself
    return "orchestrator", [parent] if parent else []


def _revive(tx: Transaction, call: Call, request: ReviveRequest) -> ReviveAnswer:
    """Let a killed agent act again, or all that `kill all` stopped. They get no claim back."""
    if request["agent"] == "all":
        from dibs.operations.agents import kill_all

        revived = kill_all.revive(tx, lambda target: _revived(tx, call, target))
        views = [shown(tx, call, record) for record in revived[: kill_all.MAX_SHOWN]]
        return {"agents": views, "revived": len(revived)}
    check_agent_id(request["agent"])
    target = _known(tx, request["agent"])
    if not target["killed"]:
        return {"agents": [shown(tx, call, target)], "revived": 0}
    _revived(tx, call, target)
    return {"agents": [shown(tx, call, target)], "revived": 1}


def _revived(tx: Transaction, call: Call, target: Agent) -> None:
    """Write the record of an agent that may act again."""
    target["killed"] = None
    if not target["left"]:
        _take_on_type(tx, target, "")
    put_agent(tx, target)
    tx.append("agent.revived", call.agent, target["agent"], {})


def _known(tx: Transaction, agent: str) -> Agent:
    record = get_agent(tx, agent)
    if record is None:
        raise names.unknown(tx, agent)
    return record


# --- who is there

LEFT: Literal["left"] = "left"
NEEDS_PERSON = ("waits for a person", "limited", "stalled")
STATES = ("alive", "gone", "unknown", LEFT, "killed")  # unknown: its process cannot be seen from here


def _agents(tx: Transaction, call: Call, request: AgentsRequest) -> AgentsAnswer:
    from dibs.operations.core import paging

    type_, state = request["type"], request["state"]

    def fits(agent: Agent) -> bool:
        return (not type_ or agent["type"] == type_) and (not state or state_of(call, agent) == state)

    limit = paging.check_limit(request["limit"])
    page = listed(tx, call, limit, request["after"], all=request["all"] or state == LEFT, fits=fits)
    at_work = _at_work(tx, page.records)
    listing: list[AgentView] = [
        {**agent, "tasks": at_work.get(agent["agent"], []), **_assigned(tx, record)}
        for agent, record in zip(with_load(tx, call, page.records), page.records, strict=True)
    ]
    listing.sort(key=_urgency)
    asked: UsageAsked = {"usage": True} if request["usage"] else {}
    return {"agents": listing, **asked, **page.answer()}


def listed(
    tx: Transaction,
    call: Call,
    limit: int,
    after: str,
    *,
    all: bool = False,
    fits: Callable[[Agent], bool] = bool,
) -> paging.Page:
    """The present agents, then those that were killed or are gone; with `all`, also those that left."""
    from dibs.operations.core import paging

    def there(rows: list[tuple[str, Agent]]) -> list[tuple[str, Agent]]:
        call.know([agent["process"] for _, agent in rows])
        return [row for row in rows if _is_present(call, row[1]) and fits(row[1])]

    def elsewhere(rows: list[tuple[str, Agent]]) -> list[tuple[str, Agent]]:
        call.know([agent["process"] for _, agent in rows])
        return [
            row
            for row in rows
            if not _is_present(call, row[1])
            and "same" not in row[1]  # not an agent's aliases
            and (all or is_listed(row[1]))
            and fits(row[1])
        ]

    return paging.read(tx, [(paging.KEYS, AGENT_KEYS, there), (paging.KEYS, AGENT_KEYS, elsewhere)], limit, after)


def with_load(tx: Transaction, call: Call, agents: Sequence[Agent]) -> list[AgentView]:
    """The agents as people see them, with what each holds and whom it holds up."""
    counts, wanting = contention.held_counts(tx), contention.held_up(tx)
    views: list[AgentView] = []
    for agent in agents:
        view: AgentView = {**shown(tx, call, agent), "holds": counts.get(agent["agent"], 0)}
        if agent["agent"] in wanting:
            view["holds_up"] = wanting[agent["agent"]]
        views.append(view)
    return views


def _urgency(agent: AgentView) -> tuple[int, int, int]:
    """Those that need a person first, by what they hold up; the others keep their order."""
    if agent["activity"] not in NEEDS_PERSON:
        return 1, 0, 0
    return 0, -len(agent.get("holds_up", ())), -agent["holds"]


def _is_present(call: Call, agent: Agent) -> bool:
    """Is this agent there, as far as is known?"""
    return not agent["left"] and not agent["killed"] and call.alive(agent["process"]) is not False


def is_listed(agent: Agent) -> bool:
    """Do listings show it without `--all`? Not if it left; a killed agent is shown."""
    return not agent["left"] or bool(agent["killed"])


def _whoami(tx: Transaction, call: Call) -> WhoamiAnswer:
    """Who dibs takes the caller for, and why. Read-only: asking registers nobody."""
    if not call.agent:
        speech.name_caller(tx, call)
    check_agent_id(call.agent)
    identifier = names.found(tx, call.agent)
    call.agent = identifier
    record = get_agent(tx, identifier)
    live = [claim for claim in claim_records.claims_of(tx, identifier) if claim["until"] > tx.now]
    return {
        "agent": identifier,
        "name": names.name_of(tx, identifier, record) if record else names.computed(identifier, call.kind),
        "role": roles.of(call, record)[0],
        "type": record["type"] if record else "",
        "incarnation": record["incarnation"] if record else 0,
        "known": record is not None,
        "held": len(live),
        "by": call.identified_by,
    }


def _at_work(tx: Transaction, agents: list[Agent]) -> dict[str, list[str]]:
    """The running tasks of each of these agents, by their claims."""
    tasks: dict[str, list[str]] = {}
    for agent in agents:
        for claim in claim_records.claims_of(tx, agent["agent"]):
            if claim["by"] == endings.BY_TASK and claim["until"] > tx.now:
                tasks.setdefault(agent["agent"], []).append(claim["task"])
    return tasks


def _assigned(tx: Transaction, agent: Agent) -> Assigned:
    """The tasks that wait for this agent to take them, if its record says that there may be some."""
    if agent.get("assigned", 0) <= tx.now:
        return {}
    from dibs.operations.tasks.records import assigned_to

    rows = tx.scan(1, assigned_to(agent["agent"]), MAX_ASSIGNED_SHOWN).rows
    tasks = [task["task"] for _, _, task in rows if task["assigned"]["until"] > tx.now]
    return {"assigned": tasks} if tasks else {}


def shown(tx: Transaction, call: Call, agent: Agent) -> AgentView:
    """An agent as people and programs see it. `state` is what is known: killed, left, gone, alive, or unknown."""
    process = agent["process"]
    shown: AgentView = {
        "agent": agent["agent"],
        "name": names.name_of(tx, agent["agent"], agent),
        "kind": agent.get("kind", "agent"),
        "type": agent["type"],
        "can": agent["can"],
        "state": state_of(call, agent),
        "health": _health(tx, call, agent),
        "activity": turns.activity(tx, call, agent),
        "incarnation": agent["incarnation"],
        "client": agent.get("client", ""),
        "host": process[0] if process is not None else None,
        "host_name": agent.get("where") or None,
        "pid": process[3] if process is not None else None,
        "since": iso(tx, agent["since"]),
        "last_seen": iso(tx, agent["seen"]),
        "breaker": _breaker(tx, call, agent),
    }
    if agent.get("doing"):
        shown["doing"] = agent["doing"]
    if shown["activity"] == "waits for a person":
        shown["waits"] = {"since": iso(tx, agent["waits"]["since"]), "what": agent["waits"]["what"]}
    elif shown["activity"] == "limited":
        limit = agent["limited"]
        shown["limited"] = {"since": iso(tx, limit["since"]), "what": limit["what"]}
        if "until" in limit:
            shown["limited"]["until"] = iso(tx, limit["until"])
    elif shown["activity"] == "stalled":
        shown["stalled_since"] = iso(tx, agent["stalled"])
    elif shown["activity"] == "idle" and "rested" in agent:
        shown["idle_since"] = iso(tx, agent["rested"])
    if agent["left"]:
        shown["left_at"] = iso(tx, agent["seen"])  # its last act
    if agent["killed"]:
        shown["killed"] = agent["killed"]["why"]
    if agent.get("also"):
        shown["also"] = agent["also"]
    if call.rules:
        shown["rules"] = "current" if agent.get("rules") == call.rules else "old" if agent.get("rules") else "not told"
    return shown


def state_of(call: Call, agent: Agent) -> AgentState:
    """An agent's state, as far as it was checked."""
    if agent["killed"]:
        return "killed"
    if agent["left"]:
        return LEFT
    process = agent["process"]
    known = call.facts.get(process_name(process)) if process is not None else None
    return "unknown" if known is None else "alive" if known else "gone"


def _health(tx: Transaction, call: Call, agent: Agent) -> Health:
    """Dead (its local process is gone), seen (it acted lately), idle (alive, no recent act), silent (not known)."""
    alive = call.facts.get(process_name(agent["process"])) if agent["process"] is not None else None
    if alive is False:
        return "dead"
    if tx.now - agent["seen"] <= turns.RECENT_MS:
        return "seen"
    return "idle" if alive else "silent"


def _breaker(tx: Transaction, call: Call, agent: Agent) -> Breaker:
    """Does it get work, or does its breaker hold it back? Most agents never failed."""
    if not agent.get("strikes"):
        return "closed"
    from dibs.operations.tasks import workforce

    return workforce.breaker(tx, call, agent)[0]


_KILLED = Field("agent", "agent", "the agent's id or name; `all` for the whole fleet, but not people and not you",
                positional=True, required=True, metavar="AGENT|all")  # fmt: skip

_REVIVED = Field("agent", "agent", "the agent's id or name; `all`: those that `dibs kill all` stopped",
                 positional=True, required=True, metavar="AGENT|all")  # fmt: skip

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
            Field(
                "client_type",
                "text",
                "the type that the client's hook tells",
                default="",
                internal=True,
                longest=200,
                sent_by=ANYWHERE,
            ),
            Field(
                "believed",
                "words",
                "tasks that its environment names",
                default=(),
                internal=True,
                longest=200,
                sent_by=ANYWHERE,
            ),
            Field("tree", "tree", "the working tree that it starts in", default="", internal=True, sent_by=ANYWHERE),
            Field(
                "also",
                "text",
                "another id that its environment gives it",
                default="",
                internal=True,
                longest=200,
                sent_by=ANYWHERE,
            ),
            Field(
                "files",
                "texts",
                "what the briefing tells of which file, by digest",
                internal=True,
                longest=200,
                sent_by=ANYWHERE,
            ),
        ),
        rank="viewer",
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
        rank="viewer",
        answer="LeaveAnswer",
        idempotent=True,
    ),
    Operation(
        "kill",
        _kill,
        "Stop an agent, or all of them: void its claims, refuse its calls until `dibs revive`.",
        group="agents",
        fields=(_KILLED, Field("why", "text", "the reason", required=True, metavar="T")),
        errors=(NotFound, Invalid),
        rank="agent",
        max_rank="orchestrator",
        required_rank=_asks,
        answer="KillAnswer",
        afterwards="still running",
        destructive=True,
    ),
    Operation(
        "revive",
        _revive,
        "Let a killed agent act again, or all that `dibs kill all` stopped.",
        group="agents",
        fields=(_REVIVED,),
        errors=(NotFound,),
        rank="agent",
        max_rank="orchestrator",
        required_rank=_asks,
        answer="ReviveAnswer",
        idempotent=True,
    ),
    _WHOAMI,
    Operation(
        "agents",
        _agents,
        "List agents and people, present ones first.",
        group="agents",
        fields=(
            Field("all", "flag", "also those that left", default=False),
            Field("type", "text", "only agents of this type", default="", metavar="T"),
            Field("state", "choice", "only agents in this state", default="", choices=STATES),
            Field("usage", "flag", "with cpu and memory of the agents on this machine; takes a moment", default=False),
            *PAGED,
        ),
        answer="AgentsAnswer",
        afterwards="usage",
        wants=("rules",),
        writes=False,
    ),
)
