"""The clients, and what every call must know of all of them. Made by `make generate` from their folders."""

NAMES = ("claude", "codex", "copilot", "cursor", "gemini", "opencode")
SESSION_VARIABLES = {  # read when nobody said who is calling
    "CLAUDE_CODE_SESSION_ID": "claude",
    "CODEX_SESSION_ID": "codex",
    "CODEX_THREAD_ID": "codex",
    "COPILOT_AGENT_SESSION_ID": "copilot",
    "GEMINI_SESSION_ID": "gemini",
    "OPENCODE_SESSION_ID": "opencode",
}
PROCESS_NAMES = (  # under which they run
    "claude",
    "codex",
    "copilot",
    "cursor-agent",
    "gemini",
    "opencode",
)
STRICT = (  # their files that need an explicit claim
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".mcp.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".codex/rules",
    ".github/hooks",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".opencode/plugins",
    ".opencode/plugin",
    "opencode.json",
    "opencode.jsonc",
)
MARKS = {  # a field of a payload → the client that sends it through another one's hooks, and its own settings
    "cursor_version": ("cursor", ".cursor/hooks.json"),
}
DIGEST = "b91da4ef"  # of these: what is kept of a config is read anew when they change
