"""The study file: `study.toml`, read, and checked to the last key."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from .._checks import check_attempts, check_limits, check_seed, did_you_mean, worker_count
from ..execution.command import OWN_NAMES, Command
from ..optimizer import DEFAULT_STRATEGY
from ..search import STRATEGIES, mirrored
from ..space import Space
from ..space.variables import Bool, Float, Int, Ordinal, Variable
from ..strategy import default_population
from .errors import SettingsError

TYPES: dict[str, type[Variable]] = {"float": Float, "int": Int, "ordinal": Ordinal, "bool": Bool}
KEEP = ("never", "failed", "always")


@dataclass(frozen=True, kw_only=True)
class StudySettings:
    """The table `[study]`: each key, its type and its default."""

    name: str | None = None
    budget: int | None = None
    target: float | None = None
    max_seconds: float | None = None
    seed: int | None = None
    workers: int = -1
    strategy: str = DEFAULT_STRATEGY
    population: int | None = None
    direction: str = "minimize"
    timeout: float | None = None
    retries: int = 0
    noisy: bool = False


@dataclass(frozen=True, kw_only=True)
class ObjectiveSettings:
    """The table `[objective]`."""

    python: str | None = None
    command: tuple[str, ...] | None = None
    result: str | None = None
    keep: str = "never"


@dataclass(frozen=True)
class StudyFile:
    """A study file that was read and found right."""

    path: Path
    study: StudySettings
    space: Space
    objective: ObjectiveSettings | None

    @classmethod
    def read(cls, path: Path) -> StudyFile:
        """Read and check a file; a SettingsError says where it is wrong."""
        return _Reader(path).file()

    @property
    def folder(self) -> Path:
        """Where the file is: programs and modules are looked up there."""
        return self.path.absolute().parent

    def population(self, workers: int) -> int:
        """Candidates in a generation: as the file says, else as many as keep so many workers busy."""
        if self.study.population is not None:
            return self.study.population
        return whole_rounds(default_population(self.space.dimension), self.study.strategy, workers)


def whole_rounds(population: int, strategy: str, workers: int) -> int:
    """The next larger population that keeps all workers busy to the end of a generation.

    Candidates of a strategy that samples mirrored pairs come in even numbers.

    >>> whole_rounds(6, "saltus", 4), whole_rounds(8, "saltus", 3), whole_rounds(9, "cma-es", 5)
    (8, 12, 10)
    """
    step = math.lcm(workers, 2) if mirrored(strategy) else workers
    return max(4, step * math.ceil(population / step))


class _Reader:
    """Goes through the tables of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self) -> StudyFile:
        tables = self._tables()
        self._no_unknown("", tables, ("study", "space", "objective"))
        for name in ("study", "space", "objective"):
            if not isinstance(tables.get(name, {}), dict):
                raise self._error(f"[{name}]", "must be a table", tables[name])
        study = self._study(tables.get("study", {}))
        space = self._space(tables.get("space", {}))
        objective = None
        if "objective" in tables:
            objective = self._objective(tables["objective"], space)
        return StudyFile(self.path, study, space, objective)

    def _tables(self) -> dict[str, Any]:
        try:
            text = self.path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            raise SettingsError(
                f"{self.path}: there is no such file; `saltus init {self.path}` writes one to start from"
            ) from None
        except OSError as error:
            raise SettingsError(f"{self.path}: it cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise SettingsError(f"{self.path}: it is not UTF-8 text: {error}") from None
        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
            raise SettingsError(f"{self.path}: not valid TOML: {error or 'nested too deeply'}") from None

    def _study(self, table: dict[str, Any]) -> StudySettings:
        settings = StudySettings(**self._checked("study", table, StudySettings))
        try:
            check_limits(
                1 if settings.budget is None else settings.budget, settings.target, settings.max_seconds
            )
            check_attempts(settings.timeout, settings.retries)
            check_seed(settings.seed)
            worker_count(settings.workers)
        except ValueError as error:
            raise SettingsError(f"{self.path}: [study] {error}") from None
        self._one_of("[study] strategy", settings.strategy, STRATEGIES)
        self._one_of("[study] direction", settings.direction, ("minimize", "maximize"))
        return settings

    def _space(self, table: dict[str, Any]) -> Space:
        if not table:
            raise SettingsError(f"{self.path}: [space] must name at least one variable, got none")
        variables = {}
        for name, given in table.items():
            variables[name] = self._variable(f"[space] {name}", given)
            if name in OWN_NAMES:
                raise SettingsError(
                    f"{self.path}: [space] {name}: this name means something else in commands; choose another"
                )
        space = Space(variables)
        if not space.dimension:
            raise SettingsError(f"{self.path}: [space] has nothing to optimise: every variable has one value")
        return space

    def _variable(self, where: str, given: Any) -> Variable:
        example = '{ type = "float", low = 0.1, high = 10 }'
        if not isinstance(given, dict):
            raise self._error(where, f"must be a table such as {example}", given)
        if "type" not in given:
            raise SettingsError(f"{self.path}: {where}: 'type' is missing: one of {', '.join(TYPES)}")
        kind = given["type"]
        self._one_of(f"{where}: type", kind, tuple(TYPES))
        options = {key: value for key, value in given.items() if key != "type"}
        known = fields(TYPES[kind])  # type: ignore[arg-type]  # each kind is a dataclass
        self._no_unknown(where, options, [f.name for f in known])
        for field in known:
            if field.default is MISSING and field.name not in options:
                raise SettingsError(f"{self.path}: {where}: {field.name!r} is missing")
        if not isinstance(options.get("log", False), bool):
            raise self._error(f"{where}: log", "must be true or false", options["log"])
        if not isinstance(options.get("values", []), list):
            raise self._error(f"{where}: values", "must be a list of increasing numbers", options["values"])
        try:
            return TYPES[kind](**options)
        except (ValueError, TypeError, OverflowError) as error:
            raise SettingsError(f"{self.path}: {where}: {error}") from None

    def _objective(self, table: dict[str, Any], space: Space) -> ObjectiveSettings:
        objective = ObjectiveSettings(**self._checked("objective", table, ObjectiveSettings))
        if (objective.python is None) == (objective.command is None):
            raise SettingsError(
                f"{self.path}: [objective] must have either python or command, got "
                f"{'neither' if objective.python is None else 'both'}"
            )
        self._one_of("[objective] keep", objective.keep, KEEP)
        if objective.python is not None:
            module, colon, function = objective.python.partition(":")
            if not (colon and function.isidentifier() and all(p.isidentifier() for p in module.split("."))):
                raise self._error("[objective] python", "must be 'module:function'", objective.python)
            if "result" in table or "keep" in table:
                raise SettingsError(
                    f"{self.path}: [objective] result and keep go with a command, not with python"
                )
        else:
            self._check_command(objective.command or (), space)
        return objective

    def _check_command(self, arguments: tuple[str, ...], space: Space) -> None:
        if not arguments or not arguments[0]:
            raise SettingsError(f"{self.path}: [objective] command must name a program, got an empty list")
        if any("\0" in argument for argument in arguments):
            raise SettingsError(f"{self.path}: [objective] command: an argument holds a null character")
        names = list(space.names or ())
        for unknown in Command(arguments, self.path.parent).unknown_names(names):
            raise SettingsError(
                f"{self.path}: [objective] command: {{{unknown}}} is no variable"
                f"{did_you_mean(unknown, [*names, *OWN_NAMES])} "
                f"(write {{{{{unknown}}}}} for the text itself)"
            )

    def _checked(self, name: str, table: dict[str, Any], settings: type) -> dict[str, Any]:
        """The values of a table, each of the type that the dataclass gives its key."""
        known = {f.name: str(f.type) for f in fields(settings)}
        self._no_unknown(f"[{name}]", table, list(known))
        return {key: self._typed(f"[{name}] {key}", value, known[key]) for key, value in table.items()}

    def _typed(self, where: str, value: Any, kind: str) -> Any:
        kind = kind.removesuffix(" | None")
        if kind == "tuple[str, ...]":
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise self._error(where, "must be a list of strings, the program first", value)
            return tuple(value)
        classes: Mapping[str, tuple[type[Any] | tuple[type[Any], ...], str]] = {
            "str": (str, "text in quotes"),
            "int": (int, "a whole number"),
            "float": ((int, float), "a number"),
            "bool": (bool, "true or false"),
        }
        expected, words = classes[kind]
        if not isinstance(value, expected) or (kind != "bool" and isinstance(value, bool)):
            raise self._error(where, f"must be {words}", value)
        return value

    def _no_unknown(self, where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                kind = "table" if not where else "key"
                place = f"{where}: " if where else ""
                raise SettingsError(
                    f"{self.path}: {place}unknown {kind} {key!r}{did_you_mean(key, known)} "
                    f"(known: {', '.join(known)})"
                )

    def _one_of(self, where: str, value: Any, choices: Sequence[str]) -> None:
        if value not in choices:
            near = did_you_mean(value, choices) if isinstance(value, str) else ""
            raise SettingsError(
                f"{self.path}: {where} must be one of {', '.join(choices)}, got {value!r}{near}"
            )

    def _error(self, where: str, rule: str, value: Any) -> SettingsError:
        return SettingsError(f"{self.path}: {where} {rule}, got {value!r}")
