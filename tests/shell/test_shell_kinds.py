"""What a command may do beyond what it names: nothing at all, nothing else, or anything; and whether it goes on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dibs import shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A repository with some files."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("here")))
    for name in ("f", "g", "src/a.py"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("")
    subprocess.run(["git", "init", "-q", "."], cwd=top, check=True)
    return str(top)


@pytest.mark.parametrize(
    "command",
    [
        "", "ls -la", "cat f", "grep -rn x . | head", "rg x", "find . -name '*.py'", "git status",
        "git log --oneline -5",
        "git diff HEAD~1", "git show HEAD:f", "echo hi", "cd src && pwd", "sleep 5", "wc -l f", "env | sort",
        "which python",
        "[ -f f ] && echo yes", "test -d src", "true", "date +%s", "ps aux | grep node", "curl -s http://x | jq .a",
        "dibs status", "dibs claim f --wait 60s", "X=1", "export A=b", "for f in *.py; do echo $f; done",
        "sort f | uniq -c",
        "sed -n 1,5p f", "awk '{print $1}' f", "tail -f f", "git fetch origin", "git branch -a", "git add f",
        "mkdir -p d",
        "python --version", "npm ls", "docker ps", "kubectl get pods", "gh pr view 1", "ruff check .", "mypy src",
        "tsc --noEmit", "black --check .", "git stash list", "unzip -l a.zip", "tar tzf a.tgz", "chmod +x f", "kill 5",
        "find . -name x -exec grep y {} +", "ls | xargs grep x", "timeout 5 ls", "git rev-parse HEAD",
        "git commit -m x",
        "if [ -d src ]; then ls src; else echo no; fi", "x=$(git rev-parse HEAD); echo $x", "cat f > /dev/null 2>&1",
        "source .venv/bin/activate", "pip list | grep x", "git push --dry-run", "f() { ls; }; f", "bash -c 'ls; cat f'",
        "echo ls | sh", "jq . f", "node --version", "git worktree list", "git config user.name", "git blame f",
        "/usr/bin/sort f", ".venv/bin/ruff check .", "node_modules/.bin/tsc --noEmit", "stat f",
        "conda env list", "conda env export", "dart format -o none .", "dart format --output=show f",
    ],
)  # fmt: skip
def test_a_command_that_writes_nothing_is_harmless(here: str, command: str) -> None:
    assert shell.read(command, here).kind == "harmless", command


@pytest.mark.parametrize(
    "command",
    [
        "echo x > f", "sed -i s/a/b/ f", "rm f", "awk '{print > \"f\"}' g",
        "cp f g", "mv f g", "ls > out", "sort f -o g", "curl -o f http://x",
        "find . -name a.py -delete", "cat f | tee g", "tar czf a.tgz src", "git diff > p.diff", "> f", "touch f",
        "cat > f <<'E'\nx\nE", "mkdir d && cp f d", "perl -pi -e s/a/b/ f", "grep x f > g; mv g f", "bash -c 'rm f'",
    ],
)  # fmt: skip
def test_a_command_that_names_all_it_writes_is_closed(here: str, command: str) -> None:
    assert shell.read(command, here).kind == "closed", command


@pytest.mark.parametrize(
    "command",
    [
        "make", "npm test", "npm install", "python x.py", "pytest -q", "./run.sh", "bash x.sh", "some-program",
        "$CMD f",
        "cargo build", "go generate ./...", "git checkout .", "git stash", "git pull", "git merge x",
        "git reset --hard",
        "script/test", "./test", "bin/test f", '"$ROOT/script/test"', '"$D/sort" f', "$D/cd src", "/opt/mine/test f",
        "$D/env ls",
        "echo x > $F", "if x", "ls | xargs ./tool", "find . -exec ./tool {} \\;", "python -c 'print(1)'", "node -e 1",
        "watch make", "sudo make install", "source x.sh", "perl -e 'unlink \"f\"'", "awk '{print > $1}' g",
        "fd -x rm",
        "curl http://x | bash", "env A=1 make", "ls && make", "git commit -m x && npm run build", "docker run x",
        "dibs restore 1", 'eval "$X"', "ruff check --fix .", "black .", "git rebase main", "git foo",
        "terraform apply",
        "cat f; make &", "dibs deploy prod -- make", "gh pr checkout 1", "git clean -fd", "git switch main",
    ],
)  # fmt: skip
def test_a_command_that_may_write_more_than_it_names_is_open(here: str, command: str) -> None:
    assert shell.read(command, here).kind == "open", command


def test_a_commit_is_open_where_hooks_of_a_formatter_run(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    assert shell.read("git commit -m x", str(tmp_path)).kind == "harmless"
    (tmp_path / ".pre-commit-config.yaml").write_text("repos: []\n")
    assert shell.read("git commit -m x", str(tmp_path)).kind == "open"


@pytest.mark.parametrize(
    "command",
    [
        "npm start &", "make & echo started", "nohup ./server > log 2>&1 &", "nohup ./server", "setsid ./server",
        "a & disown",
        "tmux new -d -s x 'make'", "tmux new-session -d make", "screen -dmS x make", "docker compose up -d",
        "docker run -d x",
        "systemd-run make", "at now <<< make", "(make &)", "pm2 start x.js", "make & make & wait; npm start &",
        "docker-compose up --detach", "for i in 1 2; do ./w $i & done",
    ],
)  # fmt: skip
def test_what_the_words_leave_running_is_told(here: str, command: str) -> None:
    assert shell.read(command, here).background, command


@pytest.mark.parametrize(
    "command",
    ["make", "make && ls", "a & b & wait", "make 2>&1", "make &> log", "docker compose up", "tmux ls", "ls; wait",
     "for i in 1 2; do ./w $i & done; wait", "echo 'a & b'", "docker run --rm x"],
)  # fmt: skip
def test_what_ends_with_the_command_is_not_told_as_left(here: str, command: str) -> None:
    assert not shell.read(command, here).background, command
