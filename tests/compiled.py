"""The tests' byte code, made by the processes of pytest together.

Pytest rewrites the assertions of each test file and keeps the result as byte code, which takes eight seconds for all of
them. In a new clone every process of a run would do all of that; here each makes its share first. The functions are
pytest's own, and not public: where they are not there any more, every process makes what it needs, as ever.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from _pytest.assertion import rewrite

if TYPE_CHECKING:
    import pytest

HERE = Path(__file__).parent


def make(config: pytest.Config, share: int, shares: int) -> None:
    """One share of the test files; a byte code that is younger than its source is left as it is."""
    files = [*HERE.rglob("test_*.py"), *HERE.rglob("conftest.py")]
    for file in sorted(files, key=lambda one: (one.stat().st_size, one))[share::shares]:
        try:
            _make(config, file)
        except (AttributeError, KeyError, OSError, SyntaxError, TypeError):
            return  # pytest itself will say what is the matter, if anything is


def _make(config: pytest.Config, file: Path) -> None:
    folder = rewrite.get_cache_dir(file)
    kept = folder / (file.stem + rewrite.PYC_TAIL)
    if not kept.exists() or kept.stat().st_mtime < file.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        status, code = rewrite._rewrite_test(file, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, status, kept)
