"""`dibs verify`: read log, head and seals once, and say everything that cannot have happened.

The story. Events come in one after the other and are forgotten again; what stays in memory is the state that they
describe: the claims that are live, who waits, who was killed, the requests of the last 24 hours, the tasks that can
still move, the documents' versions, the open votes. `_Chain` holds each event to its predecessor (number, link, clock,
commit), `Replay` holds what it says to the state before it, `_Seals` holds the seals to the state at their number. At
the end the head record and a head remembered elsewhere must agree.

Nothing of the operations is imported, the digests are taken here, and overlap is decided by `lookout.overlap`. A broken
event is a finding and never an error; after one, the check goes on with what is still known, so that one wound gives
one finding and not a hundred. Nothing is repaired here, and the rows beside the log (claims, queues) are not read.

What it cannot see: what was dropped with a pruned stretch. A seal carries the claims and a bound of the tokens, not
the waits, the killed agents, the request ids, the tasks, the documents and the votes, so these are only checked within
the log that is there.
"""

from __future__ import annotations

from hashlib import sha1, sha256
from typing import TYPE_CHECKING, Any

from dibs.lookout.reading import MalformedError, must, read_body, say, text, types, whole
from dibs.lookout.replay import Claim, Replay, Statement
from dibs.stores.seam import GENESIS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
    "task": "a task was added twice, or something happened to one that was not there",
    "task_state": "a task left a state that it was not in, or went where no way leads",
    "task_claim": "a task was at work without a live claim of its agent behind it",
    "task_token": "a task was finished without the live token of its claim (promise 2)",
    "finished_twice": "a task was completed a second time (promise 6)",
    "version": "the version of a document did not rise as it must",
    "vote": "a vote got a ballot that does not count, or came out twice or otherwise than its ballots say",
}

MAX_FINDINGS = 100  # findings that a report keeps; the others are counted
PAGE_EVENTS = 2_000  # events read from a store at a time
PROGRESS_EVENTS = 10_000  # events between two calls of `progress`
MAX_READS = 3  # how often a store that is being pruned meanwhile is read again


EVENT_TYPES = (int, int, int, int, str, str)
HEAD_TYPES = (int, int, int, str)
SEAL_TYPES = (int, str, str)


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
        if len(self.findings) < MAX_FINDINGS:
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
    replay = Replay(report)
    known = _Seals(report, seals)
    chain = _Chain(report, replay, known, expected_head)
    for event in events:
        report.events += 1
        if chain.follow(event):
            said = replay.apply(event)
            if said is not None and said.kind.startswith("log."):
                known.hear(said, chain)
            known.compare(event, replay)
        if progress is not None and report.events % PROGRESS_EVENTS == 0:
            progress(report.events, head.seq)
    replay.finish()
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
    for _ in range(MAX_READS):
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
    while page := store.events(after, PAGE_EVENTS):
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

    def __init__(self, report: Report, replay: Replay, seals: _Seals, expected: tuple[int, str] | None) -> None:
        self._report, self._replay, self._seals = report, replay, seals
        self._expected = expected
        self.seq, self.commit, self.now, self.wall = 0, 0, 0, 0
        self.link: str | None = GENESIS
        self.before: tuple[int, str | None] = (0, GENESIS)  # the last event of the commit before
        self.pruned: set[int] = set()  # what `log.pruned` events say

    def follow(self, event: Event) -> bool:
        """Check how an event follows its predecessor. False: it has no place, what it says cannot be replayed."""
        if types((event.seq, event.commit, event.now, event.wall, event.body, event.link)) != EVENT_TYPES:
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
            message = f"the link of event {self._expected[0]} is {say(link)}, remembered was {say(self._expected[1])}"
            self._report.add(self._expected[0], "rewritten", message)

    def finish(self, head: Head, seals: _Seals) -> None:
        """The end of the log against the head record, its front against prunings, both against what is remembered."""
        first, last = self._report.first, self.seq
        if first > 1 and first - 1 not in self.pruned and seals.link(first - 1) is not None:
            self._report.add(first, "pruned", f"no event says that the events up to {first - 1} were dropped")
        if types((head.seq, head.commit, head.now, head.link)) != HEAD_TYPES:
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


# --- the seals


class _Seals:
    """The seals, each held to the log where it stands and to the event that speaks of it. At most one finding each."""

    def __init__(self, report: Report, seals: list[Seal]) -> None:
        self._report = report
        self._seals: dict[int, Seal] = {}
        self._told: set[int] = set()  # those that a `log.sealed` event speaks of
        self._blamed: set[int] = set()
        for seal in seals:
            if types((seal.seq, seal.link, seal.body)) != SEAL_TYPES:
                self._report.add(0, "malformed", "a column of a seal has the wrong type")
            elif seal.seq in self._seals:
                self._blame(seal.seq, "another seal stands at the same event")
            else:
                self._seals[seal.seq] = seal

    def link(self, seq: int) -> str | None:
        """The link that a seal remembers for an event."""
        seal = self._seals.get(seq)
        return None if seal is None else seal.link

    def enter(self, seq: int, replay: Replay) -> str | None:
        """Let the replay go on from the seal at an event; gives its link, None if there is no seal."""
        seal = self._seals.get(seq)
        if seal is None:
            return None
        opened = self._open(seal)
        if opened is not None:
            replay.enter(seq, *opened)
        return seal.link

    def compare(self, event: Event, replay: Replay) -> None:
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

    def hear(self, said: Statement, chain: _Chain) -> None:
        """What the log says about itself: hold a seal to the event that was written with it, and note prunings."""
        through, link, digest = (said.data.get(name) for name in ("through", "link", "digest"))
        if said.kind == "log.pruned":
            chain.pruned.add(through if isinstance(through, int) else 0)
        if said.kind != "log.sealed":
            return
        seal = self._seals.get(through) if isinstance(through, int) else None
        if seal is None:
            self._report.add(said.seq, "seal", f"no seal stands at event {say(through)}, but this event says so")
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

    def _open(self, seal: Seal) -> tuple[dict[str, Claim], int] | None:
        """The claims of a seal, and the number that no token was above."""
        try:
            opened = read_body(seal.body)
            entries: Any = opened.get("claims")
            token = whole(opened, "token")
            must(isinstance(entries, list), "`claims` is not a list")
            claims = [Claim(text(entry, "claim"), text(entry, "agent"), entry) for entry in entries]
        except MalformedError as problem:
            self._blame(seal.seq, str(problem))
            return None
        if any(claim.token > token for claim in claims) or len({claim.id for claim in claims}) < len(claims):
            self._blame(seal.seq, "one of its claims is in it twice or has a token above its own")
        return {claim.id: claim for claim in claims}, token

    def _blame(self, seq: int, message: str) -> None:
        if seq not in self._blamed:
            self._blamed.add(seq)
            self._report.add(seq, "seal", f"the seal at event {seq}: {message}")
