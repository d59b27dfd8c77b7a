"""`minimize`, with and without waiting for a whole batch."""

from __future__ import annotations

import json
import math
import os
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from subprocess import run
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.optimize import Bounds, OptimizeResult

from saltus import (
    Bool,
    Categorical,
    Float,
    Int,
    ObjectiveError,
    Optimizer,
    Result,
    Space,
    Stop,
    WorkerError,
    minimize,
)
from saltus.plot import convergence
from saltus.problems import ellipsoid_int, sphere_one_max

from . import objectives
from .objectives import SPACE, Interrupted, bowl, constrained, fails_sometimes, slow_bowl


def essence(result: Result) -> Any:
    history = [result.history.evaluations.tolist(), result.history.best.tolist()]
    return result.params, result.fun, result.nfev, result.nit, result.restarts, history


def test_a_first_result() -> None:
    result = minimize(bowl, SPACE, budget=1500, target=1e-8, seed=1)
    assert result.params == {"x": pytest.approx(1, abs=1e-4), "k": 7, "on": True}
    assert result.success
    assert result.stop is Stop.TARGET
    assert result.fun == bowl(result.params) <= 1e-8
    assert result.x is not None
    assert result.x.tolist() == [result.params["x"], 7.0, 1.0]
    assert result.nfev <= 1500
    text = str(result)
    assert "k=7" in text
    assert "The target was reached." in text
    assert np.all(np.diff(result.history.best) <= 0)
    assert result.history.evaluations[-1] == result.nfev
    assert len(result.history) == len(result.history.population)


def test_budget_is_kept_to_the_evaluation() -> None:
    calls = []

    def fun(p: dict[str, Any]) -> float:
        calls.append(p)
        return bowl(p)

    for budget in (1, 5, 23, 100):
        calls.clear()
        result = minimize(fun, SPACE, budget=budget, seed=1)
        assert len(calls) == result.nfev == budget
        assert result.stop is Stop.BUDGET
        assert result.success


def test_the_target_stops_at_once() -> None:
    calls: list[float] = []

    def fun(p: dict[str, Any]) -> float:
        calls.append(bowl(p))
        return calls[-1]

    result = minimize(fun, SPACE, budget=2000, target=1.0, seed=1)
    assert calls[-1] == result.fun <= 1.0
    assert min(calls[:-1]) > 1.0


def test_maximize_is_the_mirror_image() -> None:
    down = minimize(bowl, SPACE, budget=300, seed=4, target=0.5)
    up = minimize(lambda p: -bowl(p), SPACE, budget=300, seed=4, target=-0.5, maximize=True)
    assert up.params == down.params
    assert up.fun == -down.fun
    assert up.stop is Stop.TARGET
    np.testing.assert_array_equal(up.history.best, -down.history.best)


def test_restarts_double_the_population_until_the_budget() -> None:
    space = Space([Int(0, 3), Int(0, 3)])
    result = minimize(lambda x: float(x.sum()), space, budget=5000, seed=1, strategy="dx-nes-ici", noisy=True)
    assert result.restarts >= 2
    assert result.nfev == 5000
    whole = result.history.population[:-1]  # the budget may cut the last one
    assert set(np.diff(np.log2(np.unique(whole)))) == {1.0}


@pytest.mark.parametrize("strategy", ["saltus-es", "dx-nes-ici"])
def test_without_restarts_it_stops_when_it_has_converged(strategy: str) -> None:
    space = Space([Int(0, 3), Int(0, 3)])
    once = minimize(lambda x: float(x.sum()), space, budget=5000, seed=1, strategy=strategy, restarts=False)
    assert once.nfev < 1000
    assert once.restarts == 0
    assert once.stop in (Stop.FLAT, Stop.CONVERGED)
    assert once.success


def test_restarts_escape_a_local_optimum() -> None:
    def two_valleys(p: dict[str, Any]) -> float:
        deep = (p["x"] - 3) ** 2 + (p["k"] - 18) ** 2
        wide = 5 + 0.05 * ((p["x"] + 2) ** 2 + (p["k"] - 6) ** 2)
        return float(min(deep, wide))

    for seed in (1, 2, 3):
        how: dict[str, Any] = {"strategy": "saltus-es", "budget": 8000, "target": 1e-6, "seed": seed}
        assert not minimize(two_valleys, SPACE, restarts=False, **how).success
        assert minimize(two_valleys, SPACE, **how).success
    assert minimize(two_valleys, SPACE, **how | {"strategy": "saltus"}).success


ES: dict[str, Any] = {"strategy": "saltus-es", "budget": 60}


