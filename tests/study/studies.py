"""Studies that the tests of this folder make and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from saltus import Bool, Int, Ordinal, Space, Study, Trial
from saltus.study import RecordError

from ..objectives import SPACE

DISCRETE = Space({"a": Int(0, 4), "b": Bool(), "c": Ordinal([1, 2, 5])})


def distance(p: dict[str, Any]) -> float:
    return float((p["a"] - 3) ** 2 + p["b"] + abs(p["c"] - 2))


def made(path: Path, space: Space = SPACE, **kwargs: Any) -> Study:
    return Study.create(path / "study.db", space, **{"seed": 1, **kwargs})


def essence(study: Study) -> list[Any]:
    return [(t.id, t.params, t.status, t.value, t.constraints, t.reason, t.repeats) for t in study.trials()]


def peek(path: Path) -> list[Trial]:
    try:
        return list(Study.open(path).trials())
    except RecordError:
        return []  # not there, or just being made
