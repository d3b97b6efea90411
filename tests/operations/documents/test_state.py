"""Documents: versions, tokens, claims, and a state machine against a dict, on both engines."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dibs.errors import Conflict, DibsError, Fenced, Held, Invalid, Killed, NotFound, Quota
from dibs.operations.documents import documents, records
from tests.operations.engines import PROFILE, MachineOnFile
from tests.operations.fleet import Fleet

WEEK = 7 * 86_400_000


def put(fleet: Fleet, agent: str, key: str, value: Any, **fields: Any) -> Any:
    return fleet.call(agent, "state set", key=key, value=value, **fields)


def get(fleet: Fleet, key: str) -> Any:
    return fleet.call("viewer", "state get", key=key)


def refused(fleet: Fleet) -> list[tuple[str, str, str]]:
    return [(e["agent"], e["subject"], e["data"]["code"]) for e in fleet.events("call.refused")]


# --- versions


def test_versions_rise_by_one_from_one_and_the_last_write_is_what_is_read(fleet: Fleet) -> None:
    assert put(fleet, "a", "stock", 5) == {"key": "stock", "value": 5, "version": 1}
    assert put(fleet, "b", "stock", [1, {"x": None}], version=1)["version"] == 2
    found = get(fleet, "stock")
    assert (found["value"], found["version"], found["by"]) == ([1, {"x": None}], 2, "b")
    assert found["at"].startswith("2023-11-14T")
    fleet.clean()


def test_null_is_a_value_like_any_other(fleet: Fleet) -> None:
    put(fleet, "a", "k", None)
    assert get(fleet, "k")["value"] is None
    with pytest.raises(Conflict):
        put(fleet, "b", "k", 1, version=0)


def test_a_write_that_names_neither_version_nor_token_is_a_conflict_where_there_is_a_document(fleet: Fleet) -> None:
    put(fleet, "a", "stock", 5)
    fleet.now += 1_000
    with pytest.raises(Conflict) as error:
        put(fleet, "b", "stock", 4)
    assert (error.value.key, error.value.version, error.value.given, error.value.by) == ("stock", 1, None, "a")
    assert error.value.at == get(fleet, "stock")["at"]
    assert "`dibs state get stock`" in error.value.message
    assert refused(fleet) == [("b", "state:stock", "conflict")]
    assert get(fleet, "stock")["value"] == 5


@pytest.mark.parametrize("version", [0, 1, 3, 2**53])
def test_a_version_that_is_not_the_current_one_is_a_conflict_and_changes_nothing(fleet: Fleet, version: int) -> None:
    put(fleet, "a", "k", 1)
    put(fleet, "a", "k", 2, version=1)
    before = fleet.record(records.document_key("k"))
    with pytest.raises(Conflict) as error:
        put(fleet, "b", "k", 9, version=version)
    assert (error.value.version, error.value.given) == (2, version)
    assert fleet.record(records.document_key("k")) == before


def test_version_zero_means_that_there_must_be_none(fleet: Fleet) -> None:
    assert put(fleet, "a", "k", 1, version=0)["version"] == 1
    with pytest.raises(Conflict):
        put(fleet, "b", "k", 1, version=0)
    with pytest.raises(Conflict) as error:
        put(fleet, "b", "other", 1, version=7)
    assert (error.value.version, error.value.by) == (0, None)


def test_of_two_who_read_the_same_version_one_wins_although_its_transaction_was_run_again(fleet: Fleet) -> None:
    """The loser's first run was thrown away, and the winner committed in that gap."""
    put(fleet, "a", "stock", 5)
    aborts = iter([True])
    fleet.store.faults.abort = lambda: next(aborts, False)
    fleet.store.faults.between = lambda: put(fleet, "b", "stock", 2, version=1)
    with pytest.raises(Conflict) as error:
        put(fleet, "a", "stock", 4, version=1)
    assert (error.value.version, error.value.by) == (2, "b")
    assert get(fleet, "stock")["value"] == 2


