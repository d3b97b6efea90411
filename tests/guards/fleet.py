"""A fleet in one repository, interleaved at every hook, and an oracle that follows every written word.

Commands, hooks, files and git are real; only the order is made up, by numbers. Each write brings a word of its own
(`@ada-1.17@`), so the oracle needs to know nothing of how dibs keeps its record: it sees after each command which words
are on the disk, who ran it, and which words each agent has been shown. At the end it asks for what was promised:

- a word that went away was taken by its own author, or by a call that named the file of an agent that had seen it; or
  it is in a commit, or it is kept (`dibs restore`) and its author was told;
- no whole write passed over a word that its writer had not seen;
- no commit took in a file that another agent, who is at work, was the last to write;
- no commit of an agent at work was dropped by another;
- no event names for certain an agent that did not do it;
- what a refusal advises can be done, and then the call passes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dibs.ledger.working_tree import Tree
from tests.interfaces.quick import QuickAgent, QuickClient, Scratch, blob_of
from tests.interfaces.repository import made_earlier
from tests.server.hook_server import COMMAND, Server

if TYPE_CHECKING:
    from tests.interfaces.repository import Answer

WORD = re.compile(rb"@[a-z]+-[0-9/a-z]+\.[0-9]+@")
SIGNATURE = re.compile(r"(\t\d+:)(\d{19}):(\d{19})(:\d+)")
MERGES, WHOLE, GIT, FOLDER = "merges", "whole", "git", "folder"  # a folder's committed files need not have been read
NAMES, OPEN = "names", "open"
PERSON = "person-0"
# commands that throw uncommitted changes away: not those of a person which the agent has not read
DROPS = ("git checkout .", "git stash -u", "git stash (", "git reset --hard", "git clean", "rm -rf dir")
LAUNCHER = COMMAND


@dataclass
class Command:
    """One tool call: what its hooks are told, what it does, and what its words say about files."""

    title: str
    tool: str
    given: dict[str, Any]
    shell: str = ""  # what is run
    act: Any = None  # or a function of the tree's folder
    named: dict[str, str] = field(default_factory=dict)  # path → merges, whole, git
    shown: tuple[str, ...] = ()
    plan: str = ""  # what the script does
    late: str = ""  # what a program that was left in the background does some time later
    git: bool = False


@dataclass
class Open:
    """A call between its hooks."""

    command: Command
    call: str
    tree: Path
    began: int
    ran: int = 0
    failed: str = ""  # how its command ended, if badly


@dataclass
class Word:
    """A word that a call wrote."""

    text: bytes
    author: str
    path: str
    tree: Path
    step: int
    named: bool
    looked: bool = False  # a hook has looked since it was written
    foreign: bool = False  # it came by a script into another agent's work, or another one's came before any look
    heard: int = 0  # how much its author had heard when it was written


@dataclass
class Loss:
    """A word that went away."""

    word: Word
    path: str
    by: str
    how: str  # how the call that took it named the path; "" if it did not
    seen: bool
    step: int
    content: bytes
    title: str
    began: int  # the step of its first hook
    amid: str  # NAMES or OPEN: a call of the author's own was running that names the path, or that may write anything


class Player:
    """One place at the table: a client's process, in which one session follows the other."""

    def __init__(self, world: World, name: str, process: QuickClient, client: str) -> None:
        self.world, self.name, self.process, self.client = world, name, process, client
        self.number = 0
        self.open: list[Open] = []
        self.broken: list[Open] = []
        self.late: list[tuple[str, Path]] = []
        self.tree = world.trees[0]
        self.begin()

    def begin(self) -> None:
        """A new session."""
        self.number += 1
        self.session = f"{self.name}-{self.number}"
        self.sub = ""
        self.agent = QuickAgent(self.world.scratch, self.session, self.process, self.client)
        self.world.heard[self.session] = self.agent.heard
        self.world.alive.add(self.session)
        self.open, self.broken = [], []
        self.world.hook(self, "SessionStart", source="startup")

    @property
    def id(self) -> str:
        """Who acts now: the session, or its subagent."""
        return f"{self.session}/{self.sub}" if self.sub else self.session


