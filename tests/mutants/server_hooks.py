"""The checks of hooks through a server: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

PORT = "tests/doors/hook_port/test_port.py"
FAULTS = "tests/faults/test_hook_server.py"

ROWS = (
    # the server proves itself before it learns anything
    ("doors/hook_port/bash_script.py", '[ "$words" = @PROOF@ ] || break', ":",
     f"{PORT}::test_a_program_that_came_to_the_port_is_never_believed"),
    # what is no answer is never a yes
    ("doors/hook_port/bash_script.py", "    return @FAILED@\n", "    return @ALLOWED@\n",
     f"{FAULTS}::test_an_interpreter_that_fails_after_the_server_did_is_no_yes"),
    ("doors/install/scripts.py", "                @ALLOWED@) exit 0 ;;\n", "                @ALLOWED@ | 0) exit 0 ;;\n",
     f"{FAULTS}::test_an_empty_or_senseless_script_lets_nothing_pass"),
    ("doors/hook_port/bash_script.py", "        *) rm -f --", "        *) : --",
     f"{FAULTS}::test_a_server_that_is_gone_costs_one_hook_a_look_and_the_next_ones_nothing"),
    # who asks
    ("doors/hook_port/port.py", "not hmac.compare_digest(shown, self._secret.encode()) or", "",
     f"{PORT}::test_without_the_secret_nothing_is_said"),
    ("doors/hook_port/port.py", "        if not socket_owner.belongs_to(number, connection.socket):\n            return None\n", "",
     f"{PORT}::test_a_process_that_has_not_the_connection_among_its_files_is_not_believed"),
    ("facts/other_caller.py", "        if place.root != self.host.place.root:\n            raise Declined\n", "",
     f"{PORT}::test_another_workspace_or_store_is_the_hooks_own_affair"),
    ("doors/hook_port/port.py", 'if asks.environ.get("DIBS_STORE") or', "if",
     f"{PORT}::test_another_workspace_or_store_is_the_hooks_own_affair"),
    # one decision for one call
    ("doors/hook_port/port.py", '        if _is_gone(connection.socket):\n            return b""\n',
     "        _is_gone(connection.socket)\n",
     f"{FAULTS}::test_a_server_that_goes_on_decides_nothing_for_a_hook_that_has_gone"),
    ("doors/hook_port/port.py", "connection.socket.send(AT_WORK)", "pass", f"{PORT}::test_a_slow_request_is_not_done_twice"),
    # a small packet after another would wait for 40 ms
    ("doors/hook_port/bash_script.py", """[ "${dibs_said: -1}" != $'\\n' ] ||""", ": ||",
     f"{PORT}::test_a_request_with_a_newline_at_its_end_is_sent_in_two_packets_and_no_more"),
    # a kept ledger is what its file says
    ("doors/hook_port/kept_ledgers.py", "not self.length or status.st_mtime_ns == self.written", "True",
     "tests/doors/hook_port/test_kept_ledgers.py::test_a_ledger_that_was_changed_in_place_is_read_again"),
    ("doors/hook_port/kept_ledgers.py", "        self._take_back()\n        ledger, self._ledger", "        ledger, self._ledger",
     "tests/doors/hook_port/test_kept_ledgers.py::test_what_a_hook_only_assumed_is_not_kept"),
)  # fmt: skip
