"""Evaluates the truss on a cluster of Dask, and draws who did what and when."""

from __future__ import annotations

from examples.cluster.slow import DONE, slow
from examples.drawing import AFTER, BEFORE, GREY, panels, save
from examples.truss.truss import SPACE, weight
from saltus import minimize


def main() -> None:
    """Search on four workers, print, draw."""
    from distributed import Client, LocalCluster

    # four threads of this process; a real one is Client("tcp://scheduler:8786"), and nothing else changes
    with (
        LocalCluster(n_workers=1, threads_per_worker=4, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        result = minimize(slow, SPACE, executor=client.get_executor(), batch=4, budget=120, seed=1)
    alone = minimize(weight, SPACE, batch=4, budget=120, seed=1)
    print(result)
    print(f"the same points without a cluster: {result.params == alone.params}")
    figure, ax = panels(1)
    names = sorted({name for name, _, _ in DONE})
    start = min(begin for _, begin, _ in DONE)
    for name, begin, end in DONE:
        colour = (AFTER, BEFORE, GREY)[names.index(name) % 3]
        ax.barh(
            names.index(name), end - begin, left=begin - start, height=0.7, color=colour, edgecolor="white"
        )
    ax.set(xlabel="seconds", yticks=range(len(names)), yticklabels=[f"worker {i}" for i in range(len(names))])
    ax.set(title="each bar is an evaluation; between batches of four the model chooses the next points")
    save(figure, __file__)


if __name__ == "__main__":
    main()
