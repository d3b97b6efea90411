"""The picture: as many lines and columns as the terminal has, at any size, whatever agents wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.strip import Strip

import dibs
from dibs.interfaces.top import panes, words
from dibs.interfaces.top.draw import width_of
from dibs.interfaces.top.keys import KEYS
from dibs.interfaces.top.picture import frame
from dibs.interfaces.top.rows import Row, place_of
from dibs.interfaces.top.state import FleetState
from dibs.interfaces.top.view import View
from tests.interfaces.top.looking import Look, opened

HOSTILE = "\x1b[2J\x1b]0;title\x07<b>[bold]${x}\u202e\u200d\x9b31m日本"
LINK = "[red][@click=app.leave]x[/]"
ALLOWED = "<b>[bold]${x} 日本"
SIZES = [(40, 10), (80, 24), (100, 30), (131, 30), (160, 50), (200, 60), (240, 20)]


@pytest.fixture
def busy(look: Look, ada: Any) -> Look:
    """Names, reasons, titles, messages that mean harm; something of everything."""
    ada.claim("src/a.py", reason=ALLOWED)
    ada.claim(f"docs/{ALLOWED.replace('/', '_')}.md", "deploy:staging")
    ada.task_add(ALLOWED, id="t1")
    ada.task_claim("t1")
    ada.task_note("t1", ALLOWED)
    ada.emit("hostile", data={ALLOWED: HOSTILE})
    with opened(look.folder, "lead") as lead:
        lead.run_start("op", id="r1")
        lead.task_add("Fails", id="bad", attempts=1)
        lead.task_claim("bad")
        lead.task_fail("bad", class_="transient", why=ALLOWED)
    look.again()
    return look


def spoil(state: FleetState) -> None:
    """What dibs refuses today may be in a record all the same: an older dibs, another engine, a file's name."""
    shown: list[Any] = [*state.claims.values(), *state.agents.values(), *state.tasks.values(), *state.alerts]
    for one in shown:
        for key in ("name", "reason", "title", "text", "why", "type", "client", "host_name"):
            if isinstance(one.get(key), str):
                one[key] = HOSTILE + one[key]
        if "claim" in one:
            one["resources"] = [f"{HOSTILE}/{path}" for path in one["resources"]]
    for event in state.events:
        event.update({"name": HOSTILE, "kind": event["kind"] + HOSTILE})
    state.workspace = state.me = state.role = HOSTILE
    state.warnings, state.version = [HOSTILE], state.version + 1


def strips(look: Look) -> list[Strip]:
    return look.app.screen._compositor.render_strips()


def check(look: Look) -> None:
    """The picture has as many lines and columns as the terminal, of any size."""
    for columns, rows in SIZES:
        lines = frame(look.app.view, columns, rows)
        assert len(lines) == rows
        for line in lines:
            text = "".join([text for text, _ in line])
            assert text.isprintable(), text
            assert width_of(line) == columns, (columns, text)


def check_screen(look: Look, *texts: str) -> None:
    """So has the terminal itself, with what is in front of the picture; these texts are on it, as they are."""
    for columns, rows in ((160, 50), (80, 24), (40, 10)):
        lines = look.lines(columns, rows)
        assert len(lines) == rows
        for text in lines:
            assert text.isprintable(), text
            assert cell_len(text) == columns, (columns, text)
        for text in texts if columns > 40 else ():
            assert text in "\n".join(lines)


def test_every_pane_and_story_fits_every_size_and_nothing_hostile_gets_through(busy: Look) -> None:
    for key in "12345":
        busy.press(key)
        check(busy)
        busy.press("s")
        check(busy)
    for what in ("agent:ada", "file:src/a.py", "task:t1", "ev:3", "agent:nobody", "file:no/such", "task:none"):
        busy.open(what)
        check(busy)
        busy.press("j", "j", "escape")
    busy.press("5", "slash")
    busy.type("host")
    check(busy)
    check_screen(busy, "/host")
    busy.press("escape")
    spoil(busy.state)
    for key in "12345":
        busy.press(key)
        check(busy)
    check_screen(busy)
    busy.open("agent:ada")
    check(busy)


def test_every_dialog_fits_and_no_markup_or_control_character_of_others_is_obeyed(busy: Look) -> None:
    """A name or a text in brackets is shown as it is: it has no style, it is no link, it starts no action."""
    for kind, subject in (
        ("kill", "ada"),
        ("killall", "all"),
        ("release", "src/a.py"),
        ("cancel", "t1"),
        ("message", "ada"),
    ):
        busy.do(f"act_on({kind!r}, {subject!r})")
        assert busy.dialog is not None, kind
        busy.type(HOSTILE)
        check_screen(busy, "<b>[bold]${x}")
        busy.press("escape")
    spoil(busy.state)
    busy.state.agents["ada"]["name"] = busy.state.agents["ada"]["killed"] = LINK
    busy.press("1")
    check_screen(busy, LINK[:5])
    for kind, texts in (
        ("kill", (f"Kill {LINK}?", f" Kill {LINK} ")),  # its title, its button
        ("message", (f"Message {LINK}",)),
        ("revive", (f"Revive {LINK}?", f"It was killed: {LINK}")),
    ):
        busy.do(f"act_on({kind!r}, 'ada')")
        check_screen(busy, *texts)
        styles = [segment.style for strip in strips(busy) for segment in strip if LINK in segment.text]
        assert styles
        assert not any(style.link or "@click" in style.meta for style in styles if style)
        busy.press("escape")
    assert busy.app.return_code is None


