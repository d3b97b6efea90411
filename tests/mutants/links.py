"""The checks of near and far callers: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

FAR = "tests/server/test_far.py"
SERVED = "tests/server/test_served.py"
NEAR = "tests/server/test_near.py"
ONCE = f"{NEAR}::test_a_server_that_dies_or_stops_in_mid_request_has_it_done_once_with_the_same_answer"
LINES = f"{NEAR}::test_a_line_that_is_no_request_is_told_so_and_the_next_one_is_answered"

ROWS = (
    ("session/child_environment.py", "return {**kept, TOKEN: str(token)}", "return {TOKEN: str(token)}",
     "tests/server/test_far.py::test_a_command_under_a_claim_asks_dibs_with_the_credential_and_has_the_claim_s_token"),
    # a request is done once
    ("operations/core/entry.py", "    if call.via is None or _credential_refusal(tx, call, got) is not None:", "    if True:",
     f"{ONCE}[after-KILL-send]"),
    ("operations/core/exchanges.py", "    if (tx.touched or retry) and not (", "    if tx.touched and retry and not (",
     f"{ONCE}[after-KILL-task add]"),
    ("session/remote.py", "        call.via = connection.id, connection.number, True\n", "        call.via = None\n",
     f"{ONCE}[after-KILL-release]"),
    ("session/far_link.py", '"via": [name, number, attempt > 0]', '"via": [name, number + attempt, False]',
     f"{FAR}::test_an_answer_that_is_lost_on_the_way_is_asked_again_and_done_once[after]"),
    # what nobody got is taken back
    ("session/remote.py", "        via = call.via\n        if via is None:", "        via = call.via\n        if True:",
     f"{NEAR}::test_a_command_that_is_interrupted_while_the_server_is_stopped_leaves_nothing[after]"),
    ("server/socket_port.py", "and request.operation.withdraws:\n            self._hand_over(",
     "and False:\n            self._hand_over(", f"{NEAR}::test_a_grant_that_its_caller_never_got_is_withdrawn"),
    # who may ask, and what a line may say
    ("server/socket_port.py", "os.umask(0o177)", "os.umask(0o111)", f"{NEAR}::test_the_socket_is_for_its_user_alone"),
    ("facts/paths.py", "    if not plain or (not anywhere", "    if False or (not anywhere", LINES),
    ("server/store_half.py", "        if store is not None and store != self._store_named:", "        if False:", LINES),
    ("session/serve_file.py", 'found.get("build") == build() != ""', "True",
     f"{NEAR}::test_a_left_over_file_and_another_build_are_passed_by"),
    # far callers
    ("server/far_half.py", "        call.credential = identity.credential\n", "",
     f"{FAR}::test_an_agents_credential_speaks_for_that_agent_and_its_subagents_alone"),
    ("storage/far_connection.py", "if status.st_mode & 0o077 or", "if",
     f"{FAR}::test_a_credential_comes_from_a_private_file_alone"),
    ("storage/far_connection.py", "    if not secure and host not in LOOPBACK:", "    if False:",
     f"{FAR}::test_http_is_for_loopback_alone_and_no_credential_stands_in_a_url"),
    ("storage/workspace_store.py", "        write_pin(local, Pin(url))\n    return store\n\n\ndef is_redis",
     "    return store\n\n\ndef is_redis", f"{FAR}::test_another_store_than_the_pinned_server_is_refused"),
    ("doors/http/guard.py", 'if "has_gone" in scope and', "if False and",
     f"{SERVED}::test_a_server_that_was_stopped_does_nothing_for_far_callers_who_have_given_up"),
    ("session/wait_loop.py", "if not waiter or ", "if True or ",
     f"{SERVED}::test_a_far_caller_that_waits_keeps_asking_for_as_long_as_its_place_in_line_lasts"),
)  # fmt: skip
