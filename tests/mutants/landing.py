"""The checks of landings and coming conflicts: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

QUEUE = "tests/operations/landing/test_queue.py"
CONFLICTS = "tests/operations/landing/test_conflicts.py"
LANDING = "tests/running/test_landing.py"
LOCKS = "tests/running/test_landing_locks.py"
PLACES = "tests/running/test_landing_places.py"

ROWS = (
    ("operations/landing/lander.py", ' and running["turn"] == turn', "",
     f"{QUEUE}::test_a_stale_lander_is_refused_at_every_step"),
    ("operations/landing/lander.py", 'live = claim is not None and claim["token"] == token', "live = True",
     f"{QUEUE}::test_the_claim_itself_is_asked_at_every_step"),
    ("operations/landing/lander.py", "    if alive or (alive is None and mine):", "    if False:",
     f"{QUEUE}::test_one_process_lands_and_the_next_one_when_it_leaves_or_dies"),
    ("operations/landing/lander.py", "    if gone or not moves:", "    if not moves:",
     f"{QUEUE}::test_what_was_cancelled_or_replaced_meanwhile_is_not_moved_to"),
    ("operations/landing/lander.py", '        endings.end(tx, claim, "gone")\n', "        pass\n",
     f"{QUEUE}::test_one_process_lands_and_the_next_one_when_it_leaves_or_dies"),
    ("operations/landing/queue.py", 'elif found["landing"] in moving(', "elif None in moving(",
     f"{QUEUE}::test_a_landed_branch_is_decided_once_and_its_agents_are_told"),
    ("operations/landing/queue.py", '("" if own else "orchestrator")', '("")',
     f"{QUEUE}::test_only_its_agents_or_an_orchestrator_take_a_branch_out_of_the_queue"),
    ("operations/landing/conflicts.py", "            began.append(", "            _begin(tx, call, record)\n            began.append(",
     f"{CONFLICTS}::test_both_agents_are_told_once_with_their_own_lines"),
    ("lookout/landings.py", "elif not self._is_live(", "elif False and not self._is_live(",
     f"{QUEUE}::test_the_lookout_finds_a_target_that_was_moved_without_a_live_token"),
    ("running/landing_target.py", 'f"verify {self._fence_ref} {self._fence}", ', "",
     f"{LANDING}::test_a_stale_lander_cannot_move_main_even_if_it_asks_git_alone"),
    ("running/landing_target.py", "{after} {before or zeros}", "{after}",
     f"{LANDING}::test_main_that_a_person_moves_right_before_the_move_stays"),
    ("running/landing.py", "blocked = self._target.in_the_way(", "blocked = (lambda *_: '')(",
     f"{LANDING}::test_a_dirty_worktree_of_main_keeps_its_work_and_only_what_it_touches_is_refused"),
    ("running/landing.py", "        red = self._checked(base, base, ())\n", "        red = None\n",
     f"{LANDING}::test_where_main_itself_fails_the_check_nobody_is_blamed"),
    ("running/landing_target.py", "            del notes[top]\n", "            del notes[top]\n        notes.clear()\n",
     f"{LOCKS}::test_a_worktree_of_main_that_a_lock_file_kept_behind_is_brought_along_by_the_next_lander"),
    ("operations/landing/lander.py", '    new = [one for one in found if one.get("stopped") != cause]\n', "    new = found\n",
     f"{QUEUE}::test_what_stops_the_queue_is_told_once_for_each_cause_and_shown_until_something_is_decided"),
    ("running/landing_commits.py", "if self._method != MERGE or len({", "if True or len({",
     f"{LANDING}::test_a_batch_is_one_check_and_each_commit_of_main_has_passed_it"),
    ("session/landing_settings.py", "    if place.config != home:\n", "    if not home:\n",
     f"{LANDING}::test_a_branch_does_not_choose_the_check_by_which_it_lands"),
    ("running/landing.py", "                if made.id in self.passed:\n                    continue\n", "",
     f"{PLACES}::test_a_commit_that_only_another_clone_has_is_left_to_that_clone"),
    ("running/landing_wait.py", "            except DibsError as error:\n                errors.append(error)\n",
     "            except DibsError:\n                raise\n",
     f"{PLACES}::test_a_server_lands_on_every_branch_that_has_a_queue"),
    ("doors/cli/commands/sweep.py", "session.reread() if watch else", '"" if watch else',
     "tests/running/test_sweep_watch.py::test_a_change_of_the_config_counts_at_the_next_sweep"),
)  # fmt: skip
