"""The parts of the page as they change: one thread reads the record, another makes the model."""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import suppress

from ..report.insight import Insight, insight
from ..report.page import document, parts
from ..report.reader import Reader, Seen
from ..report.words import count, text
from ..study import Study, StudyError

POLL = 0.2  # seconds between looks at the record's files
PAUSE = 0.4  # seconds at least between two versions of the page, ...
SHARE = 0.5  # ... and of the time, at most, that is spent on making them
MODEL_PAUSE, MODEL_SHARE = 3.0, 0.1  # the same of the model
IN_ONE_GO = 4.0  # seconds of reading a long record until the page says how far it is; the first time at once
LOOKED_AT = 600  # evaluations that the model is chosen from


class Feed:
    """The page of a study, now and whenever it changes.

    Attributes:
        name: of the study.
    """

    def __init__(self, study: Study) -> None:
        """Read the record for the first time; of a long one, the beginning."""
        self.name = study.head.name
        self._study, self._reader = study, Reader(study)
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._epoch, self._number = secrets.token_hex(4), 0
        self._parts: dict[str, str] = {}
        self._since: dict[str, int] = {}  # the version with which a part became what it is
        self._insight: Insight | None = None
        self._learnt = threading.Event()  # there is another insight
        self._signs = self._reader.signs()
        self._seen: Seen | None = None
        self._refresh()
        self._threads = [
            threading.Thread(target=loop, name=f"saltus-watch-{loop.__name__}", daemon=True)
            for loop in (self._follow, self._learn)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def version(self) -> str:
        """A name for what the page is now."""
        with self._changed:
            return f"{self._epoch}-{self._number}"

    def page(self) -> str:
        """The whole page."""
        with self._changed:
            return document(self.name, dict(self._parts), live=f"{self._epoch}-{self._number}")

    def changes(self, since: str) -> tuple[str, dict[str, str]]:
        """The version now, and the parts that have changed since another: all, if that is not known."""
        epoch, _, number = since.partition("-")
        with self._changed:
            first = int(number) if epoch == self._epoch and number.isdecimal() and len(number) < 19 else -1
            new = {name: html for name, html in self._parts.items() if self._since[name] > first}
            return f"{self._epoch}-{self._number}", new

    def wait(self, version: str | None, timeout: float) -> str:
        """The version now, as soon as it is another than this one, or after so many seconds."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed.is_set() or f"{self._epoch}-{self._number}" != version, timeout
            )
            return f"{self._epoch}-{self._number}"

    @property
    def closed(self) -> bool:
        """Whether nothing will come any more."""
        return self._closed.is_set()

    def close(self) -> None:
        """Stop reading; whoever waits is woken."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()
        self._threads[0].join(timeout=10)  # the model is not waited for

    def _follow(self) -> None:
        """Make the page anew whenever the record, or what the model tells, has changed."""
        while not self._closed.wait(POLL):
            signs = self._reader.signs()
            unfinished = self._seen is not None and not self._seen.complete
            if signs == self._signs and not self._learnt.is_set() and not unfinished:
                continue
            self._signs = signs
            self._learnt.clear()
            begun = time.monotonic()
            self._refresh()
            spent = time.monotonic() - begun
            self._closed.wait(0.0 if unfinished else max(PAUSE - spent, spent * (1 / SHARE - 1)))

    def _refresh(self) -> None:
        trouble = ""
        try:
            seen, begun = self._reader.read(), time.monotonic()
            while self._seen is not None and not seen.complete and time.monotonic() - begun < IN_ONE_GO:
                seen = self._reader.read()
            self._seen = seen
            if not seen.complete:
                trouble = f"Reading the record: {count(len(seen.digest.ids), 'evaluation')} so far."
            new = {"trouble": _notice(trouble), **parts(seen.summary, seen.digest, self._insight)}
        except StudyError as error:  # what was there stays to be seen
            new = self._parts | {"trouble": _notice(str(error))}
        with self._changed:
            news = [name for name, html in new.items() if self._parts.get(name) != html and name != "foot"]
            if not news:
                return
            self._number += 1
            self._parts = new
            self._since |= dict.fromkeys([*news, "foot"], self._number)
            self._changed.notify_all()

    def _learn(self) -> None:
        """Make a model now and then, with what little of the machine that a study can spare."""
        last, pause = None, 0.0
        while not self._closed.wait(pause):
            signs, begun = self._reader.signs(), time.monotonic()
            if self._seen is None or not self._seen.complete:  # first things first
                pause = POLL
                continue
            if signs != last:
                last = signs
                with suppress(StudyError):
                    self._insight = insight(self._study, self._seen.digest, looked_at=LOOKED_AT)
                    self._learnt.set()
            spent = time.monotonic() - begun
            pause = max(MODEL_PAUSE, spent * (1 / MODEL_SHARE - 1))


def _notice(words: str) -> str:
    """A line above everything else, or its place."""
    return f'<p id="trouble" class="trouble">{text(words)}</p>' if words else '<p id="trouble" hidden></p>'
