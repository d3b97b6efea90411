"""The files with unfinished work of an agent, by the ledgers of this machine: for hand-overs and alerts.

A path counts if its ledger says that the work is the agent's, or one of its subagents', and git calls it changed.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable, counted, named, quoted
from dibs.ledger import working_tree
from dibs.ledger.state import owner_line
from dibs.operations.core.call import within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.client.memory_files import BootDecision
    from dibs.client.session import Session
    from dibs.ledger.working_tree import Tree
    from dibs.operations.agents.answers import BootAnswer
    from dibs.operations.alerts.answers import AlertGroup
    from dibs.operations.claims.answers import AlertShort, StatusAnswer, UnfinishedFile
    from dibs.operations.core.call import Call, Fields
    from dibs.operations.handovers.answers import HandoverAnswer

MAX_FILES = 200  # of one hand-over
SHOWN = 20  # files that an alert names


def tops_of(session: Session) -> list[str]:
    """The working trees of this workspace on this machine, the one in use first."""
    place = session.place
    if not place.common:
        return [place.top]
    from dibs.git.commits import checked_out

    return list(dict.fromkeys([place.top, *[top for top in checked_out(place.top) if os.path.isdir(top)]]))


def files(session: Session, agents: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """For each of these agents the working trees and paths of its unfinished work."""
    found: dict[str, list[tuple[str, str]]] = {agent: [] for agent in agents}
    if not found:
        return found
    for top in tops_of(session):
        try:
            owned = working_tree.at(top, session.place).state.owned()
            changed = _changed(session, top) if owned else set()
        except (OSError, Unavailable):  # a working tree that cannot be read from here
            continue
        for path, owners in owned.items():
            if path in changed or not session.place.common:
                for agent, pairs in found.items():
                    if any(within(owner, agent) for owner in owners):
                        pairs.append((top, path))
    return found


def _changed(session: Session, top: str) -> set[str]:
    from dibs.git.queries import dirty

    return {change.path for change in dirty(top)} if session.place.common else set()


# --- a hand-over


def gather(session: Session, call: Call, fields: Fields) -> Fields:
    """The request with the files of the agent whose work is handed over."""
    if "agent" not in fields:  # the operation refuses it
        return fields
    from dibs.operations.agents.lookups import FOUND

    agent = session.run(FOUND, call, {"word": fields["agent"]})["id"]
    return {**fields, "files": [list(pair) for pair in files(session, [agent])[agent][:MAX_FILES]]}


def pass_on(session: Session, answer: HandoverAnswer) -> HandoverAnswer:
    """The ledgers say whose the work is from now on."""
    if answer["to"] and answer["handover"]:
        own(session, answer["to"], [(one["tree"], one["path"]) for one in answer["files"]])
    return answer


def own(session: Session, agent: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Write into the ledgers of this machine that these files are the agent's work."""
    by_tree: dict[str, list[str]] = {}
    for top, path in pairs:
        by_tree.setdefault(top, []).append(path)
    for top in [one for one in tops_of(session) if one in by_tree]:
        tree = working_tree.at(top, session.place)
        try:
            tree.add(*[owner_line(agent, path) for path in by_tree[top] if path in tree.state.heads])
            tree.write()
        except OSError:  # a sandbox: the receiver's next edit says it
            continue


def take_over(tree: Tree, agent: str, result: BootDecision | BootAnswer) -> None:
    """At a start that got another agent's work: the ledger says that the files which it holds now are its own work."""
    held = {name for claim in result["held"] for name in claim["resources"]}
    paths = [path for path, owners in tree.state.owned(agent).items() if path in held]
    try:
        tree.add(*[owner_line(agent, path) for path in paths])
        tree.write()
    except OSError:  # the same
        return


# --- alerts


def of_the_dead(session: Session, result: StatusAnswer) -> list[str]:
    """A line for each dead agent that no alert is about, because it held nothing, and that left uncommitted work."""
    told = {alert["agent"] for alert in result["alerts"] if alert["kind"] == "dead"}
    dead = {
        agent["agent"]: named(agent) for agent in result["agents"]
        if agent["health"] == "dead" and agent["state"] == "gone" and agent["agent"] not in told
    }  # fmt: skip
    if not dead or session.is_far:
        return []
    return [_left(dead[agent], len(pairs)) for agent, pairs in files(session, dead).items() if pairs]


def _left(name: str, number: int) -> str:
    return (
        f"{name} has exited and left uncommitted work in {counted(number, 'file')}: `dibs diff {quoted(name)}`, "
        f"`dibs handover {quoted(name)} --to NEXT` or `dibs undo {quoted(name)}`."
    )


def complete(session: Session, alerts: Iterable[AlertShort], groups: Sequence[AlertGroup] = ()) -> None:
    """Say in the alerts about dead agents, and in their group, which files have uncommitted work of them."""
    dead = [alert for alert in alerts if alert["kind"] == "dead" and alert["state"] != "cleared"]
    found = files(session, {alert["agent"] for alert in dead})
    for alert in dead:
        pairs, before = found[alert["agent"]], alert["text"]
        shown: list[UnfinishedFile] = [{"tree": top, "path": path} for top, path in pairs[:SHOWN]]
        alert["unfinished"] = {"count": len(pairs), "files": shown}
        if pairs:
            alert["text"] += f" {counted(len(pairs), 'file')} with uncommitted work."
        elif not session.is_far:
            alert["actions"] = [one for one in alert.get("actions", ()) if one["act"] not in {"diff", "undo"}]
        for group in groups:
            if group["ids"][:1] == [alert["id"]]:  # the one that it tells
                group["text"] = group["text"].replace(before, alert["text"], 1)
