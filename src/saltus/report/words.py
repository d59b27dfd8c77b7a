"""Numbers, dates, variables and foreign text as a reader of the page sees them."""

import html
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..space import Space
from ..space.categorical import Categorical
from ..space.variable import Variable
from ..space.variables import Bool, Float, Int, Ordinal
from ..study.trial import Trial

NOTHING = "–"
_LISTED_VALUES = 12
_TERMINAL_CODE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

# Characters that XML forbids, that no font shows, or that turn around the text after them.
_UNSAFE = (
    {code: chr(0x2400 + code) for code in range(32)}
    | {0x7F: "␡"}
    | dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")
    | dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
)
_UNSAFE_IN_LINES = {code: sign for code, sign in _UNSAFE.items() if chr(code) not in "\n\t"}


def text(foreign: object) -> str:
    """Any text for a place in the page or an attribute: escaped, on one line, control characters shown."""
    return html.escape(str(foreign).translate(_UNSAFE))


def lines(foreign: str, longest: int = 8000) -> str:
    """Output of a program for a <pre>: its end, without the colours of a terminal."""
    whole = _TERMINAL_CODE.sub("", foreign).replace("\r\n", "\n").replace("\r", "\n")
    tail = whole if len(whole) <= longest else "…" + whole[-longest:]
    return html.escape(tail.translate(_UNSAFE_IN_LINES))


def plain(foreign: str) -> str:
    """The same for a script that shows text as text: not escaped, but without what no font shows."""
    return _TERMINAL_CODE.sub("", foreign).replace("\r\n", "\n").translate(_UNSAFE_IN_LINES)


def clipped(foreign: object, longest: int) -> str:
    """The beginning of a text, not escaped."""
    whole = str(foreign)
    return whole if len(whole) <= longest else whole[: longest - 1] + "…"


def number(value: float | None) -> str:
    """Up to six significant digits."""
    return NOTHING if value is None else f"{value:.6g}"


def count(n: int, what: str = "") -> str:
    """1,234, or 1 evaluation and 1,234 evaluations."""
    return f"{n:,} {what if n == 1 else what + 's'}" if what else f"{n:,}"


def percent(share: float) -> str:
    """A share of 1."""
    if 0 < share < 0.001:
        return "< 0.1\u00a0%"
    return f"{100 * share:.1f}\u00a0%" if share < 0.1 else f"{100 * share:.0f}\u00a0%"


def duration(seconds: float | None) -> str:
    """Three digits and the largest unit that is not longer: 12.3 ms, 4.56 s, 7.89 min, 1.23 h, 45.6 d."""
    if seconds is None or not 0 <= seconds < math.inf:
        return NOTHING
    if not seconds:
        return "0 s"
    units = ((1e-3, "ms"), (1.0, "s"), (60.0, "min"), (3600.0, "h"), (86400.0, "d"))
    size, unit = max((u for u in units if u[0] <= seconds * 1.0005), default=units[0])
    amount = seconds / size
    return f"{amount:.3g} {unit}" if amount < 999.5 else f"{amount:,.0f} {unit}" if amount < 1e9 else NOTHING


def date(seconds: float) -> str:
    """Day and minute in UTC."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, ValueError, OSError):
        return NOTHING


def scientific(mantissa: str, exponent: int) -> str:
    """As people write it: 1.5×10⁶, and 10⁶ where the mantissa is 1."""
    power = "10" + str(exponent).translate(_SUPERSCRIPTS)
    return {"1": power, "-1": "-" + power}.get(mantissa, f"{mantissa}×{power}")


def domain(variable: Variable) -> str:
    """Which values a variable may take."""
    match variable:
        case Bool():
            return "switch"
        case Ordinal(values=values) | Categorical(choices=values):
            listed = ", ".join(number_or_text(v) for v in values[:_LISTED_VALUES])
            more = len(values) - _LISTED_VALUES
            return f"one of {listed}" + (f" and {more:,} more" if more > 0 else "")
        case Int():
            what = f"{variable.low} … {variable.high}"
        case Float(low=float(low), high=float(high), step=float(step)):
            what = f"{number(low)} … {number(high)} in steps of {number(step)}"
        case Float(low=None, high=None):
            what = "any number"
        case Float(high=None):
            what = f"at least {number(variable.low)}"
        case Float(low=None):
            what = f"at most {number(variable.high)}"
        case _:
            low, high = variable.range()
            what = f"{number(low)} to {number(high)}"
    if variable.fixed:
        return "fixed"
    return what + (", log" if variable.log else "")


def number_or_text(value: Any) -> str:
    """A parameter as a reader expects it, not escaped: no long floats, lower-case switches."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "none"
    return number(value) if isinstance(value, float) else clipped(value, 40)


def raw(space: Space, params: Any, i: int) -> Any:
    """Parameter i as it was recorded; None if it is not there."""
    try:
        return params[i if space.names is None else space.names[i]]
    except (KeyError, IndexError, TypeError):
        return None


def _inactive(space: Space, params: Any, i: int) -> bool:
    """Whether a point has no parameter i because of its condition."""
    if space.names is None or space.variables[i].when is None:
        return False
    return isinstance(params, Mapping) and space.names[i] not in params


def coordinate(space: Space, params: Any, i: int) -> float | None:
    """Parameter i as a finite number, or None; of a category its place among the choices."""
    if _inactive(space, params, i):
        return None
    try:
        x = space.variables[i].number(raw(space, params, i))
    except (TypeError, ValueError, OverflowError):
        return None
    return x if math.isfinite(x) else None


def parameter(space: Space, trial: Trial | None, i: int) -> str:
    """Parameter i of a trial in words, not escaped."""
    value = None if trial is None else raw(space, trial.params, i)
    variable = space.variables[i]
    if trial is None or _inactive(space, trial.params, i):
        return NOTHING
    if value is None and not isinstance(variable, Categorical):
        return NOTHING
    # a space without names holds floats only
    if isinstance(value, float) and isinstance(variable, Bool):
        return number_or_text(bool(value))
    if isinstance(value, float) and isinstance(variable, Int) and value.is_integer():
        return str(int(value))
    return number_or_text(value)


def listed(params: Any) -> str:
    """All parameters in a row, not escaped."""
    if isinstance(params, Mapping):
        return ", ".join(f"{k} = {number_or_text(v)}" for k, v in params.items())
    if isinstance(params, list | tuple):
        return ", ".join(map(number_or_text, params))
    return clipped(params, 2000)
