"""From what stands on the command line to a study."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltus.cli import main
from saltus.study import Study

from .command_line import STUDY


def test_what_has_changed_since(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(study), "--budget", "5"]) == 0
    for old, new, words in [
        ("high = 9", "high = 8", "'k' was Int(low=0, high=9"),
        ("seed = 1", "seed = 2", "[study] seed has changed"),
        ("seed = 1", 'seed = 1\ndirection = "maximize"', "'minimize' then, 'maximize' now"),
        ("seed = 1", "seed = 1\npopulation = 20", "[study] population has changed"),
        ("seed = 1", "seed = 1\nbatch = 20", "[study] batch has changed"),
        ("k = {", "j = {", "'k' was Int(low=0, high=9, log=False, init=None, scale=None) and is not there"),
    ]:
        study.write_text(
            STUDY.replace(old, new).replace("k={k}", "k={j}") if "j = {" in new else STUDY.replace(old, new),
            encoding="utf-8",
        )
        capsys.readouterr()
        assert main(["run", str(study)]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert "--db" in err
    study.write_text(STUDY.replace("k - 4", "k - 5"), encoding="utf-8")
    assert main(["run", str(study), "--budget", "6"]) == 0
    assert "note: the objective was command" in capsys.readouterr().err


def test_study_files_may_have_any_name(study: Path) -> None:
    other = study.with_name("bowl.conf")
    study.rename(other)
    assert main(["run", str(other), "--budget", "4"]) == 0
    assert main(["show", str(other)]) == 0
    assert other.with_suffix(".db").exists()


def test_a_record_in_which_nothing_was_asked_is_made_anew(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For instance since the first run had failed."""
    text, _, _ = STUDY.partition("[objective]")
    study.write_text(text + '[objective]\npython = "not_there:at_all"\n', encoding="utf-8")
    assert main(["run", str(study)]) == 2
    assert "there is no module" in capsys.readouterr().err
    study.write_text(STUDY.replace("high = 9", "high = 8").replace("seed = 1", "seed = 2"), encoding="utf-8")
    assert main(["run", str(study), "--budget", "3"]) == 0
    opened = Study.open(study.with_suffix(".db"))
    assert (opened.head.seed, opened.summary().evaluations) == (2, 3)
    study.write_text(STUDY, encoding="utf-8")
    assert main(["run", str(study)]) == 2  # now there is something to lose
    assert not opened.remove_if_empty()
    assert opened.path.exists()
