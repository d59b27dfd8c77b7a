"""The report within a notebook."""

import html
import re
from pathlib import Path
from typing import Any

import pytest

from saltus import Int, Space, Study, StudyError


@pytest.fixture
def study(tmp_path: Path) -> Study:
    study = Study.create(tmp_path / "gears.db", Space({"teeth": Int(12, 60)}), name='g"<b>', seed=3)
    study.add([{"teeth": 20}, {"teeth": 30}], [3.0, 2.0])
    return study


def test_the_page_stands_in_a_closed_frame(study: Study) -> None:
    page = study.report(height=300)
    shown = page._repr_html_()
    frame = re.fullmatch(
        r'<iframe title="([^"]*)" srcdoc="([^"]*)" sandbox="allow-scripts" style="([^"]*)"></iframe>', shown
    )
    assert frame is not None
    assert html.unescape(frame[1]) == 'Report of g"<b>'
    assert html.unescape(frame[2]) == page.html
    assert "height: 300px" in frame[3]
    assert page.html.startswith("<!doctype html>")
    assert repr(page).startswith("<Report of g")


def test_the_page_can_be_written(study: Study, tmp_path: Path) -> None:
    page = study.report(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page.html
    assert page.save(tmp_path / "b.htm").read_text(encoding="utf-8") == page.html
    assert {path.suffix for path in tmp_path.iterdir()} >= {".html", ".htm"}
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("name", ["a.txt", "gears.db", "."])
def test_another_name_is_refused_before_anything_is_written(study: Study, tmp_path: Path, name: str) -> None:
    before = (tmp_path / "gears.db").read_bytes()
    with pytest.raises(StudyError, match=r"path must name a file that ends in \.html"):
        study.report(tmp_path / name)
    assert (tmp_path / "gears.db").read_bytes() == before


@pytest.mark.parametrize("height", [0, 99, 1.5, "640", True])
def test_a_height_is_a_number_of_pixels(study: Study, height: Any) -> None:
    with pytest.raises(ValueError, match="height must be a whole number of pixels, 100 at least"):
        study.report(height=height)
