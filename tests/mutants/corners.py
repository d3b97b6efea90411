"""Lines that keep the promises in the corners: interrupted calls, request fields, patterns of paths, dead agents.

A row: file, text, what stands there instead, the test that finds out.
"""

from __future__ import annotations

UPGRADES = "tests/operations/test_upgrades.py"
CLAIMS = "tests/operations/test_claims.py"
PATTERNS = "tests/facts/test_patterns.py"
SMALL = "tests/operations/test_small_things.py"
ODD = "tests/doors/test_odd_values.py"
MESSAGES = "tests/operations/test_messages.py"
CONTRACT = "tests/operations/test_contract.py"
VERIFY, WORKER = "tests/doors/test_task_verify.py", "tests/doors/test_worker.py"

CORNERS = (
    # an interrupted call leaves nothing behind, and loses nothing that its agent knows of
    ("operations/claims/waiters.py", 'endings.drop_waiter(tx, place, "gave_up")', "pass",
     f"{UPGRADES}::test_an_interrupted_wait_leaves_no_place_and_who_stood_behind_it_moves_up"),
    ("operations/claims/waiters.py", 'handed = held["pending"] and held.get("place") == waiter', "handed = False",
     f"{UPGRADES}::test_an_interrupted_wait_gives_back_what_it_was_handed_and_nothing_that_was_held_before"),
    ("operations/claims/waiters.py", 'or held["claim"] == claim) and not held.get("upgrade"):',
     'or held["claim"] == claim):',
     f"{UPGRADES}::test_an_upgrade_that_was_granted_stays_when_its_call_is_interrupted"),
    ("operations/claims/waiters.py", '(handed or held["claim"] == claim)', "handed",
     f"{UPGRADES}::test_an_interrupted_call_gives_back_a_grant_that_nobody_heard_of"),
    # request fields are what their kinds say
    ("session/read_fields.py", "        if isinstance(one, Canonical):\n", "        if isinstance(one, list):\n",
     f"{ODD}::test_a_list_does_not_pass_for_a_canonical_resource"),
    ("session/read_fields.py", "    if isinstance(value, Canonical):\n", "    if isinstance(value, list):\n",
     f"{ODD}::test_a_wrong_kind_is_invalid_with_the_fields_name"),
    ("operations/core/declare.py", "found[name] = field.check(value)", "found[name] = value",
     f"{CONTRACT}::test_an_operation_holds_its_request_to_the_declaration_whatever_the_door"),
    ("operations/core/declare.py", "found, known = self.defaults, self.by_name", "found, known = {}, self.by_name",
     f"{CONTRACT}::test_the_declared_default_is_what_a_body_gets"),
    ("operations/core/declare.py", "return isinstance(value, Canonical) and", "return isinstance(value, list) and",
     f"{CONTRACT}::test_an_operation_holds_its_request_to_the_declaration_whatever_the_door"),
    ("session/read_fields.py", "if field is None or field.internal:", "if field is None:",
     f"{CONTRACT}::test_what_is_internal_cannot_be_said_from_outside"),
    ("operations/core/declare.py", "return isinstance(value, int) and not isinstance(value, bool) and -WHOLE",
     "return isinstance(value, int) and -WHOLE", f"{ODD}::test_a_wrong_kind_is_invalid_with_the_fields_name"),
    ("operations/core/json_values.py", "    if not is_text(text):\n", "    if False:\n",
     f"{ODD}::test_a_wrong_kind_is_invalid_with_the_fields_name"),
    # what looks like a pattern protects what it says, or is refused
    ("facts/path_patterns.py", "        _refuse_broken(text, one, cwd)\n", "        pass\n",
     f"{PATTERNS}::test_what_is_no_pattern_is_refused_with_what_to_write"),
    ("facts/path_patterns.py", "if group is None or _is_there(one, group[1], cwd):", "if True:",
     f"{PATTERNS}::test_a_text_stands_for_these"),
    # no life without end
    ("operations/claims/releases.py", '        if claim["agent"] == to:  # a', "        if False:  # a",
     f"{CLAIMS}::test_a_hand_over_to_oneself_is_no_new_life"),
    ("operations/claims/releases.py", '        if not related(claim["agent"], to):  # within', "        if True:  # within",
     f"{CLAIMS}::test_a_hand_over_within_a_family_goes_on_with_the_same_life"),
    # the times of a thing do not flicker
    ("stores/sqlite/store.py", "return measured if self._offset is None else self._offset", "return measured",
     "tests/doors/test_python.py::test_the_times_of_a_thing_are_the_same_in_every_answer"),
    # who died is told, once
    ("operations/upkeep/sweeps.py", "        deaths.tell(tx, call, dead)\n", "        pass\n",
     f"{SMALL}::test_a_dead_agent_is_told_to_the_coordinator_of_its_run_once"),
    ("operations/agents/deaths.py", 'agent["mourned"] = process_name(process)', "pass",
     f"{SMALL}::test_a_dead_agent_is_told_to_the_coordinator_of_its_run_once"),
    ("operations/messages/mailbox.py", '    if message.get("again") and message["from"] != call.agent:\n', "    if False:\n",
     f"{SMALL}::test_who_asked_for_an_acknowledgement_hears_of_it"),
    ("session/read_fields.py", '    found = "" if value.startswith("-")', "    found = value if True",
     "tests/doors/cli/test_cli.py::test_a_release_names_a_commit_of_this_repository_and_the_log_shows_it"),
    # a task with a verification is finished by that alone, by its holder, who keeps it meanwhile
    ("operations/tasks/outcomes.py", '        if proof["exit"] != 0:\n', "        if False:\n",
     f"{VERIFY}::test_a_task_stays_with_its_holder_when_the_command_fails"),
    ("operations/tasks/outcomes.py", "return _to_verify(tx, call, got, id, token, whole, command)",
     'return _to_verify(tx, call, got, id, token, {"sha": 1}, command)',
     f"{VERIFY}::test_the_command_does_not_run_for_one_that_could_not_finish_the_task"),
    ("running/verification.py", "                _end(command.child)\n", "                pass\n",
     f"{VERIFY}::test_an_interrupt_ends_the_command_and_leaves_the_task_as_it_was"),
    ("operations/core/entry.py", "if name not in unsaid}", 'if name != "wait"}',
     f"{VERIFY}::test_a_retry_with_the_same_request_id_runs_nothing_again"),
    # what is kept for those who will come reaches each of them, once; a message to all goes in bounded steps
    ("operations/agents/presence.py", "    _changes_type(tx, agent, was)\n", "    pass\n",
     f"{MESSAGES}::test_a_message_for_a_type_reaches_every_agent_of_it_that_comes_before_it_expires"),
    ("operations/messages/broadcasts.py", 'if kept["at"] > since and kept["until"]', 'if kept["until"]',
     f"{MESSAGES}::test_nobody_gets_a_kept_message_twice"),
    ("operations/messages/broadcasts.py", "kind: tx.now - 1}", "kind: 0}",
     f"{MESSAGES}::test_nobody_gets_a_kept_message_twice"),
    ("operations/messages/broadcasts.py", 'and kept["until"] > tx.now and', "and",
     f"{MESSAGES}::test_a_message_for_a_type_reaches_every_agent_of_it_that_comes_before_it_expires"),
    ("operations/messages/broadcasts.py", "    while more and used < room:\n", "    while more:\n",
     f"{MESSAGES}::test_a_fleet_of_thousands_is_reached_in_steps_of_bounded_size"),
    # what a task used is what the kernel counted for it
    ("running/task_command.py", "            job.used = usage.of_command(child.used)\n", "            pass\n",
     f"{WORKER}::test_a_command_that_ends_within_a_second_has_true_figures"),
    ("operations/tasks/outcomes.py", "        run_records.keep_use(tx,", "        (lambda *_: 0)(tx,",
     f"{WORKER}::test_a_command_that_ends_within_a_second_has_true_figures"),
)  # fmt: skip
