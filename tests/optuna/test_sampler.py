from __future__ import annotations

import json
import logging
import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)
from optuna.storages import InMemoryStorage
from optuna.trial import FrozenTrial, TrialState

import saltus
from saltus.model import fit
from saltus.optuna import SaltusSampler
from saltus.optuna.replay import BatchOrigin, TrialRecord, as_ranges, from_ranges
from saltus.optuna.translation import Translation
from saltus.search import surrogate

from .chains import chain, told

SPACE: dict[str, BaseDistribution] = {
    "x": FloatDistribution(-5, 5),
    "y": FloatDistribution(1e-3, 10, log=True),
    "k": IntDistribution(0, 20),
    "on": CategoricalDistribution([False, True]),
}
Params = dict[str, Any]


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def cost(p: Params) -> float:
    off = (p["x"] - 1) ** 2 + math.log(p["y"]) ** 2 + 0.3 * (p["k"] - 7) ** 2
    return float(off + (0 if p["on"] else 2))


def suggest(trial: optuna.Trial, space: dict[str, BaseDistribution] = SPACE) -> Params:
    return {name: trial._suggest(name, distribution) for name, distribution in space.items()}


def objective(trial: optuna.Trial) -> float:
    return cost(suggest(trial))


def made(n: int = 0, objective: Callable[[optuna.Trial], float] = objective, **options: Any) -> optuna.Study:
    direction = options.pop("direction", "minimize")
    defaults: dict[str, Any] = {"seed": 1, "search_space": SPACE}
    study = optuna.create_study(sampler=SaltusSampler(**(defaults | options)), direction=direction)
    study.optimize(objective, n_trials=n)
    return study


def points(study: optuna.Study) -> list[Params]:
    return [t.params for t in study.trials]


@contextmanager
def warnings_of_the_sampler() -> Iterator[list[str]]:
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("optuna.samplers.saltus")
    logger.addHandler(handler)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)


def view_of(study: optuna.Study) -> Any:
    """What a study's sampler knows of it."""
    sampler: Any = study.sampler
    (view,) = sampler._views.values()
    return view


def test_it_is_the_search_of_minimize() -> None:
    study = made(50)
    seen: list[Params] = []

    def fun(p: Params) -> float:
        p = {"x": p["x"], "y": p["y"], "k": p["k"], "on": p["on"]}
        seen.append(p)
        return cost(p)

    space = saltus.Space(
        {
            "k": saltus.Int(0, 20),
            "on": saltus.Bool(),
            "x": saltus.Float(-5, 5),
            "y": saltus.Float(1e-3, 10, log=True),
        }
    )
    saltus.minimize(fun, space, budget=50, seed=1)
    assert points(study) == seen
    assert study.best_value < 1e-3


def test_maximising_is_minimising_the_negative() -> None:
    up = made(30, lambda trial: -objective(trial), direction="maximize")
    assert points(up) == points(made(30))


@pytest.mark.parametrize("strategy", saltus.STRATEGIES)
def test_who_comes_back_goes_on_where_it_was(strategy: str) -> None:
    whole = made(35, strategy=strategy)
    parts = made(15, strategy=strategy)
    for _ in range(2):
        parts.sampler = SaltusSampler(seed=99, search_space=SPACE, strategy=strategy)  # the first seed counts
        parts.optimize(objective, n_trials=10)
    assert points(parts) == points(whole)


def test_who_comes_back_without_a_space_goes_on_too() -> None:
    whole = made(35, search_space=None)
    parts = made(15, search_space=None)
    for _ in range(2):
        parts.sampler = SaltusSampler(seed=99)
        parts.optimize(objective, n_trials=10)
    assert points(parts) == points(whole)


