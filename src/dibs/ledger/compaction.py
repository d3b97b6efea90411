"""Compaction of a ledger: the same state in fewer lines. A hook that finds a long ledger writes it anew with these.

Calls before the last look at the whole tree cannot have caused anything that is still to be found. What the new lines
leave out of earlier changes goes to the file `past` (ledger/ledger_files.py), for `dibs undo`.
"""

from __future__ import annotations

from dibs.ledger import state as ledger
from dibs.ledger.state import HOUR_NS, WATCH_NS, stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.ledger.state import Head, Line, State, ToolCall

HISTORY_NS = 24 * HOUR_NS  # for calls and paths that a compacted ledger still knows
MAX_CHANGES_KEPT = 300  # of finished paths


def compacted(state: State, now: int) -> list[Line]:
    """The state without old events that no longer matter."""
    lines = _lines(state, now, _remembered_heads(state, now))
    return [ledger.compaction_line(state.moves, len(lines)), *lines]


def without_obsolete(state: State, now: int) -> list[Line]:
    """The state without the lines that later ones replaced: every known path stays known."""
    return [ledger.compaction_line(state.moves, state.left), *_lines(state, now, state.heads.items())]


def past(state: State) -> list[Line]:
    """The changes that both leave out."""
    return [change.line() for change in state.changes]


def _remembered_heads(state: State, now: int) -> list[tuple[str, Head]]:
    """Unfinished work, named paths, and the latest changes: their authors are asked for during a day."""
    needed, changed = [], []
    for path, head in state.heads.items():
        if head.owners or head.named > now - WATCH_NS:
            needed.append((path, head))
        elif head.change is not None and head.change.looked > now - HISTORY_NS:
            changed.append((path, head))
    changed.sort(key=_last_change)
    return [*needed, *changed[-MAX_CHANGES_KEPT:]]


def _last_change(item: tuple[str, Head]) -> int:
    return item[1].change.looked if item[1].change is not None else 0


def _lines(state: State, now: int, heads: Iterable[tuple[str, Head]]) -> list[Line]:
    lines = [ledger.tree_look_line(stamp(state.full, 0), state.cost)] if state.full else []
    agents = [agent for agent in state.began if state.ended.get(agent, now) >= now - HISTORY_NS]
    lines += [ledger.session_line(stamp(state.began[agent], 0), agent) for agent in agents]
    # before the heads: a path that was committed since is not named again by their lines
    for call in state.calls.values():
        if call.may_matter(max(state.full, now - HISTORY_NS)):
            lines += call_lines(call)
            if call.ended:
                lines.append(ledger.turn_line(stamp(call.ended, call.offset), call.agent))
    lines += [ledger.session_end_line(stamp(state.ended[agent], 0), agent) for agent in agents if agent in state.ended]
    lines += [ledger.formatter_line(agent) for agent in state.formats]
    lines += [ledger.head_line(path, head, state.last_look(head, now)) for path, head in heads]
    lines += [ledger.unreported_line(change) for change in state.untold.values()]
    return lines


def call_lines(call: ToolCall) -> list[Line]:
    """A call as lines again."""
    lines = [
        ledger.call_line(
            stamp(call.opened, call.offset), call.id, call.agent, is_open=call.is_open, left=call.left,
            diary=call.diary, claims=[*call.claims, *[ledger.UNITS + one for one in call.units]],
        )
    ]  # fmt: skip
    lines += [ledger.name_line(call.id, how, content, path) for path, (how, content) in call.named.items()]
    lines += [ledger.tree_line(call.id, tree) for tree in call.trees]
    if call.closed:
        lines.append(ledger.call_end_line(stamp(call.closed, call.offset), call.id, left=call.left))
    return lines
