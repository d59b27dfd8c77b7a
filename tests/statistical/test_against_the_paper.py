"""Statistics against the paper's tables, at N = 20; `make test-slow` runs them."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from experiments.harness import Trial, summary
from experiments.runs import paper_trial
from saltus.problems import PAPER

pytestmark = pytest.mark.slow


def trial(function: int, strategy: str, population: int, seed: int) -> Trial:
    return paper_trial(PAPER[function](20), population, seed=seed, strategy=strategy)


@pytest.mark.parametrize(
    ("function", "population", "paper"), [(0, 6, 3111), (1, 10, 5202), (2, 12, 6306), (3, 8, 1962)]
)
def test_dx_nes_ici_always_succeeds_at_the_papers_cost(function: int, population: int, paper: int) -> None:
    cell = summary(trial(function, "dx-nes-ici", population, seed) for seed in range(100))
    assert cell.successes == 100
    assert abs(cell.mean - paper) <= max(0.05 * paper, cell.half_width)


@pytest.mark.parametrize(
    ("function", "population", "successes", "paper"),
    [(0, 28, 80, 19078), (2, 10, 100, 8123), (3, 10, 100, 3757)],
)
def test_cma_es_with_margin_succeeds_as_often_as_in_the_paper(
    function: int, population: int, successes: int, paper: int
) -> None:
    cell = summary(trial(function, "cma-es-margin", population, seed) for seed in range(40))
    low, high = binomtest(cell.successes, cell.trials).proportion_ci(0.99)
    assert low <= successes / 100 <= high
    assert abs(cell.mean - paper) <= max(0.1 * paper, cell.half_width)


def test_without_leap_dx_nes_ic_is_trapped() -> None:
    assert summary(trial(0, "dx-nes-ic", 6, seed) for seed in range(4)).successes == 0
