"""An error is the same class before and after it was stored or sent."""

from __future__ import annotations

from typing import Any

import pytest

from dibs import error_subtypes, errors
from dibs.error_subtypes import SUBTYPES, Moved, Replaced, Stale, Unreachable
from dibs.errors import ERRORS, Busy, Deadlock, DibsError, Fenced, Held, Unavailable
from dibs.stores.seam import unknown_outcome

AGENT_ADVICE = {"other work", "stop working", "ask a person", "your client"}


@pytest.mark.parametrize("kind", [*ERRORS.values(), *SUBTYPES])
def test_an_error_that_was_stored_or_sent_is_of_its_class_again(kind: type[DibsError]) -> None:
    error = kind("no", path="a.py", token=7)
    again = errors.from_parts(error.parts())
    assert type(again) is kind
    assert (again.message, again.fields) == (error.message, error.fields)


@pytest.mark.parametrize("kind", SUBTYPES)
def test_a_subtype_is_told_by_a_fact_that_its_code_declares(kind: type[DibsError]) -> None:
    base = ERRORS[kind.code]
    assert issubclass(kind, base)
    assert kind.mark in base.__annotations__
    assert kind("no").as_json() == {"ok": False, "error": {"code": base.code, "message": "no", kind.mark: True}}


def test_every_class_of_error_is_that_of_its_code_or_a_subtype() -> None:
    named = [*vars(errors).values(), *vars(error_subtypes).values()]
    classes = {one for one in named if isinstance(one, type) and issubclass(one, DibsError)}
    assert classes - {DibsError, Stale} == {*ERRORS.values(), *SUBTYPES}


def test_a_fact_of_another_code_makes_no_subtype() -> None:
    assert type(errors.from_parts(["held", "no", {"moved": "m1"}])) is Held
    assert type(errors.from_parts(["busy", "no", {"unreachable": True}])) is Busy


def test_a_store_that_was_moved_or_replaced_is_opened_again_and_one_that_is_away_is_not() -> None:
    assert issubclass(Moved, Stale)
    assert issubclass(Replaced, Stale)
    assert not issubclass(Unreachable, Stale)


def test_an_outcome_that_is_not_known_is_still_that_of_a_server_out_of_reach() -> None:
    unknown = unknown_outcome(Unreachable("away. Nothing was changed.", store="x"))
    assert type(unknown) is Unreachable
    assert unknown.fields == {"store": "x", "unreachable": True, "unknown": True}
    assert "Nothing was changed" not in unknown.message
    assert type(unknown_outcome(Busy("no"))) is Unavailable


FACTS: list[tuple[type[DibsError], dict[str, Any]]] = [
    (Held, {"blockers": [{"agent": "ann", "resource": "a.py"}], "wanted": ["a.py"]}),
    (Held, {"blockers": [{"agent": "ann", "resource": "a.py", "waiting": True}], "wanted": ["a.py"]}),
    (Held, {"blockers": [{"agent": "ann", "resource": "a.py", "dead": True}], "wanted": ["a.py"]}),
    (Fenced, {"resource": "a.py", "given": 3, "token": 3, "holder": "ann"}),
    (Fenced, {"resource": "a.py", "given": 3, "token": 4, "holder": "ann"}),
    (Fenced, {"resource": "a.py", "given": None, "holder": "ann", "why": errors.NEVER_HELD}),
    (Deadlock, {"cycle": [{"agent": "me", "resource": "a.py", "holder": "ann"}]}),
]


@pytest.mark.parametrize(("kind", "facts"), FACTS)
def test_a_person_is_told_how_to_take_it_away_and_an_agent_is_not(kind: type[DibsError], facts: dict[str, Any]) -> None:
    said = kind(**facts, person=True).message
    assert "`dibs release a.py --force --why " in said
    assert "--force" not in kind(**facts).message or "a person or an orchestrator" in kind(**facts).message
    assert not [advice for advice in AGENT_ADVICE if advice in said.lower()]


@pytest.mark.parametrize("kind", [*ERRORS.values(), *SUBTYPES])
def test_no_text_of_a_refusal_to_a_person_is_advice_for_agents(kind: type[DibsError]) -> None:
    said = kind(person=True).message.lower()
    assert not [advice for advice in AGENT_ADVICE if advice in said]


def test_who_says_something_else_to_agents_says_that_it_may_be_a_person() -> None:
    assert {kind for kind in ERRORS.values() if "person" in kind.__annotations__} == {kind for kind, _ in FACTS}