@pytest.mark.parametrize(
    ("fun", "how"),
    [
        *((fun, ES) for fun in (bowl, fails_sometimes, constrained, objectives.fails_with_its_own_exception)),
        (constrained, {"batch": 3, "budget": 20}),
    ],
)
def test_workers_change_nothing(fun: Any, how: dict[str, Any]) -> None:
    """The same seed and batch give the same search, whatever evaluates it."""
    kwargs: dict[str, Any] = {"seed": 7, "target": 1e-3, "on_error": "infeasible", **how}
    alone = minimize(fun, SPACE, **kwargs)
    assert essence(minimize(fun, SPACE, workers=2, **kwargs)) == essence(alone)
    with ThreadPoolExecutor(3) as pool:
        assert essence(minimize(fun, SPACE, executor=pool, **kwargs)) == essence(alone)
        if fun is bowl:
            assert essence(minimize(slow_bowl, SPACE, executor=pool, **kwargs)) == essence(alone)


def test_workers_are_only_the_default_of_batch() -> None:
    kwargs: dict[str, Any] = {"budget": 20, "seed": 7}
    alone, two = (essence(minimize(bowl, SPACE, workers=workers, **kwargs)) for workers in (1, 2))
    assert alone == essence(minimize(bowl, SPACE, workers=2, batch=1, **kwargs))
    assert two == essence(minimize(bowl, SPACE, batch=2, **kwargs))
    assert alone != two


def test_workers_have_one_blas_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "8")
    assert minimize(objectives.blas_threads, SPACE, budget=4, workers=2, seed=1).fun == 1.0
    assert os.environ["OPENBLAS_NUM_THREADS"] == "8"
    assert "OMP_NUM_THREADS" not in os.environ


def test_an_exception_is_raised_with_its_cause_and_the_state() -> None:
    for workers in (1, 2):
        with pytest.raises(ObjectiveError, match="ArithmeticError: no value at k=") as caught:
            minimize(fails_sometimes, SPACE, budget=400, seed=1, workers=workers)
        assert isinstance(caught.value.__cause__, ArithmeticError)
        assert caught.value.params["k"] % 5 == 4
        optimizer = Optimizer.restore(caught.value.optimizer.state())
        assert caught.value.params in [c.params for c in optimizer.pending]
        for c in optimizer.pending:
            optimizer.tell(c, math.nan)
        assert not optimizer.pending


def test_an_exception_that_cannot_travel_is_described() -> None:
    with pytest.raises(ObjectiveError, match="3: bad mesh") as caught:
        minimize(objectives.fails_with_its_own_exception, SPACE, budget=400, seed=1, workers=2)
    assert "fails_with_its_own_exception" in str(caught.value.__cause__)  # its traceback


