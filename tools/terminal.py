"""A terminal as a picture: runs a command in a pseudo-terminal and draws what a person would see as one SVG file.

pyte reads the escape sequences (`pip install '.[docs]'`); this file samples its screen and writes the frames. It knows
nothing of dibs. Equal lines are stored once, so an animation of twenty seconds stays below 100 KB. A viewer that does
not animate, or whose user asked for less motion, shows the last frame.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from html import escape

import pyte

CELL_WIDTH_PX = 8.4
CELL_HEIGHT_PX = 18
FONT_SIZE_PX = 14
MARGIN_PX = 16
TITLE_BAR_PX = 34
BACKGROUND = "#16181d"
FOREGROUND = "#d7dae0"
FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
COLOURS = {
    "black": "#5c6370", "red": "#ff6b6b", "green": "#7ec699", "brown": "#e5c07b", "yellow": "#e5c07b",
    "blue": "#61afef", "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#d7dae0",
    "brightblack": "#7f8694", "brightred": "#ff8787", "brightgreen": "#98e0ad", "brightyellow": "#f0d399",
    "brightblue": "#82c2ff", "brightmagenta": "#d79bea", "brightcyan": "#76d0db", "brightwhite": "#ffffff",
}  # fmt: skip
DIM = "#7f8694"
DOTS = ("#ff5f57", "#febc2e", "#28c840")

Run = tuple[int, str, str, bool]  # column, text, colour, bold
Line = tuple[Run, ...]
Frame = tuple[Line, ...]


class Screen(pyte.Screen):  # type: ignore[misc] # pyte has no types
    """pyte's screen, which also remembers what is dim: pyte drops that attribute, so blue-grey stands in for it."""

    def select_graphic_rendition(self, *attributes: int, **rest: bool) -> None:
        # 2 (dim) becomes a colour of its own, unless a colour is set with it
        changed = [90 if number == 2 and len(attributes) == 1 else number for number in attributes]
        super().select_graphic_rendition(*changed, **rest)


def record(
    command: list[str], *, columns: int, rows: int, cwd: str | None = None, environment: dict[str, str] | None = None,
    press: tuple[tuple[float, bytes], ...] = (),
) -> list[tuple[float, bytes]]:  # fmt: skip
    """What the command wrote to its terminal, with the seconds since its start. `press`: keys, and when."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    settings = {
        **(environment or dict(os.environ)),
        "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": str(rows), "COLORTERM": "",
    }  # fmt: skip
    settings.pop("NO_COLOR", None)
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, cwd=cwd, env=settings)
    os.close(child)
    written: list[tuple[float, bytes]] = []
    left = list(press)
    while True:
        ready, _, _ = select.select([parent], [], [], 0.2 if left else 1)
        if left and time.monotonic() - start >= left[0][0]:
            os.write(parent, left.pop(0)[1])
        if left and not ready:
            continue
        try:
            data = os.read(parent, 65536)
        except OSError:  # Linux says EIO when the last process has closed the terminal
            break
        if not data:
            break
        written.append((time.monotonic() - start, data))
    os.close(parent)
    if process.wait() != 0:
        said = b"".join(data for _, data in written).decode(errors="replace")
        raise SystemExit(f"{command} ended with exit code {process.returncode}:\n{said}")
    return written


def frames(written: list[tuple[float, bytes]], *, columns: int, rows: int, every: float) -> list[tuple[float, Frame]]:
    """The distinct screens, sampled `every` so many seconds; the last one is what stays on the screen."""
    screen = Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    found: list[tuple[float, Frame]] = []
    due = 0.0
    for at, data in written:
        if at >= due:
            keep(found, at, snapshot(screen, columns))
            due = at + every
        stream.feed(data)
    keep(found, written[-1][0], snapshot(screen, columns))
    return found


def keep(found: list[tuple[float, Frame]], at: float, frame: Frame) -> None:
    """Add a frame unless it is blank or equals the one before."""
    if any(frame) and (not found or found[-1][1] != frame):
        found.append((at, frame))


def snapshot(screen: pyte.Screen, columns: int) -> Frame:
    """The screen's lines as runs of one colour, without what is blank at their ends."""
    lines = []
    for row in range(screen.lines):
        cells = screen.buffer[row]
        runs: list[list[object]] = []
        for column in range(columns):
            cell = cells[column]
            colour = COLOURS.get(cell.fg, FOREGROUND if cell.fg == "default" else f"#{cell.fg}")
            if cell.data == " " and runs and runs[-1][3] == cell.bold:
                runs[-1][1] = f"{runs[-1][1]} "
            elif cell.data and runs and runs[-1][2:] == [colour, cell.bold]:
                runs[-1][1] = f"{runs[-1][1]}{cell.data}"
            elif cell.data:
                runs.append([column, cell.data, colour, cell.bold])
        line = [(int(str(c)), str(t).rstrip(), str(colour), bool(bold)) for c, t, colour, bold in runs]
        lines.append(tuple(run for run in line if run[1]))
    return tuple(lines)


