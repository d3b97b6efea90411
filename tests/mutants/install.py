"""The checks of install: function, change, the test that fails then."""

from __future__ import annotations

LAUNCHER = "tests/interfaces/install/test_launcher.py"
SWEPT = "tests/interfaces/install/test_swept.py"

ROWS = (
    ("committed.missing", "replace boolop _of -> not $0",
     "tests/interfaces/install/test_doctor_guards.py::test_following_doctors_order_commits_everything_that_init_wrote"),
    ("probe.attempt", "always ifexp REFUSED",
     "tests/interfaces/install/test_doctor_guards.py::test_a_hook_that_lets_a_killed_agent_pass_is_an_error"),
    ("launcher.put", "replace name IGNORE -> ''",
     f"{SWEPT}::test_on_a_branch_from_before_dibs_the_guards_go_on_as_they_were"),
    ("launcher.mend", "drop return beneath if OWN",
     f"{SWEPT}::test_a_workspace_of_an_older_dibs_gets_its_copies_with_the_next_call"),
    ("launcher.mend", "never if why_temporary",
     "tests/interfaces/install/test_doctor_guards.py::test_a_dibs_that_was_moved_is_said_where_this_one_may_not_take_its_place"),
    ("_HOOK", 'text \' && "$python" -I -c \\\'import dibs\\\' 2>/dev/null\' -> \'; then false; fi; if false\'',
     f"{SWEPT}::test_a_hook_finds_a_dibs_that_an_upgrade_moved_by_its_interpreter_and_names_it_anew"),
    # The launcher, where git has taken it away
    ("_HOOK", 'text \' "$common/dibs/run"\' -> \'\'',
     f"{LAUNCHER}::test_a_launcher_whose_run_file_was_cleaned_away_takes_the_one_below_gits_directory"),
    ("hook_command.command", "replace ifexp BEFORE -> 0",
     f"{LAUNCHER}::test_without_any_launcher_every_call_is_refused_and_no_session_is_kept_from_ending"),
    ("hook_command.COPY", "text '! ' -> ''",
     "tests/interfaces/install/test_launcher.py::test_a_colleague_who_never_had_dibs_is_not_locked_out_where_the_launcher_is_nowhere"),
    ("hook_command.COPY", "text '[ ! -d \"${dibs_hook%/*}\" ]' -> 'true'",
     "tests/interfaces/install/test_launcher.py::test_without_any_launcher_every_call_is_refused_and_no_session_is_kept_from_ending"),
    ("hook_command.PROJECT", "text 'command ' -> ''",
     f"{LAUNCHER}::test_a_launcher_that_is_broken_or_missing_is_a_refusal_in_every_shell"),
    # A trial touches nothing that git tracks, and is not made where the team has dibs
    ("plan._trial", "never if #1",
     "tests/interfaces/install/test_local.py::test_what_is_committed_is_not_touched_and_whose_hooks_are_missing_is_said"),
    ("private.refuse", "never if #2",
     "tests/interfaces/install/test_local.py::test_a_trial_is_refused_where_the_team_has_dibs_and_without_git"),
    ("githooks.CALL", "text '$(git rev-parse --git-common-dir)/dibs/hook' -> ''",
     f"{LAUNCHER}::test_git_hooks_find_the_copy_below_gits_directory"),
    ("probe.attempt", "never if #5",
     "tests/interfaces/install/test_doctor_guards.py::test_a_guard_that_refuses_everything_proves_nothing"),
)  # fmt: skip
