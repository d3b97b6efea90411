"""The checks of hooks: function, change, the test that fails then."""

from __future__ import annotations

ANEW = "tests/guards/test_ledger_anew.py"
HOOKS = "tests/guards/test_boot_beliefs.py"
KILLED = "tests/guards/test_killed.py"
ROOM = "tests/faults/test_full_disk_hook.py::test_only_what_makes_room_passes_on_a_full_disk"
SPELLING = (
    "tests/interfaces/agents/test_tools.py"
    "::test_a_field_that_names_a_file_counts_in_any_spelling_and_an_edit_without_one_is_refused"
)
SECOND = "tests/guards/test_second_look.py"

ROWS = (
    ("payload._field", "replace call lower -> name", SPELLING),
    ("payload._read_tool", "never if paths", SPELLING),
    # at the client's hook
    ("lifecycle.boot", "drop call fields", f"{HOOKS}::test_a_task_that_nobody_has_must_be_claimed_again_first"),
    ("briefing.text", "replace call first -> []", f"{HOOKS}::test_a_task_that_nobody_has_must_be_claimed_again_first"),
    ("hook._answer", "drop call use",
     "tests/guards/test_hooks_edits.py::test_a_tool_on_a_roles_list_is_refused_before_the_call_whatever_it_does"),
    # killed is killed
    ("hook._answer", "never if _may_be_killed",
     f"{KILLED}::test_every_call_of_a_killed_agent_is_refused_and_passes_once_it_is_revived"),
    ("_may_be_killed", "never return READ",
     f"{KILLED}::test_a_kill_by_another_machine_counts_here_after_ten_seconds_at_most"),
    ("hook._read", "drop operand is_due_far",
     f"{KILLED}::test_a_kill_by_another_machine_counts_here_after_ten_seconds_at_most"),
    ("hook._refuse", "drop call put",
     f"{KILLED}::test_a_kill_by_another_machine_counts_here_after_ten_seconds_at_most"),
    ("refuse_killed", "drop call remove", f"{KILLED}::test_a_mark_without_a_kill_costs_one_question_and_is_gone"),
    ("stop_marks.is_left", "replace subscript rpartition -> ''",
     f"{KILLED}::test_the_subagents_of_a_killed_agent_are_refused_too"),
    ("stops.mark", "replace set name -> {$0}",
     f"{KILLED}::test_an_agent_that_is_killed_under_its_name_or_another_id_is_refused_by_its_own_id"),
    ("SqliteStore._attempt", "drop call mark",
     f"{KILLED}::test_a_kill_whose_process_dies_right_after_the_commit_counts_at_every_hook"),
    ("Claude.merged", "replace call _without -> $1",
     "tests/interfaces/agents/test_approved.py::test_the_entry_of_an_earlier_init_is_replaced_by_the_list_and_all_else_stays"),
    ("prefixes", "always ifexp APPROVED",
     "tests/interfaces/agents/test_approved.py::test_no_client_runs_these_without_asking"),
    ("edit_call.allow", "drop call write",
     f"{SECOND}::test_a_hook_writes_once_into_the_ledger_and_a_refused_one_writes_what_it_saw"),
    ("edit_call._located", "drop assign top place",
     "tests/guards/test_hooks_shell.py::test_the_folder_that_a_workspace_without_git_lies_in_is_not_deleted_under_a_holder"),
    # a full disk
    ("hook._doubt", "drop operand _makes_room", ROOM),
    ("only_frees", "drop operand delete", ROOM),
    ("caller.begin", "drop call shorten",
     f"{ANEW}::test_the_ledger_of_an_agent_whose_client_tells_of_no_end_stays_short"),
    ("edit_call.allow", "always if _changed",
     f"{SECOND}::test_what_somebody_wrote_and_committed_before_the_claim_was_granted_has_to_be_read_first"),
    # what was once lost without a word
    ("hook._read", "always if blob", "tests/guards/test_two_agents.py::test_once_found"),
    ("open_targets._resources", "drop operand _temporary",
     "tests/guards/test_ordinary.py::test_what_is_put_among_temporary_files_passes_wherever_the_workspace_lies"),
    ("hook._doubt", "replace call _deny -> Answer(ALLOW)",
     "tests/guards/test_hooks.py::test_what_cannot_be_decided_is_refused_with_the_way_past_it"),
    # Files that an agent undoes by git are its own doing
    ("_name_undone", "drop call name",
     "tests/guards/test_hooks_audit.py::test_who_undoes_a_file_of_its_own_by_git_is_its_changer_and_may_go_on"),
    ("shell_call._note", "drop unaryop #2",
     "tests/guards/test_hooks_audit.py::test_who_undoes_a_file_of_its_own_by_git_is_its_changer_and_may_go_on"),
)  # fmt: skip
