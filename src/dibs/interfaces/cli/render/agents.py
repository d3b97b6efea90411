"""Answers about agents as text for people."""

from __future__ import annotations

from dibs.client import loss_texts, quotes, role_texts
from dibs.errors import counted, named, quoted
from dibs.interfaces.cli.render import listed, messages, some, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.render import Items, Lines
    from dibs.operations.agents.answers import (
        AgentsAnswer,
        AgentView,
        BootAnswer,
        KillAnswer,
        LeaveAnswer,
        ReviveAnswer,
        RulesAnswer,
        ScratchAnswer,
        WhoamiAnswer,
    )

FIRST = 2  # columns of a listing that are shown also if they are empty
MAX_SHOWN = 10  # claims and losses that a briefing names: a model pays for each line


def _boot(result: BootAnswer) -> Items:
    lines: Lines = [*loss_texts.first(result), f"You are {named(result)} (incarnation {result['incarnation']})."]
    lines += role_texts.lines(result["role"])
    for claim in result["held"][:MAX_SHOWN]:
        names = some(claim["resources"])
        lines.append(
            f"You hold {names} ({claim['mode']}), token {claim['token']}, for {times.left(claim['expires_at'])}."
        )
    if result["held_count"] > MAX_SHOWN:
        lines.append(f"You hold {result['held_count'] - MAX_SHOWN} more: `dibs status` lists them.")
    if not result["held"]:
        lines.append("You hold nothing.")
    lines += loss_texts.rest(result)
    if result["task"]:
        lines += quotes.task(result["task"])
    told = {message.get("alert") for message in result["messages"]}
    new = [alert for alert in result["alerts"] if alert["id"] not in told]
    lines += [f"Alert ({alert['kind']}): {alert['text']} To do: `{alert['remedy']}`." for alert in new]
    lines += messages.lines(result["messages"])
    if result.get("files"):
        from dibs.client import memory_files

        lines += memory_files.lines(result["files"])
    if result["rules"]:
        changed = result["rules"]["changed"] and not result["rules"]["first"]
        lines += ["", f"The rules{' CHANGED; these hold now' if changed else ''} (.dibs/rules.md):"]
        lines.append(result["rules"]["text"].strip())
    return lines


def _kind(agent: AgentView) -> str:
    """What an agent or person is, in one word."""
    return str(agent["type"] or (agent["kind"] if agent["kind"] == "person" else ""))


def _tasks(agent: AgentView) -> str:
    return some([*agent.get("tasks", []), *[f"{task} (assigned)" for task in agent.get("assigned", [])]])


def _used(agent: AgentView) -> str:
    return f"{agent['cpu']:g} % cpu, {agent['memory'] // 1_048_576} MB" if "cpu" in agent else ""


def _agents(result: AgentsAnswer) -> Items:
    every = result["agents"]
    rows: list[tuple[str, ...]] = [
        (named(a), _state(a), _kind(a), f"{times.ago(a['last_seen'])} ago", _tasks(a) or a.get("doing", ""),
         _holds(a), _used(a), a.get("killed", "") or _breaker(a)) for a in every
    ]  # fmt: skip
    head = ("AGENT", "STATE", "TYPE", "SEEN", "DOING", "HOLDS", "USES", "WHY")
    shown = [place for place in range(len(head)) if place < FIRST or any(row[place] for row in rows)]
    rows = [tuple([row[place] for place in shown]) for row in rows]
    return listed(tuple([head[place] for place in shown]), rows, "no agents", result)


def _state(agent: AgentView) -> str:
    """What it is at; since when, where that tells something."""
    if "until" in agent.get("limited", {}):
        return f"{agent['activity']} ({times.left(agent['limited']['until'])})"
    since = agent["waits"]["since"] if "waits" in agent else agent.get("stalled_since")
    return f"{agent['activity']} ({times.ago(since)})" if since else agent["activity"]


def _holds(agent: AgentView) -> str:
    behind = len(agent.get("holds_up", ()))
    held = counted(agent["holds"], "claim") if agent.get("holds") else ""
    return f"{held}, {counted(behind, 'agent')} waiting" if behind else held