def test_an_error_survives_pickle_and_shows_the_point_as_it_was() -> None:
    with pytest.raises(ObjectiveError, match="after writing") as caught:
        minimize(objectives.overwrites, SPACE, budget=400, seed=1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.params == caught.value.params == again.optimizer.pending[0].params
    assert set(again.params) == {"x", "k", "on"}


def test_failures_can_be_counted_instead() -> None:
    result = minimize(fails_sometimes, SPACE, budget=600, target=1e-4, seed=1, on_error="infeasible")
    assert result.success
    assert result.failures > 0
    assert "gave no finite value" in str(result)


def test_constraints() -> None:
    result = minimize(constrained, SPACE, budget=2000, target=9 + 1e-6, seed=2)
    assert result.success
    assert result.params["k"] == 10
    assert result.violation == 0

    switch = minimize(lambda p: (bowl(p), [np.bool_(p["k"] < 10)]), SPACE, budget=2000, seed=2, target=9.1)
    assert switch.success

    unknown = minimize(lambda p: (math.nan, [1.0]), SPACE, budget=20, seed=1, maximize=True)
    assert math.isnan(unknown.fun)

    nowhere = minimize(lambda p: (bowl(p), [1.0 + p["k"]]), SPACE, budget=25, seed=1)
    assert not nowhere.success
    assert nowhere.violation == 1.0
    assert "violates least" in nowhere.message


def test_nothing_finite_at_all() -> None:
    result = minimize(lambda p: math.nan, SPACE, budget=300, seed=1)
    assert not result.success
    assert result.x is None
    assert result.params is None
    assert math.isnan(result.fun)
    assert result.failures == result.nfev == 300
    assert "No evaluation gave a finite value" in str(result)
    short = minimize(lambda p: math.nan, SPACE, budget=10000, seed=1, restarts=False)
    assert short.stop is Stop.INFEASIBLE


def test_callback_sees_and_stops() -> None:
    seen: list[Result] = []

    def watch(result: Result) -> bool:
        seen.append(result)
        return len(seen) == 3

    result = minimize(bowl, SPACE, budget=500, seed=1, callback=watch)
    assert result.stop is Stop.CALLBACK
    assert [r.nit for r in seen] == [1, 2, 3]
    assert [len(r.history) for r in seen] == [1, 2, 3]
    assert seen[0].message == "The search goes on."

    def stop(intermediate_result: Result) -> None:
        raise StopIteration

    assert minimize(bowl, SPACE, budget=500, seed=1, callback=stop).nit == 1


def test_max_seconds() -> None:
    result = minimize(slow_bowl, SPACE, budget=10**6, seed=1, max_seconds=0.2)
    assert result.stop is Stop.SECONDS
    assert 0 < result.nfev < 10**5


def test_max_seconds_with_workers_waits_only_for_what_has_begun() -> None:
    kwargs: dict[str, Any] = {"budget": 10**6, "seed": 1, "population": 60}
    with ThreadPoolExecutor(2) as pool:
        result = minimize(objectives.first_is_slow, SPACE, max_seconds=0.3, executor=pool, **kwargs)
    assert result.stop is Stop.SECONDS
    assert 1 <= result.nfev < 60  # those that had begun
    assert minimize(bowl, SPACE, max_seconds=0, **kwargs).nfev == 0


def test_ctrl_c_keeps_what_was_found() -> None:
    result = minimize(objectives.Interrupted(bowl, call=20), SPACE, budget=500, seed=1)
    assert result.stop is Stop.INTERRUPTED
    assert not result.success
    assert result.nfev == 19


def test_scipys_form() -> None:
    def fun(x: Any) -> float:
        assert isinstance(x, np.ndarray)
        assert x.shape == (3,)
        return float((x[0] - 0.3) ** 2 + (x[1] - 2) ** 2 + (x[2] + 1) ** 2)

    for bounds in ([(0, 1), (0.5, 7.2), (-4, 4)], Bounds([0, 0.5, -4], [1, 7.2, 4])):
        result = minimize(fun, bounds=bounds, integrality=[0, 1, 1], seed=1, target=1e-9)
        assert result.success
        assert result.x is not None
        assert result.x[1:].tolist() == [2, -1]
        converted = result.to_scipy()
        assert isinstance(converted, OptimizeResult)
        assert converted.fun == result.fun
        assert converted.status == 0
        assert converted.message == result.message
    unbounded = [(None, None), (0, np.inf)]
    free = minimize(lambda x: float(x @ x), bounds=unbounded, seed=1, budget=2000, target=1e-6)
    assert free.success


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"budget": 0}, "budget must be a positive whole number"),
        ({"budget": 2.5}, "budget must be a positive whole number"),
        ({"budget": math.inf}, "budget must be a positive whole number"),
        ({"budget": math.nan}, "budget must be a positive whole number"),
        ({"strategy": ["x"]}, "strategy must be one of"),
        ({"workers": 0}, "workers must be a positive whole number"),
        ({"workers": 2, "executor": ThreadPoolExecutor(1)}, "either workers or executor"),
        ({"executor": 3}, "submit"),
        ({"on_error": "ignore"}, "on_error must be"),
        ({"bounds": [(0, 1)]}, "exactly one of them"),
        ({"integrality": [1, 0, 0]}, "integrality goes with bounds"),
        ({"target": "low"}, "target must be a number"),
        ({"max_seconds": "x"}, "max_seconds must be a number"),
    ],
)
def test_bad_arguments_are_named(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        minimize(bowl, SPACE, **kwargs)


def test_a_strategy_that_needs_whole_batches_says_so() -> None:
    with pytest.raises(ValueError, match=r"goes astray when results come late.*such as"):
        minimize(bowl, SPACE, strategy="cma-es-margin", asynchronous=True, workers=2)
    alone = minimize(bowl, SPACE, strategy="cma-es-margin", asynchronous=True, budget=20, seed=1)
    waiting = minimize(bowl, SPACE, strategy="cma-es-margin", budget=20, seed=1)
    assert alone.params == waiting.params  # with one worker nothing comes late


def test_more_bad_arguments() -> None:
    with pytest.raises(TypeError, match="fun must be callable"):
        minimize(3, SPACE)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="must be finite"):
        minimize(bowl, bounds=[(0, None)], integrality=[1])
    for bounds in ([1, 2], 5):
        with pytest.raises(ValueError, match="sequence of pairs"):
            minimize(bowl, bounds=bounds)
    with pytest.raises(ValueError, match="hold no integer"):
        minimize(bowl, bounds=[(0.2, 0.8)], integrality=True)
    with pytest.raises(ValueError, match="must have 3 entries"):
        minimize(bowl, bounds=[(0, 1)] * 3, integrality=[True, False])
    with pytest.raises(TypeError, match="bounds as for SciPy"):
        minimize(bowl, [(0, 1)])  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ObjectiveError, match="does the objective return something"):
        minimize(objectives.returns_nothing, SPACE, budget=10)
    with pytest.raises(ObjectiveError, match="a number or \\(number, constraints\\)"):
        minimize(lambda p: (1, 2, 3), SPACE, budget=10)


