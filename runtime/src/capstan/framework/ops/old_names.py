"""Rows of ops that old graphs call by other names. Their kernels are those of the present names.

Sources: core/ops/{linalg_ops,spectral_ops,array_ops,math_ops}.cc.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from capstan.core import dtypes
from capstan.framework import opdef
from capstan.framework.ops import arrays, linear_algebra, spectral, typesets  # noqa: F401 - rows

_LINEAR_ALGEBRA: Final = (
    "Cholesky", "CholeskyGrad", "MatrixDeterminant", "MatrixInverse", "MatrixSolve",
    "MatrixSolveLs", "MatrixTriangularSolve", "SelfAdjointEigV2", "Svd",
)  # fmt: skip
_MOVES: Final = ("MatrixBandPart", "MatrixDiag", "MatrixDiagPart", "MatrixSetDiag")
_TRANSFORMS: Final = ("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D")

PRESENT: Final[Mapping[str, str]] = MappingProxyType(
    {f"Batch{name}": name for name in (*_LINEAR_ALGEBRA, *_MOVES, *_TRANSFORMS)}
)
"""The present name of each op with an old one."""


def _renamed(old: str, present: str) -> opdef.OpDef:
    row = opdef.lookup(present)
    if present in _LINEAR_ALGEBRA:
        kept = (*typesets.WIDE, *(typesets.COMPLEX if present == "Svd" else ()))
        return dataclasses.replace(row, name=old, types={"T": kept})
    if present in _TRANSFORMS:
        return dataclasses.replace(
            row,
            name=old,
            inputs=("input: complex64",),
            outputs=("output: complex64",),
            attrs={},
            types={},
        )
    if present == "MatrixBandPart":
        inputs = ("input: T", "num_lower: int64", "num_upper: int64")
        types = {"T": row.types["T"]} if "T" in row.types else {}
        return dataclasses.replace(row, name=old, inputs=inputs, attrs={}, types=types)
    return dataclasses.replace(row, name=old)


for _old, _present in PRESENT.items():
    opdef.define(_renamed(_old, _present))
opdef.define(
    opdef.OpDef(
        "CheckNumericsV2",
        ("tensor: T",),
        ("output: T",),
        attrs={"message": bytes},
        shape=opdef.lookup("CheckNumerics").shape,
        gradient=lambda op, grads, raw: (
            raw.CheckNumericsV2(grads[0], message="Not a number or infinity in the gradient."),
        ),
        effect=opdef.lookup("CheckNumerics").effect,
        types={"T": (dtypes.bfloat16, dtypes.float16, *typesets.WIDE)},
    )
)
