"""`tf.keras.losses`: losses of each example, and the classes that reduce them
(python/keras/losses.py).
"""

from typing import Any

from capstan.api.absent import absent
from capstan.keras import loss_functions as _loss_functions
from capstan.keras import objects
from capstan.keras.loss_classes import BuiltInLoss as _BuiltIn
from capstan.keras.loss_classes import Loss as Loss
from capstan.keras.loss_classes import Reduction as Reduction
from capstan.keras.loss_functions import binary_crossentropy as binary_crossentropy
from capstan.keras.loss_functions import categorical_crossentropy as categorical_crossentropy
from capstan.keras.loss_functions import categorical_hinge as categorical_hinge
from capstan.keras.loss_functions import cosine_similarity as cosine_similarity
from capstan.keras.loss_functions import hinge as hinge
from capstan.keras.loss_functions import kullback_leibler_divergence as kullback_leibler_divergence
from capstan.keras.loss_functions import logcosh as logcosh
from capstan.keras.loss_functions import mean_absolute_error as mean_absolute_error
from capstan.keras.loss_functions import (
    mean_absolute_percentage_error as mean_absolute_percentage_error,
)
from capstan.keras.loss_functions import mean_squared_error as mean_squared_error
from capstan.keras.loss_functions import (
    mean_squared_logarithmic_error as mean_squared_logarithmic_error,
)
from capstan.keras.loss_functions import poisson as poisson
from capstan.keras.loss_functions import (
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from capstan.keras.loss_functions import squared_hinge as squared_hinge

mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence
cosine = cosine_proximity = cosine_similarity


class MeanSquaredError(_BuiltIn):
    """The loss `mean_squared_error`."""

    function = staticmethod(mean_squared_error)


class MeanAbsoluteError(_BuiltIn):
    """The loss `mean_absolute_error`."""

    function = staticmethod(mean_absolute_error)


class MeanAbsolutePercentageError(_BuiltIn):
    """The loss `mean_absolute_percentage_error`."""

    function = staticmethod(mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(_BuiltIn):
    """The loss `mean_squared_logarithmic_error`."""

    function = staticmethod(mean_squared_logarithmic_error)


class Hinge(_BuiltIn):
    """The loss `hinge`."""

    function = staticmethod(hinge)


class SquaredHinge(_BuiltIn):
    """The loss `squared_hinge`."""

    function = staticmethod(squared_hinge)


class CategoricalHinge(_BuiltIn):
    """The loss `categorical_hinge`."""

    function = staticmethod(categorical_hinge)


class Poisson(_BuiltIn):
    """The loss `poisson`."""

    function = staticmethod(poisson)


class LogCosh(_BuiltIn):
    """The loss `logcosh`."""

    function = staticmethod(logcosh)


class KLDivergence(_BuiltIn):
    """The loss `kullback_leibler_divergence`."""

    function = staticmethod(kullback_leibler_divergence)


class Huber(_BuiltIn):
    """The squared error / 2 up to `delta`, and beyond a line."""

    function = staticmethod(_loss_functions.huber)

    def __init__(
        self, delta: float = 1.0, reduction: str = Reduction.AUTO, name: str | None = "huber_loss"
    ) -> None:
        super().__init__(reduction, name, delta=delta)


class CosineSimilarity(_BuiltIn):
    """The loss `cosine_similarity`, which is 1 for equal directions."""

    function = staticmethod(cosine_similarity)

    def __init__(
        self,
        axis: int = -1,
        reduction: str = Reduction.AUTO,
        name: str | None = "cosine_similarity",
    ) -> None:
        super().__init__(reduction, name, axis=axis)


class BinaryCrossentropy(_BuiltIn):
    """The loss `binary_crossentropy`."""

    function = staticmethod(binary_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: Any = 0,
        reduction: str = Reduction.AUTO,
        name: str | None = "binary_crossentropy",
    ) -> None:
        super().__init__(reduction, name, from_logits=from_logits, label_smoothing=label_smoothing)


class CategoricalCrossentropy(_BuiltIn):
    """The loss `categorical_crossentropy`."""

    function = staticmethod(categorical_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: Any = 0,
        reduction: str = Reduction.AUTO,
        name: str | None = "categorical_crossentropy",
    ) -> None:
        super().__init__(reduction, name, from_logits=from_logits, label_smoothing=label_smoothing)


class SparseCategoricalCrossentropy(_BuiltIn):
    """The loss `sparse_categorical_crossentropy`."""

    function = staticmethod(sparse_categorical_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        reduction: str = Reduction.AUTO,
        name: str | None = None,
    ) -> None:
        super().__init__(reduction, name, from_logits=from_logits)


serialize = objects.serialize_keras_object
deserialize = objects.deserializer("loss function", lambda: globals())


def get(identifier: Any) -> Any:
    """Return the loss for a name, a configuration, a function or None.

    Raises:
        ValueError: the name is unknown, or the identifier has another type.
    """
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret loss function identifier: {identifier!r}")


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.losses", name)
