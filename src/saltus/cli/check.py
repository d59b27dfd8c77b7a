"""One evaluation of what a study file says, and all that can be checked before a study is run."""

from __future__ import annotations

import argparse
import math
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from os.path import isfile
from pathlib import Path
from typing import NamedTuple

from .._checks import worker_count
from ..execution.evaluation import MachineError, Run, WorkerError
from ..optimizer import Optimizer
from ..result import Candidate
from ..space.variables import Float
from ..study import Study
from ..study.errors import SettingsError, StudyError, blaming
from ..study.lock import is_held
from ..study.objective import evaluating
from ..study.settings import StudyFile
from .codes import DONE, RECORD, TROUBLE, USAGE
from .lines import columns_of_output, counted, fitted, printable
from .studies import budget_of, command_line, opened_or_created, record_of
from .values import listed
from .view import duration

BY_HAND = "by hand"
ORDERS = 3  # of magnitude, over which a float without `log` is worth a note
_LINES = 10  # of what a program wrote
_KINDS = {"Float": "float", "Int": "integer", "Ordinal": "ordinal", "Bool": "switch"}


class Finding(NamedTuple):
    """A sentence about a study, and the exit code if it is a problem."""

    kind: str  # ok, note, now, problem or BY_HAND
    sentence: str
    code: int = DONE


def check(options: argparse.Namespace) -> int:
    """Check a study before it is run: the study file, the record's folder, and one evaluation, which is not
    recorded.
    """
    code, then = DONE, ("run it", "run")
    for finding in findings(options.study, options.db):
        line = f"{finding.kind + ':':>9} {printable(finding.sentence, chr(10))}"
        print(fitted(line, columns_of_output(), 10), flush=True)
        code = code or finding.code
        if finding.kind == BY_HAND:
            then = "points", "ask"
    if code == DONE:
        what, command = then
        print(f"{what + ':':>9} {command_line(command, options.study, options.db)}")
    return code


def findings(path: Path, db: Path | None = None) -> Iterator[Finding]:
    """What there is to say about a study, the study file first; nothing follows a file that is wrong."""
    try:
        file = StudyFile.read(path)
        workers = worker_count(file.study.workers)
        candidate = first_point(file, workers)
    except SettingsError as error:
        yield Finding("problem", str(error), USAGE)
        return
    yield Finding("ok", f"{path}: {described(file, workers)}")
    yield from notes(file)
    yield from about_record(file, record_of(path, db), workers)
    if file.objective is None:
        yield Finding(
            BY_HAND, "there is no [objective]: `saltus ask` gives points, `saltus tell` takes values"
        )
        return
    yield Finding("now", f"one evaluation, at {listed(candidate.params)}")
    yield from about_evaluation(file, candidate, workers, record_of(path, db))


def first_point(file: StudyFile, workers: int) -> Candidate:
    """The point that a run would evaluate first."""
    settings = file.study
    with blaming(f"{file.path}: [study] ", (ValueError, TypeError)):
        optimizer = Optimizer(
            file.space,
            strategy=settings.strategy,
            population=file.population(workers),
            batch=file.batch(workers),
            seed=settings.seed,
            noisy=settings.noisy,
        )
        optimizer.enqueue(*file.points)
        return optimizer.ask(1)[0]


def described(file: StudyFile, workers: int) -> str:
    """What a study file says, in a sentence."""
    kinds = Counter(_KINDS.get(type(v).__name__, "category") for v in file.space.variables)
    plural = {"switch": "switches", "category": "categories"}
    parts = [f"{n} {kind if n == 1 else plural.get(kind, kind + 's')}" for kind, n in kinds.items()]
    where = len(file.study.where)
    known = f", {counted(where, 'known constraint')}" if where else ""
    limit = counted(budget_of(file), "evaluation")
    return (
        f"{counted(len(file.space), 'variable')} ({', '.join(parts)}){known}; "
        f"{file.study.direction}, {limit} at most, {counted(workers, 'worker')}"
    )


