"""The clients: how each is pointed at the scripted model and started, how its tools are called, where its hooks are.

One class for each. A test that is written against `Client` runs with all of them.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.e2e.clients.install import program
from tests.e2e.clients.scripts import Block, Freeform, Use

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Start:
    """What a client is started with."""

    prompt: str  # empty: it is told one after the other on its input
    session: str = (
        ""  # the id of a new session where the client lets one choose; with `resume`, of the one to go on with
    )
    resume: bool = False
    fork: bool = False  # with `resume`: a new session that begins with what the other one has said


class Client:
    """What the clients have in common."""

    name = ""
    variable = ""  # what names the session in the shell of the agent
    chooses_session = True  # may the caller choose the id of a new session?

    def environment(self, url: str) -> dict[str, str]:
        """The variables that point it at the scripted model."""
        raise NotImplementedError

    def settle(self, home: Path, repo: Path, url: str) -> None:
        """Write what it wants to find in a home."""

    def command(self, start: Start) -> list[str]:
        """The program and its words."""
        raise NotImplementedError

    def session(self, output: str) -> str:
        """The id of the session, from what the client printed."""
        raise NotImplementedError

    def said(self, prompt: str) -> str:
        """A prompt, as a client that is told one after the other wants to read it."""
        raise NotImplementedError

    def answers(self, output: str) -> int:
        """How many prompts such a client has answered."""
        raise NotImplementedError

    def new_session(self) -> str:
        """An id for a new session."""
        return str(uuid.uuid4()) if self.chooses_session else ""

    # --- the tools

    def write(self, path: Path, content: str) -> Block:
        """Make a file."""
        raise NotImplementedError

    def edit(self, path: Path, old: str, new: str) -> Block:
        """Put one text (a whole line, for Codex) in the place of another."""
        raise NotImplementedError

    def shell(self, command: str) -> Block:
        """Run a command."""
        raise NotImplementedError

    def read(self, path: Path) -> Block:
        """Look at a file; clients without a tool for it use the shell."""
        return self.shell(f"cat {path}")

    def refusal(self, reason: str) -> dict[str, Any]:
        """What a hook before a tool call prints to refuse it."""
        words = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **words}}

    def hook_before_tools(self, repo: Path, command: str) -> None:
        """Set a hook before every tool call, for a test that wants one of its own."""
        raise NotImplementedError


def _lines(output: str) -> list[dict[str, Any]]:
    """The objects that a client printed, one a line; the last line may not be whole yet."""
    whole = output[: output.rfind("\n") + 1].splitlines()
    return [json.loads(line) for line in whole if line.startswith("{")]


def _set(path: Path, settings: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings, indent=2) + "\n")


class ClaudeCode(Client):
    """Claude Code in print mode; as root it does not let one skip the permissions."""

    name = "claude"
    variable = "CLAUDE_CODE_SESSION_ID"

    def environment(self, url: str) -> dict[str, str]:
        quiet = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "scripted", **dict.fromkeys(quiet, "1")}

    def command(self, start: Start) -> list[str]:
        words = [str(program(self.name)), "--print", "--verbose", "--output-format", "stream-json"]
        words += ["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]
        if start.resume:
            words += ["--resume", start.session] + (["--fork-session"] if start.fork else [])
        elif start.session:
            words += ["--session-id", start.session]
        return [*words, "--", start.prompt] if start.prompt else [*words, "--input-format", "stream-json"]

    def session(self, output: str) -> str:
        return next(str(line["session_id"]) for line in _lines(output) if "session_id" in line)

    def said(self, prompt: str) -> str:
        return json.dumps({"type": "user", "message": {"role": "user", "content": prompt}}) + "\n"

    def answers(self, output: str) -> int:
        return sum(line["type"] == "result" for line in _lines(output))

    def write(self, path: Path, content: str) -> Block:
        return Use("Write", {"file_path": str(path), "content": content})

    def edit(self, path: Path, old: str, new: str) -> Block:
        return Use("Edit", {"file_path": str(path), "old_string": old, "new_string": new})

    def shell(self, command: str) -> Block:
        return Use("Bash", {"command": command, "description": "as scripted"})

    def read(self, path: Path) -> Block:
        return Use("Read", {"file_path": str(path)})

    def delegate(self, prompt: str) -> Block:
        """Start a subagent and wait for it."""
        words = {"description": "as scripted", "prompt": prompt, "subagent_type": "general-purpose"}
        return Use("Agent", {**words, "run_in_background": False})

    def hook_before_tools(self, repo: Path, command: str) -> None:
        hook = {"type": "command", "command": command, "timeout": 20}
        _set(repo / ".claude" / "settings.json", {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}})


class Codex(Client):
    """`codex exec`, told to run the repository's hooks without a person who has reviewed them."""

    name = "codex"
    variable = "CODEX_SESSION_ID"
    chooses_session = False

    def environment(self, url: str) -> dict[str, str]:
        del url  # it is in the configuration
        return {"STUB_KEY": "scripted"}

    def settle(self, home: Path, repo: Path, url: str) -> None:
        folder = home / ".codex"
        folder.mkdir(exist_ok=True)
        # a model it knows, else it is not offered apply_patch; and a project it trusts, else it reads no hooks there
        lines = ['model = "gpt-5.5"', 'model_provider = "stub"', "check_for_update_on_startup = false"]
        lines += ["[model_providers.stub]", 'name = "stub"', f'base_url = "{url}/v1"', 'wire_api = "responses"']
        lines += ['env_key = "STUB_KEY"', f'[projects."{repo}"]', 'trust_level = "trusted"']
        (folder / "config.toml").write_text("\n".join(lines) + "\n")

    def command(self, start: Start) -> list[str]:
        words = [str(program(self.name)), "exec", "--json"]
        words += ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]
        if start.resume:
            words += ["fork" if start.fork else "resume", start.session]
        return [*words, start.prompt]

    def session(self, output: str) -> str:
        return next(str(line["thread_id"]) for line in _lines(output) if line["type"] == "thread.started")

    def write(self, path: Path, content: str) -> Block:
        added = "".join(f"+{line}\n" for line in content.splitlines())
        return self.patch(f"*** Add File: {path}\n{added}")

    def edit(self, path: Path, old: str, new: str) -> Block:
        gone = "".join(f"-{line}\n" for line in old.splitlines())
        come = "".join(f"+{line}\n" for line in new.splitlines())
        return self.patch(f"*** Update File: {path}\n@@\n{gone}{come}")

    def patch(self, hunks: str) -> Block:
        """Any patch in Codex's own format."""
        return Freeform("apply_patch", f"*** Begin Patch\n{hunks}*** End Patch\n")

    def shell(self, command: str) -> Block:
        return Use("exec_command", {"cmd": command, "yield_time_ms": 30_000})

    def hook_before_tools(self, repo: Path, command: str) -> None:
        hook = {"type": "command", "command": command, "timeout": 20}
        _set(repo / ".codex" / "hooks.json", {"hooks": {"PreToolUse": [{"hooks": [hook]}]}})


