"""Ports: what listens is seen, by the system's table and by trying, and so is the process that does."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from dibs.machine import ports

if TYPE_CHECKING:
    from collections.abc import Iterator

FAMILIES = (
    (socket.AF_INET, "127.0.0.1"),
    (socket.AF_INET, ""),  # all addresses
    (socket.AF_INET6, "::1"),
    (socket.AF_INET6, "::"),
)


@pytest.fixture(params=FAMILIES, ids=lambda one: str(one[1]))
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    family, address = request.param
    with socket.socket(family, socket.SOCK_STREAM) as opened:
        opened.bind((address, 0))
        opened.listen()
        yield opened


@pytest.fixture(params=("table", "tries"))
def look(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "tries":
        monkeypatch.setattr(ports, "TABLES", ("/proc/no/such/table",))
    elif not os.path.exists(ports.TABLES[0]):  # macOS: the other half is all there is
        monkeypatch.setattr(ports, "TABLES", ())
    return str(request.param)


@pytest.mark.usefixtures("look")
def test_a_port_that_is_listened_on_is_found_and_no_other(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        free = other.getsockname()[1]
    assert ports.listening([port, free]) == {port}
    listener.close()
    assert ports.listening([port, free]) == set()


def test_a_connection_from_a_port_does_not_count_as_listening() -> None:
    with socket.socket() as server, socket.socket() as caller:
        server.bind(("127.0.0.1", 0))
        server.listen()
        caller.connect(server.getsockname())
        taken, from_ = server.getsockname()[1], caller.getsockname()[1]
        assert ports.listening([taken, from_]) - {from_} == {taken}
        if os.path.exists(ports.TABLES[0]):
            assert ports.listening([taken, from_]) == {taken}


def test_the_process_that_listens_is_named(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    known = os.path.exists(ports.TABLES[0])
    assert ports.owners([port]) == ({port: os.getpid()} if known else {})
    assert ports.owners([]) == {}
