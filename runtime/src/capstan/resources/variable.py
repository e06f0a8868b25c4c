"""A variable of a task: an array and a lock.

The lock guards the array against torn reads and lost updates *between* steps. Kernels that change
the variable hold the lock, and so does the code that copies the value out of the task. A read
inside a step shares the memory, as with TensorFlow's reference variables. A step that reads and
another step that assigns at the same time therefore race, as in TensorFlow without `use_locking`.
Within a step, the compiler makes a copy for a read of a resource variable if a change comes before
the last use of the value.

The memory of the value is that of the variable's device, which allocates and copies it.

A large value is sent without a copy. The sender pins the array, and a thread that changes the
variable meanwhile writes to another array (TensorFlow's copy on write,
core/framework/resource_var.h).

A thread that needs the locks of several variables takes them in `in_lock_order`, so that two such
threads never wait for each other.
"""

import threading

import numpy as np

from capstan import errors
from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.hardware import device as hardware

_NEW_MEMORY = "new memory of a variable, which would have no value before the first repetition"


class Variable:
    """A named value. Thread-safe as the module's docstring describes."""

    __slots__ = (
        "__weakref__",
        "_pins",
        "_spare",
        "array",
        "container",
        "device",
        "lock",
        "name",
    )

    # A handle is a tensor without axes, which ops such as `Pack` combine with others.
    shape: tuple[int, ...] = ()
    ndim = 0
    dtype = np.dtype(object)

    def __init__(self, name: str, container: str, device: hardware.Device) -> None:
        self.name = name
        self.container = container
        self.device = device
        self.array: Array | None = None
        self.lock = threading.Lock()
        self._pins: dict[int, int] = {}
        self._spare: Array | None = None

    def read(self) -> Array:
        """Return the array itself, not a copy. The caller must not write to it.

        Raises:
            FailedPreconditionError: the variable has no value yet.
        """
        array = self.array
        if array is None:
            raise self._error_of_read()
        return array

    def held(self) -> Array:
        """Return the array as `read` does, for an op that does more than read the value.

        Raises:
            OpError: the variable has no value yet. The class is that of the variable's kind.
        """
        array = self.array
        if array is None:
            raise self._error_of_use()
        return array

    def _error_of_read(self) -> errors.OpError:
        return errors.FailedPreconditionError(
            None, None, f"Attempting to use uninitialized value {self.name}"
        )

    def _error_of_use(self) -> errors.OpError:
        return self._error_of_read()

    def snapshot(self, out: Array | None = None) -> Array:
        """Copy the value under the lock, into `out` if `out` has its shape and dtype."""
        return self.copy(self.read(), out)

    def copy(self, view: Array, out: Array | None = None) -> Array:
        """Copy `view`, which shares this variable's memory, under the lock.

        The copy is in `out` if `out` has the view's shape and dtype.
        """
        with self.lock:
            if out is None or out.shape != view.shape or out.dtype != view.dtype:
                return self.device.duplicate(view)
            self.device.copy(view, out)
            return out

    def pin(self) -> Array:
        """Return the present array. It does not change until `unpin`.

        Raises:
            FailedPreconditionError: the variable has no value yet.
        """
        with self.lock:
            array = self.read()
            self._pins[id(array)] = self._pins.get(id(array), 0) + 1
            return array

    def unpin(self, array: Array) -> None:
        """Undo one `pin`. If the variable has another array by now, keep `array` for reuse."""
        with self.lock:
            left = self._pins.pop(id(array)) - 1
            if left:
                self._pins[id(array)] = left
            elif array is not self.array:
                self._spare = array

    @property
    def is_pinned(self) -> bool:
        """Whether somebody keeps an array of the variable. The caller holds `lock`."""
        return bool(self._pins)

    def writable(self) -> Array:
        """Return an array with the present value, to change in place. The caller holds `lock`.

        Raises:
            OpError: the variable has no value yet, as for `held`.
        """
        array = self.held()
        if not self._pins or id(array) not in self._pins:
            return array
        self.array = self._vacant(array)
        self.device.copy(array, self.array)
        return self.array

    def _vacant(self, like: Array) -> Array:
        """Return an unused array with the shape and dtype of `like`."""
        self.device.refuse_recording(_NEW_MEMORY)
        spare, self._spare = self._spare, None
        if spare is not None and spare.shape == like.shape and spare.dtype == like.dtype:
            return spare
        return self.device.allocate(like.shape, like.dtype)

    def assign(self, value: Array, *, validate_shape: bool = True) -> None:
        """Copy `value` in. The first value, or a value of another shape, gets new memory.

        Raises:
            InvalidArgumentError: `validate_shape` is true and the variable has another shape.
        """
        with self.lock:
            array = self.array
            if array is not None and array.shape == value.shape and array.dtype == value.dtype:
                if id(array) in self._pins:
                    array = self._vacant(array)
                self.device.copy(value, array)
                self.array = array
                return
            if array is not None and validate_shape and array.shape != value.shape:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    "Assign requires shapes of both tensors to match. "
                    f"lhs shape= {shapes.show(array.shape)} rhs shape= {shapes.show(value.shape)}",
                )
            self.device.refuse_recording(_NEW_MEMORY)
            self.array = self.device.duplicate(value)

    def clear(self) -> None:
        """Forget the value, for `Session.reset`. Programs that hold the variable still share it."""
        with self.lock:
            self.array = None


class ResourceVariable(Variable):
    """A variable whose handle is a tensor (TensorFlow's Var, core/framework/resource_var.h).

    TensorFlow makes a Var when a first value is assigned. An op that uses the handle earlier finds
    no resource.
    """

    __slots__ = ()

    def _error_of_read(self) -> errors.OpError:
        return errors.FailedPreconditionError(
            None,
            None,
            f"Error while reading resource variable {self.name} from Container: {self.container}. "
            f"This could mean that the variable was uninitialized. Not found: {self._absence()}",
        )

    def _error_of_use(self) -> errors.OpError:
        return errors.NotFoundError(None, None, self._absence())

    def _absence(self) -> str:
        return f"Resource {self.container}/{self.name}/N10tensorflow3VarE does not exist."


def in_lock_order(*cells: Variable) -> list[Variable]:
    """Return variables in the order in which every thread must take their locks."""
    # Any order that is the same for all threads works. The caller keeps the variables alive, so
    # no other variable can have the same `id`.
    return sorted(cells, key=id)
