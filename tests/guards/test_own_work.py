"""An agent is not accused of what it did not do, and its own work is its own: real clients, one process an agent."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from dibs.guards.caller import begin
from dibs.ledger import contents, ledger_files, working_tree
from dibs.ledger.state import State
from dibs.workspace import location
from tests.guards.test_found_by_fleets import owners

if TYPE_CHECKING:
    from tests.interfaces.repository import Agent, Repository

QUICK = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"


@pytest.fixture
def two(repo: Repository) -> tuple[Agent, Agent]:
    """Ada and Bob in one repository with some files, and a program that nobody can read."""
    repo.write("put.py", QUICK)
    for number in range(20):
        repo.write(f"lib/{number}.txt", f"{number}\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "more files")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    return ada, bob


def news(agent: Agent) -> str:
    """What the agent is told at its next prompt."""
    return agent.hook("UserPromptSubmit", prompt="go on").told


def last_seen(repo: Repository, path: str) -> str:
    """The content that the last look found at a path."""
    return State(ledger_files.load(str(repo.ledger.parent))[0]).heads[path].content


def make_looks_expensive(repo: Repository) -> None:
    """From now on a look at the whole tree is known to take very long, as in a large tree on a slow disk."""
    now, offset = ledger_files.now()
    with repo.ledger.open("a") as file:
        file.write(f"F\t{now}:{offset}\t{10**12}\n")


def accusations(repo: Repository) -> list[tuple[str, str]]:
    """The changes that somebody was told of as another's."""
    return [(event["kind"], event["subject"]) for event in repo.events("edit.violated", "edit.unattributed")]


# --- quick programs


