"""The sizes and seeds of samples (distributions/distribution.py, util.py)."""

import hashlib
from typing import Any

import numpy as np

from capstan.api import counting_ops, creation_ops, random_ops, reduce_ops
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def vector_and_count(sample_shape: Any) -> tuple[Any, Any]:
    """Return a shape as a vector of int32, and its number of elements. A number is one axis.

    Raises:
        ValueError: the shape has two or more axes.
    """
    sizes = convert.convert_to_tensor(sample_shape, dtypes.int32, "sample_shape")
    if sizes.shape.ndims is not None and sizes.shape.ndims > 1:
        raise ValueError("Input is neither scalar nor vector.")
    known = convert.constant_value(sizes)
    if known is not None:
        vector = convert.constant(known.reshape(-1), dtypes.int32, name="sample_shape")
        return vector, int(np.prod(known))
    count = reduce_ops.reduce_prod(sizes)
    return (sizes if sizes.shape.ndims == 1 else raw.Reshape(sizes, [-1])), count


def salted(seed: int | None, salt: str) -> int | None:
    """Return another seed for a second random operation, or None for no seed."""
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


def counts(logits: Any, totals: Any, seed: int | None) -> Any:
    """Draw `totals` classes for each row of logits, and return how often each class was drawn.

    `logits` has the shape [rows, classes] and `totals` the shape [rows], of int32. The result has
    the shape and dtype of `logits`.
    """
    most = reduce_ops.reduce_max(totals)
    drawn = random_ops.multinomial(logits, most, seed, output_dtype=dtypes.int32)
    classes = raw.Shape(logits)[-1]
    marks = creation_ops.one_hot(drawn, classes, dtype=logits.dtype.base_dtype)
    is_counted = counting_ops.sequence_mask(totals, most, logits.dtype.base_dtype)
    return reduce_ops.reduce_sum(marks * raw.ExpandDims(is_counted, -1), 1)
