"""Verify, rule by rule: a log that is right gives no finding; the same log with one thing wrong gives that finding.

Two ways to break a log. Wounding it after it was linked is what an editor or a bad disk does; the chain finds it.
Writing something impossible and linking it correctly is what a wrong operation would do; the replay finds it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from dibs import jsontext
from dibs.stores.seam import COMMIT, GENESIS, Event, Head, Seal
from dibs.testing.memory import MemoryStore
from dibs.verify import checker as module
from dibs.verify import reading
from dibs.verify.checker import CODES, Report, verify, verify_store
from dibs.verify.replay import REQUEST_KEPT_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.seam import Transaction

Said = tuple[str, str, str, Any]  # kind, agent, subject, data
File = list[str]

A, B = ["file", "src/a.py"], ["file", "src/b.py"]


def granted(claim: str, agent: str, *resources: File, **other: Any) -> Said:
    data = {"mode": "write", "tree": "", "until": 1_000_000, "token": COMMIT, "via": "request"}
    return "claim.granted", agent, claim, {"resources": list(resources or [A]), **data, **other}


def renewed(claim: str, agent: str, until: int = 2_000_000) -> Said:
    return "claim.renewed", agent, claim, {"until": until}


def moved(claim: str, agent: str, to: str, why: str, token: Any = COMMIT) -> Said:
    return "claim.moved", agent, claim, {"to": to, "token": token, "why": why}


def released(claim: str, agent: str, *resources: File, left: list[File] | None = None, **other: Any) -> Said:
    data = {"resources": list(resources or [A]), "left": left or [], "why": "released", **other}
    return "claim.released", agent, claim, data


def ended(claim: str, why: str) -> Said:
    return "claim.ended", "sweeper", claim, {"why": why}


def sealed(seal: Seal, **other: Any) -> Said:
    digest = hashlib.sha256(seal.body.encode()).hexdigest()
    return "log.sealed", "ann", "", {"through": seal.seq, "link": seal.link, "digest": digest, **other}


def pruned(through: int) -> Said:
    return "log.pruned", "ann", "", {"through": through}


OTHER: Said = ("agent.registered", "ann", "ann", {})


class Log:
    """A log written by hand, linked like an engine links it, but by other code."""

    def __init__(self, *commits: list[Said]) -> None:
        self.events: list[Event] = []
        self.seals: list[Seal] = []
        self.now = 0
        for said in commits:
            self.commit(*said)

    @property
    def head(self) -> Head:
        if not self.events:
            return Head(0, 0, GENESIS, 0)
        last = self.events[-1]
        return Head(last.commit, last.seq, last.link, last.now)

    def commit(self, *said: Said, after: int = 1_000, number: int | None = None) -> Log:
        """Append events in one commit, some time after the last one."""
        self.now += after
        commit = self.head.commit + 1 if number is None else number
        for kind, agent, subject, data in said:
            self.write(jsontext.encode({"kind": kind, "agent": agent, "subject": subject, "data": data}), commit)
        return self

    def write(self, body: str, commit: int) -> None:
        self.events.append(Event(self.head.seq + 1, commit, self.now, 5_000 + self.now, body, ""))
        self.link(len(self.events) - 1)

    def link(self, start: int) -> None:
        """Link the events from a place on, as somebody who forges a log would."""
        link = self.events[start - 1].link if start else GENESIS
        for event in self.events[start:]:
            digest = hashlib.sha256(event.body.encode()).hexdigest()
            text = f"{link}|{event.seq}|{event.commit}|{event.now}|{event.wall}|{digest}"
            link = event.link = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()

    def seal(self, *claims: dict[str, Any], token: int, body: str | None = None) -> Seal:
        seal = Seal(self.head.seq, self.head.link, body or jsontext.encode({"claims": list(claims), "token": token}))
        self.seals.append(seal)
        return seal

    def verify(self, **other: Any) -> Report:
        return verify(other.pop("head", self.head), iter(self.events), self.seals, **other)


def entry(claim: str, agent: str, token: int, *resources: File, **other: Any) -> dict[str, Any]:
    """A claim as a seal has it."""
    facts = {"mode": "write", "tree": "", "until": 1_000_000, "token": token}
    return {"claim": claim, "agent": agent, "resources": list(resources or [A]), **facts, **other}


def codes(report: Report) -> list[str]:
    assert {finding.code for finding in report.findings} <= CODES.keys()
    return [finding.code for finding in report.findings]


def found(*commits: list[Said]) -> list[str]:
    """The findings for a log of these commits."""
    return codes(Log(*commits).verify())


# --- a log that is right


def long() -> Log:
    """A log with all that may happen."""
    log = Log(
        [("store.created", "", "w1", {"commit": COMMIT}), ("agent.registered", "ann", "ann", {})],
        [granted("c1", "ann", A, B, request=["claim", "r1"])],
        [("claim.refused", "bob", "src/a.py", {"code": "held", "resources": [A], "mode": "write", "tree": ""})],
        [("wait.queued", "bob", "w1", {"resources": [A], "mode": "write", "tree": "", "deadline": 9_000})],
        [renewed("c1", "ann"), renewed("c1", "ann/sub")],
        [
            released("c1", "ann", A, left=[B], request=["release", "r1"]),
            ("wait.ended", "bob", "w1", {"why": "granted"}),
            granted("c2", "bob", A, via="queue", until=8_000),
        ],
        [moved("c1", "ann", "ann", "boot")],
    )
    log.commit(ended("c2", "expired"), granted("c3", "cid/x", ["glob", "src/a*"], until=50_000), after=5_000)
    log.commit(moved("c3", "cid/x", "cid", "left"), granted("c4", "eve", A, mode="watch"))
    seal = log.seal(
        entry("c1", "ann", 7, B, until=2_000_000),
        entry("c3", "cid", 9, ["glob", "src/a*"], until=50_000),
        entry("c4", "eve", 9, A, mode="watch"),
        token=9,
    )
    log.commit(sealed(seal))
    log.commit(("agent.killed", "ann", "cid", {"why": "mad"}), ended("c3", "killed"))
    log.commit(("agent.revived", "ann", "cid", {"why": ""}), granted("c5", "cid", A))
    return log.commit(("some.thing", "x", "y", None))


def test_a_log_that_is_right_has_no_finding_and_is_counted() -> None:
    log = long()
    report = log.verify(expected_head=(3, log.events[2].link))
    assert report.findings == []
    assert report.as_json() == {
        "found": 0,
        "events": 21,
        "granted": 5,
        "live": 3,
        "token": 12,
        "first": 1,
        "last": 21,
        "link": log.head.link,
        "archives": 0,
        "elsewhere": 0,
        "settled": 0,
        "findings": [],
    }


def test_an_empty_log_is_right() -> None:
    assert verify(Head(0, 0, GENESIS, 0), [], []).ok
    assert verify(Head(0, 0, GENESIS, 0), [], [], (0, GENESIS)).ok


def test_a_finding_has_number_code_and_words() -> None:
    report = Log([granted("c1", "ann")], [granted("c2", "bob")]).verify()
    assert not report.ok
    assert report.as_json()["findings"] == [
        {
            "seq": 2,
            "code": "two_holders",
            "message": "bob got src/a.py (write, claim c2) while ann held src/a.py (write, claim c1)",
        }
    ]


def test_a_hundred_findings_are_kept_and_all_are_counted() -> None:
    report = Log(*([ended(f"c{number}", "gone")] for number in range(150))).verify()
    assert (len(report.findings), report.found, report.ok) == (100, 150, False)


def test_the_events_are_read_as_a_stream_and_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROGRESS_EVENTS", 5)
    log, told, read = long(), [], []

    def stream() -> Iterator[Event]:
        for event in log.events:
            read.append(event.seq)
            yield event

    verify(log.head, stream(), log.seals, progress=lambda done, last: told.append((done, last, len(read))))
    assert told == [(5, 21, 5), (10, 21, 10), (15, 21, 15), (20, 21, 20)]


# --- the chain


def test_an_edited_body_is_found_where_it_was_edited() -> None:
    log = long()
    log.events[1].body = log.events[1].body.replace("ann", "bob")
    assert [(one.seq, one.code) for one in log.verify().findings] == [(2, "link")]


@pytest.mark.parametrize("column", ["now", "wall", "commit"])
def test_an_edited_column_breaks_the_link(column: str) -> None:
    log = Log([OTHER], [OTHER], [OTHER])
    setattr(log.events[2], column, getattr(log.events[2], column) + 1)
    head = Head(9, 3, log.events[2].link, 99_999)
    assert codes(log.verify(head=head)) == ["link"]


def test_an_edited_link_is_found_there_and_at_the_next() -> None:
    log = long()
    log.events[4].link = "f" * 40
    assert [(one.seq, one.code) for one in log.verify().findings] == [(5, "link"), (6, "link")]


def test_a_first_event_that_does_not_begin_with_zeros_is_found() -> None:
    log = Log([OTHER], [OTHER])
    other = Log([granted("x", "ann")])
    log.events[0].link = other.events[0].link
    log.link(1)
    assert codes(log.verify()) == ["link"]


def test_a_cut_tail_is_found_by_the_head_record() -> None:
    log = long()
    head = log.head
    del log.events[-3:]
    assert codes(log.verify(head=head)) == ["head"]


def test_an_emptied_log_is_found_by_the_head_record() -> None:
    head = Log([OTHER]).head
    assert codes(verify(head, [], [])) == ["head"]


def test_a_cut_middle_is_found_and_nothing_is_concluded_from_what_is_missing() -> None:
    log = long()
    del log.events[5:9]
    assert [(one.seq, one.code) for one in log.verify().findings] == [(10, "gap")]


def test_a_cut_middle_that_was_numbered_anew_is_found_by_the_link() -> None:
    log = Log([OTHER], [OTHER], [OTHER], [OTHER])
    del log.events[1]
    for number, event in enumerate(log.events, 1):
        event.seq = number
    assert "link" in codes(log.verify())


def test_a_cut_front_is_found() -> None:
    log = long()
    del log.events[:2]
    assert codes(log.verify()) == ["start"]


def test_reordered_events_are_found() -> None:
    log = long()
    log.events[10], log.events[11] = log.events[11], log.events[10]
    assert set(codes(log.verify())) == {"gap", "order"}


def test_exchanged_bodies_are_found() -> None:
    log = Log([OTHER], [("agent.left", "ann", "ann", {})], [OTHER])
    log.events[0].body, log.events[1].body = log.events[1].body, log.events[0].body
    assert codes(log.verify()) == ["link", "link"]


def test_a_repeated_event_is_found() -> None:
    log = long()
    log.events.insert(4, log.events[3])
    assert codes(log.verify()) == ["order"]


def test_a_clock_that_falls_is_found() -> None:
    log = Log([OTHER], [OTHER])
    log.commit(OTHER, after=-500)
    log.commit(OTHER)
    assert [(one.seq, one.code) for one in log.verify().findings] == [(3, "time")]


def test_a_commit_number_that_falls_is_found() -> None:
    log = Log([OTHER], [OTHER], [OTHER])
    log.commit(OTHER, number=2)
    assert codes(log.verify()) == ["commit"]


@pytest.mark.parametrize("column", ["now", "wall"])
def test_events_of_one_commit_that_differ_in_time_are_found(column: str) -> None:
    log = Log([OTHER, OTHER])
    setattr(log.events[1], column, getattr(log.events[1], column) + 1)
    log.link(1)
    assert codes(log.verify()) == ["commit"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"link": "0" * 40}, "head"),
        ({"seq": 20}, "head"),
        ({"seq": 22}, "head"),
        ({"commit": 12}, "head"),
        ({"now": 1}, "head"),
        ({"seq": None}, "malformed"),
        ({"commit": "x"}, "malformed"),
    ],
)
def test_a_head_record_that_disagrees_with_the_last_event_is_found(change: dict[str, Any], code: str) -> None:
    log = long()
    head = log.head
    for name, value in change.items():
        setattr(head, name, value)
    assert codes(log.verify(head=head)) == [code]


def test_a_head_record_may_be_ahead_by_commits_that_had_no_event() -> None:
    log = long()
    head = Head(log.head.commit + 4, log.head.seq, log.head.link, log.head.now + 100)
    assert log.verify(head=head).ok


# --- a head remembered elsewhere


def test_a_log_that_was_rewritten_and_linked_anew_is_found_by_the_remembered_head() -> None:
    log = long()
    remembered = (7, log.events[6].link)
    assert log.verify(expected_head=remembered).ok
    log.seals.clear()
    del log.events[10:]
    log.events[3].wall += 1
    log.link(3)
    assert log.verify().ok
    assert codes(log.verify(expected_head=remembered)) == ["rewritten"]


def test_a_log_that_was_rolled_back_with_its_head_is_found_by_the_remembered_head() -> None:
    log = long()
    remembered = (log.head.seq, log.head.link)
    del log.events[-2:]
    assert log.verify().ok
    assert codes(log.verify(expected_head=remembered)) == ["shortened"]


def test_a_store_that_was_replaced_by_an_empty_one_is_found_by_the_remembered_head() -> None:
    log = long()
    assert codes(verify(Head(0, 0, GENESIS, 0), [], [], (21, log.head.link))) == ["shortened"]
    assert codes(verify(Head(0, 0, GENESIS, 0), [], [], (0, "f" * 40))) == ["rewritten"]


def test_a_remembered_head_may_be_at_a_seal_behind_which_the_log_begins() -> None:
    log = cut_at_seal()
    assert log.verify(expected_head=(log.seals[0].seq, log.seals[0].link)).ok
    assert codes(log.verify(expected_head=(log.seals[0].seq, "f" * 40))) == ["rewritten"]


def test_a_remembered_head_may_be_any_event_of_the_log() -> None:
    for log in (long(), cut_at_seal()):
        for event in log.events:
            assert log.verify(expected_head=(event.seq, event.link)).ok
            assert codes(log.verify(expected_head=(event.seq, "f" * 40))) == ["rewritten"]


def test_a_remembered_head_that_was_pruned_away_cannot_be_confirmed() -> None:
    assert codes(cut_at_seal().verify(expected_head=(1, "f" * 40))) == ["pruned"]


# --- seals


def with_seal() -> Log:
    """Two claims, one of them live at the seal, and what happens to it behind."""
    log = Log([granted("c1", "ann", A), granted("c2", "bob", B)], [released("c2", "bob", B)])
    log.commit(sealed(log.seal(entry("c1", "ann", 1), token=1)))
    return log.commit(pruned(3)).commit(released("c1", "ann"))


def cut_at_seal() -> Log:
    """The same, pruned up to the seal."""
    log = with_seal()
    del log.events[:3]
    return log


def reseal(log: Log, body: str) -> Log:
    """Another body for the seal, with an event that agrees with it, linked anew."""
    log.seals[0].body = body
    place = next(number for number, event in enumerate(log.events) if event.seq == 4)
    opened = jsontext.decode(log.events[place].body)
    opened["data"]["digest"] = hashlib.sha256(body.encode()).hexdigest()
    log.events[place].body = jsontext.encode(opened)
    if place:
        log.link(place)
    return log


def test_a_log_with_a_seal_is_right_before_and_after_pruning() -> None:
    assert with_seal().verify().findings == []
    report = cut_at_seal().verify()
    assert report.findings == []
    assert (report.first, report.token, report.granted, report.live) == (4, 1, 0, 0)


@pytest.mark.parametrize("log", [with_seal(), cut_at_seal()], ids=["whole", "pruned"])
def test_an_edited_seal_is_found(log: Log) -> None:
    log.seals[0].body = log.seals[0].body.replace("1000000", "1000001")
    assert codes(log.verify()) == ["seal"]


@pytest.mark.parametrize(
    "body",
    [
        jsontext.encode({"claims": [], "token": 1}),
        jsontext.encode({"claims": [entry("c1", "bob", 1)], "token": 1}),
        jsontext.encode({"claims": [entry("c1", "ann", 1, B)], "token": 1}),
        jsontext.encode({"claims": [entry("c1", "ann", 1, mode="read")], "token": 1}),
        jsontext.encode({"claims": [entry("c1", "ann", 1, tree="/w")], "token": 1}),
        jsontext.encode({"claims": [entry("c1", "ann", 1, until=5)], "token": 1}),
        jsontext.encode({"claims": [entry("c1", "ann", 0)], "token": 1}),
        jsontext.encode({"claims": [entry("c1", "ann", 1), entry("c2", "bob", 1, B)], "token": 1}),
        jsontext.encode({"claims": [entry("c1", "ann", 1), entry("c1", "ann", 1)], "token": 1}),
        jsontext.encode({"claims": [entry("c1", "ann", 1)], "token": 0}),
        jsontext.encode({"claims": [entry("c1", "ann", 1)]}),
        jsontext.encode({"claims": 7, "token": 1}),
        jsontext.encode({"claims": [7], "token": 1}),
        "[]",
        "{",
        "NaN",
    ],
)
def test_a_seal_that_does_not_agree_with_the_replayed_state_is_found(body: str) -> None:
    assert codes(reseal(with_seal(), body).verify()) == ["seal"]


def test_a_seal_lists_resources_in_any_order() -> None:
    log = Log([granted("c1", "ann", A, B)])
    assert log.commit(sealed(log.seal(entry("c1", "ann", 1, B, A), token=1))).verify().ok


@pytest.mark.parametrize(
    ("change", "value"), [("link", "f" * 40), ("digest", "f" * 64), ("through", 2), ("through", None), ("through", [])]
)
def test_a_seal_that_its_own_event_contradicts_is_found(change: str, value: Any) -> None:
    log = Log([OTHER], [OTHER], [OTHER])
    log.commit(sealed(log.seal(token=0), **{change: value}))
    assert set(codes(log.verify())) == {"seal"}


def test_a_seal_with_another_link_than_its_event_is_found() -> None:
    log = with_seal()
    log.seals[0].link = "f" * 40
    assert codes(log.verify()) == ["seal"]


def test_a_missing_seal_is_found() -> None:
    log = with_seal()
    log.seals.clear()
    assert codes(log.verify()) == ["seal"]


def test_a_seal_that_no_event_speaks_of_is_found() -> None:
    log = with_seal()
    log.seals.append(Seal(5, log.events[4].link, jsontext.encode({"claims": [entry("c1", "ann", 1)], "token": 1})))
    assert codes(log.verify()) == ["seal"]
    log.seals[1].seq = 77
    assert codes(log.verify()) == ["seal"]


def test_a_seal_forged_to_hide_a_cut_front_is_found() -> None:
    log = Log([OTHER], [granted("c1", "ann")])
    log.seal(token=2)
    log.commit(pruned(2))
    del log.events[:2]
    assert codes(log.verify()) == ["seal"]


def test_two_seals_at_one_event_are_found() -> None:
    log = with_seal()
    log.seals.append(log.seals[0])
    assert codes(log.verify()) == ["seal"]


def test_a_seal_that_cannot_be_read_is_found() -> None:
    log = with_seal()
    log.seals.append(Seal("x", "y", "z"))  # type: ignore[arg-type]
    assert codes(log.verify()) == ["malformed"]


def test_an_older_seal_whose_events_were_pruned_is_left_alone() -> None:
    log = cut_at_seal()
    log.seals.insert(0, Seal(2, "a" * 40, jsontext.encode({"claims": [], "token": 0})))
    assert log.verify().ok
    assert log.verify(expected_head=(2, "a" * 40)).ok


def test_a_log_cut_at_a_seal_without_a_word_in_the_log_is_found() -> None:
    log = Log([OTHER], [OTHER])
    log.commit(sealed(log.seal(token=0)))
    assert log.verify().ok
    del log.events[:2]
    assert codes(log.verify()) == ["pruned"]


def test_what_a_seal_says_is_live_counts_behind_it() -> None:
    assert codes(cut_at_seal().commit(granted("c3", "bob", A)).verify()) == []
    log = cut_at_seal()
    del log.events[2:]
    assert codes(log.commit(granted("c3", "bob", A)).verify()) == ["two_holders"]


def test_two_holders_in_a_seal_are_found() -> None:
    body = jsontext.encode({"claims": [entry("c1", "ann", 1), entry("c2", "bob", 1)], "token": 1})
    log = cut_at_seal()
    log.seals[0].body = body
    opened = jsontext.decode(log.events[0].body)
    opened["data"]["digest"] = hashlib.sha256(body.encode()).hexdigest()
    log.events[0].body = jsontext.encode(opened)
    assert codes(log.verify()) == ["two_holders", "link"]


def test_a_token_not_above_what_a_seal_says_is_found_before_and_after_pruning() -> None:
    log = Log([OTHER], [OTHER], [OTHER])
    log.commit(sealed(log.seal(token=5)), pruned(3))
    assert log.verify().ok
    log.commit(granted("c1", "ann"))  # with token 5
    assert codes(log.verify()) == ["token"]
    del log.events[:3]
    assert codes(log.verify()) == ["token"]


def test_a_seal_may_name_the_last_commit_instead_of_the_highest_token() -> None:
    log = Log([granted("c1", "ann", A)], [OTHER], [OTHER])
    log.commit(OTHER, sealed(log.seal(entry("c1", "ann", 1), token=3)))
    log.commit(granted("c2", "bob", B))
    assert log.verify().findings == []


def test_after_a_gap_the_next_seal_says_again_what_is_live() -> None:
    log = Log([granted("c1", "ann", A)], [OTHER], [granted("c2", "bob", B)], [OTHER])
    log.commit(sealed(log.seal(entry("c1", "ann", 1), entry("c2", "bob", 3, B), token=3)))
    log.commit(released("c1", "ann"), released("c2", "bob", B), released("c9", "bob", B))
    del log.events[2]
    assert codes(log.verify()) == ["gap", "not_live"]


def test_after_a_gap_nobody_counts_as_killed() -> None:
    log = Log([OTHER], [("agent.killed", "bob", "ann", {"why": "mad"})], [OTHER], [granted("c1", "ann")])
    del log.events[2]
    assert codes(log.verify()) == ["gap"]


def test_after_a_body_that_cannot_be_read_the_next_seal_says_again_what_is_live() -> None:
    log = Log([granted("c1", "ann", A)])
    log.write("?", 2)
    log.commit(sealed(log.seal(token=2)))
    log.commit(granted("c2", "bob", A))
    assert codes(log.verify()) == ["malformed"]


def test_a_pruned_log_behind_a_seal_that_cannot_be_read_is_a_finding_and_no_error() -> None:
    log = cut_at_seal()
    log.seals[0].body = "?"
    assert codes(log.verify()) == ["seal"]


def test_a_seal_whose_token_is_below_one_that_was_granted_is_found() -> None:
    log = Log([OTHER], [granted("c1", "ann")], [released("c1", "ann")])
    assert codes(log.commit(sealed(log.seal(token=1))).verify()) == ["seal"]


def test_a_seal_with_a_claim_above_its_own_token_is_found_although_all_before_it_was_pruned() -> None:
    log = Log([granted("c1", "ann")], [OTHER])
    log.commit(sealed(log.seal(entry("c1", "ann", 7), token=2)), pruned(2))
    del log.events[:2]
    assert codes(log.verify()) == ["seal"]


def test_a_seal_is_not_blamed_for_a_broken_event_where_it_stands() -> None:
    log = with_seal()
    log.events[2].wall = None  # type: ignore[assignment]
    assert codes(log.verify()) == ["malformed"]


def test_a_claim_of_a_seal_granted_again_is_found() -> None:
    assert codes(cut_at_seal().commit(granted("c1", "ann", B)).verify()) == ["granted_twice"]


# --- transitions


def test_a_claim_granted_twice_is_found() -> None:
    assert found([granted("c1", "ann")], [granted("c1", "ann")]) == ["granted_twice"]
    assert found([granted("c1", "ann")], [released("c1", "ann")], [granted("c1", "ann")]) == ["granted_twice"]


def test_a_claim_granted_twice_counts_as_it_was_granted_last() -> None:
    findings = found([granted("c1", "ann", A)], [granted("c1", "ann", B)], [granted("c2", "bob", A)])
    assert findings == ["granted_twice"]


def test_a_claim_granted_again_is_found_however_many_were_granted_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "RUN_IDS", 4)
    log = Log(*([granted(f"c{number}", "ann"), released(f"c{number}", "ann")] for number in range(50)))
    assert log.verify().ok
    for number in (0, 3, 17, 49):
        log.commit(granted(f"c{number}", "ann"))
    assert codes(log.verify()) == ["granted_twice"] * 4


@pytest.mark.parametrize(
    "late", [renewed("c1", "ann"), moved("c1", "ann", "ann", "boot"), released("c1", "ann"), ended("c1", "gone")]
)
@pytest.mark.parametrize("over", [released("c1", "ann"), ended("c1", "gone")])
def test_what_happens_to_a_claim_that_is_over_is_found(over: Said, late: Said) -> None:
    assert found([granted("c1", "ann")], [late]) == []
    assert found([granted("c1", "ann")], [over], [late]) == ["not_live"]
    assert found([late]) == ["not_live"]


@pytest.mark.parametrize(
    ("gone", "left", "expected"),
    [
        ([A], [B], []),
        ([A, B], [], []),
        ([A], [], ["left"]),
        ([A, B], [B], ["left"]),
        ([A], [A, B], ["left"]),
        ([["file", "src"]], [A, B], ["left"]),
        ([A, ["name", "x"]], [B], ["left"]),
        ([A], [B, ["name", "x"]], ["left"]),
    ],
)
def test_a_release_leaves_what_was_held_without_what_was_released(
    gone: list[File], left: list[File], expected: list[str]
) -> None:
    assert found([granted("c1", "ann", B, A)], [released("c1", "ann", *gone, left=left)]) == expected


def test_what_a_release_left_is_still_held_and_what_it_released_is_not() -> None:
    start = [granted("c1", "ann", A, B)], [released("c1", "ann", A, left=[B])]
    assert found(*start, [granted("c2", "bob", A)]) == []
    assert found(*start, [granted("c2", "bob", B)]) == ["two_holders"]
    assert found(*start, [released("c1", "ann", B)], [granted("c2", "bob", B)]) == []


@pytest.mark.parametrize("why", ["expired", "unclaimed"])
def test_a_claim_that_ended_by_its_deadline_too_early_is_found(why: str) -> None:
    assert found([granted("c1", "ann", until=2_000)], [ended("c1", why)]) == []  # at 2,000
    assert found([granted("c1", "ann", until=2_001)], [ended("c1", why)]) == ["early"]
    assert found([granted("c1", "ann", until=1_500)], [renewed("c1", "ann", 4_000), ended("c1", why)]) == ["early"]


@pytest.mark.parametrize("why", ["gone", "killed"])
def test_a_claim_may_end_before_its_deadline_for_other_reasons(why: str) -> None:
    assert found([granted("c1", "ann")], [ended("c1", why)]) == []


def test_a_hand_over_that_is_made_twice_or_of_claims_that_its_receiver_lacks_is_found() -> None:
    def handed(to: str, *claims: str) -> Said:
        data = {"handover": "o1", "to": to, "claims": list(claims), "tasks": [], "files": 0}
        return "handover.made", "kim", "ann", data

    start = [granted("c1", "bob")]
    assert found(start, [handed("bob", "c1")]) == []
    assert found(start, [handed("bob", "c1")], [handed("bob", "c1")]) == ["handover"]
    assert found(start, [handed("cid", "c1")]) == ["handover"]
    assert found(start, [handed("bob", "c2")]) == ["handover"]


def test_a_claim_renewed_or_released_by_a_stranger_is_found() -> None:
    start = [granted("c1", "ann/x")]
    for agent in ("ann", "ann/x", "ann/x/y"):
        assert found(start, [renewed("c1", agent)], [released("c1", agent)]) == []
    for agent in ("bob", "ann/y", "ann/xy", "an"):
        assert found(start, [renewed("c1", agent)]) == ["stranger"]
        assert found(start, [released("c1", agent)]) == ["stranger"]


@pytest.mark.parametrize(
    ("by", "to", "why", "expected"),
    [
        ("ann/x", "ann/x", "boot", []),
        ("ann/x", "ann", "boot", ["stranger"]),
        ("ann/x", "bob", "boot", ["stranger"]),
        ("ann/x", "ann", "left", []),
        ("ann", "ann", "left", []),
        ("ann/x", "ann/x", "left", ["stranger"]),
        ("ann/x", "ann/x/y", "left", ["stranger"]),
        ("ann/x", "ann/y", "left", ["stranger"]),
        ("bob", "ann", "left", ["stranger"]),
        ("bob", "ann/x", "boot", ["stranger"]),
        ("ann/x", "ann/x/y", "some new reason", []),
        ("ann/x", "bob", "some new reason", ["stranger"]),
    ],
)
def test_a_claim_moves_to_its_own_agent_on_boot_and_upward_when_a_subagent_left(
    by: str, to: str, why: str, expected: list[str]
) -> None:
    assert found([granted("c1", "ann/x")], [moved("c1", by, to, why)]) == expected


def test_waits_begin_once_and_end_once() -> None:
    queued: Said = ("wait.queued", "ann", "w1", {"resources": [A], "mode": "write", "tree": "", "deadline": 1})
    over: Said = ("wait.ended", "ann", "w1", {"why": "gave_up"})
    assert found([queued], [over]) == []
    assert found([queued], [queued]) == ["wait"]
    assert found([queued], [over], [over]) == ["wait"]
    assert found([queued], [over], [queued]) == ["wait"]
    assert found([over]) == ["wait"]


def test_an_alert_is_raised_once_and_ends_once() -> None:
    def raised(alert: str, about: str = "c1") -> Said:
        return "alert.raised", "ann", alert, {"what": "hold", "severity": "warning", "about": about}

    taken: Said = ("alert.acknowledged", "bob", "a1", {"what": "hold", "why": ""})
    over: Said = ("alert.cleared", "ann", "a1", {"what": "hold", "why": "the claim ended"})
    assert found([raised("a1")], [taken], [over], [raised("a2")]) == []
    assert found([raised("a1")], [raised("a2", "c2")]) == []
    assert found([raised("a1")], [raised("a1", "c2")]) == ["alert"]
    assert found([raised("a1")], [raised("a2")]) == ["alert"], "one alert for one cause"
    assert found([raised("a1")], [over], [over]) == ["alert"]
    assert found([over]) == found([taken]) == ["alert"]
    assert found([raised("a1")], [("alert.cleared", "ann", "a1", {"what": "hold", "why": ""})]) == ["malformed"]
    assert cut_at_seal().commit(over).verify().ok, "it was raised before the seal"


def test_a_wait_from_before_the_seal_may_end_behind_it_once() -> None:
    over: Said = ("wait.ended", "ann", "w1", {"why": "gave_up"})
    log = cut_at_seal().commit(over)
    assert log.verify().ok
    assert codes(log.commit(over).verify()) == ["wait"]


# --- promise 1


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("write", "write", ["two_holders"]),
        ("write", "read", ["two_holders"]),
        ("read", "write", ["two_holders"]),
        ("read", "read", []),
        ("watch", "write", []),
        ("write", "watch", []),
        ("watch", "watch", []),
        ("watch", "read", []),
    ],
)
def test_modes_exclude_each_other_as_promised(first: str, second: str, expected: list[str]) -> None:
    assert found([granted("c1", "ann", mode=first)], [granted("c2", "bob", mode=second)]) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", ["two_holders"]),
        ("/w", "", ["two_holders"]),
        ("", "/w", ["two_holders"]),
        ("/w", "/w", ["two_holders"]),
        ("/w", "/v", []),
    ],
)
def test_claims_meet_in_one_working_tree_only(first: str, second: str, expected: list[str]) -> None:
    assert found([granted("c1", "ann", tree=first)], [granted("c2", "bob", tree=second)]) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("ann", "ann", []),
        ("ann", "ann/x", []),
        ("ann/x/y", "ann", []),
        ("ann/x", "ann/y", ["two_holders"]),
        ("ann", "anna", ["two_holders"]),
        ("ann", "bob/ann", ["two_holders"]),
    ],
)
def test_only_ancestors_and_descendants_may_hold_the_same(first: str, second: str, expected: list[str]) -> None:
    assert found([granted("c1", first)], [granted("c2", second)]) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (["tree", "src"], ["file", "src/a"], True),
        (["file", "src/a"], ["tree", ""], True),
        (["tree", ""], ["file", "src/a"], True),
        (["glob", "src/**"], ["file", "src"], True),
        (["glob", "**/*.py"], ["tree", "src"], True),
        (["glob", "**/*.py"], ["glob", "src/*"], True),
        (["file", "src/x.py"], ["glob", "*/x.py"], True),
        (["glob", "*.py"], ["glob", "src/*"], False),
        (["file", "src/a"], ["file", "src/ab"], False),
        (["name", "src"], ["tree", "src"], False),
        (["name", "deploy:prod"], ["name", "deploy:prod"], True),
        (["inode", "1:2"], ["inode", "1:2"], True),
    ],
)
def test_two_holders_of_what_overlaps_are_found(first: File, second: File, expected: bool) -> None:
    other = ["file", "elsewhere"]
    findings = found([granted("c1", "ann", other, first)], [granted("c2", "bob", second, ["file", "else"])])
    assert findings == (["two_holders"] if expected else [])


def test_a_claim_past_its_deadline_is_live_until_an_event_ends_it() -> None:
    start = [granted("c1", "ann", until=1_001)]
    assert found(start, [granted("c2", "bob")]) == ["two_holders"]
    assert found(start, [granted("c2", "bob"), ended("c1", "expired")]) == ["two_holders"]
    assert found(start, [ended("c1", "expired"), granted("c2", "bob")]) == []


def test_a_move_to_somebody_whom_another_holder_excludes_is_found() -> None:
    start = [granted("c1", "ann", A)], [granted("c2", "ann/x", A)]
    assert found(*start, [moved("c2", "ann/x", "ann", "left")]) == []
    assert found(*start, [moved("c2", "ann/x", "bob", "boot")]) == ["stranger", "two_holders"]


# --- promise 2


def test_a_token_that_is_not_its_commits_number_is_found() -> None:
    log = Log([OTHER], [OTHER], [granted("c1", "ann", token=3)])
    assert log.verify().ok
    assert codes(Log([OTHER], [OTHER], [granted("c1", "ann", token=2)]).verify()) == ["token"]
    assert codes(Log([OTHER], [OTHER], [granted("c1", "ann", token=4)]).verify()) == ["token"]
    assert found([granted("c1", "ann")], [moved("c1", "ann", "ann", "boot", token=1)]) == ["token"]


def test_a_falling_token_is_found_even_where_the_commit_fell_with_it() -> None:
    log = Log([OTHER], [OTHER], [granted("c1", "ann")])
    log.commit(granted("c2", "ann", B), number=2)
    assert codes(log.verify()) == ["commit", "token"]


def test_claims_of_one_commit_share_its_token() -> None:
    report = Log([granted("c1", "ann", A), granted("c2", "bob", B)]).verify()
    assert (report.ok, report.token) == (True, 1)


# --- promise 6


def test_a_request_id_with_effects_in_two_commits_is_found() -> None:
    request = ["claim", "r1"]
    first = granted("c1", "ann", A, request=request)
    assert found([first, granted("c2", "ann", B, request=request)]) == []
    assert found([first], [granted("c2", "ann", B, request=request)]) == ["two_effects"]
    assert found([first], [granted("c2", "bob", B, request=request)]) == []
    assert found([first], [granted("c2", "ann", B, request=["claim", "r2"])]) == []
    assert found([first], [released("c1", "ann", request=["release", "r1"])]) == []


def test_a_hand_over_picked_up_twice_by_one_request_is_found() -> None:
    request = ["claim", "r1"]
    picked: Said = ("claim.renewed", "ann", "c1", {"until": 90_000, "request": request})
    start = [granted("c1", "ann", A)], [picked]
    assert found(*start) == []
    assert found(*start, [granted("c2", "ann", B, request=request)]) == ["two_effects"]


def test_a_release_repeated_by_a_retry_is_found() -> None:
    request = ["release", "r1"]
    start = [granted("c1", "ann", A, B)], [released("c1", "ann", A, left=[B], request=request)]
    assert found(*start, [released("c1", "ann", B, request=request)]) == ["two_effects"]


def test_a_request_id_is_free_again_after_a_day() -> None:
    request = ["claim", "r1"]
    for after, expected in ((REQUEST_KEPT_MS - 1, ["two_effects"]), (REQUEST_KEPT_MS, [])):
        log = Log([granted("c1", "ann", A, request=request), granted("c0", "ann", B)])
        log.commit(granted("c2", "ann", B, request=["claim", "r2"]))
        log.commit(granted("c3", "ann", B, request=request), after=after - 1_000)
        assert codes(log.verify()) == expected


# --- killed agents


def test_a_grant_to_a_killed_agent_is_found() -> None:
    kill: Said = ("agent.killed", "bob", "ann", {"why": "mad"})
    revive: Said = ("agent.revived", "bob", "ann", {"why": "calm"})
    assert found([kill], [granted("c1", "ann")]) == ["killed"]
    assert found([kill], [granted("c1", "ann/x/y")]) == ["killed"]
    assert found([kill], [granted("c1", "anna")]) == []
    assert found([kill], [("agent.killed", "bob", "ann/x", {"why": "too"})], [granted("c1", "ann/x")]) == ["killed"]
    assert found([kill], [revive], [granted("c1", "ann")]) == []
    assert found([granted("c1", "ann/x")], [kill], [moved("c1", "ann/x", "ann", "left")]) == ["killed"]


def test_killing_a_subagent_leaves_its_parent_and_reviving_the_parent_leaves_it_killed() -> None:
    kill: Said = ("agent.killed", "bob", "ann/x", {"why": "mad"})
    assert found([kill], [granted("c1", "ann")]) == []
    assert found([kill], [("agent.revived", "bob", "ann", {})], [granted("c1", "ann/x")]) == ["killed"]


# --- what cannot be read


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "nothing",
        "NaN",
        "7",
        "[]",
        "[" * 100_000,
        '{"kind":1,"agent":"a","subject":"s","data":{}}',
        '{"kind":"claim.granted","agent":"a","subject":"s"}',
        '{"kind":"claim.ended","agent":"a","subject":"s","data":[]}',
        '{"kind":"claim.ended","agent":"a","subject":"\\u001a","data":{}}',
        '{"\\u001a":1}',
        '{"kind":"claim.renewed","agent":"a","subject":"s","data":{"until":' + "9" * 5_000 + "}}",
        '{"kind":"claim.renewed","agent":"a","subject":"s","data":{"until":true}}',
        '{"kind":"claim.moved","agent":"a","subject":"s","data":{"to":"b","token":"7"}}',
        '{"kind":"claim.released","agent":"a","subject":"s","data":{"resources":[["file","a"]]}}',
    ],
)
def test_a_body_that_cannot_be_read_is_a_finding_and_no_error(body: str) -> None:
    log = Log([OTHER])
    log.write(body, 2)
    log.commit(OTHER)
    assert codes(log.verify()) == ["malformed"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("resources", []),
        ("resources", {}),
        ("resources", [["file"]]),
        ("resources", [["file", 1]]),
        ("resources", [["file", "a", "b"]]),
        ("resources", ["ab"]),
        ("resources", [["regex", "a"]]),
        ("resources", [["regex", "a"], ["file", "a"]]),
        ("mode", "own"),
        ("mode", None),
        ("tree", None),
        ("until", "soon"),
        ("until", 1.5),
        ("token", True),
        ("token", None),
        ("request", "r1"),
        ("request", ["claim"]),
        ("request", ["claim", 1]),
    ],
)
def test_a_grant_with_a_field_that_makes_no_sense_is_a_finding_and_what_follows_is_not(field: str, value: Any) -> None:
    assert found([granted("c1", "ann", **{field: value})], [released("c1", "ann")]) == ["malformed"]


def test_a_release_that_cannot_be_read_does_not_leave_its_claim_in_the_way() -> None:
    broken: Said = ("claim.released", "ann", "c1", {"resources": 1})
    assert found([granted("c1", "ann")], [broken], [granted("c2", "bob")]) == ["malformed"]


@pytest.mark.parametrize(
    ("column", "value"),
    [("seq", None), ("commit", "3"), ("now", 1.5), ("wall", None), ("body", None), ("body", b"{}"), ("link", None)],
)
@pytest.mark.parametrize("place", [0, 2, 20])
def test_a_column_of_another_type_is_a_finding_and_no_error(place: int, column: str, value: Any) -> None:
    log = long()
    head = log.head
    setattr(log.events[place], column, value)
    report = log.verify(head=head)
    assert codes(report) == ["malformed"]
    assert report.first == 1


def test_a_body_that_is_not_even_unicode_is_a_finding_and_no_error() -> None:
    log = long()
    log.events[1].body = "\ud800"
    assert codes(log.verify()) == ["link", "malformed"]


def test_an_unknown_kind_is_linked_and_otherwise_ignored() -> None:
    log = Log([("task.done", "ann", "t1", [1, 2])], [OTHER])
    assert log.verify().ok
    log.events[0].body = log.events[0].body.replace("t1", "t2")
    assert codes(log.verify()) == ["link"]


def test_a_message_is_short_and_harmless_to_a_terminal() -> None:
    report = Log([granted("c1", "ann")], [granted("c2", "\x1b[2J\ud800" + "x" * 1_000)]).verify()
    message = report.findings[0].message
    assert message.isprintable()
    assert len(message) < 300


# --- a store


def said(store: MemoryStore, *events: Said) -> None:
    def fn(tx: Transaction) -> None:
        for event in events:
            tx.append(*event)

    store.run(fn)


def seal(store: MemoryStore, body: dict[str, Any]) -> None:
    def fn(tx: Transaction) -> None:
        text = jsontext.encode(body)
        tx.seal(text)
        tx.append(*sealed(Seal(tx.tail().seq, tx.tail().link, text)))

    store.run(fn)


def prune(store: MemoryStore, through: int) -> None:
    def fn(tx: Transaction) -> None:
        tx.prune(through, through)
        tx.append(*pruned(through))

    store.run(fn)


def filled(commits: int = 30) -> MemoryStore:
    ticks = iter(range(1_000_000))
    store = MemoryStore(now=lambda: next(ticks), wall=lambda: 7)
    for number in range(commits):
        said(store, granted(f"c{number}", f"agent{number}", ["file", f"f{number}"]))
        store.run(lambda tx: tx.put("k", 1))  # a commit without an event
    return store


def test_a_store_is_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE_EVENTS", 7)
    report = verify_store(filled())
    assert report.findings == []
    assert (report.events, report.live, report.token) == (30, 30, 59)


def test_a_store_is_right_before_and_after_sealing_and_pruning() -> None:
    store = filled(2)
    claims = [entry(f"c{number}", f"agent{number}", 2 * number + 1, ["file", f"f{number}"]) for number in range(2)]
    seal(store, {"claims": claims, "token": 3})
    assert verify_store(store).findings == []
    prune(store, 2)
    report = verify_store(store, expected_head=(2, store.seals()[0].link))
    assert report.findings == []
    assert (report.first, report.live) == (3, 2)


class Busy(MemoryStore):
    """A store in which somebody else acts at a chosen moment: before the nth time that its events are read."""

    moment, reads = 3, 0

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        self.reads += 1
        if self.reads == self.moment:
            self.meanwhile()
        return super().events(after, limit)

    def meanwhile(self) -> None:
        said(self, granted("late", "zoe", ["name", "late"]))


def test_what_is_appended_while_a_store_is_read_is_no_finding() -> None:
    store = Busy()
    said(store, granted("c1", "ann"))
    store.reads = 1
    report = verify_store(store)
    assert report.findings == []
    assert report.last == 1
    assert store.head().seq == 2


def test_a_store_pruned_while_it_is_read_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE_EVENTS", 2)

    class Pruned(Busy):
        def meanwhile(self) -> None:
            prune(self, 6)

    store = Pruned()
    for _ in range(6):
        said(store, OTHER)
    seal(store, {"claims": [], "token": 0})
    report = verify_store(store)
    assert report.findings == []
    assert report.first == 7


def test_a_seal_written_while_a_store_is_read_is_no_finding() -> None:
    class Sealed(MemoryStore):
        def seals(self) -> list[Seal]:
            if not super().seals():
                seal(self, {"claims": [], "token": 0})
            return super().seals()

    store = Sealed()
    said(store, OTHER)
    assert verify_store(store).findings == []
    assert verify_store(store).last == 2


def test_a_log_that_goes_on_behind_its_head_record_is_found() -> None:
    store = filled(5)
    first = store.events()[2]
    store._head = Head(9, first.seq, first.link, first.now)
    assert codes(verify_store(store)) == ["head"]


def test_a_seal_at_the_end_of_a_quiet_store_that_no_event_speaks_of_is_found() -> None:
    store = filled(1)
    claim = entry("c0", "agent0", 1, ["file", "f0"])
    store._seals.append(Seal(1, store.head().link, jsontext.encode({"claims": [claim], "token": 1})))
    assert codes(verify_store(store)) == ["seal"]


def test_a_store_that_gives_the_same_page_again_and_again_is_not_read_for_ever() -> None:
    class Stuck(MemoryStore):
        def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
            return super().events(min(after, 0), limit)

    store = Stuck()
    said(store, OTHER)
    said(store, OTHER)
    assert set(codes(verify_store(store))) == {"order"}


def test_a_store_with_an_edited_event_is_found() -> None:
    store = filled(5)
    store._events[2].body = store._events[2].body.replace("agent2", "agent1")
    assert codes(verify_store(store)) == ["link"]
