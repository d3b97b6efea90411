"""`dibs map`: what is learned, in which order, folded, paged, drawn; the names are anybody's, and harmless."""

from __future__ import annotations

import contextlib
import io
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

import dibs
from dibs.audit import map_svg, resource_map
from dibs.errors import DibsError
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.main import main
from dibs.interfaces.cli.render import resource_map as drawn
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.scratch import Shell

HOSTILE = 'x"><script>alert(1)</script>&amp;\u202e.py'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["init", str(tmp_path), "--clients", "none"]) == 0
    return tmp_path


@pytest.fixture
def ann(folder: Path) -> Iterator[dibs.Workspace]:
    with contextlib.closing(dibs.open(str(folder), "ann")) as opened:
        yield opened


@pytest.fixture
def bob(folder: Path) -> Iterator[dibs.Workspace]:
    with contextlib.closing(dibs.open(str(folder), "bob")) as opened:
        yield opened


def access(found: Any) -> dict[str, dict[str, str]]:
    """Resource → agent → how it uses it."""
    return {one["resource"]: {use["agent"]: use["access"] for use in one["agents"]} for one in found["resources"]}


def test_claims_documents_and_events_are_on_the_map_and_tasks_are_not(ann: dibs.Workspace, bob: dibs.Workspace) -> None:
    ann.claim("src/a.py").release()
    held = ann.claim("db:x", mode="read")
    bob.claim("db:x", mode="watch")
    with pytest.raises(DibsError):
        bob.claim("db:x")
    ann.state_set("stock", 5)
    bob.subscribe("state:stock")
    bob.subscribe("build.done")
    ann.emit("build.done")
    ann.task_add("t", id="t1")
    ann.task_claim("t1")
    found = ann.map()
    assert access(found) == {
        "db:x": {"ann": "read", "bob": "read"},
        "event:build.done": {"ann": "write", "bob": "read"},
        "src/a.py": {"ann": "write"},
        "state:stock": {"ann": "write", "bob": "read"},
    }
    uses = {(one["resource"], use["agent"]): use for one in found["resources"] for use in one["agents"]}
    assert uses["db:x", "ann"]["holds"]
    assert not uses["src/a.py", "ann"]["holds"]
    assert uses["db:x", "bob"]["refused"] == 1
    assert found["totals"] == {"resources": 4, "agents": 2, "writers": 1, "left_out": 0}
    assert [agent["agent"] for agent in found["agents"]] == ["ann", "bob"]
    held.release()


def test_an_upgrade_and_a_hand_over_make_the_new_holder_a_writer(ann: dibs.Workspace, bob: dibs.Workspace) -> None:
    ann.claim("a.py", mode="read")
    ann.claim("a.py")
    assert access(ann.map())["a.py"] == {"ann": "read+write"}
    bob.whoami()
    bob.claim("z.py").release()
    ann.claim("b.py")
    ann.release("b.py", to="bob")
    assert access(ann.map())["b.py"] == {"ann": "write", "bob": "write"}


def test_the_order_is_always_the_same_and_pages_make_the_whole(ann: dibs.Workspace) -> None:
    for name in ("z", "m", "a", "k/1", "k/0", "b:1"):
        ann.claim(name).release()
    whole = [one["resource"] for one in ann.map()["resources"]]
    assert whole == sorted(whole)
    pages, after = [], ""
    while True:
        page = ann.map(limit=2, after=after)
        pages += [one["resource"] for one in page["resources"]]
        if not page["more"]:
            break
        after = page["cursor"] or ""
    assert pages == whole
    assert [one["resource"] for one in ann.map("k")["resources"]] == ["k/0", "k/1"]
    until(lambda: ann.map(since="1ms")["resources"] == [])


