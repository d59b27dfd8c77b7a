"""Without a barrier: busy workers, less time, few more evaluations; `make test-slow` runs it."""

from __future__ import annotations

import pytest

from experiments.asynchronous import FUNCTIONS, Comparison, Setting, busy, per_success, simulated

pytestmark = pytest.mark.slow

SEEDS = range(20)


@pytest.fixture(scope="module")
def comparisons() -> dict[str, Comparison]:
    """Eight workers, log-normal times with sigma = 1, N = 20."""
    return {
        name: Comparison(
            *([simulated(Setting(name), kind, seed) for seed in SEEDS] for kind in (False, True))
        )
        for name in FUNCTIONS
    }


@pytest.mark.parametrize("function", FUNCTIONS)
def test_workers_are_busy_and_the_target_is_reached_sooner(
    function: str, comparisons: dict[str, Comparison]
) -> None:
    comparison = comparisons[function]
    assert all(run.success for kind in comparison for run in kind)
    assert busy(comparison.barrier) < 0.6
    assert busy(comparison.stream) >= 0.9
    assert comparison.faster >= 1.5


def test_that_takes_few_more_evaluations(comparisons: dict[str, Comparison]) -> None:
    """A function alone has too much of chance in it with so few seeds: all together."""
    spent = [sum(per_success(c[kind]) for c in comparisons.values()) for kind in (0, 1)]
    assert spent[1] <= 1.25 * spent[0]
