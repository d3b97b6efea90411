"""`check settle`: what may be accepted, by whom, and how that is taken back."""

from __future__ import annotations

import pytest

from dibs.errors import Forbidden, Invalid, NotFound, Quota
from dibs.operations.oversight import settlements
from tests.operations.fleet import Fleet, guards

FINDING = "alerting:no-sink"


def test_a_settled_finding_has_its_newest_reason_until_it_is_taken_back(fleet: Fleet) -> None:
    for why in ("two scripts", "three scripts"):
        assert fleet.call("root", "check settle", what=FINDING, why=why)["why"] == why
    listed = fleet.internal("root", settlements.SETTLED)["settled"]
    assert [(what, one["why"], one["agent"]) for what, one in listed.items()] == [(FINDING, "three scripts", "root")]
    assert fleet.call("root", "check settle", what=FINDING, undo=True)["undone"]
    assert fleet.internal("root", settlements.SETTLED)["settled"] == {}
    with pytest.raises(NotFound, match="is not settled"):
        fleet.call("root", "check settle", what=FINDING, undo=True)


def test_an_agent_may_not_settle() -> None:
    fleet = Fleet(guards=guards(roles={"default": "", "assign": [("bob", "agent")], "named": {}}))
    with pytest.raises(Forbidden):
        fleet.call("bob", "check settle", what=FINDING, why="never mind")
    assert fleet.internal("root", settlements.SETTLED)["settled"] == {}


@pytest.mark.parametrize(
    ("what", "error"), [("9999", NotFound), ("nonsense", Invalid), ("alerting:", Invalid), ("a:b c", Invalid)]
)
def test_what_is_neither_an_event_of_the_log_nor_a_finding_is_refused(
    fleet: Fleet, what: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        fleet.call("root", "check settle", what=what, why="x")


def test_nothing_is_settled_without_a_reason_and_no_more_than_the_limit(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Invalid, match="say why"):
        fleet.call("root", "check settle", what=FINDING)
    monkeypatch.setattr(settlements, "MAX_SETTLED", 1)
    fleet.call("root", "check settle", what=FINDING, why="two scripts")
    fleet.call("root", "check settle", what=FINDING, why="three scripts")
    with pytest.raises(Quota):
        fleet.call("root", "check settle", what="alerting:other", why="x")
