"""`CollectiveAllReduce`: reductions over the devices of several workers.

Source: tensorflow/python/distribute/{cross_device_ops,cross_device_utils}.py of 2019.
"""

import enum
import threading
from collections.abc import Sequence
from typing import Any

from capstan.api import all_reduce_ops, array_ops, collective_ops, context, cross_device_ops
from capstan.api import distributed_values as values_
from capstan.api import distribution_replica as replicas
from capstan.core import devices as names
from capstan.framework import graph as graphs
from capstan.framework import indexed_slices

__all__ = ["CollectiveAllReduce", "CollectiveCommunication", "CollectiveKeys"]

Row = Sequence[Any]


class CollectiveCommunication(enum.Enum):
    """How workers exchange tensors. All three mean the same in Capstan.

    The GPUs of a task add by NCCL if it is there, and the tasks exchange tensors over links.
    """

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CollectiveKeys:
    """Draws the keys of groups and instances. All workers draw the same ones in the same order.

    The arguments are the first keys. Thread-safe.
    """

    def __init__(
        self,
        group_key_start: int = 1,
        op_instance_key_start: int = 100,
        variable_instance_key_start: int = 1_000_000,
    ) -> None:
        self._lock = threading.Lock()
        self._group_key = group_key_start
        self._groups: dict[tuple[str, ...], int] = {}
        self._op_key = op_instance_key_start
        self._variable_key = variable_instance_key_start

    def get_group_key(self, devices: Sequence[str]) -> int:
        """Return the key of the group of these devices on all workers, whatever their task is."""
        parsed = [names.parse(values_.canonical(device)) for device in devices]
        found = tuple(sorted(f"{each.device_type}:{each.device_index}" for each in parsed))
        with self._lock:
            if found not in self._groups:
                self._groups[found] = self._group_key
                self._group_key += 1
            return self._groups[found]

    def get_op_instance_key(self) -> int:
        """Return a new key for an operation."""
        with self._lock:
            self._op_key += 1
            return self._op_key - 1

    def get_variable_instance_key(self) -> int:
        """Return a new key for the initial value of a variable."""
        with self._lock:
            self._variable_key += 1
            return self._variable_key - 1


