"""`dibs verify`: reads log, head and seals once, and reports everything that cannot have happened.

The story. Events are read one after the other and dropped again. Memory holds only the state that they describe: live
claims, waiters, killed agents, the requests of the last 24 hours, the tasks that can still move, the documents'
versions, the open votes and alerts. `_Chain` checks each event against its predecessor (number, link, clock, commit),
`Replay` checks it against the state before it, `_Seals` checks the seals against the state at their number. At the end
the head record and a head remembered elsewhere must agree.

Events that left the store are read from their archives first (archives.py), so that archives and log are one chain. The
record names the archives, and so do the events that were written when they were made: one that is missing, changed, or
unknown to either is a finding.

Nothing of the operations is imported: the digests are computed here, and `lookout.overlap` decides overlap. A broken
event is a finding and never an error; after one, the check continues with what is still known, so that one defect gives
one finding and not a hundred. Nothing is repaired here, and the rows next to the log (claims, queues) are not read.

It cannot see what was dropped with an archive, or before there were archives. A seal carries the claims and a bound of
the tokens, not the waits, the killed agents, the request ids, the tasks, the documents and the votes, so these are
checked only within what is read.
"""

from __future__ import annotations

from hashlib import sha1, sha256
from typing import TYPE_CHECKING, Any

from dibs.stores.seam import GENESIS, Seal
from dibs.verify.archives import Archive, BrokenError, Gap, alone
from dibs.verify.reading import MalformedError, must, read_body, say, text, types, whole
from dibs.verify.replay import Claim, OpenedEvent, Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dibs.stores.seam import Event, Head, Store
    from dibs.verify.answers import FindingView, VerifyAnswer
    from dibs.verify.archives import Expected

CODES = {
    "malformed": "an event, a seal or the head record cannot be read",
    "start": "the log begins neither with event 1 nor right after a seal",
    "gap": "events are missing",
    "order": "an event comes after one with a higher number",
    "link": "an event was changed: its link does not follow from its predecessor and itself",
    "time": "the store's clock went backwards",
    "commit": "the number of the commit fell, or events of one commit differ in time",
    "head": "the head record does not agree with the end of the log",
    "rewritten": "the event at the remembered head's number is a different one",
    "shortened": "the log ends before the remembered head",
    "pruned": "the beginning of the log is missing and no event records that, or the remembered head was pruned",
    "seal": "a seal does not agree with the log",
    "archive": "an archive of the log is missing, was changed, or does not agree with the log",
    "granted_twice": "a claim id was granted a second time",
    "not_live": "an event names a claim that was not live",
    "left": "the resources left after a release are not the held ones without the released ones",
    "early": "a claim expired before its deadline",
    "stranger": "a claim was renewed, moved or released by or to an agent unrelated to its holder",
    "handover": "a hand-over was made twice, or names a claim that its receiver did not hold",
    "two_holders": "two unrelated agents held claims that exclude each other (promise 1)",
    "pool": "a unit of a pool had two holders, or a pool more holders than units (promise 1)",
    "token": "a token is not its commit's number or does not rise (promise 2)",
    "two_effects": "one request id had an effect in two commits (promise 6)",
    "killed": "a killed agent got a claim",
    "wait": "a wait began or ended a second time, or ended without having begun",
    "task": "a task was added twice, or an event names a task that did not exist",
    "task_state": "a task left a state that it was not in, or made a transition that does not exist",
    "task_claim": "a task was at work without a live claim of its agent",
    "task_token": "a task was finished without the live token of its claim (promise 2)",
    "finished_twice": "a task was completed a second time (promise 6)",
    "version": "the version of a document did not rise as required",
    "credential": "a credential was made or revoked twice, or a machine without one registered an agent",
    "alert": "an alert was raised twice, acknowledged or cleared while it was not open, or cleared without a reason",
    "landing": "a landing was decided twice, or a target was moved without the live token of its lander (promise 2)",
    "vote": "a vote got a ballot that does not count, or its outcome came twice or contradicts its ballots",
}

LOST_ARCHIVE = "log:archive-"  # and its last event: how a person settles that it is lost
MAX_FINDINGS = 100  # in a report; further ones are only counted
PAGE_EVENTS = 2_000  # read from a store at a time
PROGRESS_EVENTS = 10_000  # between two calls of `progress`
MAX_READS = 3  # of a store that is pruned during the check


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

    def as_json(self) -> FindingView:
        """The object that `--json` prints."""
        return {"seq": self.seq, "code": self.code, "message": self.message}


