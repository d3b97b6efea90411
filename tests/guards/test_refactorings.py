"""Refactorings of a whole tree pass if they leave out what another agent holds, and are refused if they do not."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.guards.test_ordinary import a_repository, refused
from tests.interfaces.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

HELD = "lib/m7.py"


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A repository with some hundred files, of which another agent holds one, and a list of the others."""
    made = a_repository(tmp_path_factory.mktemp("wide"))
    for number in range(300):
        made.write(f"lib/m{number}.py", "old name\n")
    made.write("notes.txt", "")
    made.write("todo.txt", "")
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "modules")
    ada = made.agent("ada")
    ada.edit(HELD, "old name, ada's\n")
    ada.edit("docs/guide.md", "ada's\n")
    made.write("list", "".join([f"lib/m{number}.py\n" for number in range(300) if number != 7]))
    with tarfile.open(made.folder / "own.tgz", "w:gz") as archive:
        archive.add(made.folder / "lib/other.py", "lib/other.py")
    with tarfile.open(made.folder / "theirs.tar", "w") as archive:
        archive.add(made.folder / "lib/other.py", HELD)
    with zipfile.ZipFile(made.folder / "own.zip", "w") as packed:
        packed.writestr("other.py", "x")
    with zipfile.ZipFile(made.folder / "theirs.zip", "w") as packed:
        packed.writestr("m7.py", "x")
    made.write("own.diff", "--- a/lib/other.py\n+++ b/lib/other.py\n@@ -1 +1 @@\n-x\n+y\n")
    made.write("lib/other.py", "changed by bob\n")
    yield made
    made.close()


LEFT_OUT = (
    f"git ls-files ':!{HELD}' ':!docs' | xargs sed -i s/old/new/",
    f"git ls-files lib ':(exclude){HELD}' | xargs sed -i s/old/new/",
    f"sed -i s/old/new/ $(git ls-files 'lib/*.py' ':!{HELD}')",
    "git ls-files lib | grep -v m7 | xargs sed -i s/old/new/",
    "git ls-files lib | grep -v '^lib/m7\\.py$' | xargs -n 50 sed -i s/old/new/",
    f"git grep -l 'old name' -- lib ':!{HELD}' | xargs sed -i s/old/new/",
    "find lib -name '*.py' ! -name m7.py -exec sed -i s/old/new/ {} +",
    "find lib -name '*.py' ! -name m7.py | xargs sed -i s/old/new/",
    "find lib -type f -not -path lib/m7.py -print0 | xargs -0 perl -pi -e s/old/new/",
    "grep -rl old lib --exclude=m7.py | xargs sed -i s/old/new/", "sed -i s/old/new/ $(grep -rl old lib | grep -v m7)",
    "rg -l old lib -g '!m7.py' | xargs sed -i s/old/new/", "xargs -a list sed -i s/old/new/",
    'while read -r f; do sed -i s/old/new/ "$f"; done < list', "for f in $(cat list); do cp $f $f.bak; done",
    "git ls-files lib | egrep -v 'm7|other' | while read -r f; do mv \"$f\" \"${f%.py}.pyx\"; done",
    "ruff format --exclude lib/m7.py .", "ruff check --fix --exclude m7.py lib", "black --exclude 'm7\\.py' lib",
    "black lib --extend-exclude=lib/m7.py", "isort lib --skip lib/m7.py", "npx prettier --write docs '!docs/guide.md'",
    "ls *.txt | sed 's/.txt$//' | xargs -I{} mv {}.txt {}.md", "ls | sed -n p | grep txt | xargs -I{} cp {} {}.bak",
    "rename 's/\\.txt$/.md/' *.txt", "rename .txt .md *.txt", "git diff lib/other.py | git apply -R",
    "git diff -- lib/other.py | patch -R -p1", "tar xzf own.tgz", "tar -x -f own.tgz -C .", "unzip -o own.zip -d lib",
    "git apply own.diff",
)  # fmt: skip
NOT_LEFT_OUT = (
    "git ls-files lib | xargs sed -i s/old/new/", "git ls-files lib | grep -v m70 | xargs sed -i s/old/new/",
    "git grep -l 'old name' | xargs sed -i s/old/new/",
    "find lib -name '*.py' ! -name m70.py | xargs sed -i s/old/new/",
    "grep -rl old lib --exclude=m8.py | xargs sed -i s/old/new/", "rg -l old lib -g '!m8.py' | xargs sed -i s/old/new/",
    "ls lib | xargs -I{} sed -i s/old/new/ lib/{}", "ruff format --exclude lib/m70.py .", "black --exclude m70 lib",
    "ls docs/*.md | sed 's/.md$//' | xargs -I{} mv {}.md {}.txt", "rename 's/\\.md$/.txt/' docs/*.md",
    "rename 's/m8/m7/' lib/m8.py", "git diff | git apply -R", f"git diff {HELD} | git apply -R",
    f"git diff {HELD} | patch -R -p1", "tar xf theirs.tar", "unzip -o theirs.zip -d lib", "tar xf $ARCHIVE",
    "git ls-files lib | sed s/m8/m7/ | xargs touch", "sed -i.bak s/old/new/ $(git ls-files lib)",
)  # fmt: skip


