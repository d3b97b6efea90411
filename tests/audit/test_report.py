"""The report of a run: its figures, its story from the log, and its three forms, whatever agents write into them."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.audit import build, html_page, html_text, markdown, source, timeline
from dibs.audit.fold import Fold
from dibs.audit.story import Story
from dibs.operations.core.policy import WORK, Policy
from tests.operations.fleet import Fleet

FACTS = {"store": "", "log": "", "report": "", "archive": "", "results": ""}
NASTY = (
    "</title><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onload='x", "]]>&amp;<!--",
    "a|b\n| --- |", "[x](http://example.org)", "\x1b[31mred", "\u202egnirts", "\ufffe", "<svg/onload=x>",
    "{{7*7}}", "é漢🎉",
)  # fmt: skip


class Door:
    """As much of a session as a report needs, on a fleet's store; no archive is on this machine."""

    is_far = True

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.store = fleet, fleet.store

    def run(self, operation: Any, _: Any, fields: dict[str, Any]) -> Any:
        return self.fleet.internal("viewer", operation, **fields)


def report(fleet: Fleet, run: str = "r1") -> Any:
    door: Any = Door(fleet)
    return source.Gathered(door, None, run, FACTS).report()  # type: ignore[arg-type]


@pytest.fixture
def fleet() -> Fleet:
    made = Fleet(work={**WORK, "tasks": {**WORK["tasks"], "max_tasks": 100, "breaker_failures": 1_000}})
    made.call("boss", "run start", name="fix the tests", id="r1")
    return made


def add(fleet: Fleet, task: str, **fields: Any) -> None:
    fleet.call("boss", "task add", **{"title": f"do {task}", "id": task, "run": "r1", **fields})


def take(fleet: Fleet, agent: str, task: str, **who: Any) -> int:
    token: int = fleet.call(agent, "task claim", id=task, **who)["token"]
    return token


def spend(fleet: Fleet, agent: str, task: str, ms: int, **fields: Any) -> None:
    """Take a task, work for that long, finish it."""
    token = take(fleet, agent, task)
    fleet.now += ms
    fleet.call(agent, "task done", id=task, token=token, **fields)


def fail(fleet: Fleet, agent: str, task: str, kind: str) -> None:
    fields: dict[str, Any] = {"id": task, "token": take(fleet, agent, task), "why": "no", "class": kind}
    fleet.call(agent, "task fail", **fields)


def bars(found: dict[str, Any], agent: str) -> list[tuple[str, str]]:
    lane = next(lane for lane in found["timeline"]["lanes"] if lane["agent"] == agent)
    return [(bar["task"], bar["outcome"]) for bar in lane["tasks"]]


# --- figures


def test_the_figures_are_those_of_the_run(fleet: Fleet) -> None:
    for number in range(20):
        add(fleet, f"t{number}")
        spend(fleet, f"w{number % 2}", f"t{number}", 100 * (number + 1), result={"n": number})
    add(fleet, "bad")
    fail(fleet, "w0", "bad", "permanent")
    add(fleet, "off")
    fleet.call("boss", "task cancel", id="off")
    add(fleet, "open")
    found = report(fleet)
    assert found["summary"] == {
        "total": 23, "complete": 20, "failed": 1, "cancelled": 1, "quarantined": 0, "open": 1, "agents_used": 2,
        "total_time": 21.0, "work_time": 21.0,
    }  # fmt: skip
    assert found["performance"] == {
        "throughput": round(20 / 21, 3), "success_rate": round(20 / 21, 4), "average_time": 1.05, "p95_time": 1.9,
        "attempts": 21,
    }  # fmt: skip
    assert found["by_task"]["t3"]["result"] == {"n": 3}
    assert found["by_task"]["bad"]["error"]["why"] == "no"
    assert found["by_agent"]["w1"]["complete"] == 10
    assert found["by_agent"]["w1"]["tasks"][0] == "t1"
    assert found["run"]["progress"] == 90


