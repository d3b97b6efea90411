"""The wheel of this tree, as pip would install it."""

from __future__ import annotations

import os
from pathlib import Path

from hatchling import build

TOP = Path(__file__).resolve().parent.parent


def built_in(folder: Path) -> Path:
    """The file of the wheel, which is built into this folder."""
    before = Path.cwd()
    os.chdir(TOP)  # a build backend builds the project that it is called in
    try:
        return folder / build.build_wheel(str(folder))
    finally:
        os.chdir(before)
