"""The checks of storage: function, change, the test that fails then."""

from __future__ import annotations

MOVES = "tests/stores/opening/test_store_move.py"
SWEPT = "tests/interfaces/install/test_swept.py"
UP = "tests/stores/opening/test_up.py"

ROWS = (
    ("_compare", "replace compare as_json -> not $0.0.0",
     f"{MOVES}::test_a_copy_that_differs_is_found_and_nothing_is_moved"),
    ("possible", "drop operand is_local", f"{UP}::test_a_server_elsewhere_is_never_started"),
    ("refuse_fallback_elsewhere", "replace raise Unavailable -> del message",
     f"{UP}::test_another_clone_on_this_machine_does_not_go_to_the_server_meanwhile"),
    # The record cannot be swept away
    ("restored_pin", "always if ==", f"{SWEPT}::test_which_store_was_coordinated_through_is_remembered_too"),
    ("sqlite.store.open_store", "drop call _refuse_lost",
     f"{SWEPT}::test_without_its_pin_a_database_that_answered_is_still_missed"),
    ("restored_pin", "drop if text", f"{SWEPT}::test_a_damaged_memory_locks_nobody_out"),
)  # fmt: skip
