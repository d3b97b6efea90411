"""The corpus of git commands against another agent's file: each is refused, or noticed and undone, or does nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.guards.test_hooks_git import Shared

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

CORPUS = Path(__file__).parents[1] / "corpora" / "bypasses_git.txt"
PARTS = 2  # of the corpus, one test each: they can run at the same time
HELD, WORK = "src/held.py", "the work of ada\n"


class Attacked(Shared):
    """Ada has changed src/held.py; bob tries. After a command that ran, all is put back."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.ada.edit("lib/last.py", "the last commit\n")
        assert self.ada.bash("git add lib/last.py && git commit -qm last lib/last.py")[0].code == 0
        for name, meant in (
            ("wipe", "checkout ."),
            ("aa", "add -A"),
            ("ci", "commit -am"),
            ("discard", "!git reset --hard"),
        ):
            self.git("config", f"alias.{name}", meant)
        self.ada.edit(HELD, "stashed\n")
        assert self.ada.bash(f"git stash push {HELD}")[0].code == 0
        self.start = self.git("rev-parse", "HEAD").strip()
        self.stash = self.git("rev-parse", "stash").strip()
        diff = self.git("diff", "v1", "taken")
        (folder / "taken.diff").write_text(diff)
        (folder / "held.diff").write_text(diff.replace("src/held.py", "held.py"))
        (folder / "taken.mbox").write_text(self.git("format-patch", "--stdout", "v1..taken"))
        (folder / "names.txt").write_text(f"{HELD}\n")
        (folder / "Makefile").write_text("wipe:\n\tgit checkout .\n")
        self.ada.edit(HELD, WORK)
        self.whole = self.state()

    def state(self) -> tuple[str, ...]:
        """What ada's work stands on: her file, the branch and its commit, what is staged, the stash, the record."""
        path = self.folder / HELD
        head = (self.folder / ".git" / "HEAD").read_text().strip()
        refs = self._refs()
        return (
            path.read_text() if path.exists() else "gone",
            head,
            refs.get(head.removeprefix("ref: "), ""),
            self._said("diff", "--cached", "--name-only", "--", HELD),
            self._said("ls-files", "-v", "--", HELD),
            refs.get("refs/stash", ""),
            str((self.local / "dibs.db").exists()),
            self._refs("--git-dir", str(self.remote)).get("refs/heads/main", ""),
        )

    def _refs(self, *where: str) -> dict[str, str]:
        """The commit of each reference."""
        rows = self._said(*where, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(row.split(" ") for row in rows)

    def _said(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    def put_back(self) -> None:
        """As it was at first, behind everybody's back."""
        for kind in ("merge", "rebase", "cherry-pick", "revert", "am"):
            self._said(kind, "--abort")
        self._said("bisect", "reset")
        self._said("sparse-checkout", "disable")
        self._said("symbolic-ref", "HEAD", "refs/heads/main")
        self._said("update-index", "--no-assume-unchanged", HELD)
        self._said("reset", "-q", "--hard", self.start)
        self._said("update-ref", "--create-reflog", "-m", "stash", "refs/stash", self.stash)
        self._said("branch", "-D", "other", "empty")
        self.ada.dibs("release", "--all")
        self.ada.read(HELD)
        self.ada.edit(HELD, WORK)
        self.whole = self.state()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    made = Attacked(tmp_path_factory.mktemp("attacked"))
    yield made
    made.close()


def lines() -> list[str]:
    """The corpus."""
    return [line for line in CORPUS.read_text().splitlines() if line and not line.startswith("#")]


def attempt(attacked: Attacked, line: str) -> str:
    """refused, no effect, noticed (and undone), or what changed without a word."""
    command = line.replace("{top}", str(attacked.folder))
    before = attacked.whole  # looked at after the command before this one
    if attacked.bob.may_run(command, "try").code == 2:
        assert attacked.state() == before
        return "refused"
    marks = len(attacked.events("edit.violated", "edit.unattributed", "commit.unverified"))
    attacked.bob.client.run("bash", "-c", command, cwd=attacked.folder, CLAUDE_CODE_SESSION_ID="bob")
    attacked.bob.did("Bash", "try", command=command)
    after = attacked.state()
    if after == before:
        attacked.put_back()
        return "no effect"
    told = attacked.events("edit.violated", "edit.unattributed", "commit.unverified")[marks:]
    if after[0] != before[0]:
        kept = [event["data"]["id"] for event in told if event["kind"] != "commit.unverified"]
        if kept:
            attacked.ada.dibs("restore", kept[-1])
            noticed = (attacked.folder / HELD).read_text() == WORK
        else:
            noticed = False
    else:
        noticed = bool(told)
    attacked.put_back()
    return "noticed" if noticed else f"silent: {before} → {after}"


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_no_git_command_takes_anothers_work_in_silence(attacked: Attacked, part: int) -> None:
    assert len(lines()) > 200
    found = {line: attempt(attacked, line) for line in lines()[part::PARTS]}
    silent = [f"{line}\n    {how}" for line, how in found.items() if how.startswith("silent")]
    assert not silent, "\n".join(silent)
    refused = [line for line, how in found.items() if how == "refused"]
    assert len(refused) > len(found) * 0.85, [f"{how}: {line}" for line, how in found.items() if how != "refused"]
