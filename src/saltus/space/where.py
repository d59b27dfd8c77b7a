"""Known constraints: what can be said of a point without evaluating it.

A rule is a function that says whether a point is allowed, or a line of text such as "2*a + b <= 10", which is
linear in the variables. Text is parsed here and never executed.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._checks import did_you_mean
from .._typing import FloatArray, Mask

if TYPE_CHECKING:
    from .activity import Activity
    from .variable import Variable

Rule = str | Callable[[Any], bool]  # as users give them

LONGEST = 10_000  # characters of a rule
DEEPEST = 50  # brackets within brackets
LISTED = 10  # names in a message
ROUNDING = 1e-12  # relative to its terms, by which a sum of values as written may be above its limit
_EPS = float(np.finfo(float).eps)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)|(?P<sign><=|>=|==|!=|.))",
    re.DOTALL,
)


class Sum(NamedTuple):
    """A number for each name, and one besides."""

    terms: dict[str, float]
    rest: float

    def plus(self, other: Sum, times: float = 1.0) -> Sum:
        """The sum of both."""
        terms = dict(self.terms)
        for name, factor in other.terms.items():
            terms[name] = terms.get(name, 0.0) + times * factor
        return Sum(terms, self.rest + times * other.rest)

    def times(self, factor: float) -> Sum:
        """A multiple of it."""
        return Sum({name: factor * each for name, each in self.terms.items()}, factor * self.rest)


class Linear(NamedTuple):
    """A sum of variables, each with a factor, that must not be above a limit."""

    text: str
    factors: FloatArray  # one for each variable of the space
    limit: float
    slack: float  # relative to its terms: above 0 it is looser, below 0 stricter, for rounding

    def excess(self, numbers: FloatArray, given: bool = False) -> FloatArray:
        """By how much points, one row each, are above the limit, relative to its terms; 0 where allowed.

        What somebody has given is as it was written, and may be on the limit itself.
        """
        found = numbers @ self.factors
        size = np.abs(numbers) @ np.abs(self.factors) + abs(self.limit)
        above = found - self.limit - (ROUNDING if given else self.slack) * size
        scale = float(np.abs(self.factors).sum())
        return np.asarray(np.where(above > 0.0, np.maximum(above / scale, 1e-300), 0.0))


class _Parser:
    """Reads one rule; all errors name the place."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text, self.names, self.deep = text, names, 0
        self.tokens: list[tuple[str, str, int]] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                raise self.error("cannot be read", at)
            kind = found.lastgroup
            self.tokens.append((kind, found[kind], found.start(kind)))
            at = found.end()
        self.tokens.append(("end", "", len(text)))
        self.next = 0

    def error(self, words: str, at: int, hint: str = "") -> ValueError:
        return ValueError(f"where: {self.text!r} {words}, at character {at + 1}{hint}")

    def unknown(self, word: str) -> str:
        """What may help with a name that is none."""
        odd = next((name for name in self.names if not name.isidentifier() and name in self.text), None)
        if odd is not None:
            return f"; {odd!r} cannot stand in text: give a function instead"
        return did_you_mean(word, self.names) or f"; there are {', '.join(self.names[:LISTED])}"

    def sign(self, *signs: str) -> str | None:
        """The next token, if it is one of these signs."""
        kind, word, _ = self.tokens[self.next]
        if kind != "sign" or word not in signs:
            return None
        self.next += 1
        return word

    def rule(self) -> list[Sum]:
        """Sums that must not be above 0: one for each comparison of a chain."""
        left, found = self.sum(), []
        while True:
            kind, word, at = self.tokens[self.next]
            compared = self.sign("<=", ">=", "<", ">")
            if compared is None:
                break
            right = self.sum()
            found.append(left.plus(right, -1.0) if compared[0] == "<" else right.plus(left, -1.0))
            if not any(found[-1].terms.values()):
                raise self.error("compares no variables", at)
            left = right
        if word in ("==", "=", "!="):
            raise self.error(
                "must have <= or >=: an equality leaves no room; express one variable by the others", at
            )
        if kind != "end":
            several = "; several rules are a list" if word in ("and", "&", ",", ";") else ""
            raise self.error(f"must go on with an operator, not with {word!r}", at, several)
        if not found:
            raise self.error("must compare something, with <= or >=", at)
        return found

    def sum(self) -> Sum:
        found = self.product()
        while sign := self.sign("+", "-"):
            found = found.plus(self.product(), 1.0 if sign == "+" else -1.0)
        return found

    def product(self) -> Sum:
        found = self.factor()
        while True:
            at = self.tokens[self.next][2]
            sign = self.sign("*", "/")
            if sign is None:
                return found
            other = self.factor()
            if sign == "/":
                if other.terms or other.rest == 0.0:
                    raise self.error("must divide by a number other than 0", at)
                found = found.times(1.0 / other.rest)
            elif found.terms and other.terms:
                raise self.error("multiplies variables with each other: give a function instead", at)
            else:
                found = found.times(other.rest) if found.terms else other.times(found.rest)

    def factor(self) -> Sum:
        kind, word, at = self.tokens[self.next]
        self.next += 1
        if kind == "number":
            return Sum({}, float(word))
        if kind == "name":
            if word not in self.names:
                raise self.error(f"has an unknown name, {word!r}", at, self.unknown(word))
            return Sum({word: 1.0}, 0.0)
        self.deep += 1
        if self.deep > DEEPEST:
            raise self.error("is nested too deeply", at)
        if word in ("-", "+"):
            found = self.factor().times(-1.0 if word == "-" else 1.0)
        elif word == "(":
            found = self.sum()
            if self.sign(")") is None:
                raise self.error("has a bracket that is not closed", at)
        elif kind == "end":
            raise self.error("ends where a number or a name should be", at)
        else:
            hint = "; text is linear, a function can say anything"
            raise self.error(f"must have a number or a name, not {word!r}", at, hint)
        self.deep -= 1
        return found


