"""PowerShell commands: the files that they name are found, what is computed is a doubt, and looking is harmless."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.shell import powershell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory with some files."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("here")))
    for name in ("a.py", "b.py", "src/x.ts"):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text("x\n")
    return str(top)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("Set-Content a.py 'x'", ["a.py"]), ("'x' | Set-Content -Path a.py -NoNewline", ["a.py"]),
        ("Get-Content a.py | Out-File -FilePath b.py -Append", ["b.py"]),
        ("Remove-Item a.py, b.py -Force", ["a.py", "b.py"]),
        ("remove-item -recurse -force src", ["src"]), ("Move-Item a.py src/new.py", ["a.py", "src/new.py"]),
        ("Copy-Item -Path a.py -Destination c.py", ["c.py"]), ("Rename-Item src/x.ts y.ts", ["src/x.ts", "src/y.ts"]),
        ("echo hi > a.py", ["a.py"]), ("Write-Output x >> 'a.py'", ["a.py"]), ("ls 2> $null", []),
        ("rm a.py", ["a.py"]),
        ("Set-Location src; Clear-Content x.ts", ["src/x.ts"]), ("if ($x) { Remove-Item a.py }", ["a.py"]),
        ("Get-ChildItem | ForEach-Object { Set-Content a.py $_ }", ["a.py"]), ("sed -i s/a/b/ a.py", ["a.py"]),
        ("New-Item -ItemType File -Path n.py", ["n.py"]), ("New-Item -ItemType Directory out", []),
        ("$x = Get-Content a.py", []),
        ("iwr https://x.org -OutFile a.py", ["a.py"]), ("Set-Content a.py x -WhatIf", []), ("# Remove-Item a.py", []),
        ("Get-ChildItem -Recurse *.py | Select-String foo", []), ("git status; npm test", []), ("<# rm a.py #> ls", []),
        ("Set-Content `\n  -Path 'it''s.py' -Value \"x`n\"", ["it's.py"]), ("& git log | Select-Object -First 3", []),
    ],
)  # fmt: skip
def test_the_files_that_a_command_names_are_found(here: str, command: str, names: list[str]) -> None:
    reading = powershell.read(command, here)
    assert not reading.unresolved, reading.unresolved
    assert sorted({os.path.relpath(target.path, here) for target in reading.writes}) == names


@pytest.mark.parametrize(
    "command",
    ["Remove-Item $x", "Get-ChildItem *.tmp | Remove-Item", 'Set-Content "$dir/a.py" x', "echo x > $f",
     "[IO.File]::WriteAllText('a.py', 'x')", 'iex "Remove-Item $x"', "Copy-Item a.py (Join-Path src y)",
     "Expand-Archive x.zip -DestinationPath src", "Remove-Item *.py", "Set-Location $x; Remove-Item a.py"],
)  # fmt: skip
def test_what_is_computed_is_a_doubt(here: str, command: str) -> None:
    assert powershell.read(command, here).unresolved


def test_programs_are_found_like_anywhere(here: str) -> None:
    reading = powershell.read("git add -A; if ($?) { git commit -m 'x' }", here)
    assert [simple.words[1] for simple in reading.git] == ["add", "commit"]


PIECES = ("Remove-Item", "a.py", " ", "'", '"', "{", "}", "(", ")", "$x", "|", ";", "\n", ">", "2>&1", "`", "@", ",",
          "-Path", "#", "<#", "[", "]", "::", "&", "=", "git", "$(", "\x00", "é", "*")  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_no_pieces_make_the_reading_fail(command: str) -> None:
    reading = powershell.read(command, "/nowhere")
    assert all(target.path.startswith("/") for target in reading.writes)
