"""The checks of near and far callers: function, change, the test that fails then."""

from __future__ import annotations

FAR = "tests/server/test_far.py"
SERVED = "tests/server/test_served.py"
NEAR = "tests/server/test_near.py"
ONCE = f"{NEAR}::test_a_server_that_dies_or_stops_in_mid_request_has_it_done_once_with_the_same_answer"
DRIVER = "tests/client/test_driver.py"
LINES = f"{NEAR}::test_a_line_that_is_no_request_is_told_so_and_the_next_one_is_answered"

ROWS = (
    ("with_token", "replace dict TOKEN -> {$0: $2}",
     "tests/server/test_far.py::test_a_command_under_a_claim_asks_dibs_with_the_credential_and_has_the_claim_s_token"),
    # a request is done once
    ("entry.perform", "always if _credential_refusal", f"{ONCE}[after-KILL-send]"),
    ("exchanges.once", "replace boolop Continue touched -> $0.0 and $0.1 and $1", f"{ONCE}[after-KILL-task add]"),
    ("SocketLink.attempt", "replace tuple number -> None", f"{ONCE}[after-KILL-release]"),
    ("FarLink.attempt", "replace list beneath dict via -> [$0, $1 + $2.0, False]",
     f"{FAR}::test_an_answer_that_is_lost_on_the_way_is_asked_again_and_done_once[after]"),
    ("carry_on", "replace assign via #1 -> via = call.exchange",
     f"{DRIVER}::test_jobs_do_not_run_under_the_name_of_the_request_that_left_them"),
    ("Driver.after", "never if MAX_ROUNDS",
     f"{DRIVER}::test_an_operation_that_always_lacks_a_fact_ends_unavailable"),
    ("Driver.after", "drop assign rounds #1",
     f"{DRIVER}::test_work_in_parts_may_take_more_attempts_than_rounds"),
    # what nobody got is taken back
    ("SocketLink.recall", "always if",
     f"{NEAR}::test_a_command_that_is_interrupted_while_the_server_is_stopped_leaves_nothing[after]"),
    ("SocketPort._answer", "never operand withdraws", f"{NEAR}::test_a_grant_that_its_caller_never_got_is_withdrawn"),
    # who may ask, and what a line may say
    ("SocketPort.start", "replace constant beneath call umask -> 73", f"{NEAR}::test_the_socket_is_for_its_user_alone"),
    ("received", "never operand #1 beneath if _composed", LINES),
    ("RequestDecider.read", "never if _store_named", LINES),
    ("socket_of", "always operand build", f"{NEAR}::test_a_left_over_file_and_another_build_are_passed_by"),
    # far callers
    ("_make_known", "drop assign containing attribute credential",
     f"{FAR}::test_an_agents_credential_speaks_for_that_agent_and_its_subagents_alone"),
    ("_private_text", "drop operand st_mode", f"{FAR}::test_a_credential_comes_from_a_private_file_alone"),
    ("far.connection.parse", "never if LOOPBACK",
     f"{FAR}::test_http_is_for_loopback_alone_and_no_credential_stands_in_a_url"),
    ("opening.open_store", "drop call write_pin", f"{FAR}::test_another_store_than_the_pinned_server_is_refused"),
    ("_check_presence", "never compare has_gone",
     f"{SERVED}::test_a_server_that_was_stopped_does_nothing_for_far_callers_who_have_given_up"),
    ("wait_loop._wait_for", "always unaryop beneath boolop since_boot",
     f"{SERVED}::test_a_far_caller_that_waits_keeps_asking_for_as_long_as_its_place_in_line_lasts"),
)  # fmt: skip
