"""The gradients of linear algebra (python/ops/linalg_grad.py)."""

import numpy as np

from capstan.framework.opdef import Gradients, Op, Raw, Tensor
from capstan.framework.ops import rules, unbroadcast


def _sizes(matrix: Tensor) -> tuple[int, int] | None:
    """Return the static numbers of rows and columns, or None if one is unknown."""
    shape = matrix.shape.internal
    if shape is None or shape[-2] is None or shape[-1] is None:
        return None
    return shape[-2], shape[-1]


def _turned(matrix: Tensor, raw: Raw) -> Tensor:
    """Return the transpose of each matrix."""
    rank = matrix.shape.ndims
    if rank is not None:
        turned: Tensor = raw.Transpose(matrix, [*range(rank - 2), rank - 1, rank - 2])
        return turned
    count = raw.Rank(matrix)
    last = raw.Pack([raw.Sub(count, 1), raw.Sub(count, 2)])
    order = raw.ConcatV2([raw.Range(0, raw.Sub(count, 2), 1), last], 0)
    found: Tensor = raw.Transpose(matrix, order)
    return found


def _adjoint(matrix: Tensor, raw: Raw) -> Tensor:
    """Return the adjoint of each matrix, which is the transpose of a real one."""
    turned = _turned(matrix, raw)
    found: Tensor = raw.Conj(turned) if matrix.dtype.is_complex else turned
    return found


def _product(*factors: Tensor, raw: Raw) -> Tensor:
    first, *others = factors
    for factor in others:
        first = raw.BatchMatMul(first, factor)
    return first


def _given(op: Op, grads: Gradients, raw: Raw) -> list[Tensor]:
    """Return the gradient of each output. It is zero if nothing depends on the output."""
    return [
        raw.ZerosLike(output) if grad is None else grad
        for output, grad in zip(op.outputs, grads, strict=True)
    ]


def _gaps(values: Tensor, raw: Raw) -> Tensor:
    """Return 1 / (v_j - v_i) for each two values of a vector, and 0 on the diagonal."""
    gaps = raw.Sub(raw.ExpandDims(values, -2), raw.ExpandDims(values, -1))
    found: Tensor = raw.MatrixSetDiag(raw.Reciprocal(gaps), raw.ZerosLike(values))
    return found


