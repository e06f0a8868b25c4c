"""`tf.layers.batch_normalization` (python/layers/normalization.py)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from capstan.api import init_ops
from capstan.api.layers import base, batch_moments


class BatchNormalization(batch_moments.CommonBatchNormalization, base.Layer):
    """Normalizes the activations of a batch to mean 0 and variance 1, along all axes but `axis`.

    The operations that update the moving averages are in the collection UPDATE_OPS: run them with
    the training step.
    """

    supports_masking = True

    @contextmanager
    def _without_partitioner(self) -> Iterator[None]:
        self._open(None)
        partitioner = self._scope.partitioner
        self._scope.set_partitioner(None)
        try:
            yield
        finally:
            self._scope.set_partitioner(partitioner)


def batch_normalization(
    inputs: Any,
    axis: Any = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = init_ops.Zeros,
    gamma_initializer: Any = init_ops.Ones,
    moving_mean_initializer: Any = init_ops.Zeros,
    moving_variance_initializer: Any = init_ops.Ones,
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
    beta_constraint: Any = None,
    gamma_constraint: Any = None,
    training: Any = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Any = None,
) -> Any:
    """Return normalized activations, as `BatchNormalization` describes.

    Raises:
        ValueError: the axes do not fit the inputs or the virtual batches.
    """
    layer = BatchNormalization(
        axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer,
        moving_mean_initializer, moving_variance_initializer, beta_regularizer, gamma_regularizer,
        beta_constraint, gamma_constraint, renorm, renorm_clipping, renorm_momentum, fused,
        trainable, virtual_batch_size, adjustment, name, _reuse=reuse, _scope=name,
    )  # fmt: skip
    return layer.apply(inputs, training=training)
