"""An optimizer as JSON-able data, and the optimizer of such data, exact to the bit."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from .. import _serialize
from .._typing import FloatArray, Params
from ..result import Best, Candidate
from ..search import Settings
from ..space import Space
from .ask_tell import AskTell

FORMAT = 7  # of states; up to 3, "saltus" was what is "saltus-es" now
_ARGUMENTS = ("mean", "sigma", "asynchronous", "auto_restart")
_COUNTS = ("generation", "evaluations", "failures", "_next_id")

_Made = TypeVar("_Made", bound=AskTell)


def saved(optimizer: AskTell, memory: bool) -> dict[str, Any]:
    """The state of an optimizer, with or without what grows."""
    batch, best = optimizer._batch, optimizer.best
    state: dict[str, Any] = _serialize.pack(
        {
            "format": FORMAT,
            "space": optimizer.space.to_plain(),
            **optimizer._settings._asdict(),
            "without": sorted(optimizer._settings.without),
            "mean": optimizer._encoding.given_mean,
            "sigma": optimizer._encoding.given_sigma,
            "orders": optimizer._encoding.orders,
            "asynchronous": optimizer.asynchronous,
            "auto_restart": optimizer.auto_restart,
            "noticed": optimizer.noisy,
            "counts": {name: getattr(optimizer, name) for name in _COUNTS},
            "best": None if best is None else [best.id, best.value, best.violation, best.x],
            "search": optimizer._search.state(),
            "asked": None if batch is None else batch.state(),
            **optimizer._news.state(),
            "queue": optimizer._queue,
            "started": optimizer._started,
            "rng": _serialize.stream_state(optimizer._rng),
        }
    )
    if memory:
        state["memory"] = optimizer.memory.state()
        state["points"] = _serialize.pack(_asked(optimizer))
    return state


def _asked(optimizer: AskTell) -> list[list[Any]]:
    """What was asked and not learnt from: ids and points."""
    asked = [[id, flown.numbers] for id, flown in optimizer._news.in_flight.items()]
    if optimizer._batch is not None:
        optimizer._decode(optimizer._batch)
        asked += [[id, optimizer._points.x[slot]] for id, slot in optimizer._batch.slots.items()]
    return sorted(asked, key=operator.itemgetter(0))


def correct(optimizer: AskTell, id: int, numbers: FloatArray) -> None:
    """What was asked under this id and not told is this point, whatever this machine would ask now."""
    encoding, batch, in_flight = optimizer._encoding, optimizer._batch, optimizer._news.in_flight
    flown = in_flight.get(id)
    if flown is not None:
        if not np.array_equal(flown.numbers, numbers):
            x, plateaus = encoding.corrected(numbers, flown.x, flown.plateaus)
            in_flight[id] = flown._replace(x=x, plateaus=plateaus, numbers=numbers)
    elif batch is not None:
        slot = batch.slots[id]
        optimizer._decode(batch)
        if not np.array_equal(optimizer._points.x[slot], numbers):
            at = batch.points.x[slot], batch.points.plateaus[slot]
            batch.place(slot, *encoding.corrected(numbers, *at))
            optimizer._points.x[slot], optimizer._points.params[slot] = numbers, encoding.params_of(numbers)


def restored(
    kind: type[_Made], packed: Mapping[str, Any], space: Space | None, asked: Callable[[int], Params] | None
) -> _Made:
    """The optimizer of a state; the arguments are those of `Optimizer.restore`."""
    if packed.get("format") != FORMAT:
        words = f"state: this version reads format {FORMAT}, got {packed.get('format')!r}"
        if packed.get("format") in range(1, FORMAT):
            words += (
                "; an older Saltus wrote it: go on with that one, or begin anew with "
                "strategy='saltus-es', as its 'saltus', which had no model, is called now"
            )
        raise ValueError(words)
    state = _serialize.unpack({name: value for name, value in packed.items() if name != "memory"})
    if space is not None and space.to_plain() != state["space"]:
        raise ValueError("state: it belongs to another space than the one given")
    optimizer = kind(
        Space.from_plain(state["space"]) if space is None else space,
        **{name: state[name] for name in (*Settings._fields, *_ARGUMENTS)},
    )
    encoding, news, size = optimizer._encoding, optimizer._news, (len(optimizer.space),)
    encoding.reorder(state["orders"])
    if state["noticed"] and not optimizer.noisy:
        optimizer._notice()
    optimizer._search.restore(state["search"])
    if packed.get("memory") is not None:
        optimizer.memory.restore(packed["memory"])
    optimizer._rng = _serialize.stream_from(packed["rng"])
    if state["best"] is not None:
        id, value, violation, x = state["best"]
        x = _serialize.shaped(x, size, "x")
        x.setflags(write=False)
        optimizer.best = optimizer._best_before = Best(int(id), float(value), float(violation), x, encoding)
        optimizer._least = optimizer._key_of_best()
    news.restore(state, encoding)
    optimizer._queue = [_serialize.shaped(x, size, "queue") for x in state.get("queue", ())]
    optimizer._started = bool(state.get("started", True))
    for name in _COUNTS:
        setattr(optimizer, name, int(state["counts"][name]))
    slots: dict[int, int] = {}
    if state["asked"] is not None:
        batch = optimizer._make_batch()
        batch.restore(state["asked"])
        slots = batch.slots
        if not optimizer.asynchronous and sorted(slots.values()) != [*range(len(slots))]:
            raise ValueError("state: what was asked of a batch must be its first candidates, got gaps")
    for id, numbers in state.get("points", ()):
        correct(optimizer, int(id), _serialize.shaped(numbers, size, "x"))
    if asked is not None:
        for id in (*slots, *news.in_flight):
            correct(optimizer, id, encoding.numbers_of(asked(id)))
    if slots:
        for id, told in news.told.items():
            if id in slots:
                batch.tell([id], *([number] for number in told))
        optimizer._decode(batch)
        for id, slot in slots.items():
            if id not in batch.told:
                optimizer._given[id] = Candidate(id, optimizer._points.params[slot].copy(), slot)
    for id, flown in news.in_flight.items():
        optimizer._given[id] = Candidate(id, encoding.params_of(flown.numbers))
    return optimizer
