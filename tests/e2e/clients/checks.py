"""What is checked in the same way with every client; the test files say with which.

`ada` holds something, `ben` wants it. What happened is read from the files, from git, from the log of dibs and from
what the models were told.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.clients.fleet import Agent, Fleet
    from tests.e2e.clients.kinds import Client
    from tests.e2e.clients.scripts import Script

REASON = "the test says no to this one"
SHARED = "one\ntwo\nthree\n"


# --- the parts that the stories below are made of


def guard(fleet: Fleet, *clients: Client, config: str = "") -> Path:
    """A repository with one committed file in which dibs guards these clients; that file."""
    shared = fleet.file("shared.txt", SHARED)
    fleet.commit()
    fleet.dibs("init", "--no-mcp", "--clients", ",".join(dict.fromkeys(client.name for client in clients)))
    if config:
        with (fleet.repo / ".dibs" / "config.toml").open("a") as file:
            file.write(config)
    fleet.commit("dibs")
    return shared


def edits(script: Script, client: Client, path: Path, old: str, new: str, *, after: str = "", then: str = "") -> Script:
    """Look at the file, then change it: two turns."""
    script.turn(client.read(path))
    return script.turn(client.edit(path, old, new), after=after or (), then=then)


def holder(fleet: Fleet, client: Client, path: Path, *, until: str) -> Agent:
    """Ada, who has put "ONE" into the file, holds it, and is there until that signal."""
    script = edits(fleet.script("ada"), client, path, "one\n", "ONE\n", then="ada wrote")
    script.turn(client.shell("true"), after=until)
    ada = fleet.start(client, script)
    fleet.stub.wait("ada wrote")
    assert path.read_text() == "ONE\ntwo\nthree\n", ada.results()
    return ada


def says_who_holds(text: str, holder: Agent, name: str = "shared.txt") -> bool:
    """Does a refusal tell the model who has the file?"""
    return holder.called in text and name in text and "holds" in text


def events_of(events: list[dict[str, Any]], kind: str, agent: Agent) -> list[dict[str, Any]]:
    """Those of one kind that this agent caused."""
    return [event for event in events if event["kind"] == kind and event["agent"] == agent.session]


# --- the harness itself


def harness(fleet: Fleet, client: Client) -> None:
    """A hook that refuses one file is obeyed, its reason reaches the model, and all else goes through.

    It refuses as dibs does: the client's own words on stdout, the reason on stderr, exit 2. Which of the three a client
    looks at differs; Copilot's model, for one, hears nothing that was on stderr.

    It proves the harness before dibs is in it: the client is real, it reads hooks of the repository, and what the model
    was told can be read.
    """
    refuse = f"echo '{json.dumps(client.refusal(REASON))}'; echo '{REASON}' >&2; exit 2"
    hook = fleet.file("hook.sh", f"#!/bin/sh\nif grep -q forbidden.txt; then {refuse}; fi\n")
    hook.chmod(0o755)
    client.hook_before_tools(fleet.repo, f"{hook} || exit 2")
    script = fleet.script("ada")
    script.turn(client.write(fleet.repo / "forbidden.txt", "no\n"))
    script.turn(client.write(fleet.repo / "allowed.txt", "yes\n"))
    script.turn(client.shell("echo no > forbidden.txt"))
    script.turn(client.shell(f'echo "session ${client.variable}"'))
    ada = fleet.start(client, script)
    fleet.wait(ada)

    assert not (fleet.repo / "forbidden.txt").exists()
    assert (fleet.repo / "allowed.txt").read_text() == "yes\n"
    written, allowed, echoed, session = ada.results()
    assert REASON in written
    assert REASON in echoed
    assert REASON not in allowed + session
    assert ada.session in session or client.name == "gemini"  # whose shell is not told which session it belongs to


# --- the guards


def second_is_told(fleet: Fleet, first: Client, second: Client) -> None:
    """Two agents, one file: one edits, the other is told who has it, and gets its turn when that one has left."""
    shared = guard(fleet, first, second)
    ada = holder(fleet, first, shared, until="ben refused")
    script = edits(fleet.script("ben"), second, shared, "two\n", "TWO\n", then="ben refused")
    script.turn(second.read(shared), after="ada left").turn(second.edit(shared, "two\n", "TWO\n"))
    ben = fleet.start(second, script)
    fleet.wait(ada)
    assert shared.read_text() == "ONE\ntwo\nthree\n"
    fleet.stub.signal("ada left")
    fleet.wait(ben)

    assert shared.read_text() == "ONE\nTWO\nthree\n"
    _, refused, _, granted = ben.results()
    assert says_who_holds(refused, ada)
    assert "holds" not in granted
    log = fleet.log()
    assert {event["subject"] for event in events_of(log, "claim.refused", ben)} == {"shared.txt"}
    assert len(events_of(log, "claim.granted", ada)) == len(events_of(log, "claim.granted", ben)) == 1
    assert fleet.dibs("verify")["ok"] is True


def shell_writes_are_refused(fleet: Fleet, client: Client) -> None:
    """What a shell command would write is guarded as an edit is; what it only reads is not."""
    shared = guard(fleet, client)
    ada = holder(fleet, client, shared, until="ben tried")
    refused = [
        "echo no > shared.txt",
        "sed -i s/two/no/ shared.txt",
        "echo no | tee -a shared.txt",
        "true && cp /dev/null shared.txt",
        "rm -f shared.txt",
        "git checkout -- shared.txt",
        "git stash",
        "git add -A",
        'echo no > "$(echo shared.txt)"',
    ]
    script = fleet.script("ben")
    for command in refused:
        script.turn(client.shell(command))
    script.turn(client.shell("cat shared.txt"))
    script.turn(client.shell("echo yes > other.txt"), then="ben tried")
    ben = fleet.start(client, script)
    fleet.wait(ben, ada)

    assert shared.read_text() == "ONE\ntwo\nthree\n"
    assert (fleet.repo / "other.txt").read_text() == "yes\n"
    assert fleet.git("diff", "--cached", "--name-only") == ""
    *noes, shown, allowed = ben.results()
    untold = [command for command, told in zip(refused, noes, strict=True) if ada.called not in told]
    assert untold == []
    assert "ONE" in shown
    assert ada.called not in shown + allowed


def killed_one_holds_nothing(fleet: Fleet, client: Client) -> None:
    """The claims of a client that was killed are free for the next one at once, half an hour before their deadline."""
    shared = guard(fleet, client)
    ada = holder(fleet, client, shared, until="ada was killed")
    assert fleet.held() == {"shared.txt": ada.session}
    ada.kill()
    fleet.stub.signal("ada was killed")
    ben = fleet.start(client, edits(fleet.script("ben"), client, shared, "two\n", "TWO\n"))
    fleet.wait(ben)

    assert shared.read_text() == "ONE\nTWO\nthree\n"
    granted = events_of(fleet.log(), "claim.granted", ada)[0]
    ended = next(event for event in fleet.log("claim.ended") if event["subject"] == granted["subject"])
    assert ended["data"]["why"] == "gone"


def resumed_is_briefed(fleet: Fleet, client: Client) -> None:
    """An agent that was killed and is resumed hears that its file is another's now, and is held to it."""
    shared = guard(fleet, client)
    ada = holder(fleet, client, shared, until="ada was killed")
    session = ada.session
    ada.kill()
    fleet.stub.signal("ada was killed")
    script = edits(fleet.script("ben"), client, shared, "two\n", "TWO\n", then="ben wrote")
    ben = fleet.start(client, script.turn(client.shell("true"), after="ada is back"))
    fleet.stub.wait("ben wrote")
    script = edits(fleet.script("ada-again"), client, shared, "three\n", "THREE\n", then="ada is back")
    again = fleet.resume(ada, script)
    fleet.wait(again, ben)

    assert again.session == session
    assert shared.read_text() == "ONE\nTWO\nthree\n"
    briefing = next(text for text in fleet.stub.briefings("ada-again") if ben.called in text)
    assert again.called in briefing
    assert "shared.txt" in briefing
    assert says_who_holds(again.results()[1], ben)