# --- retries


def test_a_retry_gets_the_same_answer_and_no_second_effect(fleet: Fleet) -> None:
    put(fleet, "a", "k", 1)
    first = put(fleet, "a", "k", 2, version=1, request="r1")
    assert put(fleet, "a", "k", 2, version=1, request="r1") == first
    put(fleet, "b", "k", 3, version=2)
    assert put(fleet, "a", "k", 2, version=1, request="r1") == first
    assert get(fleet, "k")["value"] == 3
    sets = [e for e in fleet.events("state.set") if e["agent"] == "a"]
    assert [e["data"].get("request") for e in sets] == [None, ["state set", "r1"]]


def test_a_retry_of_a_refused_write_is_refused_in_the_same_way(fleet: Fleet) -> None:
    put(fleet, "a", "k", 1)
    for _ in range(2):
        with pytest.raises(Conflict) as error:
            put(fleet, "b", "k", 2, version=0, request="r1")
        assert error.value.version == 1
    assert len(refused(fleet)) == 1


def test_a_request_id_does_not_serve_for_another_value(fleet: Fleet) -> None:
    put(fleet, "a", "k", 1, request="r1")
    with pytest.raises(Invalid):
        put(fleet, "a", "k", 2, request="r1")


# --- tokens and claims


def test_a_live_token_writes_without_a_version(fleet: Fleet) -> None:
    put(fleet, "b", "k", 1)
    token = fleet.claim("a", "state:k")["token"]
    assert put(fleet, "a", "k", 2, token=token)["version"] == 2
    assert put(fleet, "a", "k", 3, token=token)["version"] == 3
    fleet.clean()


def test_a_token_is_for_its_own_document(fleet: Fleet) -> None:
    token = fleet.claim("a", "state:k")["token"]
    with pytest.raises(Fenced):
        put(fleet, "a", "other", 1, token=token)


def test_a_token_that_went_to_another_is_fenced_with_who_holds_it_since_when(fleet: Fleet) -> None:
    old = fleet.claim("a", "state:k", ttl=1_000)["token"]
    fleet.now += 1_000
    new = fleet.claim("b", "state:k")["token"]
    with pytest.raises(Fenced) as error:
        put(fleet, "a", "k", 1, token=old)
    assert (error.value.resource, error.value.given) == ("state:k", old)
    assert (error.value.holder, error.value.token) == ("b", new)
    assert error.value.since == "2023-11-14T22:30:01.000Z"
    assert refused(fleet) == [("a", "state:k", "fenced")]
    with pytest.raises(NotFound):
        get(fleet, "k")


def test_a_token_past_its_deadline_is_fenced_although_nobody_took_it(fleet: Fleet) -> None:
    token = fleet.claim("a", "state:k", ttl=1_000)["token"]
    fleet.now += 1_000
    with pytest.raises(Fenced) as error:
        put(fleet, "a", "k", 1, token=token)
    assert error.value.holder is None


def test_an_old_token_is_fenced_even_when_the_agent_holds_it_again(fleet: Fleet) -> None:
    old = fleet.claim("a", "state:k")["token"]
    fleet.release("a", "state:k")
    new = fleet.claim("a", "state:k")["token"]
    with pytest.raises(Fenced) as error:
        put(fleet, "a", "k", 1, token=old)
    assert (error.value.holder, error.value.token) == ("a", new)
    assert f"under token {new}" in error.value.message


@pytest.mark.parametrize("token", [0, 1, 10**9])
def test_a_token_that_was_never_given_is_fenced(fleet: Fleet, token: int) -> None:
    with pytest.raises(Fenced):
        put(fleet, "a", "k", 1, token=token)


def test_anothers_live_token_is_fenced(fleet: Fleet) -> None:
    token = fleet.claim("a", "state:k")["token"]
    with pytest.raises(Fenced) as error:
        put(fleet, "b", "k", 1, token=token)
    assert error.value.holder == "a"


