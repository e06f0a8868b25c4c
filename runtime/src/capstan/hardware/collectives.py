"""Sums and other reductions of arrays that are in the memories of several devices of a task.

If the devices have collectives of their own (`Device.group`), these do the work. Otherwise, one
device gets copies of all arrays.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import device

FUNCTIONS: Mapping[str, Any] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
"""The function of NumPy that combines two arrays, by the name of the reduction."""


class Group(Protocol):
    """Several devices that combine arrays without copies. Thread-safe.

    `values` has one array for each device, in the order of the group, with equal shapes and dtypes.
    The work follows all present work of the devices. The calls return before it is done.
    """

    def reduce(self, reduction: str, values: Sequence[Array], root: int) -> Array:
        """Return an array of device number `root` of the group."""

    def all_reduce(self, reduction: str, values: Sequence[Array]) -> list[Array]:
        """Return an array of each device."""

    def broadcast(self, value: Array, root: int) -> list[Array]:
        """Return an array of each device. `value` is an array of device number `root`."""


def reduce(
    reduction: str, values: Sequence[Array], homes: Sequence[device.Device], root: device.Device
) -> Array:
    """Return a new array of `root` that combines `values`, which are arrays of `homes`.

    `values` are not empty, and have equal shapes and dtypes. They must not change until the stream
    of `root` has done the work. The calling thread then computes on `root`, as after `Device.use`.
    """
    group = root.group(homes) if root in homes else None
    if group is not None:
        found: Array = group.reduce(reduction, values, homes.index(root))
        return found
    root.use()
    first, *others = (
        value if home is root else root.copy_across(value, home)
        for value, home in zip(values, homes, strict=True)
    )
    if not others:
        return root.duplicate(first)
    total = first
    for other in others:
        total = FUNCTIONS[reduction](total, other)
    return total


def all_reduce(
    reduction: str, values: Sequence[Array], homes: Sequence[device.Device]
) -> list[Array]:
    """Return a new array for each of `homes` that combines `values`.

    `values` must not change until the streams of all `homes` have done the work. Otherwise as
    `reduce`, with the last device as `root`.
    """
    root = homes[-1]
    group = root.group(homes)
    if group is not None:
        found: list[Array] = group.all_reduce(reduction, values)
        return found
    total = reduce(reduction, values, homes, root)
    others = [
        root.duplicate(total) if home is root else home.copy_across(total, root)
        for home in homes[:-1]
    ]
    return [*others, total]


def broadcast(value: Array, home: device.Device, targets: Sequence[device.Device]) -> list[Array]:
    """Return a copy of `value`, an array of `home`, for each of the other devices `targets`.

    `value` must not change until the streams of all devices have done the work.
    """
    group = home.group([home, *targets])
    if group is not None:
        return group.broadcast(value, 0)[1:]  # type: ignore[no-any-return]
    return [target.copy_across(value, home) for target in targets]
