"""Answers of the `state` commands as text for people. A value is shown as JSON, which is how it is written."""

from __future__ import annotations

from dibs import jsontext
from dibs.doors.cli.show import ago, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _get(result: dict[str, Any]) -> list[str]:
    return [jsontext.encode(result["value"]), f"(version {result['version']}, {result['by']} {ago(result['at'])} ago)"]


def _set(result: dict[str, Any]) -> list[str]:
    return [f"{result['key']} is now at version {result['version']}"]


def _list(result: dict[str, Any]) -> list[str]:
    rows = [(d["key"], str(d["version"]), d["by"], f"{ago(d['at'])} ago") for d in result["documents"]]
    lines = table(("KEY", "VERSION", "BY", "WRITTEN"), rows) if rows else ["no documents"]
    if result["more"]:
        lines.append(f"(there are more: `--after {rows[-1][0]}` goes on)")
    return lines


def _delete(result: dict[str, Any]) -> list[str]:
    return [f"deleted {result['key']} (version {result['version']})"]


SHOWERS = {"state get": _get, "state set": _set, "state list": _list, "state delete": _delete}
