"""Names: each agent has one that can be read, of its own, and everybody hears of it."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import Fenced, Held, Invalid, NotFound
from dibs.operations.agents import names
from tests.operations.agents.test_speech import Terminal
from tests.operations.fleet import Fleet

SESSION = "d775fd74-bb09-45c2-8395-dc2308a6ed45"
OTHER = "895f6e8c-57a4-47e9-8064-e40b8b35865b"


def boot(fleet: Fleet, agent: str, kind: str = "claude") -> str:
    """Register as a client's hook does; the name."""
    name: str = fleet.call(agent, "boot", client_type=kind)["name"]
    return name


@pytest.mark.parametrize(
    "identifier",
    ["ann", "lead", "ci-bot", "x", "root@3f2a9b1c0d4e", "agent-12", "worker-007", "gpt4o-agent", "claude-opus-4-5",
     "builder-2026-11-16", "frontend_v2"],
)  # fmt: skip
def test_an_id_that_can_be_read_is_its_own_name(fleet: Fleet, identifier: str) -> None:
    assert boot(fleet, identifier) == identifier


@pytest.mark.parametrize(
    "identifier",
    [SESSION, "a5c129770e5a93878", "019a8c3e-1111-7abc-8def-0123456789ab", "thread_abc123XYZ9876ksjdh21",
     "ses_4b1cX9aQ2mZ7", "01HZX3K9M2N4P5Q6R7S8T9V0WX", "1763300000123", "deadbeef-abcd-abcd-abcd-abcdefabcdef",
     "z" * 60],
)  # fmt: skip
def test_an_id_of_chance_gets_its_clients_kind_and_an_animal(fleet: Fleet, identifier: str) -> None:
    kind, _, animal = boot(fleet, identifier, "codex").partition("-")
    assert kind == "codex"
    assert animal in names.ANIMALS


@given(st.uuids())
def test_no_uuid_is_taken_for_a_name(identifier: uuid.UUID) -> None:
    assert not names.is_readable(str(identifier))
    assert not names.is_readable(identifier.hex)


def test_the_same_id_gets_the_same_name_in_every_empty_workspace() -> None:
    assert boot(Fleet(), SESSION) == boot(Fleet(), SESSION) == names.computed(SESSION, "claude")


def test_a_name_does_not_change_when_the_type_becomes_known_later(fleet: Fleet) -> None:
    first = fleet.claim(SESSION, "a.py")["name"]
    assert first.startswith("agent-")
    assert boot(fleet, SESSION) == first


def test_no_two_agents_of_a_workspace_share_a_name_however_many_there_are(fleet: Fleet) -> None:
    count = len(names.ANIMALS) + 40
    found = [boot(fleet, str(uuid.UUID(int=place * 7919 + 5))) for place in range(count)]
    assert len(set(found)) == count
    assert sum(name.split("-")[-1].isdigit() for name in found) == 40
    fleet.clean()


def test_a_name_is_never_somebody_elses_id(fleet: Fleet) -> None:
    likely = names.computed(SESSION, "claude")
    fleet.claim(likely, "a.py")
    assert boot(fleet, SESSION) != likely


def test_a_subagent_goes_by_its_parents_name_and_its_type(fleet: Fleet) -> None:
    parent = boot(fleet, SESSION)
    assert boot(fleet, f"{SESSION}/a5c129770e5a93878", "Explore") == f"{parent}/explore"
    assert boot(fleet, f"{SESSION}/a5c129770e5a93879", "Explore") == f"{parent}/explore-2"
    assert boot(fleet, f"{SESSION}/b5c129770e5a93879", "") == f"{parent}/1"
    assert boot(fleet, f"{SESSION}/c5c129770e5a93879", "") == f"{parent}/2"
    assert boot(fleet, f"{SESSION}/reviewer", "Explore") == f"{parent}/reviewer"


def test_every_answer_that_names_an_agent_has_its_name_beside_the_id(fleet: Fleet) -> None:
    name, other = boot(fleet, SESSION), boot(fleet, OTHER, "codex")
    assert fleet.claim(SESSION, "a.py")["name"] == name
    with pytest.raises(Held) as held:
        fleet.claim(OTHER, "a.py")
    assert (held.value.blockers[0]["agent"], held.value.blockers[0]["name"]) == (SESSION, name)
    assert held.value.message.startswith(f"{name} holds a.py (30 min left")
    fleet.call(OTHER, "ask", resource="a.py", text="when?")
    (message,) = fleet.call(SESSION, "inbox")["messages"]
    assert (message["from"], message["from_name"]) == (OTHER, other)
    status = fleet.call("viewer", "status")
    assert [claim["name"] for claim in status["claims"]] == [name]
    assert {agent["agent"]: agent["name"] for agent in status["agents"]} == {SESSION: name, OTHER: other}
    token = fleet.claim(SESSION, "b.py", ttl=1_000)["token"]
    fleet.now += 1_000
    fleet.claim(OTHER, "b.py")
    with pytest.raises(Fenced) as fenced:
        fleet.call(SESSION, "confirm", resource="b.py", token=token)
    assert (fenced.value.holder_name, SESSION in fenced.value.message) == (other, False)


def test_values_that_somebody_wrote_are_left_as_they_are(fleet: Fleet) -> None:
    fleet.claim("ann", "a.py")
    fleet.call("ann", "state set", key="k", value={"agent": "ann"})
    assert fleet.call("ann", "state get", key="k")["value"] == {"agent": "ann"}


