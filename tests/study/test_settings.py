"""The study file: what it may say, and what is said about what it may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from saltus import Bool, Float, Int, Ordinal
from saltus.execution.command import Command
from saltus.study import SettingsError
from saltus.study.settings import StudyFile

from .study_files import SPACE, read


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        """
        [study]
        name = "lens"
        budget = 2000
        target = 1
        max_seconds = 60.5
        seed = 7
        workers = 3
        strategy = "dx-nes-ici"
        population = 12
        direction = "maximize"
        timeout = 2
        retries = 1
        noisy = true
        where = ["radius + 0.5*shells <= 9"]

        [space]
        radius = { type = "float", low = 0.1, high = 10, log = true, init = 1, scale = 0.5 }
        free = { type = "float" }
        share = { type = "float", low = 0, high = 1, step = 0.05 }
        shells = { type = "int", low = 1, high = 12 }
        "grid size" = { type = "ordinal", values = [1, 2.5, 4] }
        coated = { type = "bool", init = 1 }

        [objective]
        command = ["./simulate", "{radius}", "{grid size}", "{study_dir}/mesh", "{trial}"]
        result = "out.json"
        keep = "failed"
        """,
    )
    assert file.space.names == ("radius", "free", "share", "shells", "grid size", "coated")
    assert file.space.variables == (
        Float(0.1, 10, log=True, init=1, scale=0.5),
        Float(),
        Float(0, 1, step=0.05),
        Int(1, 12),
        Ordinal([1, 2.5, 4]),
        Bool(init=1),
    )
    assert file.space.where.given == ("radius + 0.5*shells <= 9",)
    settings = file.study
    assert (settings.name, settings.budget, settings.target, settings.seed) == ("lens", 2000, 1, 7)
    assert (settings.workers, settings.retries, settings.timeout, settings.noisy) == (3, 1, 2, True)
    assert file.objective is not None
    assert file.objective.command is not None
    command = Command(file.objective.command, file.folder)
    assert command.filled({"radius": 1.0, "grid size": 4}, 3)[1:] == ["1.0", "4", f"{tmp_path}/mesh", "3"]


def test_the_template_is_a_study_file(tmp_path: Path) -> None:
    from importlib.resources import files

    template = files("saltus.cli").joinpath("study.toml").read_text()
    file = read(tmp_path, template)
    uncommented = "\n".join(
        line.removeprefix("# ") if " = " in line and "#" in line[2:] else line
        for line in template.splitlines()
    )
    everything = read(tmp_path, uncommented)
    assert everything.space.names == (*(file.space.names or ()), "glass")
    assert everything.study != file.study


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[study", "not valid TOML: Expected ']'"),
        ("a = 1\n[study]\nb = ]", "line 3"),
        ("[studdy]\n", "unknown table 'studdy'; did you mean 'study'?"),
        ("study = 3\n" + SPACE, "[study] must be a table, got 3"),
        ("", "[space] must name at least one variable"),
        ("[study]\nbudgett = 3\n" + SPACE, "[study]: unknown key 'budgett'; did you mean 'budget'?"),
        ("[study]\nbudget = '3'\n" + SPACE, "[study] budget must be a whole number, got '3'"),
        ("[study]\nbudget = 3.5\n" + SPACE, "[study] budget must be a whole number, got 3.5"),
        ("[study]\nbudget = true\n" + SPACE, "[study] budget must be a whole number, got True"),
        ("[study]\nbudget = 0\n" + SPACE, "[study] budget must be a positive whole number, got 0"),
        ("[study]\nseed = -1\n" + SPACE, "[study] seed must be a whole number from 0"),
        ("[study]\ntarget = nan\n" + SPACE, "[study] target must be a number or None, got nan"),
        ("[study]\nworkers = 0\n" + SPACE, "[study] workers must be a positive whole number"),
        ("[study]\ntimeout = 0\n" + SPACE, "[study] timeout must be a positive number"),
        ("[study]\nretries = -1\n" + SPACE, "[study] retries must be a whole number, 0 or more"),
        ("[study]\nnoisy = 1\n" + SPACE, "[study] noisy must be true or false, got 1"),
        ("[study]\nname = 1\n" + SPACE, "[study] name must be text in quotes, got 1"),
        ("[study]\nstrategy = 'saltis'\n" + SPACE, "did you mean 'saltus'?"),
        ("[study]\ndirection = 'max'\n" + SPACE, "must be one of minimize, maximize, got 'max'"),
        ("[space]\nr = 3\n", "[space] r must be a table such as"),
        ("[space]\nr = {}\n", "[space] r: 'type' is missing: one of float, int, ordinal, bool"),
        ("[space]\nr = { type = 'flot' }\n", "[space] r: type must be one of"),
        ("[space]\nr = { type = 'flot' }\n", "did you mean 'float'?"),
        ("[space]\nr = { type = ['float'] }\n", "got ['float']"),
        ("[space]\nr = { type = 'int', low = 1 }\n", "[space] r: 'high' is missing"),
        ("[space]\nr = { type = 'int', lo = 1, high = 3 }\n", "unknown key 'lo'; did you mean 'low'?"),
        ("[space]\nr = { type = 'int', low = 3, high = 1 }\n", "[space] r: Int: low must not exceed high"),
        ("[space]\nr = { type = 'float', low = 'a' }\n", "[space] r: Float: low must be a number"),
        ("[space]\nr = { type = 'float', log = 1 }\n", "[space] r: log must be true or false, got 1"),
        ("[space]\nr = { type = 'ordinal', values = 3 }\n", "[space] r: values must be a list"),
        ("[space]\nr = { type = 'ordinal', values = [2, 1] }\n", "values must increase strictly"),
        ("[space]\nr = { type = 'int', low = 2, high = 2 }\n", "nothing to optimise"),
        ("[space]\ntrial = { type = 'bool' }\n", "[space] trial: this name means something else"),
        (SPACE + "[objective]\n", "must have either python or command, got neither"),
        (SPACE + "[objective]\npython='a:b'\ncommand=['x']\n", "got both"),
        (SPACE + "[objective]\npython='a.b'\n", "[objective] python must be 'module:function', got 'a.b'"),
        (SPACE + "[objective]\npython='os; import:b'\n", "must be 'module:function'"),
        ("[study]\nwhere='r <= 1'\n" + SPACE, "[study] where must be a list of strings, got 'r <= 1'"),
        ("[study]\nwhere=['q <= 1']\n" + SPACE, "[study] where: 'q <= 1' has an unknown name, 'q'"),
        (SPACE + "[objective]\ncommand='sh -c x'\n", "must be a list of strings, got"),
        (SPACE + "[objective]\ncommand=['sh', 3]\n", "must be a list of strings"),
        (SPACE + "[objective]\ncommand=[]\n", "must name a program"),
        (SPACE + "[objective]\ncommand=['sh', \"a\\u0000b\"]\n", "null character"),
        (SPACE + "[objective]\ncommand=['sh', '{rr}']\n", "{rr} is no variable; did you mean 'r'?"),
        (SPACE + "[objective]\ncommand=['sh', '{rr}']\n", "write {{rr}} for the text itself"),
        (SPACE + "[objective]\ncomand=['sh']\n", "did you mean 'command'?"),
        (SPACE + "[objective]\npython='a:b'\nkeep='failed'\n", "go with a command, not with python"),
        (SPACE + "[objective]\ncommand=['sh']\nkeep='maybe'\n", "[objective] keep must be one of never"),
        ("\ud800", "it is not UTF-8 text"),
        ("a = " + "[" * 5000, "not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "study.toml"))


def test_a_mark_of_the_byte_order_says_nothing(tmp_path: Path) -> None:
    """As editors of Windows write it in front of UTF-8."""
    assert read(tmp_path, "\ufeff" + SPACE).space == read(tmp_path, SPACE).space


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="saltus init"):
        StudyFile.read(tmp_path / "study.toml")
    with pytest.raises(SettingsError, match="cannot be read: Is a directory"):
        StudyFile.read(tmp_path)


TOML_VALUES = st.recursive(
    st.booleans()
    | st.integers(-3, 10**20)
    | st.floats()
    | st.sampled_from(["float", "int", "r", "{r}", "a:b", "saltus"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "low", "high", "log", "values", "init"]), inner, max_size=4
        )
    ),
    max_leaves=6,
)


KEYS = [
    "name",
    "budget",
    "target",
    "seed",
    "workers",
    "timeout",
    "retries",
    "r",
    "command",
    "python",
    "x",
    "keep",
]


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value)


@given(
    st.dictionaries(
        st.sampled_from(["study", "space", "objective", "other"]),
        st.dictionaries(st.sampled_from(KEYS), TOML_VALUES, max_size=4),
    )
)
@example({"space": {"r": {"type": "int", "low": 0, "high": 10**20}}})
@example({"space": {"r": {"type": "ordinal", "values": [[1], 2]}}})
def test_any_tables_are_a_study_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, tables: dict[str, dict[str, Any]]
) -> None:
    text = "\n".join(
        f"[{name}]\n" + "\n".join(f"{k} = {toml(v)}" for k, v in table.items())
        for name, table in tables.items()
    )
    try:
        file = read(tmp_path_factory.getbasetemp(), text)
    except SettingsError:
        return
    assert file.space.dimension >= 1


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_an_error_or_a_study(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.toml"
    path.write_bytes(data)
    with pytest.raises(SettingsError):  # no random text names a variable
        StudyFile.read(path)


def test_points_that_are_to_be_evaluated_first(tmp_path: Path) -> None:
    assert read(tmp_path, SPACE).points == ()
    assert read(tmp_path, SPACE + "[[point]]\nr = 2\n[[point]]\n").points == ({"r": 2}, {})
    for text, words in (
        ("[[point]]\nr = 0\n", r"\[\[point\]\] 1: 'r' must lie in"),
        ("[[point]]\n[[point]]\nR = 2\n", r"\[\[point\]\] 2: 'R' is no variable"),
        ("[point]\nr = 2\n", "two brackets"),
    ):
        with pytest.raises(SettingsError, match=words):
            read(tmp_path, SPACE + text)


def test_patience(tmp_path: Path) -> None:
    settings = read(tmp_path, f"[study]\npatience = 200\nmin_gain = 0.5\n{SPACE}").study
    assert (settings.patience, settings.min_gain) == (200, 0.5)
    with pytest.raises(SettingsError, match=r"\[study\] patience must be a positive whole number"):
        read(tmp_path, f"[study]\npatience = 0\n{SPACE}")
    with pytest.raises(SettingsError, match=r"\[study\] min_gain says what patience counts as a gain"):
        read(tmp_path, f"[study]\nmin_gain = 0.5\n{SPACE}")
