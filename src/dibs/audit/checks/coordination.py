"""The ten points of coordination, in their order: what `dibs check` says first.

Each function gets the evidence and returns one line. It decides nothing about the workspace: it reads the record and
the configuration. findings.py has the rule for fail, warn and n/a.
"""

from __future__ import annotations

from dibs.audit.checks.findings import (  # fmt: skip
    ABSENT,
    ENDED,
    FAIL,
    HIGH,
    LOW,
    MEDIUM,
    OK,
    Evidence,
    Finding,
    Line,
    at,
    few,
)
from dibs.errors import counted, quoted, settling
from dibs.ledger.state import LIKELY
from dibs.machine import durations, relative_times
from dibs.operations.core.policy import DAY
from dibs.operations.guards.changes import who_did_it
from dibs.operations.oversight.trials import MANY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import FindingSeverity
    from dibs.audit.checks.findings import Figures
    from dibs.audit.checks.history import Demand
    from dibs.operations.oversight.snapshot import ChangeFacts

HOT_REFUSALS = 10  # of one resource lately: fewer are everyday life
HOT_WAIT_MS = 600_000  # … or so much waiting for it
HOT_SHARE = 3  # … and one in so many asks for it
TEST_AGE_DAYS = 90
SEEN_S = 86_400  # a person that was not seen for a day does not coordinate
COORDINATORS = frozenset({"orchestrator", "person"})


def listed(found: list[Finding], message: str, figures: Figures | None = None) -> Line:
    """A line for these findings; without any, that all is well. What is settled is judged later (check.py)."""
    line = Line(FAIL if found else OK, message, figures=figures)
    line.findings = found
    return line


def alone(look: Evidence) -> str:
    """Why a point about several agents does not apply."""
    return "one agent at work" if look.fleet else "no agent at work yet"


def changed_under(look: Evidence, change: ChangeFacts) -> str:
    """A change of another agent's file, in the words in which that agent was told."""
    names = [look.name(one) for one in (*([change["agent"]] if change["agent"] else []), *change["suspects"])]
    whose = f"{look.name(change['holder'])} held or had unfinished work in"
    return f"{change['path']}, which {whose}, was changed; {who_did_it(change['grade'], names)}"


# --- 1 to 5


def resources(look: Evidence) -> Line:
    """Every shared resource is on the map with its writers: no writer is unknown, no call went unchecked."""
    rows = look.history.map.rows
    writers = {agent for row in rows.values() for agent in row.writers()}
    shared = sum(1 for row in rows.values() if len(row.writers()) > 1)
    found = []
    for change in look.facts["unsettled"]:
        if change["how"] == "unattributed" and change["grade"] != LIKELY:
            event = look.history.changes.get(change["id"])
            text = changed_under(look, change)
            remedy = settling(change["id"], is_kept=change["kept"])
            events = [event["seq"]] if event else []
            found.append(Finding(text, MEDIUM, events=events, code=f"change-{change['id']}", remedy=remedy))
    for event in look.history.doubts:
        text = f"{look.name(event['agent'])} used {event['subject']} unchecked ({event['data'].get('why', '')})"
        remedy = 'set [guards] on_doubt = "deny" in .dibs/config.toml'
        found.append(Finding(text, MEDIUM, events=[event["seq"]], remedy=remedy, agent=event["agent"]))
    figures = {"resources": len(rows), "writers": len(writers), "shared": shared}
    if not rows and not found:
        return Line(ABSENT, "Shared resources: nothing was claimed or written yet", figures=figures)
    said = f"{counted(len(rows), 'resource')}, {counted(len(writers), 'agent')} with write access"
    more = f", {shared} written by more than one" if shared else ""
    return listed(found, f"Shared resources mapped: {said}{more}", figures)


