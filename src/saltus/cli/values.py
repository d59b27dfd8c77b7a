"""The values of a point in words."""

from __future__ import annotations

import json
from typing import Any

from .._typing import Params

_LONGEST_LINE = 200


def items(params: Params) -> list[tuple[str, Any]]:
    """Names and values; variables without a name are x0, x1, ..."""
    return list(params.items()) if isinstance(params, dict) else [(f"x{i}", v) for i, v in enumerate(params)]


def written(value: Any) -> str:
    """A value as JSON that people can read.

    >>> written(0.1), written("Stöße"), written(True)
    ('0.1', '"Stöße"', 'true')
    """
    return json.dumps(value, ensure_ascii=False)


def assignments(params: Params) -> str:
    """All values in full: they may have to be typed in elsewhere."""
    return "  ".join(f"{name}={written(value)}" for name, value in items(params))


def listed(params: Params) -> str:
    """All values, rounded, in a line that is not too long."""
    text = ", ".join(f"{name}={_short(value)}" for name, value in items(params))
    return text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 3] + "..."


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else written(value)
