"""Tuning: scores that are kept, budgets, ranks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import tuning
from experiments.steps import Run
from experiments.tuning import BOOK, SETS, Key, rank_table, ranks, run_one, tables, value_table
from experiments.tuning_choices import CHOICES
from experiments.tuning_methods import values_of
from experiments.tuning_problems import PROBLEMS, Problem, Scores
from saltus import Bool, Categorical, Float, Int, Optimizer, Space, at_least

EASY = Problem(
    Space({"a": Float(1e-3, 1, log=True), "k": Int(1, 9), "s": Bool()}),
    lambda p: abs(np.log(p["a"]) + 3) + abs(p["k"] - 4) + (not p["s"]),
)


BRANCHES = Problem(
    Space(
        {
            "kind": Categorical(["a", "b", "c"]),
            "n": Int(1, 3),
            "x": Float(0, 1, when={"kind": ["a", "b"]}),
            "y": Float(0, 1, when={"kind": "c", "n": at_least(2)}),
        }
    ),
    lambda p: p.get("x", 1.0) + p.get("y", 0.5) + p["n"],
)


def test_the_problems_are_of_the_sizes_that_are_said() -> None:
    assert len(PROBLEMS) >= 4
    for problem in PROBLEMS.values():
        assert 4 <= len(problem.space) <= 9
    assert len(CHOICES) == 4
    for problem in CHOICES.values():
        assert 6 <= len(problem.space) <= 11
        assert any(isinstance(v, Categorical) for v in problem.space.variables)
        assert any(v.when for v in problem.space.variables)
    assert not set(PROBLEMS) & set(CHOICES)


@pytest.mark.parametrize("name", [*PROBLEMS, *CHOICES])
def test_a_score_is_a_number_and_is_kept(name: str, tmp_path: Path) -> None:
    problem = (PROBLEMS | CHOICES)[name]
    (candidate, *_) = Optimizer(problem.space, strategy="dx-nes-ici", seed=1).ask()
    file = tmp_path / "points.csv"
    value = Scores(file, "1").of(name, problem, candidate.params)
    assert np.isfinite(value)
    again = Scores(file, "1")
    assert again.of(name, problem, dict(reversed(candidate.params.items()))) == value
    assert len(file.read_text().splitlines()) == 1


def test_scores_of_another_version_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    point = {"a": 0.5, "k": 3, "s": True}
    assert Scores(file, "1").of("easy", EASY, point) == Scores(file, "2").of("easy", EASY, point)
    assert len(file.read_text().splitlines()) == 2


@pytest.mark.parametrize("method", ["saltus", "saltus-es", "TPE", "TPE, default", "random"])
def test_methods_give_values_of_points_in_the_space(method: str) -> None:
    seen = []

    def score(params: Mapping[str, Any]) -> float:
        seen.append(params)
        return EASY.score(params)

    values = list(islice(values_of(method, EASY, score, 1), 25))
    assert len(values) == 25
    assert all(1e-3 <= p["a"] <= 1 and p["k"] in range(1, 10) and type(p["s"]) is bool for p in seen)
    again = list(islice(values_of(method, EASY, EASY.score, 1), 25))
    assert again == values


@pytest.mark.parametrize("method", ["saltus", "TPE", "TPE, default", "random"])
def test_methods_give_only_what_is_active(method: str) -> None:
    seen = []

    def score(params: Mapping[str, Any]) -> float:
        seen.append(dict(params))
        return BRANCHES.score(params)

    values = list(islice(values_of(method, BRANCHES, score, 1), 25))
    assert len(values) == 25
    for p in seen:
        assert ("x" in p) == (p["kind"] in ("a", "b"))
        assert ("y" in p) == (p["kind"] == "c" and p["n"] >= 2)
    assert any("x" in p for p in seen)


def test_a_run_notes_what_got_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETS["numbers"], "easy", EASY)
    monkeypatch.setattr(tuning, "scores", lambda: Scores(tmp_path / "points.csv", "1"))
    monkeypatch.setattr(tuning, "MARKS", (10, 20))
    run = run_one(Key("easy", "saltus", 0))
    assert run.evaluations == 20
    values = [value for _, value in run.steps]
    assert values == sorted(values, reverse=True)
    key, back = BOOK.parse(BOOK.row(Key("easy", "saltus", 0), run))
    assert key == Key("easy", "saltus", 0)
    np.testing.assert_allclose(back.steps, run.steps, rtol=1e-9)


def test_ranks_share_places_and_have_intervals() -> None:
    record = {
        Key("easy", method, seed): Run(100, 1.0, ((1, start), (30, end)))
        for method, start, end in [("saltus", 3.0, 1.0), ("TPE", 3.0, 2.0), ("random", 4.0, 2.0)]
        for seed in range(3)
    }
    methods = ["saltus", "TPE", "random"]
    assert ranks(record, methods, [("easy", 0)], 20).tolist() == [[1.5, 1.5, 3.0]]
    assert ranks(record, methods, [("easy", 0)], 50).tolist() == [[1.0, 2.5, 2.5]]
    text = rank_table(record, ["easy"], methods, 3, [20, 50])
    assert "| mean rank of 3, 3 runs | 20 evaluations | 50 evaluations |" in text
    assert "| saltus | 1.50 ± 0.00 | 1.00 ± 0.00 |" in text
    assert "| easy | 1.0000 (1.0000–1.0000) |" in value_table(record, ["easy"], methods, 3, 50)
    slow = {Key("easy", "SMAC", 0): Run(50, 9.0, ((1, 0.5),))}
    assert "mean rank of 4, 1 runs" in tables(record | slow, ["easy"], [*methods, "SMAC"], 3)