def test_an_objective_that_cannot_be_sent() -> None:
    lock = threading.Lock()
    with pytest.raises(TypeError, match="it uses 'lock'"):
        minimize(lambda p: float(lock.locked()), SPACE, workers=2)


def test_a_worker_that_dies_is_reported() -> None:
    with pytest.raises(WorkerError, match="ended with exit code 3") as caught:
        minimize(objectives.kills_its_process, SPACE, budget=20, workers=2)
    assert caught.value.optimizer is not None
    assert len(caught.value.optimizer.pending) > 0


def test_a_worker_that_dies_is_replaced_and_counted() -> None:
    result = minimize(objectives.kills_its_process, SPACE, budget=3, workers=2, on_error="infeasible")
    assert result.failures == result.nfev == 3


@pytest.mark.parametrize(
    "line",
    [
        "minimize(fun, space, budget=10, workers=2)",
        "Study.create(__file__ + '.db', space).optimize(fun, budget=10, workers=2)",
    ],
)
def test_a_script_without_main_guard_is_told_so(tmp_path: Path, line: str) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        f"from saltus import *\ndef fun(p): return p['x'] ** 2\nspace = Space({{'x': Float(0, 1)}})\n{line}\n"
    )
    done = run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].endswith("must guard it with `if __name__ == '__main__':`")
    assert done.stderr.count("Traceback") == 1  # that of the script itself


def test_progress_bar(capfd: pytest.CaptureFixture[str]) -> None:
    minimize(bowl, SPACE, budget=60, seed=1, progress=True)
    shown = capfd.readouterr().err
    assert "60/60" in shown
    assert "best " in shown
    assert "restarts 0" in shown


@pytest.mark.parametrize("where", ["inside", "face", "corner"])
@pytest.mark.parametrize("strategy", ["dx-nes-ici", "cma-es-margin"])
def test_an_optimum_anywhere_in_the_box_is_found(where: str, strategy: str) -> None:
    n = 5
    target = {"inside": np.full(n, 0.3), "face": np.r_[np.full(3, 1.7), 0.3, 0.4], "corner": np.full(n, -0.5)}
    seen = []

    def fun(x: Any) -> float:
        seen.append(x.copy())
        return float(((x - target[where]) ** 2).sum())

    best = np.clip(target[where], 0, 1)
    least = fun(best)
    seen.clear()
    space = Space([Float(0, 1)] * n)
    result = minimize(fun, space, budget=20000, target=least + 1e-10, seed=1, strategy=strategy)
    assert result.success
    assert result.x is not None
    np.testing.assert_allclose(result.x, best, atol=2e-5 if where == "inside" else 1e-4)
    points = np.array(seen)
    assert points.min() >= 0
    assert points.max() <= 1


def test_one_sided_bounds_and_logs_at_the_bound() -> None:
    space = Space({"a": Float(low=2), "b": Float(high=-1), "c": Float(1e-6, 1, log=True)})

    def fun(p: dict[str, float]) -> float:
        assert p["a"] >= 2
        assert p["b"] <= -1
        assert 1e-6 <= p["c"] <= 1
        return p["a"] - p["b"] + p["c"]

    result = minimize(fun, space, budget=6000, seed=1, target=3 + 1.01e-6)
    assert result.success


def test_a_loop_over_the_papers_function() -> None:
    problem = sphere_one_max(10)
    result = minimize(problem.fun, problem.space, budget=20000, target=1e-10, seed=2)
    assert result.success
    problem = ellipsoid_int(10)
    result = minimize(problem.fun, problem.space, budget=40000, target=1e-10, seed=2)
    assert result.success


def test_one_variable_of_each_kind() -> None:
    for variable in (Float(-3, 9), Int(-3, 9), Float(), Int(-(10**6), 10**6), Int(1, 10**6, log=True)):
        space = Space({"v": variable})
        result = minimize(lambda p: abs(p["v"] - 2.0), space, budget=3000, target=1e-8, seed=1)
        assert result.success, variable


def through_json(optimizer: Optimizer) -> Optimizer:
    return Optimizer.restore(json.loads(json.dumps(optimizer.state(), allow_nan=False)))


