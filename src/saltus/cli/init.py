"""What a study starts from: a study file, or the record of an older Saltus."""

import argparse
from importlib.resources import files

from ..study import SettingsError, migration
from .lines import counted


def init(options: argparse.Namespace) -> int:
    """Write a commented study file to start from; an existing file is left alone."""
    text = files("saltus.cli").joinpath("study.toml").read_text(encoding="utf-8")
    try:
        with open(options.file, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SettingsError(f"{options.file}: it exists already, and is left as it is") from None
    except OSError as error:
        raise SettingsError(f"{options.file}: cannot be written: {error.strerror}") from error
    print(f"{options.file}: edit it, then: saltus run {options.file}")
    return 0


def migrate(options: argparse.Namespace) -> int:
    """Make a record of this version from one of an older Saltus, which stays as it is: its trials are past
    data for a search that begins anew.
    """
    count = migration.migrate(options.old, options.new)
    print(f"{options.new}: {counted(count, 'trial')} taken over: saltus run STUDY --db {options.new}")
    return 0
