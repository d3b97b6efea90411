"""An agent's life without its tool calls: it boots, a person prompts it, it asks a person, its turn ends, it ends.

Each function gets the event and the workspace's place, raises a DibsError to refuse, and returns what the model should
be told ("" for nothing). Facts are gathered here; operations decide.
"""

from __future__ import annotations

import os

from dibs.errors import named
from dibs.guards.caller import identify, open_session
from dibs.interfaces.agents import BOOT, BORN, DIED, END, FAIL, NOTE, PROMPT, STOP
from dibs.ledger import contents, ledger_files
from dibs.machine import caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.memory_files import BootDecision
    from dibs.client.session import Session
    from dibs.guards.payload import Event
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Fields
    from dibs.workspace.location import Place


def boot(event: Event, place: Place) -> str:
    """The agent starts, or starts again: register it and brief it."""
    from dibs.client import dropped_hooks, env_beliefs, memory_files
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
    _anchor(place, tree)
    ledger_files.trim_seen(place.private, event.agent)
    session = open_session(place)
    cleanup.tidy(place, tree, session.config.policy.guards["keep"])
    call = identify(session, event)
    fields: Fields = {"client_type": event.type or event.client, "tree": place.top}
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

    left = [*leftovers.told(session, call, tree), *([] if event.subagent else dropped_hooks.told(place))]
    if session.config.policy.env["vars"] and not event.subagent:
        from dibs.guards import tree_env

        left += tree_env.at_start(session, call)
    return "\n".join([briefing.text(session, result, event.source, files), *_batons(session, result, event), *left])


def _batons(session: Session, result: BootDecision, event: Event) -> list[str]:
    """What the agent has to know of work: another's that was handed over to it; its own, which it forgot."""
    about = [message["about"] for message in result["messages"] if "about" in message]
    if not about and (event.source not in {"compact", "resume"} or event.subagent):
        return []
    from dibs.client import baton

    agent, name = result["agent"], named(result)
    return baton.passed_on(session, agent, name, about) if about else baton.own(session, agent, name)


def _exclude(place: Place) -> None:
    """Hide a working tree inside the main one from that one's git: `git add -A` there would add it as a repository."""
    inside = place.top.removeprefix(place.root)
    line = "".join([f"\\{letter}" if letter in "*?[\\" else letter for letter in inside]) + "/"
    from dibs.git import ignored

    ignored.hide(place.common, line)


def _anchor(place: Place, tree: Tree) -> None:
    """The state of the tree is kept; a program without hooks may have changed it."""
    if place.common:
        from dibs.states import request

        request.wanted(tree.folder, tree.top)


def prompt(event: Event, place: Place) -> str:
    """A person prompts the agent: its open calls are over, a turn begins, and it gets its news."""
    from dibs.guards import verification
    from dibs.operations.agents.turns import PROMPTED

    tree = _step(event, place)
    _settle(event, place, tree)
    _tell_turn(event, place, PROMPTED, event.said)
    told = [sign_of_life(event, place), verification.told_later(place.local, event.agent)]
    return "\n".join(filter(None, told))


def _settle(event: Event, place: Place, tree: Tree, *, over: bool = False) -> None:
    """The agent's commands are over, or run on without it: units of pools that they do not use any more go back."""
    if any(one.units for one in tree.state.calls.values()):
        from dibs.guards import pool_turn

        pool_turn.settle(event, place, tree, over=over)


def _tell_turn(event: Event, place: Place, what: str, said: str) -> None:
    """The store learns what became of the agent's turn. No more than the first words of a prompt leave this process."""
    from dibs.operations.agents.turns import MAX_SENT_CHARS, PROMPTED, TURN, words_of

    session = open_session(place)
    told = what != PROMPTED or session.config.policy.work["agents"]["prompts"]
    text = words_of(said, MAX_SENT_CHARS) if told else ""
    fields: Fields = {"what": what, "text": text}
    if what == PROMPTED:
        from dibs.operations.guards import stop_gate

        fields["continues"] = said.lstrip().startswith(("<", stop_gate.MARK))  # a client's own note, or our own words
        fields["open_end"] = stop_gate.leaves_open(said)
    session.run(TURN, identify(session, event), fields)


