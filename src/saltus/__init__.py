"""Saltus: mixed-integer black-box optimisation."""

from ._version import __version__
from .execution.worker_process import WorkerError
from .minimize import ObjectiveError, minimize
from .optimizer import Optimizer
from .order import Failure, Outcome
from .result import Best, Candidate, History, Result
from .search import STRATEGIES
from .search.stopping import Stop
from .space import Space
from .space.variables import Bool, Float, Int, Ordinal
from .study import Study, StudyError, Trial

__all__ = ["STRATEGIES", "Bool", "Float", "Int", "Ordinal", "Space", "__version__", "minimize"]
__all__ += ["Best", "Candidate", "Failure", "History", "Optimizer", "Outcome", "Result", "Stop"]
__all__ += ["ObjectiveError", "Study", "StudyError", "Trial", "WorkerError"]
