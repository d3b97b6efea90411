"""The checks of hooks: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

ANEW = "tests/doors/hooks/test_ledger_anew.py"
HOOKS = "tests/doors/hooks/test_boot_beliefs.py"
KILLED = "tests/doors/hooks/test_killed.py"
ROOM = "tests/faults/test_full_disk_hook.py::test_only_what_makes_room_passes_on_a_full_disk"
SECOND = "tests/doors/hooks/test_second_look.py"

ROWS = (
    # at the client's hook
    ("doors/hooks/lifecycle.py", "fields.update(env_beliefs.fields(), files", "fields.update(files",
     f"{HOOKS}::test_a_task_that_nobody_has_must_be_claimed_again_first"),
    ("doors/hooks/briefing.py", "    lines = loss_texts.first(result)\n", "    lines = []\n",
     f"{HOOKS}::test_a_task_that_nobody_has_must_be_claimed_again_first"),
    (
        "doors/hooks/hook.py",
        "        tool_call.use(event, place)\n",
        "        pass\n",
        "tests/doors/hooks/test_hooks_edits.py::test_a_tool_on_a_roles_list_is_refused_before_the_call_whatever_it_does",
    ),
    # killed is killed
    ("doors/hooks/hook.py", "        if _may_be_killed(event, place):\n", "        if False:\n",
     f"{KILLED}::test_every_call_of_a_killed_agent_is_refused_and_passes_once_it_is_revived"),
    ("doors/hooks/hook.py", "return event.kind != READ and ledger_files.is_due_far(place.local, event.agent)", "return False",
     f"{KILLED}::test_a_kill_by_another_machine_counts_here_after_ten_seconds_at_most"),
    ("doors/hooks/hook.py", " or ledger_files.is_due_far(place.local, agent):", ":",
     f"{KILLED}::test_a_kill_by_another_machine_counts_here_after_ten_seconds_at_most"),
    ("doors/hooks/hook.py", "                stop_marks.put(place.local, event.agent)\n", "                pass\n",
     f"{KILLED}::test_a_kill_by_another_machine_counts_here_after_ten_seconds_at_most"),
    ("doors/hooks/tool_call.py", "        stop_marks.remove(place.local, event.agent)\n", "        pass\n",
     f"{KILLED}::test_a_mark_without_a_kill_costs_one_question_and_is_gone"),
    ("session/stop_marks.py", 'agent = agent.rpartition("/")[0]\n        else:', 'agent = ""\n        else:',
     f"{KILLED}::test_the_subagents_of_a_killed_agent_are_refused_too"),
    ("operations/agents/stops.py", '{agent["agent"], agent.get("name", ""), *agent.get("also", ())}', '{agent["agent"]}',
     f"{KILLED}::test_an_agent_that_is_killed_under_its_name_or_another_id_is_refused_by_its_own_id"),
    ("stores/sqlite/store.py", "                    self._wakes().mark(tx.names)\n", "                    pass\n",
     f"{KILLED}::test_a_kill_whose_process_dies_right_after_the_commit_counts_at_every_hook"),
    ("doors/clients/claude/install.py", "        return _without(text, FORMER)\n", "        return text\n",
     "tests/doors/clients/test_approved.py::test_the_entry_of_an_earlier_init_is_replaced_by_the_list_and_all_else_stays"),
    ("doors/clients/approved.py", "first if family <= APPROVED else name", "first",
     "tests/doors/clients/test_approved.py::test_no_client_runs_these_without_asking"),
    ("doors/hooks/edit_guard.py", "                    known[top].write()\n", "                    pass\n",
     f"{SECOND}::test_a_hook_writes_once_into_the_ledger_and_a_refused_one_writes_what_it_saw"),
    ("doors/hooks/edit_guard.py", "            wanted = real = session.place.top  #", "            pass  #",
     "tests/doors/hooks/test_hooks_shell.py::test_the_folder_that_a_workspace_without_git_lies_in_is_not_deleted_under_a_holder"),
    # a full disk
    ("doors/hooks/hook.py", " or _makes_room(event))", ")", ROOM),
    ("doors/hooks/full_disk.py", 'target.how == "delete" and ', "", ROOM),
    ("doors/hooks/caller.py", "    tree.write()\n    tree.shorten()\n", "    tree.write()\n",
     f"{ANEW}::test_the_ledger_of_an_agent_whose_client_tells_of_no_end_stays_short"),
    ("doors/hooks/edit_guard.py",
     "if not any(_changed(known[top], items, before[top]) for top, items in named.items()):", "if True:",
     f"{SECOND}::test_what_somebody_wrote_and_committed_before_the_claim_was_granted_has_to_be_read_first"),
    # what was once lost without a word
    ("doors/hooks/hook.py", "if content == contents.Index(git_dir).blob(path):", "if True:",
     "tests/doors/hooks/test_two_agents.py::test_once_found"),
    ("doors/hooks/open_targets.py", "and real not in _temporary()", "",
     "tests/doors/hooks/test_ordinary.py::test_what_is_put_among_temporary_files_passes_wherever_the_workspace_lies"),
    ("doors/hooks/hook.py", "    return _deny(client, event.name if event is not None else name, reason)\n",
     "    return Answer(ALLOW)\n",
     "tests/doors/hooks/test_hooks.py::test_what_cannot_be_decided_is_refused_with_the_way_past_it"),
    # Files that an agent undoes by git are its own doing
    ("doors/hooks/shell_guard.py", '            tree.name(event.key, path, BACK, blob=_brought(tree, path, content) if sure else "")\n', "            pass\n",
     "tests/doors/hooks/test_hooks_audit.py::test_who_undoes_a_file_of_its_own_by_git_is_its_changer_and_may_go_on"),
    ("doors/hooks/shell_guard.py", " and not taken and not undone and not moded:", " and not taken and not moded:",
     "tests/doors/hooks/test_hooks_audit.py::test_who_undoes_a_file_of_its_own_by_git_is_its_changer_and_may_go_on"),
)  # fmt: skip
