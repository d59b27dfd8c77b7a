"""The examples that `saltus init --example` starts from, in the source or in what is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from .._checks import did_you_mean
from ..study.errors import SettingsError

SOURCE = Path(__file__).parents[3] / "examples"
INSTALLED = "share/saltus/examples/"  # as pyproject.toml says


def examples() -> dict[str, list[Path]]:
    """The files of each example by its name, the study file among them.

    >>> sorted(path.name for path in examples()["pressure_vessel"])
    ['study.toml', 'vessel.py']
    """
    found: dict[str, list[Path]] = {}
    for path in _all():
        if path.suffix in (".toml", ".awk", ".c", ".py") and path.name != "picture.py":
            found.setdefault(path.parent.name, []).append(path)
    return {
        name: sorted(paths) for name, paths in found.items() if any(p.name == "study.toml" for p in paths)
    }


def _all() -> list[Path]:
    if SOURCE.is_dir():
        return [*SOURCE.glob("*/*")]
    try:
        installed = files("saltus") or []
    except PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in installed if INSTALLED in file.as_posix()]


def example(name: str) -> list[Path]:
    """The files of an example, by its name or a part of it that no other has.

    >>> example("vessel") == example("pressure_vessel")
    True
    """
    known = examples()
    near = [each for each in known if name in each]
    if name in known or len(near) == 1:
        return known[name if name in known else near[0]]
    if not known:
        raise SettingsError("--example: the examples are not installed; they are in the source of Saltus")
    raise SettingsError(
        f"--example must be one of {', '.join(sorted(known))}, got {name!r}{did_you_mean(name, known)}"
    )
