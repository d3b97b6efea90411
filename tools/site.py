"""`make site`: the documents as a site in build/site, searchable, which loads nothing from elsewhere.

The pages are copied to build/pages with two changes: the index becomes the first page, and a link that leaves `docs`
(to SECURITY.md, to an example) leads to a copy in `project`. Zensical makes the site of them. A warning of it,
such as a link that leads nowhere, fails the build, and so does an address of another host that a page would load.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
DOCS, BUILD = TOP / "docs", TOP / "build"
PAGES, SITE = BUILD / "pages", BUILD / "site"
PARTS = {"start": "Start", "guides": "Guides", "reference": "Reference", "internals": "Internals"}
LINK = re.compile(r"\]\(([^)\s:#]+)(#[^)\s]*)?\)")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
# What a browser loads by itself: scripts, styles, pictures, fonts, imports. A link that a reader follows is none of it.
LOADED = re.compile(
    r"""(?:<(?:script|img|iframe|source)[^>]+src=|<link(?![^>]+rel="(?:canonical|prev|next)")[^>]+href=|url\()"""
    r"""["']?(?:https?:)?//[^"')\s>]+"""
)

CONFIG = """[project]
site_name = "dibs"
site_description = "Coordination for coding agents"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
nav = [
  {{ "Home" = "index.md" }},
{nav}]

[project.theme]
language = "en"
font = false
features = ["content.code.copy", "navigation.sections", "navigation.top", "search.highlight", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light"

[project.markdown_extensions]
attr_list = {{}}
md_in_html = {{}}
tables = {{}}
toc.permalink = true
pymdownx.highlight.pygments_lang_class = true
pymdownx.superfences = {{}}
"""


def place(target: Path) -> Path:
    """Where the file that a link leads to is among the pages."""
    if target == DOCS / "README.md":
        return PAGES / "index.md"
    if target.is_relative_to(DOCS):
        return PAGES / target.relative_to(DOCS)
    return PAGES / "project" / target.relative_to(TOP)


def copied(source: Path) -> None:
    """Put a page among the pages, its links adapted; what it leads to outside `docs` comes along."""
    made = place(source)
    if made.exists():
        return
    made.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix != ".md":
        shutil.copy(source, made)
        return
    made.touch()  # two pages may lead to each other

    def link(found: re.Match[str]) -> str:
        target = (source.parent / found[1]).resolve()
        if not target.is_file() or not target.is_relative_to(TOP):
            return found[0]
        if not target.is_relative_to(DOCS):
            copied(target)
        return f"]({os.path.relpath(place(target), made.parent)}{found[2] or ''})"

    parts = CODE.split(source.read_text(encoding="utf-8"))
    made.write_text("".join(part if CODE.fullmatch(part) else LINK.sub(link, part) for part in parts), encoding="utf-8")


def nav() -> str:
    """The table of contents, in the order of the index."""
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    found = ""
    for part, title in PARTS.items():
        listed = list(dict.fromkeys(re.findall(rf"\(({part}/[\w-]+\.md)", index)))
        pages = "".join(f'    {{ "{_title(DOCS / name)}" = "{name}" }},\n' for name in listed)
        found += f'  {{ "{title}" = [\n{pages}  ] }},\n'
    return found


def _title(path: Path) -> str:
    heading = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    return heading.replace("`", "").partition(":")[0]


def loads() -> list[str]:
    """What the site would load from elsewhere."""
    return [
        f"{path.relative_to(SITE)}: {found[0][:120]}"
        for path in sorted([*SITE.rglob("*.html"), *SITE.rglob("*.css")])
        for found in LOADED.finditer(path.read_text(encoding="utf-8"))
    ]


def main() -> int:
    """Build it."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    for source in sorted([*DOCS.rglob("*")]):
        if source.is_file():
            copied(source)
    (BUILD / "zensical.toml").write_text(CONFIG.format(nav=nav()), encoding="utf-8")
    zensical = Path(sys.executable).with_name("zensical")
    done = subprocess.run([zensical, "build", "--clean", "--strict"], cwd=BUILD, check=False)
    found = loads()
    for one in found:
        sys.stderr.write(f"site: loads from elsewhere: {one}\n")
    if done.returncode or found:
        return 1
    sys.stdout.write(f"site: {SITE}/index.html\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
