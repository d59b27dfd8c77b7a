"""Names of columns, where evaluations are a table."""

from collections.abc import Collection, Iterable, Sequence

from .trial import Trial


def constraint_names(trials: Iterable[Trial]) -> list[str]:
    """The names of all constraints, in the order in which they were first given."""
    return list(dict.fromkeys(name for trial in trials for name in trial.constraints or ()))


def told_apart(
    own: Collection[str], variables: Sequence[str], constraints: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The columns of variables and of constraints: one with the name of another column gets a longer one.

    Args:
        own: columns that every table has.
        variables, constraints: their names.

    >>> told_apart(["trial", "value"], ["x", "value"], ["x", "heat", "0"])
    (['x', 'variable value'], ['constraint x', 'heat', 'constraint 0'])
    """
    named = [f"variable {name}" if name in own else name for name in variables]
    taken = {*own, *named}
    limits = [f"constraint {name}" if name in taken or name.isdecimal() else name for name in constraints]
    return named, limits