def streamed(fun: Any, space: Space = SPACE, **options: Any) -> Result:
    return minimize(fun, space, asynchronous=True, **options)


def test_budget_is_kept_to_the_evaluation_without_waiting() -> None:
    calls: list[float] = []

    def fun(p: dict[str, Any]) -> float:
        calls.append(bowl(p))
        return calls[-1]

    for budget in (1, 5, 23, 40):
        calls.clear()
        result = streamed(fun, budget=budget, seed=1)
        assert len(calls) == result.nfev == budget
        assert result.stop is Stop.BUDGET
        assert result.success
        assert result.fun == min(calls)
    with ThreadPoolExecutor(5) as pool:
        for budget in (1, 3, 30):
            calls.clear()
            assert streamed(fun, budget=budget, seed=1, executor=pool, workers=5).nfev == budget
            assert len(calls) == budget


def test_one_worker_gives_the_result_of_minimize() -> None:
    for fun, strategy, budget in ((bowl, "saltus", 60), (constrained, "saltus-es", 400)):
        how: dict[str, Any] = {"strategy": strategy, "budget": budget, "seed": 2, "target": 1e-6}
        here, there = (minimize(fun, SPACE, asynchronous=a, **how) for a in (False, True))
        assert (here.params, here.fun, here.nfev, here.nit) == (
            there.params,
            there.fun,
            there.nfev,
            there.nit,
        )
        assert here.history.best.tolist()[:-1] == there.history.best.tolist()[: len(here.history) - 1]


def test_the_target_stops_at_once_without_waiting() -> None:
    values: list[float] = []

    def fun(p: dict[str, Any]) -> float:
        values.append(bowl(p))
        return values[-1]

    result = streamed(fun, budget=2000, target=1.0, seed=1)
    assert result.stop is Stop.TARGET
    assert result.success
    assert values[-1] == result.fun <= 1.0 < min(values[:-1])


def test_maximize_is_the_mirror_image_without_waiting() -> None:
    down = streamed(bowl, budget=300, seed=4, target=0.5)
    up = streamed(lambda p: -bowl(p), budget=300, seed=4, target=-0.5, maximize=True)
    assert (up.params, up.fun, up.nfev) == (down.params, -down.fun, down.nfev)
    assert up.success


def test_callback_sees_and_stops_without_waiting() -> None:
    seen: list[Result] = []

    def watch(result: Result) -> bool:
        seen.append(result)
        return len(seen) == 3

    result = streamed(bowl, budget=500, seed=1, callback=watch)
    assert result.stop is Stop.CALLBACK
    assert [r.nit for r in seen] == [len(r.history) for r in seen] == [1, 2, 3]

    def stop(intermediate_result: Result) -> None:
        raise StopIteration

    assert streamed(bowl, budget=500, seed=1, callback=stop).nit == 1


def test_max_seconds_without_waiting() -> None:
    result = streamed(slow_bowl, budget=10**6, seed=1, max_seconds=0.2)
    assert result.stop is Stop.SECONDS
    assert 0 < result.nfev < 10**5
    assert streamed(bowl, budget=100, seed=1, max_seconds=0).nfev == 0


def test_without_restarts_it_stops_when_it_has_converged_without_waiting() -> None:
    result = streamed(bowl, budget=10**4, seed=1, restarts=False)
    assert result.stop is Stop.CONVERGED
    assert result.nfev < 10**4
    assert result.restarts == 0
    assert streamed(bowl, budget=2000, seed=1, strategy="saltus-es").restarts > 0
    with ThreadPoolExecutor(4) as pool:
        options: dict[str, Any] = {"seed": 1, "restarts": False, "executor": pool, "workers": 4}
        assert streamed(bowl, budget=10**4, **options).stop is Stop.CONVERGED


def test_interrupted_it_keeps_what_was_found() -> None:
    result = streamed(Interrupted(bowl, call=20), budget=500, seed=1)
    assert (result.stop, result.nfev) == (Stop.INTERRUPTED, 19)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_is_raised_with_all_that_was_told(workers: int) -> None:
    with pytest.raises(ObjectiveError, match="ArithmeticError: no value at k=") as caught:
        streamed(fails_sometimes, budget=400, seed=1, workers=workers)
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert caught.value.params["k"] % 5 == 4
    optimizer = caught.value.optimizer
    assert isinstance(optimizer, Optimizer)
    restored = through_json(optimizer)
    assert caught.value.candidate in restored.pending
    assert all(c.params["k"] % 5 == 4 for c in restored.pending) or workers > 1
    restored.tell(restored.pending, [math.nan] * len(restored.pending))
    assert restored.evaluations > optimizer.evaluations


