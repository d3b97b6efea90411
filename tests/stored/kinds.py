"""Every kind of stored thing: what the code declares, and what a workspace has.

`declared` is the only function that knows where the declarations are. `stored` reads a workspace by the store's and the
ledger's own readers, without a word of what a record means.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from dibs import operations
from dibs.client.upkeep import log_archives
from dibs.ledger import ledger_files
from dibs.ledger.state import FIELDS
from dibs.operations.core.event_kinds import KINDS
from dibs.stores.seam import read_event
from tests.record_tables import prefix_of
from tools.key_definitions import keys

if TYPE_CHECKING:
    from tests.stored.stage import Stage

# Files next to the store, by their place in the workspace: no declaration has them. A `*` stands for one name.
FILES = (
    ".dibs/local/store", ".dibs/local/archive/*", ".dibs/local/alive/*", ".dibs/local/pushes",
    ".git/dibs/store", ".git/dibs/live", ".git/dibs/past", ".git/dibs/seen/*", ".git/dibs/objects/*/*",
)  # fmt: skip
OF_ENGINE = {
    "sqlite": (".dibs/local/dibs.db", ".dibs/local/wakes/@*", ".dibs/local/dibs.db.gate", ".git/dibs/answered"),
    "redis": (".dibs/local/redis-commit", ".dibs/local/redis-commit-log", ".git/dibs/redis-commit"),
}
OWN = ("tp", "tr")  # payloads and results of tasks
HELD = {"h": "claim", "w": "waiter", "i": "interest"}  # what the letter before the id of a hold says


def declared(engine: str) -> set[str]:
    """Every kind that the code of this version can store."""
    forms = [key.form.replace("⇥", "\t").replace("…", letter) for key in keys() for letter in HELD]
    records = {f"record {_form_of(form)}" for form in forms}
    events = {f"event {kind}" for kind in KINDS}
    lines = {f"ledger line {letter}" for letter in FIELDS}
    files = {f"file {path}" for path in (*FILES, *OF_ENGINE[engine])}
    return {*records, *events, *lines, *files, "seal", "archived event", "archived seal"}


def stored(stage: Stage) -> set[str]:
    """Every kind that this workspace has."""
    found = {f"record {_form_of(key)}" for key, _ in stage.rows()}
    found |= {f"event {event['kind']}" for event in stage.events()}
    found |= {"seal" for _ in stage.store.seals()}
    for path in sorted((stage.folder / ".dibs/local/archive").iterdir()):
        found |= {f"event {read_event(event)['kind']}" for event in log_archives.read(str(path))}
        found |= {"archived event", "archived seal"}
    found |= {f"ledger line {row[0]}" for row in ledger_files.load(stage.session.place.private)[0]}
    return found | files_of(stage.folder)


def files_of(folder: Path) -> set[str]:
    """Which of the files next to the store are there."""
    paths = {*FILES, *(path for paths in OF_ENGINE.values() for path in paths)}
    return {f"file {path}" for path in paths if any(one.is_file() for one in folder.glob(path))}


def fields(stage: Stage) -> set[tuple[str, str]]:
    """The fields of every kind of record that this workspace has, without what agents brought as they pleased."""
    records = [(_form_of(key), value) for key, value in stage.rows()]
    return {(kind, name) for kind, value in records if kind not in OWN and isinstance(value, dict) for name in value}


def names_in_code() -> set[str]:
    """Every word by which operations can name a field: in quotes, as a keyword, or with its type."""
    found: set[str] = set()
    for path in Path(operations.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.keyword) and node.arg is not None:
                found.add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
    return found


def _form_of(key: str) -> str:
    """The kind of record that is under a key. Holds of paths, names and linked files are told apart by their letter."""
    prefix = prefix_of(key)
    if prefix not in {"r", "n", "i"}:
        return prefix
    parts = key.split("\t")
    return f"{prefix} {HELD[parts[2][0]]}"
