"""What the documents say runs, every link leads somewhere, and every page is found from the first."""

from __future__ import annotations

import importlib.util
import logging
import re
import shlex
import sqlite3
import tomllib
import warnings
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

import saltus
from saltus import Float, Space, Study
from saltus.cli import parser
from saltus.study.settings import StudyFile
from tests.test_make import TARGETS

ROOT = Path(__file__).parent.parent
WHERE = ("*.md", "docs/*.md", "examples/*.md", "examples/*/README.md")
DOCUMENTS = [path for where in WHERE for path in sorted(ROOT.glob(where))]
RECIPES = ROOT / "docs" / "architecture.md"  # its blocks are run by test_recipes.py
PEERS = ("PyNomad", "smac", "mlflow")  # shown beside ours, and not among what is developed with
SLOW = "import openmdao"  # takes seconds to import
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def name(path: Path) -> str:
    """How a document is called in the names of tests."""
    return f"{path.parent.name}/{path.name}"


def blocks(language: str) -> list[object]:
    """All blocks of code in a language, each a parameter of a test."""
    return [
        pytest.param(block, id=f"{name(path)}-{i}", marks=pytest.mark.machines if SLOW in block else [])
        for path in DOCUMENTS
        if path != RECIPES
        for i, block in enumerate(
            re.findall(rf"^```{language}\n(.*?)^```", read(path), re.DOTALL | re.MULTILINE)
        )
    ]


@cache
def read(path: Path) -> str:
    """The text of a document."""
    return path.read_text(encoding="utf-8")


