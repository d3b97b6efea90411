"""What `top` promises about actions and texts, and `kill all`: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

APP = "tests/doors/top/test_app.py"
VIEW = "tests/doors/top/test_view.py"
AGAIN = "tests/operations/agents/test_agents.py::test_revive_all_lets_those_go_on_that_kill_all_stopped_and_no_other"
ALL = "tests/operations/agents/test_agents.py::test_kill_all_stops_every_family_but_the_callers_and_no_person"

ROWS = (
    ("doors/top/actions.py", "    if now.facts != action.facts:", "    if False:",
     f"{APP}::test_facts_that_changed_are_shown_and_nothing_is_done"),
    ("doors/top/dialogs.py", "        return not self.action.typed or self.fields[-1][1].text.strip() == self.action.typed",
     "        return True", f"{APP}::test_kill_all_wants_the_name_of_the_workspace"),
    ("doors/top/dialogs.py", '            self.place = DO\n        return ""', '            return "do"\n        return ""',
     f"{APP}::test_a_kill_says_what_happens_asks_why_and_is_done_when_the_log_has_it"),
    ("doors/top/app.py", "        if self._refused(kind):\n            return\n        model, view", "        model, view",
     f"{APP}::test_a_viewer_sees_all_and_may_do_nothing"),
    ("doors/top/words.py", "    return clean(str(text)[:LONGEST])", "    return str(text)[:LONGEST]",
     f"{VIEW}::test_every_pane_story_and_dialog_fits_every_size_and_nothing_hostile_gets_through"),
    ("doors/top/state.py", "return self.lost_at if self.phase == LOST and self.lost_at else clock.store_wall()",
     "return clock.wall()", "tests/doors/top/test_reader.py::test_nothing_is_missed_while_nothing_is_heard"),
    ("operations/agents/kill_all.py", ' or agent["agent"] == own:', ":", ALL),
    ("operations/agents/kill_all.py", 'and not agent["left"] and not agent["killed"]', "", ALL),
    ("operations/agents/kill_all.py", ' and agent["killed"].get(EVERY, False)', "", AGAIN),
)  # fmt: skip
