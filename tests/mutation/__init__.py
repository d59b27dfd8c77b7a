"""Mutation testing of what decides where to search: small changes to the code, which a test must notice.

python -m tests.mutation [--only strategy/leap.py ...] [--jobs 2] [--seconds 30] [--fresh]

The changes are those of mutmut: its operators, on libcst's trees. Its own runner leaves out decorated
functions and all that runs at import, and stops with pytest 9.2; so the running is done here. All tests are
collected once; each mutant is a fork of that process in which the code of a function is exchanged, and only
tests that reach its lines run, those of its own file first, then those that killed most before, then the fast
ones, for so many --seconds in all. One that takes ten times as long as usual is ended, and the mutant counts
as killed. What runs at import (constants, defaults, class bodies) is imported anew in its fork, and so are
the tests: leave them as they are meanwhile.

Results go to out/mutants.jsonl. Stopped, it goes on where it was; a function that has changed is done anew,
and so is a survivor that is not listed when tests have changed, with those alone. At the end survivors are
compared with tests/mutants.md, which gives a reason for each. --fresh forgets what was done before.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "src" / "saltus"
ALIVE = ("survived", "unreached")
