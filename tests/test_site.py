"""The hooks of the site: links that leave docs/, and the check of what was built."""

from __future__ import annotations

import importlib.util
import types
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="needs mkdocs: pip install saltus[docs]")

DOCS = Path(__file__).parent.parent / "docs"


def load(name: str) -> types.ModuleType:
    """A module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SITE = load("site")


@pytest.mark.parametrize(
    ("here", "written", "shown"),
    [
        ("study.md", "[a](record.md#file)", "[a](record.md#file)"),
        ("study.md", "[a](../CONTRIBUTING.md#mutants)", "[a](contributing.md#mutants)"),
        ("study.md", "[a](../examples/lens/README.md)", "[a](gallery/lens.md)"),
        ("study.md", "[the code](../src/saltus/order.py)", "the code"),
        ("study.md", "([noise.md](noise.md))", "([Noisy objectives](noise.md))"),
        ("study.md", "[terminal.md](terminal.md#patience)", "[Looking on](terminal.md#patience)"),
        ("study.md", "[a](https://example.org/x)", "[a](https://example.org/x)"),
        ("gallery/lens.md", "[a](../../docs/study.md)", "[a](../study.md)"),
        ("gallery/lens.md", "[a](../truss/README.md)", "[a](truss.md)"),
        ("changelog.md", "[a](docs/study.md)", "[a](study.md)"),
        ("study.md", "| 0.9 ± 0.1 |", "| 0.9\u00a0±\u00a00.1 |"),
        ("study.md", "```\n[a](../CONTRIBUTING.md)\n```", "```\n[a](../CONTRIBUTING.md)\n```"),
    ],
)
def test_pages_are_made_fit_for_the_site(here: str, written: str, shown: str) -> None:
    page = types.SimpleNamespace(file=types.SimpleNamespace(src_uri=here))
    assert SITE.on_page_markdown(written, page, None, None) == shown


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ('<a href="b.html#there">', None),
        ('<a href="https://example.org">', None),
        ('<a href="c.html">', "c.html, which is not there"),
        ('<a href="b.html#nowhere">', "no such heading"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js"),
        ('<link rel="stylesheet" href="https://example.org/x.css">', "loads https://example.org/x.css"),
    ],
)
def test_a_site_that_is_not_whole_is_no_site(body: str, wrong: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(body)
    (tmp_path / "b.html").write_text('<h2 id="there">')
    config = types.SimpleNamespace(site_dir=str(tmp_path))
    if wrong is None:
        SITE.on_post_build(config)
    else:
        with pytest.raises(Exception, match=wrong):
            SITE.on_post_build(config)


def small_site(folder: Path, **pages: str) -> list[str]:
    """What is far from the first page, in a site of a few pages."""
    read = {}
    for page, body in pages.items():
        path = folder / f"{page}.html"
        path.write_text(body)
        read[path] = SITE._Links()
        read[path].feed(body)
    found: list[str] = SITE.far(folder, read)
    return found


def test_what_a_new_user_wants_is_two_clicks_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SITE, "SOUGHT", {"how to go on": "c.html#going-on"})
    first, second = '<article><a href="b.html"></a></article>', '<article><a href="c.html#x"></a></article>'
    third = '<h2 id="going-on">'
    assert small_site(tmp_path, index=first, b=second, c=third) == []
    (wrong,) = small_site(tmp_path, index=first, b=second, c="<h2>")
    assert wrong == "how to go on: c.html has no heading going-on"
    between = '<article><a href="d.html"></a></article>'
    (wrong,) = small_site(tmp_path, index=first, b=between, d=second, c=third)
    assert wrong == "how to go on: c.html#going-on is more than 2 clicks from the first page"
    (wrong,) = small_site(tmp_path, index=first, b=second.replace("article", "nav"), c=third)
    assert "clicks" in wrong  # the menu does not count: on a phone it is closed


def test_examples_in_docstrings_are_blocks_of_code() -> None:
    text = load("doctests").fenced("What it is.\n\n>>> f(1)\n[1]\n\nMore.")
    assert "```pycon\n>>> f(1)\n[1]\n```" in text
    assert text.count("```") == 2


def test_pages_that_docstrings_name_are_links() -> None:
    assert load("doctests").led("(docs/noise.md)") == "([noise](noise.html))"


def test_names_that_are_described_together_stay_together() -> None:
    together = load("doctests").together
    assert together("Attributes:\n    x, params: the best point: here.") == (
        "Attributes:\n    x,\u00a0params: the best point: here."
    )
    assert together("It has x, y and z: all.") == "It has x, y and z: all."
