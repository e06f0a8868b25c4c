"""Pools of `tf.nn` that also return where they found the elements (python/ops/nn_ops.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.core import dtypes
from capstan.framework.raw import raw

__all__ = ["max_pool_with_argmax"]


def max_pool_with_argmax(
    input: Any,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> Any:
    """Return the largest element of each window of `ksize`, and the number of that element.

    The elements of an image are numbered by row, column and channel, or those of the batch by image
    too if `include_batch_in_index`. `Targmax` is the old name of `output_dtype`, the type of the
    numbers: int64 by default, or int32.

    Raises:
        ValueError: the format is not "NHWC", or both `Targmax` and `output_dtype` are given.
    """
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    if Targmax is not None and output_dtype is not None:
        raise ValueError("Cannot specify both 'Targmax' and 'output_dtype'")
    kind = output_dtype if Targmax is None else Targmax
    return raw.MaxPoolWithArgmax(
        input,
        ksize=list(ksize),
        strides=list(strides),
        Targmax=dtypes.int64 if kind is None else dtypes.as_dtype(kind),
        padding=padding,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )
