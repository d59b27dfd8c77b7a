"""The fold at the bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus.space.fold import Fold


@settings(deadline=None)
@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e6), st.floats(-1e10, 1e10))
def test_the_fold_stays_within_and_is_continuous(low: float, width: float, x: float) -> None:
    fold = Fold(np.array([low]), np.array([low + width]), np.array([1.0]))
    value = fold(np.array([[x]]))[0, 0]
    assert low <= value <= low + width
    near = fold(np.array([[x + 1e-9 * width]]))[0, 0]
    assert abs(near - value) <= 1e-6 * width + 1e-6 * abs(low) + 1e-9 * abs(x)


def test_the_fold_is_the_identity_in_the_middle() -> None:
    fold = Fold(np.array([0.0, -np.inf]), np.array([1.0, np.inf]), np.ones(2))
    x = np.column_stack((np.linspace(0.1, 0.9, 9), np.linspace(-50, 50, 9)))
    np.testing.assert_allclose(fold(x), x)
