"""`dibs restore`: what was overwritten under a claim comes back, and nothing is lost on the way."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.overwritten_file import overwritten
from tests.scratch import Shell


class Accident:
    """A file that ann holds, and that bob overwrote by a command that nobody could read."""

    def __init__(self, shell: Shell, name: str = "a.py", tree: Path | None = None) -> None:
        self.shell, self.tree = shell, tree or shell.folder
        self.path, self.id = overwritten(self.tree, name)

    def kept(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.shell.json("restore", "--list", exit=0)["kept"]
        return found


@pytest.fixture
def accident(shell: Shell) -> Accident:
    return Accident(shell)


def test_what_is_kept_is_listed_with_whose_it_was_and_who_did_it(accident: Accident) -> None:
    (one,) = accident.kept()
    assert (one["id"], one["path"], one["holder"], one["by"]) == (accident.id, "a.py", "ann", "bob")
    assert accident.id in accident.shell.run("restore").stdout
    assert "a.py" in accident.shell.run("restore", "--list").stdout


@pytest.mark.parametrize("by_path", [True, False])
def test_the_holder_gets_its_content_back_byte_for_byte_with_the_files_mode(accident: Accident, by_path: bool) -> None:
    accident.path.chmod(0o750)
    found = accident.shell.json("restore", "a.py" if by_path else accident.id, "--as", "ann", exit=0)
    assert accident.path.read_bytes() == b"ann's\x00 work\r\n"
    assert accident.path.stat().st_mode & 0o777 == 0o750
    assert (found["restored"], found["id"]) == ("a.py", accident.id)
    accident.shell.json("verify", exit=0)


def test_a_restore_can_be_taken_back(accident: Accident) -> None:
    undo = accident.shell.json("restore", "a.py", "--as", "ann", exit=0)["undo"]
    accident.shell.json("restore", undo, "--as", "ann", exit=0)
    assert accident.path.read_bytes() == b"bob's mess"
    refs = subprocess.run(["git", "for-each-ref"], cwd=accident.tree, capture_output=True, text=True, check=True).stdout
    assert f"refs/dibs/kept/{accident.id}" in refs
    assert f"refs/dibs/kept/{undo}" in refs


def test_a_path_that_another_agent_holds_now_is_refused_and_left_alone(accident: Accident) -> None:
    error = accident.shell.json("restore", "a.py", "--as", "bob", exit=1)["error"]
    assert (error["code"], error["blockers"][0]["agent"]) == ("held", "ann")
    assert accident.path.read_bytes() == b"bob's mess"
    assert len(accident.kept()) == 1


def test_whoever_restores_what_is_settled_holds_the_path_then(accident: Accident) -> None:
    accident.shell.json("ack", accident.id, "--as", "ann", exit=0)
    accident.shell.json("release", "a.py", "--as", "ann", exit=0)
    accident.shell.json("restore", "a.py", "--as", "cid", exit=0)
    assert accident.shell.json("claim", "a.py", "--as", "bob", exit=1)["error"]["blockers"][0]["agent"] == "cid"


def test_whoever_restores_what_is_not_settled_gives_it_back_to_its_agent(accident: Accident) -> None:
    accident.shell.json("release", "a.py", "--as", "ann", exit=0)
    accident.shell.json("restore", "a.py", "--as", "cid", exit=0)
    assert accident.path.read_bytes() == b"ann's\x00 work\r\n"
    assert accident.shell.json("status", exit=0)["claims"] == []


def test_a_file_that_was_deleted_comes_back(accident: Accident) -> None:
    accident.path.unlink()
    assert accident.shell.json("restore", "a.py", "--as", "ann", exit=0)["undo"] is None
    assert accident.path.read_bytes() == b"ann's\x00 work\r\n"


def test_git_may_clear_up_in_between(accident: Accident) -> None:
    for words in (["repack", "-a", "-d", "-q"], ["prune-packed"], ["gc", "-q", "--prune=now"]):
        subprocess.run(["git", *words], cwd=accident.tree, check=True)
    accident.shell.json("restore", "a.py", "--as", "ann", exit=0)
    assert accident.path.read_bytes() == b"ann's\x00 work\r\n"


def test_a_damaged_object_is_found_out_and_nothing_is_written(accident: Accident) -> None:
    blob = accident.kept()[0]["blob"]
    path = accident.tree / ".git" / "objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes(b"x")
    assert accident.shell.json("restore", "a.py", "--as", "ann", exit=2)["error"]["code"] == "unavailable"
    assert accident.path.read_bytes() == b"bob's mess"


def test_what_is_not_kept_is_not_found(accident: Accident) -> None:
    assert accident.shell.json("restore", "b.py", "--as", "ann", exit=1)["error"]["code"] == "not_found"


def test_a_content_belongs_to_the_working_tree_it_was_overwritten_in(shell: Shell) -> None:
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "commit", "-q", "--no-verify", "--allow-empty", "-m", "x"], cwd=shell.folder, check=True)
    linked = shell.folder.parent / "linked"
    subprocess.run([*git, "worktree", "add", "-q", str(linked)], cwd=shell.folder, check=True)
    accident = Accident(shell, tree=linked)
    assert shell.json("restore", "a.py", "--as", "ann", exit=1)["error"]["code"] == "not_found"
    shell.json("restore", "a.py", "--as", "ann", exit=0, cwd=linked)
    assert accident.path.read_bytes() == b"ann's\x00 work\r\n"


def test_without_git_the_contents_lie_in_the_local_folder(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "plain")
    shell.folder.mkdir()
    shell.json("init", exit=0)
    accident = Accident(shell)
    assert (shell.folder / ".dibs" / "local" / "objects").is_dir()
    shell.json("restore", "a.py", "--as", "ann", exit=0)
    assert accident.path.read_bytes() == b"ann's\x00 work\r\n"


def test_what_a_holder_had_in_its_file_is_kept_when_its_claim_is_taken_away(shell: Shell) -> None:
    subprocess.run(["git", "init", "-q"], cwd=shell.folder, check=True)
    (shell.folder / "a.py").write_text("ann's half\n")
    (shell.folder / "b.py").write_text("clean\n")
    subprocess.run(["git", "add", "b.py"], cwd=shell.folder, check=True)
    shell.json("claim", "a.py", "b.py", "--as", "ann", exit=0)
    assert shell.json("release", "a.py", "--force", exit=64)["error"]["field"] == "why"
    answer = shell.json("release", "a.py", "--force", "--why", "urgent", exit=0)
    assert [one["path"] for one in answer["kept"]] == ["a.py"]
    assert "urgent" in shell.run("inbox", "--as", "ann").stdout
    (shell.folder / "a.py").write_text("somebody else's\n")
    assert "took it away from ann" in shell.run("restore", "--list").stdout
    shell.json("restore", "a.py", "--as", "ann", exit=0)
    assert (shell.folder / "a.py").read_text() == "ann's half\n"
