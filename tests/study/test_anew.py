"""Searches that begin anew: trials forgotten, an objective that has changed, another way of a machine."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from saltus import NotCountedError, ObjectiveError, Stop, Study, minimize
from saltus.study import SettingsError, journal
from saltus.study.journal import Journal

from ..objectives import SPACE, bowl, constrained, fails_sometimes
from .studies import DISCRETE, distance, essence, made
from .test_replay import perturbed


def other_bowl(p: dict[str, Any]) -> tuple[float, dict[str, float]]:
    return bowl(p), {"stress": 20.0 - p["k"]}


def test_what_is_forgotten_counts_no_more(tmp_path: Path) -> None:
    study = made(tmp_path, strategy="saltus-es")
    study.optimize(fails_sometimes, budget=30)
    best = study.best
    assert best is not None
    failed = [t.id for t in study.trials() if t.status == "failed"]
    assert failed
    assert sorted(study.forget([best.id], failures=True)) == sorted([best.id, *failed])
    assert study.forget(failures=True) == []
    summary = study.summary()
    assert summary.evaluations == 30 - len(failed) - 1
    assert summary.forgotten == len(failed) + 1
    assert summary.best is not None
    assert summary.best.id != best.id
    assert not summary.failures
    result = study.optimize(bowl_quietly, budget=40)
    assert result.nfev == 40
    ids = [t.id for t in study.trials()]
    assert ids == list(range(len(ids)))
    with pytest.raises(SettingsError, match=f"no outcome to forget: {best.id}, 999"):
        study.forget([best.id, 999])


def bowl_quietly(p: dict[str, Any]) -> float:
    return bowl(p)


def test_repeats_are_forgotten_with_what_they_repeat(tmp_path: Path) -> None:
    study = made(tmp_path, DISCRETE, strategy="dx-nes-ici")
    study.optimize(distance, budget=12)
    repeat = next(t for t in study.trials() if t.status == "repeated")
    gone = study.forget([repeat.id])
    assert {repeat.id, repeat.repeats} <= set(gone)
    assert all(t.repeats not in gone for t in study.trials() if t.over)


def test_a_search_goes_on_from_past_data_wherever_it_was_stopped(tmp_path: Path) -> None:
    """Killed at any moment after `forget`, it is the same search."""
    studies = [Study.create(tmp_path / f"{name}.db", SPACE, seed=3) for name in ("whole", "pieces")]
    for study in studies:
        study.optimize(constrained, budget=12)
        study.forget([3, 7])
    whole, pieces = studies
    whole.optimize(constrained, budget=30)
    for budget in (11, 12, 17, 30):
        pieces.optimize(constrained, budget=budget)
    assert essence(whole) == essence(pieces)


def test_the_best_points_are_evaluated_again_first(tmp_path: Path) -> None:
    study = made(tmp_path, direction="maximize")
    study.optimize(lambda p: -bowl(p), budget=30)
    known = sorted((t for t in study.trials() if t.evaluated), key=lambda t: (-(t.value or 0.0), t.id))
    again = study.reevaluate(4)
    assert [t.params for t in again] == [t.params for t in known[:4]]
    seen: list[Any] = []

    def other(p: dict[str, Any]) -> float:
        seen.append(p)
        return -2 * bowl(p)

    assert study.optimize(other, budget=2).nfev == 2  # cut: the rest waits
    result = study.optimize(other, budget=9)
    assert seen[:4] == [t.params for t in known[:4]]
    assert result.nfev == len(seen) == 9
    assert result.fun == max(-2 * bowl(p) for p in seen)
    assert study.summary().forgotten == 30


def test_what_waits_can_be_told_by_hand(tmp_path: Path) -> None:
    """Before the search begins anew nothing else is asked."""
    study = made(tmp_path)
    study.optimize(bowl, budget=8)
    first, second = study.ask(2)[:1], study.reevaluate(1)
    assert study.ask() == []
    assert study.tell(second[0].id, 1.5).value == 1.5
    with pytest.raises(SettingsError, match="is not waiting"):
        study.tell(first[0].id, 2.0)
    assert study.ask(1)[0].id == second[0].id + 1


def test_another_objective_is_said(tmp_path: Path) -> None:
    study = made(tmp_path, strategy="saltus-es")
    study.optimize(bowl, budget=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(bowl, budget=6)
    with pytest.warns(
        UserWarning, match=r"objective was python tests.objectives:bowl before and is .*other_b"
    ):
        study.optimize(other_bowl, budget=6)
    with pytest.warns(UserWarning, match="constraints were none before and are stress now; .*--reevaluate"):
        study.optimize(other_bowl, budget=9)


def test_an_evaluation_that_is_not_to_count_is_done_again(tmp_path: Path) -> None:
    whole = Study.create(tmp_path / "whole.db", SPACE, seed=1)
    whole.optimize(bowl, budget=12)
    calls: list[int] = []

    def moody(p: dict[str, Any]) -> float:
        calls.append(1)
        if len(calls) % 3 == 0:
            raise NotCountedError("the licence server is down")
        return bowl(p)

    study = made(tmp_path)
    assert study.optimize(moody, budget=12).nfev == 12
    assert essence(study) == essence(whole)
    assert len(calls) > 12


def test_too_many_that_do_not_count_stop_a_study_that_learns_nothing(tmp_path: Path) -> None:
    def down(p: dict[str, Any]) -> float:
        raise NotCountedError("the disk is full")

    study = made(tmp_path)
    result = study.optimize(down, budget=50)
    assert result.stop is Stop.FAILING
    assert result.nfev == result.failures == 0
    assert study.summary().unfinished[0].reason == "the disk is full"
    assert study.optimize(bowl, budget=12).nfev == 12
    study.reevaluate(2)
    assert study.optimize(down, budget=50).stop is Stop.FAILING
    with pytest.raises(ObjectiveError, match="the disk is full"):
        minimize(down, SPACE, budget=9, seed=1, on_error="infeasible")


def test_a_machine_that_goes_another_way_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a kill in many dimensions, on another processor: nothing is lost, what waits is evaluated."""
    monkeypatch.setattr(journal, "STATE_FOR_EACH_TRIAL", 0)
    study = made(tmp_path, strategy="saltus-es")
    study.optimize(bowl, budget=11)
    before = [t for t in essence(study) if t[2] == "done"]
    with monkeypatch.context() as patch:
        perturbed(1e-3, patch)
        assert study.optimize(bowl, budget=25).nfev == 25
    after = essence(study)
    assert [t for t in after if t[0] <= before[-1][0] and t[2] == "done"][: len(before)] == before
    assert [t[0] for t in after] == list(range(len(after)))


def test_trials_of_the_new_search_fit_their_journal(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.optimize(bowl, budget=6)
    study.forget([0])
    with study._writing() as database:
        optimizer, waiting = study._search(database)
        assert not waiting
        assert optimizer.generation == 1 + max(t.generation for t in database.trials())
        assert Journal(database, optimizer).evaluations == 5
