"""What random plays of a fleet found: function, change, the test that fails then."""

from __future__ import annotations

FOUND = "tests/guards/test_found_by_fleets.py"
CHANGES = "tests/operations/guards/test_changes.py"
FOLDER = f"{FOUND}::test_a_folder_with_anothers_work_is_deleted_after_that_work_was_read"
LEFT = f"{FOUND}::test_what_a_client_left_in_the_background_is_not_laid_at_anothers_door"
LINK = f"{FOUND}::test_a_link_that_an_agent_replaces_is_its_work"
STAGED = f"{FOUND}::test_what_an_agent_staged_and_did_not_commit_is_its_work_also_after_its_end"
LONE = f"{FOUND}::test_a_lone_agents_own_programs_and_git_leave_nothing_to_be_read"
BROUGHT = f"{FOUND}::test_what_another_wrote_while_git_was_to_bring_back_a_file_is_kept_and_told"
PUT_BACK = f"{FOUND}::test_what_a_program_took_away_and_put_back_can_be_committed"
OWN = f"{FOUND}::test_who_sweeps_its_own_files_while_others_work_hears_of_no_doubt"
KIN = f"{FOUND}::test_who_loses_its_work_to_a_sweep_of_its_subagent_is_told_and_can_have_it_back"
MOVED = f"{FOUND}::test_a_file_in_a_folder_that_a_script_moved_is_still_its_writers_work"

PEOPLE = "tests/guards/test_people.py"
SWEPT = f"{PEOPLE}::test_a_sweep_leaves_what_a_person_changed_and_the_agent_has_not_read"
WHOSE = "tests/operations/guards/test_attribution.py"

