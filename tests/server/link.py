"""Requests to a server's link as any program with a credential can send them: through the whole application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.interfaces.http import link_routes
from tests.interfaces.http.web import Web

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interfaces.http.web import Reply

ELSEWHERE = ["another-host", "boot", "ns"]  # a machine that is not this one


def process(pid: int, here: list[str] = ELSEWHERE) -> list[Any]:
    """A process of that machine."""
    return [*here, pid, 7]


class Link:
    """A served workspace, and credentials by name: a machine's, an agent's, a person's, and what a test adds."""

    def __init__(self, folder: Path, config: str = "") -> None:
        self.web = Web(folder)
        self.web.app.add(link_routes.routes(self.web.app))
        self.tokens = {
            "machine": self.web.token(machine="laptop"), "agent": self.web.token(agent="mallory"),
            "person": self.web.token(person="kim"),
        }  # fmt: skip
        if config:
            path = folder / ".dibs/config.toml"
            path.write_text(f"{path.read_text()}\n{config}\n")

    def add(self, name: str, **fields: Any) -> None:
        self.tokens[name] = self.web.token(**fields)

    def reply(self, who: str, name: str, fields: dict[str, Any], call: dict[str, Any] | None = None) -> Reply:
        body = {"op": name, "call": call or {}, "fields": fields}
        return self.web.call("POST", "/link/run", body, token=self.tokens[who])

    def ask(self, who: str, name: str, fields: dict[str, Any] | None = None, **call: Any) -> dict[str, Any]:
        """`result`, `need`, or `refused`: the code, the message and the facts."""
        reply = self.reply(who, name, fields or {}, call)
        if reply.status == 200:
            found: dict[str, Any] = reply.json
            return found
        assert reply.status != 500, reply.body
        error = reply.json["error"]
        return {"refused": [error["code"], error["message"], error]}

    def got(self, who: str, name: str, fields: dict[str, Any] | None = None, **call: Any) -> Any:
        answer = self.ask(who, name, fields, **call)
        assert "result" in answer, answer
        return answer["result"]

    def refused(self, who: str, name: str, fields: dict[str, Any] | None = None, **call: Any) -> str:
        answer = self.ask(who, name, fields, **call)
        assert "refused" in answer, answer
        return str(answer["refused"][0])

    def claims(self) -> list[tuple[str, list[str]]]:
        return [(one["agent"], one["resources"]) for one in self.web.workspace.status()["claims"]]

    @staticmethod
    def tokens_of(who: str) -> str:
        """Whose credential it is."""
        return {"machine": "laptop", "agent": "mallory", "person": "kim"}[who]

    def close(self) -> None:
        self.web.close()
