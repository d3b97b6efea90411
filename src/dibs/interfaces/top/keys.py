"""The keys of `dibs top`: what a person presses and reads about, and which action of app.py that is."""

from __future__ import annotations

from dibs.interfaces.top.panes import AGENTS, ALERT, HELD, LOG, TASKS, WAITS

FIRST, LAST = -(1 << 30), 1 << 30  # rows to move by

# Heading → (keys as people read them, what they do, {action: keys by Textual's names}). CHORDS has what follows a `g`.
KEYS: tuple[tuple[str, tuple[tuple[str, str, dict[str, str]], ...]], ...] = (
    ("Go to", (
        ("1 2 3 4 5", "a pane", {f"choose('go', {pane})": str(pane + 1) for pane in range(5)}),
        ("tab, h l", "next pane", {"choose('go_next', 1)": "tab,l,right", "choose('go_next', -1)": "shift+tab,h,left"}),
        ("!, g a", "the alerts", {f"choose('go', {ALERT})": "exclamation_mark"}),
        ("g o, g h, g w, g b, g l", "agents, held, waits, tasks (board), log", {}),
        ("g m", "worktrees: coming conflicts, what lands (merges)", {}),
    )),
    ("Move", (
        ("j k, arrows", "next, previous", {"move(1)": "j,down", "move(-1)": "k,up"}),
        ("page up, page down", "a page",
         {"page(1)": "pagedown,ctrl+f,ctrl+d", "page(-1)": "pageup,ctrl+b,ctrl+u"}),
        ("g g, G", "first, last", {f"move({FIRST})": "home", f"move({LAST})": "end,G"}),
        ("enter", "open its story", {"open": "enter"}),
        ("esc", "back, clear the filter", {"choose('back')": "escape"}),
    )),
    ("Act on what is selected", (
        ("m", "message its agent", {"act('message')": "m"}),
        ("M", "message all", {"act_on('message', 'all')": "M"}),
        ("A", "ask its holder to release", {"act('ask')": "A"}),
        ("a", "acknowledge the alert (the first one)", {"acknowledge": "a"}),
        ("r", "force release", {"act('release')": "r"}),
        ("x", "kill", {"act('kill')": "x"}),
        ("X", "kill all", {"act_on('killall', 'all')": "X"}),
        ("v", "revive", {"act('revive')": "v"}),
        ("p", "requeue a stopped task", {"act('requeue')": "p"}),
        ("c", "cancel a task", {"act('cancel')": "c"}),
        ("R", "restore an overwritten file", {"act('restore')": "R"}),
        ("d", "show its agent's uncommitted work", {"act('diff')": "d"}),
        ("H", "hand its agent's work over", {"act('handover')": "H"}),
        ("u", "undo its agent's work", {"act('undo')": "u"}),
    )),
    ("Anywhere", (
        ("/", "filter; in the log: words, agent:ada, kind:claim., about:src/db; enter searches all of it",
         {"filter": "slash"}),
        ("s", "another order", {"choose('sort_next')": "s"}),
        ("z", "the pane alone, or all panes (from 100 columns on)", {"choose('toggle_zoom')": "z"}),
        ("space", "stop or follow the log", {"choose('toggle_follow')": "space"}),
        ("click, twice, wheel", "select, open, move (with shift the terminal selects text)", {}),
        ("?", "keyboard shortcuts", {"keys": "question_mark"}),
        ("q, ctrl-c", "leave", {"leave": "q,Q"}),
    )),
)  # fmt: skip
ACTIONS = {
    key: action for _, rows in KEYS for _, _, bound in rows for action, keys in bound.items() for key in keys.split(",")
}  # fmt: skip
CHORDS = {"g": f"move({FIRST})", "m": "worktrees", **{
    key: f"choose('go', {pane})"
    for key, pane in (("o", AGENTS), ("h", HELD), ("w", WAITS), ("b", TASKS), ("l", LOG), ("a", ALERT))
}}  # fmt: skip
