"""A model computes with one thread, and leaves the number as it was."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  # it has a library of its own
from threadpoolctl import threadpool_info, threadpool_limits

from saltus import Float, Int, Optimizer, Space
from saltus.model import threads
from saltus.model.threads import with_one_thread
from saltus.search.surrogate import Surrogate


def numbers() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def anew() -> None:
    threads._libraries.cache_clear()


def test_one_thread_meanwhile_and_as_many_as_before_afterwards() -> None:
    with threadpool_limits(2, user_api="blas"):
        assert numbers() == {2}
        assert with_one_thread(numbers)() == {1}
        with pytest.raises(ZeroDivisionError):
            with_one_thread(lambda: 1 / 0)()
        assert numbers() == {2}


def test_without_threadpoolctl_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    with threadpool_limits(2, user_api="blas"):
        monkeypatch.setitem(sys.modules, "threadpoolctl", None)
        assert with_one_thread(lambda: 3)() == 3
        monkeypatch.undo()
        assert numbers() == {2}
        assert threads._libraries() is None


@pytest.mark.parametrize("asynchronous", [False, True])
def test_all_that_a_search_asks_a_model_has_one_thread(
    asynchronous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[int]] = []
    about = Surrogate.about

    def noting(self: Surrogate, *args: object, **kwargs: object) -> object:
        seen.append(numbers())
        return about(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Surrogate, "about", noting)
    optimizer = Optimizer(Space([Float(-5, 5), Int(0, 9)]), seed=1, asynchronous=asynchronous)
    phases = set()
    with threadpool_limits(2, user_api="blas"):
        while optimizer.evaluations < 120:
            candidates = optimizer.ask(3) if asynchronous else optimizer.ask()
            for candidate in candidates:
                optimizer.tell(candidate, float(np.abs(np.array(candidate.params) - 3).sum()))
            phases.add(optimizer.phase)
        assert numbers() == {2}
    assert len(phases) > 2  # among them some that ask the model about their batch
    assert seen
    assert set.union(*seen) == {1}
