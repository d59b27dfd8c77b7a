"""The comparison through Optuna still runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import optuna
import pytest

from experiments import optuna_compare as compare
from experiments import optuna_overhead as overhead
from experiments.optuna_problems import FUNCTIONS, TUNING, problem_of
from experiments.optuna_samplers import CATCMAWM, GIVEN, SALTUS, SAMPLERS, CatCMAwMSampler


def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool would spend its seconds on imports."""

    def run(book, missing, run, path, jobs, total):  # type: ignore[no-untyped-def]
        with path.open("a") as file:
            for key in missing:
                file.write(",".join(f'"{word}"' for word in book.row(key, run(key))) + "\n")

    monkeypatch.setattr("experiments.record.Book.run", run)


def test_a_tiny_part_end_to_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one_process(monkeypatch)
    compare.main(["functions", "--seeds", "1", "--trials", "14", "--out", str(tmp_path)])
    text = (tmp_path / "optuna-functions.md").read_text()
    assert text.count("\n| ") == 1 + len(FUNCTIONS) * len(compare.METHODS["functions"])
    assert re.search(r"trial by trial, in 4 of 4 runs", text)
    monkeypatch.setattr(compare, "run_one", None)  # all is there: nothing is run again
    compare.main(["functions", "--seeds", "1", "--trials", "14", "--out", str(tmp_path)])
    assert "4 of 4" in capsys.readouterr().out


def test_a_part_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        compare.main(["function"])
    assert "expected functions, tuning, overhead, got function" in capsys.readouterr().err


@pytest.mark.parametrize("name", TUNING)
def test_tuning_is_deterministic(name: str) -> None:
    values = compare.values_of(problem_of(name, 0), CATCMAWM, 1, 1)
    assert values == compare.values_of(problem_of(name, 0), CATCMAWM, 1, 1)
    assert 0 < values[0] < 2


def test_optima_are_in_the_box_and_not_in_the_middle() -> None:
    for name in FUNCTIONS:
        problem = problem_of(name, 0)
        middle = dict.fromkeys(problem.space, 0)
        assert problem.value(middle) > 1


def test_our_sampler_around_catcmawm_finds_the_optimum() -> None:
    space = {
        "x": optuna.distributions.FloatDistribution(1e-3, 1e3, log=True),
        "k": optuna.distributions.IntDistribution(1, 64, log=True),
        "step": optuna.distributions.FloatDistribution(0, 1, step=0.25),
        "word": optuna.distributions.CategoricalDistribution(("a", "b", "c")),
    }
    study = optuna.create_study(sampler=CatCMAwMSampler(0), direction="maximize")
    for _ in range(200):
        trial = study.ask(space)
        p = trial.params
        loss = np.log(p["x"]) ** 2 + (np.log2(p["k"]) - 3) ** 2 + (p["step"] - 0.75) ** 2
        study.tell(trial, -float(loss) - (p["word"] != "b"))
    assert study.best_value > -0.05
    assert study.best_params["word"] == "b"


def test_the_time_of_a_trial_is_shared_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one_process(monkeypatch)
    monkeypatch.setattr(overhead, "STUDIES", {"memory": 1, "SQLite": 1})
    monkeypatch.setattr(overhead, "SPACE", dict(list(overhead.SPACE.items())[:2]))  # databases are slow
    monkeypatch.setattr(overhead, "EARLY", 3)
    monkeypatch.setattr(overhead, "LATE", 6)
    monkeypatch.setattr(overhead, "GENERATION", 2)
    monkeypatch.setattr(overhead, "GENERATIONS", {"memory": 1, "SQLite": 1})
    monkeypatch.setattr(overhead, "METHODS", [GIVEN])
    text = overhead.table(tmp_path, 1)
    assert re.search(
        r"\| SQLite \| 6 \| SaltusSampler\(search_space\) \| \d+\.\d\d \| \d+\.\d\d \| 1 \| \d+ \|", text
    )
    study = optuna.create_study(sampler=(timed := overhead.Timed(SAMPLERS[SALTUS](0, overhead.SPACE))))
    inside, rest = overhead.measure(study, timed, 5)
    assert inside > 0
    assert rest > 0
