"""What callers elsewhere ask of a server that has their store: the routes below `/link`, without HTTP.

A caller is known by its credential. That is verified in each transaction (operations/agents/credentials.py), and by
the door's guard where a route has none: an agent's speaks for that agent and its subagents, a machine's for the agents
that it registered, a person's for itself and any agent. Each operation and each field says which of them may send it
(`sent_by` in operations/core/declare.py); what says nothing is for this machine alone. The rest of what a caller says
is bound to its credential: its machine and processes (operations/agents/places.py), its working trees (the credential's
name goes before them), its reports (`Call.voice`). Where the caller is on this very machine, the kernel says whose
connection it is: nobody tells a server of its own processes.

Every function here may block; a door calls them in threads.
"""

from __future__ import annotations

import threading

from dibs.client import catalogue, wire
from dibs.errors import Busy, DibsError, Invalid, Quota
from dibs.machine import clock, processes, socket_owner
from dibs.operations.agents import places
from dibs.operations.agents.credentials import AGENT_KIND, MACHINE_KIND, user_of
from dibs.operations.core import index
from dibs.operations.core.entry import caller_of
from dibs.operations.core.query import HERE
from dibs.server import locations
from dibs.server.request_decider import RequestDecider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.server.host import Host
    from dibs.server.identity import Identity
    from dibs.stores.seam import Json

    Message = dict[str, Any]  # a request before its check, or the answer to one: a JSON object
    Route = Callable[[Identity, Message], Message]

MAX_EVENTS = 1_000  # in one page
MAX_POLL_S = 20.0  # of one wait; the caller asks again
MAX_WATCHED = 4_096  # names under which callers are woken
PIECE_S = 0.5  # of a wait, between two looks whether the server ends: shorter than it waits for answers then
FORGET_MS = 120_000  # a name that nobody waits for: its caller has gone
NAME_DIGITS = 12  # of a name under which a caller is woken (clock.random_id)
MAX_WAITING = 256  # callers that wait at once, each in a thread


