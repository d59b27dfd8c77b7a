"""Arrays, states and random streams as JSON-able data, exact to the bit; nothing is ever unpickled."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

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
        fields = dict(zip(value._fields, value, strict=True))
        return {"tuple": _name(type(value)), "fields": pack(fields)}
    if isinstance(value, list | tuple):
        return [pack(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}  # strict JSON has no word for it
    return value


def kinds(*classes: type) -> dict[str, type]:
    """Named tuples that `unpack` may make, and no others."""
    return {_name(cls): cls for cls in classes}


def _name(cls: type) -> str:
    return f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}"


def unpack(value: Any, known: Mapping[str, type] = MappingProxyType({})) -> Any:
    """What `pack` was given; `known` are the named tuples that may be in it."""
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
        if value.keys() == {"tuple", "fields"}:
            if value["tuple"] not in known:
                raise ValueError(f"state: expected one of {', '.join(known)}, got {value['tuple']!r}")
            return known[value["tuple"]](**unpack(value["fields"], known))
        return {k: unpack(v, known) for k, v in value.items()}
    if isinstance(value, list):
        return [unpack(v, known) for v in value]
    return value


def alike(before: Any, value: Any, name: str) -> Any:
    """The value, provided that it is like `before`: a named tuple of its kind, arrays of its shape."""
    if isinstance(before, np.ndarray):
        return shaped(value, before.shape, name)
    if isinstance(before, tuple) and hasattr(before, "_fields"):
        if type(value) is not type(before):
            raise ValueError(f"state: {name} must be a {_name(type(before))}, got {type(value).__name__}")
        for field, old, new in zip(before._fields, before, value, strict=True):
            alike(old, new, field)
    return value


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
