"""What is stored of the shared state: documents, versions of deleted ones, their number. Nothing is decided here."""

from __future__ import annotations

from dibs.operations.core.call import due
from dibs.stores.seam import AFTER_KEY, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.stores.seam import Json, Transaction

    class Version(TypedDict):
        """A version of a document: the last one of a deleted document is kept for a while."""

        key: str  # as the caller says it
        version: int  # rises by one with each write and deletion
        by: str  # the agent that wrote or deleted it
        at: int  # ms

    class Document(Version):
        """A document."""

        value: Json

    class DocumentCounts(TypedDict):
        """What is known of all documents together."""

        documents: int  # that there are
        forgotten: int  # a version that no forgotten document was above


COUNTS_KEY = "ec"  # the number of documents, and a version that no forgotten one was above
NO_DOCUMENTS: DocumentCounts = {"documents": 0, "forgotten": 0}


def document_key(key: str) -> str:
    """A document of the shared state: value, version, author, time."""
    return f"e\t{key}"


def deletion_key(key: str) -> str:
    """The version of a deleted document."""
    return f"eg\t{key}"


def get_document(tx: Transaction, key: str) -> tuple[Document | None, Version | None]:
    """A document, or the last version of a deleted one."""
    document, deletion = tx.get_many([document_key(key), deletion_key(key)]).values()
    return document, deletion


def scan_documents(tx: Transaction, prefix: str, after: str, limit: int) -> tuple[list[Document], bool]:
    """Up to `limit` documents whose keys begin with a prefix, after a key; and whether there are more."""
    low, high = prefix_range(document_key(prefix))
    if after:
        low = max(low, document_key(after) + AFTER_KEY)
    if low >= high:
        return [], False
    page = tx.fetch([(low, high)], limit)
    return [document for _, document in page.rows], page.truncated


def put_document(tx: Transaction, document: Document) -> None:
    """Write a document."""
    tx.put(document_key(document["key"]), document)


def put_deletion(tx: Transaction, deletion: Version, until: int) -> None:
    """Write the last version of a document in its place; a sweep forgets it after `until`."""
    tx.delete(document_key(deletion["key"]))
    tx.put(deletion_key(deletion["key"]), deletion, i2=due(until))


def delete_deletion(tx: Transaction, key: str) -> None:
    """Delete the last version of a deleted document."""
    tx.delete(deletion_key(key))


def get_counts(tx: Transaction) -> DocumentCounts:
    """The counts of all documents."""
    counts: DocumentCounts | None = tx.get(COUNTS_KEY)
    return counts or NO_DOCUMENTS


def put_counts(tx: Transaction, counts: DocumentCounts) -> None:
    """Write the counts."""
    tx.put(COUNTS_KEY, counts)
