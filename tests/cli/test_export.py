"""`saltus export`: all evaluations."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from saltus.cli import main


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


HOSTILE = """
[study]
name = "a\\u001b[2Jb"
budget = 2
seed = 1
[space]
"=cmd|x\\u001b]0;title\\u0007" = { type = "int", low = 0, high = 99 }
"-k" = { type = "int", low = -9, high = -5 }
[objective]
command = ["sh", "-c", "exit 3", "\\u001b[31mred"]
"""


def test_names_do_not_reach_the_terminal_as_orders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(HOSTILE)
    main(["run", str(path)])
    path.write_text(HOSTILE.replace("exit 3", "exit 4"))  # the old objective is named
    commands = [["run", "--budget", "3"], ["show"], ["export", "--csv"], ["export", "--json"], ["ask"]]
    for name, *options in commands:
        main([name, str(path), *options])
    path.write_text(HOSTILE.replace("99 }", "98 }"))  # the variable is named
    main(["run", str(path)])
    out, err = capsys.readouterr()
    assert not {c for c in out + err if not (c.isprintable() or c in "\n\t")}


def test_no_cell_is_a_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.toml"
    path.write_text(HOSTILE)
    main(["ask", str(path), "-n", "1"])
    main(["tell", str(path), "0", "--failed", "=1+1"])
    capsys.readouterr()
    main(["export", str(path), "--csv"])
    header, row = csv.reader(io.StringIO(capsys.readouterr().out))
    assert header[2].startswith("'=cmd|x")
    assert header[3] == "'-k"
    assert row[6] == "'=1+1"
    assert -9 <= int(row[3]) <= -5  # numbers stay numbers
