"""Statistics against the paper's tables, at N = 20; `make test-slow` runs them."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from experiments.harness import Summary, summary
from experiments.paper import PROBLEMS
from experiments.published import TABLE2, Published
from experiments.runs import paper_trial
from saltus.strategy import default_population

pytestmark = pytest.mark.slow


def cell(function: str, method: str, trials: int = 100) -> tuple[Summary, Published]:
    paper = TABLE2[function, 20, method]
    assert paper.population is not None
    problem = PROBLEMS[function](20)
    runs = (paper_trial(problem, paper.population, seed=seed, strategy=method) for seed in range(trials))
    return summary(runs), paper


@pytest.mark.parametrize("function", PROBLEMS)
def test_dx_nes_ici_always_succeeds_at_the_papers_cost(function: str) -> None:
    ours, paper = cell(function, "dx-nes-ici")
    assert ours.successes == 100
    assert abs(ours.mean - paper.mean) <= max(0.05 * paper.mean, ours.half_width)


@pytest.mark.parametrize("function", PROBLEMS)
def test_cma_es_with_margin_succeeds_as_often_as_in_the_paper(function: str) -> None:
    ours, paper = cell(function, "cma-es-margin")
    low, high = binomtest(ours.successes, ours.trials).proportion_ci(0.99)
    assert low <= paper.successes / 100 <= high
    assert abs(ours.mean - paper.mean) <= max(0.1 * paper.mean, ours.half_width)


def test_without_leap_dx_nes_ic_is_trapped() -> None:
    problem = PROBLEMS["NIntTablet"](20)
    assert not any(paper_trial(problem, 6, seed=seed, strategy="dx-nes-ic").success for seed in range(4))


@pytest.mark.parametrize("function", PROBLEMS)
def test_the_default_needs_far_fewer_evaluations_without_any_tuning(function: str) -> None:
    problem = PROBLEMS[function](20)
    population = default_population(20)
    ours = summary(paper_trial(problem, population, seed=s, strategy="saltus-es") for s in range(100))
    share = 0.6 if "Ellipsoid" in function else 0.85
    assert ours.successes == 100
    assert ours.mean <= share * TABLE2[function, 20, "dx-nes-ici"].mean
