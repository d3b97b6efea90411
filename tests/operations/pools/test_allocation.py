"""Which units a request gets, and when a bucket lets it through: against plain rules, on random pools."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dibs.operations.pools.allocation import allocate, free_for
from dibs.operations.pools.buckets import due_in, interval, take

UNITS = ("0", "1", "2", "3", "4")


@st.composite
def requests(draw: Any) -> Any:
    """A request that a pool of this size can serve."""
    named = draw(st.lists(st.sampled_from(UNITS), max_size=2, unique=True))
    count = draw(st.integers(0 if named else 1, 3))
    unusable = draw(st.lists(st.sampled_from(UNITS), max_size=2, unique=True))
    return {"named": named, "count": count, "units": UNITS, "unusable": unusable}


@given(requests(), st.lists(requests(), max_size=4), st.sets(st.sampled_from((*UNITS, "old-0", "old-1"))))
def test_a_grant_has_all_that_is_asked_and_nothing_that_is_held_or_reserved(
    request: Any, earlier: list[Any], held: set[str]
) -> None:
    given = allocate(request, earlier, held)
    if given is None:
        return
    assert given[: len(request["named"])] == request["named"]
    assert len({*given}) == len(given) == len(request["named"]) + request["count"]
    assert not {*given} & held
    assert len(held) + len(given) <= len(UNITS), "never more holders than units"
    others = given[len(request["named"]) :]
    assert not {*others} & {*request["unusable"], *request["named"]}
    assert others == sorted(others), "the lowest first"
    assert reserved(earlier, held | {*given}) == reserved(earlier, held), "whoever came earlier loses nothing by it"


def reserved(earlier: list[Any], held: set[str]) -> list[list[str]]:
    """What each of these can have now, one after the other."""
    taken, found = {*held}, []
    for one in earlier:
        found.append(free_for(one, taken))
        taken |= {*found[-1]}
    return found


@given(requests(), st.sets(st.sampled_from(UNITS)))
def test_without_earlier_requests_it_gets_what_there_is(request: Any, held: set[str]) -> None:
    usable = [unit for unit in UNITS if unit not in held and unit not in request["unusable"] + request["named"]]
    fits = not {*request["named"]} & held and len(usable) >= request["count"]
    assert (allocate(request, [], held) is not None) == fits


RATES = st.builds(
    lambda count, per, burst: {"count": count, "per": per, "burst": burst},
    st.integers(1, 1000), st.sampled_from((1_000, 60_000, 3_600_000)), st.integers(1, 10),
)  # fmt: skip


@given(RATES, st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 10)), max_size=40))
def test_a_bucket_never_lets_more_through_than_its_rate_and_its_burst(rate: Any, asked: list[Any]) -> None:
    now, full_at = 0, 0
    let_through: list[tuple[int, int]] = []
    for after, most in asked:
        now += after
        tokens = min(most, rate["burst"])
        due = due_in(rate, full_at, now, tokens)
        if due:
            assert due_in(rate, full_at, now + due, tokens) == 0, "at that time it lets it through"
            assert due_in(rate, full_at, now + due - 1, tokens) > 0, "and not earlier"
            continue
        full_at = take(rate, full_at, now, tokens)
        let_through.append((now, tokens))
    for place, (begin, _) in enumerate(let_through):
        for upto in range(place + 1, len(let_through) + 1):
            span = let_through[upto - 1][0] - begin
            total = sum(tokens for _, tokens in let_through[place:upto])
            assert total <= rate["burst"] + span * 1000 / interval(rate)
