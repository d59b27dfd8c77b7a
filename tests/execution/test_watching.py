"""Who looks on: `on_evaluation`, and the log."""

from __future__ import annotations

import logging
import math
import re
from pathlib import Path
from subprocess import run
from sys import executable, modules
from typing import Any
from unittest.mock import MagicMock

import pytest

from saltus import Evaluation, Space, Stop, minimize

from ..objectives import SPACE, bowl, constrained, fails_sometimes, slow_bowl
from ..study.studies import DISCRETE, distance, made

ROOT = Path(__file__).parents[2]
LEVELS = ("DEBUG", "INFO", "WARNING")


def seen_by(fun: Any, space: Space = SPACE, **given: Any) -> list[Evaluation]:
    seen: list[Evaluation] = []
    minimize(fun, space, seed=1, on_evaluation=seen.append, **given)
    return seen


def test_every_evaluation_is_seen_once_in_the_order_asked() -> None:
    seen = seen_by(slow_bowl, budget=60, workers=2, strategy="saltus-es")
    assert [e.number for e in seen] == [*range(1, 61)]
    assert [e.id for e in seen] == [*range(60)]
    assert all(e.value == bowl(e.params) and e.seconds > 0 and e.feasible for e in seen)
    best = math.inf
    for e in seen:
        assert e.improved == (e.value < best)
        best = min(best, e.value)


def test_what_is_answered_from_memory_is_no_evaluation(tmp_path: Path) -> None:
    calls: list[Any] = []

    def fun(p: dict[str, Any]) -> float:
        calls.append(p)
        return distance(p)

    seen = seen_by(fun, DISCRETE, budget=300)
    assert [e.params for e in seen] == calls
    assert len({tuple(e.params.items()) for e in seen}) == len(seen)
    calls.clear()
    seen.clear()
    made(tmp_path, DISCRETE).optimize(fun, budget=300, on_evaluation=seen.append)
    assert [e.params for e in seen] == calls


def test_constraints_and_failures() -> None:
    seen = seen_by(constrained, budget=20)
    assert all(e.constraints for e in seen)
    assert {e.feasible for e in seen} == {e.violation == 0 for e in seen}
    seen = seen_by(fails_sometimes, budget=60, on_error="infeasible", strategy="saltus-es")
    failed = [e for e in seen if e.reason]
    assert failed
    assert all(e.reason.startswith("ArithmeticError: no value at k=") for e in failed if e.reason)
    assert all(math.isnan(e.value) and not (e.feasible or e.improved) for e in failed)


@pytest.mark.parametrize("raising", [False, True])
@pytest.mark.parametrize("given", [{}, {"asynchronous": True}, {"strategy": "saltus-es"}])
def test_it_stops_the_search_at_once(raising: bool, given: dict[str, Any]) -> None:
    def watch(evaluation: Evaluation) -> bool:
        if evaluation.number == 17 and raising:
            raise StopIteration
        return evaluation.number == 17

    result = minimize(bowl, SPACE, budget=100, seed=1, on_evaluation=watch, **given)
    assert (result.stop, result.nfev) == (Stop.CALLBACK, 17)


def test_a_study_goes_on_where_it_stopped_and_goes_on_counting(tmp_path: Path) -> None:
    study = made(tmp_path)
    seen: list[Evaluation] = []

    def watch(evaluation: Evaluation) -> bool:
        seen.append(evaluation)
        return evaluation.number == 23

    assert study.optimize(bowl, budget=60, on_evaluation=watch).stop is Stop.CALLBACK
    assert study.optimize(bowl, budget=60, on_evaluation=watch).stop is Stop.BUDGET
    assert [e.number for e in seen] == [*range(1, 61)]
    trials = {t.id: t for t in study.trials()}
    assert all(trials[e.id].value == e.value for e in seen)
    assert sum(e.improved for e in seen) == len({min(e.value for e in seen[: i + 1]) for i in range(60)})


def test_points_that_are_evaluated_again_are_seen(tmp_path: Path) -> None:
    study = made(tmp_path)
    study.optimize(bowl, budget=20)
    study.reevaluate(4)
    seen: list[Evaluation] = []
    study.optimize(lambda p: bowl(p) + 1, budget=10, on_evaluation=seen.append)
    assert [e.number for e in seen] == [*range(1, 11)]


def test_what_it_raises_is_raised() -> None:
    def watch(evaluation: Evaluation) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        minimize(bowl, SPACE, budget=100, seed=1, on_evaluation=watch)
    with pytest.raises(TypeError, match="on_evaluation must be callable, or None, got 3"):
        minimize(bowl, SPACE, on_evaluation=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("real", [False, True], ids=["stand-in", "mlflow"])
def test_the_recipe_for_mlflow(real: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in, and with the real one where it is installed (`pip install mlflow-skinny`)."""
    if real:
        monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        pytest.importorskip("mlflow").set_tracking_uri(tmp_path.as_uri())
    else:
        said = MagicMock()
        monkeypatch.setitem(modules, "mlflow", said)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "terminal.md").read_text(), re.DOTALL)
    (recipe,) = (block for block in blocks if "import mlflow" in block)
    names: dict[str, Any] = {}
    exec(recipe, names)
    if not real:
        steps = [call.kwargs["step"] for call in said.log_metrics.call_args_list]
        assert steps == [*range(1, 41)]
        assert {*said.log_metrics.call_args.args[0]} == {"value", "seconds", "mass"}
        assert said.log_metric.call_args.args == ("best", names["result"].fun)
        said.log_params.assert_called_once_with(names["result"].params)


def test_the_log_says_what_happens(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "saltus")
    result = minimize(fails_sometimes, SPACE, budget=400, seed=1, on_error="infeasible", strategy="saltus-es")
    said = {level: [r.getMessage() for r in caplog.records if r.levelname == level] for level in LEVELS}
    assert said["INFO"][0] == "the search begins: 0 of 400 evaluations, 3 variables, strategy saltus-es"
    assert (
        said["INFO"][-1] == "the search stopped after 400 evaluations: The budget of evaluations was used up."
    )
    best = [line for line in said["INFO"] if "new best" in line]
    assert best[-1].endswith(f"new best {result.fun:.6g}")
    assert sum("restart" in line for line in said["INFO"]) == result.restarts > 0
    assert len(said["WARNING"]) == result.failures > 0
    assert any("phase " in line for line in said["DEBUG"])


def test_nothing_is_printed_unless_somebody_wants_to_read_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from saltus import Float, Space, minimize\n"
        "minimize(lambda p: 1 / 0, Space({'x': Float(0, 1)}), budget=3, on_error='infeasible')\n"
    )
    done = run([executable, str(script)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
