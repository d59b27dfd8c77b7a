"""Studies: searches whose every step is on disk."""

from .errors import LockedError, RecordError, SettingsError, StudyError
from .study import Study
from .summary import Summary
from .trial import Snapshot, Trial

__all__ = ["LockedError", "RecordError", "SettingsError", "StudyError"]
__all__ += ["Snapshot", "Study", "Summary", "Trial"]