@contextmanager
def counted_fits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Of how many points new parameters of a model are found meanwhile, fit by fit."""
    counts: list[int] = []

    def counting(x: Any, y: Any, *others: Any, **options: Any) -> Any:
        counts.append(len(y))
        return fit(x, y, *others, **options)

    with monkeypatch.context() as patch:
        patch.setattr(surrogate, "fit", counting)
        yield counts


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_who_comes_back_finds_nothing_anew(monkeypatch: pytest.MonkeyPatch, n_jobs: int) -> None:
    """The parameters of the model are on record: a fit at most, for the point that is asked next."""
    with counted_fits(monkeypatch) as counts:
        study = made(0)
        study.optimize(objective, n_trials=32, n_jobs=n_jobs)
    assert len(counts) > 10
    for _ in range(2):
        study.sampler = SaltusSampler(seed=9, search_space=SPACE)
        with counted_fits(monkeypatch) as counts:
            suggest(study.ask())
        assert len(counts) <= 1
    study = with_other_fits(study, lambda fits: {})
    with counted_fits(monkeypatch) as counts:
        suggest(study.ask())
    assert len(counts) > 10


def with_other_fits(study: optuna.Study, change: Callable[[Any], Any]) -> optuna.Study:
    """The same study, but for what its trials say of the parameters of the model."""
    trials = study.trials
    for trial in trials:
        record = TrialRecord.read(trial.system_attrs)
        assert record is not None
        trial.system_attrs = dict(record._replace(fits=change(record.fits)).attributes())
    other = optuna.create_study(sampler=SaltusSampler(seed=9, search_space=SPACE))
    other.add_trials(trials)
    return other


@pytest.mark.parametrize("nonsense", [np.full(8, math.nan), np.zeros(3), np.array(1.0)])
def test_parameters_that_make_no_sense_are_not_taken(nonsense: Any) -> None:
    study = with_other_fits(made(15), lambda fits: dict.fromkeys(fits, nonsense))
    study.optimize(objective, n_trials=1)
    assert points(study) == points(made(16))


def test_a_study_of_before_the_model_goes_on_without_one() -> None:
    """Then `saltus` was the name of what is `saltus-es`: its searches have the name of that."""
    assert len({view_of(made(1, strategy=name)).replay.name for name in saltus.STRATEGIES}) == len(
        saltus.STRATEGIES
    )
    translation = view_of(made(1)).translation
    ranges = [f"{name}={distribution_to_json(SPACE[name])}" for name in translation.columns]
    words = ["saltus", "None", "MINIMIZE", *ranges, str(translation.starts({}))]
    older = blake2b("\n".join(words).encode(), digest_size=6).hexdigest()
    assert view_of(made(1, strategy="saltus-es")).replay.name == older


def test_one_sampler_for_many_studies() -> None:
    sampler = SaltusSampler(seed=1, search_space=SPACE)
    alone = points(made(15))
    for _ in range(3):
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=15)
        assert points(study) == alone
    assert len(sampler._views) <= 2  # of studies that are gone nothing is kept


def test_a_space_that_is_not_the_objectives_is_an_error() -> None:
    with pytest.raises(ValueError, match="in search_space, but the objective asks"):
        made(30, search_space=SPACE | {"k": IntDistribution(0, 90)})


def test_copies_of_trials_under_other_numbers_are_points_and_no_more() -> None:
    source = made(30)
    study = optuna.create_study(sampler=SaltusSampler(seed=1, search_space=SPACE))
    study.add_trials(source.trials[10:])
    study.optimize(objective, n_trials=30)
    assert study.best_value <= source.best_value
    assert next(iter(chain(study))) == 20


def test_a_pickled_sampler_goes_on() -> None:
    study = made(20)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(objective, n_trials=12)
    assert points(study) == points(made(32))


def test_without_a_space_the_first_trial_is_the_start() -> None:
    study = made(80, search_space=None)
    first = study.trials[0].params
    assert (first["x"], first["y"], first["k"]) == (0.0, pytest.approx(0.1), 10)
    assert study.best_value < 1e-3
    study = made(1, search_space=None, x0={"x": 2.0, "k": 3})
    assert study.trials[0].params["x"] == 2.0
    assert study.trials[0].params["k"] == 3


def test_without_a_space_the_search_begins_at_the_first_trial() -> None:
    """Which is in the middle: the same numbers are drawn around it. To a model it is one point more."""
    how: dict[str, Any] = {"strategy": "saltus-es"}
    later, at_once = points(made(9, search_space=None, **how))[1:], points(made(8, **how))
    for name in ("x", "y", "k"):
        assert [p[name] for p in later] == pytest.approx([p[name] for p in at_once])


def test_x0_is_where_it_starts() -> None:
    start = {"x": 4.0, "y": 5.0, "k": 18, "on": True}
    assert points(made(1, x0=start)) == [pytest.approx(start)]
    near = made(1, strategy="saltus-es", population=200, x0=start)
    near.optimize(objective, n_trials=99)
    assert abs(np.mean([p["k"] for p in points(near)]) - 18) < 1.5
    with pytest.raises(ValueError, match="x0"):
        made(1, x0={"x": 7.0})
    with pytest.raises(ValueError, match="x0 names 'z'"):
        made(1, x0={"z": 7.0})


def test_startup_trials_are_random_and_no_trial_is_lost() -> None:
    study = made(60, n_startup_trials=20)
    assert all("saltus" not in t.system_attrs for t in study.trials[:20])
    assert all("saltus" in t.system_attrs for t in study.trials[20:])
    last = list(chain(study))[-1]
    assert last > 50
    assert told(study) == set(range(last))


class TestOutcomes:
    def test_failed_and_pruned_trials(self) -> None:
        def fails(trial: optuna.Trial) -> float:
            p = suggest(trial)
            if p["x"] < 0:
                raise RuntimeError("no")
            if p["k"] > 15:
                trial.report(cost(p), 1)
                raise optuna.TrialPruned
            return cost(p)

        study = optuna.create_study(sampler=SaltusSampler(seed=1, search_space=SPACE))
        study.optimize(fails, n_trials=80, catch=(RuntimeError,))
        states = [t.state for t in study.trials]
        assert TrialState.FAIL in states
        assert study.best_value < 1e-3
        for t in study.trials:
            learnt = view_of(study).ended_as(t).outcome.value
            if t.state == TrialState.FAIL:
                assert math.isnan(learnt)
            elif t.state == TrialState.PRUNED:
                assert learnt == t.intermediate_values[1]

    def test_a_pruned_trial_that_reported_nothing_is_infeasible(self) -> None:
        def prunes(trial: optuna.Trial) -> float:
            suggest(trial)
            raise optuna.TrialPruned

        study = made(30, prunes)
        assert all(math.isnan(view_of(study).ended_as(t).outcome.value) for t in study.trials)

    def test_nan_is_infeasible(self) -> None:
        study = made(80, lambda trial: math.nan if (p := suggest(trial))["x"] > 1.5 else cost(p))
        assert study.best_value < 1e-3

    def test_constraints(self) -> None:
        def constraints(trial: FrozenTrial) -> list[float]:
            return [trial.params["k"] - 4.0]

        study = made(60, constraints_func=constraints)
        kept = [t for t in study.trials if t.params["k"] <= 4]
        assert min(cost(t.params) for t in kept) == pytest.approx(0.3 * 9, abs=1e-2)
        assert study.trials[0].system_attrs["constraints"] == [study.trials[0].params["k"] - 4.0]

    @pytest.mark.skipif(not hasattr(optuna.Trial, "set_constraint"), reason="Optuna 5 has it")
    def test_constraints_that_the_objective_sets(self) -> None:
        def constrained(trial: optuna.Trial) -> float:
            p = suggest(trial)
            trial.set_constraint("k", p["k"] - 4.0)
            return cost(p)

        study = made(60, constrained)
        assert study.best_value == pytest.approx(0.3 * 9, abs=1e-2)

    def test_constraints_must_be_numbers(self) -> None:
        study = made(constraints_func=lambda trial: [math.nan])
        with pytest.raises(ValueError, match="constraints_func"):
            study.optimize(objective, n_trials=1)
        study.sampler = SaltusSampler(search_space=SPACE)
        study.optimize(objective, n_trials=1)
        learnt = view_of(study).ended_as(study.trials[0]).outcome.value
        assert math.isnan(learnt)  # complete, and not known to be feasible


class TestChosenByTheUser:
    def test_an_enqueued_trial_is_evaluated_as_it_is_and_teaches(self) -> None:
        study = made(30)
        best = {"x": 1.0, "y": 1.0, "k": 7, "on": True}
        study.enqueue_trial(best)
        study.optimize(objective, n_trials=30)
        assert study.trials[30].params == best
        assert 30 in told(study)

    def test_what_an_enqueued_trial_leaves_open_is_where_the_search_is(self) -> None:
        study = made(100)
        study.enqueue_trial({"k": 2})
        study.optimize(objective, n_trials=1)
        trial = study.trials[100]
        assert trial.params["k"] == 2
        assert abs(trial.params["x"] - 1) < 0.5  # not at random
        assert "saltus" not in trial.system_attrs

    def test_before_the_first_trial(self) -> None:
        study = made()
        study.enqueue_trial({"k": 2})
        study.enqueue_trial({"x": 0.5, "y": 2.0, "k": 6, "on": True})
        study.optimize(objective, n_trials=60)
        assert study.trials[0].params["x"] == 0.0
        assert study.best_value < 0.5

    def test_trials_of_another_sampler_are_learnt_from(self) -> None:
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        study.optimize(objective, n_trials=60)
        study.sampler = SaltusSampler(seed=1, search_space=SPACE)
        study.optimize(objective, n_trials=12)
        first = [cost(p) for p in points(study)[60:]]
        assert np.median(first) < np.median([cost(p) for p in points(made(12))])

    def test_ask_and_tell_in_any_order(self) -> None:
        study = made()
        rng = np.random.default_rng(1)
        running: list[tuple[optuna.Trial, float]] = []
        for _ in range(120):
            while len(running) < 6:
                trial = study.ask(SPACE)
                running.append((trial, cost(trial.params)))
            study.tell(*running.pop(rng.integers(6)))
        assert study.best_value < 1e-3

    def test_many_threads(self) -> None:
        study = made()
        study.optimize(objective, n_trials=100, n_jobs=4)
        assert len(study.trials) == 100
        assert study.best_value < 1e-2
        places = [tuple(t.system_attrs["saltus"].split(",")[1:3]) for t in study.trials]
        assert len(set(places)) > 90  # a second attempt is rare


class TestDynamicSpaces:
    def branching(self, trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", -5, 5)
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return (x - 1) ** 2 + trial.suggest_float("a", 0, 1)
        return (x - 1) ** 2 + 1 + trial.suggest_int("b", 0, 5)

    def test_branches_are_searched(self) -> None:
        study = optuna.create_study(sampler=SaltusSampler(seed=1))
        with warnings_of_the_sampler() as messages:
            study.optimize(self.branching, n_trials=50)
        assert study.best_value < 0.01
        assert study.best_params["kind"] == "a"
        assert not messages

    def test_what_nothing_explains_is_drawn_at_random_with_one_warning(self) -> None:
        def now_and_then(trial: optuna.Trial) -> float:
            x = trial.suggest_float("x", -5, 5)
            return (x - 1) ** 2 + (trial.suggest_float("a", 0, 1) if trial.number % 3 else 0.5)

        study = optuna.create_study(sampler=SaltusSampler(seed=1))
        with warnings_of_the_sampler() as messages:
            study.optimize(now_and_then, n_trials=30)
        assert study.best_value < 0.6
        assert [m for m in messages if "'a' is drawn at random" in m]
        assert len(messages) == 1

    def test_a_range_that_changes_begins_another_search(self) -> None:
        study = optuna.create_study(sampler=SaltusSampler(seed=1))
        for high in (5, 8):

            def shifted(trial: optuna.Trial, high: int = high) -> float:
                return (trial.suggest_float("x", -5, high) - 1) ** 2 + trial.suggest_float("y", 0, 1)

            study.optimize(shifted, n_trials=60)
        assert study.best_value < 0.1

    def test_choices_without_an_order_are_searched_as_such(self) -> None:
        space = SPACE | {"kind": CategoricalDistribution(["p", None, 2.5, True, "s"])}
        study = optuna.create_study(sampler=SaltusSampler(seed=1, search_space=space))
        with warnings_of_the_sampler() as messages:
            study.optimize(lambda t: cost(p := suggest(t, space)) + (p["kind"] is not None), n_trials=60)
        assert study.best_params["kind"] is None
        assert {t.params["kind"] for t in study.trials} == {"p", None, 2.5, True, "s"}
        assert not messages

    def test_a_study_with_categories_goes_on_in_another_process(self) -> None:
        """What it needs is in the storage, how values are numbered among it."""

        def objective(trial: optuna.Trial) -> float:
            kind = trial.suggest_categorical("kind", ["a", "b", "c", "d"])
            return trial.suggest_float("x", -5, 5) ** 2 + "cbad".index(kind)

        trials = []
        for parts in ((40,), (13, 15, 12)):
            study = optuna.create_study(sampler=SaltusSampler(seed=4))
            for count in parts:
                study.sampler = SaltusSampler(seed=4)
                study.optimize(objective, n_trials=count)
            trials.append([t.params for t in study.trials])
        assert trials[0] == trials[1]

    def test_a_category_starts_anywhere_or_where_it_is_told(self) -> None:
        def first(choices: Sequence[str], **how: Any) -> Any:
            study = optuna.create_study(sampler=SaltusSampler(**how))
            return study.ask().suggest_categorical("kind", choices)

        assert {first(["a", "b", "c"], seed=seed) for seed in range(20)} == {"a", "b", "c"}
        assert first(["a", "b", "c"], seed=1, x0={"kind": "c"}) == "c"
        with pytest.raises(ValueError, match="x0 of 'kind' must be one of its values"):
            first(["a", "b", "c"], seed=1, x0={"kind": "z"})

    def test_hyperband_has_a_search_for_each_bracket(self) -> None:
        def reports(trial: optuna.Trial) -> float:
            value = objective(trial)
            for step in range(9):
                trial.report(value + 9 - step, step)
                if trial.should_prune():
                    raise optuna.TrialPruned
            return value

        pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9)
        study = optuna.create_study(sampler=SaltusSampler(seed=1, search_space=SPACE), pruner=pruner)
        study.optimize(reports, n_trials=100)
        assert study.best_value < 1


class Late(InMemoryStorage):
    """A storage in which something happens just before an attribute of a trial is written."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], None] | None = None

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        before, self.before = self.before, None
        if before is not None:
            before()
        super().set_trial_system_attr(trial_id, key, value)