# --- commits and deploys from an agent's own shell


def commits_are_guarded(fleet: Fleet, client: Client) -> None:
    """Git itself refuses to commit a file that another agent holds, and a commit gives back what it has in it."""
    shared = guard(fleet, client)
    fleet.file("sweep.sh", "git add -A\ngit commit -q -m sweep\n")  # a script: what it will do is not in the command
    own = fleet.file("own.txt", "mine\n")
    fleet.commit("more")
    before = fleet.git("rev-parse", "HEAD").strip()
    ada = holder(fleet, client, shared, until="ben committed")
    script = edits(fleet.script("ben"), client, own, "mine\n", "MINE\n")
    script.turn(client.shell("git add -A && git commit -q -m sweep"))
    script.turn(client.shell("sh sweep.sh"))
    script.turn(client.shell("git restore --staged shared.txt; git commit -q -m own -- own.txt"), then="ben committed")
    ben = fleet.start(client, script)
    fleet.wait(ben, ada)

    _, _, typed, swept, _ = ben.results()
    assert ada.called in typed
    assert "shared.txt" in typed
    assert "commit refused" in swept
    assert ada.called in swept
    commits = fleet.git("log", "--format=%H", f"{before}..HEAD").split()
    assert len(commits) == 1
    assert fleet.git("show", "--name-only", "--format=", commits[0]).split() == ["own.txt"]
    assert fleet.git("show", f"{commits[0]}:own.txt") == "MINE\n"
    assert f"Dibs-Agent: {ben.session}" in fleet.git("show", "-s", "--format=%B", commits[0])
    released = [event["data"] for event in events_of(fleet.log(), "claim.released", ben)]
    own_released = [data for data in released if ["file", "own.txt"] in data["resources"]]
    assert [data["commit"] for data in own_released] == commits  # git and dibs tell the same story