def orchestrator(look: Evidence) -> Line:
    """Somebody coordinates, and is alive: a leader, an orchestrator, a run's coordinator, a person."""
    agents = look.agents
    leaders = {
        claim["agent"]: name.removeprefix("role:") for claim in look.facts["claims"] for name in claim["resources"]
        if name.startswith("role:") and not claim["gone"]
    }  # fmt: skip
    found = []
    for run in look.facts["runs"]:
        who = run["coordinator"]
        state = look.state(who)
        if state in ENDED and not leaders:
            text = f"{look.name(who)}, which coordinates run {run['run']}, is {state}"
            remedy = f"dibs run end --run {quoted(run['run'])}, or start its coordinator again"
            found.append(Finding(text, MEDIUM, code=f"run-{run['run']}"[:60].lower(), remedy=remedy, agent=who))
    alive = [agent for agent in agents.values() if agent["state"] not in ENDED and agent["health"] != "dead"]
    said = [f"{look.name(agent)} leads ({role})" for agent, role in sorted(leaders.items())]
    said += [f"{one['name']} is an orchestrator" for one in alive if one["rank"] == "orchestrator"]
    said += [
        f"{look.name(run['coordinator'])} coordinates run {run['run']}"
        for run in look.facts["runs"]
        if look.state(run["coordinator"]) not in ENDED
    ]
    people = [one for one in alive if one["kind"] == "person" and one["seen_ago"] <= SEEN_S]
    said += [
        f"{one['name']} (person, last seen {relative_times.short(int(one['seen_ago'] * 1000))} ago)" for one in people
    ]
    if not said and look.person and look.is_fleet:
        said.append(f"{look.person} (person, at this terminal)")
    if found or said:
        return listed(found, f"Orchestrator: {few(dict.fromkeys(said))}", {"coordinators": len(set(said))})
    if not look.is_fleet:
        return Line(ABSENT, f"Orchestrator: {alone(look)}, nothing to coordinate")
    named = [who for who, role in look.policy.guards["roles"]["assign"] if role == "orchestrator"]
    text = (
        f"{few(named)} of [roles] is not there" if named else f"{len(look.fleet)} agents at work and nobody coordinates"
    )
    remedy = "dibs lead NAME -- COMMAND, or dibs run start NAME"
    found.append(Finding(text, MEDIUM, code="nobody", remedy=remedy))
    return listed(found, "Orchestrator")


def deadlines(look: Evidence) -> Line:
    """Every claim has a deadline, and none is overdue."""
    policy = look.policy
    found = look.alerts("hold", "expired", "asks", "silent")
    longest = max([policy.max_life, *[one["max_life"] for one in policy.patterns if "max_life" in one]])
    if longest > DAY:
        text = f"a claim may be held for {relative_times.short(longest)}: a vanished agent blocks others as long"
        remedy = '[claims] max_life = "8h" in .dibs/config.toml'
        found.append(Finding(text, LOW, code="long-life", remedy=remedy))
    claims = look.facts["claims"]
    own = f", {counted(len(policy.patterns), 'pattern')} with another" if policy.patterns else ""
    said = f"{durations.show(policy.ttl)} by default{own}, at most {durations.show(policy.max_life)}"
    live = f"; {counted(len(claims), 'claim')} live, all with one" if claims else ""
    return listed(found, f"Deadlines on every claim: {said}{live}", {"claims": len(claims)})


def ordering(look: Evidence) -> Line:
    """Deadlocks cannot happen, or are found; nobody waits too long."""
    past, waits = look.history.deadlocks, len(look.facts["waiting"])
    found = look.alerts("deadlock", "wait")
    for finding in found if not waits else ():
        finding.severity = LOW  # the request that would have closed the cycle was refused, and no agent waits
    figures = {"deadlocks": len(past), "waiting": waits}
    now = f"; {counted(waits, 'agent')} waiting now" if waits else ""
    if look.policy.ordering == "enforce":
        refused = f", {counted(look.history.out_of_order, 'request')} refused" if look.history.out_of_order else ""
        return listed(found, f"Global order of claims enforced (by name){refused}{now}", figures)
    said = f"{counted(len(past), 'deadlock')} refused so far{at(past[-3:])}" if past else "none so far"
    return listed(found, f"Deadlocks are refused when they would begin: {said}{now}", figures)


def events(look: Evidence) -> Line:
    """Every channel that agents emit has a subscriber."""
    subscribed: dict[str, set[str]] = {}
    for one in look.facts["subscriptions"]:
        if look.state(one["agent"]) not in ENDED:
            subscribed.setdefault(one["what"], set()).add(one["agent"])
    found = []
    for kind, channel in sorted(look.history.channels.items()):
        if not any(_fits(what, kind) for what in subscribed):
            agent = min(channel.agents)
            text = f"{look.name(agent)} emits {kind} ({counted(channel.count, 'time')}) and no agent subscribes"
            remedy = f"dibs subscribe {quoted(kind)} --as AGENT"
            found.append(Finding(text, LOW, events=[channel.last], remedy=remedy, agent=agent))
    agents = {agent for who in subscribed.values() for agent in who}
    figures = {"channels": len(set(subscribed) | set(look.history.channels)), "subscribers": len(agents)}
    if not figures["channels"]:
        return Line(ABSENT, "Event channels: no agent emits or subscribes", figures=figures)
    everybody = look.fleet and all(agent in agents for agent in look.fleet)
    who = "all agents subscribed" if everybody else f"{counted(len(agents), 'agent')} subscribed"
    most = sorted(subscribed, key=lambda what: (-len(subscribed[what]), what))
    named = few(f"{what} ({few(sorted(look.name(one) for one in subscribed[what]))})" for what in most)
    return listed(found, f"Event-driven sync: {counted(figures['channels'], 'channel')}, {who}: {named}", figures)


