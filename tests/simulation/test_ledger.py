"""The ledger of contents under every interleaving that a seed makes: what it says is never certain and wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation.ledger_world import World, installed

STEPS = 400  # of one world: long enough for sessions to end and for the ledger to be cut down


def play(seeds: range, patch: pytest.MonkeyPatch, *, people: bool) -> tuple[Counter[str], Counter[str]]:
    """Worlds to their end; what could not be known, and how certain the verdicts were."""
    known: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    for seed in seeds:
        with patch.context() as inner:
            for world in installed(World(seed, people=people), inner):
                world.run(STEPS)
        assert world.failures == [], f"seed {seed}"
        known += world.known
        judged += world.judged
    return known, judged


@pytest.mark.parametrize("part", range(4))
def test_what_is_sure_is_right_and_no_owned_content_disappears_without_a_word_and_a_copy(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, judged = play(range(part * 10, part * 10 + 10), monkeypatch, people=part % 2 == 1)
    assert judged["sure"]
    assert judged["unknown"]


@pytest.mark.torture
@pytest.mark.parametrize("people", [False, True])
def test_the_same_for_very_many_worlds(people: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    known, judged = play(range(1000, 1600), monkeypatch, people=people)
    print(f"people: {people}; verdicts {dict(judged)}; cannot be known: {dict(known)}")
    assert judged["sure"] > judged["unknown"] / 10
