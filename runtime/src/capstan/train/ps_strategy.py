"""Strategies for `tf.train.replica_device_setter`. They choose a parameter server for a variable.

A strategy is called with the operation of each variable, in the order in which the operations are
created. It returns the index of a ps task. All clients must choose the same tasks, so a strategy
may depend on nothing but the operations and their order.

Source: tensorflow/contrib/training/python/training/device_setter.py.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from capstan.core import shapes


class RoundRobinStrategy:
    """Chooses one task after the other. This is the default strategy."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next = 0

    def __call__(self, op: Any) -> int:
        task, self._next = self._next, (self._next + 1) % self._num_tasks
        return task


class GreedyLoadBalancingStrategy:
    """Chooses the task with the least load. `load_fn(op)` is the load that an operation adds."""

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._loads = [0.0] * num_tasks
        self._load_fn = load_fn

    def __call__(self, op: Any) -> int:
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


class RandomStrategy:
    """Chooses a task by a hash of the operation's name and `seed`.

    Every client chooses the same task.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: Any) -> int:
        key = f"{op.name}_{self._seed}".encode()
        return int(hashlib.md5(key, usedforsecurity=False).hexdigest(), 16) % self._num_tasks


def byte_size_load_fn(op: Any) -> int:
    """Return the size in bytes of an operation's only output. A handle counts as its variable.

    Raises:
        ValueError: the operation has several outputs, or its output has an unknown shape.
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output")
    output = op.outputs[0]
    elements = shapes.num_elements(output.static_shape)
    if elements is None:
        raise ValueError(
            f"Op {op} must have a fully defined shape, but has {output.shape}. Give it a shape, or "
            "create it under tf.device with a job and a task, so that no strategy places it."
        )
    return int(elements * output.dtype.base_dtype.size)