def test_a_run_without_tasks_has_a_report_without_figures(fleet: Fleet) -> None:
    found = report(fleet)
    assert found["performance"] == {
        "throughput": None, "success_rate": None, "average_time": None, "p95_time": None, "attempts": 0,
    }  # fmt: skip
    assert found["timeline"]["lanes"] == []
    for kind in build.FORMATS:
        assert "fix the tests" in build.render(found, kind)


def test_phases_errors_warnings_and_usage_are_told(fleet: Fleet) -> None:
    from dibs.operations.runs.members import USAGE

    fleet.now += 2_000
    fleet.call("boss", "run phase", phase="execution")
    fleet.call("w", "run error", text="boom")
    fleet.call("w", "run warn", text="hm")
    fleet.internal("w", USAGE, run="r1", cpu=50, memory=1 << 20, threads=4)
    fleet.now += 3_000
    found = report(fleet)
    assert [(one["phase"], one["time"]) for one in found["phases"]] == [("discovery", 2.0), ("execution", 3.0)]
    assert found["errors"][0]["text"] == "boom"
    assert found["warnings"][0]["text"] == "hm"
    assert found["by_agent"]["w"]["peak"] == {"cpu": 50.0, "memory": 1 << 20, "threads": 4}
    assert "1 MiB" in html_page.render(found)


def test_a_server_of_an_earlier_version_names_no_movers_and_the_phases_are_told(fleet: Fleet) -> None:
    fleet.call("boss", "run phase", phase="execution")
    door: Any = Door(fleet)
    now = door.run
    door.run = lambda *asked: {name: value for name, value in now(*asked).items() if name != "movers"}
    found = source.Gathered(door, None, "r1", FACTS).report()  # type: ignore[arg-type]
    assert [(one["by"], one["by_name"]) for one in found["phases"]] == [("boss", "boss")] * 2


# --- the story


def test_a_task_lost_by_one_and_done_by_another_is_told_of_both(fleet: Fleet) -> None:
    fleet.call("dead", "boot", client=42, pid=fleet.process(42))
    add(fleet, "a")
    take(fleet, "dead", "a", client=42)
    fleet.now += 1_000
    fleet.kill9(42)
    fleet.call("x", "sweep")
    spend(fleet, "w", "a", 500)
    found = report(fleet)
    assert bars(found, "dead") == [("a", "lost")]
    assert bars(found, "w") == [("a", "complete")]
    lane = next(lane for lane in found["timeline"]["lanes"] if lane["agent"] == "dead")
    assert sorted(mark["what"] for mark in lane["marks"]) == ["gone", "lost"]
    assert found["by_agent"]["dead"]["lost"] == 1
    assert found["performance"]["average_time"] == 0.5
    assert found["by_task"]["a"]["losses"] == 1
    html = html_page.render(found)
    assert "the process of dead was gone" in html
    assert "bar lost" in html


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"name": "task fail", "why": "x", "class": "transient"}, "retried"),
        ({"name": "task fail", "why": "x", "class": "permanent"}, "failed"),
        ({"name": "task release"}, "returned"),
        ({"name": "task done"}, "complete"),
    ],
)
def test_each_end_of_work_has_its_outcome(fleet: Fleet, fields: dict[str, Any], outcome: str) -> None:
    add(fleet, "a")
    name = fields.pop("name")
    fleet.call("w", name, id="a", token=take(fleet, "w", "a"), **fields)
    assert bars(report(fleet), "w") == [("a", outcome)]


def test_poison_cancelled_and_unfinished_work_have_theirs(fleet: Fleet) -> None:
    add(fleet, "p", attempts=1)
    fail(fleet, "w", "p", "transient")
    add(fleet, "c")
    take(fleet, "w", "c")
    fleet.call("boss", "task cancel", id="c")
    add(fleet, "o")
    take(fleet, "w", "o")
    assert bars(report(fleet), "w") == [("p", "quarantined"), ("c", "cancelled"), ("o", "working")]


