"""Jobs of SLURM: `--on slurm`. Each job is a worker of Dask, whose scheduler is in this process."""

from __future__ import annotations

import getpass
import math
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any

from .addresses import Jobs
from .cluster import RECONNECT
from .dask import DaskCluster
from .evaluation import MachineError

INTERVAL = 5.0  # seconds between two looks at the queue
AGAIN = 30.0  # seconds until jobs that were refused are submitted again
MOST_EARLY_DEATHS = 6  # jobs in a row, besides the first ones, that may end before they were of any use


class SlurmCluster(DaskCluster):
    """Jobs that SLURM runs, kept at a number: one that ends, for instance at its time limit, is replaced."""

    def __init__(self, jobs: Jobs, count: int) -> None:
        """So many jobs of this kind; none is submitted yet."""
        super().__init__("slurm")
        self._jobs, self._count = jobs, count
        self._cluster: Any = None
        self._refusal = ""  # what sbatch said last when it took a job not
        self._over = threading.Event()

    @property
    def name(self) -> str:
        """For messages."""
        return "SLURM"

    def connect(self, seconds: float) -> Executor:
        """Submit the jobs, and be ready for them; they may wait in the queue for long."""
        if self._cluster is None:
            self._cluster = self._submitted()
            threading.Thread(target=self._keep, name="saltus-slurm", daemon=True).start()
        return super().connect(seconds)

    def _submitted(self) -> Any:
        try:
            import dask_jobqueue
        except ImportError as error:
            raise ImportError("slurm needs dask-jobqueue: pip install 'saltus[slurm]'") from error
        if shutil.which("sbatch") is None:
            raise MachineError(
                "slurm: there is no sbatch on the PATH; run this on a machine that can submit jobs"
            )
        jobs = self._jobs
        kind: Any = dask_jobqueue
        cluster: Any = kind.SLURMCluster(
            queue=jobs.partition,
            account=jobs.account,
            cores=1,  # evaluations at a time in a job
            processes=1,
            job_cpu=jobs.cores,
            memory=jobs.memory,
            walltime=jobs.walltime,
            interface=jobs.interface,
            job_name="saltus",
            job_extra_directives=list(jobs.options),
            job_script_prologue=list(jobs.prologue),
            log_directory=jobs.logs,
            job_cls=_patient(kind.slurm.SLURMJob, self._refused),
            scheduler_options={"dashboard": False, "dashboard_address": ":0"},
        )
        cluster.scale(jobs=self._count)
        return cluster

    def _refused(self, why: str) -> None:
        self._refusal = why

    def _keep(self) -> None:
        """Replace jobs that have ended, for instance at their time limit: dask-jobqueue does not. If some are
        refused, the others do the work; if all are, the run has to end.
        """
        names, died_early, tried, taken = set[str](), 0, time.monotonic(), -math.inf
        while not self._over.wait(INTERVAL):
            now = time.monotonic()
            names |= {str(worker["name"]) for worker in self._cluster.scheduler_info["workers"].values()}
            jobs = {name: job.job_id for name, job in dict(self._cluster.workers).items()}
            if any(jobs.values()):
                taken = now
            elif jobs and now - taken > RECONNECT:  # none ever was, or none for long
                self._fail(f"sbatch takes no job: {self._refusal}")
                continue
            gone = self._ended(jobs)
            early = len([name for name in gone if str(name) not in names])
            died_early = died_early + early if early == len(gone) else 0
            if died_early > MOST_EARLY_DEATHS + self._count:
                why = f"{died_early} jobs in a row have ended before they could evaluate anything"
                self._fail(f"{why}; what they printed is in {self._jobs.logs}")
                continue
            if now - tried > AGAIN:
                gone += [name for name, number in jobs.items() if not number]
            if gone:
                tried = now
                with suppress(Exception):  # that it cannot be cancelled any more, for instance
                    self._cluster.sync(self._cluster.scale_down, gone)
                self._cluster.scale(jobs=self._count)

    def _fail(self, why: str) -> None:
        if self._executor is not None:
            self._executor.fail(MachineError(why))

    def _ended(self, jobs: dict[Any, str | None]) -> list[Any]:
        """The names of jobs that SLURM does not know any more; none if it does not answer."""
        command = ["squeue", "--noheader", "--format=%i", f"--user={getpass.getuser()}"]
        try:
            said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        except (OSError, subprocess.SubprocessError):
            return []
        known = set(said.split())
        return [name for name, number in jobs.items() if number and str(number) not in known]

    def script(self) -> str:
        """What is given to sbatch."""
        return str(self._cluster.job_script())

    def _where(self) -> Any:
        return self._cluster

    def slots(self) -> int:
        """As many as jobs, when all have begun."""
        return self._count

    def end(self) -> None:
        """Disconnect, and cancel the jobs."""
        self._over.set()
        super().end()
        if self._cluster is not None:
            self._cluster.close(timeout=10)
            self._cluster = None


def _patient(kind: Any, refused: Callable[[str], None]) -> Any:
    """A kind of job that is told of when sbatch refuses it, instead of being an error that nobody sees."""

    class PatientJob(kind):  # type: ignore[misc]
        async def start(self) -> None:
            from distributed.core import Status

            try:
                await super().start()
            except (RuntimeError, ValueError) as error:  # its exit code, or it named no job
                refused(str(error).strip().splitlines()[-1].removeprefix("sbatch: "))
                self.status = Status.running  # as far as it can be; it has no number

    return PatientJob