class Report:
    """The result of a check. `found` counts all findings, `findings` holds the first of them."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.found = self.events = self.granted = self.live = self.token = self.first = self.last = 0
        self.archives = self.elsewhere = 0  # read here; on other machines, which could not be read
        self.settled = 0  # archives that cannot be read, and that a person settled
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

    def take(self, other: Report) -> None:
        """Count what the check of a later part found."""
        for finding in other.findings:
            self.add(finding.seq, finding.code, finding.message)
        self.found += other.found - len(other.findings)
        self.events, self.granted = self.events + other.events, self.granted + other.granted
        self.first = self.first or other.first
        self.live, self.token, self.last, self.link = other.live, other.token, other.last, other.link

    def as_json(self) -> VerifyAnswer:
        """The object that `--json` prints."""
        return {
            "found": self.found, "events": self.events, "granted": self.granted, "live": self.live,
            "token": self.token, "first": self.first, "last": self.last, "link": self.link,
            "archives": self.archives, "elsewhere": self.elsewhere, "settled": self.settled,
            "findings": [finding.as_json() for finding in self.findings],
        }  # fmt: skip


def verify(
    head: Head,
    events: Iterable[Event | Seal | Gap],
    seals: list[Seal],
    expected_head: tuple[int, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    archives: Sequence[Expected] | None = None,
    *,
    whole: bool = True,
) -> Report:
    """Check a log. `expected_head` is (seq, link) as remembered elsewhere; `progress` gets events read and in all.

    `events` may have the seals of archives at their places, and gaps. `archives`: those that there must be; None: they
    are not looked at. Not `whole`: a part of a log, whose seals and prunings later events record.
    """
    report = Report()
    replay = Replay(report)
    known = _Seals(report, seals)
    chain = _Chain(report, replay, known, expected_head)
    for event in events:
        if isinstance(event, Seal):
            known.learn(event)
            known.compare(event.seq, chain.link if chain.seq == event.seq else None, replay)
            continue
        if isinstance(event, Gap):
            chain.jump(event)
            continue
        report.events += 1
        if chain.follow(event):
            opened = replay.apply(event)
            if opened is not None and opened.kind.startswith("log."):
                known.hear(opened, chain)
            elif opened is not None and opened.kind.startswith("audit."):
                chain.hear(opened)
            known.compare(event.seq, event.link, replay)
        if progress is not None and report.events % PROGRESS_EVENTS == 0:
            progress(report.events, head.seq)
    replay.finish()
    chain.blame_gaps()
    report.live = len(replay.live)
    if archives is not None:
        chain.compare_archives(archives)
    if whole:
        known.finish(report.first, chain.gaps)
    chain.finish(head, known, whole=whole)
    return report


def verify_archives(
    paths: Sequence[str],
    expected_head: tuple[int, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Check archives without their store: the events, links and seals of each, and how each continues the one before.

    They come in their order; where one does not begin right after the one before, events are missing.
    """
    report = Report()
    report.archives = len(paths)
    before = Seal(0, "", "")
    for path in paths:
        try:
            head, events, seals = alone(path)
            start = seals[0] if seals else Seal(0, GENESIS, "")
            found = verify(head, events, seals, expected_head, progress, whole=False)
        except BrokenError as error:
            report.add(before.seq + 1, "archive", f"{say(path)}: {error}")
            before = Seal(0, "", "")
            continue
        if before.link and found.first > before.seq + 1:
            report.add(found.first, "gap", f"no archive has the events {before.seq + 1} to {found.first - 1}")
        elif before.link and (start.seq, start.link) != (before.seq, before.link):
            report.add(found.first, "archive", f"{say(path)} does not continue the archive before it")
        report.take(found)
        before = Seal(found.last, found.link, "")
    return report


