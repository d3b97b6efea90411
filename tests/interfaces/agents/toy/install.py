"""A toy client, as `dibs init`, `dibs doctor` and the launcher know it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dibs.interfaces.agents.toy import hook  # type: ignore[import-not-found]  # it is copied there

from dibs.interfaces.agents import files
from dibs.interfaces.agents.adapter import MADE, Client

if TYPE_CHECKING:
    from typing import Any


class Toy(Client):
    """The toy client."""

    name, title, program = "toy", "Toy", "toy"
    session_variables = ("TOY_SESSION",)
    process_names = ("toy",)
    strict = (".toy/hooks.json",)
    aliases = ("toy-agent",)
    in_repository = (".toy",)
    settings_file = ".toy/hooks.json"
    pages = ("TOY.md",)
    note = "Toy never asks"
    trust_order = "tell Toy that it may"

    def entries(self) -> dict[str, Any]:
        """Every event."""
        return {event: {"hooks": [self.handler(event)]} for event in hook.EVENTS}

    def own_files(self) -> dict[str, str]:
        """One that is ours alone."""
        return {".toy/allowed/dibs": f"{MADE}\ndibs\n"}

    def untrusted(self, tree: str) -> str:
        """A file in the home folder says so."""
        known = files.json_object(f"{files.home()}/.toy.json")
        return "" if tree in files.listed(known.get("trusted")) else f"Toy does not trust {tree}"

    def probe(self, session: str, folder: str, path: str) -> dict[str, Any]:
        """A put."""
        return {
            "session_id": session, "cwd": folder, "hook_event_name": "will", "tool_name": "put",
            "tool_input": {"path": os.path.join(folder, path), "content": "x\n"},
        }  # fmt: skip

    def denies(self, answer: Any) -> bool:
        """By its own word."""
        return bool(answer["verdict"] == "no")


CLIENT = Toy()
