"""`python -m saltus` is the command `saltus`."""

import os
import sys

from .execution.one_thread import load_with_one_thread


def main() -> int:
    """Run the command, with one thread for linear algebra, and return its exit code."""
    if sys.stderr is None:  # it was closed, and NumPy 2.0 cannot be loaded without
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as long as we live
    load_with_one_thread()
    from .cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