def test_an_agent_can_be_spoken_of_by_its_name(fleet: Fleet) -> None:
    name, other = boot(fleet, SESSION), boot(fleet, OTHER)
    fleet.claim(SESSION, "a.py")
    assert fleet.call("ann", "send", to=name, text="hello")["to"] == [SESSION]
    assert fleet.release(SESSION, "a.py", to=other)["to"] == OTHER
    fleet.call("ann", "kill", agent=name, why="it runs wild")
    assert fleet.call("ann", "revive", agent=name)["agents"][0]["agent"] == SESSION
    with pytest.raises(NotFound):
        fleet.call("ann", "revive", agent="claude-nobody")


def test_who_calls_under_a_name_is_the_agent_that_has_it(fleet: Fleet) -> None:
    name = boot(fleet, SESSION)
    assert fleet.claim(name, "a.py")["agent"] == SESSION
    assert fleet.holders() == [(SESSION, "a.py")]
    assert fleet.record(f"a\t{name}") is None


@pytest.mark.parametrize(
    ("until", "words"),
    [(59_999, "under a minute left"), (60_000, "1 min left"), (29 * 60_000 + 59_999, "29 min left"),
     (2 * 3_600_000, "2 h left"), (119 * 60_000, "119 min left"), (50 * 3_600_000, "2 days left")],
)  # fmt: skip
def test_how_much_longer_something_is_held_is_said_in_words(fleet: Fleet, until: int, words: str) -> None:
    fleet.claim("ann", "a.py", ttl=1_000)

    def left(tx: Any) -> str:
        from dibs.operations.claims import records as claim_records
        from dibs.operations.claims import views

        (record,) = claim_records.claims_of(tx, "ann")
        record["until"] = tx.now + until
        return views.left(tx, record)

    assert fleet.store.look(left) == words


def test_a_refusal_has_no_time_of_a_clock_in_its_text_and_says_what_ends_the_claim(fleet: Fleet) -> None:
    fleet.edit("ann", "src/api.py")
    with pytest.raises(Held) as held:
        fleet.edit("bob", "src/api.py")
    assert held.value.message == (
        "ann holds src/api.py (30 min left; ends with its commit). Wait: `dibs claim src/api.py --wait 60s`; or pick "
        "other work, or `dibs ask src/api.py TEXT`."
    )


def test_a_refusal_names_what_was_asked_for_where_something_larger_is_held(fleet: Fleet) -> None:
    fleet.claim("ann", "src/")
    with pytest.raises(Held) as held:
        fleet.edit("bob", "src/api.py")
    assert held.value.message == (
        "src/api.py is not free: ann holds src (30 min left). Wait: `dibs claim src/api.py --wait 60s`; or pick other "
        "work, or `dibs ask src/api.py TEXT`."
    )
    with pytest.raises(Held) as held:
        fleet.claim("bob", "a.py", "src/b.py", "it's.py")
    assert "Wait: `dibs claim src/b.py a.py 'it'\\''s.py' --wait 60s`" in held.value.message, "the whole request"
    assert "`dibs ask src/b.py TEXT`" in held.value.message, "nobody holds the others"
    with pytest.raises(Held) as held:
        fleet.claim("bob", "1", "2", "3", "4", "src/x.py", "src/y.py")
    assert held.value.wanted == ["src/x.py", "src/y.py"], "a long request is not repeated"


# --- slips of the keyboard


@pytest.mark.parametrize("word", ["alcie", "alic", "alicee", "Alice", "alixe", "lalice"])
def test_a_word_that_is_one_letter_off_is_a_slip(fleet: Fleet, word: str) -> None:
    fleet.claim("alice", "x.py")
    assert fleet.store.look(lambda tx: names.slip(tx, word)) == "alice"


@pytest.mark.parametrize(
    ("known", "word"),
    [("worker1", "worker2"), ("agent-a", "agent-b"), ("ann", "anne"), ("alice", "bob"), ("team-a-1", "team-b-1"),
     ("alice", "alice"), ("worker", "worker1"), ("alicia", "alex")],
)  # fmt: skip
def test_names_of_a_series_and_other_words_are_none(fleet: Fleet, known: str, word: str) -> None:
    fleet.claim(known, "x.py")
    assert fleet.store.look(lambda tx: names.slip(tx, word)) == ""


def test_a_new_agent_that_is_named_almost_like_a_known_one_is_questioned_until_it_boots(fleet: Fleet) -> None:
    fleet.claim("alice", "x.py")
    terminal = Terminal(fleet, 70)
    with pytest.raises(Invalid, match="did you mean alice") as refused:
        terminal.type("claim", agent="alcie", resources=["y.py"])
    assert refused.value.near == "alice"
    assert fleet.record("a\talcie") is None
    terminal.type("claim", agent="bob", resources=["z.py"])
    terminal.type("boot", agent="alcie")
    terminal.type("claim", agent="alcie", resources=["y.py"])


def test_one_that_nobody_knows_is_answered_with_the_one_that_may_be_meant(fleet: Fleet) -> None:
    fleet.call("alice", "boot")
    fleet.call("boss", "task add", title="T", id="T")
    fleet.claim("boss", "x.py")
    for name, fields in (
        ("send", {"to": "alcie", "text": "hi"}), ("kill", {"agent": "alcie", "why": "w"}),
        ("release", {"resources": ["x.py"], "to": "alcie"}), ("task assign", {"id": "T", "to": "alcie"}),
    ):  # fmt: skip
        with pytest.raises(NotFound, match="did you mean alice"):
            fleet.call("boss", name, **fields)
    with pytest.raises(NotFound, match="`dibs agents` lists them"):
        fleet.call("boss", "send", to="zzz", text="hi")
