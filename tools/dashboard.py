"""Takes the pictures of docs/guides/dashboard.md: the views of a fleet (tools/dashboard_scene.py), light, dark, phone.

    python -m tools.dashboard [FOLDER]

Needs a browser (tests/e2e/clients/browser.py) and the extra `e2e`. A quarter of a minute.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dibs.interfaces.page import sign_in
from tests.e2e.clients import browser

TOP = Path(__file__).resolve().parent.parent
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
LIMIT_BYTES = 400_000
# name, address, theme, size, what to do before it is taken
PICTURES: tuple[tuple[str, str, str, dict[str, int], str], ...] = (
    ("overview", "#/overview", "light", WIDE, ""),
    ("timeline", "#/timeline", "dark", WIDE, ""),
    ("tasks", "#/tasks", "light", WIDE, "point"),
    ("waits", "#/waits", "dark", WIDE, ""),
    ("log", "#/log", "light", WIDE, ""),
    ("worktrees", "#/worktrees", "dark", WIDE, ""),
    ("story", "#/overview?open=agent:cleo", "dark", WIDE, ""),
    ("phone", "#/overview", "light", PHONE, ""),
    ("lost", "#/overview", "light", WIDE, "stop"),
)


def main() -> None:
    """Take them all."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folder", nargs="?", default=str(TOP / "docs" / "dashboard"))
    folder = Path(words.parse_args().folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as above:
        shop = Path(above) / "shop"
        shop.mkdir()
        subprocess.run(["git", "init", "-q", str(shop)], check=True)
        command = [sys.executable, "-m", "tools.dashboard_scene", str(shop)]
        with subprocess.Popen(command, cwd=TOP, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as scene:
            assert scene.stdout is not None
            assert scene.stdout.readline() == b"ready\n"
            try:
                _take_all(shop, folder)
            finally:
                scene.kill()


def _take_all(shop: Path, folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    server = subprocess.Popen(
        [sys.executable, "-m", "dibs", "serve", "--json"], cwd=shop, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    try:
        assert server.stdout is not None
        about = json.loads(server.stdout.readline())
        with sync_playwright() as playwright:
            window = playwright.chromium.launch(executable_path=browser.installed() or None, args=browser.FLAGS)
            for picture in PICTURES:
                _take(window, about, server, folder, picture)
            window.close()
    finally:
        server.terminate()
        server.wait(30)


def _take(window: Any, about: dict[str, Any], server: subprocess.Popen[bytes], folder: Path, picture: Any) -> None:
    name, address, theme, size, first = picture
    context = window.new_context(viewport=size, color_scheme=theme, reduced_motion="reduce", device_scale_factor=1)
    page = context.new_page()
    page.goto(sign_in.address(about["url"], about["token_file"]))
    page.wait_for_function("() => document.querySelector('#top') !== null")
    page.evaluate("(hash) => { location.hash = hash; }", address)
    view = address.removeprefix("#/").partition("?")[0]
    page.wait_for_function("(view) => document.querySelector('main').ariaLabel === view", arg=view)
    if first == "point":
        page.hover("[data-task=e2e]")
        page.wait_for_function("() => document.querySelector('#wires path') !== null")
    if first == "stop":
        server.terminate()
        page.wait_for_function("() => document.querySelector('#lost')?.textContent.includes('Connection lost')")
    page.wait_for_timeout(1200)  # what is fetched again after the first paint is there
    path = folder / f"{name}.png"
    page.screenshot(path=str(path))
    context.close()
    assert path.stat().st_size < LIMIT_BYTES, f"{path.name} has {path.stat().st_size} bytes"
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
