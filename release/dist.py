"""Build the source distribution and the wheel, check them, and try the wheel on every Python there is.

`make dist` runs it. Each Python gets an empty environment, the wheel with what it depends on, and smoke.py,
which runs outside the repository. Looked for are `python3.11` to `python3.14` on the PATH and below
~/.pyenv/versions; others: `make dist PYTHONS="/opt/a/bin/python3 /opt/b/bin/python3"`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SCRIPTS = "Scripts" if sys.platform == "win32" else "bin"


def run(*words: str | Path, folder: Path = ROOT) -> str:
    """Run a program that has to succeed; what it printed."""
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return done.stdout


def is_version(python: str | Path, wanted: str) -> bool:
    """Whether a program is this Python; one of pyenv's shims may be there and not work."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(
            [str(python), "-c", code], capture_output=True, encoding="utf-8", check=False, cwd=ROOT
        )
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == wanted


def pythons() -> dict[str, str]:
    """The interpreters of this machine by version."""
    found = {}
    for version in VERSIONS:
        installed = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
        for python in (*sorted(installed, reverse=True), shutil.which(f"python{version}")):
            if python is not None and is_version(python, version):
                found[version] = str(python)
                break
    return found


def built() -> tuple[Path, Path]:
    """Source distribution and wheel, built from a clean copy of what is committed or about to be."""
    for old in (*DIST.glob("saltus-*"), ROOT / "build"):
        shutil.rmtree(old, ignore_errors=True) if old.is_dir() else old.unlink(missing_ok=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)  # the wheel is made of the source distribution
    (source,), (wheel,) = DIST.glob("saltus-*.tar.gz"), DIST.glob("saltus-*.whl")
    return source, wheel


def checked(source: Path, wheel: Path) -> None:
    """What the package index checks, and what is in the wheel."""
    run(sys.executable, "-m", "twine", "check", "--strict", source, wheel)
    run(sys.executable, "-m", "check_wheel_contents", wheel)


def tried(python: str, wheel: Path) -> str:
    """The smoke test in an empty environment of a Python, outside the repository."""
    version = wheel.name.split("-")[1]
    with tempfile.TemporaryDirectory(prefix="saltus-dist-") as name:
        folder = Path(name)
        run(python, "-m", "venv", folder / "env")
        inside = folder / "env" / SCRIPTS / "python"
        run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}")
        shutil.copy(ROOT / "release" / "smoke.py", folder)
        return run(inside, "-W", "error", folder / "smoke.py", version, folder=folder).strip()


def main(arguments: Sequence[str] | None = None) -> None:
    """Build, check, try."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("pythons", nargs="*", help="interpreters to try; default: all that are found")
    given = parser.parse_args(arguments).pythons
    source, wheel = built()
    print(f"built {source.name} and {wheel.name}")
    checked(source, wheel)
    print("twine and check-wheel-contents find nothing")
    found = pythons() if not given else {python: python for python in given}
    for python in found.values():
        print(tried(python, wheel), flush=True)
    missing = [version for version in VERSIONS if version not in found] if not given else []
    if missing:
        print(f"not here, so not tried: Python {', '.join(missing)}")
    if not found:
        sys.exit("no Python to try the wheel with")


if __name__ == "__main__":
    main()
