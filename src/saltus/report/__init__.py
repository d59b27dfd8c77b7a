"""The report of a study: one HTML page that needs nothing else."""

from .insight import Insight as Insight
from .insight import insight as insight
from .page import render as render