DEPLOYS = """
[deploy]
commands = { "./ship.sh*" = "prod" }

[deploy.targets.prod]
verify = "test -s shipped.txt"
"""


def deploys_are_guarded(fleet: Fleet, client: Client) -> None:
    """A deploy from a copy that lacks somebody's commit is refused, as `dibs deploy` and as the bare command."""
    fleet.file("ship.sh", "#!/bin/sh\ngit rev-parse HEAD >> shipped.txt\n").chmod(0o755)
    fleet.file(".gitignore", "shipped.txt\n")
    shared = guard(fleet, client, config=DEPLOYS)
    fleet.git("clone", "-q", "--bare", ".", str(fleet.folder / "origin.git"))
    fleet.git("remote", "add", "origin", str(fleet.folder / "origin.git"))
    fleet.git("fetch", "-q", "origin")
    fleet.git("branch", "-q", "--set-upstream-to=origin/main")
    mate = fleet.folder / "mate"
    fleet.git("clone", "-q", str(fleet.folder / "origin.git"), str(mate))
    (mate / "shared.txt").write_text("of a mate\n")
    fleet.git("-C", str(mate), "commit", "-q", "-a", "-m", "of a mate")
    fleet.git("-C", str(mate), "push", "-q", "origin", "main")

    script = fleet.script("ada")
    script.turn(client.shell("dibs deploy prod -- ./ship.sh"))
    script.turn(client.shell("./ship.sh now"))
    script.turn(client.shell("git pull -q --rebase && dibs deploy prod -- ./ship.sh"))
    ada = fleet.start(client, script)
    fleet.wait(ada)

    behind, bare, _ = ada.results()
    assert "1 commit behind" in behind
    assert "1 commit behind" in bare
    assert shared.read_text() == "of a mate\n"
    head = fleet.git("rev-parse", "HEAD")
    assert (fleet.repo / "shipped.txt").read_text() == head  # once, and from the copy that has it all
    finished = events_of(fleet.log(), "deploy.finished", ada)
    assert [event["data"]["commit"] for event in finished] == [head.strip()]


# --- with and without


def teammate_without_dibs_can_work(fleet: Fleet, client: Client) -> None:
    """In a clone on a machine without dibs the client works as ever, and its user hears in one line how to get it."""
    guard(fleet, client)
    clone = fleet.folder / "clone"
    fleet.git("clone", "-q", str(fleet.repo), str(clone))
    (fleet.bin / "dibs").unlink()
    script = edits(fleet.script("ada"), client, clone / "shared.txt", "one\n", "ONE\n")
    ada = fleet.start(client, script.turn(client.shell("git commit -q -a -m done")), cwd=clone)
    fleet.wait(ada)

    assert (clone / "shared.txt").read_text() == "ONE\ntwo\nthree\n"
    assert fleet.git("-C", str(clone), "log", "-1", "--format=%s") == "done\n"
    assert "uv tool install" in ada.output + ada.saw()  # `codex exec` shows its user nothing of what hooks say