def test_many_paths_are_folded_as_little_as_needed(ann: dibs.Workspace) -> None:
    for top in "ab":
        for number in range(4):
            ann.claim(f"{top}/x/{number}.py").release()
    ann.claim("a/x/0.py")
    ann.claim("deploy:prod").release()
    assert len(ann.map(rows=9)["resources"]) == 9
    found = ann.map(rows=8)
    assert (found["depth"], [one["resource"] for one in found["resources"]]) == (2, ["a/x/", "b/x/", "deploy:prod"])
    first = found["resources"][0]
    assert (first["folded"], first["agents"][0]["writes"], first["agents"][0]["holds"]) == (4, 5, True)
    assert [one["resource"] for one in ann.map(depth=1)["resources"]] == ["a/", "b/", "deploy:prod"]


def test_the_guards_level_and_the_roles_of_the_config_are_told(folder: Path) -> None:
    config = folder / ".dibs" / "config.toml"
    text = config.read_text() + '\n[roles.assign]\nboss = "orchestrator"\n'
    config.write_text(text)
    with dibs.open(str(folder), "ann") as ws:
        ws.claim("db/migrations/1.sql", "a.py", "port:80")
        found = ws.map()
    assert {one["resource"]: one["level"] for one in found["resources"]} == {
        "a.py": "guarded", "db/migrations/1.sql": "strict", "port:80": "",
    }  # fmt: skip
    assert found["roles"] == [{"who": "boss", "role": "orchestrator", "write": []}]


def test_the_table_is_fitted_to_the_terminal_and_says_what_has_no_room(ann: dibs.Workspace, folder: Path) -> None:
    agents = [f"agent-number-{number:02d}" for number in range(20)]
    for agent in agents:
        with dibs.open(str(folder), agent) as ws:
            ws.claim(f"src/{agent}/a/rather/long/path/of/a/file.py")
    found = ann.map()
    for width in (60, 100, 200):
        lines = terminal.text(drawn.table(found, width))
        assert all(terminal.cells(line) <= width for line in lines[: len(agents) + 1])
    assert any(line.startswith("OTHERS are ") for line in terminal.text(drawn.table(found, 60)))
    assert terminal.text(drawn.table({**found, "resources": []}, 80)) == ["nothing was claimed or written yet"]


def test_hostile_names_are_escaped_in_the_picture_and_the_table(ann: dibs.Workspace) -> None:
    ann.claim(HOSTILE)
    ann.emit("a.b")
    found: Any = ann.map()
    found["agents"][0]["name"] = found["resources"][1]["agents"][0]["name"] = "<b>\x1b[31m"
    text = map_svg.render(found)
    root = ET.fromstring(text)  # noqa: S314 our own
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags == {"svg", "style", "rect", "text", "title", "line", "g", "circle", "path"}
    assert "<script" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "\x1b[31m" not in "\n".join(terminal.text(drawn.table(found, 100)))


def test_a_map_too_large_to_keep_says_how_much_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_map, "MAX_RESOURCES", 2)
    uses = resource_map.Uses()
    for number in range(4):
        event: Any = {"kind": "state.set", "agent": "a", "subject": str(number), "data": {}, "seq": 1, "wall": 1}
        uses.noted(event)
    assert (len(uses.rows), uses.left_out) == (2, 2)


def test_the_command_prints_a_table_and_writes_a_picture(shell: Shell) -> None:
    assert shell.run("map").stdout == "nothing was claimed or written yet\n"
    assert shell.run("map", "src").stdout == "nothing that you ask for was claimed or written\n"
    shell.json("claim", "a.py", "--as", "ann", exit=0)
    assert shell.run("claim", "a.py", "--as", "bob").returncode == 1
    said = shell.run("map").stdout.splitlines()
    assert [re.split(r"\s+", line) for line in said[:2]] == [["RESOURCE", "ann", "bob"], ["a.py", "W*", "x"]]
    assert shell.run("map", "--svg", "map.svg").stdout.startswith("wrote ")
    ET.parse(shell.folder / "map.svg")  # noqa: S314 our own
    assert shell.run("map", "--svg", "no/such/folder/map.svg").returncode == 2
