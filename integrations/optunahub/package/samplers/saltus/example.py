from __future__ import annotations

import math

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    layers = trial.suggest_int("layers", 1, 8)
    width = trial.suggest_categorical("width", [16, 32, 64, 128, 256])
    bias = trial.suggest_categorical("bias", [False, True])
    error = math.log10(rate / 0.003) ** 2 + 0.1 * abs(layers - 3)
    return error + abs(width - 64) / 640 + 0.2 * (not bias)


if __name__ == "__main__":
    module = optunahub.load_module(package="samplers/saltus")
    study = optuna.create_study(sampler=module.SaltusSampler(seed=1))
    study.optimize(objective, n_trials=100)
    print(study.best_value, study.best_params)
