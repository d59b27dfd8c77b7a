"""The report of a study, served while it runs: a page that changes by itself, and is only looked at."""

from .process import Watch as Watch
from .server import Server as Server
