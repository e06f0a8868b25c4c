"""Generalized divisive normalization (contrib/layers/python/layers/layers.py: GDN)."""

from typing import Any, Final

from capstan.api import array_ops, creation_ops, custom_gradient, math_ops, matrix_ops, nn
from capstan.api.layers import base, input_spec
from capstan.core import tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw

_AXES: Final = {"channels_first": 1, "channels_last": -1}


class GDN(base.Layer):
    """Divides each channel by sqrt(beta + the sum of gamma times the squares of all channels).

    If `inverse` is true, it multiplies instead (Balle and others, 2015). The variables
    `reparam_beta` and `reparam_gamma` are the roots of beta, which is at least `beta_min`, and of
    gamma, which is not negative. gamma begins as `gamma_init` times the identity. `reparam_offset`
    keeps the gradients of the roots away from 0. The input has 3 to 5 axes.

    Raises:
        ValueError: the format is unknown, or the rank or the number of channels does not fit or is
            not known.
    """

    def __init__(
        self,
        inverse: bool = False,
        beta_min: float = 1e-6,
        gamma_init: float = 0.1,
        reparam_offset: float = 2**-18,
        data_format: str = "channels_last",
        activity_regularizer: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        if data_format not in _AXES:
            raise ValueError(f"Unsupported `data_format` for GDN layer: {data_format}.")
        self.inverse = inverse
        self.data_format = data_format
        self._beta_min, self._gamma_init = beta_min, gamma_init
        self._pedestal, self._offset = reparam_offset**2, reparam_offset
        self.input_spec = input_spec.InputSpec(min_ndim=3, max_ndim=5)

    def build(self, input_shape: Any) -> None:
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        channels = sizes[_AXES[self.data_format]]
        if channels is None:
            raise ValueError("The channel dimension of the inputs to `GDN` must be defined.")

        def beta_initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            return math_ops.sqrt(creation_ops.ones(shape, dtype) + self._pedestal)

        def gamma_initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            identity = matrix_ops.eye(channels, dtype=dtype)
            return math_ops.sqrt(self._gamma_init * identity + self._pedestal)

        beta = self.add_variable("reparam_beta", [channels], initializer=beta_initializer)
        gamma = self.add_variable(
            "reparam_gamma", [channels, channels], initializer=gamma_initializer
        )
        least = (self._beta_min + self._pedestal) ** 0.5
        self.beta = math_ops.square(_at_least(beta, least)) - self._pedestal
        self.gamma = math_ops.square(_at_least(gamma, self._offset)) - self._pedestal
        self.built = True

    def call(self, inputs: Any) -> Any:
        inputs = convert.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        squares = math_ops.square(inputs)
        if self.data_format == "channels_first":
            squares = array_ops.transpose(squares, [0, *range(2, rank), 1])
        size = self.gamma.shape.as_list()[0]
        rows = array_ops.reshape(squares, (-1, size))
        sums = nn.bias_add(math_ops.matmul(rows, self.gamma), self.beta)
        norm = math_ops.sqrt(array_ops.reshape(sums, array_ops.shape(squares)))
        if self.data_format == "channels_first":
            norm = array_ops.transpose(norm, [0, rank - 1, *range(1, rank - 1)])
        outputs = inputs * norm if self.inverse else inputs / norm
        outputs.set_shape(inputs.shape)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        return tensor_shape.TensorShape(input_shape)


def gdn(
    inputs: Any,
    inverse: bool = False,
    beta_min: float = 1e-6,
    gamma_init: float = 0.1,
    reparam_offset: float = 2**-18,
    data_format: str = "channels_last",
    activity_regularizer: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Any:
    """Return the normalized inputs, as the layer `GDN`. Raises as that class."""
    layer = GDN(
        inverse, beta_min, gamma_init, reparam_offset, data_format, activity_regularizer, trainable,
        name, dtype=inputs.dtype.base_dtype, _scope=name, _reuse=reuse,
    )  # fmt: skip
    return layer.apply(inputs)


def _at_least(x: Any, bound: float) -> Any:
    """Return the larger of `x` and `bound`.

    An element at the bound gets only the gradients that would make it larger.
    """

    @custom_gradient.custom_gradient
    def limited(x: Any) -> Any:
        def gradient(grad: Any) -> Any:
            passes = raw.LogicalOr(x >= bound, grad < 0.0)
            return math_ops.cast(passes, grad.dtype) * grad

        return math_ops.maximum(x, bound), gradient

    return limited(convert.convert_to_tensor(x))
