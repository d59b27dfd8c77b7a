"""`saltus report`: a page with pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltus import Float, Space, Study
from saltus.cli import main


def test_a_page_does_not_replace_a_record(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", str(study), "--budget", "5"])
    for out in (study.with_suffix(".db"), study, study.parent):
        before = {p: p.read_bytes() for p in study.parent.iterdir()}
        assert main(["report", str(study), "--out", str(out)]) == 2
        assert "must name a file that ends in .html" in capsys.readouterr().err
        assert {p: p.read_bytes() for p in study.parent.iterdir()} == before
    assert main(["report", str(study), "--out", str(study / "page.html")]) == 2


def test_several_are_compared(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", str(study), "--budget", "5"])
    other = study.with_name("other.db")
    main(["run", str(study), "--db", str(other), "--budget", "3"])
    capsys.readouterr()
    assert main(["report", str(study), str(other)]) == 0
    page = study.with_name("comparison.html")
    assert capsys.readouterr().out.strip() == str(page)
    assert "Beside each other" in page.read_text(encoding="utf-8")
    assert main(["report", str(study), str(other), "--db", str(other)]) == 2
    assert "--db names the record of one study" in capsys.readouterr().err
    assert main(["report", *[str(other)] * 9]) == 2
    assert "up to 8 studies, got 9" in capsys.readouterr().err


def test_only_one_direction_is_compared(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", str(study), "--budget", "3"])
    up = Study.create(study.with_name("up.db"), Space({"x": Float(0, 1)}), direction="maximize")
    assert main(["report", str(study), str(up.path)]) == 2
    assert "their values cannot be compared" in capsys.readouterr().err
