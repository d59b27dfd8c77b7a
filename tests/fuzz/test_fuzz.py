"""Whatever is read from elsewhere: only errors of Saltus come out. `make fuzz` tries for longer.

With SALTUS_FUZZ=N in the environment each target gets N examples, a time that each must keep, and memory that
must do.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from datetime import timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import optuna
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optuna.trial import TrialState

from saltus import Optimizer, Study, StudyError
from saltus.cli import main
from saltus.cli.codes import MEANINGS
from saltus.cli.studies import opened_or_created
from saltus.execution.command import from_file, from_line
from saltus.execution.evaluation import EvaluationError
from saltus.optuna import SaltusSampler
from saltus.study.errors import SettingsError
from saltus.study.rows import checksum
from saltus.study.settings import StudyFile

from ..objectives import SPACE, constrained
from .mutation import NASTY, mutated, mutated_text

EXAMPLES = int(os.environ.get("SALTUS_FUZZ", "0"))
MEMORY = 3 * 2**30  # bytes of address space, NumPy and SciPy included
fuzzed = settings(
    max_examples=EXAMPLES or 15,
    deadline=timedelta(seconds=20) if EXAMPLES else None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=not EXAMPLES,
)


@pytest.fixture(autouse=True, scope="module")
def bounded_memory() -> Any:
    if not EXAMPLES:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


STUDY = """
[study]
name = "lens"
budget = 2000
seed = 7
workers = 2
population = 12
batch = 2
timeout = 10.5
retries = 1
direction = "maximize"
strategy = "saltus-es"
[space]
radius = { type = "float", low = 0.1, high = 10, log = true, init = 2.0, scale = 0.5 }
shells = { type = "int", low = 1, high = 12 }
thickness = { type = "ordinal", values = [0.5, 1.0, 2.0] }
coated = { type = "bool" }
[objective]
command = ["./simulate", "--radius", "{radius}", "{{x}}", "{trial}"]
result = "out.json"
"""
WORDS = [
    *("9" * 30, "1e400", "-1", "0", "nan", "inf", "true", '"', "'", "[", "]", "{", "}", "=", "\n", "#"),
    *("10000000000", '"x"', "[1]", "{}", "type", "low", "high", "values", "log", "float", "int", "[space]"),
    "\\u0000",
]


@fuzzed
@given(mutated_text(STUDY, WORDS))
def test_study_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    path.with_suffix(".db").unlink(missing_ok=True)
    with suppress(SettingsError):
        file = StudyFile.read(path)
        opened_or_created(file, None, 2)


@fuzzed
@given(
    st.one_of(
        st.text(max_size=50),
        mutated({"value": 1.5, "constraints": {"stress": -0.2, "mass": 0.1}}).map(json.dumps),
        mutated_text('{"value": 1.5, "constraints": [1, -2]}', WORDS),
    )
)
def test_output_of_commands(tmp_path: Path, text: str) -> None:
    (tmp_path / "out.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    for read in (partial(from_line, text.strip(), tmp_path), partial(from_file, tmp_path, "out.json")):
        with suppress(EvaluationError):
            assert isinstance(read().value, float)


@pytest.fixture(scope="module", params=[False, True])
def record(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    path = tmp_path_factory.mktemp("record") / "study.db"
    study = Study.create(path, SPACE, seed=1, strategy="saltus-es", asynchronous=request.param)
    study.optimize(constrained, budget=20)
    study.ask(2)
    with closing(sqlite3.connect(study.path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    return study.path


@fuzzed
@given(st.data())
def test_records(record: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Values of any row, with right checksums: whoever shows them or goes on."""
    path = tmp_path / "study.db"
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    shutil.copy(record, path)
    with closing(sqlite3.connect(path)) as db, db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = data.draw(st.sampled_from(tables))
        rows = db.execute(f"SELECT * FROM {table}").fetchall()
        if not rows:
            return  # what a study that waits was told is not on record
        row = list(data.draw(st.sampled_from(rows)))
        column = data.draw(st.integers(1, len(row) - 2))
        row[column] = data.draw(_values(row[column]))
        try:
            row[-1] = checksum(row[:-1])
            db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * len(row))})", row)
        except (sqlite3.Error, OverflowError, UnicodeEncodeError):
            return  # SQLite cannot hold it
    for words in (["show"], ["export", "--csv"], ["report"]):
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            assert main([words[0], str(path), *words[1:]]) in MEANINGS
    with suppress(StudyError):
        Study.open(path).optimize(constrained, budget=25)


def _values(given: Any) -> st.SearchStrategy[Any]:
    plain = st.sampled_from([value for value in NASTY if not isinstance(value, list | dict)])
    with suppress(ValueError, TypeError):
        document = json.loads(given)
        if isinstance(document, list | dict) and document:
            return plain | mutated(document).map(json.dumps)
    return plain


def state(strategy: str) -> Any:
    optimizer = Optimizer(SPACE, seed=1, strategy=strategy, auto_restart=True)
    for _ in range(12):
        candidates = optimizer.ask()
        optimizer.tell(candidates, [constrained(c.params)[0] for c in candidates])
    optimizer.ask(1)
    return json.loads(json.dumps(optimizer.state()))


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "cma-es-margin"])
@fuzzed
@given(data=st.data())
def test_states(strategy: str, data: st.DataObject) -> None:
    changed = data.draw(mutated(STATES[strategy]))
    with suppress(ValueError):
        Optimizer.restore(changed)


STATES = {strategy: state(strategy) for strategy in ("saltus", "saltus-es", "cma-es-margin")}


@fuzzed
@given(data=st.data())
def test_attributes_of_trials(data: st.DataObject) -> None:
    """Of an Optuna study: a trial that makes no sense is ignored with a warning, and the others go on."""
    study = optuna.create_study(sampler=SaltusSampler(seed=1, strategy="saltus-es"))
    study.optimize(objective, n_trials=4)
    known = json.loads(study.trials[2].system_attrs["saltus"])
    trial = study.ask()
    text = data.draw(mutated(known).map(json.dumps) | st.text(max_size=20))
    study._storage.set_trial_system_attr(trial._trial_id, "saltus", text)
    study.tell(trial, state=TrialState.FAIL)
    study.sampler = SaltusSampler(seed=1, strategy="saltus-es")
    study.optimize(objective, n_trials=2)
    assert [t.state for t in study.trials[-2:]] == [TrialState.COMPLETE] * 2


def objective(trial: optuna.Trial) -> float:
    x, k = trial.suggest_float("x", -5, 5), trial.suggest_int("k", 0, 9)
    return (x - 1) ** 2 + (k - 4) ** 2
