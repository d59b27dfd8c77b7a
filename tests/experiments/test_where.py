"""What known constraints cost: the rules are those that are said, and calls are counted."""

from __future__ import annotations

import pytest

from experiments.where import CASES, search, share, table


@pytest.mark.parametrize("name", CASES)
def test_about_one_percent_is_allowed_and_nothing_else_is_evaluated(name: str) -> None:
    case = CASES[name]
    assert 0.005 < share(case) < 0.015
    cost = search(case, True, 1, 12)
    assert len(cost.times) >= 12
    assert cost.wrong == 0
    assert (cost.calls > 0) == callable(case.where)
    assert search(case, False, 1, 12).calls == 0


def test_a_table() -> None:
    assert table(1, 8).count("\n") == 1 + len(CASES)
