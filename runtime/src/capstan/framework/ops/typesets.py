"""Which element types the rows accept, in the order in which TensorFlow's messages name them."""

from typing import Final

from capstan.core import dtypes

FLOATING: Final = (dtypes.float16, dtypes.float32, dtypes.float64)
SIGNED: Final = (*FLOATING, dtypes.int32, dtypes.int64)
NUMERIC: Final = (
    *FLOATING, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
    dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64,
)  # fmt: skip
ADDED: Final = (
    *FLOATING, dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
)  # fmt: skip
"""What `Add` takes; its successor `AddV2` takes all numbers."""
COMPARABLE: Final = (*NUMERIC, dtypes.bool_, dtypes.string)
INDEX: Final = (dtypes.int32, dtypes.int64)
