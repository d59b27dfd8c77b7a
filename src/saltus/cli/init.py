"""What a study starts from: a study file, or the record of an older Saltus."""

import argparse
import sys
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from ..study import SettingsError, migration
from .codes import DONE
from .examples import example
from .lines import counted
from .questions import asked


def init(options: argparse.Namespace) -> int:
    """Write a study file to start from; an existing file is left alone. On a terminal a few questions are
    asked; elsewhere, and with --template, it is a commented file to be edited.
    """
    path: Path = options.file
    if options.example is not None:
        return _from_example(path, example(options.example))
    if not options.template and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        _check_new([path])
        try:
            text = asked(input, print, path.absolute().parent.name or "study")
        except KeyboardInterrupt:
            print()  # what follows begins a line
            raise
        except EOFError:
            raise SettingsError("\nthere was no answer: nothing is written") from None
        write(path, text)
        print(f"{path} is written. Evaluate one point: saltus check {path}\nThen run it: saltus run {path}")
        return DONE
    write(path, files("saltus.cli").joinpath("study.toml").read_text(encoding="utf-8"))
    print(f"{path}: edit it. Evaluate one point: saltus check {path}\nThen run it: saltus run {path}")
    return DONE


def _from_example(path: Path, found: list[Path]) -> int:
    """Copy the files of an example, its study file under this name."""
    targets = {
        source: path if source.name == "study.toml" else path.with_name(source.name) for source in found
    }
    _check_new(targets.values())
    for source, target in targets.items():
        write(target, source.read_text(encoding="utf-8"))
    names = ", ".join(str(target) for target in targets.values())
    print(f"written: {names}. Evaluate one point: saltus check {path}")
    return DONE


def _check_new(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.exists():
            raise SettingsError(f"{path}: it exists already, and is left as it is")


def write(path: Path, text: str) -> None:
    """Write a file that is not there yet."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SettingsError(f"{path}: it exists already, and is left as it is") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {error.strerror}") from error


def migrate(options: argparse.Namespace) -> int:
    """Make a record of this version from one of an older Saltus, which stays as it is: its trials are past
    data for a search that begins anew.
    """
    count = migration.migrate(options.old, options.new)
    print(f"{options.new}: {counted(count, 'trial')} taken over: saltus run STUDY --db {options.new}")
    return 0
