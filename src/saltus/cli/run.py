"""Run a study."""

from __future__ import annotations

import argparse
import json
import shlex
from dataclasses import replace

from ..minimize import default_budget
from ..result import Stop
from ..study import SettingsError, Study
from ..study.file import StudyFile
from ..study.objective import described, evaluating
from ..workers import worker_count
from .codes import DONE, INTERRUPTED, TROUBLE
from .lines import counted, progress, say
from .show import as_json, as_text
from .studies import opened_or_created, record_of


def run(options: argparse.Namespace) -> int:
    """Run a study, or continue it where it was, until its budget or its target is reached. The first Ctrl-C
    waits for running evaluations, the second ends them; the same command goes on.
    """
    file = StudyFile.read(options.study)
    given = {key: getattr(options, key) for key in ("workers", "budget") if getattr(options, key) is not None}
    for key, smallest in (("budget", 1), ("workers", -1)):
        if key in given and (given[key] < smallest or given[key] == 0):
            raise SettingsError(f"--{key} must be a positive whole number, got {given[key]}")
    file = replace(file, study=replace(file.study, **given))
    workers = worker_count(file.study.workers)
    where = evaluating(file, workers, record_of(options.study, options.db))
    study = opened_or_created(file, options.db, workers)
    budget = file.study.budget or default_budget(file.space)
    size = f"{counted(file.space.dimension, 'variable')}, {counted(workers, 'worker')}"
    say(f"{study.head.name}: {size}, record {study.path}")
    _note_a_new_objective(file, study)
    result = study.run(
        where,
        described(file),
        workers=workers,
        budget=budget,
        target=file.study.target,
        max_seconds=file.study.max_seconds,
        bar=progress(budget),
        say=say,
    )
    summary = study.summary()
    print(json.dumps(as_json(summary), indent=2) if options.json else as_text(summary))
    if not options.json:
        record = [] if options.db is None else ["--db", str(options.db)]
        say(
            f"{result.message}\n    pictures: {shlex.join(['saltus', 'report', str(options.study), *record])}"
        )
    if result.stop is Stop.INTERRUPTED:
        return INTERRUPTED
    return TROUBLE if result.stop is Stop.FAILING or result.params is None else DONE


def _note_a_new_objective(file: StudyFile, study: Study) -> None:
    before = study.last_objective()
    if before is not None and before != described(file):
        say(f"note: the objective was {before} before; values on record are kept")
