"""What was told since a batch began, until the search learns of it; what of earlier batches is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import _serialize, order
from .._typing import FloatArray
from ..order import Failure, Outcome
from ..search.batch import InFlight, LateResult
from ..space import Encoding


class News:
    """Outcomes by id. Those of points that are not in the batch are kept with the points.

    Attributes:
        told: value and violation of each.
        elsewhere: where, in the user's units, if not in the batch.
        details: outcomes that say more than both.
        in_flight: of earlier batches, what was asked and not told.
        late, strays: results that the phase can learn from besides its batch, and those that only may be the
            best of all.
    """

    def __init__(self) -> None:
        """Nothing was told yet."""
        self.told: dict[int, tuple[float, float]] = {}
        self.elsewhere: dict[int, FloatArray] = {}
        self.details: dict[int, Outcome] = {}
        self.in_flight: dict[int, InFlight] = {}
        self.late: list[LateResult] = []
        self.strays: list[LateResult] = []
        self._late_phase = 1  # the number of the phase that can learn from what is late
        self._returned: dict[int, InFlight] = {}  # was in flight when the batch began
        self._before = (0, 0)  # how many were late or strays when the batch began

    def begin(self, phase: int, enough: int) -> None:
        """A batch of the phase of this number begins; fewer late results than enough only disturb it."""
        if phase != self._late_phase or len(self.late) < enough:
            self.strays += self.late
            self.late = []
        self._late_phase = phase
        self._returned, self._before = {}, (len(self.late), len(self.strays))

    def landed(self, id: int) -> InFlight:
        """What was in flight under this id is told."""
        flown = self._returned[id] = self.in_flight.pop(id)
        return flown

    def hear(self, result: LateResult, numbers: FloatArray, kin: bool) -> None:
        """A result of a point that is not in the batch; whether the phase can learn from it."""
        self.elsewhere[result.id] = numbers
        (self.late if kin else self.strays).append(result)

    def rows(
        self, numbers_of: Callable[[int], FloatArray]
    ) -> tuple[list[int], FloatArray, FloatArray, FloatArray]:
        """Ids, points, values and violations of all that was told; `numbers_of` says where a point lies."""
        ids = sorted(self.told)
        values, violations = np.array([self.told[id] for id in ids]).T
        return ids, np.array([numbers_of(id) for id in ids]), values, violations

    def clear(self) -> None:
        """It is in the memory."""
        self.told, self.elsewhere, self.details = {}, {}, {}

    def forget(self) -> tuple[int, int]:
        """Nothing was told since the batch began; how many of it had failed, were of earlier batches."""
        failures = sum(order.key(*told) == order.WORST for told in self.told.values())
        returned, self._returned = self._returned, {}
        self.in_flight |= returned
        late, strays = self._before
        del self.late[late:], self.strays[strays:]
        self.clear()
        return failures, len(returned)

    def state(self) -> dict[str, Any]:
        """For `restore`."""
        return {
            "news": [[id, *told] for id, told in self.told.items()],
            "elsewhere": [[id, x] for id, x in self.elsewhere.items()],
            "details": [
                [id, o.value, dict(o.constraints), None if o.failure is None else o.failure.name]
                for id, o in self.details.items()
            ],
            "in_flight": [[id, *self.in_flight[id][:-1]] for id in sorted(self.in_flight)],
            "late": [list(result) for result in self.late],
            "strays": [list(result) for result in self.strays],
            "late_phase": self._late_phase,
        }

    def restore(self, state: Mapping[str, Any], encoding: Encoding) -> None:
        """What `state` gave; it is not forgotten."""
        self.told = {int(id): (float(value), float(violation)) for id, value, violation in state["news"]}
        size = (len(encoding.space),)
        self.elsewhere = {int(id): _serialize.shaped(x, size, "x") for id, x in state["elsewhere"]}
        self.details = {
            int(id): Outcome(
                float(value),
                {str(n): float(v) for n, v in constraints.items()},
                None if failure is None else Failure[failure],
            )
            for id, value, constraints, failure in state["details"]
        }
        for id, *at, pair, phase in state["in_flight"]:
            x, plateaus = _located(encoding, *at)
            numbers = encoding.numbers(x[None], plateaus[None])[0]
            self.in_flight[int(id)] = InFlight(x, plateaus, int(pair), int(phase), numbers)
        self.late, self.strays = (list(_results(encoding, state[name])) for name in ("late", "strays"))
        self._late_phase = int(state["late_phase"])
        self._before = len(self.late), len(self.strays)


def _results(encoding: Encoding, rows: list[Any]) -> Iterator[LateResult]:
    for id, *at, pair, value, violation in rows:
        yield LateResult(int(id), *_located(encoding, *at), int(pair), float(value), float(violation))


def _located(encoding: Encoding, x: Any, plateaus: Any) -> tuple[FloatArray, FloatArray]:
    """Coordinates of a point."""
    size = (encoding.lattice.size,)
    return _serialize.shaped(x, (encoding.N,), "x"), _serialize.shaped(plateaus, size, "plateaus")
