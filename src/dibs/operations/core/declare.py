"""The declaration of an operation: its whole contract, written once. Every door is derived from it.

An operation has a name, typed fields, the refusals it may give, whether it writes, who may call it, and one line of
help. The CLI command, its help and completion, the Python method, the HTTP route and the MCP tool come from this.

Plain classes with slots: this is on the hook path, where dataclasses would cost 17 ms.
"""

from __future__ import annotations

from dibs.canonical import Canonical
from dibs.errors import Busy, Fenced, Forbidden, Invalid, Killed, Unavailable, as_written
from dibs.jsontext import is_text
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from dibs.errors import DibsError
    from dibs.stores.seam import Json, Key, Range

    Ahead = tuple[Sequence[Key], Sequence[Range]]
    # Steps that a session takes around an operation; client/steps.py and audit/build.py have their functions.
    Beforehand = Literal[
        "", "beliefs", "landing branch", "landing home", "look for trouble", "make a secret", "save contents",
        "own unfinished files", "unfinished files",
    ]  # fmt: skip
    Afterwards = Literal[
        "", "archive old events", "briefing", "evidence", "note claim", "pass files on", "pin contents", "rules text",
        "scratch folder", "show the secret", "still running", "usage", "warnings",
    ]  # fmt: skip
    Around = Literal["", "archive", "gates", "prune"]

PREFETCH_ROWS = 48  # rows of ranges read for an operation before it runs; it reads on if it needs more
VIEWER, WORKER, AGENT, ORCHESTRATOR, PERSON = "viewer", "worker", "agent", "orchestrator", "person"
RANKS = {VIEWER: 0, WORKER: 1, AGENT: 2, ORCHESTRATOR: 3, PERSON: 4}  # authority.py says what each rank may do

# Who may send a request to a store, or a field of one. What nobody declared is for this machine's own user alone.
#   process   dibs itself: in the caller's process, or in a server for a door that has read the request (HTTP, MCP)
#   socket    a process of the same user, through a server's socket
#   machine, agent, person   a caller elsewhere, over a server's link, with a credential of that kind
PROCESS, SOCKET = "process", "socket"
BY_MACHINE, BY_AGENT, BY_PERSON = "machine", "agent", "person"
SENDERS = (PROCESS, SOCKET, BY_MACHINE, BY_AGENT, BY_PERSON)
NEAR = frozenset((PROCESS, SOCKET))
HOSTS = NEAR | {BY_MACHINE, BY_PERSON}  # also from afar, but not by the word of one agent
ANYWHERE = HOSTS | {BY_AGENT}

# The kinds of field, and what a door makes of each before the operation sees it:
#   text       a string of people's words          agent      an agent's id or name
#   resource   a `Canonical`                       resources  one or more of those
#   duration   milliseconds                        integer    a whole number, 0 or more
#   flag       True or False                       choice     one of `choices`
#   words      a list of words                     process    a process, from its pid
#   number     a whole number, of either sign      json       a plain value; on a command line its text, or @FILE
#   file       a path on the caller's machine, which is written there
#   commit     the full id of a commit that is in this repository, where there is one
# Only in what guards and other doors bring, which no caller writes:
#   raw        a text of a machine (a path, a command); what is not Unicode is replaced. `raws` is a list of those
#   object     an object; `items` are its fields   rows       a list of lists; `items` are the columns
#   texts      an object whose values are texts    amount     a number, 0 or more
#   tree       the top of a working tree: a link puts the name of the caller's machine before it (core/places.py)
#   channel    the name under which a waiting process is woken, or an id that a ledger made: a file, a key, a word
#   ref        the name of a branch, a remote, a commit: words of git's, without blanks, and no option
# `Field.check` holds the outcome to this, whatever the door: an operation never meets a value of another type.