def linear(text: str, names: Sequence[str], variables: Sequence[Variable]) -> list[Linear]:
    """The rules that a line of text says: one, or several for a chain of comparisons.

    >>> from saltus import Float
    >>> (rule,) = linear("2*(a - 1) <= b", ["a", "b"], [Float(0, 9), Float(0, 9)])
    >>> rule.factors.tolist(), rule.limit
    ([2.0, -1.0], 2.0)
    """
    if len(text) > LONGEST:
        raise ValueError(f"where: a rule has at most {LONGEST:,} characters, got {len(text):,}")
    rules = []
    for found in _Parser(text, names).rule():
        factors = np.array([found.terms.get(name, 0.0) for name in names])
        limit = 0.0 - found.rest
        if not (np.isfinite(factors).all() and math.isfinite(limit)):
            raise ValueError(f"where: {text!r} has numbers that a float cannot hold")
        used = [variable for variable, factor in zip(variables, factors, strict=True) if factor]
        for name, variable in zip(names, variables, strict=True):
            if name in found.terms and not variable.ordered:
                raise ValueError(
                    f"where: {text!r}: {name} is a Categorical, which has no number; give a function instead"
                )
        sizes = np.abs(factors[factors != 0.0])
        exact = bool((sizes == 1.0).all()) and (len(used) == 1 or (len(used) == 2 and limit == 0.0))
        if all(variable.discrete for variable in used):
            slack = ROUNDING
        else:  # however a user adds up, it is not above
            slack = 0.0 if exact else -4 * len(used) * _EPS
        rules.append(Linear(text, factors, limit, slack))
    return rules


class Where:
    """All rules of a space.

    Attributes:
        given: the rules as they were given.
        linear: those that are text.
        functions: the others.
    """

    def __init__(
        self,
        given: Any,
        names: Sequence[str],
        variables: Sequence[Variable],
        activity: Activity | None = None,
    ) -> None:
        """Take one rule or several; `activity` says where variables are active, if not everywhere."""
        self._activity = activity
        alone = isinstance(given, str) or callable(given) or not isinstance(given, Iterable)
        self.given: tuple[Rule, ...] = (given,) if alone else tuple(given)
        self.linear: list[Linear] = []
        self.functions: list[Callable[[Any], bool]] = []
        for rule in self.given:
            if isinstance(rule, str):
                self.linear += linear(rule, names, variables)
            elif callable(rule):
                self.functions.append(rule)
            else:
                raise TypeError(
                    "where takes text such as '2*a + b <= 10', a function that says whether a point is "
                    f"allowed, or a list of them, got {rule!r}"
                )

    def excess(
        self, numbers: FloatArray, params: Callable[[FloatArray], list[Any]], given: bool = False
    ) -> FloatArray:
        """By how much points break the rules: 0 where all hold, and 1 for each function that says no.

        Args:
            numbers: one row each, in the user's order and units.
            params: makes what functions get of some of these rows.
            given: whether somebody has given these points, and no search.
        """
        found = np.zeros(len(numbers))
        for rule, spoken_of in zip(self.linear, self.about(numbers).T, strict=True):
            found += np.where(spoken_of, rule.excess(numbers, given), 0.0)
        if self.functions:
            rows = np.flatnonzero(found == 0.0)
            points = params(numbers[rows])
            for function in self.functions:
                found[rows] += [not said for said in _answers(function, points)]
        return found

    def about(self, numbers: FloatArray) -> Mask:
        """Of which points, one row each, the linear rules, one column each, say anything.

        All variables of a rule have to be active there.
        """
        active = np.ones(numbers.shape, bool) if self._activity is None else self._activity.active(numbers)
        columns = [active[:, rule.factors != 0.0].all(axis=1) for rule in self.linear]
        return np.array(columns, dtype=bool).reshape(len(self.linear), len(numbers)).T

    def broken(self, numbers: FloatArray, params: Any) -> str | None:
        """The first rule that a point breaks that somebody has given, or None."""
        about = zip(self.linear, self.about(numbers[None])[0], strict=True)
        linear = (
            r.text for r, spoken_of in about if spoken_of and r.excess(numbers[None], given=True)[0] > 0
        )
        functions = (_name(function) for function in self.functions if not _answers(function, [params])[0])
        return next(itertools.chain(linear, functions), None)

    def plain(self) -> list[str]:
        """As JSON-able data: text as it is, functions by their names, which can be compared, not called."""
        return [rule if isinstance(rule, str) else f"function {_name(rule)}" for rule in self.given]


def _answers(function: Callable[[Any], bool], points: list[Any]) -> list[bool]:
    """What a function says of each point."""
    answers = [function(point) for point in points]
    for said in answers:
        if said is not True and said is not False and not isinstance(said, np.bool_):
            raise TypeError(
                f"where: {_name(function)} must say True or False, whether a point is allowed, got {said!r}"
            )
    return answers


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def is_function(plain: str) -> bool:
    """Whether this stands for a function in what `Where.plain` gave."""
    return plain.startswith("function ")