def test_a_subagent_writes_with_its_parents_token_but_a_sibling_not_with_a_siblings(fleet: Fleet) -> None:
    token = fleet.claim("a", "state:k")["token"]
    put(fleet, "a/x", "k", 1, token=token)
    fleet.release("a", "state:k")
    token = fleet.claim("a/x", "state:k")["token"]
    put(fleet, "a", "k", 2, token=token)
    with pytest.raises(Fenced):
        put(fleet, "a/y", "k", 3, token=token)


def test_a_read_claims_token_does_not_write(fleet: Fleet) -> None:
    token = fleet.claim("a", "state:k", mode="read")["token"]
    with pytest.raises(Fenced) as error:
        put(fleet, "a", "k", 1, token=token)
    assert "read claim" in error.value.message


def test_with_token_and_version_both_must_hold(fleet: Fleet) -> None:
    token = fleet.claim("a", "state:k")["token"]
    put(fleet, "a", "k", 1, token=token, version=0)
    with pytest.raises(Conflict):
        put(fleet, "a", "k", 2, token=token, version=0)
    with pytest.raises(Fenced):
        put(fleet, "a", "k", 2, token=token + 1, version=1)
    assert put(fleet, "a", "k", 2, token=token, version=1)["version"] == 2


@pytest.mark.parametrize("mode", ["write", "read"])
def test_what_another_claims_is_held_even_with_the_right_version(fleet: Fleet, mode: str) -> None:
    put(fleet, "b", "k", 1)
    fleet.claim("a", "state:k", mode=mode, reason="stocktaking", ttl=1_000)
    with pytest.raises(Held) as error:
        put(fleet, "b", "k", 2, version=1)
    assert [(b["agent"], b["resource"], b["mode"]) for b in error.value.blockers] == [("a", "state:k", mode)]
    assert refused(fleet) == [("b", "state:k", "held")]
    with pytest.raises(Held):
        fleet.call("b", "state delete", key="k", version=1)
    fleet.now += 1_000
    assert put(fleet, "b", "k", 2, version=1)["version"] == 2


def test_an_advisory_claim_ones_own_and_the_familys_are_in_nobodys_way(fleet: Fleet) -> None:
    fleet.claim("w", "state:k", mode="watch")
    fleet.claim("a", "state:k")
    put(fleet, "a", "k", 1)
    put(fleet, "a/x", "k", 2, version=1)
    with pytest.raises(Held):
        put(fleet, "b", "k", 3, version=2)


def test_a_dead_holders_claim_is_ended_and_in_nobodys_way(fleet: Fleet) -> None:
    token = fleet.claim("a", "state:k", client=7)["token"]
    with pytest.raises(Held):
        put(fleet, "b", "k", 1)
    fleet.kill9(7)
    assert put(fleet, "b", "k", 1)["version"] == 1
    assert [e["data"]["why"] for e in fleet.events("claim.ended")] == ["gone"]
    with pytest.raises(Fenced):
        put(fleet, "a", "k", 2, token=token)
    fleet.clean()


def test_a_dead_processs_own_token_is_no_longer_live(fleet: Fleet) -> None:
    token = fleet.claim("a", "state:k", client=7)["token"]
    fleet.kill9(7)
    with pytest.raises(Fenced) as error:
        put(fleet, "a", "k", 2, token=token)
    assert error.value.holder is None


def test_whoever_waited_for_a_dead_holder_comes_first(fleet: Fleet) -> None:
    fleet.claim("a", "state:k", client=7)
    fleet.claim("c", "state:k", wait=10_000)
    fleet.kill9(7)
    with pytest.raises(Held) as error:
        put(fleet, "b", "k", 1)
    assert [b["agent"] for b in error.value.blockers] == ["c"]
    fleet.clean()