class TestManyProcesses:
    """Several samplers on one storage stand for processes: they know nothing of each other."""

    def together(self, storage: InMemoryStorage, count: int, **options: Any) -> list[optuna.Study]:
        optuna.create_study(storage=storage, study_name="s")
        return [self.another(storage, seed=i, **options) for i in range(count)]

    def another(self, storage: InMemoryStorage, **options: Any) -> optuna.Study:
        sampler = SaltusSampler(search_space=SPACE, **options)
        return optuna.load_study(storage=storage, study_name="s", sampler=sampler)

    @pytest.mark.parametrize(("strategy", "steps"), [("saltus", 40), ("saltus-es", 200)])
    def test_all_come_to_the_same_state(self, strategy: str, steps: int) -> None:
        storage = Late()
        studies = self.together(storage, 4, strategy=strategy)
        rng = np.random.default_rng(1)
        running: list[list[tuple[optuna.Trial, float]]] = [[] for _ in studies]

        def begin(i: int) -> None:
            trial = studies[i].ask()
            running[i].append((trial, cost(suggest(trial))))

        for step in range(steps):
            i = int(rng.integers(4))
            if running[i]:
                studies[i].tell(*running[i].pop())
            if step % 3 == 0:  # another asks after this one has read, and before it has written
                storage.before = lambda i=i: begin((i + 1) % 4)
            begin(i)
            storage.before = None
        new = self.another(storage, seed=50, strategy=strategy)
        for study in [*studies, new]:
            suggest(study.ask())
        states = [self.state(study) for study in [*studies, new]]
        assert all(state == states[-1] for state in states)
        path = chain(new)
        records = [TrialRecord.read(t.system_attrs) for t in new.trials]
        links = [record for record in records if record is not None and record.origin is not None]
        assert len(links) > len(path) > 20  # some were overtaken

        complete = {t.number for t in new.trials if t.state == TrialState.COMPLETE}
        new.optimize(objective, n_trials=40)  # another batch begins
        assert told(new) >= complete
        assert new.best_value < 1e-2

    def state(self, study: optuna.Study) -> Any:
        """Where the search is, to the last bit, once it has gone along all of the chain."""
        view = view_of(study)
        view.read(study.get_trials(deepcopy=False))
        view.replay.centre()
        optimizer = view.replay._optimizer
        optimizer.reopen()
        state = optimizer.state()
        del state["counts"]["_next_id"]  # trials of the present batch are not known to all
        search = state["search"]
        phase = search["descent"]["phase"]["state"] if "descent" in search else search["run"]
        phase.pop("extras", None)  # nor what they are
        return state

    @pytest.mark.parametrize("strategy", ["saltus", "saltus-es"])
    def test_who_begins_a_batch_at_the_same_moment_gets_a_point_of_its_own(self, strategy: str) -> None:
        storage = Late()
        studies = self.together(storage, 3, strategy=strategy)
        running: list[tuple[optuna.Trial, float]] = []

        def begin(i: int) -> None:
            if i + 1 < len(studies):  # the next one asks when this one has read, and not yet written
                storage.before = lambda: begin(i + 1)
            trial = studies[i].ask()
            running.append((trial, cost(suggest(trial))))

        for _ in range(15):
            begin(0)
            while running:
                studies[0].tell(*running.pop())
        asked = [tuple(point.values()) for point in points(studies[0])]
        assert len(asked) == 45
        assert len(set(asked)) >= 43  # one may be asked again when its batch is over

    def test_a_first_trial_that_never_ends_is_nothing_to_later_batches(self) -> None:
        study = optuna.create_study(sampler=SaltusSampler(seed=1))
        suggest(study.ask())  # killed; it has no point of the search, whose space was not known yet
        for _ in range(12):
            trial = study.ask()
            study.tell(trial, cost(suggest(trial)))
        records = [TrialRecord.read(trial.system_attrs) for trial in study.trials]
        slots = [record.slot for record in records if record is not None and record.batch == record.number]
        assert len(slots) > 5
        assert set(slots[1:]) == {0}

    def test_a_batch_is_seen_before_the_trials_that_it_is_made_of(self) -> None:
        """As in a database that shows an attribute of one trial before the end of another."""
        storage = InMemoryStorage()
        one, other = self.together(storage, 2)
        one.optimize(objective, n_trials=9)
        suggest(other.ask())
        hidden = view_of(other).replay
        end, hidden.end = hidden.end, lambda number, outcome: None  # what ends is not shown to this one
        one.optimize(objective, n_trials=8)
        for _ in range(3):
            suggest(other.ask())
        hidden.end = end
        for trial in other.trials[9:]:
            if trial.state == TrialState.COMPLETE:
                end(trial.number, view_of(other).ended_as(trial))
        one.optimize(objective, n_trials=30)
        suggest(other.ask())
        suggest(one.ask())
        assert self.state(other) == self.state(one)

    def test_one_that_dies_delays_nobody(self) -> None:
        studies = self.together(InMemoryStorage(), 2)
        for i in range(80):
            if i % 5 == 0:
                suggest(studies[1].ask())  # and is never heard of again
            studies[0].optimize(objective, n_trials=1)
        assert studies[0].best_value < 1e-3

    @pytest.mark.parametrize(("strategy", "steps"), [("saltus", 30), ("saltus-es", 200)])
    def test_of_two_attempts_at_a_point_the_first_counts_for_all(self, strategy: str, steps: int) -> None:
        """A noisy objective: which of them is told first must not matter to who reads the study."""
        storage = InMemoryStorage()
        studies = self.together(storage, 6, strategy=strategy)
        rng = np.random.default_rng(1)
        running: list[tuple[int, optuna.Trial, float]] = []
        for step in range(steps):
            i = step % 6
            trial = studies[i].ask()
            running.append((i, trial, cost(suggest(trial)) + 0.1 * rng.random()))
            if len(running) >= 6:
                i, trial, value = running.pop(rng.integers(6))
                studies[i].tell(trial, value)
        new = self.another(storage, seed=50, strategy=strategy)
        for study in [*studies, new]:
            suggest(study.ask())
        assert all(self.state(study) == self.state(new) for study in studies)

    def test_a_result_that_comes_late_is_told(self) -> None:
        (study,) = self.together(InMemoryStorage(), 1)
        late = study.ask()
        value = cost(suggest(late))
        study.optimize(objective, n_trials=60)
        study.tell(late, value)
        study.optimize(objective, n_trials=20)
        assert 0 in told(study)

    def test_records_stay_short(self) -> None:
        """Longest are those of a batch of which every second trial has ended: it has no ranges."""
        how: dict[str, Any] = {"strategy": "saltus-es", "population": 560}
        studies = self.together(InMemoryStorage(), 1, **how)
        rng = np.random.default_rng(1)
        running: list[tuple[optuna.Trial, float]] = []
        for _ in range(600):
            for _ in range(2):
                trial = studies[0].ask()
                running.append((trial, cost(suggest(trial))))
            studies[0].tell(*running.pop())
        for _ in range(100):
            studies[0].tell(*running.pop(rng.integers(len(running))))
        attributes = [value for t in studies[0].trials for value in t.system_attrs.values()]
        assert max(len(value) for value in attributes) <= 2046
        assert any("saltus:1" in t.system_attrs for t in studies[0].trials)  # one was too long for a piece
        suggest(studies[0].ask())
        new = self.another(studies[0]._storage, seed=3, **how)  # type: ignore[arg-type]
        suggest(new.ask())
        assert self.state(new) == self.state(studies[0])

    @pytest.mark.parametrize("junk", ["", "{}", "[1]", "[[],[],[]]", '["a",0,0,null,"x","",1]', 7, None])
    def test_junk_in_a_trial_is_no_record(self, junk: Any) -> None:
        assert TrialRecord.read({"saltus": junk}) is None
        study = made(10)
        trial = study.ask()
        suggest(trial)
        study._storage.set_trial_system_attr(trial._trial_id, "saltus", junk)
        study.tell(trial, 1.0)
        study.sampler = SaltusSampler(search_space=SPACE)
        study.optimize(objective, n_trials=9)
        assert len(study.trials) == 20


