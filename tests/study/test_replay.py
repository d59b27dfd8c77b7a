"""A study whose optimizer is not written with every batch: what was told since is told again."""

from __future__ import annotations

import json
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saltus import Float, Int, Optimizer, Space, Study
from saltus.study import journal
from saltus.study.database import Database
from saltus.study.replay import DepartedError, replay

from ..objectives import SPACE, constrained, fails_sometimes
from .studies import DISCRETE, distance, essence, made


@pytest.fixture
def never_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the state of the beginning is ever on record."""
    monkeypatch.setattr(journal, "STATE_FOR_EACH_TRIAL", 0)


@pytest.mark.parametrize(
    ("space", "fun", "options"),
    [
        (SPACE, constrained, {"strategy": "saltus"}),
        (SPACE, fails_sometimes, {"direction": "maximize", "strategy": "saltus-es"}),
        (DISCRETE, distance, {"strategy": "dx-nes-ici"}),
    ],
)
@pytest.mark.usefixtures("never_saved")
def test_a_search_goes_on_from_what_is_on_record(
    tmp_path: Path, space: Space, fun: Any, options: dict[str, Any]
) -> None:
    """Also in the middle of batches, with repeats, failures, constraints and the other direction."""
    whole = Study.create(tmp_path / "whole.db", space, seed=3, **options)
    budgets = (3, 5, 16) if options["strategy"] == "saltus" else (1, 2, 9, 10, 23, 24)
    whole.optimize(fun, budget=budgets[-1])
    pieces = Study.create(tmp_path / "pieces.db", space, seed=3, **options)
    for budget in budgets:
        pieces.optimize(fun, budget=budget)
    assert essence(pieces) == essence(whole)
    assert pieces.summary().evaluations == whole.summary().evaluations
    with pieces._reading() as one, whole._reading() as other:
        assert one.state()[0] == 0
        states = [study._optimizer(record)[0].state() for study, record in ((pieces, one), (whole, other))]
    assert json.dumps(states[0]) == json.dumps(states[1])


@pytest.mark.usefixtures("never_saved")
def test_by_hand_and_in_any_order(tmp_path: Path) -> None:
    studies = [Study.create(tmp_path / name, SPACE, seed=3, strategy="saltus-es") for name in "ab"]
    rng = random.Random(1)
    for count in (2, 1, None, 3, None, None):
        trials = [study.ask(count) for study in studies]
        assert trials[0] == trials[1]
        order = list(range(len(trials[0])))
        for study, asked in zip(studies, trials, strict=True):
            rng.shuffle(order)
            for i in order:
                study.tell(asked[i].id, *constrained(asked[i].params))
    assert essence(studies[0]) == essence(studies[1])


def test_a_long_state_is_written_now_and_then(tmp_path: Path) -> None:
    """Of 120 variables it is 650,000 characters: once in 33 trials, and not with every batch."""
    study = Study.create(tmp_path / "study.db", Space([Float(-5, 5)] * 120), seed=1, strategy="dx-nes-ici")
    saved = []

    def fun(x: Any) -> float:
        with closing(Database(study.path, write=False)) as record:
            saved.append((record.state()[0], record.count_trials()))
        return float(np.sum(x**2))

    study.optimize(fun, budget=150)
    written = sorted({count for count, _ in saved})
    assert len(written) > 2
    assert max(asked - count for count, asked in saved) > 0
    with study._reading() as record:
        size = len(record.state()[1])
    gaps = np.diff(written)
    assert all(gap * journal.STATE_FOR_EACH_TRIAL >= 0.9 * size for gap in gaps[1:])


def perturbed(by: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that rounds otherwise, or goes another way altogether."""
    ask = Optimizer.ask

    def other(self: Optimizer, k: int | None = None) -> Any:
        candidates = ask(self, k)
        for candidate in candidates:
            self.correct(candidate.id, candidate.params | {"x": candidate.params["x"] * (1 + by)})
        return [c for c in self.pending if c.id in {d.id for d in candidates}]

    monkeypatch.setattr(Optimizer, "ask", other)


@pytest.mark.usefixtures("never_saved")
def test_points_are_those_of_the_record_whatever_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = made(tmp_path, strategy="saltus-es")
    study.optimize(constrained, budget=30)
    asked = study.ask()
    before = essence(study)
    perturbed(1e-12, monkeypatch)
    with study._reading() as record:
        optimizer, _ = study._optimizer(record)
    pending = {c.id: c.params for c in optimizer.pending}
    assert [pending[t.id] for t in asked] == [t.params for t in asked]
    assert {id: t.params for id, t in enumerate(study.trials()) if id in pending} == pending
    monkeypatch.undo()
    study.optimize(constrained, budget=60)
    assert essence(study)[: len(before) - len(asked)] == before[: -len(asked)]


def test_a_search_that_goes_another_way_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = made(tmp_path, Space({"x": Float(-5, 5), "k": Int(0, 9)}), strategy="saltus-es")
    study.optimize(lambda p: p["x"] ** 2 + p["k"], budget=30)
    trials = list(study.trials())

    def fresh(**options: Any) -> Optimizer:
        return Optimizer(study.space, seed=1, strategy="saltus-es", auto_restart=True, **options)

    replay(fresh(), trials, 0, "minimize")
    for other, words in (
        (fresh(population=20), "elsewhere|larger"),
        (fresh(population=4), "elsewhere|smaller"),
    ):
        with pytest.raises(DepartedError, match=words):
            replay(other, trials, 0, "minimize")
    perturbed(1e-3, monkeypatch)
    with pytest.raises(DepartedError, match="trial 0 is elsewhere"):
        replay(fresh(), trials, 0, "minimize")
