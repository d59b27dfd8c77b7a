"""What evaluations have taught: which variables matter, and what to expect at other points."""

from __future__ import annotations

import copy
import math
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from saltus import Bool, Float, Int, Optimizer, Ordinal, Outcome, Space, minimize
from saltus.order import Failure
from saltus.search.learnt import Expected, Learnt, Share, plain
from saltus.search.memory import Memory
from saltus.space.encoding import Encoding

MIXED = Space(
    {
        "width": Float(0.0, 10.0),
        "rate": Float(1e-5, 1e-1, log=True),
        "plies": Int(1, 12),
        "teeth": Int(8, 512, log=True),
        "volts": Ordinal([3.3, 5, 12, 24]),
        "cooled": Bool(),
        "gravity": Float(9.81, 9.81),
    }
)


def cost(p: dict[str, Any]) -> float:
    """Of which the width hardly matters, and the switch most."""
    return float(
        0.01 * (p["width"] - 3) ** 2
        + (math.log10(p["rate"]) + 3) ** 2
        + 0.5 * (p["plies"] - 4) ** 2
        + 0.1 * (math.log2(p["teeth"]) - 6) ** 2
        + abs(p["volts"] - 12) / 12
        + 20 * p["cooled"]
    )


def filled(space: Space, fun: Callable[[Any], float], count: int, seed: int = 1) -> tuple[Encoding, Memory]:
    """A memory of points anywhere in a space."""
    encoding = Encoding(space)
    low, high = encoding.ends
    x = np.random.default_rng(seed).uniform(low, high, (count, encoding.N))
    points = encoding.decode(x, encoding.lattice.plateau(x[:, encoding.n_continuous :]))
    memory = Memory(len(space))
    memory.extend(range(count), points.x, [fun(p) for p in points.params], None)
    return encoding, memory


def shares_of(space: Space, fun: Callable[[Any], float], count: int = 60, **how: Any) -> dict[str, Share]:
    shares = Learnt(*filled(space, fun, count)).sensitivity(**how)
    assert shares is not None
    for share in shares.values():
        assert 0 <= share.low <= share.share <= share.high <= 1
        assert 0 <= share.alone <= share.share
    assert [s.share for s in shares.values()] == sorted((s.share for s in shares.values()), reverse=True)
    return shares


def test_every_kind_of_variable_has_its_share() -> None:
    shares = shares_of(MIXED, cost, 150)
    assert set(shares) == set(MIXED.keys) - {"gravity"}
    assert next(iter(shares)) == "cooled"
    assert shares["cooled"].share > 0.5
    assert shares["plies"].share > shares["width"].share
    assert shares["width"].share < 0.1


def test_around_the_best_point_other_variables_matter_than_elsewhere() -> None:
    space = Space({"wall": Float(0, 1), "trim": Float(0, 1)})

    def cliff(p: dict[str, float]) -> float:
        return 50 * max(0.0, 0.5 - p["wall"]) ** 2 + (p["trim"] - 0.6) ** 2

    rng = np.random.default_rng(1)
    points = [{"wall": 0.85, "trim": 0.6}, *({"wall": w, "trim": t} for w, t in rng.random((60, 2)).tolist())]
    optimizer = Optimizer(space, seed=2)
    optimizer.add(points, [cliff(p) for p in points])

    def run(everywhere: bool) -> dict[str, Share]:
        shares = optimizer.sensitivity(everywhere=everywhere)
        assert shares is not None
        return shares

    assert run(everywhere=True)["wall"].share > 0.6
    assert run(everywhere=False)["trim"].share > 0.6


def test_one_variable_makes_all_the_difference() -> None:
    shares = shares_of(Space([Float(0, 1)]), lambda x: float((x[0] - 0.3) ** 2), 5)
    assert shares["x0"].share == pytest.approx(1.0, abs=0.01)
    assert shares["x0"].alone == pytest.approx(1.0, abs=0.05)


