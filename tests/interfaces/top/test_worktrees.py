"""Coming conflicts and the landing queue in `top`: a line when there is something, a story with all of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.operations.core.call import Call
from dibs.operations.landing.conflicts import REPORT
from tests.interfaces.top.looking import Look, opened


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository whose main branch is called master."""
    subprocess.run(["git", "init", "-q", "-b", "master", str(tmp_path)], check=True)
    words = ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(["git", *words], cwd=tmp_path, check=True)
    dibs.init(str(tmp_path))
    return tmp_path


def report(workspace: Any, *names: str, files: int = 1) -> None:
    """What a look finds: the first of these conflicts with each of the others."""
    pairs = [
        {
            "one": f"/w/{names[0]}", "other": f"/w/{other}", "branches": [names[0], other],
            "agents": [names[0]], "other_agents": [other] if other.isprintable() else [],
            "files": [[f"src/f{number}.py", "content", [[5, 1, 7, 3]]] for number in range(files)], "count": files,
        } for other in names[1:]
    ]  # fmt: skip
    session = workspace.session
    session.run(REPORT, Call(session.config.policy, agent="looker"), {"place": "here", "pairs": pairs, "looked": 4})


def test_where_nothing_conflicts_and_nothing_lands_there_is_no_line_and_the_story_says_what_to_do(shop: Path) -> None:
    with opened(shop, "ann") as ann:
        ann.boot()
        look = Look(shop)
        try:
            assert "~  " not in look.shown()
            look.press("g", "m")
            assert "nobody has looked yet: dibs radar" in look.shown()
            assert "nothing was queued yet: dibs land" in look.shown()
            report(ann)
            look.again()
            assert "no two of 4 working trees and branches would conflict" in look.shown()
        finally:
            look.close()


def test_a_pair_and_the_queue_have_a_line_each_and_their_story_has_files_lines_and_outcomes(shop: Path) -> None:
    with opened(shop, "ann") as ann:
        ann.boot()
        look = Look(shop)
        try:
            report(ann, "ann", "bob", "\x1b[31mcarl", files=3)
            ann.land("ann")
            look.again()
            shown = look.shown(120, 40)
            assert "src/f0.py, src/f1.py and 1 more would conflict if merged now, 2 pairs" in shown
            assert "1 branch queued for master; nobody lands: dibs land --all" in shown
            assert "\x1b" not in shown
            look.press("exclamation_mark", "G", "enter")
            story = look.shown(120, 60)
            assert "src/f2.py: ann line 5, bob lines 7-9" in story
            assert re.search(r"ann  queued \d+s  ann", story)
            assert "would conflict if they were merged" in story
            assert "ann queued ann to land on master" in story
            look.press("escape")
            ann.claim("land:master", reason="release")
            ann.landings_cancel("ann")
            look.again()
            assert "0 branches queued for master; ann keeps others from landing: release" in look.shown(120, 40)
            report(ann)
            ann.release("land:master")
            look.again()
            assert "~  " not in look.shown(120, 40)
        finally:
            look.close()


def test_an_event_about_worktrees_or_about_who_lands_has_them_read_again(shop: Path) -> None:
    with opened(shop, "ann") as ann:
        ann.boot()
        look = Look(shop)
        try:
            seen = look.state.seq
            report(ann, "ann", "bob")
            ann.claim("land:master")
            ann.claim("x.py")
            events = ann.log(after=seen, limit=100)["events"]
            topics = {event["kind"]: look.state.heard([event]) for event in events if event["kind"] != "message.posted"}
            assert "worktrees" in topics["radar.found"]
            first, second = [event for event in events if event["kind"] == "claim.granted"]
            look.state.seq = first["seq"] - 1
            assert "worktrees" in look.state.heard([first])
            assert "worktrees" not in look.state.heard([second])
        finally:
            look.close()
