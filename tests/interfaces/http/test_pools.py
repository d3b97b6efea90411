"""Units of pools over HTTP, and over the server's socket: the same answers, and turns that come to who waits."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import dibs
from dibs.server.requests import is_single_decision, operation
from tests.waiting import LIMIT_S, until

if TYPE_CHECKING:
    from tests.interfaces.http.web import Web


def test_units_are_claimed_waited_for_and_released_through_a_server(web: Web) -> None:
    config = web.folder / ".dibs" / "config.toml"
    config.write_text(f"{config.read_text()}\n[pools]\nbuild = {{ size = 1 }}\napi = {{ rate = '1/h' }}\n")
    token = web.token(person="ann")
    first = web.post("claim", {"resources": ["pool:build"]}, token=token).json
    assert (first["unit"], first["resources"]) == ("0", ["pool:build:0"])
    refused = web.post("claim", {"resources": ["pool:build"], "as": "bob"}, token=token).json
    assert (refused["error"]["code"], refused["error"]["free"]) == ("held", {"pool:build": [0, 1]})
    assert web.post("claim", {"resources": ["pool:api"]}, token=token).json["used_up"] == ["pool:api"]
    assert web.post("claim", {"resources": ["pool:build"], "unusable": ["0"]}, token=token).json["error"]["code"] == (
        "invalid"
    )
    answers: list[Any] = []
    fields = {"resources": ["pool:build"], "wait": LIMIT_S, "as": "bob"}
    waiting = threading.Thread(target=lambda: answers.append(web.post("claim", fields, token=token).json))
    waiting.start()
    with dibs.open(str(web.folder), agent="me") as ws:
        until(lambda: ws.status()["pools"][0]["waiting"])
        web.post("release", {"resources": ["pool:build"]}, token=token)
        waiting.join(LIMIT_S)
        assert answers[0]["unit"] == "0"
        assert [unit["agent"] for unit in ws.status()["pools"][0]["taken"]] == ["bob"]


def test_a_claim_without_pools_is_one_quick_decision_and_one_with_a_pool_asks_the_machine_first() -> None:
    assert is_single_decision(operation("claim"), {"resources": ["x.py"]})
    assert not is_single_decision(operation("claim"), {"resources": ["x.py", "pool:build"]})
