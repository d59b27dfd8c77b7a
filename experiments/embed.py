"""Put the tables of experiments/results/ into the documents that show them.

python -m experiments.embed

A document marks the place by `<!-- table: NAME -->` and `<!-- end -->`; what stands between is replaced by
experiments/results/NAME.md: the line that tells which command made it, and its tables. The rows of the
paper's table are those of the decathlon.
"""

from __future__ import annotations

import re
from pathlib import Path

from experiments.harness import RESULTS

ROOT = Path(__file__).parent.parent
DOCS, PAPER = ROOT / "docs", ROOT / "paper" / "paper.md"
QUOTED = ("D = 5", "D = 10", "D = 20")  # columns of the paper's table
PLACE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def embedded(text: str, results: Path = RESULTS) -> str:
    """The document with its tables as they are now."""
    return PLACE.sub(lambda m: f"{m[1]}\n{(results / f'{m[2]}.md').read_text()}\n{m[3]}", text)


def finals(decathlon: str) -> dict[str, str]:
    """The cells of the decathlon's rows of finals, by suite, budget and dimension.

    >>> finals("| bbob | D = 5 | D = 10 |\\n|---|---|---|\\n| final, 100 D | 0.4 : 0.2 DE | 0.3 : 0.1 DE |")
    {'bbob, 100 D, D = 5': '0.4 : 0.2 DE', 'bbob, 100 D, D = 10': '0.3 : 0.1 DE'}
    """
    cells_of: dict[str, str] = {}
    suite, columns = "", []
    for line in decathlon.splitlines():
        first, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| bbob"):
            suite, columns = first, cells
        elif line.startswith("| final, "):
            budget = first.removeprefix("final, ")
            cells_of |= {f"{suite}, {budget}, {D}": cell for D, cell in zip(columns, cells, strict=True)}
    return cells_of


def quoted(paper: str, decathlon: str) -> str:
    """The paper with the decathlon's figures in the rows of its table."""
    cells = finals(decathlon)

    def row(found: re.Match[str]) -> str:
        return " | ".join(("| " + found[1], *(cells[f"{found[1]}, {D}"] for D in QUOTED))) + " |"

    return re.sub(r"^\| (bbob[\w-]*, \d+ D) \|.*$", row, paper, flags=re.MULTILINE)


def main() -> None:
    """Rewrite the documents."""
    changed = {path: embedded(path.read_text()) for path in sorted(DOCS.glob("*.md"))}
    changed[PAPER] = quoted(PAPER.read_text(), changed[DOCS / "decathlon.md"])
    for path, text in changed.items():
        if text != path.read_text():
            path.write_text(text)
            print(path)


if __name__ == "__main__":
    main()
