"""Values that are made of several tensors: IndexedSlices, SparseTensor and RaggedTensor
(python/framework/composite_tensor.py)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from capstan.core import tensor_shape
from capstan.framework import indexed_slices, sparse_tensor


class Composite(ABC):
    """A value of a class that `framework` does not know, such as a RaggedTensor."""

    __slots__ = ()

    @abstractmethod
    def _parts(self) -> list[Any]:
        """Return the tensors that the value is made of."""

    @abstractmethod
    def _like(self, tensors: Sequence[Any]) -> Any:
        """Return a value of the same kind that is made of `tensors`, in the order of `_parts`."""

    @abstractmethod
    def _invariants(
        self, invariant: tensor_shape.TensorShape | None
    ) -> list[tensor_shape.TensorShape]:
        """Return the shape of each tensor in all iterations of a loop. See `invariants`."""

    @abstractmethod
    def _fetched(self, arrays: Sequence[Any]) -> Any:
        """Return what `Session.run` returns for the value. `arrays` are those of `_parts`."""

    @abstractmethod
    def _fed(self, given: Any) -> tuple[Any, ...]:
        """Return one array for each tensor of `_parts`, from a value that feeds this value.

        Raises:
            TypeError: `given` has another type.
            ValueError: `given` has another number of arrays.
        """


_KINDS = (indexed_slices.IndexedSlices, sparse_tensor.SparseTensor, Composite)


def is_composite(value: Any) -> bool:
    """Return whether `value` is made of several tensors."""
    return isinstance(value, _KINDS)


def parts(value: Any) -> list[Any] | None:
    """Return the tensors of a composite value, or None if `value` is not composite."""
    if isinstance(value, sparse_tensor.SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, Composite):
        return value._parts()
    return indexed_slices.parts(value) if is_composite(value) else None


def like(value: Any, tensors: Sequence[Any]) -> Any:
    """Return a value of the kind of `value` that is made of `tensors`, in the order of `parts`."""
    return value._like(tensors) if isinstance(value, Composite) else type(value)(*tensors)


def invariants(
    value: Any, invariant: tensor_shape.TensorShape | None = None
) -> list[tensor_shape.TensorShape]:
    """Return the shape of each tensor of a composite loop variable in all iterations.

    The invariant of an IndexedSlices is the shape of its values. By default, each of its tensors
    keeps its shape. The invariant of a SparseTensor is the shape of its dense shape, a vector. By
    default it keeps its rank. The number of its values may always change. The invariant of a
    RaggedTensor is its shape, and by default the shape that it has.

    Raises:
        ValueError: the invariant of a SparseTensor is not the shape of a vector.
    """
    if isinstance(value, Composite):
        return value._invariants(invariant)
    if isinstance(value, sparse_tensor.SparseTensor):
        if invariant is None:
            invariant = value.dense_shape.shape
        if invariant.ndims not in (None, 1):
            raise ValueError(f"Expected a shape with 1 dimension. Received: {invariant}")
        rank = None if invariant.ndims is None else invariant.as_list()[0]
        return [tensor_shape.TensorShape(shape) for shape in ([None, rank], [None], [rank])]
    if invariant is None:
        return [part.shape for part in indexed_slices.parts(value)]
    rank = invariant.ndims
    shapes = [invariant, tensor_shape.TensorShape([None] if rank is None else invariant[:1])]
    return shapes + ([] if value.dense_shape is None else [tensor_shape.TensorShape([rank])])