# What a client's notification is about, by its type: a question to a person, or that the turn is over, which an
# interrupted one does not report otherwise. Any other is not about the agent's turn.
ASKING = ("permission_prompt", "worker_permission_prompt", "agent_needs_input", "elicitation_dialog", "ToolPermission")
RESTING = ("idle_prompt",)
INTERRUPT = "Interrupt"  # of Codex: a person ended the turn, and what it ran may run on
ATTENDED = "CLAUDE_CODE_SESSION_ATTENDED"  # of Claude Code: "0" where no person can be asked


def note(event: Event, place: Place) -> str:
    """The agent waits for a person, until its next hook of any kind: that one is a sign of life in any case."""
    from dibs.operations.agents.turns import ASKS, DENIED, OVER

    if caller.environ().get(ATTENDED) == "0":  # nobody is there: the client answers itself
        if event.source in ASKING or not event.source:
            _tell_turn(event, place, DENIED, "")
            _be_due(place.local, event.agent)
        return ""
    if event.name == INTERRUPT:
        from dibs.ledger import working_tree

        _settle(event, place, working_tree.of(place), over=True)
    if event.source in RESTING or event.name == INTERRUPT:
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
    _anchor(place, tree)
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
    """The agent's turn is over, or it is sent back: unchanged files are released, a person may commit the others."""
    from dibs.guards import audit, turn_end
    from dibs.operations.guards.audits import IDLE, MINE
    from dibs.operations.guards.records import held_file

    tree = _step(event, place)
    _settle(event, place, tree, over=True)
    tree.cut()
    session = open_session(place)
    call = identify(session, event)
    mine = session.run(MINE, call, {})  # before any call that shows that the agent goes on
    audit.tell(session, call, [tree])
    told = turn_end.judge(session, call, event, tree, mine)
    if is_sent_back(told):
        return told
    now: dict[str, str] = {}
    for claim, top, texts in mine["claims"]:
        for text in texts:
            content = contents.read(f"{top}/{text}")[0]
            now[held_file(claim, text)] = "" if content == contents.MISSING else content
    session.run(IDLE, call, {"now": now, "busy": event.background})
    return told


def failed(event: Event, place: Place) -> str:
    """An error ended the agent's turn: it cannot go on, and what it holds stays."""
    from dibs.guards import audit, limits
    from dibs.operations.agents.limits import LIMITED

    if not event.halted:
        return ""
    tree = _step(event, place)
    _settle(event, place, tree, over=True)
    session = open_session(place)
    call = identify(session, event)
    audit.tell(session, call, [tree])
    what, ms = limits.of(event)
    session.run(LIMITED, call, {"what": what, "ms": ms})
    return ""


def end(event: Event, place: Place) -> str:
    """The agent ends: its claims are released, or pass to its parent. Its unfinished work stays its own."""
    from dibs.guards import audit, turn_end
    from dibs.operations.guards.audits import KNOWN, MINE

    session = open_session(place)
    call = identify(session, event)
    # after a compaction, clients report the end of subagents that never began
    if session.run(KNOWN, call, {})["known"]:
        if event.moment == DIED:
            tree = _step(event, place)
            told = turn_end.judge(session, call, event, tree, session.run(MINE, call, {}))
            if is_sent_back(told):
                return told
        tree = _step(event, place, over=True)
        _settle(event, place, tree, over=True)
        audit.tell(session, call, [tree])
        session.run(session.operation("leave"), call, {})
    return ""


def is_sent_back(told: str) -> bool:
    """Is what is said at the end of a turn for the agent, which continues? Else it is for the person."""
    from dibs.guards import turn_end

    return isinstance(told, turn_end.SentBack)


HANDLERS = {BOOT: boot, PROMPT: prompt, STOP: stop, END: end, BORN: boot, DIED: end, NOTE: note, FAIL: failed}
