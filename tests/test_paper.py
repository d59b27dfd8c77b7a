"""The paper in paper/: sections and length as the journal wants them, citations and figures that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.embed import quoted

ROOT = Path(__file__).parent.parent
PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
BODY = PAPER.split("---", 2)[2]
ENTRIES = re.findall(r"^@\w+\{([^,]+),(.*?)^\}", BIBLIOGRAPHY, re.MULTILINE | re.DOTALL)
SECTIONS = ["Summary", "Statement of need", "State of the field", "Software design"]
SECTIONS += ["Research impact statement", "AI usage disclosure", "Acknowledgements", "References"]


def test_the_sections_that_the_journal_requires() -> None:
    assert re.findall(r"^# (.*)$", BODY, re.MULTILINE) == SECTIONS


def test_it_has_between_750_and_1750_words() -> None:
    prose = re.sub(r"^[|:#].*$", "", BODY, flags=re.MULTILINE)
    assert 750 <= len(prose.split()) <= 1750


def test_every_citation_is_in_the_bibliography_and_every_entry_is_cited() -> None:
    assert set(re.findall(r"@(\w+:\w+)", BODY)) == {key for key, _ in ENTRIES}


@pytest.mark.parametrize(("key", "entry"), ENTRIES, ids=[key for key, _ in ENTRIES])
def test_every_entry_is_whole(key: str, entry: str) -> None:
    for field in ("author", "title", "year"):
        assert re.search(rf"^  {field} = \{{.+\}}", entry, re.MULTILINE), field
    assert re.search(r"^  (doi = \{10\.\d{4,}/\S+\}|url = \{http\S+\})", entry, re.MULTILINE)
    assert re.search(r"^  (journal|booktitle|howpublished) = ", entry, re.MULTILINE)


def test_the_figures_are_those_of_the_record() -> None:
    decathlon = (ROOT / "docs" / "decathlon.md").read_text(encoding="utf-8")
    assert re.search(r"^\| bbob-mixint, 10 D \| 0\.", BODY, re.MULTILINE)
    assert quoted(BODY, decathlon) == BODY
    assert quoted("| bbob-mixint, 10 D | old |", decathlon) != "| bbob-mixint, 10 D | old |"
