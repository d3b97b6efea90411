"""Worktrees in `dibs top`: which would conflict if merged now, and what lands. Two lines below the alerts, and a story.

What is shown is what the last look and the landing queue say (`radar`, `landings`); nobody looks because of this.
"""

from __future__ import annotations

from dibs.interfaces.top import words
from dibs.interfaces.top.draw import fit, pad
from dibs.interfaces.top.rows import Row
from dibs.interfaces.top.words import length, ms, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.top.model import Model
    from dibs.interfaces.top.rows import Line
    from dibs.operations.landing.answers import ComingConflictView, ConflictFileView, LandingsAnswer, LandingView

STORY = "worktrees:"
WORD = 12  # columns of the word that a line begins with, as those of alerts
FILES, HUNKS = 2, 3  # that are told of a pair, of a file
SHORT = 12  # letters of a commit


def lines(model: Model) -> list[Row]:
    """What `top` says of worktrees without being asked: nothing, where there is nothing."""
    state, rows = model.state, []
    pairs = state.radar["conflicts"] if state.radar else []
    if pairs:
        more = f", {len(pairs)}{'+' if state.radar and state.radar['more'] else ''} pairs" if len(pairs) > 1 else ""
        rows.append(_line("Conflict", f"{_pair(pairs[-1])} if merged now{more}", pairs[-1]["since"], state.now))
    queue = state.landings
    if queue and (queue["queued"] or queue["lander"]):
        since = queue["lander"]["since"] if queue["lander"] else ""
        rows.append(_line("Landing", _queue(model, queue), since, state.now))
    return rows


def _line(word: str, text: str, since: str, now: int) -> Row:
    def draw(columns: int) -> Line:
        end = f"{length(now - ms(since))}  g m" if since else "g m"
        room = max(0, columns - 4 - WORD - len(end) - 1)
        return fit([("~  ", "wait"), (pad(word, WORD), "bold wait"), (" ", ""), (pad(plain(text), room), ""), (" ", ""),
                    (end, "dim")], columns)  # fmt: skip

    return Row(f"\t{word}", draw, open=STORY, search=f"{word} {text}")


def _names(conflict: ComingConflictView) -> str:
    return f"{conflict['sides'][0]['name']} and {conflict['sides'][1]['name']}"


def _pair(conflict: ComingConflictView) -> str:
    files = [file["path"] for file in conflict["files"][:FILES]]
    more = conflict["count"] - len(files)
    return f"{_names(conflict)}: {', '.join(files)}{f' and {more} more' if more > 0 else ''} would conflict"


def _queue(model: Model, queue: LandingsAnswer) -> str:
    queued = f"{words.count(queue['queued'], 'branch', 'branches')} queued for {queue['onto']}"
    lander = queue["lander"]
    if lander is None:
        return f"{queued}; nobody lands: dibs land --all"
    who = lander.get("name") or model.state.name_of(lander["agent"])
    if lander["landings"]:
        return f"{queued}; {who}: {lander['stage']} {words.count(len(lander['landings']), 'branch', 'branches')}"
    reason = f": {lander['reason']}" if lander["reason"] else ""
    return f"{queued}; {who} keeps others from landing{reason}"


# --- the story


def facts(model: Model) -> list[tuple[str, str, str, str]]:
    """All of it: label, text, tone, the story that it leads to."""
    state = model.state
    found: list[tuple[str, str, str, str]] = []
    radar, queue = state.radar, state.landings
    if radar is None or queue is None:
        return [("", "reading…", "dim", "")]
    if not radar["looked_at"]:
        found.append(("Conflicts", "nobody has looked yet: dibs radar; a server looks by itself", "", ""))
    elif not radar["conflicts"]:
        text = f"no two of {radar['looked']} working trees and branches would conflict"
        if radar["looked"] <= 1:
            text = "only one working tree or branch: nothing to merge"
        found.append(("Conflicts", f"{text} (checked {length(state.now - ms(radar['looked_at']))} ago)", "ok", ""))
    for conflict in radar["conflicts"]:
        since = length(state.now - ms(conflict["since"]))
        agents = [agent for side in conflict["sides"] for agent in side["agents"]]
        of = f", work of {words.joined(state.name_of(one) for one in agents)}" if agents else ""
        opens = f"agent:{agents[0]}" if agents else ""
        found.append(("Conflict", f"{_names(conflict)}, since {since}{of}", "wait", opens))
        found += [("", f"  {file['path']}: {_where(file, conflict)}", "", "") for file in conflict["files"]]
        if conflict["count"] > len(conflict["files"]):
            found.append(
                ("", f"  and {words.count(conflict['count'] - len(conflict['files']), 'more file')}", "dim", "")
            )
    found.append(("", "", "", ""))
    if not queue["landings"] and not queue["lander"]:
        found.append(("Landing", "nothing was queued yet: dibs land, in the worktree of a branch", "", ""))
        return found
    found.append(("Landing", _queue(model, queue), "held", ""))
    return found + [_landing(model, one) for one in queue["landings"]]


def _where(file: ConflictFileView, conflict: ComingConflictView) -> str:
    if not file["hunks"]:
        return str(file["kind"])
    one, other = (side["name"] for side in conflict["sides"])
    places = [f"{one} {_span(hunk['one'])}, {other} {_span(hunk['other'])}" for hunk in file["hunks"][:HUNKS]]
    more = len(file["hunks"]) - len(places)
    return "; ".join(places) + (f"; and {more} more" if more else "")


def _span(lines: list[int]) -> str:
    first, many = lines
    return f"line {first}" if many <= 1 else f"lines {first}-{first + many - 1}"


def _landing(model: Model, landing: LandingView) -> tuple[str, str, str, str]:
    state = model.state
    tone = {"queued": "wait", "landed": "ok", "refused": "bad"}.get(landing["state"], "dim")
    since = length(state.now - ms(landing.get("decided_at") or landing["at"]))
    who = landing.get("name") or state.name_of(landing["agent"])
    what = f": {landing['why']}" if landing.get("why") else ""
    if landing.get("landed"):
        what = f" as {landing['landed'][:SHORT]}"
    return "", f"{landing['branch']}  {landing['state']} {since}  {who}{what}", tone, f"agent:{landing['agent']}"