def broken_guard_refuses(fleet: Fleet, client: Client) -> None:
    """Whatever is wrong with dibs on this machine, the client does not write past it."""
    shared = guard(fleet, client)
    run = fleet.repo / ".dibs" / "local" / "run"
    launcher = fleet.repo / ".dibs" / "hook"
    database = fleet.repo / ".dibs" / "local" / "dibs.db"
    kept = run.read_text(), database.read_bytes()
    (fleet.bin / "dibs").unlink()  # it would stand in for one that is gone

    def tried(name: str) -> str:
        agent = fleet.start(client, edits(fleet.script(name), client, shared, "one\n", f"{name}\n"))
        fleet.wait(agent)
        assert shared.read_text() == SHARED
        return agent.results()[-1]

    run.write_text(f"python={fleet.folder}/gone/python\nentry={fleet.folder}/gone/entry.py\n")
    assert "dibs init" in tried("moved")
    run.write_text(kept[0])
    database.write_bytes(b"not a database at all" * 1000)
    assert "dibs" in tried("database")
    database.write_bytes(kept[1])
    launcher.unlink()
    copy = fleet.repo / ".git" / "dibs" / "hook"
    copy.rename(copy.with_name("hook.away"))
    tried("launcher")
    copy.with_name("hook.away").rename(copy)  # as on a branch from before dibs: the copy answers
    mended = fleet.start(client, edits(fleet.script("mended"), client, shared, "one\n", "mended\n"))
    fleet.wait(mended)
    assert shared.read_text() == "mended\ntwo\nthree\n"


def trial_is_private(fleet: Fleet, client: Client) -> None:
    """`dibs init --local` guards the client as ever, git lists nothing of it, and its end leaves no byte."""
    shared = fleet.file("shared.txt", SHARED)
    fleet.file(".claude/settings.json", '{"model": "opus"}')
    fleet.commit()
    before = everything(fleet)
    made = fleet.dibs("init", "--local", "--no-mcp", "--clients", client.name)
    assert (made["clients"], made["commit"]) == ([client.name], [])
    status = ["git", "--no-optional-locks", "status", "--porcelain"]
    assert subprocess.check_output(status, cwd=fleet.repo) == b""

    ada = holder(fleet, client, shared, until="ben refused")
    ben = fleet.start(client, edits(fleet.script("ben"), client, shared, "two\n", "TWO\n", then="ben refused"))
    fleet.wait(ada, ben)
    assert says_who_holds(ben.results()[1], ada)
    assert shared.read_text() == "ONE\ntwo\nthree\n"
    assert subprocess.check_output(status, cwd=fleet.repo) == b" M shared.txt\n"
    shared.write_text(SHARED)
    fleet.dibs("init", "--uninstall", "--yes")
    assert everything(fleet) == before


def uninstalled_is_as_before(fleet: Fleet, client: Client) -> None:
    """`dibs init`, two agents at work, `dibs init --uninstall`: the repository is byte for byte what it was."""
    shared = fleet.file("shared.txt", SHARED)
    fleet.file(".claude/settings.json", '{\n    "model": "opus",\n\t"hooks": {"Stop": []}   }')
    fleet.file(".codex/hooks.json", '{"hooks":{}}')
    fleet.file("AGENTS.md", "# Ours\r\n\r\nno newline at the end")
    fleet.file(".git/hooks/pre-commit", '#!/bin/sh\necho ours >> "$GIT_DIR"/ours\n').chmod(0o755)
    fleet.commit()
    before = everything(fleet)
    fleet.dibs("init", "--clients", client.name)
    assert everything(fleet) != before

    ada = holder(fleet, client, shared, until="ben refused")
    ben = fleet.start(client, edits(fleet.script("ben"), client, shared, "two\n", "TWO\n", then="ben refused"))
    fleet.wait(ada, ben)
    assert says_who_holds(ben.results()[1], ada)
    shared.write_text(SHARED)

    fleet.dibs("init", "--uninstall", "--yes")
    assert everything(fleet) == before
    eve = fleet.start(client, edits(fleet.script("eve"), client, shared, "one\n", "eve\n"))
    fleet.wait(eve)
    assert shared.read_text() == "eve\ntwo\nthree\n"


def everything(fleet: Fleet) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes of every file: those of the working tree, git's configuration and its hooks."""
    found = {}
    for path in sorted(fleet.repo.rglob("*")):
        name = path.relative_to(fleet.repo).as_posix()
        if name.startswith(".git/") and not name.startswith((".git/hooks", ".git/config", ".git/info")):
            continue
        found[name] = path.lstat().st_mode, path.read_bytes() if path.is_file() else b""
    return found
