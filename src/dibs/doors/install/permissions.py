"""Leave for a model to run `dibs` without asking the person each time: what a refusal advises must not need a nod.

| client | where | what |
| --- | --- | --- |
| Claude Code | `.claude/settings.json` | `permissions.allow`, by the command's first word |
| Codex | `.codex/rules/dibs.rules`, ours alone | a rule by the first two words; it also runs them outside the sandbox |
| Gemini | none | `tools.allowed` of a project would refuse all other commands; project policies have no effect |
| Copilot | none | only by its option `--allow-tool 'shell(dibs:*)'` |
"""

from __future__ import annotations

from dibs.doors.install import jsonc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMANDS = ("dibs", ".dibs/dibs")  # the second where the first is not on the PATH (scripts.COMMAND)
CLAUDE = tuple(f"Bash({command}:*)" for command in COMMANDS)

# What Codex may run outside its sandbox: commands of dibs that start no program of anybody's.
VERBS = (
    "ack", "agents", "ask", "boot", "check", "claim", "confirm", "emit", "inbox", "leave", "log", "release", "renew",
    "restore", "rules", "scratch", "send", "state", "status", "subscribe", "sync-check", "task", "verify", "version",
    "vote", "whoami",
)  # fmt: skip
RULES_FILE = ".codex/rules/dibs.rules"
MARK = "# made by `dibs init`"
RULES = f"""\
{MARK}; `dibs init --uninstall` takes it out.
# What dibs advises runs without asking, and outside the sandbox, where dibs can write its record.
prefix_rule(
    pattern = [["{'", "'.join(COMMANDS)}"], [
{"".join(f'        "{verb}",' + chr(10) for verb in VERBS)}    ]],
    decision = "allow",
    match = ["dibs status", ".dibs/dibs claim src/a.py"],
    not_match = ["dibs deploy prod", "dibs"],
)
"""

NOTES = {
    "claude": "Claude Code runs `dibs …` without asking (permissions.allow in .claude/settings.json); that includes "
    "`dibs deploy … -- COMMAND`. Take the entry out if a person is to be asked",
    "codex": f"Codex runs what dibs advises without asking ({RULES_FILE}), once the folder is trusted",
    "gemini": 'Gemini asks before each `dibs …`: a project cannot allow it. A person can, once: "Always allow"',
    "copilot": "Copilot asks before each `dibs …`: a repository cannot allow it. Start it with "
    "`--allow-tool 'shell(dibs:*)'`",
}


def merged(text: str) -> str:
    """Claude's settings with our entries in `permissions.allow`; as they are where that has another shape."""
    document = jsonc.read(text)
    known = document.get("permissions")
    if known is None:
        return jsonc.insert(text, document, {"allow": list(CLAUDE)}, "permissions")
    if known.kind != "object":
        return text
    allow = known.get("allow")
    if allow is None:
        return jsonc.insert(text, known, list(CLAUDE), "allow")
    for entry in CLAUDE:
        allow = _allow(text)
        if allow is not None and entry not in [item.value for item in allow.items]:
            text = jsonc.insert(text, allow, entry)
    return text


def cleaned(text: str) -> str:
    """The settings without our entries, and without the lists that would be empty then."""
    while (allow := _allow(text)) is not None:
        places = [place for place, item in enumerate(allow.items) if item.value in CLAUDE]
        if not places:
            break
        if len(allow.items) > 1:
            text = jsonc.remove(text, allow, places[-1])
            continue
        document = jsonc.read(text)
        known: Any = document.get("permissions")
        container, key = (known, "allow") if len(known.items) > 1 else (document, "permissions")
        return jsonc.remove(text, container, [name for name, _ in container.keys].index(key))
    return text


def _allow(text: str) -> jsonc.Node | None:
    known = jsonc.read(text).get("permissions")
    allow = known.get("allow") if known is not None and known.kind == "object" else None
    return allow if allow is not None and allow.kind == "array" else None
