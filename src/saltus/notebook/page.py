"""The report of a study within a notebook."""

from __future__ import annotations

import html
import os
from pathlib import Path

from ..report.writing import check_name, page_of, write
from ..study import Study


class Page:
    """A page that a notebook shows below the cell, in a frame of its own, and that can be saved.

    The frame is closed: neither does the page's style reach the notebook, nor its script.

    Attributes:
        html: the whole page as text.
    """

    def __init__(self, html: str, name: str, height: int) -> None:
        """`name` is what a screen reader says of the frame, `height` is in pixels."""
        self.html, self._name, self._height = html, name, height

    @classmethod
    def of(cls, study: Study, path: str | os.PathLike[str] | None, height: int) -> Page:
        """The report of a study as it is now, written to a file if one is named."""
        if isinstance(height, bool) or not isinstance(height, int) or height < 100:
            raise ValueError(f"height must be a whole number of pixels, 100 at least, got {height!r}")
        if path is not None:
            check_name(Path(path), "path")
        page = cls(page_of(study), f"Report of {study.head.name}", height)
        if path is not None:
            page.save(path)
        return page

    def __repr__(self) -> str:
        """Where there is no notebook: what it is, and what to do with it."""
        return f"<{self._name}: {len(self.html):,} characters of HTML; save it with save('report.html')>"

    def _repr_html_(self) -> str:
        """A frame with the page in it."""
        return (
            f'<iframe title="{html.escape(self._name)}" srcdoc="{html.escape(self.html)}" '
            f'sandbox="allow-scripts" style="width: 100%; height: {self._height}px; border: 1px solid '
            'rgba(128, 128, 128, 0.4); border-radius: 6px; box-sizing: border-box;"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file whose name ends in .html: all of it, or nothing. Its path comes back."""
        check_name(Path(path), "path")
        write(Path(path), self.html)
        return Path(path)
