"""The checks of facts: function, change, the test that fails then."""

from __future__ import annotations

CONTENTS = "tests/ledger/test_contents.py"
CORPUS = "tests/shell/test_deploycommands.py"
FILES = "tests/ledger/test_ledgers.py"
PATTERNS = "tests/workspace/test_patterns.py"
SWEPT = "tests/interfaces/install/test_swept.py"

ROWS = (
    # what looks like a pattern protects what it says, or is refused
    ("alternatives", "drop call _refuse_broken", f"{PATTERNS}::test_what_is_no_pattern_is_refused_with_what_to_write"),
    ("_expanded", "always if _is_there", f"{PATTERNS}::test_a_text_stands_for_these"),
    # deploys in scripts
    ("deploy_commands._target", "drop if PACKAGES", f"{CORPUS}::test_what_deploys_is_recognised"),
    ("deploy_commands._target", "drop if MAKES", f"{CORPUS}::test_what_deploys_is_recognised"),
    ("deploy_commands._target", "never operand _is_dry", f"{CORPUS}::test_ordinary_commands_are_not_taken_for_deploys"),
    ("deploy_commands._target", "drop operand _really", f"{CORPUS}::test_ordinary_commands_are_not_taken_for_deploys"),
    ("deploy_commands._file", "drop filter beneath comprehension split",
     f"{CORPUS}::test_ordinary_commands_are_not_taken_for_deploys"),
    ("ledger_files.append", "never ifexp _is_torn", f"{FILES}::test_behind_a_torn_line_the_next_one_is_whole"),
    ("ledger_files.replace", "drop operand st_size",
     f"{FILES}::test_a_cut_by_one_that_has_not_read_the_last_line_is_refused"),
    ("is_racy", "never operand CTIME_TICK_NS",
     f"{CONTENTS}::test_a_file_that_was_written_within_a_tick_before_a_look_may_change_unseen"),
    # Paths and processes
    ("refuse_network", "never if NETWORK", "tests/machine/test_filesystems.py"),
    ("processes.alive", "replace boolop ZX -> $0", "tests/machine/test_processes.py"),
    ("location.Place.__init__", "drop boolop shared",
     f"{SWEPT}::test_a_record_that_was_swept_away_is_missed_and_never_begun_anew_by_itself[rm]"),
)  # fmt: skip
