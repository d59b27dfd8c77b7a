"""Studies that wait for nobody: what was asked and told, and in which order, is on record."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from saltus import Float, Int, NotCountedError, Optimizer, Space, Stop, Study
from saltus.cli import main
from saltus.study import RecordError, journal
from saltus.study.rows import checksum

from ..objectives import SPACE, constrained, fails_sometimes
from .studies import DISCRETE, distance, essence, made, peek

BOWL = Space({"x": Float(-5, 5), "k": Int(0, 20)})


def bowl(p: dict[str, Any]) -> float:
    return float((p["x"] - 1) ** 2 + (p["k"] - 7) ** 2)


class Unhurried:
    """An objective whose evaluations end in another order than they began."""

    def __init__(self, fun: Any, seed: int = 1) -> None:
        self.fun, self.rng, self.calls = fun, random.Random(seed), list[Any]()

    def __call__(self, p: dict[str, Any]) -> Any:
        self.calls.append(p)
        time.sleep(self.rng.choice([0.0, 0.0, 0.002, 0.008]))
        return self.fun(p)


def state_on_record(study: Study) -> str:
    with study._reading() as database:
        return json.dumps(study._optimizer(database)[0].state())


@pytest.mark.parametrize("saved", ["every time", "never"])
@pytest.mark.parametrize(
    ("space", "fun", "options"),
    [
        (SPACE, constrained, {"strategy": "saltus"}),
        (SPACE, fails_sometimes, {"direction": "maximize", "strategy": "saltus-es"}),
        (BOWL, bowl, {"strategy": "dx-nes-ici"}),
        (DISCRETE, distance, {"strategy": "saltus-es"}),
    ],
)
def test_the_record_gives_the_very_search_at_every_moment(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    space: Space,
    fun: Any,
    options: dict[str, Any],
    saved: str,
) -> None:
    """With late outcomes, repeats, failures, constraints and the other direction, to the last bit."""
    if saved == "never":
        monkeypatch.setattr(journal, "STATE_FOR_EACH_TRIAL", 0)
    study = made(tmp_path, space, asynchronous=True, **options)
    live: list[Optimizer] = []
    search = Study._search

    def watched(self: Study, database: Any) -> Any:
        found = search(self, database)
        live.append(found[0])
        return found

    monkeypatch.setattr(Study, "_search", watched)
    seen: list[int] = []

    def compare(result: Any) -> None:
        seen.append(len(live[-1].pending))
        assert state_on_record(study) == json.dumps(live[-1].state())

    objective = Unhurried(fun)
    with ThreadPoolExecutor(4) as pool:
        for budget in (5, 6, 16):
            result = study.optimize(objective, budget=budget, executor=pool, workers=4, callback=compare)
            assert state_on_record(study) == json.dumps(live[-1].state())
    assert result.nfev == min(16, space.count_points())
    assert max(seen) >= 1  # others were in flight meanwhile
    assert len(objective.calls) == result.nfev  # nothing was paid twice


def test_nobody_waits(tmp_path: Path) -> None:
    """The first evaluation lasts until all others are over: a batch would wait for it for ever."""
    study, done = made(tmp_path, BOWL, asynchronous=True), list[int]()

    def fun(p: dict[str, Any]) -> float:
        if not done:
            done.append(0)
            limit = time.monotonic() + 60
            while len(done) < 29 and time.monotonic() < limit:
                time.sleep(0.001)
        done.append(1)
        return bowl(p)

    with ThreadPoolExecutor(3) as pool:
        result = study.optimize(fun, budget=30, executor=pool, workers=3)
    assert result.nfev == 30
    seconds = [t.seconds or 0.0 for t in study.trials()]
    assert max(seconds) < 60
    assert seconds.index(max(seconds)) < 3


def test_with_one_worker_it_is_the_search_that_waits(tmp_path: Path) -> None:
    studies = [Study.create(tmp_path / f"{a}.db", BOWL, seed=3, asynchronous=a) for a in (False, True)]
    for study in studies:
        study.optimize(bowl, budget=25)
    assert essence(studies[0]) == essence(studies[1])


def test_what_was_in_flight_is_evaluated_first(tmp_path: Path) -> None:
    """Ctrl-C, or a kill: what was asked and has no outcome is begun again, before anything new is asked."""
    study = made(tmp_path, BOWL, asynchronous=True)
    asked = study.ask(3)
    points: list[Any] = []

    def fun(p: dict[str, Any]) -> float:
        points.append(p)
        return bowl(p)

    study.optimize(fun, budget=2)
    assert points == [trial.params for trial in asked[:2]]
    assert [t.status for t in study.trials()] == ["done", "done", "asked"]


def test_by_hand_in_any_order(tmp_path: Path) -> None:
    study = made(tmp_path, BOWL, asynchronous=True, strategy="saltus-es")
    rng, out = random.Random(1), study.ask(5)
    for _ in range(30):
        trial = out.pop(rng.randrange(5))
        study.tell(trial.id, bowl(trial.params))
        out += study.ask()
    assert study.summary().evaluations == 30
    assert len(study.summary().unfinished) == 5
    before = state_on_record(study)
    assert state_on_record(Study.open(study.path)) == before


def test_a_finite_space_is_exhausted_by_hand_too(tmp_path: Path) -> None:
    study = made(tmp_path, Space({"k": Int(0, 3)}), asynchronous=True, strategy="saltus-es")
    out = study.ask(4)
    while out:
        trial = out.pop()
        study.tell(trial.id, float(trial.params["k"]))
        out += study.ask(1)
    assert study.summary().evaluations == 4


def test_what_is_not_to_count_is_evaluated_again(tmp_path: Path) -> None:
    study, tries = made(tmp_path, BOWL, asynchronous=True), Counter[str]()

    def fun(p: dict[str, Any]) -> float:
        tries[json.dumps(p)] += 1
        if tries[json.dumps(p)] < 3:
            raise NotCountedError("no licence")
        return bowl(p)

    with ThreadPoolExecutor(3) as pool:
        result = study.optimize(fun, budget=6, executor=pool, workers=3)
    assert (result.nfev, result.failures) == (6, 0)
    assert sorted(tries.values())[-6:] == [3] * 6


def test_it_begins_anew_with_past_data(tmp_path: Path) -> None:
    study = made(tmp_path, BOWL, asynchronous=True)
    with ThreadPoolExecutor(4) as pool:
        study.optimize(Unhurried(bowl), budget=10, executor=pool, workers=4)
        best = study.best
        assert best is not None
        study.forget([best.id])
        study.enqueue({"x": 1.0, "k": 7})
        study.optimize(Unhurried(bowl), budget=20, executor=pool, workers=4)
        study.add([{"x": 0.5, "k": 8}], [1.25])
        result = study.optimize(Unhurried(bowl), budget=30, executor=pool, workers=4)
    assert result.nfev == 30
    assert result.fun == 0.0
    assert len({t.id for t in study.trials()}) == len(list(study.trials()))


def test_noise_is_noticed_and_evaluated_again(tmp_path: Path) -> None:
    rng = random.Random(1)
    study = made(tmp_path, DISCRETE, asynchronous=True, noisy=True)
    with ThreadPoolExecutor(2) as pool:
        result = study.optimize(lambda p: distance(p) + rng.random(), budget=60, executor=pool, workers=2)
    assert result.nfev == 60
    assert result.recommended is not None


def test_a_row_that_is_missing_or_makes_no_sense_is_noticed(tmp_path: Path) -> None:
    study = made(tmp_path, BOWL, asynchronous=True, strategy="saltus-es")
    study.optimize(bowl, budget=9)

    def changed(statement: str, *values: Any) -> Study:
        with sqlite3.connect(study.path) as source:
            copy = tmp_path / f"{random.random()}.db"
            target = sqlite3.connect(copy)
            source.backup(target)
        with target:
            target.execute(statement, values)
        target.close()
        return Study.open(copy)

    row = (8, 3, 9, 0)
    twice = "INSERT OR REPLACE INTO tells VALUES (?, ?, ?, ?, ?)"
    for damaged in (
        changed("DELETE FROM tells WHERE number = 4"),
        changed("DELETE FROM tells WHERE number = 8"),
        changed("UPDATE tells SET trial = 2 WHERE number = 4"),
        changed(twice, *row, checksum(row)),
    ):
        with pytest.raises(RecordError, match="damaged"):
            damaged.optimize(bowl, budget=10)


@pytest.mark.machines
def test_killed_again_and_again_nothing_is_lost_or_paid_twice_on_record(tmp_path: Path) -> None:
    """Each evaluation writes a line of its own; the record holds the same values, each once."""
    (tmp_path / "cost.py").write_text(
        "import json, time, random\n"
        "def cost(p):\n"
        "    time.sleep(random.Random(json.dumps(p)).choice([0.0, 0.02]))\n"
        "    value = (p['x'] - 1) ** 2 + (p['k'] - 7) ** 2\n"
        "    with open('LOG', 'a') as log:\n"
        "        log.write(json.dumps([p, value]) + '\\n')\n"
        "    return value\n".replace("LOG", str(tmp_path / "log"))
    )
    (tmp_path / "study.toml").write_text(
        '[study]\nbudget = 60\nseed = 1\nworkers = 3\nasynchronous = true\nstrategy = "saltus-es"\n'
        '[space]\nx = { type = "float", low = -5, high = 5 }\nk = { type = "int", low = 0, high = 20 }\n'
        '[objective]\npython = "cost:cost"\n'
    )
    command = [sys.executable, "-m", "saltus", "run", str(tmp_path / "study.toml")]
    for kills in (10, 25, 40):
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limit = time.monotonic() + 120
        while sum(t.over for t in peek(tmp_path / "study.db")) < kills and time.monotonic() < limit:
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert main(["run", str(tmp_path / "study.toml"), "--json"]) == 0
    study = Study.open(tmp_path / "study.db")
    done = [t for t in study.trials() if t.status == "done"]
    assert len(done) == study.summary().evaluations == 60
    assert len({json.dumps(t.params) for t in done}) == 60
    logged = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert all([t.params, t.value] in logged for t in done)
    assert len(logged) <= 60 + 3 * 3  # at most what was in flight at each kill
    assert study.summary().sessions[-1].stop == Stop.BUDGET.name


def test_the_study_file_and_the_record_must_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "study.toml"
    text = (
        "[study]\nbudget = 4\nseed = 1\nworkers = 2\nasynchronous = true\n"
        '[space]\nk = { type = "int", low = 0, high = 20 }\n'
        '[objective]\ncommand = ["echo", "{k}"]\n'
    )
    file.write_text(text)
    assert main(["run", str(file)]) == 0
    head = Study.open(tmp_path / "study.db").head
    assert (head.asynchronous, head.batch) == (True, 1)
    file.write_text(text.replace("true", "false"))
    assert main(["run", str(file)]) == 2
    assert "[study] asynchronous has changed" in capsys.readouterr().err


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="asynchronous must be True or False, got 'yes'"):
        made(tmp_path, asynchronous="yes")
    with pytest.raises(ValueError, match="cma-es-margin goes astray"):
        made(tmp_path, asynchronous=True, strategy="cma-es-margin")
