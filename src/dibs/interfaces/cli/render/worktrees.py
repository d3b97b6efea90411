"""Answers about worktrees as text for people: coming conflicts, the landing queue."""

from __future__ import annotations

from dibs.errors import counted
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.render import continued, some, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.render import Items, Lines
    from dibs.operations.landing.answers import (
        ConflictFileView,
        LandAnswer,
        LandingCancelAnswer,
        LandingsAnswer,
        LandingView,
        RadarAnswer,
        SideView,
    )

COMMIT_DIGITS = 12  # digits of a commit's id
MAX_HUNKS_SHOWN = 3


# --- radar


def _radar(result: RadarAnswer) -> Items:
    if not result["conflicts"]:
        looked = result["looked"]
        many = f"{looked} working trees and branches" if looked != 1 else "1 working tree"
        return [f"no coming conflicts ({many})" if result["looked_at"] else "nobody has looked yet: `dibs radar`"]
    lines: Lines = []
    for conflict in result["conflicts"]:
        one, other = conflict["sides"]
        lines.append(f"{_side(one)} and {_side(other)}, since {times.ago(conflict['since'])}")
        for file in conflict["files"]:
            lines.append(f"  {file['path']}: {_where(file, one['name'], other['name'])}")
        more = conflict["count"] - len(conflict["files"])
        if more > 0:
            lines.append(f"  and {counted(more, 'more file')}")
    count = len(result["conflicts"])
    lines.append(f"{count} {'pair' if count == 1 else 'pairs'} would conflict if merged now")
    return [*lines, *continued(result)]


def _side(side: SideView) -> str:
    who = f" ({some(side.get('agents_name') or side['agents'])})" if side["agents"] else ""
    return f"{side['name']}{who}"


def _where(file: ConflictFileView, one: str, other: str) -> str:
    if not file["hunks"]:
        return str(file["kind"])
    spans = [
        f"{one} {_lines(hunk['one'])}, {other} {_lines(hunk['other'])}" for hunk in file["hunks"][:MAX_HUNKS_SHOWN]
    ]
    more = len(file["hunks"]) - len(spans)
    return "; ".join(spans) + (f"; and {counted(more, 'more place')}" if more > 0 else "")


def _lines(span: list[int]) -> str:
    first, count = span
    return f"line {first}" if count <= 1 else f"lines {first}-{first + count - 1}"


# --- landings


def _land(result: LandAnswer) -> Items:
    landing = result["landing"]
    if landing["state"] != "queued":
        return outcome(landing)
    lines: Lines = [f"{landing['branch']} is number {result['place']} in the queue for {landing['onto']}"]
    if "lands" in result:
        who = {"server": "The server lands it", "": ""}.get(result["lands"], f"{result['lands']} lands the queue now")
        nobody = "Nobody lands it now: `dibs land --all` does, or a server (`dibs serve`)"
        lines.append(f"{who or nobody}; you will be notified when it is decided.")
    return lines


def outcome(landing: LandingView) -> Items:
    """A landing that was decided."""
    branch, onto = landing["branch"], landing["onto"]
    if landing["state"] == "landed":
        return [f"{branch} landed on {onto} as {landing['landed'][:COMMIT_DIGITS]}"]
    if landing["state"] == "cancelled":
        return [f"{branch} was taken out of the queue for {onto}; it is untouched"]
    return [f"{branch} did not land on {onto}: {landing.get('why', '')}"]


def _cancel(result: LandingCancelAnswer) -> Items:
    return outcome(result["landing"])


def _landings(result: LandingsAnswer) -> Items:
    lines: Lines = []
    lander = result["lander"]
    if lander is not None:
        who, since = lander.get("name") or lander["agent"], times.ago(lander["since"])
        count = len(lander["landings"])
        doing = f"{lander['stage']} {count} {'branch' if count == 1 else 'branches'}" if count else lander["reason"]
        lines.append(f"{who} has land:{result['onto']} for {since}: {doing or 'no reason given'}")
    elif result["queued"]:
        lines.append(f"nobody lands on {result['onto']} now; `dibs land --all` does")
    if result["stopped"] is not None:
        stopped = result["stopped"]
        lines.append(f"nothing lands on {result['onto']} for {times.ago(stopped['since'])}: {stopped['why']}")
    rows = [
        (landing["branch"], _state(landing), landing.get("name") or landing["agent"], _what(landing))
        for landing in result["landings"]
    ]
    lines.append(terminal.Table(("BRANCH", "STATE", "AGENT", ""), rows) if rows else "nothing is queued")
    return [*lines, *continued(result)]


def _state(landing: LandingView) -> str:
    if landing["state"] == "queued":
        return f"queued {times.ago(landing['at'])}" + (
            f", priority {landing['priority']}" if landing["priority"] else ""
        )
    return f"{landing['state']} {times.ago(landing['decided_at'])} ago"


def _what(landing: LandingView) -> str:
    if landing["state"] == "landed":
        return str(landing["landed"][:COMMIT_DIGITS])
    return str(landing.get("why", ""))


RENDERERS = {"radar": _radar, "land": _land, "landings": _landings, "landings cancel": _cancel}
