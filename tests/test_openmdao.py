"""SaltusDriver with the real OpenMDAO."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.machines  # OpenMDAO takes seconds to import


@pytest.fixture(scope="module")
def om() -> Any:
    return importlib.import_module("openmdao.api")


def problem_of(om: Any, component: Any, **options: Any) -> Any:
    """A problem around one component, with everything promoted."""
    from saltus.openmdao import SaltusDriver

    problem = om.Problem(reports=None)
    problem.model.add_subsystem("part", component, promotes=["*"])
    problem.driver = SaltusDriver(**({"seed": 1, "budget": 40} | options))
    return problem


def beam(om: Any) -> Any:
    """A circle to come near, with a line to stay below."""
    return om.ExecComp(["f = (x - 3)**2 + (y + 1)**2", "g = x + y"], x={"units": "m"}, y=0.0)


def test_bounds_units_and_constraints(om: Any) -> None:
    problem = problem_of(om, beam(om))
    problem.model.add_design_var("x", lower=-500, upper=500, units="cm", ref=100)
    problem.model.add_design_var("y", lower=-5, upper=5)
    problem.model.add_objective("f")
    problem.model.add_constraint("g", upper=1.0, ref=10.0)
    problem.setup()
    problem.set_val("x", 50, units="cm")
    result = problem.run_driver()
    assert result.success
    assert problem.get_val("x", units="cm")[0] == pytest.approx(250, abs=1)
    assert problem.get_val("y")[0] == pytest.approx(-1.5, abs=0.01)
    assert problem.get_val("g")[0] <= 1
    search = problem.driver.search
    assert search.nfev == 40
    assert problem.get_val("f")[0] == search.fun  # the model is left at the best point


def test_the_start_is_evaluated_first(om: Any) -> None:
    problem = problem_of(om, beam(om), budget=1)
    problem.model.add_design_var("x", lower=-5, upper=5)
    problem.model.add_design_var("y", lower=-5, upper=5)
    problem.model.add_objective("f")
    problem.setup()
    problem.set_val("x", 2.5)
    problem.set_val("y", -0.5)
    problem.run_driver()
    assert problem.driver.search.params == {"x": 2.5, "y": -0.5}


def test_an_equality_is_met_within_its_tolerance(om: Any) -> None:
    problem = problem_of(om, beam(om), equality=1e-3)
    problem.model.add_design_var("x", lower=-5, upper=5)
    problem.model.add_design_var("y", lower=-5, upper=5)
    problem.model.add_objective("f")
    problem.model.add_constraint("g", equals=0.5)
    problem.setup()
    assert problem.run_driver().success
    assert problem.get_val("g")[0] == pytest.approx(0.5, abs=1.001e-3)
    assert problem.get_val("f")[0] == pytest.approx(1.125, abs=0.01)


def test_a_negative_scaler_maximises(om: Any) -> None:
    problem = problem_of(om, om.ExecComp("f = 5 - (x - 2)**2"))
    problem.model.add_design_var("x", lower=0, upper=10)
    problem.model.add_objective("f", scaler=-1)
    problem.setup()
    problem.run_driver()
    assert problem.get_val("f")[0] == pytest.approx(5, abs=1e-3)
    assert problem.driver.search.fun == pytest.approx(-5, abs=1e-3)


def test_arrays_with_limits_on_both_sides(om: Any) -> None:
    component = om.ExecComp(["f = sum((x - 1)**2)", "g = x"], x={"shape": (3,)}, g={"shape": (3,)})
    problem = problem_of(om, component)
    problem.model.add_design_var("x", lower=-2, upper=[2.0, 2.0, 0.5], indices=[0, 2, 1])
    problem.model.add_objective("f")
    problem.model.add_constraint("g", lower=-1.5, upper=[0.25, 2.0, 2.0])
    problem.setup()
    problem.set_val("x", [0.0, 0.1, 0.2])
    assert problem.run_driver().success
    assert problem.get_val("x") == pytest.approx([0.25, 0.5, 1.0], abs=0.02)
    assert set(problem.driver.search.params) == {"x[0]", "x[1]", "x[2]"}
    assert set(problem.driver.search.constraints) == {
        f"g[{i}] {end}" for i in range(3) for end in ("lower", "upper")
    }


def counting(om: Any) -> Any:
    """A component with a discrete input, which some values of another break."""

    class Plies(om.ExplicitComponent):  # type: ignore[misc]
        def setup(self) -> None:
            self.add_discrete_input("plies", val=4)
            self.add_input("x", val=0.5)
            self.add_output("f", val=0.0)

        def compute(self, inputs: Any, outputs: Any, discrete_inputs: Any, discrete_outputs: Any) -> None:
            plies, x = discrete_inputs["plies"], inputs["x"][0]
            assert type(plies) is int
            if x > 0.8:
                raise om.AnalysisError("buckled")
            outputs["f"] = (plies - 9) ** 2 + (x - 0.7) ** 2

    return Plies()


def test_discrete_variables_and_analyses_that_fail(om: Any, tmp_path: Path) -> None:
    problem = problem_of(om, counting(om))
    problem.model.add_design_var("plies", lower=1, upper=20)
    problem.model.add_design_var("x", lower=0, upper=1)
    problem.model.add_objective("f")
    problem.driver.add_recorder(om.SqliteRecorder(str(tmp_path / "cases.sql")))
    problem.setup()
    assert problem.run_driver().success
    assert problem.get_val("plies") == 9
    assert problem.get_val("x")[0] == pytest.approx(0.7, abs=1e-3)
    assert problem.driver.search.failures > 0
    cases = om.CaseReader(tmp_path / "cases.sql")
    assert len(cases.list_cases("driver", out_stream=None)) == 41  # and the best point again


def test_nothing_that_holds_is_no_success(om: Any) -> None:
    problem = problem_of(om, beam(om), budget=20)
    problem.model.add_design_var("x", lower=-5, upper=5)
    problem.model.add_design_var("y", lower=-5, upper=5)
    problem.model.add_objective("f")
    problem.model.add_constraint("g", lower=11)
    problem.setup()
    assert not problem.run_driver().success
    assert problem.driver.search.violation > 0


@pytest.mark.parametrize(
    ("low", "high", "words"), [(None, 5, "lower=None"), (0, math.inf, "upper="), (0, 1e30, "upper=")]
)
def test_bounds_are_needed(om: Any, low: Any, high: Any, words: str) -> None:
    problem = problem_of(om, beam(om))
    problem.model.add_design_var("x", lower=low, upper=high)
    problem.model.add_objective("f")
    problem.setup()
    with pytest.raises(ValueError, match=f"needs both bounds of every design variable: .*'x'.*{words}"):
        problem.run_driver()


def test_what_is_wrong_is_named(om: Any) -> None:
    problem = problem_of(om, om.ExecComp("g = 2 * x", x=[1.0, 2.0], g=[1.0, 2.0]))
    problem.model.add_objective("g")
    problem.setup()
    with pytest.raises(ValueError, match="needs a design variable: add_design_var"):
        problem.run_driver()
    for low, high, words in (
        (2, 1, "'x'.*lower must not exceed upper"),
        (0, 1, "'g' has 2 elements.*index="),
    ):
        problem = problem_of(om, om.ExecComp("g = 2 * x", x=[0.5, 1.0], g=[1.0, 2.0]))
        problem.model.add_design_var("x", lower=low, upper=high)
        problem.model.add_objective("g")
        problem.setup()
        with pytest.raises(ValueError, match=words):
            problem.run_driver()


def test_an_exception_of_the_model_ends_the_search_as_it_is(om: Any) -> None:
    class Broken(om.ExplicitComponent):  # type: ignore[misc]
        def setup(self) -> None:
            self.add_input("x", 0.5)
            self.add_output("f")
            self.declare_partials("f", "x", method="fd")

        def compute(self, inputs: Any, outputs: Any) -> None:
            raise ZeroDivisionError("no beam")

    problem = problem_of(om, Broken())
    problem.model.add_design_var("x", lower=0, upper=1)
    problem.model.add_objective("f")
    problem.setup()
    with pytest.raises(ZeroDivisionError, match="no beam"):
        problem.run_driver()


def test_one_objective(om: Any) -> None:
    problem = problem_of(om, beam(om))
    problem.model.add_design_var("x", lower=0, upper=1)
    problem.model.add_objective("f")
    problem.model.add_objective("g")
    problem.setup()
    with pytest.raises((ValueError, RuntimeError), match="objective"):
        problem.run_driver()


def test_the_same_seed_gives_the_same_search(om: Any) -> None:
    found = []
    for _ in range(2):
        problem = problem_of(om, beam(om), budget=12)
        problem.model.add_design_var("x", lower=-5, upper=5)
        problem.model.add_objective("f")
        problem.setup()
        problem.run_driver()
        found.append(problem.driver.search.params)
    assert found[0] == found[1]
    assert np.isfinite(found[0]["x"])
