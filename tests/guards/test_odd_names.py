"""Files with names that cannot be shown or are not composed: guarded, and brought back under their own name."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.interfaces.repository import Repository

ODD = ("new\nline.py", "tab\there.py", "esc\x1b.py", "bell\x07\x08.py", "del\x7f.py", "d\x01/f\n.py")
DECOMPOSED = "cafe\u0301.py"


def make(name: str, text: str) -> str:
    """A command of a program that writes the file: no word of it says which."""
    code = (
        "import json,os,sys; n=json.loads(sys.argv[1]); os.makedirs(os.path.dirname(n) or '.', exist_ok=True);"
        f"open(n,'w').write({text!r})"
    )
    return f"python3 -c {shlex.quote(code)} {shlex.quote(json.dumps(name))}"


@pytest.mark.parametrize("name", [*ODD, DECOMPOSED])
def test_another_agents_file_of_an_odd_name_is_not_swept_up(repo: Repository, name: str) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    ada.bash(make(name, "precious"))
    bob.edit("b.py", "bob's\n")
    for command in ("git add -A", "git add .", "git stash -u", "git clean -fd", "git add -A && git commit -m x"):
        assert "work of ada" in bob.may_run(command).refusal, command
    advised = bob.may_run("git add -A").refusal.partition("Run `")[2].partition("` instead")[0]
    assert advised.startswith("git add"), "the safe command"
    done, _ = bob.bash(advised)
    assert done.code == 0
    assert repo.git("diff", "--cached", "--name-only").split() == ["b.py"]


@pytest.mark.parametrize("name", ["caf\u00e9.py", DECOMPOSED, "tab\there.py"])
def test_restore_writes_the_file_of_that_name_and_no_other(repo: Repository, name: str) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    ada.bash(make(name, "precious"))
    bob.bash(make(name, "lost"))
    (kept,) = repo.person.dibs("restore", "--list")["kept"]
    for agent in (ada, bob):
        agent.end()
    assert repo.person.dibs("restore", kept["id"]).get("restored"), kept
    assert (repo.folder / name).read_text() == "precious"
    assert repo.git("status", "--porcelain", "-z").count("\0") == 1, "no second file"


@pytest.mark.parametrize("command", ["mv {} ok.py", "git mv {} ok.py", "git rm {}", "rm {}", "git rm 'tab*'"])
def test_a_file_of_an_odd_name_is_moved_to_another_name_or_deleted_and_not_made(repo: Repository, command: str) -> None:
    repo.write("tab\there.py", "x\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "odd")
    ada = repo.agent("ada")
    ada.boot()
    assert "may be moved or deleted" in ada.may_edit("tab\there.py").refusal
    assert "has a control character" in ada.may_run("git mv a.py $'a\\tb.py'").refusal
    done, after = ada.bash(command.format("$'tab\\there.py'"))
    assert (done.code, after.told) == (0, "")
    assert not (repo.folder / "tab\there.py").exists()