def notes(file: StudyFile) -> Iterator[Finding]:
    """What is allowed and yet may be a mistake."""
    for name, variable in zip(file.space.keys, file.space.variables, strict=True):
        if not isinstance(variable, Float):
            continue
        low, high = variable.low, variable.high
        if low is None or high is None or not math.isfinite(high - low):
            yield Finding("note", f"{name} has no bounds on both sides: the search may go far")
        elif low > 0 and high / low >= 10**ORDERS and not variable.log:
            orders = math.log10(high / low)
            said = f"{name} spans {orders:.0f} orders of magnitude: log = true may be meant"
            yield Finding("note", said)
    objective = file.objective
    if objective is not None and objective.command is not None:
        given = " ".join(objective.command)
        unused = [n for n in file.space.keys if f"{{{n}}}" not in given]
        if unused:
            names = ", ".join(unused)
            said = f"{names}: not in the command, so the program must read it from standard input (JSON)"
            yield Finding("note", said)
        for part in objective.command[1:]:  # isfile: for what could be no path at all, it is no error
            if not Path(part).is_absolute() and isfile(file.folder / part):
                place = f"{{study_dir}}/{part.removeprefix('./')}"
                yield Finding(
                    "note", f"{part} lies beside the study, and the command runs elsewhere: {place}"
                )


def about_record(file: StudyFile, record: Path, workers: int) -> Iterator[Finding]:
    """Whether a record can be written where it is to be, and whether one that is there fits."""
    try:
        with tempfile.TemporaryDirectory(dir=record.parent, prefix=".saltus-check-") as folder:
            opened_or_created(file, Path(folder) / "check.db", workers)
    except SettingsError as error:
        yield Finding("problem", str(error), USAGE)
        return
    except (StudyError, OSError) as error:
        what = getattr(error, "strerror", None) or str(error)
        yield Finding("problem", f"{record}: no record can be written there: {what}", RECORD)
        return
    if not record.exists():
        yield Finding("ok", f"the record {record} can be written")
        return
    try:
        study = Study.open(record)
        summary = study.summary()
        if summary.evaluations or summary.unfinished:
            opened_or_created(file, record, workers)
        done = counted(summary.evaluations, "evaluation")
        yield Finding("ok", f"the record {record} fits: `saltus run` goes on after {done}")
        if is_held(record):
            yield Finding("note", "another process is running this study now")
    except SettingsError as error:
        yield Finding("problem", str(error), USAGE)
    except StudyError as error:
        yield Finding("problem", str(error), RECORD)


def about_evaluation(file: StudyFile, candidate: Candidate, workers: int, record: Path) -> Iterator[Finding]:
    """What one evaluation gives, that nothing remembers."""
    assert file.objective is not None
    alone = replace(file, objective=replace(file.objective, keep="never"))
    with tempfile.TemporaryDirectory(prefix="saltus-check-") as folder:
        try:
            with evaluating(alone, 1, Path(folder) / "check.db") as evaluator:
                run = evaluator.submit(candidate, None).result()
        except SettingsError as error:
            yield Finding("problem", str(error), USAGE)
            return
        except (WorkerError, MachineError) as error:
            yield Finding("problem", str(error), TROUBLE)
            return
    reason = run.failure_reason
    if reason is not None:
        counted_not = "it says that it is not to count: " if run.withheld else "the evaluation failed: "
        yield Finding("problem", counted_not + reason + written(run), TROUBLE)
        return
    yield Finding("ok", f"it gave {run.outcome.value:.10g} in {duration(run.seconds)}")
    yield from about_constraints(run, record)
    rounds = math.ceil(budget_of(file) / workers)
    if run.seconds >= 1:
        whole = f"{counted(budget_of(file), 'evaluation')} by {counted(workers, 'worker')}"
        yield Finding("note", f"{whole} take about {duration(rounds * run.seconds)}, if all take as long")


def about_constraints(run: Run, record: Path) -> Iterator[Finding]:
    """Which constraints there are, and whether they hold."""
    limits = run.outcome.constraints
    if limits:
        said = ", ".join(
            f"{name} = {c:.6g} ({'holds' if c <= 0 else 'violated'})" for name, c in limits.items()
        )
        yield Finding("ok", f"{counted(len(limits), 'constraint')}: {said}")
        if [*limits] == [str(i) for i in range(len(limits))]:
            yield Finding("note", 'constraints have no names; {"stress": -0.2} instead of [-0.2] gives one')
    if record.exists():
        try:
            best = Study.open(record).best
        except StudyError:
            return
        before = None if best is None else [*(best.constraints or {})]
        if before is not None and sorted(before) != sorted(limits):
            was, now = (", ".join(names) or "none" for names in (before, limits))
            yield Finding("note", f"the constraints on record are {was}, and now {now}")


def written(run: Run) -> str:
    """The end of what a program wrote when it failed, on lines of its own."""
    text = run.stderr or "\n".join(getattr(run.error, "__notes__", []))
    lines = text.strip().splitlines()[-_LINES:]
    return "".join(f"\n          | {line[:200]}" for line in lines)
