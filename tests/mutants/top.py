"""What `top` promises about actions and texts, and `kill all`: function, change, the test that fails then."""

from __future__ import annotations

APP = "tests/interfaces/top/test_app.py"
VIEW = "tests/interfaces/top/test_view.py"
AGAIN = "tests/operations/agents/test_agents.py::test_revive_all_lets_those_go_on_that_kill_all_stopped_and_no_other"
ALL = "tests/operations/agents/test_agents.py::test_kill_all_stops_every_family_but_the_callers_and_no_person"

ROWS = (
    ("actions.commit", "never if facts", f"{APP}::test_facts_that_changed_are_shown_and_nothing_is_done"),
    ("Confirm.is_enough", "always return Name", f"{APP}::test_kill_all_wants_the_name_of_the_workspace"),
    ("Dialog.action_enter", "replace call set_focus _do -> self.begin()",
     f"{APP}::test_a_kill_says_what_happens_asks_why_and_is_done_when_the_log_has_it"),
    ("Top.action_act_on", "drop if _refused", f"{APP}::test_a_viewer_sees_all_and_may_do_nothing"),
    ("Top.on_event", "never if Field", f"{APP}::test_what_is_typed_in_one_go_is_done_in_its_order"),
    ("Top.on_event", "never if startswith", f"{APP}::test_what_is_typed_in_one_go_is_done_in_its_order"),
    ("Field.write", "replace ifexp isprintable -> $1", f"{APP}::test_a_paste_is_one_line_and_no_longer_than_its_field"),
    ("words.plain", "replace call clean -> $1",
     f"{VIEW}::test_every_pane_and_story_fits_every_size_and_nothing_hostile_gets_through"),
    ("Choice.render", "replace call Content -> $1",
     f"{VIEW}::test_every_dialog_fits_and_no_markup_or_control_character_of_others_is_obeyed"),
    ("Picture.paint", "always if line place", f"{VIEW}::test_only_lines_that_changed_are_drawn_again"),
    ("FleetState.now", "replace ifexp LOST -> $2.0.0.wall()",
     "tests/interfaces/top/test_reader.py::test_nothing_is_missed_while_nothing_is_heard"),
    ("_is_meant", "drop operand ==", ALL),
    ("_is_meant", "replace boolop kind -> $0", ALL),
    ("_is_stopped_with_all", "drop operand all", AGAIN),
)  # fmt: skip
