"""Tunes the boosting for a while, and draws what was tried: cross-validated, and on data held out."""

from __future__ import annotations

from pathlib import Path

from examples.drawing import AFTER, BEFORE, GREY, panels, save
from examples.scikit_learn.boosting import held_out, score
from saltus import minimize
from saltus.study.settings import StudyFile


def main() -> None:
    """Tune, print, draw."""
    space = StudyFile.read(Path(__file__).parent / "study.toml").space
    seen: list[tuple[float, float]] = []

    def noted(p: dict[str, object]) -> float:
        seen.append((score(p), held_out(p)))
        return seen[-1][0]

    result = minimize(noted, space, budget=16, batch=4, seed=1, maximize=True)
    print(result)
    figure, ax = panels(1)
    ax.scatter(*zip(*seen, strict=True), color=GREY, s=14, label="tried")
    for (searched, unseen), colour, name in (
        ((score({}), held_out({})), BEFORE, "scikit-learn's defaults"),
        (max(seen), AFTER, "the best found"),
    ):
        ax.scatter(searched, unseen, color=colour, s=50, label=name)
        print(f"{name}: {searched:.3f} cross-validated, {unseen:.3f} on data held out")
    ax.set(xlabel="R², cross-validated: what was searched for", ylabel="R², held out")
    ax.legend(fontsize=8)
    save(figure, __file__)


if __name__ == "__main__":
    main()
