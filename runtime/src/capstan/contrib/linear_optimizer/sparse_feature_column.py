"""`tf.contrib.linear_optimizer.SparseFeatureColumn`: a group of sparse features of a batch."""

from typing import Any

from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert


class SparseFeatureColumn:
    """Vectors of the examples, the features and the values of a batch: one element for each value.

    The examples and features are int64, the values float32. Without values, they are all 1.
    """

    def __init__(self, example_indices: Any, feature_indices: Any, feature_values: Any) -> None:
        with scoped(None, "SparseFeatureColumn", [example_indices, feature_indices]):
            self._examples = convert.convert_to_tensor(
                example_indices, dtypes.int64, "example_indices"
            )
            self._features = convert.convert_to_tensor(
                feature_indices, dtypes.int64, "feature_indices"
            )
        self._values: Any = None
        if feature_values is not None:
            with scoped(None, "SparseFeatureColumn", [feature_values]):
                self._values = convert.convert_to_tensor(
                    feature_values, dtypes.float32, "feature_values"
                )

    @property
    def example_indices(self) -> Any:
        """The number of the example of each value, in the batch."""
        return self._examples

    @property
    def feature_indices(self) -> Any:
        """The number of the feature of each value, which is the index of its weight."""
        return self._features

    @property
    def feature_values(self) -> Any:
        """The values, or None."""
        return self._values
