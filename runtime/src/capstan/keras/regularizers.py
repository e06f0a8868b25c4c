"""`tf.keras.regularizers`: losses of weights or outputs (python/keras/regularizers.py)."""

from typing import Any

from capstan.api import math_ops, reduce_ops
from capstan.api.absent import absent
from capstan.framework import convert
from capstan.keras import objects


class Regularizer:
    """A function that returns the loss of a tensor, as a scalar."""

    def __call__(self, x: Any) -> Any:
        return 0.0

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal regularizer."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Regularizer":
        return cls(**config)


class L1L2(Regularizer):
    """Returns `l1` times the sum of the absolute values, plus `l2` times the sum of the squares."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1 = float(l1)
        self.l2 = float(l2)

    def __call__(self, x: Any) -> Any:
        loss: Any = 0.0
        if self.l1:
            loss += self.l1 * reduce_ops.reduce_sum(math_ops.abs(x))
        if self.l2:
            loss += self.l2 * reduce_ops.reduce_sum(math_ops.square(x))
        return convert.constant(0.0) if isinstance(loss, float) else loss


def l1(l: float = 0.01) -> L1L2:  # noqa: E741 - the argument of TensorFlow has this name
    """Return the regularizer of the absolute values."""
    return L1L2(l1=l)


def l2(l: float = 0.01) -> L1L2:  # noqa: E741 - the argument of TensorFlow has this name
    """Return the regularizer of the squares."""
    return L1L2(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """Return the regularizer of the absolute values and the squares."""
    return L1L2(l1=l1, l2=l2)


serialize = objects.serialize_keras_object


def _names() -> dict[str, Any]:
    """Return the names that configurations may have. Those of TensorFlow 2 say L1 and L2."""
    return {**globals(), "L1": L1L2, "L2": L1L2}


deserialize = objects.deserializer("regularizer", _names)
get = objects.getter("regularizer", _names)


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.regularizers", name)
