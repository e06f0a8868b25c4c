"""The column of ids whose values need not be below the number of buckets
(contrib/layers/python/layers/feature_column.py).
"""

from dataclasses import dataclass

from capstan.api import math_ops
from capstan.api.feature_column import categorical, columns
from capstan.core import dtypes
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor


@dataclass(frozen=True)
class IntegerizedColumn(categorical.IdentityCategoricalColumn):
    """A column of the ids `value mod num_buckets`, where `tf.feature_column` refuses values."""

    def transformed(self, features: columns.Features) -> SparseTensor:
        found = columns.sparse(features.get(self.key))
        if not found.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {found.dtype}")
        count = math_ops.cast(self.num_buckets, dtypes.int64)
        ids = raw.FloorMod(math_ops.cast(found.values, dtypes.int64), count)
        return SparseTensor(found.indices, ids, found.dense_shape)
