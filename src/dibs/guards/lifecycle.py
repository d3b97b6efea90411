"""An agent's life without its tool calls: it boots, a person prompts it, it asks a person, its turn ends, it ends.

Each function gets the event and the workspace's place, raises a DibsError to refuse, and returns what the model should
be told ("" for nothing). Facts are gathered here; operations decide.
"""

from __future__ import annotations

import os

from dibs.guards.caller import identify, open_session
from dibs.interfaces.agents import BOOT, BORN, DIED, END, NOTE, PROMPT, STOP
from dibs.ledger import contents, ledger_files
from dibs.machine import caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.guards.payload import Event
    from dibs.ledger.working_tree import Tree
    from dibs.workspace.location import Place


def boot(event: Event, place: Place) -> str:
    """The agent starts, or starts again: register it and brief it."""
    from dibs.client import env_beliefs, memory_files
    from dibs.guards import audit, briefing, cleanup
    from dibs.ledger import working_tree
    from dibs.ledger.state import session_line, turn_line

    tree = working_tree.of(place)
    stamp = tree.stamp()
    tree.add(turn_line(stamp, event.agent), session_line(stamp, event.agent))
    if place.top.startswith(f"{place.root}/"):
        _exclude(place)
    if place.common:
        tree.look_at_all()
    else:
        tree.survey()
        tree.write()
    tree.cut()
    ledger_files.trim_seen(place.private, event.agent)
    session = open_session(place)
    cleanup.tidy(place, tree, session.config.policy.guards["keep"])
    call = identify(session, event)
    fields: dict[str, Any] = {"client_type": event.type or event.client, "tree": place.top}
    files = [] if event.subagent else memory_files.load(session)  # a subagent works for its parent, which was told
    if not event.subagent:
        fields.update(env_beliefs.fields(), files=memory_files.digests(files))
    result = session.run(session.operation("boot"), call, fields)
    audit.tell(session, call, [tree])
    ledger_files.heard(place.local, call.agent, call.client)
    if any(message["type"] == "handover" for message in result["messages"]):
        from dibs.client import unfinished

        unfinished.take_over(tree, call.agent, result)
    from dibs.guards import leftovers

    left = leftovers.told(session, call, tree)
    if session.config.policy.env["vars"] and not event.subagent:
        from dibs.guards import tree_env

        left += tree_env.at_start(session, call)
    return "\n".join([briefing.text(session, result, event.source, files), *left])


def _exclude(place: Place) -> None:
    """Hide a working tree inside the main one from that one's git: `git add -A` there would add it as a repository."""
    inside = place.top.removeprefix(place.root)
    line = "".join([f"\\{letter}" if letter in "*?[\\" else letter for letter in inside]) + "/"
    from dibs.git import ignored

    ignored.hide(place.common, line)


def prompt(event: Event, place: Place) -> str:
    """A person prompts the agent: its open calls are over, a turn begins, and it gets its news."""
    from dibs.operations.agents.turns import PROMPTED

    _step(event, place)
    _tell_turn(event, place, PROMPTED, event.said)
    return sign_of_life(event, place)


def _tell_turn(event: Event, place: Place, what: str, said: str) -> None:
    """The store learns what became of the agent's turn. No more than the first words of a prompt leave this process."""
    from dibs.operations.agents.turns import MAX_SENT_CHARS, PROMPTED, TURN, words_of

    session = open_session(place)
    told = what != PROMPTED or session.config.policy.work["agents"]["prompts"]
    text = words_of(said, MAX_SENT_CHARS) if told else ""
    session.run(TURN, identify(session, event), {"what": what, "text": text})


# What a client's notification is about, by its type: a question to a person, or that the turn is over, which an
# interrupted one does not report otherwise. Any other is not about the agent's turn.
ASKING = ("permission_prompt", "worker_permission_prompt", "agent_needs_input", "elicitation_dialog", "ToolPermission")
RESTING = ("idle_prompt",)
ATTENDED = "CLAUDE_CODE_SESSION_ATTENDED"  # of Claude Code: "0" where no person can be asked


def note(event: Event, place: Place) -> str:
    """The agent waits for a person, until its next hook of any kind: that one is a sign of life in any case."""
    from dibs.operations.agents.turns import ASKS, OVER

    if caller.environ().get(ATTENDED) == "0":
        return ""  # nobody is there: the client answers itself
    if event.source in RESTING:
        _tell_turn(event, place, OVER, "")
    elif event.source in ASKING or not event.source:
        _tell_turn(event, place, ASKS, event.said or f"permission for {event.tool}")
        _be_due(place.local, event.agent)
    return ""


def _be_due(local: str, agent: str) -> None:
    """Make the agent's next hook, of any kind, a heartbeat."""
    try:
        os.utime(f"{local}/alive/{ledger_files.name_of(agent)}", (0, 0))
    except OSError:
        pass  # none is known: then it is due


def _step(event: Event, place: Place, *, over: bool = False) -> Tree:
    """The agent continued: none of its calls is open any more."""
    from dibs.ledger import working_tree
    from dibs.ledger.state import session_end_line, turn_line

    tree = working_tree.of(place)
    stamp = tree.stamp()  # of what its client ran before that, nothing comes after this look
    tree.survey()
    tree.add(session_end_line(stamp, event.agent) if over else turn_line(stamp, event.agent))
    tree.write()
    return tree


def sign_of_life(event: Event, place: Place) -> str:
    """The store learns that the agent is active, which renews its claims, and the agent gets its news."""
    from dibs.guards import audit
    from dibs.ledger import working_tree

    session = open_session(place)
    tree, call = working_tree.of(place), identify(session, event)
    news = audit.audit(session, call, [tree] if tree.untold() else [], tool=event.tool)
    if session.config.policy.env["vars"]:
        from dibs.guards import tree_env

        return "\n".join(filter(None, [news, tree_env.used(session, call)]))
    return news


def stop(event: Event, place: Place) -> str:
    """The agent's turn is over: unchanged files that it holds are released, and a person may commit the others."""
    from dibs.guards import audit
    from dibs.operations.guards.audits import IDLE, MINE
    from dibs.operations.guards.records import held_file

    tree = _step(event, place)
    tree.cut()
    session = open_session(place)
    call = identify(session, event)
    audit.tell(session, call, [tree])
    now: dict[str, str] = {}
    mine = session.run(MINE, call, {})["claims"]
    for claim, top, texts in mine:
        for text in texts:
            content = contents.read(f"{top}/{text}")[0]
            now[held_file(claim, text)] = "" if content == contents.MISSING else content
    session.run(IDLE, call, {"now": now, "busy": event.background})
    return ""


def end(event: Event, place: Place) -> str:
    """The agent ends: its claims are released, or pass to its parent. Its unfinished work stays its own."""
    from dibs.guards import audit
    from dibs.operations.guards.audits import KNOWN

    session = open_session(place)
    call = identify(session, event)
    # after a compaction, clients report the end of subagents that never began
    if session.run(KNOWN, call, {})["known"]:
        tree = _step(event, place, over=True)
        audit.tell(session, call, [tree])
        session.run(session.operation("leave"), call, {})
    return ""


HANDLERS = {BOOT: boot, PROMPT: prompt, STOP: stop, END: end, BORN: boot, DIED: end, NOTE: note}
