"""Ways into the Python API that people try, and what they get: the right thing, or an error that says what to do."""

from __future__ import annotations

import importlib
import pickle
import threading
from typing import TYPE_CHECKING

import pytest

import dibs
from tests.waiting import LIMIT_S, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.scratch import Shell


def test_the_api_for_asyncio_is_a_module_that_can_be_imported() -> None:
    assert importlib.import_module("dibs.aio").open is dibs.aio.open


def test_an_empty_name_is_not_another_agent(shell: Shell) -> None:
    with pytest.raises(dibs.Invalid, match="not an empty text"):
        dibs.open(str(shell.folder), agent="")


def test_a_claim_that_was_released_begins_no_block(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws:
        with ws.claim("a.py") as claim:
            pass
        with pytest.raises(dibs.Fenced, match="Claim it again"), claim:
            pytest.fail("the block ran without the claim")


def test_a_call_that_waits_ends_when_another_thread_closes_the_workspace(shell: Shell) -> None:
    errors: list[BaseException] = []
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        ann.claim("a.py")

        def wait() -> None:
            try:
                bob.claim("a.py", wait=LIMIT_S)
            except Exception as error:  # noqa: BLE001 - whatever it is
                errors.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        until(lambda: ann.status()["waiting"])
        bob.close()
        thread.join(LIMIT_S)
        assert [type(error) for error in errors] == [dibs.Unavailable]
        assert ann.status()["waiting"] == []
        assert bob.claim("b.py").live  # a later call opens it again


def close_while_waiting(
    ws: dibs.Workspace, call: Callable[[], object], then: Callable[[], object] = lambda: None
) -> list[BaseException]:
    """Close the workspace while that call waits, and do that; what the call raised, once it has ended."""
    errors: list[BaseException] = []
    waits, done, store = threading.Event(), threading.Event(), ws.store

    def wait() -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - whatever it is
            errors.append(error)

    sleep = store.wait

    def asleep(name: str, timeout: float) -> bool:
        waits.set()
        try:
            return sleep(name, timeout)
        finally:
            done.wait(LIMIT_S)

    store.wait = asleep  # type: ignore[method-assign]
    thread = threading.Thread(target=wait)
    thread.start()
    assert waits.wait(LIMIT_S)
    ws.close()
    then()
    done.set()
    thread.join(LIMIT_S)
    return errors


def test_a_call_that_a_close_ends_leaves_the_store_closed(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        ann.claim("a.py")
        for call in (lambda: bob.inbox(wait=600), lambda: bob.claim("a.py", wait=600)):
            errors = close_while_waiting(bob, call)
            assert [type(error) for error in errors] == [dibs.Unavailable]
            assert bob.session._store is None, "who closes a workspace finds it closed"
        assert ann.status()["waiting"] == []


def test_a_call_that_a_close_ends_leaves_the_store_open_that_a_later_call_opened(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        ann.claim("a.py")
        errors = close_while_waiting(bob, lambda: bob.claim("a.py", wait=600), then=bob.status)
        assert [type(error) for error in errors] == [dibs.Unavailable]
        assert bob.session._store is not None


def test_a_close_tears_the_store_away_from_no_call_of_another_thread(shell: Shell) -> None:
    wrong: list[BaseException] = []
    told = {f"db:{number}.{turn}": False for number in range(3) for turn in range(80)}  # is it held, as the calls said?
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:

        def work(number: int) -> None:
            for turn in range(80):
                name = f"db:{number}.{turn}"
                try:
                    claim = ann.claim(name)
                    told[name] = True
                    ann.status()
                    claim.release()
                    told[name] = False
                except dibs.Unavailable:  # closed while it waited for its turn
                    pass
                except BaseException as error:  # noqa: BLE001 - whatever it is
                    wrong.append(error)

        threads = [threading.Thread(target=work, args=[number]) for number in range(3)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            ann.close()
            threads[0].join(0.005)
        assert wrong == []
        held = {name for one in bob.status()["claims"] for name in one["resources"]}
        assert held == {name for name, is_held in told.items() if is_held}


def test_a_workspace_stays_in_its_process_and_says_so(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws, pytest.raises(TypeError, match="open it again"):
        pickle.dumps(ws.claim("a.py"))
