"""The files of the page, without a browser: what is served, to whom, under which policy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dibs.interfaces import page
from dibs.interfaces.page.files import Files
from tests.interfaces.http.web import Web

FOLDER = Path(page.__file__).parent
COLUMNS = 120
SOURCES = sorted(path for path in FOLDER.rglob("*") if path.suffix in {".js", ".html", ".css", ".svg"})


def test_the_page_and_its_files_are_served_to_everybody_and_tell_nothing_of_the_workspace(shared: Web) -> None:
    shared.workspace.claim("src/secret.py")
    for name in Files().found:
        path = "/" if name == "index.html" else f"/page/{name}"
        reply = shared.call("GET", path)
        assert reply.status == 200
        assert b"secret.py" not in reply.body
        assert name == "index.html" or reply.body == (FOLDER / name).read_bytes()
        assert shared.call("HEAD", path).body == b""


def test_every_file_has_the_strict_policy_and_no_inline_script_or_style(shared: Web) -> None:
    policy = shared.call("GET", "/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    text = shared.call("GET", "/").body.decode()
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=|javascript:", text)
    named = set(re.findall(r'(?:src|href)="/page/([^"#]+)"', text))
    assert named == {name for name in Files().found if not name.endswith((".html", ".txt"))}  # all at once
    assert text.index("base.css") < text.index("parts.css") < text.index("alerts.css")  # a later rule wins
    assert not re.findall(r'(?:src|href)="(?!/page/|#)', text)


def test_a_copy_that_still_counts_is_not_sent_again(shared: Web) -> None:
    first = shared.call("GET", "/page/app.js")
    again = shared.call("GET", "/page/app.js", headers=[("if-none-match", first.headers["etag"])])
    assert (again.status, again.body, first.headers["cache-control"]) == (304, b"", "no-cache")
    assert shared.call("GET", "/page/app.js", headers=[("if-none-match", '"other"')]).status == 200


@pytest.mark.parametrize(
    "path",
    ["/page/", "/page/../mount.py", "/page/mount.py", "/page/..%2fmount.py", "/page//etc/passwd", "/page/none.js"],
)
def test_nothing_but_the_files_of_the_page_is_served(shared: Web, path: str) -> None:
    reply = shared.call("GET", path)
    assert (reply.status, reply.code) == (404, "not_found")


def test_no_module_makes_markup_of_text_or_asks_another_site() -> None:
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if path.parent.name != "vendor":
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerously|\beval\(", text
            ), path
            found = set(re.findall(r"https?://[^\s\"'`)]+", text))
            assert found <= {"http://www.w3.org/2000/svg"}, (path, found)
        assert "sourceMappingURL" not in text, path
        for name in re.findall(r'(?:from|import)\s*"([^"]+)"', text):
            assert name.startswith("./"), (path, name)
            assert (path.parent / name).exists(), (path, name)


def test_no_line_of_a_source_is_longer_than_120_columns() -> None:
    own = [path for path in SOURCES if path.suffix in {".js", ".css"} and path.parent.name != "vendor"]
    assert own
    for path in own:
        lines = path.read_text(encoding="utf-8").splitlines()
        long = [number for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
        assert not long, (path.name, long)


def test_no_module_but_the_table_of_views_lists_the_views() -> None:
    table = (FOLDER / "views.js").read_text(encoding="utf-8")
    views = re.findall(r'\bid: "(\w+)"', table)
    assert len(views) > 1
    assert len(set(re.findall(r'\bkey: "(\w)"', table))) == len(views)
    for path in SOURCES:
        if path.suffix == ".js" and path.name != "views.js" and path.parent.name != "vendor":
            text = path.read_text(encoding="utf-8")
            quoted = {view for view in views if f'"{view}"' in text or re.search(rf"\b{view}: [A-Z]", text)}
            assert len(quoted) <= len(views) // 2, (path.name, quoted)


def test_the_licences_of_the_vendored_libraries_are_beside_them() -> None:
    text = (FOLDER / "vendor" / "LICENSES.txt").read_text(encoding="utf-8")
    for library in ("preact", "htm"):
        assert f"==== {library}" in text, library
