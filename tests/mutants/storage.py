"""The checks of storage: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

MOVES = "tests/storage/test_store_move.py"
SWEPT = "tests/doors/install/test_swept.py"
UP = "tests/storage/test_up.py"

ROWS = (
    ("storage/store_move.py", "if was.as_json() != is_now.as_json():", "if not was:",
     f"{MOVES}::test_a_copy_that_differs_is_found_and_nothing_is_moved"),
    ("storage/sqlite_fallback.py", "redis_server.place_of(url) is not None and ", "",
     f"{UP}::test_a_server_elsewhere_is_never_started"),
    ("storage/redis_autostart.py", "    raise Unavailable(message, fallback=lines[1])\n", "    del message\n",
     f"{UP}::test_another_clone_on_this_machine_does_not_go_to_the_server_meanwhile"),
    # The record cannot be swept away
    ("storage/workspace_store.py", "    if not shared or shared == local:\n", "    if True:\n",
     f"{SWEPT}::test_which_store_was_coordinated_through_is_remembered_too"),
    ("storage/workspace_store.py", "            _refuse_lost_database(path, kept)\n", "",
     f"{SWEPT}::test_without_its_pin_a_database_that_answered_is_still_missed"),
    ("storage/workspace_store.py", "        if found.text() != pin.text():\n            keep_pin(shared, pin)\n", "",
     f"{SWEPT}::test_a_damaged_memory_locks_nobody_out"),
)  # fmt: skip
