"""`tf.keras.experimental.SequenceFeatures` (python/feature_column/sequence_feature_column.py)."""

from typing import Any

from capstan.api import array_ops
from capstan.api.feature_column import columns, models, sequence_models
from capstan.core import tensor_shape
from capstan.keras.layers import dense_features


class SequenceFeatures(dense_features.DenseFeatures):
    """The numbers of columns of sequences side by side for each step, and the lengths.

    The inputs are a dictionary of features. The columns are in the order of their names. The
    variables are called `<layer>/<column>/embedding_weights`.
    """

    def __init__(
        self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        """Raises ValueError if a column has no sequences, or two columns have one name."""
        super().__init__(feature_columns, trainable, name, **kwargs)

    def _check_columns(self) -> None:
        sequence_models.check(self._feature_columns)

    def call(self, features: Any) -> tuple[Any, Any]:  # type: ignore[override]
        """Return the numbers [batch, time, numbers of a step], and the lengths, an int64 vector.

        A step raises InvalidArgumentError if the columns give an example different lengths.

        Raises:
            ValueError: the features are not a dictionary, or lack the feature of a column.
        """
        found = self._parts(features, _dense)
        parts = [
            sequence_models.flat_steps(dense, models.size_of(column))
            for column, (dense, _) in zip(self._feature_columns, found, strict=True)
        ]
        lengths = sequence_models.common_lengths([length for _, length in found])
        return array_ops.concat(parts, 2), lengths

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the numbers. `input_shape` begins with the batch and the time."""
        batch, time = tensor_shape.as_shape(input_shape).as_list()[:2]
        width = sum(map(models.size_of, self._feature_columns))
        return tensor_shape.TensorShape([batch, time, width])


def _dense(column: columns.SequenceDenseColumn, *arguments: Any) -> Any:
    return column.sequence_dense_tensor(*arguments)
