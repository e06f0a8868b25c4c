"""Rows of linear algebra on stacks of matrices (core/ops/linalg_ops.cc)."""

from collections.abc import Callable

from capstan.core import shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import linear_algebra_gradients as gradients
from capstan.framework.ops import rules, typesets

_REAL = {"T": typesets.WIDE}
_TYPES = {"T": (*typesets.WIDE, *typesets.COMPLEX)}
_Matrix = tuple[tuple[int | None, ...], int | None, int | None]


def _split(shape: shapes.Shape) -> _Matrix | None:
    """Return the batch, the rows and the columns of stacks of matrices, or None if unknown."""
    known = shapes.with_rank_at_least(shape, 2)
    return None if known is None else (known[:-2], known[-2], known[-1])


def _square(ctx: ShapeContext) -> rules.Shapes:
    """Require square matrices, and give the output their shape."""
    matrix = shapes.with_rank_at_least(ctx.inputs[0], 2)
    if matrix is not None:
        shapes.merge(matrix[-1:], matrix[-2:-1])
    return (matrix,)


def _numbers(ctx: ShapeContext) -> rules.Shapes:
    """Give each output one number for each square matrix."""
    (matrix,) = _square(ctx)
    return (None if matrix is None else matrix[:-2],) * 2


def _determinant(ctx: ShapeContext) -> rules.Shapes:
    return _numbers(ctx)[:1]


def _cholesky_grad(ctx: ShapeContext) -> rules.Shapes:
    (matrix,) = _square(ctx)
    return (shapes.merge(matrix, ctx.inputs[1]),)


def _solution(ctx: ShapeContext) -> rules.Shapes:
    return _system(ctx, shapes.merge)


def _solved(ctx: ShapeContext) -> rules.Shapes:
    _square(ctx)
    return _system(ctx, shapes.merge)


def _triangle_solved(ctx: ShapeContext) -> rules.Shapes:
    _square(ctx)
    return _system(ctx, shapes.broadcast)


def _system(
    ctx: ShapeContext, join: Callable[[shapes.Shape, shapes.Shape], shapes.Shape]
) -> rules.Shapes:
    """Return the shape of the solutions of systems whose batches are joined."""
    matrix, rhs = map(_split, ctx.inputs[:2])
    if matrix is None or rhs is None:
        return (None,)
    batch = join(matrix[0], rhs[0]) or ()
    shapes.merge_dimension(matrix[1], rhs[1])
    return ((*batch, matrix[2], rhs[2]),)


def _qr(ctx: ShapeContext) -> rules.Shapes:
    matrix = _split(ctx.inputs[0])
    if matrix is None:
        return (None, None)
    batch, rows, columns = matrix
    if ctx.attrs["full_matrices"]:
        return ((*batch, rows, rows), (*batch, rows, columns))
    least = _least(rows, columns)
    return ((*batch, rows, least), (*batch, least, columns))


def _svd(ctx: ShapeContext) -> rules.Shapes:
    matrix = _split(ctx.inputs[0])
    if matrix is None:
        return (None, None, None)
    batch, rows, columns = matrix
    least = _least(rows, columns)
    if not ctx.attrs["compute_uv"]:
        return ((*batch, least), (0,), (0,))
    if ctx.attrs["full_matrices"]:
        return ((*batch, least), (*batch, rows, rows), (*batch, columns, columns))
    return ((*batch, least), (*batch, rows, least), (*batch, columns, least))


def _least(rows: int | None, columns: int | None) -> int | None:
    return None if rows is None or columns is None else min(rows, columns)


def _eigen(ctx: ShapeContext) -> rules.Shapes:
    (matrix,) = _square(ctx)
    if matrix is None:
        return (None, None)
    return (matrix[:-1], matrix if ctx.attrs["compute_v"] else (0,))


define(
    OpDef(
        "MatrixInverse",
        ("input: T",),
        ("output: T",),
        attrs={"adjoint": False},
        shape=_square,
        gradient=gradients.inverse,
        types=_TYPES,
    )
)
define(
    OpDef(
        "MatrixSquareRoot",
        ("input: T",),
        ("output: T",),
        shape=_square,
        gradient=gradients.square_root,
        types=_TYPES,
    )
)
define(
    OpDef(
        "MatrixLogarithm",
        ("input: T",),
        ("output: T",),
        shape=_square,
        types={"T": typesets.COMPLEX},
    )
)
define(
    OpDef(
        "MatrixDeterminant",
        ("input: T",),
        ("output: T",),
        shape=_determinant,
        gradient=gradients.determinant,
        types=_TYPES,
    )
)
define(
    OpDef(
        "LogMatrixDeterminant",
        ("input: T",),
        ("sign: T", "log_abs_determinant: T"),
        shape=_numbers,
        gradient=gradients.log_determinant,
        types=_TYPES,
    )
)
define(
    OpDef(
        "Cholesky",
        ("input: T",),
        ("output: T",),
        shape=_square,
        gradient=gradients.cholesky,
        types=_TYPES,
    )
)
define(
    OpDef("CholeskyGrad", ("l: T", "grad: T"), ("output: T",), shape=_cholesky_grad, types=_REAL)
)
define(
    OpDef(
        "MatrixSolve",
        ("matrix: T", "rhs: T"),
        ("output: T",),
        attrs={"adjoint": False},
        shape=_solved,
        gradient=gradients.solve,
        types=_TYPES,
    )
)
define(
    OpDef(
        "MatrixTriangularSolve",
        ("matrix: T", "rhs: T"),
        ("output: T",),
        attrs={"lower": True, "adjoint": False},
        shape=_triangle_solved,
        gradient=gradients.solve,
        types=_TYPES,
    )
)
define(
    OpDef(
        "MatrixSolveLs",
        ("matrix: T", "rhs: T", "l2_regularizer: float64"),
        ("output: T",),
        attrs={"fast": True},
        shape=_solution,
        gradient=gradients.least_squares,
        types=_REAL,
    )
)
define(
    OpDef(
        "Qr",
        ("input: T",),
        ("q: T", "r: T"),
        attrs={"full_matrices": False},
        shape=_qr,
        gradient=gradients.qr,
        types=_TYPES,
    )
)
define(
    OpDef(
        "Svd",
        ("input: T",),
        ("s: T", "u: T", "v: T"),
        attrs={"compute_uv": True, "full_matrices": False},
        shape=_svd,
        gradient=gradients.svd,
        types=_TYPES,
    )
)
define(
    OpDef(
        "SelfAdjointEigV2",
        ("input: T",),
        ("e: T", "v: T"),
        attrs={"compute_v": True},
        shape=_eigen,
        gradient=gradients.eigen,
        types=_TYPES,
    )
)
