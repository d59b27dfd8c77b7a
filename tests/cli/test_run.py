"""`saltus run`: to the end, interrupted, killed, continued."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from saltus import Stop, Study
from saltus.cli import main
from saltus.study.settings import whole_rounds

from ..objectives import bowl
from ..study.studies import made
from .command_line import PYTHON, ROOT, STUDY, saltus, wait_for_running


def test_going_on_with_more(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", str(study), "--budget", "10"])
    assert f"to go on: saltus run {study} --budget 20\n" in capsys.readouterr().err
    main(["run", str(study), "--budget", "40", "--workers", "1"])
    other = tmp_path / "other.db"
    main(["run", str(study), "--db", str(other)])
    capsys.readouterr()
    exports = []
    for words in (["--db", str(other)], []):
        main(["export", str(study), *words, "--json"])
        exports.append([{**row, "seconds": 0} for row in json.loads(capsys.readouterr().out)])
    assert exports[0] == exports[1]


def test_a_study_in_which_everything_fails(study: Path, capfd: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY.replace("k == 2", "1"), encoding="utf-8")
    assert main(["run", str(study), "--budget", "5000"]) == 1
    done = capfd.readouterr()
    assert "Too many evaluations failed one after the other" in done.err
    assert "| bad k" in done.out
    assert "x the command ended with exit code 5" in done.out
    assert Study.open(study.with_suffix(".db")).summary().evaluations < 40


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("def cost(p): return p['x'] ** 2", 0, "evaluations: 3"),
        ("def cost(p): return p['x'] ** 2, [p['x']]", 0, "evaluations: 3"),
        ("def cots(p): return 1", 2, "has no function 'cost'; did you mean 'cots'?"),
        ("import no_such_thing", 2, "importing 'model' raised ModuleNotFoundError"),
        ("def cost(p:", 2, "importing 'model' raised SyntaxError"),
        (None, 2, "expected is model.py there, with a function cost(p)"),
        ("def cost(p): raise ValueError('mesh')", 1, "3 x ValueError: mesh"),
        ("import os\ndef cost(p): os._exit(7)", 1, "3 x the worker process ended with exit code 7"),
        ("class Mesh(Exception): pass\ndef cost(p): raise Mesh('coarse')", 1, "3 x Mesh: coarse"),
        ("print('hello')\ndef cost(p): print('noise'); return p['x'] ** 2", 0, "evaluations: 3"),
    ],
)
def test_python_objectives(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], source: str | None, code: int, said: str
) -> None:
    """The command runs in this process, the objective in one of its own."""
    if source is not None:
        (tmp_path / "model.py").write_text(source)
    (tmp_path / "study.toml").write_text(PYTHON)
    ended = main(["run", str(tmp_path / "study.toml")])  # a study is found from anywhere
    done = capfd.readouterr()
    assert ended == code, done.err
    assert said in done.out + done.err
    assert "noise" not in done.out  # what the objective prints is not our output
    assert "Traceback" not in done.err


def test_a_second_process_is_told_who_runs_it_and_a_dead_one_does_not_hold_it(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_text(STUDY.replace("BEGIN {", 'BEGIN { system("sleep 30");'), encoding="utf-8")
    command = [sys.executable, "-m", "saltus", "run", str(study)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        record = study.with_suffix(".db")
        wait_for_running(first, study, 2)
        assert main(["run", str(study)]) == 3
        assert f"being run by process {first.pid} on" in capsys.readouterr().err
        assert main(["show", str(study)]) == 0
        assert "running: 2" in capsys.readouterr().out
        sleeping = [t.id for t in Study.open(record).summary().unfinished if t.status == "running"]
        assert len(sleeping) == 2
        first.send_signal(signal.SIGKILL)
    study.write_text(STUDY, encoding="utf-8")
    assert main(["run", str(study)]) == 0
    errors = capsys.readouterr().err
    assert "the last session died with 2 evaluations running" in errors
    assert "ended what it had left running: trials 0, 1" in errors


@pytest.mark.parametrize("stopped", [False, True])
def test_terminate_ends_at_once_and_whole(study: Path, stopped: bool) -> None:
    """Also a run that was stopped, told to end meanwhile, and continued: any of its threads may get that."""
    study.write_text(STUDY.replace("BEGIN {", 'BEGIN { system("sleep 30");'), encoding="utf-8")
    command = [sys.executable, "-m", "saltus", "run", str(study)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        wait_for_running(process, study)
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGCONT) if stopped else (signal.SIGTERM,):
            process.send_signal(number)
            time.sleep(0.1)
        tick = time.monotonic()
        process.communicate()
    assert time.monotonic() - tick < 10
    assert process.returncode == 130
    summary = Study.open(study.with_suffix(".db")).summary()
    assert summary.evaluations == 0
    assert {t.status for t in summary.unfinished} == {"asked"}
    assert summary.sessions[-1].stop is not None


def test_signals_that_come_close_together_end_it(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import time\ndef cost(p): time.sleep(120); return 1.0")
    path = tmp_path / "study.toml"
    path.write_text(PYTHON.replace("workers = 1", "workers = 2"))
    command = [sys.executable, "-m", "saltus", "run", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for_running(process, path)
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGINT):
            process.send_signal(number)
            time.sleep(0.001)
        assert process.wait(60) in (130, -signal.SIGTERM, -signal.SIGINT)  # the last ones may come too late
    summary = Study.open(path.with_suffix(".db")).summary()
    assert summary.sessions[-1].stop == "INTERRUPTED"
    assert {t.status for t in summary.unfinished} == {"asked"}


def test_trouble_with_the_machine_is_no_trouble_with_points(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "simulate"
    program.write_text('#!/bin/sh\nrm -f "$0"\necho 3\n')
    program.chmod(0o755)
    text = STUDY[: STUDY.index("[objective]")] + '[objective]\ncommand = ["./simulate", "{x}"]\n'
    study.write_text(text.replace("workers = 2", "workers = 1"), encoding="utf-8")
    assert main(["run", str(study)]) == 3
    assert "the program './simulate' is gone" in capsys.readouterr().err
    summary = Study.open(study.with_suffix(".db")).summary()
    assert (summary.evaluations, summary.failures) == (1, {})


def test_a_record_that_is_removed_stops_the_run(study: Path) -> None:
    study.write_text(STUDY.replace("BEGIN {", 'BEGIN { system("sleep 0.2");'), encoding="utf-8")
    command = [sys.executable, "-m", "saltus", "run", str(study), "--budget", "500"]
    record = study.with_suffix(".db")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        wait_for_running(process, study)
        record.unlink()
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "was removed or replaced while the study was running" in errors


def test_other_characters_and_closed_streams(study: Path) -> None:
    failing = STUDY.replace('"bad k"', '"\\303\\274\\377"').replace("k == 2", "k > 4")
    study.write_text(failing, encoding="utf-8")
    command = [sys.executable, "-m", "saltus", "run", str(study), "--budget", "4"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0
    assert b"| \xfc\\ufffd" in done.stdout
    for closed in (">&-", "2>&-"):
        words = f"{sys.executable} -m saltus run {study} --budget 5 {closed}"
        assert subprocess.run(["sh", "-c", words], capture_output=True, cwd=ROOT).returncode == 0


def test_working_folders_of_a_killed_run_are_removed(study: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    study.write_text(STUDY.replace("BEGIN {", 'BEGIN { system("sleep 30");'), encoding="utf-8")
    command = [sys.executable, "-m", "saltus", "run", str(study)]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as process:
        deadline = time.monotonic() + 30
        while len(list(scratch.glob("*/trial-*"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
    assert len(list(scratch.glob("*/trial-*"))) == 2
    study.write_text(STUDY, encoding="utf-8")
    assert saltus("run", study, "--budget", "4", env=environment).returncode == 0
    assert list(scratch.iterdir()) == []


def test_workers_are_kept_busy_to_the_end_of_a_generation(study: Path) -> None:
    assert [whole_rounds(10, "saltus", k) for k in (1, 2, 3, 4, 7, 16)] == [10, 10, 12, 12, 14, 16]
    assert whole_rounds(9, "cma-es", 5) == 10
    assert main(["run", str(study), "--workers", "4", "--budget", "4"]) == 0
    head = Study.open(study.with_suffix(".db")).head
    assert (head.population, head.batch) == (8, 4)


def test_the_batch_of_the_file_makes_the_search_and_workers_do_not(study: Path, tmp_path: Path) -> None:
    study.write_text(
        study.read_text(encoding="utf-8").replace("[study]", "[study]\npopulation = 8\nbatch = 2", 1),
        encoding="utf-8",
    )
    told = []
    for workers in (1, 3):
        record = tmp_path / f"{workers}.db"
        words = ["run", str(study), "--db", str(record), "--workers", str(workers), "--budget", "20"]
        assert main(words) == 0
        told.append([(t.params, t.value) for t in Study.open(record).trials()])
    assert told[0] == told[1]
    assert Study.open(record).head.batch == 2


KILLED_AT_THE_START = """
import os, signal, sys
from saltus.cli import main
from saltus.study.journal import Journal

