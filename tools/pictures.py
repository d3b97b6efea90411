"""Draws the pictures of terminals anew: docs/demo.svg (`dibs demo`, animated), docs/status.svg and docs/top.svg.

    make docs

It runs the commands that it shows, in a scratch folder and a home of their own. Half a minute.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools import terminal

TOP = Path(__file__).resolve().parent.parent
DEMO = (88, 27)  # columns and rows: the live screen and, at the end, the whole table of results
STATUS = (92, 40)
WIDE = (150, 40)
LOOK_SECONDS = 4  # for `top` to have read everything
SAMPLE_SECONDS = 0.4
SPEED = 2  # the demo takes some 15 to 20 seconds; the picture half of that
HOLD_SECONDS = 6
LIMIT_BYTES = 300_000  # GitHub shows larger ones as well, but nobody waits for them

# The fleet of the screenshot: what a person sees who runs several agents in one repository.
FLEET = """
git init -q -b main . && git config user.name ann && git config user.email ann@example.org
mkdir -p src migrations && echo 'route = 1' > src/api.py && echo 'page = 1' > src/web.py
git add -A && git commit -qm "a small service"
dibs init --clients none
dibs boot --as claude-otter && dibs boot --as codex-heron && dibs boot --as claude-lynx && dibs boot --as lead
dibs claim src/api.py --as claude-otter --reason "new route"
dibs claim migrations/ --as lead --ttl 10m --reason "add users.email"
dibs claim 'docs/*.md' --as claude-lynx --reason "describe the route"
dibs task add "test the parser" --id tests --as lead
dibs task next --as codex-heron
dibs task progress tests 60 --as codex-heron
dibs claim src/api.py --as codex-heron --reason "use the route" --wait 1m &
for _ in $(seq 100); do if dibs status --json | grep -q '"waiting":\\[{'; then break; fi; sleep 0.1; done
"""


def demo() -> str:
    """The demo in a terminal, as it runs."""
    columns, rows = DEMO
    command = [sys.executable, "-m", "dibs", "demo", "--seed", "7"]
    written = terminal.record(command, columns=columns, rows=rows, environment=clean(tempfile.gettempdir()))
    shown = terminal.frames(written, columns=columns, rows=rows, every=SAMPLE_SECONDS)
    return terminal.draw(shown, columns=columns, rows=rows, title="dibs demo", speed=SPEED, hold=HOLD_SECONDS)


def status() -> str:
    """The state of a small fleet."""
    columns, rows = STATUS
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "shop")
        folder.mkdir()
        fleet = subprocess.Popen(
            ["bash", "-ec", FLEET + "touch ready; wait"], cwd=folder, env=clean(home), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            while not Path(folder, "ready").exists():
                if fleet.poll() is not None:
                    raise SystemExit("the fleet of the screenshot could not be made")
                time.sleep(0.1)
            command = [sys.executable, "-m", "dibs", "status"]
            written = terminal.record(command, columns=columns, rows=rows, cwd=str(folder), environment=clean(home))
        finally:
            os.killpg(fleet.pid, signal.SIGTERM)  # the waiter with its shell
            fleet.wait()
    last = terminal.frames(written, columns=columns, rows=rows, every=0)[-1]
    return terminal.draw([last], columns=columns, rows=terminal.last_lines(last[1]), title="dibs status")


def clean(home: str) -> dict[str, str]:
    """An environment without the caller's agent, client and settings, with this dibs first on PATH."""
    kept = {k: v for k, v in os.environ.items() if not re.match("DIBS_|GIT_|CLAUDE|CODEX|GEMINI|COPILOT", k)}
    return {**kept, "HOME": home, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def top() -> str:
    """The fleet of the dashboard's pictures, in `dibs top`."""
    columns, rows = WIDE
    with tempfile.TemporaryDirectory() as home:
        shop = Path(home, "shop")
        shop.mkdir()
        subprocess.run(["git", "init", "-q", str(shop)], check=True)
        command = [sys.executable, "-m", "tools.dashboard_scene", str(shop)]
        with subprocess.Popen(command, cwd=TOP, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as scene:
            assert scene.stdout is not None
            assert scene.stdout.readline() == b"ready\n"
            try:
                written = terminal.record(
                    [sys.executable, "-m", "dibs", "top"], columns=columns, rows=rows, cwd=str(shop),
                    environment=clean(home), press=((LOOK_SECONDS, b"q"),),
                )  # fmt: skip
            finally:
                scene.kill()
    shown = [(at, data) for at, data in written if at < LOOK_SECONDS]  # at the end it gives back the empty terminal
    last = terminal.frames(shown, columns=columns, rows=rows, every=0)[-1]
    return terminal.draw([last], columns=columns, rows=rows, title="dibs top")


PICTURES = {"demo": demo, "status": status, "top": top}


def main() -> None:
    """Draw those that were named, else all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*PICTURES, []], help="which pictures (default: all)")
    for name in parser.parse_args().names or PICTURES:
        picture = PICTURES[name]()
        path = TOP / "docs" / f"{name}.svg"
        if len(picture.encode()) > LIMIT_BYTES:
            raise SystemExit(f"{path}: {len(picture.encode())} bytes, more than {LIMIT_BYTES}")
        path.write_text(picture)
        print(f"{path}: {len(picture.encode())} bytes")


if __name__ == "__main__":
    main()
