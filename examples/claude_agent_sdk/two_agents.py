"""Two agents of the Claude Agent SDK in one repository, who lose no edit of each other.

    pip install -r requirements.txt  # and dibs, from a clone of it: pip install FOLDER
    dibs init FOLDER --clients claude
    ANTHROPIC_API_KEY=… python two_agents.py FOLDER "what ann does" "what bob does"

Nothing is written for dibs here but one line, which is what you copy: `setting_sources=["project"]` lets the SDK run
the hooks that `dibs init` has put into `.claude/settings.json`; without it, it reads no settings at all. Every edit and
every command is guarded then, as in Claude Code. `--without-dibs` leaves the line out.
"""

# ruff: noqa: INP001, T201 - a script, which tells its story to whoever runs it

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query


async def work(folder: Path, name: str, prompt: str, *, with_dibs: bool) -> None:
    """One agent, from its prompt to its last word."""
    options = ClaudeAgentOptions(
        cwd=folder,
        setting_sources=["project"] if with_dibs else [],
        env={"DIBS_AGENT": name},  # its name in dibs; without, it is the session's id
        permission_mode="acceptEdits",
        allowed_tools=["Read", "Edit", "Write", "Bash"],
    )
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage):
            print(f"{name}: {message.result}")


async def main() -> None:
    """Both at once."""
    words = argparse.ArgumentParser(description="Two agents in one repository.")
    words.add_argument("folder", type=lambda text: Path(text).resolve())
    words.add_argument("prompts", nargs=2)
    words.add_argument("--without-dibs", action="store_true")
    given = words.parse_args()
    both = zip(("ann", "bob"), given.prompts, strict=True)
    await asyncio.gather(*[work(given.folder, *one, with_dibs=not given.without_dibs) for one in both])


if __name__ == "__main__":
    asyncio.run(main())
