"""What a study file says to evaluate: a command, or a Python function, and where it runs."""

import importlib.util
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from .._checks import did_you_mean
from ..execution.command import Command, CommandWorker, remove_folder
from ..execution.evaluation import MachineError, Objective
from ..execution.evaluator import Evaluator
from ..execution.local import WorkerPool, pooled
from .errors import SettingsError
from .lock import name_of
from .settings import ObjectiveSettings, StudyFile


def described(file: StudyFile) -> str:
    """What a study file says to evaluate, as a phrase for the record."""
    objective = file.objective or ObjectiveSettings()
    if objective.command is not None:
        return f"command {list(objective.command)}"
    return f"python {objective.python}"


def evaluating(file: StudyFile, workers: int, record: Path) -> AbstractContextManager[Evaluator]:
    """An evaluator for what a study file says: a command, or a Python function in worker processes.

    Args:
        file: the study file.
        workers: how many evaluations run at a time.
        record: the record of the study, after which the folder for commands to work in is named.
    """
    objective = objective_of(file)
    timeout, retries = file.study.timeout, file.study.retries
    if objective.command is None:
        load = partial(load_in_worker, str(objective.python), str(file.folder))
        return pooled(load, workers, timeout, retries, own_errors=False)
    command = command_of(file, record)
    if command.program() is None:
        missing = f"there is no program {command.arguments[0]!r}{_where_looked(command)}"
        raise SettingsError(f"{file.path}: [objective] command: {missing}")
    return _running(command, workers, timeout, retries, record)


def objective_of(file: StudyFile) -> ObjectiveSettings:
    """What a study file says to evaluate, or a SettingsError if it says nothing."""
    if file.objective is None:
        raise SettingsError(
            f"{file.path}: there is no [objective], so nothing can be run; add one, "
            "or evaluate by hand with `saltus ask` and `saltus tell`"
        )
    return file.objective


def command_of(file: StudyFile, record: Path) -> Command:
    """The command of a study file that has one."""
    objective = objective_of(file)
    work = file.path.absolute().with_suffix(".work")
    given = objective.command or (), file.folder, objective.result, objective.keep, work
    return Command(*given, record=name_of(record), variables=file.space.keys)


@contextmanager
def _scratch(record: Path) -> Iterator[Path]:
    """A private folder for the working folders of a record: empty at first, gone afterwards.

    Its name begins alike for one record, of which only one process at a time is here: what a killed one has
    left is removed. The rest of the name is random, so nobody can take it before.
    """
    prefix, place = f"saltus-{name_of(record)}-", Path(tempfile.gettempdir())
    for left in place.glob(f"{prefix}*"):
        remove_folder(left)
    try:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
    except OSError as error:
        raise MachineError(f"{place}: no working folder can be made there: {error.strerror}") from error
    try:
        yield folder
    finally:
        remove_folder(folder)


@contextmanager
def _running(
    command: Command, workers: int, timeout: float | None, retries: int, record: Path
) -> Iterator[WorkerPool]:
    """Workers for a command, with a folder to work in."""
    with _scratch(record) as scratch:
        crew = [CommandWorker(replace(command, scratch=scratch), timeout) for _ in range(workers)]
        with closing(WorkerPool(crew, retries)) as pool:
            yield pool


def _where_looked(command: Command) -> str:
    if "/" not in command.arguments[0]:
        return " on the PATH; a file of the study's folder is written './name'"
    path = command.folder / command.arguments[0]
    if path.is_file():
        return f": {path} is not executable; chmod +x may help"
    return f" at {path}"


def load_in_worker(name: str, folder: str) -> Objective:
    """The function, in a process whose standard output is not to be mixed with ours."""
    with suppress(OSError, AttributeError):  # closed streams are not mixed
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return load_function(name, folder)


def load_function(name: str, folder: str) -> Objective:
    """The function that `module:function` names, the module looked up in the study's folder first."""
    module_name, _, function_name = name.partition(":")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    found = None
    with suppress(ImportError, ValueError):
        found = importlib.util.find_spec(module_name)
    if found is None:
        file = module_name.replace(".", "/") + ".py"
        raise SettingsError(
            f"[objective] python: there is no module {module_name!r} in {folder}; expected is {file} there, "
            f"with a function {function_name}(p) that gets a dict of values and returns a number"
        )
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        place = "".join(traceback.format_tb(error.__traceback__)[-1:]).strip()
        if isinstance(error, SyntaxError):
            place = f'File "{error.filename}", line {error.lineno}'
        raise SettingsError(
            f"[objective] python: importing {module_name!r} raised {type(error).__name__}: {error}\n  {place}"
        ) from error
    function: Objective | None = getattr(module, function_name, None)
    if not callable(function):
        names = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        near = did_you_mean(function_name, names)
        what = f"module {module_name!r} has no function {function_name!r}{near}"
        raise SettingsError(f"[objective] python: {what}")
    return function