ROWS = (
    ("State._changed", "never if NOBODY",
     "tests/operations/guards/test_ledger.py::test_what_is_thrown_away_may_be_the_work_of_any_that_may_have_made_it"),
    ("State._same", "replace call max -> 0", "tests/guards/test_two_agents.py::test_once_found"),
    ("_unseen", "drop operand suspects", "tests/guards/test_two_agents.py::test_once_found"),
    ("_unseen", "replace tuple beneath comprehension is_present -> $0.0",
     "tests/guards/test_two_agents.py::test_once_found"),
    ("owes", "drop operand #2",
     "tests/operations/guards/test_ledger.py::test_such_a_look_is_owed_by_every_open_call_while_a_program_of_another_agent_runs"),
    ("_first_fit", "drop operand #2 beneath if formats",
     f"{FOUND}::test_a_file_that_a_person_makes_where_an_agent_named_a_missing_one_is_not_the_agents"),
    ("Tree._judge", "never assign WHOLE",
     f"{PEOPLE}::test_what_an_agent_added_to_a_persons_unread_change_is_not_dropped_with_it"),
    ("attribution.judge", "replace call any could -> $1.2",
     f"{WHOSE}::test_a_formatter_is_done_within_seconds_after_the_edit_also_if_a_look_came_in_between"),
    ("_swept_trees", "never ifexp cwd", f"{PEOPLE}::test_a_working_tree_with_work_in_it_is_not_removed_by_force"),
    ("edit_call.facts_of", "replace boolop SAME _makers -> $0 and change is not None and (change.actor != $1.1.0.1.0)",
     f"{PEOPLE}::test_a_persons_change_is_settled_by_reading_and_editing_also_after_an_edit_that_merged"),
    ("UnfinishedWork.is_at_work", "replace attribute is_present -> True",
     f"{PEOPLE}::test_a_lone_agent_changes_the_branch_with_work_of_an_ended_session_there"),
    ("shell_call._give_back", "replace importfrom -> from dibs.operations.guards.audits import AUDIT as GIVE_BACK",
     f"{FOUND}::test_a_refused_command_swallows_no_message"),
    ("shell_call._decided", "drop assign _loose", SWEPT),
    ("Tree.unread", "drop operand last", SWEPT),
    ("UnreadChange.is_in_the_way", "drop boolop is_later",
     f"{PEOPLE}::test_what_a_person_left_before_the_agent_began_goes_and_can_be_brought_back"),
    ("UnreadChange.is_in_the_way", "drop operand drops",
     f"{PEOPLE}::test_what_takes_in_or_moves_no_file_passes_with_a_persons_changes_there"),
    ("UnreadChange.is_in_the_way", "drop operand own",
     f"{PEOPLE}::test_what_a_person_left_in_a_working_tree_goes_with_it_only_after_a_read"),
    ("shell_guard._in_the_way", "drop assign dropped shared_tree",
     f"{PEOPLE}::test_what_a_person_left_before_the_agent_began_goes_and_can_be_brought_back"),
    ("_unseen", "drop call append",
     f"{PEOPLE}::test_what_a_person_left_before_the_agent_began_goes_and_can_be_brought_back"),
    ("_unfinished_within", "drop starred #2",
     f"{PEOPLE}::test_a_folder_goes_only_after_what_a_person_made_in_it_was_read"),
    ("shell_call._decided", "replace argument #3 beneath assign _owned #1 -> known",
     f"{PEOPLE}::test_a_sweep_in_another_working_tree_leaves_what_lies_there"),
    ("_in_tree", "replace call _all_unseen -> $2.2[0][1]",
     f"{FOUND}::test_all_files_of_a_folder_that_have_to_be_read_first_are_named_at_once"),
    ("_swept", "drop assign values", f"{FOUND}::test_a_file_in_a_folder_is_named_once_in_a_refusal"),
    ("Tree._note", "drop operand _is_recent",
     f"{FOUND}::test_what_another_agent_staged_before_any_look_is_still_its_makers_work"),
    ("edit_call.allow", "drop call extend", FOLDER),
    ("guards.edit_call._note", "drop call beneath if tree",
     f"{FOUND}::test_who_deletes_a_folder_is_the_one_who_deleted_the_files_in_it"),
    ("tool_call._after", "drop operand background", LEFT),
    ("edit_call._link", "replace name MERGES -> write.how",
     f"{FOUND}::test_nobody_is_asked_to_read_a_link_that_can_only_be_read_through"),
    ("edit_call._located", "drop call append #1", LINK),
    ("edit_call._located", "drop if ITSELF", f"{FOUND}::test_who_replaces_a_link_needs_nothing_of_the_file_that_it_leads_to"),
    ("is_clean", "drop operand _STAGED", STAGED),
    ("Tree._note", "drop assign PLAIN", STAGED),
    ("Tree._learn", "drop operand contents",
     f"{FOUND}::test_who_undoes_its_change_of_what_it_never_read_has_still_to_read_it"),
    ("Tree._learn", "drop name GIT", LONE),
    ("State._changed", "replace operand BASE -> $0 == $1.0", LONE),
    ("_name_undone", "never ifexp _brought", BROUGHT),
    ("GitFootprint.restore", "always ifexp has", OWN),
    ("GitFootprint.clean", "drop call undo", OWN),
    ("stash", "drop call undo HEAD", OWN),
    ("Tree._is_foreign", "drop operand BACK",
     f"{FOUND}::test_what_git_brings_back_has_to_be_read_by_who_has_never_seen_it"),
    ("_victims", "drop starred related",
     f"{FOUND}::test_who_has_work_in_a_file_that_another_holds_hears_that_a_person_changed_it"),
    ("attribution.judge", "never if how any", MOVED),
    ("attribution._moved", "always ifexp owners", MOVED),
    ("state._is_plain", "never if actor", KIN),
    ("changes._tell_change", "drop operand all",
     f"{CHANGES}::test_work_of_a_relative_that_is_thrown_away_does_not_hide_it_from_the_holder"),
    ("changes._tell_change", "replace list beneath assign victims -> $0.0",
     f"{CHANGES}::test_of_several_owners_whose_work_is_thrown_away_relatives_and_others_are_told"),
    ("changes._tell_change", "drop assign _is_gone #1",
     f"{FOUND}::test_a_subagent_at_work_is_told_what_its_parent_took_away_and_an_ended_one_is_not"),
    ("is_drop", "drop operand how", f"{FOUND}::test_relatives_continue_each_others_work_without_a_word"),
    ("State._changed", "drop operand #2 beneath if _is_plain", PUT_BACK),
    ("changes._tell_change", "drop call _put_back", PUT_BACK),
    ("attribution._suspects", "drop unaryop #1 beneath if containing assign could",
     f"{WHOSE}::test_a_content_that_a_call_announced_and_a_look_after_its_end_did_not_find_is_not_its_doing"),
    ("Tree._note", "drop boolop #1 beneath if containing expr keep",
     f"{FOUND}::test_a_large_file_that_is_staged_and_not_committed_is_kept"),
    ("guards.edit_call._note", "never assign MISSING", "tests/guards/test_two_agents.py::test_once_found"),
    ("Tree._note", "drop assign content #2", f"{FOUND}::test_a_large_file_that_git_has_is_nobodys_work"),
)  # fmt: skip
