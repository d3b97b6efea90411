"""The checks of the audit, the map and the figures: function, change, the test that fails then."""

from __future__ import annotations

CHECK = "tests/audit/test_check.py"
MAP = "tests/audit/test_map.py"
SETTLEMENTS = "tests/operations/oversight/test_settlements.py"
STATS = "tests/audit/test_stats.py"
FOLD = "tests/audit/test_fold.py"

# fmt: off
ROWS = (
    # the dry run of the kill switch leaves nothing behind, and proves something
    ("_play", "replace raise Given -> session.channels.append(($0.1, $0.2))",
     f"{CHECK}::test_10_the_kill_switch_is_tried_and_nothing_is_kept_of_it"),
    # what is accepted is a person's word, and counts until it is taken back
    ("settlements.OPERATIONS", "replace name PERSON -> 'worker'",
     f"{SETTLEMENTS}::test_an_agent_may_not_settle"),
    ("settlements._settle", "drop call delete_settlement",
     f"{CHECK}::test_13_a_killed_agent_is_named_until_it_is_revived_or_settled"),
    ("check._shown", "never if containing subscript settled",
     f"{CHECK}::test_13_a_killed_agent_is_named_until_it_is_revived_or_settled"),
    # a check that could not look is not green
    ("check._shown", "replace compare FAIL -> $0 != $1.0",
     f"{CHECK}::test_a_check_that_cannot_look_is_unknown_and_not_green"),
    # advice fails nothing; a guard that no agent works under loses nothing; a test that lost something is not hidden
    ("check._shown", "drop filter advice", f"{CHECK}::test_6_a_fleet_needs_a_sink_and_somebody_who_looks"),
    ("guards", "always ifexp LOW", f"{CHECK}::test_11_guards_that_let_a_forbidden_write_pass_fail"),
    ("tested", "drop unaryop beneath boolop MANY", f"{CHECK}::test_7_ten_agents_at_work_at_once_are_a_test"),
    # what is fixed is green
    ("_deployed", "drop assign unsynced", f"{CHECK}::test_16_an_unverified_deploy_is_named_until_a_later_one_is_good"),
    ("trials._record", "always operand >=", f"{CHECK}::test_7_a_fleet_needs_a_test_with_ten_agents_that_lost_nothing"),
    # names are anybody's
    ("map_svg._short", "replace name safe -> str",
     f"{MAP}::test_hostile_names_are_escaped_in_the_picture_and_the_table"),
    # figures
    ("_freed", "replace name MOMENT_MS -> 2 * MOMENT_MS",
     f"{STATS}::test_a_refusal_is_false_only_if_all_that_was_in_its_way_is_free_within_a_minute"),
    # one reading of the log for all reports
    ("is_lost", "drop operand token", f"{FOLD}::test_an_agent_s_own_words_are_no_loss_whatever_they_are"),
    ("is_lost", "drop operand to", f"{FOLD}::test_an_agent_s_own_words_are_no_loss_whatever_they_are"),
    ("_claim_moved", "replace argument held -> before.resources",
     f"{FOLD}::test_a_claim_that_passes_is_one_span_of_each_holder_with_what_is_held_then"),
    ("_claim_moved", "drop operand agent", f"{FOLD}::test_another_process_of_the_same_agent_continues_its_span"),
    ("Fold._ended", "drop operand commit", f"{FOLD}::test_a_dead_process_that_held_many_claims_died_once"),
    ("fold.KEPT_TURN", "drop element again",
     f"{FOLD}::test_an_agent_that_asked_again_and_kept_its_turn_gave_nothing_up"),
    ("History.__init__", "drop constant push",
     f"{CHECK}::test_15_a_commit_and_a_push_past_the_guard_are_named_until_they_are_settled"),
    ("record_of", "always if is_settled",
     "tests/client/test_log_archives.py::test_a_person_settles_a_lost_archive_and_the_log_says_so"),
)
# fmt: on
