"""A person acts for the agents that hold the files: function, change, the test that fails then."""

from __future__ import annotations

ACTS = "tests/guards/test_person_acts.py"
ACCESS = "tests/interfaces/http/test_access.py"
RESTORED = f"{ACTS}::test_a_person_restores_what_was_overwritten_and_the_holder_keeps_it_and_is_told"
UNDONE = f"{ACTS}::test_a_person_undoes_an_agent_at_work_which_loses_the_files_and_is_told"
BYSTANDER = f"{ACTS}::test_a_bystander_keeps_the_file_in_which_another_agents_work_is_undone"
GIVEN_UP = f"{ACTS}::test_an_undo_that_is_given_up_gives_back_what_it_took"
COMMITTED = f"{ACTS}::test_a_person_commits_what_an_agent_at_rest_finished_and_the_agent_is_told"
OTHERS_COMMIT = (
    "tests/operations/guards/test_commits.py::test_what_an_agent_at_rest_holds_is_committed_by_no_other_agent"
)

ROWS = (
    ("authority.is_person", "drop operand is_person", f"{ACTS}::test_nobody_else_restores_or_undoes_past_a_holder"),
    ("authority.is_person", "drop operand PERSON",
     f"{ACCESS}::test_only_a_persons_own_credential_restores_past_the_holder"),
    ("restores._restore", "never ifexp at_work", RESTORED),
    ("restores._restore", "drop operand #2 beneath assign BY",
     f"{ACTS}::test_what_nobody_holds_is_free_again_after_a_person_restored_it"),
    ("person_acts.tell", "drop call post", RESTORED),
    ("restore._taken", "always if signature",
     f"{ACTS}::test_a_holder_that_writes_while_a_person_restores_loses_nothing"),
    ("Tree.made", "drop call add", BYSTANDER),
    ("undo._take", "never if containing assign _past_holders", UNDONE),
    ("loses", "always return within", BYSTANDER),
    ("undo._done", "drop call _tell_holders", BYSTANDER),
    ("person_acts.give_back", "drop call grant", GIVEN_UP),
    ("grants._decide", "never ifexp _blockers",
     f"{ACTS}::test_an_agent_that_waits_does_not_get_the_file_before_it_is_undone"),
    ("_by_rest", "never if is_person", OTHERS_COMMIT),
    ("_by_rest", "drop operand rested",
     f"{ACTS}::test_while_a_turn_runs_a_person_is_refused_with_the_one_command_that_overrides"),
    ("commit_guard._committed", "drop assign _tell_of", COMMITTED),
    ("_touched_record", "always unaryop beneath boolop waits",
     f"{ACTS}::test_while_a_turn_runs_a_person_is_refused_with_the_one_command_that_overrides"),
    ("payload.read", "drop operand _leaves_tasks",
     f"{ACTS}::test_an_agent_that_left_something_running_is_not_at_rest"),
    ("_asks_person", "never return is_person", f"{ACTS}::test_what_a_refusal_advises_a_person_works_as_typed"),
)  # fmt: skip
