"""The number of cores that the matrix products of a task may use.

NumPy's BLAS starts a thread per core, and these threads spin while they wait. Two tasks that both
do so on one machine are slower than one task. `intra_op_parallelism_threads` sets the number of
threads of a task. If it is 0, the tasks of a cluster that run on one host share the cores of the
host.
"""

import os
from collections.abc import Mapping

from capstan.core import config


def threads_for(
    settings: config.SessionConfig, task: str, addresses: Mapping[str, str], cores: int
) -> int:
    """Return the number of BLAS threads for `task`, which is at least one.

    `addresses` holds the address of every task of the cluster.
    """
    if settings.intra_op_parallelism_threads:
        return settings.intra_op_parallelism_threads
    hosts = [address.rpartition(":")[0] for address in addresses.values()]
    neighbours = hosts.count(addresses[task].rpartition(":")[0])
    return max(1, cores // max(1, neighbours))


def usable() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def limit(threads: int) -> None:
    """Limit the BLAS libraries of this process to `threads` threads."""
    # The import reads the list of loaded libraries, which takes a few milliseconds. Only tasks of a
    # cluster pay for it.
    import threadpoolctl

    threadpoolctl.threadpool_limits(threads, user_api="blas")