def verify_store(
    store: Store,
    expected_head: tuple[int, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    archives: Callable[[], Sequence[Expected]] | None = None,
) -> Report:
    """Check a store in use: the log up to the head at the beginning of the check.

    `archives` gives those that there must be, to be read before the log; None: only what is in the store is checked.
    """
    report = Report()
    for _ in range(MAX_READS):
        first = [event.seq for event in store.events(0, 1)]
        named = None if archives is None else archives()
        head = store.head()
        seals = store.seals()
        if store.head().seq != head.seq:  # a new seal's event may come after the head that is checked
            seals = [seal for seal in seals if seal.seq < head.seq]
        counted = [0, 0]
        # after the oldest seal: what the store still has before it is in an archive, and about to be dropped
        after = min((seal.seq for seal in seals), default=0) if first and first[0] > 1 else 0
        events = _all(named or (), store, head, after, counted)
        report = verify(head, events, seals, expected_head, progress, named)
        report.archives, report.elsewhere = counted
        if report.ok or [event.seq for event in store.events(0, 1)] == first:
            break
    return report


def verify_recent(store: Store, most: int, progress: Callable[[int, int], None] | None = None) -> Report:
    """Check the end of the log of a store in use: from the oldest seal that leaves at most so many events.

    Without such a seal: from the newest one; without any, the whole log in the store.
    """
    head = store.head()
    seals = [seal for seal in store.seals() if seal.seq < head.seq]
    near = [seal.seq for seal in seals if head.seq - seal.seq <= most]
    start = min(near) if near else max((seal.seq for seal in seals), default=0)
    if head.seq <= most or not start:
        return verify_store(store, None, progress)
    seals = [seal for seal in seals if seal.seq >= start]

    def told(done: int, _: int) -> None:
        if progress is not None:
            progress(done, head.seq - start)

    return verify(head, _pages(store, head, start), seals, None, told, whole=False)


def _all(
    named: Sequence[Expected], store: Store, head: Head, after: int, counted: list[int]
) -> Iterator[Event | Seal | Gap]:
    """The events of the archives, then the store's after a number; `counted`: archives read, archives elsewhere."""
    for one in named:
        if not one.here:
            counted[1] += 1
            yield Gap(one.first, one.last, one.link, "")
            continue
        why = one.problem()
        if why:
            yield Gap(one.first, one.last, one.link, f"{say(one.path)}: {why}")
        else:
            counted[0] += 1
            yield from _archived(one)
    yield from _pages(store, head, after)


def _archived(one: Expected) -> Iterator[Event | Seal | Gap]:
    """An archive's events with the seals around them."""
    seq, why = one.first - 1, ""
    try:
        archive = Archive(one.path)
        if (archive.first, archive.last) != (one.first, one.last):
            why = "it has other events than the record says"
        else:
            if archive.before.body:
                yield archive.before
            for event in archive.events():
                seq = event.seq
                yield event
            assert archive.end is not None
            yield archive.end
    except BrokenError as error:
        why = str(error)
    if why:
        yield Gap(seq + 1, one.last, one.link, f"{say(one.path)}: {why}")


def _pages(store: Store, head: Head, after: int) -> Iterator[Event]:
    """The store's events up to the head; later ones only if they are not just newer than the head."""
    while page := store.events(after, PAGE_EVENTS):
        for event in page:
            if event.seq > head.seq and store.head().seq > head.seq:
                return
            yield event
        if page[-1].seq <= after:  # a store that does not advance would be read without end
            return
        after = page[-1].seq


# --- the chain


class _Chain:
    """The reading position: the last event's number, link, commit and clock. `link` is None if unknown."""

    def __init__(self, report: Report, replay: Replay, seals: _Seals, expected: tuple[int, str] | None) -> None:
        self._report, self._replay, self._seals = report, replay, seals
        self._expected = expected
        self.seq, self.commit, self.now, self.wall = 0, 0, 0, 0
        self.link: str | None = GENESIS
        self.before: tuple[int, str | None] = (0, GENESIS)  # the last event of the commit before
        self.pruned: set[int] = set()  # from `log.pruned` events
        self.archived: dict[int, tuple[int, Any]] = {}  # last event of an archive → the event that records it, facts
        self.dropped: set[int] = set()  # the same, of archives that were given up
        self.gaps: list[Gap] = []
        self.settled: set[str] = set()  # findings that a person accepted, as `audit.settled` names them

    def follow(self, event: Event) -> bool:
        """Check how an event follows its predecessor. False: it is out of place and cannot be replayed."""
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
        )  # as stored: after a wrong link the next event is checked against the stored one
        self._report.last = event.seq
        if self._expected is not None and event.seq == self._expected[0]:
            self._compare_expected(event.link)
        return True

    def jump(self, gap: Gap) -> None:
        """An archive that cannot be read. The record has the last link."""
        self.gaps.append(gap)
        self._replay.lose()
        self.seq, self.link = gap.last, gap.link

    def hear(self, event: OpenedEvent) -> None:
        """What a person accepted, or accepts no more."""
        if event.kind == "audit.settled":
            self.settled.add(event.subject)
        else:
            self.settled.discard(event.subject)

    def blame_gaps(self) -> None:
        """An archive that cannot be read is a finding, unless another machine has it, or a person settled its loss."""
        for gap in self.gaps:
            if gap.why and f"{LOST_ARCHIVE}{gap.last}" in self.settled:
                self._report.settled += 1
            elif gap.why:
                self._report.add(gap.first, "archive", gap.why)

    def compare_archives(self, named: Sequence[Expected]) -> None:
        """Check the archives that the store names against those that the log names."""
        known = {one.last: one for one in named}
        for last, (seq, facts) in self.archived.items():
            one = known.get(last)
            if last in self.dropped:
                continue
            if one is None:
                self._report.add(seq, "archive", f"the archive through event {last} is not in the store's list")
            elif not isinstance(facts, dict) or facts.get("sha256") != one.sha256 or facts.get("link") != one.link:
                self._report.add(seq, "archive", f"the store's list has another archive through event {last}")
        for last in known.keys() - self.archived.keys() if not self.gaps else ():
            self._report.add(last, "archive", f"no event records the archive through event {last}")

    def _begin(self, event: Event) -> None:
        """The first event: number 1, or right after a seal; the replay begins with the seal's claims."""
        self._report.first = event.seq
        if event.seq != 1 and not self._resume(event):
            message = f"the log begins with event {event.seq} and there is no seal at event {event.seq - 1}"
            self._report.add(event.seq, "start", message)

    def _resume(self, event: Event) -> bool:
        """Continue after missing events: from a seal if there is one, else without the earlier state."""
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
        """Check the remembered head against the event of its number."""
        if self._expected is not None and link != self._expected[1]:
            message = f"the link of event {self._expected[0]} is {say(link)}, remembered was {say(self._expected[1])}"
            self._report.add(self._expected[0], "rewritten", message)

    def finish(self, head: Head, seals: _Seals, *, whole: bool = True) -> None:
        """Check the log's end against the head record, its beginning against prunings, both against a known head."""
        first, last = self._report.first, self.seq
        if whole and first > 1 and first - 1 not in self.pruned and seals.link(first - 1) is not None:
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
    """Checks each seal against the log at its place and against the event that records it. At most one finding each."""

    def __init__(self, report: Report, seals: list[Seal]) -> None:
        self._report = report
        self._seals: dict[int, Seal] = {}
        self._told: set[int] = set()  # recorded by a `log.sealed` event
        self._blamed: set[int] = set()
        for seal in seals:
            if types((seal.seq, seal.link, seal.body)) != SEAL_TYPES:
                self._report.add(0, "malformed", "a column of a seal has the wrong type")
            elif seal.seq in self._seals:
                self._blame(seal.seq, "there is another seal at the same event")
            else:
                self._seals[seal.seq] = seal

    def link(self, seq: int) -> str | None:
        """The link that a seal remembers for an event."""
        seal = self._seals.get(seq)
        return None if seal is None else seal.link

    def enter(self, seq: int, replay: Replay) -> str | None:
        """Continue the replay from the seal at an event; returns its link, None if there is no seal."""
        seal = self._seals.get(seq)
        if seal is None:
            return None
        opened = self._open(seal)
        if opened is not None:
            replay.enter(seq, *opened)
        return seal.link

    def learn(self, seal: Seal) -> None:
        """A seal that an archive has."""
        known = self._seals.setdefault(seal.seq, seal)
        if (known.link, known.body) != (seal.link, seal.body):
            self._blame(seal.seq, "the store and an archive have different ones")

    def compare(self, seq: int, link: str | None, replay: Replay) -> None:
        """Check the seal at this event, if any, against the event and the state right after it."""
        seal = self._seals.get(seq)
        if seal is None or link is None:
            return
        if seal.link != link:
            self._blame(seal.seq, "it remembers another link for its event")
        opened = self._open(seal)
        if opened is None:
            return
        if replay.lost:
            replay.enter(seal.seq, *opened)
        elif difference := replay.differs(*opened):
            self._blame(seal.seq, difference)

    def hear(self, event: OpenedEvent, chain: _Chain) -> None:
        """The log's records about itself: check a seal against the event written with it, and note prunings."""
        through, link, digest = (event.data.get(name) for name in ("through", "link", "digest"))
        if event.kind == "log.pruned":
            chain.pruned.add(through if isinstance(through, int) else 0)
            if "archive" in event.data and isinstance(through, int):
                chain.archived[through] = event.seq, event.data["archive"]
        if event.kind == "log.dropped":
            last = event.data.get("last")
            chain.dropped.add(last if isinstance(last, int) else 0)
        if event.kind != "log.sealed":
            return
        seal = self._seals.get(through) if isinstance(through, int) else None
        if seal is None:
            self._report.add(event.seq, "seal", f"there is no seal at event {say(through)}, but this event records one")
            return
        self._told.add(seal.seq)
        if chain.before[1] is not None and (seal.seq, link) != chain.before:
            self._blame(seal.seq, f"event {event.seq}, written with it, did not come right after its event")
        elif link != seal.link or digest != sha256(seal.body.encode("utf-8", "surrogatepass")).hexdigest():
            self._blame(seal.seq, f"it differs from the seal that event {event.seq} records")

    def finish(self, first: int, gaps: Sequence[Gap] = ()) -> None:
        """A seal without its own event in the log was not written by dibs."""
        for seq in self._seals.keys() - self._told:
            if seq >= first - 1 and not any(gap.first <= seq + 1 <= gap.last for gap in gaps):
                self._blame(seq, "no event records it")

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
