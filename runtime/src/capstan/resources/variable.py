"""A variable as a task keeps it: one array, one lock.

The lock guards the array against torn reads and lost updates *between* steps: kernels that change
the variable hold it, and so does whoever copies the value out of the task. A read inside a step
shares the memory (TensorFlow's reference variables do the same), so a step that reads and another
that assigns at the same time race, as they do in TensorFlow without `use_locking`. Within a step
the compiler sees to it that a resource variable's read outlasts a later change.
"""

import threading
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes

Array = np.ndarray[Any, Any]


class Variable:
    """A named, typed cell. Thread-safe as the module says."""

    __slots__ = ("array", "container", "lock", "name")

    def __init__(self, name: str, container: str) -> None:
        self.name = name
        self.container = container
        self.array: Array | None = None
        self.lock = threading.Lock()

    def read(self) -> Array:
        """Return the live array; the caller must not write to it.

        Raises:
            FailedPreconditionError: nothing was assigned yet.
        """
        array = self.array
        if array is None:
            raise errors.FailedPreconditionError(
                None, None, f"Attempting to use uninitialized value {self.name}"
            )
        return array

    def snapshot(self, out: Array | None = None) -> Array:
        """Copy the value under the lock, into `out` when that has its shape and dtype."""
        return self.copy(self.read(), out)

    def copy(self, view: Array, out: Array | None = None) -> Array:
        """Copy `view`, which shares this variable's memory, under the lock."""
        with self.lock:
            if out is None or out.shape != view.shape or out.dtype != view.dtype:
                return view.copy()
            np.copyto(out, view)
            return out

    def assign(self, value: Array, *, validate_shape: bool = True) -> None:
        """Copy `value` in; the first assignment, or one of another shape, takes new memory.

        Raises:
            InvalidArgumentError: `validate_shape` and the variable holds another shape.
        """
        with self.lock:
            array = self.array
            if array is not None and array.shape == value.shape and array.dtype == value.dtype:
                np.copyto(array, value)
                return
            if array is not None and validate_shape and array.shape != value.shape:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    "Assign requires shapes of both tensors to match. "
                    f"lhs shape= {_show(array.shape)} rhs shape= {_show(value.shape)}",
                )
            self.array = np.array(value, order="C")

    def handle(self, device: str) -> Array:
        """What stands for the variable outside of its task: a `dtypes.np_resource` row."""
        from tensorboard.compat.proto import resource_handle_pb2

        proto = resource_handle_pb2.ResourceHandleProto(
            device=device, container=self.container, name=self.name
        )
        return np.frombuffer(proto.SerializeToString(), dtypes.np_resource)

    def clear(self) -> None:
        """Forget the value, as `Session.reset` asks; whoever holds the cell goes on sharing it."""
        with self.lock:
            self.array = None


def _show(shape: tuple[int, ...]) -> str:
    return "[" + ",".join(map(str, shape)) + "]"
