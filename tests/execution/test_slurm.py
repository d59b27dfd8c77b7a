"""Jobs of SLURM: really, with Debian's daemons on this machine, where they are installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.clusters import account, evaluations, free_port, prepared, started, wait_for
from saltus.cli import main
from saltus.execution.addresses import Jobs
from saltus.execution.evaluation import MachineError
from saltus.execution.slurm import SlurmCluster

CONFIGURATION = """
ClusterName=saltus
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/d.log
SlurmctldPort={port}
SlurmdPort={other}
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=8000 State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def test_dask_jobqueue_and_sbatch_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MachineError, match="there is no sbatch on the PATH"):
        SlurmCluster(Jobs(), 2).connect(1.0)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    with pytest.raises(ImportError, match=r"pip install 'saltus\[slurm\]'"):
        SlurmCluster(Jobs(), 2).connect(1.0)


def test_how_many_jobs_must_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = prepared(tmp_path, "slurm", 5, workers=-1)
    assert main(["run", str(file)]) == 2
    assert "slurm needs the number of jobs: [study] workers = 8" in capsys.readouterr().err


# a job is a process of this machine; there is one at most
SBATCH = """#!/bin/sh
echo x >> {folder}/tries
mkdir {folder}/taken 2> /dev/null || {{ echo "sbatch: error: {why}" >&2; exit 1; }}
setsid sh -c "$(cat "$1")" > {folder}/job.log 2>&1 & touch {folder}/jobs/$!; echo "Submitted batch job $!"
"""
SQUEUE = "#!/bin/sh\ncd {folder}/jobs; for job in *; do kill -0 $job 2> /dev/null && echo $job; done; true\n"
SCANCEL = "#!/bin/sh\nkill -TERM -- -$1\n"


def imitated(folder: Path, monkeypatch: pytest.MonkeyPatch, why: str, budget: int, workers: int) -> Path:
    """A study on a SLURM that takes one job and refuses all others, for this reason."""
    (folder / "jobs").mkdir()
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL)):
        (folder / name).write_text(text.format(folder=folder, why=why))
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    file = prepared(folder, "slurm", budget, seconds="0.4", workers=workers)
    file.write_text(file.read_text() + f'memory = "500MB"\nlogs = "{folder / "logs"}"\n')
    return file


@pytest.mark.machines
@pytest.mark.skipif(os.name != "posix", reason="shell scripts")
def test_where_sbatch_takes_no_job_the_run_ends_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").mkdir()
    file = imitated(tmp_path, monkeypatch, "Batch job submission failed: Invalid partition name", 20, 2)
    running = started(file)
    try:
        assert running.wait(120) == 1
    finally:
        running.kill()
        running.wait()
    said = file.with_name("run.log").read_text()
    assert "sbatch takes no job: error: Batch job submission failed: Invalid partition name" in said
    assert "Traceback" not in said


@pytest.mark.machines
@pytest.mark.skipif(os.name != "posix", reason="shell scripts")
def test_where_some_jobs_are_refused_the_others_do_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = imitated(tmp_path, monkeypatch, "QOSMaxSubmitJobPerUserLimit", 20, 3)
    running = started(file)
    try:
        assert running.wait(120) == 0, file.with_name("run.log").read_text()
    finally:
        running.kill()
        running.wait()
    assert evaluations(file) == 20
    assert "Traceback" not in file.with_name("run.log").read_text()
    assert len((tmp_path / "tries").read_text().splitlines()) < 20  # not again and again


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The daemons, for one test."""
    if not (shutil.which("slurmctld") and shutil.which("munged") and os.getuid() == 0):
        pytest.skip("SLURM is not installed: apt-get install slurm-wlm")
    folder = tmp_path / "slurm"
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    key = folder / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    given = {"host": socket.gethostname().split(".")[0], "port": free_port(), "other": free_port()}
    (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder, **given))
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    about = {"socket": "munge.sock", "pid-file": "munge.pid", "log-file": "munge.log", "seed-file": "seed"}
    files = [f"--{name}={folder / file}" for name, file in about.items()]
    daemons = [
        subprocess.Popen(["munged", "--foreground", "--force", f"--key-file={key}", *files]),
        subprocess.Popen(["slurmctld", "-D", "-c"], stderr=subprocess.DEVNULL),
        subprocess.Popen(["slurmd", "-D"], stderr=subprocess.DEVNULL),
    ]
    try:
        yield
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(30)


@pytest.mark.machines
@pytest.mark.usefixtures("slurm")
def test_a_job_that_is_cancelled_is_replaced(tmp_path: Path) -> None:
    file = prepared(tmp_path, "slurm", 60, workers=2, seconds="0.3")
    file.write_text(file.read_text() + f'memory = "500MB"\nlogs = "{tmp_path / "jobs"}"\n')
    running = started(file)
    try:
        wait_for(lambda: evaluations(file) >= 5, 120)
        jobs = _jobs()
        subprocess.run(["scancel", jobs[0]], check=True)
        wait_for(lambda: bool(set(_jobs()) - set(jobs)), 60)
        assert running.wait(120) == 0, (tmp_path / "run.log").read_text()
    finally:
        running.kill()
        running.wait()
    found = account(file)
    assert (found.on_record, found.different, found.invented) == (60, 60, 0)
    wait_for(lambda: not _jobs(), 60)


def _jobs() -> list[str]:
    command = ["squeue", "--noheader", "--format=%i"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
