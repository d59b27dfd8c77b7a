"""`saltus show`: the state of a study."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saltus import Categorical, Float, NotCountedError, Space, Study
from saltus.cli import main, show
from saltus.study import RecordError
from saltus.study.database import VERSION

from .command_line import saltus


def test_json_for_scripts(study: Path) -> None:
    """As a process: nothing but JSON is on its standard output."""
    data = json.loads(saltus("run", study, "--json").stdout)
    assert data["evaluations"] == 40
    assert data["best"]["params"]["k"] == 4
    assert data == json.loads(saltus("show", study, "--json").stdout)
    assert set(data["sensitivity"]["k"]) == {"share", "low", "high", "alone"}


def test_what_matters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before there are enough evaluations, nor if the optimizer's state is one of another version."""
    names = [f"v{i}" for i in range(12)]
    space = Space({"thickness\x1b": Float(0, 5), **{name: Float(0, 1) for name in names}})
    study = Study.create(tmp_path / "plate.db", space, strategy="dx-nes-ici", seed=1)
    for budget in (10, 40):
        study.optimize(lambda p: (p["thickness\x1b"] - 2) ** 2 + 0.3 * p["v1"], budget=budget)
        assert main(["show", str(study.path), "--json"]) == 0
        shares = json.loads(capsys.readouterr().out)["sensitivity"]
        assert main(["show", str(study.path)]) == 0
        text = capsys.readouterr().out
        assert ("matters: share in the differences around the best point" in text) == (budget == 40)
        assert (shares is None) == (budget == 10)
    share = shares["thickness\x1b"]
    assert next(iter(shares)) == "thickness\x1b"
    line = f"thickness\ufffd{share['share']:>6.0%}   ({share['low']:.0%} to {share['high']:.0%})"
    assert line in text
    assert "and 3 variables that matter less" in text
    assert main(["report", str(study.path)]) == 0
    assert "<h2>What matters</h2>" in (tmp_path / "plate.html").read_text()
    capsys.readouterr()

    def unreadable(self: Study) -> None:
        raise RecordError("the optimizer's state cannot be read")

    monkeypatch.setattr(Study, "sensitivity", unreadable)
    assert main(["show", str(study.path)]) == 0
    assert "matters" not in capsys.readouterr().out


def test_constraints_have_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "beam.toml"
    path.write_text(
        '[study]\nbudget = 3\n[space]\nk = { type = "int", low = 0, high = 99 }\n[objective]\n'
        """command = ["echo", '{"value": {k}, "constraints": {"stress": -1, "mass": 0.5}}']\n"""
    )
    assert main(["run", str(path)]) == 0
    capsys.readouterr()
    assert main(["show", str(path), "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["best"]
    assert (best["constraints"], best["violation"]) == ({"stress": -1.0, "mass": 0.5}, 0.5)
    assert best["failure"] is None
    assert main(["show", str(path)]) == 0
    text = capsys.readouterr().out
    assert "constraints: stress = -1\n" in text
    assert "mass = 0.5  (violated)\n" in text
    assert main(["export", str(path), "--csv"]) == 0
    header, first = capsys.readouterr().out.splitlines()[:2]
    assert header == "trial,generation,k,value,stress,mass,status,reason,seconds"
    assert first.split(",")[4:6] == ["-1.0", "0.5"]
    assert main(["report", str(path)]) == 0
    page = path.with_suffix(".html").read_text()
    assert ">stress</th>" in page
    assert ">mass</th>" in page


def test_long_lines_are_broken_between_words_on_a_terminal(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", str(study), "--budget", "5"]) == 0
    capsys.readouterr()
    assert main(["show", str(study)]) == 0
    plain = capsys.readouterr().out
    monkeypatch.setattr(show, "columns_of_output", lambda: 40)
    assert main(["show", str(study)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40 < max(map(len, plain.splitlines()))
    assert " ".join(" ".join(lines).split()) == " ".join(plain.split())
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith("state: "))
    assert lines[at + 1].startswith(" " * 13)
    assert lines[at + 1][13] != " "


def test_why_an_evaluation_did_not_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is no failure of a point, but somebody has to repair something."""

    def down(p: dict[str, Any]) -> float:
        raise NotCountedError("the licence server\x1b is down")

    study = Study.create(tmp_path / "plate.db", Space({"x": Float(0, 5)}), seed=1)
    study.optimize(down, budget=5)
    assert main(["show", str(study.path)]) == 0
    text = capsys.readouterr().out
    waiting = len(study.summary().unfinished)
    assert (
        f"running: 0, {waiting} waiting\nnot counted: {waiting} x the licence server\ufffd is down\n" in text
    )


@pytest.mark.parametrize("words", ["show", "export --csv", "report", "ask", "tell 0 1.5"])
def test_a_record_of_saltus_0_1_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    old = tmp_path / "old.db"
    shutil.copy(Path(__file__).parents[1] / "study" / "record-0.1.db", old)
    command, *rest = words.split()
    assert main([command, str(old), *rest]) == 3
    out = capsys.readouterr()
    assert out.out == ""
    assert f"reads records of version {VERSION}, got one of version 1" in out.err
    assert f"`saltus migrate {old} NEW.db` takes its trials over" in out.err


def test_a_noisy_study_has_a_point_to_recommend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    space = Space({"x": Float(0, 5), "y": Float(0, 5)})
    study = Study.create(tmp_path / "noisy.db", space, seed=1, noisy=True)
    study.optimize(lambda p: (p["x"] - 2) ** 2 + p["y"] + rng.normal(), budget=60)
    assert main(["show", str(study.path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["recommended"]
    found = study.recommended
    assert found is not None
    assert data == {"params": found.params, "value": found.value, "error": found.error}
    assert main(["show", str(study.path)]) == 0
    assert f"recommended: {found.value:.6g} +- {found.error:.2g}" in capsys.readouterr().out
    assert main(["report", str(study.path)]) == 0
    assert "Recommended point" in study.path.with_suffix(".html").read_text(encoding="utf-8")


def test_text_is_written_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = Study.create(tmp_path / "beam.db", Space({"Stoff": Categorical(["Stahl", "Blähton"])}), seed=1)
    study.optimize(lambda p: len(p["Stoff"]) * -1.0)
    assert main(["show", str(study.path)]) == 0
    assert 'Stoff = "Blähton"' in capsys.readouterr().out
