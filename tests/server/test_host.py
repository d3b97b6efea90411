"""A server's host: one store for all requests, settings that follow their file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import dibs
from dibs.errors import Invalid, Unavailable
from dibs.server.host import Host
from dibs.workspace import location


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host of a new workspace."""
    dibs.init(str(tmp_path))
    return Host(location.find(str(tmp_path), None))


def claim(host: Host, agent: str, path: str) -> int:
    session = host.session()
    operation = session.operation("claim")
    resources = session.paths.expanded(path, session.cwd)
    answer = session.answer(operation, session.identify(agent), {"resources": resources})
    return int(answer["token"])


def test_requests_of_many_threads_share_one_store_and_each_has_its_own_token(host: Host) -> None:
    tokens: list[int] = []
    threads = [threading.Thread(target=lambda n=n: tokens.append(claim(host, f"a{n}", f"f{n}"))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(tokens)) == 8
    assert host.session().store is host.store


def test_a_changed_config_counts_from_the_next_request(host: Host) -> None:
    before = host.session().config
    assert host.session().config is before
    text = Path(host.place.config).read_text(encoding="utf-8")
    Path(host.place.config).write_text(text.replace('# on_doubt = "deny"', 'on_doubt = "allow"'), encoding="utf-8")
    assert host.session().config.policy.guards["on_doubt"] == "allow"


def test_a_replaced_database_is_opened_anew_by_the_request_that_finds_it(host: Host) -> None:
    claim(host, "ann", "a")
    first, path = host.store, host.store.address
    os.rename(path, f"{path}.old")
    with open(f"{path}.old", "rb") as old, open(path, "wb") as new:
        new.write(old.read())
    with pytest.raises(Unavailable) as refused:
        first.look(lambda _: None)
    claim(host, "ann", "b")
    assert host.store is not first
    assert host.reopen_after(refused.value)
    assert not host.reopen_after(Unavailable("something else"))
    assert host.session().store.address == path


def test_a_caller_of_another_workspace_is_refused(host: Host, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    dibs.init(str(other))
    elsewhere = location.find(str(other), None)
    with pytest.raises(Invalid, match="another workspace"):
        host.session(str(other), place=elsewhere)
