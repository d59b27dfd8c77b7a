"""Milliseconds per trial in a sampler, and in the rest of Optuna: a part of experiments.optuna_compare.

A sphere of 20 parameters, half of them integers, by ask and tell. The sampler's time is all that passes in
the methods that Optuna calls, what they read and write in the storage included; the rest of a trial, but for
the objective, is Optuna's own bookkeeping. A mean over whole generations (12 trials in all samplers here) is
one measurement. For trial 5000 in SQLite, the trials before are made in memory and copied, so the sampler
reads all of them at once, as a process does that continues a study.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution, distribution_to_json
from optuna.samplers import BaseSampler
from optuna.storages._rdb import models
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import insert

from experiments.harness import markdown
from experiments.optuna_samplers import GIVEN, MARGIN, PLAIN, RANDOM, SALTUS, SAMPLERS
from experiments.record import Book

N = 20
SPACE: dict[str, BaseDistribution] = {
    f"x{i:02d}": IntDistribution(-10, 10) if i % 2 else FloatDistribution(-10, 10) for i in range(N)
}
GENERATION = 12
EARLY, LATE = 10, 5000
METHODS = [GIVEN, SALTUS, MARGIN, PLAIN, RANDOM]
STORAGES = ["memory", "SQLite"]
STUDIES = {"memory": 10, "SQLite": 3}  # for one early measurement
GENERATIONS = {"memory": 16, "SQLite": 4}  # for one late measurement

clock = time.perf_counter


class Timed(BaseSampler):
    """A sampler, and the time that passes in it."""

    def __init__(self, sampler: BaseSampler) -> None:
        """Begin with 0 seconds."""
        self.sampler = sampler
        self.seconds = 0.0

    def _in(self, method: Callable[..., Any], *words: Any) -> Any:
        start = clock()
        try:
            return method(*words)
        finally:
            self.seconds += clock() - start

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Timed, as all others."""
        self._in(self.sampler.before_trial, study, trial)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Timed."""
        space: dict[str, BaseDistribution] = self._in(self.sampler.infer_relative_search_space, study, trial)
        return space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Timed."""
        params: dict[str, Any] = self._in(self.sampler.sample_relative, study, trial, search_space)
        return params

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Timed."""
        return self._in(self.sampler.sample_independent, study, trial, param_name, param_distribution)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Timed."""
        self._in(self.sampler.after_trial, study, trial, state, values)


class Key(NamedTuple):
    """One measurement."""

    storage: str
    trial: int
    method: str
    repetition: int


class Time(NamedTuple):
    """Milliseconds per trial; and in the sampler at its first trial, with all trials before it to read."""

    sampler: float
    rest: float
    first: float


def _row(key: Key, time: Time) -> list[Any]:
    return [*key, *(f"{ms:.4f}" for ms in time)]


def _parse(row: list[str]) -> tuple[Key, Time]:
    storage, trial, method, repetition, sampler, rest, first = row
    key = Key(storage, int(trial), method, int(repetition))
    return key, Time(float(sampler), float(rest), float(first))


BOOK = Book([*Key._fields, *Time._fields], _row, _parse)


def _sphere(params: dict[str, Any]) -> float:
    return float(sum((value - 3) ** 2 for value in params.values()))


def measure(study: Study, sampler: Timed, trials: int) -> tuple[float, float]:
    """Mean milliseconds per trial, in the sampler and in the rest of Optuna."""
    whole = inside = 0.0
    before = sampler.seconds
    for _ in range(trials):
        start = clock()
        trial = study.ask(SPACE)
        asked = clock()
        value = _sphere(trial.params)
        evaluated = clock()
        study.tell(trial, value)
        whole += clock() - evaluated + asked - start
    inside = sampler.seconds - before
    return 1e3 * inside / trials, 1e3 * (whole - inside) / trials


def _begin(method: str, repetition: int, url: str | None) -> tuple[Study, Timed]:
    sampler = Timed(SAMPLERS[method](repetition, SPACE))
    return optuna.create_study(sampler=sampler, storage=url), sampler


