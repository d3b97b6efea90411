"""Who may send what over a server's link, and what is bound to a credential: file, text, what stands instead, the test."""

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
RESTORE = "tests/reports/test_restore.py::test_nothing_is_restored_below_git_s_folder_or_over_dibs_own_files"
HOOKS = "tests/server/test_far_hooks.py"
GUARDED = f"{HOOKS}::test_edits_and_commands_elsewhere_are_guarded_and_reported_in_that_agent_s_name[lea-words1]"

ROWS = (
    # what declares nothing
    ("operations/core/declare.py", "else ANYWHERE if group else NEAR\n", "else ANYWHERE\n", SILENT),
    ("operations/core/declare.py", "else NEAR if field.internal else self.sent_by\n", "else self.sent_by\n", SILENT),
    ("server/store_half.py", "sender, far, operation.unsendable(sender, fields)", 'sender, far, ""', f"{BARRED}[agent]"),
    ("operations/core/entry.py", "        or _sender_refusal(call, operation)\n", "", f"{BARRED}[agent]"),
    ("operations/core/entry.py", " or _sender_refusal(call, operation)\n    if refusal", "\n    if refusal",
     f"{BARRED}[machine]"),
    ("operations/core/entry.py", "    role, _ = roles.of(call, agent)\n    return bool", "    role = call.role\n    return bool",
     f"{LINK}::test_a_viewer_by_the_config_is_one_for_internal_operations_too"),
    # identity
    ("operations/agents/aliases.py", "    if not _may_take(tx, call, alias, former):", "    if False:", NO_ID),
    ("operations/agents/aliases.py", 'call.sender == BY_MACHINE and former.get("machine") == call.machine',
     "call.sender == BY_MACHINE", OWN_IDS),
    ("operations/agents/aliases.py", " and not credentials.is_of_another(tx, alias, BY_MACHINE, call.machine)", "", OWN_IDS),
    ("operations/agents/credentials.py", "    if own and known[0] is None and", "    if False and", OWN_IDS),
    ("operations/agents/presence.py", "    if client_type and call.sender != BY_AGENT:", "    if client_type:", NO_ROLE),
    ("operations/agents/roles.py", "    if call.sender == BY_AGENT:", "    if False:", NO_ROLE),
    ("operations/agents/roles.py", "    return RANKS[rank_of(call, given or AGENT)] >", "    return False and RANKS[rank_of(call, given or AGENT)] >",
     "tests/operations/agents/test_roles.py::test_what_an_agent_calls_its_subagent_raises_no_rank"),
    # machines and processes
    ("operations/core/entry.py", "    if call.here and not call.barred:", "    if False:", MACHINE),
    ("operations/agents/places.py", "        _bind(tx, record, call.here)\n", "        pass\n", TAKEN),
    ("operations/agents/places.py", "        call.client, call.ancestors = None, []\n", "", SECOND),
    ("operations/agents/places.py", "        if named:\n", "        if False:\n", SECOND),
    ("operations/agents/places.py", '    if mine["kind"] == credentials.MACHINE_KIND != owner["kind"]:', "    if False:", TAKEN),
    ("operations/agents/places.py", "or not credentials.is_live(tx, former)", "", TAKEN),
    ("operations/agents/places.py", "        if process is not None and (", "        if False and (", OTHER),
    ("operations/agents/places.py", "            tx.delete(key)\n", "            pass\n",
     f"{LINK}::test_a_credential_has_a_bounded_number_of_machines"),
    ("operations/agents/places.py", "    _leave_own(tx, call, record, named)\n", "",
     f"{LINK}::test_a_process_of_an_agent_that_no_credential_registered_is_nobody_s_elsewhere"),
    ("operations/guards/deploy_guard.py", 'return record if related(record["agent"], call.agent) else None', "return record",
     f"{LINK}::test_a_deploy_and_a_landing_are_ended_by_their_own_agents_alone"),
    ("operations/landing/lander.py", ' and claim["token"] == token and related(claim["agent"], call.agent)',
     ' and claim["token"] == token', f"{LINK}::test_a_deploy_and_a_landing_are_ended_by_their_own_agents_alone"),
    ("server/far_half.py", "            call.client = call.client if call.client in above else None\n", "", HERE),
    ("server/far_half.py", "                _check_process(pid, ", "                str(", HERE),
    ("server/far_half.py", "                pid = 0\n", "                pass\n", HERE),
    # reports
    ("operations/guards/changes.py", "            _bind(tx, call, change)\n", "            pass\n", REPORT),
    ("operations/core/kept_contents.py", '        record["place"] = call.place\n', "        pass\n", REPORT),
    ("operations/guards/changes.py", 'call.voice, "violation"', '"dibs", "violation"', REPORT),
    ("operations/alerts/records.py", "    if reporter:  #", "    if False:  #", REPORT),
    ("session/wire.py", '        return value and f"{self._place}:{value}"', "        return value", REPORT),
    ("session/wire.py", 'if value.startswith(f"{place}:/") else value', "if False else value", GUARDED),
    ("operations/guards/undo.py", '    of = next((one["undo_of"] for', '    _ = next((one["undo_of"] for',
     f"{LINK}::test_an_undo_is_told_to_those_whose_work_it_was_allowed_for"),
    ("operations/landing/queue.py", 'call.voice, "landing"', '"dibs", "landing"',
     f"{LINK}::test_a_landing_is_reported_by_a_machine_or_a_person_in_its_own_name"),
    ("operations/guards/push_reports.py", 'Field("by", "text", "whom git names", default="", longest=200)', 'Field("by", "raw", "whom git names", default="")',
     f"{LINK}::test_a_push_is_reported_in_the_reporter_s_name_and_in_words_of_git"),
    ("operations/messages/mailbox.py", "    if of_agent or box", "    if box",
     f"{LINK}::test_reports_of_one_caller_do_not_fill_another_s_inbox"),
    ("running/landing_wait.py", "            barred = taken is None\n", "",
     "tests/server/test_far.py::test_an_agents_credential_queues_a_branch_and_leaves_the_landing_to_others"),
    # files of the server
    ("operations/guards/restores.py", "        and kept_contents.is_here(call, record)\n", "", REPORT),
    ("server/far_half.py", "        if operation.writes or HERE in", "        if HERE in", FORGED),
    ("operations/guards/restores.py", '    if ".git" in parts or', "    if", f"{RESTORE}[.GIT/hooks/pre-commit]"),
    ("operations/guards/restores.py", "    _check_path(resource[1])", "    str(resource[1])", f"{RESTORE}[way/pre-commit]"),
    ("operations/core/declare.py", "(plain.isascii() and plain.isalnum())", "True",
     f"{LINK}::test_a_name_to_be_woken_by_is_no_path[..]"),
    ("stores/sqlite/wakes.py", '        if name in {"", ".", ".."} or "/" in name', "        if False",
     "tests/stores/test_sqlite.py::test_a_wake_touches_nothing_outside_its_folder"),
)  # fmt: skip
