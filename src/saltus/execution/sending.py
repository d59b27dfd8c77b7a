"""How objects travel between the processes of one run: by pickle, or by cloudpickle what pickle cannot send.

Pickle sends a function as the name of a module and a name in it, which the other process imports. A function
of a notebook, a prompt or `python -c` is in no module that could be imported, and neither is a lambda:
cloudpickle sends its code instead, and all of it that the function uses.
"""

from __future__ import annotations

import functools
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import CodeType, FunctionType, MethodType

_DEEPEST = 6  # levels of what an objective holds that are looked through for what cannot be sent


def packed(thing: object, what: str = "it") -> bytes:
    """An object for another process of this run, which gets it by `pickle.loads`.

    Args:
        thing: an objective, a point, an exception.
        what: how to call it in a message.

    A TypeError says, in one sentence, why it cannot be sent and what to do.

    >>> double = packed(lambda x: 2 * x)
    >>> pickle.loads(double)(21)
    42
    """
    why = "it was defined in a notebook or at a prompt, and worker processes import modules alone"
    try:
        plain = pickle.dumps(thing)
        if b"__main__" not in plain or _is_run_again():
            return plain
    except Exception as error:
        why = str(error)
    try:
        import cloudpickle
    except ImportError:
        raise TypeError(
            f"{what} cannot be sent to worker processes without cloudpickle ({why}): pip install cloudpickle"
            ", or define it with def at the top level of a module, a .py file, and import it"
        ) from None
    try:
        code: bytes = cloudpickle.dumps(thing)
    except Exception as error:
        raise TypeError(_unsendable(thing, what, error)) from None
    return code


def _is_run_again() -> bool:
    """Whether a worker process runs the main module again, and so has what is in it.

    It does with a script. It does not with a notebook, a prompt, `python -c` or what comes by a pipe.
    """
    main = sys.modules["__main__"]
    return getattr(main, "__spec__", None) is not None or os.path.isfile(getattr(main, "__file__", ""))


def _unsendable(thing: object, what: str, error: Exception) -> str:
    culprit = _culprit(thing)
    why = str(error) if culprit is None else f"it uses {culprit}, which cannot leave the process that made it"
    return (
        f"{what} cannot be sent to worker processes: {why}; make what it needs inside the function instead, "
        "or leave out workers and timeout"
    )


def _culprit(thing: object, depth: int = 0) -> str | None:
    """Of what an object holds and cannot be sent, the innermost, in words; None if nothing is found."""
    for name, part in _parts(thing) if depth < _DEEPEST else ():
        if not _sendable(part):
            kind = f"a {type(part).__name__}"
            return _culprit(part, depth + 1) or (f"{name!r} ({kind})" if name else kind)
    return None


def _sendable(thing: object) -> bool:
    import cloudpickle

    try:
        cloudpickle.dumps(thing)
    except Exception:
        return False
    return True


def _parts(thing: object) -> Iterator[tuple[str, object]]:
    """What an object holds, each with its name if it has one."""
    match thing:
        case FunctionType():
            used = _names(thing.__code__)
            yield from ((name, part) for name, part in thing.__globals__.items() if name in used)
            for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True):
                with suppress(ValueError):  # it is empty yet
                    yield name, cell.cell_contents
            yield from _parts([*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()])
        case MethodType():
            yield "", thing.__self__
        case functools.partial():
            yield from _parts([thing.func, *thing.args, *thing.keywords.values()])
        case list() | tuple() | set() | frozenset():
            yield from (("", part) for part in thing)
        case Mapping():
            yield from ((str(key), part) for key, part in thing.items())
        case _:
            yield from getattr(thing, "__dict__", {}).items()


def _names(code: CodeType) -> set[str]:
    """Every global name that code uses, also in functions that are defined in it."""
    return set(code.co_names).union(*(_names(c) for c in code.co_consts if isinstance(c, CodeType)))
