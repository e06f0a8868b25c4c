"""Crosses of features: each combination of the values of an example, or its hash.

Source: python/ops/sparse_ops.py.
"""

from collections.abc import Sequence
from typing import Any, Final

from capstan.api import math_ops
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor

_HASH_KEY: Final = 0xDECAFCAFFE


def sparse_cross(inputs: Sequence[Any], name: str | None = None) -> SparseTensor:
    """Return each combination of the values of an example, joined by `_X_`.

    The inputs are tensors and SparseTensors of rank 2 with a row for each example, of strings or
    integers. The result has rank 2 and strings, such as `a_X_1`.

    Raises:
        TypeError: `inputs` is not a list, or an input is neither a Tensor nor a SparseTensor.
    """
    return _crossed(inputs, is_hashed=False, num_buckets=0, hash_key=None, name=name)


def sparse_cross_hashed(
    inputs: Sequence[Any],
    num_buckets: int = 0,
    hash_key: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Return the hash of each combination of the values of an example, as int64.

    The hash is taken modulo `num_buckets`, unless that is 0. `hash_key` is the start of the hash.
    See `sparse_cross` for the inputs and the errors.
    """
    return _crossed(inputs, is_hashed=True, num_buckets=num_buckets, hash_key=hash_key, name=name)


def _crossed(
    inputs: Sequence[Any], is_hashed: bool, num_buckets: int, hash_key: int | None, name: str | None
) -> SparseTensor:
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(each, SparseTensor | graphs.Tensor) for each in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [each for each in inputs if isinstance(each, SparseTensor)]
    dense = [_wide(each) for each in inputs if not isinstance(each, SparseTensor)]
    values = [_wide(each.values) for each in sparse]
    types = [each.dtype for each in (*values, *dense)]
    found = raw.SparseCross(
        [each.indices for each in sparse],
        values,
        [each.dense_shape for each in sparse],
        dense,
        N=len(sparse),
        sparse_types=[each.dtype for each in values],
        dense_types=[each.dtype for each in dense],
        hashed_output=is_hashed,
        num_buckets=num_buckets,
        hash_key=hash_key or _HASH_KEY,
        out_type=dtypes.int64 if is_hashed else dtypes.string,
        internal_type=dtypes.int64 if is_hashed and dtypes.int64 in types else dtypes.string,
        name=name,
    )
    return SparseTensor(*found)


def _wide(values: Any) -> Any:
    return values if values.dtype == dtypes.string else math_ops.cast(values, dtypes.int64)
