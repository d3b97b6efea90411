"""The checks of server: function, change, the test that fails then."""

from __future__ import annotations

DESK = "tests/server/test_group_commit.py"
LENT = "test_each_of_a_lent_group_is_answered_once_after_the_commit_and_by_its_own_refusal"

ROWS = (
    ("GroupCommit._lead", "drop operand _max_group", f"{DESK}::test_a_group_has_a_limit_and_the_rest_follows_in_order"),
    ("_enqueue", "never if _queue", f"{DESK}::test_a_queue_that_is_full_refuses_at_once"),
    ("GroupCommit._lead", "replace attribute popleft -> $0.pop",
     f"{DESK}::test_what_comes_while_a_group_is_written_makes_the_next_one_in_its_order"),
    ("GroupCommit.cancel", "drop if WAITING",
     f"{DESK}::test_a_request_whose_caller_has_gone_is_taken_out_unless_it_has_begun"),
    ("GroupCommit.close", "drop call wait_for", f"{DESK}::test_closing_waits_for_a_group_that_a_callers_thread_runs"),
    ("GroupCommit._run", "replace call _fail #1 -> raise",
     f"{DESK}::test_a_store_that_breaks_its_word_is_everybodys_error_and_the_desk_goes_on"),
    ("GroupCommit._run", "drop call _fail _unknown",
     f"{DESK}::test_an_interrupted_leader_leaves_nobody_waiting_and_says_that_nothing_is_known"),
    ("GroupCommit.decide", "never if get_ident", f"{DESK}::test_a_decision_inside_a_decision_is_refused_and_not_waited_for"),
    # the loop's own groups: answered only after the commit, each with its own refusal, none twice, nobody waited for
    ("GroupCommit._lead", "replace call _run -> self._answer(group, here); $0($1), then drop call _answer", f"{DESK}::{LENT}"),
    ("GroupCommit._run", "replace tuple #3 -> outcomes[0]", f"{DESK}::{LENT}"),
    ("GroupCommit._answer", "drop continue beneath for items", f"{DESK}::{LENT}"),
    ("GroupCommit.submit", "replace call soon -> $0($1, $2); self._tell_thread()", f"{DESK}::{LENT}"),
    ("GroupCommit.close", "drop assign _is_led",
     f"{DESK}::test_a_desk_that_is_closed_before_the_loops_turn_refuses_what_was_lent_and_runs_nothing"),
    ("_lead_in_loop", "never if _is_free", f"{DESK}::test_a_loop_does_not_wait_for_another_process"),
    ("_lead_in_loop", "never if MAX_LENT_S",
     f"{DESK}::test_a_loop_that_was_kept_for_long_leaves_the_next_groups_to_the_desks_thread"),
    ("GroupStore.run", "never if get_ident", f"{DESK}::test_a_thread_that_settles_a_store_does_not_wait_for_the_desk"),
)  # fmt: skip
