"""The cores whose time the control groups of this process grant it.

Container engines turn a limit of cores, as Kubernetes' `limits.cpu`, into a quota of processor
time. The process still sees all cores of the machine. If it runs a thread on each, the kernel stops
all of them for the rest of each period.
"""

import math
import pathlib
from collections.abc import Iterator
from typing import Final

GROUPS: Final = pathlib.Path("/sys/fs/cgroup")
MEMBERSHIPS: Final = pathlib.Path("/proc/self/cgroup")


def cores(memberships: pathlib.Path = MEMBERSHIPS, groups: pathlib.Path = GROUPS) -> int | None:
    """Return the number of cores, rounded up, or None if no group limits the process.

    `memberships` lists the groups of the process (cgroups(7)), `groups` is where their hierarchies
    are mounted. The smallest quota of a group and of the groups above it applies. Groups above the
    root of a container are not visible. A quota that cannot be read does not count.
    """
    try:
        lines = memberships.read_text().splitlines()
    except OSError:  # the system is not Linux
        return None
    shares = [share for line in lines for share in _shares(line, groups)]
    return max(1, math.ceil(min(shares))) if shares else None


def _shares(membership: str, groups: pathlib.Path) -> Iterator[float]:
    """Yield the cores of each limited group in one hierarchy."""
    _, _, place = membership.partition(":")
    controllers, _, path = place.partition(":")
    if not controllers:
        base, read = groups, _of_version_2
    elif "cpu" in controllers.split(","):
        base, read = groups / "cpu", _of_version_1
    else:
        return
    inner = pathlib.PurePosixPath(path.lstrip("/"))
    for folder in (inner, *inner.parents):
        # In a container without a namespace of its own, the path is one of the host. Only its
        # last ancestor, where the container's own group is mounted, exists here.
        try:
            quota, period = read(base / folder)
        except (OSError, ValueError):
            continue
        if quota > 0 and period > 0:
            yield quota / period


def _of_version_2(folder: pathlib.Path) -> tuple[int, int]:
    quota, period = (folder / "cpu.max").read_text().split()
    return (-1 if quota == "max" else int(quota)), int(period)


def _of_version_1(folder: pathlib.Path) -> tuple[int, int]:
    quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
    return int(quota), int(period)
