"""The checks of messages: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

MESSAGES = "tests/operations/messages/test_messages.py"
SMALL = "tests/operations/core/test_small_things.py"
SUBSCRIPTIONS = "tests/operations/messages/test_subscriptions.py"

ROWS = (
    ("operations/messages/mailbox.py", '    if message.get("again") and message["from"] != call.agent:\n', "    if False:\n",
     f"{SMALL}::test_who_asked_for_an_acknowledgement_hears_of_it"),
    ("operations/messages/broadcasts.py", 'if kept["at"] > since and kept["until"]', 'if kept["until"]',
     f"{MESSAGES}::test_nobody_gets_a_kept_message_twice"),
    ("operations/messages/broadcasts.py", "kind: tx.now - 1}", "kind: 0}",
     f"{MESSAGES}::test_nobody_gets_a_kept_message_twice"),
    ("operations/messages/broadcasts.py", 'and kept["until"] > tx.now and', "and",
     f"{MESSAGES}::test_a_message_for_a_type_reaches_every_agent_of_it_that_comes_before_it_expires"),
    ("operations/messages/broadcasts.py", "    while more and used < room:\n", "    while more:\n",
     f"{MESSAGES}::test_a_fleet_of_thousands_is_reached_in_steps_of_bounded_size"),
    ("operations/messages/mailbox.py", 'max(tx.now, box["last"] + 1)', "tx.now", MESSAGES),
    ("operations/messages/mailbox.py", 'if message.get("shown") and not _over(tx, message):',
     "if not _over(tx, message):", MESSAGES),
    ("operations/messages/subscriptions.py", ' or now["version"] != known["version"]', "", SUBSCRIPTIONS),
    ("operations/messages/subscriptions.py", "held, through = True, before", "held = True", SUBSCRIPTIONS),
)  # fmt: skip
