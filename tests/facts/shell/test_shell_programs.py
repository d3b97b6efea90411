"""Programs that write what they are given, or what their own short text names: read like other writers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dibs.facts import shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory with some files."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("here")))
    for name in ("a.py", "b.py", "src/x.ts", "src/y.go"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("")
    return str(top)


def named(here: str, command: str) -> dict[str, bool]:
    """The files that are written, and whether all of their writes merge."""
    found: dict[str, bool] = {}
    for target in shell.read(command, here).writes:
        name = target.path.removeprefix(f"{here}/")
        found[name] = found.get(name, True) and target.merges
    return found


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("black a.py", ["a.py"]), ("black -l 100 a.py b.py", ["a.py", "b.py"]),
        ("prettier --write src/x.ts", ["src/x.ts"]),
        ("gofmt -w src/y.go", ["src/y.go"]), ("ruff format a.py", ["a.py"]), ("ruff check --fix a.py", ["a.py"]),
        ("ruff --config x.toml check --fix a.py", ["a.py"]), ("eslint --fix src/x.ts", ["src/x.ts"]),
        ("isort a.py", ["a.py"]),
        ("autopep8 -i a.py", ["a.py"]), ("yapf -i a.py", ["a.py"]), ("clang-format -i a.c", ["a.c"]),
        ("rustfmt a.rs", ["a.rs"]),
        ("shfmt -w a.sh", ["a.sh"]), ("terraform fmt a.tf", ["a.tf"]), ("biome format --write src/x.ts", ["src/x.ts"]),
        ("npx prettier --write src/x.ts", ["src/x.ts"]), ("npx -y prettier@3 -w src/x.ts", ["src/x.ts"]),
        ("npx @biomejs/biome check --write src/x.ts", ["src/x.ts"]), ("bunx prettier --write src/x.ts", ["src/x.ts"]),
        ("uvx ruff format a.py", ["a.py"]), ("uv run ruff format a.py", ["a.py"]),
        ("uv run --with x black a.py", ["a.py"]),
        ("poetry run black a.py", ["a.py"]), ("pipenv run isort a.py", ["a.py"]), ("hatch run black a.py", ["a.py"]),
        ("pnpm exec prettier --write src/x.ts", ["src/x.ts"]), ("yarn prettier --write src/x.ts", ["src/x.ts"]),
        ("python -m black a.py", ["a.py"]), ("python3 -m isort a.py", ["a.py"]),
        ("cd src && prettier --write x.ts", ["src/x.ts"]),
        ("black $(echo a.py)", ["a.py"]), ("git status; black a.py && ls", ["a.py"]),
        (".venv/bin/black a.py", ["a.py"]),
        ("uv tool run black a.py", ["a.py"]), ("uv run sed -i s/a/b/ a.py", ["a.py"]),
        ("bundle exec rubocop -A a.rb", ["a.rb"]),
    ],
)  # fmt: skip
def test_a_formatter_rewrites_the_files_that_it_is_given(here: str, command: str, names: list[str]) -> None:
    assert named(here, command) == dict.fromkeys(names, True)
    assert shell.read(command, here).kind == "closed"


@pytest.mark.parametrize(
    "command",
    ["black .", "ruff format", "prettier --write src", "eslint --fix .", "npx prettier --write .",
     "black a.py src", "black $F", "git diff --name-only | xargs black",
     "cargo fmt", "isort .", "uv run black ."],
)  # fmt: skip
def test_a_formatter_of_folders_or_of_what_is_not_known_may_write_anything(here: str, command: str) -> None:
    reading = shell.read(command, here)
    assert (reading.kind, reading.unresolved) == ("open", []), "and is left to the audit"


@pytest.mark.parametrize(
    "command",
    ["black --check .", "prettier --check src", "prettier src/x.ts", "gofmt -l .", "ruff check .", "eslint src",
     "isort -c a.py", "ruff format --check .", "black --diff a.py", "npx tsc --noEmit", "uv run mypy src",
     "npx eslint .",
     "shfmt -d .", "python -m mypy src", "rustfmt --check a.rs", "uv run ruff check src", "poetry run flake8",
     "terraform fmt -check"],
)  # fmt: skip
def test_a_formatter_that_only_looks_is_harmless(here: str, command: str) -> None:
    reading = shell.read(command, here)
    assert (reading.writes, reading.kind) == ([], "harmless")


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("python -c \"open('a.py','w').write('x')\"", {"a.py": False}),
        ("python3 -c 'from pathlib import Path; Path(\"a.py\").write_text(\"x\")'", {"a.py": False}),
        ("python3 - <<'E'\nwith open('a.py', 'w') as f:\n    f.write('x')\nE", {"a.py": False}),
        ("python3 <<'E'\np='a.py'\ns=open(p).read()\ns=s.replace('a','b')\nopen(p,'w').write(s)\nE", {"a.py": True}),
        ("python - <<E\nimport pathlib\np = pathlib.Path('a.py')\np.write_text(p.read_text().replace('a', 'b'))\nE",
         {"a.py": True}),
        ("python3 - <<'E'\nfor p in ['a.py', 'b.py']:\n    s = open(p).read()\n    open(p, mode='w').write(s)\nE",
         {"a.py": True, "b.py": True}),
        ("python3 -c \"open('a.py','a').write('x')\"", {"a.py": True}),
        ("cat <<'E' | python3\nimport json\njson.dump({}, open('x.json', 'w'))\nE", {"x.json": False}),
        ("node -e \"require('fs').writeFileSync('a.js', 'x')\"", {"a.js": False}),
        ("node -e \"const fs=require('fs'); fs.writeFileSync('a.js', 'x')\"", {"a.js": False}),
        ("node <<'E'\nconst fs = x;\nlet s = fs.readFileSync('a.js', 'utf8');\nfs.writeFileSync('a.js', s);\nE",
         {"a.js": True}),
        ("python3 -c \"import os; os.remove('a.py'); os.rename('b.py', 'c.py')\"",
         {"a.py": False, "b.py": True, "c.py": False}),
        ("python3 -c \"print(open('a.py').read())\"", {}), ("python3 -c \"open(name, 'w')\"", {}),
        ("python3 -c \"open(f'{d}/x', 'w'); open('a' + x, 'w')\"", {}), ("python3 -c \"# open('a.py','w')\"", {}),
        ("python3 -c \"x = 'open(1)'; print('open(\\'a.py\\', \\'w\\')')\"", {}),
        ("python3 - <<'E'\nimport os\nos.chdir('src')\nopen('x.ts', 'w')\nE", {}), ("python3 x.py 'a.py'", {}),
        ("ruby -e \"File.write('a.rb', 'x')\"", {"a.rb": False}),
        ("uv run python -c \"open('a.py', 'w')\"", {"a.py": False}),
    ],
)  # fmt: skip
def test_files_that_a_short_program_names_plainly_are_found(here: str, command: str, names: dict[str, bool]) -> None:
    assert named(here, command) == names
    assert shell.read(command, here).kind == "open", "it may do more"


def test_codexs_own_patch_command_is_read_through_its_program(here: str) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"
    assert named(here, f"codex apply_patch '{patch}'") == {"a.py": True}


@pytest.mark.parametrize("command", ["> a.py", "(> a.py)", "X=1 > a.py", "{ > a.py; }", "true && > a.py"])
def test_a_redirection_without_a_command_writes(here: str, command: str) -> None:
    assert [(target.path, target.text) for target in shell.read(command, here).writes] == [(f"{here}/a.py", "")]


def test_what_is_not_there_is_not_deleted(here: str) -> None:
    assert named(here, "rm -rf build dist a.py") == {"a.py": False}
    assert shell.read("rm -rf build dist", here).kind == "harmless"
    assert named(here, "touch build && rm build") == {"build": False}, "but for what the command makes itself"
    assert named(here, "make build && rm -rf build") == {"build": False}, "or may make"
    assert named(here, "mkdir -p d && cp a.py d && rm -rf d") == {"d/a.py": False, "d": False}