def test_a_killed_agent_writes_nothing(fleet: Fleet) -> None:
    put(fleet, "a", "k", 1)
    fleet.call("boss", "kill", agent="a", why="test")
    with pytest.raises(Killed):
        put(fleet, "a", "k", 2, version=1)
    assert get(fleet, "k")["value"] == 1


# --- deleting


def test_a_deleted_document_is_not_found_and_its_version_goes_on(fleet: Fleet) -> None:
    put(fleet, "a", "k", "first")
    assert fleet.call("b", "state delete", key="k", version=1) == {"key": "k", "version": 2}
    with pytest.raises(NotFound) as missing:
        get(fleet, "k")
    assert "b deleted it" in missing.value.message
    with pytest.raises(Conflict) as error:  # read before it was deleted
        put(fleet, "c", "k", "late", version=1)
    assert (error.value.version, error.value.by) == (0, "b")
    assert put(fleet, "a", "k", "second")["version"] == 3
    with pytest.raises(Conflict):
        put(fleet, "c", "k", "late", version=1)
    assert [e["data"].get("deleted") for e in fleet.events("state.set")] == [None, True, None]


def test_deleting_takes_the_version_or_a_token_like_a_write(fleet: Fleet) -> None:
    put(fleet, "a", "k", 1)
    wrong: tuple[dict[str, Any], ...] = ({}, {"version": 0}, {"version": 2})
    for fields in wrong:
        with pytest.raises(Conflict):
            fleet.call("b", "state delete", key="k", **fields)
    with pytest.raises(Fenced):
        fleet.call("b", "state delete", key="k", token=1)
    token = fleet.claim("b", "state:k")["token"]
    first = fleet.call("b", "state delete", key="k", token=token, request="r")
    assert fleet.call("b", "state delete", key="k", token=token, request="r") == first
    with pytest.raises(NotFound):
        fleet.call("b", "state delete", key="k", token=token)


def test_after_a_week_the_deleted_are_forgotten_and_new_documents_begin_above_them(fleet: Fleet) -> None:
    for version in range(6):
        put(fleet, "a", "k", version, version=version)
    fleet.call("a", "state delete", key="k", version=6)
    fleet.now += WEEK
    fleet.call("boss", "sweep")
    assert fleet.record(records.deletion_key("k")) is None
    for key in ("k", "new"):
        with pytest.raises(Conflict):
            put(fleet, "old", key, "late", version=6)
        assert put(fleet, "b", key, 1, version=0)["version"] == 8


# --- limits and nonsense


