"""The run over all variables."""

from __future__ import annotations

import numpy as np

from saltus import Float, Int, Space
from saltus._typing import FloatArray
from saltus.search.mixed_run import MixedRun
from saltus.search.proposal import Domain, Results
from saltus.space.encoding import Encoding


def test_a_mixed_run_ends_when_its_integers_have_settled() -> None:
    space = Space([Float(-5, 5)] * 3 + [Int(-10, 10)] * 3)
    encoding = Encoding(space)
    domain = Domain(encoding.n_continuous, encoding.lattice, *encoding.ends())

    def fun(x: FloatArray) -> FloatArray:
        best = encoding.encode(np.array([1.0, 2.0, -2.0, 4.0, -6.0, 7.0]))
        return np.asarray(((x - best) ** 2).sum(axis=1))

    run = MixedRun(domain, 8, None, encoding.m, 1.0)
    rng = np.random.default_rng(1)
    while not run.done:
        run.draw(rng)
        batch = run.propose()
        run.observe(Results(batch, fun(batch.x), None))
    assert encoding.numbers(run.best.x[None], run.best.plateaus[None])[0, 3:].tolist() == [4.0, -6.0, 7.0]
    assert run.conditional().shape == (3, 3)
