"""What the model costs: the right phases are timed."""

from __future__ import annotations

from experiments.model_cost import beyond_table, candidate, run_table, whole_run
from saltus.search import model_run


def test_candidates_of_a_model_run_are_timed_and_the_run_is_as_it_was() -> None:
    before = model_run.LEAST, model_run.SMALLEST_SIDE
    found = candidate(5, 1, count=3, least=20)
    assert len(found) == 3
    assert min(found) >= 0
    assert before == (model_run.LEAST, model_run.SMALLEST_SIDE)


def test_a_run_and_a_generation_are_timed() -> None:
    asked, total, evaluations = whole_run(5, 1, 6)
    assert 0 < asked <= total
    assert 0 < evaluations <= 70
    assert "| f1 |" in run_table(5, (1,), 6)
    assert beyond_table([5], 15, count=2).count("\n") == 2
