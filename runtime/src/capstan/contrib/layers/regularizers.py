"""The regularizers of `tf.contrib.layers` (contrib/layers/python/layers/regularizers.py).

A regularizer is a function from weights to a loss, or to None.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from capstan.api import math_ops, nn
from capstan.api.scoped import scoped
from capstan.framework import collections, convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_KEYS = collections.GraphKeys
Regularizer = Callable[[Any], Any]


def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Return a function from weights to `scale` times half the sum of their squares.

    Raises:
        ValueError: the scale is negative or an integer.
    """
    _check_scale(scale)
    if scale == 0.0:
        return lambda _: None

    def l2(weights: Any) -> Any:
        with scoped(scope, "l2_regularizer", (weights,)) as name:
            weights = convert.convert_to_tensor(weights)
            factor = convert.constant(scale, weights.dtype.base_dtype, name="scale")
            return raw.Mul(factor, nn.l2_loss(weights), name=name)

    return l2


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Return a function from weights to `scale` times the sum of their absolute values.

    Raises:
        ValueError: the scale is negative or an integer.
    """
    _check_scale(scale)
    if scale == 0.0:
        return lambda _: None

    def l1(weights: Any) -> Any:
        with scoped(scope, "l1_regularizer", (weights,)) as name:
            weights = convert.convert_to_tensor(weights)
            factor = convert.constant(scale, weights.dtype.base_dtype, name="scale")
            total = raw.Sum(raw.Abs(weights), list(range(weights.shape.ndims)))
            return raw.Mul(factor, total, name=name)

    return l1


def _check_scale(scale: float) -> None:
    if isinstance(scale, int):
        raise ValueError(f"scale cannot be an integer: {scale}")  # noqa: TRY004 - as TensorFlow
    if scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}.")


def l1_l2_regularizer(
    scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None
) -> Regularizer:
    """Return a function from weights to the sum of the losses of both regularizers."""
    _check_scale(scale_l1)
    _check_scale(scale_l2)
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    both: Any = sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope)
    return both  # type: ignore[no-any-return]


def sum_regularizer(
    regularizer_list: Iterable[Regularizer | None], scope: str | None = None
) -> Regularizer | None:
    """Return a function from weights to the sum of losses. Without regularizers, return None."""
    regularizers = [each for each in regularizer_list if each is not None]
    if not regularizers:
        return None

    def total(weights: Any) -> Any:
        with scoped(scope, "sum_regularizer", (weights,)) as name:
            losses = [each(weights) for each in regularizers]
            present = [loss for loss in losses if loss is not None]
            return math_ops.add_n(present, name=name) if present else None

    return total


def apply_regularization(
    regularizer: Regularizer, weights_list: Sequence[Any] | None = None
) -> Any:
    """Add the sum of the losses of weights to REGULARIZATION_LOSSES, and return it.

    The default for the weights is the collection WEIGHTS.

    Raises:
        ValueError: there are no weights, or a loss is not a scalar.
    """
    graph = graphs.get_default_graph()
    weights_list = weights_list or graph.get_collection(_KEYS.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with scoped(None, "get_regularization_penalty", weights_list) as scope:
        losses = [regularizer(weights) for weights in weights_list]
        losses = [convert.constant(0.0) if loss is None else loss for loss in losses]
        for loss in losses:
            if loss.shape.ndims != 0:
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{loss.shape.ndims}."
                )
        total = math_ops.add_n(losses, name=scope)
        graph.add_to_collection(_KEYS.REGULARIZATION_LOSSES, total)
        return total