def test_what_runs_beside_an_exception_is_told_before_it_is_raised() -> None:
    def fun(p: dict[str, Any]) -> float:
        if len(begun) == 7:
            begun.append(p)
            raise ArithmeticError("the eighth")
        begun.append(p)
        time.sleep(0.05)
        return bowl(p)

    begun: list[Any] = []
    with ThreadPoolExecutor(4) as pool, pytest.raises(ObjectiveError, match="the eighth") as caught:
        streamed(fun, budget=400, seed=1, executor=pool, workers=4)
    optimizer = caught.value.optimizer
    assert optimizer.evaluations == len(begun) - 1
    assert optimizer.pending == [caught.value.candidate]


def test_exceptions_can_be_counted_instead() -> None:
    result = streamed(fails_sometimes, budget=600, target=1e-4, seed=1, on_error="infeasible")
    assert result.success
    assert result.failures > 0


def test_constraints_without_waiting() -> None:
    result = streamed(constrained, budget=2000, target=9 + 1e-6, seed=2)
    assert result.success
    assert (result.params or {})["k"] == 10
    assert result.violation == 0


def test_nothing_finite_at_all_without_waiting() -> None:
    result = streamed(lambda p: math.nan, budget=300, seed=1)
    assert (result.success, result.x, result.failures, result.nfev) == (False, None, 300, 300)


def test_workers_and_executors_find_it_too() -> None:
    result = streamed(slow_bowl, budget=3000, target=1e-6, seed=1, workers=2)
    assert result.success
    running, most, begun = 0, 0, 0
    lock, together = threading.Lock(), threading.Barrier(4, timeout=120)

    def fun(p: dict[str, Any]) -> float:
        nonlocal running, most, begun
        with lock:
            running, begun = running + 1, begun + 1
            most, early = max(most, running), begun <= 4
        if early:
            together.wait()  # it breaks unless four are evaluated at a time
        value = slow_bowl(p)
        with lock:
            running -= 1
        return value

    with ThreadPoolExecutor(8) as pool:
        result = streamed(fun, budget=3000, target=1e-6, seed=1, executor=pool, workers=4)
    assert result.success
    assert most == 4  # as many as `workers` says, not as many as the executor could


def test_nobody_waits_for_the_slowest() -> None:
    """One evaluation takes as long as all others together."""
    slow = 0.4

    def fun(p: dict[str, Any]) -> float:
        calls.append(time.monotonic())
        time.sleep(slow if len(calls) == 2 else 0.001)
        return bowl(p)

    calls: list[float] = []
    with ThreadPoolExecutor(4) as pool:
        how: dict[str, Any] = {"strategy": "saltus-es", "executor": pool, "workers": 4}
        streamed(fun, budget=400, seed=1, max_seconds=slow, **how)
    assert sum(t < calls[1] + slow for t in calls) > 100  # with a barrier: one batch


def test_history_and_progress(capfd: pytest.CaptureFixture[str]) -> None:
    with ThreadPoolExecutor(3) as pool:
        result = streamed(bowl, budget=100, seed=1, executor=pool, workers=3, progress=True)
    assert "100/100" in capfd.readouterr().err
    assert np.all(np.diff(result.history.best) <= 0)
    assert np.all(np.diff(result.history.evaluations) > 0)
    assert len(result.history) <= result.nit
    assert result.history.population.sum() == result.history.evaluations[-1] <= 100
    assert result.history.best[-1] >= result.fun


@pytest.mark.parametrize("workers", [0, -2, 1.5, True, "2"])
def test_bad_arguments_are_named_without_waiting(workers: Any) -> None:
    for executor in (None, ThreadPoolExecutor(1)):
        with pytest.raises(ValueError, match="workers must be a positive whole number"):
            streamed(bowl, budget=10, workers=workers, executor=executor)
    with pytest.raises(TypeError, match="submit method"):
        streamed(bowl, budget=10, executor=3)
    with pytest.raises(TypeError, match="cannot be sent to worker processes"):
        streamed((i for i in range(9)).__next__, budget=10, workers=2)
    with pytest.raises(ValueError, match="budget"):
        streamed(bowl, budget=0)


