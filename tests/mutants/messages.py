"""The checks of messages: function, change, the test that fails then."""

from __future__ import annotations

MESSAGES = "tests/operations/messages/test_messages.py"
SUBSCRIPTIONS = "tests/operations/messages/test_subscriptions.py"

ROWS = (
    ("_tell_sender", "never if from", f"{MESSAGES}::test_who_asked_for_an_acknowledgement_hears_of_it"),
    ("take_on_type", "drop operand at", f"{MESSAGES}::test_nobody_gets_a_kept_message_twice"),
    ("broadcasts.parts", "replace binop now -> 0", f"{MESSAGES}::test_nobody_gets_a_kept_message_twice"),
    ("take_on_type", "drop operand until",
     f"{MESSAGES}::test_a_message_for_a_type_reaches_every_agent_of_it_that_comes_before_it_expires"),
    ("broadcasts.step", "drop compare", f"{MESSAGES}::test_a_fleet_of_thousands_is_reached_in_steps_of_bounded_size"),
    ("put_in", "replace call max -> $1", MESSAGES),
    ("_acknowledge_all", "drop operand shown", MESSAGES),
    ("subscriptions.deliver", "drop operand version", SUBSCRIPTIONS),
    ("subscriptions.deliver", "replace assign beneath if inbox -> $0.0 = True", SUBSCRIPTIONS),
)  # fmt: skip
