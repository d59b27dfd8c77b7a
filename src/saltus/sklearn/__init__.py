"""Saltus as a search of scikit-learn: `SaltusSearchCV` where `RandomizedSearchCV` stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

try:
    from sklearn.model_selection._search import BaseSearchCV  # whose `_run_search` is for others to write
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "saltus.sklearn needs scikit-learn 1.5 or newer: pip install 'saltus[sklearn]'"
    ) from error
from sklearn.utils import check_random_state

from .._checks import whole_number
from .._typing import Params
from ..execution.log import REPEATS_IN_A_ROW
from ..optimizer import Optimizer
from ..search.settings import DEFAULT_STRATEGY
from .evaluation import Evaluation, Results
from .translation import Translation

__all__ = ["SaltusSearchCV"]


class SaltusSearchCV(BaseSearchCV):  # type: ignore[misc]  # scikit-learn has no types
    """A search for the best parameters of an estimator, by cross-validation, as `RandomizedSearchCV` is one.

    What is tried next depends on what was found. All else is scikit-learn's own: `fit`, `predict`, `score`,
    `cv_results_`, `best_params_`, `best_score_`, `best_estimator_`, `refit`, several metrics, routing.

    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> distributions = {"C": loguniform(1e-3, 1e3), "kernel": ["rbf", "poly"]}
    >>> search = SaltusSearchCV(SVC(), distributions, n_iter=20, cv=3, random_state=1).fit(X, y)
    >>> print(sorted(search.best_params_), search.best_score_ > 0.97)
    ['C', 'kernel'] True
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        n_iter: int = 10,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[[Results], int] = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = math.nan,
        return_train_score: bool = False,
        strategy: str = DEFAULT_STRATEGY,
        batch: int | None = None,
    ) -> None:
        """Nothing is looked at before `fit`.

        Args:
            estimator: what has the parameters; a Pipeline with names such as `svc__C` will do.
            param_distributions: by name: a list of values without an order; a distribution of `scipy.stats`,
                of which `uniform`, `loguniform` and whole numbers such as `randint` become ranges and any
                other is searched by its quantiles from 0.001 to 0.999; or a variable of Saltus, which may
                have a condition. Or a list of such dicts, each a space by itself.
            n_iter: so many points are evaluated, each on all folds; fewer if there are no more.
            scoring, n_jobs, cv, verbose, pre_dispatch, error_score, return_train_score: as for
                RandomizedSearchCV. All points are evaluated on the same folds, also if `cv` shuffles.
            refit: likewise. With several metrics it names the one that is searched for, and must.
            random_state: the same whole number gives the same search, whatever `n_jobs` is.
            strategy: a name of `saltus.STRATEGIES`.
            batch: how many points the model chooses at a time; None is one. It is part of what defines the
                search. Jobs share the folds of all points that are evaluated at a time: with many jobs a
                larger batch keeps them busy, and knows less at each choice.
        """
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.random_state = random_state
        self.strategy = strategy
        self.batch = batch

    def _run_search(self, evaluate_candidates: Callable[..., Results]) -> None:
        """Ask, evaluate, tell, until there were `n_iter` points or nothing is new any more."""
        n_iter = whole_number("n_iter must be a positive whole number", self.n_iter, 1)
        if isinstance(self.scoring, list | tuple | set | dict) and not isinstance(self.refit, str):
            raise ValueError(
                f"with several metrics refit must name the one to search for, got refit={self.refit!r}; "
                f"the metrics are {', '.join(map(repr, self.scoring))}"
            )
        translation = Translation(self.param_distributions)
        space = translation.space
        optimizer = Optimizer(
            space,
            strategy=self.strategy,
            batch=1 if self.batch is None else self.batch,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            auto_restart=True,
        )
        evaluation = Evaluation(evaluate_candidates, self.cv, self.refit, self.error_score)
        most, too_many = min(n_iter, space.count_points()), REPEATS_IN_A_ROW * max(space.dimension, 1)
        scores: dict[Hashable, float] = {}
        repeats = 0
        while len(scores) < most and repeats < too_many:
            candidates = optimizer.ask(n_iter - len(scores))
            points = [_point(candidate.params) for candidate in candidates]
            new = {p: c.params for p, c in zip(points, candidates, strict=True) if p not in scores}
            repeats = 0 if new else repeats + len(points)
            if new:
                scores |= zip(
                    new, evaluation.scores(list(map(translation.outward, new.values()))), strict=True
                )
            optimizer.tell(candidates, [-scores[point] for point in points])
        evaluation.finish()


def _point(params: Params) -> Hashable:
    """What is equal for equal points."""
    return tuple(params.items())