MAX_INTEGER = 2**63  # the largest whole number that every engine keeps
SHOWN = 60  # letters of a wrong value that a refusal repeats
MAX_TEXT = 2_000  # letters of people's words, unless a field says otherwise
MAX_RAW = 1_000_000  # letters of a machine's text: a command with a file in it
MAX_TEXTS = 200  # in an object of texts that has a limit for each
MAX_REF = 400  # letters of a name in git: its file system takes no longer one
MAX_CHANNEL = 32  # letters; clock.random_id makes twelve
PROCESS_PARTS = 5  # of a process's full name (machine/processes.py)
MAX_JSON_CHARS = 64 * 1024  # letters of a value as JSON text; what is longer belongs into a file
LOCAL = frozenset(
    ("commit", "file", "process", "resource", "resources")
)  # kinds that only the caller's machine can read


class Field:
    """One field of an operation's request.

    - `internal`: set by doors, guards and the wait loop, never by a caller: the name a waiter listens under, the guard
      that asks, what was found on this machine. A door refuses it from a caller.
    - `env`: the environment variable that has its value where the caller gives none.
    - `least`, `most`: the bounds of a number or a duration (ms), and of the length of a list with `items`.
    - `longest`: letters of a text, of each word, or of a value as JSON text; 0 for no limit.
    - `items`: the fields of each object, where it is a list of objects; of an `object`; the columns of `rows`.
    - `sent_by`: who may send it to a server. Nothing is said: an internal one is for this machine alone, any other is
      for all that may send its operation.
    """

    __slots__ = (
        "choices", "default", "env", "help", "internal", "items", "kind", "least", "longest", "metavar", "most", "name",
        "positional", "required", "sent_by",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        kind: str,
        help: str,
        *,
        default: Json = None,
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
        sent_by: frozenset[str] | None = None,
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
        self.sent_by = sent_by

    @property
    def local(self) -> bool:
        """Does its value depend on the caller's machine: its files, its processes, its repository?"""
        return self.kind in LOCAL or bool(self.env)

    def check(self, value: Json) -> Json:
        """The value, if it is of this field's kind and within its limits; else Invalid with the field's name.

        The value stays as it is; only `raw` texts lose what no store can keep.
        """
        is_of_kind, what = _KINDS[self.kind]
        if self.kind == "choice":
            if not (isinstance(value, str) and value in self.choices):
                raise self.refusal(value, f"one of {', '.join(self.choices)}", near(value, self.choices))
        elif not is_of_kind(value):
            raise self.refusal(value, what)
        elif self.kind == "text":
            self._check_text(value)
        elif self.kind == "words":
            for word in value:
                self._check_text(word)
                if self.choices and word not in self.choices:
                    raise self.refusal(word, f"each one of {', '.join(self.choices)}", near(word, self.choices))
        elif self.kind == "json" or self.items:
            if self.items:
                from dibs.operations.core import nested

                return nested.check(self, value)
            from dibs.operations.core import json_values

            json_values.check_field(self, value)
        elif self.kind in _OF_MACHINES:
            return self._checked_texts(value)
        elif self.least is not None or self.most is not None:
            self._check_bounds(value)
        return value

    def _checked_texts(self, value: Json) -> Json:
        """A machine's text or texts, in a form that a store can keep, if they are not too long."""
        if self.kind == "raws":
            return [_plain(one) for one in value]
        if self.kind == "texts":
            longest = max(map(len, [*value, *value.values()]), default=0)
            if self.longest and (len(value) > MAX_TEXTS or longest > self.longest):
                raise self.refusal(value, f"at most {MAX_TEXTS} texts of {self.longest} characters")
            return value
        if len(value) > (self.longest or MAX_RAW):
            raise Invalid(f"{self.name}: at most {self.longest or MAX_RAW} characters", field=self.name)
        return _plain(value)

    def _check_text(self, text: str) -> None:
        """Not too long, and no control characters but newline and tab. Without a limit, only U+001A is refused."""
        if not self.longest:
            if COMMIT in text:
                raise Invalid(f"{self.name}: no U+001A in a text", field=self.name)
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
            text = f"a duration from {as_written(low)} to {as_written(high)}, not {as_written(value)}"
        else:
            text = f"at least {low}" if high is None else f"from {low or 0} to {high}"
            text = f"{text}, not {value}"
        raise Invalid(f"{self.name}: {text}", field=self.name)

    def refusal(self, value: Json, what: str = "", hint: str = "") -> Invalid:
        """The error for a value that this field does not take."""
        if isinstance(value, (str, int, float, type(None))):
            shown = ascii(value)
            shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
        else:
            shown = f"a {type(value).__name__}"
        return Invalid(f"{self.name}: {what or _KINDS[self.kind][1]}, not {shown}{hint}", field=self.name)


def near(word: object, known: Sequence[str]) -> str:
    """The question whether another word was meant, to follow an error; "" if none is near."""
    from difflib import get_close_matches

    close = get_close_matches(word[:SHOWN], known, 1) if isinstance(word, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""


def _plain(text: str) -> str:
    """A machine's text, in a form that a store can keep."""
    if is_text(text) and COMMIT not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace(COMMIT, "\ufffd")


def has_controls(text: str) -> bool:
    """Has it control characters other than newline and tab?"""
    return any((letter < " " and letter not in "\n\t") or letter == "\x7f" for letter in text)


def _is_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -MAX_INTEGER <= value < MAX_INTEGER


def _is_integer(value: Json) -> bool:
    return _is_number(value) and value >= 0


def _is_words(value: Json) -> bool:
    return isinstance(value, (list, tuple)) and all(map(is_text, value))


def _is_resource(value: Json) -> bool:
    return isinstance(value, Canonical) and 2 <= len(value) <= 3 and all(map(is_text, value))  # noqa: PLR2004 - an alias


def _is_resources(value: Json) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_resource, value))


