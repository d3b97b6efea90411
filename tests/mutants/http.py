"""The checks of a server and its credentials: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

ACCESS = "tests/doors/http/test_access.py"
CREDENTIALS = "tests/operations/agents/test_credentials.py"
EVENTS = "tests/doors/http/test_events.py"
PROCESS = "tests/doors/serve/test_process.py"
REQUESTS = "tests/doors/http/test_requests.py"

NOT_ANOTHERS = f"{CREDENTIALS}::test_an_agents_credential_speaks_for_it_and_its_subagents_only"
NOT_WITHOUT = f"{CREDENTIALS}::test_an_unknown_a_revoked_and_an_expired_credential_do_nothing"
OWN_MACHINE = f"{CREDENTIALS}::test_a_machine_speaks_for_the_agents_that_it_registered_and_for_no_others"
ROLE = f"{CREDENTIALS}::test_the_credentials_role_counts_and_not_the_callers_word"
NO_EFFECT = f"{ACCESS}::test_an_operation_has_no_effect_by_any_method_but_post"
FOREIGN = f"{ACCESS}::test_a_foreign_host_and_a_foreign_origin_are_refused_before_the_credential_is_read"
BAD = f"{REQUESTS}::test_what_is_no_json_object_is_a_400_with_the_error_object"
NO_PLACE = f"{ACCESS}::test_no_answer_and_no_refusal_tells_where_on_the_server_s_machine_the_workspace_is[viewer]"
NOTHING = f"{REQUESTS}::test_nothing_that_a_caller_sends_is_run_opened_or_written"

ROWS = (
    ("doors/http/wire.py", "                self._take_address()\n", "                pass\n",
     f"{PROCESS}::test_the_host_in_the_address_itself_counts_whatever_the_header_says[evil.example-421]"),
    ("doors/http/guard.py", "                locations.hide_in(self._host.place, error)\n", "                pass\n", NO_PLACE),
    ("server/requests.py", "                result = locations.hide(session.place, result)\n", "                pass\n", NO_PLACE),
    ("session/wait_loop.py", "            _give_up(session, call, place[0])\n", "            pass\n",
     f"{REQUESTS}::test_a_wait_whose_credential_is_revoked_is_refused_and_leaves_the_queue"),
    ("operations/core/entry.py", "writes=False, may=operation.may)", 'writes=False, may="viewer")',
     f"{ACCESS}::test_a_role_may_call_what_the_declaration_gives_it_and_nothing_else[restore-worker]"),
    # credentials
    ("operations/core/entry.py", "        if call.credential is None or not _only_reads(call, agent):\n", "        if True:\n",
     f"{CREDENTIALS}::test_a_viewers_credential_changes_nothing_by_an_operation_of_guards_either"),
    ("server/loop.py", "session(asked=False)", "session()",
     "tests/server/test_upkeep_loop.py::test_looking_for_trouble_is_no_use_of_a_server"),
    ("operations/agents/credentials.py", 'or not same_text(record["hash"], digest)', "or False", NOT_WITHOUT),
    ("operations/agents/credentials.py", '    if record["revoked"]:\n        raise Unauthorized',
     "    if False:\n        raise Unauthorized", NOT_WITHOUT),
    ("operations/agents/credentials.py", '    if record["until"] <= tx.now:\n', "    if False:\n", NOT_WITHOUT),
    ("operations/agents/credentials.py",
     "        own = within(call.agent, who) or within(call.agent, _alias(tx, who))\n", "        own = True\n", NOT_ANOTHERS),
    ("operations/agents/credentials.py", 'all(record is None or record.get("machine") == who for record in records.values())', "True",
     OWN_MACHINE),
    ("operations/agents/records.py", '        agent["machine"] = machine\n', "        pass\n", OWN_MACHINE),
    ("operations/core/entry.py", "_credential_refusal(tx, call, got)\n        or ", "", NOT_ANOTHERS),
    ("operations/core/entry.py", "    if call.credential is not None or call.barred or operation.may != VIEWER:\n", "    if False:\n",
     NOT_ANOTHERS),
    ("operations/core/entry.py", "not call.role and ", "", ROLE),
    ("operations/core/authority.py", "    if call.credential is not None:  # a person's has a role\n        return AGENT\n",
     "", ROLE),
    ("operations/agents/roles.py", "    if call.role and identifier == call.agent:\n", "    if False:\n", ROLE),
    ("operations/core/entry.py", 'error.fields["agent"] if spoke else call.agent', "call.agent",
     f"{CREDENTIALS}::test_the_log_names_the_agent_whose_credential_it_was_and_not_the_one_that_was_named"),
    ("session/session.py", "                self.run(caller_of(operation), call, {})\n", "                pass\n",
     f"{ACCESS}::test_a_machine_speaks_for_its_own_agents_alone"),
    ("session/secrets.py", 'session.secrets.pop(made["fingerprint"], "")', 'next(iter(session.secrets.values()), "")',
     f"{REQUESTS}::test_a_token_made_over_http_is_told_once"),
    # the guard
    ("doors/http/guard.py", "        if host not in self._names:\n", "        if False:\n", FOREIGN),
    ("doors/http/guard.py", 'if len(hosts) == 1 else ""', 'if hosts else ""', FOREIGN),
    ("doors/http/guard.py", "origin is not None and origin", "False and origin", FOREIGN),
    ("doors/http/guard.py", "            if not _is_public(scope):\n", '            if scope["path"].startswith("/v1"):\n',
     f"{ACCESS}::test_no_route_but_healthz_answers_without_a_credential_that_counts"),
    ("doors/http/guard.py", "            error = await self._still(scope, failed)\n",
     "            error = failed\n",
     f"{ACCESS}::test_a_revocation_counts_for_a_request_that_is_refused_before_any_transaction"),
    ("doors/http/guard.py", "        wait = self._calls.take(known.id)\n", "        wait = 0.0\n",
     f"{ACCESS}::test_a_credential_that_calls_too_often_is_slowed_and_another_is_not"),
    ("doors/http/guard.py", "        wait = self._failures.take(_address(scope))\n", "        wait = 0.0\n",
     f"{ACCESS}::test_wrong_credentials_of_one_address_are_limited_and_good_ones_still_pass"),
    ("doors/http/guard.py", '            if len(headers) != len(scope["headers"]):', "            if False:",
     f"{REQUESTS}::test_a_header_that_stands_twice_where_one_counts_is_refused"),
    ("server/requests.py", " and steps.notes_claims(self.session):", " and False:",
     f"{REQUESTS}::test_the_files_of_a_claim_are_looked_at_by_a_thread_not_by_the_loop"),
    ("server/requests.py", "        if type(value) is list and len(value) > QUICK_ITEMS:", "        if False:",
     f"{REQUESTS}::test_a_claim_of_thousands_of_paths_is_refused_at_once_and_no_other_caller_waits_for_it"),
    ("server/far_half.py", "            if call.typed or not call.fallback:", "            if True:",
     "tests/doors/mcp/test_far.py::test_the_credential_says_whose_a_call_is_that_names_nobody"),
    ("doors/http/operations.py", '        if scope["method"] != "POST":\n', "        if False:\n", NO_EFFECT),
    ("doors/http/operations.py", "        check_type(headers)\n", "        pass\n",
     f"{ACCESS}::test_anything_but_json_is_refused"),
    ("doors/http/app.py", '        if scope["method"] not in {"GET", "HEAD"}:\n', "        if False:\n",
     f"{ACCESS}::test_what_only_reads_takes_no_other_method"),
    # what a caller sends
    ("doors/http/body.py", "                if size > limit:\n", "                if False:\n",
     f"{REQUESTS}::test_a_large_body_is_refused_before_it_is_read"),
    ("session/json_input.py", "    if len(found) != len(pairs):\n", "    if False:\n", BAD),
    ("doors/http/body.py", "    if isinf(value):\n", "    if False:\n", BAD),
    ("session/read_fields.py", '    if field.kind in {"process", "file"}:\n', "    if False:\n", NOTHING),
    ("session/read_fields.py", "    for field in operation.fields if here else ():\n", "    for field in operation.fields:\n",
     f"{REQUESTS}::test_the_servers_own_environment_is_not_its_callers"),
    ("server/requests.py", "            if self._gone:\n                raise Gone\n", "",
     f"{REQUESTS}::test_a_wait_whose_caller_goes_or_whose_server_ends_leaves_the_queue_at_once"),
    ("doors/http/operations.py", "        if not self._slots.take():\n", "        if self._slots.take() is None:\n",
     f"{REQUESTS}::test_waits_are_limited_in_number_and_length_and_claims_are_answered_meanwhile"),
    # events
    ("server/feed.py", "            if not self._ring or seq + 1 < self._ring[0].seq:\n", "            if False:\n",
     f"{EVENTS}::test_a_place_before_the_ring_is_read_from_the_store_and_a_pruned_one_is_told"),
    ("doors/http/events.py", "        if credential == self.identity.id:\n", "        if False:\n",
     f"{EVENTS}::test_a_revoked_credential_loses_its_stream_at_once"),
    ("doors/http/events.py", "        for stream in list(self._streams):\n            stream.end()\n", "        pass\n",
     f"{EVENTS}::test_a_stop_ends_open_streams_in_good_order"),
    # the process
    ("doors/serve/process.py", "    if not lock.take():\n", "    if lock.take() is None:\n",
     f"{PROCESS}::test_of_two_that_start_at_once_one_serves_and_the_other_names_it"),
    ("doors/serve/process.py", "    elif not _is_loopback(address):\n", "    elif False:\n",
     f"{PROCESS}::test_a_public_address_needs_tls"),
    ("operations/agents/credentials.py", "    if last is not None:\n        end(tx, call, last)\n", "",
     f"{CREDENTIALS}::test_a_server_that_starts_again_revokes_the_credential_of_its_last_start"),
    ("doors/http/wire.py", "        if self._late is None:\n            self._late = self.loop.call_at", "        if False:\n            self._late = self.loop.call_at",
     f"{PROCESS}::test_a_slow_second_request_on_a_connection_is_cut_off_too"),
    ("doors/mcp/mount.py", "            work.cancel()\n\n    @contextlib", "            pass\n\n    @contextlib",
     "tests/doors/mcp/test_serve.py::test_a_server_that_ends_answers_the_calls_that_wait_and_ends_its_streams"),
    ("doors/http/operations.py", '        if scope["query_string"]:', "        if False:",
     f"{ACCESS}::test_an_agents_credential_is_no_way_to_speak_for_another_by_body_header_or_query"),
    # the log's check
    ("lookout/credentials.py", "        if event.subject in self._live:\n", "        if False:\n",
     "tests/lookout/test_verify_credentials.py::test_a_credential_is_made_once_and_revoked_once"),
    ("lookout/credentials.py", '            self._report.add(event.seq, "credential", message)\n', "            pass\n",
     "tests/lookout/test_verify_credentials.py::test_a_machine_without_a_live_credential_registers_nobody"),
)  # fmt: skip
