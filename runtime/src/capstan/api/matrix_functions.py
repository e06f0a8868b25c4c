"""Functions of square matrices (python/ops/linalg/linalg_impl.py, linalg_ops.py).

Each works on the last two axes of its argument, and the axes before them are a batch.
"""

import math
from typing import Any

from capstan.api import plain, while_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["matrix_square_root"]

matrix_square_root = plain.function(
    "matrix_square_root",
    "MatrixSquareRoot",
    """Return the principal square root of each matrix.

    The types are float32, float64, complex64 and complex128. A real matrix with a negative
    eigenvalue has no real root, and becomes NaN. A GPU has no kernel for it.
    """,
)

logm = plain.function(
    "logm",
    "MatrixLogarithm",
    """Return the principal logarithm of each matrix.

    The types are complex64 and complex128. A matrix without an inverse becomes NaN. A GPU has no
    kernel for it. As in TensorFlow, it has no gradient.
    """,
)

_LIMITS = {
    True: ((3, 0.4258730016922831), (5, 1.880152677804762), (7, 3.925724783138660)),
    False: (
        (3, 0.01495585217958292), (5, 0.2539398330063230), (7, 0.9504178996162932),
        (9, 2.097847961257068), (13, 5.371920351148152),
    ),
}  # fmt: skip
"""For single and for double precision, the degrees of quotients of polynomials, and the largest
norms of matrices for which they are exact (Higham, SIAM J. Matrix Anal. Appl. 26, 2005)."""


def expm(input: Any, name: str | None = None) -> Any:
    """Return the exponential of each matrix, the sum of its powers A^n / n!.

    The types are float32, float64, complex64 and complex128.

    Raises:
        ValueError: the matrices have another type.
    """
    with scoped(name, "matrix_exponential", (input,)):
        given = convert.convert_to_tensor(input, name="input")
        dtype = given.dtype.base_dtype
        if dtype not in (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128):
            raise ValueError(f"tf.linalg.expm does not support matrices of type {dtype!r}")
        if given.shape.ndims is not None and given.shape[-2:].as_list() == [0, 0]:
            return given
        shape = raw.Shape(given)
        sides = raw.StridedSlice(shape, [-2], [0], [1], end_mask=1)
        matrices = raw.Reshape(given, raw.ConcatV2([[-1], sides], 0))
        result = raw.Reshape(_exponentials(matrices), shape)
        result.set_shape(given.shape)
        return result


def _exponentials(matrices: Any) -> Any:
    """Return the exponentials of matrices in one batch.

    The numbers of a matrix are halved until a quotient of polynomials is exact for it. Each
    halving is undone by squaring the exponential.
    """
    dtype = matrices.dtype.base_dtype
    absolute = raw.ComplexAbs(matrices, Tout=dtype.real_dtype) if dtype.is_complex else None
    columns = raw.Sum(raw.Abs(matrices) if absolute is None else absolute, 1)
    norm, real = raw.Max(columns, 1), dtype.real_dtype.as_numpy_dtype
    *limits, (degree, largest) = _LIMITS[dtype in (dtypes.float32, dtypes.complex64)]
    ratio = raw.Log(raw.Div(norm, real(largest)))
    halvings = raw.Maximum(raw.Floor(raw.Div(ratio, real(math.log(2)))), real(0))
    scale = raw.Cast(raw.Pow(real(2), halvings), DstT=dtype)
    numerator, denominator = _quotient(raw.Div(matrices, _stretched(scale)), degree)
    for degree, limit in reversed(limits):
        is_small = raw.Less(norm, real(limit))
        over, under = _quotient(matrices, degree)
        numerator = raw.Select(is_small, over, numerator)
        denominator = raw.Select(is_small, under, denominator)
    return _squared(raw.MatrixSolve(denominator, numerator), halvings, real)


def _stretched(scale: Any) -> Any:
    return raw.ExpandDims(raw.ExpandDims(scale, -1), -1)


def _quotient(matrices: Any, degree: int) -> tuple[Any, Any]:
    """Return the numerator and denominator of the quotient of polynomials near the exponential."""
    kind = matrices.dtype.base_dtype.as_numpy_dtype
    terms = [
        math.factorial(2 * degree - power)
        // (math.factorial(degree - power) * math.factorial(power))
        for power in range(degree + 1)
    ]
    row = raw.ZerosLike(raw.MatrixDiagPart(matrices))
    power = raw.MatrixDiag(raw.Add(row, kind(1)))
    square = raw.BatchMatMul(matrices, matrices)
    sums: tuple[list[Any], list[Any]] = [], []
    for place in range(0, degree, 2):
        if place:
            power = square if place == 2 else raw.BatchMatMul(power, square)
        for parity in (0, 1):
            sums[parity].append(raw.Mul(power, kind(terms[place + parity])))
    even, odd = (raw.AddN(parts) for parts in sums)
    odd = raw.BatchMatMul(matrices, odd)
    return raw.Add(even, odd), raw.Sub(even, odd)


def _squared(matrices: Any, counts: Any, real: Any) -> Any:
    """Square each matrix as many times as its count says."""
    most = raw.Max(counts, 0)

    def again(done: Any, current: Any) -> Any:
        square = raw.BatchMatMul(current, current)
        return raw.Add(done, real(1)), raw.Select(raw.Less(done, counts), square, current)

    _, result = while_ops.while_loop(
        lambda done, _: raw.Less(done, most), again, [convert.constant(real(0)), matrices]
    )
    return result
