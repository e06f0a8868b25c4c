"""`tf.IndexedSlices`: some rows of a large tensor, such as the gradient of a lookup."""

from collections.abc import Callable
from typing import Any, NamedTuple

from capstan.core import dtypes, tensor_shape


class IndexedSlices:
    """Slices `values[i]` of a tensor at the rows `indices[i]` along axis 0.

    If `indices` names a row more than once, the slices of the row add up. `dense_shape` is a tensor
    with the shape of the full tensor, or None if the shape is unknown. Immutable, but programs may
    add attributes of their own.
    """

    __slots__ = ("__dict__", "__weakref__", "_dense_shape", "_indices", "_values")

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Any:
        return self._values

    @property
    def indices(self) -> Any:
        return self._indices

    @property
    def dense_shape(self) -> Any:
        return self._dense_shape

    @property
    def name(self) -> str:
        return str(self._values.name)

    @property
    def device(self) -> str:
        return str(self._values.device)

    @property
    def op(self) -> Any:
        """The operation that computes the values."""
        return self._values.op

    def consumers(self) -> list[Any]:
        """Return the operations that read the values, the indices or the dense shape."""
        parts = (self._values, self._indices, self._dense_shape)
        read = [op for part in parts if part is not None for op in part.consumers()]
        return list(dict.fromkeys(read))

    @property
    def dtype(self) -> dtypes.DType:
        dtype: dtypes.DType = self._values.dtype
        return dtype

    @property
    def graph(self) -> Any:
        return self._values.graph

    @property
    def shape(self) -> tensor_shape.TensorShape:
        """The static shape of the full tensor."""
        if self._dense_shape is None:
            return tensor_shape.TensorShape(None)
        value = self._dense_shape.op.constant_value()
        return tensor_shape.TensorShape(None if value is None else value.tolist())

    def __neg__(self) -> "IndexedSlices":
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __str__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"


def parts(value: Any) -> list[Any]:
    """Return the tensors of an IndexedSlices: values, indices and, if known, dense_shape.

    If `value` is not an IndexedSlices, return a list of only `value`.
    """
    if not isinstance(value, IndexedSlices):
        return [value]
    return [part for part in (value.values, value.indices, value.dense_shape) if part is not None]


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Return `function(value)`. For an IndexedSlices, apply `function` to each of its tensors."""
    if not isinstance(value, IndexedSlices):
        return function(value)
    return IndexedSlices(*map(function, parts(value)))


class IndexedSlicesValue(NamedTuple):
    """The arrays that `Session.run` returns for an IndexedSlices."""

    values: Any
    indices: Any
    dense_shape: Any
