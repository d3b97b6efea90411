"""The checks of an agent's start and of the `.agent` registry: file, text, instead, the test."""

from __future__ import annotations

REGISTRIES = "tests/operations/tasks/test_registries.py"
MEMORIES = "tests/session/test_memories.py"
BELIEFS = "tests/operations/agents/test_beliefs.py"
HOOKS = "tests/doors/hooks/test_boot_beliefs.py"

BOOT = (
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
    # the files to read before acting
    ("session/memory_files.py", "    if _is_newest_first(text):\n", "    if False:\n",
     f"{MEMORIES}::test_of_a_long_file_with_its_newest_entries_first_the_top_is_told"),
    ("session/memory_files.py", "_part(text, min(EACH, left))", "_part(text, EACH)",
     f"{MEMORIES}::test_all_together_stay_within_the_limit_and_what_has_no_room_is_named"),
    ("session/memory_files.py", 'f"> {quotes.clean(line)}"', "line",
     f"{MEMORIES}::test_a_line_of_a_file_cannot_pass_for_a_word_of_dibs"),
    ("operations/agents/presence.py", '"same" if before == now else "changed"', '"same"',
     f"{MEMORIES}::test_the_briefing_delivers_them_and_marks_what_changed_since_it_was_told"),
    # tasks of a registry
    ("operations/tasks/registries.py", '        if known[spec["id"]] is None:\n', "        if True:\n",
     f"{REGISTRIES}::test_tasks_come_in_in_their_states_with_their_text_and_once[memory]"),
    ("operations/tasks/registries.py", '    if claim is None or not related(claim["agent"], call.agent):\n', "    if claim is None:\n",
     f"{REGISTRIES}::test_a_task_of_a_file_is_taken_given_back_and_finished[memory]"),
    ("operations/tasks/registries.py", "    _again_scoped(tx, call, task)\n    return", "    return",
     f"{REGISTRIES}::test_a_task_of_a_file_is_taken_given_back_and_finished[memory]"),
    ("operations/tasks/registries.py", "        _convert(tx, call, task)\n", "        pass\n",
     f"{REGISTRIES}::test_a_claim_on_the_name_becomes_the_claim_of_the_task[memory]"),
    ("operations/tasks/registries.py", '    if task["state"] == EXECUTING:\n        return pulls.take(tx, call, got, task)\n', "",
     f"{REGISTRIES}::test_a_claim_made_with_files_has_what_is_left_of_its_time_and_no_limit_of_tasks_refuses_it[memory]"),
    ("operations/tasks/registries.py", 'if state not in MANUAL_STATES or task["state"] not in MANUAL_STATES:', "if state not in MANUAL_STATES:",
     f"{REGISTRIES}::test_a_file_moved_by_hand_moves_an_open_task_that_nobody_has[memory]"),
    ("operations/tasks/registries.py", 'if task["state"] != PLANNED or task["origin"] != SCOPED:', 'if task["state"] != PLANNED:',
     f"{REGISTRIES}::test_what_was_scoped_and_is_lost_is_scoped_again_and_what_was_planned_stays_in_the_queue"),
    ("operations/tasks/pulls.py", "        progress=0, origin=origin,\n", "        progress=0,\n",
     f"{REGISTRIES}::test_what_was_scoped_and_is_lost_is_scoped_again_and_what_was_planned_stays_in_the_queue"),
    ("operations/tasks/pulls.py", 'origin=task["origin"] if origin else ""', 'origin=task["origin"]',
     f"{REGISTRIES}::test_a_task_that_a_worker_takes_from_the_queue_forgets_that_it_was_scoped"),
    ("operations/tasks/pulls.py", "min(left or ttl, ttl)", "ttl",
     f"{REGISTRIES}::test_a_claim_made_with_files_has_what_is_left_of_its_time_and_no_limit_of_tasks_refuses_it[memory]"),
    ("lookout/tasks.py", 'if state == "complete" and said.data.get("imported") is True:', 'if state == "complete":',
     f"{REGISTRIES}::test_a_complete_task_may_begin_so_only_if_it_was_imported"),
    # at the client's hook
    ("doors/hooks/lifecycle.py", "fields.update(env_beliefs.fields(), files", "fields.update(files",
     f"{HOOKS}::test_a_task_that_nobody_has_must_be_claimed_again_first"),
    ("doors/hooks/briefing.py", "    lines = loss_texts.first(result)\n", "    lines = []\n",
     f"{HOOKS}::test_a_task_that_nobody_has_must_be_claimed_again_first"),
    ("session/env_beliefs.py", 'return 0 < len(value) <= LONGEST and value.isprintable() and " " not in value',
     "return bool(value)", f"{HOOKS}::test_an_environment_that_makes_no_sense_is_no_belief"),
)  # fmt: skip
