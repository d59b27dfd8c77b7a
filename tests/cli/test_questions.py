"""The questions of `saltus init`, and the files that the answers make."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltus import Bool, Categorical, Float, Int, Ordinal
from saltus.cli.questions import asked, parsed, variable


def answering(*answers: str) -> tuple[Callable[[str], str], list[str], list[str]]:
    """What answers questions one after the other; the questions, and what was said."""
    rest, questions, said = list(answers), list[str](), list[str]()

    def ask(question: str) -> str:
        questions.append(question)
        return rest.pop(0)

    return ask, questions, said


def test_a_command() -> None:
    ask, questions, said = answering(
        "my lens",
        "radius float 0.1 10 log",
        "shells int 1 12",
        "",
        "c",
        "./trace -r {radius} 'a b'",
        "larger",
        "80",
    )
    text = asked(ask, said.append, "folder")
    file = parsed(text)
    assert file.study.name == "my lens"
    assert (file.study.direction, file.study.budget) == ("maximize", 80)
    assert file.space.variables == (Float(0.1, 10, log=True), Int(1, 12))
    assert file.objective is not None
    assert file.objective.command == ("./trace", "-r", "{radius}", "a b")
    assert questions[0] == "Name of the study [folder]: "


def test_an_empty_answer_is_what_stands_in_brackets() -> None:
    ask, _, said = answering("", "a bool", "b ordinal 1 2 5", "", "", "", "", "")
    file = parsed(asked(ask, said.append, "folder"))
    assert (file.study.name, file.study.budget, file.study.direction) == ("folder", 100, "minimize")
    assert file.objective is not None
    assert file.objective.command == ("./simulate", "--a={a}", "--b={b}")


def test_a_python_function_and_by_hand() -> None:
    ask, _, said = answering("", "a bool", "", "p", "", "", "")
    file = parsed(asked(ask, said.append, "folder"))
    assert file.objective is not None
    assert file.objective.python == "model:cost"
    ask, _, said = answering("", "a bool", "", "h", "", "")
    assert parsed(asked(ask, said.append, "folder")).objective is None


def test_a_wrong_answer_is_asked_again() -> None:
    ask, questions, said = answering(
        *("", "", "radius flota 1 2", "radius float 3 1", "radius float one 2", "radius float 1 2", ""),
        *("x", "p", "no function", "model:cost", "perhaps", "s", "-5", "many", "30"),
    )
    file = parsed(asked(ask, said.append, "folder"))
    assert file.study.budget == 30
    problems = [line for line in said if line.startswith("  ") and "\n" not in line]
    for part in (
        "a name and a type are expected",
        "the type must be one of float, int, ordinal, bool, categorical, got flota; did you mean 'float'?",
        "[space] radius: ",
        "a number is expected, got one",
        "c, p or h is expected, got x",
        "[objective] python must be 'module:function', got 'no function'",
        "smaller or larger is expected, got perhaps",
        "a positive whole number is expected, got -5",
        "a positive whole number is expected, got many",
    ):
        assert any(part in line for line in problems), part
    assert len(questions) == 16


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x float -1e-3 5", Float(-1e-3, 5)),
        ("x int -3 +5", Int(-3, 5)),
        ("x int 1 1000 log", Int(1, 1000, log=True)),
        ("x bool", Bool()),
        ("x ordinal 0.5 1 2", Ordinal([0.5, 1, 2])),
        ("x categorical BK7 'SF 11'", Categorical(["BK7", "SF 11"])),
    ],
)
def test_variables(line: str, expected: object) -> None:
    name, written = variable(line)
    assert name == "x"
    assert parsed(f"[space]\n{written}").space.variables == (expected,)


@given(st.text(max_size=40))
def test_any_line_is_a_variable_or_an_error(line: str) -> None:
    try:
        name, written = variable(line)
    except ValueError:
        return
    assert parsed(f"[space]\n{written}").space.keys == (name,)


def test_names_of_any_kind(tmp_path: Path) -> None:
    ask, _, said = answering('say "hé"', "'thick ness' float 0 1", "", "h", "", "")
    file = parsed(asked(ask, said.append, str(tmp_path)))
    assert file.study.name == 'say "hé"'
    assert [*file.space.keys] == ["thick ness"]
    assert re.search("hé", file.study.name)
