"""Programs that write what they are given, or what their own short text names: read like other writers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dibs import shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory with some files."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("here")))
    for name in (
        "a.py",
        "b.py",
        "src/x.ts",
        "src/y.go",
        "package.json",
        "package-lock.json",
        "yarn.lock",
        "Gemfile.lock",
        "go.mod",
    ):
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
        ("python -m black a.py", ["a.py"]), ("python -Wignore -mblack -l 99 a.py", ["a.py"]),
        ("python3 -m isort a.py", ["a.py"]),
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
    ("command", "places"),
    [
        ("black .", ["*.ipynb", "*.py", "*.pyi"]), ("ruff format", ["*.ipynb", "*.py", "*.pyi"]),
        ("isort src", ["src/*.py", "src/*.pyi"]), ("gofmt -w src", ["src/*.go"]), ("go fmt ./...", ["*.go"]),
        ("cargo fmt", ["*.rs"]), ("cargo fmt --all", ["*.rs"]), ("cargo clippy --fix", ["*.rs"]),
        ("cargo clippy --fix --bin main -- -D warnings", ["*.rs"]), ("cargo fix --features a b", ["*.rs"]),
        ("dart format --set-exit-if-changed src", ["src/*.dart"]), ("dart format -o write src", ["src/*.dart"]),
        ("mix format", ["*.ex", "*.exs", "*.heex"]), ("terraform fmt", ["*.hcl", "*.tf", "*.tfvars"]),
        ("sqlfluff fix src", ["src/*.sql"]), ("cd src && stylua .", ["src/*.lua", "src/*.luau"]),
        ("uv run autopep8 -i -r src", ["src/*.py", "src/*.pyi"]), ("codespell -w src", ["src/*"]),
        ('prettier --write "src/**/*.ts" "!src/x.ts"', ["src/*.ts"]), ("npx prettier -w 'src/*'", ["src/*"]),
        ("npx stylelint --fix '**/*.{css,scss}'", ["*"]), ("$(npm bin)/prettier -w 'src/a*.ts'", ["src/a*.ts"]),
        ("black a.py src", ["src/*.ipynb", "src/*.py", "src/*.pyi"]),
    ],
)  # fmt: skip
def test_a_formatter_of_folders_may_write_every_file_of_its_kinds_there(
    here: str, command: str, places: list[str]
) -> None:
    reading = shell.read(command, here)
    found = [f"{way.removeprefix(f'{here}/')}*{doubt.end}" for doubt in reading.unresolved for way in doubt.below or ()]
    assert (reading.kind, sorted(found)) == ("open", places)


@pytest.mark.parametrize(("command", "whole"), [("cargo clippy --fix", True), ("cargo fix", True), ("black .", False)])
def test_a_fixer_that_takes_no_names_is_known_as_such(here: str, command: str, whole: bool) -> None:
    assert {doubt.whole for doubt in shell.read(command, here).unresolved} == {whole}


@pytest.mark.parametrize("command", ["black $F", "git diff --name-only | xargs black", "dprint fmt", "make fmt"])
def test_a_formatter_of_what_is_not_known_may_write_anything(here: str, command: str) -> None:
    reading = shell.read(command, here)
    assert (reading.kind, reading.unresolved) == ("open", []), "and is left to the audit"


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("gcc -O2 -o a.py x.c", ["a.py"]), ("cc -oa.py x.c", ["a.py"]), ("gpg --batch --output a.py -d x", ["a.py"]),
        ("pytest --junitxml=a.py", ["a.py"]), ("esbuild x.ts --outfile=a.py", ["a.py"]),
        ("pg_dump -f a.py x", ["a.py"]),
        ("uv pip compile x.in -o a.py", ["a.py"]), ("xmllint --output a.py x.xml", ["a.py"]), ("go build -o new .", []),
        ("aws s3 ls --output json", []), ("gcc -o new x.c", []), ("foo -o $X", []), ("ssh -o A=b host", []),
        ("npm version patch", ["package-lock.json", "package.json"]),
        ("npm i x", ["package-lock.json", "package.json"]),
        ("npm install", ["package-lock.json"]), ("yarn", ["yarn.lock"]), ("npm ci", []), ("npm i -g x", []),
        ("npm pkg set a=b", ["package-lock.json", "package.json"]), ("npm pkg get a", []), ("npm test", []),
        ("cd src && npm i x", ["package-lock.json", "package.json"]), ("uv add x", []), ("cargo add x", []),
        ("npm i --no-save x", []),
        ("npm", []), ("pnpm", []), ("bun", []), ("bundle", ["Gemfile.lock"]),
        ("yarn add x", ["package.json", "yarn.lock"]),
        ("npm i x --no-package-lock", ["package.json"]), ("npm i --package-lock=false", []),
        ("yarn --pure-lockfile", []),
        ("npm install --help", []), ("npm i -h", []), ("go mod edit -json", []), ("go mod tidy -diff", []),
        ("go mod tidy", ["go.mod"]), ("npm init", ["package-lock.json", "package.json"]), ("npm init vite app", []),
        ("npm i --package-lock-only", ["package-lock.json"]), ("bundle lock --print", []),
        ("conda env export -f a.py", ["a.py"]), ("conda env export --file=a.py", ["a.py"]),
        ("conda install --file a.py", []), ("conda env create -f a.py", []),
    ],
)  # fmt: skip
def test_what_a_program_is_told_to_write_is_a_doubt_if_it_is_there(here: str, command: str, names: list[str]) -> None:
    reading = shell.read(command, here)
    found = [way.removeprefix(f"{here}/") for doubt in reading.unresolved for way in doubt.below or ()]
    assert (sorted(found), reading.writes) == (names, []), "and nothing is claimed for it"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Packages in folders: alone, in workspaces, without a lock file."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("packages")))
    files = {
        "web/package.json": "{}", "web/package-lock.json": "", "web/yarn.lock": "", "web/pnpm-lock.yaml": "",
        "web/src/deep/x.js": "", "web/alone/package.json": "{}", "web/.git/HEAD": "",
        "mono/package.json": '{"workspaces": ["packages/*"]}', "mono/package-lock.json": "",
        "mono/packages/a/package.json": "{}", "mono/packages/a/src/x.js": "",
        "rust/Cargo.toml": "[workspace]", "rust/Cargo.lock": "", "rust/crates/x/Cargo.toml": "[package]",
        "py/pyproject.toml": "", "py/uv.lock": "", "py/poetry.lock": "", "py/src/x.py": "",
        "ruby/Gemfile": "", "ruby/Gemfile.lock": "", "go/go.mod": "", "go/cmd/main.go": "",
    }  # fmt: skip
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return str(top)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("cd web/src/deep && npm install x", ["web/package-lock.json", "web/package.json"]),
        ("npm --prefix web install x", ["web/package-lock.json", "web/package.json"]),
        ("npm install x --prefix=web", ["web/package-lock.json", "web/package.json"]),
        ("npm -C web i x", ["web/package-lock.json", "web/package.json"]), ("npm --prefix web/src i x", []),
        ("npm --prefix web test", []), ("npm --prefix $D i x", []), ("npm --prefix", []),
        ("yarn --cwd web/src add x", ["web/package.json", "web/yarn.lock"]), ("yarn --cwd web", ["web/yarn.lock"]),
        ("pnpm -C web add x", ["web/package.json", "web/pnpm-lock.yaml"]),
        ("pnpm --dir web/src install", ["web/pnpm-lock.yaml"]), ("cd web/alone && npm i x", ["web/alone/package.json"]),
        ("cd mono/packages/a && npm i x", ["mono/package-lock.json", "mono/packages/a/package.json"]),
        ("cd mono/packages/a/src && npm i", ["mono/package-lock.json"]),
        ("cargo add x --manifest-path rust/crates/x/Cargo.toml", ["rust/Cargo.lock", "rust/crates/x/Cargo.toml"]),
        ("cd rust/crates/x && cargo update", ["rust/Cargo.lock"]),
        ("uv add x --project py", ["py/pyproject.toml", "py/uv.lock"]), ("uv --directory py/src lock", ["py/uv.lock"]),
        ("cd py/src && uv add x", ["py/pyproject.toml", "py/uv.lock"]),
        ("poetry -C py/src add x", ["py/poetry.lock", "py/pyproject.toml"]),
        ("poetry -P py add x", ["py/poetry.lock", "py/pyproject.toml"]),
        ("bundle install --gemfile ruby/Gemfile", ["ruby/Gemfile.lock"]), ("go -C go/cmd mod tidy", ["go/go.mod"]),
        ("cd web && npx cowsay", []), ("cd web && npx --yes create-thing", []),
    ],
)  # fmt: skip
def test_the_manifest_that_a_package_manager_writes_is_where_it_really_is(
    packages: str, command: str, names: list[str]
) -> None:
    reading = shell.read(command, packages)
    found = [way.removeprefix(f"{packages}/") for doubt in reading.unresolved for way in doubt.below or ()]
    assert (sorted(found), reading.writes) == (names, [])


@pytest.mark.parametrize(
    "command",
    [
        "uv --directory py/src run black x.py", "pnpm -C py/src exec prettier -w x.py",
        "env -C py/src npx prettier -w x.py", "poetry -C py/src run black x.py", "yarn --cwd py/src prettier -w x.py",
    ],
)  # fmt: skip
def test_a_program_that_a_package_manager_runs_in_a_folder_writes_there(packages: str, command: str) -> None:
    assert [target.path for target in shell.read(command, packages).writes] == [f"{packages}/py/src/x.py"]


@pytest.mark.parametrize(
    "command",
    [
        "$(which rm) a.py", '"$(command -v rm)" -f a.py', "`which truncate` -s 0 a.py", "$(type -P rm) a.py",
        "env - rm a.py", "env -i rm a.py", "env - PATH=/bin sh -c 'rm a.py'", "sudo $(which rm) a.py", "$BIN/rm a.py",
        "$(which env) rm a.py", "alias r=rm\nr a.py", "alias r='rm -f' q=x\nr a.py",
        "alias ll='ls -l' rm='rm -f'\nrm a.py",
        "alias w='cd src; rm'\nw ../a.py", "alias s='sudo '\ns rm a.py", "nvim --headless -c '%d' -c wq a.py",
        "ruby -i -pe 'x' a.py", "ruby -pi.bak -e 'x' a.py", "bun -e \"Bun.write('a.py','')\"",
        "alias rm=true; rm a.py", "alias cp='cp -n'; cp b.py a.py",
        "php -r \"file_put_contents('a.py','');\"", "deno eval \"Deno.writeTextFileSync('a.py','')\"",
        "python3 -c \"from pathlib import Path; p = Path('src') / '..' / 'a.py'; p.write_text('')\"",
        "python3 -c \"import os; open(os.path.join('.', 'a.py'), 'w')\"",
        "node -e \"const fs=require('fs'),path=require('path'); fs.writeFileSync(path.join('.','a.py'),'')\"",
    ],
)  # fmt: skip
def test_a_program_behind_another_name_is_known(here: str, command: str) -> None:
    found = [os.path.normpath(target.path) for target in shell.read(command, here).writes]
    assert f"{here}/a.py" in found


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("python3 -c \"import glob\nfor f in glob.glob('src/*.py'): open(f,'w')\"", "src/*.py"),
        ("python3 - <<'E'\nfrom pathlib import Path\nfor p in Path('src').rglob('*.py'):\n    p.write_text('')\nE",
         "src/*.py"),
        ("python3 - <<'E'\nimport pathlib\nr = pathlib.Path('src')\nfor p in sorted(r.glob('x*')):\n  p.unlink()\nE",
         "src/x*"),
        ("python3 - <<'E'\nimport os\nfor d, _, fs in os.walk('src'):\n  for f in fs: open(os.path.join(d, f), 'w')\nE",
         "src/*"),
        ("perl -e 'unlink glob(\"src/*.py\")'", "src/*.py"), ("awk '{print > FILENAME}' src/x.ts", "src/x.ts*"),
        ("python3 -m zipfile -e a.zip src", "src/*"), ("python3 -m tarfile -e a.tar", "*"),
    ],
)  # fmt: skip
def test_files_that_a_program_searches_for_lie_where_it_searches(here: str, command: str, place: str) -> None:
    doubts = shell.read(command, here).unresolved
    assert [f"{way.removeprefix(f'{here}/')}*{one.end}" for one in doubts for way in one.below or ()] == [place]


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
