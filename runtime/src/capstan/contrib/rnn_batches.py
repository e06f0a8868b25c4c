"""The batch axis of inputs of recurrent networks (python/ops/rnn.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, math_ops
from capstan.core import tensor_shape
from capstan.framework.raw import raw


def transpose_batch_time(x: Any) -> Any:
    """Return `x` with its first two axes exchanged, or `x` itself if it has fewer axes."""
    rank = x.shape.ndims
    if rank is not None and rank < 2:
        return x
    rest = math_ops.range(2, raw.Rank(x)) if rank is None else list(range(2, rank))
    turned = raw.Transpose(
        x, array_ops.concat([[1, 0], rest], 0) if rank is None else [1, 0, *rest]
    )
    if rank is not None:
        first, second, *others = x.shape.as_list()
        turned.set_shape(tensor_shape.TensorShape([second, first, *others]))
    return turned


def best_effort_input_batch_size(flat_input: Sequence[Any]) -> Any:
    """Return the batch size of inputs [time, batch, ...]: an int, or a tensor if it is unknown.

    Raises:
        ValueError: an input has fewer than two axes.
    """
    for each in flat_input:
        if each.shape.ndims is None:
            continue
        if each.shape.ndims < 2:
            raise ValueError(f"Expected input tensor {each} to have rank at least 2")
        if (size := each.shape.as_list()[1]) is not None:
            return size
    return array_ops.shape(flat_input[0])[1]
