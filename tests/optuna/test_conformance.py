"""Optuna's own tests of a sampler, by its kit.

`SALTUS_OPTUNA_KIT` names the kit's file where the installed Optuna is older than its kit
(`test_oldest.py`).
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest

from saltus.optuna import SaltusSampler


def _kit() -> Any:
    path = os.environ.get("SALTUS_OPTUNA_KIT")
    if path is None:
        from optuna.testing import pytest_samplers

        return pytest_samplers
    spec = importlib.util.spec_from_file_location("pytest_samplers", Path(path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


kit = _kit()


def test_it_is_the_optuna_that_is_meant() -> None:
    assert str(optuna.__file__).startswith(os.environ.get("SALTUS_OPTUNA", ""))


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
class Base:
    @pytest.fixture(params=[{}, {"strategy": "dx-nes-ici"}, {"n_startup_trials": 5}], ids=str)
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], SaltusSampler]:
        return lambda: SaltusSampler(seed=0, **request.param)


# made by hand, since the kit of an old Optuna is known only when it runs
cases = (kit.BasicSamplerTestCase, kit.RelativeSamplerTestCase, kit.SingleOnlySamplerTestCase)
TestSaltusSampler = type("TestSaltusSampler", (Base, *cases), {})
