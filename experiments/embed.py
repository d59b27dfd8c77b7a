"""Put the tables of experiments/results/ into the documents that show them.

python -m experiments.embed

A document marks the place by `<!-- table: NAME -->` and `<!-- end -->`; what stands between is replaced by
experiments/results/NAME.md: the line that tells which command made it, and its tables.
"""

from __future__ import annotations

import re
from pathlib import Path

from experiments.harness import RESULTS

DOCS = Path(__file__).parent.parent / "docs"
PLACE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def embedded(text: str, results: Path = RESULTS) -> str:
    """The document with its tables as they are now."""
    return PLACE.sub(lambda m: f"{m[1]}\n{(results / f'{m[2]}.md').read_text()}\n{m[3]}", text)


def main() -> None:
    """Rewrite the documents."""
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text()
        if (new := embedded(text)) != text:
            path.write_text(new)
            print(path)


if __name__ == "__main__":
    main()
