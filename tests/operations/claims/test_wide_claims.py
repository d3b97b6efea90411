"""Claims of many paths, and claims on much: what they cost is bounded, and records of earlier versions are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs import jsontext
from dibs.errors import Held, Quota
from dibs.operations.claims import grants, releases
from dibs.operations.claims import records as claim_records
from dibs.testing.memory import MemoryTransaction
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from tests.operations.engines import OnEngine

MINUTE = 60_000


def rows(fleet: Fleet, low: str = "r", high: str = "s") -> list[Any]:
    """The rows of paths."""
    found: list[Any] = fleet.store.look(lambda tx: tx.fetch([(low, high)], 1_000_000).rows)
    return found


def paths(count: int, folder: str = "d") -> list[str]:
    return [f"{folder}/{number:05d}.py" for number in range(count)]


def as_earlier_versions_wrote_it(fleet: Fleet) -> None:
    """Every record whole in each of its rows."""

    def write(tx: Any) -> None:
        for key, row in tx.fetch([("r", "s")], 1_000_000).rows:
            (record,) = claim_records.whole(tx, [row])
            record.pop("rows", None)
            first = claim_records.FIRST not in row
            entry = f"claims\t{record['agent']}\t{claim_records.id_of(record)}" if first else None
            tx.put(key, record, entry, f"due\t{record['until']:015d}" if first else None)

    fleet.store.run(write)


def test_twice_the_paths_cost_twice_the_bytes() -> None:
    def size(count: int) -> int:
        fleet = Fleet()
        fleet.claim("a", *paths(count))
        return sum(len(key) + len(jsontext.encode(row)) for key, row in rows(fleet))

    assert size(256) < 2.1 * size(128)


def test_a_new_deadline_of_many_paths_writes_one_row(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.claim("a", *paths(100))
    written: list[str] = []
    put = MemoryTransaction.put

    def noted(self: Any, key: str, *rest: Any) -> None:
        written.append(key)
        put(self, key, *rest)

    monkeypatch.setattr(MemoryTransaction, "put", noted)
    fleet.now += MINUTE
    fleet.call("a", "renew")
    fleet.claim("a", "d/00077.py")
    assert len([key for key in written if key.startswith("r/")]) == 2


@pytest.mark.parametrize("earlier", [False, True], ids=["this version", "an earlier version"])
def test_a_claim_of_many_paths_is_found_renewed_and_released_by_each_of_them(
    on_engine: OnEngine, *, earlier: bool
) -> None:
    fleet = on_engine(Fleet())
    names = paths(6)
    token = fleet.claim("a", *names)["token"]
    if earlier:
        as_earlier_versions_wrote_it(fleet)
    for name in names:
        with pytest.raises(Held) as refused:
            fleet.claim("b", name)
        assert refused.value.blockers[0]["resource"] == name
        assert fleet.claim("a", name)["token"] == token
    fleet.now += MINUTE
    fleet.call("a", "renew")
    until = fleet.call("a", "status")["claims"][0]["expires_at"]
    assert {fleet.call("a", "confirm", resource=name, token=token)["expires_at"] for name in names} == {until}
    assert fleet.release("a", names[0], names[3])["released"] == [names[0], names[3]], "the first one, too"
    fleet.claim("b", names[0], names[3])
    for name in (names[1], names[5]):
        with pytest.raises(Held):
            fleet.claim("b", name)
    fleet.release("a")
    fleet.claim("b", *names)
    assert len(rows(fleet)) == 8, "one for each path of the two claims"


def test_a_claim_of_many_paths_moves_and_is_handed_over_whole(fleet: Fleet) -> None:
    fleet.call("b", "boot")
    fleet.call("a", "boot", client=1)
    fleet.claim("a", *paths(3), client=1)
    fleet.call("a", "boot", client=2)
    for name in paths(3):
        with pytest.raises(Held):
            fleet.claim("b", name)
    fleet.release("a", *paths(3), to="b", client=2)
    for name in paths(3):
        assert fleet.call("a", "status", resources=[name], client=2)["claims"][0]["agent"] == "b"
    fleet.release("b")
    assert rows(fleet) == []


def test_a_subagents_claim_of_many_paths_passes_to_its_parent_whole(fleet: Fleet) -> None:
    fleet.call("p", "boot")
    fleet.claim("p/sub", *paths(3))
    fleet.call("p/sub", "leave")
    for name in paths(3):
        with pytest.raises(Held, match="p holds"):
            fleet.claim("b", name)
    fleet.release("p")
    assert rows(fleet) == []


@pytest.mark.parametrize("wide", ["", "**", "**/*.py", "d/"])
def test_a_claim_on_much_that_others_hold_reads_no_more_than_decides_it(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, wide: str
) -> None:
    for name in paths(700):
        fleet.claim("a", name)
    read: list[int] = []
    fetch = MemoryTransaction.fetch

    def counted(self: Any, ranges: Any, limit: int = 512) -> Any:
        got = fetch(self, ranges, limit)
        read.append(len(got.rows))
        return got

    monkeypatch.setattr(MemoryTransaction, "fetch", counted)
    with pytest.raises(Held) as refused:
        fleet.claim("b", wide)
    assert refused.value.more == grants.MAX_HOLDERS_READ - 16
    assert sum(read) <= 2 * claim_records.ROWS_PER_TRIP


@pytest.mark.parametrize("wide", ["", "**"])
def test_a_claim_on_more_than_can_be_read_is_refused(fleet: Fleet, monkeypatch: pytest.MonkeyPatch, wide: str) -> None:
    monkeypatch.setattr(claim_records, "MAX_COST", 2_000)
    for name in paths(600):
        fleet.claim("a", name)
    with pytest.raises(Quota, match="below one directory or glob that is claimed"):
        fleet.claim("a", wide)
    assert fleet.claim("a", "elsewhere.py")["token"]


def test_a_claim_on_much_that_has_expired_ends_it_in_several_transactions(fleet: Fleet) -> None:
    count = 2 * grants.MAX_ENDED + 50
    for name in paths(count):
        fleet.claim("a", name, ttl=MINUTE)
    fleet.now += MINUTE
    assert fleet.claim("b", "")["token"]
    ended = [event["commit"] for event in fleet.events("claim.ended")]
    assert len(ended) == count
    assert max(ended.count(one) for one in ended) <= grants.MAX_ENDED + grants.MAX_DUE_SWEPT


def test_a_release_of_much_serves_its_waiters_however_much_lies_below(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in paths(600):
        fleet.claim("a", name)
    fleet.claim("a", "")
    place = fleet.claim("b", "other/x.py", wait=MINUTE)["waiting"]
    fleet.claim("c", "d/00001.py", wait=MINUTE)
    fleet.release("a", "")
    assert fleet.claim("b", "other/x.py", wait=MINUTE, waiter=place)["token"]
    monkeypatch.setattr(claim_records, "MAX_COST", 10)
    fleet.release("a", "d/00001.py")
    assert ("c", "d/00001.py") in fleet.holders()


def test_what_is_freed_with_a_directory_is_not_given_to_a_waiter_past_another_holder(fleet: Fleet) -> None:
    fleet.claim("a", "lib/", "src/b.py", mode="read")
    fleet.claim("c", "src/*.py", mode="read")
    place = fleet.claim("b", "src/b.py", wait=MINUTE)["waiting"]
    fleet.release("a")
    assert fleet.claim("b", "src/b.py", wait=MINUTE, waiter=place)["waiting"] == place, "c reads it"


def test_the_very_places_of_resources_are_found_among_their_keys() -> None:
    wanted = [["file", "a/b.py"], ["tree", ""], ["glob", "src/**/x.py"], ["name", "db:x"], ["inode", "1:2"]]
    for resource in wanted:
        key = claim_records.key_of(resource, "hann\tc1")
        assert any(low <= key < high for low, high in claim_records.places_of([resource])), resource


def test_very_many_claims_are_renewed_in_several_transactions(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "MAX_RENEWED", 10)
    for name in paths(35):
        fleet.claim("a", name, ttl=10 * MINUTE)
    fleet.now += 5 * MINUTE
    assert len(fleet.call("a", "renew")["renewed"]) == 35
    commits = [event["commit"] for event in fleet.events("claim.renewed")]
    assert (len(commits), max(commits.count(one) for one in commits)) == (35, 10)
    assert {claim["left"] for claim in fleet.call("a", "status")["claims"]} == {"10 min left"}


def test_more_claims_than_one_transaction_hands_over_are_refused(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "MAX_HANDED_OVER", 3)
    fleet.call("b", "boot")
    for name in paths(4):
        fleet.claim("a", name)
    with pytest.raises(Quota, match="handed over"):
        fleet.release("a", to="b")
    assert {agent for agent, _ in fleet.holders()} == {"a"}
