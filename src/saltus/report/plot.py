"""A chart as SVG: one plotting area, its axes, and marks in it. Colours come from the page's style."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .axis import Axis, Tick
from .words import text

Point = tuple[float, float]
Mark = tuple[float, float, int]  # a point, and its number among those that tell more (`details.py`)

_BOTTOM = 38.0
_LINE = 14.0  # least distance of labels above each other


class Size(NamedTuple):
    """Width and height, room above, width of a character, how many numbers fit on the lower axis."""

    width: float
    height: float
    top: float
    character: float
    across: int


NARROW = Size(360, 270, 24, 7.0, 3)
WIDE = Size(1000, 360, 24, 7.6, 9)
SMALL = Size(360, 200, 8, 7.0, 3)
SQUARE = Size(360, 290, 22, 7.0, 4)


class Plot(NamedTuple):
    """Where things are drawn: an area between two axes, with room for labels left, right and around it."""

    size: Size
    x: Axis
    y: Axis
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    left: float
    right: float

    @property
    def bottom(self) -> float:
        """The lower edge of the plotting area."""
        return self.size.height - _BOTTOM

    def across(self, x: float) -> float:
        """From the left edge."""
        return self.left + self.x.share(x) * (self.size.width - self.left - self.right)

    def down(self, y: float) -> float:
        """From the upper edge."""
        return self.bottom - self.y.share(y) * (self.bottom - self.size.top)

    def dots(self, marks: Sequence[Mark], kind: str) -> str:
        """All dots of a kind as one shape: lines of no length with round ends."""
        return _path(f"dots {kind}", (f"M{self._pair(x, y)}h0" for x, y, _ in marks), marks)

    def crosses(self, marks: Sequence[Mark], kind: str) -> str:
        """All crosses of a kind as one shape."""
        starts = (f"M{_short(self.across(x) - 2)} {_short(self.down(y) - 2)}" for x, y, _ in marks)
        return _path(f"crosses {kind}", (f"{start}l4 4m0-4l-4 4" for start in starts), marks)

    def line(self, pieces: Iterable[Sequence[Point]], kind: str, title: str = "") -> str:
        """A line through points, broken between pieces."""
        path = "".join("M" + "L".join(self._pair(x, y) for x, y in piece) for piece in pieces if piece)
        inner = f"<title>{text(title)}</title>" if title else ""
        return f'<path class="line {kind}" d="{path}">{inner}</path>' if path else ""

    def steps(self, points: Sequence[Point], end: float, kind: str = "best") -> str:
        """A line that keeps each value until the next, and the last until `end`."""
        if not points:
            return ""
        path = "M" + self._pair(*points[0])
        for x, y in points[1:]:
            path += f"H{_short(self.across(x))}V{_short(self.down(y))}"
        return f'<path class="line {kind}" d="{path}H{_short(self.across(end))}"/>'

    def band(self, edges: Sequence[tuple[float, float, float]], kind: str = "band") -> str:
        """The area between two lines, given as (x, low, high)."""
        if len(edges) < 2:
            return ""
        around = [(x, high) for x, _, high in edges] + [(x, low) for x, low, _ in reversed(edges)]
        return f'<path class="{kind}" d="M{"L".join(self._pair(x, y) for x, y in around)}Z"/>'

    def stripe(self, low: float, high: float) -> str:
        """A shaded band across the chart from one value to another: every other plateau of an integer."""
        top, bottom = self.down(high), self.down(low)
        x, width = _short(self.left), _short(self.size.width - self.left - self.right)
        height = _short(bottom - top)
        return f'<rect class="stripe" x="{x}" y="{_short(top)}" width="{width}" height="{height}"/>'

    def verticals(self, xs: Iterable[float]) -> str:
        """Dashed lines from top to bottom."""
        ends = f"{self.size.top:g}V{_short(self.bottom)}"
        return _path("restart", (f"M{_short(self.across(x))} {ends}" for x in xs))

    def uprights(self, xs: Iterable[float]) -> str:
        """Lines of the grid from top to bottom."""
        ends = f"{self.size.top:g}V{_short(self.bottom)}"
        return _path("grid", (f"M{_short(self.across(x))} {ends}" for x in xs))

    def level(self, y: float) -> str:
        """A line across the chart at a height."""
        ends = f"M{_short(self.left)} {_short(self.down(y))}H{_short(self.size.width - self.right)}"
        return f'<path class="level" d="{ends}"/>'

    def heat(self, name: str, image: str) -> str:
        """A shade over the plotting area, as dark as an image is light; no other on the page has its name."""
        place = f'x="{_short(self.left)}" y="{_short(self.size.top)}"'
        size = (
            f'width="{_short(self.size.width - self.left - self.right)}" '
            f'height="{_short(self.bottom - self.size.top)}"'
        )
        shape = f'<image href="{image}" {place} {size} preserveAspectRatio="none"/>'
        return f'<mask id="{name}">{shape}</mask><rect class="heat" mask="url(#{name})" {place} {size}/>'

    def bar(self, end: float, y: float, thickness: float, kind: str, title: str = "") -> str:
        """A bar from 0 to its end, lying at a height."""
        left, right = self.across(0), self.across(end)
        place = f'x="{_short(left)}" y="{_short(self.down(y) - thickness / 2)}"'
        size = f'width="{_short(right - left)}" height="{_short(thickness)}"'
        return f'<rect class="{kind}" {place} {size}><title>{text(title)}</title></rect>'

    def whiskers(self, bars: Iterable[tuple[float, float, float]]) -> str:
        """Error bars as (low, high, y), one shape for all; a margin sets them off from what is below."""
        places = ((self.across(low), self.across(high), self.down(y)) for low, high, y in bars)
        steps = [
            f"M{_short(a)} {_short(down - 4)}v8M{_short(a)} {_short(down)}H{_short(b)}m0-4v8"
            for a, b, down in places
        ]
        return _path("halo", steps) + _path("whisker", steps)

    def beside(self, y: float, left: str, right: str) -> str:
        """Words at a height, on both sides of the plotting area."""
        down = _short(self.down(y) + 4)
        ends = _short(self.left - 8), _short(self.size.width - 2)
        return "".join(
            f'<text class="{kind}" x="{x}" y="{down}">{text(words)}</text>'
            for kind, x, words in zip(("name end", "note end"), ends, (left, right), strict=True)
        )

    def feet(self, xs: Iterable[float]) -> str:
        """Short ticks upwards from the lower edge."""
        return _path("foot", (f"M{_short(self.across(x))} {_short(self.bottom)}v-7" for x in xs))

    def ring(self, x: float, y: float, kind: str, title: str) -> str:
        """A single mark that tells more under the pointer."""
        place = f'cx="{_short(self.across(x))}" cy="{_short(self.down(y))}"'
        return f'<circle class="{kind}" {place} r="4.5"><title>{text(title)}</title></circle>'

    def note(self, x: float, y: float, words: str) -> str:
        """A label that ends at a point, above it; below it where there is no room above."""
        down = self.down(y)
        down += -9 if down - self.size.top > 20 else 20
        return f'<text class="note end" x="{_short(self.across(x))}" y="{_short(down)}">{text(words)}</text>'

    def names(self, entries: Sequence[tuple[float, str, str]]) -> str:
        """Labels right of the plotting area as (y, words, kind), moved apart where they would overlap."""
        ordered = sorted(entries, key=lambda entry: self.down(entry[0]))
        lowest, places = self.size.top - _LINE + 4, []
        for y, _, _ in ordered:
            lowest = max(self.down(y) + 4, lowest + _LINE)
            places.append(lowest)
        highest = self.bottom + _LINE
        for i in reversed(range(len(places))):
            highest = places[i] = min(places[i], highest - _LINE)
        x = _short(self.size.width - self.right + 6)
        return "".join(
            f'<text class="{kind}" x="{x}" y="{_short(place)}">{text(words)}</text>'
            for place, (_, words, kind) in zip(places, ordered, strict=True)
        )

    def svg(self, label: str, *marks: str, x_label: str = "evaluations", y_label: str = "") -> str:
        """The whole chart; `label` is what a screen reader says."""
        size = f'viewBox="0 0 {self.size.width:g} {self.size.height:g}"'
        parts = [f'<svg class="chart" {size} role="img" aria-label="{text(label)}">', *self._axes()]
        end, low = _short(self.size.width - self.right), _short(self.size.height - 5)
        parts.append(f'<text class="axis end" x="{end}" y="{low}">{text(x_label)}</text>')
        if y_label:
            parts.append(f'<text class="axis" x="2" y="11">{text(y_label)}</text>')
        return "".join([*parts, *marks, "</svg>"])

    def _axes(self) -> list[str]:
        parts, left, right = [], _short(self.left), _short(self.size.width - self.right)
        lines, previous = "", self.size.height
        for tick in sorted(self.y_ticks):
            y = self.down(tick.value)
            lines += f"M{left} {_short(y)}H{right}"
            if previous - y >= _LINE:  # else it would run into the one below
                previous = y
                place = f'x="{_short(self.left - 7)}" y="{_short(y + 4)}"'
                parts.append(f'<text class="end" {place}>{text(tick.label)}</text>')
        parts.append(f'<path class="grid" d="{lines}"/>')
        parts.append(f'<path class="base" d="M{left} {_short(self.bottom)}H{right}"/>')
        free = -self.size.width
        for tick in self.x_ticks:
            half = self.size.character / 2 * len(tick.label)
            x = min(self.across(tick.value), self.size.width - half)
            if x - half < free:  # else it would run into the one before
                continue
            free = x + half + 2
            place = f'x="{_short(x)}" y="{_short(self.bottom + 16)}"'
            parts.append(f'<text class="middle" {place}>{text(tick.label)}</text>')
        return parts

    def _pair(self, x: float, y: float) -> str:
        return f"{_short(self.across(x))} {_short(self.down(y))}"


def _path(kind: str, steps: Iterable[str], marks: Sequence[Mark] = ()) -> str:
    path = "".join(steps)
    told = f' data-i="{" ".join(str(i) for _, _, i in marks)}"' if marks else ""
    return f'<path class="{kind}" d="{path}"{told}/>' if path else ""


def _short(v: float) -> str:
    return f"{v:.1f}".removesuffix(".0")
