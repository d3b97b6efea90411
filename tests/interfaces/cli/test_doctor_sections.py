"""`dibs doctor` is the one place for "is it all right?": sections, the worst first, each finding with one command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dibs
from dibs.audit import check as audit
from dibs.client.session import Session
from dibs.interfaces.cli.doctor.sections import copyable, sections

if TYPE_CHECKING:
    import pytest

    from tests.scratch import Shell


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["section"]: one for one in found["sections"]}


def boot(shell: Shell, *agents: str) -> None:
    """Agents at work."""
    for agent in agents:
        shell.json("boot", "--as", agent, exit=0)
        shell.json("claim", f"db:{agent}", "--as", agent, exit=0)


def test_a_new_workspace_has_nothing_to_fix_and_an_ordinary_fleet_only_advice(shell: Shell) -> None:
    found = shell.json("doctor", exit=0)
    assert found["failed"] == []
    assert {one["section"] for one in found["sections"]} == {"set-up", "guards", "audit", "log", "alerts"}
    assert by_name(found)["audit"]["findings"] == []
    boot(shell, "ann", "bob")
    found = shell.json("doctor", exit=0)
    section = by_name(found)["audit"]
    assert section["status"] == "advice"
    assert {one["check"] for one in section["findings"]} == {"check 6 alerting", "check 7 tested"}
    assert all(one["command"].startswith("dibs ") for one in section["findings"])


def test_the_worst_is_first_what_is_well_is_one_line_and_all_shows_the_rest(shell: Shell) -> None:
    boot(shell, "ann")
    with dibs.open(str(shell.folder), "ann") as ws:
        data = {"tree": "", "how": "past", "paths": ["x.py"], "holders": ["ann"]}
        ws.session.store.run(lambda tx: tx.append("commit.unverified", "bob", "a" * 40, data))
    done = shell.run("doctor")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "audit"
    assert lines[1].startswith("  FAIL  check 15 bypasses: bob committed aaaaaaaaaaaa past the guard with x.py")
    assert lines[2] == "        → git show --stat aaaaaaaaaaaa"
    assert [line for line in lines if line.startswith("ok    log: clean: ")]
    assert "ok    alerts: none open" in lines
    for internal in ("gate:", "pages:", "Registry:", "head "):
        assert internal not in done.stdout
    every = shell.run("doctor", "--all").stdout
    assert "\n  -     Registry: no .agent/registry in this working tree\n" in every
    assert "\n  ok    Deadlines on every claim" in every
    shell.json("check", "--settle", "15", "--why", "agreed", exit=1)  # no event of that number
    (event,) = [one["seq"] for one in shell.json("log", "--kind", "commit.unverified", exit=0)["events"]]
    shell.json("check", "--settle", str(event), "--why", "agreed", exit=0)
    assert shell.json("doctor", exit=0)["failed"] == []


def test_an_alert_is_told_once_and_several_of_a_kind_together(shell: Shell) -> None:
    boot(shell, "ann")
    for name in ("one", "two"):
        shell.json("claim", f"db:{name}", "--expect", "1ms", "--as", "ann", exit=0)
    found = shell.json("doctor", exit=0)
    (alert,) = by_name(found)["alerts"]["findings"]
    assert (alert["check"], alert["severity"]) == ("hold", "warning")
    assert alert["message"].endswith("; and 1 more alert of this kind")
    assert alert["command"] == "dibs alerts --kind hold"
    assert "check 3 deadlines" not in str(by_name(found)["audit"]["findings"]), "it is an alert"
    for one in shell.json("alerts", exit=0)["alerts"]:
        shell.json("alerts", "ack", one["id"], "--why", "known", exit=0)
    section = by_name(shell.json("doctor", exit=0))["alerts"]
    assert (section["findings"], len(section["passed"])) == ([], 2)


def test_the_end_of_a_long_log_is_checked_and_said_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "RECENT_EVENTS", 5)
    boot(shell, "ann")
    shell.json("seal", exit=0)
    boot(shell, "bob")
    session = Session(str(shell.folder), None)
    ok, message = audit.record_of(session)
    assert ok
    assert "events before were not looked at, which `dibs verify` checks" in message
    session.close()
    monkeypatch.setattr(audit, "RECENT_EVENTS", 5_000)
    session = Session(str(shell.folder), None)
    assert "not looked at" not in audit.record_of(session)[1]
    session.close()


def test_findings_with_the_same_remedy_are_one_and_a_merge_comes_after_the_commit() -> None:
    merge = "git -C ../side merge main"
    checks: list[Any] = [
        {"check": f"{client} guard", "ok": False, "severity": "error", "message": client, "command": merge}
        for client in ("claude", "codex")
    ]
    commit = {"check": "committed", "ok": False, "severity": "warning", "message": "not", "command": "git commit"}
    first, second, *_ = sections([commit, *checks], [], [])  # type: ignore[list-item]
    assert (first["section"], second["section"]) == ("guards", "set-up")
    (finding,) = first["findings"]
    assert (finding["also"], finding["command"]) == (["codex guard"], f"git commit && {merge}")


def test_only_what_can_be_run_as_it_stands_is_a_command() -> None:
    assert copyable("dibs revive rogue, or settle it") == "dibs revive rogue"
    assert copyable("git show --stat abc, then settle event 4") == "git show --stat abc"
    assert copyable("dibs demo, in this folder (under a minute)") == "dibs demo"
    for remedy in ("dibs subscribe x --as AGENT", "dibs deploy prod --verify CMD -- CMD", "split the file",
                   "dibs task add … --key K; the command gets it", "[alerts] command in the config"):  # fmt: skip
        assert copyable(remedy) == ""
