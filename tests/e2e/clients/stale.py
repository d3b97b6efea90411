"""Ben reads a file, Ada edits and commits it, Ben writes the whole file from what he had read: eleven ways to do that.

Checked in the same way with every client; the test files say with which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.clients.checks import guard
from tests.e2e.clients.kinds import CLAUDE, CODEX, COPILOT, GEMINI, OPENCODE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.clients.fleet import Fleet
    from tests.e2e.clients.kinds import Client
    from tests.e2e.clients.scripts import Block

    Looks = Callable[[Client, Path], Block]
    Writes = Callable[[Client, Path, str], Block]

ADA_S = "ONE\ntwo\nthree\n"
BEN_S = "one\ntwo\nTHREE\n"  # from what he had read; Ada's line is not in it
BOTH = "ONE\ntwo\nTHREE\n"


def by_tool(client: Client, path: Path) -> Block:
    """With the client's own tool, or what it has for one."""
    return client.read(path)


def by_cat(client: Client, path: Path) -> Block:
    """With the shell."""
    return client.shell(f"cat {path.name}")


def heredoc(client: Client, path: Path, text: str) -> Block:
    """The whole file, with the shell."""
    return client.shell(f"cat > {path.name} <<'EOF'\n{text}EOF\n")


def whole(client: Client, path: Path, text: str) -> Block:
    """The whole file, with the client's own tool: `Add File` for Codex."""
    return client.write(path, text)


# Which client, how it reads, whether an `ls` comes between, how it writes.
WAYS: dict[str, tuple[Client, Looks, bool, Writes]] = {
    "claude: Read, heredoc": (CLAUDE, by_tool, False, heredoc),
    "claude: Read, ls, heredoc": (CLAUDE, by_tool, True, heredoc),
    "claude: cat, heredoc": (CLAUDE, by_cat, False, heredoc),
    "codex: cat, ls, heredoc": (CODEX, by_cat, True, heredoc),
    "codex: cat, ls, Add File": (CODEX, by_cat, True, whole),
    "gemini: read_file, ls, write_file": (GEMINI, by_tool, True, whole),
    "gemini: cat, write_file": (GEMINI, by_cat, False, whole),
    "copilot: view, ls, heredoc": (COPILOT, by_tool, True, heredoc),
    "copilot: view, ls, create": (COPILOT, by_tool, True, whole),
    "opencode: read, ls, heredoc": (OPENCODE, by_tool, True, heredoc),
    "opencode: cat, write": (OPENCODE, by_cat, False, whole),
}


def ways_of(client: Client) -> list[str]:
    """Those of one client."""
    return [name for name, way in WAYS.items() if way[0] is client]


def write_is_refused(fleet: Fleet, way: str) -> None:
    """Ada's commit is kept, Ben is told; he reads again, and then his write goes through."""
    client, look, lists, write = WAYS[way]
    shared = guard(fleet, client)
    script = fleet.script("ben").turn(look(client, shared), then="ben read")
    if lists:
        script.turn(client.shell("ls"), after="ada left")
    script.turn(write(client, shared, BEN_S), after="ada left", then="ben tried")
    script.turn(look(client, shared), after="looked at").turn(heredoc(client, shared, BOTH))
    ben = fleet.start(client, script)
    fleet.stub.wait("ben read")
    ada = fleet.script("ada").turn(client.read(shared)).turn(client.edit(shared, "one\n", "ONE\n"))
    fleet.wait(fleet.start(client, ada.turn(client.shell("git commit -q -m ada -- shared.txt"))))
    assert fleet.git("show", "HEAD:shared.txt") == ADA_S, fleet.stub.results("ada")
    fleet.stub.signal("ada left")
    fleet.stub.wait("ben tried")
    left = shared.read_text()
    told = fleet.stub.results("ben")[-1]
    fleet.stub.signal("looked at")
    fleet.wait(ben)

    assert left == ADA_S, f"Ada's commit was overwritten; Ben was told: {told}"
    refusals = ("dibs:", "already exists")  # Copilot's own words: its `create` is for new files
    assert any(words in told for words in refusals), told
    assert shared.read_text() == BOTH, ben.results()
