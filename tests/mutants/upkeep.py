"""The checks of upkeep: function, change, the test that fails then."""

from __future__ import annotations

ARCHIVES = "tests/client/test_log_archives.py"
RETENTION = "tests/operations/upkeep/test_log_retention.py"
BOUNDS = "tests/faults/test_backlog_bounds.py"
DEATHS = "tests/operations/upkeep/test_deaths.py"
WAITING = "tests/operations/claims/test_waiting.py"

ROWS = (
    ("_problem", "never if digest_and_size", f"{ARCHIVES}::test_who_reads_the_log_is_told_which_events_are_lost"),
    ("last_of", "drop operand events #2", f"{ARCHIVES}::test_who_reads_the_log_is_told_which_events_are_lost"),
    ("check.gathered", "drop call recall",
     f"{ARCHIVES}::test_a_finding_whose_event_was_archived_keeps_its_number_and_its_settlement"),
    ("log_retention._planned", "never if containing assign span",
     f"{RETENTION}::test_what_is_younger_than_the_retention_stays_whoever_asks"),
    # who died is told, once
    ("_end_dead_claims", "drop call tell", f"{DEATHS}::test_a_dead_agent_is_told_to_the_coordinator_of_its_run_once"),
    ("sweeps._one_sweep", "replace subscript take_step -> [job for job in $0 if not $1.0.0($1.0.1, job)]",
     f"{BOUNDS}::test_a_sweep_takes_one_step_of_one_job"),
    ("_end_dead_claims", "drop if containing expr delete_sweep_place",
     f"{WAITING}::test_sweeps_look_at_all_agents_one_after_the_other"),
    ("sweeps._one_sweep", "drop operand any", RETENTION),
    # nothing leaves the store but for the archive that has it
    ("log_retention._pruned", "never if containing raise Invalid", f"{RETENTION}::test_no_event_leaves_without_its_archive"),
    ("log_retention._pruned", "replace compare last -> $0.0 != $1.0",
     f"{RETENTION}::test_no_event_leaves_without_its_archive"),
    ("log_retention._pruned", "drop operand seq", f"{RETENTION}::test_no_event_leaves_without_its_archive"),
    # in pieces, and whole after each of them
    ("_drop_piece", "replace call min -> $1",
     f"{RETENTION}::test_no_transaction_drops_more_events_than_a_piece_and_sweeps_ask_for_the_rest"),
    ("log_retention._pruned", "drop operand begun",
     f"{RETENTION}::test_no_transaction_drops_more_events_than_a_piece_and_sweeps_ask_for_the_rest"),
    ("log_retention._is_old", "drop operand begun",
     f"{ARCHIVES}::test_a_prune_that_was_cut_short_is_continued_by_the_next_sweep_whatever_the_config_says_then"),
    ("log_retention._planned", "drop operand dropped",
     f"{ARCHIVES}::test_a_prune_that_was_cut_short_is_continued_by_the_next_sweep_whatever_the_config_says_then"),
    ("verify_store", "replace argument #4 beneath assign _all -> 0",
     f"{ARCHIVES}::test_many_events_leave_in_pieces_and_the_log_is_whole_after_each"),
    ("LogReader.events", "replace call max seq -> $1",
     f"{ARCHIVES}::test_many_events_leave_in_pieces_and_the_log_is_whole_after_each"),
    ("LogReader.archived", "drop if seq",
     f"{ARCHIVES}::test_many_events_leave_in_pieces_and_the_log_is_whole_after_each"),
    ("_is_whole", "replace boolop execute -> first - 1",
     "tests/stores/test_foreign_close.py::test_a_database_whose_old_events_were_dropped_in_part_is_taken_over"),
    ("log_archives._pack", "never if seq link", f"{ARCHIVES}::test_a_damaged_log_is_not_pruned"),
    ("Expected.problem", "replace compare digest -> $0",
     f"{ARCHIVES}::test_a_changed_or_missing_archive_is_one_finding"),
    # a lost archive is a finding until a person settles that very one; readers of the log read archives
    ("blame_gaps", "replace operand LOST_ARCHIVE -> $1",
     f"{ARCHIVES}::test_a_person_settles_a_lost_archive_and_the_log_says_so"),
    ("subscription_delivery._page", "drop return beneath if seq",
     f"{ARCHIVES}::test_an_agent_s_subscription_is_delivered_from_archives_and_a_lost_one_is_told"),
    ("compare_archives", "never if is",
     f"{ARCHIVES}::test_an_archive_that_the_store_does_not_name_any_more_is_a_finding"),
    ("log_upkeep.prune", "drop call _refuse", f"{ARCHIVES}::test_who_may_not_prune_writes_no_archive"),
    ("old_tasks.some", "never if _is_needed", "tests/operations/tasks/test_old_tasks.py"),
)  # fmt: skip
