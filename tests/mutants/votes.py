"""The checks of votes: function, change, the test that fails then."""

from __future__ import annotations

VOTES = "tests/operations/votes/test_votes.py"

ROWS = (
    ("votes._count", "replace constant electorate #1 -> 'ballots'",
     f"{VOTES}::test_more_than_half_of_the_whole_electorate_decides_at_once"),
    ("votes.votes._cast", "drop operand OPEN",
     f"{VOTES}::test_a_ballot_after_the_outcome_is_a_conflict_that_tells_it"),
)  # fmt: skip
