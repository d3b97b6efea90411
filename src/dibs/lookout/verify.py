"""`dibs verify`: read log, head and seals once, and say everything that cannot have happened.

The story. Events come in one after the other and are forgotten again; what stays in memory is the state that they
describe: the claims that are live, who waits, who was killed, the requests of the last 24 hours. `_Chain` holds each
event to its predecessor (number, link, clock, commit), `_Replay` holds what it says to the state before it, `_Seals`
holds the seals to the state at their number. At the end the head record and a head remembered elsewhere must agree.

Nothing of the operations is imported, the digests are taken here, and overlap is decided by `lookout.overlap`. A broken
event is a finding and never an error; after one, the check goes on with what is still known, so that one wound gives
one finding and not a hundred. Nothing is repaired here, and the rows beside the log (claims, queues) are not read.

What it cannot see: what was dropped with a pruned stretch. A seal carries the claims and a bound of the tokens, not
the waits, the killed agents and the request ids, so these three are only checked within the log that is there.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import OrderedDict
from hashlib import sha1, sha256
from heapq import merge
from typing import TYPE_CHECKING, Any

from dibs import jsontext
from dibs.lookout.overlap import KINDS, Near, overlap
from dibs.stores.seam import COMMIT_TEXT, GENESIS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dibs.lookout.overlap import Resource
    from dibs.stores.seam import Event, Head, Seal, Store

CODES = {
    "malformed": "an event, a seal or the head record cannot be read",
    "start": "the log begins neither with event 1 nor right behind a seal",
    "gap": "events are missing",
    "order": "an event comes after one with a higher number",
    "link": "an event was changed: its link does not follow from its predecessor and itself",
    "time": "the store's clock went backwards",
    "commit": "the number of the commit fell, or events of one commit differ in time",
    "head": "the head record does not agree with the end of the log",
    "rewritten": "another event stands where the remembered head was",
    "shortened": "the log ends before the remembered head",
    "pruned": "the front of the log is missing and no event says so, or the remembered head went with it",
    "seal": "a seal does not agree with the log",
    "granted_twice": "a claim id was granted a second time",
    "not_live": "something happened to a claim that was not live",
    "left": "what a release left is not what was held without what was released",
    "early": "a claim ended by its deadline before its deadline",
    "stranger": "a claim was renewed, moved or released by or to somebody unrelated to its holder",
    "two_holders": "two unrelated agents held what excludes each other (promise 1)",
    "token": "a token is not its commit's number or does not rise (promise 2)",
    "two_effects": "one request id had an effect in two commits (promise 6)",
    "killed": "a killed agent got a claim",
    "wait": "a wait began or ended a second time, or ended without having begun",
}

KEPT = 100  # findings that a report keeps; the others are counted
PAGE = 2_000  # events read from a store at a time
STRIDE = 10_000  # events between two calls of `progress`
ATTEMPTS = 3  # how often a store that is being pruned meanwhile is read again
DAY = 24 * 60 * 60 * 1000  # ms that a request id is kept
RUN = 65_536  # ids that are kept in a set before they go into a sorted run of eight bytes each

EXCLUDES = {"write": ("write", "read"), "read": ("write",), "watch": ()}
BY_DEADLINE = frozenset(("expired", "unclaimed"))

EVENT_TYPES = (int, int, int, int, str, str)
HEAD_TYPES = (int, int, int, str)
SEAL_TYPES = (int, str, str)
TWO_TEXTS = (str, str)


class Finding:
    """One thing that cannot have happened."""

    __slots__ = ("code", "message", "seq")

    def __init__(self, seq: int, code: str, message: str) -> None:
        self.seq, self.code, self.message = seq, code, message

    def __repr__(self) -> str:
        return f"Finding({self.seq}, {self.code!r}, {self.message!r})"

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {"seq": self.seq, "code": self.code, "message": self.message}


class Report:
    """What was read and what was found. `found` counts all findings, `findings` holds the first of them."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.found = self.events = self.granted = self.live = self.token = self.first = self.last = 0
        self.link = GENESIS

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return self.found == 0

    def add(self, seq: int, code: str, message: str) -> None:
        """Note a finding."""
        self.found += 1
        if len(self.findings) < KEPT:
            self.findings.append(Finding(seq, code, message))

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        names = ("ok", "found", "events", "granted", "live", "token", "first", "last", "link")
        return {name: getattr(self, name) for name in names} | {"findings": [one.as_json() for one in self.findings]}


