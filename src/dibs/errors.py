"""All errors of dibs. One base, one class for each code, facts as fields, the text made here.

A refusal (another agent holds it) is a decision: the operation returns it, its event is committed, and the door raises
it. A failure to decide (the store is busy) and an invalid call (a path outside the root) are raised at once and change
nothing.

The annotations of a class declare the facts that an error of this code may have; the case decides which it has. `for_`
stands for `for`. Facts are attributes (`refusal.blockers`), and keys of the error in JSON.

What code has to tell apart within one code is a subclass (error_subtypes.py). Stored and sent, it is known by one of
its facts, its `mark`, which every error of that class has.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dibs.operations.claims.answers import BlockerView, WaitingStep
    from dibs.operations.runs.answers import GateView
    from dibs.operations.tasks.answers import FailedTask, HeldTask
    from dibs.operations.votes.answers import VoteView

YES, NO, CANNOT_DECIDE, USAGE = 0, 1, 2, 64  # exit codes
MAX_TASK_CHARS = 80  # of a holder's purpose
MAX_WORD_CHARS = 1_000  # of the caller's own words in a usage error: no path is longer, a pasted file is
TASK = "task:"  # begins the name of a task that is claimed


def spelled(text: str, command: str) -> str:
    """A text of dibs' own, with its commands as the reader must type them: dibs may not be on the reader's PATH."""
    return text if command == "dibs" else text.replace("`dibs ", f"`{command} ")


class DibsError(Exception):
    """Something was not done."""

    code = "unavailable"
    exit = NO
    status = 503  # of HTTP
    mark = ""  # of a subtype: the fact that tells it from others of its code

    def __init__(self, message: str = "", **fields: Any) -> None:
        if self.mark:
            fields.setdefault(self.mark, True)
        self.fields = fields
        self.made = not message  # the text is made from the fields
        self.message = message or self.say()
        super().__init__(self.message)

    def say(self) -> str:
        """The text for people, made from the fields."""
        return self.__class__.__doc__ or self.code

    def say_again(self) -> None:
        """Make the text again, if it is made from the fields and these have changed."""
        if self.made:
            self.message = self.say()
            self.args = (self.message,)

    def __getattr__(self, name: str) -> Any:
        """A fact of the refusal, as an attribute."""
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            message = f"{type(self).__name__} has no field {name!r}"
            raise AttributeError(message) from None

    def parts(self) -> list[Any]:
        """Its code, text and facts, for a record or another process; `from_parts` makes it again."""
        return [self.code, self.message, self.fields]

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {"ok": False, "error": {"code": self.code, "message": self.message, **self.fields}}


# The `why` of a Fenced whose caller has nothing to stop: it never held that, wanted to take it from its holder, or
# holds it under another token.
NEVER_HELD, NOT_TAKEN, NEWER = "never_held", "not_taken", "newer"


class Held(DibsError):
    """Another agent holds it."""

    code = "held"
    status = 409

    blockers: list[BlockerView]
    more: int  # than these
    wanted: list[str]  # what was asked for, what the blockers are in the way of first
    mode: str  # and how, if not to write
    free: dict[str, list[int]]  # of each pool: how many units are free, and how many there are
    units: int  # of each pool: how many were asked for
    reasons: list[str]  # why nothing is given out, next to the blockers
    files: list[str]
    instead: str
    words: list[str]
    transient: bool
    person: bool  # a person is refused, who may take it away

    def say(self) -> str:
        return say_blocked(self.fields)


class Fenced(DibsError):
    """This token or this incarnation is no longer live."""

    code = "fenced"
    status = 409

    resource: str
    given: int | None  # the stale token
    holder: str | None  # the present holder
    holder_name: str
    token: int | None
    since: str | None
    agent: str
    name: str
    incarnation: int
    task: str
    state: str
    why: str
    at: str
    paths: list[str]
    target: str
    commit: str
    result: str
    person: bool  # a person is refused, who may take it away

    def say(self) -> str:
        what = self.fields.get("resource")
        if what is None:
            return (
                f"{named(self.fields)} runs as incarnation {self.fields.get('incarnation')} in another process; "
                "this one is no longer current. Run `dibs boot` to take over, or stop."
            )
        holder, token = self.fields.get("holder"), self.fields.get("given")
        person = bool(self.fields.get("person"))
        if self.fields.get("why") == NEVER_HELD:
            ways = f"`{_taking(what)} --wait 60s` waits for it, `{asking(what)}` asks for it"
            ways += f", `{taking_away([what])}` takes it away" if person else ""
            return f"you do not hold {what}: {named(self.fields, 'holder')} does. {ways}."
        lost = f"token {token} for {what}" if token is not None else f"your claim on {what}"
        if self.fields.get("why") == NEWER:
            return f"{lost} is no longer live: you hold it under token {self.fields.get('token')} now."
        if holder and token is not None and token == self.fields.get("token"):
            stop = _to_take(what) if person else "Stop working on it"
            return f"{lost} is {named(self.fields, 'holder')}'s, not yours. {stop}."
        if holder:
            stop = _to_take(what) if person else "Stop working on it"
            stop = "Nothing was taken away" if self.fields.get("why") == NOT_TAKEN else stop
            return f"{lost} is no longer live: {named(self.fields, 'holder')} holds it now. {stop}."
        return f"{lost} is no longer live and nobody holds it now. Claim it again before you continue."


class Killed(DibsError):
    """This agent was killed."""

    code = "killed"
    status = 403

    agent: str
    name: str
    why: str

    def say(self) -> str:
        agent, why = named(self.fields), self.fields.get("why") or "no reason given"
        return f"{agent} was killed ({why}); everything it does is refused until `dibs revive {quoted(agent)}`."


class Deadlock(DibsError):
    """Waiting would cause a deadlock."""

    code = "deadlock"
    status = 409

    cycle: list[WaitingStep]
    person: bool  # a person is refused, who may take it away

    def say(self) -> str:
        steps = [
            f"{named(step)} waits for {step['resource']}, held by {named(step, 'holder')}"
            for step in self.fields.get("cycle", ())
        ]
        way = "pick other work"
        if self.fields.get("person"):
            cycle = self.fields.get("cycle") or [{"resource": "RES"}]
            way = f"take it away: `{taking_away([cycle[0]['resource']])}`"
        return "deadlock: " + "; ".join(steps) + f". Release something you hold, or {way}."


class Order(DibsError):
    """Claims must be taken in the global order of resources."""

    code = "order"
    status = 409

    held: str
    resource: str

    def say(self) -> str:
        return (
            f"out of order: you hold {self.fields.get('held')}, and {self.fields.get('resource')} comes before it. "
            "Release what you hold and claim all of it in one request."
        )


class NotFound(DibsError):
    """There is no such thing."""

    code = "not_found"
    status = 404

    landing: str
    agent: str
    tree: str  # the top of a working tree, or the name that was given for one
    near: str  # the resource that may be meant
    field: str
    id: str
    job: str
    kept: str
    key: str
    message_id: str
    number: int
    ready: int
    resource: str
    run: str
    task: str
    to: str
    vote: str
    what: str


class Conflict(DibsError):
    """It was changed in the meantime."""

    code = "conflict"
    status = 409

    target: str
    landing: str
    agent: str
    tree: str  # the top of a working tree, or the name that was given for one
    allowed: list[str]
    assigned: str
    at: str | None
    bids_until: str
    by: str | None
    by_name: str
    changed_by: str | None
    changed_by_name: str
    children: int
    closed: str | None
    gates: list[GateView]
    given: int | str | None
    holder: str
    holder_name: str
    holders: dict[str, str]
    key: str
    name: str
    option: str | None
    own: str | None
    path: str
    paths: list[str]
    pid: int
    run: str
    since: str
    state: str
    states: dict[str, int]
    task: str
    tasks: list[str]
    to: str
    until: str
    url: str
    version: int
    violations: list[str]
    vote: str
    waits_for: int


class Invalid(DibsError):
    """The call is invalid."""

    code = "invalid"
    exit = USAGE
    status = 422

    field: str
    agent: str
    name: str
    command: str
    key: str
    least: int
    missing: list[str]
    near: str
    path: str
    resource: str
    syntax: bool
    run: str
    runs: list[str]
    size: int
    steps: list[str]
    store: str
    task: str
    tasks: list[str]
    usage: str

    def __init__(self, message: str = "", **fields: Any) -> None:
        super().__init__(message if len(message) <= MAX_WORD_CHARS else _without_long_words(message), **fields)


class Unauthorized(DibsError):
    """No credential was given, or it does not count."""

    code = "unauthorized"
    status = 401

    why: str  # missing, unknown, revoked, expired
    credential: str

    def say(self) -> str:
        why = self.fields.get("why") or "missing"
        text = "a credential is needed" if why == "missing" else f"this credential is {why}"
        where = "`Authorization: Bearer TOKEN` over HTTP, DIBS_TOKEN for dibs itself"
        return f"{text}. A person makes one: `dibs token new`. It is sent as {where}."


class Forbidden(DibsError):
    """This caller may not do that."""

    code = "forbidden"
    status = 403

    act: str
    agent: str
    name: str
    breaker: str
    command: str
    commit: str
    could: list[str]  # agents that may do it
    electorate: list[str]
    electorate_name: list[str]
    for_: str
    instead: str
    maker: str
    message_id: str
    needs: str | list[str]
    owners: list[str]
    path: str
    placeholders: list[dict[str, Any]]
    process: list[Any]
    protected: list[str]
    repository: str  # the part of git's own directory, or the setting, that would go
    role: str
    sender: str  # the kind of credential from which this is not taken
    strict: bool
    target: str
    task: str
    tool: str
    until: str
    vote: str
    wanted: str
    what: str
    within: bool


class Quota(DibsError):
    """There is no room for more of these."""

    code = "quota"
    status = 429

    what: str
    limit: int
    agent: str
    name: str
    task: str
    tasks: list[HeldTask]

    def say(self) -> str:
        return f"at most {self.fields.get('limit')} {self.fields.get('what')}; release some first."


class Behind(DibsError):
    """Upstream has commits that are missing here."""

    code = "behind"
    status = 409

    target: str
    branch: str | None
    commit: str
    behind: int
    ahead: int | None
    upstream: str | None
    deployed: dict[str, Any]
    note: str
    why: str

    def say(self) -> str:
        branch, upstream = self.fields.get("branch") or "HEAD", self.fields.get("upstream") or ""
        deployed = self.fields.get("deployed")
        if deployed:
            commit, target = deployed["commit"][:12], self.fields.get("target")
            return (
                f"{branch} does not contain {commit}, which {named(deployed)} deployed to {target}: this would roll it "
                f"back. Bring it in (`git merge {quoted(commit)}`), test, then try again. If a rollback is what you "
                "want, say --rollback; it is recorded."
            )
        count = self.fields.get("behind")
        far = f"{counted(count, 'commit')} behind" if count else "behind"
        remote, _, there = upstream.partition("/")
        where = f" {quoted(remote)} {quoted(there)}" if there else ""
        return (
            f"{branch} is {far} {upstream}: what others did there is missing here. "
            f"Bring it in (`git pull --rebase{where}`), test, then try again."
        )


class Unverified(DibsError):
    """No verification was given, or it failed."""

    code = "unverified"
    status = 409

    task: str
    token: int
    command: str
    exit: int
    seconds: float
    output: str
    target: str
    started: bool
    commit: str
    result: str


class Failed(DibsError):
    """A command that dibs ran failed."""

    code = "failed"
    status = 409

    run: str
    failed: list[FailedTask]
    states: dict[str, int]
    vote: VoteView
    target: str
    commit: str
    result: str


class Busy(DibsError):
    """The store is busy."""

    code = "busy"
    exit = CANNOT_DECIDE
    status = 503

    pid: int
    stopped: bool
    waited: float
    nested: bool
    path: str
    store: str
    moving: bool
    ending: bool  # a server that ends: the next one may be asked
    tried: int

    def say(self) -> str:
        pid = self.fields.get("pid")
        if pid:
            state = " (stopped)" if self.fields.get("stopped") else ""
            return (
                f"the store is busy: no turn within {self.fields.get('waited')} s; "
                f"process {pid}{state} used it last. Try again."
            )
        return "the store is busy; try again."


class Unavailable(DibsError):
    """The store cannot be used."""

    code = "unavailable"
    exit = CANNOT_DECIDE
    status = 503

    absent: bool
    ahead: int | None
    answered: int
    auth: bool
    behind: int | None
    branch: str | None
    command: str
    commit: str | int | None
    damaged: bool
    deployed: dict[str, Any]
    fallback: str
    filesystem: str
    foreign: bool
    forked: bool
    full: bool
    internal: bool
    lock: str
    missing: bool
    moved: str
    node: str
    note: str
    path: str
    pinned: str
    program: str
    readonly: bool
    remote: str
    replaced: bool
    round: int
    schema: str
    seconds: float
    starting: bool
    stopped: bool
    store: str
    target: str
    to: str
    tried: Any
    unknown: bool
    unreachable: bool
    upstream: str | None
    why: str


def counted(number: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def as_written(ms: int) -> str:
    """A duration as a caller writes it, in the greatest unit that says it exactly: `8h`, `90s`."""
    for unit, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")):
        if ms % unit == 0 and (ms or name == "s"):
            return f"{ms // unit}{name}"
    return f"{ms}ms"


def named(fields: Mapping[str, Any], field: str = "agent") -> str:
    """An agent's readable name, or its id if no name is known."""
    name_field = "name" if field == "agent" else f"{field}_name"
    return str(fields.get(name_field) or fields.get(field))


