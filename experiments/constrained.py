"""COCO's suite bbob-constrained: our strategies and peers that take constraints, in one harness.

    python -m experiments.constrained run --dims 5 10 --instances 4 5 6 --seeds 1
    python -m experiments.constrained show ...        in how many problems ours is ahead of each peer
    python -m experiments.constrained functions ...   the same, objective by objective

This is `python -m experiments.coco ... --suite bbob-constrained`. A run is judged by the best feasible value
after 5, 10, 20, 50, 100 and 200 evaluations for each variable: of two methods the one with the lower value is
ahead, equal values and nothing feasible on both sides count half. Objective and constraints at a point
together are one evaluation, for everybody; a point that is asked again is free. Everybody begins in the
middle of the box, where most problems are violated: COCO's feasible first point is not used. Instances 1 to 3
are for tuning, 4 to 6 for validation; others are refused.
"""

from __future__ import annotations

from experiments import coco
from experiments.suites import CONSTRAINED, SUITES


def main() -> None:
    """The command line."""
    coco.main(SUITES[CONSTRAINED], __doc__, "constrained")


if __name__ == "__main__":
    main()
