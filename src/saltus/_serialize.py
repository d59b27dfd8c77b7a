"""Arrays, states and random streams as JSON-able data, exact to the bit; nothing is ever unpickled."""

from __future__ import annotations

import base64
import math
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
_STREAMS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def pack(value: Any) -> Any:
    """Plain data for a value made of numbers, strings, None, arrays, lists, dicts and named tuples."""
    if isinstance(value, np.ndarray):
        # the order in memory counts: BLAS rounds differently for rows and columns
        order: Literal["F", "C"] = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        little = value.astype(value.dtype.newbyteorder("<"), copy=False)
        data = base64.b64encode(little.tobytes(order)).decode("ascii")
        return {"dtype": value.dtype.name, "shape": list(value.shape), "order": order, "base64": data}
    if isinstance(value, dict):
        return {k: pack(v) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: pack(v) for name, v in zip(value._fields, value, strict=True)}
    if isinstance(value, list | tuple):
        return [pack(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}  # strict JSON has no word for it
    return value


def unpack(value: Any) -> Any:
    """What `pack` was given; tuples are lists and named tuples are dicts, which `like` makes tuples again."""
    if isinstance(value, dict):
        if value.keys() == {"dtype", "shape", "order", "base64"}:
            dtype = np.dtype(value["dtype"])
            if dtype.kind not in "fiub":
                raise ValueError(f"state: arrays hold numbers, got dtype {value['dtype']!r}")
            raw = np.frombuffer(base64.b64decode(value["base64"]), dtype.newbyteorder("<"))
            order: Literal["F", "C"] = "F" if value["order"] == "F" else "C"
            return raw.reshape(value["shape"], order=order).astype(dtype, order=order)
        if value.keys() == {"float"}:
            return float(value["float"])
        return {k: unpack(v) for k, v in value.items()}
    if isinstance(value, list):
        return [unpack(v) for v in value]
    return value


def like(template: T, value: Any, name: str) -> T:
    """The value as something like the template: its kind of tuple, arrays of its shapes, numbers of its type.

    An error says what does not fit: nothing that was read is trusted.
    """
    made: Any = value
    if isinstance(template, np.ndarray):
        made = shaped(value, template.shape, name)
    elif isinstance(template, tuple) and hasattr(template, "_fields"):
        fields: tuple[str, ...] = template._fields
        if not isinstance(value, dict) or value.keys() != set(fields):
            raise ValueError(f"state: {name} must have {', '.join(fields)}, got {_listed(value)}")
        made = type(template)(*(like(old, value[f], f) for f, old in zip(fields, template, strict=True)))
    elif isinstance(template, tuple):
        if not isinstance(value, list) or len(value) != len(template):
            raise ValueError(f"state: {name} must be a list of {len(template)}, got {_listed(value)}")
        made = tuple(like(old, new, name) for old, new in zip(template, value, strict=True))
    elif type(template) in (int, float) and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"state: {name} must be a number, got {value!r}")
    elif isinstance(template, float):
        made = float(value)
    return cast(T, made)


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, dict) else type(value).__name__


def stream_state(rng: np.random.Generator) -> dict[str, Any]:
    """The exact state of a random generator."""
    state: dict[str, Any] = pack(dict(rng.bit_generator.state))
    return state


def stream_from(state: dict[str, Any]) -> np.random.Generator:
    """A generator that goes on as the one whose state this is."""
    name = state.get("bit_generator")
    if name not in _STREAMS:
        raise ValueError(f"state: bit generator must be one of {', '.join(_STREAMS)}, got {name!r}")
    bits: np.random.BitGenerator = getattr(np.random, str(name))()
    bits.state = unpack(state)
    return np.random.Generator(bits)


def shaped(value: Any, shape: tuple[int, ...], name: str) -> NDArray[Any]:
    """The array, provided it has this shape."""
    if not isinstance(value, np.ndarray) or value.shape != shape:
        raise ValueError(f"state: {name} must be an array of shape {shape}")
    return value
