"""`tf.keras.metrics` (python/keras/metrics.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras import objects
from capstan.keras.losses import KLD as KLD
from capstan.keras.losses import MAE as MAE
from capstan.keras.losses import MAPE as MAPE
from capstan.keras.losses import MSE as MSE
from capstan.keras.losses import MSLE as MSLE
from capstan.keras.losses import binary_crossentropy as binary_crossentropy
from capstan.keras.losses import categorical_crossentropy as categorical_crossentropy
from capstan.keras.losses import hinge as hinge
from capstan.keras.losses import kld as kld
from capstan.keras.losses import kullback_leibler_divergence as kullback_leibler_divergence
from capstan.keras.losses import mae as mae
from capstan.keras.losses import mape as mape
from capstan.keras.losses import mean_absolute_error as mean_absolute_error
from capstan.keras.losses import mean_absolute_percentage_error as mean_absolute_percentage_error
from capstan.keras.losses import mean_squared_error as mean_squared_error
from capstan.keras.losses import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from capstan.keras.losses import mse as mse
from capstan.keras.losses import msle as msle
from capstan.keras.losses import poisson as poisson
from capstan.keras.losses import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from capstan.keras.losses import squared_hinge as squared_hinge
from capstan.keras.metrics import functions as _functions
from capstan.keras.metrics.counts import FalseNegatives as FalseNegatives
from capstan.keras.metrics.counts import FalsePositives as FalsePositives
from capstan.keras.metrics.counts import Precision as Precision
from capstan.keras.metrics.counts import Recall as Recall
from capstan.keras.metrics.counts import TrueNegatives as TrueNegatives
from capstan.keras.metrics.counts import TruePositives as TruePositives
from capstan.keras.metrics.curves import AUC as AUC
from capstan.keras.metrics.curves import SensitivityAtSpecificity as SensitivityAtSpecificity
from capstan.keras.metrics.curves import SpecificityAtSensitivity as SpecificityAtSensitivity
from capstan.keras.metrics.functions import binary_accuracy as binary_accuracy
from capstan.keras.metrics.functions import categorical_accuracy as categorical_accuracy
from capstan.keras.metrics.functions import cosine_proximity as cosine_proximity
from capstan.keras.metrics.functions import (
    sparse_categorical_accuracy as sparse_categorical_accuracy,
)
from capstan.keras.metrics.functions import (
    sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy,
)
from capstan.keras.metrics.functions import top_k_categorical_accuracy as top_k_categorical_accuracy
from capstan.keras.metrics.means import Mean as Mean
from capstan.keras.metrics.means import MeanIoU as MeanIoU
from capstan.keras.metrics.means import MeanRelativeError as MeanRelativeError
from capstan.keras.metrics.means import MeanTensor as MeanTensor
from capstan.keras.metrics.means import RootMeanSquaredError as RootMeanSquaredError
from capstan.keras.metrics.means import Sum as Sum
from capstan.keras.metrics.metric import Metric as Metric
from capstan.keras.metrics.wrappers import Accuracy as Accuracy
from capstan.keras.metrics.wrappers import BinaryAccuracy as BinaryAccuracy
from capstan.keras.metrics.wrappers import BinaryCrossentropy as BinaryCrossentropy
from capstan.keras.metrics.wrappers import CategoricalAccuracy as CategoricalAccuracy
from capstan.keras.metrics.wrappers import CategoricalCrossentropy as CategoricalCrossentropy
from capstan.keras.metrics.wrappers import CategoricalHinge as CategoricalHinge
from capstan.keras.metrics.wrappers import CosineSimilarity as CosineSimilarity
from capstan.keras.metrics.wrappers import Hinge as Hinge
from capstan.keras.metrics.wrappers import KLDivergence as KLDivergence
from capstan.keras.metrics.wrappers import LogCoshError as LogCoshError
from capstan.keras.metrics.wrappers import MeanAbsoluteError as MeanAbsoluteError
from capstan.keras.metrics.wrappers import (
    MeanAbsolutePercentageError as MeanAbsolutePercentageError,
)
from capstan.keras.metrics.wrappers import MeanSquaredError as MeanSquaredError
from capstan.keras.metrics.wrappers import (
    MeanSquaredLogarithmicError as MeanSquaredLogarithmicError,
)
from capstan.keras.metrics.wrappers import Poisson as Poisson
from capstan.keras.metrics.wrappers import SparseCategoricalAccuracy as SparseCategoricalAccuracy
from capstan.keras.metrics.wrappers import (
    SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
)
from capstan.keras.metrics.wrappers import (
    SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy,
)
from capstan.keras.metrics.wrappers import SquaredHinge as SquaredHinge
from capstan.keras.metrics.wrappers import TopKCategoricalAccuracy as TopKCategoricalAccuracy

cosine = cosine_proximity

serialize = objects.serialize_keras_object
deserialize = objects.deserializer(
    "metric function",
    lambda: {
        **globals(),
        "accuracy": _functions.accuracy,
        "cosine_similarity": cosine_proximity,
    },
)


def get(identifier: Any) -> Any:
    """Return the metric for a name, a configuration or a function.

    The name of a class makes a metric with the default arguments.

    Raises:
        ValueError: the name is unknown, or the identifier has another type.
    """
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret metric function identifier: {identifier}")


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.metrics", name)
