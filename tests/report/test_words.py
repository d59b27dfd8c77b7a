"""Numbers and foreign text as a reader sees them."""

from __future__ import annotations

import math

from saltus import Float
from saltus.report.words import domain, duration, lines, percent, text


def test_words() -> None:
    assert [duration(s) for s in (0, 0.0123, 1, 59.99, 60, 3661, 9e5, 1e300, math.nan, None)] == (
        ["0 s", "12.3 ms", "1 s", "1 min", "1 min", "1.02 h", "10.4 d", "–", "–", "–"]
    )
    assert [percent(s) for s in (0, 1e-5, 0.0345, 0.5, 1)] == [
        s.replace("_", "\u00a0") for s in ("0.0_%", "< 0.1_%", "3.5_%", "50_%", "100_%")
    ]
    assert text("a\tb<\ud800>") == "a␉b&lt;\ufffd&gt;"
    assert lines("\x1b[1mone\x1b[0m\r\ntwo\rthree\x07") == "one\ntwo\nthree␇"
    assert lines("x" * 9000).startswith("…xxx")


def test_a_step_is_said() -> None:
    assert domain(Float(0, 1, step=0.05)) == "0 … 1 in steps of 0.05"
