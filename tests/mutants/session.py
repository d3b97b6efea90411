"""The checks of session: function, change, the test that fails then."""

from __future__ import annotations

ANEW = "tests/guards/test_ledger_anew.py"
AUDIT = "tests/guards/test_hooks_audit.py"
CONTRACT = "tests/operations/core/test_contract.py"
HOOKS = "tests/guards/test_boot_beliefs.py"
HOOKS_2 = "tests/guards/test_hooks_edits.py"
MEMORIES = "tests/client/test_memories.py"
ODD = "tests/interfaces/python/test_odd_values.py"
PYTHON = "tests/interfaces/python/test_python.py"
SECOND = "tests/guards/test_second_look.py"
SIMULATION = "tests/simulation/test_ledger.py"
SWEPT = "tests/interfaces/install/test_swept.py"
WAITS = "tests/client/test_interrupted_waits.py"

ROWS = (
    ("left_by", "drop operand renewed",
     "tests/interfaces/python/test_aio.py::test_a_cancelled_call_gives_back_what_it_took_and_nothing_that_the_agent_had"),
    ("left_by", "never ifexp next",
     "tests/client/test_interrupted_waits.py::test_an_interrupt_of_a_finish_gives_the_next_task_back_and_the_finished_one_stays[task done]"),
    # what is granted is answered
    ("note_claim", "replace tuple Unavailable -> $0",
     "tests/interfaces/cli/test_cli.py::test_a_claim_in_a_repository_without_a_working_tree_is_answered"),
    # the files to read before acting
    ("memory_files._part", "never if _is_newest_first",
     f"{MEMORIES}::test_of_a_long_file_with_its_newest_entries_first_the_top_is_told"),
    ("memory_files.load", "replace call min -> $1",
     f"{MEMORIES}::test_all_together_stay_within_the_limit_and_what_has_no_room_is_named"),
    ("memory_files.lines", "replace joinedstr clean -> $1.0.1",
     f"{MEMORIES}::test_a_line_of_a_file_cannot_pass_for_a_word_of_dibs"),
    ("env_beliefs._is_word", "replace boolop LONGEST -> bool($0.1.1)",
     f"{HOOKS}::test_an_environment_that_makes_no_sense_is_no_belief"),
    ("content_backup.save", "replace name #2 beneath return saved -> []",
     "tests/interfaces/cli/test_restore.py::test_what_a_holder_had_in_its_file_is_kept_when_its_claim_is_taken_away"),
    # request fields are what their kinds say
    ("read_fields.request", "drop operand internal", f"{CONTRACT}::test_what_is_internal_cannot_be_said_from_outside"),
    ("read_fields._commit", "replace ifexp commit -> $0.0.0 if True else $2",
     "tests/interfaces/cli/test_cli.py::test_a_release_names_a_commit_of_this_repository_and_the_log_shows_it"),
    # what a hook appends
    ("Tree.write", "replace call _without_repeats -> $1",
     f"{SECOND}::test_a_hook_writes_once_into_the_ledger_and_a_refused_one_writes_what_it_saw"),
    ("Tree.write", "replace call _counted -> list($0.0.state.untold.values())",
     f"{ANEW}::test_an_agent_knows_what_it_wrote_although_the_ledger_was_written_anew_while_that_was_found"),
    # looks
    ("Tree._judge", "replace subscript now -> self.now",
     f"{SIMULATION}::test_what_is_sure_is_right_and_no_owned_content_disappears_without_a_word_and_a_copy"),
    ("survey", "drop call append",
     f"{AUDIT}::test_a_new_file_that_an_opaque_command_wrote_over_anothers_claim_is_a_violation"),
    ("Tree._learn", "never call _is_foreign",
     f"{HOOKS_2}::test_what_a_merge_or_a_checkout_brought_is_not_written_over_unread"),
    ("Tree._learn", "always ifexp after",
     f"{HOOKS_2}::test_an_edit_that_carries_its_context_passes_over_newer_content_and_its_agent_is_told_once"),
    ("quotes.quoted", "replace call clean -> $1",
     "tests/interfaces/cli/test_messages_cli.py::test_every_line_of_a_message_is_marked_and_can_be_seen"),
    ("config.load", "drop return load", f"{SWEPT}::test_on_a_branch_from_before_dibs_the_guards_go_on_as_they_were"),
    # The launcher, where an upgrade has moved dibs
    ("client.session.Session.__init__", "drop assign mend",
     f"{SWEPT}::test_a_file_that_an_upgrade_moved_is_named_anew_by_the_next_call"),
    # pipes of processes that are gone
    ("local_details.briefing", "drop call tidy",
     f"{PYTHON}::test_a_process_listens_only_while_it_waits_and_a_killed_one_leaves_no_pipe_for_long"),
    # an interrupted wait
    ("wait_loop.run", "drop call withdraw",
     f"{WAITS}::test_an_interrupt_at_any_bytecode_of_a_wait_leaves_no_place_and_no_claim"),
    ("wait_loop.withdraw", "drop call beneath except BaseException",
     f"{WAITS}::test_a_second_interrupt_at_any_bytecode_of_the_withdrawal_leaves_no_place[once]"),
    ("wait_loop._withdraw", "replace call copy -> $1",
     f"{WAITS}::test_a_second_interrupt_at_any_bytecode_of_the_withdrawal_leaves_no_place"),
    ("_withdrawing", "drop call _ignore_signals beneath except SystemExit",
     f"{WAITS}::test_a_command_that_is_signalled_again_and_again_leaves_its_queue"),
    ("_sleep", "drop raise interrupt",
     f"{WAITS}::test_a_signal_whose_exception_a_callback_swallows_ends_the_wait[2-words0]"),
)  # fmt: skip
