"""One thread for linear algebra, where it is ours to decide."""

from __future__ import annotations

import os
import subprocess
import sys

from saltus.execution.one_thread import ONE_THREAD, environment

ASKED = """
import os, sys
from saltus.execution.one_thread import ONE_THREAD, load_with_one_thread
seen = {}
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            seen.update(os.environ)
sys.meta_path.insert(0, Finder())
load_with_one_thread()
print(all(seen.get(name) == "1" for name in ONE_THREAD), ONE_THREAD.keys() & os.environ.keys() or "restored")
"""


def ask(**more: str) -> str:
    own = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    return subprocess.run(
        [sys.executable, "-c", ASKED], capture_output=True, text=True, check=True, env={**own, **more}
    ).stdout.strip()


def test_the_command_loads_it_with_one_thread_and_leaves_the_environment_alone() -> None:
    assert ask() == "True restored"


def test_who_says_otherwise_is_heard() -> None:
    assert ask(OMP_NUM_THREADS="4") == "False {'OMP_NUM_THREADS'}"


def test_variables_are_as_before() -> None:
    before = dict(os.environ)
    with environment({"OMP_NUM_THREADS": "3", "NEVER_HEARD_OF": "x"}):
        assert os.environ["NEVER_HEARD_OF"] == "x"
    assert dict(os.environ) == before
