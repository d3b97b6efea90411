"""What a look back found, as a page of text with a plot of the sessions.

Prompts are never shown, and of commands their first words; a session goes by its client and the beginning of its id.
"""

from __future__ import annotations

from dibs.audit.html_text import size
from dibs.errors import counted
from dibs.lookback import plot
from dibs.lookback.shared_work import ANOTHER, SAME, UNKNOWN, WHOLE
from dibs.machine import durations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.lookback.findings import Lookback, RefusalView

SHORT_ID = 8  # letters of a session's id
DAY, MINUTE = slice(0, 10), slice(0, 16)  # of an ISO time


def name_of(agent: str, found: Lookback) -> str:
    """A session for people: `claude 595f7a87`, and a subagent `595f7a87/explore`."""
    session, _, child = agent.partition("/")
    clients = found["agents"]
    short = f"{clients.get(session, '')} {session[:SHORT_ID]}".strip()
    return f"{short}/{child[:SHORT_ID]}" if child else short


def when(at: str) -> str:
    """A time for people, in UTC."""
    return at[MINUTE].replace("T", " ")


def ago(seconds: int) -> str:
    """A time between two things."""
    return durations.show(seconds * 1000) if seconds else "0s"


def nothing_found(found: Lookback) -> list[str]:
    """There are no sessions: where were they looked for?"""
    lines = ["No sessions of coding agents found. Looked in:"]
    lines += [f"  {folder}{f'  ({client})' if client else ''}" for client, folder in found["folders"]]
    if found["unread"]["files"]:
        lines.append(f"{counted(sum(found['unread']['files'].values()), 'file')} could not be read.")
    return [*lines, "Sessions elsewhere? Name their folder: `dibs lookback FOLDER`."]


def figures(found: Lookback) -> list[tuple[str, str]]:
    """Each figure with what it counts, for the text and for the page."""
    together, near, ids = found["together"], found["near"], found["shared_ids"]
    places = [f"{near[place]:,} {place}" for place in (SAME, ANOTHER, WHOLE, UNKNOWN) if near.get(place)]
    where = f" ({'; '.join(places)})" if places else ""
    beside = (
        f"of {counted(found['sessions'], 'session')} worked in a repository at the same time as another, "
        f"{together['same_tree']:,} in one working tree; {together['at_once']} at once at most, "
        f"{ago(together['seconds'])} in all"
    )
    edited = (
        "of a file that another session had edited in the 30 minutes before: "
        f"{near['1']:,} within 1 minute, {near['5']:,} within 5{where}"
    )
    given = f"given to a second session, {ids['together']:,} while the first was at work"
    return [
        (f"{together['sessions']:,}", beside),
        _said(near["30"], "edit", edited),
        _said(found["overwritten"], "whole file", "written over another session's edit, which was not read before"),
        _said(found["swept"], "git command", "over another session's uncommitted work"),
        _said(ids["all"], "issue", given),
    ]


def _said(count: int, noun: str, rest: str) -> tuple[str, str]:
    """A figure, and what it counts: one edit, two edits."""
    figure, _, named = counted(count, noun).partition(" ")
    return figure, f"{named} {rest}"


def verdicts(found: Lookback) -> list[tuple[str, str]]:
    """What dibs would have done, each figure with what it counts."""
    alone, refused = found["refused_alone"], found["refused"]
    total, calls = refused["commands"] + refused["edits"], found["calls"]
    share = f", {total / calls:.1%} of all" if calls else ""
    kinds = f"{counted(refused['edits'], 'edit')}, {counted(refused['commands'], 'command')}"
    stopped = (
        "that an agent would have been stopped and told who is at work there "
        f"({counted(total, 'call')} with later tries{share}: {kinds})"
    )
    by_itself = "refused with no other agent there"
    return [
        _said(refused["first"], "time", stopped),
        _said(alone["commands"], "command", by_itself),
        _said(alone["edits"], "edit", f"{by_itself}: of files that are strict by default, such as migrations"),
    ]


