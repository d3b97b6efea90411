"""Git as tests run it where dibs is not to notice: nobody's settings, no hooks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

# A submodule may come from a folder, and the first branch has one name on all machines.
SETTINGS = ("core.hooksPath=/dev/null", "init.defaultBranch=main", "protocol.file.allow=always")


def git(folder: Path | str, *words: str, given: bytes | None = None, check: bool = True) -> str:
    """Git in this folder, with that on its stdin; what it printed. Its user is the one of tests/gitconfig."""
    settings = [part for setting in SETTINGS for part in ("-c", setting)]
    done = subprocess.run(
        ["git", *settings, *words], cwd=folder, env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1"}, input=given,
        capture_output=True, check=check,
    )  # fmt: skip
    return os.fsdecode(done.stdout).removesuffix("\n")
