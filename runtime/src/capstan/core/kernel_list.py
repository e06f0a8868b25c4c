"""The kernels of a task, as a value that its peers can read (framework/kernel_def.proto).

The placer looks a node up in the list of the task that is to run it. The tasks of a cluster may
differ: some have GPUs, and some may have kernels that others lack.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from capstan.core import dtypes

Constraints = Mapping[str, frozenset[dtypes.DType]]
"""The dtypes that a kernel serves, by type attribute. Other type attributes may have any dtype."""


@dataclass(frozen=True, slots=True)
class KernelDef:
    """One kernel: the op, the device type that runs it, and its dtypes."""

    op: str
    device_type: str
    constraints: Constraints


class KernelList:
    """Kernels by op and device type. Immutable. Two lists of the same kernels are equal."""

    def __init__(self, kernels: Iterable[KernelDef] = ()) -> None:
        self._kernels = tuple(kernels)
        self._rows: dict[tuple[str, str], list[KernelDef]] = {}
        for kernel in self._kernels:
            self._rows.setdefault((kernel.op, kernel.device_type), []).append(kernel)

    def __iter__(self) -> Iterator[KernelDef]:
        return iter(self._kernels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KernelList) and self._kernels == other._kernels

    __hash__ = object.__hash__

    def supports(self, op: str, device_type: str, attrs: Mapping[str, Any]) -> bool:
        """Return whether a kernel for `op` with these attributes exists on a device type."""
        kernels = self._rows.get((op, device_type), ())
        return any(serves(kernel.constraints, attrs) for kernel in kernels)


def serves(constraints: Constraints, attrs: Mapping[str, Any]) -> bool:
    """Return whether a kernel with these constraints serves a node with these attributes."""
    return all(_allows(allowed, attrs.get(name)) for name, allowed in constraints.items())


def _allows(allowed: frozenset[dtypes.DType], value: object) -> bool:
    if isinstance(value, dtypes.DType):
        return value in allowed
    return value is None or all(dtype in allowed for dtype in value)  # type: ignore[attr-defined]
