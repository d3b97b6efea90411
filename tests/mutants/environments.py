"""The checks of environments of working trees: function, change, the test that fails then."""

from __future__ import annotations

CLAIMS = "tests/operations/environments/test_tree_claims.py"
TREES = "tests/guards/test_tree_env.py"

ROWS = (
    # the same units again, and no other tree's
    ("tree_claims._keep", "never operand len", f"{CLAIMS}::test_a_new_variable_is_claimed_and_the_others_stay"),
    ("tree_claims._keep", "drop operand _shape", f"{CLAIMS}::test_a_unit_that_its_pool_no_longer_has_is_replaced"),
    ("tree_claims._keep", "drop call _give_back", f"{CLAIMS}::test_what_the_config_no_longer_asks_for_is_given_back"),
    ("tree_claims._keep", "drop call _renew",
     f"{CLAIMS}::test_a_tree_that_nobody_uses_loses_its_units_in_order_and_each_use_counts"),
    ("tree_claims._renew", "drop operand ttl",
     f"{CLAIMS}::test_asking_again_at_once_writes_no_event_and_another_idle_time_counts_at_once"),
    ("tree_claims._give_back", "drop call serve", f"{CLAIMS}::test_who_waits_for_a_unit_that_is_given_back_has_it"),
    ("end_all", "drop call serve", f"{CLAIMS}::test_a_removed_tree_loses_its_units_at_once_and_the_next_waiter_has_them"),
    ("Vacancies.__init__", "drop call update", f"{CLAIMS}::test_earlier_waiters_come_first"),
    ("Vacancies.__init__", "never if until", f"{CLAIMS}::test_the_units_of_an_expired_claim_are_free_without_a_sweep"),
    ("tree_claims._choose", "never if over", f"{CLAIMS}::test_the_units_of_an_expired_claim_are_free_without_a_sweep"),
    ("tree_claims._choose", "never if containing assign _assigned",
     f"{CLAIMS}::test_units_of_a_dead_holder_count_once_the_free_ones_do_not_suffice"),
    ("tree_claims._choose", "never ifexp #1",
     f"{CLAIMS}::test_a_port_that_is_listened_on_is_not_given_out_and_a_tree_s_own_stays"),
    ("tree_claims._row", "drop operand int",
     f"{CLAIMS}::test_a_block_of_ports_is_in_a_row_or_refused_and_of_another_pool_the_first_free_ones"),
    # whose it is, and when it ends
    ("removed_trees._removed", "drop call end_all",
     f"{CLAIMS}::test_a_removed_tree_loses_its_units_at_once_and_the_next_waiter_has_them"),
    ("check_agent_id", "never if OF_TREE", f"{CLAIMS}::test_no_agent_can_call_itself_a_tree"),
    ("records.id_of_tree", "never ifexp replace",
     f"{CLAIMS}::test_a_caller_from_afar_names_no_tree_but_those_of_its_own_credential"),
    ("tokens._ask", "never if #3", f"{CLAIMS}::test_a_tree_cannot_be_asked_and_the_refusal_says_what_gives_it_back"),
    ("presence._others", "never if OF_TREE", f"{TREES}::test_an_exhausted_pool_is_said_and_the_session_starts"),
    # what the machine knows, and where it is written
    ("removed_trees.look", "drop call await_settled",
     "tests/guards/test_removed_trees.py::test_a_tree_whose_ledger_is_being_made_does_not_count_as_removed"),
    ("tree_env.take", "drop call look", f"{TREES}::test_a_removed_tree_s_units_are_free_when_the_next_tree_asks"),
    ("env_file.write", "never if NAME", f"{TREES}::test_a_session_starts_where_the_environment_cannot_be_written"),
    ("env_file.export", "never operand BEGIN",
     f"{TREES}::test_a_session_start_takes_the_environment_writes_it_and_says_so"),
    ("unit_facts.complete", "never if containing assign _in_use",
     f"{TREES}::test_a_claim_of_a_port_is_not_given_one_that_is_listened_on"),
    ("_sockets", "never if LISTEN",
     "tests/machine/test_ports.py::test_a_connection_from_a_port_does_not_count_as_listening"),
)  # fmt: skip