def run_one(key: Key) -> Time:
    """One measurement."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # in memory if possible: waiting for a disk would hide what Optuna does, and is not the sampler's fault
    quick = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=quick if quick.is_dir() else None) as folder:
        url = f"sqlite:///{folder}/study.db" if key.storage == "SQLite" else None
        return _early(key, url) if key.trial == EARLY else _late(key, url)


def _early(key: Key, url: str | None) -> Time:
    """Around trial 10: one generation in the middle of which it is, over some studies."""
    times, firsts = [], []
    for i in range(STUDIES[key.storage]):
        study, sampler = _begin(key.method, 100 * key.repetition + i, url and url.replace("study", f"{i}"))
        firsts.append(measure(study, sampler, 1)[0])
        measure(study, sampler, EARLY - GENERATION // 2 - 1)
        times.append(measure(study, sampler, GENERATION))
    inside, rest = (statistics.fmean(column) for column in zip(*times, strict=True))
    return Time(inside, rest, statistics.fmean(firsts))


def _late(key: Key, url: str | None) -> Time:
    """Around trial 5000."""
    generations = GENERATIONS[key.storage]
    study, sampler = _begin(key.method, key.repetition, None)
    first = measure(study, sampler, 1)[0]
    measure(study, sampler, LATE - generations * GENERATION // 2 - GENERATION - 1)
    if url is not None:
        copied, sampler = _begin(key.method, key.repetition, url)
        _copy(study, copied)
        study = copied
        first = measure(study, sampler, 1)[0]
    measure(study, sampler, GENERATION - 1)
    return Time(*measure(study, sampler, generations * GENERATION), first)


def _copy(study: Study, to: Study) -> None:
    """The trials of a study as rows of a new database: `add_trials` takes minutes for so many."""
    trials, params, values, attributes = [], [], [], []
    for trial in study.get_trials(deepcopy=False):
        id = trial.number + 1
        dates = {"datetime_start": trial.datetime_start, "datetime_complete": trial.datetime_complete}
        trials.append(
            {"trial_id": id, "study_id": to._study_id, "number": trial.number, "state": trial.state, **dates}
        )
        finite = models.TrialValueModel.TrialValueType.FINITE
        values.append({"trial_id": id, "objective": 0, "value": trial.value, "value_type": finite})
        for name, value in trial.params.items():
            distribution = trial.distributions[name]
            number = distribution.to_internal_repr(value)
            text = distribution_to_json(distribution)
            params.append(
                {"trial_id": id, "param_name": name, "param_value": number, "distribution_json": text}
            )
        for key, attribute in trial.system_attrs.items():
            attributes.append({"trial_id": id, "key": key, "value_json": json.dumps(attribute)})
    storage: Any = to._storage
    with storage._backend.engine.begin() as connection:
        connection.execute(insert(models.TrialModel), trials)
        connection.execute(insert(models.TrialParamModel), params)
        connection.execute(insert(models.TrialValueModel), values)
        if attributes:
            connection.execute(insert(models.TrialSystemAttributeModel), attributes)


def keys_of(repetitions: int) -> list[Key]:
    """All measurements; the samplers take turns, so that a busy machine slows all of them alike."""
    return [
        Key(storage, trial, method, i)
        for trial in (EARLY, LATE)
        for storage in STORAGES
        for i in range(repetitions)
        for method in METHODS
    ]


def table(out: Path, repetitions: int) -> str:
    """Measure what is missing, one at a time; medians of all measurements, those of more repetitions too."""
    file = out / "optuna-overhead.csv"
    keys = keys_of(repetitions)
    record = BOOK.read(file)
    if missing := [key for key in keys if key not in record]:
        BOOK.run(missing, run_one, file, 1, len(keys))
        record = BOOK.read(file)
    cells: dict[tuple[str, int, str], list[Time]] = {}
    for key in sorted(record, key=lambda key: (STORAGES.index(key.storage), key.trial)):
        cells.setdefault(key[:3], []).append(record[key])
    rows = []
    for (storage, trial, method), times in cells.items():
        middle = [statistics.median(column) for column in zip(*times, strict=True)]
        first = f"{middle[2]:.0f}" if storage == "SQLite" and trial == LATE else ""
        figures = [f"{ms:.2f}" for ms in middle[:2]]
        rows.append([storage, str(trial), method, *figures, str(len(times)), first])
    header = [
        "storage",
        "around trial",
        "sampler",
        "ms in the sampler",
        "ms in the rest",
        "measurements",
        "ms to catch up",
    ]
    return (
        f"{markdown(header, rows)}\n\nMedians of the measurements. To catch up: in the sampler, at the first "
        "trial of a process that continues the study."
    )