def test_the_region_is_within_the_space_and_has_the_next_values() -> None:
    """A switch and an integer at its bound can change; without bounds the region is as wide as usual."""
    space = Space({"on": Bool(), "k": Int(0, 99), "x": Float(init=5.0, scale=2.0)})
    encoding, memory = filled(space, lambda p: 5 * p["on"] + p["k"] + (p["x"] - 4) ** 2 / 100, 80)
    learnt = Learnt(encoding, memory)
    panel = learnt._panel
    assert panel is not None
    low, high = learnt._near(panel)  # x, on, k
    assert high[0] - low[0] == pytest.approx(0.25)
    assert (low[1], high[1]) == (0.0, 1.0)
    assert low[2] == 0.0
    assert 0.25 <= high[2] <= 0.27
    low, high = learnt._whole(panel)
    assert low.tolist() == [min(0.0, panel.low[0]), 0.0, 0.0]
    assert high.tolist() == [max(1.0, panel.high[0]), 1.0, 1.0]
    assert set(learnt.sensitivity() or ()) == {"on", "k", "x"}


def test_variables_without_a_start_of_their_own() -> None:
    optimizer = Optimizer(Space({"a": Float(0, None), "b": Float()}), mean=[3.0, 1.0], sigma=1.0, seed=1)
    while optimizer.evaluations < 40:
        candidates = optimizer.ask()
        optimizer.tell(candidates, [c.params["a"] ** 2 + 9 * c.params["b"] ** 2 for c in candidates])
    shares = optimizer.sensitivity()
    assert shares is not None
    assert [*shares] == ["b", "a"]


@pytest.mark.parametrize("strategy", ["saltus", "saltus-es", "dx-nes-ici", "cma-es"])
def test_with_every_kind_of_strategy(strategy: str) -> None:
    space = Space({"x": Float(-5, 5), "y": Float(-5, 5), "k": Int(0, 20)})
    optimizer = Optimizer(space, strategy=strategy, seed=1)
    while optimizer.evaluations < 40:
        candidates = optimizer.ask()
        values = [9 * c.params["x"] ** 2 + c.params["y"] ** 2 + abs(c.params["k"] - 7) for c in candidates]
        optimizer.tell(candidates, values)
    shares = optimizer.sensitivity()
    assert shares is not None
    assert shares["x"].share > shares["y"].share
    (expected,) = optimizer.predict([{"x": 1.0, "y": 1.0, "k": 7}])
    assert expected.low < 10 < expected.high
    assert optimizer.sensitivity() == shares  # asking changes nothing
    assert Optimizer.restore(optimizer.state()).sensitivity() == shares


def test_it_does_not_disturb_the_search() -> None:
    space = Space({"x": Float(-5, 5), "k": Int(0, 20)})
    pair = [Optimizer(space, seed=3, strategy="saltus") for _ in range(2)]
    for turn in range(20):
        asked = [optimizer.ask() for optimizer in pair]
        assert asked[0] == asked[1]
        for optimizer, candidates in zip(pair, asked, strict=True):
            optimizer.tell(candidates, [c.params["x"] ** 2 + c.params["k"] for c in candidates])
        if turn % 7 == 0 and pair[1].evaluations >= 4:
            pair[1].sensitivity()
            pair[1].predict([{"x": 0.0, "k": 3}])


def test_what_is_told_in_the_middle_of_a_batch_counts() -> None:
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    optimizer = Optimizer(space, strategy="dx-nes-ici", seed=1, population=40)
    candidates = optimizer.ask()
    for candidate in candidates[:20]:
        optimizer.tell(candidate, (candidate.params["x"] - 0.4) ** 2)
    assert len(optimizer.memory) == 0
    shares = optimizer.sensitivity()
    assert shares is not None
    assert next(iter(shares)) == "x"
    again = Optimizer(space, strategy="dx-nes-ici", seed=1, population=40)
    mixed = again.ask()[:20]
    again.tell(mixed[::-1], [(c.params["x"] - 0.4) ** 2 for c in mixed[::-1]])
    assert again.sensitivity() == shares  # whatever the order of telling


