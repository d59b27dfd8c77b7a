from saltus.optuna import SaltusSampler


__all__ = ["SaltusSampler"]
