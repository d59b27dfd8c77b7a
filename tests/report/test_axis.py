"""Axes and the numbers beside them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from saltus.report.axis import DECADES_OF_VALUES, axis, fitting


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    st.booleans(),
)
def test_axes_hold_what_they_are_for(values: list[float], clip: bool) -> None:
    best = min(values)
    y = fitting(values, best, clip=clip)
    assert y.holds(best)
    assert clip or all(map(y.holds, values))
    for most in (3, 6):
        ticks = y.ticks(most)
        assert len(ticks) <= 3 * most
        assert len({t.label for t in ticks}) == len(ticks)
    assert all(0 <= y.share(v) <= 1 for v in values)


def test_what_is_gained_late_is_seen_too() -> None:
    values = [170.0, 60.0, 30.0, 15.0, 12.0, 11.0, 10.5, 10.2]
    assert fitting(values).kind == "linear"
    assert fitting(values, decades=DECADES_OF_VALUES).kind == "log"
    assert fitting([*values, -1.0], decades=DECADES_OF_VALUES).kind == "linear"


@pytest.mark.parametrize(
    ("low", "high", "kind", "labels"),
    [
        (0, 10, "linear", ["0", "2", "4", "6", "8", "10"]),
        (-0.1, 0.1, "linear", ["−0.10", "−0.05", "0", "0.05", "0.10"]),
        (0, 5e6, "linear", ["0", "10⁶", "2×10⁶", "3×10⁶", "4×10⁶", "5×10⁶"]),
        (1e-6, 1, "log", ["10⁻⁶", "10⁻⁴", "0.01", "1"]),
        (1, 60, "log", ["1", "2", "5", "10", "20", "50"]),
        (2, 3, "log", ["2.0", "2.2", "2.4", "2.6", "2.8", "3.0"]),
        (0, 20_000, "linear", ["0", "5,000", "10,000", "15,000", "20,000"]),
    ],
)
def test_ticks_are_round(low: float, high: float, kind: Any, labels: list[str]) -> None:
    assert [t.label for t in axis(low, high, kind).ticks(5)] == labels


@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=0, exclude_min=True),
    st.floats(allow_nan=False, allow_infinity=False, min_value=0, exclude_min=True),
)
@example(5e-324, 5e-324)
@example(1e-307, 1.1e-307)
@example(1.79e308, 1.79e308)
def test_ticks_of_a_log_axis_lie_on_it(a: float, b: float) -> None:
    y = axis(min(a, b), max(a, b), "log", margin=0.05)
    assert y.holds(a)
    ticks = y.ticks(5)
    assert len({t.label for t in ticks}) == len(ticks) <= 15
    assert all(0 <= y.share(t.value) <= 1 for t in ticks)
