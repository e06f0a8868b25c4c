"""The sizes of the last axes of a tensor, and zeros behind these axes.

Every function takes a builder of ops, because gradients build their ops with another one than the
public functions.
"""

from typing import Any

import numpy as np

from capstan.framework.opdef import Raw


def sizes(value: Any, count: int, raw: Raw) -> Any:
    """Return the sizes of the last `count` axes, an int32 tensor [count]."""
    return raw.StridedSlice(raw.Shape(value), [-count], [0], [1], end_mask=1)


def padded(value: Any, zeros: Any, count: int, raw: Raw) -> Any:
    """Put zeros behind the elements of the last `count` axes.

    `zeros` is an int32 tensor [count] with a number for each axis. A negative number fails in the
    step.
    """
    outer = raw.Fill(raw.Reshape(raw.Sub(raw.Rank(value), count), [1]), np.int32(0))
    behind = raw.ConcatV2([outer, zeros], 0)
    return raw.Pad(value, raw.Pack([raw.ZerosLike(behind), behind], axis=1))
