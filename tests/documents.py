"""Plays a document: runs its commands in one shell, as a reader types them, with only the extras that it names.

A block marked `sh` has commands. A block marked `console` has commands after `$ `, and below each what it prints. A
comment `# exit N` says that a command ends with N. `python -m tests.documents FILE…` writes the outputs anew. An
environment is made of links to packages that are installed already: nothing is downloaded.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests import leftovers

if TYPE_CHECKING:
    from collections.abc import Iterator

TOP = Path(__file__).resolve().parent.parent
PAGES = [path for path in (TOP / "docs").rglob("*.md") if path.parent.name != "bench"]  # what `make bench` wrote
DOCUMENTS = sorted([TOP / "README.md", TOP / "examples" / "README.md", *PAGES])
GENERATED = frozenset((
    "docs/reference/commands.md", "docs/reference/config.md", "docs/reference/http.md",
    "docs/reference/mcp.md", "docs/reference/python.md", "docs/reference/roles.md",
))  # fmt: skip
FENCE = re.compile(r"^```(sh|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Not meant for a scratch folder: what a clone's Makefile does, and installing.
LEFT_OUT = ("make ", "uv ", "uvx ", "pipx ", "#")
LONG = ("dibs demo",)  # tested elsewhere; run only to write its output anew
HERE_DOCUMENT = re.compile(r"<<-?\s*'?\"?(\w+)")


class Command(NamedTuple):
    """One command of a document."""

    text: str
    exit_code: int
    output: str | None  # what a console block says that it prints
    span: tuple[int, int]  # where that output stands in the document


class Played(NamedTuple):
    """What became of a command."""

    command: Command
    exit_code: int | None
    output: str


def title(path: Path) -> str:
    """How a document is called: its path."""
    return path.relative_to(TOP).as_posix()


def prose(path: Path) -> str:
    """A document without its code, in which nothing is a link or a heading."""
    return re.sub(r"^```.*?^```$|(?<!`)`[^`\n]+`(?!`)", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)


@functools.cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors of a document's headings, as GitHub and the site make them."""
    fenced = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^#+ (.*)$", fenced, re.MULTILINE)
    return frozenset(re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads)


def texts_of_dibs() -> Iterator[tuple[Path, ast.Constant, str]]:
    """Every string in the code, with its place: no docstrings, which are for people in a clone, as comments are."""
    for path in sorted((TOP / "src").rglob("*.py")):
        tree = ast.parse(path.read_text())
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield path, node, node.value


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)


def extras(path: Path) -> frozenset[str]:
    """The extras that a document tells its reader to install: `'.[redis]'`."""
    return frozenset(name for names in re.findall(r"\.\[([a-z,]+)\]", path.read_text()) for name in names.split(","))


def commands(path: Path, *, long: bool = False) -> list[Command]:
    """The commands of a document, in order; the long ones are left out unless asked for."""
    text = path.read_text()
    found = []
    for block in FENCE.finditer(text):
        read = console if block[1] == "console" else shell
        found += read(block[2], block.start(2))
    return [command for command in found if not command.text.startswith(LEFT_OUT if long else LEFT_OUT + LONG)]


def shell(block: str, _start: int) -> list[Command]:
    """The commands of an `sh` block: a line each, but for here-documents and lines that end in a backslash."""
    found, lines, end = [], [], ""
    for line in block.splitlines():
        lines.append(line)
        here = HERE_DOCUMENT.search(line)
        end = here[1] if here and not end else "" if line == end else end
        if not end and not line.endswith("\\"):
            text = "\n".join(lines)
            lines = []
            if text.strip():
                found.append(command(text, None, (0, 0)))
    return found


def console(block: str, start: int) -> list[Command]:
    """The commands of a `console` block, with their outputs."""
    return [
        command(part[1], part[2], (start + part.start(2), start + part.end(2)))
        for part in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]


def command(text: str, output: str | None, span: tuple[int, int]) -> Command:
    """A command without its comment, which may say how it ends."""
    expected = re.search(r"  #.*exit (\d+)", text)
    plain = text if "\n" in text else text.partition("  #")[0].rstrip()
    return Command(plain, int(expected[1]) if expected else 0, output, span)


