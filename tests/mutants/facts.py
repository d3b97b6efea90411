"""The checks of facts: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

CONTENTS = "tests/facts/test_contents.py"
CORPUS = "tests/facts/test_deploycommands.py"
FILES = "tests/facts/test_ledgers.py"
PATTERNS = "tests/facts/test_patterns.py"
SWEPT = "tests/doors/install/test_swept.py"

ROWS = (
    # what looks like a pattern protects what it says, or is refused
    ("facts/path_patterns.py", "        _refuse_broken(text, one, cwd)\n", "        pass\n",
     f"{PATTERNS}::test_what_is_no_pattern_is_refused_with_what_to_write"),
    ("facts/path_patterns.py", "if group is None or _is_there(one, group[1], cwd):", "if True:",
     f"{PATTERNS}::test_a_text_stands_for_these"),
    # deploys in scripts
    ("facts/deploy_commands.py", "    if words[0] in PACKAGES:\n        return _package(words, patterns, cwd, depth)\n", "",
     f"{CORPUS}::test_what_deploys_is_recognised"),
    ("facts/deploy_commands.py", "    if words[0] in MAKES:\n        return _made(words, patterns, cwd, depth)\n", "",
     f"{CORPUS}::test_what_deploys_is_recognised"),
    ("facts/deploy_commands.py", "any(map(_is_dry, words[1:]))", "False",
     f"{CORPUS}::test_ordinary_commands_are_not_taken_for_deploys"),
    ("facts/deploy_commands.py", " and _really(pattern, words, simple.assignments)", "",
     f"{CORPUS}::test_ordinary_commands_are_not_taken_for_deploys"),
    ("facts/deploy_commands.py", 'if line[:1] not in {" ", "\\t", "#", ""}]', "]",
     f"{CORPUS}::test_ordinary_commands_are_not_taken_for_deploys"),
    ("facts/ledger_files.py", '_write(fd, b"\\n" + data if _is_torn(fd) else data)\n            if inode', "_write(fd, data)\n            if inode",
     f"{FILES}::test_behind_a_torn_line_the_next_one_is_whole"),
    ("facts/ledger_files.py", "(status.st_ino, status.st_size) != known or ", "",
     f"{FILES}::test_a_cut_by_one_that_has_not_read_the_last_line_is_refused"),
    ("facts/contents.py", 'int(signature.split(":")[2]) + CTIME_TICK_NS >= looked', "False",
     f"{CONTENTS}::test_a_file_that_was_written_within_a_tick_before_a_look_may_change_unseen"),
    # Paths and processes
    ("facts/filesystems.py", "    if kind in NETWORK:", "    if False:", "tests/facts/test_filesystems.py"),
    ("facts/processes.py", '    return stat is not None and stat[1] == start and stat[2] not in "ZX"',
     "    return stat is not None", "tests/facts/test_processes.py"),
    ("facts/workspace.py", ' or (common != "" and _kind(f"{self.shared}/store") == _FILE)', "",
     f"{SWEPT}::test_a_record_that_was_swept_away_is_missed_and_never_begun_anew_by_itself[rm]"),
)  # fmt: skip
