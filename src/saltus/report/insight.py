"""What a page says by a model of the evaluations; it takes a while, so it can be left out or come later."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import combinations
from typing import NamedTuple

from ..search.learnt import MOST_LOOKED_AT, Share
from ..search.recommendation import Recommended
from ..search.slices import Effect, Pair
from ..study import RecordError, Study
from .digest import Digest

MOST_EFFECTS = 6
_TOGETHER = 3  # variables, each with each


class Basis(NamedTuple):
    """What a model was made of.

    Attributes:
        used: evaluations that it knows; they are far from each other.
        looked_at: those that it was chosen from, evenly chosen themselves if there are too many.
        known: all that have a value.
    """

    used: int
    looked_at: int
    known: int


class Insight(NamedTuple):
    """What a model of the evaluations tells.

    Attributes:
        shares: which variables matter (`Study.sensitivity`); None if nothing can be said.
        effects: how those that matter most do (`Learnt.effects`).
        pairs: how two of them act together, by both names.
        recommended: the point with the best estimate, if the study is noisy.
        basis: what the model was made of.
    """

    shares: Mapping[str, Share] | None = None
    effects: Mapping[str, Effect] = {}
    pairs: Mapping[tuple[str, str], Pair] = {}
    recommended: Recommended | None = None
    basis: Basis = Basis(0, 0, 0)


def recommendation(study: Study) -> Recommended | None:
    """What to recommend, if the study is noisy; None if nothing can be said, nor the state be read."""
    with suppress(RecordError):
        found = study.recommended if study.noisy else None
        return found if found is not None and found.error > 0 else None
    return None


def insight(study: Study, digest: Digest, *, looked_at: int = MOST_LOOKED_AT) -> Insight:
    """What can be said of a study now; nothing if there is too little, or its state cannot be read.

    Args:
        study: it may be running.
        digest: of its record, from which the evaluations for the model are taken.
        looked_at: how many of them at most.
    """
    recommended = recommendation(study)
    with suppress(RecordError):
        trials = {trial.id: trial for trial in digest.sample}
        if digest.best is not None:
            trials[digest.best.id] = digest.best
        learnt = study.learnt(looked_at=looked_at, trials=trials.values())
        shares = learnt.sensitivity()
        if shares is not None:
            first = list(shares)[:MOST_EFFECTS]
            effects = learnt.effects(first)
            known = [key for key in first if key in effects][:_TOGETHER]
            pairs = {(a, b): learnt.pair(a, b) for a, b in combinations(known, 2)}
            found = {names: pair for names, pair in pairs.items() if pair is not None}
            basis = Basis(learnt.used, min(looked_at, len(trials)), len(digest.values))
            return Insight(shares, effects, found, recommended, basis)
    return Insight(recommended=recommended)
