"""The study file: `study.toml`, read, and checked to the last key."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from .._checks import check_attempts, check_limits, check_seed, did_you_mean, worker_count
from ..execution.addresses import Jobs, check_address
from ..execution.cluster import RECONNECT
from ..execution.command import OWN_NAMES, Command
from ..search.settings import DEFAULT_STRATEGY, STRATEGIES, mirrored
from ..space import Categorical, Encoding, Space
from ..space.variable import Variable
from ..space.variables import Bool, Float, Int, Ordinal
from ..strategy import default_population
from .errors import SettingsError, blaming

TYPES: dict[str, type[Variable]] = {
    "float": Float,
    "int": Int,
    "ordinal": Ordinal,
    "bool": Bool,
    "categorical": Categorical,
}
KEEP = ("never", "failed", "always")
_TYPES_OF_KEYS: dict[str, tuple[tuple[type, ...], str]] = {  # as annotated below; and in words
    "str": ((str,), "text in quotes"),
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
    "tuple[str, ...]": ((list,), "a list of strings"),
}


@dataclass(frozen=True, kw_only=True)
class StudySettings:
    """The table `[study]`: each key, its type and its default."""

    name: str | None = None
    budget: int | None = None
    target: float | None = None
    max_seconds: float | None = None
    patience: int | None = None
    min_gain: float | None = None
    seed: int | None = None
    workers: int = -1
    strategy: str = DEFAULT_STRATEGY
    population: int | None = None
    batch: int | None = None
    direction: str = "minimize"
    timeout: float | None = None
    retries: int = 0
    noisy: bool | None = None
    asynchronous: bool = False
    where: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ObjectiveSettings:
    """The table `[objective]`."""

    python: str | None = None
    command: tuple[str, ...] | None = None
    result: str | None = None
    keep: str = "never"


@dataclass(frozen=True, kw_only=True)
class RunSettings(Jobs):
    """The table `[run]`: where evaluations run; the rest is for jobs of a batch system."""

    on: str | None = None
    reconnect: float = RECONNECT

    @property
    def jobs(self) -> Jobs:
        """What each job of a batch system gets."""
        return Jobs(**{field.name: getattr(self, field.name) for field in fields(Jobs)})


@dataclass(frozen=True)
class StudyFile:
    """A study file that was read and found right."""

    path: Path
    study: StudySettings
    space: Space
    objective: ObjectiveSettings | None
    points: tuple[dict[str, Any], ...] = ()  # to be evaluated first; some variables may be left out
    run: RunSettings = RunSettings()

    @classmethod
    def read(cls, path: Path) -> StudyFile:
        """Read and check a file; a SettingsError says where it is wrong."""
        with blaming(f"{path}: ", SettingsError):
            tables = _tables(path)
            study = _study(tables.get("study", {}))
            space = _space(tables.get("space", {}), study.where)
            objective = _objective(tables["objective"], space) if "objective" in tables else None
            points, run = _points(tables.get("point", []), space), _run(tables.get("run", {}))
            return cls(path, study, space, objective, points, run)

    @property
    def folder(self) -> Path:
        """Where the file is: programs and modules are looked up there."""
        return self.path.absolute().parent

    def population(self, workers: int) -> int:
        """Candidates in a generation: as the file says, else as many as keep so many workers busy."""
        if self.study.population is not None:
            return self.study.population
        if self.study.asynchronous:  # then they are busy anyway
            workers = 1
        return whole_rounds(default_population(self.space.dimension), self.study.strategy, workers)

    def batch(self, workers: int) -> int:
        """Points that a model chooses at a time: as the file says, else one for each worker that waits."""
        if self.study.batch is not None:
            return self.study.batch
        return 1 if self.study.asynchronous else workers


def whole_rounds(population: int, strategy: str, workers: int) -> int:
    """The next larger population that keeps all workers busy to the end of a generation.

    Candidates of a strategy that samples mirrored pairs come in even numbers.

    >>> whole_rounds(6, "saltus", 4), whole_rounds(8, "saltus", 3), whole_rounds(9, "cma-es", 5)
    (8, 12, 10)
    """
    step = math.lcm(workers, 2) if mirrored(strategy) else workers
    return max(4, step * math.ceil(population / step))


# what is wrong is raised without the file's name: `StudyFile.read` puts it in front


def _tables(path: Path) -> dict[str, Any]:
    try:
        tables = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise SettingsError(f"there is no such file; `saltus init {path}` writes one to start from") from None
    except OSError as error:
        raise SettingsError(f"it cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"it is not UTF-8 text: {error}") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"not valid TOML: {error or 'nested too deeply'}") from None
    _no_unknown("", tables, ("study", "space", "objective", "run", "point"))
    for name, table in tables.items():
        if name == "point":
            if not (isinstance(table, list) and all(isinstance(point, dict) for point in table)):
                raise SettingsError("[[point]] must have two brackets on each side: there may be several")
        elif not isinstance(table, dict):
            raise _error(f"[{name}]", "must be a table", table)
    return tables


def _study(table: dict[str, Any]) -> StudySettings:
    settings = StudySettings(**_checked("study", table, StudySettings))
    budget = 1 if settings.budget is None else settings.budget
    with blaming("[study] "):
        check_limits(budget, settings.target, settings.max_seconds, settings.patience, settings.min_gain)
        check_attempts(settings.timeout, settings.retries)
        check_seed(settings.seed)
        worker_count(settings.workers)
    _one_of("[study] strategy", settings.strategy, STRATEGIES)
    _one_of("[study] direction", settings.direction, ("minimize", "maximize"))
    return settings


def _run(table: dict[str, Any]) -> RunSettings:
    settings = RunSettings(**_checked("run", table, RunSettings))
    if settings.on is not None:
        with blaming("[run] on "):
            check_address(settings.on)
    if not settings.reconnect > 0:
        raise _error("[run] reconnect", "must be seconds, more than 0", settings.reconnect)
    if settings.cores < 1:
        raise _error("[run] cores", "must be 1 or more", settings.cores)
    return settings


def _space(table: dict[str, Any], where: tuple[str, ...]) -> Space:
    if not table:
        raise SettingsError("[space] must name at least one variable, got none")
    variables = {name: _variable(name, given) for name, given in table.items()}
    with blaming("[study] " if where else "[space] ", (ValueError, TypeError)):
        space = Space(variables, where=where)
    if not space.dimension:
        raise SettingsError("[space] has nothing to optimise: every variable has one value")
    return space


def _points(given: list[dict[str, Any]], space: Space) -> tuple[dict[str, Any], ...]:
    own = Encoding(space)
    for number, point in enumerate(given, 1):
        with blaming(f"[[point]] {number}: ", (ValueError, TypeError)):
            own.completed(point)
    return tuple(given)


def _variable(name: str, given: Any) -> Variable:
    where = f"[space] {name}"
    if not isinstance(given, dict):
        example = '{ type = "float", low = 0.1, high = 10 }'
        raise _error(where, f"must be a table such as {example}", given)
    if "type" not in given:
        raise SettingsError(f"{where}: 'type' is missing: one of {', '.join(TYPES)}")
    options = dict(given)
    kind = options.pop("type")
    _one_of(f"{where}: type", kind, tuple(TYPES))
    known = fields(TYPES[kind])  # type: ignore[arg-type]  # each kind is a dataclass
    _no_unknown(where, options, [f.name for f in known])
    for field in known:
        if field.default is MISSING and field.name not in options:
            raise SettingsError(f"{where}: {field.name!r} is missing")
    if not isinstance(options.get("log", False), bool):
        raise _error(f"{where}: log", "must be true or false", options["log"])
    if not isinstance(options.get("values", []), list):
        raise _error(f"{where}: values", "must be a list of increasing numbers", options["values"])
    if not isinstance(options.get("choices", []), list):
        raise _error(f"{where}: choices", "must be a list of different values", options["choices"])
    with blaming(f"{where}: ", (ValueError, TypeError, OverflowError)):
        variable = TYPES[kind](**options)
        choices = variable.plain() if isinstance(variable, Categorical) else []
        if any("\0" in choice for choice in choices if isinstance(choice, str)):
            raise ValueError("a choice holds a null character, which no command can be given")
    if name in OWN_NAMES:
        raise SettingsError(f"{where}: this name means something else in commands; choose another")
    return variable


def _objective(table: dict[str, Any], space: Space) -> ObjectiveSettings:
    objective = ObjectiveSettings(**_checked("objective", table, ObjectiveSettings))
    if (objective.python is None) == (objective.command is None):
        given = "neither" if objective.python is None else "both"
        raise SettingsError(f"[objective] must have either python or command, got {given}")
    _one_of("[objective] keep", objective.keep, KEEP)
    if objective.python is None:
        _check_command(objective.command or (), list(space.names or ()))
        return objective
    module, colon, function = objective.python.partition(":")
    if not (colon and function.isidentifier() and all(p.isidentifier() for p in module.split("."))):
        raise _error("[objective] python", "must be 'module:function'", objective.python)
    if "result" in table or "keep" in table:
        raise SettingsError("[objective] result and keep go with a command, not with python")
    return objective


def _check_command(arguments: tuple[str, ...], names: list[str]) -> None:
    if not arguments or not arguments[0]:
        raise SettingsError("[objective] command must name a program, got an empty list")
    if any("\0" in argument for argument in arguments):
        raise SettingsError("[objective] command: an argument holds a null character")
    for unknown in Command(arguments, Path()).unknown_names(names):
        near = did_you_mean(unknown, [*names, *OWN_NAMES])
        itself = f"write {{{{{unknown}}}}} for the text itself"
        raise SettingsError(f"[objective] command: {{{unknown}}} is no variable{near} ({itself})")


def _checked(name: str, table: dict[str, Any], settings: type) -> dict[str, Any]:
    """The values of a table, each of the type that the dataclass gives its key."""
    known = {f.name: str(f.type).removesuffix(" | None") for f in fields(settings)}
    _no_unknown(f"[{name}]", table, list(known))
    return {key: _typed(f"[{name}] {key}", value, known[key]) for key, value in table.items()}


def _typed(where: str, value: Any, kind: str) -> Any:
    classes, words = _TYPES_OF_KEYS[kind]
    right = isinstance(value, classes) and isinstance(value, bool) == (kind == "bool")
    if not right or (classes == (list,) and not all(isinstance(v, str) for v in value)):
        raise _error(where, f"must be {words}", value)
    return tuple(value) if classes == (list,) else value


def _no_unknown(where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            what = f"{where}: unknown key" if where else "unknown table"
            near = did_you_mean(key, known)
            raise SettingsError(f"{what} {key!r}{near} (known: {', '.join(known)})")


def _one_of(where: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        near = did_you_mean(value, choices) if isinstance(value, str) else ""
        raise SettingsError(f"{where} must be one of {', '.join(choices)}, got {value!r}{near}")


def _error(where: str, rule: str, value: Any) -> SettingsError:
    return SettingsError(f"{where} {rule}, got {value!r}")