def test_too_few_evaluations() -> None:
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    for count in (0, 1, 3):
        learnt = Learnt(*filled(space, lambda p: p["x"], count))
        assert learnt.sensitivity() is None
        with pytest.raises(
            ValueError, match=rf"at least 4 .* \(variables \+ 2\), got {count}; evaluate more"
        ):
            learnt.predict([{"x": 0.5, "y": 0.5}])
    assert Learnt(*filled(space, lambda p: p["x"], 4)).sensitivity() is not None


def test_values_that_are_all_equal() -> None:
    learnt = Learnt(*filled(Space({"x": Float(0, 1)}), lambda p: 7.0, 10), maximize=True)
    assert learnt.sensitivity() is None
    assert learnt.predict([{"x": 0.5}]) == [Expected(-7.0, -7.0, -7.0)]


def test_the_same_point_over_and_over() -> None:
    memory = Memory(1)
    memory.extend(range(6), np.full((6, 1), 3.0), [1.0, 1.5, 1.0, 1.2, 1.1, 1.3], None)
    encoding = Encoding(Space({"k": Int(0, 9)}))
    assert set(Learnt(encoding, memory).sensitivity() or ()) == {"k"}
    (expected,) = Learnt(encoding, memory).predict([{"k": 8}])
    assert expected.low <= expected.value <= expected.high


def test_failures_and_constraints() -> None:
    """What has failed counts nothing; what violates something counts by its value."""
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    optimizer = Optimizer(space, strategy="dx-nes-ici", seed=1, population=60)
    candidates = optimizer.ask()
    outcomes = []
    for i, c in enumerate(candidates):
        value = (c.params["x"] - 0.2) ** 2
        if i % 5 == 0:
            outcomes.append(Outcome(math.nan, failure=Failure.TIMEOUT))
        elif i % 5 == 1:
            outcomes.append(Outcome(value, {"heat": 100 * c.params["y"]}))
        elif i % 5 == 2:
            outcomes.append(Outcome(math.inf, {"heat": 1.0}))
        else:
            outcomes.append(Outcome(value, {"heat": -1.0}))
    optimizer.tell(candidates, outcomes)
    shares = optimizer.sensitivity()
    assert shares is not None
    assert shares["x"].share > 0.9
    assert optimizer.learnt()._count == 36
    (expected,) = optimizer.predict([{"x": 0.5, "y": 0.5}])
    assert expected.low < 0.09 < expected.high


def test_maximize_is_in_the_direction_of_the_user() -> None:
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    up, down = (
        minimize(lambda p, s=s: s * (5 - (p["x"] - 0.3) ** 2), space, maximize=s > 0, budget=25, seed=1)
        for s in (1.0, -1.0)
    )
    assert up.sensitivity == down.sensitivity
    (above,), (below,) = (result.predict([{"x": 0.8, "y": 0.5}]) for result in (up, down))
    assert above == Expected(-below.value, -below.high, -below.low)
    assert above.low < 4.75 < above.high
    assert above.high >= above.value >= above.low


def test_points_must_be_points() -> None:
    learnt = Learnt(*filled(MIXED, cost, 20))
    good = {"width": 1.0, "rate": 1e-3, "plies": 3, "teeth": 16, "volts": 12, "cooled": True, "gravity": 9.81}
    assert len(learnt.predict([good, good])) == 2
    assert learnt.predict([]) == []
    with pytest.raises(TypeError, match=r"write predict\(\[point\]\)"):
        learnt.predict(good)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"write predict\(\[point\]\)"):
        learnt.predict(np.zeros(3))  # type: ignore[arg-type]
    for name, wrong in (("width", 11.0), ("volts", 6), ("plies", 0)):
        with pytest.raises(ValueError, match=name):
            learnt.predict([good | {name: wrong}])
    with pytest.raises(ValueError, match="'rate' is missing"):
        learnt.predict([{"width": 1.0}])


