"""The checks of stores: function, change, the test that fails then."""

from __future__ import annotations

EVERY_GROUP = (
    "tests/stores/test_interrupts.py::test_an_interrupt_in_a_group_leaves_all_of_it_or_nothing_and_nobody_waiting"
)
EVERYWHERE = (
    "tests/stores/test_interrupts.py::test_an_interrupt_in_a_transaction_leaves_nothing_half_done_and_nobody_waiting"
)
FOREIGN = "tests/stores/test_foreign_close.py"
INTERRUPTS = "tests/stores/test_interrupts.py"
MOVES = "tests/stores/opening/test_store_move.py"
REDIS_FAULTS = "tests/faults/test_redis_faults.py"
SPEED = "tests/stores/test_redis_speed.py"
SQLITE = "tests/stores/test_sqlite.py"
STORES = "tests/stores"
SWEPT = "tests/interfaces/install/test_swept.py"
WAITING = "tests/stores/test_interrupts.py::test_an_interrupt_while_the_gate_is_waited_for_leaves_no_lock_no_timer_and_no_handler"

GROUPS = "tests/stores/test_groups.py"
CONFORMANCE = "tests/stores/test_conformance.py"

ROWS = (
    # own writes win over what was prefetched, and a prefetch changes no answer
    ("_Transaction._wrote", "drop call remove", CONFORMANCE),
    ("_Transaction._wrote", "drop assign _texts", CONFORMANCE),
    ("RedisTransaction._text", "replace ifexp -> $1", CONFORMANCE),
    ("BaseTransaction._page_of", "never assign more", CONFORMANCE),
    ("BaseTransaction._page_of", "always if more", CONFORMANCE),
    ("seam._covers", "drop operand low", CONFORMANCE),
    ("clock.ahead", "always if before",
     "tests/machine/test_clock.py::test_a_store_s_first_event_has_the_time_of_day_though_its_process_was_interrupted[2]"),
    # several transactions, one commit: own numbers, own refusals, answered when durable
    ("_Member.drop", "drop call sql ROLLBACK", CONFORMANCE),
    ("group._attempt", "drop call _end", GROUPS),
    ("group._decided", "replace assign keep -> $1.0; $0.1 = $1.1",
     f"{GROUPS}::test_a_group_on_sqlite_does_what_its_functions_do_one_by_one"),
    ("sqlite.group._committed", "replace name beneath attribute number -> done[-1][0]",
     f"{GROUPS}::test_a_group_on_sqlite_does_what_its_functions_do_one_by_one"),
    ("group._attempt", "never if MAX_CLOCK_AGE_MS", CONFORMANCE),
    ("group._attempt", "replace constant #2 -> -1",
     f"{GROUPS}::test_the_oldest_clock_of_a_group_decides_whether_it_is_run_again"),
    ("_Member._may_write", "drop call _refuse_outside",
     f"{GROUPS}::test_an_error_of_sqlite_that_rolled_back_everything_is_the_outcome_of_all"),
    ("_Member.keep", "drop call _refuse_outside",
     f"{GROUPS}::test_an_error_of_sqlite_that_rolled_back_everything_is_the_outcome_of_all"),
    ("group._decided", "never if MAX_GROUP_MS",
     f"{GROUPS}::test_a_group_that_takes_long_is_divided_into_several_commits"),
    ("group._attempt", "drop call leave",
     f"{GROUPS}::test_nobody_is_woken_and_the_gate_remembers_nothing_before_the_commit"),
    ("sqlite.group.run", "replace assign error -> raise",
     f"{GROUPS}::test_a_commit_that_fails_is_the_outcome_of_all_and_nothing_is_kept"),
    ("SqliteStore._end", "replace call unknown_outcome -> $1",
     "tests/stores/test_sqlite.py::test_a_failed_fsync_of_a_commit_is_answered_as_unknown"),
    ("SqliteStore._run", "replace name MAX_STALE_RUNS -> 32",
     "tests/stores/test_sqlite.py::test_a_transaction_that_is_too_slow_is_given_up_after_a_few_runs"),
    ("APPLY", "text 'entry(arg()), entry(arg()' -> 'arg(), arg('", "tests/stores/test_conformance.py"),
    ("SqliteStore._check", "drop call mend", f"{FOREIGN}::test_a_program_that_only_looks_damages_nothing"),
    ("SqliteStore._close", "drop call note",
     f"{FOREIGN}::test_after_dibs_itself_has_closed_it_a_wrong_checksum_is_damage"),
    ("SqliteStore.close", "replace call call -> $0.0.0._close()",
     f"{SQLITE}::test_a_close_waits_for_what_another_thread_does_with_the_store"),
    ("SqliteStore._close", "replace call call -> $0.0.0.close()",
     f"{SQLITE}::test_a_close_waits_for_what_another_thread_does_with_the_store"),
    ("_abandon", "never if _is_closed", f"{SQLITE}::test_a_close_waits_for_what_another_thread_does_with_the_store"),
    ("Wakes.close", "drop call wake", f"{SQLITE}::test_a_close_wakes_a_thread_that_waits"),
    ("abandon", "never if is_closed", f"{SQLITE}::test_a_close_waits_for_what_another_thread_does_with_the_store"),
    ("_mend", "drop operand CLOSED", f"{FOREIGN}::test_after_dibs_itself_has_closed_it_a_wrong_checksum_is_damage"),
    ("SqliteStore.look", "always if may_explain",
     f"{FOREIGN}::test_a_look_waits_for_the_process_that_makes_the_checksums_anew"),
    ("_mend", "drop call note MENDING",
     f"{FOREIGN}::test_after_a_process_was_killed_that_made_the_checksums_anew_the_next_one_does_it"),
    ("_is_whole", "never if beneath for execute", f"{FOREIGN}::test_what_the_log_does_not_have_is_not_taken_over"),
    ("_is_whole", "always return ==", f"{FOREIGN}::test_a_log_that_was_cut_is_not_taken_over"),
    ("SqliteStore._looked", "never if is_another",
     f"{GROUPS}::test_a_look_does_not_wait_for_a_group_of_another_thread"),
    ("MemoryStore._member", "drop call undo", CONFORMANCE),
    ("_Group.undo", "drop assign _head", EVERY_GROUP),
    ("Group.is_exact", "never assign is_exact",
     f"{GROUPS}::test_a_group_on_redis_has_right_numbers_although_an_unrelated_commit_comes_between"),
    ("filled", "drop operand COMMIT_TEXT", CONFORMANCE),
    ("_Member.wrote", "drop operand error", CONFORMANCE),
    ("APPLY", "text ' number = whole(before + commit)\\n  for n = 1, tonumber(arg()) do\\n    local k' -> ' for n = 1, tonumber(arg()) do\\n    local k'",
     f"{GROUPS}::test_a_group_on_redis_does_what_its_functions_do_one_by_one"),
    # the times of a thing do not flicker
    ("_wall_offset", "always ifexp _offset",
     "tests/interfaces/python/test_python.py::test_the_times_of_a_thing_are_the_same_in_every_answer"),
    # Promise 3 and 4: kept when answered, all or nothing
    ("SqliteStore._attempt", "never attribute beneath keyword touched", STORES),
    ("_refuse_other", "never if !=", "tests/stores/test_sqlite.py"),
    ("_refuse_replaced", "never if _file", "tests/stores/test_sqlite.py"),
    ("SqliteStore._attempt", "replace constant ROLLBACK -> 'COMMIT'", f"{STORES}/test_conformance.py"),
    ("SqliteStore._attempt", "never if MAX_CLOCK_AGE_MS", f"{STORES}/test_conformance.py"),
    ("_refuse_other", "never if containing raise commit", "tests/stores/test_sqlite.py"),
    ("check_schema", "never if MIGRATIONS", "tests/stores/test_sqlite.py"),
    ("SqliteStore._check", "text 'FULL' -> 'OFF'", "tests/stores/test_sqlite.py"),
    ("MemoryStore._run", "replace if _open -> $0.0 = None", f"{STORES}/test_conformance.py"),
    # Promise 8: the log
    ("link_of", "drop formattedvalue #1", "tests/verify/test_verify.py"),
    ("_Transaction.prune", "drop call sql DELETE seals", f"{STORES}/test_conformance.py"),
    # One store is in charge, before, while and after a workspace is moved
    ("SqliteStore._begin", "drop call refuse_write", f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    ("_refuse_other", "drop call refuse", f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    ("give_up.mark", "drop operand commits", f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    ("scripts.CHECK", 'text "head[10] then return {\'moved\', head[10]} end\\nif " -> \'\'',
     f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    ("GIVE_UP", "text 'head[1] ~= ARGV[2] or ' -> ''", f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    ("SqliteSide.stage", "replace binop now -> 0", f"{MOVES}::test_any_contents_are_the_same_on_the_other_side"),
    ("Gate.leave", "drop call _keep",
     f"{SWEPT}::test_an_older_copy_of_all_that_lies_in_the_workspaces_folder_is_noticed"),
    ("gate._read", "always ifexp MAX_COMMIT", f"{SWEPT}::test_a_damaged_memory_locks_nobody_out"),
    # a short WAL
    ("_empty_wal", "replace attribute SQLITE_CHECKPOINT_TRUNCATE -> $0.SQLITE_CHECKPOINT_PASSIVE",
     f"{SQLITE}::test_the_wal_of_processes_that_come_one_after_another_stays_short"),
    ("_empty_wal", "drop call set_busy_timeout #1",
     f"{SQLITE}::test_a_wal_that_somebody_reads_is_left_for_later_without_waiting"),
    # an interrupt at any bytecode
    ("Turns._wait", "never if ended",
     f"{INTERRUPTS}::test_a_turn_whose_thread_ended_without_giving_it_back_is_taken_by_the_next"),
    ("_Turn.ended", "never if frame",
     f"{INTERRUPTS}::test_threads_take_turns_and_one_that_is_inside_is_waited_for_and_not_pushed_aside"),
    ("Turns._wait", "never if _nested",
     f"{INTERRUPTS}::test_a_call_inside_a_call_of_the_same_thread_is_refused_at_once_and_harms_neither"),
    ("SqliteStore._run", "drop call _repair",
     f"{INTERRUPTS}::test_an_interrupt_at_every_bytecode_of_the_sqlite_engine_keeps_no_other_process_out"),
    ("MemoryStore._repair", "always if _head", EVERYWHERE),
    ("MemoryTransaction.undo", "never if _torn", EVERYWHERE),
    ("Connection.call", "drop operand _asking",
     f"{INTERRUPTS}::test_an_answer_to_a_call_that_was_interrupted_is_not_taken_for_the_next_ones"),
    ("helper", "replace if waits -> taken.acquire()", WAITING),
    ("_timed", "drop name TIMER_INTERVAL_S",
     f"{INTERRUPTS}::test_a_timer_whose_first_ring_is_lost_before_the_kernel_waits_still_ends_the_wait"),
    ("_on_timer", "always if f_code",
     f"{INTERRUPTS}::test_a_timer_that_was_left_behind_rings_for_nobody_and_its_handler_is_known_as_ours"),
    ("SqliteStore._plain", "never if UnicodeEncodeError",
     "tests/stores/test_sqlite.py::test_only_the_file_is_called_damaged_never_what_an_operation_did"),
    # an older state was put back
    ("scripts.READ", "text 'there[2][n + 1] ~= w_link' -> 'false'",
     f"{REDIS_FAULTS}::test_an_older_state_that_another_machine_went_on_from_is_noticed_by_whoever_saw_more"),
    # the server's clock
    ("RedisStore._take", "never if containing expr _hold_back",
     "tests/stores/test_redis.py::test_a_forward_jump_of_the_servers_clock_ends_nothing_early"),
    ("Pace._read", "always if boot",
     "tests/stores/test_redis.py::test_after_a_reboot_nothing_is_known_of_the_servers_clock"),
    # parts that are missing
    ("RedisStore._run", "drop call _refuse_missing error",
     "tests/stores/test_redis.py::test_a_key_that_was_evicted_is_missed_at_the_next_question"),
    ("RedisStore._run", "drop call beneath if touched",
     "tests/stores/test_redis.py::test_a_key_that_was_evicted_is_missed_at_the_next_question"),
    ("_refuse_replaced", "never if _found_beside",
     "tests/stores/test_sqlite.py::test_a_log_or_index_of_sqlite_removed_under_an_open_process_is_noticed"),
    # guesses decide nothing
    ("RedisStore._run", "drop continue beneath except Exception",
     f"{SPEED}::test_what_is_only_believed_is_never_answered_and_never_a_reason_to_refuse"),
    ("RedisStore._run", "drop continue beneath if touched",
     f"{SPEED}::test_what_is_only_believed_is_never_answered_and_never_a_reason_to_refuse"),
    ("RedisTransaction._ask", "never if signature",
     f"{SPEED}::test_a_later_read_brings_the_earlier_ones_again_in_the_same_trip"),
    ("RedisTransaction._ask", "always if containing assign key",
     f"{SPEED}::test_a_commit_between_two_of_many_reads_is_noticed"),
    ("RedisTransaction.fetch", "always if rows #1",
     f"{CONFORMANCE}::test_every_engine_conforms[rows_deleted_after_a_prefetch_that_was_cut_short_make_room_for_the_next-redis]"),
    ("RedisTransaction.fetch", "always if rows #2",
     f"{SPEED}::test_a_look_after_hundreds_of_deletions_finds_the_rows_that_are_left[fetch]"),
    ("RedisTransaction.scan", "always if len",
     f"{SPEED}::test_a_look_after_hundreds_of_deletions_finds_the_rows_that_are_left[scan]"),
    ("_has_reader", "always return ENXIO",
     "tests/stores/test_sqlite.py::test_the_pipe_of_a_process_that_died_is_removed_by_the_next_one_that_waits"),
    # a forked process gets no turn
    ("Turns.call", "drop call refuse_forked",
     "tests/stores/test_sqlite.py::test_a_forked_child_cannot_take_the_gate_from_its_parent"),
    ("Session.answer", "drop call refuse_forked",
     "tests/interfaces/python/test_forks.py::test_a_workspace_opened_before_a_fork_is_refused_after_it_on_every_store[redis]"),
    ("workspace", "drop call refuse_forked",
     "tests/interfaces/python/test_forks.py::test_a_workspace_of_tasks_is_refused_after_a_fork_at_once[sqlite]"),
    # deadlines: the store's answer, and the caller's monotonic clock from before the call
    ("Session.deadline", "replace ifexp wall_ahead -> clock.wall() - clock.since_boot()",
     "tests/interfaces/python/test_clock_skew.py::test_a_claim_lasts_as_long_as_the_store_says_whatever_the_time_of_day_is_here"),
    ("SocketLink.attempt", "replace name #2 beneath assign ahead -> clock.wall() - clock.since_boot()",
     "tests/interfaces/python/test_clock_skew.py::test_a_claim_lasts_as_long_as_the_store_says_whatever_the_time_of_day_is_here"),
    ("reach", "drop assign _ahead",
     "tests/interfaces/python/test_clock_skew.py::test_commands_under_a_claim_are_not_ended_by_the_time_of_day"),
    ("RedisStore._take", "replace attribute _asked_at beneath binop wall -> clock.since_boot()",
     "tests/interfaces/python/test_clock_skew.py::test_a_deadline_is_measured_from_before_the_question"),
    # two primaries: the one that was cut off confirms nothing, and their tokens differ
    ("tokens._confirm", "drop call certify",
     f"{REDIS_FAULTS}::test_a_primary_that_is_cut_off_neither_grants_nor_confirms_where_it_must_have_a_replica"),
    ("CERTIFY", 'text "redis.call(\'HSET\', KEYS[1], \'certified\', ARGV[2])\\nre" -> \'re\'',
     f"{REDIS_FAULTS}::test_a_primary_that_is_cut_off_neither_grants_nor_confirms_where_it_must_have_a_replica"),
    ("next_number", "drop assign FIRST_NUMBERS",
     f"{REDIS_FAULTS}::test_two_primaries_that_begin_in_the_same_second_do_not_give_the_same_tokens"),
    # what dibs needs of a server's memory is not dropped unnoticed, and a user without INFO notices a restart
    ("scripts.CHECK", 'text "if sized and head[15] and head[15] ~= whole(outcome_count()) then return {\'damaged\'} end\\n" -> \'\'',
     "tests/stores/test_redis.py::test_a_key_that_was_evicted_is_missed_at_the_next_question"),
    ("APPLY", 'text "id) or redis.call(\'HGET\', two, id" -> "\'x\'"',
     "tests/stores/test_redis.py::test_a_commit_whose_answer_was_lost_is_done_once_under_every_policy_of_eviction"),
    ("APPLY", 'text "UNLINK\', now_kept)\\n  redis.call(\'" -> \'\'',
     "tests/stores/test_redis.py::test_outcomes_are_kept_for_ten_minutes_and_no_longer_than_twenty"),
    ("_is_marked", "drop call command",
     "tests/stores/test_redis.py::test_a_user_who_may_not_ask_for_info_is_served_and_the_server_trusted_less"),
    ("epoch._new", "drop call _mark_run",
     "tests/stores/test_redis.py::test_a_user_who_may_not_ask_for_info_is_served_and_the_server_trusted_less"),
    # one connection to Redis, many threads: every command in a turn
    ("_with_retries", "replace call call -> $1($2)",
     "tests/stores/test_redis.py::test_no_thread_speaks_on_the_connection_in_anothers_turn"),
    ("RedisStore.close", "replace call call -> $1($2)",
     "tests/stores/test_redis.py::test_no_thread_speaks_on_the_connection_in_anothers_turn"),
    ("_learn_rows", "drop call update _prefixes",
     f"{SPEED}::test_a_range_of_more_rows_than_are_kept_is_guessed_wrong_at_most_once"),
    ("RedisTransaction._ask", "drop assign |",
     f"{SPEED}::test_what_a_wrong_guess_brought_is_kept_when_the_run_asks_for_more"),
)  # fmt: skip
