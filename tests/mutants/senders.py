"""Who may send what over a server's link, and what is bound to a credential: function, change, the test."""

from __future__ import annotations

SENDERS = "tests/server/test_senders.py"
LINK = "tests/server/test_link.py"
SILENT = f"{SENDERS}::test_what_declares_nothing_is_for_this_machine_alone"
BARRED = f"{SENDERS}::test_a_server_refuses_each_operation_and_field_that_is_not_this_caller_s_and_changes_nothing"
OWN_IDS = f"{LINK}::test_a_machine_s_credential_takes_the_ids_of_its_own_agents_and_free_ones_alone"
NO_ID = f"{LINK}::test_an_agent_s_credential_takes_no_other_id_and_no_claim_with_it[worker]"
NO_ROLE = f"{LINK}::test_a_type_that_one_agent_s_credential_tells_gives_no_role"
MACHINE = f"{LINK}::test_what_a_caller_says_of_a_machine_counts_from_the_credential_that_has_it"
SECOND = f"{LINK}::test_a_second_credential_on_a_machine_is_served_without_its_processes"
TAKEN = f"{LINK}::test_a_machine_s_credential_takes_its_machine_from_an_agent_s_and_a_revoked_one_leaves_it"
OTHER = f"{LINK}::test_a_process_of_another_machine_than_the_caller_s_is_refused[agent]"
HERE = f"{LINK}::test_a_process_of_the_server_s_own_machine_is_its_connection_s_or_none"
REPORT = f"{LINK}::test_what_a_far_caller_reports_is_of_its_own_place_and_told_in_its_own_name[agent]"
FORGED = f"{LINK}::test_a_forged_content_is_written_nowhere"
RESTORE = "tests/undo/test_restore.py::test_nothing_is_restored_below_git_s_folder_or_over_dibs_own_files"
HOOKS = "tests/server/test_far_hooks.py"
GUARDED = f"{HOOKS}::test_edits_and_commands_elsewhere_are_guarded_and_reported_in_that_agent_s_name[lea-words1]"

ROWS = (
    # what declares nothing
    ("Operation.__init__", "always ifexp NEAR", SILENT),
    ("unsendable", "never ifexp NEAR", SILENT),
    ("RequestDecider.read", "replace call unsendable -> ''", f"{BARRED}[agent]"),
    ("entry._write", "drop operand _sender_refusal", f"{BARRED}[agent]"),
    ("_read_refusal", "drop operand _sender_refusal", f"{BARRED}[machine]"),
    ("_only_reads", "replace assign of -> $0.0 = $1.1.role",
     f"{LINK}::test_a_viewer_by_the_config_is_one_for_internal_operations_too"),
    # identity
    ("aliases.adopt", "never if _may_take", NO_ID),
    ("_may_take", "drop operand get", OWN_IDS),
    ("_may_take", "drop operand is_of_another", OWN_IDS),
    ("credentials.enter", "never operand #1 beneath if is_of_another", OWN_IDS),
    ("credentials.enter", "replace call items -> list($0())[:1]",
     f"{LINK}::test_a_machine_s_credential_takes_no_subagent_s_id_that_a_credential_was_made_for"),
    ("credentials.enter", "replace operand comes_from_agent -> $2.model",
     f"{LINK}::test_an_agent_with_a_person_s_credential_has_the_role_that_the_config_gives_it"),
    ("presence._started", "drop operand BY_AGENT", NO_ROLE),
    ("roles.of", "never if BY_AGENT", NO_ROLE),
    ("_is_own_promotion", "never compare RANKS",
     "tests/operations/agents/test_roles.py::test_what_an_agent_calls_its_subagent_raises_no_rank"),
    # machines and processes
    ("entry.perform", "never if here", MACHINE),
    ("wire._is_name", "drop compare #2", f"{LINK}::test_a_machine_s_name_is_not_the_beginning_of_another_s_processes[2]"),
    ("places.enter", "drop call _bind", TAKEN),
    ("places.enter", "drop assign client", SECOND),
    ("places.enter", "never if containing raise Forbidden", SECOND),
    ("places._is_free", "never if MACHINE_KIND", TAKEN),
    ("places._is_free", "drop operand is_live", TAKEN),
    ("places.check", "never operand #1", OTHER),
    ("places._bind", "drop call delete", f"{LINK}::test_a_credential_has_a_bounded_number_of_machines"),
    ("places.enter", "drop call _leave_own",
     f"{LINK}::test_a_process_of_an_agent_that_no_credential_registered_is_nobody_s_elsewhere"),
    ("deploy_guard._live", "always ifexp related",
     f"{LINK}::test_a_deploy_and_a_landing_are_ended_by_their_own_agents_alone"),
    ("lander._mine", "drop operand related",
     f"{LINK}::test_a_deploy_and_a_landing_are_ended_by_their_own_agents_alone"),
    ("_make_known", "drop assign client", HERE),
    ("RemoteEndpoint.run", "replace call _check_process -> str($2)", HERE),
    ("_make_known", "drop assign beneath if is_end_of", HERE),
    # reports
    ("changes.tell", "drop call _bind", REPORT),
    ("guards.records.put_kept", "drop assign place", REPORT),
    ("changes._post", "replace attribute voice -> 'dibs'", REPORT),
    ("lifecycle._new", "never if containing assign name_of", REPORT),
    ("_Reader._tree", "drop operand _place", REPORT),
    ("answer_out", "never ifexp len", GUARDED),
    ("undo._done", "drop assign undo_of",
     f"{LINK}::test_an_undo_is_told_to_those_whose_work_it_was_allowed_for"),
    ("queue.tell", "replace attribute voice -> 'dibs'",
     f"{LINK}::test_a_landing_is_reported_by_a_machine_or_a_person_in_its_own_name"),
    ("push_reports.PUSHED", "replace call Field by -> $0('by', 'raw', 'whom git names', default='')",
     f"{LINK}::test_a_push_is_reported_in_the_reporter_s_name_and_in_words_of_git"),
    ("mailbox.post", "drop operand #3", f"{LINK}::test_reports_of_one_caller_do_not_fill_another_s_inbox"),
    ("land.wait.wait_for", "drop assign is",
     "tests/server/test_far.py::test_an_agents_credential_queues_a_branch_and_leaves_the_landing_to_others"),
    ("commit_guard._committed", "drop assign accused",
     f"{LINK}::test_a_commit_that_a_far_caller_reports_accuses_no_agent_of_another_credential[agent-mallory]"),
    ("_FOUND", "replace constant channel -> 'text'",
     f"{LINK}::test_the_id_of_a_change_is_one_word_that_no_shell_reads_otherwise"),
    ("_is_ref", "drop operand startswith",
     f"{LINK}::test_a_commit_that_a_caller_names_is_no_option_of_git_and_no_two_words"),
    ("deploy_guard.resource_of", "never if isprintable", f"{LINK}::test_a_target_is_one_line"),
    # files of the server
    ("restores._restorable", "drop operand place_of", REPORT),
    ("RemoteEndpoint.answer", "drop operand writes", FORGED),
    ("_check_path", "drop operand git", f"{RESTORE}[.GIT/hooks/pre-commit]"),
    ("restores._restore", "replace name _check_path #2 -> str", f"{RESTORE}[way/pre-commit]"),
    ("_is_channel", "always operand isascii isalnum", f"{LINK}::test_a_name_to_be_woken_by_is_no_path[..]"),
    ("Wakes._path", "replace boolop -> False or $2",
     "tests/stores/test_sqlite.py::test_a_wake_touches_nothing_outside_its_folder"),
)  # fmt: skip
