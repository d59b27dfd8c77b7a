"""Design the lightest gear box (speed reducer), show the result and draw how it was found.

python -m examples.speed_reducer.run [--budget 20000] [--seed 1] [--out out/speed_reducer.png]

The number of teeth is an integer, six lengths are free, and eleven constraints on stress and geometry
must hold. The best design known weighs 2994.471.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from saltus import Result, minimize
from saltus.problems import speed_reducer


def solve(budget: int, seed: int, progress: bool = True) -> Result:
    """Minimise the weight; stop within 0.001% of the best known value."""
    problem = speed_reducer()
    return minimize(
        problem.fun,
        problem.space,
        budget=budget,
        target=problem.best * (1 + 1e-5),
        seed=seed,
        progress=progress,
    )


def draw(result: Result, path: Path) -> None:
    """Draw the way to the best design."""
    import matplotlib

    matplotlib.use("Agg")
    from saltus.plot import convergence

    ax = convergence(result, best_known=speed_reducer().best)
    ax.set_title("Speed reducer: weight above the best known design", fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    ax.figure.savefig(path, dpi=150)


def main() -> None:
    """Run, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--budget", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/speed_reducer.png"))
    arguments = parser.parse_args()
    print("Designing the lightest gear box: 1 integer, 6 floats, 11 constraints.\n")
    result = solve(arguments.budget, arguments.seed)
    draw(result, arguments.out)
    print(f"\n{result}\n")
    print(f"  best known: {speed_reducer().best:.6f}")
    print(f"     picture: {arguments.out}")


if __name__ == "__main__":
    main()
