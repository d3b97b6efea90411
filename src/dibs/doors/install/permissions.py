"""Leave for a model to run `dibs` without asking the person each time: what a refusal advises must not need a nod.

| client | where | what |
| --- | --- | --- |
| Claude Code | `.claude/settings.json` | `permissions`: `allow` by the command's first word, `ask` by the first two |
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
# What Codex may run outside its sandbox: commands of dibs that start no program of anybody's.
VERBS = (
    "ack", "agents", "ask", "boot", "check", "claim", "confirm", "emit", "inbox", "leave", "log", "release", "renew",
    "restore", "rules", "scratch", "send", "state", "status", "subscribe", "sync-check", "task", "verify", "version",
    "vote", "whoami",
)  # fmt: skip
# Commands that start programs, or take dibs out: Claude Code asks for these, whatever else is allowed.
ASKED = ("deploy", "worker", "lead", "run start", "init", "store move", "doctor")
CLAUDE = {
    "allow": [f"Bash({command}:*)" for command in COMMANDS],
    "ask": [f"Bash({command} {verb}:*)" for command in COMMANDS for verb in ASKED],
}
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
    "claude": "Claude Code runs `dibs …` without asking, but for what starts programs, such as `dibs deploy` "
    "(permissions in .claude/settings.json)",
    "codex": f"Codex runs what dibs advises without asking ({RULES_FILE}), once the folder is trusted",
    "gemini": 'Gemini asks before each `dibs …`: a project cannot allow it. A person can, once: "Always allow"',
    "copilot": "Copilot asks before each `dibs …`: a repository cannot allow it. Start it with "
    "`--allow-tool 'shell(dibs:*)'`",
}


def merged(text: str) -> str:
    """Claude's settings with our entries in `permissions`; as they are where that has another shape."""
    if jsonc.read(text).get("permissions") is None:
        return jsonc.insert(
            text, jsonc.read(text), {name: [*entries] for name, entries in CLAUDE.items()}, "permissions"
        )
    for name, entries in CLAUDE.items():
        known = jsonc.read(text).get("permissions")
        if known is None or known.kind != "object":
            return text
        if known.get(name) is None:
            text = jsonc.insert(text, known, [*entries], name)
        for entry in entries:
            listed = _list(text, name)
            if listed is not None and entry not in [item.value for item in listed.items]:
                text = jsonc.insert(text, listed, entry)
    return text


def cleaned(text: str) -> str:
    """The settings without our entries, and without the lists that would be empty then."""
    for name, entries in CLAUDE.items():
        text = _without(text, name, entries)
    return text


def _without(text: str, name: str, entries: list[str]) -> str:
    while (listed := _list(text, name)) is not None:
        places = [place for place, item in enumerate(listed.items) if item.value in entries]
        if not places:
            break
        if len(listed.items) > 1:
            text = jsonc.remove(text, listed, places[-1])
            continue
        document = jsonc.read(text)
        known: Any = document.get("permissions")
        container, key = (known, name) if len(known.items) > 1 else (document, "permissions")
        return jsonc.remove(text, container, [word for word, _ in container.keys].index(key))
    return text


def _list(text: str, name: str) -> jsonc.Node | None:
    known = jsonc.read(text).get("permissions")
    listed = known.get(name) if known is not None and known.kind == "object" else None
    return listed if listed is not None and listed.kind == "array" else None
