"""The checks of stores: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

EVERY_GROUP = (
    "tests/stores/test_interrupts.py::test_an_interrupt_in_a_group_leaves_all_of_it_or_nothing_and_nobody_waiting"
)
EVERYWHERE = (
    "tests/stores/test_interrupts.py::test_an_interrupt_in_a_transaction_leaves_nothing_half_done_and_nobody_waiting"
)
FOREIGN = "tests/stores/test_foreign_close.py"
INTERRUPTS = "tests/stores/test_interrupts.py"
MOVES = "tests/storage/test_store_move.py"
REDIS_FAULTS = "tests/faults/test_redis_faults.py"
SPEED = "tests/stores/test_redis_speed.py"
SQLITE = "tests/stores/test_sqlite.py"
STORES = "tests/stores"
SWEPT = "tests/doors/install/test_swept.py"
WAITING = "tests/stores/test_interrupts.py::test_an_interrupt_while_the_gate_is_waited_for_leaves_no_lock_no_timer_and_no_handler"

GROUPS = "tests/stores/test_groups.py"
CONFORMANCE = "tests/stores/test_conformance.py"

ROWS = (
    # several transactions, one commit: own numbers, own refusals, answered when durable
    ("stores/sqlite/group.py", '            self.sql("ROLLBACK TO one")\n', "",
     CONFORMANCE),
    ("stores/sqlite/group.py", '            store._sql("ROLLBACK" if last is None else "COMMIT")', "            pass", GROUPS),
    ("stores/sqlite/group.py", "                head, last = tx.keep(), tx\n",
     "                tx.keep()\n                last = tx\n",
     f"{GROUPS}::test_a_group_on_sqlite_does_what_its_functions_do_one_by_one"),
    ("stores/sqlite/group.py", "value = fill(value, tx.number)", "value = fill(value, done[-1][0].number)",
     f"{GROUPS}::test_a_group_on_sqlite_does_what_its_functions_do_one_by_one"),
    ("stores/sqlite/group.py", "            if clock.since_boot() + first.base - first.now > MAX_CLOCK_AGE_MS:",
     "            if False:", CONFORMANCE),
    ("stores/sqlite/group.py", "first = done[0][0]", "first = done[-1][0]",
     f"{GROUPS}::test_the_oldest_clock_of_a_group_decides_whether_it_is_run_again"),
    ("stores/sqlite/group.py", '            self._refuse_outside()\n            self.sql("SAVEPOINT one")\n',
     '            self.sql("SAVEPOINT one")\n',
     f"{GROUPS}::test_an_error_of_sqlite_that_rolled_back_everything_is_the_outcome_of_all"),
    ("stores/sqlite/group.py", "        self._refuse_outside()\n        seq, link", "        seq, link",
     f"{GROUPS}::test_an_error_of_sqlite_that_rolled_back_everything_is_the_outcome_of_all"),
    ("stores/sqlite/group.py", "        elif tx.now - first.now > MAX_GROUP_MS:", "        elif False:",
     f"{GROUPS}::test_a_group_that_takes_long_is_divided_into_several_commits"),
    ("stores/sqlite/group.py", "            gate.leave(last.number, last.store_id)\n", "            pass\n",
     f"{GROUPS}::test_nobody_is_woken_and_the_gate_remembers_nothing_before_the_commit"),
    ("stores/sqlite/group.py", "            outcomes += [(None, error)] * len(left)", "            raise",
     f"{GROUPS}::test_a_commit_that_fails_is_the_outcome_of_all_and_nothing_is_kept"),
    ("stores/sqlite/store.py", "                foreign_close.mend(self, inside=inside)\n", "                pass\n",
     f"{FOREIGN}::test_a_program_that_only_looks_damages_nothing"),
    ("stores/sqlite/store.py", "            self._gate.note(CLOSED)\n", "            pass\n",
     f"{FOREIGN}::test_after_dibs_itself_has_closed_it_a_wrong_checksum_is_damage"),
    ("stores/sqlite/foreign_close.py", "if gate.mark == CLOSED or not", "if not",
     f"{FOREIGN}::test_after_dibs_itself_has_closed_it_a_wrong_checksum_is_damage"),
    ("stores/sqlite/store.py", "if self._has_waited or not foreign_close.may_explain(error):", "if True:",
     f"{FOREIGN}::test_a_look_waits_for_the_process_that_makes_the_checksums_anew"),
    ("stores/sqlite/foreign_close.py", "    gate.note(MENDING)\n", "",
     f"{FOREIGN}::test_after_a_process_was_killed_that_made_the_checksums_anew_the_next_one_does_it"),
    ("stores/sqlite/foreign_close.py", "if number != before or said != chain:", "if False:",
     f"{FOREIGN}::test_what_the_log_does_not_have_is_not_taken_over"),
    ("stores/sqlite/foreign_close.py", "    return (before, chain) == (seq, link)\n", "    return True\n",
     f"{FOREIGN}::test_a_log_that_was_cut_is_not_taken_over"),
    ("stores/sqlite/store.py", "if reader is None and self._turns.is_another() and not self._is_short_lived:",
     "if False:", f"{GROUPS}::test_a_look_does_not_wait_for_a_group_of_another_thread"),
    ("stores/memory.py", "            tx.undo()\n            return tx, None, error", "            return tx, None, error",
     CONFORMANCE),
    ("stores/memory.py", "        self._store._head = self._head\n", "", EVERY_GROUP),
    ("stores/redis/group.py", "    is_exact = True", "    is_exact = False",
     f"{GROUPS}::test_a_group_on_redis_has_right_numbers_although_an_unrelated_commit_comes_between"),
    ("stores/redis/group.py", "text and text.replace(COMMIT_TEXT, number)", "text",
     CONFORMANCE),
    ("stores/redis/group.py", "return self.touched and self.error is None", "return self.touched",
     CONFORMANCE),
    ("stores/redis/scripts.py",
     "  number = whole(before + commit)\n  for n = 1, tonumber(arg()) do\n    local key",
     "  for n = 1, tonumber(arg()) do\n    local key",
     f"{GROUPS}::test_a_group_on_redis_does_what_its_functions_do_one_by_one"),
    # the times of a thing do not flicker
    ("stores/sqlite/store.py", "return measured if self._offset is None else self._offset", "return measured",
     "tests/doors/python/test_python.py::test_the_times_of_a_thing_are_the_same_in_every_answer"),
    # Promise 3 and 4: kept when answered, all or nothing
    ("stores/sqlite/store.py", 'self._sql("COMMIT" if tx.touched else "ROLLBACK")', 'self._sql("ROLLBACK")', STORES),
    ("stores/sqlite/store.py", "        if store_id and head[6] != store_id:", "        if False:",
     "tests/stores/test_sqlite.py"),
    ("stores/sqlite/store.py", "        if (found.st_dev, found.st_ino) != self._file:", "        if False:",
     "tests/stores/test_sqlite.py"),
    ("stores/sqlite/store.py",
     ('                    if connection.in_transaction:\n                        connection.execute("ROLLBACK")\n'
     "                except apsw.Error:\n                    pass  # the failed statement"),
     ('                    if connection.in_transaction:\n                        connection.execute("COMMIT")\n'
     "                except apsw.Error:\n                    pass  # the failed statement"),
     f"{STORES}/test_conformance.py"),
    ("stores/sqlite/store.py", "                if clock.since_boot() + tx.base - tx.now > MAX_CLOCK_AGE_MS:",
     "                if False:", f"{STORES}/test_conformance.py"),
    ("stores/sqlite/store.py", "        if head[0] < answered:", "        if False:", "tests/stores/test_sqlite.py"),
    ("stores/sqlite/database_file.py", "        if found > len(MIGRATIONS):", "        if False:",
     "tests/stores/test_sqlite.py"),
    ("stores/sqlite/store.py", 'self._sql("PRAGMA synchronous = FULL")', 'self._sql("PRAGMA synchronous = OFF")',
     "tests/stores/test_sqlite.py"),
    ("stores/memory.py", "                if self._open is tx:\n                    self._repair()\n",
     "                self._open = None\n", f"{STORES}/test_conformance.py"),
    # Promise 8: the log
    ("stores/seam.py", 'text = f"{previous}|{seq}|{commit}|{now}|{wall}|{digest}"',
     'text = f"{seq}|{commit}|{now}|{wall}|{digest}"', "tests/lookout/test_verify.py"),
    ("stores/sqlite/store.py", '        self.sql("DELETE FROM seals WHERE seq < ?", (through,))\n', "",
     f"{STORES}/test_conformance.py"),
    # One store is in charge, before, while and after a workspace is moved
    ("stores/sqlite/store.py",
     '            moved_mark.refuse_write(head[7], self.path, _Transaction(self, head, "", writes=False).now)\n',
     "            del moved_mark\n",
     f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    ("stores/sqlite/store.py", "            moved_mark.refuse(head[7], self.path)\n", "            del moved\n",
     f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    ("stores/move/sqlite_side.py", ' and head["commits"] == commit', "",
     f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    ("stores/redis/scripts.py", "if head[10] then return {'moved', head[10]} end\n", "",
     f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    ("stores/move/redis_side.py", "head[1] ~= ARGV[2] or not head[2]", "not head[2]",
     f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    ("stores/move/sqlite_side.py", "frozen.now - frozen.since_boot)", "0)",
     f"{MOVES}::test_any_contents_are_the_same_on_the_other_side"),
    ("stores/sqlite/gate.py", "                self._keep()\n", "",
     f"{SWEPT}::test_an_older_copy_of_all_that_lies_in_the_workspaces_folder_is_noticed"),
    ("stores/sqlite/gate.py", " if 0 <= commit < MAX_COMMIT else", " if True else",
     f"{SWEPT}::test_a_damaged_memory_locks_nobody_out"),
    # a short WAL
    ("stores/sqlite/store.py", "mode=apsw.SQLITE_CHECKPOINT_TRUNCATE", "mode=apsw.SQLITE_CHECKPOINT_PASSIVE",
     f"{SQLITE}::test_the_wal_of_processes_that_come_one_after_another_stays_short"),
    ("stores/sqlite/store.py", "            connection.set_busy_timeout(0)\n", "",
     f"{SQLITE}::test_a_wal_that_somebody_reads_is_left_for_later_without_waiting"),
    # an interrupt at any bytecode
    ("stores/turns.py", "            if first.ended():\n", "            if False:\n",
     f"{INTERRUPTS}::test_a_turn_whose_thread_ended_without_giving_it_back_is_taken_by_the_next"),
    ("stores/turns.py", "            if frame is self.frame:\n", "            if False:\n",
     f"{INTERRUPTS}::test_threads_take_turns_and_one_that_is_inside_is_waited_for_and_not_pushed_aside"),
    ("stores/turns.py", "                if not self._nested:\n", "                if False:\n",
     f"{INTERRUPTS}::test_a_call_inside_a_call_of_the_same_thread_is_refused_at_once_and_harms_neither"),
    ("stores/sqlite/store.py", "            self._repair()  # in case an interrupt hit the lines below that release\n",
     "", f"{INTERRUPTS}::test_an_interrupt_at_every_bytecode_of_the_sqlite_engine_keeps_no_other_process_out"),
    ("stores/memory.py",
     "            if isinstance(tx, _Group) or tx.number > self._head.commit:\n                tx.undo()\n",
     "            tx.undo()\n", EVERYWHERE),
    ("stores/memory.py", "        if store._torn:\n", "        if False:\n", EVERYWHERE),
    ("stores/redis/wire.py",
     "        if not self._connected or self._asking:\n            self._connect()\n        return",
     "        if not self._connected:\n            self._connect()\n        return",
     f"{INTERRUPTS}::test_an_answer_to_a_call_that_was_interrupted_is_not_taken_for_the_next_ones"),
    ("stores/sqlite/gate.py", "            if waits:\n                taken.acquire(timeout=HANDOVER_TIMEOUT_S)\n",
     "            taken.acquire()\n", WAITING),
    ("stores/sqlite/gate.py", "max(0.001, seconds), TIMER_INTERVAL_S)\n", "max(0.001, seconds))\n",
     f"{INTERRUPTS}::test_a_timer_whose_first_ring_is_lost_before_the_kernel_waits_still_ends_the_wait"),
    ("stores/sqlite/gate.py", "        if frame.f_code is _timed.__code__:\n", "        if True:\n",
     f"{INTERRUPTS}::test_a_timer_that_was_left_behind_rings_for_nobody_and_its_handler_is_known_as_ours"),
    ("stores/sqlite/store.py", "        if isinstance(error, UnicodeEncodeError):\n", "        if False:\n",
     "tests/stores/test_sqlite.py::test_only_the_file_is_called_damaged_never_what_an_operation_did"),
    # an older state was put back
    ("stores/redis/scripts.py", "there[2][n + 1] ~= w_link then", "false then",
     f"{REDIS_FAULTS}::test_an_older_state_that_another_machine_went_on_from_is_noticed_by_whoever_saw_more"),
    # the server's clock
    ("stores/redis/store.py", "        if excess > 0:\n", "        if False:\n",
     "tests/stores/test_redis.py::test_a_forward_jump_of_the_servers_clock_ends_nothing_early"),
    ("stores/redis/clock_pace.py", "            if boot == processes.boot():\n", "            if True:\n",
     "tests/stores/test_redis.py::test_after_a_reboot_nothing_is_known_of_the_servers_clock"),
    # parts that are missing
    ("stores/redis/store.py", "                    self._refuse_missing(tx, error)\n", "",
     "tests/stores/test_redis.py::test_a_key_that_was_evicted_is_missed_at_the_next_question"),
    ("stores/redis/store.py", "                    self._refuse_missing(tx)\n                    return result\n",
     "                    return result\n",
     "tests/stores/test_redis.py::test_a_key_that_was_evicted_is_missed_at_the_next_question"),
    ("stores/sqlite/store.py", "        if self._beside and self._found_beside() != self._beside:\n", "        if False:\n",
     "tests/stores/test_sqlite.py::test_a_log_or_index_of_sqlite_removed_under_an_open_process_is_noticed"),
    # guesses decide nothing
    ("stores/redis/store.py", "                        continue  # a guess must not refuse anything\n",
     "                        pass\n",
     f"{SPEED}::test_what_is_only_believed_is_never_answered_and_never_a_reason_to_refuse"),
    ("stores/redis/store.py", "                        continue  # nor answer anything\n",
     "                        pass\n",
     f"{SPEED}::test_what_is_only_believed_is_never_answered_and_never_a_reason_to_refuse"),
    ("stores/redis/transaction.py", "            if found is not None and found[-1] != fresh.signature(one):\n",
     "            if False:\n",
     f"{SPEED}::test_a_later_read_brings_the_earlier_ones_again_in_the_same_trip"),
    ("stores/redis/transaction.py",
     "            if alone.commit == before.commit and alone.since == before.since:  # nothing can have changed between\n",
     "            if True:\n", f"{SPEED}::test_a_commit_between_two_of_many_reads_is_noticed"),
    ("stores/redis/transaction.py", "            if not cut or len(found.rows) >= limit:\n", "            if True:\n",
     f"{SPEED}::test_a_look_after_hundreds_of_deletions_finds_the_rows_that_are_left[fetch]"),
    ("stores/redis/transaction.py", "            if not cut or len(rows) >= limit:\n", "            if True:\n",
     f"{SPEED}::test_a_look_after_hundreds_of_deletions_finds_the_rows_that_are_left[scan]"),
    ("stores/sqlite/wakes.py", "            return error.errno != errno.ENXIO\n", "            return True\n",
     "tests/stores/test_sqlite.py::test_the_pipe_of_a_process_that_died_is_removed_by_the_next_one_that_waits"),
    ("stores/sqlite/store.py", "        self._refuse_forked()\n        return self._in_turn(self._run, fn)\n",
     "        return self._in_turn(self._run, fn)\n",
     "tests/stores/test_sqlite.py::test_a_forked_child_cannot_take_the_gate_from_its_parent"),
)  # fmt: skip
