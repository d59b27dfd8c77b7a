"""The report, served while a study runs."""

import argparse
import signal
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ..watch import Server
from .codes import DONE
from .lines import say
from .studies import opened


def watch(options: argparse.Namespace) -> int:
    """Serve the report on this machine; the page changes by itself while the study runs. Ctrl-C ends it.

    The record is only read. At any other address than 127.0.0.1 a token is needed, which is part of the
    address that is printed.
    """
    study = opened(options.study, options.db)
    done = threading.Event()
    with (
        _asked_to_end(done),
        Server(study, address=options.address, port=options.port, token=options.token) as server,
    ):
        print(server.url, flush=True)
        if options.while_stdin:
            threading.Thread(target=_until_stdin_ends, args=(done,), daemon=True).start()
        else:
            say("Open it in a browser. Ctrl-C ends this; the study does not notice.")
        if options.open:
            webbrowser.open(server.url)
        while not done.wait(1.0):  # a wait without an end could not be interrupted everywhere
            pass
    return DONE


def _until_stdin_ends(done: threading.Event) -> None:
    while sys.stdin.read(4096):
        pass
    done.set()


@contextmanager
def _asked_to_end(done: threading.Event) -> Iterator[None]:
    """Ctrl-C and a polite kill set the event instead of breaking off."""

    def end(number: int, frame: FrameType | None) -> None:
        done.set()

    kinds = (signal.SIGINT, signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [signal.signal(kind, end) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
