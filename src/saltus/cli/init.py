"""A study file to start from."""

import argparse
from importlib.resources import files

from ..study import SettingsError


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
