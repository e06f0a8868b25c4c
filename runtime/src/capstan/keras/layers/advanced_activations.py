"""`tf.keras.layers` that apply a function to each element, with parameters
(python/keras/layers/advanced_activations.py).
"""

from typing import Any

from capstan.api import math_ops, nn
from capstan.core import tensor_shape
from capstan.keras import activations, built_in


class LeakyReLU(built_in.BuiltIn):
    """Returns x, and alpha * x where x is negative."""

    supports_masking = True

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Any:
        return nn.leaky_relu(inputs, self.alpha)


class PReLU(built_in.BuiltIn):
    """Returns x, and alpha * x where x is negative. `alpha` is a variable for each element.

    Elements along `shared_axes` share one variable.
    """

    supports_masking = True

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
        **kwargs: Any,
    ) -> None:
        given = built_in.resolved(locals())
        super().__init__(**kwargs)
        self.alpha_initializer = given["alpha_initializer"]
        self.alpha_regularizer = given["alpha_regularizer"]
        self.alpha_constraint = given["alpha_constraint"]
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes
        self.alpha: Any = None

    def build(self, input_shape: Any) -> None:
        sizes = tensor_shape.as_shape(input_shape).as_list()[1:]
        for axis in self.shared_axes or ():
            sizes[axis - 1] = 1
        self.alpha = self.add_weight(
            "alpha",
            sizes,
            initializer=self.alpha_initializer,
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
        )
        self.built = True

    def call(self, inputs: Any) -> Any:
        return nn.relu(inputs) - self.alpha * nn.relu(-inputs)


class ELU(built_in.BuiltIn):
    """Returns x, and alpha * (exp(x) - 1) where x is negative."""

    supports_masking = True

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Any:
        return activations.elu(inputs, self.alpha)


class ThresholdedReLU(built_in.BuiltIn):
    """Returns x where it is larger than `theta`, and else 0."""

    supports_masking = True

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta = float(theta)

    def call(self, inputs: Any) -> Any:
        return inputs * math_ops.cast(inputs > self.theta, inputs.dtype)


class Softmax(built_in.BuiltIn):
    """Returns the softmax along an axis."""

    supports_masking = True

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return activations.softmax(inputs, axis=self.axis)


class ReLU(built_in.BuiltIn):
    """Returns x between `threshold` and `max_value`, as `tf.keras.activations.relu` describes."""

    supports_masking = True

    def __init__(
        self, max_value: Any = None, negative_slope: float = 0, threshold: float = 0, **kwargs: Any
    ) -> None:
        """Raises ValueError if a parameter is negative."""
        super().__init__(**kwargs)
        for name, value in (("max_value", max_value), ("negative_slope", negative_slope)):
            if value is not None and value < 0:
                raise ValueError(f"{name} of Relu layer cannot be negative value: {value}")
        self.max_value = max_value
        self.negative_slope = negative_slope
        self.threshold = threshold

    def call(self, inputs: Any) -> Any:
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)
