"""The checks of alerts: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

ALERTS = "tests/operations/alerts/test_alerts.py"
MACHINE = "tests/operations/alerts/test_alert_machine.py"
SENT = "tests/session/test_alerts.py"
PLACES = "tests/doors/test_alert_places.py::test_each_kind_is_raised_once_is_seen_in_every_place_and_clears_by_itself"
EACH = f"{ALERTS}::test_each_kind_is_raised_once_seen_everywhere_and_cleared_by_itself"

ROWS = (
    ("operations/alerts/records.py", "        if own:\n            todo", "        if False:\n            todo",
     f"{ALERTS}::test_each_agent_of_a_deadlock_is_told_what_it_can_do_itself"),
    ("operations/alerts/records.py", '_own_remedy(one, agent) or one["remedy"]', 'one["remedy"]',
     f"{ALERTS}::test_each_agent_of_a_deadlock_is_told_what_it_can_do_itself"),
    # once for a cause
    ("operations/alerts/kinds.py", '            records.repeat(tx, known, suspicion["commits"])\n            return False\n', "            pass\n",
     f"{ALERTS}::test_the_same_cause_again_is_counted_while_its_alert_is_open_or_acknowledged"),
    ("operations/alerts/kinds.py", "        records.clear(tx, call, known, why)\n", "", f"{ALERTS}::test_a_cause_that_comes_back_after_it_was_gone_raises_a_new_alert"),
    ("operations/alerts/watch.py", '        if _is_new(tx, "silent", agent["agent"]):\n', "        if True:\n", f"{EACH}"),
    ("operations/agents/deaths.py", '        agent["mourned"] = name\n', "", f"{EACH}"),
    # cleared by itself
    ("operations/alerts/watch.py", "        records.clear(tx, call, alert, why)\n", "        pass\n", MACHINE),
    ("operations/alerts/kinds.py", 'and alert["kind"] in UNOBSERVED and', "and False and", f"{EACH}"),
    # bounded
    ("operations/alerts/records.py", 'if counts["open"] >= MAX_OPEN and not', "if False and not",
     f"{ALERTS}::test_only_so_many_alerts_are_open_and_the_graver_ones_have_the_room"),
    ("operations/alerts/records.py", 'i2=due(alert["until"]))', "i2=None)", f"{ALERTS}::test_cleared_alerts_are_dropped_after_the_retention"),
    # true
    ("operations/alerts/kinds.py", 'or (alive is None and tx.now - agent["seen"] > RECENT_MS):', ":",
     f"{ALERTS}::test_an_expired_claim_of_an_agent_that_cannot_be_seen_is_an_alert_only_if_it_acted_lately"),
    ("operations/alerts/kinds.py", "    if not held and not kept and not records.coordinators(tx, call, agent, persons=False):\n", "    if False:\n",
     f"{ALERTS}::test_an_agent_that_only_ended_without_a_word_is_no_alert"),
    ("operations/alerts/watch.py", '        if told or agent["left"]', '        if agent["left"]',
     f"{ALERTS}::test_agents_that_are_told_new_rules_in_time_are_no_alert"),
    # told, once, by dibs
    ("operations/alerts/records.py", "if one not in told][:MAX_TOLD]", "][:MAX_TOLD]",
     f"{ALERTS}::test_who_is_refused_is_not_told_the_deadlock_a_second_time"),
    # what a dead agent leaves
    ("operations/agents/deaths.py", 'left = [claim for claim in live if not claim["tied"]]', "left = []",
     f"{PLACES}[dead, with a claim of no process]"),
    # evidence
    ("operations/alerts/suspicions.py", "*([[COMMIT, shows]] if shows else [])", "", f"{ALERTS}::test_evidence_names_the_events_that_show_it"),
    ("session/evidence.py", "        if found and found[0].commit < commit:\n", "        if found and found[0].commit <= commit:\n",
     f"{ALERTS}::test_every_commit_of_a_log_is_found_by_its_number"),
    # somebody always looks
    ("session/wait_loop.py", '        upkeep.step(session, "wait", call.agent or call.fallback)\n', "",
     f"{SENT}::test_who_waits_for_something_else_finds_an_agent_dead"),
    ("session/wait_loop.py", "min(left, upkeep.EVERY_MS) / 1000)) or left <= upkeep.EVERY_MS", "left / 1000)) or True",
     f"{SENT}::test_who_waits_looks_every_two_seconds"),
    ("session/upkeep.py", "                alert_delivery.start(session, agent)\n", "                alert_delivery.deliver(session, agent, 1)\n",
     f"{SENT}::test_a_waiter_leaves_the_sending_to_another_process_and_is_served_while_a_receiver_drips"),
    ("session/upkeep.py", "                alert_delivery.start(session, agent)\n", "                pass\n",
     f"{SENT}::test_who_waits_for_a_few_seconds_looks_and_has_alerts_delivered"),
    ("session/alert_delivery.py", "    thread.join(WEBHOOK_TIMEOUT_S)\n", "    thread.join()\n",
     f"{SENT}::test_a_receiver_that_drips_is_given_up_at_the_deadline_of_the_whole_exchange"),
    # delivered, by one process at a time
    ("operations/alerts/delivery.py", "next=tx.now + LEASE_MS, ", "", f"{ALERTS}::test_what_one_process_has_taken_no_other_takes_until_its_lease_is_over"),
    ("operations/alerts/delivery.py", ' and record["delivery"]["lease"] == lease:', ":", f"{ALERTS}::test_what_one_process_has_taken_no_other_takes_until_its_lease_is_over"),
    ("operations/alerts/delivery.py", '        if delivery["tries"] >= MAX_TRIES:', "        if False:", f"{ALERTS}::test_processes_that_die_with_an_alert_do_not_retry_it_for_ever"),
    ("session/alert_delivery.py", "        if not secret:\n", "        if False:\n", f"{SENT}::test_a_webhook_without_its_secret_sends_nothing"),
    ("session/alert_delivery.py", "        os.killpg(child.pid, signal.SIGKILL)", "        child.kill()", f"{SENT}::test_a_command_that_hangs_is_ended_with_all_that_it_started"),
    ("session/config_work.py", '    if name == "webhook" and given and not', "    if False and not", f"{SENT}::test_a_webhook_elsewhere_needs_tls"),
    # the lookout
    ("lookout/replay.py", '        if other is not None:\n            self._report.add(event.seq, "alert"', '        if False:\n            self._report.add(event.seq, "alert"',
     "tests/lookout/test_verify.py::test_an_alert_is_raised_once_and_ends_once"),
)  # fmt: skip
