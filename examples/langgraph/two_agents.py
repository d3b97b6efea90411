"""Two LangGraph agents in one folder, who lose no edit of each other.

    pip install -r requirements.txt  # and dibs, from a clone of it: pip install FOLDER
    dibs init FOLDER --clients none
    OPENAI_API_KEY=… python two_agents.py FOLDER "what ann does" "what bob does"

`tools_of` is what you copy: `open_file` takes a claim, and waits for it while the other agent has the file; `save_file`
asks whether the claim is still live, writes, and gives it back. `--without-dibs` runs the same agents without claims.
"""

# ruff: noqa: INP001, T201 - a script, which tells its story to whoever runs it

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import dibs

WAIT_S = 60  # for another agent's claim; then the model hears who holds the file, and may do other work
MODEL = os.environ.get("MODEL", "gpt-5")
INSTRUCTIONS = "Change files only with open_file and save_file. Save what you opened, or close it."


def tools_of(folder: Path, ws: dibs.Workspace | None, claims: dict[str, Any]) -> list[Any]:
    """The tools of one agent: its workspace (None: without dibs), and its claims by path."""

    def real(path: str) -> Path:
        found = (folder / path).resolve()
        if not found.is_relative_to(folder):
            raise ValueError(f"{path} is outside of {folder}")
        return found

    @tool
    def open_file(path: str) -> str:
        """Open a file to change it, and get its content. It is yours until save_file or close_file."""
        file = real(path)
        if ws is not None and path not in claims:
            try:
                claims[path] = ws.claim(str(file), wait=WAIT_S)
            except dibs.DibsError as refusal:
                return f"refused: {refusal.message}"
        return file.read_text() if file.exists() else ""

    @tool
    def save_file(path: str, content: str) -> str:
        """Write the whole content of a file that open_file has opened, and close it."""
        file = real(path)
        if ws is None:
            file.write_text(content)
            return "saved"
        claim = claims.pop(path, None)
        if claim is None:
            return "refused: open the file first"
        try:
            claim.check()  # right before the write: is it still ours?
        except dibs.DibsError as refusal:
            return f"refused: {refusal.message} Open it again."
        file.write_text(content)
        claim.release()
        return "saved"

    @tool
    def close_file(path: str) -> str:
        """Close a file without a change."""
        claim = claims.pop(path, None)
        if claim is not None:
            claim.release()
        return "closed"

    return [open_file, save_file, close_file]


def graph_of(tools: list[Any]) -> Any:
    """The model, and its tools as long as it calls some."""
    model = ChatOpenAI(model=MODEL).bind_tools(tools)

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke([("system", INSTRUCTIONS), *state["messages"]])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


def work(folder: Path, name: str, prompt: str, *, with_dibs: bool) -> None:
    """One agent, from its prompt to its last word; what it still holds then is given back."""
    with dibs.open(str(folder), name) if with_dibs else nullcontext() as ws:
        claims: dict[str, Any] = {}
        try:
            end = graph_of(tools_of(folder, ws, claims)).invoke({"messages": [("user", prompt)]})
            print(f"{name}: {end['messages'][-1].content}")
        finally:
            for claim in claims.values():
                claim.release()


def main() -> None:
    """Both at once."""
    words = argparse.ArgumentParser(description="Two agents in one folder.")
    words.add_argument("folder", type=lambda text: Path(text).resolve())
    words.add_argument("prompts", nargs=2)
    words.add_argument("--without-dibs", action="store_true")
    given = words.parse_args()
    with ThreadPoolExecutor() as pool:
        both = zip(("ann", "bob"), given.prompts, strict=True)
        running = [pool.submit(work, given.folder, *one, with_dibs=not given.without_dibs) for one in both]
        for one in running:
            one.result()


if __name__ == "__main__":
    main()
