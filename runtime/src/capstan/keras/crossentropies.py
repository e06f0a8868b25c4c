"""The cross entropies of `tf.keras.backend` (python/keras/backend.py).

If the predictions are the outputs of a softmax or sigmoid, its inputs take their place, which is
more exact.
"""

from typing import Any

from capstan.api import array_ops, clip_ops, losses_ops, math_ops, reduce_ops
from capstan.api.layers import settings
from capstan.core import dtypes
from capstan.framework import convert


def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Return the cross entropy along an axis. `target` has the shape of `output`.

    `output` holds probabilities, which are divided by their sum, or logits with `from_logits`.
    """
    logits = output if from_logits else losses_ops.logits_of_softmax(output)
    if logits is not None:
        return losses_ops.softmax_cross_entropy_with_logits_v2(
            labels=target, logits=logits, axis=axis
        )
    shares = output / reduce_ops.reduce_sum(output, axis=axis, keepdims=True)
    return -reduce_ops.reduce_sum(target * math_ops.log(_clipped(shares)), axis=axis)


def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Return the cross entropy along an axis, for labels that are the numbers of classes.

    `output` holds probabilities, or logits with `from_logits`. `target` has the shape of `output`
    without the axis, or with size 1 on the last axis.

    Raises:
        ValueError: the rank of `output` is unknown, and the axis is not the last one.
    """
    output = convert.convert_to_tensor(output)
    logits = output if from_logits else losses_ops.logits_of_softmax(output)
    if logits is None:
        logits = math_ops.log(_clipped(output))
    rank = logits.shape.ndims
    if rank is None and axis != -1:
        raise ValueError(
            f"Cannot compute sparse categorical crossentropy with `axis={axis}` on an output "
            "tensor with unknown rank. Call set_shape on the output"
        )
    if rank is not None and axis % rank != rank - 1:
        rest = [each for each in range(rank) if each != axis % rank]
        logits = array_ops.transpose(logits, perm=[*rest, axis % rank])
    labels = math_ops.cast(target, dtypes.int64)
    if rank is None or labels.shape.ndims in (None, rank - 1):
        return losses_ops.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    sizes = array_ops.shape(logits)
    losses = losses_ops.sparse_softmax_cross_entropy_with_logits(
        labels=array_ops.reshape(labels, [-1]),
        logits=array_ops.reshape(logits, [-1, sizes[rank - 1]]),
    )
    return array_ops.reshape(losses, sizes[: rank - 1]) if rank > 2 else losses


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Return the cross entropy of each element.

    `output` holds probabilities, or logits with `from_logits`.
    """
    logits = output if from_logits else losses_ops.logits_of_sigmoid(output)
    if logits is not None:
        return losses_ops.sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
    clipped, epsilon = _clipped(output), settings.SETTINGS.epsilon
    is_one = target * math_ops.log(clipped + epsilon)
    return -(is_one + (1 - target) * math_ops.log(1 - clipped + epsilon))


def _clipped(output: Any) -> Any:
    epsilon = settings.SETTINGS.epsilon
    return clip_ops.clip_by_value(output, epsilon, 1 - epsilon)
