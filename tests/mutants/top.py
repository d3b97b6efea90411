"""What `top` promises about actions and texts, and `kill all`: function, change, the test that fails then."""

from __future__ import annotations

APP = "tests/doors/top/test_app.py"
VIEW = "tests/doors/top/test_view.py"
AGAIN = "tests/operations/agents/test_agents.py::test_revive_all_lets_those_go_on_that_kill_all_stopped_and_no_other"
ALL = "tests/operations/agents/test_agents.py::test_kill_all_stops_every_family_but_the_callers_and_no_person"

ROWS = (
    ("actions.commit", "never if facts", f"{APP}::test_facts_that_changed_are_shown_and_nothing_is_done"),
    ("Confirm.is_enough", "always return text", f"{APP}::test_kill_all_wants_the_name_of_the_workspace"),
    ("Dialog._enter", "replace assign DO -> return 'do'",
     f"{APP}::test_a_kill_says_what_happens_asks_why_and_is_done_when_the_log_has_it"),
    ("App.act", "drop if _refused", f"{APP}::test_a_viewer_sees_all_and_may_do_nothing"),
    ("words.plain", "replace call clean -> $1",
     f"{VIEW}::test_every_pane_story_and_dialog_fits_every_size_and_nothing_hostile_gets_through"),
    ("State.now", "replace ifexp LOST -> $2.0.0.wall()",
     "tests/doors/top/test_reader.py::test_nothing_is_missed_while_nothing_is_heard"),
    ("_is_meant", "drop operand ==", ALL),
    ("_is_meant", "replace boolop kind -> $0", ALL),
    ("_is_stopped_with_all", "drop operand all", AGAIN),
)  # fmt: skip
