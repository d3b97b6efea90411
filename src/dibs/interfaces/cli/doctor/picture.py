"""What a person sees of `dibs doctor`: how far it is, then the sections, the worst first, then the verdict."""

from __future__ import annotations

import sys

from dibs.errors import counted
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.doctor import todo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import DoctorAnswer, DoctorFindingView, DoctorSectionView

WORDS = {
    "error": ("FAIL", "bold red"), "warning": ("WARN", "yellow"), "advice": ("note", "dim"), "ok": ("ok", "green"),
    "absent": ("-", "dim"),
}  # fmt: skip
LEFT = 8  # columns before a finding's text
MORE = "`dibs doctor --all` shows what passed, too."


class Progress:
    """What is looked at now, on a terminal: the proofs and a long log take a second or more."""

    def __init__(self, *, quiet: bool) -> None:
        self._shown = not quiet and sys.stderr.isatty()

    def __call__(self, what: str) -> None:
        """Say what is looked at next; "" when all is done."""
        if self._shown:
            sys.stderr.write(f"\r\033[Klooking at {terminal.clean(what)} …" if what else "\r\033[K")
            sys.stderr.flush()


def show(found: DoctorAnswer, *, every: bool) -> None:
    """Print the sections and the verdict."""
    for section in found["sections"]:
        _section(section, every=every)
    sys.stdout.write(f"{todo.verdict(found['checks'], found['sections'])}\n")
    if not every:
        sys.stdout.write(f"{terminal.styled(MORE, 'dim', sys.stdout)}\n")


def _section(section: DoctorSectionView, *, every: bool) -> None:
    if not section["findings"] and not every:
        looked = section["passed"] or not section["absent"]
        said = _passed(section) if looked else section["absent"][0]
        sys.stdout.write(f"{_mark('ok' if looked else 'absent')}  {section['section']}: {said}\n")
        return
    sys.stdout.write(f"{terminal.styled(section['section'], 'bold', sys.stdout)}\n")
    if not (section["findings"] or section["passed"] or section["absent"]):
        sys.stdout.write(f"  {_mark('ok')}  {_passed(section)}\n")
    for finding in section["findings"]:
        _finding(finding)
    for text in section["passed"] if every else ():
        sys.stdout.write(f"  {_mark('ok')}  {_lines(text)}\n")
    for text in section["absent"] if every else ():
        sys.stdout.write(f"  {_mark('absent')}  {_lines(text)}\n")


def _passed(section: DoctorSectionView) -> str:
    """A section in which nothing is wrong, in a few words."""
    if section["section"] == "alerts":
        return "none open"
    if section["section"] == "log" and section["passed"]:
        clean, _, more = section["passed"][0].removeprefix("record: ").partition(", highest token")
        return clean + more.partition(";")[1] + more.partition(";")[2]
    return f"{counted(len(section['passed']), 'check')} passed"


def _finding(finding: DoctorFindingView) -> None:
    also = f" (also: {', '.join(finding['also'])})" if finding["also"] else ""
    sys.stdout.write(f"  {_mark(finding['severity'])}  {_lines(finding['check'] + ': ' + finding['message'] + also)}\n")
    remedy = finding["command"] or finding["todo"]
    if remedy:
        sys.stdout.write(f"{' ' * LEFT}→ {terminal.clean(remedy)}\n")


def _mark(status: str) -> str:
    word, style = WORDS[status]
    return terminal.styled(f"{word:<4}", style, sys.stdout)


def _lines(text: str) -> str:
    """A text, wrapped on a terminal. A command is never cut."""
    text = terminal.clean(text)
    if not sys.stdout.isatty():
        return text
    from dibs.interfaces.cli.help import wrapped

    return f"\n{' ' * LEFT}".join(wrapped(text, max(40, terminal.width() - LEFT)))