def test_eighty_by_twenty_four_is_laid_out_as_designed(busy: Look) -> None:
    lines = busy.shown(80, 24).split("\n")
    assert lines[0].startswith(" 1 NEEDS YOU  poison task")
    assert f"live #{busy.state.seq}" in lines[0]
    assert lines[1].startswith(" blocked 0 of 2")
    assert "held 3" in lines[1]
    assert set(lines[2]) == {"─"}
    assert lines[3].startswith("!1 Poison task")
    assert lines[3].endswith("p requeue")
    assert lines[4].startswith("[1 Agents]─2 Held─3 Waits─4 Tasks─5 Log─")
    assert lines[5].split()[:2] == ["AGENT", "STATE"]
    assert lines[6].startswith(">ada   * working")
    assert lines[-2].startswith(" j/k move  enter story")


def test_a_wide_terminal_has_all_panes(busy: Look) -> None:
    shown = busy.shown(160, 50)
    for title in ("[1 Agents 2]", "2 Held 3", "3 Waits 0", "4 Tasks 2", "5 Log"):
        assert title in shown
    assert "nobody waits" in shown
    assert "stopped: bad quarantined" in shown
    busy.press("tab", "tab", "tab")
    assert "[4 Tasks 2]" in busy.shown(160, 50)


@pytest.mark.parametrize(("columns", "rows"), [(100, 30), (120, 40), (159, 35), (160, 50), (200, 60)])
def test_from_a_hundred_columns_on_every_pane_is_there_with_its_titles_and_the_rows_it_needs(
    busy: Look, columns: int, rows: int
) -> None:
    lines = busy.shown(columns, rows).split("\n")
    text = "\n".join(lines)
    for title in ("AGENT  ", "HOLDS, OR WAITS FOR", "TIME LEFT", "WANTS, HELD BY", " PRI ", "WHAT HAPPENED"):
        assert title in text, title
    first, second = [number for number, line in enumerate(lines) if "AGENT " in line or "PATH" in line][:2]
    if columns < 160:
        assert second - first == 1 + len(busy.app.view.model.agents) + 1
    busy.press("z")
    assert "WHAT HAPPENED" not in busy.shown(columns, rows)
    busy.press("z")


def test_an_empty_workspace_says_what_to_do(tmp_path: Path) -> None:
    dibs.init(str(tmp_path))
    look = Look(tmp_path)
    shown = look.shown()
    look.close()
    assert "NOBODY HERE YET" in shown
    assert "$ dibs init" in shown


def test_a_lost_connection_stops_the_clocks_and_says_how_old_all_is(busy: Look) -> None:
    busy.state.lost("the server is gone\x1b[2J", 0)
    busy.state.lost_at -= 90_000
    shown = busy.shown()
    assert "UNKNOWN  1 needed you" in shown
    assert "Connection lost: this is 1m3" in shown
    assert "clocks are stopped" in shown
    before = busy.shown().split("\n")[6]
    busy.state.lost("still", 0)
    assert busy.shown().split("\n")[6] == before
    busy.press("x")
    assert "not connected: actions are off" in busy.shown()


def test_many_alerts_leave_room_and_can_be_gone_through(look: Look, ada: Any) -> None:
    ada.claim("src/a.py")
    look.again()
    kinds: Any = list(words.ALERTS)
    look.state.alerts = [
        {"id": f"a{n}", "kind": kinds[n % len(kinds)], "severity": "warning", "state": "open", "subject": "s",
         "agent": "ada", "text": f"number {n}", "remedy": "", "since": "2026-01-01T00:00:00Z",
         "resources": ["src/a.py"], "raised_at": "", "repeats": 0, "commits": []}
        for n in range(40)
    ]  # fmt: skip
    look.state.version += 1
    shown = look.shown()
    assert "number 6" in shown
    assert "and 33 more: ! goes there" in shown
    look.press("exclamation_mark", "G")
    assert "number 39" in look.shown()


def test_four_alerts_of_a_kind_are_one_row_and_what_needs_nobody_is_not_counted(look: Look, ada: Any) -> None:
    ada.claim("src/a.py")
    look.again()
    look.state.alerts = [
        {"id": f"a{n}", "kind": kind, "severity": severity, "state": "open", "subject": "s", "agent": "ada",
         "text": f"number {n}", "remedy": "", "since": "2026-01-01T00:00:00Z", "resources": ["src/a.py"],
         "raised_at": "", "repeats": 0, "commits": []}
        for n, (kind, severity) in enumerate([("wait", "warning")] * 9 + [("expired", "info")])
    ]  # type: ignore[misc] # fmt: skip
    look.state.version += 1
    shown = look.shown()
    assert " 1 NEEDS YOU  long wait " in shown
    assert "!1 Long wait x9" in shown
    look.state.alerts = look.state.alerts[-1:]
    look.state.version += 1
    assert "ALL WELL" in look.shown()
    assert "!1 Expired" in look.shown()


