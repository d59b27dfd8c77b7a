"""Plain data for states: exact to the bit, and nothing that was read is trusted."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from saltus._serialize import like, pack, shaped, stream_from, stream_state, unpack


class Inner(NamedTuple):
    x: Any
    level: float


class Outer(NamedTuple):
    inner: Inner
    number: int
    parts: tuple[Any, ...]


def through_json(value: Any) -> Any:
    return unpack(json.loads(json.dumps(pack(value), allow_nan=False)))


@given(hnp.arrays(st.sampled_from([np.float64, np.int64, np.int8, np.bool_]), hnp.array_shapes(min_side=0)))
def test_arrays_come_back_bit_by_bit(array: Any) -> None:
    for each in (array, np.asfortranarray(array)):
        back = through_json(each)
        assert (back.dtype, back.shape) == (each.dtype, each.shape)
        assert back.tobytes() == each.tobytes()
        if each.ndim == 2 and min(each.shape) > 1:  # the order in memory too: BLAS rounds differently
            assert back.flags.c_contiguous == each.flags.c_contiguous


def test_big_endian_arrays_are_read_as_what_they_are() -> None:
    assert through_json(np.array([1.5, -2.0], dtype=">f8")).tolist() == [1.5, -2.0]


@given(st.floats())
def test_floats_come_back_bit_by_bit(value: float) -> None:
    for back in (through_json(value), through_json(np.float64(value)), through_json([value])[0]):
        assert type(back) is float
        assert back == value or (math.isnan(back) and math.isnan(value))
        assert math.copysign(1.0, back) == math.copysign(1.0, value) or math.isnan(value)


def test_other_values() -> None:
    value = {"a": [1, None, "x", True], "b": {"c": (2, 3)}, "d": np.int64(7)}
    assert through_json(value) == {"a": [1, None, "x", True], "b": {"c": [2, 3]}, "d": 7}
    assert type(through_json(np.int64(7))) is int


def test_only_numbers_are_read_into_arrays() -> None:
    packed = pack(np.zeros(1))
    for dtype in ("object", "U8", "datetime64[s]"):
        with pytest.raises(ValueError, match="arrays hold numbers"):
            unpack(packed | {"dtype": dtype})


OUTER = Outer(Inner(np.arange(3.0), 0.5), 7, (np.ones((2, 2)), 1.0))


def test_like_makes_named_tuples_again() -> None:
    made = like(OUTER, through_json(OUTER), "outer")
    assert isinstance(made, Outer)
    assert isinstance(made.inner, Inner)
    assert made.inner.x.tolist() == [0.0, 1.0, 2.0]
    assert (made.inner.level, made.number) == (0.5, 7)
    assert made.parts[0].tolist() == [[1, 1], [1, 1]]
    assert isinstance(made.parts, tuple)


def test_like_makes_floats_of_whole_numbers() -> None:
    made = like(Inner(np.zeros(1), 0.5), {"x": np.zeros(1), "level": 2}, "inner")
    assert type(made.level) is float
    assert like((0.0, 0.0), [1, 2.5], "goal") == (1.0, 2.5)
    assert like((), [], "nothing") == ()


@pytest.mark.parametrize(
    ("template", "value", "words"),
    [
        (np.zeros(3), np.zeros(4), r"state: this must be an array of shape \(3,\)"),
        (np.zeros(3), [0.0, 0.0, 0.0], r"an array of shape \(3,\)"),
        (np.zeros((2, 2)), np.zeros(4), r"an array of shape \(2, 2\)"),
        (Inner(np.zeros(1), 0.0), {"x": np.zeros(1)}, "this must have x, level, got x"),
        (Inner(np.zeros(1), 0.0), {"x": np.zeros(1), "level": 0, "more": 1}, "got x, level, more"),
        (Inner(np.zeros(1), 0.0), [np.zeros(1), 0.0], "this must have x, level, got list"),
        (Inner(np.zeros(1), 0.0), {"x": np.zeros(2), "level": 0.0}, "x must be an array"),
        ((0.0, 0.0), [1.0], "this must be a list of 2, got list"),
        ((0.0, 0.0), {"a": 1, "b": 2}, "this must be a list of 2, got a, b"),
        ((0.0, 0.0), [1.0, "b"], "this must be a number, got 'b'"),
        (1.0, None, "this must be a number, got None"),
        (1.0, True, "this must be a number, got True"),
        (1, "1", "this must be a number, got '1'"),
    ],
)
def test_like_says_what_does_not_fit(template: Any, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        like(template, value, "this")


def test_shaped() -> None:
    assert shaped(np.ones(2), (2,), "x").tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"state: x must be an array of shape \(2,\)"):
        shaped(np.ones((2, 1)), (2,), "x")


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_random_streams_go_on(bits: str) -> None:
    rng = np.random.Generator(getattr(np.random, bits)(5))
    rng.standard_normal(7)
    rng.integers(10)  # may keep half of a draw
    other = stream_from(json.loads(json.dumps(stream_state(rng), allow_nan=False)))
    assert other.standard_normal(9).tolist() == rng.standard_normal(9).tolist()
    assert other.integers(1000, size=9).tolist() == rng.integers(1000, size=9).tolist()


@pytest.mark.parametrize("name", ["os", None, "Generator", "default_rng"])
def test_unknown_streams_are_refused(name: str | None) -> None:
    with pytest.raises(ValueError, match="bit generator must be one of PCG64"):
        stream_from({"bit_generator": name})
