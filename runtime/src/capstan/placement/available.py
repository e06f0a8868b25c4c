"""The devices of a session, and the nodes that each of them can run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capstan.core import devices, dtypes, kernel_list
from capstan.core import node as ir

_PRIORITY = {"GPU": 0, "CPU": 1}

Runners = frozenset[tuple[int, str]]
"""Pairs of the identity of a list of kernels, and a device type of one of its kernels."""


class Available:
    """The devices of a session, in the order in which the placer prefers them.

    Immutable, apart from answers that it keeps. Thread-safe.
    """

    def __init__(self, kernels: Mapping[str, kernel_list.KernelList]) -> None:
        """`kernels` maps the full name of each device to the kernels of its task."""
        self.names = tuple(sorted(kernels, key=_preference))
        self._specs = {name: devices.parse(name) for name in self.names}
        self._lists = {id(found): found for found in kernels.values()}
        self._runners = {
            name: (id(kernels[name]), self._specs[name].device_type or "") for name in self.names
        }
        self._distinct = tuple(dict.fromkeys(self._runners.values()))
        self.types = tuple(dict.fromkeys(kind for _, kind in self._distinct))
        """The device types, best first."""
        self._fitting: dict[object, list[str]] = {}

    def runners(self, node: ir.Node, attrs: Mapping[str, Any]) -> Runners:
        """Return the kernels and device types that can run `node`, for `fitting`."""
        return frozenset(
            (number, kind)
            for number, kind in self._distinct
            if self._lists[number].supports(node.op, kind, attrs)
        )

    def fitting(self, spec: devices.DeviceSpec, runners: Runners) -> list[str]:
        """Return the devices that match `spec` and are among `runners`, best first."""
        # Thousands of nodes ask for the same few devices.
        key = spec.job, spec.replica, spec.task, spec.device_type, spec.device_index, runners
        found = self._fitting.get(key)
        if found is None:
            found = [name for name in self.matching(spec) if self._runners[name] in runners]
            self._fitting[key] = found
        return found

    def matching(self, spec: devices.DeviceSpec) -> list[str]:
        """Return the devices that match `spec`, best first."""
        return [name for name in self.names if spec.matches(self._specs[name])]

    def types_of(self, runners: Runners) -> list[str]:
        """Return the device types among `runners`, best first."""
        return [kind for kind in self.types if any(kind == runner for _, runner in runners)]

    def registered(self, op: str) -> list[str]:
        """Return a line for each kernel of `op`, as KernelsRegisteredForOp writes it."""
        lines = {
            _describe(kernel): None
            for found in self._lists.values()
            for kernel in found
            if kernel.op == op
        }
        return list(lines)


def _preference(name: str) -> tuple[int, str]:
    kind = devices.parse(name).device_type or ""
    return _PRIORITY.get(kind, len(_PRIORITY)), name


def _describe(kernel: kernel_list.KernelDef) -> str:
    constraints = "".join(
        f"; {name} in [{_names(allowed)}]" for name, allowed in kernel.constraints.items()
    )
    return f"  device='{kernel.device_type}'{constraints}"


def _names(allowed: Iterable[dtypes.DType]) -> str:
    ordered: Sequence[dtypes.DType] = sorted(allowed, key=lambda dtype: dtype.as_datatype_enum)
    return ", ".join(f"DT_{dtypes.cpp_name(dtype).upper()}" for dtype in ordered)
