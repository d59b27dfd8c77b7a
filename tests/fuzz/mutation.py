"""Data that are nearly right: a value somewhere in it is another, or gone."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

NASTY: list[Any] = [
    *(None, True, False, 0, -1, 1, 3, 10**6, 10**12, 2**63, -(2**70)),
    *(0.5, -0.0, 1e-320, 1e308, float("inf"), float("nan")),
    *("", "text", "\x00", "\ud800", "nan", "1e999", "[]", "os.system", "A" * 5000),
    *([], {}, [[]], [None], {"a": {}}, [1, 2, 3], ["x"] * 50),
]


def places(document: Any) -> list[tuple[Any, Any]]:
    """All containers in a document, with a key of each."""
    keys: list[Any] = []
    if isinstance(document, dict):
        keys = list(document)
    elif isinstance(document, list):
        keys = list(range(min(len(document), 20)))
    own = [(document, key) for key in keys]
    return own + [place for key in keys for place in places(document[key])]


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """A copy of a JSON document with up to three changes."""
    made = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        around = places(made)
        if not around:
            break
        container, key = around[draw(st.integers(0, len(around) - 1))]
        if key not in (container if isinstance(container, dict) else range(len(container))):
            continue
        if draw(st.booleans()):
            container[key] = copy.deepcopy(draw(st.sampled_from(NASTY)))
        elif draw(st.booleans()):
            del container[key]
        else:
            other, its_key = around[draw(st.integers(0, len(around) - 1))]
            if its_key in (other if isinstance(other, dict) else range(len(other))):
                container[key] = copy.deepcopy(other[its_key])
    return made


@st.composite
def mutated_text(draw: st.DrawFn, text: str, words: list[str]) -> str:
    """A copy of a text with up to four pieces replaced by others."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.integers(0, 12)))
        text = text[:at] + draw(st.sampled_from(words) | st.text(max_size=5)) + text[end:]
    return text
