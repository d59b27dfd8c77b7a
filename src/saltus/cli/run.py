"""Run a study."""

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from .._checks import worker_count
from ..execution.addresses import check_address
from ..execution.cluster import OnCluster
from ..execution.driver import Limits
from ..execution.evaluator import Evaluator
from ..execution.progress import Progress
from ..search.stopping import Stop
from ..study.elsewhere import on_cluster
from ..study.errors import SettingsError, blaming
from ..study.objective import described, evaluating
from ..study.settings import StudyFile
from .codes import DONE, INTERRUPTED, TROUBLE
from .display import display
from .lines import counted, say
from .show import as_json, as_text, on_terminal
from .studies import budget_of, command_line, opened_or_created, recommendation, record_of, what_matters
from .view import clock


def run(options: argparse.Namespace) -> int:
    """Run a study, or continue it where it was, until its budget or its target is reached. The first Ctrl-C
    waits for running evaluations, the second ends them; the same command goes on.
    """
    with ExitStack() as stack:
        return _run(options, stack)


def _run(options: argparse.Namespace, stack: ExitStack) -> int:
    file = StudyFile.read(options.study)
    given = {key: getattr(options, key) for key in ("workers", "budget", "patience")}
    settings = replace(file.study, **{key: value for key, value in given.items() if value is not None})
    with blaming("--"):  # the file was checked: what is wrong now is an option
        budget = budget_of(replace(file, study=settings))
        limits = Limits(
            budget,
            settings.target,
            settings.max_seconds,
            patience=settings.patience,
            min_gain=settings.min_gain,
        )
        workers, on = worker_count(settings.workers), file.run.on if options.on is None else options.on
    record = record_of(options.study, options.db)
    where: AbstractContextManager[Evaluator]
    if on is None:
        where = evaluating(file, workers, record)
    else:
        there = stack.enter_context(reached(file, on, settings.workers, record))
        where, workers = nullcontext(there), workers if settings.workers > 0 else there.slots
    study = opened_or_created(file, options.db, workers)
    if options.reevaluate is not None:
        with blaming("--"):
            again = study.reevaluate(options.reevaluate)
        say(f"all values are forgotten; {counted(len(again), 'point')} to evaluate again, the best first")
    size = f"{counted(file.space.dimension, 'variable')}, {counted(workers, 'worker')}"
    size += f" on {on}" if on else ""
    if not options.quiet:
        say(f"{study.head.name}: {size}, record {study.path}")
    bar = Progress(None) if options.quiet else display(study.path, budget, sys.stderr)
    how = described(file)
    with saying(options.verbose):
        result = study.run(where, how, limits, workers=workers, bar=bar, say=say, points=file.points)
    known = study.summary(), what_matters(study), recommendation(study)
    print(as_json(*known) if options.json else on_terminal(as_text(*known)))
    if not (options.json or options.quiet):
        best = "none" if result.params is None else f"{result.fun:.10g}"
        say(f"{result.message}\n    best: {best}")
        if result.stop in (Stop.INTERRUPTED, Stop.SECONDS, Stop.BUDGET):
            more = ["--budget", str(2 * budget)] if result.stop is Stop.BUDGET else []
            place = [] if options.on is None else ["--on", options.on]
            say(f"    to go on: {command_line('run', options.study, options.db, *place, *more)}")
        say(f"    pictures: {command_line('report', options.study, options.db)}")
    if result.stop is Stop.INTERRUPTED:
        return INTERRUPTED
    trouble = result.stop is Stop.FAILING or result.params is None
    if trouble and options.quiet:
        say(result.message)
    return TROUBLE if trouble else DONE


@contextmanager
def saying(verbosity: int) -> Iterator[None]:
    """Meanwhile, say what the library logs: with 0 nothing, with 1 what happens, with 2 all."""
    logger, handler = logging.getLogger("saltus"), Saying()
    before = logger.level
    if verbosity:
        logger.setLevel(logging.INFO if verbosity == 1 else logging.DEBUG)
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


@contextmanager
def reached(file: StudyFile, on: str, workers: int, record: Path) -> Iterator[OnCluster]:
    """The cluster at an address, for as long as this lasts."""
    if on != file.run.on:
        with blaming("--on "):
            check_address(on)
    try:
        there = on_cluster(file, on, workers, record, say)
    except ImportError as error:
        raise SettingsError(f"--on {on}: {error}") from error
    with closing(there):
        if workers < 1 and there.slots < 1:
            raise SettingsError(f"{on} has no workers yet; say how many there will be with --workers")
        yield there


class Saying(logging.Handler):
    """A handler that says what is logged, with the time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say what a record of the log tells, as one line."""
        say(f"{clock()}  {record.getMessage()}")
