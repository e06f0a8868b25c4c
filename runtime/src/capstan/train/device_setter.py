"""`tf.train.replica_device_setter` places variables on parameter servers, other ops on the worker.

Source: tensorflow/python/training/device_setter.py.
"""

from collections.abc import Callable, Collection
from typing import Any

from capstan.core import cluster as clusters
from capstan.core import devices
from capstan.framework import facts, opdef
from capstan.framework.ops import state
from capstan.train import ps_strategy as strategies


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Collection[str] | None = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """Return a function for `tf.device` that spreads variables over the tasks of the ps job.

    Return None if there is no ps task. `ps_ops` are the op types that count as variables. The
    default is the op types that make variables, and tables, accumulators and trees that all workers
    share. `ps_strategy(op)` returns the index of the task for a variable. The default is
    round-robin. If `cluster` is given, `ps_device` names one of its jobs, and the number of ps
    tasks is the size of that job. With `merge_devices`, the returned function fills in the fields
    that inner `tf.device` blocks leave open. Without `merge_devices`, the function does not change
    operations that already have a device.

    Raises:
        TypeError: `ps_strategy` is not callable, or `cluster` is not a cluster.
    """
    if cluster is not None:
        jobs = clusters.ClusterSpec(cluster).as_dict()
        ps_job = devices.parse(ps_device).job
        ps_tasks = len(jobs.get(ps_job, ())) if ps_job else 0
    if ps_tasks == 0:
        return None
    if ps_strategy is None:
        ps_strategy = strategies.RoundRobinStrategy(ps_tasks)
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    chooser = _Chooser(
        devices.parse(ps_device),
        devices.parse(worker_device),
        merge_devices,
        None if ps_ops is None else frozenset(ps_ops),
        ps_strategy,
    )
    return chooser.choose


class _Chooser:
    """The settings of one `replica_device_setter`. `choose` is the function for `tf.device`."""

    def __init__(
        self,
        ps: devices.DeviceSpec,
        worker: devices.DeviceSpec,
        merge: bool,
        ps_ops: frozenset[str] | None,
        strategy: Callable[[Any], int],
    ) -> None:
        self._ps = ps
        self._worker = worker
        self._merge = merge
        self._ps_ops = ps_ops
        self._strategy = strategy

    def choose(self, op: Any) -> str:
        """Return the device of a new operation."""
        current = devices.parse(op.device)
        if op.device and not self._merge:
            return current.to_string()
        if not self._is_variable(op.type):
            return self._worker.merged(current).to_string()
        ps = self._ps
        if ps.job and (current.job is None or current.job == ps.job):
            # The strategy counts its calls, so it is called only for variables on the ps job.
            task = devices.DeviceSpec(task=self._strategy(op))
            ps = ps.merged(task)
        return ps.merged(current).to_string()

    def _is_variable(self, op_type: str) -> bool:
        if self._ps_ops is not None:
            return op_type in self._ps_ops
        return op_type in state.ON_PARAMETER_SERVERS or opdef.role(op_type) is facts.Role.VARIABLE
