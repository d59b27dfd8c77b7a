"""Where evaluations run, as text: `dask://node1:8786`, `ray`, `ray://node1:10001`, `slurm`."""

from __future__ import annotations

from dataclasses import dataclass, field

from .cluster import Cluster

KINDS = "dask://HOST:PORT, ray://HOST:PORT, ray (on this machine), slurm"


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """What a batch system is told about each of its jobs, in which one evaluation at a time runs."""

    partition: str | None = None
    account: str | None = None
    cores: int = 1
    memory: str = "2GB"
    walltime: str = "01:00:00"
    interface: str | None = None  # of the network, by which jobs reach this machine
    options: tuple[str, ...] = field(default=())  # further lines for sbatch, such as "--constraint=fast"
    logs: str = "slurm-logs"  # the folder for what jobs print
    prologue: tuple[str, ...] = field(default=())  # shell commands before the worker starts


def check_address(text: str) -> None:
    """A ValueError for what is no address."""
    scheme, found, rest = text.partition("://")
    known = (text in ("ray", "slurm")) or (scheme in ("dask", "ray", "tcp", "tls") and ":" in rest)
    if not known:
        port = f"; {text} lacks a port" if found and ":" not in rest else ""
        raise ValueError(f"must be one of {KINDS}, got {text!r}{port}")


def cluster_at(text: str, jobs: Jobs | None = None, count: int = 1) -> Cluster:
    """The cluster at an address; nothing is connected yet.

    Args:
        text: the address.
        jobs: what each job of a batch system gets.
        count: how many jobs.

    >>> cluster_at("dask://node1:8786").name
    'the Dask scheduler at tcp://node1:8786'
    """
    check_address(text)
    scheme, _, rest = text.partition("://")
    if text == "slurm":
        from .slurm import SlurmCluster

        return SlurmCluster(jobs or Jobs(), count)
    if scheme == "ray":
        from .ray import RayCluster

        return RayCluster(text if rest else None)
    from .dask import DaskCluster

    return DaskCluster(f"tcp://{rest}" if scheme == "dask" else text)