def test_more_than_one_objective_is_refused() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=SaltusSampler())
    with pytest.raises(ValueError, match="multi-objective"):
        study.ask().suggest_float("x", 0, 1)


def test_wrong_arguments_are_told_before_the_first_trial() -> None:
    wrong: list[tuple[str, Any]] = [
        ("strategy", "cma"),
        ("population", 3),
        ("seed", -1),
        ("n_startup_trials", -1),
        ("search_space", {}),
        ("search_space", {"x": (0, 1)}),
    ]
    for name, value in wrong:
        with pytest.raises(ValueError, match=name):
            SaltusSampler(**{name: value})


DISTRIBUTIONS = st.one_of(
    st.builds(lambda low, w: FloatDistribution(low, low + w), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)),
    st.builds(
        lambda low, f: FloatDistribution(low, low * f, log=True), st.floats(1e-9, 9), st.floats(1.1, 1e6)
    ),
    st.builds(
        lambda low, step, n: FloatDistribution(low, low + step * n, step=step),
        st.sampled_from([-3.0, 0.0, 0.1, 7.3]),
        st.sampled_from([0.1, 0.25, 1.0, 3.7]),
        st.integers(1, 1000),
    ),
    st.builds(
        lambda low, step, n: IntDistribution(low, low + step * n, step=step),
        st.integers(-(10**6), 10**6),
        st.integers(1, 50),
        st.integers(1, 1000),
    ),
    st.builds(
        lambda low, n: IntDistribution(low, low + n, log=True), st.integers(1, 99), st.integers(1, 10**9)
    ),
    st.builds(IntDistribution, st.integers(-(2**60), 0), st.integers(1, 2**60)),
    st.lists(
        st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(-5, 5), st.text(max_size=3)),
        min_size=2,
        max_size=8,
        unique_by=lambda choice: (repr(choice), choice),
    ).map(CategoricalDistribution),
)