def test_work_that_passes_to_a_parent_is_told_of_both(fleet: Fleet) -> None:
    add(fleet, "a")
    take(fleet, "w/sub", "a")
    fleet.call("w/sub", "leave")
    found = report(fleet)
    assert bars(found, "w/sub") == [("a", "passed")]
    assert bars(found, "w") == [("a", "working")]


def test_other_claims_of_the_runs_agents_are_in_the_picture_and_strangers_are_not(fleet: Fleet) -> None:
    add(fleet, "a")
    fleet.claim("w", "src/a.py")
    fleet.claim("stranger", "src/b.py")
    spend(fleet, "w", "a", 1_000)
    fleet.release("w", "src/a.py")
    found = report(fleet)
    lane = found["timeline"]["lanes"][0]
    assert [lane["agent"] for lane in found["timeline"]["lanes"]] == ["w"]
    assert lane["claims"] == [{"resources": ["src/a.py"], "mode": "write", "end": "released", "from": 0.0, "to": 1.0}]
    assert found["timeline"]["left_out"] == {"claims": 1}


def test_contention_counts_refusals_and_waits_by_resource(fleet: Fleet) -> None:
    fleet.claim("w", "src/a.py")
    for _ in range(2):
        with pytest.raises(Exception, match="holds"):
            fleet.claim("v", "src/a.py")
    fleet.claim("v", "src/a.py", wait=60_000, wake="c")
    fleet.now += 7_000
    fleet.release("w", "src/a.py")
    found = report(fleet)["contention"]
    assert found[0] == {
        "resource": "src/a.py", "refusals": 2, "waits": 1, "gave_up": 0, "longest_wait": 7.0, "total_wait": 7.0,
    }  # fmt: skip


def test_what_happened_before_the_start_or_after_the_end_is_not_told() -> None:
    fleet = Fleet()
    fleet.claim("w", "src/a.py")
    with pytest.raises(Exception, match="holds"):
        fleet.claim("v", "src/a.py")
    fleet.call("boss", "run start", name="x", id="r1")
    fleet.call("boss", "run end", run="r1")
    with pytest.raises(Exception, match="holds"):
        fleet.claim("v", "src/a.py")
    assert report(fleet)["contention"] == []


def test_a_pruned_log_is_said_and_the_records_stand_in(fleet: Fleet) -> None:
    add(fleet, "a")
    spend(fleet, "w", "a", 500)
    fleet.call("x", "seal")
    fleet.now += 1
    fleet.policy = Policy(work={**fleet.policy.work, "log": {**WORK["log"], "keep": 1}})
    fleet.prune("x", keep=1)
    found = report(fleet)
    assert bars(found, "w") == [("a", "complete")]
    assert "is not on this machine" in found["notes"][0]
    assert found["performance"]["average_time"] == 0.5


# --- its forms


def test_equal_input_gives_equal_output_also_at_another_time(fleet: Fleet) -> None:
    add(fleet, "a")
    spend(fleet, "w", "a", 500, result={"b": 1, "a": 2})
    fleet.call("boss", "run end")
    first = {kind: build.render(report(fleet), kind) for kind in build.FORMATS}
    fleet.now += 86_400_000
    assert {kind: build.render(report(fleet), kind) for kind in build.FORMATS} == first


