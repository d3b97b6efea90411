"""Puts each framework of `examples/` into an environment of its own below `.clients/`, as its requirements.txt says.

    python -m tests.e2e.clients.frameworks [NAME…]

dibs comes from this clone. A second call does nothing. Exit 75 (come again later) where pip's index did not answer.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.clients.install import HERE, LATER, MINUTES

TOP = Path(__file__).resolve().parents[3]
NAMES = ("claude_agent_sdk", "openai_agents", "langgraph")
UNREACHABLE = re.compile(
    r"Temporary failure|Connection(Error|Refused)|Max retries|timed out|No route to host|HTTP error 5\d\d"
)


def python(name: str) -> Path:
    """The interpreter of a framework's environment, which must have been made."""
    found = HERE / name / "bin" / "python"
    assert found.exists(), (
        f"{name} is not installed: `make e2e-all`, or `python -m tests.e2e.clients.frameworks {name}`"
    )
    return found


def install(name: str) -> int:
    """Make one environment unless it is there; the exit code."""
    folder = HERE / name
    packages = (TOP / "examples" / name / "requirements.txt").read_text().split()
    stamp = folder / "installed"
    if stamp.exists() and stamp.read_text() == "\n".join(packages):
        return 0
    print(f"installing {' '.join(packages)} into .clients/{name} …", flush=True)
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=False, timeout=MINUTES * 60)
    if made.returncode:
        return 1
    try:
        done = subprocess.run(
            [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *packages, "--editable", TOP],
            capture_output=True, text=True, check=False, timeout=MINUTES * 60,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"e2e: pip did not finish within {MINUTES} minutes", file=sys.stderr)
        return LATER
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        return LATER if UNREACHABLE.search(done.stderr) else 1
    stamp.write_text("\n".join(packages))
    return 0


def main() -> int:
    """Install what is named; the worst exit code."""
    codes = [install(name) for name in sys.argv[1:] or NAMES]
    return 1 if 1 in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main())
