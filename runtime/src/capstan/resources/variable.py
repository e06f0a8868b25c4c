"""A variable as a task keeps it: one array, one lock.

The lock guards the array against torn reads and lost updates *between* steps: kernels that change
the variable hold it, and so does whoever copies the value out of the task. A read inside a step
shares the memory (TensorFlow's reference variables do the same), so a step that reads and another
that assigns at the same time race, as they do in TensorFlow without `use_locking`. Within a step
the compiler sees to it that a resource variable's read outlasts a later change.

A large value is not copied to be sent: the sender pins the array, and whoever changes the variable
meanwhile goes on in another one (TensorFlow's copy on write, core/framework/resource_var.h).

A thread that needs the locks of several variables takes them in `in_lock_order`, so that two such
threads never wait for each other.
"""

import threading

import numpy as np

from capstan import errors
from capstan.core import dtypes, shapes
from capstan.core.arrays import Array


class Variable:
    """A named, typed cell. Thread-safe as the module says."""

    __slots__ = ("_pins", "_spare", "array", "container", "lock", "name")

    def __init__(self, name: str, container: str) -> None:
        self.name = name
        self.container = container
        self.array: Array | None = None
        self.lock = threading.Lock()
        self._pins: dict[int, int] = {}
        self._spare: Array | None = None

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

    def pin(self) -> Array:
        """Return the array as it is now; it does not change until `unpin`.

        Raises:
            FailedPreconditionError: nothing was assigned yet.
        """
        with self.lock:
            array = self.read()
            self._pins[id(array)] = self._pins.get(id(array), 0) + 1
            return array

    def unpin(self, array: Array) -> None:
        """Undo one `pin`; an array that was left behind serves the next writer that needs one."""
        with self.lock:
            left = self._pins.pop(id(array)) - 1
            if left:
                self._pins[id(array)] = left
            elif array is not self.array:
                self._spare = array

    def writable(self) -> Array:
        """Return the array to change in place, with the present value. For use under `lock`."""
        array = self.read()
        if id(array) not in self._pins:
            return array
        self.array = self._vacant(array)
        np.copyto(self.array, array)
        return self.array

    def _vacant(self, like: Array) -> Array:
        """An array that nobody reads, of the shape and dtype of `like`."""
        spare, self._spare = self._spare, None
        if spare is not None and spare.shape == like.shape and spare.dtype == like.dtype:
            return spare
        return np.empty_like(like)

    def assign(self, value: Array, *, validate_shape: bool = True) -> None:
        """Copy `value` in; the first assignment, or one of another shape, takes new memory.

        Raises:
            InvalidArgumentError: `validate_shape` and the variable holds another shape.
        """
        with self.lock:
            array = self.array
            if array is not None and array.shape == value.shape and array.dtype == value.dtype:
                if id(array) in self._pins:
                    array = self._vacant(array)
                np.copyto(array, value)
                self.array = array
                return
            if array is not None and validate_shape and array.shape != value.shape:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    "Assign requires shapes of both tensors to match. "
                    f"lhs shape= {shapes.show(array.shape)} rhs shape= {shapes.show(value.shape)}",
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


def in_lock_order(*cells: Variable) -> list[Variable]:
    """Return variables in the order in which every thread must take their locks."""
    # Any order serves that is the same for all threads. Who locks them keeps them alive, so no
    # other variable has their `id`.
    return sorted(cells, key=id)
