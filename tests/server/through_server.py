"""A plugin of pytest: the hooks of tests/guards go through a server, by the launcher and bash.

    pytest -p tests.server.through_server tests/guards/test_hooks.py

The tests are the same, and so must be the answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.interfaces import repository
from tests.server.hook_server import Server, through

if TYPE_CHECKING:
    from pathlib import Path

_servers: dict[Path, Server] = {}


def _entry(self: repository.Agent, *words: str, given: bytes, seconds: float = repository.PATIENCE, **env: str) -> Any:
    folder = self.repo.folder
    trees = [tree for tree in (self.cwd, folder) if (tree / ".dibs" / "hook").exists()]
    if not trees or (trees[0] != self.cwd and folder not in self.cwd.parents):  # no workspace, or no launcher in it
        return self.client.run(*repository.HOOK, *words, cwd=self.cwd, given=given, seconds=seconds, **env)
    if folder not in _servers:
        _servers[folder] = Server(folder)
    return through(self.client, trees[0], *words, given=given, cwd=self.cwd, seconds=seconds, **env)


def _close(self: repository.Repository) -> None:
    server = _servers.pop(self.folder, None)
    if server is not None:
        server.end()
        print(f"decided by the server: {server.decided}, declined: {server.declined}")
    _real_close(self)


_real_close = repository.Repository.close
repository.Agent.entry = _entry  # type: ignore[method-assign]
repository.Repository.close = _close  # type: ignore[method-assign]
