"""The page of a study, and how it gets into a file."""

import os
from contextlib import suppress
from pathlib import Path

from ..study import SettingsError, Study
from .insight import insight
from .page import page
from .reader import all_of


def page_of(study: Study) -> str:
    """All that can be said of a study now, as one page."""
    seen = all_of(study)
    return page(seen.summary, seen.digest, insight(study, seen.digest))


def check_name(out: Path, what: str) -> None:
    """A SettingsError, about an option or an argument, unless a page can have this name."""
    if out.suffix.lower() not in (".html", ".htm") or out.is_dir():
        raise SettingsError(f"{what} must name a file that ends in .html, got {out}")


def write(out: Path, page: str) -> None:
    """Write a page to a file: all of it, or nothing."""
    half = out.with_name(out.name + ".part")
    try:
        half.write_text(page, encoding="utf-8")
        os.replace(half, out.resolve())  # a link is followed, not replaced
    except OSError as error:
        with suppress(OSError):
            half.unlink()
        raise SettingsError(f"{out}: cannot be written: {error.strerror}") from error
