"""The bases of columns that programs define by the names of TensorFlow 1.13 and newer.

A program derives its column from `feature_column_v2.DenseColumn`, `CategoricalColumn` or
`SequenceDenseColumn` and defines `transform_feature`, `get_dense_tensor` and so on. The columns of
`tf.feature_column` count as instances of these bases, too.

Source: tensorflow/python/feature_column/feature_column_v2.py.
"""

import abc
from typing import Any

from capstan.api import variable_scope
from capstan.api.feature_column import columns
from capstan.core import dtypes


class StateManager:
    """Makes the variables of columns in the current scope, and finds them again."""

    def __init__(self, collections: Any = None, trainable: bool = True) -> None:
        self._collections, self._trainable = collections, trainable
        self._variables: dict[tuple[Any, str], Any] = {}
        self._resources: dict[tuple[Any, str], Any] = {}

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """Return a new variable of a column, or the one that the scope reuses.

        Raises:
            ValueError: the column has a variable of this name.
        """
        if (feature_column, name) in self._variables:
            raise ValueError("Variable already exists.")
        made = variable_scope.get_variable(
            name,
            shape,
            dtypes.float32 if dtype is None else dtype,
            initializer,
            trainable=trainable and self._trainable,
            collections=self._collections,
            use_resource=use_resource,
        )
        self._variables[feature_column, name] = made
        return made

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """Return the variable of this name that a column has made.

        Raises:
            ValueError: there is none.
        """
        if (feature_column, name) not in self._variables:
            raise ValueError("Variable does not exist.")
        return self._variables[feature_column, name]

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Keep an object of a column, such as a table."""
        self._resources[feature_column, name] = resource

    def get_resource(self, feature_column: Any, name: str) -> Any:
        """Return the object of this name. Raise ValueError if there is none."""
        if (feature_column, name) not in self._resources:
            raise ValueError("Resource does not exist.")
        return self._resources[feature_column, name]


class FeatureColumn(columns.FeatureColumn):
    """A column with TensorFlow's names. It may omit the methods that only save a model."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> Any:
        kind = cls.__mro__[1]
        is_base = cls.__module__ == __name__
        return True if is_base and kind in subclass.__mro__ else NotImplemented

    @abc.abstractmethod
    def transform_feature(
        self, transformation_cache: columns.Features, state_manager: Any = None
    ) -> Any:
        """Return the tensor of the column. The cache's `get` returns the tensors of features."""

    def create_state(self, state_manager: StateManager) -> None:
        """Make the variables of the column. By default it has none."""

    def transformed(self, features: columns.Features) -> Any:
        return self.transform_feature(features, None)

    def _state(self, collections: Any, trainable: bool) -> StateManager:
        manager = StateManager(collections, trainable)
        self.create_state(manager)
        return manager


class DenseColumn(columns.DenseColumn, FeatureColumn):
    """A column of numbers with TensorFlow's names."""

    def dense_tensor(self, features: columns.Features, collections: Any, trainable: bool) -> Any:
        return self.get_dense_tensor(features, self._state(collections, trainable))

    @abc.abstractmethod
    def get_dense_tensor(
        self, transformation_cache: columns.Features, state_manager: StateManager
    ) -> Any:
        """Return the numbers, of the shape `variable_shape` for each example."""


class SequenceDenseColumn(columns.SequenceDenseColumn, FeatureColumn):
    """A column of numbers for each step of an example, with TensorFlow's names."""

    def sequence_dense_tensor(
        self, features: columns.Features, collections: Any, trainable: bool
    ) -> columns.SequencePair:
        state = self._state(collections, trainable)
        return columns.SequencePair(*self.get_sequence_dense_tensor(features, state))

    @abc.abstractmethod
    def get_sequence_dense_tensor(
        self, transformation_cache: columns.Features, state_manager: StateManager
    ) -> columns.SequencePair:
        """Return the numbers of each step, and the number of steps."""


class CategoricalColumn(columns.CategoricalColumn, FeatureColumn):
    """A column of ids with TensorFlow's names."""

    def sparse_tensors(self, features: columns.Features) -> columns.IdWeightPair:
        return columns.IdWeightPair(*self.get_sparse_tensors(features, None))

    @abc.abstractmethod
    def get_sparse_tensors(
        self, transformation_cache: columns.Features, state_manager: Any = None
    ) -> columns.IdWeightPair:
        """Return the ids of each example, and their weights or None."""