class GeminiCli(Client):
    """Gemini CLI, in a folder it is told to trust."""

    name = "gemini"
    variable = "GEMINI_CLI"  # it says that this is Gemini, not which session

    def environment(self, url: str) -> dict[str, str]:
        # one process: it would start itself a second time with more memory
        settled = {"GEMINI_TELEMETRY_ENABLED": "false", "GEMINI_CLI_NO_RELAUNCH": "true"}
        trusted = {"GEMINI_API_KEY": "scripted", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        return {"GOOGLE_GEMINI_BASE_URL": url, **trusted, **settled}

    def settle(self, home: Path, repo: Path, url: str) -> None:
        del repo, url
        key = {"selectedType": "gemini-api-key"}
        quiet = {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}
        settings = {"security": {"auth": key}, "general": quiet, "privacy": {"usageStatisticsEnabled": False}}
        _set(home / ".gemini" / "settings.json", settings)

    def command(self, start: Start) -> list[str]:
        assert not start.fork, "Gemini has no forks"
        node, script = program(self.name, "node"), program(self.name)
        words = [str(node), str(script), "--approval-mode", "yolo", "--output-format", "json"]
        words += ["--resume" if start.resume else "--session-id", start.session]
        return [*words, "--prompt", start.prompt]

    def session(self, output: str) -> str:
        return str(json.loads(output[output.index("{") :])["session_id"])

    def write(self, path: Path, content: str) -> Block:
        return Use("write_file", {"file_path": str(path), "content": content})

    def edit(self, path: Path, old: str, new: str) -> Block:
        words = {"file_path": str(path), "instruction": "as scripted"}
        return Use("replace", {**words, "old_string": old, "new_string": new})

    def shell(self, command: str) -> Block:
        return Use("run_shell_command", {"command": command, "description": "as scripted"})

    def read(self, path: Path) -> Block:
        return Use("read_file", {"file_path": str(path)})

    def refusal(self, reason: str) -> dict[str, Any]:
        return {"decision": "deny", "reason": reason}

    def hook_before_tools(self, repo: Path, command: str) -> None:
        hook = {"type": "command", "command": command, "timeout": 20_000}
        _set(repo / ".gemini" / "settings.json", {"hooks": {"BeforeTool": [{"matcher": "*", "hooks": [hook]}]}})


class Copilot(Client):
    """Copilot CLI without GitHub behind it."""

    name = "copilot"
    variable = "COPILOT_AGENT_SESSION_ID"

    def environment(self, url: str) -> dict[str, str]:
        provider = {"BASE_URL": f"{url}/v1", "TYPE": "openai", "API_KEY": "scripted"}
        named = {f"COPILOT_PROVIDER_{key}": value for key, value in provider.items()}
        return {"COPILOT_OFFLINE": "true", "COPILOT_MODEL": "gpt-4.1", "COPILOT_AUTO_UPDATE": "false", **named}

    def settle(self, home: Path, repo: Path, url: str) -> None:
        del url
        # --trust-folder is for new sessions only, whose id it chooses itself
        _set(home / ".copilot" / "config.json", {"trusted_folders": [str(repo)]})

    def command(self, start: Start) -> list[str]:
        assert not start.fork, "Copilot has no forks"
        words = [str(program(self.name)), "--allow-all-tools", "--disable-builtin-mcps"]
        return [*words, "--session-id", start.session, "--output-format", "json", "--prompt", start.prompt]

    def session(self, output: str) -> str:
        return next(str(line["sessionId"]) for line in _lines(output) if "sessionId" in line)

    def write(self, path: Path, content: str) -> Block:
        return Use("create", {"path": str(path), "file_text": content})

    def edit(self, path: Path, old: str, new: str) -> Block:
        return Use("edit", {"path": str(path), "old_str": old, "new_str": new})

    def shell(self, command: str) -> Block:
        return Use("bash", {"command": command, "description": "as scripted"})

    def read(self, path: Path) -> Block:
        return Use("view", {"path": str(path)})

    def refusal(self, reason: str) -> dict[str, Any]:
        return {"permissionDecision": "deny", "permissionDecisionReason": reason}

    def hook_before_tools(self, repo: Path, command: str) -> None:
        hook = {"type": "command", "bash": command, "timeoutSec": 20}
        _set(repo / ".github" / "hooks" / "test.json", {"version": 1, "hooks": {"preToolUse": [hook]}})


OWN_PLUGIN = """\
import { spawnSync } from "node:child_process"
export const Test = async () => ({
  "tool.execute.before": async (input, output) => {
    const done = spawnSync("sh", ["-c", COMMAND], { input: JSON.stringify(output.args) })
    if (done.status !== 0) throw new Error(String(done.stderr))
  },
  "shell.env": async (input, output) => { output.env.OPENCODE_SESSION_ID = input.sessionID },
})
"""


class OpenCode(Client):
    """`opencode run`, with a provider that is the scripted model.

    Before it loads a plugin it waits for an installation from npm into each of its folders. Where nothing but loopback
    is reached, npm's own retries took 75 of the 82 s to its first request; so it is told not to retry.
    """

    name = "opencode"
    variable = "OPENCODE_SESSION_ID"
    chooses_session = False

    def environment(self, url: str) -> dict[str, str]:
        del url  # it is in the configuration
        quiet = ("DISABLE_AUTOUPDATE", "DISABLE_MODELS_FETCH", "DISABLE_LSP_DOWNLOAD", "DISABLE_DEFAULT_PLUGINS")
        npm = {"npm_config_fetch_retries": "0", "npm_config_registry": "http://127.0.0.1:9"}
        return {**{f"OPENCODE_{name}": "1" for name in quiet}, **npm}

    def settle(self, home: Path, repo: Path, url: str) -> None:
        del repo
        model = {"name": "scripted", "tool_call": True, "limit": {"context": 100_000, "output": 8_000}}
        stub = {
            "npm": "@ai-sdk/openai-compatible", "name": "stub", "models": {"scripted": model},
            "options": {"baseURL": f"{url}/v1", "apiKey": "scripted"},
        }  # fmt: skip
        settings = {"model": "stub/scripted", "small_model": "stub/scripted", "provider": {"stub": stub}}
        quiet = {"autoupdate": False, "share": "disabled"}
        _set(home / ".config" / "opencode" / "opencode.json", {**settings, **quiet})

    def command(self, start: Start) -> list[str]:
        words = [str(program(self.name)), "run", "--format", "json", "--auto"]
        if start.resume:
            words += ["--session", start.session] + (["--fork"] if start.fork else [])
        return [*words, start.prompt]

    def session(self, output: str) -> str:
        return next(str(line["sessionID"]) for line in _lines(output) if "sessionID" in line)

    def write(self, path: Path, content: str) -> Block:
        return Use("write", {"filePath": str(path), "content": content})

    def edit(self, path: Path, old: str, new: str) -> Block:
        return Use("edit", {"filePath": str(path), "oldString": old, "newString": new})

    def shell(self, command: str) -> Block:
        return Use("bash", {"command": command, "description": "as scripted"})

    def read(self, path: Path) -> Block:
        return Use("read", {"filePath": str(path)})

    def delegate(self, prompt: str) -> Block:
        """Start a subagent and wait for it."""
        return Use("task", {"description": "as scripted", "prompt": prompt, "subagent_type": "general"})

    def hook_before_tools(self, repo: Path, command: str) -> None:
        plugin = repo / ".opencode" / "plugins" / "test.js"
        plugin.parent.mkdir(parents=True, exist_ok=True)
        plugin.write_text(OWN_PLUGIN.replace("COMMAND", json.dumps(command)))


CLAUDE, CODEX, GEMINI, COPILOT, OPENCODE = ClaudeCode(), Codex(), GeminiCli(), Copilot(), OpenCode()
