"""The checks of shell: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

ROWS = (
    ("facts/shell/unknown.py", "(before,))", "None)",
     "tests/facts/shell/test_shell_doubts.py::test_a_target_behind_a_known_beginning_lies_there"),
    ("facts/shell/unknown.py", 'if "/.." in after or', "if False and",
     "tests/facts/shell/test_shell_doubts.py::test_a_target_of_which_nothing_is_known_may_be_anywhere"),
    ("facts/shell/findings.py", "if self._times[target.path] > 1 or target.how", "if target.how",
     "tests/facts/shell/test_shell_contents.py::test_no_content_is_told_that_is_not_certain"),
    ("facts/shell/findings.py", "derived and since <= moment", "derived and since <= self.moment",
     "tests/facts/shell/test_shell_contents.py::test_a_write_is_whole_where_nothing_of_the_file_can_be_left"),
    ("facts/shell/findings.py", "if certain:\n            self.sink", "if True:\n            self.sink",
     "tests/facts/shell/test_shell_contents.py::test_nothing_is_told_as_shown_that_the_agent_does_not_see"),
    ("facts/shell/findings.py", "and not self.opened and not self._look.is_there(full)", "and False",
     "tests/facts/shell/test_shell_programs.py::test_what_is_not_there_is_not_deleted"),
    ("facts/shell/harmless.py", "call.reading.opened = True\n    if _leaves", "pass\n    if _leaves",
     "tests/facts/shell/test_shell_kinds.py::test_a_command_that_may_write_more_than_it_names_is_open"),
    ("facts/shell/globs.py", "if self._left < 0 or now > self._until:", "if False:",
     "tests/facts/shell/test_shell.py::test_looking_for_files_ends_in_time"),
)  # fmt: skip