class World:
    """The repository, the players, and what the oracle knows."""

    def __init__(self, scratch: Scratch, trees: list[Path], processes: list[tuple[QuickClient, str]], *,
                 real: bool = False) -> None:  # fmt: skip
        self.scratch, self.trees, self.real = scratch, trees, real
        self.step = 0
        self.calls = 0
        self.trace: list[str] = []
        self.heard: dict[str, list[str]] = {}
        self.alive: set[str] = set()
        self.words: dict[tuple[Path, str, bytes], Word] = {}
        self.seen: dict[str, set[bytes]] = {}
        self.losses: list[Loss] = []
        self.wrongs: list[str] = []
        self.writers: dict[tuple[Path, str], list[tuple[str, str]]] = {}  # (blob, writer) of each content
        self.server: Server | None = None
        self.watched: set[tuple[Path, str]] = set()
        self.leaving: set[str] = set()  # sessions that left a program running: what a person does may be its doing
        self.linked: set[str] = set()  # files that a link ever led to: links are swapped between check and write
        self._cache: dict[str, tuple[Any, bytes]] = {}
        self.disk = self._look()
        for (tree, path), content in self.disk.items():
            self.writers[tree, path] = [(blob_of(content), "")]
        self.commits: dict[str, str] = {}
        self.last_writer: dict[tuple[Path, str], str] = {}
        self.head: dict[tuple[Path, str], str] = {}
        self.refusals: list[str] = []
        names = ("ada", "ben", "cyd", "dan", "eve")
        self.players = [Player(self, name, *process) for name, process in zip(names, processes, strict=False)]
        self._git_state("")

    # --- looking

    def _look(self) -> dict[tuple[Path, str], bytes]:
        found: dict[tuple[Path, str], bytes] = {}
        for tree in self.trees:
            for path in self._walk(str(tree), ""):
                full = f"{tree}/{path}"
                status = os.lstat(full)
                key = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
                kept = self._cache.get(full)
                if kept is None or kept[0] != key or self.step < 1:
                    link = os.path.islink(full)
                    if link:
                        self.linked.add(os.path.realpath(full))
                    content = os.readlink(full).encode() if link else Path(full).read_bytes()
                    kept = self._cache[full] = (key, content)
                found[tree, path] = kept[1]
        return found

    def _walk(self, folder: str, below: str) -> list[str]:
        found = []
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                if below or entry.name not in {".git", ".dibs"}:
                    found += self._walk(entry.path, f"{below}{entry.name}/")
            elif below or entry.name != ".git":
                found.append(below + entry.name)
        return found

    def say(self, who: str, text: str) -> None:
        """One line of the story."""
        self.trace.append(f"{self.step:3} {who}: {text}")

    # --- hooks

    def hook(self, player: Player, event: str, **fields: Any) -> Answer:
        """One hook, by one of the ways in which a client's settings may reach dibs."""
        payload = {"session_id": player.session, "cwd": str(player.tree), "hook_event_name": event, **fields}
        if player.sub:
            payload |= {"agent_id": player.sub, "agent_type": "general"}
        given = json.dumps(payload).encode()
        env = dict(self.scratch.env)
        if self.real and (self.server is not None or self.step % 5 == 0):
            words = ["sh", "-c", LAUNCHER, "sh", str(player.tree), player.client]
            answer = player.process.do("run", words, player.tree, env, given)
        else:
            answer = player.process.do("hook", [player.client], player.tree, env, given)
        if "Traceback" in answer.err or answer.code not in {0, 2}:
            self.wrongs.append(f"step {self.step}: {event} {fields} of {player.id} answered {answer}")
        if answer.out:
            player.agent.heard.append(answer.out)
        return answer

    def _looked(self, tree: Path, paths: Any = (), *, whole: bool = False) -> None:
        """A hook looks at what is watched, at these paths, or at all that git calls changed."""
        left = self._put_aside(tree)
        for word in self.words.values():
            watched = whole or word.named or word.path in paths or (tree, word.path) in self.watched
            if not word.looked and word.tree == tree and watched and word.path not in left:
                word.looked = word.text in self.disk.get((word.tree, word.path), b"")
                if word.looked and word.author != PERSON:
                    self.watched.add((tree, word.path))  # it is unfinished work from now on

    def _put_aside(self, tree: Path) -> set[str]:
        """What is as git's index has it while a git command runs: a later look takes it (docs/guides/guards.md)."""
        if not any(one.command.git for player in self.players for one in [*player.open, *player.broken]):
            return set()
        rows = subprocess.run(["git", "ls-files", "-sz"], cwd=tree, capture_output=True, check=True).stdout.split(b"\0")
        staged = {
            os.fsdecode(path): info.split()[1].decode() for info, _, path in (row.partition(b"\t") for row in rows[:-1])
        }
        return {path for path, blob in staged.items() if blob == blob_of(self.disk.get((tree, path), b""))}

    def before(self, player: Player, command: Command) -> Answer:
        """The first hook; the call is open if it passes."""
        self.calls += 1
        call = f"call-{player.session}-{self.calls}"
        if command.tool != "Read":
            self._looked(player.tree, whole=command.git)
        answer = self.hook(player, "PreToolUse", tool_name=command.tool, tool_input=command.given, tool_use_id=call)
        self.say(player.id, f"{command.title}{f' REFUSED {_reason(answer)}' if answer.code else ''}")
        if answer.code:
            self.refusals.append(f"step {self.step} {player.id}: {command.title}: {_reason(answer)}")
            return answer
        if command.tool == "Read":
            self._shown(player, command)
            return answer
        for path, how in command.named.items():
            self.watched.add((player.tree, path))
            if how == WHOLE:
                self._check_stale(player, path, command)
        player.open.append(Open(command, call, player.tree, self.step))
        return answer

    def run(self, player: Player, one: Open) -> None:
        """The tool does what it does."""
        one.ran = self.step
        command = one.command
        self._shown(player, command)
        if command.act is not None:
            command.act(one.tree)
        elif command.shell:
            done = self.shell(player, command.shell, one.tree, command.plan)
            one.failed = f"{done.code}: {(done.out + done.err).strip()[:300]}" if done.code else ""
        if command.late:
            player.late.append((command.late, one.tree))
            self.leaving.add(_family(player.id))
        self._take_in(player.id, command, one)
        if command.git:
            self._git_state(player.id)

    def shell(self, player: Player, text: str, tree: Path, plan: str = "") -> Answer:
        """A command in the client's shell."""
        (self.scratch.folder.parent / "home" / "plan").write_text(plan)
        names = {"claude": "CLAUDE_CODE_SESSION_ID", "codex": "CODEX_SESSION_ID"}
        env = {**self.scratch.env, names[player.client]: player.session}
        done = player.process.do("run", ["bash", "-c", text], tree, env)
        self.say(player.id, f"  … ran {done.code} {done.err.strip()[:200]}")
        return done

    def after(self, player: Player, one: Open) -> None:
        """The second hook."""
        player.open.remove(one)
        command = one.command
        self._looked(one.tree, command.named)
        self.hook(player, "PostToolUse", tool_name=command.tool, tool_input=command.given, tool_response={},
                  tool_use_id=one.call)  # fmt: skip
        self.say(player.id, f"  … after {command.title}")

    def break_off(self, player: Player, one: Open) -> None:
        """The call has no second hook."""
        self.say(player.id, f"  … broke off {one.command.title}, {'run' if one.ran else 'not run'}")
        player.open.remove(one)
        player.broken.append(one)

    def moment(self, player: Player, what: str) -> None:
        """A prompt, the end of a turn, a boot, the end of the session, a subagent's begin or end."""
        self.say(player.id, what)
        self._looked(player.tree)
        if what != "sub":
            player.broken.clear()
        if what == "prompt":
            self.hook(player, "UserPromptSubmit", prompt="go on")
        elif what == "stop":
            self.hook(player, "Stop", stop_hook_active=False)
        elif what == "compact":
            self.hook(player, "SessionStart", source="compact")
        elif what == "resume":
            self.hook(player, "SessionStart", source="resume")
        elif what == "sub":
            if player.sub:
                self.hook(player, "SubagentStop")
                player.sub = ""
            else:
                player.sub = f"s{self.step}"
                self.heard[player.id] = player.agent.heard
                self.alive.add(player.id)
                self.hook(player, "SubagentStart")
        elif what == "end":
            player.sub = ""
            self.hook(player, "SessionEnd", reason="other")
            self.alive -= {one for one in self.alive if _family(one) == player.session}
            player.begin()

    def person(self, tree: Path, path: str, how: str) -> None:
        """A person without hooks edits a file."""
        self.later(60)
        full, mark = tree / path, self.mark(PERSON)
        self.say(PERSON, f"{how} {path}")
        with contextlib.suppress(OSError):
            if how == "append":
                with full.open("ab") as file:
                    file.write(mark + b"\n")
            elif how == "write":
                full.write_bytes(mark + b"\n")
            else:
                full.unlink()
        self._take_in(PERSON, Command(how, "", {}, named={path: WHOLE}), Open(Command("", "", {}), "", tree, self.step))

    def later(self, seconds: int) -> None:
        """Time passes, as far as the ledgers know."""
        self.say("time", f"{seconds} s pass")
        for tree, ledger in zip(self.trees, self.ledgers(), strict=True):
            if ledger.exists():  # files that nobody looked at cannot be made older
                Tree(str(tree), str(ledger.parent)).look_at_all()
                made_earlier(ledger, seconds)
                text = SIGNATURE.sub(lambda one: _earlier(one, seconds), ledger.read_text())
                ledger.write_text(text)

    def ledgers(self) -> list[Path]:
        """The ledger of each working tree."""
        git = self.scratch.folder / ".git"
        return [git / "dibs" / "live", *[git / "worktrees" / tree.name / "dibs" / "live" for tree in self.trees[1:]]]

    def serve(self) -> None:
        """A server begins, ends, or is killed."""
        if self.server is None:
            self.say("server", "begins")
            self.server = Server(self.scratch.folder)
        elif self.step % 2:
            self.say("server", "is killed")
            self.server.kill()
            self.server = None
        else:
            self.say("server", "ends")
            self.server.end()
            self.server = None

    def mark(self, who: str) -> bytes:
        """A word that nobody wrote before."""
        self.calls += 1
        return f"@{who}.{self.calls}@".encode()

    # --- what the oracle sees

    def _shown(self, player: Player, command: Command) -> None:
        for path in command.shown:
            full = os.path.realpath(player.tree / path)
            for tree in self.trees:
                if full.startswith(f"{tree}/"):
                    self._sees(player.id, self.disk.get((tree, full[len(str(tree)) + 1 :]), b""))

    def _sees(self, who: str, content: bytes) -> None:
        self.seen.setdefault(who, set()).update(WORD.findall(content))

    def _take_in(self, who: str, command: Command, one: Open) -> None:
        """Whatever differs from before, this command did."""
        old, now = self.disk, self._look()
        self.disk = now
        changed = {key for key in old.keys() | now.keys() if old.get(key) != now.get(key)}
        there = {word for content in now.values() if len(content) < 100_000 or content.find(b"@") >= 0
                 for word in WORD.findall(content)}  # fmt: skip
        for tree, path in sorted(changed):
            content = now.get((tree, path), b"")
            blob = blob_of(content) if (tree, path) in now else ""
            self.writers.setdefault((tree, path), []).append((blob, who))
            how = command.named.get(path, "")
            earlier = self.last_writer.get((tree, path), "")
            into = not how and bool(earlier) and not _related(earlier, who)  # another agent's unfinished work
            self.last_writer[tree, path] = earlier if into else who if how or not self._is_named(who, path) else ""
            had = set(WORD.findall(old.get((tree, path), b"")))
            for text in set(WORD.findall(content)) - had:
                self.words[tree, path, text] = Word(text, who, path, tree, self.step, bool(how) and who != PERSON)
                self.words[tree, path, text].foreign = into or (
                    (not how or who == PERSON) and self._is_named(who, path)
                )
                self.words[tree, path, text].heard = len(self.heard.get(who, ()))
                if text[1:].startswith(f"{who}.".encode()):
                    self._sees(who, text)
            for text in had & set(WORD.findall(content)):
                word = self.words[tree, path, text]
                word.foreign = word.foreign or not (word.looked or _related(word.author, who))
            for text in sorted(had):
                if text not in there:
                    word = self.words[tree, path, text]
                    self.losses.append(Loss(
                        word, path, who, how, text in self._all_seen(who), self.step,
                        old[tree, path], f"{command.title} (from {one.began})", one.began,
                        self._amid(word.author, path),
                    ))  # fmt: skip

    def _all_seen(self, who: str) -> set[bytes]:
        found: set[bytes] = set()
        for one, seen in self.seen.items():
            if _family(one) == _family(who):
                found |= seen
        return found

    def _amid(self, author: str, path: str) -> str:
        for player in self.players:
            if player.session == _family(author):
                running = [one.command for one in [*player.open, *player.broken]]
                if any(path in command.named for command in running):
                    return NAMES
                return OPEN if player.late or any(one.plan or one.late or one.git for one in running) else ""
        return ""

    def _is_named(self, who: str, path: str) -> bool:
        """Has another agent a call that names the path? What comes into it looks like its own."""
        return any(path in one.command.named or (who == PERSON and one.command.shell) for player in self.players
                   if player.session != _family(who) for one in [*player.open, *player.broken])  # fmt: skip

    def _check_stale(self, player: Player, path: str, command: Command) -> None:
        """A whole write was let through: over words that the writer has not seen?"""
        content = self.disk.get((player.tree, path), b"")
        unseen = [self.words[player.tree, path, text] for text in WORD.findall(content)
                  if text not in self._all_seen(player.id)]  # fmt: skip
        unseen = [word for word in unseen if not _related(word.author, player.id) and word.looked and not word.foreign
                  and (word.author in self.alive or word.step > self.began(player))]  # fmt: skip
        if unseen and ".tmp" not in path:
            found = [word.text for word in unseen]
            self.wrongs.append(f"step {self.step}: stale: {player.id}'s {command.title} passed over {found}")

    def began(self, player: Player) -> int:
        """At which step the session began."""
        for number, line in enumerate(self.trace):
            if f" {player.session}: " in line:
                return int(self.trace[number].split()[0])
        return self.step

    def _git_state(self, who: str) -> None:
        """Which commits there are, and what is in HEAD of each tree."""
        found = self.scratch.git("rev-list", "--exclude=refs/stash", "--all").split()
        for commit in found:
            self.commits.setdefault(commit, who)
        gone = set(self.commits) - set(found)
        for commit in gone:
            maker = self.commits.pop(commit)
            if maker in self.alive and who and not _related(maker, who):
                self.wrongs.append(f"step {self.step}: {who} dropped {commit[:8]} of {maker}")
        for tree in self.trees:
            listed = subprocess.run(["git", "ls-tree", "-rz", "HEAD"], cwd=tree, capture_output=True, check=True).stdout
            for row in listed.split(b"\0")[:-1]:
                info, _, name = row.partition(b"\t")
                path, blob = os.fsdecode(name), info.split()[2].decode()
                before = self.head.get((tree, path))
                self.head[tree, path] = blob
                content = self.disk.get((tree, path))
                writer = self.last_writer.get((tree, path), "")
                if before == blob or not who or content is None or blob_of(content) != blob:
                    continue
                if writer in self.alive and not _related(writer, who) and writer != PERSON and self.commits.get(
                    self.scratch.git("log", "-1", "--format=%H", "--all", "--", path).strip()) == who:  # fmt: skip
                    self.wrongs.append(f"step {self.step}: {who} committed {path}, last written by {writer}")
                self.last_writer.pop((tree, path), None)
                self.watched.discard((tree, path))

    # --- the end

    def finish(self) -> list[str]:
        """All calls come to their ends, all agents hear what is new; then what was promised is asked for."""
        for player in self.players:
            for one in list(player.open):
                if not one.ran:
                    self.run(player, one)
                self.after(player, one)
        self.run_late()
        for _ in range(2):
            for player in self.players:
                self.before(player, Command("ls", "Bash", {"command": "ls"}, "ls"))
                for one in list(player.open):
                    self.after(player, one)
        for player in self.players:
            if player.sub:
                self.moment(player, "sub")
            self.hook(player, "UserPromptSubmit", prompt="what is new?")
        if self.server is not None:
            self.server.end()
            self.server = None
        kept = self.scratch.person.dibs("restore", "--list")["kept"]
        events = self.scratch.events("edit.")
        return [*self.wrongs, *self._unkept(kept), *self._false(events)]

    def run_late(self) -> None:
        """Programs in the background write now."""
        for player in self.players:
            for text, tree in player.late:
                self.say(player.id, f"  … in the background: {text}")
                self.shell(player, text, tree)
                self._take_in(player.id, Command("background", "", {}), Open(Command("", "", {}), "", tree, self.step))
            player.late = []

    def _unkept(self, kept: list[dict[str, Any]]) -> list[str]:
        found = []
        there = {text for content in self._look().values() for text in WORD.findall(content)}
        for loss in self.losses:
            word = loss.word
            if word.text in there or not word.looked or ".tmp" in loss.path or self._is_committed(word):
                continue
            is_drop = loss.title.startswith(DROPS)
            if _related(word.author, loss.by) and not (
                is_drop and not loss.how and loss.by.startswith(f"{word.author}/")  # of its parent's work
            ):
                continue
            if word.author == PERSON and self._is_kept(loss):
                amid = _family(loss.by) in self.leaving or word.step > loss.began  # it looks like the agent's own
                if is_drop and not loss.seen and not amid:
                    found.append(f"step {loss.step}: {loss.by}'s {loss.title} dropped {word.text.decode()} unread")
                continue
            missing = self._missing(loss, kept)
            if missing:
                found.append(
                    f"step {loss.step}: {loss.by}'s {loss.title} took {word.text.decode()} of step {word.step} from "
                    f"{loss.path!r}: {', '.join(missing)} (named {loss.how!r}, seen {loss.seen}, amid {loss.amid!r}, "
                    f"foreign {word.foreign}, {blob_of(loss.content)[:8]})"
                )
        return found

    def _missing(self, loss: Loss, kept: list[dict[str, Any]]) -> list[str]:
        """What was promised for a word that another one took, and is not there.

        Who took it knowingly, by a call that names the file, leaves a copy (`dibs undo`) and a word. So is what a
        script put into another agent's work kept, whose author was told when it did that. Nothing is said of what looks
        like a call of the author's own (docs/guides/limits.md): a script that hits a file inside a call of the
        author's that names it, a person that does while the author's own command may write anything.
        """
        word = loss.word
        is_kept = self._is_kept(loss)
        if is_kept and (loss.amid if loss.by == PERSON else loss.amid == NAMES and not loss.how):
            return []
        known = loss.seen and loss.how in {MERGES, WHOLE, GIT, FOLDER}
        listed = any(_contains(entry, loss, self.scratch.folder) for entry in kept)
        missing = [] if listed or (is_kept and (known or word.foreign)) else ["no copy"]
        heard = self.heard.get(word.author, [])[word.heard :]
        names = {loss.path, json.dumps(loss.path)[1:-1]}
        silent = word.foreign or (known and loss.by == PERSON)
        if word.author in self.alive and not silent and not any(name in text for text in heard for name in names):
            missing.append("its author heard nothing")
        return missing

    def _is_kept(self, loss: Loss) -> bool:
        """Is the word in a content that dibs keeps, or among git's objects, because it was staged?"""
        found = self.scratch.folder.glob(".git/**/dibs/objects/*/*")
        if any(loss.word.text in path.read_bytes() for path in found):
            return True
        command = ["git", "cat-file", "--batch-all-objects", "--batch", "--buffer"]
        done = subprocess.run(command, cwd=self.scratch.folder, capture_output=True, check=True)
        return loss.word.text in done.stdout

    def _is_committed(self, word: Word) -> bool:
        done = subprocess.run(
            ["git", "log", "--exclude=refs/stash", "--all", "--oneline", "-a", "--text", "-S", word.text.decode()],
            cwd=self.scratch.folder, capture_output=True, check=False)  # fmt: skip
        return bool(done.stdout.strip())

    def _false(self, events: list[dict[str, Any]]) -> list[str]:
        """Events that name for certain one who did not do it."""
        found = []
        for event in events:
            if event["kind"] != "edit.violated" or event["data"].get("grade", "sure") != "sure":
                continue
            if f"{event['data']['tree']}/{event['subject']}" in self.linked:
                continue
            now = event["data"]["now"]
            writers = {one for tree in self.trees for blob, one in self.writers.get((tree, event["subject"]), ())
                       if blob == now}  # fmt: skip
            if writers and PERSON not in writers and event["agent"] not in writers:
                found.append(f"false: {event['kind']} of {event['subject']} by {event['agent']}, not {sorted(writers)}")
        return found


