"""The page of all suites: whom ours is compared with, and which cells are losses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from experiments import decathlon, duels, small
from experiments.coco import BOOK, Run
from experiments.decathlon import BEHIND, PERHAPS, page, scores, strongest
from experiments.suites import NOISY, SUITES, Key, Suite
from experiments.tasks import BUDGETS, TARGETS

ALL = len(TARGETS)


def runs(method: str, hits: dict[int, int], budget: int = 10, seed: int = 0) -> dict[Key, Run]:
    """Runs at D = 5 on instance 4 that have hit so many targets, by function, at evaluation 50."""
    return {Key(method, 5, f, 4, seed): Run(budget, (50,) * n) for f, n in hits.items()}


def test_the_strongest_peer_is_compared_on_the_problems_of_both() -> None:
    record = runs("saltus", {1: 10, 2: 20, 3: 30}) | runs("pycma", {1: 11, 2: 21, 3: 31})
    record |= runs("DE", {1: 40, 2: 5}) | runs("TPE", {3: 51}) | runs("saltus-es", {1: 51, 2: 51, 3: 51})
    cell = strongest(scores(record, 5, 10, range(1, 25)), 0, 3)
    assert cell is not None  # TPE has too few problems, and saltus-es is no peer
    assert (cell.name, cell.problems, cell.mark) == ("DE", 2, PERHAPS)
    assert str(cell) == f"{15 / ALL:.3f} : {22.5 / ALL:.3f} DE (2) {PERHAPS}"
    del record[Key("DE", 5, 1, 4, 0)], record[Key("DE", 5, 2, 4, 0)]
    cell = strongest(scores(record, 5, 10, range(1, 25)), 0, 3)
    assert cell is not None
    assert (cell.name, cell.mark) == ("pycma", BEHIND)


def test_short_runs_do_not_count_just_because_some_of_them_were_complete() -> None:
    record = runs("saltus", {1: ALL, 2: 20}, budget=100) | runs("pycma", {1: ALL, 2: 10})
    assert set(scores(record, 5, 10, range(1, 25))) == {"saltus", "pycma"}
    assert set(scores(record, 5, 100, range(1, 25))) == {"saltus"}
    record |= runs("pycma", {1: 30, 2: 10}, budget=100, seed=1)
    assert scores(record, 5, 100, range(1, 25))["pycma"][1, 4][0] == 30 / ALL


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, suite in SUITES.items():
        monkeypatch.setitem(SUITES, name, _elsewhere(suite, tmp_path))
    monkeypatch.setattr(decathlon, "MODEL", tmp_path / "none.csv")
    monkeypatch.setattr(small, "FILE", tmp_path / "none.csv")
    record = runs("saltus", {1: 10}, 500) | runs("pycma", {1: 20}, 500)
    lines = [BOOK.row((key, 500), run) for key, run in record.items()]
    SUITES["bbob"].file.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    values = {"saltus": 1.0, "pycma": 2.0, "pycma-noise": 1.0}
    rows = [
        duels.BOOK.row((Key(m, 5, 101, 4, 0), 500), duels.Run(500, 1.0, (v,) * len(BUDGETS)))
        for m, v in values.items()
    ]
    SUITES[NOISY].file.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    text = page()
    assert f"| final, 500 D |  | 0.196 : 0.392 pycma (1) {PERHAPS} |  |" in text
    assert "| D = 5, pycma | 1.00 (1) | 1.00 (1) | 1.00 (1) | 1.00 (1) |" in text
    assert "| D = 5, pycma-noise | 0.50 (1) |" in text
    assert "12 were run: 8 ahead or level, 4 behind within chance" in text


def _elsewhere(suite: Suite, folder: Path) -> Suite:
    class Moved(Suite):
        @property
        def file(self) -> Path:
            return folder / f"{self.name}.csv"

    return Moved(**vars(suite))


def test_who_asks_for_help_does_not_make_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["decathlon", "--help"])
    monkeypatch.setattr(decathlon, "publish", lambda *_: pytest.fail("it was made"))
    with pytest.raises(SystemExit):
        decathlon.main()
