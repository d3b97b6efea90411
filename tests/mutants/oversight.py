"""The checks of the audit, the map and the figures: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

CHECK = "tests/reports/test_check.py"
MAP = "tests/reports/test_map.py"
STATS = "tests/reports/test_stats.py"

# fmt: off
ROWS = (
    # the dry run of the kill switch leaves nothing behind, and proves something
    ("reports/checks/kill_drill.py", "    raise Given(wrong, voided)\n", "    session.channels.append((wrong, voided))\n",
     f"{CHECK}::test_10_the_kill_switch_is_tried_and_nothing_is_kept_of_it"),
    # what is accepted is a person's word, and counts until it is taken back
    ("operations/oversight/settlements.py", "        may=PERSON,\n", '        may="worker",\n',
     f"{CHECK}::test_an_agent_may_not_settle_and_an_event_that_is_not_there_cannot_be_settled"),
    ("operations/oversight/settlements.py", "        tx.delete(key)\n", "",
     f"{CHECK}::test_13_a_killed_agent_is_named_until_it_is_revived_or_settled"),
    ("reports/audit.py", "        if accepted is not None:\n", "        if False:\n",
     f"{CHECK}::test_13_a_killed_agent_is_named_until_it_is_revived_or_settled"),
    # a check that could not look is not green
    ("reports/audit.py", "status not in {FAIL, UNKNOWN}", "status != FAIL", f"{CHECK}::test_a_check_that_cannot_look_is_unknown_and_not_green"),
    # what is mended is green
    ("reports/checks/history.py", '            self.deploys[target] = [event] if data.get("unsynced") else []\n', "            pass\n",
     f"{CHECK}::test_16_an_unverified_deploy_is_named_until_a_later_one_is_good"),
    ("operations/oversight/trials.py", ' or found["agents"] >= MANY or known["agents"] < MANY', " or True",
     f"{CHECK}::test_7_a_fleet_needs_a_test_with_ten_agents_that_lost_nothing"),
    # names are anybody's
    ("reports/map_svg.py", "    return safe(text if", "    return str(text if", f"{MAP}::test_hostile_names_are_escaped_in_the_picture_and_the_table"),
    # figures
    ("reports/statistics.py", "<= MOMENT_MS", "<= 2 * MOMENT_MS",
     f"{STATS}::test_a_refusal_is_false_only_if_all_that_was_in_its_way_is_free_within_a_minute"),
    ("reports/checks/history.py", '"push.unverified": self._bypassed,', "",
     f"{CHECK}::test_15_a_commit_and_a_push_past_the_guard_are_named_until_they_are_settled"),
    ("reports/audit.py", "        if not one.is_settled:\n", "        if True:\n",
     "tests/session/test_log_archives.py::test_a_person_settles_a_lost_archive_and_the_log_says_so"),
)
# fmt: on
