"""A run's archive: one tar.gz with its record, its report in three forms, its tasks with all results, its events.

It is written to a temporary file, synced and then renamed, so that a file with an archive's name is complete. Equal
content gives equal bytes.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import tempfile

from dibs import jsontext
from dibs.audit import html_page, markdown, source
from dibs.client.upkeep import log_archives
from dibs.errors import Unavailable, quoted
from dibs.machine import atomic_write, clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    from dibs.audit.report_answers import RunReportAnswer
    from dibs.client.session import Session
    from dibs.operations.runs.records import RunArchive
    from dibs.operations.runs.run_reads import TaskPage
    from dibs.stores.seam import Json

    class ArchivedTask(TypedDict):
        """A task with its payload and result; what is not named here goes into the archive as it is."""

        result: Json


FOLDER = "runs"  # below .dibs/local/
MAX_MEMORY_BYTES = 8 * 1024 * 1024  # of one member while it is made; more goes to a temporary file
CHUNK_BYTES = 1024 * 1024


def path_of(session: Session, run: str) -> str:
    """The path of a run's archive."""
    return os.path.join(session.place.local, FOLDER, f"{run}.tar.gz")


def write(session: Session, found: source.Gathered, report: RunReportAnswer) -> RunArchive:
    """Make the archive; returns its path below .dibs/local/, its digest and its size."""
    run = found.run["run"]
    path = path_of(session, run)
    making = clock.temporary(path)
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(making, "wb", opener=_private) as file:
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                _pack(session, found, report, packed)
            file.flush()
            os.fsync(file.fileno())
        digest, size = log_archives.digest_and_size(making)
        os.replace(making, path)
        atomic_write.sync_folder(os.path.dirname(path))
    except OSError as error:
        _forget(making)
        again = f"`dibs run end --run {quoted(run)} --archive`"
        text = f"{path} cannot be written: {error.strerror or error}. The run has ended; {again} retries the archive."
        raise Unavailable(text, path=path) from None
    return {"file": f"{FOLDER}/{run}.tar.gz", "sha256": digest, "size": size}


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _pack(session: Session, found: source.Gathered, report: RunReportAnswer, packed: gzip.GzipFile) -> None:
    run = found.run
    when = (run["wall"] + found.end - found.start) // 1000
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:

        def add(name: str, lines: Iterator[bytes]) -> None:
            with tempfile.SpooledTemporaryFile(MAX_MEMORY_BYTES) as member:
                for line in lines:
                    member.write(line)
                info = tarfile.TarInfo(f"{run['run']}/{name}")
                info.size, info.mtime, info.mode = member.tell(), when, 0o600
                member.seek(0)
                tar.addfile(info, member)

        kept = {name: value for name, value in run.items() if name != "archive"}
        add("run.json", _text({**kept, "agents": found.raw["members"]}))
        add("report.json", _text(report))
        add("report.md", iter([markdown.render(report).encode()]))
        add("report.html", iter([html_page.render(report).encode()]))
        add("tasks.jsonl", (_line(task) for task in _tasks(session, run["run"])))
        add("events.jsonl", (_line(event) for event in found.events()))
        for digest, path in kept_files(session, run["run"]):
            if os.path.exists(path):
                add(f"results/{digest}", _content(path))


def _text(value: object) -> Iterator[bytes]:
    yield _line(value)


def _line(value: object) -> bytes:
    return (jsontext.encode(value) + "\n").encode()


def _content(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _tasks(session: Session, run: str) -> Iterator[ArchivedTask]:
    """Each task with its whole payload and result; a page at a time, so that they need not fit into memory."""
    from dibs.operations.runs.run_reads import TASKS

    page: TaskPage = {"lines": [], "after": "", "more": True}
    while page["more"]:
        page = session.run(TASKS, session.identify(None), {"run": run, "after": page["after"]})
        for line in page["lines"]:
            yield jsontext.decode(line)


def kept_files(session: Session, run: str) -> list[tuple[str, str]]:
    """The files that results of a run's tasks name, which are kept next to the store: digest and path."""
    found = set()
    for task in _tasks(session, run):
        kept = task["result"].get("kept") if isinstance(task["result"], dict) else None
        digest = kept.removeprefix("results/") if isinstance(kept, str) else ""
        if digest and all(letter in "0123456789abcdef" for letter in digest):
            found.add(digest)
    return [(digest, os.path.join(session.place.local, "results", digest)) for digest in sorted(found)]


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
