"""All of COCO's suites, dimensions and budgets on one page, with the losses marked.

    python -m experiments.decathlon

Nothing is run: the page is made of the records of `experiments.coco`, `experiments.small` and
`experiments.constrained` on instances 4 to 6, and put into docs/decathlon.md. In every cell our default
stands beside the strongest peer that was run there, both on the problems that both were run on.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from experiments import coco, duels, embed, small
from experiments.coco import Run, score
from experiments.harness import RESULTS, markdown, publish
from experiments.record import longest
from experiments.small_peers import ALL_PEERS
from experiments.suites import CONSTRAINED, MIXINT, NOISY, SUITES, Key
from experiments.tasks import BUDGETS, TARGETS
from saltus._typing import FloatArray

OURS = "saltus"
SHOWN = (4, 5, 6)  # instances
ENOUGH = 0.5  # of our problems: a peer that was run on fewer of them does not count
BEHIND, PERHAPS = "▼", "▽"  # by more than chance, or not
FUNNELS = range(15, 25)  # functions with many optima
MODEL = RESULTS / "coco-model.csv"  # bbob-mixint with a model

Problem = tuple[int, int]  # function and instance
Scores = dict[str, dict[Problem, FloatArray]]  # by method


class Row(NamedTuple):
    """One budget of a suite, in evaluations for each variable, and where it is looked at."""

    budget: int
    dims: tuple[int, ...]
    functions: Sequence[int] = range(1, 25)

    def __str__(self) -> str:
        """What stands in front of it."""
        few = "" if len(self.functions) == 24 else f", f{self.functions[0]} to f{self.functions[-1]}"
        return f"{self.budget} D{few}"


ROWS = {
    MIXINT: (
        *(Row(budget, (5, 10, 20)) for budget in (10, 30, 100)),
        Row(1000, (5, 10, 20, 40)),
        Row(1000, (5, 10, 20), FUNNELS),
        Row(10**4, (5, 10, 20)),
        Row(10**4, (5, 10), FUNNELS),
    ),
    "bbob": (
        Row(100, (3, 5, 10, 20, 40)),
        Row(500, (3, 5, 10, 20)),
        Row(1000, (5, 10, 20), FUNNELS),
        Row(5000, (5, 10)),
        Row(10**4, (5, 10), FUNNELS),
    ),
    "bbob-boxed": (Row(100, (5, 10, 20)), Row(500, (5, 10, 20))),
    "bbob-largescale": (Row(200, (80, 160, 320)),),
}
DUELS = {CONSTRAINED: (10, 20, 50, 100, 200), NOISY: (50, 100, 200, 500)}


class Cell(NamedTuple):
    """Ours beside the strongest peer, and whether the difference is more than chance."""

    own: float
    peer: float
    name: str
    problems: int
    all_problems: int
    sure: bool

    @property
    def mark(self) -> str:
        """What a loss is marked by."""
        return "" if self.own >= self.peer else BEHIND if self.sure else PERHAPS

    def __str__(self) -> str:
        """Both, who it is, and whether it is a loss."""
        few = f" ({self.problems})" if self.problems < self.all_problems else ""
        return f"{self.own:.3f} : {self.peer:.3f} {self.name}{few} {self.mark}".strip()


def records(suite: str) -> dict[Key, Run]:
    """The longest run of each kind, of all files that have some of a suite that is judged by targets."""
    files = [SUITES[suite].file, *([MODEL] if suite == MIXINT else [])]
    found: dict[Key, Run] = {}
    for file in files:
        _keep(found, longest(coco.BOOK, file))
    if suite == MIXINT:
        _keep(found, {key: Run(run.budget, run.hits) for key, run in small.read(small.FILE).items()})
    return {key: run for key, run in found.items() if key.instance in SHOWN}


def _keep(found: dict[Key, Run], more: dict[Key, Run]) -> None:
    for key, run in more.items():
        if key not in found or found[key].budget < run.budget:
            found[key] = run


def scores(record: dict[Key, Run], D: int, budget: int, functions: Sequence[int]) -> Scores:
    """Final and area by method and problem, means over seeds.

    Of a method with a seed all runs count or none: one that is too short, and has not hit every target, shows
    that only the easy ones are there.
    """
    here = {key: run for key, run in record.items() if key.D == D and key.function in functions}
    short = {
        (key.method, key.seed)
        for key, run in here.items()
        if run.budget < budget and len(run.hits) < len(TARGETS)
    }
    some: dict[tuple[str, Problem], list[Run]] = {}
    for key, run in here.items():
        if (key.method, key.seed) not in short:
            cut = Run(budget, tuple(h for h in run.hits if h <= budget * D))
            some.setdefault((key.method, (key.function, key.instance)), []).append(cut)
    found: Scores = {}
    for (method, problem), runs in some.items():
        found.setdefault(method, {})[problem] = np.array(score(runs, D, budget))
    return found


def strongest(all_scores: Scores, measure: int, problems: int) -> Cell | None:
    """The peer that is furthest ahead of ours, or least behind, in final (0) or area (1)."""
    mine = all_scores.get(OURS, {})
    cells = []
    for name, theirs in all_scores.items():
        both = [problem for problem in theirs if problem in mine]
        if name in ALL_PEERS and both and len(both) >= ENOUGH * len(mine):
            own, peer = (np.array([s[p][measure] for p in both]) for s in (mine, theirs))
            cells.append(Cell(own.mean(), peer.mean(), name, len(both), problems, _sure(own - peer)))
    return max(cells, key=lambda cell: cell.peer - cell.own, default=None)


def _sure(differences: FloatArray) -> bool:
    if len(differences) < 2:
        return False
    error = float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
    return bool(abs(differences.mean()) > 1.96 * error)


def targets(suite: str, cells: list[Cell | None]) -> str:
    """The table of a suite that is judged by targets; its cells are added to the list."""
    record = records(suite)
    dims = sorted({D for row in ROWS[suite] for D in row.dims})
    rows = []
    for row in ROWS[suite]:
        by_dim = {D: scores(record, D, row.budget, row.functions) for D in row.dims}
        for measure, name in enumerate(("final", "area")):
            problems = len(row.functions) * len(SHOWN)
            found = {D: strongest(by_dim[D], measure, problems) for D in row.dims}
            cells += found.values()
            rows.append([f"{name}, {row}", *(str(found.get(D) or "") for D in dims)])
    return markdown([suite, *(f"{'N' if dims[0] > 40 else 'D'} = {D}" for D in dims)], rows)


def duel_rows(suite: str, cells: list[Cell | None]) -> Iterator[list[str]]:
    """For each dimension and peer the share of problems that ours wins, after each budget."""
    record = {key: run for key, run in duels.read(SUITES[suite].file).items() if key.instance in SHOWN}
    for D in SUITES[suite].dims:
        keys = [key for key in record if key.method == OURS and key.D == D]
        for peer in (*SUITES[suite].methods, *SUITES[suite].slow):
            if peer not in ALL_PEERS:
                continue
            row = [f"D = {D}, {peer}"]
            for budget in DUELS[suite]:
                share = duels.duel(record, keys, peer, BUDGETS.index(budget))
                if not share.problems:
                    cells.append(None)
                    row.append("")
                    continue
                error = math.sqrt(share.share * (1 - share.share) / share.problems)
                sure = abs(share.share - 0.5) > 1.96 * error
                cell = Cell(share.share, 0.5, peer, share.problems, share.problems, sure)
                cells.append(cell)
                row.append(f"{share} {cell.mark}".strip())
            yield row


def page() -> str:
    """All tables, and how many cells are lost."""
    cells: list[Cell | None] = []
    tables = [targets(suite, cells) for suite in ROWS]
    for suite, budgets in DUELS.items():
        tables.append(markdown([suite, *(f"{b} D" for b in budgets)], list(duel_rows(suite, cells))))
    run = [cell for cell in cells if cell is not None]
    marks = [cell.mark for cell in run]
    summary = (
        f"Of {len(cells)} cells {len(run)} were run: {marks.count('')} ahead or level, "
        f"{marks.count(PERHAPS)} behind within chance {PERHAPS}, {marks.count(BEHIND)} behind {BEHIND}."
    )
    return "\n\n".join([summary, *tables])


def main() -> None:
    """Make the page."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter).parse_args()
    publish("decathlon", page())
    embed.main()


if __name__ == "__main__":
    main()
