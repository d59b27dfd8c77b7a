"""Evaluations as data frames."""

import math
import sys
from pathlib import Path
from typing import Any

import pandas
import pytest

from saltus import Bool, Categorical, Float, Int, Ordinal, Result, Space, Study, at_least, minimize

SPACE = Space(
    {
        "x": Float(-5, 5),
        "k": Int(0, 20),
        "on": Bool(),
        "metal": Categorical(["gold", "tin"]),
        "grid": Ordinal([1, 2, 4]),
        "ratio": Ordinal([0.5, 2.0]),
        "depth": Int(1, 9, when={"metal": "gold"}),
        "sign": Bool(when={"k": at_least(10)}),
        "alloy": Categorical(["a", "b"], when={"metal": "gold"}),
        "heat": Float(0, 1, when={"metal": "gold"}),
    }
)
TYPES = {
    **{"trial": "int64", "status": "category", "x": "float64", "k": "int64", "on": "bool"},
    **{"metal": "category", "grid": "int64", "ratio": "float64", "depth": "Int64", "sign": "boolean"},
    **{"alloy": "category", "heat": "float64", "value": "float64", "mass": "float64", "feasible": "bool"},
    **{"violation": "float64", "failure": "category", "reason": "string", "seconds": "float64"},
}
OF_STUDIES = {"generation": "int64", "attempts": "Int64", "worker": "Int64"}


def cost(p: Any) -> Any:
    if p["k"] in (4, 5):
        raise ArithmeticError("the mesh is bad")
    return p["x"] ** 2 + p["k"], {"mass": p["x"] - 4, "value": p["k"] - 50}


def types(frame: pandas.DataFrame) -> dict[str, str]:
    return {str(name): str(kind) for name, kind in frame.dtypes.items()}


def test_each_column_has_a_type_that_suits_it(tmp_path: Path) -> None:
    study = Study.create(tmp_path / "a.db", SPACE, strategy="saltus-es", seed=1)
    points = [{"k": 4, "metal": "tin"}, {"k": 12, "metal": "gold"}, {"k": 2, "metal": "tin"}]
    study.enqueue(*points)
    result = study.optimize(cost, budget=30)
    frame = study.to_dataframe()
    seen = types(frame)
    assert seen.pop("started").startswith("datetime64[")
    assert seen == TYPES | OF_STUDIES | {"constraint value": "float64"}
    assert types(result.to_dataframe()) == TYPES | {"constraint value": "float64"}
    assert list(frame["metal"].cat.categories) == ["gold", "tin"]
    assert frame.loc[0, ["depth", "sign", "alloy", "heat"]].isna().all()
    assert frame.loc[1, ["depth", "sign", "alloy", "heat"]].notna().all()
    assert len(frame) == 30


def test_a_frame_says_what_the_record_says(tmp_path: Path) -> None:
    study = Study.create(tmp_path / "a.db", SPACE, strategy="saltus-es", seed=1, maximize=True)
    study.add({**point(k=3), "x": 1.0}, 7.0, {"mass": -1.0})
    study.optimize(cost, budget=40)
    result = study.optimize(cost, budget=60, workers=1)
    frame = study.to_dataframe().set_index("trial")
    trials = [t for t in study.trials() if t.evaluated]
    assert list(frame.index) == [t.id for t in trials]
    for trial in trials:
        row: Any = frame.loc[trial.id]
        assert row["status"] == trial.status
        assert row["x"] == trial.params["x"]
        assert row["feasible"] == trial.feasible
        assert (row["value"] == trial.value) or (trial.value is None and math.isnan(row["value"]))
        assert (row["reason"] == trial.reason) if trial.reason else pandas.isna(row["reason"])
        assert row["mass"] == (trial.constraints or {}).get("mass", pytest.approx(math.nan, nan_ok=True))
    failed = frame[frame["status"] == "failed"]
    assert set(failed["failure"]) == {"EXCEPTION"}
    assert set(failed["reason"]) == {"ArithmeticError: the mesh is bad"}
    assert failed["violation"].isna().all()
    assert list(frame["generation"] == -1) == [t.past for t in trials]
    assert frame.loc[frame["generation"] >= 0, "seconds"].ge(0).all()
    same = result.to_dataframe().set_index("trial")
    pandas.testing.assert_frame_equal(same, frame[list(same)])


def point(**given: Any) -> dict[str, Any]:
    own = {"x": 0.0, "k": 1, "on": True, "metal": "tin", "grid": 2, "ratio": 0.5}
    return own | given


def test_a_result_has_every_evaluation_and_none_that_was_answered_from_memory() -> None:
    """With durations, and in the user's direction."""
    space = Space({"a": Int(0, 3), "b": Bool()})
    calls: list[Any] = []

    def counted(p: Any) -> float:
        calls.append(p)
        return math.nan if p["a"] == 3 else 10.0 * p["a"] + p["b"]

    result = minimize(counted, space, strategy="saltus-es", seed=1, budget=100, maximize=True)
    frame = result.to_dataframe()
    assert frame[["a", "b"]].to_dict("records") == calls
    assert len(frame) == result.nfev == 8
    assert frame["value"].max() == result.fun == 21.0
    assert frame["seconds"].ge(0).all()
    assert list(frame.loc[frame["a"] == 3, "reason"]) == ["the value is NaN"] * 2
    assert frame["trial"].is_monotonic_increasing


def test_also_in_the_middle_of_a_search_and_in_scipys_form() -> None:
    seen: list[pandas.DataFrame] = []
    how: dict[str, Any] = {"strategy": "saltus-es", "budget": 40, "seed": 1}
    minimize(
        lambda x: float(x @ x),
        bounds=[(-1, 3), (0, 5)],
        integrality=[False, True],
        **how,
        callback=lambda r: seen.append(r.to_dataframe()),
    )
    sizes = [len(frame) for frame in seen]
    assert sizes == sorted(sizes)
    assert 0 < sizes[0] < sizes[-1] <= 40
    assert types(seen[0])["x1"] == "int64"


def test_choices_that_are_no_categories_of_pandas_stay_as_they_are() -> None:
    space = Space({"depth": Categorical([None, 3, 5]), "huge": Ordinal([1, 10**19])})
    how: dict[str, Any] = {"strategy": "saltus-es", "budget": 20, "seed": 1}
    frame = minimize(lambda p: float(p["depth"] or 9), space, **how).to_dataframe()
    assert types(frame)["depth"] == types(frame)["huge"] == "object"
    assert set(frame["depth"]) <= {None, 3, 5}


def test_an_empty_study_is_an_empty_frame(tmp_path: Path) -> None:
    frame = Study.create(tmp_path / "a.db", SPACE, seed=1).to_dataframe()
    assert len(frame) == 0
    assert types(frame)["depth"] == "Int64"


def test_without_pandas_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study.create(tmp_path / "a.db", SPACE, seed=1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_dataframe needs pandas: pip install 'saltus\[notebook\]'"):
        study.to_dataframe()


def test_a_result_that_was_made_by_hand_has_no_evaluations() -> None:
    with pytest.raises(ValueError, match="made by hand"):
        Result(None, None, math.nan, 0, 0, False, None, 0).to_dataframe()