def test_where_it_was_evaluated_it_knows_the_value() -> None:
    encoding, memory = filled(MIXED, cost, 80)
    points: Sequence[Any] = [encoding.params_of(x) for x in memory.x]
    spread = memory.values.std()
    for expected, value in zip(Learnt(encoding, memory).predict(points), memory.values, strict=True):
        assert expected.low - 1e-9 <= value <= expected.high + 1e-9
        assert expected.value == pytest.approx(value, abs=0.2 * spread)


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
def test_units_do_not_matter(factor: float) -> None:
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    plain, scaled = (
        Learnt(*filled(space, lambda p, f=f: f * ((p["x"] - 0.3) ** 2 + 0.1 * p["y"]), 30))  # type: ignore[misc]
        for f in (1.0, factor)
    )
    for name, share in (plain.sensitivity() or {}).items():
        assert (scaled.sensitivity() or {})[name] == pytest.approx(share, abs=1e-3)
    point = [{"x": 0.9, "y": 0.1}]
    assert np.array(scaled.predict(point)) / factor == pytest.approx(np.array(plain.predict(point)), rel=1e-2)


def test_many_variables() -> None:
    space = Space([Float(0, 1)] * 40)
    shares = shares_of(space, lambda x: float(3 * x[7] + x[30]), 60)
    assert len(shares) == 40
    assert next(iter(shares)) == "x7"
    assert Learnt(*filled(space, lambda x: float(x[0]), 41)).sensitivity() is None


def test_many_evaluations_and_a_crowd_around_the_best() -> None:
    """The crowd is thinned out: it says nothing about the shares."""
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    rng = np.random.default_rng(1)
    x = np.concatenate((rng.random((60, 2)), 0.4 + 1e-5 * rng.standard_normal((6000, 2))))
    values = ((x - 0.4) ** 2 * [9.0, 1.0]).sum(axis=1)
    memory = Memory(2)
    memory.extend(range(len(x)), x, values, None)
    shares = Learnt(Encoding(space), memory).sensitivity()
    assert shares is not None
    assert shares["x"].share > 0.8
    panel = Learnt(Encoding(space), memory)._panel
    assert panel is not None
    np.testing.assert_allclose(panel.best, x[values.argmin()])


def test_it_counts_what_was_there_when_it_was_made() -> None:
    encoding, memory = filled(Space({"x": Float(0, 1), "y": Float(0, 1)}), lambda p: p["x"], 20)
    learnt, later = Learnt(encoding, memory), Learnt(encoding, memory)
    before = learnt.sensitivity()
    memory.extend(range(20, 40), np.random.default_rng(5).random((20, 2)), np.arange(20.0), None)
    assert later.sensitivity() == before
    for copied in (copy.deepcopy(learnt), pickle.loads(pickle.dumps(learnt))):
        assert copied.sensitivity() == before


def test_500_points_of_10_variables_take_less_than_a_second() -> None:
    space = Space([Float(0, 1)] * 7 + [Int(0, 9)] * 3)
    encoding, memory = filled(space, lambda x: float(((x - 0.3) ** 2).sum()), 500)
    Learnt(*filled(space, lambda x: float(x[0]), 12)).sensitivity()  # what it needs is loaded
    start = time.process_time()
    Learnt(encoding, memory).sensitivity()
    assert time.process_time() - start < 3  # 0.5 s on a quiet machine


def test_for_json() -> None:
    assert plain(None) is None
    assert plain({"x": Share(0.5, 0.4, 0.6, 0.3)}) == {
        "x": {"share": 0.5, "low": 0.4, "high": 0.6, "alone": 0.3}
    }


@pytest.mark.parametrize("step", [5e-324, 1e-310])
def test_values_that_differ_by_less_than_numbers_can_tell_are_equal(step: float) -> None:
    """No warning, no NaN: the logarithms that the model sees would be all the same."""
    space = Space({"x": Float(0, 1)})
    learnt = Learnt(*filled(space, lambda p: step * round(20 * p["x"]), 12))
    assert learnt.sensitivity() is None
    assert learnt.predict([{"x": 0.5}])[0].high < 1e-300
    learnt = Learnt(*filled(space, lambda p: 1.0 + 2e-16 * round(p["x"]), 12))
    assert learnt.predict([{"x": 0.5}])[0].high == pytest.approx(1.0)