@pytest.mark.filterwarnings("ignore:The distribution is specified by")  # whose end is not on its grid
@settings(max_examples=200, deadline=None)
@given(DISTRIBUTIONS, st.integers(0, 2**32 - 1))
def test_every_value_is_one_of_the_distribution_and_comes_back(
    distribution: BaseDistribution, seed: int
) -> None:
    assume(not distribution.single())
    translation = Translation({"p": distribution})
    for candidate in saltus.Optimizer(translation.space, seed=seed).ask():
        value = translation.outward(candidate.params)["p"]
        assert distribution._contains(distribution.to_internal_repr(value))
        assert type(value) in (int, float, bool, str, type(None))
        back = translation.inward({"p": value})
        assert back is not None
        assert translation.outward(back)["p"] == value
    assert distribution._contains(distribution.to_internal_repr(translation.middle()["p"]))


def test_numbers_to_choose_from_are_searched_in_their_order() -> None:
    translation = Translation({"p": CategoricalDistribution([64, 16, 32, 8])})
    assert [translation.outward({"p": k})["p"] for k in range(4)] == [8, 16, 32, 64]
    assert not translation.categories
    assert Translation({"p": CategoricalDistribution(["a", "b", "c"])}).categories == ["p"]
    assert isinstance(Translation({"p": CategoricalDistribution(["a", "b"])}).space.variables[0], saltus.Bool)


