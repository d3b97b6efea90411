"""Two agents of the OpenAI Agents SDK in one folder, who lose no edit of each other.

    pip install -r requirements.txt  # and dibs, from a clone of it: pip install FOLDER
    dibs init FOLDER --clients none
    OPENAI_API_KEY=… python two_agents.py FOLDER "what ann does" "what bob does"

The tools are what you copy: `open_file` takes a claim, and waits for it while the other agent has the file; `save_file`
asks whether the claim is still live, writes, and gives it back. `--without-dibs` runs the same agents without claims.
"""

# ruff: noqa: INP001, T201 - a script, which tells its story to whoever runs it

from __future__ import annotations

import argparse
import asyncio
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents import Agent, RunContextWrapper, Runner, function_tool

import dibs

WAIT_S = 60  # for another agent's claim; then the model hears who holds the file, and may do other work
INSTRUCTIONS = "Change files only with open_file and save_file. Save what you opened, or close it."


@dataclass
class Desk:
    """What one agent works with: the folder, its workspace (None: without dibs), and its claims by path."""

    folder: Path
    ws: dibs.aio.AsyncWorkspace | None
    claims: dict[str, Any] = field(default_factory=dict)

    def real(self, path: str) -> Path:
        """The file behind a model's words, which stays in the folder."""
        found = (self.folder / path).resolve()
        if not found.is_relative_to(self.folder):
            raise ValueError(f"{path} is outside of {self.folder}")
        return found


@function_tool
async def open_file(desk: RunContextWrapper[Desk], path: str) -> str:
    """Open a file to change it, and get its content. It is yours until save_file or close_file."""
    own = desk.context
    file = own.real(path)
    if own.ws is not None and path not in own.claims:
        try:
            own.claims[path] = await own.ws.claim(str(file), wait=WAIT_S)
        except dibs.DibsError as refusal:
            return f"refused: {refusal.message}"
    return file.read_text() if file.exists() else ""


@function_tool
async def save_file(desk: RunContextWrapper[Desk], path: str, content: str) -> str:
    """Write the whole content of a file that open_file has opened, and close it."""
    own = desk.context
    file = own.real(path)
    if own.ws is not None:
        claim = own.claims.pop(path, None)
        if claim is None:
            return "refused: open the file first"
        try:
            await claim.check()  # right before the write: is it still ours?
        except dibs.DibsError as refusal:
            return f"refused: {refusal.message} Open it again."
        file.write_text(content)
        await claim.release()
    else:
        file.write_text(content)
    return "saved"


@function_tool
async def close_file(desk: RunContextWrapper[Desk], path: str) -> str:
    """Close a file without a change."""
    claim = desk.context.claims.pop(path, None)
    if claim is not None:
        await claim.release()
    return "closed"


async def work(folder: Path, name: str, prompt: str, *, with_dibs: bool) -> None:
    """One agent, from its prompt to its last word; what it still holds then is given back."""
    async with dibs.aio.open(str(folder), name) if with_dibs else nullcontext() as ws:
        desk = Desk(folder, ws)
        try:
            agent = Agent[Desk](name=name, instructions=INSTRUCTIONS, tools=[open_file, save_file, close_file])
            result = await Runner.run(agent, prompt, context=desk)
            print(f"{name}: {result.final_output}")
        finally:
            for claim in desk.claims.values():
                await claim.release()


async def main() -> None:
    """Both at once."""
    words = argparse.ArgumentParser(description="Two agents in one folder.")
    words.add_argument("folder", type=lambda text: Path(text).resolve())
    words.add_argument("prompts", nargs=2)
    words.add_argument("--without-dibs", action="store_true")
    given = words.parse_args()
    both = zip(("ann", "bob"), given.prompts, strict=True)
    await asyncio.gather(*[work(given.folder, *one, with_dibs=not given.without_dibs) for one in both])


if __name__ == "__main__":
    asyncio.run(main())
