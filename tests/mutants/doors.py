"""The checks of doors: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

CALLS = "tests/doors/mcp/test_calls.py"
PYTHON = "tests/doors/python/test_python.py"

WAYS = "tests/doors/python/test_ways_in.py"

ROWS = (
    # what cannot be checked is refused; what is not held begins no block; an empty name is nobody's
    ("doors/cli/commands/hook.py", "    return hook.main(arguments)\n", "    return hook.main(arguments) if arguments else 0\n",
     "tests/doors/hooks/test_hooks.py::test_a_hook_that_names_no_client_or_a_wrong_one_refuses"),
    ("doors/python/claim.py", "            self.check()\n        if self._auto_renew", "            pass\n        if self._auto_renew",
     f"{WAYS}::test_a_claim_that_was_released_begins_no_block"),
    ("doors/python/workspace.py", "if agent is not None and not AGENT.check(agent):", "if False:",
     f"{WAYS}::test_an_empty_name_is_not_another_agent"),
    ("doors/python/workspace.py", "                raise _ClosedError\n", "                pass\n",
     f"{WAYS}::test_a_call_that_waits_ends_when_another_thread_closes_the_workspace"),
    # an option is no value
    ("doors/cli/parse.py", " and _is_option(following, options):", " and False:",
     "tests/doors/cli/test_cli.py::test_an_option_is_never_the_value_of_another_one[words0]"),
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
    ("doors/hooks/hook.py", 'if event.own and _calls_us(f"{place.top}/{event.own}"):', "if False:",
     ("tests/doors/clients/test_cursor.py::"
      "test_through_claude_s_hooks_nothing_is_said_or_claimed_where_its_own_settings_guard")),
    ("doors/hooks/payload.py", 'event.call = "_".join(event.call.split())', "pass",
     "tests/doors/clients/test_hook_samples.py::test_a_sample_is_read_for_what_it_is"),
    ("doors/cli/doctor/todo.py", "if all(oks) and kinds <= seen[client]", "if kinds <= seen[client]",
     "tests/doors/install/test_doctor_guards.py::test_all_is_well_only_when_a_client_is_guarded_and_would_run_the_hooks"),
    ("doors/cli/commands/init.py", '    if passing == "cache" and not allowed:', "    if False:",
     "tests/doors/install/test_init.py::test_a_dibs_in_a_runners_cache_is_not_put_into_hooks_unless_somebody_says_so"),
    ("doors/cli/long_running.py", "            if not number:\n", "            if True:\n",
     "tests/doors/cli/test_long_running.py::test_a_signal_ends_the_loop_whatever_the_step_handles"),
    ("doors/cli/terminal.py", "[letter if letter.isprintable() else _spelt(letter) for letter in text]", "text",
     "tests/doors/cli/test_terminal.py::test_what_an_agent_wrote_is_neither_markup_nor_an_escape"),
    ("doors/cli/terminal.py", "Text(_shortened(", "Text.from_markup(_shortened(",
     "tests/doors/cli/test_terminal.py::test_what_an_agent_wrote_is_neither_markup_nor_an_escape"),
    ("doors/cli/dispatch.py", "NO if operation.refuses and result.get(operation.refuses) else YES", "YES",
     "tests/doors/cli/test_cli.py::test_ok_says_the_same_as_the_exit_code_when_a_boot_finds_a_loss"),
    ("doors/cli/commands/sweep.py", "        session.store.tidy()\n", "",
     f"{PYTHON}::test_a_process_listens_only_while_it_waits_and_a_killed_one_leaves_no_pipe_for_long"),
    # tools of MCP
    ("doors/mcp/results.py", "is_error=error.exit != NO)", "is_error=True)",
     f"{CALLS}::test_a_refusal_is_a_result_and_no_error_and_what_makes_no_sense_is_one"),
    ("doors/mcp/calls.py", "            if name in IGNORED:\n                continue\n", "",
     f"{CALLS}::test_what_a_client_adds_by_itself_and_fields_that_are_null_are_no_bad_input"),
    ("doors/mcp/calls.py", "min(asked / 1000, MAX_WAIT_S)", "asked / 1000",
     f"{CALLS}::test_no_call_waits_longer_than_clients_do"),
    ("doors/mcp/server.py", "            caller.leave()\n", "            pass\n",
     f"{CALLS}::test_a_cancelled_wait_leaves_the_queue_and_nothing_else"),
    ("doors/mcp/notices.py", "            lines += self._mail(who)\n", "            pass\n",
     f"{CALLS}::test_mail_and_changed_rules_are_told_once_with_whatever_is_called_next"),
    ("doors/mcp/tools.py", ', "task done": ("verify",)', "",
     "tests/doors/mcp/test_tools.py::test_no_tool_runs_a_command_writes_a_file_or_takes_a_process_of_the_model_s_choice"),
    ("doors/mcp/http.py", "        if agent and found.agent and not found.person and", "        if False and",
     "tests/doors/mcp/test_http.py::test_an_agent_s_credential_speaks_for_that_agent"),
    ("doors/mcp/http.py", '"user": AuthenticatedUser(token)', '"user": None',
     "tests/doors/mcp/test_http.py::test_a_session_belongs_to_the_credential_that_opened_it"),
    ("doors/mcp/callers.py", "        if agent:\n            return agent, HOOK\n", "",
     "tests/doors/mcp/test_http.py::test_a_subagent_is_told_from_the_agent_whose_credential_it_uses"),
    ("doors/hooks/tool_call.py", "        call_notes.put(place.local, event.call, event.agent)", "        call_notes.FOLDER",
     "tests/doors/hooks/test_own_tools.py::test_a_call_of_an_own_tool_is_noted_with_its_agent_until_it_is_over"),
    ("doors/install/mcp_entries.py", " if command_of(known.plain()) else None\n", "\n",
     "tests/doors/install/test_mcp_entries.py::test_a_server_of_our_name_that_is_somebody_else_s_is_left_alone"),
)  # fmt: skip
