"""How an operation is declared: once, here is its whole contract, and every door is derived from it.

An operation has a name, typed fields, the refusals it may give, whether it writes, and one line of help. The CLI
command, its help and completion, and the Python method come from this; so will the HTTP route and the MCP tool.

Plain classes with slots: this is on the hook path, where dataclasses would cost 17 ms.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.errors import DibsError
    from dibs.stores.seam import Range

# The kinds of field, and what a door makes of each before the operation sees it:
#   text       a string of people's words          agent      an agent's id or name
#   resource   [kind, text, alias], canonical      resources  one or more of those
#   duration   milliseconds                        integer    a whole number
#   flag       True or False                       choice     one of `choices`
#   words      a comma-separated list              process    a process, from its pid
#   number     a whole number, of either sign      json       a plain value; on a command line its text, or @FILE


class Field:
    """One field of an operation's request."""

    __slots__ = ("choices", "default", "help", "hidden", "kind", "metavar", "name", "positional", "required")

    def __init__(
        self,
        name: str,
        kind: str,
        help: str,
        *,
        default: Any = None,
        required: bool = False,
        positional: bool = False,
        choices: tuple[str, ...] = (),
        metavar: str = "",
        hidden: bool = False,
    ) -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.default = default
        self.required = required
        self.positional = positional
        self.choices = choices
        self.metavar = metavar or name.upper()
        self.hidden = hidden  # for other doors than the CLI


class Operation:
    """One operation. `body(tx, call, rows, **fields)` decides; `ahead` names what to read in the first trip."""

    __slots__ = ("agents", "ahead", "body", "errors", "fields", "help", "json", "name", "required", "takes", "writes")

    def __init__(
        self,
        name: str,
        body: Callable[..., Any],
        help: str,
        *,
        fields: tuple[Field, ...] = (),
        errors: tuple[type[DibsError], ...] = (),
        json: str = "",
        writes: bool = True,
        takes: bool = False,
        ahead: Callable[..., list[Range]] | None = None,
    ) -> None:
        self.name = name
        self.body = body
        self.help = help
        self.fields = fields
        self.required = tuple([field.name for field in fields if field.required])
        self.agents = tuple([field.name for field in fields if field.kind == "agent"])  # a name will do, too
        self.errors = errors
        self.json = json  # the keys of the answer beside `ok`
        self.writes = writes
        self.takes = takes  # takes claims: a nameless caller without a terminal may not
        self.ahead = ahead


# The fields of every listing; paging.py has what they mean.
PAGED = (
    Field("limit", "integer", "how many at most, up to 1000", default=0, metavar="N"),
    Field("after", "text", "go on after this cursor, which the page before gave", default="", metavar="CURSOR"),
)