@given(st.sets(st.integers(0, 10**6)))
def test_ranges(numbers: set[int]) -> None:
    assert from_ranges(as_ranges(numbers)) == sorted(numbers)


@given(st.sets(st.integers(0, 10**5), max_size=2000), st.integers(0, 2**64))
def test_records(numbers: set[int], seed: int) -> None:
    link = BatchOrigin(3, tuple(sorted(numbers)), (), seed)
    record = TrialRecord("abc", 9, 7, 2, link)
    attributes = list(record.attributes())
    assert attributes[-1][0] == "saltus"
    assert TrialRecord.read(dict(attributes)) == record


def forged(**changed: Any) -> list[Any]:
    """A record of trial 3 that begins a batch, as it is stored, with some fields changed."""
    fields = {"number": 3, "batch": 3, "slot": 0, "before": 0, "asked": "0", "told": "0", "seed": 1}
    return list((fields | changed).values())


@pytest.mark.parametrize(
    "record",
    [
        forged(slot=10**7),
        forged(slot=-1),
        forged(told="0-30000000"),
        forged(told="0-9," * 200),
        forged(told=7),
        forged(before=[]),
        forged(before=3),
        forged(seed=-1),
        forged(seed=1e999),
        "[" * 100_000,
        "{}",
    ],
)
def test_a_forged_record_is_ignored_with_one_warning(record: Any) -> None:
    study = made(3, strategy="saltus-es")
    name = view_of(study).replay.name
    text = record if isinstance(record, str) else json.dumps([name, *record])
    trial = study.ask()
    study._storage.set_trial_system_attr(trial._trial_id, "saltus", text)
    study.tell(trial, state=TrialState.FAIL)
    for _ in range(2):
        study.sampler = SaltusSampler(seed=1, search_space=SPACE, strategy="saltus-es")
        with warnings_of_the_sampler() as messages:
            study.optimize(objective, n_trials=2)
        assert messages == ["Trial 3: what its attribute 'saltus' says of the search makes no sense."]
    assert [t.state for t in study.trials[4:]] == [TrialState.COMPLETE] * 4


