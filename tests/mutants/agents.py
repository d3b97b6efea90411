"""The checks of agents: function, change, the test that fails then."""

from __future__ import annotations

AGENTS = "tests/operations/agents/test_agents.py"
BACKLOG = "tests/operations/core/test_backlog.py"
BELIEFS = "tests/operations/agents/test_beliefs.py"
BOUNDS = "tests/faults/test_backlog_bounds.py"
MEMORIES = "tests/client/test_memories.py"
MESSAGES = "tests/operations/messages/test_messages.py"
NAMES = "tests/operations/agents/test_names.py"
ROLES = "tests/operations/agents/test_roles.py"
RULES = "tests/operations/agents/test_rules.py"
SPEECH = "tests/operations/agents/test_speech.py"
TAKING = "tests/operations/tasks/test_task_taking.py"
TURNS = "tests/operations/agents/test_turns.py"
KILL_END = "tests/interfaces/test_kill_end.py"

ROWS = (
    # `dibs kill --end` ends the client's process and no other
    ("ending.end", "never if alive", f"{KILL_END}::test_a_pid_that_another_process_has_by_now_is_not_touched"),
    ("_ending", "never if ancestors",
     f"{KILL_END}::test_a_person_does_not_end_the_client_that_the_command_runs_below"),
    # an agent's turns
    ("_stalled", "drop operand <",
     f"{TURNS}::test_a_stall_is_an_open_turn_without_hook_and_cpu_for_long_and_ends_with_the_next_call"),
    ("_may_stall", "drop operand seen",
     f"{TURNS}::test_a_stall_is_an_open_turn_without_hook_and_cpu_for_long_and_ends_with_the_next_call"),
    ("_may_stall", "drop operand in", f"{TURNS}::test_neither_who_waits_for_a_person_nor_who_is_idle_is_stalled"),
    ("agents.turns._turn", "always ifexp words_of", f"{TURNS}::test_by_config_no_word_of_a_prompt_is_stored"),
    ("_touched_record", "drop unaryop #3", f"{TURNS}::test_the_states_of_an_agent_follow_its_turn"),
    ("_touched_record", "always unaryop #3",
     f"{TURNS}::test_a_stall_ends_with_the_next_call_also_where_the_config_makes_it_short"),
    ("lifecycle.note", "drop call _be_due beneath if RESTING",
     "tests/guards/test_lunch_break.py::test_a_question_to_a_person_is_a_state_until_the_next_hook_of_any_kind"),
    ("departures._one", "never if _has_it",
     f"{AGENTS}::test_what_its_parent_holds_itself_is_not_held_twice_when_a_subagent_ends"),
    ("presence._boot", "replace call told -> None",
     "tests/guards/test_hooks_edits.py::test_a_workers_briefing_says_that_it_is_one_and_what_that_means"),
    ("_with_names", "never if Held",
     "tests/guards/test_person_acts.py::test_what_a_refusal_advises_a_person_works_as_typed"),
    # tasks in mind
    ("beliefs.tasks", "drop call append",
     f"{BELIEFS}::test_a_task_in_mind_that_another_has_is_named_with_its_holder_and_never_as_had"),
    ("beliefs._entry", "always compare NEVER_HELD",
     f"{BELIEFS}::test_a_task_in_mind_that_another_has_is_named_with_its_holder_and_never_as_had"),
    ("_is_said", "never return COMPLETE",
     f"{BELIEFS}::test_what_the_agent_finished_itself_is_no_loss_and_what_another_finished_is_named_as_complete"),
    ("_is_said", "drop operand related beneath boolop COMPLETE",
     f"{BELIEFS}::test_what_the_agent_finished_itself_is_no_loss_and_what_another_finished_is_named_as_complete"),
    ("_is_said", "never call related beneath boolop until",
     f"{BELIEFS}::test_a_task_at_work_in_the_agents_own_family_is_no_loss"),
    ("_is_said", "never if resources", f"{BELIEFS}::test_a_task_in_mind_that_the_agent_had_is_told_once_and_as_lost"),
    ("holder_of", "drop operand WATCH", f"{BELIEFS}::test_who_only_watches_does_not_hold_what_was_lost"),
    # losses by resource
    ("_by_holder", "never ifexp agent",
     f"{BELIEFS}::test_of_a_claim_on_several_each_resource_is_named_with_its_own_holder"),
    ("_by_holder", "drop operand all_covered",
     f"{BELIEFS}::test_of_a_claim_on_several_each_resource_is_named_with_its_own_holder"),
    ("beliefs.losses", "never ifexp _by_holder",
     f"{BELIEFS}::test_of_a_claim_on_several_each_resource_is_named_with_its_own_holder"),
    # another id
    ("aliases.adopt", "never if _is_present", f"{BELIEFS}::test_an_id_that_a_living_client_goes_by_stays_that_ones"),
    ("aliases._is_present", "never if killed", f"{BELIEFS}::test_the_id_of_a_killed_agent_is_no_way_around_the_kill"),
    ("aliases.adopt", "drop call _bring",
     f"{BELIEFS}::test_what_an_id_without_a_client_holds_and_lost_comes_along_under_new_tokens"),
    ("earlier_id", "drop operand client_type", f"{BELIEFS}::test_two_sessions_in_one_client_process_stay_two_agents"),
    ("presence._boot", "drop element #1 beneath assign adopt",
     f"{BELIEFS}::test_an_id_used_by_hand_in_the_client_process_before_its_hook_ran_is_the_sessions"),
    ("presence._change", "always ifexp same",
     f"{MEMORIES}::test_the_briefing_delivers_them_and_marks_what_changed_since_it_was_told"),
    ("roles.of", "never ifexp default",
     "tests/operations/core/test_authority.py::test_the_default_role_is_for_agents_and_a_person_has_a_role_only_by_name"),
    ("refusal_of_write", "never if VIEWER",
     "tests/operations/core/test_authority.py::test_a_viewer_does_not_even_write_to_a_scratch_folder"),
    ("presence._asks", "replace tuple orchestrator -> ('', $1.2)",
     "tests/operations/core/test_authority.py::test_an_agent_may_stop_its_own_subagents_and_neither_itself_nor_its_parent"),
    ("roles._use", "always if bans",
     "tests/guards/test_hooks_edits.py::test_a_tool_on_a_roles_list_is_refused_before_the_call_whatever_it_does"),
    ("forgotten.some", "never ifexp KILLED_LIFE_MS",
     "tests/operations/agents/test_forgetting.py::test_what_still_refers_to_an_agent_keeps_it"),
    ("forgotten.some", "drop filter KILLED_LIFE_MS",
     "tests/operations/agents/test_forgetting.py::test_one_that_left_is_forgotten_when_the_config_says_and_not_before"),
    ("forgotten.some", "always if _is_needed",
     "tests/operations/agents/test_forgetting.py::test_what_still_refers_to_an_agent_keeps_it"),
    ("forgotten.some", "drop filter alive",
     "tests/operations/agents/test_forgetting.py::test_one_whose_process_died_without_a_word_is_forgotten_and_one_that_lives_is_not"),
    ("is_listed", "always return left",
     "tests/operations/agents/test_forgetting.py::test_one_that_left_is_hidden_and_shown_where_all_are_asked_for"),
    # what is kept for those who will come reaches each of them, once; a message to all goes in bounded steps
    ("presence._started", "drop call _take_on_type",
     f"{MESSAGES}::test_a_message_for_a_type_reaches_every_agent_of_it_that_comes_before_it_expires"),
    ("departures.step", "always if at", f"{BACKLOG}::test_what_an_agent_claims_after_it_left_is_not_released"),
    ("departures.step", "replace call len resources -> 1",
     f"{BOUNDS}::test_leaving_with_many_claims_of_many_resources"),
    ("presence._move", "drop call move",
     f"{AGENTS}::test_a_boot_from_another_process_moves_the_claims_under_new_tokens"),
    ("refusal_of_write", "replace boolop startswith #3 -> $0.0($0.1.0)",
     f"{ROLES}::test_nobody_writes_into_dibs_own_record_but_into_its_own_scratch_folder"),
    ("roles.of", "drop break beneath if _speaks_of",
     f"{ROLES}::test_the_first_assignment_that_speaks_of_an_agent_wins"),
    ("beliefs.losses", "drop assign containing subscript told",
     f"{RULES}::test_a_loss_is_told_until_it_is_claimed_again_and_remembered_until_a_release"),
    ("departures.move", "drop call follow",
     f"{TAKING}::test_a_subagent_that_leaves_passes_its_task_to_its_parent_under_a_new_token"),
    # Whose shell it is
    ("speech.refusal", "always ifexp within", f"{SPEECH}::test_an_agents_shell_cannot_speak_as_another_agent"),
    ("shells_of", "drop operand get", f"{SPEECH}::test_what_a_program_starts_is_no_agents_shell"),
    ("_by_holder", "drop operand all_covered",
     "tests/guards/test_hooks.py::test_what_was_lost_and_is_claimed_again_is_not_told_any_more"),
    # Names
    ("names.give", "always assign ==",
     f"{NAMES}::test_no_two_agents_of_a_workspace_share_a_name_however_many_there_are"),
    ("names.give", "drop boolop #3", f"{NAMES}::test_a_name_is_never_somebody_elses_id"),
    ("_collect", "drop operand CALLER_VALUES", f"{NAMES}::test_values_that_somebody_wrote_are_left_as_they_are"),
)  # fmt: skip
