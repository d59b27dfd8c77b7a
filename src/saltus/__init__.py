"""Saltus: mixed-integer black-box optimisation.

A name is loaded when it is first used, with what it needs and no more: `import saltus` itself loads no NumPy,
a search in this process no worker processes, and only a study a database.
"""

import logging
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:  # what a checker sees; `_HOME` says the same to Python, and a test compares them
    from . import plot as plot
    from . import problems as problems
    from ._minimize import minimize
    from .execution.driver import ObjectiveError
    from .execution.evaluation import NotCountedError, WorkerError
    from .optimizer import Optimizer
    from .order import Failure, Outcome
    from .result import Best, Candidate, Evaluation, History, Result
    from .search import STRATEGIES
    from .search.learnt import Expected, Share
    from .search.recommendation import Recommended
    from .search.stopping import Stop
    from .space import Categorical, Space, at_least, at_most
    from .space.variables import Bool, Float, Int, Ordinal
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

_HOME = {  # the module that defines them: the names that it gives
    "_minimize": ("minimize",),
    "execution.driver": ("ObjectiveError",),
    "execution.evaluation": ("NotCountedError", "WorkerError"),
    "optimizer": ("Optimizer",),
    "order": ("Failure", "Outcome"),
    "result": ("Best", "Candidate", "Evaluation", "History", "Result"),
    "search": ("STRATEGIES",),
    "search.learnt": ("Expected", "Share"),
    "search.recommendation": ("Recommended",),
    "search.stopping": ("Stop",),
    "space": ("Categorical", "Space", "at_least", "at_most"),
    "space.variables": ("Bool", "Float", "Int", "Ordinal"),
    "study": ("Study", "StudyError", "Trial"),
}
_ROOMS = (
    *("execution", "model", "optimizer", "order", "plot", "problems", "result"),
    *("search", "space", "strategy", "study"),
)

if not TYPE_CHECKING:  # a checker knows the names from above, and is to complain about others

    def __getattr__(name: str) -> object:
        """A name of the library, loaded when somebody first asks for it."""
        from importlib import import_module

        if name in _ROOMS:
            return import_module(f".{name}", __name__)
        for module, names in _HOME.items():
            if name in names:
                value = getattr(import_module(f".{module}", __name__), name)
                globals()[name] = value  # found at once the next time
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """All names, also those that are not loaded yet."""
        return sorted({*globals(), *__all__})
