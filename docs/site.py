"""Hooks of MkDocs: pages that live outside of docs/, and checks of the site that was built.

Pages are written so that their links work on a code host. A link that leaves docs/ is looked up in `PAGES`:
if the file is a page or a picture of the site, the link leads there, and if it is not, its text stays.
"""

from __future__ import annotations

import posixpath
import re
import sys
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
    """Lead links that leave docs/ to where their files are in the site."""
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
        return f"{mark}[{text}]({posixpath.relpath(there, posixpath.dirname(here) or '.')}{anchor or ''})"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else LINK.sub(lead, part) for part in parts)


class _Links(HTMLParser):
    """What a page offers to be linked to, what it links to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what this element says."""
        values = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := values.get(key))}
        if tag == "a" and (link := values.get("href")):
            self.links.append(link)
        elif load := values.get("src") or (values.get("href") if tag == "link" else None):
            self.loads.append(load)


def on_post_build(config: MkDocsConfig) -> None:
    """Fail on a link that leads nowhere, and on anything that a browser would fetch from another host."""
    site = Path(config.site_dir)
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
    if wrong:
        raise PluginError("the site is not whole:\n" + "\n".join(f"  {line}" for line in wrong))