def play(path: Path, folder: Path, *, long: bool = False) -> list[Played]:
    """Run a document's commands in one shell, in a folder and a home of their own."""
    listed = commands(path, long=long)
    shutil.copytree(TOP / "examples", folder / "examples")  # the reader stands in a clone
    script = "exec 2>&1\n"
    for number, each in enumerate(listed):
        script += f"{each.text}\nprintf '\\n__at %s %s\\n' {number} $?\n"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment(path, folder), capture_output=True, text=True, check=False,
        timeout=300, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    parts = re.split(r"\n__at (\d+) (\d+)\n", done.stdout)
    ends = {int(n): (int(code), said) for said, n, code in zip(parts[::3], parts[1::3], parts[2::3], strict=False)}
    return [Played(each, *ends.get(number, (None, done.stdout))) for number, each in enumerate(listed)]


def environment(path: Path, folder: Path) -> dict[str, str]:
    """The variables of the shell: no agent, no client, a dibs that has only what the document tells to install."""
    others = ("DIBS_", "GIT_", "CLAUDE", "CODEX", "VIRTUAL_ENV")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(others)}
    binaries = f"{interpreter(extras(path)).parent}:{os.environ['PATH']}"
    return {**kept, "PATH": binaries, "HOME": str(folder), "TMPDIR": str(folder), "USER": "you", "LOGNAME": "you"}


@functools.cache
def interpreter(names: frozenset[str]) -> Path:
    """The interpreter of an environment with dibs, those extras of it, and nothing else."""
    home = Path(scratch().name, "-".join(sorted(names)) or "plain")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    python = home / "bin" / "python"
    library = Path(sysconfig.get_path("purelib", "venv", {"base": str(home), "platbase": str(home)}))
    for name in needed(names):
        link(metadata.distribution(name), library)
    (library / "dibs.pth").write_text(f"{TOP / 'src'}\n")
    script = home / "bin" / "dibs"
    script.write_text((TOP / "bin" / "dibs").read_text().replace("#!python", f"#!{python}", 1))
    script.chmod(0o755)
    return python


@functools.cache
def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder that goes with this process's part of the run."""
    made = tempfile.TemporaryDirectory(prefix="dibs-documents-")
    leftovers.at_end(made.cleanup)
    return made


def needed(names: frozenset[str]) -> set[str]:
    """The distributions that `pip install dibs[names]` would bring, dibs itself left out."""
    found: set[str] = set()
    waiting = [("dibs", names)]
    while waiting:
        name, wanted = waiting.pop()
        for line in metadata.requires(name) or []:
            requirement = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?[^;]*(?:;(.*))?", line)
            assert requirement is not None, line
            condition = requirement[3] or ""
            extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", condition)
            if extra and extra[1] not in wanted:
                continue
            more = frozenset((requirement[2] or "").split(",")) - {""}
            if requirement[1] == "dibs":
                waiting.append(("dibs", more))
            elif requirement[1] not in found and installed(requirement[1]):
                found.add(requirement[1])
                waiting.append((requirement[1], more))
    return found


def installed(name: str) -> bool:
    """Is it here? What is needed on other systems or versions only is not."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def link(distribution: metadata.Distribution, library: Path) -> None:
    """Put a distribution's packages, modules and metadata into another site-packages folder, by links."""
    for file in distribution.files or []:
        top = file.parts[0]
        source = Path(str(distribution.locate_file(top)))
        if top not in {"..", "__pycache__"} and not (library / top).exists():
            (library / top).symlink_to(source)


def masked(text: str) -> str:
    """A text without what differs from run to run: numbers, ids, folders, and how wide a column is."""
    text = re.sub(r"/\S*/tmp\.\w+", "FOLDER", text)
    text = re.sub(r"^(tmp\.\w+|shop)(?= · )", "NAME", text.strip())  # the head of `dibs status`
    text = re.sub(r"\b[a-z]?(?=[0-9a-f]*[0-9])[0-9a-f]{8,}\b", "ID", text)
    text = re.sub(r"\b(\d+(ms|[smhd]))+\b", "TIME", text)  # on a busy machine seconds become minutes
    return re.sub(r"\s+", " ", re.sub(r"\d+", "N", text)).strip()


def write(path: Path) -> None:
    """Put what the commands print now into the document's console blocks."""
    with tempfile.TemporaryDirectory() as folder:
        played = play(path, Path(folder), long=True)
    text = path.read_text()
    for each in reversed(played):
        if each.command.output is not None:
            start, end = each.command.span
            said = re.sub(r"/\S*/tmp\.\w+", "/tmp/shop", each.output).strip("\n")
            said = re.sub(r"^tmp\.\w+(?= · )", "shop", said)
            text = text[:start] + (f"{said}\n" if said else "") + text[end:]
    path.write_text(text)


if __name__ == "__main__":
    for name in sys.argv[1:] or [str(path) for path in DOCUMENTS if blocks(path, "console")]:
        write(Path(name).resolve())
