"""How an operation is declared: once, here is its whole contract, and every door is derived from it.

An operation has a name, typed fields, the refusals it may give, whether it writes, who may call it, and one line of
help. The CLI command, its help and completion, and the Python method come from this; so will the HTTP route and the MCP
tool.

Plain classes with slots: this is on the hook path, where dataclasses would cost 17 ms.
"""

from __future__ import annotations

from dibs.canonical import Canonical
from dibs.errors import Busy, Fenced, Forbidden, Invalid, Killed, Unavailable
from dibs.jsontext import is_text

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
#   resource   a `Canonical`                       resources  one or more of those
#   duration   milliseconds                        integer    a whole number, 0 or more
#   flag       True or False                       choice     one of `choices`
#   words      a list of words                     process    a process, from its pid
#   number     a whole number, of either sign      json       a plain value; on a command line its text, or @FILE
#   commit     the full id of a commit that is in this repository, where there is one
# `Field.check` holds the outcome to this, whatever the door: an operation never meets a value of another type.

WHOLE = 2**63  # the largest whole number that every engine keeps
SHOWN = 60  # letters of a wrong value that a refusal repeats
SECOND = 1_000  # ms
MAX_TEXT = 2_000  # letters of people's words, unless a field says otherwise
LARGEST = 64 * 1024  # letters of a value as JSON text; what is longer belongs into a file
LOCAL = frozenset(("commit", "process", "resource", "resources"))  # kinds that only the caller's machine can read


class Field:
    """One field of an operation's request.

    - `internal`: never from outside. Doors, guards and the wait loop say it: who waits under which name, which guard
      asks, what was found on this machine. A door refuses it from a caller.
    - `env`: the environment variable that names it where the caller does not.
    - `least`, `most`: the bounds of a number or a duration (ms), and of the length of a list with `items`.
    - `longest`: letters of a text, of each word, or of a value as JSON text; 0 for no limit.
    - `items`: the fields of each object, where it is a list of objects.
    """

    __slots__ = (
        "choices", "default", "env", "help", "internal", "items", "kind", "least", "longest", "metavar", "most", "name",
        "positional", "required",
    )  # fmt: skip

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
        internal: bool = False,
        env: str = "",
        least: int | None = None,
        most: int | None = None,
        longest: int | None = None,
        items: tuple[Field, ...] = (),
    ) -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.default = default
        self.required = required
        self.positional = positional
        self.choices = choices
        self.metavar = metavar or name.upper()
        self.internal = internal
        self.env = env
        self.least = least
        self.most = most
        self.longest = (0 if internal else _LONGEST.get(kind, 0)) if longest is None else longest
        self.items = items

    @property
    def local(self) -> bool:
        """Does it need the caller's machine: its files, its processes, its repository?"""
        return self.kind in LOCAL or bool(self.env)

    def check(self, value: Any) -> Any:
        """The value, if it is of this field's kind and within its limits; else Invalid with the field's name."""
        is_of_kind, what = _KINDS[self.kind]
        if self.kind == "choice":
            if not (isinstance(value, str) and value in self.choices):
                raise self.refusal(value, f"one of {', '.join(self.choices)}")
        elif not is_of_kind(value):
            raise self.refusal(value, what)
        elif self.kind == "text":
            self._check_text(value)
        elif self.kind == "words":
            for word in value:
                self._check_text(word)
        elif self.kind == "json":
            from dibs.operations.core import json_values

            json_values.check_field(self, value)
        elif self.least is not None or self.most is not None:
            self._check_bounds(value)
        return value

    def _check_text(self, text: str) -> None:
        """Not too long, and no control characters but newline and tab."""
        if not self.longest:
            return
        if len(text) > self.longest:
            raise Invalid(f"{self.name}: at most {self.longest} characters, not {len(text)}", field=self.name)
        if not text.isprintable() and has_controls(text):
            raise Invalid(f"{self.name}: no control characters", field=self.name)

    def _check_bounds(self, value: int) -> None:
        low, high = self.least, self.most
        if (low is None or value >= low) and (high is None or value <= high):
            return
        if self.kind == "duration":
            low, high = low or 0, high or 0
            text = f"a duration from {low / SECOND:g} to {high // SECOND} s, not {value / SECOND:g} s"
        else:
            text = f"at least {low}" if high is None else f"from {low or 0} to {high}"
            text = f"{text}, not {value}"
        raise Invalid(f"{self.name}: {text}", field=self.name)

    def refusal(self, value: Any, what: str = "") -> Invalid:
        """Why this value is none for this field."""
        if isinstance(value, (str, int, float, type(None))):
            shown = ascii(value)
            shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
        else:
            shown = f"a {type(value).__name__}"
        return Invalid(f"{self.name}: {what or _KINDS[self.kind][1]}, not {shown}", field=self.name)


def has_controls(text: str) -> bool:
    """Has it control characters other than newline and tab?"""
    return any((letter < " " and letter not in "\n\t") or letter == "\x7f" for letter in text)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -WHOLE <= value < WHOLE


def _is_integer(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_words(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(is_text, value))


def _is_resource(value: Any) -> bool:
    return isinstance(value, Canonical) and all(map(is_text, value))


def _is_resources(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_resource, value))


def _is_anything(_: Any) -> bool:
    return True  # json_values.py looks at plain values


