"""`tf.contrib.nn`: variants of functions of `tf.nn` (contrib/nn)."""

import numbers
from typing import Any, Final

from capstan.api import losses_ops, math_ops, nn, random_ops
from capstan.api.absent import absent
from capstan.api.nn_transposed import conv1d_transpose
from capstan.api.ordering_ops import nth_element
from capstan.api.scoped import scoped
from capstan.contrib import package_aliases
from capstan.contrib.sampled_losses import rank_sampled_softmax_loss, sampled_sparse_softmax_loss
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "alpha_dropout",
    "conv1d_transpose",
    "deprecated_flipped_sigmoid_cross_entropy_with_logits",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits",
    "nth_element",
    "rank_sampled_softmax_loss",
    "sampled_sparse_softmax_loss",
    "scaled_softplus",
]

_DROPPED: Final = -1.7580993408473766
"""The value of dropped elements: that of `tf.nn.selu` far below 0."""


def alpha_dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: int | None = None, name: Any = None
) -> Any:
    """Drop elements so that the mean 0 and the variance 1 of the elements stay, as for SELU.

    Raises:
        ValueError: `keep_prob` is not in (0, 1], or no scalar.
    """
    with scoped(name, "alpha_dropout", (x,)):
        x = convert.convert_to_tensor(x)
        if isinstance(keep_prob, numbers.Real) and not 0 < float(keep_prob) <= 1:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob}"
            )
        keep = convert.convert_to_tensor(keep_prob, x.dtype)
        keep.shape.assert_has_rank(0)
        if convert.constant_value(keep) == 1:
            return x
        shape = raw.Shape(x) if noise_shape is None else noise_shape
        drawn = random_ops.random_uniform(shape, seed=seed, dtype=x.dtype)
        kept = math_ops.cast(raw.GreaterEqual(drawn, 1 - keep), x.dtype)
        scale = raw.Rsqrt(keep + keep * (1 - keep) * _DROPPED**2)
        return scale * (x * kept + _DROPPED * (1 - kept) - _DROPPED * (1 - keep))


def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, dim: int = -1, name: str | None = None
) -> Any:
    """Return `tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, ...)`."""
    return losses_ops.softmax_cross_entropy_with_logits(
        labels=labels, logits=logits, dim=dim, name=name
    )


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, name: str | None = None
) -> Any:
    """Return `tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)`."""
    return losses_ops.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=logits, name=name
    )


def deprecated_flipped_sigmoid_cross_entropy_with_logits(
    logits: Any, targets: Any, name: str | None = None
) -> Any:
    """Return `tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits)`."""
    return losses_ops.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> Any:
    """Return `alpha * log(1 + exp(x / alpha))`, and no more than `clip`."""
    with scoped(name, "scaled_softplus", (x, alpha, clip)):
        x = convert.convert_to_tensor(x)
        alpha = convert.convert_to_tensor(alpha, x.dtype)
        value = alpha * nn.softplus(x / alpha)
        return value if clip is None else raw.Minimum(value, clip)


package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.nn", name)


def __dir__() -> list[str]:
    return sorted(__all__)