class CollectiveAllReduce(cross_device_ops.CrossDeviceOps):
    """Adds tensors of the devices of all workers, each of which builds the same graph.

    The tensors of one dtype among `all_reduce_merge_scope` successive tensors are joined before.
    The rows of IndexedSlices are gathered. `num_gpus_per_worker` has no effect.
    """

    def __init__(
        self,
        num_workers: int = 1,
        num_gpus_per_worker: int = 0,
        all_reduce_merge_scope: int = 32,
        collective_keys: CollectiveKeys | None = None,
    ) -> None:
        self._num_workers = num_workers
        self._merge_scope = all_reduce_merge_scope
        self._keys = collective_keys or CollectiveKeys()

    @property
    def num_between_graph_workers(self) -> int:
        return self._num_workers

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any
    ) -> Any:
        reduced = self._all_reduced(reduce_op, [per_replica_value])[0]
        where = cross_device_ops.devices_of(destinations)
        if cross_device_ops.devices_of(per_replica_value) == where:
            return reduced
        results = dict(zip(per_replica_value.devices, values_.local_results(reduced), strict=True))
        first = results[per_replica_value.devices[0]]
        copies = []
        for device in where:
            with context.device(device):
                found = results.get(device, first)
                copies.append(cross_device_ops.mirrored(found, (device,)))
        return values_.regroup(where, copies, values_.Mirrored)

    def batch_reduce_implementation(
        self, reduce_op: Any, value_destination_pairs: cross_device_ops.Pairs
    ) -> Any:
        if not value_destination_pairs:
            return []
        if cross_device_ops.all_match(value_destination_pairs):
            return self._all_reduced(reduce_op, [value for value, _ in value_destination_pairs])
        return [self.reduce_implementation(reduce_op, *pair) for pair in value_destination_pairs]

    def _all_reduced(self, reduce_op: Any, values: Sequence[Any]) -> list[Any]:
        """Return reduced values on the devices that have the values, which are the same for all."""
        dense = [
            number
            for number, value in enumerate(values)
            if not any(isinstance(part, indexed_slices.IndexedSlices) for part in value.values)
        ]
        found: dict[int, Row] = {}
        for start in range(0, len(dense), self._merge_scope):
            with graphs.get_default_graph().name_scope("allreduce"):
                found.update(self._sums(dense[start : start + self._merge_scope], values))
        for number, value in enumerate(values):
            if number not in found:
                found[number] = self._gathered(value)
        total = len(values[0].values) * self._num_workers
        results = []
        for number, value in enumerate(values):
            parts = list(found[number])
            if reduce_op is replicas.ReduceOp.MEAN:
                for place, device in enumerate(value.devices):
                    with context.device(device):
                        parts[place] = cross_device_ops.divided(parts[place], total)
            results.append(values_.regroup(value.devices, parts, values_.Mirrored))
        return results

    def _sums(self, numbers: Sequence[int], values: Sequence[Any]) -> dict[int, Row]:
        """Return the sums of some of the values, after the tensors of one dtype were joined."""
        by_dtype: dict[Any, list[int]] = {}
        for number in numbers:
            by_dtype.setdefault(values[number].values[0].dtype.base_dtype, []).append(number)
        found: dict[int, Row] = {}
        for chosen in by_dtype.values():
            devices = values[chosen[0]].devices
            columns = list(zip(*(values[number].values for number in chosen), strict=True))
            packs = []
            for column, device in zip(columns, devices, strict=True):
                with context.device(device):
                    packs.append(all_reduce_ops.packed(column, 1)[0] if column[1:] else column[0])
            sums = self._reduced(packs, devices)
            rows = []
            for part, column, device in zip(sums, columns, devices, strict=True):
                with context.device(device):
                    rows.append(all_reduce_ops.unpacked([part], column) if column[1:] else [part])
            found.update(zip(chosen, zip(*rows, strict=True), strict=True))
        return found

    def _reduced(self, tensors: Row, devices: Sequence[str]) -> Row:
        size = len(tensors) * self._num_workers
        if size < 2:
            return tensors
        group, instance = self._keys.get_group_key(devices), self._keys.get_op_instance_key()
        sums = []
        for tensor, device in zip(tensors, devices, strict=True):
            with context.device(device):
                here = cross_device_ops.mirrored(tensor, (device,))
                sums.append(collective_ops.all_reduce(here, size, group, instance, "Add", "Id"))
        return _all_run(sums, devices)

    def _gathered(self, value: Any) -> Row:
        """Return the IndexedSlices of all devices as one, on each device."""
        parts = value.values
        rows = self._concatenated([part.values for part in parts], value.devices)
        indices = self._concatenated([part.indices for part in parts], value.devices)
        return [
            indexed_slices.IndexedSlices(one, index, part.dense_shape)
            for one, index, part in zip(rows, indices, parts, strict=True)
        ]

    def _concatenated(self, tensors: Row, devices: Sequence[str]) -> Row:
        size = len(tensors) * self._num_workers
        if size < 2:
            return tensors
        group, instance = self._keys.get_group_key(devices), self._keys.get_op_instance_key()
        found = []
        for tensor, device in zip(tensors, devices, strict=True):
            with context.device(device):
                here = cross_device_ops.mirrored(tensor, (device,))
                found.append(collective_ops.all_gather(here, size, group, instance))
        return _all_run(found, devices)


def _all_run(outputs: Row, devices: Sequence[str]) -> Row:
    """Return the outputs. A step that needs one of them runs all, which wait for each other."""
    if len(outputs) == 1:
        return outputs
    found = []
    for output, device in zip(outputs, devices, strict=True):
        with context.device(device), context.control_dependencies([each.op for each in outputs]):
            found.append(array_ops.identity(output))
    return found
