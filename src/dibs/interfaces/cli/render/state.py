"""Answers of the `state` commands as text for people. A value is shown as JSON, which is how it is written."""

from __future__ import annotations

from dibs import jsontext
from dibs.errors import named
from dibs.interfaces.cli.render import times
from dibs.interfaces.cli.terminal import Aside, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.render import Items, Lines
    from dibs.operations.documents.answers import StateDeleteAnswer, StateGetAnswer, StateListAnswer, StateSetAnswer


def _get(result: StateGetAnswer) -> Items:
    note = f"(version {result['version']}, {named(result, 'by')} {times.ago(result['at'])} ago)"
    return [jsontext.encode(result["value"]), Aside(note)]


def _set(result: StateSetAnswer) -> Items:
    return [f"{result['key']} is now at version {result['version']}"]


def _list(result: StateListAnswer) -> Items:
    rows = [(d["key"], str(d["version"]), named(d, "by"), f"{times.ago(d['at'])} ago") for d in result["documents"]]
    lines: Lines = [Table(("KEY", "VERSION", "BY", "WRITTEN"), rows) if rows else "no documents"]
    if result["more"]:
        lines.append(f"(more: `--after {rows[-1][0]}`)")
    return lines


def _delete(result: StateDeleteAnswer) -> Items:
    return [f"deleted {result['key']} (version {result['version']})"]


RENDERERS = {"state get": _get, "state set": _set, "state list": _list, "state delete": _delete}
