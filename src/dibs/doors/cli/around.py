"""Commands that do something around their operation: its words are read as for any other, a function does the rest."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.doors.cli import parse
from dibs.doors.cli.run import read
from dibs.errors import YES
from dibs.session import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def run(
    name: str,
    arguments: list[str],
    act: Callable[[Any, Any, dict[str, Any]], dict[str, Any]],
    exit_code: Callable[[dict[str, Any]], int],
) -> int:
    """Read the words of the operation `name`, let `act` do it, and print what came of it."""
    operation = catalogue.operation(name)
    words = parse.parse(name, operation.fields, arguments)
    if words.help:
        from dibs.doors.cli import help

        return help.of_operation(operation)
    session, call, values = read(operation, words)
    result = act(session, call, values)
    code = exit_code(result)
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": code == YES, **result}) + "\n")
    else:
        from dibs.doors.cli import show

        show.show(name, result)
    return code
