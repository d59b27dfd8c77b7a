"""From what stands on the command line to a study."""

import shlex
from contextlib import suppress
from pathlib import Path

from .._minimize import default_budget
from ..report.insight import recommendation as recommendation
from ..search.learnt import Share
from ..study import RecordError, SettingsError, Study, fit
from ..study.errors import blaming
from ..study.fit import difference
from ..study.settings import StudyFile

_OF_THE_SEARCH = (
    "strategy",
    "direction",
    "noisy",
    "asynchronous",
    "seed",
    "population",
    "batch",
)  # keys of [study] that make it


def record_of(study: Path, db: Path | None) -> Path:
    """The record that is meant: named, or beside the study file, or given instead of it."""
    path = study if db is None else db
    if path.is_dir():
        raise SettingsError(f"{path}: this is a folder")
    return path if db is not None or is_record(study) else study.with_suffix(".db")


def command_line(command: str, study: Path, db: Path | None, *more: str) -> str:
    """What to type for another command with the same study.

    >>> command_line("run", Path("my study.toml"), Path("a.db"), "--budget", "9")
    "saltus run 'my study.toml' --db a.db --budget 9"
    """
    record = [] if db is None else ["--db", str(db)]
    return shlex.join(["saltus", command, str(study), *record, *more])


def is_record(path: Path) -> bool:
    """Whether a file is a record, by its name or by its first bytes."""
    if path.suffix == ".db":
        return True
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def budget_of(file: StudyFile) -> int:
    """Evaluations in all: as the file says, else the default."""
    return default_budget(file.space) if file.study.budget is None else file.study.budget


def opened(study: Path, db: Path | None) -> Study:
    """A study to look at."""
    path = record_of(study, db)
    if path.exists():
        return Study.open(path)
    if is_record(study):
        raise RecordError(f"{path}: there is no record")
    file = StudyFile.read(study)  # what is wrong with the file comes first
    command = "ask" if file.objective is None else "run"
    raise RecordError(f"{path}: there is no record yet; `saltus {command} {study}` makes one")


def what_matters(study: Study) -> dict[str, Share] | None:
    """Which variables matter; None if nothing can be said, nor the optimizer's state be read."""
    with suppress(RecordError):
        return study.sensitivity()
    return None


def opened_or_created(file: StudyFile, db: Path | None, workers: int) -> Study:
    """The study of a file: continued if there is a record, which must fit, else begun.

    A record in which nothing was asked yet, perhaps since the objective could not be loaded, need not fit.
    """
    path = record_of(file.path, db)
    name = file.path.stem if file.study.name is None else file.study.name
    given = {key: getattr(file.study, key) for key in _OF_THE_SEARCH}

    def check(study: Study) -> None:
        """What makes the search must be as it was when it began; its limits and workers may change."""
        found = difference(study.head, file.space, given)
        if found is not None:
            where = {"space": "[space]"}.get(found[0], f"[study] {found[0]}")
            raise SettingsError(
                f"{file.path}: {where} has changed since the record {study.path} was begun: {found[1]}. "
                "Put it back, or begin another record with --db"
            )

    def create() -> Study:
        sizes = {"population": file.population(workers), "batch": file.batch(workers)}
        with blaming(f"{file.path}: [study] "):
            return Study.create(path, file.space, name=name, **given | sizes)

    return fit.opened_or_created(path, Study.open, check, create)
