"""The means of functions of labels and predictions, as metrics of Keras (python/keras/metrics.py).

Each class is the mean of the function of its `name`.
"""

from typing import Any

from capstan.keras import losses
from capstan.keras.metrics import functions, means


class Accuracy(means.MeanMetricWrapper):
    """The mean of `accuracy`."""

    def __init__(self, name: str | None = "accuracy", dtype: Any = None) -> None:
        super().__init__(functions.accuracy, name, dtype=dtype)


class CategoricalAccuracy(means.MeanMetricWrapper):
    """The mean of `categorical_accuracy`."""

    def __init__(self, name: str | None = "categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(functions.categorical_accuracy, name, dtype=dtype)


class SparseCategoricalAccuracy(means.MeanMetricWrapper):
    """The mean of `sparse_categorical_accuracy`."""

    def __init__(self, name: str | None = "sparse_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(functions.sparse_categorical_accuracy, name, dtype=dtype)


class MeanAbsoluteError(means.MeanMetricWrapper):
    """The mean of `mean_absolute_error`."""

    def __init__(self, name: str | None = "mean_absolute_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_absolute_error, name, dtype=dtype)


class MeanAbsolutePercentageError(means.MeanMetricWrapper):
    """The mean of `mean_absolute_percentage_error`."""

    def __init__(
        self, name: str | None = "mean_absolute_percentage_error", dtype: Any = None
    ) -> None:
        super().__init__(losses.mean_absolute_percentage_error, name, dtype=dtype)


class MeanSquaredError(means.MeanMetricWrapper):
    """The mean of `mean_squared_error`."""

    def __init__(self, name: str | None = "mean_squared_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_squared_error, name, dtype=dtype)


class MeanSquaredLogarithmicError(means.MeanMetricWrapper):
    """The mean of `mean_squared_logarithmic_error`."""

    def __init__(
        self, name: str | None = "mean_squared_logarithmic_error", dtype: Any = None
    ) -> None:
        super().__init__(losses.mean_squared_logarithmic_error, name, dtype=dtype)


class Hinge(means.MeanMetricWrapper):
    """The mean of `hinge`."""

    def __init__(self, name: str | None = "hinge", dtype: Any = None) -> None:
        super().__init__(losses.hinge, name, dtype=dtype)


class SquaredHinge(means.MeanMetricWrapper):
    """The mean of `squared_hinge`."""

    def __init__(self, name: str | None = "squared_hinge", dtype: Any = None) -> None:
        super().__init__(losses.squared_hinge, name, dtype=dtype)


class CategoricalHinge(means.MeanMetricWrapper):
    """The mean of `categorical_hinge`."""

    def __init__(self, name: str | None = "categorical_hinge", dtype: Any = None) -> None:
        super().__init__(losses.categorical_hinge, name, dtype=dtype)


class LogCoshError(means.MeanMetricWrapper):
    """The mean of `logcosh`."""

    def __init__(self, name: str | None = "logcosh", dtype: Any = None) -> None:
        super().__init__(losses.logcosh, name, dtype=dtype)


class Poisson(means.MeanMetricWrapper):
    """The mean of `poisson`."""

    def __init__(self, name: str | None = "poisson", dtype: Any = None) -> None:
        super().__init__(losses.poisson, name, dtype=dtype)


class KLDivergence(means.MeanMetricWrapper):
    """The mean of `kullback_leibler_divergence`."""

    def __init__(self, name: str | None = "kullback_leibler_divergence", dtype: Any = None) -> None:
        super().__init__(losses.kullback_leibler_divergence, name, dtype=dtype)


class BinaryAccuracy(means.MeanMetricWrapper):
    """The mean of `binary_accuracy`."""

    def __init__(
        self, name: str | None = "binary_accuracy", dtype: Any = None, threshold: float = 0.5
    ) -> None:
        super().__init__(functions.binary_accuracy, name, dtype=dtype, threshold=threshold)


class TopKCategoricalAccuracy(means.MeanMetricWrapper):
    """The mean of `top_k_categorical_accuracy`."""

    def __init__(
        self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(functions.top_k_categorical_accuracy, name, dtype=dtype, k=k)


class SparseTopKCategoricalAccuracy(means.MeanMetricWrapper):
    """The mean of `sparse_top_k_categorical_accuracy`."""

    def __init__(
        self, k: int = 5, name: str | None = "sparse_top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(functions.sparse_top_k_categorical_accuracy, name, dtype=dtype, k=k)


class CosineSimilarity(means.MeanMetricWrapper):
    """The mean of `cosine_proximity`."""

    def __init__(
        self, name: str | None = "cosine_similarity", dtype: Any = None, axis: int = -1
    ) -> None:
        super().__init__(functions.cosine_proximity, name, dtype=dtype, axis=axis)


class BinaryCrossentropy(means.MeanMetricWrapper):
    """The mean of `binary_crossentropy`."""

    def __init__(
        self,
        name: str | None = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: Any = 0,
    ) -> None:
        super().__init__(
            losses.binary_crossentropy,
            name,
            dtype=dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


class CategoricalCrossentropy(means.MeanMetricWrapper):
    """The mean of `categorical_crossentropy`."""

    def __init__(
        self,
        name: str | None = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: Any = 0,
    ) -> None:
        super().__init__(
            losses.categorical_crossentropy,
            name,
            dtype=dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


class SparseCategoricalCrossentropy(means.MeanMetricWrapper):
    """The mean of `sparse_categorical_crossentropy`."""

    def __init__(
        self,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(
            losses.sparse_categorical_crossentropy,
            name,
            dtype=dtype,
            from_logits=from_logits,
            axis=axis,
        )
