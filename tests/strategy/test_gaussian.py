"""A core with its constants and its state as one object, for every strategy."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from saltus import _serialize
from saltus.space.lattice import Lattice
from saltus.strategy import STRATEGIES, Gaussian, Integers, MovingGaussian, Round, cmaes
from saltus.strategy.late import embed_cmaes
from saltus.strategy.mirrored import Origins

from .cores import ellipsoid, move

each_strategy = pytest.mark.parametrize("name", STRATEGIES)


def gaussian_of(name: str, population: int = 8) -> MovingGaussian:
    strategy = STRATEGIES[name]
    integers = Integers(2, Lattice([(-5.0, 1.0, 11)] * 2), 0.02, strategy.treatment)
    return strategy.gaussian(integers, np.full(4, 2.25), population)


def saved(gaussian: MovingGaussian) -> Any:
    """What is saved, through JSON."""
    return json.loads(json.dumps(_serialize.pack(gaussian.saved()), allow_nan=False))


def values_of(x: Any) -> Any:
    return np.array([ellipsoid(row) for row in x])


@each_strategy
def test_nothing_is_sampled_or_learnt_before_it_is_drawn(name: str) -> None:
    gaussian = gaussian_of(name)
    with pytest.raises(RuntimeError, match="draw before sample"):
        gaussian.sample()
    with pytest.raises(RuntimeError, match="nothing was drawn"):
        gaussian.update(np.arange(8.0), None)
    move(gaussian, ellipsoid, 1)
    with pytest.raises(RuntimeError, match="draw before sample"):  # the last one was used up
        gaussian.sample()


@each_strategy
def test_a_generation_stays_the_same_until_it_is_learnt_from(name: str) -> None:
    gaussian, rng = gaussian_of(name), np.random.default_rng(1)
    gaussian.draw(rng)
    x = gaussian.sample().copy()
    gaussian.extra(np.random.default_rng(2))
    np.testing.assert_array_equal(gaussian.sample(), x)
    ranking = gaussian.update(values_of(x), None)
    assert ranking.order.tolist() == values_of(x).argsort().tolist()
    gaussian.draw(rng)
    assert not np.isin(gaussian.sample(), x).any()


@each_strategy
def test_what_is_saved_is_restored_exactly(name: str) -> None:
    """Also with a generation on its way, which is not sampled again before it is learnt from."""
    gaussian, other = gaussian_of(name), gaussian_of(name)
    move(gaussian, ellipsoid, 7)
    for drawn in (False, True):
        if drawn:
            gaussian.draw(np.random.default_rng(3))
        other.restore(_serialize.unpack(saved(gaussian)))
        assert saved(other) == saved(gaussian)
    values = values_of(gaussian.sample())
    for each in (gaussian, other):
        each.update(values, None)
    assert saved(other) == saved(gaussian)
    move(gaussian, ellipsoid, 5)
    move(other, ellipsoid, 5)
    assert saved(other) == saved(gaussian)


@each_strategy
def test_what_does_not_fit_is_refused(name: str) -> None:
    gaussian = gaussian_of(name)
    gaussian.draw(np.random.default_rng(1))
    good = _serialize.unpack(saved(gaussian))
    larger = gaussian_of(name, 12)
    larger.draw(np.random.default_rng(1))
    for state, words in (
        (good | {"z": _serialize.unpack(saved(larger))["z"]}, "state: z must be an array of shape"),
        (good | {"z": np.zeros(4)}, "state: z must be an array of shape"),
        (good | {"state": good["state"] | {"m": np.zeros(5)}}, "state: m must be an array of shape"),
        (
            good | {"state": {k: v for k, v in good["state"].items() if k != "sigma"}},
            "state: gaussian must have m, integer_state, sigma",
        ),
        (good | {"state": good["state"] | {"sigma": "wide"}}, "state: sigma must be a number"),
        (good | {"state": good["state"] | {"more": 1.0}}, "state: gaussian must have .* more"),
    ):
        with pytest.raises(ValueError, match=words):
            gaussian.restore(state)


@each_strategy
def test_its_own_points_embedded_are_the_generation_that_was_drawn(name: str) -> None:
    """Pairs in pairs: the same Gaussian afterwards, as long as none is so far out that it is clipped."""
    gaussian, other = gaussian_of(name, 8), gaussian_of(name, 8)
    for each in (gaussian, other):
        move(each, ellipsoid, 9)
    seed = next(s for s in range(100) if far(gaussian, s) < 2.2)
    gaussian.draw(np.random.default_rng(seed))
    x = gaussian.sample()
    values = values_of(x)
    mirrored = STRATEGIES[name].mirrored
    origins = Origins(4, 0, 0) if mirrored else Origins(0, 8, 0)
    other.embed(x, other.plateaus(x), origins, np.random.default_rng(1))
    for each in (gaussian, other):
        each.update(values, None)
    np.testing.assert_allclose(other.state.m, gaussian.state.m, rtol=1e-6)
    np.testing.assert_allclose(other.state.covariance, gaussian.state.covariance, rtol=1e-5, atol=1e-9)


def far(gaussian: MovingGaussian, seed: int) -> float:
    """The largest distance of a generation, in standard deviations."""
    gaussian.draw(np.random.default_rng(seed))
    step = gaussian.sample() - gaussian.state.m
    return float(np.sqrt((step * np.linalg.solve(gaussian.state.covariance, step.T).T).sum(1)).max())


@each_strategy
def test_more_points_than_a_generation_are_learnt_from_as_a_larger_one(name: str) -> None:
    gaussian, larger = gaussian_of(name, 8), gaussian_of(name, 12)
    larger.draw(np.random.default_rng(4))
    x = larger.sample()
    pairs = Origins(6, 0, 0) if STRATEGIES[name].mirrored else Origins(0, 12, 0)
    for each in (gaussian, larger):
        each.embed(x, each.plateaus(x), pairs, np.random.default_rng(1))
        each.update(values_of(x), None)
    np.testing.assert_array_equal(gaussian.state.m, larger.state.m)
    np.testing.assert_array_equal(gaussian.state.covariance, larger.state.covariance)
    assert gaussian.size == 8
    gaussian.draw(np.random.default_rng(1))
    assert len(gaussian.sample()) == 8


class Careful:
    """A core that needs its constants in every step."""

    MIRRORED = False

    def __getattr__(self, name: str) -> Any:
        def step(c: Any, *rest: Any) -> Any:
            assert isinstance(c, cmaes.Constants)
            return getattr(cmaes, name)(c, *rest)

        return step


def test_a_core_gets_its_constants_in_every_step() -> None:
    core: Any = Careful()
    integers = Integers(2, Lattice([]), 0.1, Round())
    gaussian: Gaussian[Any, Any, Any] = Gaussian(
        core,
        embed_cmaes,
        integers,
        6,
        lambda population: cmaes.constants(2, population),
        lambda c: core.start(c, np.zeros(2), integers),
    )
    gaussian.draw(np.random.default_rng(1))
    values = values_of(gaussian.sample())
    assert gaussian.extra(np.random.default_rng(2)).shape == (1, 2)
    gaussian.update(values, None)
    gaussian.draw(np.random.default_rng(1))
    gaussian.update(values, None)  # without having been sampled, as after a restore
    assert gaussian.state.generation == 2
