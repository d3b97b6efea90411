"""Git's hooks in real repositories: real git, the real command, what is in the index, the log and the files."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dibs.canonical import Canonical
from dibs.client.session import Session
from dibs.workspace.known_clients import SESSION_VARIABLES
from tests.scratch import DIBS, Shell

pytestmark = pytest.mark.slow

HOOKS = ("pre-commit", "pre-merge-commit", "prepare-commit-msg", "post-commit", "post-merge", "pre-push")


class Repository(Shell):
    """A workspace whose git hooks call dibs, with one commit in it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name in SESSION_VARIABLES:
            self.environment.pop(name, None)
        names = {"NAME": "Tester", "EMAIL": "t@example.org"}
        for who in ("AUTHOR", "COMMITTER"):
            self.environment.update({f"GIT_{who}_{what}": value for what, value in names.items()})
        self.environment.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1", GIT_EDITOR="true")

    def git(self, *words: str, agent: str = "", cwd: Path | None = None, exit: int | None = 0) -> Any:
        """Git, as an agent would start it from its shell."""
        named = {"DIBS_AGENT": agent} if agent else {}
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.folder, env={**self.environment, **named}, capture_output=True, text=True,
            check=False, timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert exit is None or done.returncode == exit, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    def install(self) -> None:
        """Hooks that call dibs, and a first commit."""
        for name in HOOKS:
            hook = self.folder / ".git" / "hooks" / name
            hook.write_text(f'#!/bin/sh\nexec "{DIBS}" git-hook {name} "$@"\n')
            hook.chmod(0o755)
        self.write("README.md", "first\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")

    def write(self, name: str, text: str, cwd: Path | None = None) -> None:
        path = (cwd or self.folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edit(self, agent: str, *names: str, tree: Path | None = None) -> Any:
        """A claim as the edit guard makes it."""
        session = Session(str(tree or self.folder), None)
        resources = [Canonical(session.paths.resource(name, session.cwd, literal=True)) for name in names]
        fields = {"resources": resources, "tree": session.place.top, "by": "edit"}
        answer = session.run(session.operation("claim"), session.identify(agent), fields)
        session.close()
        return answer

    def held(self) -> list[tuple[str, str]]:
        claims = self.json("status", exit=0)["claims"]
        return sorted((claim["agent"], name) for claim in claims for name in claim["resources"])

    def events(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.json("log", "--kind", kind, exit=0)["events"]
        return found

    def log(self, *words: str) -> str:
        out: str = self.git("log", "-1", *words).stdout
        return out.strip()


@pytest.fixture
def repo(shell: Shell) -> Repository:
    made = Repository(shell.folder)
    made.install()
    return made


def test_a_person_without_claims_commits_without_noise_and_without_trailers(repo: Repository) -> None:
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    done = repo.git("commit", "-q", "-m", "mine")
    assert (done.stdout, done.stderr) == ("", "")
    assert "Dibs-" not in repo.log("--format=%B")
    assert repo.events("commit.unverified") == []


def test_a_staged_path_that_another_agent_holds_is_refused_with_the_safe_command(repo: Repository) -> None:
    for name in ("a.py", "b.py"):
        repo.write(name, "1\n")
    repo.json("claim", "a.py", "--as", "ann", "--reason", "rewrites it", exit=0)
    repo.git("add", "-A")
    before = repo.log("--format=%H")
    done = repo.git("commit", "-m", "both", agent="bob", exit=1)
    assert "a.py: ann holds it (" in done.stderr
    assert "(rewrites it)" in done.stderr
    assert "git restore --staged -- a.py" in done.stderr
    assert "git commit -- b.py" in done.stderr
    assert repo.log("--format=%H") == before
    repo.git("restore", "--staged", "--", "a.py")
    repo.git("commit", "-q", "-m", "b alone", agent="bob")
    assert repo.log("--name-only", "--format=") == "b.py"
    (refused,) = repo.events("commit.refused")
    assert (refused["agent"], refused["data"]["code"]) == ("bob", "held")
    repo.json("verify", exit=0)


def test_commit_all_and_a_commit_by_path_are_seen_as_what_they_would_commit(repo: Repository) -> None:
    for name in ("a.py", "b.py"):
        repo.write(name, "1\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "two files")
    for name in ("a.py", "b.py"):
        repo.write(name, "2\n")
    repo.json("claim", "a.py", "--as", "ann", exit=0)
    assert "a.py: ann holds it" in repo.git("commit", "-a", "-m", "all", agent="bob", exit=1).stderr
    repo.git("add", "a.py")  # staged, and still not in a commit by path, which has an index of its own
    repo.git("commit", "-q", "-m", "only b", "b.py", agent="bob")
    assert repo.log("--name-only", "--format=") == "b.py"
    assert "a.py: ann holds it" in repo.git("commit", "-m", "only a", "a.py", agent="bob", exit=1).stderr


def test_a_deletion_and_both_sides_of_a_rename_are_checked(repo: Repository) -> None:
    repo.write("old.py", "some text that git recognises again\n")
    repo.write("gone.py", "1\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "two files")
    repo.json("claim", "old.py", "--as", "ann", exit=0)
    repo.git("mv", "old.py", "new.py")
    assert "old.py: ann holds it" in repo.git("commit", "-m", "rename", agent="bob", exit=1).stderr
    repo.git("reset", "-q", "--hard")
    repo.json("claim", "gone.py", "--as", "ann", exit=0)
    repo.git("rm", "-q", "gone.py")
    assert "gone.py: ann holds it" in repo.git("commit", "-m", "delete", agent="bob", exit=1).stderr
    repo.git("reset", "-q", "--hard")
    repo.json("claim", "sub/", "--as", "ann", exit=0)
    repo.git("mv", "README.md", "sub\x01dir.md")  # a name that nobody can claim is in nobody's claim
    repo.git("commit", "-q", "-m", "odd", agent="bob")


def test_a_link_is_itself_and_not_what_it_points_to(repo: Repository) -> None:
    repo.json("claim", "README.md", "--as", "ann", exit=0)
    (repo.folder / "link").symlink_to("README.md")
    (repo.folder / "outside").symlink_to("/etc/passwd")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "links", agent="bob")
    repo.json("claim", "sub/", "--as", "ann", exit=0)
    (repo.folder / "sub").mkdir()
    (repo.folder / "sub" / "link").symlink_to("../README.md")
    repo.git("add", "-A")
    assert "sub/link: ann holds it" in repo.git("commit", "-m", "link", agent="bob", exit=1).stderr


def test_the_message_names_the_agent_and_its_tokens_and_amending_does_not_double_them(repo: Repository) -> None:
    token = repo.edit("ann", "a.py")["token"]
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    repo.git("commit", "-q", "-m", "add a", agent="ann")
    assert repo.log("--format=%B").splitlines() == ["add a", "", "Dibs-Agent: ann", f"Dibs-Token: a.py={token}"]
    repo.git("commit", "-q", "--amend", "--no-edit", agent="ann")
    assert repo.log("--format=%B").count("Dibs-Agent: ann") == 1
    assert repo.events("commit.unverified") == []


def test_a_message_names_ten_tokens_and_says_that_there_are_more(repo: Repository) -> None:
    names = [f"f{number}.py" for number in range(12)]
    repo.edit("ann", *names)
    for name in names:
        repo.write(name, "1\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "many", agent="ann")
    said = repo.log("--format=%(trailers:key=Dibs-Token)").split("\n")
    assert len(said) == 11
    assert said[-1] == "Dibs-Token: …"


def test_a_message_that_is_left_empty_still_ends_the_commit(repo: Repository) -> None:
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    done = repo.git("commit", agent="ann", exit=1)  # the editor writes nothing
    assert "empty commit message" in done.stderr


def test_a_commit_releases_the_edit_claims_whose_file_it_has_and_the_others_stay(repo: Repository) -> None:
    for name in ("a.py", "later.py", "open.py", "gone.py"):
        repo.write(name, "1\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "some files")
    repo.edit("ann", "a.py")
    repo.edit("ann/sub", "later.py")
    repo.edit("ann", "open.py")
    repo.edit("ann", "gone.py")
    repo.json("claim", "by-hand.py", "--as", "ann", exit=0)
    for name in ("a.py", "later.py", "by-hand.py"):
        repo.write(name, "2\n")
    repo.git("rm", "-q", "gone.py")
    repo.git("add", "a.py", "later.py", "by-hand.py")
    repo.write("later.py", "3\n")  # what is committed is not what is there
    repo.git("commit", "-q", "-m", "work", agent="ann")
    assert repo.held() == [("ann", "by-hand.py"), ("ann", "open.py"), ("ann/sub", "later.py")]
    commit = repo.log("--format=%H")
    released = repo.events("claim.released")
    assert {(event["data"]["why"], event["data"]["commit"]) for event in released} == {("committed", commit)}
    assert len(repo.events("claim.committed")) == 2
    repo.json("verify", exit=0)


def test_what_git_filters_on_the_way_counts_as_the_same_file(repo: Repository) -> None:
    repo.write(".gitattributes", "*.txt text eol=crlf\n")
    repo.git("add", ".gitattributes")
    repo.git("commit", "-q", "-m", "attributes")
    repo.edit("ann", "a.txt")
    (repo.folder / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    repo.git("add", "a.txt")
    repo.git("commit", "-q", "-m", "crlf", agent="ann")
    assert repo.git("cat-file", "blob", "HEAD:a.txt").stdout == "one\ntwo\n"
    assert repo.held() == []


def test_no_verify_is_noticed_logged_and_told_to_the_holder(repo: Repository) -> None:
    repo.json("claim", "a.py", "--as", "ann", exit=0)
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    done = repo.git("commit", "-q", "--no-verify", "-m", "past", agent="bob")
    assert "ann holds a.py" in done.stderr
    (event,) = repo.events("commit.unverified")
    assert event["subject"] == repo.log("--format=%H")
    assert (event["agent"], event["data"]["how"], event["data"]["paths"]) == ("bob", "past", ["a.py"])
    (message,) = repo.json("inbox", "--as", "ann", exit=0)["messages"]
    assert "bob committed a.py" in message["text"]
    assert "Dibs-" not in repo.log("--format=%B")


def test_a_commit_that_was_refused_or_given_up_leaves_nothing_that_vouches_for_the_next(repo: Repository) -> None:
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    repo.git("commit", agent="bob", exit=1)  # asked, and then there was no message
    repo.git("commit", "-q", "--no-verify", "-m", "past", agent="bob")
    assert len(repo.events("commit.unverified")) == 1


def test_a_lost_claim_refuses_the_commit_until_it_is_claimed_again(repo: Repository) -> None:
    repo.json("claim", "a.py", "--as", "ann", exit=0)
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    repo.json("kill", "ann", "--why", "test", "--as", "boss", exit=0)
    assert "ann was killed" in repo.git("commit", "-m", "a", agent="ann", exit=1).stderr
    repo.json("revive", "ann", "--as", "boss", exit=0)
    done = repo.git("commit", "-m", "a", agent="ann", exit=1)
    assert "your claim on a.py" in done.stderr or "for a.py is no longer live" in done.stderr
    assert "dibs claim a.py" in done.stderr
    repo.json("claim", "a.py", "--as", "ann", exit=0)
    repo.git("commit", "-q", "-m", "a", agent="ann")
    repo.json("release", "a.py", "--as", "ann", exit=0)
    repo.write("a.py", "2\n")
    repo.git("commit", "-q", "-a", "-m", "settled", agent="ann")


def test_in_a_linked_worktree_edit_claims_of_another_tree_do_not_count_and_claims_by_hand_do(repo: Repository) -> None:
    linked = repo.folder.parent / "linked"
    repo.git("worktree", "add", "-q", str(linked))
    repo.edit("ann", "a.py")
    repo.json("claim", "b.py", "--as", "ann", exit=0)
    repo.edit("bob", "a.py", tree=linked)
    for name in ("a.py", "b.py"):
        repo.write(name, "1\n", cwd=linked)
    repo.git("add", "-A", cwd=linked)
    assert "b.py: ann holds it" in repo.git("commit", "-m", "both", agent="bob", cwd=linked, exit=1).stderr
    repo.git("restore", "--staged", "b.py", cwd=linked)
    repo.git("commit", "-q", "-m", "a", agent="bob", cwd=linked)
    assert repo.held() == [("ann", "a.py"), ("ann", "b.py")]
    assert repo.events("commit.unverified") == []


def branches(repo: Repository) -> None:
    """`side` changes a.py, and the branch checked out changes b.py."""
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    repo.git("commit", "-q", "-m", "a")
    repo.git("checkout", "-q", "-b", "side")
    repo.write("a.py", "2\n")
    repo.git("commit", "-q", "-a", "-m", "side")
    repo.git("checkout", "-q", "-")
    repo.write("b.py", "1\n")
    repo.git("add", "b.py")
    repo.git("commit", "-q", "-m", "b")


def test_a_merge_commit_is_checked_and_releases_what_it_brings(repo: Repository) -> None:
    branches(repo)
    repo.json("claim", "a.py", "--as", "ann", exit=0)
    assert "a.py: ann holds it" in repo.git("merge", "side", "-m", "m", agent="bob", exit=None).stderr
    repo.git("merge", "--abort")
    repo.json("release", "a.py", "--as", "ann", exit=0)
    repo.edit("bob", "a.py")
    repo.git("merge", "-q", "side", "-m", "m", agent="bob")
    assert repo.held() == []
    assert "Dibs-Agent: bob" in repo.log("--format=%B")
    assert repo.events("commit.unverified") == []


def test_a_fast_forward_releases_what_is_as_committed_now(repo: Repository) -> None:
    branches(repo)
    repo.git("checkout", "-q", "-b", "behind", "HEAD~1")
    repo.edit("bob", "a.py")
    repo.git("merge", "-q", "--ff-only", "side", agent="bob")
    assert repo.held() == []


def test_a_merge_that_is_concluded_by_hand_is_checked_too(repo: Repository) -> None:
    branches(repo)
    repo.write("a.py", "3\n")
    repo.git("commit", "-q", "-a", "-m", "conflicting")
    repo.git("merge", "side", exit=1)
    repo.json("claim", "a.py", "--as", "ann", exit=0)
    repo.write("a.py", "4\n")
    repo.git("add", "a.py")
    assert "a.py: ann holds it" in repo.git("commit", "-m", "merged", agent="bob", exit=1).stderr
    repo.git("commit", "-q", "-m", "merged", agent="ann")


def test_a_rebase_and_a_cherry_pick_are_not_taken_for_no_verify(repo: Repository) -> None:
    branches(repo)
    main = repo.git("branch", "--show-current").stdout.strip()
    repo.git("checkout", "-q", "side")
    repo.git("rebase", "-q", main, agent="bob")
    repo.git("checkout", "-q", main)
    repo.git("cherry-pick", "side", agent="bob")
    repo.git("revert", "--no-edit", "HEAD", agent="bob")
    assert repo.events("commit.unverified") == []
    repo.json("claim", "a.py", "--as", "ann", exit=0)
    repo.git("cherry-pick", "side", agent="bob")
    (event,) = repo.events("commit.unverified")
    assert (event["data"]["how"], event["data"]["paths"]) == ("replayed", ["a.py"])


def test_the_first_commit_of_a_repository_is_checked_and_a_way_out_is_told(shell: Shell) -> None:
    repo = Repository(shell.folder)
    repo.json("claim", "README.md", "--as", "ann", exit=0)
    hook = repo.folder / ".git" / "hooks" / "pre-commit"
    hook.write_text(f'#!/bin/sh\nexec "{DIBS}" git-hook pre-commit "$@"\n')
    hook.chmod(0o755)
    repo.write("README.md", "1\n")
    repo.git("add", "-A")
    done = repo.git("commit", "-m", "first", agent="bob", exit=1)
    assert "git rm --cached -- README.md" in done.stderr
    repo.git("rm", "-q", "--cached", "--", "README.md")
    repo.git("commit", "-q", "-m", "first", agent="bob")


def test_the_clients_session_variable_names_the_agent(repo: Repository) -> None:
    repo.edit("session-1", "a.py")
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    repo.environment["CLAUDE_CODE_SESSION_ID"] = "session-2"
    assert "session-1 holds it" in repo.git("commit", "-m", "a", exit=1).stderr
    repo.environment["CLAUDE_CODE_SESSION_ID"] = "session-1"
    repo.git("commit", "-q", "-m", "a")
    assert "Dibs-Agent: session-1" in repo.log("--format=%B")
    assert repo.held() == []


def test_when_it_cannot_be_decided_the_commit_is_refused_with_a_way_past(repo: Repository) -> None:
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    (repo.folder / ".dibs" / "local" / "dibs.db").write_bytes(b"not a database" * 100)
    done = repo.git("commit", "-m", "a", agent="bob", exit=1)
    assert "could not check" in done.stderr
    assert "--no-verify" in done.stderr
    done = repo.git("commit", "-q", "--no-verify", "-m", "a", agent="bob")
    assert "could not record it" in done.stderr


def test_a_doubt_passes_where_the_config_says_so_and_is_logged_where_that_can_be(repo: Repository) -> None:
    config = repo.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text().replace("[guards]", '[guards]\non_doubt = "allow"'))
    repo.environment["DIBS_TIMEOUT"] = "0.2s"
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    with (repo.folder / ".dibs" / "local" / "dibs.db.gate").open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = repo.git("commit", "-q", "-m", "a", agent="bob")
    assert "passes" in done.stderr
    index = repo.folder / ".git" / "index"
    kept = index.read_bytes()
    index.write_bytes(b"broken")  # now it is git that does not answer, and the log can be written
    assert "passes" in repo.run("git-hook", "pre-commit", DIBS_AGENT="bob").stderr
    index.write_bytes(kept)
    (event,) = repo.events("guard.doubted")
    assert (event["agent"], event["subject"]) == ("bob", "git pre-commit")


def test_a_broken_setting_and_a_missing_record_refuse_and_a_folder_that_is_no_workspace_any_more_does_not(
    repo: Repository,
) -> None:
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    (repo.folder / ".dibs" / "config.toml").write_text("[gards]\n")
    assert "could not check" in repo.git("commit", "-m", "a", exit=1).stderr
    (repo.folder / ".dibs").rename(repo.folder.parent / "elsewhere")
    assert "dibs init --uninstall" in repo.git("commit", "-m", "a", exit=1).stderr
    repo.run("init", "--uninstall", "--yes")
    repo.git("commit", "-q", "-m", "a", "a.py")


def test_an_unknown_hook_is_a_wrong_word(repo: Repository) -> None:
    done = repo.run("git-hook", "pre-coffee")
    assert (done.returncode, "pre-coffee" in done.stderr) == (64, True)


# --- pushes


@pytest.fixture
def pushed(repo: Repository) -> Repository:
    """The same with a remote that has the first commit on `main`, and is followed."""
    remote = repo.folder.parent / "remote.git"
    repo.git("init", "-q", "--bare", "-b", "main", str(remote))
    repo.git("branch", "-M", "main")
    repo.git("remote", "add", "origin", str(remote))
    repo.git("push", "-q", "-u", "origin", "main")
    return repo


def commit(repo: Repository, name: str, text: str, cwd: Path | None = None) -> None:
    repo.write(name, text, cwd=cwd)
    repo.git("add", name, cwd=cwd)
    repo.git("commit", "-q", "-m", name, cwd=cwd)


def test_a_push_of_placeholders_to_a_protected_branch_is_refused_and_elsewhere_it_is_not(pushed: Repository) -> None:
    commit(pushed, "page.html", "<h1>Coming  soon</h1>\n<p>Coming soon</p>\n")
    done = pushed.git("push", "origin", "main", agent="bob", exit=1)
    assert "page.html:2: <p>Coming soon</p>" in done.stderr
    pushed.git("push", "-q", "origin", "main:draft", agent="bob")
    commit(pushed, "page.html", "<h1>Here</h1>\n")
    pushed.git("push", "-q", "origin", "main", agent="bob")
    assert [event["data"]["code"] for event in pushed.events("deploy.refused")] == ["forbidden"]


def test_a_push_over_commits_of_others_is_refused_with_how_many(pushed: Repository) -> None:
    other = pushed.folder.parent / "other"
    pushed.git("clone", "-q", str(pushed.folder.parent / "remote.git"), str(other))
    for number in range(2):
        commit(pushed, f"{number}.py", "1\n", cwd=other)
    pushed.git("push", "-q", "origin", "main", cwd=other)
    commit(pushed, "mine.py", "1\n")
    done = pushed.git("push", "-f", "origin", "main", agent="bob", exit=1)
    assert "main is 2 commits behind origin/main" in done.stderr
    pushed.git("pull", "-q", "--rebase")
    pushed.git("push", "-q", "origin", "main", agent="bob")


def test_a_push_is_refused_while_somebody_else_holds_the_branch_as_a_target(pushed: Repository) -> None:
    commit(pushed, "a.py", "1\n")
    pushed.json("claim", "deploy:main", "--as", "ann", "--reason", "release day", exit=0)
    done = pushed.git("push", "origin", "main", agent="bob", exit=1)
    assert "ann holds deploy:main" in done.stderr
    pushed.git("push", "-q", "origin", "main", agent="ann")


def test_a_busy_store_refuses_a_push(pushed: Repository) -> None:
    commit(pushed, "a.py", "1\n")
    gate = pushed.folder / ".dibs" / "local" / "dibs.db.gate"
    pushed.environment["DIBS_TIMEOUT"] = "0.2s"
    with gate.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = pushed.git("push", "origin", "main", agent="bob", exit=1)
    assert "could not check" in done.stderr


def with_remote(repo: Repository) -> None:
    """A remote whose branch `topic` has a commit of ann's that only git's log here knows."""
    remote = repo.folder.parent / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    repo.git("remote", "add", "origin", str(remote))
    repo.git("checkout", "-q", "-b", "topic")
    repo.git("push", "-q", "origin", "topic")
    repo.edit("ann", "a.py")
    repo.write("a.py", "ann's\n")
    repo.git("add", "a.py")
    repo.git("commit", "-q", "-m", "ann's", agent="ann")
    repo.git("push", "-q", "origin", "topic", agent="ann")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.edit("bob", "b.py")
    repo.write("b.py", "bob's\n")
    repo.git("add", "b.py")
    repo.git("commit", "-q", "-m", "bob's", agent="bob")


def test_a_push_over_another_agents_commit_is_refused_on_any_branch(repo: Repository) -> None:
    with_remote(repo)
    for words in (("-f", "origin", "topic"), ("--delete", "origin", "topic"), ("origin", "+topic:topic")):
        done = repo.git("push", "-q", *words, agent="bob", exit=1)
        assert "a commit of ann, who is at work" in done.stderr, done.stderr
        assert "would take off origin/topic" in done.stderr
    repo.git("fetch", "-q")
    assert "ann's" in repo.log("origin/topic", "--format=%s")


def test_ones_own_commits_and_merged_ones_are_replaced_as_before(repo: Repository) -> None:
    with_remote(repo)
    repo.git("push", "-q", "origin", "topic:mine", agent="bob")
    repo.git("commit", "-q", "--amend", "-m", "bob's, better", agent="bob")
    repo.git("push", "-q", "-f", "origin", "topic:mine", agent="bob")
    repo.git("push", "-q", "--delete", "origin", "mine", agent="bob")
    repo.git("merge", "-q", "-m", "both", "origin/topic", agent="bob")
    repo.git("push", "-q", "origin", "topic", agent="bob")


def test_a_person_may_and_the_agent_is_told(repo: Repository) -> None:
    with_remote(repo)
    repo.git("push", "-q", "-f", "origin", "topic")
    (message,) = [one for one in repo.json("inbox", "--as", "ann", exit=0)["messages"] if one["type"] == "push"]
    assert "pushes to origin/topic without" in message["text"]
