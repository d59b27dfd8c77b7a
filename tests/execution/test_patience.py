"""When to stop because nothing is gained any more: the rule, and the searches that it stops."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from saltus import Evaluation, Float, Int, Space, Stop, Study, minimize
from saltus.cli import main
from saltus.execution.patience import Patience

from ..objectives import SPACE, bowl
from ..study.studies import essence, made


def told(patience: Patience, *rows: tuple[int, float]) -> Patience:
    for row in rows:
        patience.told(*row)
    return patience


def test_small_gains_add_up() -> None:
    creeping = [(10 * i, 100.0 - 0.4 * i) for i in range(1, 100)]
    assert not told(Patience(30, min_gain=1.0), *creeping).over
    assert told(Patience(20, min_gain=1.0), *creeping[:2], (40, 99.2)).over


def test_a_trifle_is_small_beside_the_value_and_beside_what_was_gained() -> None:
    offset = told(Patience(50), (10, 1e6 + 100.0), (20, 1e6))  # 100 was gained: 0.2 counts, 0.05 does not
    assert told(offset, (40, 1e6 - 0.2)).without_gain == 0
    assert told(offset, (60, 1e6 - 0.25)).without_gain == 20
    wide = told(Patience(50), (10, 1e9), (20, 10.0))  # nearly 1e9 was gained, and yet 10% of the value counts
    assert told(wide, (30, 9.0)).without_gain == 0


def test_what_is_nothing_beside_all_that_was_gained_does_not_count() -> None:
    falling = [(10 * i, 10.0**-i) for i in range(1, 40)]  # to an optimum of 0, always by a factor of ten
    assert told(Patience(200), *falling).over
    assert not told(Patience(200), *falling[:20]).over


def test_a_first_value_of_a_penalty_is_no_measure() -> None:
    patience = told(Patience(50), (1, 1e30), (10, 5.0), (30, 4.0), (50, 3.0))
    assert patience.without_gain == 0


def test_it_counts_from_the_first_feasible_value() -> None:
    patience = told(Patience(50), (100, math.nan), (200, math.nan))
    assert patience.without_gain == 0
    assert told(patience, (210, 3.0), (259, 3.0)).without_gain == 49
    assert told(patience, (260, 3.0)).over


def test_a_search_stops_and_says_why() -> None:
    given: dict[str, Any] = {"budget": 1500, "seed": 1, "strategy": "saltus-es"}
    free = minimize(bowl, SPACE, **given)
    result = minimize(bowl, SPACE, **given, patience=100)
    assert result.stop is Stop.PATIENCE
    assert result.success
    assert "With more patience it goes on." in result.message
    assert 100 < result.nfev < 600
    n = len(result.history)
    assert free.history.best[:n].tolist() == result.history.best.tolist()  # the search itself is the same
    assert result.fun == pytest.approx(0, abs=1e-6)


def test_larger_values_may_be_better() -> None:
    given: dict[str, Any] = {"budget": 1500, "seed": 1, "patience": 100, "strategy": "saltus-es"}
    result = minimize(lambda p: -bowl(p), SPACE, **given, maximize=True)
    same = minimize(bowl, SPACE, **given)
    assert (result.nfev, result.stop) == (same.nfev, Stop.PATIENCE)


@pytest.mark.parametrize(
    ("strategy", "patience", "cut"), [("saltus", 20, 13), ("saltus-es", 100, 37), ("cma-es", 60, 61)]
)
def test_a_study_in_pieces_stops_where_an_uninterrupted_one_does(
    tmp_path: Path, strategy: str, patience: int, cut: int
) -> None:
    """Pieces end in the middle of generations, by a budget or by a callback."""
    whole = made(tmp_path, batch=3, strategy=strategy)
    assert whole.optimize(bowl, budget=2000, patience=patience).stop is Stop.PATIENCE
    (tmp_path / "pieces").mkdir()
    pieces = made(tmp_path / "pieces", batch=3, strategy=strategy)

    def enough(evaluation: Evaluation) -> bool:
        return evaluation.number % cut == 0

    pieces.optimize(bowl, budget=cut - 2, patience=patience)
    given: dict[str, Any] = {"budget": 2000, "patience": patience, "on_evaluation": enough}
    while pieces.optimize(bowl, **given).stop is Stop.CALLBACK:
        pass
    assert essence(pieces) == essence(whole)


def test_a_study_goes_on_with_more_patience(tmp_path: Path) -> None:
    study = made(tmp_path, strategy="saltus-es")
    first = study.optimize(bowl, budget=1000, patience=60)
    assert first.stop is Stop.PATIENCE
    assert study.optimize(bowl, budget=1000, patience=60).nfev == first.nfev  # nothing has changed
    more = study.optimize(bowl, budget=1000, patience=90)
    assert more.stop is Stop.PATIENCE
    assert more.nfev > first.nfev
    assert study.optimize(bowl, budget=more.nfev + 5).stop is Stop.BUDGET
    session = Study.open(study.path).summary().sessions[0]
    assert session.why == Stop.PATIENCE.value


def test_past_data_is_what_has_to_be_improved(tmp_path: Path) -> None:
    study = made(tmp_path, strategy="saltus-es")
    study.add({"x": 1.0, "k": 7, "on": True}, 0.0)  # the optimum is known
    result = study.optimize(bowl, budget=500, patience=40)
    assert result.stop is Stop.PATIENCE
    assert 40 <= result.nfev < 50  # the generation is completed


def test_without_waiting_too() -> None:
    result = minimize(bowl, SPACE, budget=2000, seed=1, patience=40, asynchronous=True)
    assert result.stop is Stop.PATIENCE


def test_an_asynchronous_study_in_pieces_stops_where_a_whole_one_does(tmp_path: Path) -> None:
    """With one worker; with several it depends on which ends first."""
    whole = made(tmp_path, asynchronous=True)
    assert whole.optimize(bowl, budget=2000, patience=25).stop is Stop.PATIENCE
    (tmp_path / "pieces").mkdir()
    pieces = made(tmp_path / "pieces", asynchronous=True)
    budget = 0
    while pieces.optimize(bowl, budget=(budget := budget + 7), patience=25).stop is Stop.BUDGET:
        pass
    assert essence(pieces) == essence(whole)
    several = Study.create(tmp_path / "several.db", SPACE, seed=1, asynchronous=True)
    assert several.optimize(bowl, budget=2000, patience=25, workers=2).stop is Stop.PATIENCE


@pytest.mark.parametrize("asynchronous", ["false", "true"])
def test_in_a_study_file(tmp_path: Path, asynchronous: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.toml"
    path.write_text(
        f"[study]\nbudget = 500\nworkers = 1\nseed = 1\nasynchronous = {asynchronous}\n"
        "patience = 8\nmin_gain = 0.5\n"
        '[space]\nk = { type = "int", low = 0, high = 99999 }\n'
        '[objective]\ncommand = ["echo", "{k}"]\n'
    )
    assert main(["run", str(path), "--quiet", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["session"]["stop"] == Stop.PATIENCE.name
    assert main(["run", str(path), "--quiet", "--json"]) == 0  # nothing has changed
    assert json.loads(capsys.readouterr().out)["evaluations"] == told["evaluations"] < 100


def test_a_search_that_finds_nothing_feasible_goes_on() -> None:
    space = Space({"x": Float(-5, 5), "k": Int(0, 9)})
    result = minimize(lambda p: (p["x"], {"never": 1 + abs(p["x"])}), space, budget=60, seed=1, patience=20)
    assert result.stop is Stop.BUDGET


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"patience": 0}, "patience must be a positive whole number of evaluations, or None, got 0"),
        ({"patience": 2.5}, "patience must be a positive whole number"),
        ({"patience": 20, "min_gain": -1}, "min_gain must be a number, 0 or more, or None, got -1"),
        ({"patience": 20, "min_gain": math.nan}, "min_gain must be a number"),
        ({"min_gain": 0.5}, "give patience, too"),
    ],
)
def test_what_is_no_patience(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        minimize(bowl, SPACE, **given)
