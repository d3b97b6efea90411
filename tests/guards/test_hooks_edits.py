"""The edit guard at the hook: stale reads, strict paths, roles, patches, working trees, and paths of all kinds."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from pathlib import Path

import pytest

from tests.interfaces.repository import DIBS, ENTRY, LIMIT, Repository

# --- stale reads


def test_a_write_over_content_that_another_agent_changed_is_refused_until_it_was_read(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.read("a.py")
    bob.edit("a.py", "bob's\n")
    bob.end()
    refusal = ada.may_write("a.py").refusal
    assert "bob changed a.py since you last read or wrote it. You hold it now: read it again" in refusal
    assert repo.claims() == {"ada": ["a.py"]}, "so that nobody changes it again meanwhile"
    assert ada.may_write("a.py").refusal, "asking again is not reading"
    assert ada.read("a.py").silent
    assert ada.may_write("a.py").silent


def test_an_edit_that_carries_its_context_passes_over_newer_content_and_its_agent_is_told_once(
    repo: Repository,
) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    ada.read("a.py")
    bob.edit("a.py", "one\ntwo\n")
    bob.end()
    path = str(repo.folder / "a.py")
    edit = {"file_path": path, "old_string": "two", "new_string": "three"}
    assert ada.may("Edit", "merge", **edit).silent
    repo.write("a.py", "one\nthree\n")
    told = ada.did("Edit", "merge", **edit).told
    assert "bob changed a.py since you last read it; your change was made to that" in told
    assert ada.hook("UserPromptSubmit", prompt="go").silent
    assert ada.may_write("a.py").refusal, "it has still not read the rest"


def test_a_change_of_which_no_call_tells_is_stale_without_a_name(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.edit("a.py", "ada's\n")
    repo.later()
    repo.write("a.py", "a person's\n")
    assert "an unknown agent or program changed a.py since you last read or wrote it" in ada.may_write("a.py").refusal
    ada.read("a.py")
    assert ada.may_write("a.py").silent


def test_a_file_that_was_only_touched_is_not_stale(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.read("a.py")
    os.utime(repo.folder / "a.py", ns=(1, 1))
    assert ada.may_write("a.py").silent


def test_a_file_that_was_written_again_with_the_same_content_is_not_stale(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.read("a.py")
    text = (repo.folder / "a.py").read_text()
    (repo.folder / "a.py").unlink()
    repo.write("a.py", text)
    assert ada.may_write("a.py").silent


def test_what_ones_own_command_changed_is_not_stale(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.read("a.py")
    ada.edit("b.py", "ada's\n")
    ada.bash("python3 -c \"for name in ('a.py', 'b.py'): open(name, 'a').write('more')\"")
    assert ada.may_write("a.py").silent
    assert ada.may_write("b.py").silent


def test_a_file_that_an_ended_agent_left_passes_for_one_that_never_saw_it_and_is_kept(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.edit("a.py", "bob's\n")
    bob.end()
    ada.boot()
    assert ada.may_write("a.py", "ada's\n").silent
    assert "a.py had uncommitted work of bob, which has ended; it is kept" in ada.hook("UserPromptSubmit").told


def test_unfinished_work_of_an_agent_that_is_there_is_not_written_over_unread(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    bob.edit("a.py", "bob's\n")
    bob.dibs("release", "a.py")
    assert "bob changed a.py, and you have not read it" in ada.may_write("a.py").refusal
    ada.read("a.py")
    assert ada.may_write("a.py").silent


@pytest.mark.parametrize("command", ["git merge -q other", "git checkout -q other -- a.py", "git checkout -q other"])
def test_what_a_merge_or_a_checkout_brought_is_not_written_over_unread(repo: Repository, command: str) -> None:
    repo.git("switch", "-q", "-c", "other")
    repo.write("a.py", "of another branch\n")
    repo.git("commit", "-q", "-a", "-m", "other")
    repo.git("switch", "-q", "main")
    ada = repo.agent("ada")
    ada.boot()
    ada.read("a.py")
    ada.bash(command)
    assert (repo.folder / "a.py").read_text() == "of another branch\n"
    assert "changed a.py" in ada.may_write("a.py").refusal
    ada.read("a.py")
    assert ada.may_write("a.py").silent


def test_ones_own_work_that_comes_back_from_a_stash_may_be_written_over(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    ada.edit("a.py", "ada's\n")
    ada.bash("git stash -q")
    assert (repo.folder / "a.py").read_text() == "a.py at first\n"
    ada.bash("git stash pop -q")
    ada.edit("a.py", "ada's again\n")
    assert repo.events("edit.violated", "edit.unattributed", "edit.doubted") == []


def test_a_file_that_was_read_and_is_gone_can_be_written_anew(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.read("a.py")
    (repo.folder / "a.py").unlink()
    ada.edit("a.py", "again\n")
    assert repo.claims() == {"ada": ["a.py"]}


# --- strict, roles, dibs' own record


def test_a_strict_path_needs_an_explicit_claim_first(repo: Repository) -> None:
    ada = repo.agent("ada")
    refusal = ada.may_edit("db/migrations/001.sql").refusal
    assert "db/migrations/001.sql is strict here: it needs an explicit claim first" in refusal
    assert "dibs claim db/migrations/001.sql --reason WHY" in refusal
    assert repo.claims() == {}
    assert "is strict here" in ada.may_run("echo x > db/migrations/001.sql").refusal
    assert ada.dibs("claim", "db/migrations/001.sql", "--reason", "a column")["ok"]
    ada.edit("db/migrations/001.sql", "ALTER\n")
    assert "ada holds db/migrations/001.sql" in repo.agent("bob").may_edit("db/migrations/001.sql").refusal


def test_the_configs_own_list_of_strict_paths_counts_and_a_free_path_needs_no_claim(repo: Repository) -> None:
    repo.config(
        '[guards]\nstrict = ["deploy/**", "!**/migrations/**"]\nfree = ["notes/**"]\n[files]\nstate = "STATE.md"\n'
    )
    ada, bob = repo.agent("ada"), repo.agent("bob")
    assert "deploy/run.sh is strict here" in ada.may_edit("deploy/run.sh").refusal
    assert "STATE.md is strict here" in ada.may_edit("STATE.md").refusal
    ada.edit("notes/today.md", "ada's\n")
    assert bob.may_edit("notes/today.md").silent
    assert ada.may_edit("db/migrations/001.sql").silent
    assert repo.claims() == {"ada": ["db/migrations/001.sql"]}


def test_what_git_ignores_needs_no_claim(repo: Repository) -> None:
    repo.write(".gitignore", "build/\n*.log\n")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("build/out.txt", "ada's\n")
    ada.edit("x.log", "ada's\n")
    assert bob.may_edit("build/out.txt").silent
    assert bob.may_edit("x.log").silent
    assert repo.claims() == {}


def test_a_workers_briefing_says_that_it_is_one_and_what_that_means(repo: Repository) -> None:
    assert "A file is claimed for you when you edit it" in repo.agent("bob").boot()
    repo.config(
        '[roles]\ndefault = "worker"\n[roles.assign]\n"lead" = "orchestrator"\n"eve" = "viewer"\n"ned" = "noter"\n'
        '[roles.noter]\nwrite = ["notes/"]\ncommit = false\n'
    )
    told = repo.agent("ada").boot()
    assert "Your role here is worker. You may read everything and write only to .dibs/local/scratch/ada/." in told
    assert "You may not commit or deploy. Hand your result over" in told
    assert "claimed for you" not in told
    child = repo.agent("ada").born("child").hook("SubagentStart").told
    assert "write only to .dibs/local/scratch/ada/child/" in child
    assert "claimed for you" not in child
    assert "Your role here is viewer. You write nothing." in repo.agent("eve").boot()
    assert "write only to .dibs/local/scratch/ned/ and notes/. You may not commit. Hand" in repo.agent("ned").boot()
    lead = repo.agent("lead").boot()
    assert "Your role here is orchestrator." in lead
    assert "A file is claimed for you when you edit it" in lead
    assert (
        "Your role here is worker."
        in repo.agent("ada").client.run(DIBS, "boot", cwd=repo.folder, CLAUDE_CODE_SESSION_ID="ada").out
    )


def test_a_worker_writes_to_its_scratch_folder_and_nowhere_else(repo: Repository, tmp_path: Path) -> None:
    repo.config('[roles]\ndefault = "worker"\n[roles.assign]\n"lead" = "orchestrator"\n')
    ada, lead = repo.agent("ada"), repo.agent("lead")
    refusal = ada.may_edit("a.py").refusal
    assert "ada is a worker and may not write a.py" in refusal
    assert "dibs send" in refusal
    assert ada.may("Write", file_path=str(tmp_path / "outside.txt"), content="x").refusal
    assert ada.may_run("echo x > a.py").refusal
    assert "ada is a worker and may not commit" in ada.may_run("git commit -m x").refusal
    scratch = Path(ada.dibs("scratch")["scratch"])
    ada.edit(str(scratch / "report.md"), "done\n")
    assert repo.claims() == {}
    lead.edit("a.py", "integrated\n")
    lead.bash("git commit -qam integrated")
    assert repo.git("log", "--format=%s").splitlines()[0] == "integrated"


def test_a_role_can_be_given_to_subagents_and_be_allowed_some_paths(repo: Repository) -> None:
    repo.config('[roles.assign]\n"subagents" = "worker"\n[roles.worker]\nwrite = ["reports/"]\n')
    ada = repo.agent("ada")
    child = ada.born("child")
    assert "ada/child is a worker and may not write a.py" in child.may_edit("a.py").refusal
    assert child.may_edit("reports/one.md").silent
    assert ada.may_edit("a.py").silent


def test_dibs_own_record_is_nobodys_to_write(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.edit("a.py", "ada's\n")
    for name in ("dibs.db", "journal/ada", "scratch/bob/x", "new"):
        assert "is dibs' own record; write to your scratch folder" in ada.may_edit(f".dibs/local/{name}").refusal
    assert "dibs' own record" in ada.may_run("rm -rf .dibs/local").refusal
    assert "dibs' own record" in ada.may_run("echo > .dibs/local/dibs.db").refusal
    tree = repo.worktree("tree")
    other = repo.agent("bob", cwd=tree)
    assert "dibs' own record" in other.may_edit(str(repo.local / "dibs.db")).refusal


def test_a_tool_on_a_roles_list_is_refused_before_the_call_whatever_it_does(repo: Repository) -> None:
    repo.config(
        '[roles]\ndefault = "scout"\n[roles.assign]\n"lead" = "agent"\n'
        '[roles.scout]\ntools = ["Read", "Bash", "WebFetch", "mcp__github__*"]\n'
    )
    ada, lead = repo.agent("ada"), repo.agent("lead")
    path = str(repo.folder / "a.py")
    for tool, given in (
        ("Read", {"file_path": path}), ("Bash", {"command": "ls"}), ("WebFetch", {"url": "https://example.org"}),
        ("mcp__github__merge", {"number": 1}),
    ):  # fmt: skip
        assert f"the role scout may not use {tool}" in ada.may(tool, **given).refusal
        assert lead.may(tool, **given).allowed
    assert ada.may("WebSearch", query="x").allowed
    assert ada.may_edit("a.py").allowed
    refused = repo.events("command.refused")
    assert [event["subject"] for event in refused] == ["Read", "Bash", "WebFetch", "mcp__github__merge"]
    assert refused[0]["data"] == {"code": "forbidden", "role": "scout"}


def test_a_folder_that_holds_dibs_own_record_is_nobodys_to_delete(repo: Repository) -> None:
    repo.config("[guards]\nstrict = []\n")
    ada = repo.agent("ada")
    assert ada.may_run("rm -rf .dibs").refusal
    assert ada.may_run("rm -rf .").refusal
    assert ada.may_run(f"rm -rf {repo.folder}").refusal


# --- several files at once


def test_a_patch_gets_all_its_files_or_none(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.edit("b.py", "bob's\n")
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** Add File: new/d.py\n+d\n*** Delete File: {}\n"
        "*** Update File: e.py\n*** Move to: f.py\n@@\n-e\n+f\n*** End Patch\n"
    )
    assert "bob holds b.py" in ada.patch(patch.format("b.py")).refusal
    assert repo.claims() == {"bob": ["b.py"]}
    assert ada.patch(patch.format("c.py")).silent
    assert repo.claims() == {"ada": ["a.py", "c.py", "e.py", "f.py", "new/d.py"], "bob": ["b.py"]}
    assert "ada holds f.py" in repo.agent("cal").may_edit("f.py").refusal, "where a file is moved to counts"


def test_a_patch_over_two_working_trees_gets_all_its_files_or_none(repo: Repository) -> None:
    tree = repo.worktree("tree")
    repo.agent("bob", cwd=tree).edit("b.py", "bob's\n")
    ada = repo.agent("ada")
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch\n"
    assert "bob holds b.py" in ada.patch(patch.format(tree / "b.py")).refusal
    assert repo.claims() == {"bob": ["b.py"]}


def test_a_patch_in_which_no_file_can_be_read_is_refused(repo: Repository) -> None:
    assert repo.agent("ada").patch("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n").refusal
    assert repo.agent("ada").patch("").refusal


def test_a_notebook_and_a_list_of_edits_are_edits_too(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    path = str(repo.folder / "n.ipynb")
    assert ada.may("NotebookEdit", notebook_path=path, new_source="x").silent
    assert "ada holds n.ipynb" in bob.may("MultiEdit", file_path=path, edits=[]).refusal


# --- working trees


def test_an_edit_in_another_working_tree_passes_and_both_are_told_of_the_coming_conflict(repo: Repository) -> None:
    tree = repo.worktree("tree")
    ada, bob = repo.agent("ada"), repo.agent("bob", cwd=tree)
    ada.boot()
    bob.boot()
    ada.edit("a.py", "ada's\n")
    told_bob = bob.edit("a.py", "bob's\n").told
    assert repo.claims() == {"ada": ["a.py"], "bob": ["a.py"]}
    told = ada.hook("UserPromptSubmit", prompt="go").told
    assert f"bob now changes a.py in {tree}, and you in {repo.folder}: a merge conflict is coming" in told
    assert f"ada changes a.py in {repo.folder}, and you in {tree}: a merge conflict is coming" in told_bob
    bob.edit("a.py", "bob's again\n")
    assert ada.hook("UserPromptSubmit", prompt="go").silent, "once is enough"


def test_within_one_working_tree_it_is_refused_whichever_tree_the_agent_starts_from(repo: Repository) -> None:
    tree = repo.worktree("tree")
    ada, bob, cal = repo.agent("ada"), repo.agent("bob", cwd=tree), repo.agent("cal", cwd=tree)
    bob.edit("a.py", "bob's\n")
    assert "bob holds a.py" in cal.may_edit("a.py").refusal
    assert "bob holds a.py" in ada.may_edit(str(tree / "a.py")).refusal
    assert ada.may_edit("a.py").silent


def test_a_claim_made_by_hand_covers_the_path_in_every_working_tree(repo: Repository) -> None:
    tree = repo.worktree("tree")
    repo.agent("ada").dibs("claim", "a.py")
    assert "ada holds a.py" in repo.agent("bob", cwd=tree).may_edit("a.py").refusal


def test_across_working_trees_the_config_can_block_or_ignore(repo: Repository) -> None:
    repo.config('[guards]\nacross_worktrees = "block"\n')
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "block")
    tree = repo.worktree("tree")
    ada, bob = repo.agent("ada"), repo.agent("bob", cwd=tree)
    bob.boot()
    ada.edit("a.py", "ada's\n")
    assert "ada holds a.py" in bob.may_edit("a.py").refusal
    config = tree / ".dibs" / "config.toml"
    config.write_text(config.read_text().replace('"block"', '"ignore"'))
    assert bob.may_edit("a.py").silent
    assert bob.hook("UserPromptSubmit", prompt="go").silent


# --- paths


def test_a_path_outside_the_repository_passes_and_is_not_claimed(repo: Repository, tmp_path: Path) -> None:
    ada = repo.agent("ada")
    assert ada.may("Write", file_path=str(tmp_path / "elsewhere.txt"), content="x").silent
    assert ada.may_edit("../elsewhere.txt").silent
    assert ada.may_run(f"echo x > {tmp_path}/elsewhere.txt").silent
    assert repo.claims() == {}


@pytest.mark.parametrize(
    "name", ["two words.py", "ünïcödé-日本.py", 'it\'s "quoted".py', "app/[id]/page.tsx", "-dash.py", "a*b.py", "~x.py"]
)
def test_a_file_of_any_name_is_held_by_one_agent(repo: Repository, name: str) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit(name, "ada's\n")
    assert f"ada holds {name} (" in bob.may_edit(name).refusal
    assert repo.claims() == {"ada": [name]}
    ada.end()
    ada.read(name)
    bob.edit(name, "bob's\n")
    bob.end()
    assert f"bob changed {name}" in ada.may_write(name).refusal


@pytest.mark.parametrize(
    "alias", ["./sub/../a.py", "sub/..//a.py", "link.py", "sub/up/a.py", "hard.py", "{absolute}", "{parent}"]
)
def test_a_held_file_is_held_under_every_name_that_leads_to_it(repo: Repository, alias: str) -> None:
    (repo.folder / "sub").mkdir()
    (repo.folder / "link.py").symlink_to("a.py")
    (repo.folder / "sub" / "up").symlink_to("..")
    (repo.folder / "hard.py").hardlink_to(repo.folder / "a.py")
    alias = alias.format(absolute=repo.folder / "a.py", parent=f"../{repo.folder.name}/a.py")
    repo.agent("ada").edit("a.py", "ada's\n")
    bob = repo.agent("bob")
    assert "ada holds" in bob.may("Edit", file_path=alias, old_string="a", new_string="b").refusal
    assert "ada holds" in bob.may_run(f"echo x > {alias}").refusal


def test_both_unicode_forms_of_a_name_are_one_file(repo: Repository) -> None:
    name = "caf\u00e9.py"
    repo.agent("ada").edit(name, "ada's\n")
    assert "ada holds" in repo.agent("bob").may_edit(unicodedata.normalize("NFD", name)).refusal


@pytest.mark.parametrize("name", ["new\nline", "tab\there", "bell\a", "\udc80bytes"])
def test_a_name_that_cannot_be_claimed_is_no_way_around_a_claim(repo: Repository, name: str) -> None:
    """A link of such a name leads to a held file; a guard that cannot tell where a path leads has to refuse."""
    (repo.folder / "sub").mkdir()
    os.symlink(repo.folder / "sub", os.fsencode(str(repo.folder / name)))
    repo.agent("ada").edit("sub/x.py", "ada's\n")
    answer = repo.agent("bob").may("Edit", file_path=f"{name}/x.py", old_string="a", new_string="b")
    assert answer.code == 2, answer


def test_a_path_of_many_dots_is_no_way_around_a_claim(repo: Repository) -> None:
    """Clients put a path in order before they open it, so one that the kernel would refuse leads somewhere."""
    repo.agent("ada").edit("a.py", "ada's\n")
    answer = repo.agent("bob").may("Edit", file_path="./" * 3000 + "a.py", old_string="a", new_string="b")
    assert answer.code == 2, answer


def test_a_loop_of_links_is_refused(repo: Repository) -> None:
    (repo.folder / "loop").symlink_to("loop")
    assert repo.agent("ada").may_edit("loop/x.py").code == 2


@pytest.mark.parametrize("tool", ["Read", "Edit"])
def test_a_pipe_in_the_way_does_not_keep_a_hook_waiting(repo: Repository, tool: str) -> None:
    os.mkfifo(repo.folder / "pipe")
    ada = repo.agent("ada")
    path = str(repo.folder / "pipe")
    answer = ada.hook("PreToolUse", seconds=LIMIT, tool_name=tool, tool_input={"file_path": path}, tool_use_id="c")
    assert answer.code in {0, 2}


def test_a_folder_where_a_file_should_be_does_not_confuse_the_guard(repo: Repository) -> None:
    (repo.folder / "sub").mkdir()
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("sub/x.py", "ada's\n")
    assert "ada holds sub/x.py" in bob.may_edit("sub").refusal
    assert ada.read("sub").silent


@pytest.mark.parametrize("tool", ["mcp__files__write_file", "WriteOfNextYear"])
def test_a_tool_that_is_not_in_the_table_and_brings_content_for_a_file_is_an_edit(repo: Repository, tool: str) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("a.py", "ada's\n")
    path = str(repo.folder / "a.py")
    assert "ada holds a.py" in bob.may(tool, path=path, content="bob's\n").refusal
    assert bob.may(tool, path=path).allowed, "to look at it is no edit"


def test_a_directory_that_is_not_there_is_a_doubt_and_a_file_in_the_repository_is_found_from_elsewhere(
    repo: Repository, tmp_path: Path
) -> None:
    repo.agent("ada").edit("a.py", "ada's\n")
    payload = {
        "session_id": "bob", "hook_event_name": "PreToolUse", "tool_name": "Edit",
        "tool_input": {"file_path": str(repo.folder / "a.py"), "old_string": "a", "new_string": "b"},
    }  # fmt: skip
    client = repo.agent("bob").client
    words = (sys.executable, "-I", "-S", ENTRY, "claude")
    for cwd in ("/", "/nowhere/at/all"):
        answer = client.run(*words, cwd=tmp_path, given=json.dumps({**payload, "cwd": cwd}).encode())
        assert "ada holds a.py" in answer.refusal
    outside = {**payload, "cwd": "/nowhere/at/all", "tool_input": {"file_path": "x.py", "content": "x"}}
    assert client.run(*words, cwd=tmp_path, given=json.dumps(outside).encode()).code == 2


# --- the database behind it


def test_a_hook_does_not_fold_the_wal_into_the_database_at_its_end(repo: Repository) -> None:
    """It would wait for the disk three more times, before each tool call of each agent."""
    ada = repo.agent("ada")
    database = repo.folder / ".dibs" / "local" / "dibs.db"
    before = database.read_bytes()
    assert ada.may_edit("a.py").silent
    assert repo.claims() == {"ada": ["a.py"]}
    assert (repo.folder / ".dibs" / "local" / "dibs.db-wal").stat().st_size > 0
    assert database.read_bytes() == before
