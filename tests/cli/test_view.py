"""A study at a glance in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from saltus.cli.lines import columns
from saltus.cli.view import BLOCKS, in_one, lines, sparkline
from saltus.study.glance import Glance, Watcher

from ..objectives import bowl, constrained
from ..study.studies import made


def glanced(path: Path, fun: Any = bowl, **given: Any) -> Glance:
    study = made(path, name="a bowl", strategy="saltus-es", **given)
    study.optimize(fun, budget=40)
    return Watcher(study.path).look()


def plain(shown: list[list[tuple[str, str]]]) -> list[str]:
    return ["".join(text for text, _ in line) for line in shown]


def test_what_is_shown(tmp_path: Path) -> None:
    glance = glanced(tmp_path)
    title, best, trend, at, pace, now = plain(lines(glance, 80, 80))
    assert title.startswith("a bowl  ━━━━━━━━━━━━")
    assert title.endswith("  40 of 80")
    assert glance.best is not None
    assert best.startswith(f"   best {glance.best.value:.8g}  trial {glance.best.id}, ")
    assert trend.endswith(f"{BLOCKS[0]}  from {glance.trend[0][1]:.6g}")
    assert at.startswith("     at x=")
    assert pace.startswith("   pace ")
    assert now == "    now ended: The budget of evaluations was used up."


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("budget", [None, 1, 1000])
@pytest.mark.parametrize("blocks", [False, True])
def test_it_fits_the_terminal(tmp_path: Path, width: int, budget: int | None, blocks: bool) -> None:
    shown = plain(lines(glanced(tmp_path), budget, width, blocks=blocks))
    assert len(shown) <= 8
    assert max(map(len, shown)) <= max(20, width - 3)
    if not blocks:
        assert "".join(shown).replace("…", "").isascii()


def test_wide_characters_have_their_room(tmp_path: Path) -> None:
    glance = glanced(tmp_path)
    glance = replace(
        glance, head=replace(glance.head, name="熱交換器" * 9), last_failure="故障" * 40, failures=1
    )
    shown = plain(lines(glance, 80, 80))
    assert max(map(columns, shown)) <= 77
    assert shown[0].endswith("  40 of 80")
    assert shown[-2].endswith("…")


def test_while_nothing_is_feasible(tmp_path: Path) -> None:
    glance = glanced(tmp_path, lambda p: (1.0, {"never": 1 + abs(p["x"])}))
    assert plain(lines(glance, 80, 80))[1].startswith("   best none feasible; least violation 1")
    assert "best none feasible (violation 1" in in_one(glance, 80)


def test_constraints_that_hold_are_worth_a_word(tmp_path: Path) -> None:
    assert plain(lines(glanced(tmp_path, constrained), 80, 80))[1].endswith("all constraints hold")


def test_names_do_not_move_the_cursor(tmp_path: Path) -> None:
    study = made(tmp_path, name="a\x1b[2Jb")
    shown = "".join(plain(lines(Watcher(study.path).look(), 10, 80)))
    assert "\x1b" not in shown


def test_a_curve_goes_the_way_of_the_values() -> None:
    falling = [(1, 9.0), (10, 5.0), (20, 1.0)]
    down = sparkline(falling, 30, 30)
    up = sparkline([(n, -v) for n, v in falling], 30, 30)
    assert (down[0], down[-1]) == (BLOCKS[-1], BLOCKS[0])
    assert [BLOCKS[-1 - BLOCKS.index(c)] for c in down] == [*up]
    assert sparkline(falling[:1], 30, 30) == sparkline([], 0, 30) == ""


def test_one_line_for_a_log(tmp_path: Path) -> None:
    glance = glanced(tmp_path)
    ended = "ended: The budget of evaluations was used up."
    assert in_one(glance, 80) == f"40/80 evaluations, best {glance.best.value:.8g}, {ended}"  # type: ignore[union-attr]
    assert in_one(glance, None).startswith("40 evaluations, best ")
