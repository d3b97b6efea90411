"""The checks of upkeep: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

ARCHIVES = "tests/session/test_log_archives.py"
OLD = "tests/operations/core/test_old_events.py"
BOUNDS = "tests/faults/test_backlog_bounds.py"
SMALL = "tests/operations/core/test_small_things.py"
WAITING = "tests/operations/claims/test_waiting.py"

ROWS = (
    ("session/log_reader.py", 'if log_archives.digest_and_size(path)[0] != archive["sha256"]:', "if False:",
     f"{ARCHIVES}::test_who_reads_the_log_is_told_which_events_are_lost"),
    ("reports/events.py", "        there = page or store.events(least, 1)", "        there = page",
     f"{ARCHIVES}::test_who_reads_the_log_is_told_which_events_are_lost"),
    ("reports/audit.py", "        history.recall(event)\n", "        pass\n",
     f"{ARCHIVES}::test_a_finding_whose_event_was_archived_keeps_its_number_and_its_settlement"),
    (
        "operations/upkeep/log_retention.py",
        "    if keep < least:\n",
        "    if False:\n",
        "tests/operations/core/test_old_events.py::test_what_is_younger_than_the_retention_stays_whoever_asks",
    ),
    # who died is told, once
    ("operations/upkeep/sweeps.py", "        deaths.tell(tx, call, dead, over)\n", "        pass\n",
     f"{SMALL}::test_a_dead_agent_is_told_to_the_coordinator_of_its_run_once"),
    ("operations/upkeep/sweeps.py", "call.jobs[long_jobs.take_step(tx, call.jobs[0]) :]",
     "[job for job in call.jobs if not long_jobs.take_step(tx, job)]", f"{BOUNDS}::test_a_sweep_takes_one_step_of_one_job"),
    ("operations/upkeep/sweeps.py", "    elif last is not None:\n        tx.delete(SWEEP_PLACE_KEY)\n", "",
     f"{WAITING}::test_sweeps_look_at_all_agents_one_after_the_other"),
    ("operations/upkeep/sweeps.py", '    if due == "sealed" and not any(done.values()):', '    if due == "sealed":',
     "tests/operations/core/test_old_events.py"),
    # nothing leaves the store but for the archive that has it
    ("operations/upkeep/log_retention.py", "    if archive is None:\n", "    if False:\n",
     f"{OLD}::test_no_event_leaves_without_its_archive"),
    ("operations/upkeep/log_retention.py", '(archive["last"], archive["link"]) != (through, plan["link"])',
     'archive["last"] != through', f"{OLD}::test_no_event_leaves_without_its_archive"),
    ("operations/upkeep/log_retention.py", ' or archive["first"] != plan["before"]["seq"] + 1:', ":",
     f"{OLD}::test_no_event_leaves_without_its_archive"),
    # in pieces, and whole after each of them
    ("operations/upkeep/log_retention.py", 'min(through, plan["dropped"] + PRUNE_EVENTS)', "through",
     f"{OLD}::test_no_transaction_drops_more_events_than_a_piece_and_sweeps_ask_for_the_rest"),
    ("operations/upkeep/log_retention.py", 'if plan["begun"] or is_other', "if is_other",
     f"{OLD}::test_no_transaction_drops_more_events_than_a_piece_and_sweeps_ask_for_the_rest"),
    ("operations/upkeep/log_retention.py", 'bool(last.get("begun")) or ', "",
     f"{ARCHIVES}::test_a_prune_that_was_cut_short_is_continued_by_the_next_sweep_whatever_the_config_says_then"),
    ("operations/upkeep/log_retention.py", '"dropped" in one or one["at"]', 'one["at"]',
     f"{ARCHIVES}::test_a_prune_that_was_cut_short_is_continued_by_the_next_sweep_whatever_the_config_says_then"),
    ("lookout/verify.py", "_all(named or (), store, head, after, counted)", "_all(named or (), store, head, 0, counted)",
     f"{ARCHIVES}::test_many_events_leave_in_pieces_and_the_log_is_whole_after_each"),
    ("session/log_reader.py", "max(after, found[-1].seq if found else 0)", "after",
     f"{ARCHIVES}::test_many_events_leave_in_pieces_and_the_log_is_whole_after_each"),
    ("session/log_reader.py", "                    if event.seq >= first:\n                        return\n", "",
     f"{ARCHIVES}::test_many_events_leave_in_pieces_and_the_log_is_whole_after_each"),
    ("stores/sqlite/foreign_close.py", 'connection.execute("SELECT min(seq) FROM seals").get or 0', "first - 1",
     "tests/stores/test_foreign_close.py::test_a_database_whose_old_events_were_dropped_in_part_is_taken_over"),
    ("storage/log_archives.py", "            if event.seq != seq + 1 or link != event.link:\n", "            if False:\n",
     f"{ARCHIVES}::test_a_damaged_log_is_not_pruned"),
    ("lookout/archives.py", 'return "" if digest(self.path) == self.sha256 else', 'return "" if digest(self.path) else',
     f"{ARCHIVES}::test_a_changed_or_missing_archive_is_one_finding"),
    # a lost archive is a finding until a person settles that very one; readers of the log read archives
    ("lookout/verify.py", 'if gap.why and f"{LOST_ARCHIVE}{gap.last}" in self.settled:', "if gap.why and self.settled:",
     f"{ARCHIVES}::test_a_person_settles_a_lost_archive_and_the_log_says_so"),
    ("session/subscription_delivery.py", "            return page[:place], False\n", "            pass\n",
     f"{ARCHIVES}::test_an_agent_s_subscription_is_delivered_from_archives_and_a_lost_one_is_told"),
    ("lookout/verify.py", "            if one is None:\n", "            if False:\n",
     f"{ARCHIVES}::test_an_archive_that_the_store_does_not_name_any_more_is_a_finding"),
    ("session/log_upkeep.py", "    _refuse(session, call, values)\n", "",
     f"{ARCHIVES}::test_who_may_not_prune_writes_no_archive"),
    ("operations/tasks/old_tasks.py", "        if _is_needed(tx, task):\n", "        if False:\n",
     "tests/operations/tasks/test_old_tasks.py"),
)  # fmt: skip
