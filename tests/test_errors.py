"""An error is the same class before and after it was stored or sent."""

from __future__ import annotations

import pytest

from dibs import errors
from dibs.errors import ERRORS, SUBTYPES, Busy, DibsError, Held, Moved, Replaced, Stale, Unavailable, Unreachable
from dibs.stores.seam import unknown_outcome


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
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, DibsError)]
    assert set(classes) - {DibsError, Stale} == {*ERRORS.values(), *SUBTYPES}


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
