"""All modules of the hook path in one file: used when it is right, made anew when it is not, never in the way."""

from __future__ import annotations

import json
import marshal
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.guards.start import build

if TYPE_CHECKING:
    from collections.abc import Iterator

SRC = Path(__file__).resolve().parents[2] / "src"


class Copy:
    """A copy of the package that a hook can be started from, and a repository in which ada holds a.py."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "src"
        # With Python's own byte code, which is good where the times are copied: to make it takes seconds.
        shutil.copytree(SRC, self.root, ignore=shutil.ignore_patterns("*.bin", "*.pyc.*"))
        self.repo = folder / "repo"
        self.repo.mkdir()
        subprocess.run(["git", "init", "-q", "."], cwd=self.repo, check=True)
        self.dibs("init", "--clients", "none")
        self.cache = self.root / "dibs" / "guards" / "start" / "__pycache__"
        assert not list(self.cache.glob("bundle.*.bin"))
        assert self.hook("ada").returncode == 0  # makes Python's own byte code, where it is not there yet
        assert self.hook("ada").returncode == 0
        self._kept = folder / "kept"
        shutil.copytree(self.cache, self._kept)

    def make_no_more(self) -> None:
        """Hooks cannot make the file anew, which takes a second of each: they have to do with what is there."""
        (self.cache.parent / "build.py").unlink()

    def put_back(self) -> None:
        """As it was made: the sources that a test changed, and what hooks keep beside them."""
        for source in (
            self.root / "dibs" / "errors.py",
            *self.cache.parent.glob("*.py"),
            self.cache.parent / "build.py",
        ):
            shutil.copy2(SRC / source.relative_to(self.root), source)
        if self.cache.is_dir():
            shutil.rmtree(self.cache)
        else:
            self.cache.unlink()
        shutil.copytree(self._kept, self.cache)

    @property
    def file(self) -> Path:
        (found,) = self.cache.glob("bundle.*.bin")
        return found

    def dibs(self, *words: str) -> None:
        command = [
            sys.executable,
            "-P",
            "-c",
            "from dibs.interfaces.cli import main; import sys; sys.exit(main(sys.argv[1:]))",
        ]
        subprocess.run(
            [*command, *words], cwd=self.repo, check=True, capture_output=True, env={"PYTHONPATH": str(self.root)}
        )

    def hook(self, agent: str, *options: str) -> subprocess.CompletedProcess[str]:
        payload = {
            "session_id": agent, "cwd": str(self.repo), "hook_event_name": "PreToolUse", "tool_name": "Edit",
            "tool_input": {"file_path": "a.py"},
        }  # fmt: skip
        entry = self.root / "dibs" / "guards" / "start" / "entry.py"
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-X", "utf8", *options, str(entry), "claude"], input=json.dumps(payload),
            cwd=self.repo, capture_output=True, text=True, check=False, timeout=60, env={"DIBS_TREE": str(self.repo)},
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return done


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """One copy with all that hooks make in it; it takes seconds."""
    return Copy(tmp_path_factory.mktemp("made"))


@pytest.fixture
def copy(made: Copy) -> Iterator[Copy]:
    """The copy, put back afterwards to how it was."""
    yield made
    made.put_back()


def test_the_first_hook_makes_it_and_the_next_ones_use_it(copy: Copy) -> None:
    copy.file.unlink()
    assert copy.hook("bob").returncode == 2
    when = copy.file.stat().st_mtime_ns
    assert copy.hook("bob").returncode == 2
    assert copy.file.stat().st_mtime_ns == when


def test_a_changed_source_counts_at_once_and_the_file_is_made_anew(copy: Copy) -> None:
    when = copy.file.stat().st_mtime_ns
    source = copy.root / "dibs" / "errors.py"
    source.write_text(source.read_text().replace("or pick other work{ask}", "or do something else entirely.{ask}"))
    assert "or do something else entirely." in copy.hook("bob").stderr
    assert copy.file.stat().st_mtime_ns != when
    assert "or do something else entirely." in copy.hook("bob").stderr


@pytest.mark.parametrize("damage", ["empty", "cut", "garbage", "code", "length"])
def test_a_damaged_file_is_not_in_the_way(copy: Copy, damage: str) -> None:
    data = copy.file.read_bytes()
    copy.make_no_more()
    copy.file.write_bytes({
        "empty": b"", "cut": data[: len(data) // 2], "garbage": b"\xff" * 5000,
        "code": data[:-400_000] + b"\xff" * 400_000, "length": b"\x7f" * 8 + data[8:],
    }[damage])  # fmt: skip
    assert copy.hook("ada").returncode == 0
    refused = copy.hook("bob")
    assert (refused.returncode, "ada holds a.py" in refused.stderr) == (2, True)


def test_a_damaged_file_is_made_anew(copy: Copy) -> None:
    data = copy.file.read_bytes()
    copy.file.write_bytes(data[: len(data) // 2])
    assert copy.hook("bob").returncode == 2
    assert len(copy.file.read_bytes()) == len(data)


@pytest.mark.parametrize("damage", ["empty", "magic", "garbage", "another"])
def test_damaged_byte_code_of_the_bundle_itself_is_not_in_the_way(copy: Copy, damage: str) -> None:
    copy.make_no_more()
    (file,) = copy.cache.glob("bundle.*.pyc")
    data = file.read_bytes()
    file.write_bytes({
        "empty": b"", "magic": b"\0\0\0\0" + data[4:], "garbage": data[:16] + b"\xff" * 5000,
        "another": data[:16] + marshal.dumps(compile("VERSION = 1", "bundle.py", "exec")),
    }[damage])  # fmt: skip
    assert copy.hook("ada").returncode == 0
    refused = copy.hook("bob")
    assert (refused.returncode, "ada holds a.py" in refused.stderr) == (2, True)


def test_a_changed_bundle_py_counts_at_once(copy: Copy) -> None:
    source = copy.root / "dibs" / "guards" / "start" / "bundle.py"
    source.write_text(source.read_text().replace("code = main(sys.argv[1:])", "code = 3 + main(sys.argv[1:])"))
    assert copy.hook("ada").returncode in {0, 3}, "what is in force was read before its age was looked at"
    assert copy.hook("ada").returncode == 3


def test_nearly_all_modules_of_an_edit_are_loaded_without_pythons_own_import(copy: Copy) -> None:
    """Each that is not costs as much again; what is named here begins a group of its own."""
    assert copy.hook("ada").returncode == 0
    loaded = [line.split("'")[1] for line in copy.hook("ada", "-v").stderr.splitlines() if line.startswith("import '")]
    assert {name for name in loaded if name.startswith("dibs")} - {"dibs.machine.filesystems"} == {
        "dibs.guards.tool_call", "dibs.guards.edit_call", "dibs.stores.sqlite.store",
    }  # fmt: skip


@pytest.mark.long
def test_where_it_cannot_be_written_hooks_work_all_the_same(copy: Copy) -> None:
    shutil.rmtree(copy.cache)
    copy.cache.write_text("a file where the folder should be")
    assert copy.hook("ada").returncode == 0
    assert copy.hook("bob").returncode == 2


def test_every_name_in_its_lists_is_a_module() -> None:
    """A name that is none would make the bundle impossible, and every hook slow, without a word."""
    named = {name for together in build.BUNDLED_MODULES.values() for name in together} | set(build.BUNDLED_MODULES)
    missing = [name for name in sorted(named) if not _source(name).exists() and name not in build.EXTENSIONS]
    assert missing == []
    assert [file for file in build.LEFT_OUT if not (SRC / "dibs" / file).exists()] == []


def _source(name: str) -> Path:
    path = SRC / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _light(program: str) -> str:
    """What a program prints in an interpreter that has the light `os`."""
    text = f"import sys; sys.path[0] = {str(SRC)!r}\nfrom dibs.guards import light_os\n{program}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", text], capture_output=True, text=True, check=False,
        env={"ODD": "\udcff", "HOME": "/home/ann"}, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_light_os_answers_like_the_real_one_without_loading_it() -> None:
    program = """
import os
found = [os.path.join("a", "b"), os.path.realpath("/x/../y"), os.environ.get("HOME"), os.environ["ODD"],
    os.fsdecode(b"\\xff"), os.fsencode("\\udcff"), os.sep, os.O_CLOEXEC, os.path.expanduser("~/x"), os.getpid() > 0]
print(ascii(found))
"""
    mine, real = (
        _light(program + "print('_collections_abc' in sys.modules)").splitlines(),
        _light("del sys.modules['os'], sys.modules['os.path'], sys.modules['posixpath']\n" + program),
    )
    assert (mine[0], mine[1]) == (real, "False")


def test_whatever_the_light_os_lacks_loads_the_real_one_and_then_it_has_all_of_it() -> None:
    program = """
import os
light = os
os.walk
import subprocess
print(subprocess.run(["/bin/sh", "-c", "echo $HOME"], capture_output=True, text=True, check=True).stdout.strip())
os.environ["NEW"] = "x"
print(os is light, type(os.environ).__name__, subprocess.run(["/bin/sh", "-c", "echo $NEW"], capture_output=True,
    text=True, check=True).stdout.strip())
"""
    assert _light(program).splitlines() == ["/home/ann", "True _Environ x"]
