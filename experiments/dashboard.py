"""A picture of optuna-dashboard with a study that Saltus has searched: `python -m experiments.dashboard`."""

from __future__ import annotations

import math
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

import optuna

from saltus.optuna import SaltusSampler
from tests.browser import open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURE = Path("docs/images/optuna-dashboard.png")
WIDTH, HEIGHT = 1280, 1225
PATIENCE = 60  # seconds for a machine that is busy with other things


def objective(trial: optuna.Trial) -> float:
    """A model that does not exist: its best rate, layers, width and switch are known.

    The memory that it takes is an attribute of the trial: so the dashboard shows it by its name.
    """
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    layers = trial.suggest_int("layers", 1, 8)
    width = trial.suggest_categorical("width", [16, 32, 64, 128, 256])
    bias = trial.suggest_categorical("bias", [False, True])
    trial.set_user_attr("memory, GiB", layers * width / 128)
    return (
        0.05
        + math.log10(rate / 0.003) ** 2
        + 0.1 * abs(layers - 3)
        + abs(width - 64) / 640
        + 0.2 * (not bias)
    )


def memory(trial: optuna.trial.FrozenTrial) -> list[float]:
    """What is above 0 is violated: there is one GiB. The best model of all would need 1.5."""
    return [trial.user_attrs["memory, GiB"] - 1]


def searched(storage: str, trials: int) -> optuna.Study:
    """A study in a database, made by the sampler."""
    sampler = SaltusSampler(constraints_func=memory, seed=1)
    study = optuna.create_study(study_name="model", storage=storage, sampler=sampler)
    study.optimize(objective, n_trials=trials)
    return study


@contextmanager
def dashboard(storage: str) -> Iterator[str]:
    """The dashboard of a database: its address, while it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("optuna-dashboard")), storage]
    options = ["--host", "127.0.0.1", "--port", str(port), "--server", "wsgiref", "--quiet"]
    process = subprocess.Popen(command + options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/api/studies", process)
        yield address
    finally:
        process.terminate()
        process.wait()


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the dashboard has ended with exit code {process.returncode}")
        try:
            with urlopen(address):
                return
        except URLError:
            time.sleep(0.05)
    raise RuntimeError(f"the dashboard does not answer within {PATIENCE} s")


def show(page: Page, address: str, study: optuna.Study, what: str = "") -> None:
    """Go to a study's page, or to one of those below it."""
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{address}/dashboard/studies/{study._study_id}{what}")


def main() -> None:
    """Write the picture."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--out", type=Path, default=PICTURE)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/study.db"
        study = searched(storage, args.trials)
        with dashboard(storage) as address, open_browser() as browser:
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            show(page, address, study)
            page.get_by_label("Log y scale").check()
            page.get_by_text("Best Trial").first.wait_for()
            page.wait_for_timeout(3000)  # drawings slide into place
            args.out.parent.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=args.out)
    print(f"{args.out}: {args.out.stat().st_size} bytes, best value {study.best_value:.3g}")


if __name__ == "__main__":
    main()
