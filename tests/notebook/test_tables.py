"""What a notebook shows of spaces, results, histories and studies."""

import html
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from saltus import Bool, Categorical, Float, History, Int, Result, Space, Study, at_least, minimize

HOW: dict[str, Any] = {"strategy": "saltus-es", "seed": 1, "budget": 30}
EVIL = '<script>alert("1")</script>'


class Balanced(HTMLParser):
    """Every tag that is opened is closed, and none of them is a script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("div", "b", "table", "thead", "tbody", "tr", "th", "td")
        assert {name for name, _ in attrs} <= {"style", "colspan"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def words(thing: Any) -> list[str]:
    return Balanced(thing._repr_html_()).words


def test_a_space_shows_kinds_values_conditions_and_rules() -> None:
    space = Space(
        {
            "x": Float(0.5, 10, log=True),
            "kind": Categorical(["rbf", EVIL]),
            "n": Int(1, 4, when={"kind": "rbf"}),
            "on": Bool(when={"n": at_least(2), "kind": ["rbf", EVIL]}),
        },
        where="x <= n + 20",
    )
    said = words(space)
    assert said[:2] == ["Space", ", 4 variables"]
    assert said[6:10] == ["x", "Float", "0.5 to 10, log", "–"]
    assert said[14:18] == ["n", "Int", "1 … 4", "kind is rbf"]
    assert said[-2] == f"n ≥ 2 and kind is rbf or {EVIL}"
    assert said[-1] == "where x <= n + 20"
    assert "only if" not in words(Space({"k": Int(0, 9)}))
    assert words(Space({"k": Int(0, 9)}))[1] == ", 1 variable, 10 points"


def test_a_result_shows_the_best_point_and_what_holds() -> None:
    space = Space({"x": Float(-5, 5), EVIL: Int(0, 20)})
    result = minimize(lambda p: (p["x"] ** 2, {"heat": p[EVIL] - 30, "mass": 1.0}), space, **HOW)
    said = words(result)
    assert said[0] == f"Best value {result.fun:.6g}"
    assert said[1] == ", 30 evaluations, 0 restarts"
    assert said[said.index(EVIL) + 1] == str(result.params[EVIL])
    assert said[said.index("heat") + 2] == "holds"
    assert said[said.index("mass") + 2] == "violated"
    assert said[-1] == result.message
    assert "<script" not in result._repr_html_()


def test_a_result_without_a_value_or_a_search_is_shown_too() -> None:
    space = Space({"x": Float(-5, 5)})
    nothing = words(minimize(lambda p: math.nan, space, **HOW))
    assert nothing[0] == "No value yet"
    assert "30 without a finite value" in nothing[1]
    assert words(Result(None, None, math.nan, 0, 0, False, None, 0))[0] == "No value yet"
    unnamed = minimize(lambda x: float(x @ x), bounds=[(-1, 3), (0, 5)], **HOW)
    assert {"x0", "x1"} <= set(words(unnamed))


def test_a_noisy_result_shows_what_is_recommended() -> None:
    values = iter(range(10_000))
    space = Space({"x": Float(-5, 5)})
    result = minimize(lambda p: p["x"] ** 2 + (next(values) % 7) / 10, space, noisy=True, **HOW)
    assert result.recommended is not None
    assert "recommended" in words(result)
    assert f"recommended: {result.recommended.value:.6g} ±" in words(result)[1]


def test_a_history_shows_when_it_became_better() -> None:
    rows = [(6.0 * i, 20.0 - i if i < 15 else 5.0, 1.0, 6.0, 0.0) for i in range(1, 21)]
    said = words(History(rows))
    assert said[:2] == ["History", ", 20 generations, 120 evaluations"]
    assert said[4:6] == ["6", "19"]
    assert said[-3:] == ["90", "5", "7 more after the first"]
    assert len(said[4:-1]) == 2 * 8
    assert words(History()) == ["History", ", 0 generations"]
    assert words(History([(6.0, math.nan, math.nan, 6.0, 0.0)]))[1] == ", 1 generation, 6 evaluations"


def test_a_study_shows_how_far_it_is(tmp_path: Path) -> None:
    space = Space({"k": Int(0, 20)})
    study = Study.create(tmp_path / "a.db", space, name=EVIL, strategy="saltus-es", seed=1)
    assert words(study)[0] == f"{EVIL}: no value yet"
    study.optimize(lambda p: (float(p["k"]) if p["k"] % 2 else math.nan, {"odd": 1 - p["k"]}), budget=12)
    said = words(study)
    assert study.best is not None
    assert said[0] == f"{EVIL}: best value {study.best.value:.6g}"
    assert re.match(r", minimize, 12 evaluations, \d+ failed", said[1])
    assert said[-1] == f"trial {study.best.id} of {study.path}"


def test_only_so_many_variables_are_shown() -> None:
    space = Space({f"x{i}": Float(0, 1) for i in range(100)})
    assert "and 40 more" in words(space)
    assert len(space._repr_html_()) < 20_000


def test_long_names_are_cut() -> None:
    said = words(Space({"n" * 5000: Int(0, 9)}))
    assert max(map(len, said)) == 120
    assert html.unescape(said[5]).endswith("…")
