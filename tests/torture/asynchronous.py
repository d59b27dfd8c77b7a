"""Kills of studies that do not wait: `asynchronous = true`.

Which evaluation ends first decides what such a search asks next, so there is no study left in peace to
compare with. Instead the record itself is held against three things: what the commands have written down,
what it said before, and a search that begins anew and is told all that was told, in the same order. That one
must ask the very points that are on record, to the last bit, and end in the very state.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from saltus import Optimizer, Study
from saltus._typing import Params
from saltus.study.replay import follow

from . import BOWL, KILLS, MIXED, ended, look, prepare, run_to_the_end

WORKERS = 3
# evaluations end in another order than they begin
UNEQUAL = BOWL.replace('"sleep 0.01"', '"sleep 0.0" 1 + trial * 3 % 5')


def over(study: Path) -> dict[int, str]:
    """All on record that has an outcome, by the number of the trial."""
    database = study.with_suffix(".db")
    if not database.exists():
        return {}
    trials = (t for t in Study.open(database).trials() if t.over)
    return {
        t.id: json.dumps([t.params, t.status, t.value, t.constraints, t.reason, t.repeats]) for t in trials
    }


class _Exact(Optimizer):
    """A search that takes no point for its own that differs in the last digits."""

    def correct(self, id: int, params: Params) -> None:
        """Called if what is on record is not what was asked."""
        raise AssertionError(f"trial {id} is elsewhere on record, at {params}")


def follow_exactly(study: Path) -> None:
    """Let a new search ask and be told all that is on record: it must be the one on record."""
    own = Study.open(study.with_suffix(".db"))
    head = own.head
    anew = _Exact(
        head.space,
        strategy=head.strategy,
        population=head.population,
        batch=head.batch,
        seed=head.seed,
        auto_restart=True,
        noisy=head.noisy,
        asynchronous=True,
    )
    with own._reading() as database:
        trials, tells = list(database.trials()), database.tells()
        told = [tell.trial for tell in tells]
        assert len(set(told)) == len(told), "an outcome was told twice"
        follow(anew, trials, tells, 0, head.direction)
        on_record = own._optimizer(database)[0]
        assert json.dumps(anew.state()) == json.dumps(on_record.state()), "another search is on record"


def torture(
    folder: Path, kills: int, budget: int, seed: int, floats: str = MIXED, how: str | None = None
) -> tuple[int, int, int]:
    """Kill a study, and raise an AssertionError if anything is lost, doubled or goes on otherwise.

    What comes back is as of `tests.torture.torture`.
    """
    rng = random.Random(seed)
    study = prepare(folder / "torture", budget, floats, asynchronous=True, workers=WORKERS, source=UNEQUAL)
    settled: dict[int, int] = {}
    known: dict[int, str] = {}
    progress = set()
    for kill in range(kills + 1):
        if kill < kills:
            KILLS[how or rng.choice(list(KILLS))](study, rng)
        else:
            run_to_the_end(study)
        progress.add(look(study, settled))
        now = over(study)
        assert {id: now.get(id) for id in known} == known, "what was on record has changed, or is gone"
        known = now
        if known:
            follow_exactly(study)
    counts = ended(study)
    again = sum(count - 1 for count in counts.values())
    assert again <= kills * WORKERS, f"{again} evaluations were done again"
    trials = list(Study.open(study.with_suffix(".db")).trials())
    assert [t.id for t in trials] == [*range(len(trials))]
    paid = [json.dumps(t.params) for t in trials if t.evaluated]
    assert len(paid) == len(set(paid)), "a point was paid twice"
    assert all(t.over for t in trials), "something has no outcome"
    return len(progress), len(trials), again
