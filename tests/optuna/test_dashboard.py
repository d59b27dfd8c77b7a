"""optuna-dashboard opens a study that the sampler has made, in a real browser."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from experiments.dashboard import dashboard, memory, searched, show
from tests.browser import open_browser

TRIALS = 12


@pytest.mark.machines
def test_the_dashboard_shows_the_trials_and_the_best_value(tmp_path: Path) -> None:
    if not Path(sys.executable).with_name("optuna-dashboard").exists():
        pytest.skip("needs optuna-dashboard: pip install saltus[dev]")
    storage = f"sqlite:///{tmp_path}/study.db"
    with open_browser() as browser:  # first, as the test may be skipped here
        study = searched(storage, TRIALS)
        best = study.best_trial
        with dashboard(storage) as address:
            page = browser.new_page()
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)

            show(page, address, study)
            page.get_by_text(f"{best.value}").first.wait_for()
            page.get_by_text(f"number={best.number}").first.wait_for()
            assert memory(best)[0] <= 0 < max(memory(trial)[0] for trial in study.trials)
            page.get_by_text("Infeasible").first.wait_for()  # drawn in grey

            show(page, address, study, f"/trials?numbers={best.number}")
            page.get_by_text(f"{TRIALS} Trials").wait_for()
            for trial in study.trials:
                assert page.get_by_text(f"Trial {trial.number}", exact=True).first.is_visible()
            for name, value in best.params.items():
                assert page.get_by_text(f"{name} {value}", exact=True).first.is_visible()
            assert page.get_by_text("memory, GiB").first.is_visible()  # by its name
            assert errors == []
