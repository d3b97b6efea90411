"""The checks of alerts: function, change, the test that fails then."""

from __future__ import annotations

ALERTS = "tests/operations/alerts/test_alerts.py"
MACHINE = "tests/operations/alerts/test_alert_machine.py"
SENT = "tests/client/test_alerts.py"
PLACES = (
    "tests/interfaces/test_alert_places.py::test_each_kind_is_raised_once_is_seen_in_every_place_and_clears_by_itself"
)
EACH = f"{ALERTS}::test_each_kind_is_raised_once_seen_everywhere_and_cleared_by_itself"

ROWS = (
    ("alerts.lifecycle._tell", "never if", f"{ALERTS}::test_each_agent_of_a_deadlock_is_told_what_it_can_do_itself"),
    ("concerning", "drop operand own_remedy",
     f"{ALERTS}::test_each_agent_of_a_deadlock_is_told_what_it_can_do_itself"),
    # once for a cause
    ("lifecycle.look_into", "drop call _repeat, then drop return #2",
     f"{ALERTS}::test_the_same_cause_again_is_counted_while_its_alert_is_open_or_acknowledged"),
    ("lifecycle.look_into", "drop call clear",
     f"{ALERTS}::test_a_cause_that_comes_back_after_it_was_gone_raises_a_new_alert"),
    ("watch._new_suspicions", "always if agent", f"{EACH}"),
    ("deaths.tell", "drop assign mourned", f"{EACH}"),
    ("lifecycle.look_into", "never if COLLECTING",
     "tests/operations/claims/test_idle_holders.py::test_claims_that_expire_one_after_the_other_stay_one_line"),
    ("add_expired", "never if known",
     "tests/operations/claims/test_idle_holders.py::test_after_max_life_they_expire_into_one_quiet_line_and_one_message"),
    # cleared by itself
    ("watch.look", "drop call clear", MACHINE),
    ("lifecycle.gone", "never operand is_observed", f"{EACH}"),
    # bounded
    ("raise_alert", "never operand MAX_OPEN",
     f"{ALERTS}::test_only_so_many_alerts_are_open_and_the_graver_ones_have_the_room"),
    ("put_alert", "replace call due -> None", f"{ALERTS}::test_cleared_alerts_are_dropped_after_the_retention"),
    # true
    ("claim_causes.expired", "drop boolop RECENT_MS",
     f"{ALERTS}::test_an_expired_claim_of_an_agent_that_cannot_be_seen_is_an_alert_only_if_it_acted_lately"),
    ("agent_causes.dead", "never if coordinators", f"{ALERTS}::test_an_agent_that_only_ended_without_a_word_is_no_alert"),
    ("watch.look_into", "drop operand get",
     f"{ALERTS}::test_agents_that_are_told_new_rules_in_time_are_no_alert"),
    # told, once, by dibs
    ("alerts.lifecycle._tell", "drop filter beneath subscript MAX_TOLD",
     f"{ALERTS}::test_who_is_refused_is_not_told_the_deadlock_a_second_time"),
    # what a dead agent leaves
    ("deaths.tell", "replace listcomp not -> []", f"{PLACES}[dead, with a claim of no process]"),
    # evidence
    ("suspicions.put", "drop starred COMMIT", f"{ALERTS}::test_evidence_names_the_events_that_show_it"),
    ("events_of", "replace operand commit -> $0 <= $1", f"{ALERTS}::test_every_commit_of_a_log_is_found_by_its_number"),
    # somebody always looks
    ("_sleep", "drop call step", f"{SENT}::test_who_waits_for_something_else_finds_an_agent_dead"),
    ("_sleep", "replace call min -> $1", f"{SENT}::test_who_waits_looks_every_two_seconds"),
    ("rounds.step", "replace call start alert_delivery -> $0.0.deliver($1, $2, 1)",
     f"{SENT}::test_a_waiter_leaves_the_sending_to_another_process_and_is_served_while_a_receiver_drips"),
    ("rounds.step", "drop call start alert_delivery",
     f"{SENT}::test_who_waits_for_a_few_seconds_looks_and_has_alerts_delivered"),
    ("alert_delivery._posted", "drop argument beneath call join",
     f"{SENT}::test_a_receiver_that_drips_is_given_up_at_the_deadline_of_the_whole_exchange"),
    # delivered, by one process at a time
    ("delivery._take", "replace binop LEASE_MS -> 0",
     f"{ALERTS}::test_what_one_process_has_taken_no_other_takes_until_its_lease_is_over"),
    ("delivery._report", "drop operand lease",
     f"{ALERTS}::test_what_one_process_has_taken_no_other_takes_until_its_lease_is_over"),
    ("delivery._take", "never if MAX_TRIES",
     f"{ALERTS}::test_processes_that_die_with_an_alert_do_not_retry_it_for_ever"),
    ("_by_webhook", "never if beneath if secret_file", f"{SENT}::test_a_webhook_without_its_secret_sends_nothing"),
    ("_by_command", "replace call killpg -> $1.0.kill()",
     f"{SENT}::test_a_command_that_hangs_is_ended_with_all_that_it_started"),
    ("config_work._text", "never operand webhook", f"{SENT}::test_a_webhook_elsewhere_needs_tls"),
    # the lookout
    ("_on_alert_raised", "never if #3", "tests/verify/test_verify.py::test_an_alert_is_raised_once_and_ends_once"),
)  # fmt: skip
