"""What the documents say runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    path for where in ("*.md", "docs/*.md", "examples/*/README.md") for path in sorted(ROOT.glob(where))
]
RECIPES = ROOT / "docs" / "architecture.md"  # its blocks are run by test_recipes.py
BLOCKS = [
    pytest.param(block, id=f"{path.parent.name}/{path.name}-{i}")
    for path in DOCUMENTS
    if path != RECIPES
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_python_block_runs(block: str) -> None:
    exec(compile(block, "document", "exec"), {"__name__": "document"})


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_link_to_a_file_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_link_to_a_heading_leads_to_one(path: Path) -> None:
    for file, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", path.read_text(encoding="utf-8")):
        text = (path.parent / file if file else path).read_text()
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
        assert anchor in slugs, f"{file}#{anchor}"
