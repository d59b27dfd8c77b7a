"""Hooks of MkDocs: pages that live outside of docs/, and checks of the site that was built.

Pages are written so that their links work on a code host. A link that leaves docs/ is looked up in `PAGES`:
if the file is a page or a picture of the site, the link leads there, and if it is not, its text stays.
A link that is called as its file is, such as [noise.md](noise.md), is called as that page is in the site.
A value and its error stay on one line.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Mapping
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "README.md": "index.md",
    "examples/README.md": "gallery/index.md",
    **{
        f"examples/{p.parent.name}/README.md": f"gallery/{p.parent.name}.md"
        for p in ROOT.glob("examples/*/README.md")
    },
    **{f"experiments/results/{p.name}": f"results/{p.name}" for p in ROOT.glob("experiments/results/*.png")},
}
# what a new user looks for, and where it is: at most two clicks from the first page, without the menu
SOUGHT = {
    "how to tune a model with categories": "gallery/classifier.html",
    "how to drive a simulator": "study.html",
    "how to start from a known design": "known.html",
    "how to run on a cluster": "clusters.html",
    "how to continue": "study.html#stopping-and-going-on",
    "how to see progress": "terminal.html",
    "which strategy": "which.html#which-strategy",
    "what it costs": "cost.html",
    "how it compares": "benchmarks.html",
}
CLICKS = 2
HOME = {page: path for path, page in PAGES.items() if path != "README.md"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and pictures that live elsewhere; the gallery's are made by running its examples."""
    from examples.gallery import Example, build

    examples: dict[str, Example] = {}
    for example in build(ROOT / "out" / "gallery"):
        examples[example.name] = example
        for picture in example.pictures:
            PAGES[f"examples/{example.name}/{picture.name}"] = f"gallery/{example.name}-{picture.name}"
            files.append(_added(config, f"gallery/{example.name}-{picture.name}", picture))
    for path, page in PAGES.items():
        name = page.removeprefix("gallery/").removesuffix(".md")
        if path.endswith(".png") and path.startswith("examples/"):
            continue
        if name in examples:
            text = (ROOT / path).read_text(encoding="utf-8") + examples[name].appendix()
            files.append(File.generated(config, page, content=text))
        elif path != "README.md":
            files.append(_added(config, page, ROOT / path))
    return files


def _added(config: MkDocsConfig, page: str, path: Path) -> File:
    return File.generated(
        config, page, content=path.read_text(encoding="utf-8") if path.suffix == ".md" else path.read_bytes()
    )


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links that leave docs/ to where their files are in the site; keep each value beside its error."""
    here = page.file.src_uri
    home = HOME.get(here, f"docs/{here}")

    def lead(match: re.Match[str]) -> str:
        mark, text, target, anchor = match.groups()
        text = LINK.sub(lead, text)  # a picture that is a link
        if not target or "://" in target or target.startswith("mailto:"):
            return f"{mark}[{text}]({target}{anchor or ''})"
        path = posixpath.normpath(posixpath.join(posixpath.dirname(home), target))
        there = path.removeprefix("docs/") if path.startswith("docs/") else PAGES.get(path)
        if there is None:
            return text
        if text.strip("`") == posixpath.basename(path) and (title := _title(path)):
            text = title
        return f"{mark}[{text}]({posixpath.relpath(there, posixpath.dirname(here) or '.')}{anchor or ''})"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(
        part if part.startswith("```") else LINK.sub(lead, part).replace(" ± ", "\u00a0±\u00a0")
        for part in parts
    )


@cache
def _title(path: str) -> str | None:
    """The heading of a page of ours, up to where it goes into detail."""
    if not path.endswith(".md") or not (ROOT / path).is_file():
        return None
    found = re.search(r"^# (.+)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    return re.split(r"[:,]", found[1])[0] if found else None


class _Links(HTMLParser):
    """What a page offers to be linked to, what it links to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.text_links: list[str] = []
        self.loads: list[str] = []
        self._text = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what this element says."""
        values = dict(attrs)
        self._text |= tag == "article"
        self.anchors |= {value for key in ("id", "name") if (value := values.get(key))}
        if tag == "a" and (link := values.get("href")):
            self.links.append(link)
            if self._text:
                self.text_links.append(link)
        elif load := values.get("src") or (values.get("href") if tag == "link" else None):
            self.loads.append(load)

    def handle_endtag(self, tag: str) -> None:
        """The text of a page has ended; what follows is a menu."""
        self._text &= tag != "article"


def far(site: Path, pages: Mapping[Path, _Links]) -> list[str]:
    """What is further than two clicks from the first page, by links in the texts."""
    first = site / "index.html"
    reached = {first}
    for _ in range(CLICKS):
        for path in list(reached):
            links = (urlsplit(link) for link in pages[path].text_links)
            there = {(path.parent / unquote(link.path)).resolve() for link in links if not link.scheme}
            reached |= there & pages.keys()
    wrong = []
    for question, page in SOUGHT.items():
        path, _, anchor = page.partition("#")
        if site / path not in reached:
            wrong.append(f"{question}: {page} is more than {CLICKS} clicks from the first page")
        elif anchor and anchor not in pages[site / path].anchors:
            wrong.append(f"{question}: {path} has no heading {anchor}")
    return wrong


def on_post_build(config: MkDocsConfig) -> None:
    """Fail on a link that leads nowhere, on anything that a browser would fetch from another host, and if
    what a new user looks for is far from the first page.
    """
    site = Path(config.site_dir).resolve()
    pages: dict[Path, _Links] = {}
    for path in site.rglob("*.html"):
        pages[path] = _Links()
        pages[path].feed(path.read_text(encoding="utf-8"))
    wrong = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    wrong.append(f"{path.relative_to(site)} loads {link}")
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists():
                if path.name != "404.html":
                    wrong.append(f"{path.relative_to(site)} links to {link}, which is not there")
            elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors:
                wrong.append(f"{path.relative_to(site)} links to {link}, which has no such heading")
    for path in site.rglob("*.css"):
        wrong += [
            f"{path.name} loads {url}"
            for url in re.findall(r"url\(['\"]?(https?:[^)]*)", path.read_text(encoding="utf-8"))
        ]
    if (site / "index.html") in pages:
        wrong += far(site, pages)
    if wrong:
        raise PluginError("the site is not whole:\n" + "\n".join(f"  {line}" for line in wrong))
