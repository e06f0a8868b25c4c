"""`tf.SparseTensor`: the elements of a tensor that are not zero, and their places.

Source: tensorflow/python/framework/sparse_tensor.py.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, known_sizes, quotients
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class SparseTensorValue(NamedTuple):
    """The arrays of a sparse tensor: what `Session.run` returns for one, and what feeds one."""

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor:
    """A tensor of `dense_shape` that has `values[i]` at the place `indices[i]`, and else zeros.

    `indices` is a matrix of int64 with one row for each value, and `dense_shape` a vector of int64.
    Ops expect that the rows of `indices` are sorted. Immutable, but programs may add attributes of
    their own.

    Raises:
        ValueError: the static shapes of the three tensors do not fit.
    """

    __slots__ = ("__dict__", "__weakref__", "_dense_shape", "_indices", "_values")

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        given = [part for part in (indices, values, dense_shape) if isinstance(part, graphs.Tensor)]
        graph = graphs.graph_of(given) if given else graphs.get_default_graph()
        with graph.as_default(), graph.name_scope("SparseTensor"):
            self._indices = convert.convert_to_tensor(indices, dtypes.int64, "indices")
            self._values = convert.convert_to_tensor(values, name="values")
            self._dense_shape = convert.convert_to_tensor(dense_shape, dtypes.int64, "dense_shape")
        places = self._indices.get_shape().with_rank(2)
        shape = self._dense_shape.get_shape().with_rank(1)
        places[:1].merge_with(self._values.get_shape().with_rank(1))
        places[1:].merge_with(shape)

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> "SparseTensor":
        """Return a SparseTensor or SparseTensorValue as a SparseTensor.

        Raises:
            TypeError: the value is neither.
        """
        if not isinstance(sparse_tensor_value, SparseTensor | SparseTensorValue):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        value = sparse_tensor_value
        return cls(value.indices, value.values, value.dense_shape)

    @property
    def indices(self) -> graphs.Tensor:
        return self._indices

    @property
    def values(self) -> graphs.Tensor:
        return self._values

    @property
    def dense_shape(self) -> graphs.Tensor:
        return self._dense_shape

    @property
    def op(self) -> graphs.Operation:
        """The operation that computes the values."""
        return self._values.op

    @property
    def dtype(self) -> dtypes.DType:
        return self._values.dtype

    @property
    def graph(self) -> Any:
        return self._values.graph

    @property
    def shape(self) -> tensor_shape.TensorShape:
        """The static shape of the dense tensor."""
        sizes = known_sizes.of(self._dense_shape)
        if sizes is None:
            return tensor_shape.TensorShape(None)
        return tensor_shape.TensorShape([None if (size or 0) < 0 else size for size in sizes])

    def get_shape(self) -> tensor_shape.TensorShape:
        return self.shape

    def consumers(self) -> list[graphs.Operation]:
        """Return the operations that read one of the three tensors."""
        parts = (self.indices, self.values, self.dense_shape)
        return list(dict.fromkeys(op for part in parts for op in part.consumers()))

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """Return the value of the tensor in a step of `session`, by default the default session."""
        parts = (self._indices, self._values, self._dense_shape)
        return SparseTensorValue(*(part.eval(feed_dict, session) for part in parts))

    def __mul__(self, other: Any) -> "SparseTensor":
        """Multiply the values by the elements of a dense tensor, which is broadcast."""
        with self._operator("mul") as scope:
            dense = convert.convert_to_tensor(other, self.dtype.base_dtype, "y")
            parts = self._indices, self._values, self._dense_shape
            return self._with(raw.SparseDenseCwiseMul(*parts, dense, name=scope))

    def __truediv__(self, other: Any) -> "SparseTensor":
        """Divide the values by the elements of a dense tensor, which is broadcast.

        Integers are converted to floats first, as by Python's `/`.
        """
        with self._operator("truediv") as scope:
            dense = convert.convert_to_tensor(other, self.dtype.base_dtype, "y")
            values, dense = quotients.operands(self._values, dense)
            parts = self._indices, values, self._dense_shape
            return self._with(raw.SparseDenseCwiseDiv(*parts, dense, name=scope))

    @contextlib.contextmanager
    def _operator(self, name: str) -> Iterator[str]:
        with self.graph.as_default(), self.graph.name_scope(name) as scope:
            yield scope

    def _with(self, values: graphs.Tensor) -> "SparseTensor":
        return SparseTensor(self._indices, values, self._dense_shape)

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, "
            f"dense_shape={self._dense_shape})"
        )

    __repr__ = __str__


def is_sparse(x: Any) -> bool:
    """Return whether `x` is a SparseTensor or a SparseTensorValue."""
    return isinstance(x, SparseTensor | SparseTensorValue)
