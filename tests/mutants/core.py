"""The checks of core: function, change, the test that fails then."""

from __future__ import annotations

AGENTS = "tests/operations/agents/test_agents.py"
BACKLOG = "tests/operations/core/test_backlog.py"
CLAIMS = "tests/operations/claims/test_claims.py"
CONTRACT = "tests/operations/core/test_contract.py"
LISTINGS = "tests/operations/core/test_listings.py"
NAMES = "tests/operations/agents/test_names.py"
ODD = "tests/interfaces/python/test_odd_values.py"
VERIFY = "tests/workers/test_task_verify.py"

ROWS = (
    ("entry._write", "drop operand _rank_refusal",
     "tests/operations/core/test_authority.py::test_a_refusal_is_in_the_log_and_names_who_could"),
    ("_rank_refusal", "replace boolop RANKS -> $0 and $1",
     "tests/operations/core/test_authority.py::test_each_rank_may_what_is_declared_and_what_those_below_it_may"),
    ("authority.refusal", "always if RANKS #1",
     "tests/operations/core/test_authority.py::test_each_rank_may_what_is_declared_and_what_those_below_it_may"),
    ("authority.refusal", "never if containing boolop RANKS",
     "tests/operations/core/test_authority.py::test_a_task_is_called_off_by_who_added_it_or_has_it"),
    ("authority.refusal", "replace call any -> bool($1.2)",
     "tests/operations/core/test_authority.py::test_a_task_is_called_off_by_who_added_it_or_has_it"),
    ("comes_from_agent", "drop operand shell_owner",
     "tests/operations/agents/test_speech.py::test_a_commands_words_are_judged_by_the_same_rule"),
    ("comes_from_agent", "never boolop is_program",
     "tests/operations/core/test_authority.py::test_an_agent_without_a_role_is_an_agent_and_a_caller_without_a_client_above_is_a_person"),
    ("_who_could", "replace filter RANKS -> $2",
     "tests/operations/core/test_authority.py::test_a_refusal_names_nobody_who_is_dead_killed_or_left"),
    ("_who_could", "drop filter alive",
     "tests/operations/core/test_authority.py::test_a_refusal_names_nobody_who_is_dead_killed_or_left"),
    ("entry._write", "never if registers",
     "tests/operations/agents/test_forgetting.py::test_who_only_asks_is_not_registered_and_a_person_is_shown_as_one"),
    ("entry._write", "drop call _refuse_misspelt_name",
     "tests/operations/agents/test_names.py::test_a_new_agent_that_is_named_almost_like_a_known_one_is_questioned_until_it_boots"),
    ("_check_item", "always ifexp check",
     "tests/operations/core/test_internal.py::test_an_odd_value_in_a_nested_field_is_refused"),
    ("checked", "replace call check -> $1",
     f"{CONTRACT}::test_an_operation_holds_its_request_to_the_declaration_whatever_the_door"),
    ("checked", "replace assign by_name -> found, fields = {}, self.by_name", f"{CONTRACT}::test_the_declared_default_is_what_a_body_gets"),
    ("_is_resource", "replace name Canonical -> list",
     f"{CONTRACT}::test_an_operation_holds_its_request_to_the_declaration_whatever_the_door"),
    ("declare._is_number", "drop operand bool", f"{ODD}::test_a_wrong_kind_is_invalid_with_the_fields_name"),
    ("json_values._check_text", "never if is_text", f"{ODD}::test_a_wrong_kind_is_invalid_with_the_fields_name"),
    ("entry._write", "replace filter beneath if request -> $0 != 'wait'",
     f"{VERIFY}::test_a_retry_with_the_same_request_id_runs_nothing_again"),
    ("covering", "never if FINAL_STATES", f"{BACKLOG}::test_what_lies_below_a_task_that_was_over_before_is_left_alone"),
    # a job is gone on with
    ("is_abandoned", "never return ABANDONED_MS",
     f"{BACKLOG}::test_whoever_takes_a_task_goes_on_with_a_job_that_was_abandoned"),
    ("is_abandoned", "always return ABANDONED_MS", f"{BACKLOG}::test_a_job_in_hand_is_left_to_whoever_has_it"),
    ("long_jobs._put", "drop call put_job", f"{BACKLOG}::test_a_tree_is_called_off_in_steps_and_the_answer_counts_all"),
    ("paging.read", "never if MAX_ROWS_READ",
     f"{LISTINGS}::test_a_page_that_has_looked_at_many_rows_in_vain_says_that_there_is_more"),
    ("call.related", "replace boolop startswith -> $1.0($0.1) or $2.0($0.0)",
     f"{CLAIMS}::test_ancestors_and_descendants_do_not_block_each_other_but_siblings_do"),
    ("_is_fenced", "never return client",
     f"{AGENTS}::test_after_that_the_earlier_process_is_fenced_and_the_new_one_acts"),
    # Promise 6: nothing is lost, nothing happens twice
    ("entry._write", "drop return _same_answer",
     f"{CLAIMS}::test_the_same_request_id_gets_the_same_answer_and_no_second_effect"),
    ("_same_answer", "never if digest",
     f"{CLAIMS}::test_a_request_id_belongs_to_one_agent_one_operation_and_one_request"),
    # The kill switch
    ("_killed_or_fenced", "never if killed", f"{AGENTS}::test_kill_voids_everything_of_the_agent_and_its_subagents"),
    ("check_agent_id", "never if RESERVED", f"{AGENTS}::test_nobody_is_called_by_a_word_that_means_somebody_else"),
    ("entry._enter", "never operand is", f"{NAMES}::test_who_calls_under_a_name_is_the_agent_that_has_it"),
    ("say_blocked", "drop operand wanted get",
     "tests/operations/agents/test_names.py::test_a_refusal_names_what_was_asked_for_where_something_larger_is_held"),
    # what is no text and no number
    ("entry.perform", "drop call _check_caller",
     "tests/operations/core/test_plain_words.py::test_so_is_the_name_of_the_caller"),
)  # fmt: skip
