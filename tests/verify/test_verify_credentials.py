"""Verify on credentials: true histories are clean, and what cannot have been is found."""

from __future__ import annotations

import pytest

from tests.verify.test_verify import Log, Said, codes

HOUR = 3_600_000


def made(identifier: str = "c", kind: str = "machine", who: str = "box", until: int = HOUR) -> Said:
    return "token.made", "ann", identifier, {"kind": kind, "who": who, "role": "", "until": until, "fingerprint": "f"}


def revoked(identifier: str = "c") -> Said:
    return "token.revoked", "ann", identifier, {"who": "box"}


def registered(machine: str = "box") -> Said:
    return "agent.registered", "bob", "bob", {"process": None, "name": "bob", "machine": machine}


def test_credentials_that_are_made_used_and_revoked_are_clean() -> None:
    log = Log([made(), made("d", "person", "ann")], [registered()], [revoked("d"), revoked()], [made("c")])
    assert log.verify().findings == []


@pytest.mark.parametrize("wrong", [[made()], [revoked(), revoked()], [revoked("other")]])
def test_a_credential_is_made_once_and_revoked_once(wrong: list[Said]) -> None:
    assert codes(Log([made()], wrong).verify()) == ["credential"]


@pytest.mark.parametrize("wrong", [[registered("other")], [revoked(), registered()]])
def test_a_machine_without_a_live_credential_registers_nobody(wrong: list[Said]) -> None:
    assert codes(Log([made(), made("d", "person", "other")], wrong).verify()) == ["credential"]


def test_nor_does_one_whose_credential_has_expired() -> None:
    log = Log([made()])
    log.commit(registered(), after=HOUR)
    assert codes(log.verify()) == ["credential"]