def test_a_result_says_what_matters() -> None:
    """Also in the middle of the search, and copied to another process."""
    space = Space({"x": Float(-5, 5), "y": Float(-5, 5)})
    seen: list[Result] = []
    result = minimize(lambda p: p["x"] ** 2 + 0.1 * p["y"], space, budget=40, seed=1, callback=seen.append)
    shares = result.sensitivity
    assert shares is not None
    assert [*shares] == ["x", "y"]
    assert pickle.loads(pickle.dumps(result)).sensitivity == shares
    assert seen[0].sensitivity not in (None, shares)
    assert "_learnt" not in result.to_scipy()
    assert "_learnt" not in repr(result)
    (expected,) = result.predict([{"x": 2.0, "y": 0.0}])
    assert expected.low < 4 < expected.high
    by_hand = replace(result, _learnt=None)
    assert by_hand.sensitivity is None
    with pytest.raises(ValueError, match="needs the result of a search"):
        by_hand.predict([{"x": 2.0, "y": 0.0}])


def test_a_budget_that_ends_in_the_middle_of_a_batch() -> None:
    """All that was paid for counts."""
    result = minimize(lambda p: p["x"] ** 2, Space({"x": Float(-5, 5)}), budget=5, population=20, seed=1)
    assert result.nfev == 5
    assert [*(result.sensitivity or ())] == ["x"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"seed": -1}, "seed must be a whole number, 0 or more, or None, got -1"),
        ({"callback": 3}, "callback must be callable, or None, got 3"),
        ({"max_seconds": -1}, "max_seconds must be 0 or more, or None, got -1"),
        (
            {"space": None, "bounds": [(0, 1), (1, 0)]},
            "bounds of variable 1: Float: low must not exceed high",
        ),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"space": SPACE, "budget": 10, **arguments}
    with pytest.raises((TypeError, ValueError), match=words):
        minimize(lambda p: 0.0, **given)


def test_an_optimizer_says_how_far_it_is() -> None:
    words = repr(Optimizer(SPACE, seed=1))
    assert words == f"<Optimizer 'saltus' of {len(SPACE)} variables: 0 evaluations, best None>"


def test_the_set_up_is_part_of_the_seconds() -> None:
    result = minimize(bowl, SPACE, budget=50, seed=1, workers=2, max_seconds=1e-9)
    assert result.stop is Stop.SECONDS
    assert result.nfev == 0


@pytest.mark.parametrize("options", [{"maximize": True}, {"direction": "maximize"}])
def test_both_ways_to_say_what_is_better(options: dict[str, Any]) -> None:
    result = minimize(lambda p: -bowl(p), SPACE, budget=20, seed=1, **options)
    assert result.fun == -minimize(bowl, SPACE, budget=20, seed=1).fun


def test_ways_that_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="contradict each other"):
        minimize(bowl, SPACE, maximize=True, direction="minimize")
    with pytest.raises(ValueError, match="direction must be 'minimize' or 'maximize', got 'up'"):
        minimize(bowl, SPACE, direction="up")  # type: ignore[arg-type]


def test_the_result_has_the_constraints_of_the_best_point() -> None:
    def fun(p: dict[str, Any]) -> tuple[float, dict[str, float]]:
        return bowl(p), {"stress": 10.0 - p["k"], "mass": p["x"] - 3.0}

    result = minimize(fun, SPACE, budget=40, seed=1)
    assert result.constraints == fun(result.params)[1]
    assert "constraints: stress=" in str(result)
    assert minimize(bowl, SPACE, budget=10, seed=1).constraints == {}


def test_a_search_that_ends_in_failures_is_no_success() -> None:
    calls: list[int] = []

    def fun(p: dict[str, Any]) -> float:
        calls.append(1)
        if len(calls) > 5:
            raise OSError("no licence")
        return bowl(p)

    result = minimize(fun, SPACE, budget=45, seed=1, on_error="infeasible")
    assert result.stop is Stop.BUDGET
    assert (result.success, result.failing, result.failures) == (False, 40, 40)
    assert isinstance(result.error, OSError)
    assert result.message.startswith("The last 40 evaluations failed, the last with OSError: no licence.")


def test_restarts_are_in_the_history_and_drawn() -> None:
    options: dict[str, Any] = {"strategy": "dx-nes-ici", "budget": 3000, "seed": 1, "noisy": True}
    result = minimize(lambda p: abs(p["k"] - 7), Space({"k": Int(0, 20)}), **options)
    assert result.history.restarts[-1] == result.restarts > 1
    assert repr(result.history).startswith(f"<History of {len(result.history)} generations: ")
    axes = convergence(result, ax=Figure().add_subplot())
    assert sum(line.get_linestyle() == "--" for line in axes.lines) == result.restarts


def test_no_hint_that_does_not_help() -> None:
    async def later(p: dict[str, Any]) -> float:
        return 1.0

    for fun, words in (
        (later, "must not be async"),
        (lambda p: np.ones(3), "return a single number of it"),
        (lambda p: 1j, r"abs\(...\) or .real"),
        (lambda p: "3", r"float\(...\) may help"),
    ):
        with pytest.raises(ObjectiveError, match=words):
            minimize(fun, SPACE, budget=3, seed=1)


