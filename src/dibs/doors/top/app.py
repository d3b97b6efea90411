"""`dibs top`: keys become choices and actions, changes become a picture; until the person leaves.

Why neither textual nor rich. textual (8.2, alive, well made) takes 0.25 s of processor time to import on a quick
machine and would be an extra to install on each host that is reached by SSH; rich has no keys. What is needed of
a terminal here is little: raw keys, the other screen, its size, and to repaint lines that changed (paint.py, keys.py).
So `top` comes with dibs, starts at once, and its picture is a plain function of state and size (view.py), which tests
look at without a terminal. What it does not do: a mouse, which belongs to the terminal's own selection of text.
"""

from __future__ import annotations

from dibs.doors.top import actions, dialogs, panes, words, worktrees
from dibs.doors.top.keys import Decoder, Input
from dibs.doors.top.model import covers
from dibs.doors.top.panes import AGENTS, ALERT, HELD, LOG, SORTS, TASKS, WAITS
from dibs.doors.top.story import Story
from dibs.doors.top.view import View
from dibs.doors.top.words import plain
from dibs.facts import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.doors.top.paint import Screen
    from dibs.doors.top.reader import Asker, Desk, Reader
    from dibs.doors.top.state import State

ESCAPE_S = 0.05  # for the rest of a key after its Escape
SECOND_MS = 1_000
PAINT_MS = 200  # between two pictures of changes; a key is answered at once
PAGE_EVENTS = 1_000
SEARCH_EVENTS = 200
GOES = {"o": AGENTS, "h": HELD, "w": WAITS, "b": TASKS, "l": LOG, "a": ALERT}
INTERRUPTED = 130


