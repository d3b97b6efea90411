"""The checks of hand-overs: function, change, the test that fails then."""

from __future__ import annotations

HANDOVER = "tests/operations/handovers/test_handover.py"
FENCED = f"{HANDOVER}::test_claims_task_and_unfinished_files_pass_at_once_and_the_first_is_fenced[memory]"
NEXT = f"{HANDOVER}::test_the_next_agent_that_starts_gets_it_in_its_boot_and_no_other_does[memory]"

ROWS = (
    ("offers.cancel", "drop call _release",
     f"{HANDOVER}::test_an_offer_is_taken_back_by_a_person_and_what_was_kept_is_free"),
    # the first holder is fenced, and told
    ("work.pass_on", "never if within", FENCED),
    ("_passes", "drop operand WATCH", f"{HANDOVER}::test_what_belongs_to_a_running_program_does_not_pass"),
    ("_passes", "always unaryop #1", f"{HANDOVER}::test_what_belongs_to_a_running_program_does_not_pass"),
    ("work.pass_on", "drop call _end_waits",
     f"{HANDOVER}::test_waiters_keep_their_turn_and_are_told_and_the_receiver_waits_no_longer"),
    # who may, and who may have it
    ("handover._asks", "replace constant orchestrator #2 -> ''",
     f"{HANDOVER}::test_only_an_orchestrator_or_a_person_hands_over_the_work_of_another"),
    ("_receiver", "drop operand alive", f"{HANDOVER}::test_a_receiver_that_is_not_there_is_refused_with_those_that_are"),
    ("Work.refusal", "never if fits", f"{HANDOVER}::test_a_task_that_is_not_for_the_receiver_is_refused"),
    # one receiver
    ("offers.take", "drop call delete_offer", NEXT),
    ("offers.take", "never unaryop beneath boolop refusal", NEXT),
    ("presence._boot", "always if containing expr FOLLOW_UPS", NEXT),
    ("_on_handed", "never if add",
     "tests/verify/test_verify.py::test_a_hand_over_that_is_made_twice_or_of_claims_that_its_receiver_lacks_is_found"),
)  # fmt: skip
