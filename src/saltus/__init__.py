"""Saltus: mixed-integer black-box optimisation."""

from ._version import __version__
from .asynchronous import AsynchronousOptimizer
from .candidates import Best, Candidate
from .child import WorkerError
from .minimize import ObjectiveError, minimize
from .optimizer import Optimizer
from .result import History, Result, Stop
from .search import STRATEGIES
from .space import Space
from .study import Study, StudyError, Trial
from .variables import Bool, Float, Int, Ordinal

__all__ = [
    "STRATEGIES",
    "AsynchronousOptimizer",
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
