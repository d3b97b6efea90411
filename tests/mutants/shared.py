"""The checks of shared: function, change, the test that fails then."""

from __future__ import annotations

STATE = "tests/operations/shared/test_state.py"
VOTES = "tests/operations/shared/test_votes.py"

ROWS = (
    # Promise 2 and 6: documents, votes, messages, subscriptions, runs
    ("documents._stale", "always if ==",
     f"{STATE}::test_a_version_that_is_not_the_current_one_is_a_conflict_and_changes_nothing"),
    ("documents._stale", "drop boolop is",
     f"{STATE}::test_a_write_that_names_neither_version_nor_token_is_a_conflict_where_there_is_a_document"),
    ("_fenced_or_held", "drop operand token beneath boolop WRITE",
     f"{STATE}::test_an_old_token_is_fenced_even_when_the_agent_holds_it_again"),
    ("_fenced_or_held", "always if not", f"{STATE}::test_what_another_claims_is_held_even_with_the_right_version"),
    ("documents._set", "replace binop forgotten -> 1",
     f"{STATE}::test_a_deleted_document_is_not_found_and_its_version_goes_on"),
    ("votes._count", "replace constant electorate #1 -> 'ballots'",
     f"{VOTES}::test_more_than_half_of_the_whole_electorate_decides_at_once"),
    ("shared.votes._cast", "drop operand OPEN",
     f"{VOTES}::test_a_ballot_after_the_outcome_is_a_conflict_that_tells_it"),
)  # fmt: skip
