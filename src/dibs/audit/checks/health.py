"""What `dibs check` looks at after the ten points: guards, rules, agents, violations, deploys, files, store, log."""

from __future__ import annotations

import os

from dibs.audit.checks.coordination import changed_under, listed
from dibs.audit.checks.findings import (  # fmt: skip
    ABSENT,
    ENDED,
    HIGH,
    LOW,
    MEDIUM,
    OK,
    WARN,
    Evidence,
    Finding,
    Line,
    few,
    slug,
)
from dibs.errors import counted, quoted, settling, taking_away
from dibs.machine import clock, relative_times
from dibs.operations.alerts.work_causes import DEPLOY_FAULTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import FindingSeverity
    from dibs.operations.oversight.snapshot import AgentFacts

PROOF_AGE_MS = 86_400_000  # an older proof of the guards is no proof of today's settings
SHORT = 12  # letters of a commit
DEPLOY_SEVERITY: dict[str, FindingSeverity] = {
    "unverified": HIGH, "interrupted": HIGH, "fenced": HIGH, "unchecked": MEDIUM, "unsynced": MEDIUM,
}  # fmt: skip


CLAIM_FIRST, SEEN, SYNC_FIRST = (  # titles of rules that `init` writes
    "Claim before you change", "Done means seen working", "Sync before you deploy",
)  # fmt: skip
RULE_OF_DEPLOY = {"unverified": SEEN, "unchecked": SEEN, "unsynced": SYNC_FIRST}


def against(look: Evidence, title: str) -> str:
    """Which rule of the workspace that is against, by its number; "" if it has no such rule."""
    from dibs.workspace import rules_file

    for line in rules_file.text(look.session.place).splitlines() if title else ():
        number, dot, rest = line.strip().partition(". ")
        if dot and number.isdigit() and rest.startswith(f"**{title}**"):
            return f", against rule {number}"
    return ""


def guards(look: Evidence) -> Line:
    """Every client's hook refuses a forbidden write, and git's hooks are in place: tried, not looked up."""
    from dibs.audit.checks import guard_proof

    proof = guard_proof.proven(look.session)
    if proof is None:
        text = "Guards: not proven from here; `dibs doctor` on each machine tries its own"
        return Line(WARN if look.is_fleet else ABSENT, text, remedy="dibs doctor")
    checks = proof["checks"]
    wrong = [one for one in checks if not one["ok"]]
    severity: FindingSeverity = HIGH if look.fleet else LOW  # what no agent works under loses nothing
    found = [
        Finding(f"{one['check']}: {one['message']}", severity, code=slug(one["check"]), remedy="dibs doctor")
        for one in wrong if one["severity"] == "error"
    ]  # fmt: skip
    clients = list(dict.fromkeys(one["check"].partition(" ")[0] for one in checks if one["check"].endswith(" guard")))
    figures = {"clients": clients}
    old = clock.wall() - proof["wall"]
    age = f", {relative_times.short(old)} ago" if old > guard_proof.FRESH_MS else ""
    if found:
        return listed(found, "Guards", figures)
    cares = [one for one in wrong if one["severity"] == "warning"]
    if not clients:
        line = Line(ABSENT, "Guards: no client's settings call dibs", remedy="dibs init --clients …", figures=figures)
        git = [one for one in checks if one["check"] == "git hooks" and one["ok"]]
        line.message += "; git's hooks are in place" if git else ""
        return line
    said = f"Guards proven: a forbidden write, and a killed agent's call, is refused by {few(clients)}{age}"
    if cares:
        why = cares[0]["message"].partition(";")[0].replace(look.session.place.top, "this folder")
        return Line(WARN, f"{said}; {cares[0]['check']}: {why}", remedy="dibs doctor", figures=figures)
    if old > PROOF_AGE_MS:
        return Line(WARN, f"{said}: an old proof", remedy="dibs check", figures=figures)
    return Line(OK, said, figures=figures)


