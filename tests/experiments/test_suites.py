"""COCO's suites: their problems, and the command line that they share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from experiments import coco
from experiments.small_peers import ALL_PEERS
from experiments.suites import INSTANCES, NOISY, SUITES, Suite, optimum, problem
from saltus.search.settings import STRATEGIES


@pytest.fixture(params=SUITES.values(), ids=list(SUITES))
def suite(request: pytest.FixtureRequest) -> Suite:
    found: Suite = request.param
    return found


def test_instances_have_their_own_numbers_and_the_exam_is_refused(suite: Suite) -> None:
    D, function = suite.dims[0], suite.functions[0]
    for instance in INSTANCES:
        assert f"_i{instance:02}_" in problem(D, function, instance, suite.name).id
    for instance in (0, 7, 15, 71):
        with pytest.raises(ValueError, match=f"instances are 1 to 6, got {instance}"):
            problem(D, function, instance, suite.name)


def test_the_optimum_is_known(suite: Suite) -> None:
    if suite.name == NOISY:
        pytest.skip("see test_noise.py")
    for function in suite.functions:
        coco_problem = problem(suite.dims[0], function, 1, suite.name)
        best = optimum(coco_problem)
        assert coco_problem.final_target_hit or suite.measure == "feasible"
        assert coco_problem(coco_problem.initial_solution) >= best or suite.measure == "feasible"


def test_every_method_is_known_and_ours_comes_first(suite: Suite) -> None:
    assert suite.methods[0] == "saltus"
    assert all(name in ALL_PEERS or name in STRATEGIES for name in (*suite.methods, *suite.slow))
    assert suite.file.parent.name == "results"


def test_files_are_not_shared() -> None:
    assert len({suite.file for suite in SUITES.values()}) == len(SUITES)


def test_data_for_coco_are_written(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [
        "data",
        "--suite",
        suite.name,
        "--dims",
        str(suite.dims[0]),
        "--functions",
        str(suite.functions[6]),
    ]
    monkeypatch.setattr(sys, "argv", ["coco", *words, "--budget", "2", "--methods", "dx-nes-ici"])
    coco.main()
    folder = tmp_path / "out" / "exdata" / f"{suite.name}-dx-nes-ici"
    (info,) = folder.glob("*.info")
    runs = info.read_text().splitlines()[2].split(", ")[1:]
    assert [run.partition(":")[0] for run in runs] == list(map(str, INSTANCES))
    assert f"cocopp out/exdata/{folder.name}" in capsys.readouterr().out


def test_each_suite_has_its_own_defaults(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["coco", "show", "--suite", suite.name, "--file", str(tmp_path / "no")])
    coco.main()
    shown = capsys.readouterr().out
    assert all(f"D = {D}" in shown for D in suite.dims)
    monkeypatch.setattr(sys, "argv", ["coco", "run", "--suite", suite.name, "--instances", "7"])
    with pytest.raises(SystemExit):
        coco.main()
    assert "invalid choice: 7" in capsys.readouterr().err


def test_a_suite_that_there_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["coco", "show", "--suite", "bbob-biobj"])
    with pytest.raises(SystemExit):
        coco.main()
    assert "argument --suite: invalid choice: 'bbob-biobj'" in capsys.readouterr().err
