"""The checks of `dibs undo`: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

UNDO = "tests/running/test_undo.py"

BY_HAND = "tests/doors/cli/test_undo_by_hand.py"

ROWS = (
    ("operations/guards/attribution.py", "        if call.id.startswith(UNDO):", "        if False:",
     f"{BY_HAND}::test_work_that_follows_an_undo_at_once_is_its_own_agent_s"),
    ("running/undo_commits.py", "                meant.add(same[0].id)", "                pass",
     f"{BY_HAND}::test_a_commit_that_was_rebased_is_still_its_work"),
    ("running/undo_plan.py", " or self._is_undone(chain[-1][0])", "",
     f"{BY_HAND}::test_conflict_marks_of_an_undo_are_not_doubled_by_a_second_one"),
    ("session/working_tree.py", " and not self._is_in_new_folder(seen.path)", "",
     f"{BY_HAND}::test_the_same_without_git_and_what_was_in_the_folder_stays"),
    ("operations/guards/undo.py", "            if merge is None:\n                continue\n", "",
     f"{UNDO}::test_what_others_built_on_it_is_refused_and_merged_if_told_so"),
    ("operations/guards/undo.py", 'return ("" if all(within(agent, call.agent) for agent in of) else "orchestrator"), []',
     'return "", []', f"{UNDO}::test_only_an_orchestrator_or_a_person_undoes_another_agent_s_work"),
    ("operations/guards/undo.py", 'any(one.get("undo") == undo and one["until"] > tx.now for one in mine)', "True",
     "tests/operations/core/test_internal.py::test_an_odd_value_is_refused_or_decided_and_never_a_raw_error[undo-done]"),
    ("operations/claims/grants.py", '    if wish["by"] in {endings.BY_HAND, endings.BY_TASK}:  #', "    if True:  #",
     f"{UNDO}::test_the_caller_s_own_claim_outlives_the_undo_with_its_own_reason"),
    ("operations/guards/ledger.py", " and not call.id.startswith(UNDO)", "",
     f"{UNDO}::test_an_agent_without_hooks_that_undoes_a_part_can_undo_the_rest"),
    ("running/undo_work.py", "            return self.finish(made)  # after that: half an undo helps nobody\n", "            raise\n",
     f"{UNDO}::test_ctrl_c_leaves_all_of_it_or_nothing_and_no_claim"),
    ("running/undo_plan.py", "self._uncommitted(one, runs) or ", "",
     f"{UNDO}::test_unfinished_work_that_another_agent_s_commit_took_in_is_unfinished_again"),
    ("running/undo_plan.py", "            chain.sort(key=lambda one: one[0].looked)", "            pass",
     f"{UNDO}::test_a_file_that_was_changed_and_then_made_executable_comes_back"),
    ("running/undo_work.py", "            self._write_journal(made)\n", "            pass\n",
     f"{UNDO}::test_killed_at_any_step_the_next_run_continues_to_the_same_end"),
    ("facts/ledger_files.py", "        if past:\n            _append_past(folder, _bytes(past))\n", "",
     f"{UNDO}::test_a_ledger_that_was_compacted_still_knows_what_was_there"),
    ("running/undo_scope.py", "held = self.claims.values() if kind != UNDO else ()", "held = self.claims.values()",
     f"{UNDO}::test_nothing_is_the_work_of_an_undo_only_because_its_caller_held_the_file"),
)  # fmt: skip