@pytest.mark.parametrize("command", LEFT_OUT)
def test_a_refactoring_that_leaves_out_what_others_hold_passes(
    wide: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert refused(wide, monkeypatch, [command]) == []


@pytest.mark.parametrize("command", NOT_LEFT_OUT)
def test_a_refactoring_that_reaches_what_others_hold_is_refused(
    wide: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert refused(wide, monkeypatch, [command])


@pytest.mark.parametrize(
    "command",
    [
        f"vim -es -c 'e {HELD}' -c '%s/a/b/' -c wq", f"vim -E -s -c 'edit {HELD}' -c 's/a/b/ | update' -c 'q!'",
        f"nvim --headless +'silent! e {HELD}' +'%s/old/new/' +wq", f"ex -s <<'E'\ne {HELD}\n%s/a/b/\nx\nE",
        f"printf 'e {HELD}\\n,s/old/new/\\nw\\nq\\n' | ed -s", f"ed -s <<'E'\nE {HELD}\n,d\nw\nE",
        f"ed <<'E'\nf {HELD}\na\nx\n.\nw\nq\nE", "vim -es -c 'args lib/*.py' -c 'argdo %s/old/new/ | update' -c q",
        f"vim -es -c 'e lib/m8.py' -c 'w! {HELD}' -c q",
        f"python3 - <<'E'\nimport subprocess\nsubprocess.run(['rm', '{HELD}'], check=True)\nE",
        "python3 - <<'E'\nimport subprocess\nsubprocess.check_call(['rm', 'm7.py'], cwd='lib')\nE",
        "python3 - <<'E'\nimport subprocess\nsubprocess.check_call(['git', 'add', '-A'])\nE",
        f"python3 - <<'E'\nimport os\nos.system('rm {HELD}')\nE",
    ],
)  # fmt: skip
def test_a_file_that_an_editor_or_a_program_opens_by_name_is_found(
    wide: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert refused(wide, monkeypatch, [command])


@pytest.mark.parametrize(
    "command",
    [
        f"vim -es -c 'e {HELD}' -c p -c q!", f"printf 'e {HELD}\\n,p\\nq\\n' | ed -s", "vim -es -c 'e lib/m8.py' -c wq",
        "python3 - <<'E'\nt = tempfile.mkdtemp()\nsubprocess.check_call(['git', 'add', '-A'], cwd=t)\nE",
        "python3 -c \"import subprocess; subprocess.run(['git', 'add', '-A'], cwd='/tmp/elsewhere', check=True)\"",
    ],
)  # fmt: skip
def test_a_file_that_is_only_looked_at_and_a_program_that_works_elsewhere_pass(
    wide: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert refused(wide, monkeypatch, [command]) == []


def test_a_refusal_of_a_refactoring_names_the_file_in_its_way(
    wide: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    (said,) = refused(wide, monkeypatch, ["git ls-files lib | xargs sed -i s/old/new/"])
    assert HELD in said
    assert "cannot be read" not in said


def test_the_names_of_a_list_have_a_bound(wide: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    from dibs.shell import searches

    monkeypatch.setattr(searches, "MAX_NAMES", 100)
    assert refused(wide, monkeypatch, [f"git ls-files ':!{HELD}' | xargs sed -i s/old/new/"])


def test_a_damaged_archive_may_bring_anything(wide: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("damaged.tar.gz", "damaged.zip"):
        Path(wide.folder / name).write_bytes(b"\x1f\x8bPK" * 100)
    assert len(refused(wide, monkeypatch, ["tar xf damaged.tar.gz", "unzip damaged.zip"])) == 2


@pytest.mark.parametrize(
    "command",
    [
        "tar xzf missing.tgz", "unzip -o missing.zip", "tar -xf missing.tar && make", "git reset --hard origin/missing",
        "git apply -p0 <<'E'\n*** Begin Patch\n*** Update File: lib/m7.py\n@@\n-x\n+y\n*** End Patch\nE",
        "git checkout -b new origin/missing", "git add /elsewhere/x.py && git commit -m x", "git add ../x.py; true",
        "echo 'never closed > lib/m7.py", 'jq -r ".[] > lib/m7.py && rm lib/m7.py',
    ],
)  # fmt: skip
def test_what_fails_before_it_writes_anything_passes(
    wide: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert refused(wide, monkeypatch, [command]) == []


@pytest.mark.parametrize(
    "command",
    [
        "wget -q https://example.org/a.tgz; tar xzf a.tgz", "curl -s https://example.org | tar x",
        "make dist; tar xf dist.tar",
        "git apply <<'E'\n--- a/lib/m7.py\n+++ b/lib/m7.py\n@@ -1 +1 @@\n-x\n+y\nE",
        "git fetch && git reset --hard origin/missing",
        "rm lib/m7.py\necho 'never closed", "git add lib /tmp/../lib/m7.py 2>/dev/null; git add lib",
        "git apply missing.diff",
    ],
)  # fmt: skip
def test_what_may_not_fail_is_refused_still(wide: Repository, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    assert refused(wide, monkeypatch, [command])