class App:
    """The program between the keys and the picture."""

    def __init__(self, state: State, desk: Desk, want: Callable[..., None]) -> None:
        self.state, self.view = state, View(state)
        self._desk, self._want = desk, want
        self._going = False  # after a `g`
        self._page = 10  # rows of a page
        self.leaving = 0  # 1: leave with exit code 0; above: with that code
        self._keys: dict[str, Callable[[], None]] = {
            "j": lambda: self.view.move(1), "down": lambda: self.view.move(1), "k": lambda: self.view.move(-1),
            "up": lambda: self.view.move(-1), "page-down": lambda: self._paged(1), "page-up": lambda: self._paged(-1),
            "ctrl-f": lambda: self._paged(1), "ctrl-b": lambda: self._paged(-1), "ctrl-d": lambda: self._paged(1),
            "ctrl-u": lambda: self._paged(-1), "home": lambda: self.view.move(-(1 << 30)), "end": self._end,
            "G": self._end, "enter": self._enter, "escape": self._back, "tab": lambda: self._next(1),
            "back-tab": lambda: self._next(-1), "l": lambda: self._next(1), "right": lambda: self._next(1),
            "h": lambda: self._next(-1), "left": lambda: self._next(-1), "/": self._filter, "s": self._sort,
            " ": self._follow, "?": self._help, "!": lambda: self.view.go(ALERT), "m": self._message,
            "M": lambda: self.act("message", "all"), "A": self._ask, "a": self._acknowledge, "r": self._release,
            "x": self._kill, "X": lambda: self.act("killall", "all"), "v": self._revive, "c": self._cancel,
            "R": self._restore, "p": self._requeue, "q": self.leave, "Q": self.leave,
        }  # fmt: skip

    # --- keys

    def press(self, key: str) -> None:
        """One key."""
        view = self.view
        if key == "ctrl-c":
            self.leaving = INTERRUPTED
        elif view.dialog is not None:
            self._answer(view.dialog.press(key))
        elif view.typing is not None:
            self._type(key)
        elif view.help:
            by = {
                "j": 1,
                "down": 1,
                "k": -1,
                "up": -1,
                " ": self._page,
                "page-down": self._page,
                "page-up": -self._page,
            }
            if key in by:
                view.help_top = max(0, view.help_top + by[key])  # the picture stops at the end
            else:
                view.help = False
        elif self._going:
            self._going = False
            if key == "g":
                view.move(-(1 << 30))
            elif key in GOES:
                view.go(GOES[key])
            elif key == "m" and not view.stories:
                self.open(worktrees.STORY)
        elif key == "g":
            self._going = True
        elif len(key) == 1 and key in "12345":
            view.go(int(key) - 1)
        elif key in self._keys:
            self._keys[key]()

    def leave(self) -> None:
        """End it."""
        self.leaving = 1

    def _help(self) -> None:
        self.view.help, self.view.help_top = True, 0

    def _paged(self, by: int) -> None:
        self.view.move(by * self._page)
        self._older()

    def _end(self) -> None:
        self.view.move(1 << 30)
        self._older()

    def _next(self, by: int) -> None:
        self.view.go((self.view.pane + by) % 5 if self.view.pane != ALERT else AGENTS)

    def _back(self) -> None:
        view = self.view
        if view.stories:
            view.stories.pop()
        elif view.query[view.pane]:
            view.query[view.pane] = ""
        elif view.pane == ALERT:
            view.go(AGENTS)

    def _enter(self) -> None:
        row = self.view.row
        if row is not None and row.open:
            self.open(row.open)

    def _sort(self) -> None:
        view = self.view
        view.sort[view.pane] = (view.sort[view.pane] + 1) % len(SORTS[view.pane])
        view.toast(f"sorted by {SORTS[view.pane][view.sort[view.pane]]}")

    def _follow(self) -> None:
        self.view.follow = not self.view.follow
        self.view.toast("following the log" if self.view.follow else "the log is paused; space follows it again")

    # --- the filter

    def _filter(self) -> None:
        if self.view.pane == ALERT:
            self.view.go(AGENTS)
        self.view.typing = Input(self.view.query[self.view.pane], 200)

    def _type(self, key: str) -> None:
        view = self.view
        typing = view.typing
        assert typing is not None
        if key == "escape":
            view.typing, view.query[view.pane] = None, ""
        elif key == "enter":
            view.typing = None
            if view.pane == LOG and view.query[LOG].strip():
                self._search()
        elif typing.take(key):
            view.query[view.pane] = typing.text

    def _search(self) -> None:
        """The whole log for what was typed, the newest first; again: from further back."""
        state, query = self.state, self.view.query[LOG].strip()
        again = query == state.searched
        if again and not state.found_from:
            return
        first = state.events[0]["seq"] if state.events else state.seq + 1
        fields: dict[str, Any] = {"limit": SEARCH_EVENTS, "before": state.found_from if again else first}
        text = []
        for word in query.split():
            key, colon, rest = word.partition(":")
            if colon and key in {"agent", "kind"} and rest:
                fields[key] = rest.rstrip("*")
            elif colon and key == "about" and rest:
                text.append(rest)
            else:
                text.append(word)
        if text:
            fields["text"] = " ".join(text)

        def done(answer: Any, why: str) -> None:
            if why:
                self.view.toast(why)
                return
            state.search(query, answer["events"], int(answer["first"]) if answer["earlier"] else 0)
            found = words.count(len(answer["events"]), "earlier event")
            more = f"; searched back to {answer['first']}: / enter continues" if answer["earlier"] else ""
            self.view.toast(f"{found} in the log{more}")

        self.view.toast("searching the log …")
        self._desk.give(lambda asker: asker.ask("log", fields), done)

    def _older(self) -> None:
        """At the end of the log: read what is before it."""
        view, state = self.view, self.state
        if view.pane != LOG or view.stories or not state.is_older or view.query[LOG]:
            return
        if view.index[LOG] < len(view.rows(LOG)) - 1:
            return
        first = state.events[0]["seq"]
        after = max(0, first - 1 - PAGE_EVENTS)

        def done(answer: Any, why: str) -> None:
            if why:
                view.toast(why)
                return
            found = answer["events"]
            state.older(found, older=bool(found) and found[0]["seq"] > 1)

        self._desk.give(lambda asker: asker.ask("log", {"after": after, "limit": first - 1 - after}), done)

    # --- stories

    def open(self, what: str) -> None:
        """Open a story."""
        story = Story(what)
        self.view.stories.append(story)
        query = story.query

        def done(answer: Any, _: str) -> None:
            if answer:
                for event in answer["events"]:
                    event["ms"] = words.ms(event["at"])
                story.events = answer["events"]

        if query is not None:
            name, fields = query
            self._desk.give(lambda asker: asker.ask(name, fields), done)
        if story.kind == "task":

            def shown(answer: Any, _: str) -> None:
                story.full = (answer or {}).get("task") or {}

            self._desk.give(lambda asker: asker.ask("task show", {"id": story.id}), shown)

    # --- what is selected

    def _subject(self, *kinds: str) -> str:
        """The id of what is selected or open, if it is one of these kinds; "" if not."""
        view = self.view
        row = view.row
        found = [row.open] if row is not None and row.open else []
        if view.stories:
            found.append(view.stories[-1].what)
        for what in found:
            kind, _, identifier = what.partition(":")
            if kind in kinds:
                return identifier
        return ""

    def _agent(self) -> str:
        row = self.view.row
        return self._subject("agent") or (row.agent if row is not None else "")

    def _alert(self) -> dict[str, Any] | None:
        """The alert whose story is open, or that is selected; else the first one."""
        found, wanted = self.view.model.open, self._chosen_alert()
        if wanted is not None:
            found = [alert for alert in found if wanted in alert["ids"]]
        return found[0] if found else None

    def _chosen_alert(self) -> str | None:
        """The id of the alert that the person means; None: not any one."""
        stories = self.view.stories
        if stories:
            return stories[-1].id if stories[-1].kind == "alert" else None
        if self.view.pane != ALERT:
            return None
        return self.view.row.id if self.view.row is not None else ""

    def _on_alert(self, *kinds: str) -> str:
        """What the remedy of the selected alert is about, if it is one of these actions."""
        alert = self._alert() if self._chosen_alert() is not None else None
        for _, action in panes.remedies(self.view.model, alert) if alert else ():
            kind, _, subject = action.partition(":")
            if kind in kinds:
                return subject
        return ""

    def _message(self) -> None:
        agent = self._agent()
        if agent:
            self.act("message", agent)
        else:
            self.view.toast("select an agent first; M writes to all")

    def _ask(self) -> None:
        path = self._held_path()
        if path:
            self.act("ask", path)
        else:
            self.view.toast("select a held path first")

    def _held_path(self) -> str:
        """The claimed resource that covers what is selected."""
        wanted = self._subject("file")
        for claim in self.view.model.claims:
            for path in claim["resources"]:
                if wanted and covers(path, wanted):
                    return str(path)
        return ""

    def _release(self) -> None:
        path = self._on_alert("release") or self._held_path()
        if path:
            self.act("release", path)
        else:
            self.view.toast("select a held path first: 2 shows them")

    def _kill(self) -> None:
        agent = self._on_alert("kill") or self._agent()
        if agent:
            self.act("kill", agent)
        else:
            self.view.toast("select an agent first")

    def _revive(self) -> None:
        agent = self._agent()
        if agent and self.view.model.shown.get(agent) == "killed":
            self.act("revive", agent)
        else:
            self.view.toast("select a killed agent first")

    def _requeue(self) -> None:
        task = self._on_alert("requeue") or self._subject("task")
        if self.state.tasks.get(task, {}).get("state") in {"failed", "quarantined", "cancelled"}:
            self.act("requeue", task)
        else:
            self.view.toast("select a task that failed, is quarantined or was cancelled: 4 shows them")

    def _cancel(self) -> None:
        task = self._subject("task")
        if task:
            self.act("cancel", task)
        else:
            self.view.toast("select a task first: 4 shows them")

    def _restore(self) -> None:
        path = self._on_alert("restore") or self._subject("file")
        if path not in self.view.model.violated:
            path = next(iter(self.view.model.violated), path)
        if path:
            self.act("restore", path)
        else:
            self.view.toast("no file was overwritten under its holder")

    def _acknowledge(self) -> None:
        alert = self._alert()
        if alert is None:
            self.view.toast("no alert is open")
            return
        ids = alert["ids"]
        if self._refused("ack"):
            return

        def done(_: Any, why: str) -> None:
            self._want("alerts")
            self.view.toast(why or "Acknowledged. It clears itself when the cause is gone")

        self._desk.give(lambda asker: [asker.ask("alerts ack", {"id": one}) for one in ids], done)

    # --- actions

    def _refused(self, kind: str) -> bool:
        """What the caller may not do is said, not tried."""
        why = self.state.why_not(actions.NEEDS[kind])
        if why:
            self.view.toast(why)
        return bool(why)

    def act(self, kind: str, subject: str) -> None:
        """Begin an action: its dialog is opened."""
        if self._refused(kind):
            return
        model, view = self.view.model, self.view
        if kind in {"message", "ask"}:
            who = "all agents" if subject == "all" else self.state.name_of(subject)
            title = f"Ask for {plain(subject)}" if kind == "ask" else f"Message {plain(who)}"
            view.dialog = dialogs.Compose(kind, subject, title, "Could you release it soon? " if kind == "ask" else "")
            return
        if kind == "restore":
            self._desk.give(actions.kept_contents, lambda kept, why: self._confirm(kind, subject, kept, why))
            return
        action = actions.describe(model, kind, subject)
        if action is None:
            view.toast("there is nothing to do any more: it changed meanwhile")
            return
        view.dialog = dialogs.Confirm(kind, subject, action)

    def _confirm(self, kind: str, subject: str, kept: Any, why: str) -> None:
        action = actions.describe(self.view.model, kind, subject, kept) if not why else None
        if action is None:
            self.view.toast(why or f"nothing is kept of {subject}")
        else:
            self.view.dialog = dialogs.Confirm(kind, subject, action)

    def _answer(self, said: str) -> None:
        """What a dialog's key asks for."""
        dialog = self.view.dialog
        if said == "close":
            self.view.dialog = None
        elif said == "do" and dialog is not None:
            dialog.busy, dialog.said = True, ""
            if isinstance(dialog, dialogs.Compose):
                self._send(dialog)
            elif isinstance(dialog, dialogs.Confirm):
                self._commit(dialog)

    def _send(self, dialog: dialogs.Compose) -> None:
        text = dialog.fields[0][1].text.strip()
        asks = dialog.kind == "ask"
        fields = {"resource" if asks else "to": dialog.subject, "text": text}

        def job(asker: Asker) -> Any:
            return asker.ask("ask" if asks else "send", fields, request=dialog.request)

        def done(_: Any, why: str) -> None:
            dialog.busy = False
            if why:
                dialog.said = why
            else:
                self._closed(dialog, f"Sent: {dialog.title.lower()}")

        self._desk.give(job, done)

    def _commit(self, dialog: dialogs.Confirm) -> None:
        action, why = dialog.action, dialog.why

        def job(asker: Asker) -> Any:
            return actions.commit(asker, self.state, dialog.kind, dialog.subject, action, why, dialog.request)

        def done(answer: Any, refused: str) -> None:
            dialog.busy = False
            self._want("status", "agents", "tasks", "alerts")
            if refused:
                dialog.said = refused
            elif "gone" in answer:
                dialog.said = "There is nothing to do any more: it changed meanwhile. Nothing was done."
            elif "changed" in answer:
                dialog.differs(answer["action"], answer["changed"])
            else:
                self._closed(dialog, actions.said(action, answer["event"]))

        self._desk.give(job, done)

    def _closed(self, dialog: dialogs.Dialog, said: str) -> None:
        if self.view.dialog is dialog:
            self.view.dialog = None
        self.view.toast(said)

    # --- the loop

    def run(self, screen: Screen, reader: Reader) -> int:
        """Run until the person leaves; returns the exit code."""
        decoder = Decoder()
        painted = version = -1
        dirty = True
        while not self.leaving:
            if screen.ended_by:
                return 128 + screen.ended_by
            now = clock.since_boot()
            due = now // SECOND_MS != painted // SECOND_MS or (
                self.state.version != version and now - painted >= PAINT_MS
            )
            if dirty or due:
                columns, rows = screen.size()
                self._page = max(1, rows - 14)
                version = self.state.version
                screen.paint(self.view.frame(columns, rows), self.view.cursor)
                painted, dirty = now, False
            wait = SECOND_MS - now % SECOND_MS
            if self.state.version != version:
                wait = min(wait, PAINT_MS)
            typed = screen.keys(ESCAPE_S if decoder.is_pending else wait / 1000)
            if typed is None:
                return 128 + 1  # the terminal is gone
            keys = decoder.feed(typed) if typed else decoder.flush()
            for key in keys:
                if key == "ctrl-z":
                    screen.suspend()
                else:
                    self.press(key)
            dirty = bool(keys) or self._desk.deliver() or screen.size() != (columns, rows)
        reader.stop()
        return 0 if self.leaving == 1 else self.leaving
