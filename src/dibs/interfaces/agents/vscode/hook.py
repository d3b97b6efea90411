"""The hook payloads of VS Code's own agent, and the answers to them.

It has no settings of its own: it runs the hooks of Claude Code (`.claude/settings.json`) and of Copilot
(`.github/hooks`), whatever their matchers say, and names events and tools in its own way. So it is known by a field of
its payloads, whichever client's hook it calls. Written by its documentation and its public source: it was not run.
"""

from __future__ import annotations

from dibs.interfaces import agents
from dibs.interfaces.agents import AFTER, BEFORE, BOOT, BORN, DIED, EDIT, PATCH, PROMPT, READ, SHELL, STOP

EVENTS = {
    "SessionStart": BOOT, "UserPromptSubmit": PROMPT, "PreToolUse": BEFORE, "PostToolUse": AFTER, "Stop": STOP,
    "SubagentStart": BORN, "SubagentStop": DIED,
}  # fmt: skip
# Its tools that edit several files (`multi_replace_string_in_file`, `editFiles`) are judged by what they bring.
TOOLS = {
    "create_file": EDIT, "replace_string_in_file": EDIT, "insert_edit_into_file": EDIT, "edit_notebook_file": EDIT,
    "apply_patch": PATCH, "run_in_terminal": SHELL, "create_and_run_task": SHELL, "read_file": READ,
    "view_image": READ,
}  # fmt: skip
HARMLESS = (
    "fetch_webpage", "file_search", "get_changed_files", "get_doc_info", "get_errors", "get_project_setup_info",
    "get_search_view_results", "get_task_output", "get_terminal_output", "get_vscode_api", "github_repo",
    "github_text_search", "grep_search", "kill_terminal", "list_code_usages", "list_dir", "manage_todo_list", "memory",
    "open_simple_browser", "read_notebook_cell_output", "read_project_structure", "search_workspace_symbols",
    "semantic_search", "terminal_last_command", "terminal_selection", "test_failure", "test_search", "think",
)  # fmt: skip
PROJECT_VARIABLE = ""
YIELDS_AFTER_NS = 0
RUNS_GIT_HOOKS = True
HOLDS: dict[str, int] = {}
ENDS = ""
NAMELESS = ()

deny, context = agents.claude_denial, agents.claude_context
