"""The checks of server: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

DESK = "tests/server/test_desk.py"
LENT = "test_each_of_a_lent_group_is_answered_once_after_the_commit_and_by_its_own_refusal"

ROWS = (
    ("server/desk.py", "while self._queue and len(group) < self._max_group:", "while self._queue:",
     f"{DESK}::test_a_group_has_a_limit_and_the_rest_follows_in_order"),
    ("server/desk.py", "if len(self._queue) >= self._max_waiting:", "if False:",
     f"{DESK}::test_a_queue_that_is_full_refuses_at_once"),
    ("server/desk.py", "request = self._queue.popleft()", "request = self._queue.pop()",
     f"{DESK}::test_what_comes_while_a_group_is_written_makes_the_next_one_in_its_order"),
    ("server/desk.py", "            if request.state is not WAITING:\n                return False\n", "",
     f"{DESK}::test_a_request_whose_caller_has_gone_is_taken_out_unless_it_has_begun"),
    ("server/desk.py", "            self._idle.wait_for(lambda: not self._is_led, CLOSE_TIMEOUT_S)\n", "",
     f"{DESK}::test_closing_waits_for_a_group_that_a_callers_thread_runs"),
    ("server/desk.py", "            self._fail(group, error)\n", "            raise\n",
     f"{DESK}::test_a_store_that_breaks_its_word_is_everybodys_error_and_the_desk_goes_on"),
    ("server/desk.py", "            self._fail(group, _unknown())\n", "",
     f"{DESK}::test_an_interrupted_leader_leaves_nobody_waiting_and_says_that_nothing_is_known"),
    ("server/desk.py", "            if self._leader == threading.get_ident():", "            if False:",
     f"{DESK}::test_a_decision_inside_a_decision_is_refused_and_not_waited_for"),
    # the loop's own groups: answered only after the commit, each with its own refusal, none twice, nobody waited for
    ("server/desk.py", "                self._run(group)\n        finally:\n            self._answer(group, here)\n",
     "                self._answer(group, here)\n                self._run(group)\n        finally:\n",
     f"{DESK}::{LENT}"),
    ("server/desk.py", "request.value, request.error = value, error", "request.value, request.error = outcomes[0]",
     f"{DESK}::{LENT}"),
    ("server/desk.py", "                self._deliver(requests)\n                continue\n",
     "                self._deliver(requests)\n", f"{DESK}::{LENT}"),
    ("server/desk.py", "                    soon(self._lead_in_loop, post)\n",
     "                    soon(self._lead_in_loop, post)\n                    self._tell_thread()\n", f"{DESK}::{LENT}"),
    ("server/desk.py", "                self._is_lent = self._is_led = False\n", "                pass\n",
     f"{DESK}::test_a_desk_that_is_closed_before_the_loops_turn_refuses_what_was_lent_and_runs_nothing"),
    ("server/desk.py", "        if not self._is_free():", "        if False:",
     f"{DESK}::test_a_loop_does_not_wait_for_another_process"),
    ("server/desk.py", "        if now - began > MAX_LENT_S:", "        if False:",
     f"{DESK}::test_a_loop_that_was_kept_for_long_leaves_the_next_groups_to_the_desks_thread"),
    ("server/desk_store.py", "        if self._settles == threading.get_ident():", "        if False:",
     f"{DESK}::test_a_thread_that_settles_a_store_does_not_wait_for_the_desk"),
)  # fmt: skip
