"""`saltus report`: a page with pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltus.cli import main


def test_a_page_does_not_replace_a_record(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", str(study), "--budget", "5"])
    for out in (study.with_suffix(".db"), study, study.parent):
        before = {p: p.read_bytes() for p in study.parent.iterdir()}
        assert main(["report", str(study), "--out", str(out)]) == 2
        assert "must name a file that ends in .html" in capsys.readouterr().err
        assert {p: p.read_bytes() for p in study.parent.iterdir()} == before
    assert main(["report", str(study), "--out", str(study / "page.html")]) == 2