def rules(look: Evidence) -> Line:
    """There are rules, and every agent at work was told the present ones."""
    from dibs.workspace import rules_file

    digest = rules_file.digest(look.session.place)
    if not digest:
        missing = Finding("there are no rules", LOW, code="missing", remedy="dibs init makes .dibs/rules.md")
        return listed([missing], "Rules")
    there = [agent for agent in look.agents.values() if agent["state"] not in ENDED and agent["health"] != "dead"]
    holders = {claim["agent"] for claim in look.facts["claims"]}
    found = []
    for agent in there:
        if agent.get("rules") == "old":
            seq = look.history.told.get(agent["agent"], 0)
            text = f"{agent['name']} acts on old rules"
            remedy = f"dibs send {quoted(agent['agent'])} 'the rules changed: dibs rules --ack'"
            found.append(
                Finding(text, MEDIUM, events=[seq], code=f"old-{_code(agent)}", remedy=remedy, agent=agent["agent"])
            )
    never = [
        agent for agent in there
        if agent.get("rules") == "not told" and agent["agent"] in holders and agent["kind"] != "person"
    ]  # fmt: skip
    told = sum(1 for agent in there if agent.get("rules") == "current")
    said = f"version {digest}, told to {counted(told, 'agent')}"
    if never and not look.is_fleet:
        line = listed(found, f"Rules: {said}; {never[0]['name']} holds something and was not told them")
        if not found:
            line.status, line.remedy = WARN, f"dibs boot --as {quoted(never[0]['agent'])}"
        return line
    for agent in never:
        text = f"{agent['name']} holds something and was never told the rules"
        remedy = f"dibs boot --as {quoted(agent['agent'])}"
        found.append(Finding(text, LOW, code=f"not-told-{_code(agent)}", remedy=remedy, agent=agent["agent"]))
    return listed(found, f"Rules: {said}", {"version": digest, "told": told})


def _code(agent: AgentFacts) -> str:
    return slug(agent["name"])


def agents(look: Evidence) -> Line:
    """No claim belongs to an agent that is gone; nobody was killed and forgotten."""
    found = look.alerts("dead")
    told = {alert["agent"] for alert in look.facts["alerts"] if alert["kind"] == "dead"}
    for claim in look.facts["claims"]:
        who = claim["agent"]
        state = look.state(who)
        if who not in told and (claim["gone"] or state in {"gone", "left"}):
            text = f"{look.name(who)} is gone and holds {few(claim['resources'])} until its deadline"
            remedy = taking_away(claim["resources"][:1], "its agent is gone")
            found.append(Finding(text, MEDIUM, code=f"claim-{claim['claim']}", remedy=remedy, agent=who))
    for agent in look.agents.values():
        if agent["state"] == "killed":
            event = look.history.killed.get(agent["agent"])
            text = f"{agent['name']} was killed ({agent.get('killed', '')}) and is refused everything"
            events = [event["seq"]] if event else []
            remedy = f"dibs revive {quoted(agent['agent'])}, or settle it"
            found.append(
                Finding(text, LOW, events=events, code=f"killed-{_code(agent)}", remedy=remedy, agent=agent["agent"])
            )
    there = [agent for agent in look.agents.values() if agent["state"] not in ENDED and agent["health"] != "dead"]
    claims = counted(len(look.facts["claims"]), "claim")
    return listed(found, f"Agents: {len(there)} there; {claims}, none of one that is gone", {"there": len(there)})


def violations(look: Evidence) -> Line:
    """No file of one agent was changed by another, unless that is settled."""
    found = []
    for change in look.facts["unsettled"]:
        if change["how"] in {"violated", "unattributed"}:
            sure = change["how"] == "violated"
            event = look.history.changes.get(change["id"])
            text = f"{changed_under(look, change)}{against(look, CLAIM_FIRST) if sure else ''}"
            remedy = settling(change["id"], is_kept=change["kept"])
            events = [event["seq"]] if event else []
            found.append(
                Finding(
                    text,
                    HIGH if sure else MEDIUM,
                    events=events,
                    code=f"change-{change['id']}",
                    remedy=remedy,
                    agent=change["agent"],
                )
            )
    past = len(look.history.changes) - len(found)
    more = f"; {past} earlier, all settled" if past > 0 else ""
    return listed(found, f"Violations: no file was changed under its holder{more}", {"settled": max(0, past)})


