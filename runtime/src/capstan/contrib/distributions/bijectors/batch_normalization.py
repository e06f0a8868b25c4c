"""The bijector whose inverse normalizes a batch (ops/bijectors/batch_normalization.py)."""

import functools
from typing import Any

from capstan.api import nn, reduce_ops
from capstan.api.layers import normalization
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.core import tensor_shape
from capstan.framework.raw import raw


def _positive(gamma: Any) -> Any:
    return raw.Relu(gamma) + 1e-6


class BatchNormalization(Bijector):
    """The function whose inverse is a layer of batch normalization, for flows.

    `forward` uses the moving averages of the layer. `inverse` uses the statistics of the batch
    during training, and adds the updates of the averages to `tf.GraphKeys.UPDATE_OPS`.
    """

    def __init__(
        self,
        batchnorm_layer: Any = None,
        training: bool = True,
        validate_args: bool = False,
        name: str = "batch_normalization",
    ) -> None:
        """Create the function of a layer. By default, it is a new one with positive gammas.

        Raises:
            ValueError: the layer is not a BatchNormalization layer, renormalizes, or has virtual
                batches.
        """
        layer = batchnorm_layer or normalization.BatchNormalization(gamma_constraint=_positive)
        if not isinstance(layer, normalization.BatchNormalization):
            raise ValueError(  # noqa: TRY004 - as in TensorFlow
                "batchnorm_layer must be an instance of BatchNormalization layer."
            )
        if layer.renorm:
            raise ValueError("BatchNorm Bijector does not support renormalization.")
        if layer.virtual_batch_size:
            raise ValueError("BatchNorm Bijector does not support virtual batch sizes.")
        self.batchnorm, self._training = layer, training
        super().__init__(
            forward_min_event_ndims=1 if isinstance(layer.axis, int) else len(layer.axis),
            validate_args=validate_args,
            name=name,
        )

    def _built(self, values: Any) -> list[int]:
        """Return the axes of events. The layer has its variables afterwards."""
        if not self.batchnorm.built:
            self.batchnorm.build(tensor_shape.TensorShape(values.shape))
        axis = self.batchnorm.axis
        axes = [axis] if isinstance(axis, int) else list(axis)
        return [each % values.shape.ndims for each in axes]

    def _forward(self, x: Any) -> Any:
        layer, axes = self.batchnorm, self._built(x)
        sizes = x.shape.as_list()
        shape = [sizes[at] if at in axes else 1 for at in range(len(sizes))]
        spread = functools.partial(raw.Reshape, shape=shape)
        factor = raw.Sqrt(spread(layer.moving_variance) + layer.epsilon)
        if layer.center:
            x = x - spread(layer.beta)
        if layer.scale:
            factor = factor / spread(layer.gamma)
        return x * factor + spread(layer.moving_mean)

    def _inverse(self, y: Any) -> Any:
        return self.batchnorm.apply(y, training=self._training)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        self._built(x)
        return -self._log_factors(self.batchnorm.moving_variance)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        axes = self._built(y)
        if not self._training:
            return self._log_factors(self.batchnorm.moving_variance)
        others = [at for at in range(y.shape.ndims) if at not in axes]
        return self._log_factors(nn.moments(y, others)[1])

    def _log_factors(self, variance: Any) -> Any:
        """Return the sum of the logarithms of the factors of the inverse: a scalar."""
        layer = self.batchnorm
        total = -0.5 * reduce_ops.reduce_sum(raw.Log(variance + layer.epsilon))
        return total + reduce_ops.reduce_sum(raw.Log(layer.gamma)) if layer.scale else total
