"""The map as a table: one row a resource, one column an agent, fitted to the terminal."""

from __future__ import annotations

from dibs.errors import counted
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.render import continued

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import MapAgentView, MapAnswer, MapResourceView, MapUseView
    from dibs.interfaces.cli.render import Items, Lines

NAME_COLUMNS = 12  # columns of an agent's name at most
RESOURCE_COLUMNS = 36  # columns of a resource at most, on a narrow terminal
GAP = 2
LEGEND = "W writes, r reads, * holds it now, x was refused"


def table(answer: MapAnswer, columns: int) -> Items:
    """The table, its legend, and how to see the rest."""
    if not answer["resources"]:
        return ["nothing was claimed or written yet", *continued(answer)]
    agents, others = _columns(answer, columns)
    head = [
        "RESOURCE",
        *[terminal.cut(terminal.clean(agent["name"]), NAME_COLUMNS) for agent in agents],
        *(["OTHERS"] if others else []),
    ]
    rows = []
    for resource in answer["resources"]:
        cells = {use["agent"]: _cell(use) for use in resource["agents"]}
        mine = [cells.get(agent["agent"], ".") for agent in agents]
        left = [use for use in resource["agents"] if use["agent"] in others]
        if others:
            mine.append(f"{len(left)}" if left else ".")
        rows.append((_resource(resource, columns), *mine))
    totals = answer["totals"]
    said = f"{counted(totals['resources'], 'resource')}, {counted(totals['writers'], 'agent')} with write access"
    lines: Lines = [terminal.Table(head, rows), "", f"{said}. {LEGEND}."]
    if answer["depth"]:
        lines.append(f"Folded into directories at depth {answer['depth']}; `dibs map --depth N` or a path shows more.")
    if others:
        lines.append(f"OTHERS are {counted(len(others), 'agent')} that write less; `--json` has all of them.")
    for role in answer["roles"]:
        where = f" write {', '.join(role['write'])}" if role["write"] else ""
        lines.append(f"By the configuration, {role['who']} is {role['role']}{' and may' if where else ''}{where}.")
    if totals["left_out"]:
        lines.append(f"{counted(totals['left_out'], 'use')} of further resources not shown.")
    return [*lines, *continued(answer)]


def _columns(answer: MapAnswer, columns: int) -> tuple[list[MapAgentView], set[str]]:
    """The agents that have a column, those that write most first, and those for which there is no room."""
    here = {use["agent"] for resource in answer["resources"] for use in resource["agents"]}
    agents = [agent for agent in answer["agents"] if agent["agent"] in here]
    width = max(terminal.cells(_resource(resource, columns)) for resource in answer["resources"])
    room = columns - max(width, len("RESOURCE")) - 1
    shown: list[MapAgentView] = []
    for place, agent in enumerate(agents):
        need = min(NAME_COLUMNS, max(terminal.cells(agent["name"]), 2)) + GAP
        reserve = 0 if place == len(agents) - 1 else len("OTHERS") + GAP
        if room - need < reserve:
            break
        room -= need
        shown.append(agent)
    shown = shown or agents[:1]
    return shown, {agent["agent"] for agent in agents[len(shown) :]}


def _resource(resource: MapResourceView, columns: int) -> str:
    name = terminal.clean(resource["resource"])
    more = f" ({resource['folded']})" if resource.get("folded") else ""
    room = max(RESOURCE_COLUMNS, columns // 2) - len(more)
    return f"{terminal.cut_path(name, room)}{more}"


def _cell(use: MapUseView) -> str:
    mark = ("W" if use["writes"] else "") + ("r" if use["reads"] else "")
    return (mark or "x") + ("*" if use["holds"] else "")