def _breaker(agent: AgentView) -> str:
    return "" if agent["breaker"] == "closed" else f"breaker {agent['breaker']}"


def _kill(result: KillAnswer) -> Items:
    voided = f"; voided: {', '.join(result['voided'])}" if result["voided"] else ""
    if result["killed"] != 1:
        names = ", ".join([named(agent) for agent in result["agents"]])
        again = " `dibs revive all` lets them act again." if names else ""
        said = f"killed {counted(result['killed'], 'agent')}{f': {names}' if names else ''}{voided}.{again}"
        return [said, *_running(result)]
    agent = result["agents"][0]
    name = named(agent)
    if agent["health"] == "dead":
        word = quoted(name)
        refused = f"From now on it is refused if it is resumed, too (`dibs revive {word}` lets it act again)."
        ways = (
            f"`dibs diff {word}` shows it, `dibs handover {word} --to AGENT` passes it on, `dibs undo {word}` undoes it"
        )
        return [f"{name} was dead already: its process has exited{voided}. {refused}", f"Its uncommitted work: {ways}."]
    return [
        f"killed {name} ({agent['killed']}){voided}. `dibs revive {quoted(name)}` lets it act again.",
        *_process(result, agent),
        *_running(result),
    ]


def _process(result: KillAnswer, agent: AgentView) -> list[str]:
    """What became of its client's process."""
    ended = result.get("ended")
    if ended is not None:
        how = f"was ended by {ended['by']}" if ended["by"] else "had exited meanwhile"
        return [f"its process {ended['pid']} {how}"]
    if not agent["client"] or agent["pid"] is None or "/" in agent["agent"]:
        return []
    again = f"`dibs kill {quoted(named(agent))} --end --why TEXT` on its machine ends it, too."
    return [f"its process {agent['pid']} lives on, and each of its calls is refused. {again}"]


def _running(result: KillAnswer) -> list[str]:
    """What a killed agent's client started before, and dibs does not end."""
    if not result["running"]:
        return []
    shown = [f"  {one['pid']}  {one['command']}" for one in result["running"]]
    return ["still running, started before; dibs does not end these (`kill PID` does):", *shown]


def _revive(result: ReviveAnswer) -> Items:
    names = [named(agent) for agent in result["agents"]]
    if not names:
        return ["no agent is stopped by `dibs kill all`; one that was killed by its name is revived by its name"]
    if not result["revived"]:
        return [f"{names[0]} was not killed"]
    if result["revived"] == 1:
        return [f"{names[0]} may act again; it got nothing back."]
    more = ", …" if result["revived"] > len(names) else ""
    return [f"{result['revived']} agents may act again: {', '.join(names)}{more}; they got nothing back."]


def _leave(result: LeaveAnswer) -> Items:
    if result["passed"]:
        return [f"left; {', '.join(result['passed'])} passed to {named(result, 'to')}"]
    return ["left" + (f"; released {', '.join(result['released'])}" if result["released"] else "")]


def _whoami(result: WhoamiAnswer) -> Items:
    by = {"process": "your client's process", "user": "OS user"}.get(result["by"], result["by"])
    held = f"holds {counted(result['held'], 'claim') if result['held'] else 'nothing'}"
    role = f", role {result['role']}" if result["role"] else ""
    identifier = "" if result["name"] == result["agent"] else f", id {result['agent']}"
    return [f"{result['name']} (you, by {by}{identifier}){role}, {held if result['known'] else 'not known here yet'}"]


def _rules(result: RulesAnswer) -> Items:
    if not result["digest"]:
        return ["this workspace has no rules; `dibs init` makes .dibs/rules.md"]
    told = (
        "you have seen these"
        if result["current"]
        else "you have not seen this version; `dibs rules --ack` records that you have read it"
    )
    return [result["text"].rstrip("\n"), "", f"({result['digest']}: {told})"]


def _scratch(result: ScratchAnswer) -> Items:
    return [result["scratch"]]


RENDERERS = {
    "boot": _boot, "agents": _agents, "kill": _kill, "revive": _revive, "leave": _leave, "whoami": _whoami,
    "rules": _rules, "scratch": _scratch,
}  # fmt: skip
