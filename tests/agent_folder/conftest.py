"""The scratch workspace of tests/scratch.py, with a home-made `.agent` folder."""

from __future__ import annotations

import pytest

from tests.interfaces.agent_folder import Agents
from tests.scratch import Shell, repo, shell

__all__ = ["agents", "repo", "scripts", "shell"]


@pytest.fixture
def agents(shell: Shell) -> Agents:
    """A `.agent` folder with scripts of its own."""
    return Agents(shell)


@pytest.fixture
def scripts(agents: Agents) -> Agents:
    """The same, with dibs's scripts in place."""
    agents.shell.json("import", exit=0)
    return agents