SWITCHES = Space({"a": Bool(), "b": Bool()})


@pytest.mark.parametrize("how", [{}, {"asynchronous": True}, {"workers": 2}, {"strategy": "dx-nes-ici"}])
def test_a_finished_space_ends_the_search(how: dict[str, Any]) -> None:
    """Each point is paid once, however often it is proposed."""
    result = minimize(objectives.switches, SWITCHES, budget=500, seed=1, **how)
    assert result.stop is Stop.EXHAUSTED
    assert result.success
    assert result.nfev == 4
    assert (result.params, result.fun) == ({"a": True, "b": False}, 0.0)
    assert result.history.evaluations[-1] == 4


def test_known_points_are_answered_unless_the_objective_is_noisy() -> None:
    calls: list[Any] = []

    def fun(x: Any) -> float:
        calls.append(tuple(x))
        if x[0] == 2:
            raise ValueError("no mesh")
        return float(np.sum(x))

    space = Space([Int(0, 5), Int(0, 5)])
    options: dict[str, Any] = {"seed": 1, "on_error": "infeasible", "strategy": "dx-nes-ici"}
    result = minimize(fun, space, budget=20, **options)
    assert len(calls) == len(set(calls)) == result.nfev == 20
    assert result.failures == sum(x[0] == 2 for x in calls)
    first = list(dict.fromkeys(calls))
    calls.clear()
    assert minimize(fun, space, budget=200, noisy=True, **options).nfev == len(calls) == 200
    assert len(set(calls)) < 200
    assert list(dict.fromkeys(calls))[:20] == first  # the search is the same
    with pytest.raises(TypeError, match="noisy must be True, False or None, got 1"):
        minimize(fun, space, noisy=1)  # type: ignore[arg-type]


def test_a_lucky_value_is_no_reason_to_stop_nor_to_recommend() -> None:
    rng = np.random.default_rng(1)
    options: dict[str, Any] = {"budget": 300, "seed": 1, "noisy": True, "maximize": True}
    space = Space({"x": Float(-5, 5), "y": Float(-5, 5)})
    result = minimize(lambda p: rng.normal() - p["x"] ** 2 - p["y"] ** 2, space, target=1.0, **options)
    assert result.fun > 1.0
    assert not result.success
    assert result.nfev == 300
    assert result.recommended is not None
    assert result.recommended.value < 1.0
    assert "recommended:" in str(result)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_known_points_are_evaluated_first_wherever(asynchronous: bool) -> None:
    points = [{"x": 4.0, "k": 19}, {"k": 3}, {"x": 1.5, "k": 6}]
    space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
    seen: list[Any] = []

    def value(p: dict[str, Any]) -> float:
        seen.append(dict(p))
        return float((p["x"] - 1) ** 2 + (p["k"] - 7) ** 2)

    how: Any = {"asynchronous": True, "workers": 2} if asynchronous else {"batch": 2}
    with ThreadPoolExecutor(2) as pool:
        result = minimize(value, space, points=points, budget=20, seed=1, executor=pool, **how)
    assert {(p["x"], p["k"]) for p in seen[:4]} >= {(4.0, 19), (0.0, 3), (1.5, 6)}
    assert result.nfev == len(seen) == 20
    assert result.fun <= 1.25
    assert minimize(value, space, points=points, budget=2, seed=1).nfev == 2


def test_points_are_checked_before_anything_is_paid() -> None:
    space = Space({"x": Float(-5, 5)})
    for points in ([{"x": 1}, {"x": 6}], [{"y": 1}], {"x": 1}, "x", 3):
        with pytest.raises((ValueError, TypeError)):
            minimize(lambda p: pytest.fail("paid"), space, points=points, budget=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [3, 10, 12, 15, 17, 24, 26, 31])
def test_a_smooth_problem_takes_few_evaluations_whatever_the_seed(seed: int) -> None:
    """The first program of the README; with these seeds it once took 72 to 135."""

    def cost(p: Any) -> float:
        metal = {"gold": 3, "silver": 1, "copper": 0}[p["metal"]]
        return float((p["radius"] - 1.7) ** 2 + (p["shells"] - 5) ** 2 + (not p["coated"]) + metal)

    metals = Categorical(["gold", "silver", "copper"])
    radius, shells = Float(0.1, 10, log=True), Int(1, 12)
    space = Space({"radius": radius, "shells": shells, "coated": Bool(), "metal": metals})
    assert minimize(cost, space, budget=60, target=1e-6, seed=seed).stop is Stop.TARGET
