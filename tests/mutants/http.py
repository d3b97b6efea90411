"""The checks of a server and its credentials: function, change, the test that fails then."""

from __future__ import annotations

ACCESS = "tests/interfaces/http/test_access.py"
CREDENTIALS = "tests/operations/agents/test_credentials.py"
EVENTS = "tests/interfaces/http/test_events.py"
PROCESS = "tests/interfaces/serve/test_process.py"
REQUESTS = "tests/interfaces/http/test_requests.py"

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
    ("on_headers_complete", "drop call _take_address",
     f"{PROCESS}::test_the_host_in_the_address_itself_counts_whatever_the_header_says[evil.example-421]"),
    ("Guard.__call__", "drop call hide_in", NO_PLACE),
    ("Requests._once", "drop assign hide", NO_PLACE),
    ("wait_loop.run", "drop call _give_up",
     f"{REQUESTS}::test_a_wait_whose_credential_is_revoked_is_refused_and_leaves_the_queue"),
    ("caller_of", "replace attribute rank -> 'viewer'",
     f"{ACCESS}::test_a_role_may_call_what_the_declaration_gives_it_and_nothing_else[restore-worker]"),
    # credentials
    ("_rank_refusal", "always if _only_reads",
     f"{CREDENTIALS}::test_a_viewers_credential_changes_nothing_by_an_operation_of_guards_either"),
    ("Loop._run", "drop keyword asked",
     "tests/server/test_upkeep_loop.py::test_looking_for_trouble_is_no_use_of_a_server"),
    ("credentials.live", "never operand same_text", NOT_WITHOUT),
    ("credentials.live", "never if revoked", NOT_WITHOUT),
    ("credentials.live", "never if until", NOT_WITHOUT),
    ("credentials.enter", "always assign within", NOT_ANOTHERS),
    ("credentials.enter", "always assign all", OWN_MACHINE),
    ("register", "drop assign containing subscript machine", OWN_MACHINE),
    ("entry._write", "drop operand _credential_refusal", NOT_ANOTHERS),
    ("entry._read", "never if VIEWER", NOT_ANOTHERS),
    ("_rank_refusal", "drop operand role", ROLE),
    ("authority.rank", "drop if credential", ROLE),
    ("roles.of", "never if role", ROLE),
    ("entry._refuse", "never ifexp agent",
     f"{CREDENTIALS}::test_the_log_names_the_agent_whose_credential_it_was_and_not_the_one_that_was_named"),
    ("Session.answer", "drop call run caller_of", f"{ACCESS}::test_a_machine_speaks_for_its_own_agents_alone"),
    ("secrets.shown", "replace call pop -> next(iter($0.0.values()), '')",
     f"{REQUESTS}::test_a_token_made_over_http_is_told_once"),
    # the guard
    ("guard.Guard._check_place", "never if _names", FOREIGN),
    ("guard.Guard._check_place", "replace compare len -> $0.1", FOREIGN),
    ("guard.Guard._check_place", "never operand #1", FOREIGN),
    ("Guard.__call__", "replace unaryop _is_public -> $0.1['path'].startswith('/v1')",
     f"{ACCESS}::test_no_route_but_healthz_answers_without_a_credential_that_counts"),
    ("Guard.__call__", "replace await _still -> $0.2",
     f"{ACCESS}::test_a_revocation_counts_for_a_request_that_is_refused_before_any_transaction"),
    ("Guard._limited", "replace call take -> 0.0",
     f"{ACCESS}::test_a_credential_that_calls_too_often_is_slowed_and_another_is_not"),
    ("Guard._failed", "replace call take -> 0.0",
     f"{ACCESS}::test_wrong_credentials_of_one_address_are_limited_and_good_ones_still_pass"),
    ("Guard.__call__", "never if headers", f"{REQUESTS}::test_a_header_that_stands_twice_where_one_counts_is_refused"),
    ("SingleDecision.end", "never operand notes_claims",
     f"{REQUESTS}::test_the_files_of_a_claim_are_looked_at_by_a_thread_not_by_the_loop"),
    ("is_single_decision", "never if QUICK_ITEMS",
     f"{REQUESTS}::test_a_claim_of_thousands_of_paths_is_refused_at_once_and_no_other_caller_waits_for_it"),
    ("_make_known", "always if from_shell",
     "tests/interfaces/mcp/test_far.py::test_the_credential_says_whose_a_call_is_that_names_nobody"),
    ("Operations.__call__", "never if POST", NO_EFFECT),
    ("Operations.__call__", "drop call check_type", f"{ACCESS}::test_anything_but_json_is_refused"),
    ("_Get.__call__", "never if GET", f"{ACCESS}::test_what_only_reads_takes_no_other_method"),
    # what a caller sends
    ("body.read", "never if #2 beneath while containing if http",
     f"{REQUESTS}::test_a_large_body_is_refused_before_it_is_read"),
    ("no_repeated_names", "never if len", BAD),
    ("_finite", "never if isinf", BAD),
    ("read_fields._elsewhere", "never if file", NOTHING),
    ("read_fields.request", "always ifexp fields", f"{REQUESTS}::test_the_servers_own_environment_is_not_its_callers"),
    ("Caller.waits", "drop if _gone",
     f"{REQUESTS}::test_a_wait_whose_caller_goes_or_whose_server_ends_leaves_the_queue_at_once"),
    ("Operations._run", "replace unaryop take -> $0 is None",
     f"{REQUESTS}::test_waits_are_limited_in_number_and_length_and_claims_are_answered_meanwhile"),
    # events
    ("Feed.after", "never if _ring",
     f"{EVENTS}::test_a_place_before_the_ring_is_read_from_the_store_and_a_pruned_one_is_told"),
    ("revoked", "never if identity", f"{EVENTS}::test_a_revoked_credential_loses_its_stream_at_once"),
    ("Events.stop", "drop for _streams", f"{EVENTS}::test_a_stop_ends_open_streams_in_good_order"),
    # the process
    ("process.run", "replace unaryop take -> $0 is None",
     f"{PROCESS}::test_of_two_that_start_at_once_one_serves_and_the_other_names_it"),
    ("process._check", "never if _is_loopback", f"{PROCESS}::test_a_public_address_needs_tls"),
    ("_of_server", "drop if containing expr end",
     f"{CREDENTIALS}::test_a_server_that_starts_again_revokes_the_credential_of_its_last_start"),
    ("Wire._begin", "never if containing assign call_at",
     f"{PROCESS}::test_a_slow_second_request_on_a_connection_is_cut_off_too"),
    ("Mounted.stop", "drop call cancel",
     "tests/interfaces/mcp/test_serve.py::test_a_server_that_ends_answers_the_calls_that_wait_and_ends_its_streams"),
    ("Operations.__call__", "never if query_string",
     f"{ACCESS}::test_an_agents_credential_is_no_way_to_speak_for_another_by_body_header_or_query"),
    # the log's check
    ("on_made", "never if _live",
     "tests/verify/test_verify_credentials.py::test_a_credential_is_made_once_and_revoked_once"),
    ("on_registered", "drop call add",
     "tests/verify/test_verify_credentials.py::test_a_machine_without_a_live_credential_registers_nobody"),
)  # fmt: skip