_LONGEST = {"text": MAX_TEXT, "words": MAX_TEXT, "json": LARGEST}
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

    Who may call it:
    - `may` is the least rank that may call it ("" for a guard's own operations, which go by the role themselves).
      `asks(tx, call, **fields)` says for one request which rank it needs ("" for `may`), and whose the thing is: its
      owner needs no more than `may`. `others` is the highest rank that `asks` may answer.
    - `registers`: makes an unseen caller known; not where it only asks, or speaks for nobody. `boots`: sees to the
      caller's record itself, and makes the calling process the agent's current one.

    What it does: `writes` or only reads; `takes` claims; `idempotent`: the same request a second time leaves the same
    state; `destructive`: takes away what others made or hold, or what does not come back. `refuses` is the key of the
    answer that, where it is not empty, makes the answer a no.

    What a session does around it, by names that the session knows (session/steps.py, doors/above.py):
    `wants` ("rules": the digest of the workspace's rules; "deliveries": what the agent subscribes to comes first),
    `beforehand` (completes the request), `afterwards` (completes the answer), `around` (runs it as a part of more).
    `withdraws`: a caller that is interrupted before it has the answer leaves nothing behind.
    """

    __slots__ = (
        "afterwards", "agents", "ahead", "answer", "around", "asks", "beforehand", "body", "boots", "destructive",
        "fields", "group", "help", "idempotent", "may", "name", "others", "own_errors", "refuses", "registers",
        "required", "takes", "wants", "whole", "withdraws", "writes",
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
        boots: bool = False,
        idempotent: bool = False,
        destructive: bool = False,
        group: str = "",
        refuses: str = "",
        wants: tuple[str, ...] = (),
        beforehand: str = "",
        afterwards: str = "",
        around: str = "",
        withdraws: bool = False,
        whole: bool = False,
    ) -> None:
        self.name = name
        self.body = body
        self.help = help
        self.fields = fields
        self.required = tuple([field.name for field in fields if field.required])
        self.agents = tuple([field.name for field in fields if field.kind == "agent"])  # a name will do, too
        self.own_errors = errors
        self.answer = answer  # its type in answers.py
        self.writes = writes
        self.takes = takes  # takes claims; where it has no `answer`, nobody reads its grant
        self.ahead = ahead
        self.may = may if writes else may or VIEWER
        self.others = others
        self.asks = asks
        self.registers = registers
        self.boots = boots
        self.idempotent = idempotent or not writes
        self.destructive = destructive
        self.group = group  # its subject: where help, documents and later routes list it
        self.refuses = refuses
        self.wants = wants
        self.beforehand = beforehand
        self.afterwards = afterwards
        self.around = around
        self.withdraws = withdraws
        self.whole = whole  # a `Query`: its body gets the session

    # Made when they are asked for: a hook loads declarations that it does not use.

    @property
    def by_name(self) -> dict[str, Field]:
        """Its fields."""
        return {field.name: field for field in self.fields}

    @property
    def defaults(self) -> dict[str, Any]:
        """What a request means that does not say a field."""
        return {field.name: field.default for field in self.fields if not field.required}

    @property
    def unsaid(self) -> frozenset[str]:
        """What is no part of a request: how long it waits, and what no caller says. A retry may differ in it."""
        return frozenset(["wait", *[field.name for field in self.fields if field.internal]])

    @property
    def errors(self) -> tuple[type[DibsError], ...]:
        """All that it may refuse with: its own, and what the way in (entry.py) and the store say to any call."""
        common: list[type[DibsError]] = [Invalid, Busy, Unavailable]
        if self.writes:
            common += [Killed] if self.boots else [Killed, Fenced]
            common += [Forbidden] if self.may else []
        return tuple(dict.fromkeys([*self.own_errors, *common]))

    def checked(self, given: dict[str, Any]) -> dict[str, Any]:
        """The request that the body gets: each value held to its field, and the default of what was not said."""
        found, known = self.defaults, self.by_name
        for name, value in given.items():
            field = known.get(name)
            if field is None:  # the body's own business
                found[name] = value
            elif field.kind == "choice" and value == field.default:
                pass  # "": none of them
            elif value is not None or field.kind == "json":
                found[name] = field.check(value)
        for name in self.required:
            if name not in found:
                raise Invalid(f"{self.name} needs `{name}`", field=name)
        return found


# The fields of every listing; paging.py has what they mean.
PAGED = (
    Field("limit", "integer", "at most N entries, up to 1000", default=0, most=1000, metavar="N"),
    Field(
        "after", "text", "continue after this cursor (from the page before)", default="", longest=0, metavar="CURSOR"
    ),
)

# What every call may say besides its operation's fields.
COMMON = (
    Field("as", "agent", "the agent that calls (else DIBS_AGENT, else the client's own session)", metavar="AGENT"),
    Field("workspace", "text", "the workspace (else DIBS_WORKSPACE, else found from the current folder)", longest=0,
          env="DIBS_WORKSPACE", metavar="DIR"),
    Field("request_id", "text", "idempotency key: retrying with the same ID returns the first answer", metavar="ID"),
    Field("timeout", "duration", "how long to wait for a busy store (default 5s)", env="DIBS_TIMEOUT", metavar="D"),
)  # fmt: skip
