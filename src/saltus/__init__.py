"""Saltus: mixed-integer black-box optimisation."""

from ._version import __version__
from .execution.worker_process import WorkerError
from .minimize import ObjectiveError, minimize
from .optimizer import Optimizer
from .result import Best, Candidate, History, Result
from .search import STRATEGIES
from .search.stopping import Stop
from .space import Space
from .space.variables import Bool, Float, Int, Ordinal
from .study import Study, StudyError, Trial

__all__ = [
    "STRATEGIES",
    "Best",
    "Bool",
    "Candidate",
    "Float",
    "History",
    "Int",
    "ObjectiveError",
    "Optimizer",
    "Ordinal",
    "Result",
    "Space",
    "Stop",
    "Study",
    "StudyError",
    "Trial",
    "WorkerError",
    "__version__",
    "minimize",
]
