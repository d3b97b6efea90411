"""The checks of doors: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

PYTHON = "tests/doors/python/test_python.py"

ROWS = (
    ("doors/python/renewal.py", "            claim.renew_all()\n", "            pass\n",
     "tests/doors/python/test_renewal.py::test_a_claim_in_a_with_outlives_its_ttl"),
    ("doors/python/renewal.py", "        claim.lost = error if", "        claim.on_lost = error if",
     "tests/doors/python/test_renewal.py::test_a_claim_that_is_taken_away_is_noticed"),
    ("doors/python/aio.py", "            await _to_its_end(asked)\n", "",
     "tests/doors/python/test_aio.py::test_a_cancelled_wait_leaves_the_queue_at_once"),
    ("doors/python/aio.py", "                claim.release()\n", "                pass\n",
     "tests/doors/python/test_aio.py::test_a_grant_in_the_moment_of_the_cancellation_is_given_back"),
    ("doors/python/update_loop.py",
     "            if attempt == attempts:\n                raise\n", "            raise\n",
     "tests/doors/cli/test_state_cli.py::test_the_story_of_the_lost_update_ends_well"),
    ("doors/cli/main.py", "    if _is_closed_pipe(error):\n", "    if False:\n",
     "tests/doors/cli/test_cli.py::test_a_reader_that_goes_away_ends_a_command_quietly"),
    ("doors/cli/doctor/todo.py", "[client for client, oks in found.items() if all(oks)]", "list(found)",
     "tests/doors/install/test_doctor_guards.py::test_all_is_well_only_when_a_client_is_guarded_and_would_run_the_hooks"),
    ("doors/cli/commands/init.py", '    if passing == "cache" and not allowed:', "    if False:",
     "tests/doors/install/test_init.py::test_a_dibs_in_a_runners_cache_is_not_put_into_hooks_unless_somebody_says_so"),
    ("doors/cli/terminal.py", "[letter if letter.isprintable() else _spelt(letter) for letter in text]", "text",
     "tests/doors/cli/test_terminal.py::test_what_an_agent_wrote_is_neither_markup_nor_an_escape"),
    ("doors/cli/terminal.py", "            Text(cell, style", "            Text.from_markup(cell, style",
     "tests/doors/cli/test_terminal.py::test_what_an_agent_wrote_is_neither_markup_nor_an_escape"),
    ("doors/cli/dispatch.py", "NO if operation.refuses and result.get(operation.refuses) else YES", "YES",
     "tests/doors/cli/test_cli.py::test_ok_says_the_same_as_the_exit_code_when_a_boot_finds_a_loss"),
    ("doors/cli/commands/sweep.py", "        session.store.tidy()\n", "",
     f"{PYTHON}::test_a_process_listens_only_while_it_waits_and_a_killed_one_leaves_no_pipe_for_long"),
)  # fmt: skip