def test_an_alert_of_each_kind_is_shown_with_its_word_and_what_to_do(look: Look, ada: Any) -> None:
    ada.claim("src/a.py")
    look.again()
    kind: Any
    for kind, word in words.ALERTS.items():
        look.state.alerts = [
            {"id": "a1", "kind": kind, "severity": "error", "state": "open", "subject": "src/a.py", "agent": "ada",
             "text": "something is wrong", "remedy": "", "since": "2026-01-01T00:00:00Z", "resources": ["src/a.py"],
         "raised_at": "", "repeats": 0, "commits": []}
        ]  # fmt: skip
        look.state.version += 1
        line = look.shown().split("\n")[3]
        assert line.startswith(f"!1 {word[:11]}"), line
        assert f"!1 {word} " in look.shown(160, 50), word
        assert line.endswith(("a ack", "R restore", "x kill", "r release", "p requeue", "enter resolve")), line


def test_the_mouse_selects_a_row_or_a_pane_opens_a_story_and_moves(look: Look, ada: Any, ben: Any) -> None:
    ada.claim("src/ada.py", "docs/ada.md")
    ben.claim("src/ben.py", "docs/ben.md")
    look.again()
    lines = look.lines()
    look.click(3, place(lines, " ben "))
    assert ">ben" in look.shown()
    look.click(lines[3].index("2 Held") + 1, 3)
    assert "[2 Held]" in look.shown()
    look.scroll(1)
    assert ">src/" in look.shown()
    look.scroll(-1)
    assert ">docs/" in look.shown()
    look.click(3, place(look.lines(), "  ada.py"), times=2)
    assert "─ src/ada.py" in look.shown()
    look.click(3, place(look.lines(), "ada claimed"), times=2)
    assert "─ event" in look.shown()
    look.press("escape", "escape")
    wide = look.lines(160, 50)
    look.click(wide[1].index("3 Waits") + 1, 1)
    assert "[3 Waits 0]" in look.shown(160, 50)
    column = next(line.index("ben.md") for line in look.lines(160, 50) if "ben.md" in line)
    look.click(column, place(look.lines(160, 50), "ben.md"), times=2)
    assert "─ docs/ben.md" in look.shown(160, 50)


def place(lines: list[str], text: str) -> int:
    return next(number for number, line in enumerate(lines) if text in line)


def test_only_lines_that_changed_are_drawn_again(look: Look, ada: Any) -> None:
    ada.claim("src/a.py")
    look.again()
    look.shown()
    drawn = look.drawn()
    assert len(drawn) <= 3, drawn  # of 24: clocks, if a second has passed
    look.app.view.go(panes.HELD)
    assert len(look.drawn()) >= 3
    assert len(look.drawn()) <= 3


def test_the_selected_row_stays_selected_when_others_come(look: Look, ada: Any, ben: Any) -> None:
    ada.claim("src/b.py")
    look.again()
    look.press("2")
    look.shown()
    look.press("j", "k")
    assert ">src/b.py" in look.shown()
    ben.claim("src/a.py")
    look.again()
    assert ">  b.py" in look.shown()


def test_a_state_of_thousands_is_drawn_from_what_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture makes and draws its rows and no more, however many there are; nothing is sorted twice."""
    state = FleetState()
    at = "2026-01-01T00:00:00Z"
    state.take("tasks", {"tasks": [
        {"id": f"t{n}", "title": "x", "state": "planned", "priority": n % 9, "agent": None, "by": "lead",
         "created_at": at, "attempt": 1, "max_attempts": 5} for n in range(5_000)
    ]})  # fmt: skip
    view = View(state)
    view.go(panes.TASKS)
    rows = view.rows(panes.TASKS)
    assert len(rows) == 5_000
    made: list[str] = []

    def noted(name: str, *given: Any, **named: Any) -> Row:
        made.append(name)
        return Row(name, *given, **named)

    monkeypatch.setattr(panes, "Row", noted)
    frame(view, 80, 24)
    assert 5 <= len(made) <= 24
    assert view.rows(panes.TASKS) is rows  # made once
    board = view.model.board()
    state.take("alerts", {"alerts": []})
    assert view.model.board() is board  # the tasks are the same
    assert place_of(rows, rows[4_000].id) == 4_000


def test_every_key_can_be_read_on_the_smallest_terminal(look: Look, ada: Any) -> None:
    ada.task_add("x", id="t", attempts=1)
    ada.task_fail("t", token=ada.task_claim("t")["token"], class_="transient", why="no")
    look.again()
    look.press("question_mark")
    seen = ""
    for key in ("j", "pagedown", "space", "j"):
        seen += look.shown(80, 24)
        look.press(key)
    for _, keys in KEYS:
        for key, _, _ in keys:
            assert f"  {key} " in seen, key
    assert "leave" in look.shown(80, 24), "it stops at the end"
    look.press("q")
    assert "Keys" not in look.shown(80, 24)
