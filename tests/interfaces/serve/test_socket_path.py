"""Where a server's Unix socket lies when the usual places have long names."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from dibs.interfaces.serve import near

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_long_temporary_folder_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    path = near.socket_path(str(long))
    assert len(os.fsencode(path)) <= near.MAX_SOCKET_PATH
    assert os.path.isdir(os.path.dirname(path))
