"""Where the value of a category that was tried least is tried next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from saltus import Categorical, Float, Space
from saltus._typing import FloatArray
from saltus.model import condition, first_parameters
from saltus.search.acquisition import LARGEST_SIDE
from saltus.search.proposal import Domain
from saltus.search.rare_values import APART, MARGIN, OPTIMISM, Look, optimism, rare_value
from saltus.space.encoding import Encoding

from .playing import modelled

CHOICES = ["a", "b", "c"]
SPACE = Space({"x": Float(0, 1), "y": Float(0, 1), "k": Categorical(CHOICES)})
NONE = np.empty((0, 3))


def knowing(space: Space, points: list[dict[str, Any]]) -> Domain:
    """A domain whose memory holds some points, the first of them the best."""
    encoding = Encoding(space)
    domain = modelled(encoding)
    x = np.array([encoding.numbers_of(p) for p in points])
    domain.memory.extend(range(len(x)), x, list(range(len(x))), [0.0] * len(x))
    return domain


def tried(*values: str) -> list[dict[str, Any]]:
    places = np.random.default_rng(1).random((len(values), 2))
    return [{"x": x, "y": y, "k": k} for (x, y), k in zip(places.tolist(), values, strict=True)]


def look(domain: Domain, under_way: FloatArray = NONE, seed: int = 1) -> Look:
    best = domain.model.known()[0][0]
    return rare_value(domain, best, under_way, np.random.default_rng(seed))


def test_it_is_the_value_that_was_tried_least_but_not_that_of_the_best_point() -> None:
    domain = knowing(SPACE, tried("a", "b", "b", "b", "c", "c"))
    found = look(domain)
    known = domain.model.known()[0]
    assert found.fixed == (2, known[4, 2])
    np.testing.assert_array_equal(found.centre, known[4])  # the better one of these
    np.testing.assert_array_equal(found.taken, known[4:, :2])
    assert found.side == LARGEST_SIDE


def test_what_is_under_way_counts() -> None:
    domain = knowing(SPACE, tried("a", "b", "b", "b", "b", "c", "c"))
    known = domain.model.known()[0]
    others = known[[5, 5, 5]]
    others[:, 0] = [0.1, 0.2, 0.3]
    assert look(domain, others[:1]).fixed == (2, known[5, 2])
    assert len(look(domain, others[:1]).taken) == 3
    assert look(domain, others).fixed == (2, known[1, 2])


def test_of_several_values_that_were_tried_as_often_any() -> None:
    domain = knowing(SPACE, tried("a", "a", "a"))
    values = {look(domain, seed=seed).fixed for seed in range(20)}
    assert len(values) == 2
    found = look(domain)
    best = domain.model.known()[0][0]
    np.testing.assert_array_equal(found.centre[:2], best[:2])
    assert found.centre[2] != best[2]
    assert found.apart == 0.0


def test_the_more_there_are_the_nearer_to_them_it_may_be() -> None:
    domain = knowing(SPACE, tried(*"acbbbbbbbbbbcccc"))
    assert look(domain).apart == pytest.approx(APART * 5**-0.5)


def test_what_is_not_active_with_this_value_does_not_count() -> None:
    """Five points on a line are nearer to each other than five on a plane."""
    space = Space({"x": Float(0, 1), "y": Float(0, 1, when={"k": "a"}), "k": Categorical(CHOICES)})
    points = tried(*"acbbbbbbbbbbcccc")
    domain = knowing(space, [p if p["k"] == "a" else {"x": p["x"], "k": p["k"]} for p in points])
    assert look(domain).apart == pytest.approx(APART / 5)


def test_there_is_as_much_optimism_as_it_takes() -> None:
    """Little where something better is likely; much where the model is sure that all else is worse."""
    domain = knowing(SPACE, tried(*"a" * 60))
    cube, x = domain.model.cube, domain.model.known()[0]
    values = ((x[:, :2] - 0.5) ** 2).sum(axis=1)
    model = condition(first_parameters(3), x, values)
    looks = [Look(x[row], LARGEST_SIDE, (2, float(x[row, 2]))) for row in (values.argmin(), values.argmax())]
    best, worst = (optimism(cube, model, each, np.random.default_rng(1)) for each in looks)
    assert worst == OPTIMISM[0]  # nearly everything is better
    points = cube.snapped(np.random.default_rng(2).random((4000, 3)))
    points[:, 2] = x[0, 2]
    mean, sd = model.predict(points)
    needed = float(((mean - model.mean(x[values.argmin()][None]) + MARGIN) / sd).min())
    assert best == pytest.approx(np.clip(needed, *OPTIMISM), rel=0.3)