def say_who(blocker: Mapping[str, Any]) -> str:
    """One blocker: who, what, what for, and for how much longer."""
    who, what = named(blocker), blocker["resource"]
    if blocker.get("subagent"):
        who = f"{who}, a subagent of yours,"
    if blocker.get("dead"):
        who = f"{who}, whose process exited,"
    if blocker.get("waiting"):
        return f"{who} waits for {what} and came first"
    how = "" if blocker.get("mode") in {"write", None} else f" ({blocker['mode']} claim)"
    facts = [text for text in (blocker.get("left"), blocker.get("now")) if text]
    left = f" ({'; '.join(facts)})" if facts else ""
    task = blocker.get("title") or (f"task {blocker['task']}" if blocker.get("task") else "")
    doing = one_line(blocker.get("reason") or task or blocker.get("doing") or "")
    return f"{who} holds {what}{how}{left}" + (f', at work on "{doing}"' if doing else "")


def printable(words: str) -> str:
    """Words on one line, without control characters."""
    return " ".join("".join([letter if letter.isprintable() else " " for letter in words]).split())


def one_line(words: str) -> str:
    """Another agent's words as part of a sentence: one line, printable, not too long."""
    plain = printable(words).replace('"', "'")
    return plain if len(plain) <= MAX_TASK_CHARS else f"{plain[:MAX_TASK_CHARS]}…"


