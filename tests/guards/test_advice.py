"""The next step of a refusal works when it is typed as it stands, whatever the files are called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.interfaces.quick import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interfaces.quick import QuickAgent

ADAS = (
    "it's odd.py", "d ir/c d.py", "$HOME.py", "-dash.py", "*star.py", 'q"uo"te.py', "_private.py", "back\\slash.py",
    "#hash.py", "!bang.py", ":colon.py", "a&b;c.py", "[x].py", "plain.py", "sub/deep.py",
)  # fmt: skip
BENS = ("b'own.py", "b en/o wn.py", "-bdash.py", "b*star.py", "b$x.py", ":bcolon.py", "_b.py", "sub/bown.py", "b[1].py")
STEP = re.compile(r"(?:Run|Wait:|\(|own,) ?`([^`]+)`")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scratch, QuickAgent]]:
    """Ada and Ben have changed files; `other` is a branch that changes one of Ada's."""
    made = Scratch(tmp_path_factory.mktemp("advice"), dict.fromkeys((*ADAS, *BENS), "x\n"))
    made.git("switch", "-qc", "other")
    (made.folder / "plain.py").write_text("other\n")
    made.git("commit", "-qam", "other")
    made.git("switch", "-q", "main")
    ada, ben = made.agent("ada"), made.agent("ben")
    for agent, names in ((ada, (*ADAS, "new ada.py")), (ben, (*BENS, "new b'en.py"))):
        agent.boot()
        for name in names:
            agent.write(name, f"of {agent.session}\n")
    made.keep()
    yield made, ben
    made.close()


@pytest.fixture
def ben(kept: tuple[Scratch, QuickAgent]) -> QuickAgent:
    """As they were."""
    kept[0].put_back()
    return kept[1]


def quoted(name: str) -> str:
    return "'./" + name.replace("'", "'\\''") + "'"


@pytest.mark.parametrize(
    "command",
    [
        *[f"echo x > {quoted(name)}" for name in ADAS],
        "git add -A", "git add .", "git add -u", "git add '*.py'", "git commit -am x", "git commit -m x -- .",
        "git commit --all -m x --author='A B <a@b.c>'", "git stash", "git stash -u", "git stash -a",
        "git stash push -m 'a b'", "git checkout .", "git restore .", "git restore -s other .", "git reset --hard",
        "git checkout -f", "git clean -fd", "git clean -fdx", "git checkout-index -f -a", "git rm --cached -r .",
        "git -C sub add -A", "git checkout other", "git switch -c feat/x other", "git checkout -B main other",
        "git checkout -f HEAD", "git merge other", "git rebase other", "git bisect start", "git branch -f main other",
        "gh pr checkout 3", "rm -rf sub", "rm -f *.py", "git mv plain.py p2.py",
    ],
)  # fmt: skip
def test_the_next_step_of_a_refusal_works_as_it_stands(ben: QuickAgent, command: str) -> None:
    scratch = ben.place
    refusal = ben.bash(command)
    assert refusal.code, "it was let through"
    found = STEP.search(refusal.err)
    assert found, refusal.err
    step = found[1].replace("--wait 60s", "--wait 1ms")
    answer, call = ben.before("Bash", {"command": step})
    assert answer.code == 0, f"{step}: {answer.err}"
    done = ben.run(step)
    ben.after("Bash", {"command": step}, call)
    if step.startswith("dibs claim"):
        assert (done.code, "ada holds" in done.err) == (1, True), done
    else:
        assert done.code == 0, f"{step}: {done}"
    if step.startswith("git worktree add"):
        scratch.git("worktree", "remove", "--force", step.split()[-1] if "other" not in step else step.split()[-2])
    staged = scratch.git("diff", "--cached", "--name-only", "-z").split("\0")
    assert not set(ADAS) & set(staged)
    assert [name for name in ADAS if (scratch.folder / name).read_text() != "of ada\n"] == []


def test_a_message_that_is_not_in_the_words_is_left_to_the_agent(ben: QuickAgent) -> None:
    refusal = ben.bash('git commit -am "$(cat message)"').err
    assert "Run it again without -a, and with `-- " in refusal
    assert "…" not in refusal.partition("Run it again")[2]


def test_a_file_whose_deletion_is_staged_is_not_named_to_git_add(ben: QuickAgent) -> None:
    ben.bash("git rm -qf _b.py")
    refusal = ben.bash("git add -A")
    found = STEP.search(refusal.err)
    assert found, refusal
    done = ben.run(found[1])
    assert done.code == 0, f"{found[1]}: {done}"
