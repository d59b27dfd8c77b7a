"""`python -m saltus` is the command `saltus`."""

import sys

from .execution.one_thread import load_with_one_thread


def main() -> int:
    """Run the command, with one thread for linear algebra, and return its exit code."""
    load_with_one_thread()
    from .cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