def last_lines(frame: Frame) -> int:
    """How many lines of a frame are not blank at its end."""
    return max((number for number, line in enumerate(frame, 1) if line), default=1)


def draw(
    shown: list[tuple[float, Frame]], *, columns: int, rows: int, title: str, speed: float = 1, hold: float = 5
) -> str:
    """One SVG; with several frames it plays them in a loop and holds the last one for `hold` seconds."""
    inner = columns * CELL_WIDTH_PX
    width = round(inner + 2 * MARGIN_PX)
    height = rows * CELL_HEIGHT_PX + TITLE_BAR_PX + MARGIN_PX
    known: dict[Line, str] = {}
    strip = []
    for number, (_, frame) in enumerate(shown):
        uses = []
        for row, line in enumerate(frame[:rows]):
            if line:
                name = known.setdefault(line, f"l{len(known)}")
                uses.append(f'<use href="#{name}" y="{row * CELL_HEIGHT_PX}"/>')
        strip.append(f'<g transform="translate({number * width})">{"".join(uses)}</g>')
    stored = "".join(f'<text id="{name}">{"".join(map(tspan, line))}</text>' for line, name in known.items())
    style = f"text{{font:{FONT_SIZE_PX}px {FONTS};fill:{FOREGROUND};white-space:pre}}.b{{font-weight:700}}"
    style += colour_classes(known)
    if len(shown) > 1:
        style += animation([at for at, _ in shown], width=width, speed=speed, hold=hold)
    dots = "".join(f'<circle cx="{20 + 20 * n}" cy="18" r="6" fill="{c}"/>' for n, c in enumerate(DOTS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(title)}"><title>{escape(title)}</title><style>{style}</style>'
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>{dots}'
        f'<text x="{width / 2:.0f}" y="23" text-anchor="middle" class="{class_of(DIM)}">{escape(title)}</text>'
        f"<defs>{stored}</defs>"
        f'<svg x="{MARGIN_PX}" y="{TITLE_BAR_PX}" width="{round(inner)}" height="{rows * CELL_HEIGHT_PX}">'
        f'<g class="film">{"".join(strip)}</g></svg></svg>\n'
    )


def class_of(colour: str) -> str:
    """The name of a colour's class."""
    return f"c{colour.lstrip('#')}"


def colour_classes(known: dict[Line, str]) -> str:
    """A class for each colour that is used."""
    used = {DIM, *(run[2] for line in known for run in line)}
    return "".join(f".{class_of(colour)}{{fill:{colour}}}" for colour in sorted(used))


def tspan(run: Run) -> str:
    """A run at its column, as wide as its cells: whatever font the viewer has, columns stay aligned."""
    column, text, colour, bold = run
    classes = " ".join([*([] if colour == FOREGROUND else [class_of(colour)]), *(["b"] if bold else [])])
    length = f' textLength="{len(text) * CELL_WIDTH_PX:.1f}"' if len(text) > 1 else ""
    where = f'x="{column * CELL_WIDTH_PX:.1f}" y="14"'
    return f"<tspan {where}{length}{f' class={chr(34)}{classes}{chr(34)}' if classes else ''}>{escape(text)}</tspan>"


def animation(times: list[float], *, width: int, speed: float, hold: float) -> str:
    """The film strip moves by one frame at a time; the last one is where it stands without animation."""
    starts = [(at - times[0]) / speed for at in times]
    whole = starts[-1] + hold
    steps = "".join(
        f"{100 * at / whole:.2f}%{{transform:translateX({-number * width}px)}}" for number, at in enumerate(starts)
    )
    last = f"transform:translateX({-(len(times) - 1) * width}px)"
    return (
        f"@keyframes film{{{steps}100%{{{last}}}}}"
        f".film{{{last};animation:film {whole:.1f}s steps(1,end) infinite}}"
        "@media (prefers-reduced-motion:reduce){.film{animation:none}}"
    )
