"""Records that grow."""

from __future__ import annotations

import math
import random
from contextlib import closing
from pathlib import Path
from typing import Any

from saltus import Categorical, Float, Int, Space, Study
from saltus.study.database import Database
from saltus.study.trial import Snapshot, Trial

SPACE = Space(
    {
        "width": Float(0, 1),
        "height": Float(1e-3, 10, log=True),
        "layers": Int(1, 12),
        "metal": Categorical(["gold", "silver", "copper"]),
    }
)


def new(folder: Path, name: str = "box") -> Study:
    return Study.create(folder / f"{name}.db", SPACE, seed=1, strategy="saltus-es")


def cost(p: dict[str, Any]) -> float:
    away = (p["width"] - 0.6) ** 2 + math.log10(p["height"]) ** 2 + (p["layers"] - 5) ** 2 / 10
    return float(away + (p["metal"] != "gold"))


def grow(study: Study, count: int) -> None:
    """Evaluate so many points by hand."""
    for _ in range(count):
        (trial,) = study.ask(1)
        study.tell(trial.id, cost(trial.params), {"heat": trial.params["width"] - 0.8})


def filled(folder: Path, count: int) -> Study:
    """A study with so many trials, written at once."""
    study, rng = new(folder, f"box{count}"), random.Random(1)

    def trial(i: int) -> Trial:
        narrow = 1 - i / count
        params: dict[str, Any] = {
            "width": min(1.0, max(0.0, rng.gauss(0.6, 0.3 * narrow + 0.01))),
            "height": 10 ** rng.uniform(-3 * narrow, 1),
            "layers": rng.randint(1, 12),
            "metal": rng.choice(["gold", "silver", "copper"]),
        }
        heat = params["width"] - 0.8
        facts: dict[str, Any] = {"attempts": 1, "worker": i % 4, "started": 1.7e9 + i, "seconds": 0.5}
        if i % 97 == 5:
            return Trial(i, i // 10, params, "failed", reason="it broke", stderr="no mesh", **facts)
        return Trial(i, i // 10, params, "done", cost(params), max(0.0, heat), {"heat": heat}, **facts)

    with closing(Database(study.path, write=True)) as database:
        for first in range(0, count, 1000):
            rows = [trial(i) for i in range(first, min(count, first + 1000))]
            shot = Snapshot(first // 10, first, 0, (0.5,) * 4, (0.1,) * 4)
            database.add(rows, shot, None)
    return study
