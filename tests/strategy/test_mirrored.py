"""Generations of mirrored pairs, and of lone points besides."""

from __future__ import annotations

import numpy as np
import pytest

from saltus.strategy.mirrored import Mirrored, Origins


def population_of(origins: Origins, count: int) -> Mirrored:
    """So many points, of which only their origins matter."""
    z = np.zeros((count - origins.pairs, 2))
    return Mirrored(z, z, np.zeros((count, 2)), origins)


def test_of_pairs_differences_move_the_mean_and_sums_the_covariance() -> None:
    w = np.array([0.5, 0.2, -0.3, -0.4])
    first, second = population_of(Origins(2, 0, 0), 4).moments(w)
    np.testing.assert_allclose(first, [0.8, 0.6])
    np.testing.assert_allclose(second, [0.2, -0.2])


@pytest.mark.parametrize(
    ("own", "in_full"), [(6, [6]), (4, [4, 5, 6]), (3, [3, 4, 5, 6]), (2, [6]), (0, [6])]
)
def test_points_from_elsewhere_count_in_full_unless_most_are_of_older_gaussians(
    own: int, in_full: list[int]
) -> None:
    """Of seven the last is foreign and so many are own: the weights of the others are without - 1 / 7."""
    w = np.array([0.6, 0.3, 0.1, 0.0, -0.2, -0.3, -0.5])
    first, second = population_of(Origins(0, own, 1), 7).moments(w)
    np.testing.assert_allclose(first - w, np.where(np.isin(np.arange(7), in_full), 1 / 7, 0.0), atol=1e-15)
    np.testing.assert_array_equal(second, w)
    assert w.tolist() == [0.6, 0.3, 0.1, 0.0, -0.2, -0.3, -0.5]  # what was given is as it was


def test_beside_pairs_lone_points_move_the_mean_only() -> None:
    """Neither the covariance nor the path: pairs alone tell about those."""
    w = np.array([0.5, 0.2, -0.2, 0.1, 0.0, -0.6])
    population = population_of(Origins(2, 1, 1), 6)
    first, second = population.moments(w)
    np.testing.assert_allclose(first, [0.7, 0.1, 0.0, -0.6 + 1 / 6], atol=1e-15)
    np.testing.assert_allclose(second, [0.0, 0.0, 0.0, 0.0], atol=1e-15)  # both pairs have the same weight
    _, second = population.moments(np.array([0.5, 0.2, 0.2, 0.1, 0.0, -0.6]))
    np.testing.assert_allclose(second, [0.2, -0.2, 0.0, 0.0], atol=1e-15)
    population.z[:] = [[1.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 9.0]]
    np.testing.assert_allclose(population.path_step(first), [0.7, 0.1])
    alone = population_of(Origins(0, 2, 0), 2)
    alone.z[:] = np.eye(2)
    np.testing.assert_allclose(alone.path_step(np.array([0.3, 0.4])), [0.3, 0.4])


def test_what_is_known_of_a_z_holds_for_both_sides_of_its_pair() -> None:
    known = population_of(Origins(2, 1, 0), 5).of_each(np.array([1.0, 2.0, 3.0]))
    assert known.tolist() == [1.0, 2.0, 1.0, 2.0, 3.0]
