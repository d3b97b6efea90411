"""The checks of clients: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

ROWS = (
    (
        "doors/clients/claude/install.py",
        "        if added:\n",
        "        if False:\n",
        "tests/doors/install/test_settings.py::test_claude_code_asks_the_hook_about_each_tool_that_the_config_keeps_from_a_role",
    ),
)  # fmt: skip
