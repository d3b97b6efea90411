"""The checks of the storage engines: file, text, what stands instead, the test that fails."""

from __future__ import annotations

SQLITE = "tests/stores/test_sqlite.py"
INTERRUPTS = "tests/stores/test_interrupts.py"
SPEED, PYTHON = "tests/stores/test_redis_speed.py", "tests/doors/test_python.py"
REDIS_FAULTS = "tests/faults/test_redis_faults.py"
WAITS = "tests/doors/test_interrupted_waits.py"
EVERYWHERE = f"{INTERRUPTS}::test_an_interrupt_in_a_transaction_leaves_nothing_half_done_and_nobody_waiting"
WAITING = f"{INTERRUPTS}::test_an_interrupt_while_the_gate_is_waited_for_leaves_no_lock_no_timer_and_no_handler"

STORES = (
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
    ("stores/sqlite/store.py", "            self._set_right()  # should an interrupt have hit the very lines below that give back\n",
     "", f"{INTERRUPTS}::test_an_interrupt_at_every_bytecode_of_the_sqlite_engine_keeps_no_other_process_out"),
    ("stores/memory.py", "            if tx.number > self._head.commit:\n                tx.undo()\n",
     "            tx.undo()\n", EVERYWHERE),
    ("stores/memory.py", "        if store._torn:\n", "        if False:\n", EVERYWHERE),
    ("stores/redis/plain_socket.py",
     "        if not self._connected or self._asking:\n            self._connect()\n        return",
     "        if not self._connected:\n            self._connect()\n        return",
     f"{INTERRUPTS}::test_an_answer_to_a_call_that_was_interrupted_is_not_taken_for_the_next_ones"),
    ("stores/sqlite/gate.py", "            if waits:\n                taken.acquire(timeout=TAKEN_WITHIN_S)\n",
     "            taken.acquire()\n", WAITING),
    ("stores/sqlite/gate.py", "max(0.001, seconds), RING_AGAIN_S)\n", "max(0.001, seconds))\n",
     f"{INTERRUPTS}::test_a_timer_whose_first_ring_is_lost_before_the_kernel_waits_still_ends_the_wait"),
    ("stores/sqlite/gate.py", "        if frame.f_code is _timed.__code__:\n", "        if True:\n",
     f"{INTERRUPTS}::test_a_timer_that_was_left_behind_rings_for_nobody_and_its_handler_is_known_as_ours"),
    # what is no text and no number
    ("operations/core/entry.py", "    _check_caller(call)\n", "",
     "tests/operations/test_plain_words.py::test_so_is_the_name_of_the_caller"),
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
    ("stores/redis/store.py", "                        continue  # a guess is no reason to refuse anything\n",
     "                        pass\n",
     f"{SPEED}::test_what_is_only_believed_is_never_answered_and_never_a_reason_to_refuse"),
    ("stores/redis/store.py", "                        continue  # nor to answer anything\n",
     "                        pass\n",
     f"{SPEED}::test_what_is_only_believed_is_never_answered_and_never_a_reason_to_refuse"),
    ("stores/redis/transaction.py", "            if found is not None and found[-1] != fresh.signature(one):\n",
     "            if False:\n",
     f"{SPEED}::test_a_later_read_brings_the_earlier_ones_again_in_the_same_trip"),
    # pipes of processes that are gone
    ("session/local_details.py", "    session.store.tidy()  # ", "    # ",
     f"{PYTHON}::test_a_process_listens_only_while_it_waits_and_a_killed_one_leaves_no_pipe_for_long"),
    ("doors/cli/commands/sweep.py", "        session.store.tidy()\n", "",
     f"{PYTHON}::test_a_process_listens_only_while_it_waits_and_a_killed_one_leaves_no_pipe_for_long"),
    ("stores/sqlite/wakes.py", "            return error.errno != errno.ENXIO\n", "            return True\n",
     "tests/stores/test_sqlite.py::test_the_pipe_of_a_process_that_died_is_removed_by_the_next_one_that_waits"),
    ("operations/claims/tokens.py", "        if live and _is_the_callers(tx, call, record):\n", "        if live:\n",
     "tests/operations/test_claims.py::test_confirm_says_no_to_an_agent_that_is_not_of_the_holders_family"),
    # an interrupted wait
    ("session/wait_loop.py", '            withdraw(session, call, "".join(place))\n', "            pass\n",
     f"{WAITS}::test_an_interrupt_at_any_bytecode_of_a_wait_leaves_no_place_and_no_claim"),
    ("stores/sqlite/store.py", "        self._refuse_forked()\n        end = 0\n", "        end = 0\n",
     "tests/stores/test_sqlite.py::test_a_forked_child_cannot_take_the_gate_from_its_parent"),
)  # fmt: skip
