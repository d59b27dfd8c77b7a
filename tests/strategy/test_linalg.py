"""The exponential of low rank."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from saltus.strategy.linalg import eigh, expm1_factors, expm1_symmetric


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), pairs=st.integers(1, 6), size=st.floats(0.001, 3.0))
def test_low_rank_exponential_is_the_exponential(seed: int, pairs: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((pairs, 2 * pairs + 3))
    a = size / 10 * rng.standard_normal(pairs)
    full = (z.T * a) @ z
    T, e = expm1_factors(a, z @ z.T)
    R = T @ z
    expected = expm(full)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(np.eye(len(full)) + (R.T * e) @ R, expected, atol=1e-9 * scale)
    np.testing.assert_allclose(np.eye(len(full)) + expm1_symmetric(full), expected, atol=1e-9 * scale)


def test_the_lower_triangle_of_a_symmetric_matrix_is_read() -> None:
    """As NumPy reads it: what rounding has made of the upper one does not count."""
    half = np.random.default_rng(0).standard_normal((5, 5))
    s = half + half.T
    d, U = eigh(np.tril(s))
    np.testing.assert_allclose(d, np.linalg.eigvalsh(s))
    np.testing.assert_allclose((U * d) @ U.T, s, atol=1e-12)
