"""The harness of bbob-mixint and of the engineering problems."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from experiments import coco, engineering
from experiments.coco import BOOK, Run, read, run_one, score
from experiments.small_peers import solver
from experiments.solvers import MORE_PEERS, Enough, Task, _recommended
from experiments.suites import Key, optimum, problem
from experiments.tasks import TARGETS
from saltus import Float, Int, Ordinal, Space
from saltus._typing import FloatArray


class Bowl(Task):
    """A bowl over an uneven grid, integers and floats, with a constraint."""

    def __init__(self) -> None:
        super().__init__(Space([Ordinal([1.0, 2.0, 10.0]), Int(-5, 20), Float(-3, 3)]))
        self.seen: list[FloatArray] = []

    def measure(self, x: FloatArray) -> tuple[float, float]:
        if len(self.seen) == 600:
            raise Enough
        self.seen.append(np.array(x))
        value = abs(x[0] - 2) + abs(x[1] - 7) + (x[2] - 1) ** 2
        return float(value), float(max(0.0, 0.5 - x[2]))


@pytest.mark.parametrize("method", ["saltus-es", "dx-nes-ici", "saltus-es without sweep", *MORE_PEERS])
def test_solvers_stay_on_the_grids_and_get_better(method: str) -> None:
    task = Bowl()
    if method == "TPE":
        task.seen = [np.zeros(3)] * 500  # it is slow
    if method == "CMAwM":
        pytest.skip("even grids only")
    with pytest.raises(Enough):
        solver(method)(task, np.random.default_rng(1))
    x = np.array([row for row in task.seen if row.any()])
    assert set(x[:, 0]) <= {1.0, 2.0, 10.0}
    assert np.all((x[:, 1] == np.rint(x[:, 1])) & (x[:, 1] >= -5) & (x[:, 1] <= 20))
    assert np.all(np.abs(x[:, 2]) <= 3)
    values = np.abs(x[:, 0] - 2) + np.abs(x[:, 1] - 7) + (x[:, 2] - 1) ** 2 + 100 * (x[:, 2] < 0.5)
    assert values.min() < 1.0


def test_the_optimum_is_the_best_value_of_a_problem() -> None:
    one = problem(5, 1, 1)
    best = optimum(one)
    assert one.final_target_hit
    rng = np.random.default_rng(1)
    for _ in range(100):
        x = rng.uniform(one.lower_bounds, one.upper_bounds)
        assert one(x) >= best


def command(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    """The command line of the harness, in this process: to import all peers anew takes seconds."""
    monkeypatch.setattr(sys, "argv", ["coco", *words])
    coco.main()


def test_the_exam_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="instances are 1 to 6, got 7"):
        problem(5, 1, 7)
    with pytest.raises(SystemExit) as ended:
        command(monkeypatch, "run", "--instances", "7")
    assert ended.value.code == 2
    assert "invalid choice: 7" in capsys.readouterr().err


def test_scores() -> None:
    all_at_once = Run(1000, (5,) * len(TARGETS))
    assert score([all_at_once], 5, 1000) == (1.0, 1.0)
    at_the_end = Run(1000, (5000,) * len(TARGETS))
    assert score([at_the_end], 5, 1000) == pytest.approx((1.0, 0.0))
    nothing = Run(1000, ())
    assert score([all_at_once, nothing], 5, 1000) == (0.5, 0.5)


def test_a_long_run_serves_as_a_short_one_but_not_the_other_way_round(tmp_path: Path) -> None:
    file = tmp_path / "coco.csv"
    short, long = Key("a", 5, 1, 1, 0), Key("b", 5, 1, 1, 0)
    rows = [
        BOOK.header,
        BOOK.row((short, 10), Run(10, (3, 40))),
        BOOK.row((long, 100), Run(100, (3, 60, 400))),
    ]
    file.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    assert read(file, 10) == {short: Run(10, (3, 40)), long: Run(10, (3,))}
    assert read(file, 100) == {long: Run(100, (3, 60, 400))}


def test_the_default_solves_the_sphere_of_the_suite() -> None:
    run = run_one((Key("saltus-es", 5, 1, 1, 0), 1000))
    assert len(run.hits) == len(TARGETS)
    assert run.hits[-1] < 500
    assert run == run_one((Key("saltus-es", 5, 1, 1, 0), 1000))


def test_run_show_and_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # the harness sets them for its own process
    file = tmp_path / "coco.csv"
    options = ["--dims", "5", "--instances", "1", "--functions", "1", "5", "--seeds", "1", "--budget", "50"]
    options += ["--methods", "saltus-es", "DE", "--file", str(file)]
    for _ in range(2):
        command(monkeypatch, "run", *options, "--jobs", "1")
        assert len(file.read_text().splitlines()) == 1 + 4
    capsys.readouterr()
    command(monkeypatch, "show", *options, "--json")
    scores = json.loads(capsys.readouterr().out)
    assert scores["saltus-es"]["5"][0][0] > scores["DE"]["5"][0][0]
    command(monkeypatch, "plot", *options)
    assert (tmp_path / "coco-ecdf-50.png").read_bytes().startswith(b"\x89PNG")


def test_what_an_optimizer_recommends() -> None:
    assert _recommended(SimpleNamespace()) is None  # type: ignore[arg-type]
    found = SimpleNamespace(recommended=SimpleNamespace(params=(1.0, 2)))
    assert _recommended(found).tolist() == [1.0, 2.0]  # type: ignore[arg-type,union-attr]


def test_the_weak_functions_are_named(tmp_path: Path) -> None:
    file = tmp_path / "coco.csv"
    o = argparse.Namespace(
        dims=[5], functions=[1, 2], instances=[4, 5, 6], methods=["saltus-es", "pycma"], budget=10, file=file,
        seeds=1, first_seed=0,
    )  # fmt: skip
    hits = {
        ("saltus-es", 1): (1, 1, 2),
        ("pycma", 1): (3, 3, 4),
        ("saltus-es", 2): (1, 4, 7),
        ("pycma", 2): (5,) * 3,
    }
    rows = [
        BOOK.row((Key(method, 5, f, i, 0), 10), Run(10, (3,) * n))
        for (method, f), counts in hits.items()
        for i, n in zip(o.instances, counts, strict=True)
    ]
    file.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    assert coco.weak(o, 0.5) == "f1 at D = 5: 0.03 against 0.07"
    assert coco.weak(o, 0.9) == "f1 at D = 5: 0.03 against 0.07; f2 at D = 5: 0.08 against 0.10"
    assert coco.weak(o, 0.9, surely=True) == "f1 at D = 5: 0.03 against 0.07"  # f2 may be chance


def test_an_engineering_trial() -> None:
    trial = engineering.run_one(engineering.Key("SpeedReducer", "saltus-es", 0))
    assert trial.success
    assert trial.evaluations < 3000
    assert trial.best <= 1.001 * engineering.PROBLEMS["SpeedReducer"].best
    text = engineering.table({engineering.Key("SpeedReducer", "saltus-es", 0): trial}, ["saltus-es", "DE"], 1)
    assert f"| SpeedReducer | {trial.evaluations:,} |" in text
