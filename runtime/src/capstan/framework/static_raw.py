"""`raw`, except that the shape, rank or size of a tensor becomes a constant if it is known.

TensorFlow's gradient functions and its public `shape`, `rank` and `size` do the same
(python/ops/array_ops.py). A loop then need not keep these numbers for its gradient.
"""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework import convert
from capstan.framework import raw as plain


class StaticRaw(plain.Raw):
    """A namespace with one function for each op."""

    def Shape(self, input: Any, out_type: Any = dtypes.int32, name: str = "Shape") -> Any:
        static = input.shape.internal
        if shapes.is_fully_defined(static):
            return _constant(static, out_type, name)
        return plain.raw.Shape(input, out_type=out_type, name=name)

    def VariableShape(
        self, input: Any, out_type: Any = dtypes.int32, name: str = "VariableShape"
    ) -> Any:
        # The static shape of a handle is the shape of its variable.
        static = input.static_shape
        if shapes.is_fully_defined(static):
            return _constant(static, out_type, name)
        return plain.raw.VariableShape(input, out_type=out_type, name=name)

    def Size(self, input: Any, out_type: Any = dtypes.int32, name: str = "Size") -> Any:
        count = shapes.num_elements(input.shape.internal)
        if count is not None:
            return _constant(count, out_type, name)
        return plain.raw.Size(input, out_type=out_type, name=name)

    def Rank(self, input: Any, name: str = "Rank") -> Any:
        if input.shape.ndims is not None:
            return _constant(input.shape.ndims, dtypes.int32, name)
        return plain.raw.Rank(input, name=name)


static_raw = StaticRaw()


def _constant(value: Any, dtype: Any, name: str) -> Any:
    return convert.constant(np.array(value, dtypes.as_dtype(dtype).as_numpy_dtype), name=name)
