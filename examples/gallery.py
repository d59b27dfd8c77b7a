"""Runs every example of the gallery, for the site: `python -m examples.gallery` draws all pictures anew.

An example is a folder with a `README.md`, the page, and a `picture.py`, which runs it, prints and
draws.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = sorted(path.parent.name for path in HERE.glob("*/picture.py"))
LANGUAGES = {".py": "python", ".toml": "toml", ".c": "c", ".awk": "awk"}


@dataclass(frozen=True)
class Example:
    """One that was run: what it printed, and the pictures that it drew."""

    name: str
    printed: str
    pictures: tuple[Path, ...]
    seconds: float

    def appendix(self) -> str:
        """The end of its page on the site: what it printed when the site was built, and its files."""
        parts = [
            "\n\n## What it printed\n\n"
            f"When the site was built, by `python -m examples.{self.name}.picture`:"
            f"\n\n```text\n{self.printed.rstrip()}\n```\n\n## The files\n"
        ]
        for path in sorted((HERE / self.name).iterdir()):
            if path.suffix in LANGUAGES:
                source = path.read_text().rstrip().replace("\n", "\n    ").replace("\n    \n", "\n\n")
                parts.append(
                    f'\n??? example "examples/{self.name}/{path.name}"\n\n'
                    f"    ```{LANGUAGES[path.suffix]}\n    {source}\n    ```\n"
                )
        return "".join(parts)


def run(name: str, folder: Path) -> Example:
    """Run one example with its pictures drawn into a folder; an error if it fails or draws nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "printed.txt"
    since = time.monotonic()
    if os.environ.get("SALTUS_GALLERY") != "keep" or not text.exists():
        done = subprocess.run(
            [sys.executable, "-m", f"examples.{name}.picture", str(folder)],
            cwd=HERE.parent,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"the example {name} failed:\n{done.stderr}")
        text.write_text(done.stdout)
    pictures = tuple(sorted(folder.glob("*.png")))
    if not pictures:
        raise RuntimeError(f"the example {name} drew no picture")
    return Example(name, text.read_text(), pictures, time.monotonic() - since)


def build(folder: Path | None = None) -> Iterator[Example]:
    """Run all examples, one on each core; their pictures go into the folder, or beside them if there is none.

    With SALTUS_GALLERY=keep in the environment, what the folder holds from the last time is taken instead.
    """
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(lambda name: run(name, (folder or HERE) / name), NAMES)


if __name__ == "__main__":
    for example in build():
        (HERE / example.name / "printed.txt").unlink()
        print(f"{example.name}: {example.seconds:.0f} s\n{example.printed}")