def prose(path: Path) -> str:
    """The text of a document without its blocks of code."""
    return re.sub(r"^```.*?^```", "", read(path), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", blocks("python"))
def test_every_python_block_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some peers write files where they are
    monkeypatch.setattr(logging.getLogger("saltus"), "level", logging.NOTSET)  # one block sets it
    with warnings.catch_warnings():
        for peer in PEERS:
            if re.search(rf"^(from|import) {peer}\b", block, re.MULTILINE):
                warnings.simplefilter("ignore")
                pytest.importorskip(peer, reason=f"{peer} is not installed")
        exec(compile(block, "document", "exec"), {"__name__": "document"})


def test_no_block_of_python_is_called_otherwise() -> None:
    """Each is run: if not above, by test_recipes.py; sh by test_shell.py, which also compares text."""
    for path in DOCUMENTS:
        found = set(re.findall(r"^ *```([^\n`]+)$", read(path), re.MULTILINE))
        assert found <= {"python", "sh", "toml", "text", "sql", "diff"}, path


def test_the_reference_has_every_public_name_and_what_users_call() -> None:
    text = read(ROOT / "docs" / "api.md")
    pages = re.findall(r"^::: saltus\.(\w+)\n((?:    .*\n)*)", text + "\n", re.MULTILINE)
    members = {name: re.findall(r"\w+", options.partition("members: [")[2]) for name, options in pages}
    assert set(saltus.__all__) - {"STRATEGIES", "__version__"} <= set(members)
    for owner, listed in members.items():
        for member in listed:
            assert hasattr(getattr(saltus, owner), member), f"{owner}.{member}"
    assert {"ask", "tell", "state", "restore", "predict"} <= set(members["Optimizer"])
    assert {"optimize", "best", "trials", "ask", "tell", "forget"} <= set(members["Study"])


@pytest.mark.parametrize("first", ["README.md", "docs/index.md"])
def test_the_first_program_prints_what_is_shown(first: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", read(ROOT / first), re.DOTALL)
    assert found
    exec(compile(found[1], "document", "exec"), {"__name__": "document"})
    printed = capsys.readouterr().out
    number = r"\d[\d.e-]*"
    assert re.sub(number, "#", printed) == re.sub(number, "#", found[2])
    # processors round differently, so a search may be another one in its last digits: as good, and as long
    ours, shown = ([float(n) for n in re.findall(number, text)] for text in (printed, found[2]))
    assert ours[0] < 1e-6
    assert ours[1:3] == pytest.approx(shown[1:3], abs=2e-3)
    assert 0.5 < ours[3] / shown[3] < 2


@pytest.mark.parametrize("block", blocks("toml"))
def test_every_toml_block_can_be_read(block: str, tmp_path: Path) -> None:
    tables = tomllib.loads(block)
    if {"study", "space"} <= tables.keys():
        (tmp_path / "study.toml").write_text(block)
        StudyFile.read(tmp_path / "study.toml")


@pytest.mark.parametrize("block", blocks("sql"))
def test_every_query_can_be_asked(block: str, tmp_path: Path) -> None:
    study = Study.create(tmp_path / "study.db", Space({"radius": Float(0, 1)}), seed=1)
    study.optimize(lambda p: (p["radius"], {"stress": 0.5 - p["radius"]}), budget=8)
    with closing(sqlite3.connect(tmp_path / "study.db")) as connection:
        answers = [connection.execute(query).fetchall() for query in block.split(";") if query.strip()]
    best, failures, near = answers
    assert 0 < len(best) < len(near) == 8
    assert failures == []


@pytest.mark.parametrize("block", blocks("sh"))
def test_every_command_exists(block: str) -> None:
    """Commands of ours are understood; targets of make, modules and extras for pip are there."""
    for line in block.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["saltus"]:
            end = min((words.index(w) for w in ("|", ">", "&", "&&", ";") if w in words), default=None)
            parser().parse_args(words[1:end])  # exits if it does not know them
        elif words[:1] == ["make"]:
            assert {w for w in words[1:] if "=" not in w} <= set(TARGETS), line
        elif words[1:2] == ["-m"] and words[0].endswith("python"):
            if words[2].split(".")[0] in ("experiments", "examples", "tests", "saltus"):
                assert importlib.util.find_spec(words[2]), line
        elif words[:2] == ["pip", "install"]:
            for extras in re.findall(r"(?:\.|saltus)\[([\w,]+)\]", line):
                assert set(extras.split(",")) <= EXTRAS.keys(), line


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_link_to_a_file_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", read(path)):
        if "://" not in target:
            assert (path.parent / target).exists(), target


@cache
def headings(path: Path) -> set[str]:
    """The anchors of a document, as code hosts and the site make them."""
    found = re.findall(r"^#+ (.*)$", read(path), re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}
    return slugs | set(re.findall(r"^::: (\S+)$", read(path), re.MULTILINE))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_link_to_a_heading_leads_to_one(path: Path) -> None:
    for file, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", read(path)):
        assert anchor in headings(path.parent / file if file else path), f"{file}#{anchor}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_picture_names_the_command_that_drew_it(path: Path) -> None:
    """A few lines above or below; the gallery's index shows those of its pages."""
    if path != ROOT / "examples" / "README.md":
        for found in re.finditer(r"!\[[^\]]*\]\([^)]+\)", prose(path)):
            near = prose(path)[max(0, found.start() - 300) : found.end() + 300]
            assert re.search(r"`(\.venv/bin/)?(python -m|make|saltus|optuna-dashboard)\b", near), found[0]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_picture_says_what_it_shows(path: Path) -> None:
    """To those who do not see it."""
    assert "![](" not in prose(path)


def linked(path: Path) -> set[Path]:
    """The documents that one links to."""
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", read(path))
    return {(path.parent / target).resolve() for target in targets} & set(DOCUMENTS)


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    for path in DOCUMENTS:
        page = f"gallery/{path.parent.name}.md" if path.name == "README.md" else path.name
        if path.parent != ROOT and path.parent.name != "examples":
            assert re.search(rf"[ :]{re.escape(page)}$", menu, re.MULTILINE), (
                f"{page}: add it to nav in mkdocs.yml"
            )


def test_every_page_is_within_two_clicks_of_the_first() -> None:
    first = ROOT / "docs" / "index.md"
    once = linked(first)
    twice = once | {page for path in once for page in linked(path)}
    pages = {path for path in DOCUMENTS if path.parent.name == "docs"} - {first}
    assert pages <= twice, sorted(path.name for path in pages - twice)


@pytest.mark.parametrize("first", ["README.md", "docs/index.md"])
@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("tune a model with categories", "examples/classifier/README.md"),
        ("drive a simulator", "docs/study.md"),
        ("start from a known design", "docs/known.md"),
        ("run on a cluster", "docs/clusters.md"),
        ("continue", "docs/trust.md"),
        ("see progress", "docs/report.md"),
        ("which strategy", "docs/which.md"),
        ("what it costs", "docs/cost.md"),
        ("how it compares", "docs/benchmarks.md"),
    ],
)
def test_a_new_user_finds_it_within_two_clicks(question: str, page: str, first: str) -> None:
    once = linked(ROOT / first)
    assert ROOT / page in once | {there for path in once for there in linked(path)}, question
