"""What the documents say runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("examples/*/README.md"))]
BLOCKS = [
    pytest.param(block, id=f"{path.parent.name}/{path.name}-{i}")
    for path in DOCUMENTS
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_python_block_runs(block: str) -> None:
    exec(compile(block, "document", "exec"), {"__name__": "document"})


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_link_to_a_file_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_every_code_name_in_the_algorithm_page_exists() -> None:
    text = (ROOT / "docs" / "algorithm.md").read_text()
    source = "\n".join(p.read_text() for p in (ROOT / "src").rglob("*.py"))
    for name in re.findall(r"`(?:dxnesic|leap|linalg|ranking|Leap|Round|Lattice)\.(\w+)", text):
        assert re.search(rf"def {name}\b", source), name