def inverse(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    inverse = op.outputs[0]
    if op.get_attr("adjoint"):
        product = raw.BatchMatMul(grads[0], inverse, adj_x=True)
        return (raw.Neg(raw.BatchMatMul(inverse, product)),)
    product = raw.BatchMatMul(grads[0], inverse, adj_y=True)
    return (raw.Neg(raw.BatchMatMul(inverse, product, adj_x=True)),)


def _scaled_inverse(scale: Tensor, op: Op, raw: Raw) -> Tensor:
    """Return the inverse of each adjoint, times a number for each matrix."""
    inverse = raw.MatrixInverse(op.inputs[0], adjoint=True)
    sizes = raw.ConcatV2([raw.Shape(op.outputs[0]), np.array([1, 1], np.int32)], 0)
    found: Tensor = raw.Mul(raw.Reshape(scale, sizes), inverse)
    return found


def square_root(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Solve the Sylvester equation R dR + dR R = dA for the root R, as a system of its elements."""
    (root,), (grad,) = op.outputs, grads
    shape = raw.Shape(root)
    batch = raw.StridedSlice(shape, [0], [-2], [1], begin_mask=1)
    count, side = raw.Prod(batch, 0), raw.StridedSlice(shape, [-1], [0], [1], shrink_axis_mask=1)
    area, one = raw.Mul(side, side), np.int32(1)
    matrices = raw.Reshape(root, raw.Pack([count, side, side]))
    identity = raw.MatrixDiag(raw.OnesLike(raw.MatrixDiagPart(matrices)))

    def kronecker(first: Tensor, second: Tensor) -> Tensor:
        rows = raw.Reshape(first, raw.Pack([count, side, one, side, one]))
        columns = raw.Reshape(second, raw.Pack([count, one, side, one, side]))
        found: Tensor = raw.Reshape(raw.Mul(rows, columns), raw.Pack([count, area, area]))
        return found

    system = raw.Add(
        kronecker(identity, raw.Transpose(matrices, [0, 2, 1])), kronecker(matrices, identity)
    )
    turned = raw.Transpose(raw.Reshape(grad, raw.Pack([count, side, side])), [0, 2, 1])
    solved = raw.MatrixSolve(system, raw.Reshape(turned, raw.Pack([count, area, one])))
    found = raw.Transpose(raw.Reshape(solved, raw.Pack([count, side, side])), [0, 2, 1])
    return (raw.Reshape(found, shape),)


def determinant(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (_scaled_inverse(raw.Mul(grads[0], op.outputs[0]), op, raw),)


def log_determinant(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (_scaled_inverse(_given(op, grads, raw)[1], op, raw),)


def cholesky(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Return the self-adjoint gradient (Murray, arXiv:1602.07527)."""
    factor = op.outputs[0]
    two = raw.Cast(2, DstT=factor.dtype)

    def over_factor(matrix: Tensor) -> Tensor:
        """Return the adjoint of a matrix, times the inverse of the factor."""
        return _adjoint(raw.MatrixTriangularSolve(factor, matrix, adjoint=True), raw)

    product = raw.BatchMatMul(factor, grads[0], adj_x=True)
    halved = raw.MatrixSetDiag(product, raw.Div(raw.MatrixDiagPart(product), two))
    lower = raw.MatrixBandPart(halved, np.int64(-1), np.int64(0))
    unsymmetric = over_factor(over_factor(lower))
    return (raw.Div(raw.Add(unsymmetric, _adjoint(unsymmetric, raw)), two),)


def solve(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    matrix, solution = op.inputs[0], op.outputs[0]
    attrs = {"lower": op.get_attr("lower")} if op.type == "MatrixTriangularSolve" else {}
    is_adjoint = op.get_attr("adjoint")
    by_rhs = getattr(raw, op.type)(matrix, grads[0], adjoint=not is_adjoint, **attrs)
    pair = (solution, by_rhs) if is_adjoint else (by_rhs, solution)
    by_matrix = raw.Neg(raw.BatchMatMulV2(*pair, adj_y=True))
    if attrs:
        band = (-1, 0) if attrs["lower"] else (0, -1)
        by_matrix = raw.MatrixBandPart(by_matrix, *map(np.int64, band))
    return unbroadcast.batches(op.inputs, (by_matrix, by_rhs), raw)


def least_squares(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Differentiate the normal equations, whose matrix is regularized and symmetric."""
    matrix, rhs, penalty = op.inputs
    solution, [grad] = op.outputs[0], _given(op, grads, raw)
    known = _sizes(matrix)
    if known is None:
        raise NotImplementedError(
            "The gradient of MatrixSolveLs needs the static numbers of rows and columns"
        )
    is_tall = known[0] >= known[1]
    turned = _turned(matrix, raw)
    gram = _product(turned, matrix, raw=raw) if is_tall else _product(matrix, turned, raw=raw)
    diagonal = raw.MatrixDiagPart(gram)
    gram = raw.MatrixSetDiag(
        gram, raw.Add(diagonal, raw.Cast(penalty, DstT=matrix.dtype.base_dtype))
    )
    if is_tall:
        inner = raw.MatrixSolve(gram, grad)
        both = raw.BatchMatMul(solution, inner, adj_y=True)
        both = raw.Add(both, _turned(both, raw))
        by_matrix = raw.Sub(
            raw.BatchMatMul(rhs, inner, adj_y=True), _product(matrix, both, raw=raw)
        )
        return by_matrix, _product(matrix, inner, raw=raw), None
    by_rhs = raw.MatrixSolve(gram, _product(matrix, grad, raw=raw))
    inner = raw.MatrixSolve(gram, rhs)
    rest = raw.Sub(grad, raw.BatchMatMul(matrix, by_rhs, adj_x=True))
    by_matrix = raw.Sub(
        raw.BatchMatMul(inner, rest, adj_y=True),
        _product(by_rhs, raw.BatchMatMul(inner, matrix, adj_x=True), raw=raw),
    )
    return by_matrix, by_rhs, None


def qr(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    q, r = op.outputs
    if q.dtype.is_complex:
        raise NotImplementedError(f"QrGrad not implemented for dtype: {q.dtype}")
    known = _sizes(r)
    if known is None or known[0] != known[1]:
        raise NotImplementedError(
            "The gradient of Qr needs a static shape, and a matrix r that is square"
        )
    by_q, by_r = _given(op, grads, raw)

    def over_r(matrix: Tensor) -> Tensor:
        """Multiply by the inverse of the adjoint of r."""
        solved = raw.MatrixTriangularSolve(r, _turned(matrix, raw), lower=False)
        return _turned(solved, raw)

    inner = raw.BatchMatMul(q, by_q, adj_x=True)
    outer = raw.BatchMatMul(r, by_r, adj_y=True)
    total = raw.Add(raw.Sub(inner, _turned(inner, raw)), raw.Sub(outer, _turned(outer, raw)))
    lower = raw.MatrixBandPart(total, np.int64(-1), np.int64(0))
    first = _product(q, raw.Add(by_r, over_r(lower)), raw=raw)
    return (raw.Add(first, over_r(raw.Sub(by_q, _product(q, inner, raw=raw)))),)


def eigen(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    has_vectors = op.get_attr("compute_v")
    if has_vectors:
        by_values, by_vectors = _given(op, grads, raw)
        values, vectors = op.outputs
        turns = raw.Mul(_gaps(values, raw), raw.BatchMatMul(vectors, by_vectors, adj_x=True))
        middle = raw.Add(raw.MatrixDiag(by_values), turns)
    else:
        _, vectors = raw.SelfAdjointEigV2(op.inputs[0])
        middle = raw.MatrixDiag(grads[0])
    unsymmetric = raw.BatchMatMul(_product(vectors, middle, raw=raw), vectors, adj_y=True)
    adjoint = rules.conjugate(_turned(unsymmetric, raw), raw)
    # The op reads the lower triangle only.
    lower = raw.MatrixBandPart(raw.Add(unsymmetric, adjoint), np.int64(-1), np.int64(0))
    half = raw.Div(raw.MatrixDiagPart(lower), raw.Cast(2, DstT=lower.dtype))
    return (raw.MatrixSetDiag(lower, half),)


def any_eigen(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Differentiate A V = V E (Boeddeker et al., https://arxiv.org/abs/1701.00392, 4.77).

    The eigenvectors have norm 1, so their changes along themselves do not count.
    """
    x = op.inputs[0]
    if op.get_attr("compute_v"):
        by_values, by_vectors = _given(op, grads, raw)
        values, vectors = op.outputs
        turns = raw.BatchMatMul(vectors, by_vectors, adj_x=True)
        lengths = raw.Real(raw.MatrixDiagPart(turns), Tout=turns.dtype.real_dtype)
        along = raw.MatrixDiag(raw.Cast(lengths, DstT=turns.dtype))
        kept = raw.BatchMatMul(vectors, _product(vectors, along, raw=raw), adj_x=True)
        turned = raw.Mul(raw.Conj(_gaps(values, raw)), raw.Sub(turns, kept))
        middle = raw.Add(raw.MatrixDiag(by_values), turned)
    else:
        _, vectors = raw.Eig(x, Tout=op.outputs[0].dtype)
        middle = raw.MatrixDiag(grads[0])
    adjoint = _adjoint(vectors, raw)
    result = raw.MatrixSolve(adjoint, _product(middle, adjoint, raw=raw))
    if x.dtype.is_complex:
        return (raw.Cast(result, DstT=x.dtype),)
    return (raw.Cast(raw.Real(result, Tout=result.dtype.real_dtype), DstT=x.dtype),)


def svd(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Differentiate A = U S V^T (Giles 2008; Townsend, "Differentiating the SVD", 2016)."""
    if not op.get_attr("compute_uv"):
        _, u, v = raw.Svd(op.inputs[0])
        return (raw.BatchMatMul(_product(u, raw.MatrixDiag(grads[0]), raw=raw), v, adj_y=True),)
    if op.inputs[0].dtype.is_complex:
        raise NotImplementedError(
            "SVD gradient is not implemented for complex types and compute_uv=True."
        )
    known = _sizes(op.inputs[0])
    if known is None:
        raise NotImplementedError(
            "SVD gradient has not been implemented for input with unknown inner matrix shape."
        )
    rows, columns = known
    if op.get_attr("full_matrices") and rows != columns:
        raise NotImplementedError(
            "The gradient of Svd with full_matrices needs square matrices, not "
            f"{rows} x {columns}. Call it without full_matrices"
        )
    s, u, v = op.outputs
    by_s, by_u, by_v = _given(op, grads, raw)
    gaps = _gaps(raw.Square(s), raw)

    def turns(vectors: Tensor, by_vectors: Tensor) -> Tensor:
        found = raw.Mul(gaps, raw.BatchMatMul(vectors, by_vectors, adj_x=True))
        both: Tensor = raw.Add(found, _turned(found, raw))
        return both

    scale = raw.MatrixDiag(s)
    middle = raw.Add(_product(turns(u, by_u), scale, raw=raw), raw.MatrixDiag(by_s))
    middle = raw.Add(middle, _product(scale, turns(v, by_v), raw=raw))
    result = raw.BatchMatMul(_product(u, middle, raw=raw), v, adj_y=True)
    inverse = raw.MatrixDiag(raw.Reciprocal(s))
    if rows > columns:
        rest = raw.Sub(by_u, _product(u, raw.BatchMatMul(u, by_u, adj_x=True), raw=raw))
        result = raw.Add(result, raw.BatchMatMul(_product(rest, inverse, raw=raw), v, adj_y=True))
    elif rows < columns:
        rest = raw.Sub(by_v, _product(v, raw.BatchMatMul(v, by_v, adj_x=True), raw=raw))
        result = raw.Add(result, raw.BatchMatMul(_product(u, inverse, raw=raw), rest, adj_y=True))
    return (result,)
