"""A Dask cluster of several processes, from the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from experiments.clusters import accidents, account, dask, evaluations, prepared, started, wait_for
from saltus import Study
from saltus.cli import main
from saltus.execution.dask import DaskCluster

COMMANDS = """
[study]
budget = 6
seed = 1
workers = 2
[space]
k = { type = "int", low = 0, high = 20 }
[objective]
command = ["sh", "-c", "echo {k}"]
"""


def test_dask_may_be_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'saltus\[dask\]'"):
        DaskCluster("tcp://127.0.0.1:1").connect(1.0)


@pytest.mark.machines
def test_killed_workers_and_a_scheduler_that_comes_back(tmp_path: Path) -> None:
    """The same with 2000 evaluations: python -m experiments.clusters."""
    found = accidents(100, tmp_path, workers=3, away=1.0)
    assert (found.on_record, found.different, found.invented) == (100, 100, 0)
    assert found.logged >= 100
    said = (tmp_path / "run.log").read_text()
    assert "is gone; trying to reach it for 120 s" in said
    assert "is back; submitting" in said


@pytest.mark.machines
def test_a_scheduler_that_stays_away_and_commands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The run ends, and the same command goes on: later, or elsewhere. Commands are run there, too."""
    with dask(2, tmp_path) as cluster:
        file = prepared(tmp_path, cluster.address, 40, workers=2, seconds="0.1")
        file.write_text(file.read_text().replace("reconnect = 120", "reconnect = 3"))
        running = started(file)
        wait_for(lambda: evaluations(file) >= 5, 120)
        cluster.scheduler.kill()
        assert running.wait(120) == 1
    said = (tmp_path / "run.log").read_text()
    assert "does not answer" in said
    assert "tried for 3 s" in said
    before = evaluations(file)
    assert 5 <= before < 40
    file.write_text(file.read_text().replace("reconnect = 3", "reconnect = 120"))
    with dask(2, tmp_path) as cluster:
        assert main(["run", str(file), "--on", cluster.address, "--budget", "20"]) == 0
        found = account(file)
        assert (found.on_record, found.different, found.invented) == (20, 20, 0)
        other = tmp_path / "commands.toml"
        other.write_text(COMMANDS)
        assert main(["run", str(other), "--on", cluster.address]) == 0
        trials = list(Study.open(other.with_suffix(".db")).trials())
        assert all(t.status == "done" and t.exit_code == 0 for t in trials)
        other.write_text(COMMANDS.replace('"sh"', '"./not-there"'))
        capfd.readouterr()
        assert main(["run", str(other), "--on", cluster.address, "--db", str(tmp_path / "b.db")]) == 1
        assert "the program './not-there' is gone, on" in capfd.readouterr().err
