"""The checks of the gate at the end of a turn, of limits and of the baton: function, change, the test that fails then."""

from __future__ import annotations

GATES, LIMITS, BATON = "tests/guards/test_gates.py", "tests/guards/test_limits.py", "tests/guards/test_baton.py"
TWICE = f"{GATES}::test_it_is_sent_back_twice_in_a_turn_then_one_quiet_alert_is_left"
ODD = f"{GATES}::test_a_turn_that_plans_was_interrupted_or_left_something_running_is_not_sent_back"
ASKED = f"{GATES}::test_a_turn_that_ends_with_something_for_the_person_is_not_sent_back"
INNOCENT = f"{GATES}::test_a_turn_that_leaves_nothing_of_its_own_unfinished_is_not_sent_back"
EARLY = f"{GATES}::test_whichever_way_a_model_stops_early_its_work_ends_landed"
TASK = f"{GATES}::test_a_task_that_is_not_finished_is_named_if_the_turn_changed_something"
LANDED = f"{GATES}::test_a_branch_that_landed_is_done_whatever_its_commits_became"
VERIFIED = f"{GATES}::test_a_verification_that_fails_on_this_state_is_not_done_and_is_not_run_twice"
OFFERED = f"{LIMITS}::test_its_task_is_offered_to_others_if_the_config_says_so_and_it_is_fenced"
REFUSED = f"{BATON}::test_where_the_config_refuses_that_the_task_stays_until_they_are_committed"

ROWS = (
    # at most twice in a turn, and in the log
    ("stop_gate._gate", "always operand MAX_SENT_BACK", TWICE),
    ("stop_gate._gate", "always operand REMIND",
     f"{GATES}::test_by_default_the_person_is_told_once_and_no_turn_is_spent"),
    ("stop_gate._gate", "drop call append", f"{GATES}::test_each_time_that_an_agent_is_sent_back_is_in_the_log"),
    ("_to_person", "never if reminded", f"{GATES}::test_by_default_the_person_is_told_once_and_no_turn_is_spent"),
    ("agents.turns._turn", "never if continues",
     f"{GATES}::test_what_a_task_of_its_own_announces_is_no_new_turn"),
    ("unfinished_gone", "always return gate", TWICE),
    # nobody is bothered without a reason
    ("stop_gate._gate", "drop operand excused", f"{ASKED}[I changed the lexer. Should I commit this?]"),
    ("stop_gate._gate", "drop operand open_end",
     f"{GATES}::test_partial_work_that_the_person_asked_for_is_not_sent_back[WIP: sketch the API]"),
    ("stop_gate._gate", "drop operand _has_turn", f"{GATES}::test_a_subagent_is_asked_about_its_own_task_alone"),
    ("stop_gate._gate", "drop operand answerable",
     f"{GATES}::test_without_a_prompt_or_last_words_nothing_is_asked"),
    ("turn_end.judge", "drop operand plan", ODD),
    ("turn_end.judge", "drop operand background", ODD),
    ("turn_end.judge", "drop operand halted", ODD),
    ("turn_end.judge", "drop operand asks", f"{GATES}::test_an_agent_that_was_not_given_leave_is_not_sent_back"),
    ("_is_of_turn", "always return within", f"{INNOCENT}[before]"),
    ("turn_end.unfinished", "always operand _is_output", f"{INNOCENT}[generated]"),
    # what counts
    ("stop_gate._missing", "never if commits", TASK),
    ("_not_landed", "never if landed", LANDED),
    ("_commits", "never if within", TASK),
    ("verification.main", "never if state_of",
     f"{GATES}::test_a_verification_of_files_that_changed_meanwhile_is_void"),
    # limits
    ("_touched_record", "never operand limited",
     f"{LIMITS}::test_its_client_s_notification_does_not_end_it_and_its_next_prompt_does"),
    ("_touched_record", "drop operand PASSIVE limited",
     f"{LIMITS}::test_its_client_s_notification_does_not_end_it_and_its_next_prompt_does"),
    ("_offer", "never if get", f"{LIMITS}::test_a_limit_that_ends_before_keeps_the_task"),
    ("limits._limited", "always if containing expr _tell",
     f"{LIMITS}::test_who_waits_for_what_it_holds_is_told_once"),
    ("_may_wait", "never return tied",
     f"{LIMITS}::test_the_claim_on_its_task_is_kept_past_its_deadline"),
    ("lapses.lapse", "drop call end", OFFERED),
    ("failed", "never if halted", f"{LIMITS}::test_copilot_s_error_is_one_unless_it_goes_on_by_itself"),
    # done, and the baton
    ("outcomes._done", "never if tasks", REFUSED),
    ("outcomes._done", "drop operand left", REFUSED),
    ("baton.fitted", "never if len", f"{BATON}::test_what_does_not_fit_is_left_out_line_by_line"),
)  # fmt: skip
