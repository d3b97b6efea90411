"""`dibs serve --open` and `dibs demo --serve`, with a program in the place of the browser."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

import pytest

import dibs
from dibs.interfaces.page import sign_in
from tests.interfaces.http.web import Server
from tests.waiting import until

WAIT_S = 60


def redeem(url: str, code: str) -> dict[str, Any]:
    headers = {"origin": url, "x-dibs-page": "1", "content-type": "application/json"}
    body = json.dumps({"code": code}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/session", body, headers), timeout=WAIT_S) as reply:  # noqa: S310
        found: dict[str, Any] = json.load(reply)
        return found


@pytest.mark.parametrize("words", [["--open"], ["--detach", "--open"]])
def test_open_gives_the_browser_an_address_that_signs_in_once_and_has_no_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    dibs.init(str(tmp_path))
    said = a_browser(tmp_path, monkeypatch)
    try:
        with Server(tmp_path, *words) as server:
            until(said.exists, "the browser")
            address = said.read_text(encoding="utf-8").strip()
            url, _, code = address.partition("/#code=")
            assert url == server.about["url"]
            assert server.token not in address
            assert redeem(url, code)["session"]
            with pytest.raises(urllib.error.HTTPError):
                redeem(url, code)
    finally:
        subprocess.run([sys.executable, "-m", "dibs", "serve", "--stop"], cwd=tmp_path, check=True, capture_output=True)


def test_open_opens_the_page_of_a_server_that_is_there_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dibs.init(str(tmp_path))
    said = a_browser(tmp_path, monkeypatch)
    with Server(tmp_path) as server:
        command = [sys.executable, "-m", "dibs", "serve", "--open", "--json"]
        opened = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        assert json.loads(opened.stdout)["url"] == server.about["url"]
        url, _, code = said.read_text(encoding="utf-8").strip().partition("/#code=")
        assert redeem(url, code)["session"]


@pytest.mark.parametrize("words", [["--open"], []])
def test_without_a_browser_the_link_that_signs_in_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSH_CONNECTION", "1 2 3 4")
    dibs.init(str(tmp_path))
    with Terminal([sys.executable, "-m", "dibs", "serve", *words], tmp_path) as terminal:
        until(lambda: "#code=" in terminal.text() and "another link: dibs serve --open" in terminal.text(), "the link")
        address = next(word for word in terminal.text().split() if "#code=" in word)
        url, _, code = address.partition("/#code=")
        assert redeem(url, code)["session"]
        assert ("no browser could be opened here" in terminal.text()) == bool(words)
        subprocess.run([sys.executable, "-m", "dibs", "serve", "--stop"], cwd=tmp_path, check=True, capture_output=True)


def test_a_server_that_a_program_started_prints_no_link(tmp_path: Path) -> None:
    dibs.init(str(tmp_path))
    log = tmp_path / "log"
    with open(log, "wb") as out:
        command = [sys.executable, "-m", "dibs", "serve", "--detach"]
        subprocess.run(command, cwd=tmp_path, check=True, stdout=out)
    subprocess.run([sys.executable, "-m", "dibs", "serve", "--stop"], cwd=tmp_path, check=True, capture_output=True)
    assert "#code=" not in log.read_text(encoding="utf-8")


class Terminal:
    """A program on a terminal; what it has written."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._end, inner = os.openpty()
        self._program = subprocess.Popen(command, cwd=folder, stdin=inner, stdout=inner, stderr=inner)
        os.close(inner)
        os.set_blocking(self._end, False)
        self._said = b""

    def text(self) -> str:
        try:
            while piece := os.read(self._end, 65_536):
                self._said += piece
        except OSError:
            pass  # nothing more now
        return self._said.decode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.wait(WAIT_S)
        os.close(self._end)


def a_browser(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of the browser; the file in which it keeps the address."""
    said, browser = folder / "said", folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {said}.making && mv {said}.making {said}\n', encoding="utf-8")
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    return said


def test_a_server_that_does_not_answer_is_opened_without_a_code(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("dibs_a_b\n", encoding="ascii")
    about = {"url": "http://127.0.0.1:1", "token_file": str(tmp_path / "token")}
    assert sign_in.address(about["url"], about["token_file"]) == "http://127.0.0.1:1/"
    assert sign_in.address(about["url"], "/nowhere") == "http://127.0.0.1:1/"


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_serves_its_fleet_and_leaves_no_process_and_no_folder(tmp_path: Path, end: int) -> None:
    command = [sys.executable, "-m", "dibs", "demo", "--serve", "--json", "--agents", "4", "--seconds", "60"]
    variables = {**os.environ, "TMPDIR": str(tmp_path), "DIBS_STORE": "sqlite:/nowhere"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as running:
        assert running.stdout is not None
        about = json.loads(running.stdout.readline())
        try:
            url, _, code = about["address"].partition("/#code=")
            assert redeem(url, code)["session"]
            repo = next(tmp_path.glob("dibs-demo-*")) / "repo"
            with dibs.open(str(repo), agent="eyes", timeout=10) as workspace:
                until(lambda: workspace.status()["claims"], "a claim")
        finally:
            running.send_signal(end)
        assert running.wait(WAIT_S) in {0, 128 + signal.SIGTERM}
    assert list(tmp_path.glob("dibs-demo-*")) == []
    with pytest.raises(ProcessLookupError):
        os.kill(about["pid"], 0)
