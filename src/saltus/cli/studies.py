"""From what stands on the command line to a study."""

from contextlib import suppress
from pathlib import Path

from ..search.learnt import Share
from ..search.recommendation import Recommended
from ..study import RecordError, SettingsError, Study
from ..study.database import Database
from ..study.errors import blaming
from ..study.settings import StudyFile

_OF_THE_SEARCH = (
    "strategy",
    "direction",
    "noisy",
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


def is_record(path: Path) -> bool:
    """Whether a file is a record, by its name or by its first bytes."""
    if path.suffix == ".db":
        return True
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


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


def recommendation(study: Study) -> Recommended | None:
    """What to recommend, if the study is noisy; None if nothing can be said, nor the state be read."""
    with suppress(RecordError):
        found = study.recommended
        return found if found is not None and found.error > 0 else None
    return None


def opened_or_created(file: StudyFile, db: Path | None, workers: int) -> Study:
    """The study of a file: continued if there is a record, which must fit, else begun.

    A record in which nothing was asked yet, perhaps since the objective could not be loaded, need not fit.
    """
    path = record_of(file.path, db)
    if Database.is_made(path):
        study = Study.open(path)
        try:
            _check_fit(file, study)
            return study
        except SettingsError:
            if not study.remove_if_empty():
                raise
    name = file.path.stem if file.study.name is None else file.study.name
    given = {key: getattr(file.study, key) for key in _OF_THE_SEARCH}
    given |= {"population": file.population(workers), "batch": file.batch(workers)}
    try:
        with blaming(f"{file.path}: [study] "):
            return Study.create(path, file.space, name=name, **given)
    except RecordError:
        if Database.is_made(path):  # by another process, meanwhile
            return opened_or_created(file, db, workers)
        raise


def _check_fit(file: StudyFile, study: Study) -> None:
    """What makes the search must be as it was when it began; its limits and workers may change."""
    head, settings = study.head, file.study
    now, then = file.space.where.plain(), study.space.where.plain()
    if now != then:
        raise _unfit(file, study, "[study] where", f"{then} then, {now} now")
    if file.space.to_plain() != study.space.to_plain():
        raise _unfit(file, study, "[space]", _difference(file, study))
    for key in _OF_THE_SEARCH:
        wanted, had = getattr(settings, key), getattr(head, key)
        if wanted is not None and wanted != had:
            raise _unfit(file, study, f"[study] {key}", f"{had!r} then, {wanted!r} now")


def _difference(file: StudyFile, study: Study) -> str:
    now, then = (dict(zip(s.keys, s.variables, strict=True)) for s in (file.space, study.space))
    for name in [*then, *now]:
        if now.get(name) != then.get(name):
            return f"{name!r} was {then.get(name, 'not there')} and is {now.get(name, 'not there')}"
    return "the order of the variables"


def _unfit(file: StudyFile, study: Study, where: str, what: str) -> SettingsError:
    return SettingsError(
        f"{file.path}: {where} has changed since the record {study.path} was begun: {what}. "
        "Put it back, or begin another record with --db"
    )
