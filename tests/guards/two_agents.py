"""Two agents in one repository, interleaved at every hook, and an oracle that sees every byte and who wrote it.

The commands are real, the hooks are real, the files and git are real; only the order is made up. The oracle knows
nothing of how dibs keeps its record. It looks at the files after each command, so it knows who wrote what, and at the
end it asks for what was promised:

- no content of an agent's that is not committed goes away by another's doing without an event, a copy that
  `dibs restore` has, and a word to its author;
- no event names for certain somebody who did not do it;
- nobody is told of what an agent's own formatter did to its edit;
- no whole write passes over a content of another's that the writer has not seen;
- no commit takes in what another agent, who is still there, has not committed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.interfaces.quick import QuickAgent, QuickClient, Scratch, blob_of

if TYPE_CHECKING:
    from tests.interfaces.repository import Answer

NAMES = ("a.txt", "b.txt", "c.txt")
FILES = {name: f"{name} one\n{name} two\n" for name in NAMES} | {
    "gen.sh": '. "$HOME/plan"\n',  # what it writes is not in the words of the command that starts it
    ".gitignore": "*.tmp\n",
}
MERGES, WHOLE = "merges", "whole"

Content = bytes | None


@dataclass
class Command:
    """One tool call: what its hooks are told, what it does, and what its words say about files."""

    title: str
    tool: str
    given: dict[str, Any]
    shell: str = ""  # what is run; nothing for a Read
    edit: tuple[str, str, str] | None = None  # of the Edit tool: path, old, new
    named: dict[str, str] = field(default_factory=dict)  # path → merges or whole
    shown: tuple[str, ...] = ()
    literal: bool = False  # the words say what will be there
    plan: str = ""  # what the script does
    sweeps: bool = False  # git goes through the whole tree, and so does dibs
    commits: bool = False
    formats: bool = False  # the client runs a formatter around the end of the edit


@dataclass
class Open:
    """A call between its hooks."""

    command: Command
    call: str
    there: dict[str, Content]  # what lay there when it was let through, and whose it was
    owners: dict[str, str]
    ran: bool = False


@dataclass
class Loss:
    """A content that went away by another's doing."""

    path: str
    content: bytes
    author: str
    by: str
    heard: int  # how much the author had heard by then
    step: int


class Player:
    """One place at the table: a client's process, in which one session follows the other."""

    def __init__(self, world: World, name: str, process: QuickClient) -> None:
        self.world, self.name, self.process = world, name, process
        self.number = 0
        self.open: Open | None = None
        self.broken: list[Command] = []  # calls without an end, since the last prompt
        self.begin()

    def begin(self) -> None:
        """A new session."""
        self.number += 1
        self.session = f"{self.name}-{self.number}"
        self.agent = QuickAgent(self.world.scratch, self.session, self.process)
        self.world.sessions[self.session] = self.agent
        self.world.booted[self.session] = self.world.step
        self.world.alive.add(self.session)
        self.open, self.broken = None, []
        self.agent.boot()


