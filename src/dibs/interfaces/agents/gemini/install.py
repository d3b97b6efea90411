"""Google's Gemini CLI, for `dibs init`, `dibs doctor` and the launcher; hook.py has the rest."""

from __future__ import annotations

import os

from dibs.interfaces.agents.adapter import HOOK_TIMEOUT_S, Client
from dibs.interfaces.agents.gemini import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import HookAnswer, HookEntry


class Gemini(Client):
    """Gemini CLI. It runs as `node`, and is recognised by its session variable."""

    name, title, program = "gemini", "Gemini", "gemini"
    session_variables = ("GEMINI_SESSION_ID",)
    process_names = ("gemini",)
    strict = (".gemini/settings.json",)
    aliases = ("gemini-cli", "google-gemini")
    in_repository = (".gemini", "GEMINI.md")
    in_home = (".gemini",)
    settings_file = ".gemini/settings.json"
    writer = "write_file"
    pages = ("GEMINI.md",)
    # `tools.allowed` of a project would refuse all other commands; project policies have no effect.
    note = 'Gemini asks before each `dibs …`: a project cannot allow it. A person can, once: "Always allow"'
    trust_order = "start `gemini` in this repository, in each working tree, and trust the folder"

    def denies(self, answer: HookAnswer) -> bool:
        """The same."""
        return bool(answer["decision"] == "deny")

    def start_notice(self, text: str) -> HookAnswer | None:
        """For the person only."""
        return {"systemMessage": text}

    def entries(self) -> dict[str, HookEntry]:
        """No matcher: a new tool must not bypass the guard. Timeouts are in milliseconds."""
        return {
            event: {"hooks": [{"name": "dibs", **self.handler(event, HOOK_TIMEOUT_S * 1000)}]} for event in hook.EVENTS
        }

    mcp_file = settings_file

    def mcp_entry(self) -> dict[str, object]:
        """With `trust`: without, it does not offer the tools at all to a model that nobody watches."""
        return {**super().mcp_entry(), "trust": True}

    def switched_off(self, tree: str) -> list[str]:
        """`hooksConfig`, in the project or for this user."""
        from dibs.interfaces.agents import files

        found = []
        for path in (f"{tree}/{self.settings_file}", f"{files.home()}/.gemini/settings.json"):
            switches = files.json_object(path).get("hooksConfig", {})
            if isinstance(switches, dict):
                if switches.get("enabled") is False:
                    found.append(f"Gemini runs no hooks: hooksConfig.enabled is off in {path}")
                if "dibs" in (switches.get("disabled") or ()):
                    found.append(f"Gemini does not run the hook named dibs: it is in hooksConfig.disabled of {path}")
        return found

    def untrusted(self, tree: str) -> str:
        """Its own file has a level for each folder."""
        from dibs.interfaces.agents import files

        path = os.environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or f"{files.home()}/.gemini/trustedFolders.json"
        known = files.json_object(path)
        for folder in files.upward(tree):
            level = known.get(folder)
            if level == "DO_NOT_TRUST":
                break
            if level in {"TRUST_FOLDER", "TRUST_PARENT"}:
                return ""
        return (
            f"Gemini runs no hooks in {tree} until the folder is trusted; it asks at its first start there "
            "(/permissions)"
        )


CLIENT = Gemini()
