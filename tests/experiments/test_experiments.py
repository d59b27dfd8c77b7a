"""The experiments still run: a trial of each, and what is done with trials."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from experiments import basis, beyond, bounds, embed, ends, paper, published, scale, ties
from experiments.harness import Summary, Trial, summary
from experiments.record import HEADER, Cell, complete, read
from experiments.runs import beyond_limits, paper_trial
from saltus import Optimizer, Stop
from saltus.problems import PAPER
from saltus.space import fold as fold
from saltus.space import variable
from saltus.strategy import STRATEGIES, Integers
from saltus.strategy.margin import Margin

ROOT = Path(__file__).resolve().parents[2]


def test_one_trial_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variable, "DEFAULT_SHARE", variable.DEFAULT_SHARE)  # restored afterwards
    monkeypatch.setattr(Integers, "overshoot", Integers.overshoot)
    monkeypatch.setattr(Margin, "equals_share", Margin.equals_share)
    monkeypatch.setattr(fold, "SHARE_OF_RANGE", fold.SHARE_OF_RANGE)
    assert basis.trial(3, 20, False, 0).success
    assert bounds.trial("fold 10%", "corner", 4, 0).success
    assert scale.trial(0.2, "EllipsoidInt", 10, 0)[0].success
    assert ends.trial("Int(0, 100)", 1, "by overshoot", 0)
    trapped = {rule: ties.trial(rule, "ReversedEllipsoidInt", 20, 11) for rule in ties.RULES}
    assert trapped["shared"].evaluations < trapped["by order"].evaluations / 2


def test_summary() -> None:
    s = summary([Trial(True, 10), Trial(True, 14), Trial(False, 99)])
    assert (s.trials, s.successes, s.mean, s.iqr, s.per_success) == (3, 2, 12.0, 2.0, 61.5)
    assert str(s) == "12 ± 4 (2/3)"
    assert str(summary([Trial(True, 10), Trial(False, 99)])) == "10 (1/2)"
    assert str(summary([Trial(False, 5)])) == "0/1"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_trial_is_what_the_optimizer_does(strategy: str) -> None:
    problem, population, seed = PAPER[2](10), 10, 3
    rng = np.random.default_rng(seed)
    optimizer = Optimizer(
        problem.space, strategy=strategy, population=population, mean=problem.start(rng), sigma=1.0, seed=rng
    )
    while optimizer.evaluations < 10**5 and optimizer.stop is not Stop.CONDITION:
        candidates = optimizer.ask()
        optimizer.tell(candidates, problem.fun(np.array([c.params for c in candidates])))
        assert optimizer.best is not None
        if optimizer.best.value < 1e-10:
            break
    assert optimizer.best is not None
    expected = Trial(optimizer.best.value < 1e-10, optimizer.evaluations, optimizer.best.value)
    assert paper_trial(problem, population, seed=seed, strategy=strategy) == expected


@pytest.mark.parametrize(
    ("sigma", "eigenvalues", "failed"),
    [
        (1.0, [1.0, 1e-13], False),
        (1.0, [1.0, 1e-15], True),
        (2e-15, [1.0], False),
        (0.9e-15, [1.0, 2.0], True),
    ],
)
def test_the_papers_limits_of_the_covariance_matrix(
    sigma: float, eigenvalues: list[float], failed: bool
) -> None:
    assert beyond_limits(sigma, np.array(eigenvalues)) == failed


CELLS = [Cell("SphereOneMax", 4, "dx-nes-ici", size) for size in (4, 6)]


def test_trials_are_kept_and_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "trials.csv"
    first = complete(CELLS, 3, paper.run, path, jobs=1)
    lines = path.read_text().splitlines()
    assert lines[0] == ",".join(HEADER)
    assert len(lines) == 1 + 6
    path.write_text("\n".join(lines[:4]) + "\n" + lines[4][:-3])  # the machine died in the middle of a line
    again = complete(CELLS, 3, paper.run, path, jobs=1)
    assert len(path.read_text().splitlines()) == 1 + 6
    for cell in CELLS:
        for seed in range(3):
            assert again[cell][seed] == first[cell][seed]
    before = path.read_text()
    complete(CELLS, 2, paper.run, path, jobs=1)  # fewer are asked for than there are
    assert path.read_text() == before


def test_a_foreign_line_in_the_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    path.write_text(",".join(HEADER) + "\nSphereOneMax,4,dx-nes-ici,four,0,1,100,0\n")
    with pytest.raises(SystemExit, match=r"line 2: expected function,N,.* got 'SphereOneMax,4,"):
        read(path)


def _alive(group: int) -> bool:
    """Whether a process of this group is running."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True)
    return any(
        pgid == str(group) and not stat.startswith("Z")
        for pgid, stat in map(str.split, listed.stdout.splitlines())
    )


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_keeps_what_is_finished(tmp_path: Path, way: signal.Signals) -> None:
    command = [sys.executable, "-m", "experiments.paper", "table2", "--dims", "20", "--trials", "50"]
    process = subprocess.Popen(
        [*command, "--methods", "dx-nes-ici", "--out", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    record = tmp_path / "trials.csv"
    deadline = time.monotonic() + 60
    while not (record.exists() and len(record.read_text().splitlines()) > 12):  # all workers are up
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    if way is signal.SIGINT:
        os.killpg(process.pid, way)  # as a terminal does: to all processes
    else:
        process.send_signal(way)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "The same command goes on." in errors
    assert "Traceback" not in errors
    assert sum(len(trials) for trials in read(record).values()) >= 4
    deadline = time.monotonic() + 20
    while _alive(process.pid):  # no worker goes on alone
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_agreement_with_the_paper() -> None:
    cell = Cell("EllipsoidInt", 20, "cma-es-margin", 10)

    def row(successes: int, mean: float, half_width: float) -> paper.Row:
        ours = Summary(100, successes, mean, half_width, 0.0, mean)
        return paper.Row(cell, ours, published.Published(80, 1000.0, 50.0, 10))

    assert row(80, 1000, 1).agreement == "yes"
    assert row(73, 1049, 1).agreement == "yes"
    assert row(80, 1200, 250).agreement == "yes"
    assert row(65, 1000, 1).agreement == "no: successes (two samples: p = 0.03)"
    assert row(80, 1051, 1).agreement == "no: evaluations"
    assert row(0, math.nan, math.nan).agreement.endswith("p = 0.00) and evaluations")
    assert row(80, 1000, 1)._replace(paper=None).agreement == "-"


def test_the_best_population_has_the_most_successes_then_the_fewest_evaluations() -> None:
    cell = CELLS[0]
    rows = [
        paper.Row(cell._replace(population=k), Summary(100, s, mean, 1, 1, mean), None)
        for k, (s, mean) in enumerate([(99, 10.0), (100, 30.0), (100, 20.0), (0, math.nan)])
    ]
    assert paper.best_of(rows).cell.population == 2


def test_table_figures_and_sweep_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(published, "SWEEP", (8, 10, 12))
    common = [
        "--functions",
        "SphereOneMax",
        "--dims",
        "20",
        "--trials",
        "2",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    ]
    monkeypatch.setattr(sys, "argv", ["paper", "table2", *common, "--methods", "dx-nes-ici", "--json"])
    paper.main()
    (row,) = json.loads(capsys.readouterr().out)["table2"]
    assert (row["population"], row["successes"], row["paper_evaluations"]) == (8, 2, 1962)
    assert "| SphereOneMax | 20 | dx-nes-ici | 2/2 | 100/100 |" in (tmp_path / "table2.md").read_text()
    assert (tmp_path / "table2.csv").read_text().startswith("function,N,method,population,trials,successes")

    monkeypatch.setattr(sys, "argv", ["paper", "table2", *common, "--population", "sweep"])
    paper.main()
    assert "table2" in capsys.readouterr().out
    assert "| SphereOneMax | 20 | dx-nes-ici | " in (tmp_path / "table2-sweep.md").read_text()
    assert len((tmp_path / "table2-sweep.csv").read_text().splitlines()) == 1 + 6
    for name in ("table2-sweep.png", "table2-sweep.svg"):
        assert (tmp_path / name).stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table5"], "invalid choice: 'table5'"),
        (["table2", "--population", "7"], "expected paper, sweep or an even number from 4 on, got 7"),
        (["table2", "--dims", "21"], "expected even numbers from 2 on, got 21"),
        (["table2", "--trials", "0"], "expected a positive whole number, got 0"),
        (["table2", "--trials", "ten"], "expected a positive whole number, got ten"),
        (["table2", "--out", __file__], "expected a folder, got the file"),
        (["figure5", "--dims", "20", "--trials", "3"], "figure5 has no --trials and no --dims"),
        (["table2", "--methods", "dx-nes"], "invalid choice: 'dx-nes'"),
    ],
)
def test_wrong_options_are_named(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        paper.options(arguments)
    assert message in capsys.readouterr().err


def test_a_dimension_without_a_published_population_is_named() -> None:
    with pytest.raises(SystemExit, match="the paper has no N = 10; give a number, or sweep"):
        paper.populations(("EllipsoidInt", 10, "dx-nes-ici"), "paper")


def test_the_published_cells_are_complete() -> None:
    assert len(published.TABLE2) == 24
    assert published.population("EllipsoidInt", 80, "dx-nes-ic+leap") == 22
    assert published.population("EllipsoidInt", 80, "cma-es+leap") == 20


@pytest.mark.parametrize("question", ["cma-leap", "epistasis", "epistasis-40", "shares"])
def test_problems_beyond_the_paper_have_their_optimum_on_the_lattice(question: str) -> None:
    for function in beyond.QUESTIONS[question].functions:
        problem, _ = beyond.instance(function, 20, seed=1)
        switches = [v.range() == (-0.5, 1.5) for v in problem.space.variables]
        optimum = np.array([switches], dtype=float)
        np.testing.assert_array_equal(problem.fun(optimum), [0.0])
        assert problem.fun(optimum + 1.0 - 2.0 * optimum)[0] >= 1.0 - 1e-9


@pytest.mark.parametrize("kind", beyond.KINDS)
def test_every_kind_of_integer_is_solved(kind: str) -> None:
    cell = Cell(f"domain/ellipsoid/{kind}", 4, "dx-nes-ici", 12)
    assert beyond.run(cell, 0).best < 1e-10


@pytest.mark.parametrize("peer", beyond.PEERS)
@pytest.mark.parametrize("function", ["share/tablet/50", "share/one-max/50", "domain/tablet/2 values"])
def test_peers_solve_what_they_should(peer: str, function: str) -> None:
    trial = beyond.run(Cell(function, 10, peer, 10), 0)
    assert trial.success
    assert trial.evaluations < 8000


def test_difference_compares_successes_then_values() -> None:
    fast, slow = (
        [Trial(True, 100 + i, 0.0) for i in range(10)],
        [Trial(True, 200 + i, 0.0) for i in range(10)],
    )
    stuck, worse = (
        [Trial(False, 9, 1.0 + i) for i in range(10)],
        [Trial(False, 9, 50.0 + i) for i in range(10)],
    )
    assert beyond.difference(slow, fast) == 1
    assert beyond.difference(fast, slow) == -1
    assert beyond.difference(stuck, slow) == 1
    assert beyond.difference(stuck, worse) == -1
    assert beyond.difference(fast, fast) == 0
    uneven = [Trial(True, 10, 0.0)] * 14 + [Trial(True, 30 + i, 0.0) for i in range(6)]
    assert beyond.difference(uneven, [Trial(True, 20, 0.0)] * 20) == -1
    reliable, lucky = [Trial(True, 500, 0.0)] * 20, [Trial(True, 300, 0.0)] * 11 + [Trial(False, 9, 1.0)] * 9
    assert beyond.difference(lucky, reliable) == 1
    assert beyond.quality(reliable) < beyond.quality(lucky) < beyond.quality(stuck) < beyond.quality(worse)
    assert beyond.entry(fast) == "104"
    assert beyond.entry(fast[:1] + stuck[:1]) == "100 (1/2)"
    assert beyond.entry(stuck) == "f = 5.5 (0/10)"


def test_the_documents_show_the_tables_as_they_are() -> None:
    assert (embed.DOCS / "results.md").read_text().count("<!-- table: ") >= 8
    for path in embed.DOCS.glob("*.md"):
        text = path.read_text()
        assert len(embed.PLACE.findall(text)) == text.count("<!-- table")
        assert embed.embedded(text) == text, f"{path.name}: run python -m experiments.embed"


def test_the_cost_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # the module sets them for its own process
    from experiments import cost

    figures = {10: cost.measure(10, rounds=1)}
    assert set(figures[10]) == set(cost.METHODS)
    lines = cost.table(figures)
    assert lines[0].startswith("| N | saltus dx-nes-ici")
    assert any("the nearest peer" in line for line in lines)
