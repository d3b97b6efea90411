"""The checks of clients: function, change, the test that fails then."""

from __future__ import annotations

ROWS = (
    ("MATCHERS", "replace dict WRITES -> {'PreToolUse': '^(Read|Edit|Write|Bash)$', 'PostToolUse': $2, 'PostToolUseFailure': $2}",
     "tests/interfaces/install/test_init.py::test_claude_code_asks_before_every_tool_and_tells_of_each_that_may_write"),
)  # fmt: skip
