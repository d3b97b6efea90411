"""The shell guard at the hook, with real commands and a real git."""

from __future__ import annotations

import re
import shutil
import tempfile
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.guards import advised
from tests.interfaces.repository import DIBS, Repository

if TYPE_CHECKING:
    from tests.interfaces.repository import Agent


# --- files that a command names


@pytest.mark.parametrize(
    "command",
    [
        "echo x > a.py", "echo x >> a.py", "echo x | tee a.py", "sed -i s/a/b/ a.py", "cp b.py a.py", "mv b.py a.py",
        "mv a.py z.py", "rm a.py", "cd / && cd {repo} && echo x > a.py", "bash -c 'echo x > a.py'",
        "ln -sf b.py a.py", "dd if=b.py of=a.py", "install b.py a.py", "git rm a.py", "git mv a.py z.py",
        "git checkout a.py", "git restore a.py", "git checkout HEAD -- a.py", "true; {{ echo x; }} > a.py",
        "F=a.py; echo x > $F", "sudo tee a.py < b.py", "truncate -s0 a.py",
    ],
)  # fmt: skip
def test_a_command_that_would_write_a_held_file_is_refused(repo: Repository, command: str) -> None:
    repo.agent("ada").edit("a.py", "ada's\n")
    bob = repo.agent("bob")
    answer = bob.may_run(command.format(repo=repo.folder))
    assert "ada" in answer.refusal
    assert "a.py" in answer.refusal
    assert repo.claims() == {"ada": ["a.py"]}


@pytest.mark.parametrize(
    "command", ["cat a.py", "grep x a.py > /dev/null", "git diff a.py", "ls", "git log", "git status"]
)
def test_a_command_that_writes_nothing_passes_in_silence_and_takes_nothing(repo: Repository, command: str) -> None:
    repo.agent("ada").edit("a.py", "ada's\n")
    assert repo.agent("bob").may_run(command).silent
    assert repo.claims() == {"ada": ["a.py"]}


