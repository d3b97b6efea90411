"""Workspaces of earlier versions: every kind of stored thing is in one, and the present version reads and continues it.

README.md here says how a frozen workspace is made, and what to do when one of these tests fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scratch import Shell
from tests.stored import answers, frozen, kinds, make, sequel
from tests.stores.redis_server import ALWAYS, Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.stored.stage import Stage

VERSIONS = pytest.mark.parametrize("version", frozen.FOLDERS, ids=lambda folder: folder.name)
ENGINES = pytest.mark.parametrize("engine", frozen.ENGINES)
MANY = 300  # fields: a workspace with fewer was not read whole
# Kinds that no play can leave, each with the reason.
IMPOSSIBLE: dict[str, str] = {}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that loses nothing, so that another process of it continues where one was frozen."""
    made = Server(tmp_path_factory.mktemp("redis"), **ALWAYS).start()
    yield made
    made.kill()


class Thawing:
    """Opens copies of frozen workspaces; closed at the end of the test."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
        self._folder, self._patch, self._request = folder, patch, request
        self.opened: list[Stage] = []

    def __call__(self, version: Path, engine: str) -> Stage:
        """A copy of that version's workspace."""
        server = None
        if engine == "redis":
            server = self._request.getfixturevalue("server")
            server.ask("FLUSHALL")
        place = self._folder / f"{version.name}-{engine}"
        self.opened.append(frozen.thaw(version, engine, place, self._patch, server))
        return self.opened[-1]


@pytest.fixture
def thaw(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Thawing]:
    with pytest.MonkeyPatch.context() as patch:
        made = Thawing(tmp_path, patch, request)
        yield made
        for stage in made.opened:
            stage.close()


@ENGINES
def test_every_kind_that_can_be_stored_is_in_a_frozen_workspace(engine: str, thaw: Thawing) -> None:
    found = {kind for version in frozen.FOLDERS for kind in kinds.stored(thaw(version, engine))}
    missing = kinds.declared(engine) - found - IMPOSSIBLE.keys()
    assert not missing, f"no frozen workspace has {sorted(missing)}; tests/stored/README.md says how one gets there"
    assert not IMPOSSIBLE.keys() & found, "what is there is not impossible"


def test_the_play_still_leaves_every_kind_and_answers_to_every_question(tmp_path: Path, thaw: Thawing) -> None:
    made = tmp_path / "made"
    made.mkdir()
    make.make(made, "sqlite", where=tmp_path)
    answers.freeze(made, tmp_path)
    stage = thaw(made, "sqlite")
    assert kinds.declared("sqlite") - kinds.stored(stage) - IMPOSSIBLE.keys() == set()
    assert answers.compared(answers.kept(made), answers.every(stage)) == []


@VERSIONS
@ENGINES
def test_every_stored_kind_is_declared(version: Path, engine: str, thaw: Thawing) -> None:
    assert kinds.stored(thaw(version, engine)) - kinds.declared(engine) == set()


@VERSIONS
def test_every_field_of_a_stored_record_is_still_named_in_the_code(version: Path, thaw: Thawing) -> None:
    named = kinds.names_in_code()
    fields = kinds.fields(thaw(version, "sqlite"))
    assert len(fields) > MANY
    forgotten = sorted(f"{kind}: {name}" for kind, name in fields if name not in named)
    assert forgotten == [], "no operation reads these by the name under which they are stored"


def test_every_operation_and_report_that_only_reads_is_asked(thaw: Thawing) -> None:
    asked = answers.questions(thaw(frozen.FOLDERS[-1], "sqlite"))
    assert sorted(asked) == sorted(operation.name for operation in answers.operations())


@VERSIONS
@ENGINES
def test_the_present_version_answers_what_the_frozen_one_answered(version: Path, engine: str, thaw: Thawing) -> None:
    found = answers.compared(answers.kept(version), answers.every(thaw(version, engine)))
    assert not found, "\n".join([f"{len(found)} differences:", *found[:40]])


@VERSIONS
@ENGINES
def test_its_log_is_clean_and_stays_so_while_its_agents_continue(version: Path, engine: str, thaw: Thawing) -> None:
    stage = thaw(version, engine)
    before = stage.verify()
    assert before.ok, before.findings
    assert before.archives > 1
    for scene in sequel.SCENES:
        scene(stage)
    after = stage.verify()
    assert after.ok, after.findings
    assert after.archives > before.archives
    assert after.last > before.last


@VERSIONS
def test_the_real_commands_read_it_on_a_machine_that_never_saw_it(version: Path, tmp_path: Path) -> None:
    frozen.unpack(version, "sqlite", tmp_path)
    shell = Shell(tmp_path)
    assert shell.json("verify", exit=0)["last"] > 400
    frozen_claims = answers.kept(version)["status(limit=1000)"]["claims"]
    present = shell.json("status", "--limit", "1000", exit=0)["claims"]
    assert [(one["claim"], one["token"]) for one in present] == [(one["claim"], one["token"]) for one in frozen_claims]
    shell.json("release", "src/a.py", "--as", "ann", exit=0)
    assert shell.json("claim", "src/a.py", "--as", "dan", exit=0)["agent"] == "dan"
    shell.json("verify", exit=0)


@VERSIONS
def test_a_difference_is_found_whatever_it_is_called_now(version: Path) -> None:
    before = answers.kept(version)
    assert answers.compared(before, before) == []
    for question, value in before.items():
        if question.partition("(")[0] in answers.NOT_COMPARED or not [*answers.leaves(value)]:
            continue
        assert answers.compared({question: value}, {question: {}}), question
