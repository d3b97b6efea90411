"""The documents cannot drift: their commands are run, their Python is run, what is generated is up to date."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dibs.doors.cli.command import names
from dibs.operations.core import index
from tools import generate

TOP = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([TOP / "README.md", *(TOP / "docs").glob("*.md")])


@pytest.mark.parametrize("name", sorted(generate.files()))
def test_what_is_generated_is_up_to_date(name: str) -> None:
    assert (TOP / name).read_text() == generate.files()[name], "run `make generate`"


def test_the_index_names_every_declared_operation() -> None:
    assert generate.declared() == index.FILES


def test_every_command_is_in_the_documentation() -> None:
    text = (TOP / "docs" / "CLI.md").read_text()
    for name in names():
        assert f"### dibs {name}\n" in text


def test_the_readme_opens_with_what_it_is_for_then_two_commands() -> None:
    text = (TOP / "README.md").read_text()
    first = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)[0]
    assert [line.split("#")[0].strip() for line in first.strip().splitlines()] == ["make demo", "make test"]


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)


def shell_lines(path: Path) -> list[str]:
    """The commands of a document that a test can run in a scratch folder."""
    found = []
    for block in blocks(path, "sh"):
        found += [
            line
            for line in block.splitlines()
            if line.strip() and not line.startswith(("make ", 'export PATH="$PWD/.venv', "#"))
        ]
    return found


@pytest.mark.parametrize("path", [d for d in DOCUMENTS if blocks(d, "sh")], ids=lambda path: path.name)
def test_the_commands_in_a_document_work_as_it_says(path: Path, tmp_path: Path) -> None:
    """One shell for the whole document, as for whoever types along; `exit N` in a comment is what is to come."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "GIT_", "CLAUDE", "CODEX"))},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
    }
    lines = [line for line in shell_lines(path) if "dibs bench" not in line and "dibs demo" not in line]  # own tests
    script = "exec 2>&1\n"
    for number, line in enumerate(lines):
        command = line.partition("  #")[0].replace("/tmp/", f"{tmp_path}/")
        script += f"{command}\nprintf '__at %s %s\\n' {number} $?\n"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    codes = dict(re.findall(r"^__at (\d+) (\d+)$", done.stdout, re.MULTILINE))
    for number, line in enumerate(lines):
        expected = re.search(r"  #.*exit (\d+)", line)
        assert codes.get(str(number)) == (expected[1] if expected else "0"), (line, done.stdout)


@pytest.mark.parametrize("path", [d for d in DOCUMENTS if blocks(d, "python")], ids=lambda path: path.name)
def test_the_python_in_a_document_runs(path: Path, tmp_path: Path) -> None:
    dibs = str(Path(sys.executable).parent / "dibs")
    subprocess.run([dibs, "init"], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "README.md").write_text("x")
    for block in blocks(path, "python"):
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_words_of_others_are_not_used_for_ours() -> None:
    """A claim is a claim: not a lock, not a reservation. A lease is what a waiter has."""
    wrong = re.compile(r"\b(locks?|locked|unlock|reservations?|mutex(es)?)\b", re.IGNORECASE)
    for path in [*DOCUMENTS, *(TOP / "src" / "dibs" / "operations").glob("*.py")]:
        for line in path.read_text().splitlines():
            speaks_of_others = any(
                word in line
                for word in ("never", "file lock", "advisory", "huey", "filelock", "redis-py", "not a lock")
            )
            assert not wrong.search(line) or speaks_of_others, f"{path.name}: {line.strip()}"
