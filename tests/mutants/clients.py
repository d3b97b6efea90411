"""The checks of clients: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

ROWS = (
    (
        "doors/clients/claude/install.py",
        "MATCHERS = {",
        'MATCHERS = {"PreToolUse": "^(Read|Edit|Write|Bash)$", ',
        "tests/doors/install/test_init.py::test_claude_code_asks_before_every_tool_and_tells_of_each_that_may_write",
    ),
)  # fmt: skip
