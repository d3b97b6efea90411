"""The ledger is written anew, between any two hooks, without the lines that say nothing more: nobody notices."""

from __future__ import annotations

from dibs.ledger import compaction, contents, ledger_files, working_tree
from dibs.ledger.state import MAX_OBSOLETE_LINES
from dibs.workspace import location
from tests.interfaces.repository import Repository

NEEDED = 40  # lines that two agents and a few files may have


def test_the_ledger_of_an_agent_whose_client_tells_of_no_end_stays_short(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    live = repo.folder / ".git" / "dibs" / "live"
    lengths = []
    for number in range(MAX_OBSOLETE_LINES):
        assert ada.may("Edit", f"call-{number % 4}", file_path="a.py", old_string="a", new_string="b").allowed
        lengths.append(len(live.read_text().splitlines()))
    assert max(lengths) < MAX_OBSOLETE_LINES + NEEDED


def test_an_agent_knows_what_it_wrote_although_the_ledger_was_written_anew_while_that_was_found(
    repo: Repository,
) -> None:
    ada = repo.agent("ada")
    ada.boot()
    assert ada.may_write("new.py", "ada's\n").allowed
    repo.write("new.py", "ada's\n")
    place = location.find(str(repo.folder), None)
    tree, another = working_tree.of(place), working_tree.of(place)
    tree.look(["new.py"])
    assert ledger_files.replace(another.folder, compaction.without_obsolete(another.state, another.now), another._known)
    assert [(change.path, change.actor) for change in tree.write()] == [("new.py", "ada")]
    assert ledger_files.Seen(tree.folder, "ada").last("new.py") == contents.blob_id(b"ada's\n")
