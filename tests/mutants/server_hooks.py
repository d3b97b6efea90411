"""The checks of hooks through a server: function, change, the test that fails then."""

from __future__ import annotations

PORT = "tests/server/hook_port/test_port.py"
FAULTS = "tests/faults/test_hook_server.py"

ROWS = (
    # the server proves itself before it learns anything
    ("bash_script._ASK", 'text \'[ "$words" = @PROOF@ ] || break\' -> \':\'',
     f"{PORT}::test_a_program_that_came_to_the_port_is_never_believed"),
    # what is no answer is never a yes
    ("bash_script._TEXT", "text 'FAIL' -> 'ALLOW'",
     f"{FAULTS}::test_an_interpreter_that_fails_after_the_server_did_is_no_yes"),
    ("_HOOK", "text '@) exit 0' -> '@ | 0) exit 0'", f"{FAULTS}::test_an_empty_or_senseless_script_lets_nothing_pass"),
    ("bash_script._TEXT", "text 'rm -f' -> ':'",
     f"{FAULTS}::test_a_server_that_is_gone_costs_one_hook_a_look_and_the_next_ones_nothing"),
    # who asks
    ("HookPort._knows", "drop operand compare_digest", f"{PORT}::test_without_the_secret_nothing_is_said"),
    ("_caller", "drop if belongs_to",
     f"{PORT}::test_a_process_that_has_not_the_connection_among_its_files_is_not_believed"),
    ("Caller.session", "drop if root", f"{PORT}::test_another_workspace_or_store_is_the_hooks_own_affair"),
    ("HookPort._answer", "drop operand DIBS_STORE", f"{PORT}::test_another_workspace_or_store_is_the_hooks_own_affair"),
    # one decision for one call
    ("HookPort._answer", "replace if _is_gone -> $0",
     f"{FAULTS}::test_a_server_that_goes_on_decides_nothing_for_a_hook_that_has_gone"),
    ("HookPort._beat", "drop call send", f"{PORT}::test_a_slow_request_is_not_done_twice"),
    # a small packet after another would wait for 40 ms
    ("bash_script._ASK", 'text \'[ "${dibs_said: -1}" != $\\\'\\\\n\\\' ]\' -> \':\'',
     f"{PORT}::test_a_request_with_a_newline_at_its_end_is_sent_in_two_packets_and_no_more"),
    # a kept ledger is what its file says
    ("catch_up", "always return length",
     "tests/server/hook_port/test_kept_ledgers.py::test_a_ledger_that_was_changed_in_place_is_read_again"),
    ("KeptTree.give_back", "drop call _take_back",
     "tests/server/hook_port/test_kept_ledgers.py::test_what_a_hook_only_assumed_is_not_kept"),
)  # fmt: skip
