"""The checks of session: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

ANEW = "tests/doors/hooks/test_ledger_anew.py"
AUDIT = "tests/doors/hooks/test_hooks_audit.py"
CONTRACT = "tests/operations/core/test_contract.py"
HOOKS = "tests/doors/hooks/test_boot_beliefs.py"
HOOKS_2 = "tests/doors/hooks/test_hooks_edits.py"
MEMORIES = "tests/session/test_memories.py"
ODD = "tests/doors/python/test_odd_values.py"
PYTHON = "tests/doors/python/test_python.py"
SECOND = "tests/doors/hooks/test_second_look.py"
SIMULATION = "tests/simulation/test_ledger.py"
SWEPT = "tests/doors/install/test_swept.py"
WAITS = "tests/session/test_interrupted_waits.py"

ROWS = (
    # what is granted is answered
    ("session/local_details.py", "    except (OSError, Unavailable):  # a client's", "    except OSError:  # a client's",
     "tests/doors/cli/test_cli.py::test_a_claim_in_a_repository_without_a_working_tree_is_answered"),
    # the files to read before acting
    ("session/memory_files.py", "    if _is_newest_first(text):\n", "    if False:\n",
     f"{MEMORIES}::test_of_a_long_file_with_its_newest_entries_first_the_top_is_told"),
    ("session/memory_files.py", "_part(text, min(EACH, left))", "_part(text, EACH)",
     f"{MEMORIES}::test_all_together_stay_within_the_limit_and_what_has_no_room_is_named"),
    ("session/memory_files.py", 'f"> {quotes.clean(line)}"', "line",
     f"{MEMORIES}::test_a_line_of_a_file_cannot_pass_for_a_word_of_dibs"),
    ("session/env_beliefs.py", 'return 0 < len(value) <= LONGEST and value.isprintable() and " " not in value',
     "return bool(value)", f"{HOOKS}::test_an_environment_that_makes_no_sense_is_no_belief"),
    (
        "session/content_backup.py",
        'return {**fields, "saved": saved}',
        'return {**fields, "saved": []}',
        "tests/doors/cli/test_restore.py::test_what_a_holder_had_in_its_file_is_kept_when_its_claim_is_taken_away",
    ),
    # request fields are what their kinds say
    ("session/read_fields.py", "if field is None or field.internal:", "if field is None:",
     f"{CONTRACT}::test_what_is_internal_cannot_be_said_from_outside"),
    ("session/read_fields.py", '    found = "" if value.startswith("-")', "    found = value if True",
     "tests/doors/cli/test_cli.py::test_a_release_names_a_commit_of_this_repository_and_the_log_shows_it"),
    # what a hook appends
    ("session/working_tree.py", "_without_repeats(self._lines), []", "self._lines, []",
     f"{SECOND}::test_a_hook_writes_once_into_the_ledger_and_a_refused_one_writes_what_it_saw"),
    ("session/working_tree.py", "counted = self._counted(lines)", "counted = list(self.state.untold.values())",
     f"{ANEW}::test_an_agent_knows_what_it_wrote_although_the_ledger_was_written_anew_while_that_was_found"),
    # looks
    ("session/working_tree.py", "now = ledger_files.now()[0]  # not the start", "now = self.now  # not the start",
     f"{SIMULATION}::test_what_is_sure_is_right_and_no_owned_content_disappears_without_a_word_and_a_copy"),
    ("session/working_tree.py", 'self._lines.append(("L", f"{self.now}:{self.offset}", str(moves)))', "pass",
     f"{AUDIT}::test_a_new_file_that_an_opaque_command_wrote_over_anothers_claim_is_a_violation"),
    ("session/working_tree.py", "foreign=self._is_foreign(change)", "foreign=False",
     f"{HOOKS_2}::test_what_a_merge_or_a_checkout_brought_is_not_written_over_unread"),
    ("session/working_tree.py", 'content = change.after if knows else "" if undone else ledger_files.BLIND', "content = change.after",
     f"{HOOKS_2}::test_an_edit_that_carries_its_context_passes_over_newer_content_and_its_agent_is_told_once"),
    ("session/quotes.py", "{clean(line)}", "{line}",
     "tests/doors/cli/test_messages_cli.py::test_every_line_of_a_message_is_marked_and_can_be_seen"),
    ("session/config.py", "            return load(kept, local, top, shared)\n", "            pass\n",
     f"{SWEPT}::test_on_a_branch_from_before_dibs_the_guards_go_on_as_they_were"),
    # The launcher, where an upgrade has moved dibs
    ("session/session.py", "self.replaced = launcher.mend(self.place)", "pass",
     f"{SWEPT}::test_a_file_that_an_upgrade_moved_is_named_anew_by_the_next_call"),
    # pipes of processes that are gone
    ("session/local_details.py", "    session.store.tidy()  # ", "    # ",
     f"{PYTHON}::test_a_process_listens_only_while_it_waits_and_a_killed_one_leaves_no_pipe_for_long"),
    # an interrupted wait
    ("session/wait_loop.py", '            withdraw(session, call, "".join(place))\n', "            pass\n",
     f"{WAITS}::test_an_interrupt_at_any_bytecode_of_a_wait_leaves_no_place_and_no_claim"),
    ("session/wait_loop.py", "    except BaseException:\n        _withdraw(session, call, waiter)\n", "    except BaseException:\n",
     f"{WAITS}::test_a_second_interrupt_at_any_bytecode_of_the_withdrawal_leaves_no_place[once]"),
    ("session/wait_loop.py", "    mine = copy(call)\n", "    mine = call\n",
     f"{WAITS}::test_a_second_interrupt_at_any_bytecode_of_the_withdrawal_leaves_no_place"),
    ("doors/cli/dispatch.py", "            _ignore_signals()  # a second one", "            pass  # a second one",
     f"{WAITS}::test_a_command_that_is_signalled_again_and_again_leaves_its_queue"),
    ("session/wait_loop.py", "            raise session.interrupt\n", "            pass\n",
     f"{WAITS}::test_a_signal_whose_exception_a_callback_swallows_ends_the_wait[2-words0]"),
)  # fmt: skip
