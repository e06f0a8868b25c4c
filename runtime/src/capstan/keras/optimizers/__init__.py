"""`tf.keras.optimizers` (python/keras/optimizers.py)."""

from collections.abc import Mapping
from typing import Any

from capstan.api.absent import absent
from capstan.keras import objects
from capstan.keras.optimizers import schedules as schedules
from capstan.keras.optimizers import wrapped as _wrapped
from capstan.keras.optimizers.descent import SGD as SGD
from capstan.keras.optimizers.descent import Ftrl as Ftrl
from capstan.keras.optimizers.loss_scale_optimizer import LossScaleOptimizer as _LossScaleOptimizer
from capstan.keras.optimizers.moments import Adam as Adam
from capstan.keras.optimizers.moments import Adamax as Adamax
from capstan.keras.optimizers.nadam import Nadam as Nadam
from capstan.keras.optimizers.optimizer import Optimizer as Optimizer
from capstan.keras.optimizers.scaled import Adadelta as Adadelta
from capstan.keras.optimizers.scaled import Adagrad as Adagrad
from capstan.keras.optimizers.scaled import RMSprop as RMSprop

_CLASSES = {
    each.__name__.lower(): each
    for each in (
        *(Adadelta, Adagrad, Adam, Adamax, Ftrl, Nadam, RMSprop, SGD),
        _LossScaleOptimizer,
    )
}

serialize = objects.serialize_keras_object


def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Return the optimizer that a configuration describes.

    The case of the letters in names of TensorFlow's optimizers does not matter.

    Raises:
        ValueError: the name is unknown.
    """
    name = config["class_name"].lower()
    if name in _CLASSES:
        config = {**config, "class_name": name}
    return objects.deserialize_keras_object(config, _CLASSES, custom_objects, "optimizer")


def get(identifier: Any) -> Any:
    """Return the optimizer for its name, its configuration, or an optimizer.

    An optimizer of `tf.train` becomes an optimizer with the methods of Keras's optimizers.

    Raises:
        ValueError: the name is unknown, or the identifier has another type.
    """
    if isinstance(identifier, Optimizer | _wrapped.TFOptimizer):
        return identifier
    if _wrapped.is_of_train(identifier):
        return _wrapped.TFOptimizer(identifier)
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    raise ValueError("Could not interpret optimizer identifier:", identifier)


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.optimizers", name)
