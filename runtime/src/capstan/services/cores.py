"""How many cores a task's matrix products may use.

NumPy's BLAS starts a thread per core and they spin while they wait: two tasks on one machine that
each do so are slower than one. A session's `intra_op_parallelism_threads` says what a task may use;
where it says nothing, the tasks of a cluster that share a host share its cores.
"""

import os
from collections.abc import Mapping

from capstan.core import config


def threads_for(
    settings: config.SessionConfig, task: str, addresses: Mapping[str, str], cores: int
) -> int:
    """Return the number of BLAS threads of `task` in a cluster; at least one."""
    if settings.intra_op_parallelism_threads:
        return settings.intra_op_parallelism_threads
    hosts = [address.rpartition(":")[0] for address in addresses.values()]
    neighbours = hosts.count(addresses[task].rpartition(":")[0])
    return max(1, cores // max(1, neighbours))


def usable() -> int:
    """Return the cores that this process may run on, be they fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def limit(threads: int) -> None:
    """Give the BLAS libraries of this process so many threads, from now on."""
    # Reads the list of loaded libraries: a few milliseconds that only tasks of a cluster pay.
    import threadpoolctl

    threadpoolctl.threadpool_limits(threads, user_api="blas")
