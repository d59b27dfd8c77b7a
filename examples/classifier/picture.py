"""Chooses the classifier, and draws what was tried."""

from __future__ import annotations

from examples.classifier.classifier import SPACE, errors
from examples.drawing import AFTER, BEFORE, GREY, panels, save
from saltus import minimize


def main() -> None:
    """Search, print, draw."""
    tried: list[tuple[str, float]] = []

    def noted(p: dict[str, object]) -> float:
        value = errors(p)
        tried.append((str(p["model"]), value))
        return value

    result = minimize(noted, SPACE, budget=60, batch=4, seed=1)
    print(result)
    figure, (left, right) = panels()
    for model, colour in zip(("SVM", "neighbours", "trees"), (AFTER, BEFORE, GREY), strict=True):
        mine = [(i, 100 * value) for i, (name, value) in enumerate(tried, 1) if name == model]
        left.scatter(*zip(*mine, strict=True), s=14, color=colour)
        right.barh(model, min(value for _, value in mine), color=colour)
        print(f"{model}: {len(mine)} evaluations, best {min(value for _, value in mine):.2f} % errors")
    left.set(title="errors in cross-validation, %; colours as beside", xlabel="evaluation", yscale="log")
    left.set_yticks([3, 5, 10, 20, 50], ["3", "5", "10", "20", "50"])
    left.minorticks_off()
    right.set(title="the best of each, % errors")
    save(figure, __file__)


if __name__ == "__main__":
    main()
