"""`tf.keras.layers` that normalize activations (python/keras/layers/normalization.py)."""

from typing import Any

from capstan.api import nn
from capstan.api.layers import batch_moments
from capstan.core import tensor_shape
from capstan.framework.raw import raw
from capstan.keras import built_in, learning


class BatchNormalization(batch_moments.CommonBatchNormalization, built_in.BuiltIn):
    """Normalizes the activations of a batch to mean 0 and variance 1, along all axes but `axis`.

    In training the moments are those of the batch, and `updates` holds the operations that update
    the moving averages: run them with the training step. A layer that is not trainable has no
    updates. Without `training`, the learning phase decides.
    """

    supports_masking = True
    _casts_variables = False

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError if `renorm_clipping` has a key besides rmax, rmin and dmax."""
        super().__init__(**built_in.resolved(locals()))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer, without its `adjustment`."""
        config = super().get_config()
        del config["adjustment"]
        for is_given, prefix in (
            (self.renorm, "renorm"),
            (self.virtual_batch_size is not None, "virtual"),
        ):
            if not is_given:
                config = {key: each for key, each in config.items() if not key.startswith(prefix)}
        return config

    def call(self, inputs: Any, training: Any = None) -> Any:
        return super().call(inputs, learning.learning_phase() if training is None else training)


class LayerNormalization(built_in.BuiltIn):
    """Normalizes the activations of each example to mean 0 and variance 1, along `axis`."""

    supports_masking = True

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError unless the axis is an int or a list of ints."""
        given = built_in.resolved(locals())
        super().__init__(trainable, name, **kwargs)
        if not isinstance(axis, int | list | tuple):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                f"Expected an int or a list/tuple of ints for the argument 'axis', not {axis!r}"
            )
        self.axis = axis if isinstance(axis, int) else list(axis)
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = given["beta_initializer"]
        self.gamma_initializer = given["gamma_initializer"]
        self.beta_regularizer = given["beta_regularizer"]
        self.gamma_regularizer = given["gamma_regularizer"]
        self.beta_constraint = given["beta_constraint"]
        self.gamma_constraint = given["gamma_constraint"]
        self.gamma: Any = None
        self.beta: Any = None

    def _axes(self, rank: int) -> list[int]:
        axes = self.axis if isinstance(self.axis, list) else [self.axis]
        for axis in axes:
            if not -rank <= axis < rank:
                raise ValueError(f"Invalid axis: {axis} for inputs with {rank} axes")
        found = sorted(axis % rank for axis in axes)
        if len(set(found)) < len(found):
            raise ValueError(f"Duplicate axis: {tuple(found)}")
        return found

    def build(self, input_shape: Any) -> None:
        """Raises ValueError if a size is unknown, or an axis is missing or repeats."""
        sizes = tensor_shape.as_shape(input_shape).as_list()
        shape = [sizes[axis] for axis in self._axes(len(sizes))]
        if None in shape:
            raise ValueError(
                f"The sizes along axis {self.axis} of the inputs to {self.name} must be known. "
                f"Input shape: {sizes}"
            )
        if self.scale:
            self.gamma = self.add_weight(
                "gamma", shape, initializer=self.gamma_initializer,
                regularizer=self.gamma_regularizer, constraint=self.gamma_constraint,
            )  # fmt: skip
        if self.center:
            self.beta = self.add_weight(
                "beta", shape, initializer=self.beta_initializer,
                regularizer=self.beta_regularizer, constraint=self.beta_constraint,
            )  # fmt: skip
        self.built = True

    def call(self, inputs: Any) -> Any:
        sizes = inputs.shape.as_list()
        axes = self._axes(len(sizes))
        shape = [size if axis in axes else 1 for axis, size in enumerate(sizes)]
        mean, variance = nn.moments(inputs, axes, keep_dims=True)
        scale, offset = (
            None if variable is None else raw.Reshape(variable, shape)
            for variable in (self.gamma, self.beta)
        )
        outputs = nn.batch_normalization(inputs, mean, variance, offset, scale, self.epsilon)
        outputs.set_shape(sizes)
        return outputs
