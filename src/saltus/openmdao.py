"""Saltus as a driver of OpenMDAO: `SaltusDriver` where another driver stands."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

try:
    from openmdao.core.analysis_error import AnalysisError
    from openmdao.core.driver import Driver, RecordingDebugging
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "saltus.openmdao needs OpenMDAO 3.45 or newer: pip install 'saltus[openmdao]'"
    ) from error

from ._minimize import ObjectiveError, minimize
from ._typing import FloatArray, Params
from .result import Result
from .search.settings import DEFAULT_STRATEGY
from .space import Float, Int, Space
from .space.variable import Variable

__all__ = ["SaltusDriver"]

UNBOUNDED = 1e30  # OpenMDAO's infinity


class SaltusDriver(Driver):  # type: ignore[misc]  # OpenMDAO has no types
    """A driver without derivatives, for continuous and discrete design variables and any constraints.

    The values that the problem has when the driver starts are evaluated first. At the end the model is at
    the best point that was found, and `search` is the `saltus.Result`.

    Options (`SaltusDriver(budget=200, seed=1)`, or `driver.options["budget"] = 200`):
        budget: runs of the model at most; 20 for each design variable by default.
        target: stop at an objective this good, as the driver sees it, scaled.
        max_seconds: begin no run of the model after this time.
        seed: the same one gives the same search.
        strategy: a name of `saltus.STRATEGIES`.
        equality: by how much `equals` may be missed, in the unit of the constraint.
    """

    def __init__(self, **options: Any) -> None:
        """Take options by name."""
        super().__init__(**options)
        for kind in ("optimization", "integer_design_vars", "inequality_constraints", "equality_constraints"):
            self.supports[kind] = True
        self.supports["two_sided_constraints"] = True
        self.supports["linear_constraints"] = True
        self.supports._read_only = True
        self.search: Result | None = None

    def _declare_options(self) -> None:
        number = {"allow_none": True, "default": None}
        self.options.declare("budget", types=int, lower=1, desc="Runs of the model, at most.", **number)
        self.options.declare("target", types=(int, float), desc="Stop at an objective this good.", **number)
        self.options.declare("max_seconds", types=(int, float), desc="Begin no run after this.", **number)
        self.options.declare("seed", types=int, desc="The same one gives the same search.", **number)
        self.options.declare("strategy", types=str, default=DEFAULT_STRATEGY, desc="Of saltus.STRATEGIES.")
        self.options.declare("equality", lower=0.0, default=1e-6, desc="By how much equals may be missed.")

    def _get_name(self) -> str:
        return "Saltus"

    def run(self) -> bool:
        """Search, and leave the model at the best point.

        Returns:
            Whether it has failed, as OpenMDAO wants it: nothing was found that keeps all constraints.
        """
        self.result.reset()
        self._check_for_missing_objective()
        if len(self._objs) != 1:
            raise ValueError(
                f"SaltusDriver takes one objective, got {len(self._objs)}: {', '.join(self._objs)}"
            )
        if not self._designvars:
            raise ValueError(
                "SaltusDriver needs a design variable: add_design_var(..., lower=..., upper=...)"
            )
        space, start = self._space()
        self._check_for_invalid_desvar_values()
        (name,) = self._objs
        size = np.size(self.get_objective_values()[name])
        if size != 1:
            raise ValueError(
                f"SaltusDriver takes one number as objective: {name!r} has {size} elements, choose one by "
                "add_objective(..., index=...)"
            )
        options = self.options
        given = options["budget"]
        try:
            self.search = minimize(
                self._evaluated,
                space,
                budget=20 * len(start) if given is None else given,
                target=options["target"],
                max_seconds=options["max_seconds"],
                seed=options["seed"],
                strategy=options["strategy"],
                points=[start],
            )
        except ObjectiveError as error:  # of the model
            raise error.__cause__ or error from None
        if self.search.params is None or not math.isfinite(self.search.fun):
            return True
        self._solve(self.search.params)
        return self.search.violation > 0

    def _space(self) -> tuple[Space, Params]:
        """The design variables, element by element, and where they are now."""
        variables: dict[str, Variable] = {}
        now: Params = {}
        values = self.get_design_var_values(driver_scaling=False)
        for name, meta in self._designvars.items():
            value = np.atleast_1d(values[name]).ravel()
            low, high = (_filled(meta[end], len(value), name, end) for end in ("lower", "upper"))
            if (low > high).any():
                raise ValueError(f"add_design_var({name!r}): lower must not exceed upper, got {low}, {high}")
            for i, element in enumerate(_elements(name, len(value))):
                if name in self._designvars_discrete:
                    variables[element] = Int(math.ceil(low[i]), math.floor(high[i]))
                    now[element] = int(min(max(int(value[i]), math.ceil(low[i])), math.floor(high[i])))
                else:
                    variables[element] = Float(float(low[i]), float(high[i]))
                    now[element] = float(min(max(value[i], low[i]), high[i]))
        return Space(variables), now

    def _evaluated(self, point: Params) -> tuple[float, dict[str, float]] | float:
        """The scaled objective and the constraints at a point; NaN if the analysis has failed."""
        if not self._solve(point):
            return math.nan
        objective = next(iter(self.get_objective_values().values()))
        return float(np.asarray(objective).item()), dict(self._constraints())

    def _solve(self, point: Params) -> bool:
        """Run the model at a point; whether that has succeeded."""
        values = self.get_design_var_values(driver_scaling=False)
        for name, meta in self._designvars.items():
            shape, size = np.shape(values[name]), np.size(values[name])
            given = np.array([point[element] for element in _elements(name, size)]).reshape(shape)
            if name in self._designvars_discrete:
                self._set_design_var(name, given if shape else int(given))
            else:
                self._set_design_var(name, np.atleast_1d(given), units=meta["units"])
        with RecordingDebugging(self._get_name(), self.iter_count, self) as record:
            self.iter_count += 1
            record.abs = record.rel = 0.0
            try:
                self._run_solve_nonlinear()
            except AnalysisError:
                self._problem().model._clear_iprint()
                return False
        return True

    def _constraints(self) -> Iterator[tuple[str, float]]:
        """All constraints by name and element: what is above 0 is violated, in units of its scaling."""
        missed = float(self.options["equality"])
        for name, values in self.get_constraint_values(driver_scaling=False).items():
            meta = self._cons[name]
            flat = np.atleast_1d(values).ravel()
            scale = np.broadcast_to(
                np.abs(1.0 if meta["total_scaler"] is None else meta["total_scaler"]), flat.shape
            )
            equal = meta["equals"]
            upper = meta["upper"] if equal is None else np.asarray(equal) + missed
            lower = meta["lower"] if equal is None else np.asarray(equal) - missed
            for end, sign, what in ((upper, 1.0, "upper"), (lower, -1.0, "lower")):
                if end is None:
                    continue
                limits = np.broadcast_to(np.ravel(end) if np.size(end) > 1 else np.asarray(end), flat.shape)
                for i, element in enumerate(_elements(name, len(flat))):
                    if abs(limits[i]) < UNBOUNDED:
                        yield f"{element} {what}", float(sign * (flat[i] - limits[i]) * scale[i])


def _elements(name: str, size: int) -> list[str]:
    """A name for each element of a variable."""
    return [name] if size == 1 else [f"{name}[{i}]" for i in range(size)]


def _filled(bound: Any, size: int, name: str, end: str) -> FloatArray:
    """A bound for each element; without one it is an error."""
    if bound is None or not np.all(np.abs(bound) < UNBOUNDED):
        raise ValueError(
            f"SaltusDriver needs both bounds of every design variable: add_design_var({name!r}, lower=..., "
            f"upper=...), got {end}={bound}"
        )
    return np.asarray(np.broadcast_to(np.ravel(bound) if np.size(bound) > 1 else bound, (size,)), dtype=float)
