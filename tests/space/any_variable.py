"""Variables of every kind, for hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from saltus import Bool, Float, Int, Ordinal


def anything(value: Any) -> Any:
    """A value whose type is not known before it runs."""
    return value


variables = st.one_of(
    st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda t: Float(t[0], t[0] + t[1])),
    st.tuples(st.floats(1e-8, 1e3), st.floats(1.5, 1e6)).map(lambda t: Float(t[0], t[0] * t[1], log=True)),
    st.tuples(st.integers(-(10**6), 10**6), st.integers(0, 10**6)).map(lambda t: Int(t[0], t[0] + t[1])),
    st.tuples(st.integers(1, 50), st.integers(0, 5000)).map(lambda t: Int(t[0], t[0] + t[1], log=True)),
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8, unique_by=lambda v: round(v, 6)).map(
        lambda v: Ordinal(sorted(v))
    ),
    st.just(Bool()),
    st.tuples(st.floats(-1e3, 1e3), st.floats(1e-2, 1e2), st.integers(0, 50)).map(
        lambda t: Float(t[0], t[0] + t[1] * t[2], step=t[1])
    ),
    st.floats(-1e3, 1e3).map(lambda v: Float(init=v, scale=3.0)),
)