def bypasses(look: Evidence) -> Line:
    """No commit and no push went past the guard."""
    found = []
    told = set()
    for event in look.history.bypasses:
        data = event["data"]
        told.add(event["seq"])
        if event["kind"] == "push.unverified":
            commit, where = event["subject"][:SHORT], f"{data['remote']}/{data['branch']}"
            by = f", by {data['by']}" if data["by"] else ""
            text = f"a push of {commit} to {where} bypassed the guard{by}"
            remedy = f"git log {quoted(where)}, then settle event {event['seq']}"
            found.append(Finding(text, HIGH, events=[event["seq"]], remedy=remedy))
            continue
        held = f" with {few(data['paths'])}, held by {few(look.name(one) for one in data['holders'])}"
        text = (
            f"{look.name(event['agent'])} committed {event['subject'][:SHORT]} past the guard"
            f"{held + against(look, CLAIM_FIRST) if data['paths'] else ''}"
        )
        found.append(
            Finding(text, HIGH if data["paths"] else LOW, events=[event["seq"]], agent=event["agent"],
                    remedy=f"git show --stat {quoted(event['subject'][:SHORT])}, then settle event {event['seq']}")
        )  # fmt: skip
    # one whose event was moved to an archive still has its alert, until it is acknowledged
    found += [one for one in look.alerts("bypass") if not told.intersection(one.events)]
    return listed(found, "Bypasses: no commit and no push past the guard")


def deploys(look: Evidence) -> Line:
    """What runs is what was synced and verified."""
    found = []
    for target, unsure in sorted(look.history.deploys.items()):
        for event in unsure[-1:]:
            data = event["data"]
            how = "fenced" if data.get("fenced") else "unsynced" if data["result"] == "ok" else data["result"]
            said, severity = DEPLOY_FAULTS[how], DEPLOY_SEVERITY[how]
            commit = data["commit"][:SHORT] or "something"
            rule = against(look, RULE_OF_DEPLOY.get(how, ""))
            text = f"the deploy of {commit} to {target} by {look.name(event['agent'])} {said}{rule}"
            remedy = f"dibs deploy {quoted(target)} --verify CMD -- CMD"
            found.append(Finding(text, severity, events=[event["seq"]], remedy=remedy, agent=event["agent"]))
    targets = {one["target"]: one for one in look.facts["deploys"]}
    if not targets and not look.history.deploys:
        return Line(ABSENT, "Deploys: none so far")
    last = max(targets.values(), key=lambda one: one["at"], default=None)
    said = f"{last['commit'][:SHORT]} to {last['target']} {relative_times.ago(last['at'])} ago" if last else ""
    return listed(
        found, f"Deploys: {counted(len(targets), 'target')}, the last synced and verified: {said}",
        {"targets": sorted(targets)},
    )  # fmt: skip


def files(look: Evidence) -> Line:
    """The state, decisions and lessons files that the config names are there, and were told."""
    named = look.policy.guards["files"]
    if not named:
        return Line(ABSENT, "Memory files: none named in the config ([files] state, decisions, lessons)")
    top = look.session.place.top
    found = [
        Finding(f"{path} ({name}) is named in the config and missing", LOW, code=name, remedy=f"write {path}")
        for name, path in named.items()
        if not os.path.exists(f"{top}/{path}")
    ]
    told = sum(1 for agent in look.agents.values() if agent.get("files"))
    return listed(found, f"Memory files: {few(named.values())}, told to {counted(told, 'agent')}", {"told": told})


