"""The ray tracer of `examples/lens` as a function of this process: the same rays and the same numbers.

The example is an awk script, 4 ms for each evaluation; here all rays go through a surface at once. A test
compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from saltus import Space
from saltus._typing import FloatArray
from saltus.space.variable import Variable
from saltus.space.variables import Float
from saltus.study.settings import StudyFile

STUDY = Path(__file__).resolve().parent.parent / "examples" / "lens" / "study.toml"
# indices of refraction at F, d and C, in the order of the example's lists
CROWNS = np.array(
    [
        *([1.49227, 1.48749, 1.48535], [1.52238, 1.51680, 1.51432], [1.54625, 1.53996, 1.53721]),
        *([1.57943, 1.57250, 1.56949], [1.59581, 1.58913, 1.58619], [1.61003, 1.60311, 1.60008]),
        *([1.62756, 1.62041, 1.61727], [1.65934, 1.65160, 1.64821], [1.69979, 1.69100, 1.68716]),
        *([1.72222, 1.71300, 1.70897], [1.76506, 1.75500, 1.75062], [1.78337, 1.77250, 1.76780]),
    ]
)
FLINTS = np.array(
    [
        *([1.63208, 1.62005, 1.61506], [1.66125, 1.64769, 1.64210], [1.68750, 1.67271, 1.66664]),
        *([1.70455, 1.68894, 1.68254], [1.71536, 1.69892, 1.69222], [1.73457, 1.71736, 1.71035]),
        *([1.74643, 1.72828, 1.72091], [1.77477, 1.75513, 1.74719], [1.78228, 1.76182, 1.75356]),
        *([1.80651, 1.78472, 1.77596], [1.82783, 1.80518, 1.79608], [1.87210, 1.84666, 1.83650]),
    ]
)
SURFACES, LIMITS = 6, 5
FOCAL, PUPIL, FIELDS = 100.0, 20.0, np.radians([0.0, 7.0, 10.0])
RINGS, SPOKES = 4, 8
DIGITS = 6  # that the example prints


class Rays(NamedTuple):
    """The rays that are traced, one of each: field, colour, and place in the entrance pupil."""

    field: FloatArray
    colour: FloatArray
    x: FloatArray
    y: FloatArray


def _pupil() -> Rays:
    """All rays of the spots, field after field, then the three chief rays."""
    radii = PUPIL / 2 * np.sqrt((np.arange(1, RINGS + 1) - 0.5) / RINGS)
    turns = math.pi * (np.arange(1, SPOKES + 1) - 0.5) / SPOKES
    x, y = np.outer(radii, np.sin(turns)).ravel(), np.outer(radii, np.cos(turns)).ravel()
    fields, colours = len(FIELDS), 3
    field = np.repeat(FIELDS, colours * len(x))
    colour = np.tile(np.repeat(np.arange(colours), len(x)), fields)
    return Rays(
        np.concatenate((field, FIELDS)),
        np.concatenate((colour, np.ones(fields, dtype=int))),
        np.concatenate((np.tile(x, fields * colours), np.zeros(fields))),
        np.concatenate((np.tile(y, fields * colours), np.zeros(fields))),
    )


RAYS = _pupil()


class Lens(NamedTuple):
    """Six surfaces: curvatures, distances to the next, and the index behind each, by colour."""

    curvature: list[float]
    gap: list[float]
    behind: FloatArray


def space() -> Space:
    """The variables of the example within their bounds; where the example starts is not told to anybody."""
    table = dict(
        zip(StudyFile.read(STUDY).space.names or (), StudyFile.read(STUDY).space.variables, strict=True)
    )
    plain: dict[str, Variable] = {
        name: Float(v.low, v.high) if isinstance(v, Float) else v for name, v in table.items()
    }
    return Space(plain)


def merit(p: Mapping[str, float]) -> tuple[float, list[float]]:
    """The spots' RMS radius in micrometres, and five constraints; NaN if a ray does not get through."""
    air = np.ones(3)
    index = np.array(
        [
            CROWNS[int(p["crown1"]) - 1],
            air,
            FLINTS[int(p["flint"]) - 1],
            air,
            CROWNS[int(p["crown2"]) - 1],
            air,
        ]
    )
    gap = [float(p[name]) for name in ("t1", "air1", "t2", "air2", "t3")]
    lens = Lens([float(p[f"c{i}"]) for i in range(1, SURFACES)], gap, index)
    height, slope = _paraxial(lens, 1.0, 0.0, SURFACES - 1)
    n, h = float(index[4, 1]), height + gap[4] * slope
    failed = math.nan, [math.nan] * LIMITS
    if h <= 0:
        return failed
    lens.curvature.append(-(n * slope + 0.01) / (h * (n - 1)))
    height, slope = _paraxial(lens, 1.0, 0.0, SURFACES)
    if slope >= 0:
        return failed
    focal, back = -1 / slope, -height / slope
    pupil_at = 0.0
    if not p["front"]:
        height, slope = _paraxial(lens, 1.0, 0.0, 2)
        a = height + gap[1] * slope
        height, slope = _paraxial(lens, 0.0, 1.0, 2)
        if a <= 0:
            return failed
        pupil_at = (height + gap[1] * slope) / a
    with np.errstate(all="ignore"):
        traced = _trace(lens, pupil_at)
    return failed if traced is None else _judged(lens, focal, back, *traced)


