"""A search that begins anew, with what is on record as past data.

After trials were forgotten, the objective has changed, or another version of Saltus wrote the record: the
state of the old search is of no use then, but what was evaluated is. Instead of a state the record holds a
mark that says so; what was asked and has no outcome is evaluated before the search begins.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _serialize
from ..optimizer import Optimizer
from ..result import Candidate
from ..space import Encoding, Space
from .errors import SettingsError
from .journal import beyond
from .replay import told
from .summary import ranking
from .trial import Head, Trial


def mark(state: Mapping[str, Any], generation: int, queue: Sequence[Any] = ()) -> str:
    """What stands in the record instead of a state: where the search starts is kept.

    Args:
        state: of the optimizer that was on record, or a mark.
        generation: the number of the first generation to come.
        queue: points that are in line, as in a state.
    """
    start = {"mean": state.get("mean"), "sigma": state.get("sigma")}
    return json.dumps({"anew": generation, **start, "queue": list(queue)})


def is_mark(state: Any) -> bool:
    """Whether this is no state of an optimizer, but the mark.

    >>> is_mark(json.loads(mark({}, 7))), is_mark({"format": 4})
    (True, False)
    """
    return isinstance(state, dict) and "anew" in state


def encoding(space: Space, state: Mapping[str, Any]) -> Encoding:
    """The coordinates of a search, whose state or mark this is."""
    return Encoding(space, *(_serialize.unpack(state[name]) for name in ("mean", "sigma")))


def waiting(space: Space, trials: Iterable[Trial]) -> list[Candidate]:
    """What is to be evaluated first."""
    own = Encoding(space)
    unfinished = (trial for trial in trials if trial.status in ("asked", "running"))
    return [Candidate(trial.id, own.params_of(own.numbers_of(trial.params))) for trial in unfinished]


def begun(head: Head, state: Mapping[str, Any], trials: Iterable[Trial], count: int) -> Optimizer:
    """An optimizer that was told past data and has asked nothing; the same each time.

    Args:
        head: what the study is.
        state: the mark.
        trials: those before it.
        count: how many there are, outcome or not: the next one has this number.
    """
    optimizer = Optimizer(
        head.space,
        strategy=head.strategy,
        population=head.population,
        batch=head.batch,
        mean=_serialize.unpack(state["mean"]),
        sigma=_serialize.unpack(state["sigma"]),
        seed=np.random.default_rng([head.seed or 0, count]),  # other points than at first
        auto_restart=True,
        noisy=head.noisy,
        asynchronous=head.asynchronous,
    )
    known = [trial for trial in trials if trial.over]
    if known:
        outcomes = [told(trial, head.direction) for trial in known]
        optimizer.add([t.params for t in known], outcomes, id=[t.id for t in known])
    complete = optimizer.state()
    complete["counts"] |= {"generation": int(state["anew"]), "_next_id": count}
    complete["queue"] = state.get("queue", [])
    return Optimizer.restore(complete, head.space)


def forgotten(known: list[Trial], given: set[int], failures: bool) -> tuple[list[int], list[Trial]]:
    """Which trials count no more if these are forgotten; and all that changes in the record.

    Args:
        known: all trials.
        given: numbers of some of them, which must have outcomes.
        failures: those that failed are meant, too.
    """
    unknown = sorted(given - {t.id for t in known if t.over})
    if unknown:
        raise SettingsError(f"these trials have no outcome to forget: {', '.join(map(str, unknown))}")
    chosen = {t.id for t in known if t.id in given or (failures and t.status == "failed")}
    chosen |= {t.repeats for t in known if t.id in chosen and t.repeats is not None}
    gone = [t for t in known if t.over and (t.id in chosen or t.repeats in chosen)]
    freed = [replace(t, repeats=None) for t in known if not t.over and t.repeats in chosen]
    return [t.id for t in gone], [*(replace(t, status="forgotten") for t in gone), *freed]


def again(known: list[Trial], count: int, direction: str, space: Space) -> tuple[list[Trial], list[Trial]]:
    """New trials at the best allowed points, the best first; and all that changes in the record: none else
    counts.

    >>> from saltus import Int
    >>> known = [Trial(0, 0, {"k": 1}, "done", 3.0), Trial(1, 0, {"k": 2}, "done", 2.0)]
    >>> new, changed = again(known, 1, "minimize", Space({"k": Int(0, 9)}))
    >>> [trial.params for trial in new], [trial.status for trial in changed]
    ([{'k': 2}], ['forgotten', 'forgotten', 'asked'])
    """
    done = [t for t in known if t.status == "done"]
    excesses = beyond(space, [t.params for t in done])
    allowed = (t for t, excess in zip(done, excesses, strict=True) if not excess)
    best = sorted(allowed, key=ranking(direction))[:count]
    generation = max((t.generation + 1 for t in known), default=0)
    new = [Trial(len(known) + i, generation, t.params, "asked") for i, t in enumerate(best)]
    return new, [*(replace(t, status="forgotten") for t in known if t.status != "forgotten"), *new]
