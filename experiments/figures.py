"""The paper's figures 5 and 6, and the sweep over population sizes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from experiments.harness import Summary
from experiments.published import TABLE2
from experiments.record import Cell
from experiments.runs import TARGET, generations
from saltus._typing import FloatArray
from saltus.problems import Problem, ellipsoid_int, n_int_tablet
from saltus.space.encoding import Encoding
from saltus.strategy import default_population

ORANGE, BLUE, GREY = "#d9730d", "#2563ab", "#8a8f98"
POPULATION = 30  # both figures: lambda = 30 and every coordinate of the first mean is 2
MEAN = 2.0
SEED = 0


class Trace(NamedTuple):
    """A run, generation by generation."""

    strategy: str
    evaluations: FloatArray
    m: FloatArray
    sd: FloatArray
    succeeded: bool


def path(problem: Problem, strategy: str, limit: int) -> Trace:
    """A run at the figures' settings until it succeeds, fails or has spent the limit."""
    rng = np.random.default_rng(SEED)
    encoding = Encoding(problem.space, MEAN, 1.0)
    rows = []
    for g in generations(problem, encoding, strategy, POPULATION, rng):
        rows.append(g)
        if g.value < TARGET or g.failed or g.evaluations >= limit:
            break
    evaluations, _, m, sd, _ = zip(*rows, strict=True)
    return Trace(strategy, np.array(evaluations), np.array(m), np.array(sd), rows[-1].value < TARGET)


def figure5(out: Path) -> list[Path]:
    """The mean on 40-D NIntTablet, with and without leap."""
    problem = n_int_tablet(40)
    runs = [path(problem, name, 40_000) for name in ("dx-nes-ic+leap", "dx-nes-ic")]
    figure, axes = _panels(runs, problem, "mean $m_j$")
    for ax, run in zip(axes, runs, strict=True):
        ax.axhline(0.0, color="black", linewidth=0.8, linestyle="--")
        _draw(ax, run.evaluations, run.m)
    return _save(figure, out / "figure5")


def figure6(out: Path) -> list[Path]:
    """Standard deviations on 80-D EllipsoidInt, with and without bias."""
    problem = ellipsoid_int(80)
    runs = [path(problem, name, 200_000) for name in ("dx-nes-ici", "dx-nes-ic+leap")]
    figure, axes = _panels(runs, problem, r"$\sigma \sqrt{\langle B B^\top \rangle_j}$")
    axes[0].set_yscale("log")
    for ax, run in zip(axes, runs, strict=True):
        _draw(ax, run.evaluations, run.sd)
    return _save(figure, out / "figure6")


def _panels(runs: list[Trace], problem: Problem, label: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    axes[0].set_ylabel(label)
    for ax, run in zip(axes, runs, strict=True):
        spent = f"{run.evaluations[-1]:,.0f}"
        end = f"optimum after {spent}" if run.succeeded else f"not found in {spent}"
        ax.set_title(f"{run.strategy}: {end}", fontsize=10)
        ax.set_xlabel("evaluations")
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{problem.space.dimension}-D {problem.name}, λ = {POPULATION}", fontsize=11)
    handles = [Line2D([], [], color=c, label=t) for c, t in ((BLUE, "continuous"), (ORANGE, "integer"))]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return figure, axes


def _draw(ax: Any, evaluations: FloatArray, lines: FloatArray) -> None:
    """The lines of all coordinates, continuous ones first, in at most about 1000 points each."""
    every = max(1, len(evaluations) // 1000)
    half = lines.shape[1] // 2
    style: dict[str, Any] = {"linewidth": 0.7, "alpha": 0.8, "rasterized": True}
    ax.plot(evaluations[::every], lines[::every, half:], color=ORANGE, **style)
    ax.plot(evaluations[::every], lines[::every, :half], color=BLUE, **style)


def sweep(cells: Mapping[Cell, Summary], path: Path) -> list[Path]:
    """Successes and evaluations against the population size."""
    functions = list(dict.fromkeys(c.function for c in cells))
    dims = sorted({c.N for c in cells})
    methods = list(dict.fromkeys(c.method for c in cells))
    colour = dict(zip(methods, (ORANGE, BLUE, GREY, "black"), strict=False))
    dash: dict[int, Any] = dict(zip(dims, ("-", "--", ":"), strict=False))
    figure = Figure(figsize=(3 * len(functions), 5.2), layout="constrained")
    axes = figure.subplots(2, len(functions), sharex=True, sharey="row", squeeze=False)
    for column, function in enumerate(functions):
        rate, spent = axes[0, column], axes[1, column]
        rate.set_title(function, fontsize=10)
        for method in methods:
            for N in dims:
                some = {c.population: s for c, s in cells.items() if c[:3] == (function, N, method)}
                x = list(some)
                successes = [100 * s.successes / s.trials for s in some.values()]
                mean = [s.mean for s in some.values()]
                style: dict[str, Any] = {"color": colour.get(method, GREY), "linestyle": dash.get(N, "-.")}
                rate.plot(x, successes, **style)
                spent.plot(x, mean, **style)
                published = TABLE2.get((function, N, method))
                for size, marker in ((published and published.population, "o"), (default_population(N), "|")):
                    if size in some:
                        i = x.index(size)
                        ring = {"color": style["color"], "fillstyle": "none", "markersize": 8}
                        rate.plot(size, successes[i], marker, **ring)
                        spent.plot(size, mean[i], marker, **ring)
        spent.set_yscale("log")
        spent.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        spent.yaxis.set_major_formatter("{x:,.0f}")
        spent.yaxis.set_minor_locator(NullLocator())
        spent.set_xlabel("population λ")
    axes[0, 0].set_ylabel("successes, %")
    axes[1, 0].set_ylabel("mean evaluations of a success")
    for ax in chain.from_iterable(axes):
        ax.spines[["top", "right"]].set_visible(False)
    handles = [Line2D([], [], color=colour.get(m, GREY), label=m) for m in methods]
    handles += [Line2D([], [], color="black", linestyle=dash.get(N, "-."), label=f"N = {N}") for N in dims]
    handles += [
        Line2D([], [], color="black", linestyle="", marker="o", fillstyle="none", label="the paper's λ"),
        Line2D([], [], color="black", linestyle="", marker="|", label="default λ"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    return _save(figure, path)


def _save(figure: Figure, path: Path) -> list[Path]:
    """PNG and SVG, without dates and random names in it: the same run makes the same file."""
    paths = [path.with_suffix(".png"), path.with_suffix(".svg")]
    figure.savefig(paths[0], dpi=120, metadata={"Software": None})
    with rc_context({"svg.hashsalt": "saltus"}):
        figure.savefig(paths[1], dpi=200, metadata={"Date": None})
    return paths
