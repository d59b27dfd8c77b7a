"""The same tests with the oldest Optuna that is supported: `make setup` puts it beside the newest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from optuna.testing import pytest_samplers

HERE = Path(__file__).parent
OLDEST = Path(sys.prefix) / "oldest-optuna"


# of our records and our search alone, whatever Optuna is there
OURS = ("saltus-80", "saltus-50", "test_record", "test_ranges", "finds_nothing_anew", "make_no_sense")


@pytest.mark.parametrize(
    "tests",
    [pytest.param(name, marks=pytest.mark.machines) for name in ("test_conformance.py", "test_sampler.py")],
)
@pytest.mark.skipif(not OLDEST.is_dir(), reason=f"no Optuna in {OLDEST}: make setup installs it there")
def test_the_oldest_optuna(tests: str) -> None:
    others = " and ".join(f"not {name}" for name in OURS)
    options = ["-q", "-p", "no:xdist", "-o", "filterwarnings=default", "-k", others]
    command = [sys.executable, "-m", "pytest", *options, str(HERE / tests)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(OLDEST),
        "SALTUS_OPTUNA_KIT": pytest_samplers.__file__,  # this one has no kit of its own yet
        "SALTUS_OPTUNA": str(OLDEST),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=HERE.parents[1])
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
