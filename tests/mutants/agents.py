"""The checks of agents: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

AGENTS = "tests/operations/agents/test_agents.py"
BACKLOG = "tests/operations/core/test_backlog.py"
BELIEFS = "tests/operations/agents/test_beliefs.py"
BOUNDS = "tests/faults/test_backlog_bounds.py"
MEMORIES = "tests/session/test_memories.py"
MESSAGES = "tests/operations/messages/test_messages.py"
NAMES = "tests/operations/agents/test_names.py"
ROLES = "tests/operations/agents/test_roles.py"
RULES = "tests/operations/agents/test_rules.py"
SMALL = "tests/operations/core/test_small_things.py"
SPEECH = "tests/operations/agents/test_speech.py"
TAKING = "tests/operations/tasks/test_task_taking.py"

ROWS = (
    ("operations/agents/departures.py", 'if _has_it(tx, job["to"], record):', "if False:",
     f"{AGENTS}::test_what_its_parent_holds_itself_is_not_held_twice_when_a_subagent_ends"),
    ("operations/agents/presence.py", '"role": roles.told(call, agent)', '"role": None',
     "tests/doors/hooks/test_hooks_edits.py::test_a_workers_briefing_says_that_it_is_one_and_what_that_means"),
    ("operations/core/entry.py", "if isinstance(result, Held) and call.is_person:", "if False:",
     "tests/doors/hooks/test_people.py::test_the_plan_of_an_undo_says_that_it_would_be_refused_and_what_a_person_can_do"),
    # tasks in mind
    ("operations/agents/beliefs.py", "            lost.append(_not_held(tx, call, task))\n", "            pass\n",
     f"{BELIEFS}::test_a_task_in_mind_that_another_has_is_named_with_its_holder_and_never_as_had"),
    ("operations/agents/beliefs.py", '"had": loss["why"] != NEVER_HELD,', '"had": True,',
     f"{BELIEFS}::test_a_task_in_mind_that_another_has_is_named_with_its_holder_and_never_as_had"),
    ("operations/agents/beliefs.py", '    return known.get("state") == lifecycle.COMPLETE and related(known["agent"], call.agent)\n',
     "    return False\n",
     f"{BELIEFS}::test_what_the_agent_finished_itself_is_no_loss_and_what_another_finished_is_named_as_complete"),
    ("operations/agents/beliefs.py", 'and related(known["agent"], call.agent)\n', "\n",
     f"{BELIEFS}::test_what_the_agent_finished_itself_is_no_loss_and_what_another_finished_is_named_as_complete"),
    ("operations/agents/beliefs.py", 'record["until"] > tx.now and related(record["agent"], call.agent):\n            return True',
     'record["until"] > tx.now and False:\n            return True',
     f"{BELIEFS}::test_a_task_at_work_in_the_agents_own_family_is_no_loss"),
    ("operations/agents/beliefs.py", '        if name in loss["resources"]:\n', "        if False:\n",
     f"{BELIEFS}::test_a_task_in_mind_that_the_agent_had_is_told_once_and_as_lost"),
    ("operations/agents/beliefs.py", 'if record["mode"] == resources.WATCH or ending', "if ending",
     f"{BELIEFS}::test_who_only_watches_does_not_hold_what_was_lost"),
    # losses by resource
    ("operations/agents/beliefs.py", 'parts.setdefault(holder["agent"] if holder is not None else "", ([], holder))',
     'parts.setdefault("", ([], holder))',
     f"{BELIEFS}::test_of_a_claim_on_several_each_resource_is_named_with_its_own_holder"),
    ("operations/agents/beliefs.py", " or resources.all_covered([resource], held):", ":",
     f"{BELIEFS}::test_of_a_claim_on_several_each_resource_is_named_with_its_own_holder"),
    ("operations/agents/beliefs.py", '[] if loss.get("settled") else _by_holder', "_by_holder",
     f"{BELIEFS}::test_of_a_claim_on_several_each_resource_is_named_with_its_own_holder"),
    # another id
    ("operations/agents/aliases.py", "    if former is not None and _is_present(tx, call, former):\n", "    if False:\n",
     f"{BELIEFS}::test_an_id_that_a_living_client_goes_by_stays_that_ones"),
    ("operations/agents/aliases.py", '    if record["killed"]:\n        return True', "    if False:\n        return True",
     f"{BELIEFS}::test_the_id_of_a_killed_agent_is_no_way_around_the_kill"),
    ("operations/agents/aliases.py", "        _bring(tx, call, former)\n", "        pass\n",
     f"{BELIEFS}::test_what_an_id_without_a_client_holds_and_lost_comes_along_under_new_tokens"),
    ("operations/agents/aliases.py", ' or record.get("client_type") or', " or",
     f"{BELIEFS}::test_two_sessions_in_one_client_process_stay_two_agents"),
    ("operations/agents/presence.py", "for one in (before, also) if one]", "for one in (also,) if one]",
     f"{BELIEFS}::test_an_id_used_by_hand_in_the_client_process_before_its_hook_ran_is_the_sessions"),
    ("operations/agents/presence.py", '"same" if before == now else "changed"', '"same"',
     f"{MEMORIES}::test_the_briefing_delivers_them_and_marks_what_changed_since_it_was_told"),
    (
        "operations/agents/roles.py",
        'name = "" if is_person else roles["default"]',
        'name = roles["default"]',
        "tests/operations/core/test_authority.py::test_the_default_role_is_for_agents_and_a_person_has_a_role_only_by_name",
    ),
    (
        "operations/agents/roles.py",
        "if given and rank_of(call, given) == VIEWER:",
        "if False:",
        "tests/operations/core/test_authority.py::test_a_viewer_does_not_even_write_to_a_scratch_folder",
    ),
    (
        "operations/agents/presence.py",
        'return "orchestrator", [parent] if parent else []',
        'return "", []',
        "tests/operations/core/test_authority.py::test_an_agent_may_stop_its_own_subagents_and_neither_itself_nor_its_parent",
    ),
    (
        "operations/agents/roles.py",
        "    if role is None or not bans(role, tool):\n        return {}\n",
        "    return {}\n",
        "tests/doors/hooks/test_hooks_edits.py::test_a_tool_on_a_roles_list_is_refused_before_the_call_whatever_it_does",
    ),
    (
        "operations/agents/forgotten.py",
        '(max(keep, KILLED_LIFE_MS) if a["killed"] else keep)',
        "keep",
        "tests/operations/agents/test_forgetting.py::test_what_still_refers_to_an_agent_keeps_it",
    ),
    (
        "operations/agents/forgotten.py",
        ' if a["seen"] + (max(keep, KILLED_LIFE_MS) if a["killed"] else keep) <= tx.now]',
        "]",
        "tests/operations/agents/test_forgetting.py::test_one_that_left_is_forgotten_when_the_config_says_and_not_before",
    ),
    (
        "operations/agents/forgotten.py",
        '        if not _is_needed(tx, agent["agent"], agent.get("same", "")):\n',
        "        if True:\n",
        "tests/operations/agents/test_forgetting.py::test_what_still_refers_to_an_agent_keeps_it",
    ),
    (
        "operations/agents/forgotten.py",
        'if agent["left"] or not call.alive(agent["process"])]',
        "]",
        "tests/operations/agents/test_forgetting.py::test_one_whose_process_died_without_a_word_is_forgotten_and_one_that_lives_is_not",
    ),
    (
        "operations/agents/presence.py",
        'return not agent["left"] or bool(agent["killed"])',
        "return True",
        "tests/operations/agents/test_forgetting.py::test_one_that_left_is_hidden_and_shown_where_all_are_asked_for",
    ),
    # what is kept for those who will come reaches each of them, once; a message to all goes in bounded steps
    ("operations/agents/presence.py", "    _take_on_type(tx, agent, was)\n", "    pass\n",
     f"{MESSAGES}::test_a_message_for_a_type_reaches_every_agent_of_it_that_comes_before_it_expires"),
    ("operations/agents/departures.py", 'if record["since"] <= job["at"]:', "if True:",
     f"{BACKLOG}::test_what_an_agent_claims_after_it_left_is_not_released"),
    ("operations/agents/departures.py", 'used += len(record["resources"])  # one record for each resource', "used += 1",
     f"{BOUNDS}::test_leaving_with_many_claims_of_many_resources"),
    ("operations/agents/presence.py", 'departures.move(tx, claim, agent, "boot", tied=True)', "pass",
     f"{AGENTS}::test_a_boot_from_another_process_moves_the_claims_under_new_tokens"),
    ("operations/agents/roles.py", 'if text.startswith(scratch + "/") or text == scratch:',
     "if text.startswith(scratch):",
     f"{ROLES}::test_nobody_writes_into_dibs_own_record_but_into_its_own_scratch_folder"),
    ("operations/agents/roles.py", "            break\n", "",
     f"{ROLES}::test_the_first_assignment_that_speaks_of_an_agent_wins"),
    ("operations/agents/beliefs.py", '            loss["told"] = True\n', "",
     f"{RULES}::test_a_loss_is_told_until_it_is_claimed_again_and_remembered_until_a_release"),
    ("operations/agents/departures.py", "        holders.follow(tx, claim)\n", "        pass\n",
     f"{TAKING}::test_a_subagent_that_leaves_passes_its_task_to_its_parent_under_a_new_token"),
    # Whose shell it is
    ("operations/agents/speech.py", "return None if within(call.agent, call.inside) else", "return None if True else",
     f"{SPEECH}::test_an_agents_shell_cannot_speak_as_another_agent"),
    ("operations/agents/speech.py", ' and not found[key].get("program")', "",
     f"{SPEECH}::test_what_a_program_starts_is_no_agents_shell"),
    ("operations/agents/beliefs.py", " or resources.all_covered([resource], held):", ":",
     "tests/doors/hooks/test_hooks.py::test_what_was_lost_and_is_claimed_again_is_not_told_any_more"),
    # Names
    ("operations/agents/names.py", 'free = owner is None or owner["agent"] == identifier', "free = True",
     f"{NAMES}::test_no_two_agents_of_a_workspace_share_a_name_however_many_there_are"),
    ("operations/agents/names.py", 'if free and (name == identifier or taken[f"a\\t{name}"] is None):', "if free:",
     f"{NAMES}::test_a_name_is_never_somebody_elses_id"),
    ("operations/agents/names.py", "and field not in CALLER_VALUES", "",
     f"{NAMES}::test_values_that_somebody_wrote_are_left_as_they_are"),
)  # fmt: skip
