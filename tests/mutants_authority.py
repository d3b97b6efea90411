"""The checks of who may do what, for tests/mutants.py: file, text, what stands instead, the test that fails."""

from __future__ import annotations

CALL_PY, AUTHORITY_PY, ROLES_PY = "operations/call.py", "operations/authority.py", "operations/roles.py"
CLAIMS_PY, TASKS_PY, AGENTS_PY = "operations/claims.py", "operations/tasks.py", "operations/agents.py"
MAY = "tests/operations/test_authority.py"

AUTHORITY = (
    (
        CALL_PY,
        "        or _not_allowed(tx, call, operation, agent, fields)\n",
        "",
        f"{MAY}::test_a_refusal_is_in_the_log_and_names_who_could",
    ),
    (
        CALL_PY,
        'and not given["default"] and not given["assign"]:\n        return None',
        ":\n        return None",
        f"{MAY}::test_each_rank_may_what_is_declared_and_what_those_below_it_may",
    ),
    (
        AUTHORITY_PY,
        "    if RANKS[have] >= RANKS[needed]:\n",
        "    if True:\n",
        f"{MAY}::test_each_rank_may_what_is_declared_and_what_those_below_it_may",
    ),
    (
        AUTHORITY_PY,
        "    if own and RANKS[have] >= RANKS[operation.may]:\n",
        "    if False:\n",
        f"{MAY}::test_a_task_is_called_off_by_who_added_it_or_has_it",
    ),
    (
        AUTHORITY_PY,
        "any(within(owner, call.agent) for owner in owners)",
        "bool(owners)",
        f"{MAY}::test_a_task_is_called_off_by_who_added_it_or_has_it",
    ),
    (
        AUTHORITY_PY,
        "    if call.inside or call.session or ",
        "    if call.session or ",
        f"{MAY}::test_what_an_agents_client_starts_is_never_a_person",
    ),
    (
        AUTHORITY_PY,
        "(call.client is not None and not call.is_program(call.client))",
        "False",
        f"{MAY}::test_an_agent_without_a_role_is_an_agent_and_a_caller_without_a_client_above_is_a_person",
    ),
    (
        AUTHORITY_PY,
        'if not agent["left"] and not agent["killed"] and',
        "if",
        f"{MAY}::test_a_refusal_names_nobody_who_is_dead_killed_or_left",
    ),
    (
        AUTHORITY_PY,
        'if call.alive(agent["process"]) is not False]',
        "]",
        f"{MAY}::test_a_refusal_names_nobody_who_is_dead_killed_or_left",
    ),
    (
        ROLES_PY,
        'name = "" if is_person else roles["default"]',
        'name = roles["default"]',
        f"{MAY}::test_the_default_role_is_for_agents_and_a_person_has_a_role_only_by_name",
    ),
    (
        ROLES_PY,
        "if given and rank_of(call, given) == VIEWER:",
        "if False:",
        f"{MAY}::test_a_viewer_does_not_even_write_to_a_scratch_folder",
    ),
    (
        AGENTS_PY,
        'return "orchestrator", [agent] if agent != call.agent else []',
        'return "", []',
        f"{MAY}::test_an_agent_may_stop_its_own_subagents_and_neither_itself_nor_its_parent",
    ),
    (
        CLAIMS_PY,
        'return ("" if fine else "agent"), []',
        'return "", []',
        f"{MAY}::test_a_worker_holds_only_what_it_may_write",
    ),
    (
        CLAIMS_PY,
        '        return "orchestrator", []\n    key',
        '        return "", []\n    key',
        f"{MAY}::test_deploys_and_roles_are_anybodys_where_nobody_orchestrates",
    ),
    (
        TASKS_PY,
        'return ("orchestrator" if mine else "agent"), [task["by"], *mine]',
        'return "", []',
        f"{MAY}::test_a_task_that_nobody_has_is_moved_by_any_agent_and_an_assigned_one_is_not",
    ),
    (
        TASKS_PY,
        "        return _asks_to_cancel(tx, call, id)\n",
        '        return "", []\n',
        f"{MAY}::test_a_task_is_called_off_by_who_added_it_or_has_it",
    ),
    (
        "operations/assigning.py",
        '("orchestrator", [task["by"], *tasks.having(task)])',
        '("", [])',
        f"{MAY}::test_a_task_is_given_to_somebody_by_who_added_it_and_passed_on_by_whom_it_waits_for",
    ),
    (
        "operations/runends.py",
        '("orchestrator", [record["coordinator"]])',
        '("", [])',
        f"{MAY}::test_a_run_is_ended_and_dropped_by_its_coordinator",
    ),
)