class World:
    """The repository, the two players, and what the oracle knows."""

    def __init__(self, scratch: Scratch, processes: list[QuickClient]) -> None:
        self.scratch, self.processes = scratch, processes
        self.step = 0
        self.trace: list[str] = []
        self.sessions: dict[str, QuickAgent] = {}
        self.booted: dict[str, int] = {}
        self.alive: set[str] = set()
        self.disk = self._look()
        self.head: dict[str, Content] = dict(self.disk)
        self.blobs: dict[str, bytes] = {}
        self.history: dict[str, list[tuple[Content, str, int]]] = {p: [(c, "", 0)] for p, c in self.disk.items()}
        self.parts = {one: frozenset[str]() for one in self.disk.items()}  # whose work is in a content
        self.seen: dict[tuple[str, str], set[Content]] = {}
        self.watched: set[str] = set()
        self.looked = dict(self.disk)  # what dibs saw when it last looked
        self.known_to_dibs: set[tuple[str, Content]] = set()  # what it saw before it was committed
        self.owner = dict.fromkeys(NAMES, "")  # whose work that is not committed lies there; "" for nobody's
        self.losses: list[Loss] = []
        self.wrongs: list[str] = []
        self.by_name = dict.fromkeys(NAMES, False)  # did the last change's command name the file?
        self.formatted: set[tuple[str, str, str]] = set()  # path, blob before, blob after a client's formatter
        self.excused: set[tuple[str, str]] = set()  # path and author: the author's own call was at it all the time
        self.players = [Player(self, name, process) for name, process in zip(("ada", "ben"), processes, strict=True)]

    def _look(self) -> dict[str, Content]:
        found = self.scratch.files()
        return {name: found.get(name) for name in NAMES}

    def say(self, player: Player, text: str) -> None:
        """One line of the story."""
        self.trace.append(f"{self.step:3} {player.session}: {text}")

    # --- the hooks and what lies between them

    def before(self, player: Player, command: Command) -> None:
        """The first hook; the call is open if it passes."""
        if command.tool != "Read":  # its hook only notes what the agent sees
            self._dibs_looks([*NAMES] if command.sweeps else [*self.watched, *command.named])
        answer, call = player.agent.before(command.tool, command.given)
        self.say(player, f"{command.title}{f' REFUSED {_reason(answer)}' if answer.code else ''}")
        if answer.code:
            return
        for path in command.shown:
            self._sees(player.session, path, self.disk[path])
        if command.tool == "Read":
            return
        for path, how in command.named.items():
            if how == WHOLE:
                self._check_stale(player.session, path, command.title)
            if not command.commits:  # it writes no file: one that nobody changed is not looked at for its sake
                self.watched.add(path)
        player.open = Open(command, call, self.disk, dict(self.owner))

    def run(self, player: Player) -> None:
        """The tool does what it does."""
        assert player.open is not None
        command = player.open.command
        player.open.ran = True
        for path in command.shown:
            self._sees(player.session, path, self.disk[path])
        if command.edit is not None:
            self._edit(*command.edit)
        elif command.shell:
            (self.scratch.folder.parent / "home" / "plan").write_text(command.plan)
            done = player.agent.run(command.shell)
            self.say(player, f"  … ran {done.code} {done.err.strip()[:160]}")
        else:
            path = command.given["file_path"]
            (self.scratch.folder / path).write_text(command.given["content"])
        self._take_in(player, command)
        if command.commits:
            self._committed(player, player.open)

    def after(self, player: Player) -> None:
        """The second hook."""
        assert player.open is not None
        command, call = player.open.command, player.open.call
        if command.formats and self.step % 2:  # its hook may come before ours or after it
            self._format(player, command)
        player.open = None
        # another agent is there: after a program dibs looks at everything
        self._dibs_looks([*NAMES] if command.plan else [*self.watched, *command.named])
        player.agent.after(command.tool, command.given, call)
        self.say(player, f"  … after {command.title}")
        if command.formats and not self.step % 2:
            self._format(player, command)

    def _format(self, player: Player, command: Command) -> None:
        """What the client's formatter does to the edit, if that is what is there: the words stay."""
        path = command.given["file_path"]
        content, writer, _ = self.history[path][-1]
        if content is None or writer != player.session or content != self.disk[path]:
            return
        tidy = content.replace(b"  ", b" ") if b"  " in content else content.replace(b" ", b"  ")
        if tidy != content:
            self.say(player, f"  … its client formats {path}")
            (self.scratch.folder / path).write_bytes(tidy)
            if self.parts[path, content] <= {player.session}:  # else there is more in it than its edit
                self.formatted.add((path, blob_of(content), blob_of(tidy)))
            self._take_in(player, command)

    def kill(self, player: Player) -> None:
        """SIGKILL, in the middle of a call; another client's process takes the place."""
        self.say(player, "killed")
        self.scratch.kill(player.process)
        self.alive.discard(player.session)
        player.process = self.processes[self.players.index(player)] = self.scratch.process()
        player.begin()

    def break_off(self, player: Player) -> None:
        """The call has no second hook."""
        assert player.open is not None
        self.say(player, f"  … broke off {player.open.command.title}, {'run' if player.open.ran else 'not run'}")
        player.broken.append(player.open.command)
        player.open = None

    def moment(self, player: Player, what: str) -> None:
        """A prompt, the end of a turn, a boot, the end of the session."""
        self.say(player, what)
        self._dibs_looks([*self.watched])
        player.broken.clear()
        if what == "prompt":
            player.agent.prompt()
        elif what == "stop":
            player.agent.hook("Stop", stop_hook_active=False)
        elif what == "boot":
            player.agent.hook("SessionStart", source="compact")
        else:
            player.agent.hook("SessionEnd", reason="other")
            self.alive.discard(player.session)
            player.begin()

    @staticmethod
    def uses_git(player: Player) -> bool:
        """Has this agent a git command open, or broken off?"""
        calls = [*player.broken, *([player.open.command] if player.open else [])]
        return any(command.shell.startswith("git") for command in calls)

    def _edit(self, path: str, old: str, new: str) -> None:
        """What the Edit tool does; it fails where the text is not there."""
        place = self.scratch.folder / path
        if place.exists() and old in place.read_text():
            place.write_text(place.read_text().replace(old, new, 1))

    # --- what the oracle sees

    def _take_in(self, player: Player, command: Command) -> None:
        """Whatever differs from before, this agent's command did."""
        now = self._look()
        for path, content in now.items():
            old, writer, how = self.disk[path], player.session, command.named.get(path)
            if how == WHOLE:
                self._sees(writer, path, content)
            if content == old:
                continue
            self.history[path].append((content, writer, self.step))
            if content is not None:
                self.blobs[blob_of(content)] = content
            before = self.parts.get((path, old), frozenset())
            known = old in self.seen.get((writer, path), set())
            if (path, content) not in self.parts:
                self.parts[path, content] = before | {writer} if how == MERGES else frozenset({writer})
            if how == MERGES and known:
                self._sees(writer, path, content)
            owner = self.owner[path]
            if owner and owner != writer and self._is_at(owner, path):
                self.excused.add((path, owner))
            self.by_name[path] = how is not None
            if how is not None:
                continue
            if not owner:  # what is written past another's claim, or into its command, is not the writer's
                self.owner[path] = self._holder(path, writer)
            for other in self.players:  # what comes into a command that names the file looks like that command's own
                if other is not player and self._is_at(other.session, path, literal=False):
                    self._sees(other.session, path, content)
        self.disk = now

    def _holder(self, path: str, writer: str) -> str:
        """Who else holds the path, or has a command open that names it; "" for nobody."""
        for player in self.players:
            if player.session != writer and self._is_at(player.session, path):
                return player.session
        claims = self.scratch.person.dibs("status")["claims"]
        return next((one["agent"] for one in claims if path in one["resources"] and one["agent"] != writer), "")

    def _is_at(self, session: str, path: str, *, literal: bool = True) -> bool:
        """Has this agent a command open, or broken off, that names the path? Then a change of it looks like its own."""
        for player in self.players:
            if player.session == session:
                calls = [*player.broken, *([player.open.command] if player.open else [])]
                return any(path in one.named and one.shell and (literal or not one.literal) for one in calls)
        return False

    def _dibs_looks(self, paths: list[str]) -> None:
        """A hook is about to look: what has changed since the last look, and was that somebody's loss?"""
        for path in sorted(set(paths)):
            was, now, owner = self.looked[path], self.disk[path], self.owner[path]
            if now == was:
                continue
            writer = self.history[path][-1][1]
            places = [place for place, (content, _, _) in enumerate(self.history[path]) if content == was]
            own = bool(owner) and self.history[path][places[-1] + 1][1] == owner  # it wrote over it itself, unseen
            self.looked[path] = now
            self.known_to_dibs.add((path, now))
            self.watched.add(path)
            excused = (path, owner) in self.excused
            self.excused.discard((path, owner))
            fair = own or excused or _is_heir(writer, owner)
            if owner and not fair and was is not None and was != self.head[path]:
                writers = [one for content, one, _ in self.history[path] if content == was]
                # what a violator left there is nobody's loss; what is still to be read there, or was moved, is not lost
                if writers[-1] == owner and not any(_is_in(was, one) for one in self.disk.values()):
                    heard = len(self.sessions[owner].heard)
                    self.losses.append(Loss(path, was, owner, writer, heard, self.step))
            if now == self.head[path]:
                self.owner[path] = "" if owner in {"", writer} else owner
            elif not owner or self.by_name[path]:
                # what nobody looked at while its author was there is nobody's
                self.owner[path] = writer if writer in self.alive else ""

    def _sees(self, session: str, path: str, content: Content) -> None:
        self.seen.setdefault((session, path), set()).add(content)

    def _check_stale(self, session: str, path: str, title: str) -> None:
        """A whole write was let through: over something of another's that the writer has not seen?"""
        content = self.disk[path]
        known = self.seen.get((session, path), set())
        others = self.parts.get((path, content), frozenset()) - {session}
        if content is None or content in known or not others:
            return
        _, author, step = self.history[path][-1]
        uncommitted = content != self.head[path] and author in self.alive
        changed = step > self.booted[session] and (path, content) in self.known_to_dibs
        if known or uncommitted or changed:
            self.wrongs.append(
                f"step {self.step}: {session}'s {title} passed over {content!r} of {sorted(others)}, never seen by it"
            )

    def _committed(self, player: Player, let: Open) -> None:
        """What is in HEAD now; did it take in what another had not committed, and what could be known beforehand?"""
        before, self.head = self.head, {}
        shown = self.scratch.git("ls-tree", "-r", "HEAD").splitlines()
        listed = {line.split("\t")[1]: line.split()[2] for line in shown}
        for path in NAMES:
            blob = listed.get(path)
            if blob is None:
                self.head[path] = None
            elif self.disk[path] is not None and blob_of(self.disk[path] or b"") == blob:
                self.head[path] = self.disk[path]
            else:
                self.head[path] = self.scratch.git("show", f"HEAD:{path}").encode()
            if self.head[path] == before[path]:
                continue
            if self.head[path] == self.disk[path]:
                self.watched.discard(path)
                self.looked[path], self.owner[path] = self.disk[path], ""
            owner = let.owners[path]
            if owner in self.alive - {player.session} and let.there[path] == self.head[path]:
                self.wrongs.append(f"step {self.step}: {player.session} committed {path} of {owner}")

    # --- the end

    def finish(self) -> None:
        """All calls come to their ends, all agents hear what is new; then what was promised is asked for."""
        for player in self.players:
            if player.open is not None:
                if not player.open.ran:
                    self.run(player)
                self.after(player)
        for player in self.players:
            self.before(player, Command("ls", "Bash", {"command": "ls"}, "ls"))
            self.after(player)
        for player in self.players:
            player.agent.prompt()
        kept = self.scratch.person.dibs("restore", "--list")["kept"]
        events = self.scratch.events("edit.")
        wrongs = [*self.wrongs, *self._unkept(kept, events), *self._false(events)]
        wrongs += [
            f"{event['kind']} of {event['subject']}, which a formatter did" for event in events
            if (event["subject"], event["data"].get("was"), event["data"].get("now")) in self.formatted
        ]  # fmt: skip
        assert not wrongs, "\n".join([*wrongs, "", *self.trace])

    def _unkept(self, kept: list[dict[str, Any]], events: list[dict[str, Any]]) -> list[str]:
        found = []
        for loss in self.losses:
            blob = blob_of(loss.content)
            missing = []
            if not any(entry["path"] == loss.path and entry["blob"] == blob for entry in kept):
                missing.append("no copy")
            if not any(event["subject"] == loss.path and event["data"].get("was") == blob for event in events):
                missing.append("no event")
            heard = self.sessions[loss.author].heard[loss.heard :]
            if loss.author in self.alive and not any(loss.path in text for text in heard):
                missing.append("its author heard nothing")
            if missing:
                found.append(
                    f"step {loss.step}: {loss.by} took away {loss.content!r} of {loss.author} in {loss.path}: "
                    f"{', '.join(missing)}"
                )
        return found

    def _false(self, events: list[dict[str, Any]]) -> list[str]:
        """Events that name for certain one who did not do it."""
        found = []
        for event in events:
            if event["kind"] != "edit.violated" or event["data"].get("grade", "sure") != "sure":
                continue
            now = event["data"]["now"]
            writers = {
                writer for content, writer, _ in self.history.get(event["subject"], ())
                if (blob_of(content) if content is not None else "") == now
            }  # fmt: skip
            if event["agent"] not in writers:
                found.append(f"{event['kind']} of {event['subject']} by {event['agent']}; it was {sorted(writers)}")
        return found


def _is_heir(writer: str, owner: str) -> bool:
    """Is it the same agent, or a later session in the same client's process? That one goes on with what was left."""
    return writer.rpartition("-")[0] == owner.rpartition("-")[0]


def _is_in(content: bytes, now: Content) -> bool:
    """Is each line still there, if perhaps with more around it?"""
    return now is not None and all(line in now for line in content.splitlines())


def _reason(answer: Answer) -> str:
    return answer.err.strip()[:200]
