"""The sets of element types that ops accept, in the order of TensorFlow's messages."""

from typing import Final

from capstan.core import dtypes

FLOATING: Final = (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64)
WIDE: Final = (dtypes.float32, dtypes.float64)
SIGNED: Final = (*FLOATING, dtypes.int32, dtypes.int64)
NUMERIC: Final = (
    *FLOATING, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
    dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64,
)  # fmt: skip
ADDED: Final = (
    *FLOATING, dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
)  # fmt: skip
"""The numeric types of `Add`. Its successor `AddV2` accepts all of NUMERIC."""
COMPARABLE: Final = (*NUMERIC, dtypes.bool_, dtypes.string)
INDEX: Final = (dtypes.int32, dtypes.int64)
COMPLEX: Final = (dtypes.complex64, dtypes.complex128)
ANALYTIC: Final = (*FLOATING, *COMPLEX)
"""The types of functions such as `Exp`, which are defined for complex numbers too."""
FIELD: Final = (*SIGNED, *COMPLEX)
NUMBERS: Final = (*NUMERIC, *COMPLEX)
"""All types that can be added and multiplied. Complex numbers have no order."""
QUANTIZED: Final = (dtypes.qint8, dtypes.quint8, dtypes.qint32, dtypes.qint16, dtypes.quint16)


def changed(kind: str) -> tuple[dtypes.DType, ...]:
    """Return the types of the scatter ops of a kind, such as "Add". Only numbers have a maximum."""
    return NUMERIC if kind in ("Min", "Max") else NUMBERS