def _paraxial(lens: Lens, height: float, slope: float, last: int) -> tuple[float, float]:
    """Height at a surface and slope behind it of a paraxial ray of the middle colour."""
    n = 1.0
    for i in range(last):
        if i:
            height += lens.gap[i - 1] * slope
        m = float(lens.behind[i, 1])
        slope = (n * slope - height * lens.curvature[i] * (m - n)) / m
        n = m
    return height, slope


def _trace(lens: Lens, pupil_at: float) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Where the rays leave the last surface, their directions, and the squared reach on each surface.

    None if a ray misses a surface, is reflected or turns back.
    """
    x, y, z = RAYS.x.copy(), RAYS.y.copy(), np.full(len(RAYS.x), pupil_at)
    kx, ky, kz = np.zeros(len(x)), np.sin(RAYS.field), np.cos(RAYS.field)
    before, reach = np.ones(3), np.empty(SURFACES)
    for i, c in enumerate(lens.curvature):
        if i:
            z = z - lens.gap[i - 1]
        s = -z / kz
        x, y = x + s * kx, y + s * ky
        f, g = c * (x * x + y * y), kz - c * (x * kx + y * ky)
        e = g * g - c * f
        if not e.min() >= 0:
            return None
        cosine = np.sqrt(e)
        s = f / (g + cosine)
        x, y, z = x + s * kx, y + s * ky, s * kz
        reach[i] = (x * x + y * y).max()
        ratio = (before / lens.behind[i])[RAYS.colour]
        root = 1 - ratio * ratio * (1 - e)
        if not root.min() >= 0:
            return None
        bend = np.sqrt(root) - ratio * cosine
        kx, ky, kz = ratio * kx - bend * c * x, ratio * ky - bend * c * y, ratio * kz + bend * (1 - c * z)
        if not kz.min() > 0:
            return None
        before = lens.behind[i]
    return np.array([x, y, z]), np.array([kx, ky, kz]), reach


def _judged(
    lens: Lens, focal: float, back: float, place: FloatArray, direction: FloatArray, reach: FloatArray
) -> tuple[float, list[float]]:
    """The value and the constraints, from the rays behind the lens."""
    fields = len(FIELDS)
    u, v = direction[0] / direction[2], direction[1] / direction[2]
    x, y = place[0] + (back - place[2]) * u, place[1] + (back - place[2]) * v
    chief = float(y[-1])
    x, y, u, v = (part[:-fields].reshape(fields, -1) for part in (x, y, u, v))
    rays = x.shape[1]
    sy, st = y.sum(axis=1), v.sum(axis=1)
    spot = (x * x + y * y).sum(axis=1) / rays - (sy / rays) ** 2
    slope = (x * u + y * v).sum(axis=1) / rays - sy * st / rays**2
    cone = (u * u + v * v).sum(axis=1) / rays - (st / rays) ** 2
    shift = -float(slope.mean() / cone.mean())
    value = 1000 * math.sqrt(max(float(spot.mean() + slope.mean() * shift), 0.0))
    distortion = chief / (focal * math.tan(float(FIELDS[-1]))) - 1
    rims = [_rim(lens, reach, i) for i in range(SURFACES - 1)]
    constraints = [
        abs(focal / FOCAL - 1) - 0.01,
        (1 - min(rims[0], rims[2], rims[4])) / 10,
        (0.2 - min(rims[1], lens.gap[1], rims[3], lens.gap[3])) / 10,
        (60 - back - shift) / 100,
        abs(distortion) - 0.02,
    ]
    return round(value, DIGITS), [round(g, DIGITS) for g in constraints]


def _rim(lens: Lens, reach: FloatArray, i: int) -> float:
    """The distance of a surface and the next, 1 mm outside all rays of both."""
    radius = 1 + math.sqrt(max(float(reach[i]), float(reach[i + 1])))
    return lens.gap[i] + _sag(lens.curvature[i + 1], radius) - _sag(lens.curvature[i], radius)


def _sag(c: float, radius: float) -> float:
    inside = 1 - c * c * radius * radius
    return c * radius * radius / (1 + math.sqrt(max(inside, 0.0)))
