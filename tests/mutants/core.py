"""The checks of core: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

AGENTS = "tests/operations/agents/test_agents.py"
BACKLOG = "tests/operations/core/test_backlog.py"
CLAIMS = "tests/operations/claims/test_claims.py"
CONTRACT = "tests/operations/core/test_contract.py"
LISTINGS = "tests/operations/core/test_listings.py"
NAMES = "tests/operations/agents/test_names.py"
ODD = "tests/doors/python/test_odd_values.py"
VERIFY = "tests/running/test_task_verify.py"

ROWS = (
    (
        "operations/core/entry.py",
        "        or _rank_refusal(tx, call, operation, agent, fields)\n",
        "",
        "tests/operations/core/test_authority.py::test_a_refusal_is_in_the_log_and_names_who_could",
    ),
    (
        "operations/core/entry.py",
        'and not given["default"] and not given["assign"]:\n        return None',
        ":\n        return None",
        "tests/operations/core/test_authority.py::test_each_rank_may_what_is_declared_and_what_those_below_it_may",
    ),
    (
        "operations/core/authority.py",
        "    if RANKS[have] >= RANKS[needed]:\n",
        "    if True:\n",
        "tests/operations/core/test_authority.py::test_each_rank_may_what_is_declared_and_what_those_below_it_may",
    ),
    (
        "operations/core/authority.py",
        "    if own and RANKS[have] >= RANKS[operation.may]:\n",
        "    if False:\n",
        "tests/operations/core/test_authority.py::test_a_task_is_called_off_by_who_added_it_or_has_it",
    ),
    (
        "operations/core/authority.py",
        "any(within(owner, call.agent) for owner in owners)",
        "bool(owners)",
        "tests/operations/core/test_authority.py::test_a_task_is_called_off_by_who_added_it_or_has_it",
    ),
    (
        "operations/core/authority.py",
        "    if call.model or call.inside or call.session or ",
        "    if call.model or call.session or ",
        "tests/operations/agents/test_speech.py::test_a_commands_words_are_judged_by_the_same_rule",
    ),
    (
        "operations/core/authority.py",
        "(call.client is not None and not call.is_program(call.client))",
        "False",
        "tests/operations/core/test_authority.py::test_an_agent_without_a_role_is_an_agent_and_a_caller_without_a_client_above_is_a_person",
    ),
    (
        "operations/core/authority.py",
        'if not agent["left"] and not agent["killed"] and',
        "if",
        "tests/operations/core/test_authority.py::test_a_refusal_names_nobody_who_is_dead_killed_or_left",
    ),
    (
        "operations/core/authority.py",
        'if call.alive(agent["process"]) is not False]',
        "]",
        "tests/operations/core/test_authority.py::test_a_refusal_names_nobody_who_is_dead_killed_or_left",
    ),
    (
        "operations/core/entry.py",
        "    if agent is None and not operation.registers:\n",
        "    if False:\n",
        "tests/operations/agents/test_forgetting.py::test_who_only_asks_is_not_registered_and_a_person_is_shown_as_one",
    ),
    (
        "operations/core/entry.py",
        "            _refuse_misspelt_name(tx, call)\n",
        "            pass\n",
        "tests/operations/agents/test_names.py::test_a_new_agent_that_is_named_almost_like_a_known_one_is_questioned_until_it_boots",
    ),
    ("operations/core/nested.py", "value if value is None else known[name].check(value)", "value",
     "tests/operations/core/test_internal.py::test_an_odd_value_in_a_nested_field_is_refused"),
    ("operations/core/declare.py", "found[name] = field.check(given_value)", "found[name] = given_value",
     f"{CONTRACT}::test_an_operation_holds_its_request_to_the_declaration_whatever_the_door"),
    ("operations/core/declare.py", "            found[name] = value\n", "            pass\n",
     f"{CONTRACT}::test_the_declared_default_is_what_a_body_gets"),
    ("operations/core/declare.py", "return isinstance(value, Canonical) and", "return isinstance(value, list) and",
     f"{CONTRACT}::test_an_operation_holds_its_request_to_the_declaration_whatever_the_door"),
    ("operations/core/declare.py", "return isinstance(value, int) and not isinstance(value, bool) and -MAX_INTEGER",
     "return isinstance(value, int) and -MAX_INTEGER", f"{ODD}::test_a_wrong_kind_is_invalid_with_the_fields_name"),
    ("operations/core/json_values.py", "    if not is_text(text):\n", "    if False:\n",
     f"{ODD}::test_a_wrong_kind_is_invalid_with_the_fields_name"),
    ("operations/core/entry.py", "if name not in unsaid}", 'if name != "wait"}',
     f"{VERIFY}::test_a_retry_with_the_same_request_id_runs_nothing_again"),
    ("operations/core/long_jobs.py", 'if one is not task and one["state"] in lifecycle.FINAL_STATES and one["finished"] < job["at"]:', "if False:",
     f"{BACKLOG}::test_what_lies_below_a_task_that_was_over_before_is_left_alone"),
    # a job is gone on with
    ("operations/core/long_jobs.py", 'return bool(tx.now - job["touched"] >= ABANDONED_MS)', "return False",
     f"{BACKLOG}::test_whoever_takes_a_task_goes_on_with_a_job_that_was_abandoned"),
    ("operations/core/long_jobs.py", 'return bool(tx.now - job["touched"] >= ABANDONED_MS)', "return True",
     f"{BACKLOG}::test_a_job_in_hand_is_left_to_whoever_has_it"),
    ("operations/core/long_jobs.py", '    tx.put(f"j\\t{job[\'job\']}", job, i2=DUE_PREFIX + job["job"])', "    pass",
     f"{BACKLOG}::test_a_tree_is_called_off_in_steps_and_the_answer_counts_all"),
    ("operations/core/paging.py", "if looked >= MAX_ROWS_READ:", "if False:",
     f"{LISTINGS}::test_a_page_that_has_looked_at_many_rows_in_vain_says_that_there_is_more"),
    ("operations/core/call.py",
     'return agent == other or agent.startswith(other + "/") or other.startswith(agent + "/")',
     "return agent.startswith(other) or other.startswith(agent)",
     f"{CLAIMS}::test_ancestors_and_descendants_do_not_block_each_other_but_siblings_do"),
    ("operations/core/entry.py", "    return former or call.client is not None", "    return False",
     f"{AGENTS}::test_after_that_the_earlier_process_is_fenced_and_the_new_one_acts"),
    # Promise 6: nothing is lost, nothing happens twice
    ("operations/core/entry.py", "            return _same_answer(known, digest, call)\n", "            pass\n",
     f"{CLAIMS}::test_the_same_request_id_gets_the_same_answer_and_no_second_effect"),
    ("operations/core/entry.py", '    if known["digest"] != digest:', "    if False:",
     f"{CLAIMS}::test_a_request_id_belongs_to_one_agent_one_operation_and_one_request"),
    # The kill switch
    ("operations/core/entry.py", '        if record is not None and record["killed"]:', "        if False:",
     f"{AGENTS}::test_kill_voids_everything_of_the_agent_and_its_subagents"),
    ("operations/core/call.py", "    if agent.casefold() in RESERVED:", "    if False:",
     f"{AGENTS}::test_nobody_is_called_by_a_word_that_means_somebody_else"),
    ("operations/core/entry.py", "if (record is None or", "if (False or",
     f"{NAMES}::test_who_calls_under_a_name_is_the_agent_that_has_it"),
    ("errors.py", 'wanted = fields.get("wanted") or held[:1]', "wanted = held[:1]",
     "tests/operations/agents/test_names.py::test_a_refusal_names_what_was_asked_for_where_something_larger_is_held"),
    # what is no text and no number
    ("operations/core/entry.py", "    _check_caller(call)\n", "",
     "tests/operations/core/test_plain_words.py::test_so_is_the_name_of_the_caller"),
)  # fmt: skip