def test_what_a_command_writes_is_claimed_for_the_agent_and_kept_while_it_is_changed(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.bash("echo x > new.py && sed -i s/first/last/ b.py")
    assert repo.claims() == {"ada": ["b.py", "new.py"]}
    ada.stop()
    assert repo.claims() == {"ada": ["b.py", "new.py"]}
    assert "ada holds b.py" in repo.agent("bob").may_run("echo x > b.py").refusal


def test_a_command_gets_all_its_files_or_none(repo: Repository) -> None:
    repo.agent("ada").edit("a.py", "ada's\n")
    assert "ada holds a.py" in repo.agent("bob").may_run("echo x > b.py; echo x > a.py; echo x > c.py").refusal
    assert repo.claims() == {"ada": ["a.py"]}


def test_a_command_in_a_folder_below_names_files_from_there(repo: Repository) -> None:
    repo.agent("ada").edit("sub/a.py", "ada's\n")
    bob = repo.agent("bob", cwd=repo.folder / "sub")
    assert "ada holds sub/a.py" in bob.may_run("echo x > a.py").refusal
    assert bob.may_run("echo x > ../a.py").silent
    assert "ada holds sub/a.py" in bob.may_run("cd .. && rm -rf sub").refusal


def test_a_repository_in_memory_is_guarded_like_any_other() -> None:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        repo = Repository(Path(folder))
        try:
            repo.agent("ada").edit("a.py", "ada's\n")
            assert "ada holds a.py" in repo.agent("bob").may_run("echo x > a.py").refusal
        finally:
            repo.close()


# --- what git sweeps up


def two_at_work(repo: Repository) -> Agent:
    """Ada has changed a.py and made new.py; bob has changed b.py and made other.py, and is the one who asks."""
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("a.py", "ada's\n")
    ada.edit("new.py", "ada's\n")
    bob.edit("b.py", "bob's\n")
    bob.edit("other.py", "bob's\n")
    return bob


SWEEPS = {
    "git add -A": "git add -- b.py other.py",
    "git add .": "git add -- b.py other.py",
    "git commit -a -m x": "git commit -m x -- b.py",
    "git commit -am x": "git commit -m x -- b.py",
    "git commit --all --message='a message' --no-edit": "git commit --message='a message' --no-edit -- b.py",
    "git stash": "git stash push -- b.py",
    "git stash -u": "git stash push -u -- b.py other.py",
    "git checkout .": "git restore -- b.py",
    "git checkout -- .": "git restore -- b.py",
    "git restore .": "git restore -- b.py",
    "git reset --hard": "git restore --source=HEAD --staged --worktree -- b.py",
    "git checkout -f": "git restore --source=HEAD --staged --worktree -- b.py",
    "git clean -fd": "git clean -fd -e /new.py",
}


@pytest.mark.parametrize("command", SWEEPS)
def test_a_sweep_over_anothers_files_is_refused_with_the_list_and_a_safe_command_that_passes(
    repo: Repository, command: str
) -> None:
    bob = two_at_work(repo)
    refusal = bob.may_run(command).refusal
    assert f"`{command}` would " in refusal
    swept = {"new.py"} if "clean" in command else {"a.py"}
    if command in {"git add -A", "git add .", "git stash -u"}:
        swept = {"a.py", "new.py"}
    assert set(re.findall(r"(\S+) \(ada, 29 min left; ends with its commit\)", refusal)) == swept
    found = re.search("Run `([^`]+)` instead", refusal)
    assert found is not None, refusal
    assert found[1] == SWEEPS[command]
    before = {name: (repo.folder / name).read_text() for name in ("a.py", "new.py")}
    done, _ = bob.bash(found[1])
    assert done.code == 0, done
    assert {name: (repo.folder / name).read_text() for name in before} == before


@pytest.mark.parametrize("command", SWEEPS)
def test_the_same_sweep_passes_where_nobody_else_holds_anything(repo: Repository, command: str) -> None:
    bob = repo.agent("bob")
    bob.boot()
    bob.edit("b.py", "bob's\n")
    bob.edit("other.py", "bob's\n")
    done, after = bob.bash(command)
    assert done.code == 0, done
    assert after.told == ""


@pytest.mark.parametrize("command", SWEEPS)
def test_a_sweep_passes_while_the_others_hold_what_it_does_not_touch(repo: Repository, command: str) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    assert ada.may_edit("a.py").silent, "held, and as it was"
    bob.edit("b.py", "bob's\n")
    bob.edit("other.py", "bob's\n")
    assert bob.may_run(command).allowed


def test_a_sweep_finds_a_held_file_whose_name_is_written_in_another_unicode_form(repo: Repository) -> None:
    names = [unicodedata.normalize("NFD", f"{name}\u00e9.py") for name in ("tracked", "untracked")]
    repo.write(names[0], "at first\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "one more")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    for name in names:
        ada.edit(name, "ada's\n")
    assert [command for command in SWEEPS if bob.may_run(command).code != 2] == []


def test_a_sweep_from_a_folder_below_or_with_dash_c_is_refused_too(repo: Repository) -> None:
    bob = two_at_work(repo)
    (repo.folder / "sub").mkdir()
    assert "a.py (ada, " in bob.may_run("cd sub && git add -A :/").refusal
    assert "a.py (ada, " in bob.may_run("cd sub && git add -A").refusal
    assert "a.py (ada, " in bob.may_run("git -C sub commit -am x").refusal
    assert "a.py (ada, " in bob.may_run(f"cd / && git -C {repo.folder} stash").refusal


def test_a_sweep_in_another_working_tree_meets_the_claims_that_count_there(repo: Repository) -> None:
    tree = repo.worktree("tree")
    repo.agent("ada", cwd=tree).edit("a.py", "ada's\n")
    bob, cal = repo.agent("bob"), repo.agent("cal")
    for command in (f"cd {tree} && git add -A", f"git -C {tree} commit -am x", f"git -C {tree} reset --hard"):
        assert "a.py (ada, " in bob.may_run(command).refusal, command
    cal.edit("b.py", "cal's\n")
    (tree / "b.py").write_text("changed there\n")
    assert bob.may_run(f"git -C {tree} add b.py").allowed, "what is held here is another file than that there"


def test_a_sweep_in_a_repository_inside_names_its_files_from_there(repo: Repository) -> None:
    repo.git("init", "-q", "inner")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("inner/x.py", "ada's\n")
    assert "inner/x.py (ada, " in bob.may_run("cd inner && git add -A").refusal
    ada.edit("y.py", "ada's\n")
    repo.git("-C", "inner", "add", "x.py")
    repo.git("-C", "inner", "-c", "user.name=ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "ada's")
    ada.dibs("release", "inner/x.py")
    repo.write("inner/y.py", "somebody's\n")
    assert bob.may_run("cd inner && git add -A").allowed, "that is another y.py"


def test_a_plain_commit_is_refused_while_anothers_file_is_staged(repo: Repository) -> None:
    bob = two_at_work(repo)
    repo.git("add", "a.py", "b.py")
    refusal = bob.may_run("git commit -m x").refusal
    assert "would commit files that others hold: a.py (ada, " in refusal
    assert "git commit -m x -- b.py" in refusal


def test_a_stash_leaves_untracked_files_alone_and_passes_while_others_hold_those(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("new.py", "ada's\n")
    bob.edit("b.py", "bob's\n")
    assert bob.may_run("git stash").allowed
    assert "new.py (ada, " in bob.may_run("git stash --include-untracked").refusal


def test_another_branch_or_commit_that_brings_changes_of_a_held_file_is_refused(repo: Repository) -> None:
    repo.git("checkout", "-q", "-b", "other")
    repo.write("a.py", "of the other branch\n")
    repo.git("commit", "-qam", "other")
    repo.git("checkout", "-q", "main")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    assert ada.may_edit("a.py").silent
    for command in ("git checkout other", "git switch other", "git merge other", "git reset --hard other",
                    "git cherry-pick other", "git rebase other"):  # fmt: skip
        refusal = bob.may_run(command).refusal
        assert "a.py (ada, " in refusal, command
        assert "git worktree add" in refusal, command
        assert "git restore" not in refusal, command
    ada.end()
    assert bob.may_run("git merge other").allowed


def test_bringing_back_a_stash_over_a_held_file_is_refused(repo: Repository) -> None:
    repo.write("a.py", "stashed\n")
    repo.git("stash")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("a.py", "ada's\n")
    assert "a.py (ada, " in bob.may_run("git stash pop").refusal
    assert "a.py (ada, " in bob.may_run("git stash apply").refusal


def test_a_patch_file_is_read_for_the_files_it_names(repo: Repository) -> None:
    repo.write("a.py", "patched\n")
    (repo.scratch / "x.patch").write_text(repo.git("diff"))
    repo.git("checkout", "a.py")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("a.py", "ada's\n")
    assert "ada" in bob.may_run("git apply ../x.patch").refusal
    assert "ada" in bob.may_run("patch -p1 < ../x.patch").refusal
    assert "ada" in bob.may_run("curl -s http://127.0.0.1:9/x.patch | git apply").refusal, "nobody knows what it names"


PATCH = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-at first\n+patched\n"


@pytest.mark.parametrize(
    "command",
    ["git apply < ../x.patch", "cat ../x.patch | git apply", "git apply - < ../x.patch", f"git apply <<'E'\n{PATCH}E"]
)  # fmt: skip
def test_a_patch_on_the_input_of_git_is_read_for_the_files_it_names(repo: Repository, command: str) -> None:
    (repo.scratch / "x.patch").write_text(PATCH)
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("b.py", "ada's\n")
    assert bob.may_run(command).allowed, "it names another file"
    bob.dibs("release", "--all")
    assert ada.may_edit("a.py").silent
    assert "ada holds a.py" in bob.may_run(command).refusal


def test_a_link_is_replaced_or_removed_though_what_it_leads_to_is_held(repo: Repository) -> None:
    (repo.folder / "dir").mkdir()
    (repo.folder / "link").symlink_to("dir")
    (repo.folder / "file").symlink_to("a.py")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    ada.edit("dir/x.py", "ada's\n")
    ada.edit("a.py", "ada's\n")
    for command in (
        "ln -sfn sub link",
        "rm link",
        "rm -rf link",
        "mv link other",
        "unlink file",
        "rm file",
        "mv file dir2",
    ):
        assert bob.may_run(command).allowed, command
    for command in (
        "rm -rf link/",
        "rm -rf link/*",
        "rm link/x.py",
        "echo x > file",
        "cp b.py file",
        "echo x > link/x.py",
    ):
        assert "ada holds " in bob.may_run(command).refusal, command
    _, after = bob.bash("rm link && ln -s sub link")
    assert after.told == ""
    assert (repo.folder / "dir" / "x.py").read_text() == "ada's\n"


def test_what_a_person_made_before_the_claim_is_no_violation_against_its_holder(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("b.py", "ada's\n")
    bob.bash("ls")
    repo.write("notes.txt", "a person's\n")
    repo.write("a.py", "a person's\n")
    for command in ("rm notes.txt", "sed -i s/person/agent/ a.py"):
        _, after = bob.bash(command)
        assert "which you hold, was changed" not in after.told, command


# --- targets that cannot be read


def test_who_waits_for_a_file_that_a_program_may_write_can_then_run_it(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    command = "pytest --junitxml=a.py"
    assert bob.may_run(command, "first").allowed
    assert "ends with its command" in ada.may_edit("a.py").refusal
    bob.did("Bash", "first", command=command)
    ada.edit("a.py", "ada's\n")
    refusal = bob.may_run(command).refusal
    assert f"`{command}` may write a.py: ada holds a.py" in refusal
    assert "claim a.py --wait 60s`" in refusal
    ada.end()
    bob.dibs("claim", "a.py")
    assert bob.may_run(command).allowed


def test_the_paths_of_an_advised_command_are_those_of_the_agents_directory(repo: Repository) -> None:
    repo.write("web/it's.json", "{}\n")
    ada, bob = repo.agent("ada"), repo.agent("bob", cwd=repo.folder / "web")
    for name, seen in (("web/it's.json", "'it'\\''s.json'"), ("a.py", "../a.py")):
        ada.edit(name, "ada's\n")
        refusal = bob.may("Write", file_path=str(repo.folder / name), content="bob's\n").refusal
        assert f"claim {seen} --wait 60s`" in refusal
        assert f"ask {seen} TEXT`" in refusal
        assert f"ada holds {name}" in refusal, "what is no command is named from the top"


def test_only_paths_of_commands_that_take_resources_are_seen_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("")
    top, folder = str(tmp_path), str(tmp_path / "web" / "deep")
    for text, seen in (
        ("`dibs claim web/a.py src/ 'm/*.sql' --wait 6s`", "`dibs claim ../a.py ../../src/ '../../m/*.sql' --wait 6s`"),
        ("`dibs claim Makefile`; `dibs claim new.py`", "`dibs claim ../../Makefile`; `dibs claim ../../new.py`"),
        ("`dibs claim deploy:prod RESOURCE --reason a.py`", "`dibs claim deploy:prod RESOURCE --reason a.py`"),
        ("`dibs ask web/deep/a.py a.py`", "`dibs ask a.py a.py`"), ("`dibs ack a.py`", "`dibs ack a.py`"),
        ("`dibs claim a.py` in /other (`cd` there first)", "`dibs claim a.py` in /other (`cd` there first)"),
        ("`dibs claim a.py", "`dibs claim a.py"), ("`dibs claim 'a.py`", "`dibs claim 'a.py`"),
    ):  # fmt: skip
        assert advised.from_folder(text, top, folder) == seen


def test_a_target_that_cannot_be_read_is_refused_only_while_others_hold_something_here(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    command = "echo x > $F"
    assert bob.may_run(command).allowed
    ada.edit("a.py", "ada's\n")
    refusal = bob.may_run(command).refusal
    assert "cannot be read from its words" in refusal
    assert "a.py (ada, 29 min left; ends with its commit)" in refusal
    assert ada.may_run(command).allowed, "ones own claims are not in the way"
    tree = repo.worktree("tree")
    assert repo.agent("cal", cwd=tree).may_run(command).allowed, "in another working tree it is not in the way"
    ada.end()
    assert bob.may_run(command).allowed


# --- deploys


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("npx wrangler deploy --env prod", "wrangler"), ("kubectl -n prod apply -f x.yaml", "kubernetes"),
        ("cd infra && terraform apply -auto-approve", "terraform"), ("make && npm publish", "npm"),
    ],
)  # fmt: skip
def test_a_deploy_command_is_refused_with_the_way_to_do_it(repo: Repository, command: str, target: str) -> None:
    refusal = repo.agent("ada").may_run(command).refusal
    assert f"deploys to {target}, and not now: " in refusal  # this repository has no remote
    assert f" Run it as `.dibs/dibs deploy {target} --verify CMD -- " in refusal


def test_a_deploy_through_dibs_and_a_command_that_only_looks_like_one_pass(repo: Repository) -> None:
    ada = repo.agent("ada")
    assert ada.may_run("dibs deploy wrangler -- npx wrangler deploy").allowed
    assert ada.may_run("kubectl get pods").allowed
    assert ada.may_run("echo wrangler deploy").allowed


def test_the_configs_own_deploy_commands_count(repo: Repository) -> None:
    repo.config('[deploy]\ncommands = { "./ship" = "prod", "wrangler deploy" = "" }\n')
    ada = repo.agent("ada")
    assert "dibs deploy prod --" in ada.may_run("./ship now").refusal
    assert ada.may_run("wrangler deploy").allowed
    assert not ada.may_run("kubectl apply -f x.yaml").allowed


def test_a_deploy_in_a_script_is_refused_with_the_target_of_what_it_runs(repo: Repository) -> None:
    (repo.folder / "package.json").write_text('{"scripts": {"ship": "wrangler deploy", "build": "tsc"}}')
    (repo.folder / "Makefile").write_text("deploy:\n\tkubectl apply -f k8s\ntest:\n\tpytest\n")
    ada = repo.agent("ada")
    assert "dibs deploy wrangler --verify CMD -- npm run ship" in ada.may_run("npm run ship").refusal
    assert "dibs deploy kubernetes --verify CMD -- make deploy" in ada.may_run("make deploy").refusal
    for command in ("npm run build", "make test"):
        assert ada.may_run(command).allowed


# --- dibs itself


def test_dibs_own_commands_pass_in_an_agents_shell_and_know_who_calls(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("a.py", "ada's\n")
    done, _ = ada.bash(f"{DIBS} release a.py")
    assert done.code == 0, done
    assert repo.claims() == {}
    assert bob.may_edit("a.py").silent


def test_the_folder_that_the_repository_lies_in_is_not_deleted_or_moved_under_a_holder(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("a.py", "ada's\n")
    above = repo.folder.parent
    for command in (f"rm -rf {above}", "rm -rf ..", f"mv {above} /tmp/elsewhere", f"cd {above} && rm -rf repo"):
        assert "the work of ada" in bob.may_run(command).refusal, command
    assert bob.may_run(f"rm -rf {above}/another {above}/repo-2").allowed


def test_the_folder_that_a_workspace_without_git_lies_in_is_not_deleted_under_a_holder(repo: Repository) -> None:
    shutil.rmtree(repo.folder / ".git")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("a.py", "ada's\n")
    for command in (f"rm -rf {repo.folder.parent}", "rm -rf ..", f"mv {repo.folder.parent} /tmp/elsewhere"):
        assert "ada holds a.py" in bob.may_run(command).refusal, command


def test_a_name_that_nobody_can_claim_is_refused_for_what_it_is_and_may_be_deleted(repo: Repository) -> None:
    ada = repo.agent("ada")
    for name, typed in (("a\tb", r"$'a\tb'"), ("a\nb", r"$'a\nb'"), ("a\x07b", r"$'a\ab'")):
        refusal = ada.may_run(f"echo x > {typed}").refusal
        assert "has a control character in it" in refusal
        assert "could not check" not in refusal
        assert "could not check" not in ada.may_write(name).refusal
        (repo.folder / name).write_text("x")
        assert ada.may_run(f"rm {typed}").allowed
