"""The checks of server: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

DESK = "tests/server/test_desk.py"

ROWS = (
    ("server/desk.py", "while self._queue and len(group) < self._max_group:", "while self._queue:",
     f"{DESK}::test_a_group_has_a_limit_and_the_rest_follows_in_order"),
    ("server/desk.py", "if len(self._queue) + len(requests) > self._max_waiting:", "if False:",
     f"{DESK}::test_a_queue_that_is_full_refuses_at_once_and_takes_none_of_several"),
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
    ("server/desk_store.py", "        if self._settles == threading.get_ident():", "        if False:",
     f"{DESK}::test_a_thread_that_settles_a_store_does_not_wait_for_the_desk"),
)  # fmt: skip
