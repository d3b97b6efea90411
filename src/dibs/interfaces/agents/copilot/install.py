"""GitHub's Copilot CLI, for `dibs init`, `dibs doctor` and the launcher; hook.py has the rest."""

from __future__ import annotations

import os

from dibs.interfaces.agents import END
from dibs.interfaces.agents.adapter import END_TIMEOUT_S, HOOK_TIMEOUT_S, Client
from dibs.interfaces.agents.copilot import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import HookAnswer, HookEntry

REGISTERED = ("sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "agentStop", "sessionEnd",
              "permissionRequest", "errorOccurred")  # fmt: skip


class Copilot(Client):
    """Copilot CLI. It runs as `node`, and is recognised by its session variable."""

    name, title, program = "copilot", "Copilot", "copilot"
    session_variables = ("COPILOT_AGENT_SESSION_ID",)
    process_names = ("copilot",)
    strict = (".github/hooks",)
    # VS Code's agent reads the same file
    aliases = ("copilot-cli", "github-copilot", "github-copilot-cli", "vscode", "vs-code", "visual-studio-code")
    in_repository = (".github/copilot-instructions.md", ".github/copilot", ".github/hooks")
    in_home = (".copilot",)
    settings_file = ".github/hooks/dibs.json"
    settings_start = {"version": 1}  # noqa: RUF012 - the contract says that it is read only
    names_event = True
    pages = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
    note = (
        "Copilot asks before each `dibs …`: a repository cannot allow it. Start it with `--allow-tool "
        "'shell(dibs claim:*)'` and the like; `shell(dibs:*)` would let it run any program"
    )
    advice = (
        (
            "vscode hooks",
            "whether VS Code's agent runs these hooks, too, cannot be seen from here: it does unless switched off",
        ),
    )
    trust_order = "start `copilot` in this repository, in each working tree, and trust the folder"

    def denies(self, answer: HookAnswer) -> bool:
        """Its own dialect: init registers that."""
        return bool(answer["permissionDecision"] == "deny")

    def start_notice(self, text: str) -> HookAnswer | None:
        """It shows nothing at a start."""
        del text
        return None

    def entries(self) -> dict[str, HookEntry]:
        """Handlers without groups, and no matcher: a new tool must not bypass the guard."""
        from dibs.interfaces.install.hook_command import command

        return {
            event: {
                "type": "command", "bash": command(self, event),
                "timeoutSec": END_TIMEOUT_S if hook.EVENTS[event] == END else HOOK_TIMEOUT_S,
            }
            for event in REGISTERED
        }  # fmt: skip

    mcp_file = ".mcp.json"

    def mcp_entry(self) -> dict[str, object]:
        """One file serves Claude Code and Copilot: the form that both read."""
        return {"type": "stdio", **super().mcp_entry()}

    def untrusted(self, tree: str) -> str:
        """Its own file lists the folders."""
        from dibs.interfaces.agents import files

        home = os.environ.get("COPILOT_HOME") or f"{files.home()}/.copilot"
        known = files.json_object(f"{home}/config.json")
        trusted = [*files.listed(known.get("trustedFolders")), *files.listed(known.get("trusted_folders"))]
        if any(folder in trusted for folder in files.upward(tree)):
            return ""
        return (
            f"Copilot runs no hooks in {tree}, and writes, until the folder is trusted; it asks at its first start "
            "there"
        )

    def probe(self, session: str, folder: str, path: str) -> dict[str, object]:
        """A create."""
        given = {"path": os.path.join(folder, path), "file_text": "x\n"}
        return {"sessionId": session, "cwd": folder, "toolName": "create", "toolArgs": given}


CLIENT = Copilot()
