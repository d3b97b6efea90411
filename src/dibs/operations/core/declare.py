"""How an operation is declared: once, here is its whole contract, and every door is derived from it.

An operation has a name, typed fields, the refusals it may give, whether it writes, who may call it, and one line of
help. The CLI command, its help and completion, and the Python method come from this; so will the HTTP route and the MCP
tool.

Plain classes with slots: this is on the hook path, where dataclasses would cost 17 ms.
"""

from __future__ import annotations

from dibs.errors import Invalid

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
#   commit     the full id of a commit that is in this repository, where there is one
# `Field.check` holds the outcome to this, whatever the door: an operation never meets a value of another type.

WHOLE = 2**63  # the largest whole number that every engine keeps
RESOURCE_PARTS = (2, 3)  # kind and text, or these and the alias
SHOWN = 60  # letters of a wrong value that a refusal repeats


class Field:
    """One field of an operation's request."""

    __slots__ = ("choices", "default", "help", "hidden", "items", "kind", "metavar", "name", "positional", "required")

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
        items: str = "",
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
        self.items = items  # of a list in JSON: the operation whose fields each of its objects has

    def check(self, value: Any) -> Any:
        """The value, if it is of this field's kind; else Invalid with the field's name."""
        is_of_kind, what = _KINDS[self.kind]
        if self.kind == "choice":
            if not (isinstance(value, str) and value in self.choices):
                raise self.refusal(value, f"one of {', '.join(self.choices)}")
        elif not is_of_kind(value):
            raise self.refusal(value, what)
        return value

    def refusal(self, value: Any, what: str = "") -> Invalid:
        """Why this value is none for this field."""
        if isinstance(value, (str, int, float, type(None))):
            shown = ascii(value)
            shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
        else:
            shown = f"a {type(value).__name__}"
        return Invalid(f"{self.name}: {what or _KINDS[self.kind][1]}, not {shown}", field=self.name)


def is_text(value: Any) -> bool:
    """Is it a text that can be kept and printed? Half of a character that takes two units (a lone surrogate) is not."""
    if not isinstance(value, str):
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -WHOLE <= value < WHOLE


def _is_integer(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_words(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(is_text, value))


def _is_resource(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) in RESOURCE_PARTS and all(map(is_text, value))


def _is_resources(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_resource, value))


def _is_anything(_: Any) -> bool:
    return True  # json_values.py looks at plain values, with the limits that the operation knows


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (is_text, "a text in Unicode"),
    "agent": (is_text, "an agent's id or name"),
    "resource": (_is_resource, "a path, a glob or a name such as db:migrations"),
    "resources": (_is_resources, "paths, globs or names such as db:migrations"),
    "duration": (_is_integer, "milliseconds as a whole number"),
    "integer": (_is_integer, "a whole number, 0 or more"),
    "number": (_is_number, "a whole number"),
    "flag": (lambda value: isinstance(value, bool), "True or False"),
    "choice": (is_text, "a text"),
    "words": (_is_words, "a list of texts"),
    "process": (lambda value: isinstance(value, list), "a process"),
    "json": (_is_anything, "a plain value"),
    "commit": (is_text, "a commit's id"),
}


class Operation:
    """One operation. `body(tx, call, rows, **fields)` decides; `ahead` names what to read in the first trip.

    `may` is the least rank that may call it ("" for a guard's own operations, which go by the role themselves).
    `asks(tx, call, **fields)` says for one request which rank it needs ("" for `may`), and whose the thing is: its
    owner needs no more than `may`. `others` is the highest rank that `asks` may answer.
    """

    __slots__ = (
        "agents", "ahead", "answer", "asks", "body", "errors", "fields", "group", "help", "may", "name", "others",
        "refuses", "registers", "required", "takes", "writes",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        body: Callable[..., Any],
        help: str,
        *,
        fields: tuple[Field, ...] = (),
        errors: tuple[type[DibsError], ...] = (),
        answer: str = "",
        writes: bool = True,
        takes: bool = False,
        ahead: Callable[..., list[Range]] | None = None,
        may: str = "",
        others: str = "",
        asks: Callable[..., tuple[str, Sequence[str]]] | None = None,
        registers: bool = True,
        group: str = "",
        refuses: str = "",
    ) -> None:
        self.name = name
        self.body = body
        self.help = help
        self.fields = fields
        self.required = tuple([field.name for field in fields if field.required])
        self.agents = tuple([field.name for field in fields if field.kind == "agent"])  # a name will do, too
        self.errors = errors
        self.answer = answer  # its type in answers.py
        self.writes = writes
        self.takes = takes  # takes claims; where it has no `answer`, nobody reads its grant
        self.ahead = ahead
        self.may = may if writes else may or VIEWER
        self.others = others
        self.asks = asks
        self.group = group  # its subject: where help, documents and later routes list it
        self.refuses = refuses  # the key of the answer that, where it is not empty, makes the answer a no (exit code 1)
        self.registers = registers  # makes an unseen caller known; not where it only asks, or speaks for nobody


# The fields of every listing; paging.py has what they mean.
PAGED = (
    Field("limit", "integer", "at most N entries, up to 1000", default=0, metavar="N"),
    Field("after", "text", "continue after this cursor (from the page before)", default="", metavar="CURSOR"),
)