def page(found: Lookback, columns: int) -> list[str]:
    """The page."""
    if not found["sessions"]:
        return nothing_found(found)
    clients = ", ".join(f"{name} {count:,}" for name, count in sorted(found["clients"].items()))
    period = f"{found['from'][DAY]} to {found['to'][DAY]}"
    did = f"{counted(found['calls'], 'call')}, {counted(found['edits'], 'edit')} of files"
    read = f"{counted(found['files'], 'file')}, {size(found['bytes'])}, read in {found['seconds']} s"
    lines = [f"{counted(found['sessions'], 'session')} ({clients}), {period}: {did}. {read}."]
    lines += ["", "WHAT HAPPENED", *_rows(figures(found)), "", "WHAT DIBS WOULD HAVE DONE", *_rows(verdicts(found))]
    for part in (_near(found), _overwrites(found), _sweeps(found), _ids(found), _refusals(found)):
        listed = list(part)
        lines += ["", *listed] if len(listed) > 1 else []
    drawn = plot.draw(found, columns, lambda agent: name_of(agent, found))
    lines += ["", *drawn] if drawn else []
    return [*lines, *_unread(found)]


def _rows(rows: list[tuple[str, str]]) -> list[str]:
    wide = max(len(figure) for figure, _ in rows)
    return [f"  {figure:>{wide}}  {text}" for figure, text in rows]


def _near(found: Lookback) -> Iterator[str]:
    yield "FILES EDITED BY TWO, the shortest gaps"
    for one in found["near_edits"]:
        who = f"{name_of(one['by'], found)} {ago(one['seconds'])} after {name_of(one['first'], found)}"
        yield f"  {when(one['at'])}  {one['path']}: {who}, {one['place']}"


def _overwrites(found: Lookback) -> Iterator[str]:
    yield "WRITTEN OVER UNREAD"
    for one in found["overwrites"]:
        who = f"{name_of(one['by'], found)} {ago(one['seconds'])} after {name_of(one['of'], found)}"
        yield f"  {when(one['at'])}  {one['path']}: {who}"


def _sweeps(found: Lookback) -> Iterator[str]:
    yield "GIT OVER ANOTHER'S UNCOMMITTED WORK"
    for one in found["sweeps"]:
        owners = ", ".join(name_of(owner, found) for owner in one["of"])
        more = f" and {len(one['files']) - 1} more" if len(one["files"]) > 1 else ""
        would = f"`{one['command']}`: {one['does']} {one['files'][0]}{more} ({owners})"
        yield f"  {when(one['at'])}  {name_of(one['by'], found)}: {would}"


def _ids(found: Lookback) -> Iterator[str]:
    yield "ONE ISSUE, TWO SESSIONS"
    for one in found["ids"]:
        still = "which was at work" if one["together"] else "which had ended"
        who = f"{name_of(one['by'], found)} {ago(one['seconds'])} after {name_of(one['first'], found)}, {still}"
        yield f"  {when(one['at'])}  {one['id']}: {who}"


def _refusals(found: Lookback) -> Iterator[str]:
    yield "WHAT WOULD HAVE BEEN REFUSED"
    for cause, count in found["causes"].items():
        yield f"  {count:>6,}  {cause}"
    for one in found["refusals"]:
        yield f"  {when(one['at'])}  {name_of(one['by'], found)}{_times(one)}: {one['what']}"
        yield f"      {'alone, ' if one['alone'] else ''}{one['cause']}: {one['message']}"


def _times(one: RefusalView) -> str:
    return f" ({one['repeated']} times)" if one["repeated"] > 1 else ""


def _unread(found: Lookback) -> list[str]:
    unread = found["unread"]
    lines = []
    if unread["lines"]:
        named = ", ".join(f"{name}: {count:,}" for name, count in unread["lines"].items())
        lines.append(f"{counted(sum(unread['lines'].values()), 'line')} in a form that is not known here ({named}).")
    if unread["files"]:
        named = ", ".join(f"{name}: {count:,}" for name, count in unread["files"].items())
        lines.append(f"{counted(sum(unread['files'].values()), 'file')} could not be read ({named}).")
    if found["failed"]:
        lines.append(f"{counted(len(found['failed']), 'call')} could not be judged: {found['failed'][0]}")
    return ["", *lines] if lines else []