def store(look: Evidence) -> Line:
    """The store keeps what it answered, and is the one that was meant."""
    from dibs.client import local_details
    from dibs.stores.opening import configured_url, read_pin

    place = look.session.place.local
    scheme = (read_pin(place).url or configured_url(look.session.config.store)).partition(":")[0]
    kind = {"unix": "redis", "rediss": "redis"}.get(scheme, scheme)
    kept = look.session.store.describe()["persistence"].rstrip(".")
    found = look.alerts("store")
    known = {finding.text for finding in found}
    for text in local_details.warnings(look.session):
        plain = text.rstrip(".")
        if not any(plain in one or one in plain for one in known):
            found.append(Finding(plain, HIGH if "stands in" in text else MEDIUM, code="warning", remedy="dibs doctor"))
    return listed(found, f"Store: {kind}, {kept}", {"store": kind})


def tasks(look: Evidence) -> Line:
    """No task is quarantined, or failed and in the way of others; no agent is held back by its breaker."""
    found = []
    for task in look.facts["quarantined"]:
        event = look.history.quarantined.get(task["task"])
        times = counted(task["failures"] + task["losses"], "time")
        text = f"task {task['task']} failed or was lost {times} and is quarantined"
        events = [event["seq"]] if event else []
        remedy = f"dibs task show {quoted(task['task'])}, then dibs task move {quoted(task['task'])} planned"
        found.append(Finding(text, MEDIUM, events=events, code=f"task-{task['task']}".lower()[:60], remedy=remedy))
    for blocker in look.facts["failed"]:
        if blocker["blocked"]:
            name = blocker["task"]
            event = look.history.failed.get(name)
            many = counted(len(blocker["blocked"]), "task")
            text = f"task {name} failed, and {many} after it cannot begin ({few(blocker['blocked'])})"
            events = [event["seq"]] if event else []
            remedy = f"dibs task show {quoted(name)}, then dibs task move {quoted(name)} planned"
            found.append(Finding(text, MEDIUM, events=events, code=slug(f"failed-{name}"), remedy=remedy))
    for agent in look.agents.values():
        if agent["breaker"] != "closed" and agent["state"] not in ENDED:
            failed = look.history.failures.get(agent["agent"], [])
            times = counted(len(failed), "time") if failed else "repeatedly"
            text = f"{agent['name']} failed {times} in a row and gets no work (breaker {agent['breaker']})"
            remedy = f"dibs log --agent {quoted(agent['agent'])} --kind task. --limit 20"
            found.append(
                Finding(text, MEDIUM, events=failed[-3:], code=f"breaker-{_code(agent)}", remedy=remedy,
                        agent=agent["agent"])
            )  # fmt: skip
    count = len(look.facts["failed"])
    more = f"; {count} failed, none waits for {'it' if count == 1 else 'them'}" if count else ""
    return listed(found, f"Tasks: none quarantined, no breaker open{more}", {"failed": count})


def log(look: Evidence) -> Line:
    """Is the log whole, and does it hold nothing that cannot have happened?"""
    from dibs.audit import expected_archives
    from dibs.verify.checker import verify_store

    report = verify_store(look.session.store, None, look.session.door.show_progress)
    found = [
        Finding(f"{one.code}: {one.message}", HIGH, events=[one.seq], code=f"{one.code}-{one.seq}",
                remedy="dibs verify; dibs doctor says how to recover")
        for one in report.findings
    ]  # fmt: skip
    for one, why in expected_archives.lost(look.session, look.call):
        text = f"the archive of the events {one.first} to {one.last}: {why} ({os.path.basename(one.path)})"
        remedy = "put it back from a copy, or settle it: dibs verify then passes without it"
        found.append(Finding(text, HIGH, code=f"archive-{one.last}", remedy=remedy))
    head = f"head {report.last}:{report.link[:SHORT]}"
    said = f"{counted(report.events, 'event')}, {counted(report.granted, 'claim')} granted, {report.live} live, {head}"
    pruned = f"; those before {report.first} are in archives (dibs verify reads them)" if report.first > 1 else ""
    return listed(found, f"Log: intact, {said}{pruned}", {"events": report.events, "found": report.found})
