"""What Ctrl-C does to a study that is running."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from ..execution.driver import Driver
from ..execution.evaluator import Evaluator


@contextmanager
def interruptible(driver: Driver, evaluator: Evaluator, say: Callable[[str], None]) -> Iterator[None]:
    """While this lasts, Ctrl-C waits for what is running; a second one, or a request to terminate, ends it.

    The search then returns in order, with its record whole. Only the main thread can listen: elsewhere
    signals do what they did before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the business of the main thread
        return

    def handle(number: int, frame: FrameType | None) -> None:
        again = driver.interrupted
        driver.interrupt()
        evaluator.finish()
        if number == signal.SIGINT and not again:
            say("waiting for running evaluations; Ctrl-C again ends them")
        else:
            evaluator.end()

    numbers = [signal.SIGINT, signal.SIGTERM]
    if sys.platform == "win32":
        numbers.append(signal.SIGBREAK)
    else:
        numbers.append(signal.SIGHUP)  # its terminal is closed
    heard = [n for n in numbers if signal.getsignal(n) not in (signal.SIG_IGN, None)]  # not after nohup
    before = {number: signal.signal(number, handle) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
