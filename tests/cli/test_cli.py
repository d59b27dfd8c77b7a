"""The command `saltus`, as a user types it."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from saltus import Study
from saltus.cli import main, parser
from saltus.study.settings import whole_rounds

ROOT = Path(__file__).parent.parent
STUDY = """
[study]
name = "bowl"
budget = 40
seed = 1
workers = 2

[space]
x = { type = "float", low = -5, high = 5 }
k = { type = "int", low = 0, high = 9 }

[objective]
command = ["awk", "-v", "x={x}", "-v", "k={k}", '''BEGIN {
    if (k == 2) { print "bad k" > "/dev/stderr"; exit 5 }
    printf "%.17g", (x - 1)^2 + (k - 4)^2
}''']
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def saltus(*words: str | Path, cwd: Path | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "saltus", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, **options)


def test_from_nothing_to_a_report(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(study)]) == 0
    out = capsys.readouterr()
    assert "evaluations: 40 in" in out.out
    assert "k = 4" in out.out
    assert "40/40" not in out.out  # progress is no output
    assert "The budget of evaluations was used up." in out.err
    assert main(["show", str(study)]) == 0
    text = capsys.readouterr().out
    assert "x the command ended with exit code 5" in text
    assert "| bad k" in text
    assert main(["report", str(study)]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert page == study.with_suffix(".html")
    assert "bowl" in page.read_text()
    assert sorted(p.suffix for p in study.parent.iterdir()) == [".db", ".html", ".toml"]


def test_export(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", str(study)])
    capsys.readouterr()
    assert main(["export", str(study), "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(rows[0]) == ["trial", "generation", "x", "k", "value", "status", "reason", "seconds"]
    assert len(rows) == 40
    assert [int(r["trial"]) for r in rows] == sorted(int(r["trial"]) for r in rows)
    for row in rows:
        if row["status"] == "done":
            assert float(row["value"]) == (float(row["x"]) - 1) ** 2 + (int(row["k"]) - 4) ** 2
        else:
            assert (row["k"], row["value"], row["reason"]) == ("2", "", "the command ended with exit code 5")
    assert main(["export", str(study), "--json"]) == 0
    objects = json.loads(capsys.readouterr().out)
    assert [str(o["trial"]) for o in objects] == [r["trial"] for r in rows]
    assert objects[0]["x"] == float(rows[0]["x"])
    assert main(["export", str(study.with_suffix(".db")), "--csv"]) == 0  # the record itself will do


def test_names_of_columns_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        '[study]\nbudget = 3\n[space]\nvalue = { type = "bool" }\nk = { type = "int", low = 0, high = 99 }\n'
        '[objective]\ncommand = ["echo", "{k}"]\n'
    )
    assert main(["run", str(path)]) == 0
    capsys.readouterr()
    main(["export", str(path), "--csv"])
    header = capsys.readouterr().out.splitlines()[0].split(",")
    assert header == ["trial", "generation", "variable value", "k", "value", "status", "reason", "seconds"]


def test_going_on_with_more(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", str(study), "--budget", "10"])
    main(["run", str(study), "--budget", "40", "--workers", "1"])
    other = tmp_path / "other.db"
    main(["run", str(study), "--db", str(other)])
    capsys.readouterr()
    exports = []
    for words in (["--db", str(other)], []):
        main(["export", str(study), *words, "--json"])
        exports.append([{**row, "seconds": 0} for row in json.loads(capsys.readouterr().out)])
    assert exports[0] == exports[1]


def test_json_for_scripts(study: Path) -> None:
    done = saltus("run", study, "--json")
    data = json.loads(done.stdout)
    assert data["evaluations"] == 40
    assert data["best"]["params"]["k"] == 4
    assert data == json.loads(saltus("show", study, "--json").stdout)


def test_what_has_changed_since(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(study), "--budget", "5"]) == 0
    for old, new, words in [
        ("high = 9", "high = 8", "'k' was Int(low=0, high=9"),
        ("seed = 1", "seed = 2", "[study] seed has changed"),
        ("seed = 1", 'seed = 1\ndirection = "maximize"', "'minimize' then, 'maximize' now"),
        ("seed = 1", "seed = 1\npopulation = 20", "[study] population has changed"),
        ("k = {", "j = {", "'k' was Int(low=0, high=9, log=False, init=None, scale=None) and is not there"),
    ]:
        study.write_text(
            STUDY.replace(old, new).replace("k={k}", "k={j}") if "j = {" in new else STUDY.replace(old, new)
        )
        capsys.readouterr()
        assert main(["run", str(study)]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert "--db" in err
    study.write_text(STUDY.replace("k - 4", "k - 5"))
    assert main(["run", str(study), "--budget", "6"]) == 0
    assert "note: the objective was command" in capsys.readouterr().err


def test_a_study_in_which_everything_fails(study: Path) -> None:
    study.write_text(STUDY.replace("k == 2", "1"))
    done = saltus("run", study, "--budget", "5000")
    assert done.returncode == 1
    assert "Too many evaluations failed one after the other" in done.stderr
    assert "| bad k" in done.stdout
    assert "x the command ended with exit code 5" in done.stdout
    assert Study.open(study.with_suffix(".db")).summary().evaluations < 40


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run", "nowhere.toml"], 2, "there is no such file; `saltus init nowhere.toml`"),
        (["run", "study.toml", "--budget", "0"], 2, "--budget must be a positive whole number, got 0"),
        (["run", "study.toml", "--workers", "-3"], 2, "--workers must be"),
        (["show", "study.toml"], 3, "there is no record yet; `saltus run study.toml` makes one"),
        (["show", "lab.toml"], 3, "`saltus ask lab.toml` makes one"),
        (["show", "."], 2, "this is a folder"),
        (["run", "study.toml", "--db", "."], 2, "this is a folder"),
        (["show", "nowhere.db"], 3, "there is no record"),
        (["report", "study.toml"], 3, "there is no record yet"),
        (["export", "study.toml", "--csv"], 3, "there is no record yet"),
        (["show", "text.db"], 3, "not an SQLite file"),
        (["run", "study.toml", "--db", "text.db"], 3, "not an SQLite file"),
        (["run", "study.toml", "--db", "no/where.db"], 3, "cannot write in its folder: No such file"),
        (["run", "text.db"], 2, "not valid TOML"),
        (["ask", "nowhere.db"], 3, "there is no record"),
        (["tell", "study.toml", "3", "1.5"], 3, "there is no record yet"),
        (["init", "study.toml"], 2, "it exists already"),
        (["show", "a" * 300 + ".db"], 3, "File name too long"),
        (["init", "no/study.toml"], 2, "cannot be written"),
    ],
)
def test_errors_are_one_line_without_a_traceback(
    study: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(study.parent)
    Path("lab.toml").write_text('[space]\nx = { type = "bool" }\n')
    Path("text.db").write_text("this is no database, but long enough to look like something else " * 9)
    before = {p: p.read_bytes() for p in study.parent.iterdir()}
    assert main(words) == code
    out = capsys.readouterr()
    assert said in out.err
    assert out.err.splitlines()[-1].startswith("saltus: ")
    assert "Traceback" not in out.err
    assert {p: p.read_bytes() for p in study.parent.iterdir()} == before


def test_wrong_usage_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in [
        ([], "required: COMMAND"),
        (["rnu", "x"], "invalid choice: 'rnu'"),
        (["export", "x"], "one of the arguments --csv --json is required"),
    ]:
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 2
        assert said in capsys.readouterr().err


def test_help_for_everything(capsys: pytest.CaptureFixture[str]) -> None:
    commands = ["run", "show", "report", "export", "ask", "tell", "init", "completion"]
    for words in ([], *([name] for name in commands)):
        with pytest.raises(SystemExit) as caught:
            main([*words, "--help"])
        assert caught.value.code == 0
        text = capsys.readouterr().out
        assert "usage: saltus" in text
        assert len(text) > 150
    assert "exit codes:" in parser().format_help()


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "report" in script
    if shell == "bash":
        done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr


def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lab.toml"
    path.write_text('[space]\nheat = { type = "float", low = 20, high = 90 }\nacid = { type = "bool" }\n')
    assert main(["run", str(path)]) == 2
    assert "saltus ask" in capsys.readouterr().err
    assert main(["ask", str(path), "-n", "2", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert [t["trial"] for t in first] == [0, 1]
    assert set(first[0]["params"]) == {"heat", "acid"}
    assert main(["ask", str(path)]) == 0
    rest = capsys.readouterr().out.splitlines()
    assert rest[0].startswith("trial 2: heat=")
    assert main(["ask", str(path)]) == 4
    assert "before these trials are told: 0, 1, 2" in capsys.readouterr().err
    assert main(["tell", str(path), "0", "-1.5", "--constraints", "-0.5", "0.25"]) == 0
    assert capsys.readouterr().out == "trial 0: -1.5, constraints violated by 0.25\n"
    assert main(["tell", str(path), "1", "--failed", "spilled", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reason"] == "spilled"
    assert main(["tell", str(path), "1", "3"]) == 2
    assert "trial 1 is not waiting for a value; these are: 2, 3" in capsys.readouterr().err
    assert main(["tell", str(path), "2"]) == 2
    assert main(["tell", str(path), "2", "-1e-3", "--constraints", "-2.5e-05"]) == 0
    for i in range(3, 2 + len(rest)):
        assert main(["tell", str(path), str(i), str(i)]) == 0
    capsys.readouterr()
    assert main(["ask", str(path), "-n", "1"]) == 0
    assert capsys.readouterr().out.startswith(f"trial {2 + len(rest)}: ")
    assert main(["show", str(path)]) == 0
    assert "waiting" in capsys.readouterr().out


def test_init_then_run_says_what_is_missing(tmp_path: Path) -> None:
    assert saltus("init", cwd=tmp_path).returncode == 0
    done = saltus("run", "study.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no program './simulate'" in done.stderr


PYTHON = """
[study]
budget = 6
seed = 1
workers = 2
[space]
x = { type = "float", low = -5, high = 5 }
[objective]
python = "model:cost"
"""


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("def cost(p): return p['x'] ** 2", 0, "evaluations: 6"),
        ("def cost(p): return p['x'] ** 2, [p['x']]", 0, "evaluations: 6"),
        ("def cots(p): return 1", 2, "has no function 'cost'; did you mean 'cots'?"),
        ("import no_such_thing", 2, "importing 'model' raised ModuleNotFoundError"),
        ("def cost(p:", 2, "importing 'model' raised SyntaxError"),
        (None, 2, "there is no module 'model' in"),
        ("def cost(p): raise ValueError('mesh')", 1, "6 x ValueError: mesh"),
        ("import os\ndef cost(p): os._exit(7)", 1, "6 x the worker process ended with exit code 7"),
        ("class Mesh(Exception): pass\ndef cost(p): raise Mesh('coarse')", 1, "6 x Mesh: coarse"),
        ("print('hello')\ndef cost(p): print('noise'); return p['x'] ** 2", 0, "evaluations: 6"),
    ],
)
def test_python_objectives(tmp_path: Path, source: str | None, code: int, said: str) -> None:
    if source is not None:
        (tmp_path / "model.py").write_text(source)
    (tmp_path / "study.toml").write_text(PYTHON)
    done = saltus("run", tmp_path / "study.toml", cwd=ROOT)  # a study is found from anywhere
    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr
    assert "noise" not in done.stdout  # what the objective prints is not our output
    assert "Traceback" not in done.stderr


def test_a_second_process_is_told_who_runs_it_and_a_dead_one_does_not_hold_it(study: Path) -> None:
    study.write_text(STUDY.replace("BEGIN {", 'BEGIN { system("sleep 30");'))
    command = [sys.executable, "-m", "saltus", "run", str(study)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        record = study.with_suffix(".db")
        deadline = time.monotonic() + 30
        while '"running"' not in saltus("show", study, "--json").stdout:
            assert time.monotonic() < deadline
        second = saltus("run", study)
        assert second.returncode == 3
        assert f"being run by process {first.pid} on" in second.stderr
        shown = saltus("show", study).stdout
        assert "running: 2" in shown
        sleeping = [t.id for t in Study.open(record).summary().unfinished if t.status == "running"]
        assert len(sleeping) == 2
        first.send_signal(signal.SIGKILL)
    study.write_text(STUDY)
    third = saltus("run", study)
    assert third.returncode == 0
    assert "the last session died with 2 evaluations running" in third.stderr
    assert "ended what it had left running: trials 0, 1" in third.stderr


def test_terminate_ends_at_once_and_whole(study: Path) -> None:
    study.write_text(STUDY.replace("BEGIN {", 'BEGIN { system("sleep 30");'))
    command = [sys.executable, "-m", "saltus", "run", str(study)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while '"running"' not in saltus("show", study, "--json").stdout:
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGTERM)
        tick = time.monotonic()
        process.communicate()
    assert time.monotonic() - tick < 10
    assert process.returncode == 130
    summary = Study.open(study.with_suffix(".db")).summary()
    assert summary.evaluations == 0
    assert {t.status for t in summary.unfinished} == {"asked"}
    assert summary.sessions[-1].stop is not None


def test_a_closed_pipe_is_no_error(study: Path) -> None:
    saltus("run", study)
    words = f"{sys.executable} -m saltus export {study} --csv | head -n 1"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.startswith("trial,")
    assert done.stderr == ""


def test_signals_that_come_close_together_end_it(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import time\ndef cost(p): time.sleep(20); return 1.0")
    path = tmp_path / "study.toml"
    path.write_text(PYTHON)
    command = [sys.executable, "-m", "saltus", "run", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while '"running"' not in saltus("show", path, "--json").stdout:
            assert time.monotonic() < deadline
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGINT):
            process.send_signal(number)
            time.sleep(0.001)
        assert process.wait(15) in (130, -signal.SIGTERM, -signal.SIGINT)  # the last ones may come too late
    summary = Study.open(path.with_suffix(".db")).summary()
    assert summary.sessions[-1].stop == "INTERRUPTED"
    assert {t.status for t in summary.unfinished} == {"asked"}


def test_many_tell_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lab.toml"
    path.write_text('[space]\nheat = { type = "float", low = 20, high = 90 }\n')
    assert main(["ask", str(path)]) == 0
    count = len(capsys.readouterr().out.splitlines())
    words = [[sys.executable, "-m", "saltus", "tell", str(path), str(i), str(i)] for i in range(count)]
    processes = [subprocess.Popen(w, stdout=subprocess.DEVNULL) for w in words]
    assert [p.wait(60) for p in processes] == [0] * count
    assert [t.value for t in Study.open(path.with_suffix(".db")).trials()] == list(range(count))


def test_trouble_with_the_machine_is_no_trouble_with_points(study: Path, tmp_path: Path) -> None:
    program = tmp_path / "simulate"
    program.write_text('#!/bin/sh\nrm -f "$0"\necho 3\n')
    program.chmod(0o755)
    text = STUDY[: STUDY.index("[objective]")] + '[objective]\ncommand = ["./simulate", "{x}"]\n'
    study.write_text(text.replace("workers = 2", "workers = 1"))
    done = saltus("run", study)
    assert done.returncode == 3
    assert "the program './simulate' is gone" in done.stderr
    summary = Study.open(study.with_suffix(".db")).summary()
    assert (summary.evaluations, summary.failures) == (1, {})


def test_a_record_that_is_removed_stops_the_run(study: Path) -> None:
    study.write_text(STUDY.replace("BEGIN {", 'BEGIN { system("sleep 0.2");'))
    command = [sys.executable, "-m", "saltus", "run", str(study), "--budget", "500"]
    record = study.with_suffix(".db")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while not record.exists() or '"running"' not in saltus("show", study, "--json").stdout:
            assert time.monotonic() < deadline
        record.unlink()
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "was removed or replaced while the study was running" in errors


def test_other_characters_and_closed_streams(study: Path) -> None:
    study.write_text(STUDY.replace('"bad k"', '"\\303\\274\\377"'))
    command = [sys.executable, "-m", "saltus", "run", str(study)]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0
    assert b"| \xfc\\ufffd" in done.stdout
    for closed in (">&-", "2>&-"):
        words = f"{sys.executable} -m saltus run {study} --budget 41 {closed}"
        assert subprocess.run(["sh", "-c", words], capture_output=True, cwd=ROOT).returncode == 0


def test_study_files_may_have_any_name(study: Path) -> None:
    other = study.with_name("bowl.conf")
    study.rename(other)
    assert saltus("run", other, "--budget", "4").returncode == 0
    assert saltus("show", other).returncode == 0
    assert other.with_suffix(".db").exists()


def test_nobody_reads_what_it_says(study: Path) -> None:
    words = f"{sys.executable} -m saltus run {study} 2>&1 >/dev/null | head -n 1"
    subprocess.run(["sh", "-c", words], capture_output=True, text=True, cwd=ROOT)
    assert Study.open(study.with_suffix(".db")).summary().evaluations == 40


def test_a_page_does_not_replace_a_record(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", str(study), "--budget", "5"])
    for out in (study.with_suffix(".db"), study, study.parent):
        before = {p: p.read_bytes() for p in study.parent.iterdir()}
        assert main(["report", str(study), "--out", str(out)]) == 2
        assert "must name a file that ends in .html" in capsys.readouterr().err
        assert {p: p.read_bytes() for p in study.parent.iterdir()} == before
    assert main(["report", str(study), "--out", str(study / "page.html")]) == 2


def test_working_folders_of_a_killed_run_are_removed(study: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    study.write_text(STUDY.replace("BEGIN {", 'BEGIN { system("sleep 30");'))
    command = [sys.executable, "-m", "saltus", "run", str(study)]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as process:
        deadline = time.monotonic() + 30
        while len(list(scratch.glob("*/trial-*"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
    assert len(list(scratch.glob("*/trial-*"))) == 2
    study.write_text(STUDY)
    assert saltus("run", study, env=environment).returncode == 0
    assert list(scratch.iterdir()) == []


def test_a_bar_on_a_terminal(study: Path) -> None:
    host, guest = pty.openpty()
    fcntl.ioctl(guest, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    command = [sys.executable, "-m", "saltus", "run", str(study)]
    with subprocess.Popen(command, stderr=guest, stdout=subprocess.DEVNULL) as process:
        os.close(guest)
        shown = b""
        try:
            while chunk := os.read(host, 4096):
                shown += chunk
        except OSError:  # the other end is closed
            pass
    os.close(host)
    assert process.returncode == 0
    assert b"40/40" in shown
    assert b"best " in shown


def test_workers_are_kept_busy_to_the_end_of_a_generation(study: Path) -> None:
    assert [whole_rounds(10, "saltus", k) for k in (1, 2, 3, 4, 7, 16)] == [10, 10, 12, 12, 14, 16]
    assert whole_rounds(9, "cma-es", 5) == 10
    saltus("run", study, "--workers", "4", "--budget", "4")
    assert Study.open(study.with_suffix(".db")).head.population == 8
