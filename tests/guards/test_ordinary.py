"""Ordinary work passes: what coding agents really type, before the shell guard, with somebody else there and alone.

The commands are in tests/corpora. The guard is asked in this process, because there are some hundreds of them; that a
hook's own process answers the same is proved elsewhere (test_hooks_shell.py).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.errors import DibsError
from dibs.guards import open_targets, payload, tool_call
from dibs.guards.caller import open_session
from dibs.shell import Doubt
from dibs.workspace import location
from tests.interfaces.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

CORPORA = Path(__file__).resolve().parents[1] / "corpora"
MOST = 0.02  # of the commands may be refused while somebody else is at work; none where nobody is
FILES = (
    "src/held_a.py", "src/app.py", "src/util.py", "docs/held_b.md", "docs/guide.md", "lib/core.py", "lib/other.py",
    "lib/util.py", "tests/test_app.py", "data/rows.csv", "data/rows.json", "data/conf.yml", "web/main.ts", "README.md",
    "VERSION", "package.json", "package-lock.json", "pyproject.toml", "scripts/check.sh", "scripts/gen.py",
    "templates/a.html", "packages/one/index.ts", "cmd/main.go", "requirements.txt",
)  # fmt: skip


def commands(name: str) -> list[str]:
    """The commands of one file, new lines and backslashes put in."""
    lines = [line for line in (CORPORA / name).read_text().splitlines() if line and not line.startswith("#")]
    return ["\\".join([part.replace("\\n", "\n") for part in line.split("\\\\")]) for line in lines]


def ordinary() -> list[str]:
    """All of them."""
    return [*commands("ordinary.txt"), *commands("ordinary_git.txt")]


def a_repository(folder: Path) -> Repository:
    """With a remote, a branch that is ahead, and ignored folders."""
    made = Repository(Path(os.path.realpath(folder)))
    for name in FILES:
        made.write(name, "{}\n" if name.endswith(".json") else f"{name} foo\n")
    made.write(".gitignore", "build/\ndist/\nnode_modules/\n__pycache__/\n*.pyc\n.venv/\n")
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "files")
    made.git("clone", "-q", "--bare", ".", str(made.scratch / "origin.git"))
    made.git("remote", "add", "origin", str(made.scratch / "origin.git"))
    made.git("switch", "-q", "-c", "feature")
    made.write("lib/feature.py", "x = 1\n")
    made.git("add", "lib/feature.py")
    made.git("commit", "-q", "-m", "a feature")
    made.git("push", "-q", "origin", "feature")
    made.git("switch", "-q", "main")
    made.git("push", "-q", "-u", "origin", "main")
    for name in ("build/old.txt", "node_modules/left/index.js", "packages/one/dist/x.js", "src/__pycache__/app.pyc"):
        made.write(name, "")
    return made


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A repository where nobody else is at work."""
    made = a_repository(tmp_path_factory.mktemp("alone"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """Another one, with somebody else at work."""
    made = a_repository(tmp_path_factory.mktemp("shared"))
    ada = made.agent("ada")
    ada.edit("src/held_a.py", "ada's\n")
    ada.edit("docs/held_b.md", "ada's\n")
    made.write("lib/core.py", "bob's\n")
    yield made
    made.close()


def refused(repo: Repository, monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> list[str]:
    """Those of the commands that one agent is refused, with the reasons."""
    monkeypatch.setenv("HOME", str(repo.scratch / "home"))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(repo.folder))
    monkeypatch.delenv("TMPDIR", raising=False)
    place = location.find(str(repo.folder), None)
    found = []
    for number, command in enumerate(asked):
        event = payload.read("claude", "PreToolUse", {
            "session_id": "bob", "cwd": str(repo.folder), "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": command}, "tool_use_id": f"call-{number}",
        })  # fmt: skip
        assert event is not None
        try:
            tool_call.before(event, place)
        except DibsError as error:
            found.append(f"{command!r}: {error.message}")
    return found


def test_ordinary_commands_pass_where_nobody_else_is_at_work(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(repo, monkeypatch, ordinary()) == []


@pytest.mark.long
def test_ordinary_commands_pass_while_another_holds_two_files(
    shared: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = refused(shared, monkeypatch, ordinary())
    assert len(found) <= len(ordinary()) * MOST, "\n".join(found)


@pytest.mark.parametrize(
    "command",
    [
        "> src/held_a.py", "(> src/held_a.py)", "X=1 > docs/held_b.md", "echo x > $F", "echo > src/$n.py",
        "echo > src/held_$n",
        "grep -rl ada src | xargs sed -i s/a/b/", "sed -i s/a/b/ $(rg -l ada)", "git ls-files | xargs rm",
        "tar xf $A",
        "find . -name '*.py' | xargs sed -i s/a/b/", "find . -name '*.py' -exec sed -i s/a/b/ {} +",
        "unzip $A -d src",
        "black src/held_a.py", "npx prettier --write docs/held_b.md", "uv run ruff format src/held_a.py", "rm -rf src",
        "echo 'rm src/held_a.py' | sh", "printf 'sed -i s/a/b/ src/held_a.py' | bash", "cp -r lib/. src/$d",
        "rm -rf */",
        "python3 -c \"open('src/held_a.py', 'w')\"", "python3 - <<'E'\np='src/held_a.py'\nopen(p,'w').write('')\nE",
        "node -e \"require('fs').writeFileSync('docs/held_b.md', '')\"", "cd src && rm $(ls)", "mv src/* lib/", "rm $X",
        "find src -type f | while read f; do mv $f $f.bak; done", "for f in $(git ls-files); do sed -i s/a/b/ $f; done",
        "ls src | xargs -I{} cp README.md src/{}",
        "codex apply_patch '*** Begin Patch\n*** Delete File: src/held_a.py\n*** End Patch'",
        "cd lib; cat > ../src/held_a.py <<'E'\nx\nE", 'eval "rm $X"', "split -l 1 README.md src/h", "cp $X src/",
        "echo x > $OUT/held_a.py", "rm -rf $OUT/src", "cp -r lib $OUT/docs", "rm -f $OUT/*.md", "mv README.md $X.py",
        "find . -type f -print0 | xargs -0 perl -pi -e s/a/b/", "trap 'rm -f src/held_a.py' EXIT; ls",
        "black .", "ruff check --fix src", "npx prettier --write .", "npx prettier --write 'docs/**/*.md'",
        "uvx isort src tests", "gcc -o src/held_a.py x.c", "pytest --junitxml=docs/held_b.md",
        "$(which rm) src/held_a.py",
        "env - rm src/held_a.py", "alias r=rm\nr src/held_a.py", "GITHUB_OUTPUT=$X; echo > $GITHUB_OUTPUT",
        "python3 - <<'E'\nfrom pathlib import Path\nfor p in Path('src').glob('*.py'): p.write_text('')\nE",
        'cd "$RUNNER_TEMP" && rm -rf src', "codespell -w .", "rm -rf ${SOURCES:-src}",
    ],
)  # fmt: skip
def test_what_could_be_anothers_file_is_refused_still(
    shared: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert refused(shared, monkeypatch, [command])


def test_what_is_put_among_temporary_files_passes_wherever_the_workspace_lies(
    shared: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = str(shared.scratch.parent)  # a folder that the workspace itself lies in
    monkeypatch.setenv("TMPDIR", temporary)
    place = location.find(str(shared.folder), None)
    session = open_session(place)
    assert open_targets.placed(session, [Doubt("cp $X", [f"{temporary}/"], "/")]) == []
    assert open_targets.placed(session, [Doubt("cp $X", [f"{temporary}/x_"], "/")]) == []
    above = os.path.dirname(temporary)
    assert open_targets.placed(session, [Doubt("cp $X", [f"{above}/"], "/")]) == [
        {
            "words": "cp $X",
            "tree": str(shared.folder),
            "below": [["tree", "", ""]],
            "end": "",
            "whole": False,
            "exact": False,
            "without": [],
        }
    ]


def test_the_corpora_are_large_enough_to_say_something() -> None:
    assert len(commands("ordinary.txt")) >= 330
    assert len(set(commands("ordinary.txt"))) == len(commands("ordinary.txt"))