def _is_raw(value: Json) -> bool:
    return isinstance(value, str)


def _is_list(value: Json) -> bool:
    return isinstance(value, (list, tuple))


def _is_raws(value: Json) -> bool:
    return _is_list(value) and all(map(_is_raw, value))


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


def _is_channel(value: Json) -> bool:
    if not _is_raw(value) or len(value) > MAX_CHANNEL:
        return False
    plain = value.replace("-", "")
    return not value or (plain.isascii() and plain.isalnum())


def _is_ref(value: Json) -> bool:
    if not _is_raw(value) or len(value) > MAX_REF or value.startswith("-"):  # a command would take it for an option
        return False
    return value.split() in ([], [value]) and not has_controls(value)


def _is_texts(value: Json) -> bool:
    return isinstance(value, dict) and _is_words([*value, *value.values()])


def _is_amount(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < MAX_INTEGER


def _is_process(value: Json) -> bool:
    """Machine, boot, namespace, pid and start time: together they identify a process."""
    return (
        isinstance(value, list)
        and len(value) == PROCESS_PARTS
        and all(map(is_text, value[:3]))
        and all(map(_is_integer, value[3:]))
    )


def _is_anything(_: object) -> bool:
    return True  # json_values.py looks at plain values


_OF_MACHINES = frozenset(("raw", "raws", "ref", "texts", "tree"))
_LONGEST = {"text": MAX_TEXT, "words": MAX_TEXT, "json": MAX_JSON_CHARS}
_KINDS: dict[str, tuple[Callable[[Json], bool], str]] = {
    "text": (is_text, "a text in Unicode"),
    "agent": (is_text, "an agent's id or name"),
    "resource": (_is_resource, "a path, a glob or a name such as db:migrations"),
    "resources": (_is_resources, "a list of paths, globs or names such as db:migrations"),
    "duration": (_is_integer, "milliseconds as a whole number"),
    "integer": (_is_integer, "a whole number, 0 or more"),
    "number": (_is_number, "a whole number"),
    "flag": (lambda value: isinstance(value, bool), "True or False"),
    "choice": (is_text, "a text"),
    "words": (_is_words, "a list of texts"),
    "process": (_is_process, "a process"),
    "json": (_is_anything, "a plain value"),
    "commit": (is_text, "a commit's id"),
    "raw": (_is_raw, "a text"),
    "raws": (_is_raws, "a list of texts"),
    "object": (_is_object, "an object"),
    "rows": (_is_list, "a list of rows"),
    "texts": (_is_texts, "an object of texts"),
    "tree": (_is_raw, "the top of a working tree"),
    "channel": (_is_channel, f"at most {MAX_CHANNEL} letters, digits and hyphens"),
    "ref": (_is_ref, f"a name in git: at most {MAX_REF} characters, no blanks"),
    "amount": (_is_amount, "a number, 0 or more"),
    "file": (is_text, "a path"),
}


class Operation:
    """One operation. `body(tx, call, request)` decides; `ahead(call, request)` names keys and ranges to prefetch.

    The request has every declared field, with its value or its default: a dict, whose type is made from the fields
    (`requests.pyi` of the room). Without fields there is no request: `body(tx, call)`.

    Who may send it to a server: `sent_by`, and of each field its own `sent_by`. An operation with a `group` is for all
    callers; one that only guards and doors run says by whom, else it is for this machine alone.

    Who may call it:
    - `may` is the least rank that may call it ("" for a guard's own operations, which go by the role themselves).
      `asks(tx, call, request)` says for one request which rank it needs ("" for `may`), and whose the thing is: its
      owner needs no more than `may`. `others` is the highest rank that `asks` may answer.
    - `registers`: registers a caller that was not seen before. `boots`: writes the caller's record itself, and makes
      the calling process the agent's current one.

    What it does: `writes` or only reads; `takes` claims; `idempotent`: the same request a second time leaves the same
    state; `destructive`: takes away what others made or hold, or what cannot be restored. `refuses` is a key of the
    answer: if its value is not empty, the answer is a refusal (exit code 1, `ok` false).

    What a session does around it, by names that the session knows (client/steps.py, audit/build.py):
    `wants` ("rules": the digest of the workspace's rules; "deliveries": what the agent subscribes to comes first;
    "here": a query about the caller's own machine; "units": what the caller's machine knows of the pools it names),
    `beforehand` (completes the request), `afterwards` (completes the answer), `around` (runs it as a part of more).
    `withdraws`: what a caller takes that is interrupted before it has the answer is given back.
    """

    __slots__ = (
        "_by_name",
        "_defaults",
        "_unsaid",
        "afterwards",
        "agents",
        "ahead",
        "answer",
        "around",
        "beforehand",
        "body",
        "boots",
        "destructive",
        "fields",
        "group",
        "help",
        "idempotent",
        "is_query",
        "max_rank",
        "name",
        "own_errors",
        "rank",
        "refuses",
        "registers",
        "required",
        "required_rank",
        "sent_by",
        "takes",
        "wants",
        "withdraws",
        "writes",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        body: Callable[..., Json],
        help: str,
        *,
        fields: tuple[Field, ...] = (),
        errors: tuple[type[DibsError], ...] = (),
        answer: str = "",
        writes: bool = True,
        takes: bool = False,
        ahead: Callable[..., Ahead] | None = None,
        rank: str = "",
        max_rank: str = "",
        required_rank: Callable[..., tuple[str, Sequence[str]]] | None = None,
        registers: bool = True,
        boots: bool = False,
        idempotent: bool = False,
        destructive: bool = False,
        group: str = "",
        refuses: str = "",
        wants: tuple[str, ...] = (),
        beforehand: Beforehand = "",
        afterwards: Afterwards = "",
        around: Around = "",
        withdraws: bool = False,
        is_query: bool = False,
        sent_by: frozenset[str] | None = None,
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
        self.rank = rank if writes else rank or VIEWER
        self.max_rank = max_rank
        self.required_rank = required_rank
        self.registers = registers
        self.boots = boots
        self.idempotent = idempotent or not writes
        self.destructive = destructive
        self.group = group  # its subject, by which help and documents list it
        self.refuses = refuses
        self.wants = wants
        self.beforehand: Beforehand = beforehand
        self.afterwards: Afterwards = afterwards
        self.around: Around = around
        self.withdraws = withdraws
        self.is_query = is_query  # a `Query`: its body gets the session
        self.sent_by = sent_by if sent_by is not None else ANYWHERE if group else NEAR
        self._by_name: dict[str, Field] | None = None
        self._defaults: dict[str, Json] | None = None
        self._unsaid: frozenset[str] | None = None

    # Computed at first use: a hook loads declarations that it does not use, a server uses them at each call.

    @property
    def by_name(self) -> dict[str, Field]:
        """Its fields by name. Do not change the dict."""
        if self._by_name is None:
            self._by_name = {field.name: field for field in self.fields}
        return self._by_name

    @property
    def defaults(self) -> dict[str, Json]:
        """The values of the fields that a request leaves out; a new dict."""
        if self._defaults is None:
            self._defaults = {field.name: field.default for field in self.fields if not field.required}
        return self._defaults.copy()

    @property
    def not_in_digest(self) -> frozenset[str]:
        """Fields that do not identify a request, so a retry may differ in them: its wait, and the internal ones."""
        if self._unsaid is None:
            self._unsaid = frozenset(["wait", *[field.name for field in self.fields if field.internal]])
        return self._unsaid

    @property
    def errors(self) -> tuple[type[DibsError], ...]:
        """All errors that it may answer with: its own, and those of the entry (entry.py) and the store."""
        common: list[type[DibsError]] = [Invalid, Busy, Unavailable]
        if self.writes:
            common += [Killed] if self.boots else [Killed, Fenced]
            common += [Forbidden] if self.rank else []
        return tuple(dict.fromkeys([*self.own_errors, *common]))

    def checked(self, given: dict[str, Json]) -> Json:
        """The request that the body gets: the defaults, and each given value, checked by its field."""
        found, fields = self.defaults, self.by_name
        for name, value in given.items():
            field = fields.get(name)
            if field is None:
                raise self.no_field(name)
            if field.kind == "choice" and value == field.default:
                continue  # "": none of them
            if value is not None or (field.kind == "json" and not field.items):
                found[name] = field.check(value)
        for name in self.required:
            if name not in found:
                raise Invalid(f"{self.name} needs `{name}`", field=name)
        return found

    def request(self, **given: Json) -> Json:
        """A whole request from within operations, of values that need no check: these, and the defaults."""
        request = {**self.defaults, **given}
        assert len(request) == len(self.fields), f"{self.name}: {sorted(given)}"
        return request

    def unsendable(self, sender: str, fields: dict[str, Json]) -> str:
        """What of a request this sender may not send: the operation's name, or a field's; "" for nothing."""
        if sender not in self.sent_by:
            return self.name
        for name, value in fields.items():
            field = self.by_name.get(name)
            if field is None or value is None:
                continue  # `checked` refuses it, or takes it as not said
            allowed = field.sent_by if field.sent_by is not None else NEAR if field.internal else self.sent_by
            if sender not in allowed:
                return name
        return ""

    def no_field(self, name: str) -> Invalid:
        """The error for a field that does not exist, with the nearest one that does."""
        meant = near(name, [field.name for field in self.fields if not field.internal])
        return Invalid(f"{self.name}: there is no field {name[:80]!r}{meant}", field=name[:80])


# The fields of every listing; paging.py has what they mean.
PAGED = (
    Field("limit", "integer", "at most N entries, up to 1000", default=0, most=1000, metavar="N"),
    Field(
        "after", "text", "continue after this cursor (from the page before)", default="", longest=0, metavar="CURSOR"
    ),
)

# What the wait loop brings to an operation that a caller can wait for.
WAITING = (
    Field("waiter", "text", "the place in line that it has already", default="", internal=True, longest=100,
          sent_by=ANYWHERE),
    Field("wake", "channel", "the name under which the waiting process listens", default="", internal=True,
          sent_by=ANYWHERE),
)  # fmt: skip

# The fields of every call, in addition to its operation's.
COMMON = (
    Field("as", "agent", "the agent that calls (else DIBS_AGENT, else the client's own session)", metavar="AGENT"),
    Field("workspace", "text", "the workspace (else DIBS_WORKSPACE, else found from the current folder)", longest=0,
          env="DIBS_WORKSPACE", metavar="DIR"),
    Field("request_id", "text", "idempotency key: retrying with the same ID returns the first answer", metavar="ID"),
    Field("timeout", "duration", "how long to wait for a busy store (default 5s)", env="DIBS_TIMEOUT", metavar="D"),
)  # fmt: skip
