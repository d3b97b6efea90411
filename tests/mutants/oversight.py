"""The checks of the audit, the map and the figures: function, change, the test that fails then."""

from __future__ import annotations

CHECK = "tests/reports/test_check.py"
MAP = "tests/reports/test_map.py"
SETTLEMENTS = "tests/operations/oversight/test_settlements.py"
STATS = "tests/reports/test_stats.py"

# fmt: off
ROWS = (
    # the dry run of the kill switch leaves nothing behind, and proves something
    ("_play", "replace raise Given -> session.channels.append(($0.1, $0.2))",
     f"{CHECK}::test_10_the_kill_switch_is_tried_and_nothing_is_kept_of_it"),
    # what is accepted is a person's word, and counts until it is taken back
    ("settlements.OPERATIONS", "replace name PERSON -> 'worker'",
     f"{SETTLEMENTS}::test_an_agent_may_not_settle"),
    ("settlements._settle", "drop call delete",
     f"{CHECK}::test_13_a_killed_agent_is_named_until_it_is_revived_or_settled"),
    ("audit._shown", "never if containing subscript settled",
     f"{CHECK}::test_13_a_killed_agent_is_named_until_it_is_revived_or_settled"),
    # a check that could not look is not green
    ("audit._shown", "replace compare FAIL -> $0 != $1.0",
     f"{CHECK}::test_a_check_that_cannot_look_is_unknown_and_not_green"),
    # what is mended is green
    ("_deployed", "drop assign unsynced", f"{CHECK}::test_16_an_unverified_deploy_is_named_until_a_later_one_is_good"),
    ("trials._record", "always operand >=", f"{CHECK}::test_7_a_fleet_needs_a_test_with_ten_agents_that_lost_nothing"),
    # names are anybody's
    ("map_svg._short", "replace name safe -> str",
     f"{MAP}::test_hostile_names_are_escaped_in_the_picture_and_the_table"),
    # figures
    ("_freed", "replace name MOMENT_MS -> 2 * MOMENT_MS",
     f"{STATS}::test_a_refusal_is_false_only_if_all_that_was_in_its_way_is_free_within_a_minute"),
    ("History.__init__", "drop constant push",
     f"{CHECK}::test_15_a_commit_and_a_push_past_the_guard_are_named_until_they_are_settled"),
    ("record_of", "always if is_settled",
     "tests/session/test_log_archives.py::test_a_person_settles_a_lost_archive_and_the_log_says_so"),
)
# fmt: on
