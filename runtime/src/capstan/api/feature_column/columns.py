"""What all feature columns have in common: the features of a batch, and the kinds of columns.

Programs that work with columns also call their methods by TensorFlow's names, which begin with an
underscore in TensorFlow 1.4 to 1.12. `capstan.api.feature_column.custom` has the bases of columns
that programs define by these names.

Source: tensorflow/python/feature_column/feature_column.py.
"""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from capstan.api import (
    array_ops,
    check_ops,
    cond_ops,
    math_ops,
    nd_ops,
    sparse_math_ops,
    sparse_ops,
)
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework import nest
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
    def _var_scope_name(self) -> str:
        return self.scope_name

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.parse_example_spec

    def _transform_feature(self, inputs: "Features") -> Any:
        return self.transformed(inputs)

    def transform_feature(self, transformation_cache: "Features", state_manager: Any = None) -> Any:
        """Return the tensor of the column, as TensorFlow 1.13 and newer call it."""
        return self.transformed(transformation_cache)

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

    @property
    def _variable_shape(self) -> tuple[int, ...]:
        return self.variable_shape

    def _get_dense_tensor(
        self, inputs: "Features", weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        return self.dense_tensor(inputs, weight_collections, trainable is not False)

    @abc.abstractmethod
    def dense_tensor(self, features: "Features", collections: Any, trainable: bool) -> Any:
        """Return the numbers, and make the variables of the column in the current scope."""


class SequencePair(NamedTuple):
    """The numbers of each step, [batch, time, ...], and the number of steps, an int64 [batch]."""

    dense_tensor: Any
    sequence_length: Any


class SequenceDenseColumn(FeatureColumn):
    """A column that has numbers of the shape `variable_shape` for each step of an example."""

    TensorSequenceLengthPair: ClassVar = SequencePair

    @property
    @abc.abstractmethod
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of the numbers of one step."""

    @abc.abstractmethod
    def sequence_dense_tensor(
        self, features: "Features", collections: Any, trainable: bool
    ) -> SequencePair:
        """Return the numbers, and make the variables of the column in the current scope."""

    def _get_sequence_dense_tensor(
        self, inputs: "Features", weight_collections: Any = None, trainable: bool | None = None
    ) -> SequencePair:
        return self.sequence_dense_tensor(inputs, weight_collections, trainable is not False)


class IdWeightPair(NamedTuple):
    """The ids of each example, and their weights or None."""

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None


_IdsAndWeights = IdWeightPair


class CategoricalColumn(FeatureColumn):
    """A column that has ids below `num_buckets` for each example."""

    IdWeightPair: ClassVar = IdWeightPair

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int:
        """The number of ids."""

    def sparse_tensors(self, features: "Features") -> _IdsAndWeights:
        return _IdsAndWeights(features.get(self), None)

    @property
    def _num_buckets(self) -> int:
        return self.num_buckets

    def _get_sparse_tensors(
        self, inputs: "Features", weight_collections: Any = None, trainable: bool | None = None
    ) -> _IdsAndWeights:
        return self.sparse_tensors(inputs)

    def get_sparse_tensors(
        self, transformation_cache: "Features", state_manager: Any = None
    ) -> _IdsAndWeights:
        """Return the ids and weights, as TensorFlow 1.13 and newer call it."""
        return self.sparse_tensors(transformation_cache)


class Features:
    """The features of a batch, and the tensors that columns made of them."""

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._given = features
        self._made: dict[Any, Any] = {}

    def get(self, key: Any, state_manager: Any = None) -> Any:
        """Return the tensor of a feature or of a column. A vector becomes a matrix.

        Columns of programs may pass TensorFlow's second argument, which `transform_feature` gets.

        Raises:
            ValueError: there is no such feature, or it is a scalar.
        """
        if key not in self._made:
            if isinstance(key, str):
                self._made[key] = self._raw(key)
            elif state_manager is None:
                self._made[key] = key.transformed(self)
            else:
                self._made[key] = key.transform_feature(self, state_manager)
        return self._made[key]

    def _raw(self, key: str) -> Any:
        if key not in self._given:
            raise ValueError(f"Feature {key} is not in features dictionary.")
        tensor = sparse_ops.convert_to_tensor_or_sparse_tensor(self._given[key])
        rank = tensor.get_shape().ndims
        if rank == 0:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {tensor}")
        if rank is None:
            return _with_known_rank(tensor, key)
        return _as_matrix(tensor) if rank == 1 else tensor


def _with_known_rank(tensor: Any, key: str) -> Any:
    """Return a tensor whose rank is not known, or the matrix of a vector.

    The step fails with InvalidArgumentError if the tensor is a scalar.
    """
    rank = array_ops.rank(tensor)
    message = f"Feature (key: {key}) cannot have rank 0. Given: {tensor}"
    with graphs.get_default_graph().control_dependencies(
        [check_ops.assert_positive(rank, message=message)]
    ):
        return cond_ops.cond(
            raw.Equal(rank, 1), lambda: _as_matrix(tensor), lambda: array_ops.identity(tensor)
        )


def _as_matrix(vector: Any) -> Any:
    if isinstance(vector, SparseTensor):
        return sparse_math_ops.sparse_reshape(vector, [-1, 1])
    return raw.ExpandDims(vector, -1)


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
        TypeError: a size is not an integer.
        ValueError: a size is below 1.
    """
    sizes = tuple(nest.flatten(shape))
    if not all(isinstance(size, int) for size in sizes):
        raise TypeError(f"shape dimensions must be integer. shape: {sizes}, key: {key}")
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
