"""What can go wrong with a study, as sentences for its user."""


class StudyError(Exception):
    """Something about a study is not as it must be; the message says what, and what to do."""


class RecordError(StudyError):
    """The record cannot be read or written."""


class LockedError(StudyError):
    """Another process is running the study."""


class SettingsError(StudyError):
    """The study file, or an argument, is not as expected."""
