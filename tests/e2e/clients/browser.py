"""Finds a browser for the tests of the page: an installed one, else Playwright's own, else Debian's for root.

    python -m tests.e2e.clients.browser

Exit 75 (come again later) where none can be had: that is no fault of this project, and it is said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
LATER = 75  # EX_TEMPFAIL of sysexits.h
MINUTES = 10
FLAGS = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]  # root has no sandbox


def installed() -> str:
    """The program of a browser on this machine, or ""."""
    found = next((path for name in NAMES if (path := shutil.which(name))), "")
    return found or (str(MAC) if MAC.exists() else "")


def own() -> bool:
    """Has Playwright one of its own?"""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).exists()


def get() -> int:
    """Have a browser; the exit code."""
    if installed() or own():
        return 0
    ways = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        ways.append(["apt-get", "install", "--yes", "--quiet", "chromium"])
    for way in ways:
        print(f"{' '.join(way[-3:])} …", flush=True)
        try:
            done = subprocess.run(way, check=False, capture_output=True, timeout=MINUTES * 60)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == 0 and (installed() or own()):
            return 0
    return LATER


if __name__ == "__main__":
    sys.exit(get())
