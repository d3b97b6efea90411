"""Puts the real clients into `.clients/`, at the versions the tests were written for.

    python -m tests.e2e.clients.install [NAME…]

Each has a folder of its own with a stamp, so a second call does nothing and one client that cannot be installed is in
nobody's way. Exit 75 (come again later) where npm or its registry did not answer: that is no fault of this project.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[3] / ".clients"

_SYSTEM = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system(), platform.system().lower())
_CHIP = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())

PACKAGES = {
    "claude": ["@anthropic-ai/claude-code@2.1.325"],
    "codex": ["@openai/codex@0.166.0"],
    "gemini": ["@google/gemini-cli@0.61.0", f"node-{_SYSTEM}-{_CHIP}@22"],  # it runs on Node, and not on any
    "copilot": ["@github/copilot@1.0.102"],
    "opencode": ["opencode-ai@1.18.33"],  # 2.x is not on npm under this name
    "axe": ["axe-core@4.14.0"],  # looks for what screen readers and keyboards stumble over
    "mcp": [  # the protocol's own test suite, and its inspector; both need Node 22
        "@modelcontextprotocol/conformance@0.1.16",
        "@modelcontextprotocol/inspector@2.12.0",
        f"node-{_SYSTEM}-{_CHIP}@22",
    ],
}

# Where each one's program is found below its folder. The clients themselves, not the launchers that npm puts before
# them: a test that kills a client means the client.
PROGRAMS = {
    "claude": "node_modules/@anthropic-ai/claude-code-*/claude",
    "codex": "node_modules/@openai/codex-*/vendor/*/bin/codex",
    "gemini": "node_modules/@google/gemini-cli/bundle/gemini.js",
    "copilot": "node_modules/@github/copilot-*/copilot",
    "opencode": "node_modules/opencode-*-*/bin/opencode",
    "node": "node_modules/node-*/bin/node",
    "axe": "node_modules/axe-core/axe.min.js",
    "mcp": "node_modules/@modelcontextprotocol/conformance/dist/index.js",
    "inspector": "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
}

LATER = 75  # EX_TEMPFAIL of sysexits.h
UNREACHABLE = re.compile(
    r"\b(E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH|HOSTUNREACH|PIPE)"
    r"|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|E429|E5\d\d|FETCH_ERROR)\b"
)
MINUTES = 10  # for some 400 MB


def program(client: str, name: str = "") -> Path:
    """The client's program (or another one that came with it), which must have been installed."""
    found = sorted((HERE / client).glob(PROGRAMS[name or client]))
    assert found, f"{client} is not installed: `make e2e`, or `python -m tests.e2e.clients.install {client}`"
    return found[0]


def install(client: str) -> int:
    """Install one client unless it is there; the exit code."""
    folder, wanted = HERE / client, "\n".join(PACKAGES[client]) + "\n"
    stamp = folder / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return 0
    npm = shutil.which("npm")
    if npm is None:
        print("e2e: npm is not on this machine (Node.js brings it)", file=sys.stderr)
        return LATER
    print(f"installing {' '.join(PACKAGES[client])} into .clients/{client} …", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # no scripts of the packages: what they need comes as packages of its own for each platform
    words = ["install", "--prefix", str(folder), "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
    patience = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
    try:
        done = subprocess.run(
            [npm, *words, *patience, "--fetch-timeout=60000", *PACKAGES[client]],
            capture_output=True,
            text=True,
            check=False,
            timeout=MINUTES * 60,
        )
    except subprocess.TimeoutExpired:
        print(f"e2e: npm did not finish within {MINUTES} minutes", file=sys.stderr)
        return LATER
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        return LATER if UNREACHABLE.search(done.stderr) else 1
    program(client)
    stamp.write_text(wanted)
    return 0


def main() -> int:
    """Install what is named; the worst exit code."""
    codes = [install(client) for client in sys.argv[1:] or PACKAGES]
    return 1 if 1 in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main())
