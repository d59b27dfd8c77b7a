"""A study is opened again only if it is the one that is meant."""

from pathlib import Path
from typing import Any

import pytest

from saltus import Float, Int, Space, Study, StudyError

SPACE = Space({"x": Float(-5, 5), "k": Int(0, 20)})
BEGUN: dict[str, Any] = {"seed": 3, "batch": 2, "mean": {"x": 1.0}}


def begun(path: Path, **settings: Any) -> Study:
    study = Study.open_or_create(path, SPACE, **BEGUN | settings)
    study.ask(1)
    return study


def test_a_cell_can_be_run_again(tmp_path: Path) -> None:
    first = begun(tmp_path / "a.db")
    again = begun(tmp_path / "a.db")
    assert again.head == first.head
    assert again.summary().generations == 1


def test_what_is_not_given_may_be_anything(tmp_path: Path) -> None:
    begun(tmp_path / "a.db", name="bowl", noisy=True, population=10)
    assert Study.open_or_create(tmp_path / "a.db", SPACE, batch=2).head.seed == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 4}, "seed has changed since this study was begun: 3 then, 4 now"),
        ({"batch": 1}, "batch has changed since this study was begun: 2 then, 1 now"),
        ({"strategy": "saltus-es"}, "'saltus' then, 'saltus-es' now"),
        ({"maximize": True}, "direction has .*: 'minimize' then, 'maximize' now"),
        ({"direction": "maximize"}, "direction has .*: 'minimize' then, 'maximize' now"),
        ({"name": "other"}, "name has .*: 'a' then, 'other' now"),
        ({"mean": {"x": 2.0}}, r"mean has .*: \[1.0, None\] then, \[2.0, None\] now"),
        ({"sigma": 0.5}, r"sigma has .*: \[None, None\] then, \[0.5, 0.5\] now"),
    ],
)
def test_what_differs_is_said_and_nothing_is_touched(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    study = begun(tmp_path / "a.db")
    before = (tmp_path / "a.db").read_bytes()
    with pytest.raises(StudyError, match=said):
        Study.open_or_create(study.path, SPACE, **BEGUN | change)
    assert (tmp_path / "a.db").read_bytes() == before


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (Space({"x": Float(-5, 6), "k": Int(0, 20)}), "space has .*: 'x' was Float.*-5.*5.* and is Float.*6"),
        (Space({"x": Float(-5, 5)}), "space has .*: 'k' was Int.* and is not there"),
        (Space({"k": Int(0, 20), "x": Float(-5, 5)}), "space has .*: the order of the variables"),
        (Space(dict(zip("xk", SPACE.variables, strict=True)), where="x <= k"), "where has changed"),
    ],
)
def test_another_space_is_said(tmp_path: Path, space: Space, said: str) -> None:
    begun(tmp_path / "a.db")
    with pytest.raises(StudyError, match=said):
        Study.open_or_create(tmp_path / "a.db", space, batch=2)


def test_one_in_which_nothing_was_asked_is_made_anew(tmp_path: Path) -> None:
    Study.open_or_create(tmp_path / "a.db", SPACE, seed=1)
    assert Study.open_or_create(tmp_path / "a.db", SPACE, seed=2).head.seed == 2


def test_arguments_that_there_are_not_are_refused_either_way(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="'sede'"):
            Study.open_or_create(tmp_path / "a.db", SPACE, sede=3)  # type: ignore[call-arg]
        begun(tmp_path / "a.db")


def test_another_process_may_be_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create = Study.create

    def late(path: Any, space: Space, **settings: Any) -> Study:
        create(path, space, **settings)  # the other one
        return create(path, space, **settings)

    monkeypatch.setattr(Study, "create", late)
    monkeypatch.setattr(late, "__signature__", __import__("inspect").signature(create), raising=False)
    assert Study.open_or_create(tmp_path / "a.db", SPACE, seed=3).head.seed == 3
