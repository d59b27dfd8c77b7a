"""A progress bar, when it is wanted."""

from contextlib import AbstractContextManager, suppress
from importlib.util import find_spec
from typing import Any

from ..optimizer import Optimizer
from .log import Log


class Progress(AbstractContextManager["Progress"]):
    """A tqdm bar of evaluations with the best value and the restarts; no bar without a total."""

    def __init__(self, total: int | None) -> None:
        """Open the bar, for so many evaluations in all; with None, nothing is ever shown."""
        self._bar: Any = None
        if total is not None:
            self._bar = _kind_of_bar()(total=total, unit="eval", dynamic_ncols=True)

    def begin(self, log: Log, optimizer: Optimizer, sign: float) -> None:
        """Show what earlier sessions did, which says nothing about the speed of this one."""
        if self._bar is None or not log.evaluations:
            return
        self._bar.n = self._bar.initial = log.evaluations
        with suppress(OSError):
            self._bar.set_postfix_str(self.described(log, optimizer, sign))

    def step(self, log: Log, optimizer: Optimizer, sign: float) -> None:
        """Show how many evaluations there are now; `sign` turns values back if they are maximised."""
        if self._bar is None:
            return
        with suppress(OSError):  # a terminal that was closed does not end the search
            self._bar.set_postfix_str(self.described(log, optimizer, sign), refresh=False)
            self._bar.update(log.evaluations - self._bar.n)

    @staticmethod
    def described(log: Log, optimizer: Optimizer, sign: float) -> str:
        """Where the search is, in a few words."""
        best = optimizer.best
        text = "none" if best is None else f"{sign * best.value:.6g}"
        if best is not None and not best.feasible:
            text = f"violation {best.violation:.3g}"
        failures = f", failures {log.failures}" if log.failures else ""
        return f"best {text}{failures}, restarts {optimizer.restarts}"

    def __exit__(self, *error: object) -> None:
        """Close the bar, leaving its last line."""
        if self._bar is not None:
            with suppress(OSError):
                self._bar.close()


def _kind_of_bar() -> Any:
    """Of a notebook in a notebook, if it can have one (without ipywidgets tqdm would warn); else of text."""
    try:
        if find_spec("ipywidgets") is None:
            from tqdm import tqdm
        else:
            from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install 'saltus[progress]'") from error
    return tqdm
