"""Saltus as a sampler for Optuna: `study = optuna.create_study(sampler=SaltusSampler())`."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from operator import attrgetter
from typing import Any
from weakref import finalize

import numpy as np

try:
    import optuna
except ImportError as error:  # pragma: no cover
    raise ImportError("saltus.optuna needs Optuna 4 or 5: pip install 'saltus[optuna]'") from error
from optuna.distributions import BaseDistribution, distribution_to_json
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from .._checks import whole_number
from ..optimizer import Optimizer
from ..order import Failure, Outcome, sign
from ..search.settings import DEFAULT_STRATEGY, WITHOUT_MODEL, Settings
from ..space import Space
from ..space.where import Rule
from .branches import Branches, Conditions, Evidence
from .given import given
from .replay import KEY, Ended, Replay, TrialRecord
from .translation import Translation

__all__ = ["SaltusSampler"]

_CONSTRAINTS = "constraints"  # Optuna's name for them, alone or before a colon and the name of one
# strategies in the names of searches: in older studies `saltus` is the one without a model
_RECORDED_AS = {DEFAULT_STRATEGY: "saltus with a model", WITHOUT_MODEL: "saltus"}
ATTEMPTS = 1000  # at values that known constraints allow
_log = optuna.logging.get_logger("optuna.samplers.saltus")


class SaltusSampler(BaseSampler):
    """A sampler for one objective, with floats, integers, steps, logarithms, switches and choices.

    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> def objective(trial):
    ...     x, k = trial.suggest_float("x", -5, 5), trial.suggest_int("k", 0, 20)
    ...     return (x - 1) ** 2 + (k - 7) ** 2
    >>> study = optuna.create_study(sampler=SaltusSampler(seed=1))
    >>> study.optimize(objective, n_trials=100)
    >>> study.best_params["k"]
    7

    Any number of processes may work on one study: they search together, wait for nobody, and come to the
    same state, from what the storage holds and nothing else.
    """

    def __init__(
        self,
        *,
        strategy: str = DEFAULT_STRATEGY,
        population: int | None = None,
        seed: int | None = None,
        n_startup_trials: int = 0,
        x0: Mapping[str, Any] | None = None,
        search_space: Mapping[str, BaseDistribution] | Space | None = None,
        where: Rule | Sequence[Rule] | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        warn: bool = True,
        noisy: bool | None = None,
    ) -> None:
        """Nothing begins before the first trial.

        Args:
            strategy: a name of `saltus.STRATEGIES`.
            population: candidates a generation; default 4 + floor(3 ln N), made even.
            seed: the same seed gives the same trials, with one worker. That of a study's first trial counts.
            n_startup_trials: so many trials are drawn at random before the search begins.
            x0: where to start, by parameter; the others start in the middle of their ranges.
            search_space: the distributions by parameter, if they are known: then the first trial is a part of
                the search, and no parameter is left to chance. A `saltus.Space` may say besides when a
                parameter is asked for (`when=`), and where to start (`init=`).
            where: known constraints, as of a `Space` (docs/where.md): text such as "2*a + b <= 10", functions
                that get the parameters as a dict and say whether they are allowed, or a list of both. The
                objective never sees parameters that break one.
            constraints_func: as for Optuna's samplers: from a trial to numbers, of which those above 0 are
                violated. What `trial.set_constraint` says counts as well.
            warn: log, once for each parameter, if something is not as one may think.
            noisy: True if the objective gives another value each time, False if it does not; by default it is
                noticed, when the same parameters have two values (docs/noise.md).
        """
        Settings.checked(1, strategy, population, noisy=noisy)  # a clear error now, not at the first trial
        for name, number in (("seed", seed or 0), ("n_startup_trials", n_startup_trials)):
            whole_number(f"{name} must be a whole number, at least 0", number, 0)
        self._given = given(search_space, x0, where)
        self._settings: dict[str, Any] = {"strategy": strategy, "population": population, "noisy": noisy}
        self._n_startup_trials = n_startup_trials
        self._constraints_func = constraints_func
        self._warn = warn
        self._warned: set[str] = set()
        self._first_seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed)
        self._lock = threading.Lock()
        self._views: dict[Any, _View] = {}

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: all that was learnt is in the study."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_views")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From pickle: with a lock of its own, and nothing known of any study yet."""
        self.__dict__ |= state
        self._lock, self._views = threading.Lock(), {}

    def reseed_rng(self) -> None:
        """For another process or thread: nothing to do, since what is drawn depends on the trial's number."""

    def _drawn(
        self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution, attempt: int = 0
    ) -> Any:
        """A parameter at random: another one in each trial, the same one in whatever process."""
        again = f"\n{attempt}" if attempt else ""
        words = f"{self._first_seed}\n{trial.number}\n{name}{again}".encode()
        seed = int.from_bytes(blake2b(words, digest_size=4).digest(), "little")
        return RandomSampler(seed=seed).sample_independent(study, trial, name, distribution)

    def _drawn_all(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """All parameters at random, so that they are allowed."""
        known = self._known(study, trial).part(search_space)
        for attempt in range(ATTEMPTS):
            drawn = {
                name: self._drawn(study, trial, name, range, attempt) for name, range in search_space.items()
            }
            active = {name: value for name, value in drawn.items() if known.active(name, drawn)}
            if self._given.allows(search_space, active):
                return active
        raise ValueError(
            f"where: none of {ATTEMPTS} points at random is allowed; begin with n_startup_trials=0"
        )

    def _drawn_beside(
        self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution, first: Any
    ) -> Any:
        """A parameter that is allowed beside what the trial has: this value, or one at random."""
        if not self._given.rules or self._given.branches is not None:
            return first
        known = trial.distributions | {name: distribution}
        for attempt in range(ATTEMPTS):
            value = first if not attempt else self._drawn(study, trial, name, distribution, attempt)
            if self._given.allows(known, trial.params | {name: value}):
                return value
        raise optuna.TrialPruned(f"where: no value of {name!r} is allowed beside {trial.params}")

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The given space, or the parameters of all trials so far, with those of the branches they show."""
        with self._lock:
            known = self._known(study, trial)
        return {name: range for name, range in known.distributions.items() if not range.single()}

    def _known(self, study: Study, trial: FrozenTrial) -> Branches:
        if self._given.branches is not None:
            return self._given.branches
        view = self._view(study)
        return view.observed(view.trials_at(study, trial))

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next candidate of the search."""
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        if trial.number < self._n_startup_trials:
            return self._drawn_all(study, trial, search_space)
        with self._lock:
            view = self._view(study)
            trials = view.trials_at(study, trial)
            view.choose(self._known(study, trial).part(search_space), search_space, study.direction)
            view.read(trials)
            fixed = trial.system_attrs.get("fixed_params")
            if fixed:  # somebody has chosen this point; what is left of it is where the search is
                centre = view.replay.centre()
                chosen = view.translation.middle() if centre is None else view.translation.outward(centre)
                return {name: value for name, value in chosen.items() if name not in fixed}
            wish = partial(_wish, trials, view.replay, number=trial.number)
            params, record = view.replay.ask(trial.number, wish)
            for name, text in record.attributes():
                study._storage.set_trial_system_attr(trial._trial_id, name, text)
            return view.translation.outward(params)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A parameter that the search does not know: its start in the first trial, and then at random."""
        self._raise_error_if_multi_objective(study)
        known = self._given.branches
        said = (known.distributions if known else {}).get(param_name, param_distribution)
        if said != param_distribution:
            raise ValueError(
                f"{param_name!r} is {said} in search_space, but the objective asks for {param_distribution}"
            )
        if trial.number == 0 and self._n_startup_trials == 0:
            start = self._start(study, trial, param_name, param_distribution)
            return self._drawn_beside(study, trial, param_name, param_distribution, start)
        left = known is not None or self._view(study).leaves(param_name)
        if trial.number >= self._n_startup_trials and left:
            self._warn_once(
                param_name,
                f"Trial {trial.number}: parameter {param_name!r} is drawn at random and not searched: not "
                "every trial that has ended has it with this distribution, and no other parameter tells "
                "which ones have. It is searched if SaltusSampler(search_space=...) names it.",
            )
        drawn = self._drawn(study, trial, param_name, param_distribution)
        return self._drawn_beside(study, trial, param_name, param_distribution, drawn)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Ask for the constraints of a trial that has ended; what it was worth, the next trial reads."""
        if self._constraints_func is None or state not in (TrialState.COMPLETE, TrialState.PRUNED):
            return
        constraints: list[float] | None = None  # if the function fails: not known, and so not feasible
        try:
            given = [float(value) for value in self._constraints_func(trial)]
            if any(map(math.isnan, given)):
                raise ValueError(f"constraints_func must give numbers, got {given}")
            constraints = given
        finally:
            study._storage.set_trial_system_attr(trial._trial_id, _CONSTRAINTS, constraints)

    def _view(self, study: Study) -> _View:
        # Hyperband shows each of its brackets as a study of its own
        key = (id(study._storage), study._study_id, getattr(study, "_bracket_id", None))
        if key not in self._views:
            self._views[key] = _View(self._made, self._warn_once)
            # a storage made later may have the same id
            finalize(study._storage, self._views.pop, key, None).atexit = False
        return self._views[key]

    def _made(
        self, distributions: Mapping[str, BaseDistribution], conditions: Conditions, direction: StudyDirection
    ) -> tuple[Translation, Replay]:
        rules = self._given.rules_of(distributions)
        translation = Translation(distributions, conditions, rules)
        start = translation.starts(self._given.starts)
        ranges = [f"{name}={distribution_to_json(distributions[name])}" for name in translation.columns]
        strategy, population, noisy = self._settings.values()
        words = [_RECORDED_AS.get(strategy, strategy), str(population), direction.name, *ranges, str(start)]
        words += [] if noisy is None else [f"noisy {noisy}"]
        words += [f"category {name}" for name in translation.categories]  # in older studies, an integer
        words += [f"when {name} {dict(conditions[name])}" for name in sorted(conditions)]
        words += [f"where {rule}" for rule in translation.space.where.plain()]
        name = blake2b("\n".join(words).encode(), digest_size=6).hexdigest()

        def make(seed: int) -> Optimizer:
            how = self._settings | {"asynchronous": True, "auto_restart": True}
            return Optimizer(translation.space, mean=start, seed=seed, **how)

        return translation, Replay(name, make, self._first_seed)

    def _start(self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
        translation = Translation({name: distribution})
        translation.starts(self._given.starts)  # or an error
        if name in self._given.starts:
            return self._given.starts[name]
        if translation.categories:  # without an order there is no middle
            return self._drawn(study, trial, name, distribution)
        return translation.middle()[name]

    def _warn_once(self, name: str, words: str) -> None:
        if self._warn and name not in self._warned:
            self._warned.add(name)
            _log.warning(words)


class _View:
    """What the sampler knows of a study; `make` gives a space and the search in it, for these trials."""

    def __init__(
        self, make: Callable[..., tuple[Translation, Replay]], warn_once: Callable[[str, str], None]
    ) -> None:
        self._make, self._warn_once = make, warn_once
        self._trials: tuple[int, list[FrozenTrial]] = (-1, [])  # as they were for which trial
        self._evidence = Evidence()  # of which parameters there are
        self._ended = _News()
        self._chosen: Branches | None = None
        self.translation: Translation
        self.replay: Replay

    def leaves(self, name: str) -> bool:
        """Whether trials that have ended had a parameter, and it is not searched all the same."""
        return name in self._evidence and name not in self._evidence.branches().distributions

    def trials_at(self, study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
        """All trials, read once for each: the space and the candidate are asked for one after the other."""
        if self._trials[0] != trial.number:
            self._trials = (trial.number, study.get_trials(deepcopy=False))
        return self._trials[1]

    def observed(self, trials: list[FrozenTrial]) -> Branches:
        """The parameters of trials with a value, and when they are asked for."""
        for trial in self._ended.among(trials):
            pruned = trial.state == TrialState.PRUNED and trial.last_step is not None
            if trial.state == TrialState.COMPLETE or pruned:  # one that gave up early shows nothing
                self._evidence.add(trial)
        return self._evidence.branches()

    def choose(
        self, branches: Branches, search_space: dict[str, BaseDistribution], direction: StudyDirection
    ) -> None:
        """Search in this space, with the conditions of these branches; in another one all is read anew."""
        chosen = Branches(search_space, branches.conditions)
        if chosen == self._chosen:
            return
        self.translation, self.replay = self._make(*chosen, direction)
        self._chosen = chosen
        self._sign = sign(direction == StudyDirection.MAXIMIZE)
        self._news = _News()

    def read(self, trials: list[FrozenTrial]) -> None:
        """Tell the chain what is new."""
        for trial in self._news.among(trials):
            if not self.replay.knows(trial.number):
                record = TrialRecord.read(trial.system_attrs, len(trials))
                if record is not None:
                    self.replay.remember(trial.number, record)
                elif KEY in trial.system_attrs:
                    self._ignored(trial, f"what its attribute {KEY!r} says of the search makes no sense")
            if trial.state.is_finished():
                self.replay.end(trial.number, self.ended_as(trial))

    def ended_as(self, trial: FrozenTrial) -> Ended:
        """How a trial ended, for the search."""
        params = self.translation.inward(trial.params)
        value: float | None = None
        if trial.state == TrialState.COMPLETE:
            value = trial.value
        elif trial.state == TrialState.PRUNED and trial.last_step is not None:
            value = trial.intermediate_values[trial.last_step]
        if value is None or trial.system_attrs.get(_CONSTRAINTS, ()) is None:
            return Ended(Outcome(math.nan, failure=Failure.EXCEPTION), params)
        try:
            constraints = _constraints(trial.system_attrs)
        except (TypeError, ValueError):
            self._ignored(trial, "its constraints are no numbers: it counts as failed")
            return Ended(Outcome(math.nan, failure=Failure.EXCEPTION), params)
        return Ended(Outcome(self._sign * value, constraints), params)

    def _ignored(self, trial: FrozenTrial, why: str) -> None:
        self._warn_once(f"trial {trial.number}", f"Trial {trial.number}: {why}.")


class _News:
    """Which trials are worth a look: those that had not ended when they were last seen."""

    def __init__(self) -> None:
        self._seen = 0
        self._waiting: list[int] = []  # places of those that had not ended

    def among(self, trials: list[FrozenTrial]) -> list[FrozenTrial]:
        """Of all trials, those that are new or had not ended."""
        places = [*self._waiting, *range(self._seen, len(trials))]
        self._waiting = [i for i in places if not trials[i].state.is_finished()]
        self._seen = len(trials)
        return [trials[i] for i in places]


def _constraints(attributes: Mapping[str, Any]) -> dict[str, float]:
    """The constraints of a trial, by name where they have one."""
    named = {str(i): float(value) for i, value in enumerate(attributes.get(_CONSTRAINTS) or [])}
    prefix = f"{_CONSTRAINTS}:"
    return named | {k.removeprefix(prefix): float(v) for k, v in attributes.items() if k.startswith(prefix)}


def _wish(trials: list[FrozenTrial], replay: Replay, first: int, before: int, number: int) -> int:
    """The slot of a trial in the batch that begins with the first one: how many trials there are between.

    A trial that begins a batch itself counts the trials since the batch before that have no point yet: other
    processes may be about to begin the same batch at this moment, and each is to have a point of its own.
    Those that are older have none from the search, or their process was killed.
    """
    if first == number:
        others = (t for t in trials if before < t.number < number and t.state == TrialState.RUNNING)
        return sum(not replay.knows(t.number) for t in others)
    place = partial(bisect_left, trials, key=attrgetter("number"))
    return place(number) - place(first)