def test_there_is_room_for_so_many_documents_and_deleting_makes_room(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_DOCUMENTS", 3)
    for number in range(3):
        put(fleet, "a", f"k{number}", 1)
    with pytest.raises(Quota) as error:
        put(fleet, "a", "k3", 1)
    assert error.value.limit == 3
    assert refused(fleet) == [("a", "state:k3", "quota")]
    put(fleet, "a", "k0", 2, version=1)
    fleet.call("a", "state delete", key="k0", version=2)
    put(fleet, "a", "k3", 1)
    with pytest.raises(Quota):
        put(fleet, "a", "k0", 1)


@pytest.mark.parametrize("key", ["", " ", "a b", "a\tb", "a\nb", "\x1a", "x" * 201, "a\u00a0b", "\ud800", None, 5])
def test_a_key_that_could_break_something_is_refused(fleet: Fleet, key: Any) -> None:
    calls: dict[str, dict[str, Any]] = {"state get": {}, "state set": {"value": 1}, "state delete": {"version": 1}}
    for name, fields in calls.items():
        with pytest.raises(Invalid):
            fleet.call("a", name, key=key, **fields)
    assert fleet.events() == []


@pytest.mark.parametrize(
    "value",
    ["\x1a", {"a": ["\x1a"]}, {"\x1a": 1}, {1: 2}, float("nan"), float("inf"), 2**54, b"x", {1}, "x" * 70_000],
)
def test_a_value_that_is_not_json_or_too_large_is_refused(fleet: Fleet, value: Any) -> None:
    with pytest.raises(Invalid):
        put(fleet, "a", "k", value)
    deep: Any = []
    for _ in range(50):
        deep = [deep]
    with pytest.raises(Invalid):
        put(fleet, "a", "k", deep)
    assert fleet.events() == []


def test_a_key_is_the_same_however_its_accents_were_typed(fleet: Fleet) -> None:
    put(fleet, "a", "cafe\u0301", 1)
    assert get(fleet, "caf\u00e9")["value"] == 1
    fleet.claim("a", "state:caf\u00e9")
    with pytest.raises(Held):
        put(fleet, "b", "cafe\u0301", 2, version=1)


def test_the_log_repeats_short_values_and_has_the_digest_of_long_ones(fleet: Fleet) -> None:
    put(fleet, "a", "short", {"x": 1})
    put(fleet, "a", "long", "x" * 3_000)
    short, long = (event["data"] for event in fleet.events("state.set"))
    assert short == {"version": 1, "value": {"x": 1}}
    assert sorted(long) == ["digest", "version"]
    assert len(long["digest"]) == 64


def test_a_list_comes_in_pages_without_what_was_deleted(fleet: Fleet) -> None:
    keys = [f"stock:{number:02}" for number in range(12)]
    for key in [*keys, "other", "stocks"]:
        put(fleet, "a", key, "a value that is not listed")
    fleet.call("a", "state delete", key="stock:03", version=1)
    found: list[str] = []
    while True:
        page = fleet.call("v", "state list", prefix="stock:", limit=5, after=found[-1] if found else "")
        found += [document["key"] for document in page["documents"]]
        if not page["more"]:
            break
    assert found == [key for key in keys if key != "stock:03"]
    everything = fleet.call("v", "state list")["documents"]
    assert [document["key"] for document in everything] == ["other", *found, "stocks"]
    assert everything[0].keys() == {"key", "version", "by", "by_name", "at"}
    assert fleet.call("v", "state list", prefix="a", after="stocks") == {"documents": [], "more": False, "cursor": None}
    for limit in (0, 1_001):
        with pytest.raises(Invalid):
            fleet.call("v", "state list", limit=limit)


@pytest.mark.parametrize("what", ["state:k", "state.set", "state.*"])
def test_a_subscriber_that_waits_is_woken_by_each_change(fleet: Fleet, what: str) -> None:
    fleet.call("b", "subscribe", what=what)
    fleet.call("b", "inbox", wait=10_000, wake="achannel")
    for name, fields in (("state set", {"value": 1}), ("state delete", {"version": 1})):
        fleet.store.unwatch("achannel")
        fleet.call("a", "state set", key="other", value=1, version=0 if name == "state set" else 1)
        if what == "state:k":
            assert not fleet.store.wait("achannel", 0)
        fleet.call("a", name, key="k", **fields)  # type: ignore[arg-type]
        assert fleet.store.wait("achannel", 0)


# --- a state machine against a dict

KEYS = ("k", "stock:1")
AGENTS = ("a", "b", "a/x", "a/y")


def kin(one: str, other: str) -> bool:
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")


class Documents(RuleBasedStateMachine):
    """Random reads, writes, deletions and claims; every answer is determined by the model."""

    def make(self) -> Fleet:
        """The engine."""
        return Fleet()

    def __init__(self) -> None:
        super().__init__()
        self.fleet = self.make()
        self.documents: dict[str, tuple[Any, int]] = {}
        self.versions: dict[str, int] = {}  # the last that a key had, deleted or not
        self.holds: list[dict[str, Any]] = []
        self.last: tuple[str, str, dict[str, Any], Any] | None = None
        self.requests = 0

    def live(self, key: str) -> list[dict[str, Any]]:
        return [hold for hold in self.holds if hold["key"] == key and hold["until"] > self.fleet.now]

    def expected(self, agent: str, key: str, version: int | None, token: int | None) -> type[DibsError] | None:
        """What a write must be refused as, None if it must be made."""
        if token is None:
            if any(not kin(agent, hold["agent"]) for hold in self.live(key)):
                return Held
        elif not any(hold["token"] == token and kin(agent, hold["agent"]) for hold in self.live(key)):
            return Fenced
        if version is None:
            return None if token is not None or key not in self.documents else Conflict
        return None if version == self.documents.get(key, (None, 0))[1] else Conflict

    def version(self, data: st.DataObject, key: str) -> int | None:
        current = self.documents.get(key, (None, 0))[1]
        return data.draw(st.sampled_from([None, 0, current, current, current, max(0, current - 1), current + 1]))

    def token(self, data: st.DataObject) -> int | None:
        tokens: list[int] = [hold["token"] for hold in self.holds[-6:]]
        return data.draw(st.sampled_from([None, None, None, 1, *tokens]))

    def attempt(self, agent: str, name: str, fields: dict[str, Any]) -> Any:
        self.requests += 1
        request = f"r{self.requests}"
        try:
            answer = self.fleet.call(agent, name, request=request, **fields)
        except (Conflict, Held, Fenced) as refusal:
            answer = refusal
        self.last = (agent, name, {"request": request, **fields}, answer)
        return answer

    @rule(data=st.data(), agent=st.sampled_from(AGENTS), key=st.sampled_from(KEYS), value=st.integers(0, 99))
    def write_with_anything(self, data: st.DataObject, agent: str, key: str, value: int) -> None:
        self.write(agent, key, value, self.version(data, key), self.token(data))

    @rule(agent=st.sampled_from(AGENTS), key=st.sampled_from(KEYS), value=st.integers(0, 99))
    def write_what_was_read(self, agent: str, key: str, value: int) -> None:
        self.write(agent, key, value, self.documents.get(key, (None, 0))[1], None)

    @precondition(lambda self: self.holds)
    @rule(data=st.data(), value=st.integers(0, 99))
    def write_with_a_token(self, data: st.DataObject, value: int) -> None:
        hold = data.draw(st.sampled_from(self.holds[-4:]))
        self.write(hold["agent"], hold["key"], value, None, hold["token"])

    def write(self, agent: str, key: str, value: int, version: int | None, token: int | None) -> None:
        expected = self.expected(agent, key, version, token)
        fields = {"key": key, "value": value, "version": version, "token": token}
        answer = self.attempt(agent, "state set", fields)
        if expected is not None:
            assert type(answer) is expected
            if expected is Conflict:
                assert answer.version == self.documents.get(key, (None, 0))[1]
            return
        self.versions[key] = self.versions.get(key, 0) + 1
        assert answer == {"key": key, "value": value, "version": self.versions[key]}
        self.documents[key] = (value, self.versions[key])

    @rule(data=st.data(), agent=st.sampled_from(AGENTS), key=st.sampled_from(KEYS))
    def delete_with_anything(self, data: st.DataObject, agent: str, key: str) -> None:
        self.delete(agent, key, self.version(data, key), self.token(data))

    @precondition(lambda self: self.documents)
    @rule(data=st.data(), agent=st.sampled_from(AGENTS))
    def delete_what_was_read(self, data: st.DataObject, agent: str) -> None:
        key = data.draw(st.sampled_from(sorted(self.documents)))
        self.delete(agent, key, self.documents[key][1], None)

    def delete(self, agent: str, key: str, version: int | None, token: int | None) -> None:
        fields: dict[str, Any] = {"key": key, "version": version, "token": token}
        if key not in self.documents:
            with pytest.raises(NotFound):
                self.fleet.call(agent, "state delete", **fields)
            return
        expected = self.expected(agent, key, version, token)
        answer = self.attempt(agent, "state delete", fields)
        if expected is not None:
            assert type(answer) is expected
            return
        self.versions[key] += 1
        assert answer == {"key": key, "version": self.versions[key]}
        del self.documents[key]

    @precondition(lambda self: self.last)
    @rule()
    def call_again(self) -> None:
        """A lost answer: the same again, however things stand by now."""
        assert self.last is not None
        agent, name, fields, answer = self.last
        before = self.fleet.store.head().seq
        try:
            again = self.fleet.call(agent, name, **fields)
        except DibsError as refusal:
            assert type(refusal) is type(answer)
            assert (refusal.message, refusal.fields) == (answer.message, answer.fields)
        else:
            assert again == answer
        assert self.fleet.store.head().seq == before

    @rule(agent=st.sampled_from(AGENTS), key=st.sampled_from(KEYS), ttl=st.sampled_from((1_000, 20_000)))
    def claim(self, agent: str, key: str, ttl: int) -> None:
        blocked = any(not kin(agent, hold["agent"]) for hold in self.live(key))
        try:
            answer = self.fleet.claim(agent, f"state:{key}", ttl=ttl)
        except Held:
            assert blocked
            return
        assert not blocked
        known = [hold["until"] for hold in self.holds if hold["token"] == answer["token"]]
        until = max([self.fleet.now + ttl, *known])  # a claim made again never ends earlier
        self.holds = [hold for hold in self.holds if hold["token"] != answer["token"]]
        self.holds.append({"agent": agent, "key": key, "until": until, "token": answer["token"]})

    @rule(agent=st.sampled_from(AGENTS))
    def release(self, agent: str) -> None:
        self.fleet.release(agent)
        for hold in self.holds:
            if hold["agent"] == agent or hold["agent"].startswith(agent + "/"):
                hold["until"] = 0

    @rule(ms=st.sampled_from((1, 999, 1_000, 20_000)))
    def time_passes(self, ms: int) -> None:
        self.fleet.now += ms

    @rule()
    def sweep(self) -> None:
        self.fleet.call("boss", "sweep")

    @invariant()
    def the_documents_are_those_of_the_model(self) -> None:
        listed = self.fleet.call("viewer", "state list")["documents"]
        assert {document["key"]: document["version"] for document in listed} == {
            key: version for key, (_, version) in self.documents.items()
        }
        for key, (value, version) in self.documents.items():
            found = get(self.fleet, key)
            assert (found["value"], found["version"]) == (value, version)
        counted = (self.fleet.record(records.COUNTS_KEY) or records.NO_DOCUMENTS)["documents"]
        assert counted == len(self.documents)

    def teardown(self) -> None:
        """Each key's versions in the log rise by one, and the last is the one that stands."""
        last: dict[str, int] = {}
        for event in self.fleet.events("state.set"):
            assert event["data"]["version"] == last.get(event["subject"], 0) + 1
            last[event["subject"]] = event["data"]["version"]
        assert last == self.versions
        self.fleet.clean()


class AbortedDocuments(Documents):
    """The same where every third transaction is thrown away and run again."""

    def make(self) -> Fleet:
        fleet = Fleet()
        dice = random.Random(0)
        fleet.store.faults.abort = lambda: dice.random() < 0.3
        return fleet


class DocumentsOnFile(MachineOnFile, Documents):
    """The same on SQLite."""


Documents.TestCase.settings = settings(PROFILE, stateful_step_count=40)
AbortedDocuments.TestCase.settings = settings(PROFILE, max_examples=max(30, PROFILE.max_examples // 4))
DocumentsOnFile.TestCase.settings = settings(PROFILE, max_examples=max(20, PROFILE.max_examples // 10))
TestDocuments = Documents.TestCase
TestAbortedDocuments = AbortedDocuments.TestCase
TestDocumentsOnFile = DocumentsOnFile.TestCase
