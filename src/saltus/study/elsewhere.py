"""What a study file says to evaluate, on a cluster: workers get a point and give an outcome, and no more."""

import functools
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..execution.addresses import cluster_at
from ..execution.cluster import OnCluster, Task
from ..execution.command import Command, CommandWorker
from ..execution.evaluation import Answer, MachineError, Objective, evaluate
from ..result import Candidate
from .errors import SettingsError
from .objective import command_of, load_function, objective_of
from .settings import StudyFile

_THERE = "the study's folder must be reachable there under the same path, as on a network file system"


def on_cluster(file: StudyFile, on: str, workers: int, record: Path, say: Callable[[str], None]) -> OnCluster:
    """An evaluator on a cluster, connected to it.

    Args:
        file: the study file.
        on: the address of the cluster.
        workers: how many jobs a batch system is asked for; -1: what the file says does not count.
        record: the record of the study.
        say: is called with a line for the user when something is lost, or found again.
    """
    jobs = file.run.jobs
    if on == "slurm" and workers < 1:
        raise SettingsError(
            f"{file.path}: slurm needs the number of jobs: [study] workers = 8, or --workers 8"
        )
    cluster = cluster_at(on, jobs, workers)
    return OnCluster(
        _task(file, record), cluster, retries=file.study.retries, patience=file.run.reconnect, say=say
    )


def _task(file: StudyFile, record: Path) -> Task:
    objective = objective_of(file)
    if objective.command is not None:
        return partial(by_command, command_of(file, record), file.study.timeout)
    if file.study.timeout is not None:
        raise SettingsError(
            f"{file.path}: [study] timeout: a Python function on a cluster cannot be ended from here; let it "
            "watch the time itself, or make it a command"
        )
    return partial(by_name, str(objective.python), str(file.folder))


def by_command(command: Command, timeout: float | None, candidate: Candidate) -> Answer:
    """On a worker: run a command for a candidate."""
    try:
        return CommandWorker(command, timeout).evaluate(candidate, None)
    except MachineError as error:
        raise MachineError(f"{error}, on {socket.gethostname()}; {_THERE}") from error


def by_name(name: str, folder: str, candidate: Candidate) -> Answer:
    """On a worker: call the function that `module:function` names."""
    return Answer(evaluate(_loaded(name, folder), candidate.params))


@functools.cache
def _loaded(name: str, folder: str) -> Objective:
    try:
        return load_function(name, folder)
    except SettingsError as error:
        raise MachineError(f"{error}, on {socket.gethostname()}; {_THERE}") from error
