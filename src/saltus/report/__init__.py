"""The report of a study: one HTML page that needs nothing else."""

from .page import render as render
