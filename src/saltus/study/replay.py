"""From the optimizer that is on record to the one that asked last: what was told since is told again.

The state of a search with a matrix is long in many dimensions (21 MiB of `dx-nes-ici` in 1000 variables), so
it is not written with every batch. What was asked since is taken from the record, and never computed anew
alone: another machine may round otherwise. An asynchronous search depends on what it was told before it
asked, so the order of both is on record, too.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

from .._typing import Params
from ..optimizer import Optimizer
from ..order import Outcome
from .journal import run_of
from .summary import sign_of
from .trial import Tell, Trial

ROUNDING = 1e-6  # relative: by how much points may differ from one machine to another


class DepartedError(ValueError):
    """The search does not ask what is on record: another machine, or another version, goes another way."""


def replay(optimizer: Optimizer, trials: Sequence[Trial], asked: int, direction: str) -> None:
    """Let an optimizer ask and be told what is on record, up to the batch of which not all is known.

    Args:
        optimizer: as it was when so many trials had been asked.
        trials: from its generation on, in the order asked.
        asked: how many trials there were.
        direction: of the study.
    """
    rest = [trial for trial in trials if trial.id >= asked]
    while True:
        generation = optimizer.generation
        new = [trial for trial in rest if trial.generation == generation]
        if new:
            _ask(optimizer, new)
            rest = rest[len(new) :]
        pending, first = optimizer.pending, trials[0].id if trials else 0
        known = [trials[candidate.id - first] for candidate in pending]
        if pending and not all(trial.over for trial in known):
            if rest:
                raise DepartedError(f"generation {generation} is not complete, and another follows")
            return
        if pending:
            optimizer.tell(pending, [told(trial, direction) for trial in known])
        if not rest:
            return
        if optimizer.generation == generation:
            raise DepartedError(f"generation {generation} is larger than on record")


def learnt(optimizer: Optimizer, trials: Sequence[Trial], tells: Sequence[Tell]) -> Iterator[list[Trial]]:
    """What an asynchronous search had in its memory when its state was written, in the order of that memory.

    Args:
        optimizer: restored from the state, without a memory.
        trials: all that had been asked by then.
        tells: all that it was ever told.

    First comes past data, which nobody told; then, group by group, what entered the memory together.
    """
    later = {candidate.id for candidate in optimizer.pending} | optimizer.unlearnt
    others = {tell.trial for tell in tells} | later
    yield [trial for trial in trials if trial.over and trial.id not in others]
    before = (tell for tell in tells if tell.trial < len(trials) and tell.trial not in later)
    for _, group in itertools.groupby(before, key=lambda tell: tell.known):
        yield [trials[id] for id in sorted(tell.trial for tell in group)]


def follow(
    optimizer: Optimizer, trials: Sequence[Trial], tells: Sequence[Tell], asked: int, direction: str
) -> None:
    """Let an asynchronous optimizer ask and be told what is on record, in the same order.

    Args:
        optimizer: as it was when so many trials had been asked.
        trials: all of them.
        tells: all that it was ever told; what it knows already is left out.
        asked: how many trials there were.
        direction: of the study.
    """
    for tell in tells:
        if tell.asked > asked:
            _ask(optimizer, trials[asked : tell.asked])
            asked = tell.asked
        trial = trials[tell.trial]
        candidate = next((c for c in optimizer.pending if c.id == trial.id), None)
        if candidate is None:
            continue
        if not trial.over:
            raise DepartedError(f"trial {trial.id} was told, and has no outcome")
        optimizer.tell(candidate, told(trial, direction))
        optimizer.settle()
    if trials[asked:]:
        _ask(optimizer, trials[asked:])


def _ask(optimizer: Optimizer, trials: Sequence[Trial]) -> None:
    """Ask what is on record."""
    candidates = optimizer.ask(len(trials))
    if [candidate.id for candidate in candidates] != [trial.id for trial in trials]:
        raise DepartedError(f"generation {optimizer.generation} is smaller than on record")
    for candidate, trial in zip(candidates, trials, strict=True):
        here, there = (_values(params) for params in (candidate.params, trial.params))
        if here == there:
            continue
        if len(here) != len(there) or not all(map(_alike, here, there)):
            raise DepartedError(f"trial {trial.id} is elsewhere on record")
        optimizer.correct(trial.id, trial.params)


def _values(params: Params) -> list[Any]:
    return [*(itertools.chain(*params.items()) if isinstance(params, dict) else params)]


def _alike(here: Any, there: Any) -> bool:
    """Whether two values are the same, numbers up to rounding."""
    if isinstance(here, Real) and isinstance(there, Real):
        return math.isclose(here, there, rel_tol=ROUNDING, abs_tol=ROUNDING**2)
    return bool(here == there)


def told(trial: Trial, direction: str) -> Outcome:
    """What the optimizer learns of a trial that is over: to be minimised."""
    outcome = run_of(trial).result
    return replace(outcome, value=sign_of(direction) * outcome.value)
