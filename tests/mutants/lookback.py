"""The look back: function, change, the test that fails then."""

from __future__ import annotations

FIGURES = "tests/lookback/test_figures.py"
FORMATS = "tests/lookback/test_formats.py"
COMMAND = "tests/lookback/test_command.py"

ROWS = (
    ("Session.result", "drop assign OTHER", f"{FIGURES}::test_an_edit_that_failed_did_not_happen"),
    ("session_files.merged", "drop continue beneath if call",
     f"{FIGURES}::test_a_resumed_session_repeats_its_lines_and_they_count_once"),
    ("session_files.merged", "drop call heapreplace", f"{FORMATS}::test_sessions_are_merged_by_time"),
    ("Past._refused", "drop assign containing compare _ask",
     f"{FIGURES}::test_a_migration_is_refused_alone_and_says_so"),
    ("Past._edit", "drop call append Overwrite",
     f"{FIGURES}::test_four_clients_in_one_tree_are_counted_as_by_hand"),
    ("Past._edit", "always if ignored", f"{FIGURES}::test_what_git_ignores_is_nobodys"),
    ("Past._command", "drop call append", f"{FIGURES}::test_each_sweep_of_git_is_seen"),
    ("_git_has_run", "drop call _release", f"{FIGURES}::test_a_commit_ends_what_an_agent_holds"),
    ("_git_has_run", "drop call clear", f"{FIGURES}::test_a_commit_ends_what_an_agent_holds"),
    ("edited", "drop call append", f"{FIGURES}::test_four_clients_in_one_tree_are_counted_as_by_hand"),
    ("causes.shown", "drop assign _IN_URL", f"{COMMAND}::test_what_looks_like_a_secret_is_left_out"),
)  # fmt: skip
