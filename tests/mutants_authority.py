"""The checks of who may do what, for tests/mutants.py: file, text, what stands instead, the test that fails."""

from __future__ import annotations

AUTHORITY = (
    (
        "operations/call.py",
        "        or _not_allowed(tx, call, operation, agent, fields)\n",
        "",
        "tests/operations/test_authority.py::test_a_refusal_is_in_the_log_and_names_who_could",
    ),
    (
        "operations/call.py",
        'and not given["default"] and not given["assign"]:\n        return None',
        ":\n        return None",
        "tests/operations/test_authority.py::test_each_rank_may_what_is_declared_and_what_those_below_it_may",
    ),
    (
        "operations/authority.py",
        "    if RANKS[have] >= RANKS[needed]:\n",
        "    if True:\n",
        "tests/operations/test_authority.py::test_each_rank_may_what_is_declared_and_what_those_below_it_may",
    ),
    (
        "operations/authority.py",
        "    if own and RANKS[have] >= RANKS[operation.may]:\n",
        "    if False:\n",
        "tests/operations/test_authority.py::test_a_task_is_called_off_by_who_added_it_or_has_it",
    ),
    (
        "operations/authority.py",
        "any(within(owner, call.agent) for owner in owners)",
        "bool(owners)",
        "tests/operations/test_authority.py::test_a_task_is_called_off_by_who_added_it_or_has_it",
    ),
    (
        "operations/authority.py",
        "    if call.inside or call.session or ",
        "    if call.session or ",
        "tests/operations/test_authority.py::test_what_an_agents_client_starts_is_never_a_person",
    ),
    (
        "operations/authority.py",
        "(call.client is not None and not call.is_program(call.client))",
        "False",
        "tests/operations/test_authority.py::test_an_agent_without_a_role_is_an_agent_and_a_caller_without_a_client_above_is_a_person",
    ),
    (
        "operations/authority.py",
        'if not agent["left"] and not agent["killed"] and',
        "if",
        "tests/operations/test_authority.py::test_a_refusal_names_nobody_who_is_dead_killed_or_left",
    ),
    (
        "operations/authority.py",
        'if call.alive(agent["process"]) is not False]',
        "]",
        "tests/operations/test_authority.py::test_a_refusal_names_nobody_who_is_dead_killed_or_left",
    ),
    (
        "operations/roles.py",
        'name = "" if is_person else roles["default"]',
        'name = roles["default"]',
        "tests/operations/test_authority.py::test_the_default_role_is_for_agents_and_a_person_has_a_role_only_by_name",
    ),
    (
        "operations/roles.py",
        "if given and rank_of(call, given) == VIEWER:",
        "if False:",
        "tests/operations/test_authority.py::test_a_viewer_does_not_even_write_to_a_scratch_folder",
    ),
    (
        "operations/agents.py",
        'return "orchestrator", [agent] if agent != call.agent else []',
        'return "", []',
        "tests/operations/test_authority.py::test_an_agent_may_stop_its_own_subagents_and_neither_itself_nor_its_parent",
    ),
    (
        "operations/claims.py",
        'return ("" if fine else "agent"), []',
        'return "", []',
        "tests/operations/test_authority.py::test_a_worker_holds_only_what_it_may_write",
    ),
    (
        "operations/claims.py",
        '        return "orchestrator", []\n    key',
        '        return "", []\n    key',
        "tests/operations/test_authority.py::test_deploys_and_roles_are_anybodys_where_nobody_orchestrates",
    ),
    (
        "operations/tasks.py",
        'return ("orchestrator" if mine else "agent"), [task["by"], *mine]',
        'return "", []',
        "tests/operations/test_authority.py::test_a_task_that_nobody_has_is_moved_by_any_agent_and_an_assigned_one_is_not",
    ),
    (
        "operations/tasks.py",
        "        return _asks_to_cancel(tx, call, id)\n",
        '        return "", []\n',
        "tests/operations/test_authority.py::test_a_task_is_called_off_by_who_added_it_or_has_it",
    ),
    (
        "operations/assigning.py",
        '("orchestrator", [task["by"], *tasks.having(task)])',
        '("", [])',
        "tests/operations/test_authority.py::test_a_task_is_given_to_somebody_by_who_added_it_and_passed_on_by_whom_it_waits_for",
    ),
    (
        "operations/runends.py",
        '("orchestrator", [record["coordinator"]])',
        '("", [])',
        "tests/operations/test_authority.py::test_a_run_is_ended_and_dropped_by_its_coordinator",
    ),
    (
        "operations/sweeps.py",
        "    if keep < least:\n",
        "    if False:\n",
        "tests/operations/test_old_events.py::test_what_is_younger_than_the_retention_stays_whoever_asks",
    ),
    (
        "operations/releases.py",
        'return ("orchestrator" if force else ""), []',
        'return "", []',
        "tests/operations/test_forcing.py::test_it_is_for_orchestrators_and_persons",
    ),
    (
        "operations/forcing.py",
        "        ending.end(tx, claim, FORCED, by=call.agent, reason=reason)\n",
        "",
        "tests/operations/test_forcing.py::test_the_claim_is_void_and_its_token_fenced",
    ),
    (
        "operations/forcing.py",
        '        messages.post(tx, claim["agent"], call.agent, FORCED, text, resources=names)\n',
        "",
        "tests/operations/test_forcing.py::test_the_holder_is_told_at_once_and_at_its_next_start",
    ),
    (
        "operations/forcing.py",
        "    ending.serve(tx, freed)\n",
        "",
        "tests/operations/test_forcing.py::test_whoever_waits_comes_next",
    ),
    (
        "operations/forcing.py",
        ' and record["mode"] != resources.WATCH',
        "",
        "tests/operations/test_forcing.py::test_whatever_stands_in_the_way_is_void_and_what_only_watches_stays",
    ),
    (
        "operations/forcing.py",
        '    tx.put(f"v\\t{identifier}", record, i2=due(until))\n',
        "",
        "tests/operations/test_forcing.py::test_what_was_saved_of_the_holders_files_can_be_restored",
    ),
    (
        "doors/saving.py",
        'return {**fields, "saved": saved}',
        'return {**fields, "saved": []}',
        "tests/doors/test_restore.py::test_what_a_holder_had_in_its_file_is_kept_when_its_claim_is_taken_away",
    ),
)
