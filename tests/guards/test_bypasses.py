"""Ways around the guards (tests/corpora/bypasses.txt): refused, or noticed and undone to the byte, or without effect.

Ada holds src/held.py with work that is not committed. Ben's call is really made: its first hook, what it does, its
second hook. What was overwritten must come back to the byte by Ada's `dibs restore`, also when it happens again with
the same content, and when Ada's own harmless command comes between what Ben's did and his second hook.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.interfaces.quick import SHELL, QuickAgent, Scratch, blob_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

CORPUS = Path(__file__).parents[1] / "corpora" / "bypasses.txt"
LINES = [line for line in CORPUS.read_text().splitlines() if line and not line.startswith("#")]
ENOUGH = 120  # lines that do something here
HELD = "src/held.py"
WORK = "def held():\n    return {  'a':1 }\n# Ada's work\n"
MESS = "mess\n"
PATCH = """--- a/src/held.py
+++ b/src/held.py
@@ -1,3 +1,3 @@
 def held():
     return {  'a':1 }
-# Ada's work
+# mess
"""
OVERWRITE = {
    "overwrite.py": "import sys\nopen((sys.argv + ['src/held.py'])[1], 'w').write('mess')\n",
    "overwrite.sh": "#!/bin/sh\necho mess > src/held.py\n",
    "overwrite.js": "require('fs').writeFileSync('src/held.py', 'mess')\n",
    "overwrite.pl": 'open(F, ">", "src/held.py"); print F "mess"\n',
    "__init__.py": "",
}
FILES = {
    HELD: "def held():\n    return 1\n",
    "src/other.py": "other\n",
    "new/held.py": MESS,
    "Makefile": "gen:\n\t@python3 tools/overwrite.py\nclean:\n\t@rm -f src/held.py\n",
    "package.json": '{"name": "x", "scripts": {"gen": "node tools/overwrite.js"}}\n',
    "fix.patch": PATCH,
    **{f"tools/{name}": text for name, text in OVERWRITE.items()},
}


class Stage:
    """The repository in which Ada holds her file, Ada, and Ben in each of the clients."""

    def __init__(self, folder: Path) -> None:
        self.scratch = Scratch(folder, FILES)
        top = self.scratch.folder
        (top / "tools" / "overwrite.sh").chmod(0o755)
        (top / "link.py").symlink_to(HELD)
        (top / "linked").symlink_to("src")
        _archives(top)
        self.scratch.git("add", "-A")
        self.scratch.git("commit", "-q", "-m", "more")
        self.ada = self.scratch.agent("ada")
        self.bens = {client: self.scratch.agent(f"ben-{client}", client) for client in SHELL}
        self.ada.boot()
        for ben in self.bens.values():
            ben.boot()
        self.ada.write(HELD, WORK)
        self.scratch.keep()

    def held(self) -> str | None:
        """What is in Ada's file; None where it is gone, or no file of its own any more."""
        path = self.scratch.folder / HELD
        return path.read_text(errors="replace") if path.is_file() and not path.is_symlink() else None


def _archives(top: Path) -> None:
    """What unpacks over Ada's file."""
    for name, mode in (("payload.tar", "w"), ("payload.tgz", "w:gz")):
        with tarfile.open(top / name, mode) as archive:  # type: ignore[call-overload]
            member = tarfile.TarInfo(HELD)
            member.size = len(MESS)
            archive.addfile(member, io.BytesIO(MESS.encode()))
    with zipfile.ZipFile(top / "payload.zip", "w") as packed:
        packed.writestr(HELD, MESS)
    entry = f"070707000000000000100644000000000000000001000000000000000000000{len(HELD) + 1:06o}{len(MESS):011o}"
    end = f"0707070000000000000000000000000000000000010000000000000000000000{11:05o}{0:011o}TRAILER!!!\0"
    (top / "payload.cpio").write_text(f"{entry}{HELD}\0{MESS}{end}")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("bypasses"))
    yield made
    made.scratch.close()


class Bypass:
    """One line of the corpus: by which client, with which tool, and what that does."""

    def __init__(self, line: str, top: Path) -> None:
        line = line.replace("$REPO", str(top))
        call: dict[str, Any] = json.loads(line) if line.startswith('{"') else {"shell": line}
        self.client = call.get("client", "claude")
        self.tool = call.get("tool", SHELL[self.client])
        self.input = call.get("input", {"command": call.get("shell", "")})
        self.does = call.get("does", call.get("shell", ""))

    def passes(self, ben: QuickAgent) -> str:
        """Ben's first hook; the id of the call if it may go on, and then it has."""
        answer, call = ben.before(self.tool, self.input)
        if answer.code:
            return ""
        ben.run(self.does)
        return call


def brought_back(stage: Stage, known: set[str]) -> None:
    """Ada has heard of it, and gets her content back to the byte."""
    stage.ada.heard.clear()
    stage.ada.prompt()
    entries = stage.ada.dibs("restore", "--list")["kept"]
    mine = [entry for entry in entries if entry["path"] == HELD and entry["blob"] == blob_of(WORK.encode())]
    new = [entry for entry in mine if entry["id"] not in known]
    assert new, f"it is {stage.held()!r} now, and nothing to restore it from: {entries}"
    known.update(entry["id"] for entry in entries)
    events = [event for event in stage.scratch.events("edit.") if event["subject"] == HELD]
    assert any(event["data"].get("id") == new[-1]["id"] for event in events), events
    answer = stage.ada.dibs("restore", new[-1]["id"])
    assert answer["ok"], answer
    assert stage.held() == WORK


def told(stage: Stage) -> str:
    """All that Ada heard."""
    return "".join(stage.ada.heard)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:60])
def test_a_way_around_is_refused_or_noticed_and_undone_or_does_nothing(stage: Stage, line: str) -> None:
    stage.scratch.put_back()
    bypass = Bypass(line, stage.scratch.folder)
    ben, known = stage.bens[bypass.client], set[str]()
    for _ in range(2):  # the second time the same content comes
        stage.ada.heard.clear()
        call = bypass.passes(ben)
        if call:
            ben.after(bypass.tool, bypass.input, call)
        if stage.held() == WORK:
            return
        assert call, "it was refused, and yet"
        brought_back(stage, known)
        assert HELD in told(stage), "Ada was not told"
    # and with Ada's own command between what it did and Ben's second hook
    stage.scratch.put_back()
    stage.ada.heard.clear()
    call = bypass.passes(ben)
    assert call, "it passed before"
    stage.ada.bash("ls")
    heard = told(stage)
    ben.after(bypass.tool, bypass.input, call)
    brought_back(stage, set())
    assert HELD in heard + told(stage), "Ada was not told"


@pytest.mark.long
def test_the_corpus_has_at_least_120_lines_that_do_something(stage: Stage) -> None:
    """A line whose program is not on this machine proves nothing: without a guard most of them have an effect."""
    works = tried = 0
    env = {**stage.scratch.env, "PATH": os.environ["PATH"]}
    for line in LINES:
        stage.scratch.put_back_files()
        bypass = Bypass(line, stage.scratch.folder)
        stage.ada.process.do("run", ["bash", "-c", bypass.does], stage.scratch.folder, env)
        works += stage.held() != WORK
        tried += 1
        if works >= ENOUGH:
            break
    assert works >= ENOUGH, f"{works} of {tried}"