def _fits(what: str, kind: str) -> bool:
    """Does a subscription get events of this kind?"""
    return kind.startswith(what[:-1]) if what.endswith("*") else what in {kind, "event.emitted"}


# --- 6 to 10


def alerting(look: Evidence) -> Line:
    """A process looks for trouble, and an alert reaches a person."""
    settings = look.policy.work["alerts"]
    sinks = [name for name in ("command", "webhook") if settings[name]]
    looker = look.looker
    found = []
    failed, pending = look.facts["deliveries"]["failed"], look.facts["deliveries"]["pending"]
    if failed:
        text = f"{counted(failed, 'alert')} could not be delivered"
        found.append(Finding(text, MEDIUM, code="undelivered", remedy="dibs alerts --json has the reasons"))
    known = ("hold", "wait", "deadlock", "expired", "dead", "asks", "silent", "violation", "bypass", "removed",
             "deploy_stale", "deploy_unverified", "poison", "breaker", "store", "rules")  # fmt: skip # have own lines
    others = {alert["kind"] for alert in look.facts["alerts"]} - set(known)
    found += look.alerts(*others)
    lasting = looker is not None and looker["lasting"]
    # advice, until the record shows what nobody was notified of
    missed = not sinks and not lasting and (look.history.deadlocks or look.alerts("hold", "wait", "deadlock", "silent"))
    severity: FindingSeverity = MEDIUM if missed else LOW
    if look.is_fleet and not sinks:
        text = "no notification: an alert reaches only the inboxes of agents"
        remedy = "[alerts] command or webhook in .dibs/config.toml"
        found.append(Finding(text, severity, code="no-sink", remedy=remedy, advice=not missed))
    if look.is_fleet and not lasting:
        text = "nothing watches: while agents think or wait, no alert is raised"
        remedy = "keep dibs sweep --watch or dibs serve running"
        found.append(Finding(text, severity, code="nobody-looks", remedy=remedy, advice=not missed))
    elif pending and not lasting:
        text = f"{counted(pending, 'alert')} to deliver, and nobody who does: hooks only raise alerts"
        found.append(Finding(text, MEDIUM, code="nobody-delivers", remedy="dibs sweep"))
    if not found and not look.is_fleet and not sinks:
        return Line(ABSENT, f"Alerting: {alone(look)}, no other is blocked unnoticed")
    who = f"a process looks (pid {looker['pid']})" if looker and lasting else "only agents' own hooks look"
    said = f"{' and '.join(sinks) or 'no sink'}; {who}; twice the expected time raises one"
    return listed(found, f"Alerting: {said}", {"sinks": sinks, "pending": pending, "failed": failed})


def tested(look: Evidence) -> Line:
    """Ten agents or more were tried at once, and nothing was lost."""
    test = look.facts["test"]
    remedy = "dibs demo, in this folder (under a minute)"
    failed = test is not None and (test["lost"] or not test["clean"])
    most = max(look.history.most_at_once, len(look.present))
    if most >= MANY and not failed:
        return Line(OK, f"Tested: {most} agents were at work here at once", figures={"agents": most})
    if test is None:
        if not look.is_fleet:
            return Line(ABSENT, f"Tested with {MANY} agents or more: {alone(look)}")
        text = f"never tested with {MANY} agents or more at once"
        return listed([Finding(text, LOW, code="never", remedy=remedy, advice=True)], "Tested")
    ago = relative_times.short(int(test["ago"] * 1000))
    said = (
        f"{test['what']}, {ago} ago: {test['agents']} agents, {test['edits']} edits, {test['lost']} lost, "
        f"log {'clean' if test['clean'] else 'NOT clean'}, {test['seconds']:.0f}s on {test['store']}"
    )
    found = []
    if test["lost"] or not test["clean"]:
        found.append(Finding(f"the last test failed ({said})", HIGH, code="failed", remedy=remedy))
    elif look.is_fleet and test["agents"] < MANY:
        text = f"the last test had only {test['agents']} agents ({ago} ago)"
        found.append(Finding(text, LOW, code="small", remedy=remedy, advice=True))
    elif look.is_fleet and test["ago"] > TEST_AGE_DAYS * 86_400:
        found.append(Finding(f"the last test was {ago} ago", LOW, code="old", remedy=remedy, advice=True))
    return listed(found, f"Tested: {said}", {"agents": test["agents"], "edits": test["edits"], "lost": test["lost"]})