def test_long_results_are_cut_and_say_so(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    add(fleet, "a")
    spend(fleet, "w", "a", 5, result={"text": "x" * 3_000})
    add(fleet, "b")
    spend(fleet, "w", "b", 5, result="short")
    found = report(fleet)["by_task"]
    assert found["a"]["result"]["cut"] is True
    assert found["a"]["result"]["letters"] == 3_011
    assert found["b"]["result"] == "short"
    monkeypatch.setattr(source, "MAX_RESULTS_LETTERS", 1_000)
    assert report(fleet)["by_task"]["b"]["result"] == {"cut": True, "letters": 7, "begins": ""}


class Loads(HTMLParser):
    """Everything in a page that could load, run or lead somewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "link", "img", "iframe", "object", "embed", "a", "base", "form", "use", "image"}:
            self.found.append(tag)
        self.found += [name for name, _ in attributes if name.startswith("on") or name in {"src", "href", "srcset"}]


def check_page(text: str) -> ET.Element:
    """Well-formed, and nothing in it that loads, runs or leads anywhere."""
    parser = Loads()
    parser.feed(text)
    assert parser.found == []
    for word in ("@import", "url(", "http://", "https://", "//"):
        assert word not in text.partition("<style>")[2].partition("</style>")[0]
    return ET.fromstring(text.encode().partition(b"<!DOCTYPE html>\n")[2])  # noqa: S314 - made here


@pytest.mark.parametrize("nasty", NASTY)
def test_whatever_agents_write_the_page_stays_whole(nasty: str) -> None:
    fleet = Fleet()
    text = "".join(letter for letter in nasty if letter >= " " or letter == "\n")
    fleet.call("boss", "run start", name=text, id="r1")
    agent = "".join(letter for letter in text if letter.isprintable() and letter not in " /") or "w"
    fleet.call("boss", "task add", title=text, id="a", run="r1")
    fleet.claim(agent, "src/a.py", reason=text)
    fleet.call(agent, "run join", type=text, can=[text])
    token = fleet.call(agent, "task claim", id="a")["token"]
    fleet.call(agent, "run error", text=text)
    fleet.call(agent, "run warn", text=text)
    fleet.call(agent, "task done", id="a", token=token, result={nasty: [nasty]})
    found = report(fleet)
    tree = check_page(html_page.render(found))
    shown = ET.tostring(tree, encoding="unicode", method="text")
    assert html_text.clean(text) in shown
    markdown.render(found).encode()
    json.loads(build.render(found, "json"))


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_made_harmless(text: str) -> None:
    cleaned = html_text.clean(text)
    assert cleaned == html_text.clean(cleaned)
    assert not any(letter < " " or 0xD800 <= ord(letter) < 0xE000 for letter in cleaned)
    element = ET.fromstring(f'<p title="{html_text.safe(text)}">{html_text.safe(text)}</p>')  # noqa: S314 - made here
    assert element.get("title") == (element.text or "") == cleaned
    assert "\n" not in html_text.plain(text)
    assert "|" not in html_text.plain(text).replace("\\|", "")


def test_what_was_left_undone_has_a_line_of_its_own_also_where_the_result_is_cut(fleet: Fleet) -> None:
    for task, long in (("short", ""), ("long", "x" * 3 * source.MAX_RESULT_LETTERS), ("whole", "")):
        add(fleet, task)
        rest = "the docs" if task != "whole" else ""
        spend(fleet, "ann", task, 10, result={"files": 2, "long": long}, not_done=rest)
    made = report(fleet)
    assert {name: one.get("not_done") for name, one in made["by_task"].items()} == {
        "short": "the docs", "long": "the docs", "whole": None,
    }  # fmt: skip
    rows = next(rows for title, _, rows, _ in html_text.tables(made, 100) if title == "Not done")
    assert [(row[0], row[-1]) for row in rows] == [("long", "the docs"), ("short", "the docs")]
    for text in (markdown.render(made), html_page.render(made)):
        assert "Not done" in text


def test_tasks_come_in_the_order_of_their_work_failed_ones_first_without_the_runs_id(fleet: Fleet) -> None:
    for task in ("r1/analysis/1", "r1/discovery/1", "r1/broken/1", "r1/later/1"):
        add(fleet, task)
    spend(fleet, "r1.w1", "r1/discovery/1", 5)
    spend(fleet, "r1.w2", "r1/analysis/1", 5)
    fail(fleet, "r1.w1", "r1/broken/1", "permanent")
    (rows,) = [table[2] for table in html_text.tables(report(fleet), 10) if table[0] == "Tasks"]
    assert [(row[0], row[3]) for row in rows] == [
        ("broken/1", "w1"), ("later/1", ""), ("discovery/1", "w1"), ("analysis/1", "w2"),
    ]  # fmt: skip


def test_every_row_of_a_markdown_table_has_its_columns(fleet: Fleet) -> None:
    add(fleet, "a", title="x | y\n| z |")
    spend(fleet, "w", "a", 5, result="a|b|c")
    width = 0
    for line in markdown.render(report(fleet)).splitlines():
        if line.startswith("|"):
            cells = line.replace("\\\\", "").replace("\\|", "").count("|")
            assert width in {0, cells}, line
            width = cells
        else:
            width = 0


def test_the_picture_has_a_lane_for_each_agent_and_a_bar_for_each_task(fleet: Fleet) -> None:
    for number in range(6):
        add(fleet, f"t{number}")
        spend(fleet, f"w{number % 3}", f"t{number}", 1_000)
    tree = check_page(html_page.render(report(fleet)))
    shapes = [(one.get("class") or "", one) for one in tree.iter("rect")]
    assert sum(kind == "lane" for kind, _ in shapes) == 3
    done = [one for kind, one in shapes if kind == "bar complete"]
    assert len(done) == 6
    assert all(one.find("title") is not None for one in done)
    edges = [float(one.get("x") or 0) + float(one.get("width") or 0) for one in done]
    assert max(edges) <= 1200


def test_tasks_at_the_same_time_lie_in_rows_of_one_lane(fleet: Fleet) -> None:
    for task in "abcdefghij":
        add(fleet, task)
        take(fleet, "w", task)
    fleet.now += 1_000
    tree = check_page(html_page.render(report(fleet)))
    places = {one.get("y") for one in tree.iter("rect") if one.get("class") == "bar working"}
    assert len(places) == 6


def test_many_tasks_become_few_bars_and_the_report_says_so(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_BARS", 50)
    monkeypatch.setattr(timeline, "TIME_SLOTS", 10)
    monkeypatch.setattr(timeline, "MAX_LANES", 2)
    monkeypatch.setattr(html_page, "MAX_TASK_ROWS", 20)
    for number in range(120):
        add(fleet, f"t{number:03d}")
        spend(fleet, f"w{number % 3}", f"t{number:03d}", 10)
    found = report(fleet)
    lanes = found["timeline"]["lanes"]
    assert len(lanes) == 2
    assert found["timeline"]["left_out"]["agents"] == 1
    assert all(len(lane["tasks"]) <= 11 for lane in lanes)
    assert sum(bar.get("count", 1) for lane in lanes for bar in lane["tasks"]) == 80
    assert found["summary"]["complete"] == len(found["by_task"]) == 120
    html = html_page.render(found)
    check_page(html)
    assert "100 more tasks: see the JSON report" in html
    assert "show many tasks" in html
    assert "Left out: 1 agents" in html


@pytest.mark.slow
def test_ten_thousand_tasks_of_a_hundred_agents_give_a_page_of_bounded_size(fleet: Fleet) -> None:
    tasks = [f"t{number}" for number in range(10_000)]
    story = Story(set(tasks))
    fold = Fold(story)
    for number, task in enumerate(tasks):
        for now, to in ((number, "executing"), (number + 90, "complete" if number % 7 else "planned")):
            event: Any = {
                "kind": "task.moved",
                "agent": f"w{number % 100}",
                "subject": task,
                "now": now,
                "wall": 0,
                "seq": 1,
                "data": {"to": to, "class": "lost", "why": "gone"},
            }
            fold.read(event)
    fold.close(20_000, 0)
    found = report(fleet)
    agents = [f"w{number}" for number in range(100)]
    found["timeline"] = {**found["timeline"], **timeline.draw(story, lambda _: "x" * 2_000, agents, 0, 20_000)}
    row = {"title": "x" * 2_000, "state": "complete", "agent": "w", "failures": 0, "losses": 0, "result": "y" * 2_000}
    found["by_task"] = dict.fromkeys(tasks, row)
    text = html_page.render(found)
    check_page(text)
    assert len(text) < 4_000_000
    assert len(markdown.render(found)) < 1_000_000
