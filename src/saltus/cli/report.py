"""A study as a page with pictures, or several beside each other."""

import argparse
from pathlib import Path

from ..report.compare import MOST_STUDIES, compare
from ..report.reader import all_of
from ..report.writing import check_name, page_of, write
from ..study import SettingsError, Study
from .studies import opened, record_of


def report(options: argparse.Namespace) -> int:
    """Write one self-contained HTML page: what matters, convergence, each variable, failures, timing.

    Of several studies: their best values in one chart, and their figures beside each other.
    """
    paths: list[Path] = options.study
    if len(paths) > 1 and options.db is not None:
        raise SettingsError("--db names the record of one study; give the records themselves to compare them")
    if len(paths) > MOST_STUDIES:
        raise SettingsError(f"report compares up to {MOST_STUDIES} studies, got {len(paths)}")
    studies = [opened(path, options.db) for path in paths]
    first = record_of(paths[0], options.db)
    out: Path = options.out or (
        first.with_suffix(".html") if len(paths) == 1 else first.with_name("comparison.html")
    )
    check_name(out, "--out")
    write(out, page_of(studies[0]) if len(studies) == 1 else _comparison(studies))
    print(out)
    return 0


def _comparison(studies: list[Study]) -> str:
    for study in studies:
        if study.head.direction != studies[0].head.direction:
            raise SettingsError(
                f"{study.path} is to {study.head.direction} and {studies[0].path} to "
                f"{studies[0].head.direction}: their values cannot be compared"
            )
    return compare([(seen.summary, seen.digest) for seen in map(all_of, studies)])
