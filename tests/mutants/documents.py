"""The checks of documents: function, change, the test that fails then."""

from __future__ import annotations

STATE = "tests/operations/documents/test_state.py"

ROWS = (
    ("documents._stale", "always if ==",
     f"{STATE}::test_a_version_that_is_not_the_current_one_is_a_conflict_and_changes_nothing"),
    ("documents._stale", "drop boolop is",
     f"{STATE}::test_a_write_that_names_neither_version_nor_token_is_a_conflict_where_there_is_a_document"),
    ("_fenced_or_held", "drop operand token beneath boolop WRITE",
     f"{STATE}::test_an_old_token_is_fenced_even_when_the_agent_holds_it_again"),
    ("_fenced_or_held", "always if not", f"{STATE}::test_what_another_claims_is_held_even_with_the_right_version"),
    ("documents._set", "replace binop forgotten -> 1",
     f"{STATE}::test_a_deleted_document_is_not_found_and_its_version_goes_on"),
)  # fmt: skip
