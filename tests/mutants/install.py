"""The checks of install: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

LAUNCHER = "tests/doors/install/test_launcher.py"
SWEPT = "tests/doors/install/test_swept.py"

ROWS = (
    ("doors/cli/doctor/committed.py", "if here and here != _of(part, _committed(base, name)):", "if not here:",
     "tests/doors/install/test_doctor_guards.py::test_following_doctors_order_commits_everything_that_init_wrote"),
    ("doors/install/probe.py", '    return "" if code == REFUSED else "a harmless call', '    return "" if True else "a harmless call',
     "tests/doors/install/test_doctor_guards.py::test_a_hook_that_lets_a_killed_agent_pass_is_an_error"),
    ("session/launcher.py", '    write(f"{place.local}/.gitignore", IGNORE)', '    ""',
     f"{SWEPT}::test_on_a_branch_from_before_dibs_the_guards_go_on_as_they_were"),
    ("session/launcher.py", '        return ""\n    if why_temporary(_interpreter()) ==', "        pass\n    if why_temporary(_interpreter()) ==",
     f"{SWEPT}::test_a_workspace_of_an_older_dibs_gets_its_copies_with_the_next_call"),
    ("session/launcher.py", '    if why_temporary(_interpreter()) == "cache":', "    if False:",
     "tests/doors/install/test_doctor_guards.py::test_a_dibs_that_was_moved_is_said_where_this_one_may_not_take_its_place"),
    ("doors/install/scripts.py", """ && "$python" -I -c 'import dibs' 2>/dev/null; then""", "; then false; fi; if false; then",
     f"{SWEPT}::test_a_hook_finds_a_dibs_that_an_upgrade_moved_by_its_interpreter_and_names_it_anew"),
    # The launcher, where git has taken it away
    ("doors/install/scripts.py", '"$common/../.dibs/local/run" "$common/dibs/run"',
     '"$common/../.dibs/local/run"',
     f"{LAUNCHER}::test_a_launcher_whose_run_file_was_cleaned_away_takes_the_one_below_gits_directory"),
    ("doors/install/scripts.py", r"-]*|*\\ *\\ *\\ *) ;;", "-]*) ;;",
     f"{LAUNCHER}::test_without_any_launcher_everything_else_is_refused"),
    ("doors/install/githooks.py",
     '$(git rev-parse --git-common-dir)/dibs/hook\nif [ -f "$dibs_hook" ]; then\n    "$',
     '\nif [ -f "$dibs_hook" ]; then\n    "$',
     f"{LAUNCHER}::test_git_hooks_find_the_copy_below_gits_directory"),
    ("doors/install/probe.py", "    if code != 0:\n        return f", "    if False:\n        return f",
     "tests/doors/install/test_doctor_guards.py::test_a_guard_that_refuses_everything_proves_nothing"),
)  # fmt: skip