def idempotency(look: Evidence) -> Line:
    """What is done again has a key by which the second effect can be told from the first."""
    history = look.history
    found = []
    for task, tries in sorted(history.retries.items()):
        last = tries[-1]
        who = look.name(last.agent)
        text = f"{who} did task {task} again (attempt {len(tries) + 1}), and it has no idempotency key"
        found.append(
            Finding(text, MEDIUM, events=[one.start_seq for one in tries], agent=last.agent,
                    remedy="dibs task add … --key K; the command gets it as DIBS_TASK_KEY")
        )  # fmt: skip
    for first, second in history.twice:
        text = (
            f"{look.name(second['agent'])} added the task “{str(second['data'].get('title'))[:40]}” twice "
            f"({first['subject']}, {second['subject']}), without a key"
        )
        found.append(
            Finding(text, MEDIUM, events=[second["seq"], first["seq"]], agent=second["agent"],
                    remedy=f"dibs task cancel {quoted(second['subject'])}; add with --key or --request-id")
        )  # fmt: skip
    figures = {"writes": history.writes, "named": history.named_writes}
    if not found and not history.writes:
        return Line(ABSENT, "Idempotent writes: no task, document or event was written", figures=figures)
    said = f"nothing was done twice; {history.named_writes} of {counted(history.writes, 'write')} with a key"
    return listed(found, f"Idempotent writes: {said}", figures)


def contention(look: Evidence) -> Line:
    """No single resource is what all wait for."""
    rows = look.history.contention
    refusals, waits = sum(one.refusals for one in rows.values()), sum(one.waits for one in rows.values())
    hot = sorted(rows, key=lambda name: (-rows[name].refusals - rows[name].waits, -rows[name].longest, name))
    found = []
    for name in hot:
        one = rows[name]
        met = one.refusals + one.waits
        much = one.refusals >= HOT_REFUSALS or one.total >= HOT_WAIT_MS
        if much and len(one.agents) > 1 and met * HOT_SHARE >= one.asks:
            text = (
                f"{name} is a bottleneck: {counted(one.refusals, 'refusal')}, {counted(one.waits, 'wait')}, longest "
                f"{relative_times.short(one.longest)}, {counted(len(one.agents), 'agent')}"
            )
            found.append(Finding(text, LOW, events=one.events[-3:], remedy=_less(name, one)))
    figures = {"refusals": refusals, "waits": waits}
    if not refusals and not waits:
        return Line(OK, "Contention: no agent was refused or had to wait", figures=figures)
    most = rows[hot[0]]
    said = f"{counted(refusals, 'refusal')}, {counted(waits, 'wait')}; most for {hot[0]} ({most.refusals + most.waits})"
    return listed(found, f"Contention: {said}", figures)


def _less(name: str, one: Demand) -> str:
    """What helps against contention for one resource."""
    if name.startswith("git:"):
        return "give each agent a working tree of its own (git worktree add)"
    if name.startswith("deploy:"):
        return "let one agent deploy, and hand it the commits"
    if one.kind == "glob" or (one.kind == "tree" and "." not in name.rpartition("/")[2]):
        return "claim the files in it instead of all of it"
    if one.kind == "name":
        return "divide it into parts with names of their own"
    return "split the file, or hand its changes out as tasks to one agent"


def kill_switch(look: Evidence) -> Line:
    """Every agent that holds something could be stopped now; tried, and given up again."""
    from dibs.audit.checks import kill_drill

    holders = sorted({claim["agent"] for claim in look.facts["claims"] if not claim["gone"]})
    stopped = [claim for claim in look.facts["claims"] if look.state(claim["agent"]) == "killed"]
    found = [
        Finding(f"{look.name(claim['agent'])} was killed and still holds {claim['resources'][0]}", HIGH,
                code=f"holds-{claim['claim']}", agent=claim["agent"], remedy=f"dibs kill {quoted(claim['agent'])} --why"
                " 'it still holds something'")
        for claim in stopped
    ]  # fmt: skip
    wrong, voided = kill_drill.drill(look.session, holders)
    for agent, why in wrong.items():
        text = f"{look.name(agent)} could not be stopped: {why}"
        found.append(Finding(text, HIGH, code="not-proven", remedy="dibs doctor", agent=agent))
    could = [one for one in look.agents.values() if one["rank"] in COORDINATORS and one["state"] not in ENDED]
    who = few([f"{one['name']} ({one['rank']})" for one in could]) or "a person at the terminal"
    cut = len(holders) > kill_drill.MAX_AGENTS
    tried = f"{kill_drill.MAX_AGENTS} of {len(holders)} agents that hold something" if cut else ""
    tried = tried or counted(len(holders), "agent")
    claims = f"{voided} of {len(look.facts['claims'])} claims" if cut else counted(voided, "claim")
    what = f"{tried}, {claims}" if holders else "a probe agent"
    return listed(
        found, f"Kill switch proven by a dry run: {what}; by {who}", {"agents": len(holders), "claims": voided}
    )
