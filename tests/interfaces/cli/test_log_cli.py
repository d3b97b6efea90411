"""`dibs log` reads from the end: the last events cost no more than they are, and pages go on from a cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.audit import events as log
from dibs.stores.seam import Event
from dibs.testing.memory import MemoryStore
from tests.scratch import Shell

if TYPE_CHECKING:
    from dibs.audit.answers import EventView
    from dibs.stores.seam import Transaction

EVENTS = 57


class Counting(MemoryStore):
    """Counts the events that are read."""

    read = 0

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        found = super().events(after, limit)
        self.read += len(found)
        return found


@pytest.fixture
def store() -> Counting:
    made = Counting(now=lambda: 1, wall=lambda: 1, new_id=lambda: "i")
    for number in range(EVENTS):
        made.run(lambda tx, number=number: _say(tx, number))  # type: ignore[misc]
    return made


def _say(tx: Transaction, number: int) -> None:
    tx.append("odd.one" if number % 10 == 3 else "even.one", "a", str(number), {})


def seqs(events: list[EventView]) -> list[int]:
    return [event["seq"] for event in events]


def test_the_last_five_events_cost_five_events(store: Counting) -> None:
    found, last, earlier, _ = log.last_of(store, log.Filter(), 5)
    assert (seqs(found), last, earlier) == ([53, 54, 55, 56, 57], EVENTS, True)
    assert store.read <= 5 + 1, "and one that tells whether there are earlier ones"


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("since", [0, 20, 56, 57, 90])
@pytest.mark.parametrize("kind", ["", "odd", "none"])
@pytest.mark.parametrize("limit", [0, 1, 5, 6, 57, 58])
def test_the_last_events_are_those_that_the_whole_log_ends_with(
    store: Counting, limit: int, kind: str, since: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "PAGE", size)
    found, _, earlier, _ = log.last_of(store, log.Filter(since=since, kind=kind), limit)
    every = [n for n in range(1, EVENTS + 1) if n > since and (kind in {"", "odd"}) and (not kind or n % 10 == 4)]
    assert seqs(found) == (every[-limit:] if limit else every)
    assert earlier is (bool(limit) and len(every) > limit)


@pytest.mark.parametrize("kind", ["", "odd", "none"])
@pytest.mark.parametrize("limit", [1, 5, 57])
@pytest.mark.parametrize("most", [0, 7, 57])
def test_pages_from_the_end_backwards_are_the_whole_log(store: Counting, limit: int, kind: str, most: int) -> None:
    found: list[int] = []
    before, earlier = 0, True
    while earlier:
        page, _, earlier, first = log.last_of(store, log.Filter(kind=kind), limit, before, most)
        assert len(page) <= limit
        assert not before or first < before
        found = seqs(page) + found
        before = first
    assert found == [n for n in range(1, EVENTS + 1) if kind in {"", "odd"} and (not kind or n % 10 == 4)]


@pytest.mark.parametrize("kind", ["", "odd"])
@pytest.mark.parametrize("limit", [1, 5, 6, 57])
def test_pages_from_the_beginning_are_the_whole_log(store: Counting, limit: int, kind: str) -> None:
    found: list[int] = []
    cursor, more = 0, True
    while more:
        page, cursor, more = log.page_of(store, cursor, log.Filter(kind=kind), limit)
        assert len(page) == limit or not more
        found += seqs(page)
    assert found == [n for n in range(1, EVENTS + 1) if not kind or n % 10 == 4]
    assert cursor == EVENTS


# --- the command


@pytest.fixture
def used(shell: Shell) -> Shell:
    shell.json("claim", "src/api.py", "--as", "ann", exit=0)
    shell.json("claim", "src/api.py", "--as", "bob", exit=1)
    shell.json("claim", "docs/", "--as", "bob", exit=0)
    shell.json("release", "src/api.py", "--as", "ann", exit=0)
    shell.json("kill", "bob", "--why", "test", "--as", "ann", exit=0)
    return shell


def kinds(shell: Shell, *words: str) -> list[str]:
    return [event["kind"] for event in shell.json("log", *words, exit=0)["events"]]


def test_n_is_how_many(used: Shell) -> None:
    every = kinds(used)
    assert kinds(used, "-n", "2") == kinds(used, "-n2") == kinds(used, "--limit", "2") == every[-2:]
    assert used.run("log", "-n", "2").stdout.startswith("(earlier events: ")


def test_an_agents_events_are_its_own_and_what_happened_to_it(used: Shell) -> None:
    assert kinds(used, "--agent", "bob") == [
        "agent.registered",
        "claim.refused",
        "claim.granted",
        "agent.killed",
        "claim.ended",
    ]
    assert kinds(used, "--agent", "bob", "--kind", "claim.", "-n", "1") == ["claim.ended"]
    assert kinds(used, "--agent", "nobody") == []


def test_a_paths_events_are_those_of_the_claims_on_it_to_their_end(used: Shell) -> None:
    assert kinds(used, "src/api.py") == ["claim.granted", "claim.refused", "claim.released"]
    assert kinds(used, "src/") == kinds(used, "src/api.py"), "what is below a directory concerns it"
    assert kinds(used, "docs/index.md") == ["claim.granted", "claim.ended"], "the end names only the claim"
    assert kinds(used, "src/api.py", "-n", "1") == ["claim.released"]
    assert kinds(used, "other.py") == []
    assert used.run("log", "other.py").stdout == "no events\n"


def test_since_is_a_duration_or_an_events_number(used: Shell) -> None:
    every = kinds(used)
    assert kinds(used, "--since", "3") == every[3:]
    assert kinds(used, "--since", "1h") == every
    assert kinds(used, "--since", "0s") == []
    assert "since: 'soon' is not a duration" in used.json("log", "--since", "soon", exit=64)["error"]["message"]


def test_events_before_a_time_are_not_read(store: Counting) -> None:
    store.run(lambda tx: _say(tx, EVENTS))
    later = log.Filter(wall=2)  # every event is of the time 1
    assert log.last_of(store, later, 5)[0] == []
    assert store.read <= 6


def test_people_read_sentences_and_raw_has_the_kinds(used: Shell) -> None:
    told = next(line for line in used.run("log", "--kind", "claim.granted").stdout.splitlines() if "ann" in line)
    assert told.split()[2:6] == ["ago", "ann", "claimed", "src/api.py"]
    raw = used.run("log", "--raw", "--kind", "claim.granted").stdout.splitlines()[0]
    assert raw.split()[2:6] == ["ago", "claim.granted", "ann", "src/api.py"]
    assert "text" not in used.json("log")["events"][0]
    assert used.json("log", "--sentences")["events"][0]["text"] == "ann joined."


def test_a_later_event_of_a_claim_says_what_it_was_about_also_if_it_began_before_the_page(used: Shell) -> None:
    last = used.json("log", "--sentences", "--kind", "claim.ended", "--limit", "1")["events"][0]
    assert last["text"].startswith("bob was killed: its claim on docs ended after ")
    alone = used.json("log", "--sentences", "--after", str(last["seq"] - 1))["events"][0]
    assert alone["text"] == last["text"]


def test_words_are_found_in_kind_agent_name_subject_and_data(shell: Shell) -> None:
    shell.json("claim", "src/api.py", "--as", "ann", "--reason", "x", exit=0)
    shell.json("send", "ann", "hello", "--as", "0f3c9a7e-1111-4222-8333-444455556666", exit=0)
    shell.json("emit", "build", '{"text": "Müller", "steps": [{"name": "Lint"}]}', "--as", "ann", exit=0)
    name = next(one["name"] for one in shell.json("agents", exit=0)["agents"] if one["name"] != "ann")

    def kinds(*words: str) -> list[str]:
        return [event["kind"] for event in shell.json("log", *words, exit=0)["events"]]

    assert kinds("--text", "src/API.py granted") == ["claim.granted"]
    assert kinds("--text", "müller lint") == ["event.emitted"]
    assert "message.posted" in kinds("--text", name[3:])  # a part of the name; the log has the id
    assert kinds("--text", "no such word") == []
    found = shell.json("log", "--text", "ann", "--limit", "1", exit=0)
    assert found["earlier"] is True
    before = shell.json("log", "--text", "ann", "--limit", "1", "--before", str(found["first"]), exit=0)
    assert before["events"][0]["seq"] < found["events"][0]["seq"]
    assert shell.json("log", "--before", "3", "--after", "1", exit=64)["error"]["field"] == "before"
