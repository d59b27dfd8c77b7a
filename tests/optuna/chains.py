"""The chain of batches of a study, as anybody can read it from its trials."""

from __future__ import annotations

import optuna

from saltus.optuna.replay import BatchOrigin, TrialRecord


def chain(study: optuna.Study) -> dict[int, BatchOrigin]:
    """The batches that count, in their order: of several that follow the same one, the first."""
    following: dict[int | None, tuple[int, BatchOrigin]] = {}
    for trial in study.get_trials(deepcopy=False):
        record = TrialRecord.read(trial.system_attrs)
        if record is not None and record.origin is not None and record.number == trial.number:
            following.setdefault(record.origin.before, (record.batch, record.origin))
    batches: dict[int, BatchOrigin] = {}
    batch: int | None = None
    while batch in following:
        batch, origin = following[batch]
        batches[batch] = origin
    return batches


def told(study: optuna.Study) -> set[int]:
    """The trials that the search had been told of when its last batch began."""
    return {number for origin in chain(study).values() for number in origin.told}
