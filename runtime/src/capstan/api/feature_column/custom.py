"""The bases of columns that programs define by the names of TensorFlow 1.4 to 1.12.

A program derives its column from `feature_column._DenseColumn` or `_CategoricalColumn` and defines
`_transform_feature`, `_get_dense_tensor` and so on. The columns of `tf.feature_column` count as
instances of these bases, too.

Source: tensorflow/python/feature_column/feature_column.py.
"""

import abc
from typing import Any

from capstan.api.feature_column import columns


class FeatureColumn(columns.FeatureColumn):
    """A column with TensorFlow's names."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> Any:
        kind = cls.__mro__[1]
        is_base = cls.__module__ == __name__
        return True if is_base and kind in subclass.__mro__ else NotImplemented

    @property
    def scope_name(self) -> str:
        return self._var_scope_name

    @property
    def _var_scope_name(self) -> str:
        return self.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self._parse_example_spec

    @property
    @abc.abstractmethod
    def _parse_example_spec(self) -> dict[str, Any]:
        """The features that the column reads, for `tf.parse_example`."""

    def transformed(self, features: columns.Features) -> Any:
        return self._transform_feature(features)

    @abc.abstractmethod
    def _transform_feature(self, inputs: columns.Features) -> Any:
        """Return the tensor of the column. `inputs.get` returns the tensors of features."""


class DenseColumn(columns.DenseColumn, FeatureColumn):
    """A column of numbers with TensorFlow's names."""

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return tuple(self._variable_shape)

    @property
    @abc.abstractmethod
    def _variable_shape(self) -> tuple[int, ...]:
        """The shape of the numbers of one example."""

    def dense_tensor(self, features: columns.Features, collections: Any, trainable: bool) -> Any:
        return self._get_dense_tensor(features, collections, trainable)

    @abc.abstractmethod
    def _get_dense_tensor(
        self,
        inputs: columns.Features,
        weight_collections: Any = None,
        trainable: bool | None = None,
    ) -> Any:
        """Return the numbers, and make the variables of the column in the current scope."""


class CategoricalColumn(columns.CategoricalColumn, FeatureColumn):
    """A column of ids with TensorFlow's names."""

    @property
    def num_buckets(self) -> int:
        return self._num_buckets

    @property
    @abc.abstractmethod
    def _num_buckets(self) -> int:
        """The number of ids."""

    def sparse_tensors(self, features: columns.Features) -> columns.IdWeightPair:
        return columns.IdWeightPair(*self._get_sparse_tensors(features))

    @abc.abstractmethod
    def _get_sparse_tensors(
        self,
        inputs: columns.Features,
        weight_collections: Any = None,
        trainable: bool | None = None,
    ) -> columns.IdWeightPair:
        """Return the ids of each example, and their weights or None."""
