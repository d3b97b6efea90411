"""The files of the Claude Code plugin that are derived: its hooks, its version, its entry in the marketplace.

The hooks are those of the settings that `dibs init` writes (interfaces/agents/claude), with another way to the
launcher: a plugin may be installed for a user, so it looks whether there is a workspace, and whether the project's own
settings guard already. Everything else below plugins/claude is written by hand.
"""

from __future__ import annotations

import dibs
from dibs.interfaces.agents import BEFORE, of
from dibs.interfaces.install import jsonc
from dibs.workspace import hook_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "plugins/claude"
DESCRIPTION = "Several agents in one repository: each edit takes a claim, and what another agent holds is refused."
AUTHOR = {"name": "The dibs authors"}
# `command`: a missing file would end some shells at once, with exit 2, which is a refusal.
COMMAND = 'command . "${{CLAUDE_PLUGIN_ROOT}}/hooks/find.sh" || exit 0; command . "$dibs_hook" || exit {code}'
SERVER = """\
#!/bin/sh
# The tools of dibs, if the client was started in a workspace and the project's own list of servers does not have them.
# Made by `make generate`.

d=$PWD
until [ -x "$d/.dibs/dibs" ] || [ -z "$d" ]; do d=${{d%/*}}; done
why='this folder is no workspace of dibs: run `dibs init` there'
if [ -n "$d" ]; then
    why='the dibs of .mcp.json has the tools'
    found=
    for list in "$PWD/.mcp.json" "$d/.mcp.json"; do
        [ -r "$list" ] || continue
        while IFS= read -r line || [ -n "$line" ]; do
            case $line in */.dibs/dibs*) found=1 ;; esac
        done <"$list"
    done
    [ -n "$found" ] || exec "$d/.dibs/dibs" mcp
fi
{stub}"""


def hooks() -> dict[str, Any]:
    """The settings' hooks, with the plugin's commands."""
    client = of("claude")
    found = {}
    for event, entry in client.entries().items():
        code = 2 if client.hook.EVENTS[event] == BEFORE else 0
        handler = {**entry["hooks"][0], "command": COMMAND.format(code=code)}
        found[event] = [{**entry, "hooks": [handler]}]
    return {"description": DESCRIPTION, "hooks": found}


def files() -> dict[str, str]:
    """The derived files, with their texts."""
    about = {"name": "dibs", "version": dibs.__version__, "description": DESCRIPTION, "author": AUTHOR}
    more = {"license": "Apache-2.0", "keywords": ["agents", "coordination", "claims", "git", "hooks"]}
    listed = {**about, "source": f"./{FOLDER}", "category": "productivity"}
    market = {"name": "dibs", "owner": AUTHOR, "metadata": {"description": DESCRIPTION}, "plugins": [listed]}
    server = {"command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/mcp.sh"]}
    return {
        f"{FOLDER}/.claude-plugin/plugin.json": jsonc.dump({**about, **more}),
        f"{FOLDER}/hooks/hooks.json": jsonc.dump(hooks()),
        f"{FOLDER}/.mcp.json": jsonc.dump({"mcpServers": {"dibs": server}}),
        f"{FOLDER}/mcp.sh": SERVER.format(stub=hook_script.SERVER),
        ".claude-plugin/marketplace.json": jsonc.dump(market),
    }
