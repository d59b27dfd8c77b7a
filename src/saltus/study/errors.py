"""What can go wrong with a study, as sentences for its user."""

from collections.abc import Iterator
from contextlib import contextmanager


class StudyError(Exception):
    """Something about a study is not as it must be; the message says what, and what to do."""


class RecordError(StudyError):
    """The record cannot be read or written."""


class LockedError(StudyError):
    """Another process is running the study."""


class SettingsError(StudyError):
    """The study file, or an argument, is not as expected."""


@contextmanager
def blaming(where: str, kinds: type[Exception] | tuple[type[Exception], ...] = ValueError) -> Iterator[None]:
    """What goes wrong meanwhile, with an error of these kinds, is said of a setting: where, and what.

    >>> with blaming("[study] "):
    ...     raise ValueError("seed must be a whole number, got 'x'")
    Traceback (most recent call last):
    saltus.study.errors.SettingsError: [study] seed must be a whole number, got 'x'
    """
    try:
        yield
    except kinds as error:
        raise SettingsError(f"{where}{error}") from None
