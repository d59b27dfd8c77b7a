"""Saltus: mixed-integer black-box optimisation."""

import logging
from typing import TYPE_CHECKING

from ._version import __version__
from .execution.evaluation import NotCountedError
from .execution.worker_process import WorkerError
from .minimize import ObjectiveError, minimize
from .optimizer import Optimizer
from .order import Failure, Outcome
from .result import Best, Candidate, Evaluation, History, Result
from .search import STRATEGIES
from .search.learnt import Expected, Share
from .search.recommendation import Recommended
from .search.stopping import Stop
from .space import Categorical, Space, at_least, at_most
from .space.variables import Bool, Float, Int, Ordinal

if TYPE_CHECKING:
    from .study import Study, StudyError, Trial

__all__ = ["STRATEGIES", "Bool", "Categorical", "Float", "Int", "Ordinal", "Space"]
__all__ += ["__version__", "at_least", "at_most", "minimize"]
__all__ += ["Best", "Candidate", "Evaluation", "Failure", "History", "Optimizer", "Outcome", "Result", "Stop"]
__all__ += [
    "Expected",
    "NotCountedError",
    "ObjectiveError",
    "Recommended",
    "Share",
    "Study",
    "StudyError",
    "Trial",
    "WorkerError",
]

logging.getLogger("saltus").addHandler(logging.NullHandler())  # silent, unless the user wants to read it

if not TYPE_CHECKING:  # a checker knows the names from above, and is to complain about others

    def __getattr__(name: str) -> object:
        """Studies, when somebody asks for them: worker processes and most searches need no database."""
        if name in ("Study", "StudyError", "Trial"):
            from . import study

            return getattr(study, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """All names, also those that are not loaded yet."""
        return sorted({*globals(), *__all__})