def _without_long_words(text: str) -> str:
    """A sentence that repeats a word of the caller's, which may be a whole file by mistake.

    It ends with the first long word: half of a quoted word would leave the rest of a command unquoted.
    """
    words = text.split(" ")
    place = next((place for place, word in enumerate(words) if len(word) > MAX_WORD_CHARS), None)
    return text if place is None else " ".join([*words[:place], f"{words[place][:MAX_TASK_CHARS]}…"])


def quoted(text: str) -> str:
    """One word of a command that dibs advises, whatever its text is: no second command, and no option."""
    word = f"./{text}" if text.startswith("-") else text
    plain = word and all(letter.isalnum() or letter in "/._-+@%,:" for letter in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


# --- remedies: commands that dibs advises, each spelled once. They work as typed, for people and for agents told them


def restoring(change: str) -> str:
    """What brings back the content before a change: the holder's, or a person's for it."""
    return f"dibs restore {quoted(change)}"


def accepting(change: str) -> str:
    """What keeps a changed file as it is now."""
    return f"dibs ack {quoted(change)}"


def settling(change: str, *, is_kept: bool) -> str:
    """The first of the two that is possible: there is nothing to restore if nothing was there before."""
    return restoring(change) if is_kept else accepting(change)


def asking(name: str, text: str = "") -> str:
    """What asks the holder for it."""
    return f"dibs ask {quoted(name)} {quoted(text) if text else 'TEXT'}"


def taking_away(names: Sequence[str], why: str = "", token: int | None = None) -> str:
    """What takes it away from its holder, which is notified; with a token only from the one that has it."""
    command = f"dibs release {' '.join(map(quoted, names))} --force --why {quoted(why) if why else 'TEXT'}"
    return command if token is None else f"{command} --token {token}"


def undoing(what: str) -> str:
    """What undoes an agent's work, a claim's, a task's, or an undo."""
    return f"dibs undo {quoted(what)}"


def say_blocked(fields: dict[str, Any]) -> str:
    """The blockers in words, and what to do: the next step first."""
    blockers = fields.get("blockers", ())
    lines = [say_who(blocker) for blocker in blockers]
    if fields.get("more"):
        lines.append(f"and {fields['more']} more")
    held = [blocker["resource"] for blocker in blockers]
    wanted = fields.get("wanted") or held[:1] or ["RESOURCE"]
    who = "; ".join(lines)
    if (
        held and wanted[0] not in held and not fields.get("free")
    ):  # a folder or a pattern that the file is in, or the other way round
        who = f"{wanted[0]} is not free: {who}"
    for pool, (free, size) in fields.get("free", {}).items():
        who = f"{pool} has {size} {'unit' if size == 1 else 'units'}, {free or 'none'} free{': ' if who else ''}{who}"
    who = "; ".join(filter(None, [who, *fields.get("reasons", ())]))
    if any(blocker.get("subagent") for blocker in blockers):
        return f"{who}. Let it finish, or ask it: `{asking(wanted[0])}`."
    mode = f" --mode {fields['mode']}" if fields.get("mode") else ""
    mode += f" --units {fields['units']}" if fields.get("units", 1) > 1 else ""
    is_task = any(wanted == [f"{TASK}{blocker.get('task')}"] for blocker in blockers)
    claim = _taking(wanted[0]) if is_task else f"dibs claim {' '.join(map(quoted, wanted))}{mode}"
    dead = bool(blockers) and all(blocker.get("dead") for blocker in blockers)  # nobody is there to be asked
    ask = "" if dead or not blockers else f", or `{asking(wanted[0])}`"
    force = f"`{taking_away(wanted[:1], 'its agent is dead' if dead else '')}`"
    if fields.get("person"):
        return f"{who}. Wait: `{claim} --wait 60s`{ask}; or take it away: {force}."
    way = f"; or a person or an orchestrator frees it: {force}" if dead else ""
    return f"{who}. Wait: `{claim} --wait 60s`; or pick other work{ask}{way}."


def _to_take(resource: str) -> str:
    return f"To take it away: `{taking_away([resource])}`"


def _taking(resource: str) -> str:
    """The command that takes what is held: a task is taken as a task, `dibs claim` refuses its name."""
    if resource.startswith(TASK):
        return f"dibs task claim {quoted(resource[len(TASK) :])}"
    return f"dibs claim {quoted(resource)}"


ERRORS: dict[str, type[DibsError]] = {
    error.code: error
    for error in (
        Held,
        Fenced,
        Killed,
        Deadlock,
        Order,
        NotFound,
        Conflict,
        Invalid,
        Unauthorized,
        Forbidden,
        Quota,
        Behind,
        Unverified,
        Failed,
        Busy,
        Unavailable,
    )
}


def from_parts(parts: Sequence[Any]) -> DibsError:
    """The error that `DibsError.parts` took apart; one of another version's codes is `unavailable`."""
    from dibs.error_subtypes import SUBTYPES

    code, message, fields = parts
    kind = ERRORS.get(code, Unavailable)
    for subtype in SUBTYPES:
        if subtype.mark in fields and issubclass(subtype, kind):
            kind = subtype
    return kind(message, **fields)
