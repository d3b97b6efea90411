"""A repository with worktrees whose branches land: real git, the real command."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from dibs.client.session import Session
from tests.scratch import Shell

PLAIN = {
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Tester",
    "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "Tester", "GIT_COMMITTER_EMAIL": "t@example.org",
}  # fmt: skip
# The project's own check: no file may have a line that says it is broken.
CHECK = "! grep -rqx broken --include=*.txt ."


class LandingRepo(Shell):
    """A workspace on branch main with a check; each branch has a worktree next to it."""

    def __init__(
        self, folder: Path, *settings: str, check: str = CHECK, hooks: bool = False, clients: str = "none"
    ) -> None:
        super().__init__(folder)
        self.environment.update(PLAIN, DIBS_AGENT="")
        del self.environment["DIBS_AGENT"]
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main", ".")
        self.json("init", "--clients", clients, "--no-mcp", exit=0)
        if not hooks:  # the commits of these tests are not what is tested
            self.git("config", "core.hooksPath", os.devnull)
        with (folder / ".dibs" / "config.toml").open("a") as file:
            file.write("\n".join(["", "[land]", f"check = {json.dumps(check)}", *settings, ""]))
        self.commit_files("main", {"base.txt": "".join(f"{line}\n" for line in range(1, 21))}, folder)

    def git(self, *words: str, cwd: Path | None = None, exit: int | None = 0) -> str:
        """Git's output."""
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.folder, env=self.environment, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert exit is None or done.returncode == exit, (words, done.stdout, done.stderr)
        return done.stdout.strip()

    def tree(self, branch: str) -> Path:
        """The worktree of a branch, made when it is first asked for."""
        path = self.folder.parent / f"tree-{branch}"
        if not path.exists():
            self.git("worktree", "add", "-q", "-b", branch, str(path), "main")
        return path

    def commit_files(self, text: str, files: dict[str, str | None], cwd: Path) -> str:
        """A commit of these contents; None deletes."""
        for name, content in files.items():
            path = cwd / name
            if content is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-q", "--no-verify", "-m", text, cwd=cwd)
        return self.git("rev-parse", "HEAD", cwd=cwd)

    def change(self, branch: str, **files: str) -> str:
        """A commit on a branch; `a="x"` writes a.txt. Returns its id."""
        return self.commit_files(branch, {f"{name}.txt": text for name, text in files.items()}, self.tree(branch))

    def line(self, branch: str, number: int, text: str) -> str:
        """A commit on a branch that changes one line of base.txt."""
        lines = (self.tree(branch) / "base.txt").read_text().splitlines()
        lines[number - 1] = text
        return self.change(branch, base="".join(f"{line}\n" for line in lines))

    def branches(self, **files: dict[str, str]) -> dict[str, str]:
        """Branches from main with one commit each, without worktrees; made at once. Returns their commits."""
        said = []
        for branch, content in files.items():
            said += [f"commit refs/heads/{branch}", "committer Tester <t@example.org> 1700000000 +0000"]
            said += [f"data {len(branch)}", branch, f"from {self.main()}"]
            for name, text in content.items():
                said += [f"M 100644 inline {name}", f"data {len(text)}", text]
        stream = "\n".join([*said, "done", ""]).encode()
        subprocess.run(["git", "fast-import", "--quiet"], cwd=self.folder, input=stream, check=True)
        return {branch: self.git("rev-parse", branch) for branch in files}

    def land(self, *words: str, agent: str = "", exit: int = 0, cwd: Path | None = None) -> dict[str, Any]:
        """`dibs land` with --json."""
        named = {"DIBS_AGENT": agent} if agent else {}
        done = self.run("land", "--json", *words, cwd=cwd, **named)
        assert done.returncode == exit, (words, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def queue(self, *branches: str) -> None:
        """Queue these, each by an agent called after it."""
        session = Session(str(self.folder), None)
        for branch in branches:
            fields = {"branch": branch, "commit": self.git("rev-parse", branch), "onto": "main"}
            session.run(session.operation("land"), session.identify(f"ag-{branch}"), fields)
        session.close()

    def states(self) -> dict[str, str]:
        """What became of each branch."""
        return {one["branch"]: one["state"] for one in self.json("landings", exit=0)["landings"]}

    def told(self, agent: str) -> list[str]:
        """The messages of an agent about landings."""
        return [one["text"] for one in self.json("inbox", "--as", agent)["messages"] if one["type"] == "landing"]

    def main(self) -> str:
        """Where main is."""
        return self.git("rev-parse", "main")

    def line_of_main(self) -> list[str]:
        """Main's commits, the newest first, by its first parents."""
        return self.git("rev-list", "--first-parent", "main").split()

    def is_green(self, commit: str, check: str = CHECK) -> bool:
        """Does a commit pass the check?"""
        with tempfile.TemporaryDirectory() as folder:
            archive = subprocess.run(["git", "archive", commit], cwd=self.folder, capture_output=True, check=True)
            subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
            return subprocess.run(["sh", "-c", check], cwd=folder, check=False).returncode == 0

    def clean(self) -> None:
        """The record holds nothing that cannot have happened, main's worktree is main, nothing is left over."""
        self.json("verify", exit=0)
        assert self.git("status", "--porcelain", "--untracked-files=no") == ""
        assert "dibs-land-" not in self.git("worktree", "list")
