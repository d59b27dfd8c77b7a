"""Studies: searches whose every step is on disk."""

from .errors import LockedError as LockedError
from .errors import RecordError as RecordError
from .errors import SettingsError as SettingsError
from .errors import StudyError as StudyError
from .study import Study as Study
from .summary import Summary as Summary
from .trial import Snapshot as Snapshot
from .trial import Trial as Trial