@pytest.mark.parametrize("between", ["", "ls", "git status"])
def test_what_a_quick_program_wrote_is_its_agents_and_not_overwritten_by_another_one_unseen(
    between: str, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    make_looks_expensive(repo)
    ada.bash("python3 put.py lib/7.txt 'of ada'")
    if between:
        ada.bash(between)
    ada.stop()
    _, after = bob.bash("python3 put.py lib/7.txt 'of bob'")
    assert owners(repo) == {"lib/7.txt": ["ada"]}
    assert "lib/7.txt" in after.told
    told = news(ada)
    assert "lib/7.txt, in which you have uncommitted work" in told
    assert "bob" in told
    assert [path for _, path in accusations(repo)] == ["lib/7.txt"]
    assert ada.dibs("restore", "lib/7.txt")["ok"] is True
    assert (repo.folder / "lib/7.txt").read_text() == "of ada"


def has_looked(repo: Repository) -> bool:
    """Was there a look at the whole tree since `make_looks_expensive`?"""
    looks = [line for line in repo.ledger.read_text().splitlines() if line[:2] == "F\t"]
    return "1000000000000" not in looks[-1]


def test_a_quick_program_is_followed_by_a_look_at_the_whole_tree_only_while_another_agents_program_runs(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    make_looks_expensive(repo)
    ada.bash("python3 put.py a.py 'of ada'")
    assert not has_looked(repo), "bob is there, and does nothing"
    assert bob.may_run("make", "make-1").allowed
    make_looks_expensive(repo)
    ada.bash("python3 put.py a.py 'of ada, too'")
    assert has_looked(repo)
    assert owners(repo) == {"a.py": ["ada"]}
    bob.client.kill()
    ada.bash("python3 put.py b.py 'of ada'")  # it may look once: Bob's program has ended
    make_looks_expensive(repo)
    ada.bash("python3 put.py b.py 'of ada, too'")
    assert not has_looked(repo)


@pytest.mark.parametrize("running", ["make &", "make"])
def test_a_program_that_may_still_run_after_its_call_counts_as_running(
    running: str, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    assert bob.may_run(running, "run-1").allowed
    bob.did("Bash", "run-1", command=running)
    make_looks_expensive(repo)
    ada.bash("python3 put.py a.py 'of ada'")
    assert has_looked(repo), "it has just ended, or was left running"
    repo.later()
    make_looks_expensive(repo)
    ada.bash("python3 put.py a.py 'of ada, too'")
    assert has_looked(repo) == (running != "make")
    bob.client.kill()
    ada.bash("python3 put.py b.py 'of ada'")  # it may look once: Bob's program has ended
    make_looks_expensive(repo)
    ada.bash("python3 put.py b.py 'of ada, too'")
    assert not has_looked(repo)


@pytest.mark.parametrize(
    ("command", "looks"), [("make", True), ("printf x > c.py", True), ("ls", False), ("cat b.py", False)]
)
def test_a_command_begins_with_a_look_at_what_another_agents_program_did_since_the_last_one(
    command: str, looks: bool, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    make_looks_expensive(repo)
    ada.bash("python3 put.py lib/7.txt 'of ada'")
    assert ada.may_run("make").allowed
    assert not has_looked(repo), "its own program is in nobody's way"
    assert bob.may_run(command).allowed
    assert has_looked(repo) is looks
    if looks:
        assert owners(repo) == {"lib/7.txt": ["ada"]}
        make_looks_expensive(repo)
        assert bob.may_run("make").allowed
        assert not has_looked(repo), "nothing ended since"


def test_a_tool_of_which_nobody_knows_what_it_writes_begins_with_that_look_too(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    make_looks_expensive(repo)
    ada.bash("python3 put.py lib/7.txt 'of ada'")
    assert bob.may("mcp__files__generate").allowed
    assert owners(repo) == {"lib/7.txt": ["ada"]}


def test_a_program_that_ends_while_another_command_is_about_to_begin_is_looked_at_before_that_one_runs(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    """Neither hook sees the other's call when it decides whether to look; the one whose line comes second does."""
    ada, _ = two
    place = location.find(str(repo.folder), None)
    assert ada.may_run("python3 put.py lib/7.txt 'of ada'", "put-1").allowed
    tree = working_tree.of(place)
    tree.survey()
    tree.look_if_behind("bob")
    repo.write("lib/7.txt", "of ada")
    make_looks_expensive(repo)
    ada.did("Bash", "put-1", command="python3 put.py lib/7.txt 'of ada'")
    assert not has_looked(repo)
    event = SimpleNamespace(key="make-1", agent="bob")
    begin(tree, event, is_open=True)  # type: ignore[arg-type]
    assert "ada" in owners(repo).get("lib/7.txt", ()), "bob may be in doubt: it was written a few milliseconds ago"


def test_a_release_by_force_keeps_what_a_quick_program_wrote_below_a_claimed_folder(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, _ = two
    (repo.folder / "few").mkdir()
    ada.dibs("claim", "few/")
    make_looks_expensive(repo)
    ada.bash("python3 put.py few/7.txt 'of ada'")
    assert not has_looked(repo)
    kept = repo.terminal("release", "few/", "--force", "--why", "ada is stuck")["kept"]
    assert [one["path"] for one in kept] == ["few/7.txt"]


# --- killed in the middle of a command


@pytest.mark.slow
@pytest.mark.parametrize("command", ["sed -i s/at/AT/ a.py && sleep 60", "make", "python3 put.py a.py x"])
def test_the_successor_of_an_agent_that_was_killed_in_the_middle_of_a_command_is_not_accused(
    command: str, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, _ = two
    ada.edit("a.py", "of ada\n")
    assert ada.may_run(command).allowed
    ada.client.kill()
    cyd = repo.agent("cyd")
    cyd.boot()
    cyd.read("a.py")
    cyd.dibs("claim", "a.py")
    _, told = cyd.bash("python3 put.py a.py 'of cyd'")
    assert not told.told
    told = cyd.edit("a.py", "of cyd again\n")
    assert not told.out
    done, _ = cyd.bash("git commit -qm x a.py")
    assert done.code == 0, done
    assert not accusations(repo)


# --- the client's own formatter

MESSY = "import os\nx = { 'a':1,\n  'b':2 }\nprint( os.name,x )\n"
TIDY = 'import os\n\nx = {"a": 1, "b": 2}\nprint(os.name, x)\n'


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("running", ["", "make"])
def test_what_a_clients_formatter_does_to_its_edit_is_the_edits_own(
    running: str, first: bool, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    """The formatter is a hook of the same event as ours: it may come before or after it."""
    ada, bob = two
    if running:
        assert bob.may_run(running, "long").allowed
    path = repo.folder / "a.py"
    for turn in range(3):
        text, tidy = f"{MESSY}n{turn} = {turn}\n", f"{TIDY}n{turn} = {turn}\n"
        given = {"file_path": str(path), "content": text}
        assert ada.may("Write", f"w{turn}", **given).silent
        path.write_text(tidy if first else text)
        assert ada.did("Write", f"w{turn}", **given).silent
        path.write_text(tidy)
        _, after = ada.bash("ls")
        assert not after.told
    if running:
        assert not bob.did("Bash", "long", command=running).out
    assert not accusations(repo)
    assert owners(repo) == {"a.py": ["ada"]}
    assert ada.bash("git commit -qm x a.py")[0].code == 0
    assert not news(ada)
    assert not news(bob)


@pytest.mark.parametrize("company", ["none", "dead", "alive"])
def test_a_formatter_that_adds_words_is_told_once_and_what_it_made_has_to_be_read(
    company: str, repo: Repository
) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    if company != "none":
        bob.boot()
    if company == "dead":
        bob.client.kill()
    told = []
    for turn, name in enumerate(["a.py", "b.py", "a.py", "a.py"]):
        path = repo.folder / name
        ada.read(name)
        ada.edit(name, f"x = {turn}\n")
        path.write_text(f"# Copyright of somebody\nx = {turn}\nadded{turn} = 1\n")
        told.append(ada.bash("ls")[1].told)
    assert "a.py changed right after your edit" in told[0]
    assert told[1:] == ["", "", ""]
    assert "a.py" in ada.may_write("a.py", "over it\n").refusal, "it has not read what is there"
    ada.read("a.py")
    assert ada.may_write("a.py", "over it\n").silent
    assert not accusations(repo)


def test_a_formatter_that_adds_words_is_known_after_two_changes_while_anothers_program_runs(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    assert bob.may_run("make", "long").allowed
    for turn in range(4):
        ada.read("a.py")
        ada.edit("a.py", f"x = {turn}\n")
        repo.write("a.py", f"# Copyright of somebody\nx = {turn}\nadded{turn} = 1\n")
        told = ada.bash("ls")[1].told
        assert ("probably bob did it" in told) is (turn < 2), told
        assert ("changed while your command ran, and bob was at work too" in told) is (turn > 1), told
    assert len(accusations(repo)) == 2
    ada.read("a.py")
    assert ada.bash("git commit -qm x a.py")[0].code == 0


def test_the_next_agents_edit_with_the_same_words_is_its_own(repo: Repository, two: tuple[Agent, Agent]) -> None:
    """Both edit one file in turn, each commits, and the second one only puts the words in another order."""
    ada, bob = two
    for turn in range(3):
        ada.read("a.py")
        ada.edit("a.py", f"ada {turn}\nbob {turn} after\n")
        assert ada.bash("git commit -qm ada -- a.py")[0].code == 0
        bob.read("a.py")
        assert bob.bash(f"sed -i 's/bob {turn} after/after bob {turn}/' a.py")[0].code == 0
        assert owners(repo) == {"a.py": ["bob"]}
        assert bob.bash("git commit -qm bob -- a.py")[0].code == 0
    assert not accusations(repo)


def test_an_agent_that_continues_a_fresh_edit_with_the_same_words_did_it(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("a.py", "bob after\n")
    ada.dibs("release", "a.py")
    bob.read("a.py")
    assert bob.bash("sed -i 's/bob after/after bob/' a.py")[0].code == 0
    assert "bob" in owners(repo)["a.py"]


def test_another_program_that_overwrites_a_fresh_edit_is_no_formatter(two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.edit("a.py", MESSY)
    _, after = bob.bash("python3 put.py a.py 'of bob'")
    assert "a.py" in after.told
    assert "probably bob did it" in news(ada)
    ada.edit("b.py", MESSY)
    ada.stop()
    _, after = bob.bash("python3 put.py b.py 'of bob'")
    assert "your command changed b.py" in after.told


# --- a command that claims its file first

CLAIM_AND_WRITE = (
    "dibs claim a.py && sed -i s/at/AT/ a.py && git commit -qm x a.py",
    "dibs claim a.py b.py && echo 1 >> a.py && echo 2 > b.py && git commit -qm x a.py b.py",
    "dibs claim a.py --wait 60s --reason 'to change it' >/dev/null && echo 1 >> a.py && git commit -qm x a.py",
    "dibs claim a.py\nsed -i s/at/AT/ a.py\ngit commit -qm x a.py",
    "dibs claim a.py; sed -i s/at/AT/ a.py; git commit -qm x a.py",
    "set -e; dibs claim a.py; sed -i s/at/AT/ a.py; git commit -qm x a.py",
    "if dibs claim a.py; then sed -i s/at/AT/ a.py; fi && git commit -qm x a.py",
    "cd lib && dibs claim ../a.py && sed -i s/at/AT/ ../a.py && git commit -qm x ../a.py",
    "dibs claim lib && sed -i s/7/77/ lib/7.txt && git commit -qm x lib/7.txt",
    "dibs claim 'lib/*.txt' && sed -i s/7/77/ lib/7.txt && git commit -qm x lib/7.txt",
    "dibs claim a.py && sed -i s/at/AT/ a.py && dibs release a.py && git commit -qm x a.py",
    "dibs claim .dibs/config.toml && echo '# more' >> .dibs/config.toml && git commit -qm x .dibs/config.toml",
    "dibs claim .dibs/config.toml\necho '# more' >> .dibs/config.toml\ngit commit -qm x .dibs/config.toml",
    "dibs claim .dibs/config.toml && cat >> .dibs/config.toml <<'E' && git commit -qm x .dibs/config.toml\n# more\nE",
    "dibs claim .dibs/config.toml\n{ echo '#'; echo; } >> .dibs/config.toml\ngit commit -qm x .dibs/config.toml",
    "dibs task add t --id T-1 && dibs task claim T-1 && sed -i s/at/AT/ a.py && git commit -qm x a.py",
)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("command", CLAIM_AND_WRITE)
def test_what_a_command_claims_and_then_writes_is_its_own_edit(
    command: str, together: bool, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    if together:
        assert bob.may_run("make", "long").allowed
    call = "claims"
    assert ada.may_run(command, call).silent
    done = ada.client.run("bash", "-c", command, cwd=ada.cwd, CLAUDE_CODE_SESSION_ID="ada", PATH=repo.path)
    assert done.code == 0, done
    assert not ada.did("Bash", call, command=command).out
    assert not accusations(repo)
    assert not repo.events("edit.doubted")
    assert not owners(repo)
    assert not news(ada)


@pytest.mark.parametrize(
    ("command", "passes"),
    [
        ("dibs claim a.py --wait 60s && echo 1 > a.py", True),
        ("set -e; dibs claim a.py --wait 60s; echo 1 >> a.py", True),
        ("dibs claim a.py; echo 1 >> a.py", False),
        ("dibs claim a.py || echo 1 >> a.py", False),
        ("echo 1 >> a.py; dibs claim a.py", False),
        ("cat > a.py <<E; dibs claim a.py\nx\nE", False),
        ("dibs claim a.py --wait 60s && cat > a.py <<E\nx\nE", True),
        ("dibs claim a.py && true; echo 1 >> a.py", False),
        ("dibs claim b.py && echo 1 >> a.py", False),
    ],
)
def test_a_claim_in_the_same_command_excuses_a_write_only_if_the_write_depends_on_it(
    command: str, passes: bool, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("a.py", "of ada\n")
    assert bob.may_run(command).allowed is passes


def test_a_claim_in_the_same_command_is_no_excuse_for_a_write_over_what_was_not_read(two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.edit("a.py", "of ada\n")
    ada.dibs("release", "a.py")
    refused = bob.may_run("dibs claim a.py && echo 1 > a.py").refusal
    assert "ada changed a.py, and you have not read it. Read it" in refused
    bob.read("a.py")
    assert bob.may_run("dibs claim a.py && echo 1 > a.py").silent


# --- a framework that puts files aside for a moment


def test_what_a_framework_puts_aside_while_it_commits_and_puts_back_concerns_nobody(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("a.py", "of ada\n")
    ada.dibs("release", "a.py")
    ada.stop()
    bob.edit("b.py", "of bob\n")
    commit = "git commit -qm x b.py"
    assert bob.may_run("make docs", "docs").silent
    assert bob.may_run(commit, "commit").allowed
    repo.write("a.py", "a.py at first\n")
    assert ada.may_run("make", "make").silent
    assert not ada.did("Bash", "make", command="make").out  # a look at the whole tree: bob's program runs
    assert not ada.bash("ls")[1].out
    done = bob.client.run("bash", "-c", commit, cwd=bob.cwd, CLAUDE_CODE_SESSION_ID="bob", PATH=repo.path)
    assert done.code == 0, done
    repo.write("a.py", "of ada\n")
    assert not bob.did("Bash", "commit", command=commit).out
    assert not news(ada)
    assert not repo.events("edit.violated", "edit.unattributed", "edit.taken", "edit.doubted")
    assert owners(repo) == {"a.py": ["ada"]}


def test_what_a_commits_hook_takes_away_for_good_is_told_when_the_commit_is_over(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("a.py", "of ada\n")
    ada.stop()
    bob.edit("b.py", "of bob\n")
    assert bob.may_run("git commit -qm x b.py", "commit").allowed
    repo.write("a.py", "a.py at first\n")
    ada.bash("ls")
    assert not accusations(repo)
    bob.did("Bash", "commit", command="git commit")
    assert len(accusations(repo)) == 1
    assert "a.py, which you hold, was changed" in news(ada)
    assert ada.dibs("restore", "a.py")["ok"] is True
    assert (repo.folder / "a.py").read_text() == "of ada\n"


def test_what_a_program_wrote_and_staged_is_recorded_also_while_another_agents_git_command_runs(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("a.py", "of ada\n")
    ada.stop()
    bob.edit("b.py", "of bob\n")
    assert bob.may_run("git commit -qm x b.py", "commit").allowed
    assert ada.may_run("make", "make").allowed
    repo.write("a.py", "made for ada\n")
    repo.git("add", "a.py")
    assert not ada.did("Bash", "make", command="make").out
    assert last_seen(repo, "a.py") == contents.blob_id(b"made for ada\n")
    assert owners(repo)["a.py"] == ["ada"]
    ada.read("a.py")
    ada.edit("a.py", "made for ada, and more\n")
    repo.git("checkout", "--", "a.py")  # as the framework puts aside what is not staged
    assert ada.may_run("make").allowed
    assert last_seen(repo, "a.py") == contents.blob_id(b"made for ada, and more\n"), "it was there before"


def test_what_a_git_command_took_away_is_told_before_its_owner_writes_there_again(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    assert bob.may_run("git commit -qm x b.py", "commit").allowed
    ada.edit("a.py", "of ada\n")
    ada.stop()
    repo.write("a.py", "a.py at first\n")
    assert "changed a.py since you last read or wrote it" in ada.may_run("rm a.py").refusal
    assert [path for _, path in accusations(repo)] == ["a.py"]
    assert ada.dibs("restore", "a.py")["ok"] is True
    assert (repo.folder / "a.py").read_text() == "of ada\n"


# --- another working tree


@pytest.mark.parametrize(
    "command",
    ["cd {there} && python3 put.py a.py x", "(cd ../there && python3 put.py a.py x)",
     "python3 put.py {there}/a.py x", "python3 {there}/put.py ../there/a.py x", "env OUT=../there/a.py sh put.sh",
     "pushd ../there && python3 put.py a.py x"],
)  # fmt: skip
def test_a_program_that_a_command_starts_in_another_working_tree_is_its_agents(
    command: str, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    _, bob = two
    repo.write("put.sh", 'printf x > "$OUT"\n')
    there = repo.worktree("there")
    cyd = repo.agent("cyd", cwd=there)
    cyd.boot()
    cyd.edit("a.py", "of cyd\n")
    cyd.stop()
    _, after = bob.bash(command.format(there=there))
    assert (there / "a.py").read_text() == "x"
    assert "your command changed a.py, which cyd holds" in after.told
    assert "bob changed a.py, which you hold, by a command." in news(cyd)


# --- what a dev server generates


def test_what_another_agents_server_generates_is_committed_by_who_claims_and_reads_it(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    repo.write("routes.gen.ts", "one\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "routes")
    given = {"command": "npm run dev", "run_in_background": True}
    assert bob.may("Bash", "dev", **given).silent
    bob.hook("PostToolUse", tool_name="Bash", tool_input=given, tool_response={}, tool_use_id="dev")
    ada.edit("lib/page.ts", "a page\n")
    repo.write("routes.gen.ts", "one\npage\n")  # the server does it
    _, after = ada.bash("ls")
    assert not after.told
    command = "git add routes.gen.ts lib/page.ts && git commit -qm page"
    assert "routes.gen.ts" in ada.may_run(command).refusal
    assert ada.dibs("claim", "routes.gen.ts")["ok"] is True
    assert "routes.gen.ts" in ada.may_run(command).refusal, "it has not read what it would commit"
    ada.read("routes.gen.ts")
    done, after = ada.bash(command)
    assert done.code == 0, done
    assert not accusations(repo)


# --- what is made and removed


@pytest.mark.parametrize("command", ["echo x > tmp.txt && cat tmp.txt && rm tmp.txt", "touch tmp.txt; rm -f tmp.txt"])
def test_a_file_that_a_command_made_and_removed_is_free_again_when_it_is_over(
    command: str, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.bash(command)
    assert "ada" not in repo.claims()
    bob.edit("tmp.txt", "of bob\n")
    ada.bash("rm a.py")
    assert repo.claims()["ada"] == ["a.py"]


# --- files that follow dibs' own record


def test_the_files_of_an_imported_registry_are_nobodys_work(repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    for task in ("TASK-1", "TASK-2"):
        repo.write(f".agent/registry/scoped/{task}", f"do {task}\n")
    repo.write(".agent/registry/claimed/.gitkeep", "")
    assert repo.person.dibs("import")["ok"] is True
    repo.git("add", "-A")
    repo.git("commit", "-qm", "registry")
    for agent, task in ((ada, "TASK-1"), (bob, "TASK-2")):
        script = f".agent/tools/claim_task.sh {task} {agent.id}"
        assert agent.may_run(script, task).silent
        done = agent.client.run("bash", "-c", script, cwd=agent.cwd, PATH=repo.path, CLAUDE_CODE_SESSION_ID=agent.id)
        assert done.code == 0, done
        assert not agent.did("Bash", task, command=script).out
    assert repo.git("status", "--porcelain")
    assert not owners(repo)
    for command in ("git add -A", "git stash", "git checkout .", "git commit -am x"):
        assert ada.may_run(command).allowed, command
    assert ada.may_edit(".agent/registry/scoped/TASK-3").allowed
    assert bob.may_run("mv .agent/registry/claimed/TASK-1 .agent/registry/scoped/TASK-1").allowed
    assert not news(ada)
    assert not news(bob)
    assert not repo.events("edit.violated", "edit.unattributed", "edit.taken", "edit.doubted")


# --- two installs


def test_of_two_installs_at_once_the_second_is_refused_until_the_first_is_committed(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    for name in ("package.json", "package-lock.json"):
        repo.write(name, "{}\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "manifest")
    assert ada.may_run("npm install ./left", "left").silent
    assert sorted(repo.claims()["ada"]) == ["package-lock.json", "package.json"]
    assert "package" in bob.may_run("npm install ./right").refusal
    assert bob.may_run("npm test").silent
    assert "package.json" in bob.may_edit("package.json").refusal
    repo.write("package.json", '{"left": 1}\n')
    assert ada.did("Bash", "left", command="npm install ./left").silent
    assert "ada" not in repo.claims()
    refused = bob.may_run("npm install ./right").refusal
    assert "may write package.json (uncommitted work of ada)" in refused
    assert ada.may_run("npm install ./more").allowed, "its own"
    ada.did("Bash", "call-1", command="npm install ./more")
    ada.stop()
    assert bob.dibs("claim", "package.json")["ok"] is True
    bob.read("package.json")
    assert bob.may_run("npm install ./right").silent
    assert not accusations(repo)


def test_a_dead_agents_install_stops_nobody(repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    repo.write("package.json", "{}\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "manifest")
    assert ada.may_run("npm install ./left").silent
    repo.write("package.json", '{"left": 1}\n')
    ada.client.kill()
    assert bob.may_run("npm install ./right").silent


# --- one change, one sentence


def test_the_message_the_alert_the_story_and_the_check_say_the_same_of_a_change(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("a.py", "of ada\n")
    bob.bash("python3 put.py a.py 'of bob'")
    said = "was changed; probably bob did it"
    assert f"a.py, which you hold, {said}" in news(ada)
    repo.person.dibs("sweep")
    [alert] = [one for one in repo.person.dibs("alerts")["alerts"] if one["kind"] == "violation"]
    assert f"a.py, which ada holds, {said}" in alert["text"]
    assert said in str(repo.person.dibs("explain", "a.py"))
    assert said in str(repo.person.dibs("check", "--check", "14"))
    refused, _ = ada.bash("git commit -qm x a.py")
    assert f"a.py {said}" in refused.err


def test_who_undoes_its_own_program_as_told_gives_the_file_back(repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.bash("python3 put.py lib/7.txt ada")
    told = bob.bash("python3 put.py lib/7.txt bob")[1].told
    undo = re.search(r"undo it with `\.dibs/dibs restore (v\w+)`", told)
    assert undo is not None, told
    assert bob.dibs("restore", undo[1])["restored"] == "lib/7.txt"
    assert (repo.folder / "lib" / "7.txt").read_text() == "ada"
    assert repo.claims() == {}
    assert f"bob brought back lib/7.txt as it was before change {undo[1]}." in news(ada)
    assert news(bob) == ""
    assert ada.bash("git add lib/7.txt && git commit -qm x")[0].code == 0


def test_a_program_that_put_back_git_s_content_is_settled_by_reading_and_editing(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    repo.write("back.sh", "git checkout -q -- a.py\n")
    ada.edit("a.py", "ada's\n")
    bob.bash("sh back.sh")
    assert "cannot be committed" in news(ada)
    ada.read("a.py")
    ada.edit("a.py", "ada's again\n")
    assert ada.bash("git commit -qm x a.py")[0].code == 0


def test_what_an_agents_program_does_to_its_own_file_right_after_anothers_ended_is_its_own(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("a.py", "ada's\n")
    for text in ("new words", "and others"):
        bob.bash("python3 put.py build.log x")
        assert ada.bash(f"python3 put.py a.py '{text}'")[1].told == ""
        changes = [line.split("\t") for line in repo.ledger.read_text().splitlines() if line.startswith("T\t")]
        assert changes[-1][6:9] == ["ada", "likely", "ada bob"], "bob's program may have gone on: nothing is certain"
    assert not repo.events("edit.doubted", "edit.unattributed")
    assert ada.may_write("a.py", "over it\n").silent, "it knows its own work"
    assert ada.bash("git commit -qm x a.py")[0].code == 0


def test_what_changes_while_an_agents_program_runs_may_be_a_program_that_another_left(two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.edit("a.py", "ada's\n")
    bob.bash("python3 put.py build.log x &")
    told = ada.bash("python3 put.py a.py new")[1].told
    assert "a.py changed while your command ran, and bob was at work too." in told