class RemoteEndpoint:
    """The store of one host, for callers elsewhere."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.half = RequestDecider(host)
        self.last_request = clock.since_boot()
        self._watched: dict[str, int] = {}  # name → when it was last asked for
        self._mutex = threading.Lock()
        self._waiting = 0
        self._stopped = threading.Event()

    def routes(self) -> dict[str, tuple[str, Route]]:
        """Path → method and function of (identity, the body or the query's words)."""
        return {
            "/link/run": ("POST", self._dated(self.run)),
            "/link/answer": ("POST", self._dated(self.answer)),
            "/link/watch": ("POST", self.watch),
            "/link/wait": ("POST", self.wait),
            "/link/unwatch": ("POST", self.unwatch),
            "/link/follow": ("POST", self.follow),
            "/link/events": ("GET", self.events),
            "/link/head": ("GET", self.head),
            "/link/seals": ("GET", self.seals),
            "/link/describe": ("GET", self.describe),
        }

    def _dated(self, answer: Route) -> Route:
        """Add the store's time of day: a caller whose own is another computes its deadlines with it."""

        def dated(identity: Identity, given: Message) -> Message:
            found = answer(identity, given)
            return {**found, "wall": clock.since_boot() + self.host.store.wall_ahead()}

        return dated

    def stop(self) -> None:
        """End the waits: the server ends."""
        self._stopped.set()

    # --- operations and queries

    def run(self, identity: Identity, given: Message) -> Message:
        """One operation: result, refusal, or the processes that only the caller can see."""
        self.last_request = clock.since_boot()
        name = given.get("op")
        if isinstance(name, str) and name in index.QUERIES:
            return self._enter(identity, name, given.get("call", {}))
        if not (isinstance(name, str) and (name in index.FILES or name in index.INTERNAL)):
            raise Invalid(f"there is no operation {ascii(name)[:80]} for callers on other machines", field="op")
        sent = given.get("call", {})
        request = self.half.read(
            name, sent, given.get("fields", {}), given.get("via"), store=None, sender=identity.bearer,
            far=identity.agent,
        )  # fmt: skip
        pid = self._make_known(identity, request.call, sent)
        for field in request.operation.fields:
            if field.kind == "process" and not request.call.here:
                _check_process(pid, request.fields.get(field.name))
        request.sent_as = request.call.agent, request.call.identified_by
        self.half.finish(request)
        found: Message = wire.answer_out(identity.agent, request.answer)
        if "refused" in found:
            found = locations.hide(self.host.place, found)
        return found

    def _enter(self, identity: Identity, name: str, sent: Json) -> Message:
        """May the caller do what it then carries out on its own machine (`restore`)? Queries are for `answer`."""
        operation = catalogue.operation(name)
        if not operation.writes:
            raise Invalid(f"{name} is a query", field="op")
        session = self.host.session()
        call = wire.call_in(session.config.policy, sent)
        call.sender, call.place = identity.bearer, identity.agent
        self._make_known(identity, call, sent)
        try:
            session.run(caller_of(operation), call, {})
        except DibsError as error:
            return {**wire.error_out(error)}
        return {"result": None, "who": [call.agent, call.identified_by, call.name]}

    def answer(self, identity: Identity, given: Message) -> Message:
        """One whole query."""
        self.last_request = clock.since_boot()
        name = given.get("op")
        if not (isinstance(name, str) and name in index.QUERIES):
            raise Invalid(f"there is no query {ascii(name)[:80]}", field="op")
        operation = catalogue.operation(name)
        if operation.writes or HERE in operation.wants or any(field.kind == "file" for field in operation.fields):
            raise Invalid(f"{name} is answered on the caller's machine", field="op")
        session = self.host.session()
        sent = given.get("call", {})
        call = wire.call_in(session.config.policy, sent)
        fields = wire.fields_in(operation, given.get("fields", {}), place=identity.agent)
        call.sender, call.place = identity.bearer, identity.agent
        self._make_known(identity, call, sent)
        for name in fields:
            if name not in operation.by_name:
                raise operation.no_field(name)
        try:
            return {"result": wire.answer_out(identity.agent, session.answer(operation, call, fields))}
        except DibsError as error:
            return {**wire.error_out(error)}

    def _make_known(self, identity: Identity, call: Call, sent: Message) -> int:
        """The caller as its credential says; of what it knows, what it can know. Its pid, if it is on this machine."""
        call.credential = identity.credential
        if identity.person:
            if call.from_shell or not call.fallback:  # a client's own call (`dibs mcp`) is never a person's word
                call.fallback = identity.agent
        elif not call.agent and identity.bearer == AGENT_KIND:
            call.agent, call.identified_by = identity.agent, "credential"
        elif not call.agent and call.fallback and identity.bearer == MACHINE_KIND:
            user = call.fallback
            call.fallback = self.host.store.look(lambda tx: user_of(tx, identity.agent, user))
        if identity.credential is None:  # a caller of this machine, whom a door has looked at
            return 0
        here, pid = (sent.get("here") or [""])[0], 0
        if here == processes.host():
            pid = sent.get("pid", 0)
            if not (pid and identity.ends is not None and socket_owner.is_end_of(pid, *identity.ends)):
                pid = 0
            above = [process for process, _ in processes.ancestors(pid)] if pid else []
            call.client = call.client if call.client in above else None
            call.ancestors = [one for one in call.ancestors if one in above]
        else:
            call.here = here
            places.check(here, [call.client, *call.ancestors])
        own, theirs = f"{processes.host()}:", f"{here}:"
        call.facts = {
            name: alive if here and name.startswith(theirs) else None
            for name, alive in call.facts.items()
            if not name.startswith(own)
        }
        return pid

    # --- reading

    def events(self, _: Identity, given: Message) -> Message:
        """A page of the log, as it is stored."""
        after, limit = _number(given, "after", 0), _number(given, "limit", MAX_EVENTS)
        page = self.host.store.events(after, max(1, min(limit, MAX_EVENTS)))
        return {"events": [[e.seq, e.commit, e.now, e.wall, e.body, e.link] for e in page]}

    def head(self, _: Identity, __: Message) -> Message:
        """Where the log ends."""
        head = self.host.store.head()
        return {"head": [head.commit, head.seq, head.link, head.now]}

    def seals(self, _: Identity, __: Message) -> Message:
        """The seals."""
        return {"seals": [[seal.seq, seal.link, seal.body] for seal in self.host.store.seals()]}

    def describe(self, _: Identity, __: Message) -> Message:
        """The workspace and its store, without a path or an address of this machine."""
        found = {**self.host.store.describe(), "address": ""}
        name = self.host.place.root.rpartition("/")[2]
        return {"store": found, "id": self.host.config(self.host.place).id, "workspace": name}

    # --- waiting

    def watch(self, _: Identity, given: Message) -> Message:
        """Listen for a name, for a caller that will wait for it."""
        name = _name(given)
        self._forget()
        with self._mutex:
            if name not in self._watched and len(self._watched) >= MAX_WATCHED:
                raise Quota("too many callers wait; try again.", what="waits", limit=MAX_WATCHED)
            self._watched[name] = clock.since_boot()
        self.host.store.watch(name)
        return {"watched": True}

    def wait(self, identity: Identity, given: Message) -> Message:
        """Wait until the name is woken, for some seconds."""
        name, seconds = _name(given), _seconds(given)
        if name not in self._watched:  # the server was started anew meanwhile: the caller looks for itself
            self.watch(identity, given)
            return {"woken": True}
        return {"woken": self._slotted(lambda left: self._wait_for(name, left), seconds)}

    def _wait_for(self, name: str, seconds: float) -> bool:
        self._watched[name] = clock.since_boot() + int(seconds * 1000)
        return self.host.store.wait(name, seconds)

    def unwatch(self, _: Identity, given: Message) -> Message:
        """Stop listening."""
        name = _name(given)
        if self._watched.pop(name, None) is not None:
            self.host.store.unwatch(name)
        return {}

    def follow(self, _: Identity, given: Message) -> Message:
        """Wait until the log has grown."""
        after, seconds = _number(given, "after", 0), _seconds(given)
        return {"grown": self._slotted(lambda left: self.host.store.follow(after, left), seconds)}

    def _slotted(self, wait: Callable[[float], bool], seconds: float) -> bool:
        """Wait in short pieces, so that a stop is not held up; refused where too many wait."""
        with self._mutex:
            if self._waiting >= MAX_WAITING:
                raise Busy("too many callers wait; try again.")
            self._waiting += 1
        try:
            end = clock.since_boot() + int(seconds * 1000)
            while not self._stopped.is_set():
                left = (end - clock.since_boot()) / 1000
                if left <= 0:
                    return False
                if wait(min(PIECE_S, left)):
                    return True
            return False
        finally:
            with self._mutex:
                self._waiting -= 1

    def _forget(self) -> None:
        """The names that nobody asks for any more."""
        now = clock.since_boot()
        for name in [name for name, asked in list(self._watched.items()) if now - asked > FORGET_MS]:
            if self._watched.pop(name, None) is not None:
                self.host.store.unwatch(name)


def _check_process(pid: int, process: Json) -> None:
    """Refuse a process of this machine that is neither above nor below the caller's own, which has this pid."""
    if not wire.is_process(process):
        return  # the declaration refuses it
    above = processes.ancestors(pid) if pid else []
    below = processes.ancestors(process[3]) if pid else []
    if process not in [one for one, _ in above] and pid not in [one[3] for one, _ in below]:
        places.check("", [process])


def _name(given: Message) -> str:
    name = given.get("name")
    if not (isinstance(name, str) and len(name) == NAME_DIGITS and name.isascii() and name.isalnum()):
        raise Invalid("name: the name under which a caller is woken", field="name")
    return name


def _number(given: Message, name: str, default: int) -> int:
    value = given.get(name, default)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:  # noqa: PLR2004 - of 2**63
        value = int(value)
    if type(value) is not int or not 0 <= value < 2**63:
        raise Invalid(f"{name}: a whole number, 0 or more", field=name)
    return value


def _seconds(given: Message) -> float:
    value = given.get("timeout", 0)
    if type(value) not in {int, float} or not 0 <= value <= 86_400:  # noqa: PLR2004 - a day
        raise Invalid("timeout: seconds", field="timeout")
    return min(float(value), MAX_POLL_S)
