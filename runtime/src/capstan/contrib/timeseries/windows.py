"""The windows of a series: matrices and tensors of shape [batch, window, ...].

Source: contrib/timeseries/python/timeseries/ar_model.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, gather_ops, math_ops, nn
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def time_features(
    times: Any, window_size: int, periods: Sequence[int], buckets: int, dtype: Any
) -> Any:
    """Return the features of the parts of periods, of shape [batch, window, features].

    A period has `buckets` parts. The feature of the part of a time is the share of the part that
    has passed. The other features are 0.
    """
    count = array_ops.shape(times)[0]
    lengths = convert.constant([[[[period] for period in periods]]], dtypes.int64)
    column = array_ops.reshape(times, array_ops.stack([count, -1, 1, 1]))
    place = math_ops.cast(raw.FloorMod(column, lengths), dtype) * float(buckets)
    place = place / math_ops.cast(lengths, dtype)
    starts = convert.constant([[[[float(each) for each in range(buckets)]]]], dtype)
    passed = nn.relu(place - starts)
    shares = gather_ops.where(raw.Less(passed, 1.0), passed, raw.ZerosLike(passed))
    return array_ops.reshape(shares, array_ops.stack([count, window_size, len(periods) * buckets]))


def last(tensor: Any, count: int) -> Any:
    """Return the last `count` elements along the second axis."""
    return tensor[:, array_ops.shape(tensor)[1] - count :]


def padded(tensor: Any, count: Any) -> Any:
    """Return a tensor with `count` more zeros along the second axis."""
    others = [[0, 0]] * (tensor.shape.ndims - 2)
    return array_ops.pad(tensor, array_ops.stack([[0, 0], array_ops.stack([0, count]), *others]))


def side_by_side(array: Any, shape: Any) -> Any:
    """Return the windows of a TensorArray along the second axis."""
    return array_ops.reshape(array_ops.transpose(array.stack(), [1, 0, 2, 3]), shape)
