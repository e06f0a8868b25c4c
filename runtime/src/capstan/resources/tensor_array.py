"""TensorArrays: arrays of tensors that one step writes and reads by index.

TensorFlow keeps them in a container of the step and passes their names
(core/kernels/tensor_array.h). Here the handle is the array itself, so the array ends with the step.
The devices of a task may access one array at the same time.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show


class _Cleared:
    """Stands for an element that a read has cleared."""


_CLEARED = _Cleared()


@dataclass(slots=True, eq=False, weakref_slot=True)
class TensorArray:
    """One array. The elements that it returns must not be written to. Thread-safe.

    If `clears`, an element can be read once. If `has_equal_shapes`, the first element decides the
    shape of all elements. If `aggregates`, a second write to an index adds to the element, as
    gradients do.
    """

    name: str
    dtype: dtypes.DType
    element_shape: shapes.Shape
    is_dynamic: bool = False
    clears: bool = True
    has_equal_shapes: bool = False
    aggregates: bool = False
    container: str = ""
    split_size: int | None = None
    """The number of elements that the last split wrote.

    A gradient array has the number of the array that it is the gradient of.
    """
    _elements: list[Any] = field(default_factory=list)
    _shapes: list[shapes.Shape] = field(default_factory=list)
    """The shape of each element, if it is known. It stays when a read clears the element."""
    _gradients: "dict[bytes, TensorArray]" = field(default_factory=dict)
    _is_closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __len__(self) -> int:
        return len(self._elements)

    def write(self, index: int, value: Any) -> None:
        """Set element `index` to `value`, which must not change later.

        Raises:
            InvalidArgumentError: the value or the index does not fit, or the element is set.
        """
        with self._lock:
            self._write(index, value)

    def _write(self, index: int, value: Any) -> None:
        self._require_open()
        if not 0 <= index < len(self._elements):
            if index < 0 or not self.is_dynamic:
                raise self._wrong(
                    f"Tried to write to index {index} but array is not resizeable and size is: "
                    f"{len(self._elements)}"
                )
            self._grow(index + 1)
        self._require_shape(index, value.shape)
        held = self._elements[index]
        if held is None:
            self._elements[index] = value
            self._shapes[index] = value.shape
            return
        if held is _CLEARED:
            raise self._wrong(
                f"Could not write to TensorArray index {index} because it has already been read."
            )
        if not self.aggregates:
            raise self._wrong(
                f"Could not write to TensorArray index {index} because it has already been "
                "written to."
            )
        if held.shape != value.shape:
            raise self._wrong(
                f"Could not aggregate to TensorArray index {index} because the existing shape is "
                f"{show(held.shape)} but the new input shape is {show(value.shape)}."
            )
        self._elements[index] = np.add(held, value)

    def read(self, index: int) -> Any:
        """Return element `index`, or zeros if it was not written and its shape is known.

        Raises:
            InvalidArgumentError: there is no such element.
        """
        with self._lock:
            return self._read(index)

    def _read(self, index: int) -> Any:
        self._require_open()
        if not 0 <= index < len(self._elements):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Tried to read from index {index} but array size is: {len(self._elements)}",
            )
        held = self._elements[index]
        if held is _CLEARED:
            raise self._wrong(
                f"Could not read index {index} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)."
            )
        if held is None:
            return self._zeros(index)
        if self.clears:
            self._elements[index] = _CLEARED
        return held

    def read_all(self, indices: Sequence[int], element_shape: shapes.Shape = None) -> list[Any]:
        """Return the elements of `indices`, in order.

        From now on, `element_shape` is the shape of all elements, as far as it is known.

        Raises:
            InvalidArgumentError: there is no such element, or the array has other shapes.
        """
        with self._lock:
            self._learn(element_shape)
            return [self._read(index) for index in indices]

    def gradient(self, source: bytes, prefix: tuple[int, ...] = ()) -> "TensorArray":
        """Return the gradient array of the call `source`. The first call makes it.

        In the gradient, the sizes `prefix` precede the shape of each element. After this call, this
        array keeps its size.

        Raises:
            InvalidArgumentError: the array is closed.
        """
        with self._lock:
            self._require_open()
            found = self._gradients.get(source)
            if found is None:
                self.is_dynamic = False
                shape = self.element_shape
                found = TensorArray(
                    f"{self.name}@{source.decode(errors='replace')}",
                    self.dtype,
                    None if shape is None else (*prefix, *shape),
                    clears=False,
                    has_equal_shapes=self.has_equal_shapes,
                    aggregates=True,
                    split_size=self.split_size,
                )
                found.resize(len(self))
                found._shapes = [
                    None if known is None else (*prefix, *known) for known in self._shapes
                ]
                self._gradients[source] = found
            return found

    def resize(self, size: int) -> None:
        """Grow a dynamic array to `size` elements at least."""
        with self._lock:
            self._grow(size)

    def _grow(self, size: int) -> None:
        missing = size - len(self._elements)
        self._elements += [None] * missing
        self._shapes += [None] * missing

    def close(self) -> None:
        """Drop the elements. Every later access fails."""
        with self._lock:
            self._is_closed = True
            self._elements.clear()

    def _zeros(self, index: int) -> Array:
        shape = self.element_shape
        if self._shapes[index] is not None:
            shape = self._shapes[index]
        if shape is None or None in shape:
            raise self._wrong(
                f"Could not read from TensorArray index {index}.  Furthermore, the element shape "
                f"is not fully defined: {shown(shape)}.  It is possible you are working with a "
                "resizeable TensorArray and stop_gradients is not allowing the gradients to be "
                "written.  If you set the full element_shape property on the forward TensorArray, "
                "the proper all-zeros tensor will be returned instead of incurring this error."
            )
        sizes = tuple(size or 0 for size in shape)
        if self.dtype is dtypes.string:
            return np.full(sizes, b"", object)
        return np.zeros(sizes, self.dtype.as_numpy_dtype)

    def _require_shape(self, index: int, shape: tuple[int, ...]) -> None:
        if shape == self.element_shape:
            return
        if not shapes.is_compatible(self.element_shape, shape):
            raise self._wrong(
                f"Could not write to TensorArray index {index} because the value shape is "
                f"{show(shape)} which is incompatible with the TensorArray's inferred element "
                f"shape: {show(self.element_shape)} (consider setting infer_shape=False)."
            )
        if self.has_equal_shapes:
            self.element_shape = shape

    def _learn(self, shape: shapes.Shape) -> None:
        if not shapes.is_compatible(self.element_shape, shape):
            raise self._wrong(
                f"Incompatible shapes during merge: {shown(self.element_shape)} vs. {shown(shape)}"
            )
        self.element_shape = shapes.merge(self.element_shape, shape)

    def _require_open(self) -> None:
        if self._is_closed:
            raise errors.InvalidArgumentError(
                None, None, f"TensorArray {self.name} has already been closed."
            )

    def _wrong(self, reason: str) -> errors.InvalidArgumentError:
        return errors.InvalidArgumentError(None, None, f"TensorArray {self.name}: {reason}")


def shown(shape: shapes.Shape) -> str:
    """Write a shape as TensorFlow does for the elements of an array."""
    return "<unknown>" if shape is None else show(shape)
