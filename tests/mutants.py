"""`make mutants`: each check that keeps a promise is taken out in turn, and the test that must fail then is run.

A line of the table: the file, the text that keeps the promise, what stands there instead, and the test that finds out.
CI runs it (tests/test_mutants.py), so a promise without a test cannot land.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.mutants_authority import AUTHORITY
from tests.mutants_boot import BOOT
from tests.mutants_bounded import BOUNDED
from tests.mutants_corners import CORNERS
from tests.mutants_deploys import DEPLOYS as DEPLOY_CHECKS
from tests.mutants_ledger import LEDGER
from tests.mutants_stores import STORES as ENGINES

TOP = Path(__file__).resolve().parent.parent
CLAIMS, WAITING = "tests/operations/test_claims.py", "tests/operations/test_waiting.py"
AGENTS, STORES = "tests/operations/test_agents.py", "tests/stores"
EDITS, COMMANDS = "tests/operations/test_edits.py", "tests/operations/test_commands.py"
ROLES, RULES = (f"tests/operations/test_{name}.py" for name in ("roles", "rules"))

MOVES, UP = "tests/doors/test_store_move.py", "tests/doors/test_up.py"
COMMITS, DEPLOYS = "tests/operations/test_commits.py", "tests/operations/test_deploys.py"
TASKS, TAKING, OUTCOMES = (f"tests/operations/test_{name}.py" for name in ("tasks", "task_taking", "task_outcomes"))
STATE, VOTES, MESSAGES, SUBSCRIPTIONS = (
    f"tests/operations/test_{name}.py" for name in ("state", "votes", "messages", "subscriptions")
)
SWEPT, LAUNCHER = "tests/doors/test_swept.py", "tests/doors/test_launcher.py"
VERIFY_TASKS = "tests/lookout/test_verify_tasks.py"
SPEECH = "tests/operations/test_speech.py"
CYCLES = "tests/operations/test_cycles.py"
NAMES = "tests/operations/test_names.py"


class Mutant(NamedTuple):
    """One check, taken out."""

    file: str
    text: str
    instead: str
    test: str


MUTANTS = (
    # Promise 1: at most one holder
    Mutant("operations/claims/endings.py",
           'return resources.conflict(record["mode"], mode) and not related(record["agent"], agent)',
           "return False", f"{CLAIMS}::test_a_request_for_several_gets_all_or_none"),
    Mutant("operations/claims/resources.py", "return (mode == WRITE and other != WATCH) or (other == WRITE and mode != WATCH)",
           "return mode == WRITE and other == WRITE", f"{CLAIMS}::test_readers_share_and_exclude_writers"),
    Mutant("operations/claims/resources.py", 'return not above or path.startswith(above + "/")', "return False",
           f"{CLAIMS}::test_accident_c_what_could_match_the_same_file_overlaps"),
    Mutant("operations/claims/resources.py",
           '            found.append((f"r/{base}/", f"r/{base}0") if base else ("r/", "r0"))\n', "",
           f"{CLAIMS}::test_accident_c_what_could_match_the_same_file_overlaps"),
    Mutant("operations/claims/resources.py", 'found["inode", resource[2]] = ["inode", resource[2]]', "pass",
           f"{CLAIMS}::test_hard_links_of_one_file_meet_by_their_inode"),
    Mutant("operations/core/call.py",
           'return agent == other or agent.startswith(other + "/") or other.startswith(agent + "/")',
           "return agent.startswith(other) or other.startswith(agent)",
           f"{CLAIMS}::test_ancestors_and_descendants_do_not_block_each_other_but_siblings_do"),
    Mutant("operations/claims/holds.py", '(tree and record["tree"] and tree != record["tree"])', '(tree != record["tree"])',
           f"{CLAIMS}::test_the_same_path_in_two_working_trees_does_not_meet"),
    Mutant("operations/claims/resources.py", '{suffix}\\t{text}"', '{suffix}"',
           f"{CLAIMS}::test_several_globs_and_a_directory_with_one_prefix_are_all_held_and_all_released"),
    Mutant("operations/claims/holds.py", "        if not got.truncated:\n            return\n", "        return\n",
           "tests/operations/test_paging.py"),
    Mutant("operations/claims/grants.py", "        first = None  # what was read on the way in may be over by now\n",
           "        pass\n", "tests/operations/test_paging.py"),
    # Promise 2: tokens rise, stale ones are refused
    Mutant("operations/claims/releases.py",
           '            if token and claim["token"] != token:\n                continue\n', "",
           f"{CLAIMS}::test_an_old_token_is_refused_even_when_the_agent_holds_it_again"),
    Mutant("operations/claims/tokens.py",
           'live = record["token"] == token and resources.all_covered([wanted], record["resources"])',
           'live = resources.all_covered([wanted], record["resources"])',
           f"{CLAIMS}::test_an_old_token_is_refused_even_when_the_agent_holds_it_again"),
    Mutant("operations/agents/presence.py", 'move(tx, claim, call.agent, "boot", tied=True)', "pass",
           f"{AGENTS}::test_a_boot_from_another_process_moves_the_claims_under_new_tokens"),
    Mutant("operations/core/entry.py", "    return former or call.client is not None", "    return False",
           f"{AGENTS}::test_after_that_the_earlier_process_is_fenced_and_the_new_one_acts"),
    Mutant("operations/claims/releases.py", 'until = max(claim["until"], min(tx.now + claim["ttl"], claim["life"]))',
           'until = max(claim["until"], tx.now + claim["ttl"])',
           f"{CLAIMS}::test_renewing_gives_a_full_life_but_not_beyond_max_life"),
    Mutant("operations/claims/grants.py",
           '    if record["until"] <= tx.now:\n        found.ended.append(record)\n    elif',
           "    if", f"{CLAIMS}::test_a_claim_past_its_deadline_that_no_sweep_came_to_blocks_nobody"),
    Mutant("operations/claims/grants.py", "        found.gone = endings.gone(tx, call, suspects)", "        pass",
           f"{CLAIMS}::test_a_dead_local_holder_loses_its_claim_as_soon_as_anybody_wants_it"),
    Mutant("operations/claims/releases.py", 'and not claim["fixed"] and not claim["pending"]', 'and not claim["pending"]',
           f"{CLAIMS}::test_activity_renews_what_is_past_half_its_life_and_was_given_no_ttl"),
    # Promise 3 and 4: kept when answered, all or nothing
    Mutant("stores/sqlite/store.py", 'self._sql("COMMIT" if tx.touched else "ROLLBACK")', 'self._sql("ROLLBACK")', STORES),
    Mutant("stores/sqlite/store.py", "        if store_id and head[6] != store_id:", "        if False:",
           "tests/stores/test_sqlite.py"),
    Mutant("stores/sqlite/store.py", "        if (found.st_dev, found.st_ino) != self._file:", "        if False:",
           "tests/stores/test_sqlite.py"),
    Mutant("stores/sqlite/store.py",
           '                    if connection.in_transaction:\n                        connection.execute("ROLLBACK")\n'
           "                except apsw.Error:\n                    pass  # the statement that failed",
           '                    if connection.in_transaction:\n                        connection.execute("COMMIT")\n'
           "                except apsw.Error:\n                    pass  # the statement that failed",
           f"{STORES}/test_conformance.py"),
    Mutant("stores/sqlite/store.py", "                if clock.since_boot() + tx.base - tx.now > STALE_NOW:",
           "                if False:", f"{STORES}/test_conformance.py"),
    Mutant("stores/sqlite/store.py", "        if head[0] < answered:", "        if False:", "tests/stores/test_sqlite.py"),
    Mutant("stores/sqlite/database_file.py", "        if found > len(MIGRATIONS):", "        if False:",
           "tests/stores/test_sqlite.py"),
    Mutant("stores/sqlite/store.py", 'self._sql("PRAGMA synchronous = FULL")', 'self._sql("PRAGMA synchronous = OFF")',
           "tests/stores/test_sqlite.py"),
    Mutant("stores/memory.py", "                if self._open is tx:\n                    self._set_right()\n",
           "                self._open = None\n", f"{STORES}/test_conformance.py"),
    # Promise 5: nothing waits for ever
    Mutant("operations/claims/waiters.py", "    cycle = deadlocks.find(tx, wish, in_the_way)\n",
           "    cycle: list[dict[str, Any]] = []\n",
           f"{WAITING}::test_two_who_wait_for_each_other_are_found_when_the_cycle_closes"),
    Mutant("operations/claims/deadlocks.py", 'holds.CLAIM in record and record["agent"] == start)', 'record["agent"] == start)',
           f"{CYCLES}::test_two_places_of_one_agent_are_no_cycle_although_somebody_stands_between_them"),
    Mutant("operations/claims/deadlocks.py", '(not upgrade and record["ticket"] < place["ticket"])',
           '(record["ticket"] < place["ticket"])',
           f"{CYCLES}::test_an_upgrade_that_passes_the_queue_is_no_step_to_those_who_wait_in_it"),
    Mutant("operations/claims/deadlocks.py", '(not upgrade and record["ticket"] < place["ticket"])', "False",
           f"{CYCLES}::test_a_cycle_through_somebody_elses_place_in_a_queue_is_found"),
    Mutant("operations/claims/grants.py", "    if found.me is None:\n        _ask_again", "    if False:\n        _ask_again",
           f"{WAITING}::test_who_asks_again_keeps_its_place_and_is_no_cycle"),
    Mutant("operations/claims/grants.py", "    if found.me is not None and found.owner:", "    if found.me is not None:",
           f"{WAITING}::test_a_process_that_waits_along_does_not_give_up_the_place_that_another_one_took_over"),
    Mutant("operations/claims/grants.py", "if _take_up(tx, holds.of_agent(tx, holds.CLAIM, call.agent), wish):", "if False:",
           f"{WAITING}::test_who_waits_behind_a_reader_is_not_refused_because_that_one_waits_for_its_upgrade"),
    Mutant("operations/claims/endings.py", "and not holds_all(live, waiter):", "and True:",
           f"{WAITING}::test_who_waits_behind_a_reader_is_not_refused_because_that_one_waits_for_its_upgrade"),
    Mutant("operations/claims/endings.py", '        if record["agent"] == interest["agent"]:', "        if False:",
           f"{WAITING}::test_who_got_it_hears_nothing_of_its_being_free"),
    Mutant("operations/claims/releases.py", "        _refuse_closing(tx, given)\n", "",
           f"{WAITING}::test_a_hand_over_that_would_close_a_cycle_is_refused"),
    Mutant("operations/claims/endings.py",
           '        if waiter["until"] <= tx.now:\n            drop_waiter(tx, waiter, "lapsed")\n'
           "            continue\n",
           "", f"{WAITING}::test_an_absent_waiter_is_skipped"),
    Mutant("operations/claims/endings.py", '    waiting.sort(key=lambda record: record["ticket"])',
           '    waiting.sort(key=lambda record: -record["ticket"])',
           f"{WAITING}::test_the_first_of_many_is_served"),
    Mutant("operations/claims/grants.py", "in_the_way = found.holders if upgrade else found.holders + _before(found)",
           "in_the_way = found.holders", f"{WAITING}::test_nobody_is_granted_past_an_earlier_waiter"),
    Mutant("operations/claims/grants.py", 'found.holders if tx.now - claim["since"] >= YOUNG]', "found.holders if False]",
           f"{WAITING}::test_a_holder_of_a_moment_is_asked_after_by_the_next_look_of_who_waits"),
    Mutant("operations/claims/waiters.py", "    return LOOK_OFTEN if age >= YOUNG else YOUNG - age", "    return LOOK_OFTEN",
           f"{WAITING}::test_a_holder_of_a_moment_is_asked_after_by_the_next_look_of_who_waits"),
    Mutant("operations/upkeep/sweeps.py", "    elif last is not None:\n        tx.delete(PLACE)\n", "",
           f"{WAITING}::test_sweeps_look_at_all_agents_one_after_the_other"),
    Mutant("operations/claims/releases.py", '        endings.serve(tx, freed)\n    return {"released": _shown(freed)}',
           '    return {"released": _shown(freed)}',
           f"{WAITING}::test_who_asks_again_keeps_its_place_and_is_no_cycle"),
    # Promise 6: nothing is lost, nothing happens twice
    Mutant("operations/core/entry.py", "            return _same_answer(known, digest, call)\n", "            pass\n",
           f"{CLAIMS}::test_the_same_request_id_gets_the_same_answer_and_no_second_effect"),
    Mutant("operations/core/entry.py", '    if known["digest"] != digest:', "    if False:",
           f"{CLAIMS}::test_a_request_id_belongs_to_one_agent_one_operation_and_one_request"),
    Mutant("operations/claims/endings.py",
           "    tx.put(f\"l\\t{claim['agent']}\\t{claim['claim']}\", lost, i2=due(lost[\"until\"]))\n", "",
           f"{AGENTS}::test_boot_says_what_is_held_and_what_was_lost_to_whom"),
    # The kill switch
    Mutant("operations/core/entry.py", '        if record is not None and record["killed"]:', "        if False:",
           f"{AGENTS}::test_kill_voids_everything_of_the_agent_and_its_subagents"),
    Mutant("operations/claims/releases.py", '        if record is not None and record["killed"]:', "        if False:",
           f"{CLAIMS}::test_a_hand_over_to_nobody_or_to_a_killed_agent_changes_nothing"),
    # Promise 8: the log
    Mutant("stores/seam.py", 'text = f"{previous}|{seq}|{commit}|{now}|{wall}|{digest}"',
           'text = f"{seq}|{commit}|{now}|{wall}|{digest}"', "tests/lookout/test_verify.py"),
    Mutant("operations/claims/endings.py", '    tx.append("claim.granted", record["agent"], record["claim"], event)\n', "",
           f"{CLAIMS}::test_the_token_is_the_number_of_the_commit_that_granted_it"),
    Mutant("operations/claims/grants.py", '    if call.policy.ordering != "enforce" or', "    if True or",
           f"{CLAIMS}::test_ordering_refuses_what_comes_before_what_one_holds"),
    Mutant("operations/claims/grants.py", "        if len(kept) >= ROOT_GLOBS:", "        if False:",
           f"{CLAIMS}::test_globs_that_begin_with_a_wildcard_have_a_quota"),
    # The guards
    Mutant("operations/guards/edit_guard.py", '            and record["by"] != BY\n', "",
           "tests/operations/test_strict.py::test_which_claims_of_ones_own_are_explicit"),
    Mutant("operations/guards/edit_guard.py", '        and record["until"] - tx.now > record["ttl"] // 2\n', "",
           f"{EDITS}::test_a_claim_is_renewed_when_half_of_its_life_is_over_and_not_before"),
    Mutant("operations/guards/edit_guard.py", "interest=True", "interest=False",
           f"{EDITS}::test_a_refused_agent_is_told_once_when_the_path_is_free_and_gets_no_claim"),
    Mutant("operations/guards/shell_guard.py", "(below is None or any(", "(below is not None and any(",
           f"{COMMANDS}::test_an_unreadable_target_is_refused_while_others_hold_files_here"),
    Mutant("facts/shell/unknown.py", "(before,))", "None)",
           "tests/facts/test_shell_doubts.py::test_a_target_behind_a_known_beginning_lies_there"),
    Mutant("facts/shell/unknown.py", 'if "/.." in after or', "if False and",
           "tests/facts/test_shell_doubts.py::test_a_target_of_which_nothing_is_known_may_be_anywhere"),
    Mutant("facts/shell/findings.py", "if self._times[target.path] > 1 or target.how", "if target.how",
           "tests/facts/test_shell_contents.py::test_no_content_is_told_that_is_not_certain"),
    Mutant("facts/shell/findings.py", "derived and since <= moment", "derived and since <= self.moment",
           "tests/facts/test_shell_contents.py::test_a_write_is_whole_where_nothing_of_the_file_can_be_left"),
    Mutant("facts/shell/findings.py", "if certain:\n            self.sink", "if True:\n            self.sink",
           "tests/facts/test_shell_contents.py::test_nothing_is_told_as_shown_that_the_agent_does_not_see"),
    Mutant("facts/shell/findings.py", "and not self.opened and not self._look.is_there(full)", "and False",
           "tests/facts/test_shell_programs.py::test_what_is_not_there_is_not_deleted"),
    Mutant("facts/shell/harmless.py", "call.reading.opened = True\n    if _leaves", "pass\n    if _leaves",
           "tests/facts/test_shell_kinds.py::test_a_command_that_may_write_more_than_it_names_is_open"),
    Mutant("facts/shell/globs.py", "if self._left < 0 or now > self._until:", "if False:",
           "tests/facts/test_shell.py::test_looking_for_files_ends_in_time"),
    Mutant("doors/hooks/doubts.py", "and real not in _temporary()", "",
           "tests/doors/test_ordinary.py::test_what_is_put_among_temporary_files_passes_wherever_the_workspace_lies"),
    Mutant("operations/guards/shell_guard.py", "any(resources.overlap(one, resource) for one in below)", "True",
           f"{COMMANDS}::test_a_target_of_which_the_folder_is_known_is_refused_only_where_others_hold_something_there"),
    Mutant("operations/guards/working_tree.py", " if path not in held]", "]",
           f"{COMMANDS}::test_a_sweep_over_files_of_others_is_refused_with_the_list_and_the_safe_command"),
    Mutant("operations/guards/working_tree.py", 'or (not record["tree"] and fact.get("main"))', 'or not record["tree"]',
           f"{COMMANDS}::test_a_claim_by_hand_is_at_work_in_the_main_working_tree_and_a_name_in_none"),
    Mutant("operations/guards/working_tree.py", "        return _moved(tx, fact, others)\n", "        return None\n",
           f"{COMMANDS}::test_another_branch_is_refused_while_others_hold_files_in_that_working_tree"),
    Mutant("operations/guards/working_tree.py", "or not _is_at_work(tx, call, agent):", "or True:",
           f"{COMMANDS}::test_commits_of_an_agent_at_work_stay_and_those_of_one_that_is_gone_do_not_matter"),
    Mutant("operations/guards/working_tree.py", ' for stash in there if stash not in record["seen"]})', " for stash in there})",
           f"{COMMANDS}::test_a_stash_belongs_to_whoever_was_let_make_it"),
    Mutant("operations/guards/shell_guard.py", '            endings.give_back(tx, claim, claim["resources"], "released")\n', "",
           f"{COMMANDS}::test_an_agents_next_git_command_takes_over_what_one_held_that_was_broken_off"),
    Mutant("operations/guards/shell_guard.py", "    endings.serve(tx, freed)\n", "",
           f"{COMMANDS}::test_whoever_waits_for_the_index_gets_it_before_another_command_of_the_agent_that_had_it"),
    Mutant("operations/guards/shell_guard.py", "            return held\n    blockers", "            pass\n    blockers",
           f"{COMMANDS}::test_a_git_command_in_the_way_is_for_a_moment_and_a_claim_by_hand_is_not"),
    Mutant("operations/agents/roles.py", 'if text.startswith(scratch + "/") or text == scratch:',
           "if text.startswith(scratch):",
           f"{ROLES}::test_nobody_writes_into_dibs_own_record_but_into_its_own_scratch_folder"),
    Mutant("operations/agents/roles.py", "            break\n", "",
           f"{ROLES}::test_the_first_assignment_that_speaks_of_an_agent_wins"),
    Mutant("operations/agents/beliefs.py", '            loss["told"] = True\n', "",
           f"{RULES}::test_a_loss_is_told_until_it_is_claimed_again_and_remembered_until_a_release"),
    Mutant("operations/guards/edit_guard.py", "            _give_back(tx, call, taken)\n", "",
           "tests/doors/test_hooks_edits.py::test_a_patch_over_two_working_trees_gets_all_its_files_or_none"),
    Mutant("operations/guards/commit_guard.py", ' if claim["by"] == BY or claim.get("ends") == "commit" else []', "",
           f"{COMMITS}::test_a_commit_releases_only_the_familys_edit_claims_whose_file_is_what_was_committed"),
    Mutant("operations/guards/commit_guard.py", "    _settle(tx, call, [path for path, _ in items], tree)\n", "",
           f"{COMMITS}::test_a_commit_settles_what_was_lost_before"),
    Mutant("operations/guards/deploy_guard.py", 'if alive or (alive is None and running["token"] == token):', "if True:",
           f"{DEPLOYS}::test_an_agents_own_second_deploy_is_refused_while_the_first_ones_process_lives"),
    Mutant("doors/hooks/hook.py", "    return _deny(client, event.name if event is not None else name, reason)\n",
           "    return ALLOW\n", "tests/doors/test_hooks.py"),
    # Tasks: taken once, finished once, by the live token, never lost
    Mutant("operations/tasks/outcomes.py", 'if behind and own and token in {None, record["token"]}:', "if behind and own:",
           f"{OUTCOMES}::test_done_needs_the_live_token_and_says_what_became_of_the_task"),
    Mutant("operations/tasks/outcomes.py", 'if token is None else related(record["agent"], call.agent)',
           "if token is None else True", f"{OUTCOMES}::test_a_sibling_is_a_stranger"),
    Mutant("operations/tasks/outcomes.py", 'if holds.CLAIM in record and record["until"] > tx.now:',
           "if holds.CLAIM in record:",
           f"{OUTCOMES}::test_whoever_comes_back_late_is_refused_and_told_and_changes_nothing_about_the_task"),
    Mutant("operations/claims/endings.py", '    if claim["by"] == TASK:\n', "    if False:\n",
           f"{TAKING}::test_a_task_is_back_at_its_deadline_as_soon_as_anybody_looks"),
    Mutant("operations/claims/endings.py", 'if claim["by"] == TASK and why in {"released", "left"}:', "if False:",
           f"{TAKING}::test_leaving_gives_a_task_back"),
    Mutant("operations/claims/releases.py", "            holders.follow(tx, given)\n", "            pass\n",
           f"{TAKING}::test_release_to_hands_the_task_over_under_a_new_token"),
    Mutant("operations/agents/departures.py", "        holders.follow(tx, claim)\n", "        pass\n",
           f"{TAKING}::test_a_subagent_that_leaves_passes_its_task_to_its_parent_under_a_new_token"),
    Mutant("operations/tasks/pulls.py", "    if len(live) < limit:\n", "    if True:\n",
           f"{TAKING}::test_who_has_a_live_task_gets_no_second"),
    Mutant("operations/tasks/pulls.py",
           '        if not lifecycle.fits(agent, head["needs"], head["for"]):\n            continue\n', "",
           f"{TAKING}::test_only_who_is_of_the_type_and_has_all_capabilities_gets_it"),
    Mutant("operations/tasks/pulls.py",
           'lost = endings.gone(tx, call, [claim for claim in suspects if claim["until"] > tx.now])',
           "lost: list[Record] = []", f"{TAKING}::test_next_takes_over_from_a_dead_holder_by_itself"),
    Mutant("operations/tasks/workforce.py", '                tx.wake(record["wake"])\n', "                pass\n",
           f"{TAKING}::test_whatever_makes_a_task_ready_wakes_one_who_waits"),
    Mutant("operations/tasks/workforce.py", "        endings.clear(tx, over, dead)\n", "        return None\n",
           f"{TAKING}::test_a_name_whose_holder_is_dead_is_free"),
    Mutant("operations/claims/grants.py", "    _refuse_tasks(tx, wish)\n", "",
           f"{TAKING}::test_a_task_is_not_claimed_by_its_name"),
    Mutant("operations/tasks/outcomes.py", '    if task["failures"] >= task["max_attempts"]:', "    if False:",
           f"{OUTCOMES}::test_failed_or_lost_too_often_it_is_quarantined_with_an_alert_and_a_message"),
    Mutant("operations/tasks/outcomes.py", '    task["not_before"] = tx.now + pause if pause else 0\n', "",
           f"{OUTCOMES}::test_a_transient_failure_is_tried_again_after_a_pause_that_doubles_up_to_a_bound"),
    Mutant("operations/tasks/outcomes.py", '    if task["kids"]:\n', "    if False:\n",
           f"{TASKS}::test_a_task_that_gets_a_child_while_it_is_worked_on_cannot_be_finished_before_it"),
    Mutant("operations/tasks/outcomes.py", '    if task["race"]:\n', "    if False:\n",
           f"{TASKS}::test_of_a_race_the_first_to_finish_wins_and_late_results_are_refused"),
    Mutant("operations/tasks/outcomes.py", "        jobs += unblock(tx, task, room)\n", "        pass\n",
           f"{TASKS}::test_a_task_waits_for_all_that_it_comes_after"),
    Mutant("operations/tasks/additions.py", 'task["open"], task["after"] = len(waited), True', 'task["after"] = True',
           f"{TASKS}::test_a_task_waits_for_all_that_it_comes_after"),
    Mutant("operations/tasks/additions.py", "        _refuse_circle(tx, task, after)\n", "        pass\n",
           f"{TASKS}::test_a_child_cannot_wait_for_its_parent_nor_for_what_waits_for_it"),
    Mutant("operations/tasks/additions.py", "    if len(found) < len(specs):", "    if False:",
           f"{TASKS}::test_tasks_that_wait_for_each_other_in_a_circle_are_refused_together"),
    Mutant("operations/tasks/additions.py", "        if known is not None:\n            return",
           "        if False:\n            return",
           f"{TASKS}::test_the_same_key_gives_the_first_task_whatever_became_of_it"),
    Mutant("operations/tasks/cancellations.py", '        endings.end(tx, claim, "cancelled")\n', "",
           f"{TASKS}::test_calling_off_ends_the_work_and_whoever_does_it_is_told"),
    Mutant("operations/tasks/cancellations.py", "live_claim(tx, task, over=True)", "live_claim(tx, task)",
           f"{TASKS}::test_a_task_whose_holder_was_silent_for_too_long_can_be_called_off_planned_and_taken_again"),
    Mutant("lookout/tasks.py", "            self._check_token(said, task, needed=to in BY_TOKEN)\n",
           "            pass\n", f"{VERIFY_TASKS}::test_a_late_finish_is_found"),
    Mutant("lookout/tasks.py", '        elif to == "executing":\n            self._check_claim(said, task)\n', "",
           f"{VERIFY_TASKS}::test_a_task_taken_without_a_claim_is_found"),
    Mutant("lookout/votes.py", "        if (outcome, option) != counted:", "        if False:",
           "tests/lookout/test_verify_votes.py"),
    Mutant("operations/upkeep/sweeps.py", "    if due and not any(done.values()):", "    if due:",
           "tests/operations/test_old_events.py"),
    Mutant("stores/sqlite/store.py", '        self._store._sql("DELETE FROM seals WHERE seq < ?", (through,))\n', "",
           f"{STORES}/test_conformance.py"),
    Mutant("stores/redis/cache.py", "        if number != self.commit + 1:", "        if False:",
           f"{STORES}/test_redis_speed.py"),
    Mutant("stores/redis/cache.py", "        if known.commit != self.commit:", "        if False:",
           f"{STORES}/test_redis_speed.py"),
    Mutant("doors/lobby.py", "            if before and not self._free(before):", "            if False:",
           "tests/doors/test_lobby.py"),
    Mutant("doors/lobby.py", "        if not let_in:\n            self.leave()\n", "", "tests/doors/test_lobby.py"),
    Mutant("session/session.py", "            if self._lobby is not None and not granted:", "            if False:",
           "tests/doors/test_lobby.py"),
    Mutant("lookout/replay.py", "        self._tasks.settle(self._seq)\n", "        pass\n",
           f"{VERIFY_TASKS}::test_a_task_that_stays_at_work_when_its_claim_ends_is_found"),
    # Paths and processes
    Mutant("facts/filesystems.py", "    if kind in NETWORK:", "    if False:", "tests/facts/test_filesystems.py"),
    Mutant("facts/processes.py", '    return stat is not None and stat[1] == start and stat[2] not in "ZX"',
           "    return stat is not None", "tests/facts/test_processes.py"),
    # One store is in charge, before, while and after a workspace is moved
    Mutant("stores/sqlite/store.py", "            moved_mark.refuse_write(head[7], self.path, tx.now)\n",
           "            del moved\n",
           f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    Mutant("stores/sqlite/store.py", "            moved_mark.refuse(head[7], self.path)\n", "            del moved\n",
           f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    Mutant("stores/move/sqlite_side.py", ' and head["commits"] == commit', "",
           f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    Mutant("stores/redis/scripts.py", "if head[10] then return {'moved', head[10]} end\n", "",
           f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    Mutant("stores/move/redis_side.py", "head[1] ~= ARGV[2] or not head[2]", "not head[2]",
           f"{MOVES}::test_a_frozen_store_gives_up_only_where_it_stood"),
    Mutant("storage/store_move.py", "if was.as_json() != is_now.as_json():", "if not was:",
           f"{MOVES}::test_a_copy_that_differs_is_found_and_nothing_is_moved"),
    Mutant("stores/move/sqlite_side.py", "frozen.now - frozen.since_boot)", "0)",
           f"{MOVES}::test_any_contents_are_the_same_on_the_other_side"),
    Mutant("storage/sqlite_fallback.py", "redis_server.place_of(url) is not None and ", "",
           f"{UP}::test_a_server_elsewhere_is_never_started"),
    Mutant("storage/redis_autostart.py", "    raise Unavailable(message, fallback=lines[1])\n", "    del message\n",
           f"{UP}::test_another_clone_on_this_machine_does_not_go_to_the_server_meanwhile"),
    # Promise 2 and 6: documents, votes, messages, subscriptions, runs
    Mutant("operations/shared/documents.py",
           "    if version == current or (version is None and (document is None or token is not None)):",
           "    if True:", f"{STATE}::test_a_version_that_is_not_the_current_one_is_a_conflict_and_changes_nothing"),
    Mutant("operations/shared/documents.py", "(version is None and (document is None or token is not None))",
           "version is None",
           f"{STATE}::test_a_write_that_names_neither_version_nor_token_is_a_conflict_where_there_is_a_document"),
    Mutant("operations/shared/documents.py", 'claim["token"] == token and claim["mode"] == resources.WRITE for',
           'claim["mode"] == resources.WRITE for',
           f"{STATE}::test_an_old_token_is_fenced_even_when_the_agent_holds_it_again"),
    Mutant("operations/shared/documents.py", "        if not blockers:\n            return None\n", "        return None\n",
           f"{STATE}::test_what_another_claims_is_held_even_with_the_right_version"),
    Mutant("operations/shared/documents.py", '(grave["version"] if grave is not None else counts["forgotten"]) + 1', "1",
           f"{STATE}::test_a_deleted_document_is_not_found_and_its_version_goes_on"),
    Mutant("operations/shared/votes.py", 'needed = len(vote["electorate"]) // 2 + 1', 'needed = len(vote["ballots"]) // 2 + 1',
           f"{VOTES}::test_more_than_half_of_the_whole_electorate_decides_at_once"),
    Mutant("operations/shared/votes.py", 'if own is not None or vote["state"] != OPEN:', "if own is not None:",
           f"{VOTES}::test_a_ballot_after_the_outcome_is_a_conflict_that_tells_it"),
    Mutant("doors/updating.py", "            if attempt == attempts:\n                raise\n", "            raise\n",
           "tests/doors/cli/test_state_cli.py::test_the_story_of_the_lost_update_ends_well"),
    Mutant("operations/messages/mailbox.py", 'max(tx.now, box["last"] + 1)', "tx.now", MESSAGES),
    Mutant("operations/messages/mailbox.py", 'if message.get("shown") and not _over(tx, message):',
           "if not _over(tx, message):", MESSAGES),
    Mutant("operations/messages/subscriptions.py", ' or now["version"] != known["version"]', "", SUBSCRIPTIONS),
    Mutant("operations/messages/subscriptions.py", "held, through = True, before", "held = True", SUBSCRIPTIONS),
    Mutant("session/quotes.py", "{clean(line)}", "{line}", "tests/doors/cli/test_messages_cli.py"),
    Mutant("operations/core/call.py", "    if agent.casefold() == OWN:", "    if False:", AGENTS),
    # Whose shell it is
    Mutant("operations/agents/speech.py", "return None if within(call.agent, call.inside) else", "return None if True else",
           f"{SPEECH}::test_an_agents_shell_cannot_speak_as_another_agent"),
    Mutant("operations/claims/grants.py", "    return COMMIT_ENDS if by_hand and plain", "    return COMMIT_ENDS if by_hand",
           f"{SPEECH}::test_what_is_kept_on_purpose_or_is_no_file_stays"),
    Mutant("operations/claims/grants.py", "and bool(call.inside) and", "and",
           f"{SPEECH}::test_a_persons_and_a_scripts_claim_stays"),
    Mutant("operations/guards/commit_guard.py", ' or claim.get("ends") == "commit"', "",
           f"{SPEECH}::test_a_claim_on_a_file_in_an_agents_shell_ends_with_its_commit_of_it"),
    Mutant("operations/claims/grants.py", '    if call.inside and by == "hand" and found.children:', "    if False:",
           f"{SPEECH}::test_a_file_of_ones_own_subagent_is_not_granted_in_the_shell"),
    Mutant("operations/agents/speech.py", ' and not found[key].get("program")', "",
           f"{SPEECH}::test_what_a_program_starts_is_no_agents_shell"),
    Mutant("operations/agents/beliefs.py", " or resources.all_covered([resource], held):", ":",
           "tests/doors/test_hooks.py::test_what_was_lost_and_is_claimed_again_is_not_told_any_more"),
    # Names
    Mutant("operations/agents/names.py", 'free = owner is None or owner["agent"] == identifier', "free = True",
           f"{NAMES}::test_no_two_agents_of_a_workspace_share_a_name_however_many_there_are"),
    Mutant("operations/agents/names.py", 'if free and (name == identifier or taken[f"a\\t{name}"] is None):', "if free:",
           f"{NAMES}::test_a_name_is_never_somebody_elses_id"),
    Mutant("operations/agents/names.py", "and field not in THEIRS", "",
           f"{NAMES}::test_values_that_somebody_wrote_are_left_as_they_are"),
    Mutant("operations/core/entry.py", "if (record is None or", "if (False or",
           f"{NAMES}::test_who_calls_under_a_name_is_the_agent_that_has_it"),
    Mutant("operations/tasks/strategies.py", 'return sorted(candidates, key=lambda one: digest_of(f"{word}|{_id(one)}"))',
           "return list(candidates)", "tests/operations/test_strategies.py"),
    Mutant("operations/runs/run_endings.py", " and not _waited_for(tx, task)", "",
           "tests/operations/test_runs.py::test_a_failed_task_that_another_outside_waits_for_outlives_its_run"),
    # The record cannot be swept away
    Mutant("storage/workspace_store.py", "    if not shared or shared == local:\n", "    if True:\n",
           f"{SWEPT}::test_which_store_was_coordinated_through_is_remembered_too"),
    Mutant("storage/workspace_store.py", "            _refuse_forgotten(path, kept)\n", "",
           f"{SWEPT}::test_without_its_pin_a_database_that_answered_is_still_missed"),
    Mutant("storage/workspace_store.py", "        if found.text() != pin.text():\n            keep_pin(shared, pin)\n", "",
           f"{SWEPT}::test_a_damaged_memory_locks_nobody_out"),
    Mutant("stores/sqlite/gate.py", "                self._keep()\n", "",
           f"{SWEPT}::test_an_older_copy_of_all_that_lies_in_the_workspaces_folder_is_noticed"),
    Mutant("stores/sqlite/gate.py", " if 0 <= commit < LARGEST else", " if True else",
           f"{SWEPT}::test_a_damaged_memory_locks_nobody_out"),
    Mutant("facts/workspace.py", ' or (common != "" and _kind(f"{self.shared}/store") == _FILE)', "",
           f"{SWEPT}::test_a_record_that_was_swept_away_is_missed_and_never_begun_anew_by_itself[rm]"),
    Mutant("session/config.py", "            return load(kept, local, top, shared)\n", "            pass\n",
           f"{SWEPT}::test_on_a_branch_from_before_dibs_the_guards_go_on_as_they_were"),
    Mutant("doors/install/launcher.py", '    write(f"{place.local}/.gitignore", IGNORE)', '    ""',
           f"{SWEPT}::test_on_a_branch_from_before_dibs_the_guards_go_on_as_they_were"),
    # The launcher, where git has taken it away
    Mutant("doors/install/scripts.py", '"$common/../.dibs/local/run" "$common/dibs/run"',
           '"$common/../.dibs/local/run"',
           f"{LAUNCHER}::test_a_launcher_whose_run_file_was_cleaned_away_takes_the_one_below_gits_directory"),
    Mutant("doors/install/scripts.py", r"-]*|*\\ *\\ *\\ *) ;;", "-]*) ;;",
           f"{LAUNCHER}::test_without_any_launcher_everything_else_is_refused"),
    Mutant("doors/install/githooks.py",
           '$(git rev-parse --git-common-dir)/dibs/hook\nif [ -f "$dibs_hook" ]; then\n    "$',
           '\nif [ -f "$dibs_hook" ]; then\n    "$',
           f"{LAUNCHER}::test_git_hooks_find_the_copy_below_gits_directory"),
    Mutant("doors/cli/doctor/todo.py", "[client for client, oks in found.items() if all(oks)]", "list(found)",
           "tests/doors/test_doctor_guards.py::test_all_is_well_only_when_a_client_is_guarded_and_would_run_the_hooks"),
    Mutant("doors/install/probe.py", 'return "" if code == 0 else', 'return "" if True else',
           "tests/doors/test_doctor_guards.py::test_a_guard_that_refuses_everything_proves_nothing"),
    Mutant("doors/cli/commands/init.py", '    if passing == "cache" and not allowed:', "    if False:",
           "tests/doors/test_init.py::test_a_dibs_in_a_runners_cache_is_not_put_into_hooks_unless_somebody_says_so"),
    Mutant("doors/cli/terminal.py", "[letter if letter.isprintable() else _spelt(letter) for letter in text]", "text",
           "tests/doors/cli/test_terminal.py::test_what_an_agent_wrote_is_neither_markup_nor_an_escape"),
    Mutant("doors/cli/terminal.py", "            Text(cell, style", "            Text.from_markup(cell, style",
           "tests/doors/cli/test_terminal.py::test_what_an_agent_wrote_is_neither_markup_nor_an_escape"),
    Mutant("doors/cli/dispatch.py", "NO if operation.refuses and result.get(operation.refuses) else YES", "YES",
           "tests/doors/cli/test_cli.py::test_ok_says_the_same_as_the_exit_code_when_a_boot_finds_a_loss"),
    *(Mutant(*row) for row in (*LEDGER, *AUTHORITY, *BOOT, *BOUNDED, *CORNERS, *DEPLOY_CHECKS, *ENGINES)),
)  # fmt: skip


def survives(mutant: Mutant) -> str:
    """Run the mutant's test on a copy without the check. Says what went wrong; empty if the test failed as it must."""
    source = TOP / "src" / "dibs" / mutant.file
    count = source.read_text().count(mutant.text)
    if count != 1:
        return f"{mutant.file} holds the text {count} times, not once: {mutant.text!r}"
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        # With the byte code, which is good for all but the changed file: to compile the rest takes longer than the test
        shutil.copytree(TOP / "src", copy / "src", ignore=shutil.ignore_patterns("*.pyc.*", "*.bin"))
        changed = copy / "src" / "dibs" / mutant.file
        changed.write_text(changed.read_text().replace(mutant.text, mutant.instead))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", mutant.test]
        environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
        for name in [name for name in environment if name.startswith("PYTEST_")]:
            del environment[name]
        done = subprocess.run(
            command, cwd=TOP, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
    if done.returncode == 1 and "failed" in done.stdout:
        return ""
    return (
        f"exit {done.returncode} of {mutant.test} without {mutant.text!r}:\n{done.stdout[-1500:]}{done.stderr[-500:]}"
    )
