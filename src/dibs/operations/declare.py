"""How an operation is declared: once, here is its whole contract, and every door is derived from it.

An operation has a name, typed fields, the refusals it may give, whether it writes, who may call it, and one line of
help. The CLI command, its help and completion, and the Python method come from this; so will the HTTP route and the MCP
tool.

Plain classes with slots: this is on the hook path, where dataclasses would cost 17 ms.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.errors import DibsError
    from dibs.stores.seam import Range

VIEWER, WORKER, AGENT, ORCHESTRATOR, PERSON = "viewer", "worker", "agent", "orchestrator", "person"
RANKS = {VIEWER: 0, WORKER: 1, AGENT: 2, ORCHESTRATOR: 3, PERSON: 4}  # who may what: authority.py has the story

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
    """One operation. `body(tx, call, rows, **fields)` decides; `ahead` names what to read in the first trip.

    `may` is the least rank that may call it ("" for a guard's own operations, which go by the role themselves).
    `asks(tx, call, **fields)` says for one request which rank it needs ("" for `may`), and whose the thing is: its
    owner needs no more than `may`. `others` is the highest rank that `asks` may answer.
    """

    __slots__ = (
        "agents", "ahead", "asks", "body", "errors", "fields", "help", "json", "may", "name", "others", "registers",
        "required", "takes", "writes",
    )  # fmt: skip

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
        may: str = "",
        others: str = "",
        asks: Callable[..., tuple[str, Sequence[str]]] | None = None,
        registers: bool = True,
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
        self.takes = takes  # takes claims; where it has no `json`, nobody reads its grant
        self.ahead = ahead
        self.may = may if writes else may or VIEWER
        self.others = others
        self.asks = asks
        self.registers = registers  # makes an unseen caller known; not where it only asks, or speaks for nobody


# The fields of every listing; paging.py has what they mean.
PAGED = (
    Field("limit", "integer", "how many at most, up to 1000", default=0, metavar="N"),
    Field("after", "text", "go on after this cursor, which the page before gave", default="", metavar="CURSOR"),
)
