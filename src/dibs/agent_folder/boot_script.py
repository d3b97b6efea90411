"""`boot.sh` of a home-made `.agent` folder: the author's own steps, and the check of the task by the live record.

An old boot.sh looks at the repository first (its root, its branch) and may then verify the task by the files. Its own
steps still run, in one shell and in their order; only dibs does the verification. A script without a verification runs
first and as a whole, and its failure is the answer. If the verification cannot be separated from the other steps, these
do not run, and a line on stderr says so.
"""

from __future__ import annotations

import os
import subprocess
import sys

from dibs.agent_folder.files import KEPT_SUFFIX, task_id
from dibs.agent_folder.scripts import Registrar, say
from dibs.client import env_beliefs, memory_files
from dibs.errors import NO, YES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.operations.agents.answers import BootAnswer

    Brief = Callable[[BootAnswer], None]

BEGINS = ("TASK STATE VERIFICATION", "Verifying task state")
ENDS = "END OF NEW LOGIC"
VERIFY_WORDS = ("CURRENT_TASK_ID", "registry/claimed")  # in a script that verifies a task
READY = "Initiation complete"
ONLY_CHECK = "--only-check"  # the argument with which the old script's shell asks for the check alone
MAX_SCRIPT_BYTES = 256 * 1024  # of an old script


def run(agent: str, words: list[str], brief: Brief) -> int:
    """The whole of boot.sh. `brief` prints the briefing for people."""
    if words[:1] == [ONLY_CHECK]:
        return check(agent, brief, ready=words[1:] != ["quietly"])
    kept = os.path.join(agent, "tools", f"boot.sh{KEPT_SUFFIX}")
    text = _text(kept)
    if text is None:
        return check(agent, brief)
    parts = own_steps(text)
    sys.stdout.flush()
    if parts is not None:
        return _in_one_shell(agent, kept, text, parts, words)
    if any(sign in text for sign in VERIFY_WORDS):
        sys.stderr.write(f"dibs: the steps of {kept} are not run: dibs cannot tell where its check of the task ends.\n")
        return check(agent, brief)
    done = subprocess.run([*_shell(text), kept, *words], check=False)  # noqa: S603 - the author's own boot.sh
    return done.returncode or check(agent, brief)


def own_steps(text: str) -> tuple[str, str] | None:
    """The parts of an old boot.sh before and after its verification; None if it has no verification."""
    lines = text.splitlines(keepends=True)
    first = next((place for place, line in enumerate(lines) if any(sign in line for sign in BEGINS)), None)
    if first is None:
        return None
    last = next((place for place, line in enumerate(lines) if place > first and ENDS in line), None)
    if last is None:
        last = _end_of_if(lines, first)
    if last is None:
        return None
    return "".join(lines[:first]), "".join(lines[last + 1 :])


def _end_of_if(lines: list[str], first: int) -> int | None:
    """The line where the first `if` after this line ends; None if it does not end."""
    depth = 0
    for place in range(first, len(lines)):
        word = lines[place].strip()
        if word.startswith("if "):
            depth += 1
        elif word.split("#")[0].split(";")[0].strip() == "fi":
            depth -= 1
            if not depth:
                return place
    return None


def _in_one_shell(agent: str, kept: str, text: str, parts: tuple[str, str], words: list[str]) -> int:
    """Before, the check, after: in the shell that the old script names, so that its variables are kept."""
    before, after = parts
    quietly = ' "quietly"' if READY in after else ""
    call = f'"$DIBS_BOOT_PYTHON" -P -X utf8 -m dibs import --script boot "$0" "$DIBS_BOOT_FOLDER" {ONLY_CHECK}{quietly}'
    whole = f"{before}\n{call} || exit 1\n{after}"
    environment = {**os.environ, "DIBS_BOOT_PYTHON": sys.executable, "DIBS_BOOT_FOLDER": agent}
    done = subprocess.run([*_shell(text), "-c", whole, kept, *words], check=False, env=environment)  # noqa: S603 - as above
    return done.returncode


def _shell(text: str) -> list[str]:
    """The interpreter that the script's first line names."""
    first = text.partition("\n")[0]
    return first[2:].split() if first.startswith("#!") and first[2:].strip() else ["/bin/sh"]


def _text(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_SCRIPT_BYTES).decode(errors="surrogateescape")
    except OSError:
        return None


def check(agent: str, brief: Brief, *, ready: bool = True) -> int:
    """CURRENT_TASK_ID and AGENT_ID against the live record. Never claims a task that is not held."""
    with Registrar(agent, os.environ.get("DIBS_WORKSPACE")) as desk:
        return _check(desk, brief, ready=ready)


def _check(desk: Registrar, brief: Brief, *, ready: bool) -> int:
    task, agent = os.environ.get("CURRENT_TASK_ID", ""), os.environ.get("AGENT_ID", "")
    say("Verifying task state...")
    if task:
        say(f"Agent believes it is working on task: {task}")
        if desk.registry.state(task):
            desk.recorded(task)
    files = memory_files.load(desk.session)
    believed = [one for one in env_beliefs.fields()["believed"] if one != task]
    fields: dict[str, Any] = {"task": task_id(task), "believed": believed, "files": memory_files.digests(files)}
    result = desk.run("boot", desk.speak_as(agent), **fields)
    _tell(desk, result, brief)
    name, held = agent or result["agent"], result["task"]
    if task:
        if held is None or held["id"] != task_id(task):
            say(_fatal(task, desk.look_at(task)["known_as"]))
            return NO
        desk.show(task, name)
        say(f"✅ Confirmed: This agent ({name}) still holds the claim for task {task}.")
    elif held is None:
        say("ℹ️ No current task ID set. Agent is starting fresh.")  # noqa: RUF001 - the sign that people know
    else:
        say(f"⚠️ No current task ID set, but this agent ({name}) still holds the claim for task {held['id']}.")
    if ready:
        say("✅ Initiation complete. Agent is ready.")
    return YES


def _fatal(task: str, other: str) -> str:
    if other:
        return f"❌ FATAL: Task {task} was claimed by another agent ({other}). Aborting."
    return (
        f"❌ FATAL: This agent was supposed to be working on {task}, but the claim lock is missing. "
        "The task may have been released or become stale. Aborting."
    )


def _tell(desk: Registrar, result: BootAnswer, brief: Brief) -> None:
    """The briefing, in addition to the script's output: its losses, messages and rules count as delivered."""
    import contextlib

    with contextlib.redirect_stdout(sys.stderr):
        brief(desk.session.finish(desk.session.operation("boot"), result))
