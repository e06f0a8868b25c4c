"""`tf.layers.dense`, `dropout` and `flatten` (python/layers/core.py)."""

import math
from typing import Any

import numpy as np

from capstan.api import init_ops, math_ops, nn, smart_cond, tensor_products
from capstan.api.layers import base, common, input_spec
from capstan.core import tensor_shape
from capstan.framework.raw import raw


class CommonDense(common.CommonLayer):
    """A fully connected layer: activation(inputs * kernel + bias), along the last axis."""

    supports_masking = True

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = init_ops.Zeros,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        self.activation = activation
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = input_spec.InputSpec(min_ndim=2)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the variables for inputs of this shape.

        Raises:
            TypeError: the inputs are not floating-point or complex, and the layer has no `dtype`.
            ValueError: the size of the last axis is unknown.
        """
        if self._dtype is not None and not (self._dtype.is_floating or self._dtype.is_complex):
            raise TypeError(
                f"Unable to build `Dense` layer {self.name} with non-floating point dtype "
                f"{self._dtype.name}. Cast the inputs with tf.cast"
            )
        size = tensor_shape.as_shape(input_shape).as_list()[-1]
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None`."
            )
        self.input_spec = input_spec.InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight(
            "kernel",
            [size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: Any) -> Any:
        """Return the outputs. Inputs of another dtype than the layer's are cast to it."""
        inputs = math_ops.cast(inputs, self.kernel.dtype.base_dtype)
        rank = inputs.shape.ndims
        if rank > 2:
            outputs = tensor_products.tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        else:
            outputs = raw.MatMul(inputs, self.kernel)
        if self.use_bias:
            outputs = nn.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs. Raises ValueError without a known last axis."""
        shape = tensor_shape.as_shape(input_shape).with_rank_at_least(2)
        sizes = shape.as_list()
        if sizes[-1] is None:
            raise ValueError(
                f"The innermost dimension of input_shape must be defined, but saw: {tuple(sizes)}"
            )
        return tensor_shape.TensorShape([*sizes[:-1], self.units])


class CommonDropout(common.CommonLayer):
    """Sets random elements to 0 during training, and scales the others up."""

    supports_masking = True

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def call(self, inputs: Any, training: Any = False) -> Any:
        def dropped() -> Any:
            return nn.dropout(inputs, noise_shape=self.noise_shape, seed=self.seed, rate=self.rate)

        return smart_cond.smart_cond(training, dropped, lambda: raw.Identity(inputs))

    def compute_output_shape(self, input_shape: Any) -> Any:
        return tensor_shape.as_shape(input_shape)


class CommonFlatten(common.CommonLayer):
    """Reshapes each example into a vector."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format or "channels_last"
        self.input_spec = input_spec.InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 2:
            order = np.array([0, *range(2, rank), 1], np.int32)
            inputs = raw.Transpose(inputs, order)
        sizes: list[Any] = inputs.shape.as_list()
        batch, rest = sizes[0], sizes[1:]
        if None not in rest:
            target: Any = np.array([-1, math.prod(rest)], np.int32)
        elif batch is not None:
            target = np.array([batch, -1], np.int32)
        else:
            target = raw.ConcatV2([raw.Slice(raw.Shape(inputs), [0], [1]), [-1]], 0)
        outputs = raw.Reshape(inputs, target)
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        sizes: list[Any] = tensor_shape.as_shape(input_shape).as_list()
        rest = None if None in sizes[1:] else math.prod(sizes[1:])
        return tensor_shape.TensorShape([sizes[0], rest])


class Dense(CommonDense, base.Layer):
    """A fully connected layer: activation(inputs * kernel + bias), along the last axis."""


class Dropout(CommonDropout, base.Layer):
    """Sets random elements to 0 during training, and scales the others up."""


class Flatten(CommonFlatten, base.Layer):
    """Reshapes each example into a vector."""


def dense(
    inputs: Any,
    units: int,
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = init_ops.Zeros,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: Any = None,
    reuse: Any = None,
) -> Any:
    """Return activation(inputs * kernel + bias), the outputs of a new layer `Dense`.

    The last axis of the floating-point `inputs` becomes `units` long. The layer makes the variables
    `kernel` and, with `use_bias`, `bias`. With a `name` and `reuse=True`, it uses the variables of
    an earlier layer of that name.

    Raises:
        ValueError: the rank of the inputs or the size of their last axis is unknown.
        TypeError: the inputs are not floating-point or complex.
    """
    layer = Dense(
        units,
        activation=activation,
        use_bias=use_bias,
        kernel_initializer=kernel_initializer,
        bias_initializer=bias_initializer,
        kernel_regularizer=kernel_regularizer,
        bias_regularizer=bias_regularizer,
        activity_regularizer=activity_regularizer,
        kernel_constraint=kernel_constraint,
        bias_constraint=bias_constraint,
        trainable=trainable,
        name=name,
        _scope=name,
        _reuse=reuse,
    )
    return layer.apply(inputs)


def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Any:
    """Return the outputs of a new `Dropout` layer. `training` is a bool or a boolean tensor."""
    return Dropout(rate, noise_shape=noise_shape, seed=seed, name=name).apply(
        inputs, training=training
    )


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Return each example of a batch as a vector."""
    return Flatten(name=name, data_format=data_format).apply(inputs)


FullyConnected = Dense
fully_connected = dense
