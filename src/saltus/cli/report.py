"""A study as a page with pictures."""

import argparse
import os
from contextlib import suppress
from pathlib import Path

from ..report import render
from ..study import SettingsError
from .studies import opened, recommendation, record_of, what_matters


def report(options: argparse.Namespace) -> int:
    """Write one self-contained HTML page: what matters, convergence, each variable, failures, timing."""
    study = opened(options.study, options.db)
    out: Path = options.out or record_of(options.study, options.db).with_suffix(".html")
    if out.suffix.lower() not in (".html", ".htm") or out.is_dir():
        raise SettingsError(f"--out must name a file that ends in .html, got {out}")
    parts = study.summary(), study.trials(), study.snapshots(), what_matters(study)
    page = render(*parts, recommended=recommendation(study))
    half = out.with_name(out.name + ".part")
    try:  # never half a page
        half.write_text(page, encoding="utf-8")
        os.replace(half, out.resolve())  # a link is followed, not replaced
    except OSError as error:
        with suppress(OSError):
            half.unlink()
        raise SettingsError(f"{out}: cannot be written: {error.strerror}") from error
    print(out)
    return 0
