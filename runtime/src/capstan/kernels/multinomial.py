"""The kernel of `Multinomial`, which draws classes by their logits.

Source: core/kernels/multinomial_op.cc. The numbers are those of the streams of `kernels.sampling`.
"""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import random_formulas, random_stream, sampling
from capstan.kernels.memory import on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number


def _multinomial(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype
    draw = _by_total(node) if node.hardware.is_host else _by_largest(node)

    def sample(logits: Array, num_samples: Array) -> Any:
        count = checked_count(logits, num_samples)
        drawn = draw(logits, count)
        if dtype is np.int32:  # These are in host memory on all devices.
            drawn = on_host(drawn)
        return drawn.astype(dtype, copy=False)

    return sample


def checked_count(logits: Array, num_samples: Array) -> int:
    """Return the number of draws for each row of logits.

    Raises:
        InvalidArgumentError: the logits are no matrix, or have no classes, or the number is
            negative.
    """
    count = number(num_samples, "num_samples")
    if logits.ndim != 2:
        raise invalid(f"logits should be a matrix, got shape {show(logits.shape)}")
    if count < 0:
        raise invalid(f"num_samples should be nonnegative, got {count}")
    if not logits.shape[1]:
        raise invalid("num_classes should be positive, got 0")
    return count


def _by_total(node: NodeContext) -> Function:
    generator = sampling.generator(node)

    def draw(logits: Array, count: int) -> Array:
        wide = logits.astype(np.float64)
        weights = np.exp(wide - wide.max(1, keepdims=True, initial=-np.inf))
        totals = np.cumsum(weights, 1)
        drawn = np.empty((len(logits), count), np.int64)
        for row, steps in enumerate(totals):
            drawn[row] = np.searchsorted(steps, generator.random(count) * steps[-1], "right")
        return drawn

    return draw


def _by_largest(node: NodeContext) -> Function:
    """On a GPU, a draw is the class with the largest sum of its logit and a Gumbel number.

    As in TensorFlow, this takes memory for a number for each class of each draw.
    """
    stream, here = random_stream.of(node), node.hardware

    def draw(logits: Array, count: int) -> Array:
        rows, classes = logits.shape
        if not rows * count:
            return here.allocate((rows, count), np.int64)
        scores = here.allocate((rows, count, classes), np.promote_types(logits.dtype, np.float32))
        stream.fill(random_formulas.gumbel, scores)
        np.add(scores, logits[:, None, :], scores)
        drawn: Array = np.argmax(scores, 2)
        return drawn

    return draw


register(Kernel("Multinomial", _multinomial))
