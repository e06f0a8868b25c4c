"""`tf.keras.layers.DenseFeatures` (python/feature_column/dense_features.py)."""

from collections.abc import Callable, Mapping
from typing import Any

from capstan.api import array_ops, partitioned_variables, scope_block
from capstan.api.feature_column import columns, models
from capstan.core import tensor_shape
from capstan.keras import base_layer
from capstan.keras import feature_columns as column_configs


class DenseFeatures(base_layer.Layer):
    """The numbers of dense feature columns side by side, a matrix with a row for each example.

    The inputs are a dictionary of features. The columns are in the order of their names. The
    variables, those of embedding columns, are called `<layer>/<column>/embedding_weights`. The
    partitioner of the variable scope may part them.
    """

    def __init__(
        self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        """Raises ValueError if there is no column, two have one name, or one is not dense."""
        super().__init__(trainable, name, **kwargs)
        self._feature_columns = models.in_order(feature_columns)
        self._check_columns()
        self._is_made = False

    def _check_columns(self) -> None:
        for column in self._feature_columns:
            if not isinstance(column, columns.DenseColumn):
                raise ValueError(  # noqa: TRY004 - TensorFlow's
                    "Items of feature_columns must be a DenseColumn. You can wrap a categorical "
                    f"column with an embedding_column or indicator_column. Given: {column}"
                )

    def call(self, features: Any, cols_to_output_tensors: Any = None) -> Any:
        """Return the matrix. `cols_to_output_tensors` gets the part of each column.

        Raises:
            ValueError: the features are not a dictionary, or lack the feature of a column.
        """
        parts = self._parts(features, models.dense_matrix)
        if cols_to_output_tensors is not None:
            cols_to_output_tensors.update(zip(self._feature_columns, parts, strict=True))
        models.check_batch_sizes(self._feature_columns, parts)
        return array_ops.concat(parts, -1)

    def _parts(self, features: Any, compute: Callable[..., Any]) -> list[Any]:
        """Return `compute(column, features, weight groups, trainable)` for each column."""
        if not isinstance(features, Mapping):
            raise ValueError(f"We expected a dictionary here. Instead we got: {features}")  # noqa: TRY004 - TensorFlow's
        batch, parts = columns.Features(features), []
        with scope_block.variable_scope(
            self.name,
            reuse=self._is_made or None,
            custom_getter=self._got,
            use_resource=True,
            auxiliary_name_scope=False,
        ):
            for column in self._feature_columns:
                with scope_block.variable_scope(column.scope_name):
                    groups = models.weight_groups(None)
                    parts.append(compute(column, batch, groups, self.trainable))
        self._is_made = True
        return parts

    def _got(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a variable, and list it or its parts among the weights."""
        found = getter(*args, **kwargs)
        known = {id(each) for each in (*self._trainable_weights, *self._non_trainable_weights)}
        is_parted = isinstance(found, partitioned_variables.PartitionedVariable)
        for variable in list(found) if is_parted else [found]:
            if id(variable) not in known:
                is_trained = kwargs.get("trainable") is not False
                listed = self._trainable_weights if is_trained else self._non_trainable_weights
                listed.append(variable)
        return found

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the matrix. `input_shape` begins with the number of examples."""
        batch = tensor_shape.as_shape(input_shape).as_list()[0]
        width = sum(map(models.size_of, self._feature_columns))
        return tensor_shape.TensorShape([batch, width])

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer, as values that JSON can hold.

        Raises:
            ValueError: a column has no configuration.
        """
        described = column_configs.serialize_feature_columns(self._feature_columns)
        return {**super().get_config(), "feature_columns": described}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Any = None) -> Any:
        """Return the layer with the arguments of a configuration."""
        described = config["feature_columns"]
        made = column_configs.deserialize_feature_columns(described, custom_objects)
        return cls(**{**config, "feature_columns": made})