def test_forged_constraints_are_a_failure_with_one_warning() -> None:
    study = made(2, strategy="saltus-es")
    study._storage.create_new_trial(study._study_id, template_trial=with_constraints(study.trials[1], ["a"]))
    with warnings_of_the_sampler() as messages:
        study.optimize(objective, n_trials=2)
    assert messages == ["Trial 2: its constraints are no numbers: it counts as failed."]


def with_constraints(trial: FrozenTrial, constraints: Any) -> FrozenTrial:
    """A copy of a trial that says so."""
    return optuna.trial.create_trial(
        params=trial.params,
        distributions=trial.distributions,
        value=trial.value,
        system_attrs={"constraints": constraints},
    )


def test_what_is_drawn_at_random_does_not_repeat_in_another_process() -> None:
    def conditional(trial: optuna.Trial) -> float:
        on = trial.suggest_categorical("on", [False, True])
        if trial.number:
            trial.suggest_float("z", 0, 1)
        return float(on)

    study = optuna.create_study()
    for _ in range(3):  # three processes, one after the other
        study.sampler = SaltusSampler(seed=1, strategy="saltus-es", warn=False)
        study.optimize(conditional, n_trials=4)
    drawn = [trial.params["z"] for trial in study.trials[1:]]
    assert len(set(drawn)) == len(drawn)


def test_no_warning_about_a_parameter_while_no_trial_has_ended() -> None:
    study = optuna.create_study(sampler=SaltusSampler(seed=1))
    with warnings_of_the_sampler() as messages:
        for _ in range(3):
            study.ask({"x": SPACE["x"], "k": SPACE["k"]})
    assert messages == []


def test_a_sampler_that_knows_of_noise() -> None:
    rng = np.random.default_rng(1)
    study = optuna.create_study(sampler=SaltusSampler(seed=1, noisy=True))

    def objective(trial: optuna.Trial) -> float:
        x, k = trial.suggest_float("x", -5, 5), trial.suggest_int("k", 0, 20)
        return float((x - 1) ** 2 + (k - 7) ** 2 + rng.normal())

    study.optimize(objective, n_trials=40)
    points = [tuple(sorted(trial.params.items())) for trial in study.trials]
    assert len(set(points)) < len(points)  # some were evaluated twice
    with pytest.raises(TypeError, match="noisy must be True, False or None"):
        SaltusSampler(noisy="yes")  # type: ignore[arg-type]
