"""What a door adds to an operation's answer: things of the file system, which operations do not touch."""

from __future__ import annotations

import os

from dibs.errors import Unavailable

HANDOVER = "handover"  # the type of the message by which an agent gets another one's work
NOTED = 300  # files of a claim that are looked at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.memory_files import BootDecision
    from dibs.client.session import Session
    from dibs.ledger.state import Line
    from dibs.ledger.working_tree import Tree
    from dibs.operations.agents.answers import BootAnswer, RulesAnswer, ScratchAnswer
    from dibs.operations.claims.answers import ClaimAnswer, StatusAnswer
    from dibs.stores.seam import Json


def briefing(session: Session, result: BootDecision) -> BootAnswer:
    """The briefing of a boot, with the texts of the rules and of the memory files that are new to the agent."""
    from dibs.workspace import rules_file

    session.store.tidy()  # each start removes what waiters left that were killed
    if any(message["type"] == HANDOVER for message in result["messages"]):
        from dibs.client import unfinished
        from dibs.ledger import working_tree

        unfinished.take_over(working_tree.of(session.place), result["agent"], result)
    completed: Json = result  # its keys get other values
    if "files" in result:
        from dibs.client import memory_files

        completed = {**result, "files": memory_files.told(memory_files.load(session), result["files"])}
    if result["rules"]:
        completed = {**completed, "rules": {**result["rules"], "text": rules_file.text(session.place)}}
    answer: BootAnswer = completed
    return answer


def rules_text(session: Session, result: RulesAnswer) -> RulesAnswer:
    """The rules with their text."""
    from dibs.workspace import rules_file

    return {**result, "text": rules_file.text(session.place)}


def with_warnings(session: Session, result: StatusAnswer) -> StatusAnswer:
    """The state of the workspace, with what is wrong with the store itself."""
    if any(alert["kind"] == "dead" for alert in result.get("alerts", ())):
        from dibs.client import unfinished

        unfinished.complete(session, result["alerts"], result["alert_groups"])
    found = warnings(session)
    if any(agent["health"] == "dead" for agent in result.get("agents", ())):
        from dibs.client import unfinished

        found = [*found, *unfinished.of_the_dead(session, result)]
    return {**result, "warnings": found} if found else result


def scratch_folder(session: Session, result: ScratchAnswer) -> ScratchAnswer:
    """The caller's scratch folder, which is made if it is not there."""
    folder = os.path.join(session.place.root, result["scratch"])
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"{folder} cannot be made: {error.strerror}", path=folder) from None
    return {**result, "scratch": folder}


def note_claim(session: Session, answer: ClaimAnswer) -> None:
    """A claim by hand, where guards are at work: its files are looked at from now on, so that a change is noticed.

    The claim is granted already: what keeps this from looking (a sandbox, a repository without a working tree, git
    itself) takes nothing away from the answer.
    """
    from dibs.ledger import working_tree
    from dibs.ledger.state import claim_line

    tree = working_tree.of(session.place)
    try:
        found = {name: _files(session, name) for name in answer["resources"]}
        paths = [path for files in found.values() for path in files][:NOTED]
        wide = any(_is_wide(session, name) for name in found)
        if not paths and not wide:
            return
        if wide and session.place.common and not tree.state.full:
            tree.look_at_all()  # from now on a file that appears in the folder is known to be new
        tree.look(paths)
        tree.write()
        tree.add(*[claim_line(tree.stamp(), path) for path in paths])
        tree.add(*_taken_over(session, tree, answer["agent"], paths))
        tree.write()
    except (OSError, Unavailable):  # a client's sandbox keeps its shell from git's directory; the hooks will look
        pass


def note_changes(session: Session) -> None:
    """Before a release by hand: what changed in claimed files is found now, while the claim is live."""
    from dibs.ledger import working_tree

    tree = working_tree.of(session.place)
    try:
        tree.survey()
        tree.write()
    except (OSError, Unavailable):
        pass


def _files(session: Session, name: str) -> list[str]:
    """The files that a resource means, from the top of the working tree; also one that is not there yet."""
    top = session.place.top
    real = os.path.realpath(os.path.join(top, name))
    if os.path.isfile(real):
        return [real[len(top) + 1 :]] if real.startswith(f"{top}/") else []
    if not os.path.lexists(real) and ":" not in name and not any(mark in name for mark in "*?["):
        return [real[len(top) + 1 :]] if real.startswith(f"{top}/") else []
    if not session.place.common:
        return below(top, name)
    if not (os.path.isdir(real) or any(mark in name for mark in "*?[")):
        return []
    from dibs.git import queries as git

    pathspec = f":(top,glob){name.rstrip('/')}" if not os.path.isdir(real) else f":(top,literal){name.rstrip('/')}"
    return [path for path in git.known(top, [pathspec]) if os.path.isfile(os.path.join(top, path))]


def _is_wide(session: Session, name: str) -> bool:
    """Does a resource mean more than one file: a folder, one that is not there yet, a glob?"""
    return not os.path.isfile(os.path.join(session.place.top, name)) and ":" not in name


def below(top: str, name: str) -> list[str]:
    """The files of a folder where no git lists them, from the top of the working tree; the first ones of very many."""
    start = os.path.realpath(os.path.join(top, name))
    found: list[str] = []
    if start != top and not start.startswith(f"{top}/"):
        return found
    for here, folders, names in os.walk(start):
        folders[:] = sorted(one for one in folders if one not in {".dibs", ".git"})
        found += [os.path.join(here, one)[len(top) + 1 :] for one in sorted(names)]
        if len(found) >= NOTED:
            break
    return found[:NOTED]


def _taken_over(session: Session, tree: Tree, agent: str, paths: list[str]) -> list[Line]:
    """An agent that claims a file with unfinished work of agents that are gone continues that work."""
    heads = tree.state.heads
    owned = {path: heads[path].owners for path in paths if path in heads and heads[path].owners}
    if not owned:
        return []
    from dibs.ledger.state import owner_line, passes_to
    from dibs.operations.guards.audits import PEERS

    owners = sorted({owner for found in owned.values() for owner in found})
    there = session.run(PEERS, session.identify(agent), {"agents": owners})["there"]
    return [owner_line(agent, path) for path, found in owned.items() if passes_to(found, agent, there)]


def warnings(session: Session) -> list[str]:
    """What is wrong with the store itself, or with git's hooks, as far as a person should act on it."""
    from dibs.client import dropped_hooks
    from dibs.stores import opening

    pin = opening.read_pin(session.place.local)
    if pin.fallback:
        from dibs.stores.urls import hidden

        return [f"SQLite replaces {hidden(pin.fallback)}, which did not start; `dibs up` comes back to it."]
    return [*session.store.describe()["warnings"], *dropped_hooks.told(session.place)]