def _contains(entry: dict[str, Any], loss: Loss, folder: Path) -> bool:
    """Does a kept content have the word, and can it be got?"""
    if os.path.basename(entry["path"]) != os.path.basename(loss.path):
        return False
    done = subprocess.run(["git", "cat-file", "blob", entry["blob"]], cwd=folder, capture_output=True, check=False)
    data = done.stdout
    for objects in folder.glob(".git/**/dibs/objects"):
        with contextlib.suppress(OSError):
            data += (objects / entry["blob"][:2] / entry["blob"][2:]).read_bytes()
    return loss.word.text in data


def _earlier(signature: re.Match[str], seconds: int) -> str:
    mtime, ctime = (int(signature[group]) - seconds * 1_000_000_000 for group in (2, 3))
    return f"{signature[1]}{mtime}:{ctime}{signature[4]}"


def _family(agent: str) -> str:
    return agent.partition("/")[0]


def _related(one: str, two: str) -> bool:
    """The same, an ancestor, or a later session in the same place."""
    if one == two or one.startswith(f"{two}/") or two.startswith(f"{one}/"):
        return True
    first, second = _family(one), _family(two)
    return first != second and first.partition("-")[0] == second.partition("-")[0]


def _reason(answer: Answer) -> str:
    return answer.err.strip()[:600]


def stage(folder: Path, files: dict[str, bytes], worktrees: int = 0) -> tuple[Scratch, list[Path]]:
    """A repository with these files, and linked working trees."""
    scratch = Scratch(folder, {"gen.sh": '. "$HOME/plan"\n', ".gitignore": "*.tmp\n"})
    for name, content in files.items():
        path = scratch.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith(b"->"):
            path.symlink_to(content[2:].decode())
        else:
            path.write_bytes(content)
    scratch.git("add", "-A")
    scratch.git("commit", "-qm", "files")
    scratch.git("branch", "topic")
    trees = [scratch.folder]
    for number in range(worktrees):
        scratch.git("worktree", "add", "-q", str(folder / f"w{number}"), "-b", f"w{number}")
        trees.append(folder / f"w{number}")
    scratch.keep()
    for tree in trees[1:]:
        shutil.copytree(tree, folder / f"kept-{tree.name}", symlinks=True)
    return scratch, trees


def put_back(scratch: Scratch, trees: list[Path]) -> None:
    """As it was."""
    scratch.put_back()
    for tree in trees[1:]:
        shutil.rmtree(tree)
        shutil.copytree(tree.parent / f"kept-{tree.name}", tree, symlinks=True)
