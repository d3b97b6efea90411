"""The minimum that HTTP claims are compared with: Starlette, one route, one SQLite insert in its own commit.

`python -m benchmarks.http_bare PORT DATABASE`: uvicorn with uvloop and httptools, WAL, synchronous=FULL. The insert
runs in the event loop itself, which is faster than in a thread for work this small.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import apsw
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request


def application(path: str) -> Starlette:
    """The application on this database."""
    connection = apsw.Connection(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS claims (id INTEGER PRIMARY KEY, path TEXT, agent TEXT)")

    async def claim(request: Request) -> JSONResponse:
        given = await request.json()
        connection.execute("INSERT INTO claims (path, agent) VALUES (?, ?)", (given["resources"][0], given["as"]))
        return JSONResponse({"ok": True, "claim": connection.last_insert_rowid()})

    return Starlette(routes=[Route("/v1/claim", claim, methods=["POST"])])


if __name__ == "__main__":
    uvicorn.run(application(sys.argv[2]), host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