Journal.begun = lambda *about: os.kill(os.getpid(), signal.SIGKILL)  # a command runs, and is not on record
main(["run", sys.argv[1]])
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found on Linux only")
def test_commands_that_had_just_begun_are_ended(study: Path, tmp_path: Path) -> None:
    slow = study.read_text(encoding="utf-8").partition("[objective]")[0] + (
        "[objective]\ncommand = ['sh', '-c', 'echo $$ > {study_dir}/pid-{trial}; sleep 61 & wait']\n"
    )
    study.write_text(slow, encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(KILLED_AT_THE_START)
    assert subprocess.run([sys.executable, str(script), str(study)], capture_output=True).returncode == -9
    deadline = time.monotonic() + 30
    while not (pids := [p.read_text().strip() for p in study.parent.glob("pid-*")]) or not all(pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    study.write_text(STUDY, encoding="utf-8")
    done = saltus("run", study, "--budget", "4")
    assert "ended what it had left running: trial" in done.stderr
    alive = [pid for pid in pids if Path(f"/proc/{pid}/cmdline").exists() and running(int(pid))]
    assert alive == []


def running(pid: int) -> bool:
    """Whether a process is more than an entry that nobody has asked for."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"


def test_another_objective_and_the_best_points_again(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", str(study), "--budget", "12"])
    best = Study.open(study.with_suffix(".db")).best
    assert best is not None
    study.write_text(STUDY.replace("(k - 4)^2", "(k - 4)^2 + 100"), encoding="utf-8")
    capsys.readouterr()
    main(["run", str(study), "--budget", "12"])
    assert "note: the objective was command ['awk'" in capsys.readouterr().err
    assert main(["run", str(study), "--budget", "6", "--reevaluate", "3"]) == 0
    assert "all values are forgotten; 3 points to evaluate again" in capsys.readouterr().err
    again = next(t for t in Study.open(study.with_suffix(".db")).trials() if t.evaluated)
    assert again.params == best.params
    assert again.value == pytest.approx((best.value or 0.0) + 100)
    assert main(["run", str(study), "--reevaluate", "0"]) == 2


def test_the_end_of_an_interrupted_run_shows_the_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Points that wait, with all their digits, are for those who evaluate by hand."""
    calls: list[int] = []

    def interrupted(p: dict[str, Any]) -> float:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return bowl(p)

    study = made(tmp_path, strategy="saltus-es")
    assert study.optimize(interrupted, budget=30).stop is Stop.INTERRUPTED
    assert main(["show", str(study.path)]) == 0
    text = capsys.readouterr().out
    assert "waiting" in text
    assert text.count("trial ") == 1  # the best


def test_patience_ends_it_and_more_goes_on(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY.replace("seed = 1", "seed = 1\npatience = 4\nmin_gain = 1000"), encoding="utf-8")
    assert main(["run", str(study)]) == 0
    assert "Nothing worth mentioning was gained any more" in capsys.readouterr().err
    few = Study.open(study.with_suffix(".db")).summary().evaluations
    assert main(["run", str(study), "-q", "--patience", "9"]) == 0
    assert 4 <= few < Study.open(study.with_suffix(".db")).summary().evaluations < 20
    assert main(["run", str(study), "--patience", "0"]) == 2
    assert "--patience must be a positive whole number" in capsys.readouterr().err
