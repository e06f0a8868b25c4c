"""The processors of the machine (`port::NumSchedulableCPUs` of core/platform/posix/port.cc)."""

import os


def schedulable() -> int:
    """Return the number of processors on which this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
