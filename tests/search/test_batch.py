"""A batch on its way: slots, extra proposals, second attempts, and both sides of pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from saltus import Float, Optimizer, Space
from saltus.order import Outcome
from saltus.search import batch as batch_module
from saltus.search.batch import MOST_SLOTS, Batch, LateResult, joined
from saltus.search.phase import Phase
from saltus.search.proposal import FOREIGN, LONE, Proposals, Results


class Toy(Phase):
    """Proposes the points 0, 1, 2, ... of a line, and extra ones, two at a time."""

    saved = ()

    def __init__(self, size: int = 4, groups: int = 10**9, pairs: bool = False) -> None:
        self.size, self.groups, self.waits_for_pairs = size, groups, pairs
        self.asked: list[tuple[int, int]] = []  # for extra ones: the number, and what was drawn with it

    def propose(self) -> Proposals:
        return Proposals(np.arange(float(self.size))[:, None], np.empty((self.size, 0)))

    def observe(self, results: Results) -> None:
        raise NotImplementedError

    def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
        if k >= self.groups:
            return None
        self.asked.append((k, int(rng.integers(1000))))
        return Proposals(self.size + 2.0 * k + np.array([[0.0], [1.0]]), np.empty((2, 0)))


def batch_of(phase: Toy, generation: int = 3) -> Batch:
    return Batch(phase, generation, 7, lambda k: np.random.default_rng([5, k + 1]))


def asked(batch: Batch, *ids: int) -> list[int]:
    """The slots that these ids get, one after the other."""
    for id in ids:
        batch.ask(id, batch.any_slot(None))
    return [batch.slots[id] for id in ids]


def late(id: int, pair: int, value: float = 1.0) -> LateResult:
    return LateResult(id, np.array([100.0 + id]), np.empty(0), pair, value, 0.0)


def test_slots_are_asked_in_their_order() -> None:
    batch = batch_of(Toy())
    assert list(batch.ask_next(10, 3)) == [0, 1, 2]
    assert batch.has_unasked
    assert list(batch.ask_next(13, 3)) == [3]
    assert not batch.has_unasked
    assert list(batch.ask_next(14, None)) == []
    assert batch.slots == {10: 0, 11: 1, 12: 2, 13: 3}
    assert batch.unknown == 4


def test_a_wish_is_granted_if_that_slot_is_free() -> None:
    batch = batch_of(Toy(groups=1))
    for id, (wish, slot) in enumerate([(2, 2), (2, 0), (None, 1), (-1, 3), (5, 5), (99, 4)]):
        assert batch.any_slot(wish) == slot
        batch.ask(id, slot)
    assert batch.any_slot(3) == 0  # nothing is free: a second attempt


def test_extra_proposals_come_behind_the_batch_the_same_ones_for_whoever_asks() -> None:
    one, other = Toy(), Toy()
    first, second = batch_of(one), batch_of(other)
    assert asked(first, *range(9)) == list(range(9))
    assert second.has(8)
    assert first.points.x[:, 0].tolist() == second.points.x[:, 0].tolist() == list(range(10))
    assert one.asked == other.asked
    assert [k for k, _ in one.asked] == [0, 1, 2]
    assert len({drawn for _, drawn in one.asked}) == 3
    assert first.size == 4


def test_second_attempts_begin_with_what_was_asked_least() -> None:
    batch = batch_of(Toy(groups=0))
    assert asked(batch, *range(4)) == [0, 1, 2, 3]
    batch.tell([1], [5.0], [0.0])
    assert asked(batch, 4, 5, 6, 7) == [0, 2, 3, 0]
    batch.tell([6], [5.0], [0.0])
    assert asked(batch, 8) == [2]
    assert not batch.has(4)


def test_a_first_attempt_counts_once_however_it_was_asked() -> None:
    one_by_one = batch_of(Toy(groups=0))
    one_by_one.ask_next(0, 2)
    assert asked(one_by_one, 2, 3, 4) == [2, 3, 0]
    restored = batch_of(Toy(groups=0))
    restored.restore([[0, 0], [1, 1]])
    assert list(restored.ask_next(2, None)) == [2, 3]
    assert asked(restored, 4) == [0]


def test_a_phase_that_has_no_more_proposals_is_not_asked_again() -> None:
    class Spent(Toy):
        """Counts how often it was asked."""

        count = 0

        def extra(self, k: int, rng: np.random.Generator) -> Proposals | None:
            self.count += 1
            return super().extra(k, rng)

    phase = Spent(groups=1)
    batch = batch_of(phase)
    assert not batch.has(99)
    assert batch.has(5)  # what it had before is there
    assert not batch.has(6)
    assert phase.count == 2


@pytest.mark.parametrize("order", [(0, 4, 7), (7, 4, 0), (4, 7, 0), (4, 0, 7)])
def test_of_several_attempts_the_smallest_id_counts(order: tuple[int, ...]) -> None:
    batch = batch_of(Toy(groups=0))
    for id in (0, 4, 7):
        batch.ask(id, 2)
    outcomes = {0: (3.0, 0.5), 4: (1.0, 0.0), 7: (2.0, 0.25)}
    for count, id in enumerate(order, 1):
        batch.tell([id], *([number] for number in outcomes[id]))
        least = min(order[:count])
        assert (batch.values[2], batch.violations[2]) == outcomes[least]
        assert batch.unknown == 3
    assert batch.told == dict.fromkeys((0, 4, 7), 2)


def test_a_second_attempt_that_comes_too_late_is_told_among_others() -> None:
    batch = batch_of(Toy())
    for id, slot in ((0, 2), (4, 2), (5, 1)):
        batch.ask(id, slot)
    batch.tell([0], [3.0], [0.0])
    batch.tell([4, 5], [1.0, 2.0], [0.0, 0.0])
    assert batch.values[1:3] == [2.0, 3.0]
    assert batch.unknown == 2


def test_slots_that_were_asked_out_of_their_order_are_told_by_their_ids() -> None:
    """Also if all are told at once."""
    batch = batch_of(Toy(size=3))
    for id, slot in ((5, 2), (6, 0), (7, 1)):
        batch.ask(id, slot)
    batch.tell([5, 6, 7], [1.0, 2.0, 3.0], [0.0, 0.5, 0.0])
    assert batch.values == [2.0, 3.0, 1.0]
    assert batch.violations == [0.5, 0.0, 0.0]
    assert batch.told == {5: 2, 6: 0, 7: 1}
    assert batch.unknown == 0


def test_a_batch_that_is_told_in_parts_or_in_another_order_is_the_same_as_at_once() -> None:
    whole, parts, backwards = (batch_of(Toy()) for _ in range(3))
    for batch in (whole, parts, backwards):
        batch.ask_next(10, None)
    values, violations = [4.0, 3.0, 2.0, 1.0], [0.0, 0.5, 0.0, 0.25]
    whole.tell([10, 11, 12, 13], values, violations)
    parts.tell([10, 11], values[:2], violations[:2])
    assert parts.unknown == 2
    parts.tell([12, 13], values[2:], violations[2:])
    backwards.tell([13, 12, 11, 10], values[::-1], violations[::-1])
    for batch in (whole, parts, backwards):
        assert (batch.values, batch.violations, batch.unknown) == (values, violations, 0)
        assert batch.told == batch.slots == {10: 0, 11: 1, 12: 2, 13: 3}
        assert batch.results([]).known is None
        with_late = batch.results([late(50, FOREIGN)])
        assert with_late.known is not None
        assert with_late.known.tolist() == [True] * 4


def test_a_part_of_a_batch_that_is_told_when_it_is_asked_is_not_all() -> None:
    batch = batch_of(Toy())
    batch.ask_next(0, 2)
    batch.tell([0, 1], [1.0, 2.0], [0.0, 0.0])
    assert batch.unknown == 2
    results = batch.results([])
    assert results.known is not None
    assert results.known.tolist() == [True, True, False, False]


def test_there_are_not_more_extra_proposals_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_module, "MOST_EXTRAS", 6)
    batch = batch_of(Toy())
    assert batch.has(9)
    assert not batch.has(10)
    assert asked(batch, *range(12)) == [*range(10), 0, 1]  # then second attempts have to do
    assert len(batch.points.x) == 10


def test_numbers_of_pairs_stay_what_they_are_in_saved_states() -> None:
    assert MOST_SLOTS == 4_294_967_296


def test_the_limit_is_far_from_what_workers_need() -> None:
    assert batch_module.MOST_EXTRAS == 10_000
    batch = batch_of(Toy())
    assert batch.has(4 + 9_999)
    assert not batch.has(4 + 10_000)


def test_what_is_known() -> None:
    batch = batch_of(Toy())
    asked(batch, *range(6))
    for id, value in ((0, 4.0), (2, math.nan), (5, 1.0)):
        batch.tell([id], [value], [0.0])
    results = batch.results([])
    assert results.known is not None
    assert results.known.tolist() == [True, False, True, False, False, True]
    assert results.violations is None
    assert (results.told, results.complete) == (3, False)
    own = results.known_part()
    assert own.points.x[:, 0].tolist() == [0.0, 2.0, 5.0]
    with_late = batch.results([late(50, FOREIGN), late(60, LONE)])
    assert with_late.told == 5
    everything, origins = with_late.arranged()
    assert origins == (0, 3, 1)
    assert everything.points.x[:, 0].tolist() == [0.0, 2.0, 5.0, 160.0, 150.0]


def test_what_is_random_about_late_results_is_apart_from_extra_proposals() -> None:
    batch = batch_of(Toy())
    about = batch.results([]).late
    assert about is not None
    assert about.rng.random() == np.random.default_rng([5, 0]).random()
    assert about.pairs.dtype == np.int64


def test_a_whole_batch_is_just_its_results() -> None:
    batch = batch_of(Toy())
    batch.ask_next(0, None)
    for id in (3, 1, 0, 2):
        batch.tell([id], [10.0 - id], [0.5 * (id == 1)])
    results = batch.results([])
    assert (results.known, results.late) == (None, None)
    assert results.values.tolist() == [10.0, 9.0, 8.0, 7.0]
    assert results.violations is not None
    assert results.violations.tolist() == [0.0, 0.5, 0.0, 0.0]
    batch.has(5)  # extra ones that nobody asked for count for nothing
    assert batch.results([]).known is None
    assert len(batch.results([]).values) == 4


def test_what_flies_on_when_a_batch_is_over() -> None:
    for pairs, numbers in ((False, [LONE] * 3), (True, [3 * MOST_SLOTS + n for n in (1, 1, 2)])):
        batch = batch_of(Toy(pairs=pairs))
        asked(batch, *range(5))
        batch.tell([0], [1.0], [0.0])
        batch.tell([2], [1.0], [0.0])
        flying = batch.in_flight(batch.points.x)
        assert list(flying) == [1, 3, 4]
        assert [one.x.tolist() for one in flying.values()] == [[1.0], [3.0], [4.0]]
        assert [one.pair for one in flying.values()] == numbers
        assert {one.phase for one in flying.values()} == {7}
    for id in (1, 3, 4):
        batch.tell([id], [1.0], [0.0])
    assert batch.in_flight(batch.points.x) == {}


def test_pairs_have_whole_numbers_and_a_second_attempt_has_none() -> None:
    batch = batch_of(Toy(pairs=True))
    asked(batch, *range(6))
    batch.ask(6, 1)
    numbers = [one.pair for one in batch.in_flight(batch.points.x).values()]
    assert numbers == [*(3 * MOST_SLOTS + n for n in (0, 1, 0, 1, 2, 2)), LONE]
    assert {type(number) for number in numbers} == {int}


def test_extra_proposals_that_nobody_asked_for_do_not_count_in_a_batch_of_one() -> None:
    batch = batch_of(Toy(size=1))
    assert batch.has(2)
    assert len(batch.results([]).values) == 1


def test_a_side_of_the_very_first_pair_waits_too() -> None:
    batch = batch_of(Toy(pairs=True), generation=0)
    asked(batch, 0)
    batch.tell([0], [1.0], [0.0])
    results, halves = batch.whole_pairs([])
    assert results.told == 0
    assert [(half.id, half.pair) for half in halves] == [(0, 0)]


def test_sides_of_pairs_wait_for_the_other_side() -> None:
    batch = batch_of(Toy(pairs=True))  # pairs: 0 and 2, 1 and 3, 4 and 5
    asked(batch, *range(6))
    for id in (0, 2, 3, 4):
        batch.tell([id], [float(id)], [0.0])
    results, halves = batch.whole_pairs([late(90, FOREIGN)])
    assert results.known is not None
    assert results.known.tolist() == [True, False, True, False, False, False]
    assert results.told == 3
    assert [(half.id, half.value, half.pair) for half in halves] == [
        (3, 3.0, 3 * MOST_SLOTS + 1),
        (4, 4.0, 3 * MOST_SLOTS + 2),
    ]
    everything, origins = results.arranged()
    assert origins == (1, 0, 1)
    assert everything.points.x[:, 0].tolist() == [0.0, 2.0, 190.0]


def test_a_late_side_joins_a_half_that_waits_for_it() -> None:
    """Two late ones of the same older pair are a pair; one alone goes on waiting."""
    batch = batch_of(Toy(pairs=True))
    batch.ask_next(0, None)
    for id in range(4):
        batch.tell([id], [1.0], [0.0])
    results, halves = batch.whole_pairs([late(70, 11), late(71, 12), late(80, 11)])
    assert [half.id for half in halves] == [71]
    everything, origins = results.arranged()
    assert origins == (3, 0, 0)
    assert everything.points.x[:, 0].tolist() == [170.0, 0.0, 1.0, 180.0, 2.0, 3.0]


def test_who_knows_no_pairs_does_not_wait() -> None:
    batch = batch_of(Toy())
    asked(batch, 0, 1)
    batch.tell([0], [1.0], [0.0])
    results, halves = batch.whole_pairs([late(70, LONE), late(71, 11)])
    assert halves == []
    assert results.told == 3


def test_two_attempts_at_one_side_are_no_pair() -> None:
    """Two processes may ask the same slot at the same moment (`saltus.optuna`)."""
    optimizer = Optimizer(
        Space([Float(-5, 5)] * 20), strategy="dx-nes-ici", population=6, seed=1, asynchronous=True
    )
    one_side_twice = {0: 0, 1: 0, 2: 1, 3: 4, 4: 2, 5: 5, 6: 6, 7: 7}
    assert optimizer.replay(one_side_twice, {id: (Outcome(float(id)), None) for id in (0, 2, 3, 4, 5, 6, 7)})
    optimizer.ask_as(8)
    told = {id: (Outcome(float(id)), None) for id in (1, *range(10, 16))}  # 1 is the second attempt
    assert optimizer.replay({10 + slot: slot for slot in range(6)}, told)
    assert np.isfinite(optimizer.mean).all()


def test_reset_and_restore() -> None:
    batch = batch_of(Toy())
    asked(batch, 5, 6, 7, 8, 9, 11)
    batch.tell([6], [1.0], [0.5])
    saved = batch.state()
    again = batch_of(Toy())
    again.restore(saved)
    assert again.slots == batch.slots
    assert again.any_slot(None) == batch.any_slot(None) == 6
    again.tell([6], [1.0], [0.5])
    left, right = again.results([]), batch.results([])
    np.testing.assert_array_equal(left.values, right.values)
    assert again.unknown == batch.unknown == 3
    batch.reset()
    assert (batch.slots, batch.told, batch.unknown) == ({}, {}, 4)
    assert batch.any_slot(None) == 0
    assert batch.results([]).told == 0
    assert batch.results([]).violations is None
    batch.restore(saved)
    assert batch.slots == again.slots


@pytest.mark.parametrize("slot", [-1, 99])
def test_slots_that_do_not_exist_are_refused(slot: int) -> None:
    with pytest.raises(ValueError, match=f"the batch has . slots, got slot {slot}"):
        batch_of(Toy(groups=1)).restore([[0, slot]])


def test_no_late_results_have_the_shapes_of_others() -> None:
    empty = joined(Proposals(np.zeros((5, 3)), np.zeros((5, 2))), [])
    assert (empty.points.x.shape, empty.points.plateaus.shape) == ((0, 3), (0, 2))
    assert joined(empty.points, [late(1, LONE)]).violations is None
    some = joined(empty.points, [late(1, LONE, 3.0), late(2, LONE)._replace(violation=0.5)])
    assert some.values.tolist() == [3.0, 1.0]
    assert some.violations is not None
    assert some.violations.tolist() == [0.0, 0.5]
