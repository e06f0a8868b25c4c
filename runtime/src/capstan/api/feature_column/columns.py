"""What all feature columns have in common: the features of a batch, and the kinds of columns.

Source: tensorflow/python/feature_column/feature_column.py.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from capstan.api import cond_ops, math_ops, nd_ops, sparse_math_ops, sparse_ops
from capstan.core import dtypes
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor


class FeatureColumn(abc.ABC):
    """A description of a feature. Columns are values: they belong to no graph."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the column."""

    @property
    def scope_name(self) -> str:
        """The name of the scope of the variables in an `input_layer`."""
        return self.name

    @property
    @abc.abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """The features that the column reads, for `tf.parse_example`."""

    @abc.abstractmethod
    def transformed(self, features: "Features") -> Any:
        """Return the tensor of the column. `Features.get` calls this once for a batch."""


class DenseColumn(FeatureColumn):
    """A column that has a tensor of numbers for each example, of the shape `variable_shape`."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of the numbers of one example."""

    @abc.abstractmethod
    def dense_tensor(self, features: "Features", collections: Any, trainable: bool) -> Any:
        """Return the numbers, and make the variables of the column in the current scope."""


class SequencePair(NamedTuple):
    """The numbers of each step, [batch, time, ...], and the number of steps, an int64 [batch]."""

    dense_tensor: Any
    sequence_length: Any


class SequenceDenseColumn(FeatureColumn):
    """A column that has numbers of the shape `variable_shape` for each step of an example."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of the numbers of one step."""

    @abc.abstractmethod
    def sequence_dense_tensor(
        self, features: "Features", collections: Any, trainable: bool
    ) -> SequencePair:
        """Return the numbers, and make the variables of the column in the current scope."""


class IdWeightPair(NamedTuple):
    """The ids of each example, and their weights or None."""

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None


class CategoricalColumn(FeatureColumn):
    """A column that has ids below `num_buckets` for each example."""

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int:
        """The number of ids."""

    def sparse_tensors(self, features: "Features") -> IdWeightPair:
        return IdWeightPair(features.get(self), None)


class Features:
    """The features of a batch, and the tensors that columns made of them."""

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._given = features
        self._made: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        """Return the tensor of a feature or of a column. A vector becomes a matrix.

        Raises:
            ValueError: there is no such feature, or it is a scalar.
        """
        if key not in self._made:
            self._made[key] = self._raw(key) if isinstance(key, str) else key.transformed(self)
        return self._made[key]

    def _raw(self, key: str) -> Any:
        if key not in self._given:
            raise ValueError(f"Feature {key} is not in features dictionary.")
        tensor = sparse_ops.convert_to_tensor_or_sparse_tensor(self._given[key])
        rank = tensor.get_shape().ndims
        if rank == 0:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {tensor}")
        if isinstance(tensor, SparseTensor):
            return _as_matrix(tensor) if rank == 1 else tensor
        if rank is None:
            return cond_ops.cond(
                raw.Equal(raw.Rank(tensor), 1),
                lambda: raw.ExpandDims(tensor, -1),
                lambda: raw.Identity(tensor),
            )
        return raw.ExpandDims(tensor, -1) if rank == 1 else tensor


def _as_matrix(vector: SparseTensor) -> SparseTensor:
    return sparse_math_ops.sparse_reshape(vector, [-1, 1])


def sparse(value: Any, ignored: Any = None) -> SparseTensor:
    """Return a tensor without the elements that equal `ignored`, as a SparseTensor.

    The default for `ignored` is "" for strings, -1 for integers, and else 0.
    """
    if isinstance(value, SparseTensor):
        return value
    if ignored is None:
        ignored = "" if value.dtype == dtypes.string else -1 if value.dtype.is_integer else 0
    if value.dtype != dtypes.string:
        ignored = math_ops.cast(ignored, value.dtype)
    places = raw.Where(raw.NotEqual(value, ignored))
    shape = raw.Shape(value, out_type=dtypes.int64)
    return SparseTensor(places, nd_ops.gather_nd(value, places), shape)


def sizes_of(shape: Any, key: str) -> tuple[int, ...]:
    """Return the shape of a feature of numbers as a tuple.

    Raises:
        ValueError: a size is below 1.
    """
    sizes = tuple(int(size) for size in (shape if isinstance(shape, Sequence) else [shape]))
    if not all(size > 0 for size in sizes):
        raise ValueError(f"shape dimensions must be greater than 0. shape: {sizes}, key: {key}")
    return sizes


def check_number(dtype: dtypes.DType, normalizer_fn: Any, key: str) -> None:
    """Raise ValueError unless a dtype is a number, and TypeError for a wrong normalizer."""
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")


def check_key(key: Any) -> None:
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")  # noqa: TRY004 - TensorFlow's


def check_string_or_int(dtype: dtypes.DType, prefix: str) -> None:
    if dtype != dtypes.string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")
