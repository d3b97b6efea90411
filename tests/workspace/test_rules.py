"""The rules as agents are told them: without what is for people only."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dibs.interfaces.install import rules as template
from dibs.workspace import location, rules_file

OLD = """\
# Rules for every agent in this repository

1. **Done means seen working.** Look at it.

## Ours

8. (yours: what went wrong here once, and the one sentence that would have prevented it)
9. (yours)
10. (yours)
"""


@pytest.mark.parametrize(("text", "count"), [(template.TEXT, 2), (template.FULL, 7)])
def test_the_rules_of_init_are_two_or_seven_and_short_and_say_nothing_to_fill_in(text: str, count: int) -> None:
    told = rules_file.told(text)
    assert [line.split(".")[0] for line in told.splitlines()] == [str(number + 1) for number in range(count)]
    assert len(told) <= 900
    assert "yours" not in told
    assert "<!--" not in told
    assert "Told to every agent" in text, "what is for people is in the file"


@pytest.mark.parametrize(("written", "told"), [
    ("", ""),
    ("<!-- nothing but this -->\n", ""),
    ("# Title\n\n## Empty\n", ""),
    ("a <!-- b --> c\n", "a  c\n"),
    ("a\n<!-- b\n\nc -->\nd\n", "a\nd\n"),
    ("a\n<!-- never closed\n", "a\n<!-- never closed\n"),
    ("# T\n\n## Empty\n\n## Full\nx\n\n## Empty too\n\n# Last\n", "# T\n\n## Full\nx\n"),
    ("# T\n### Deep\nx\n", "# T\n### Deep\nx\n"),
    ("### Deep\n# T\nx\n", "# T\nx\n"),
    ("#hashtag\n", "#hashtag\n"),
    ("```\n# a comment of sh\n```\n", "```\n# a comment of sh\n```\n"),
    ("a   \n\n\n\nb", "a\n\nb\n"),
    (OLD, "# Rules for every agent in this repository\n\n1. **Done means seen working.** Look at it.\n"),
    ("1. (yours truly) is fine\n", "1. (yours truly) is fine\n"),
])  # fmt: skip
def test_what_is_for_people_only_is_not_told(written: str, told: str) -> None:
    assert rules_file.told(written) == told
    assert rules_file.told(told) == told


def test_a_comment_does_not_make_other_rules(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    (tmp_path / ".dibs").mkdir()
    place = location.find(str(tmp_path), None)
    assert (rules_file.text(place), rules_file.digest(place)) == ("", "")
    page = tmp_path / ".dibs" / "rules.md"
    page.write_text("1. Be kind.\n")
    known = rules_file.digest(place)
    page.write_text("<!-- ours -->\n1. Be kind.  \n\n## To come\n")
    assert rules_file.digest(place) == known
    page.write_text("1. Be kinder.\n")
    assert rules_file.digest(place) not in {known, ""}
