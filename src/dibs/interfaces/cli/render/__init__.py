"""Answers as text for people: one file a group of operations, one function an answer.

A function returns lines and tables (`terminal.Table`); `terminal.write` prints them plain in a pipe and fitted on a
terminal.
"""

from __future__ import annotations

from dibs.client import catalogue
from dibs.interfaces.cli import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.operations.core.answers import Page

    Items = Sequence[str | terminal.Table]  # what a renderer returns
    Lines = list[str | terminal.Table]  # the same while it is made

AT_WORK = frozenset({"alive", "unknown"})  # states of agents that may still act


def show(command: str, result: Mapping[str, object]) -> None:
    """Print the answer of an operation."""
    terminal.write(items(command, result))


def items(command: str, result: Mapping[str, object]) -> Items:
    """The answer of an operation as lines and tables."""
    group = catalogue.operation(command).group
    renderers = __import__(f"dibs.interfaces.cli.render.{group}", fromlist=["RENDERERS"]).RENDERERS
    found: Items = renderers.get(command, _plain)(result)
    return found


def _plain(result: Mapping[str, object]) -> Items:
    return [f"{key}: {value}" for key, value in result.items()]


def some(names: list[str], few: int = 3) -> str:
    """A few of these; the rest is a number."""
    return ", ".join(names[:few]) + (f" and {len(names) - few} more" if len(names) > few else "")


def continued(result: Mapping[str, object]) -> Lines:
    """How to see the rest of a listing, if there is one."""
    return [f"(more: `--after {result['cursor']}`)"] if result.get("cursor") else []


def listed(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], empty: str, result: Page) -> Items:
    """A listing: its table, or that there is nothing, and how to go on."""
    return [terminal.Table(head, rows) if rows else empty, *continued(result)]