def verify(
    head: Head,
    events: Iterable[Event],
    seals: list[Seal],
    expected_head: tuple[int, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Check a log. `expected_head` is (seq, link) as remembered elsewhere; `progress` gets events read and in all."""
    report = Report()
    replay = _Replay(report)
    known = _Seals(report, seals)
    chain = _Chain(report, replay, known, expected_head)
    for event in events:
        report.events += 1
        if chain.follow(event):
            said = replay.apply(event)
            if said is not None and said.kind.startswith("log."):
                known.hear(said, chain)
            known.compare(event, replay)
        if progress is not None and report.events % STRIDE == 0:
            progress(report.events, head.seq)
    report.live = len(replay.live)
    known.finish(report.first)
    chain.finish(head, known)
    return report


def verify_store(
    store: Store,
    expected_head: tuple[int, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Check a store while others use it: the log up to the head as it was at the beginning."""
    report = Report()
    for _ in range(ATTEMPTS):
        first = [event.seq for event in store.events(0, 1)]
        head = store.head()
        seals = store.seals()
        if store.head().seq != head.seq:  # a new seal's event may lie behind the head that is checked
            seals = [seal for seal in seals if seal.seq < head.seq]
        report = verify(head, _pages(store, head), seals, expected_head, progress)
        if report.ok or [event.seq for event in store.events(0, 1)] == first:
            break
    return report


def _pages(store: Store, head: Head) -> Iterator[Event]:
    """The store's events up to the head; those behind it only if they are not just newer than the head."""
    after = 0
    while page := store.events(after, PAGE):
        for event in page:
            if event.seq > head.seq and store.head().seq > head.seq:
                return
            yield event
        if page[-1].seq <= after:  # a store that does not advance would be read for ever
            return
        after = page[-1].seq


# --- the chain


class _Chain:
    """Where the reading is: the last event's number, link, commit and clock. `link` is None where it is unknown."""

    def __init__(self, report: Report, replay: _Replay, seals: _Seals, expected: tuple[int, str] | None) -> None:
        self._report, self._replay, self._seals = report, replay, seals
        self._expected = expected
        self.seq, self.commit, self.now, self.wall = 0, 0, 0, 0
        self.link: str | None = GENESIS
        self.before: tuple[int, str | None] = (0, GENESIS)  # the last event of the commit before
        self.pruned: set[int] = set()  # what `log.pruned` events say

    def follow(self, event: Event) -> bool:
        """Check how an event follows its predecessor. False: it has no place, what it says cannot be replayed."""
        if _types((event.seq, event.commit, event.now, event.wall, event.body, event.link)) != EVENT_TYPES:
            self.seq, self.link = self.seq + 1, None
            self._report.first = self._report.first or self.seq
            self._report.add(self.seq, "malformed", "a column of this event has the wrong type")
            self._replay.lose()
            return False
        if not self._report.first:
            self._begin(event)
        elif event.seq <= self.seq:
            self._report.add(event.seq, "order", f"event {event.seq} comes after event {self.seq}")
            return False
        elif event.seq != self.seq + 1:
            self._report.add(event.seq, "gap", f"events {self.seq + 1} to {event.seq - 1} are missing")
            self._resume(event)
        self._check_link(event)
        self._check_commit(event)
        self.seq, self.commit, self.now, self.wall = event.seq, event.commit, event.now, event.wall
        self.link = self._report.link = (
            event.link
        )  # as stored: after a wrong link the next is held to what stands there
        self._report.last = event.seq
        if self._expected is not None and event.seq == self._expected[0]:
            self._compare_expected(event.link)
        return True

    def _begin(self, event: Event) -> None:
        """The first event: number 1, or right behind a seal whose claims are where the replay begins."""
        self._report.first = event.seq
        if event.seq != 1 and not self._resume(event):
            message = f"the log begins with event {event.seq} and no seal stands at event {event.seq - 1}"
            self._report.add(event.seq, "start", message)

    def _resume(self, event: Event) -> bool:
        """Go on behind missing events: from a seal if one stands there, else without what was before."""
        self._replay.lose()
        link = self._seals.enter(event.seq - 1, self._replay)
        self.seq, self.link = event.seq - 1, link
        return link is not None

    def _check_link(self, event: Event) -> None:
        if self.link is None:
            return
        digest = sha256(event.body.encode("utf-8", "surrogatepass")).hexdigest()
        text = f"{self.link}|{event.seq}|{event.commit}|{event.now}|{event.wall}|{digest}"
        if sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest() != event.link:
            self._report.add(event.seq, "link", "the link does not follow from the event before and this one")

    def _check_commit(self, event: Event) -> None:
        if event.now < self.now:
            self._report.add(event.seq, "time", f"the store's clock fell from {self.now} to {event.now}")
        if event.commit < self.commit:
            self._report.add(event.seq, "commit", f"the commit's number fell from {self.commit} to {event.commit}")
        elif event.commit == self.commit and (event.now > self.now or event.wall != self.wall):
            self._report.add(event.seq, "commit", f"two events of commit {event.commit} differ in time")
        if event.commit != self.commit:
            self.before = (self.seq, self.link)

    def _compare_expected(self, link: str) -> None:
        """Hold the remembered head to what stands at its number."""
        if self._expected is not None and link != self._expected[1]:
            message = f"the link of event {self._expected[0]} is {_say(link)}, remembered was {_say(self._expected[1])}"
            self._report.add(self._expected[0], "rewritten", message)

    def finish(self, head: Head, seals: _Seals) -> None:
        """The end of the log against the head record, its front against prunings, both against what is remembered."""
        first, last = self._report.first, self.seq
        if first > 1 and first - 1 not in self.pruned and seals.link(first - 1) is not None:
            self._report.add(first, "pruned", f"no event says that the events up to {first - 1} were dropped")
        if _types((head.seq, head.commit, head.now, head.link)) != HEAD_TYPES:
            self._report.add(self.seq, "malformed", "the head record cannot be read")
        elif head.seq != last:
            self._report.add(head.seq, "head", f"the log ends with event {last}, the head record says {head.seq}")
        elif self.link is not None and head.link != self.link:
            self._report.add(head.seq, "head", "the head record has another link than the last event")
        elif head.commit < self.commit or head.now < self.now:  # a commit without an event moves the head alone
            self._report.add(head.seq, "head", "the head record's commit or clock is behind the last event's")
        if self._expected is None:
            return
        seq = self._expected[0]
        link = GENESIS if seq == 0 else seals.link(seq)
        if seq > last:
            message = f"the log ends with event {last}, remembered was event {seq}"
            self._report.add(seq, "shortened", message)
        elif seq < max(first, 1) and link is not None:
            self._compare_expected(link)
        elif seq < first:
            self._report.add(seq, "pruned", f"event {seq} was dropped and no seal stands there to compare with")


# --- what the events say


class _MalformedError(Exception):
    """A body does not have what its kind must have; the text says which."""


class _Said:
    """An event, opened."""

    __slots__ = ("agent", "commit", "data", "kind", "now", "seq", "subject")

    def __init__(self, event: Event) -> None:
        self.seq, self.commit, self.now = event.seq, event.commit, event.now
        opened = _open(event.body.replace(COMMIT_TEXT, str(event.commit)))
        self.kind: str = opened.get("kind", 0)
        self.agent: str = opened.get("agent", 0)
        self.subject: str = opened.get("subject", 0)
        whole = type(self.kind) is type(self.agent) is type(self.subject) is str
        _must(whole, "`kind`, `agent` and `subject` are not all texts")
        data = opened.get("data")
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}


class _Claim:
    """A claim while it is live."""

    __slots__ = ("agent", "id", "mode", "resources", "token", "tree", "until")

    def __init__(self, identifier: str, agent: str, data: dict[str, Any]) -> None:
        self.id, self.agent = identifier, agent
        self.resources = _resources(data, "resources")
        self.mode, self.tree = _text(data, "mode"), _text(data, "tree")
        self.until, self.token = _whole(data, "until"), _whole(data, "token")
        _must(bool(self.resources), "a claim without a resource")
        _must(self.mode in EXCLUDES, f"there is no mode {_say(self.mode)}")

    def facts(self) -> tuple[Any, ...]:
        """All that a seal says about it."""
        return self.agent, self.resources, self.mode, self.tree, self.until, self.token


class _Replay:
    """The state that the events describe, and the rules that lead from one state to the next."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.live: dict[str, _Claim] = {}
        self.lost = False  # something before is unknown: a claim that nobody has heard of may be live
        self._lost_waits = False
        self._near = {"write": Near(), "read": Near()}
        self._granted, self._queued = _Ids(), _Ids()
        self._waiting: set[str] = set()
        self._killed: set[str] = set()
        self._requests: OrderedDict[int, tuple[int, int]] = OrderedDict()  # hash of a request → commit, now
        self._commit = self._earlier = 0  # what a token has to be above: those of the commits before, a seal's bound
        self._rules: dict[str, Callable[[_Said], None]] = {
            "claim.granted": self._on_granted,
            "claim.renewed": self._on_renewed,
            "claim.moved": self._on_moved,
            "claim.released": self._on_released,
            "claim.ended": self._on_ended,
            "wait.queued": self._on_queued,
            "wait.ended": self._on_wait_ended,
            "agent.killed": self._on_killed,
            "agent.revived": self._on_revived,
        }

    def apply(self, event: Event) -> _Said | None:
        """Let an event happen; gives what it says, or None where that cannot be read."""
        if event.commit != self._commit:
            self._commit, self._earlier = event.commit, max(self._earlier, self._report.token)
        said = None
        try:
            said = _Said(event)
            rule = self._rules.get(said.kind)
            if rule is not None:
                rule(said)
        except _MalformedError as problem:
            self._report.add(event.seq, "malformed", str(problem))
            self.lost = self._lost_waits = True
            if said is not None and said.subject in self.live:
                self._end(self.live[said.subject])
            return None
        return said

    def lose(self) -> None:
        """Events are missing. What was true may have ended in them, so it is forgotten and not held against anybody."""
        for claim in list(self.live.values()):
            self._end(claim)
        self._killed.clear()
        self.lost = self._lost_waits = True

    def enter(self, seq: int, claims: dict[str, _Claim], token: int) -> None:
        """Go on with what a seal says, where the state is not known. It has to keep promise 1 like everything else."""
        for claim in list(self.live.values()):
            self._end(claim)
        for claim in claims.values():
            self._check_holders(seq, claim)
            self._hold(claim)
            self._granted.add(claim.id)
            self._report.token = max(self._report.token, claim.token)
        self._earlier = max(self._earlier, token)
        self.lost = False

    def differs(self, claims: dict[str, _Claim], token: int) -> str:
        """In what the state differs from a seal's; empty if in nothing. From here on tokens are above its bound."""
        for identifier in sorted(claims.keys() | self.live.keys()):
            there, here = claims.get(identifier), self.live.get(identifier)
            if there is None:
                return f"claim {_say(identifier)} was live and is not in it"
            if here is None:
                return f"claim {_say(identifier)} is in it and was not live"
            if there.facts() != here.facts():
                return f"it has other facts about claim {_say(identifier)}"
        self._earlier = max(self._earlier, token)
        return f"its token is {token}, one of {self._report.token} was granted" if token < self._report.token else ""

    # --- claims

    def _on_granted(self, said: _Said) -> None:
        claim = _Claim(said.subject, said.agent, said.data)
        if not self._granted.add(said.subject):
            self._report.add(said.seq, "granted_twice", f"claim {_say(said.subject)} was granted before")
        if said.subject in self.live:
            self._end(self.live[said.subject])
        self._check_token(said, claim.token)
        self._check_killed(said, said.agent)
        self._check_request(said)
        self._check_holders(said.seq, claim)
        self._hold(claim)
        self._report.granted += 1

    def _on_renewed(self, said: _Said) -> None:
        until = _whole(said.data, "until")
        claim = self._find(said)
        if claim is not None:
            self._check_related(said, claim, "renewed")
            claim.until = until

    def _on_moved(self, said: _Said) -> None:
        to, token, why = _text(said.data, "to"), _whole(said.data, "token"), said.data.get("why")
        claim = self._find(said)
        self._check_token(said, token)
        self._check_killed(said, to)
        if claim is None:
            return
        up = claim.agent.startswith(to + "/")
        sensible = to == claim.agent if why == "boot" else up if why == "left" else _related(to, claim.agent)
        if not sensible:
            message = f"claim {_say(said.subject)} of {_say(claim.agent)} was moved to {_say(to)} ({_say(why)})"
            self._report.add(said.seq, "stranger", message)
        else:
            self._check_related(said, claim, "moved")
        claim.agent, claim.token = to, token
        self._check_holders(said.seq, claim)

    def _on_released(self, said: _Said) -> None:
        released, left = _resources(said.data, "resources"), _resources(said.data, "left")
        self._check_request(said)
        claim = self._find(said)
        if claim is None:
            return
        self._check_related(said, claim, "released")
        if not released <= claim.resources or left != claim.resources - released:
            message = f"claim {_say(claim.id)} held {len(claim.resources)}: released {len(released)}, left {len(left)}"
            self._report.add(said.seq, "left", message)
        kept = claim.resources & left
        self._end(claim)
        if kept:
            claim.resources = kept
            self._hold(claim)

    def _on_ended(self, said: _Said) -> None:
        why = _text(said.data, "why")
        claim = self._find(said)
        if claim is None:
            return
        if why in BY_DEADLINE and said.now < claim.until:
            message = f"claim {_say(claim.id)} was {why} at {said.now}, before its deadline {claim.until}"
            self._report.add(said.seq, "early", message)
        self._end(claim)

    def _find(self, said: _Said) -> _Claim | None:
        """The live claim that an event speaks of."""
        claim = self.live.get(said.subject)
        if claim is None and not self.lost:
            self._report.add(said.seq, "not_live", f"claim {_say(said.subject)} was not live")
        return claim

    def _hold(self, claim: _Claim) -> None:
        self.live[claim.id] = claim
        if claim.mode in self._near:
            for resource in claim.resources:
                self._near[claim.mode].add(claim.id, resource)

    def _end(self, claim: _Claim) -> None:
        del self.live[claim.id]
        if claim.mode in self._near:
            for resource in claim.resources:
                self._near[claim.mode].remove(claim.id, resource)

    # --- the promises

    def _check_holders(self, seq: int, claim: _Claim) -> None:
        """Promise 1. A claim past its deadline counts until an event ends it, so the order of events decides."""
        for mode in EXCLUDES[claim.mode]:
            for resource in claim.resources:
                for owner, other in self._near[mode].candidates(resource):
                    holder = self.live[owner]
                    if (
                        owner != claim.id
                        and not _related(holder.agent, claim.agent)
                        and (not holder.tree or not claim.tree or holder.tree == claim.tree)
                        and overlap(resource, other)
                    ):
                        message = (
                            f"{_say(claim.agent)} got {_say(resource[1])} ({claim.mode}, claim {_say(claim.id)}) while "
                            f"{_say(holder.agent)} held {_say(other[1])} ({mode}, claim {_say(owner)})"
                        )
                        self._report.add(seq, "two_holders", message)
                        return

    def _check_token(self, said: _Said, token: int) -> None:
        """Promise 2."""
        if token != said.commit:
            self._report.add(said.seq, "token", f"the token is {token}, the commit's number {said.commit}")
        elif token <= self._earlier:
            self._report.add(said.seq, "token", f"the token is {token}, an earlier one was {self._earlier}")
        else:
            self._report.token = token

    def _check_request(self, said: _Said) -> None:
        """Promise 6. A day has too many requests to keep their texts, so 64 bits stand for each, as for the ids."""
        request = said.data.get("request")
        if request is None:
            return
        _must(type(request) is list and _types(request) == TWO_TEXTS, "`request` is not an operation and an id")
        while self._requests and said.now - next(iter(self._requests.values()))[1] >= DAY:
            self._requests.popitem(last=False)
        key = hash((said.agent, *request))
        commit, _ = self._requests.setdefault(key, (said.commit, said.now))
        if commit != said.commit:
            message = f"request {_say(request[1])} of {_say(said.agent)} had its effect before, in commit {commit}"
            self._report.add(said.seq, "two_effects", message)

    def _check_killed(self, said: _Said, agent: str) -> None:
        while self._killed:
            if agent in self._killed:
                self._report.add(said.seq, "killed", f"{_say(agent)} was killed and not revived, and got a claim")
            if agent in self._killed or "/" not in agent:
                return
            agent = agent.rpartition("/")[0]

    def _check_related(self, said: _Said, claim: _Claim, what: str) -> None:
        if not _related(said.agent, claim.agent):
            message = f"claim {_say(claim.id)} of {_say(claim.agent)} was {what} by {_say(said.agent)}"
            self._report.add(said.seq, "stranger", message)

    # --- waits and agents

    def _on_queued(self, said: _Said) -> None:
        if not self._queued.add(said.subject):
            self._report.add(said.seq, "wait", f"waiter {_say(said.subject)} was queued before")
        self._waiting.add(said.subject)

    def _on_wait_ended(self, said: _Said) -> None:
        if said.subject in self._waiting:
            self._waiting.discard(said.subject)
        elif not self._lost_waits or not self._queued.add(said.subject):
            self._report.add(said.seq, "wait", f"waiter {_say(said.subject)} was not waiting")

    def _on_killed(self, said: _Said) -> None:
        self._killed.add(said.subject)

    def _on_revived(self, said: _Said) -> None:
        self._killed.discard(said.subject)


class _Ids:
    """Every id that was met, eight bytes each: a set for the newest, sorted runs for the others.

    A log has millions of them, too many to keep as texts. Two ids with the same 64 bits would be taken for one; among
    ten million that is expected less than once in a hundred thousand logs.
    """

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._runs: list[array[int]] = []

    def add(self, identifier: str) -> bool:
        """Note an id; False if it was noted before."""
        number = hash(identifier) & 0xFFFF_FFFF_FFFF_FFFF
        if number in self._recent:
            return False
        for run in self._runs:
            place = bisect_left(run, number)
            if place < len(run) and run[place] == number:
                return False
        self._recent.add(number)
        if len(self._recent) == RUN:
            newest = array("Q", sorted(self._recent))
            while self._runs and len(self._runs[-1]) <= len(newest):
                newest = array("Q", merge(self._runs.pop(), newest))
            self._runs.append(newest)
            self._recent.clear()
        return True


# --- the seals


class _Seals:
    """The seals, each held to the log where it stands and to the event that speaks of it. At most one finding each."""

    def __init__(self, report: Report, seals: list[Seal]) -> None:
        self._report = report
        self._seals: dict[int, Seal] = {}
        self._told: set[int] = set()  # those that a `log.sealed` event speaks of
        self._blamed: set[int] = set()
        for seal in seals:
            if _types((seal.seq, seal.link, seal.body)) != SEAL_TYPES:
                self._report.add(0, "malformed", "a column of a seal has the wrong type")
            elif seal.seq in self._seals:
                self._blame(seal.seq, "another seal stands at the same event")
            else:
                self._seals[seal.seq] = seal

    def link(self, seq: int) -> str | None:
        """The link that a seal remembers for an event."""
        seal = self._seals.get(seq)
        return None if seal is None else seal.link

    def enter(self, seq: int, replay: _Replay) -> str | None:
        """Let the replay go on from the seal at an event; gives its link, None if there is no seal."""
        seal = self._seals.get(seq)
        if seal is None:
            return None
        opened = self._open(seal)
        if opened is not None:
            replay.enter(seq, *opened)
        return seal.link

    def compare(self, event: Event, replay: _Replay) -> None:
        """Hold the seal that stands at this event, if any, to the event and to the state right after it."""
        seal = self._seals.get(event.seq)
        if seal is None:
            return
        if seal.link != event.link:
            self._blame(seal.seq, "it remembers another link for its event")
        opened = self._open(seal)
        if opened is None:
            return
        if replay.lost:
            replay.enter(seal.seq, *opened)
        elif difference := replay.differs(*opened):
            self._blame(seal.seq, difference)

    def hear(self, said: _Said, chain: _Chain) -> None:
        """What the log says about itself: hold a seal to the event that was written with it, and note prunings."""
        through, link, digest = (said.data.get(name) for name in ("through", "link", "digest"))
        if said.kind == "log.pruned":
            chain.pruned.add(through if isinstance(through, int) else 0)
        if said.kind != "log.sealed":
            return
        seal = self._seals.get(through) if isinstance(through, int) else None
        if seal is None:
            self._report.add(said.seq, "seal", f"no seal stands at event {_say(through)}, but this event says so")
            return
        self._told.add(seal.seq)
        if chain.before[1] is not None and (seal.seq, link) != chain.before:
            self._blame(seal.seq, f"event {said.seq}, written with it, did not come right behind its event")
        elif link != seal.link or digest != sha256(seal.body.encode("utf-8", "surrogatepass")).hexdigest():
            self._blame(seal.seq, f"it is not what event {said.seq} says was sealed")

    def finish(self, first: int) -> None:
        """A seal whose own event should be in the log and is not was put there by somebody else."""
        for seq in self._seals.keys() - self._told:
            if seq >= first - 1:
                self._blame(seq, "no event speaks of it")

    def _open(self, seal: Seal) -> tuple[dict[str, _Claim], int] | None:
        """The claims of a seal, and the number that no token was above."""
        try:
            opened = _open(seal.body)
            entries: Any = opened.get("claims")
            token = _whole(opened, "token")
            _must(isinstance(entries, list), "`claims` is not a list")
            claims = [_Claim(_text(entry, "claim"), _text(entry, "agent"), entry) for entry in entries]
        except _MalformedError as problem:
            self._blame(seal.seq, str(problem))
            return None
        if any(claim.token > token for claim in claims) or len({claim.id for claim in claims}) < len(claims):
            self._blame(seal.seq, "one of its claims is in it twice or has a token above its own")
        return {claim.id: claim for claim in claims}, token

    def _blame(self, seq: int, message: str) -> None:
        if seq not in self._blamed:
            self._blamed.add(seq)
            self._report.add(seq, "seal", f"the seal at event {seq}: {message}")


# --- reading what may be broken


def _must(held: bool, message: str) -> None:
    if not held:
        raise _MalformedError(message)


def _open(text: str) -> dict[str, Any]:
    try:
        opened = jsontext.decode(text)
    except (ValueError, TypeError, RecursionError):
        opened = None
    _must(isinstance(opened, dict), "the body is not the JSON text of an object")
    return opened  # type: ignore[no-any-return]


def _text(data: Any, name: str) -> str:
    value = data.get(name) if isinstance(data, dict) else None
    _must(isinstance(value, str), f"`{name}` is not a text")
    return str(value)


def _whole(data: dict[str, Any], name: str) -> int:
    value: Any = data.get(name)
    _must(type(value) is int, f"`{name}` is not a whole number")
    return int(value)


def _resources(data: dict[str, Any], name: str) -> frozenset[Resource]:
    value: Any = data.get(name)
    good = type(value) is list
    for item in value if good else ():
        good = good and type(item) is list and _types(item) == TWO_TEXTS and item[0] in KINDS
    _must(good, f"`{name}` is not a list of resources")
    return frozenset(map(tuple, value))


def _types(values: Iterable[object]) -> tuple[type, ...]:
    return tuple(map(type, values))


def _related(one: str, other: str) -> bool:
    """Whether two agents are the same or one is the other's ancestor: such two never block each other."""
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")


def _say(value: object) -> str:
    """What somebody wrote, as it may stand in a message: short, and harmless to a terminal."""
    text = str(value)
    text = text if len(text) <= 100 else text[:99] + "…"  # noqa: PLR2004
    return text if text.isprintable() else ascii(text)
