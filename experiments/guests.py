"""Peers that need packages which are not in `dev`: an environment of their own, made when it is needed."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.small_peers import WANTS

ENVIRONMENT = Path("out/peers-env")
# of everything that runs there; the peers' own packages are in WANTS
_COMMON = ["numpy", "scipy", "tqdm", "coco-experiment==2.8.2", "cma==4.5.0", "cmaes==0.13.1", "optuna==5.0.0"]


def words(o: argparse.Namespace) -> list[str]:
    """The arguments that experiments on COCO's suites share, but for the methods, as they were given."""
    said = []
    for name in ("dims", "instances", "functions"):
        said += [f"--{name}", *map(str, getattr(o, name))]
    for name in ("budget", "seeds", "first_seed", "jobs", "file"):
        said += [f"--{name.replace('_', '-')}", str(getattr(o, name))]
    return said


def divided(
    o: argparse.Namespace, module: str, run: Callable[[list[str]], None], more: Sequence[str] = ()
) -> None:
    """Run the methods of an experiment with this command line; guests in their environment."""
    away = [m for m in o.methods if m in WANTS and not o.here]
    own = [m for m in o.methods if m not in away]
    if own:
        run(own)
    if away:
        guests_run(module, away, [*words(o), *more])


def guests_run(module: str, guests: list[str], options: list[str], besides: tuple[str, ...] = ()) -> None:
    """`python -m experiments.MODULE run --here --methods GUESTS OPTIONS` in the environment of the peers.

    What the peers in `besides` need is there, too.
    """
    python = peers_environment([*guests, *besides])
    command = [str(python), "-m", f"experiments.{module}", "run", "--here", "--methods", *guests, *options]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": "src"})


def peers_environment(methods: list[str]) -> Path:
    """The Python of an environment with the packages of these peers; what is missing is installed."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        print(f"making {ENVIRONMENT} for {', '.join(methods)}", file=sys.stderr)
        venv.create(ENVIRONMENT, with_pip=True)
    wants = [
        *_COMMON,
        *(package for method in methods for package in WANTS.get(method.partition(", ")[0], ())),
    ]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wants], check=True)
    return python
