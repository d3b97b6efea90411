"""The checks of shared: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

STATE = "tests/operations/shared/test_state.py"
VOTES = "tests/operations/shared/test_votes.py"

ROWS = (
    # Promise 2 and 6: documents, votes, messages, subscriptions, runs
    ("operations/shared/documents.py",
     "    if version == current or (version is None and (document is None or token is not None)):",
     "    if True:", f"{STATE}::test_a_version_that_is_not_the_current_one_is_a_conflict_and_changes_nothing"),
    ("operations/shared/documents.py", "(version is None and (document is None or token is not None))",
     "version is None",
     f"{STATE}::test_a_write_that_names_neither_version_nor_token_is_a_conflict_where_there_is_a_document"),
    ("operations/shared/documents.py", 'claim["token"] == token and claim["mode"] == resources.WRITE for',
     'claim["mode"] == resources.WRITE for',
     f"{STATE}::test_an_old_token_is_fenced_even_when_the_agent_holds_it_again"),
    ("operations/shared/documents.py", "        if not blockers:\n            return None\n", "        return None\n",
     f"{STATE}::test_what_another_claims_is_held_even_with_the_right_version"),
    ("operations/shared/documents.py", '(grave["version"] if grave is not None else counts["forgotten"]) + 1', "1",
     f"{STATE}::test_a_deleted_document_is_not_found_and_its_version_goes_on"),
    ("operations/shared/votes.py", 'needed = len(vote["electorate"]) // 2 + 1', 'needed = len(vote["ballots"]) // 2 + 1',
     f"{VOTES}::test_more_than_half_of_the_whole_electorate_decides_at_once"),
    ("operations/shared/votes.py", 'if own is not None or vote["state"] != OPEN:', "if own is not None:",
     f"{VOTES}::test_a_ballot_after_the_outcome_is_a_conflict_that_tells_it"),
)  # fmt: skip
