"""Rows of ops that reverse, list and count elements, and of diagonals and bands of matrices."""

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import facts
from capstan.framework.opdef import (
    GradientRule,
    Gradients,
    Op,
    OpDef,
    Raw,
    ShapeContext,
    ShapeRule,
    define,
)
from capstan.framework.ops import rules, typesets


def _reversed(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return raw.ReverseV2(grads[0], op.inputs[1]), None


def _reversed_sequence(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    attrs = {name: op.get_attr(name) for name in ("seq_dim", "batch_dim")}
    return raw.ReverseSequence(grads[0], op.inputs[1], **attrs), None


def _line(ctx: ShapeContext) -> rules.Shapes:
    count = ctx.constant(2)
    if count is not None and count <= 0:
        raise ValueError(f"Requires num > 0: {int(count)}")
    return ((None if count is None else int(count),),)


def _counted(ctx: ShapeContext) -> rules.Shapes:
    places = rules.with_rank(ctx.inputs[0], 1)
    return ((None,), places, (None,))


def _vectors(ctx: ShapeContext) -> rules.Shapes:
    return ((None,), (None,))


def _reversed_shape(ctx: ShapeContext) -> rules.Shapes:
    """Require different axes of the tensor."""
    shape, axes = ctx.inputs[0], ctx.constant(1)
    shapes.with_rank(ctx.inputs[1], 1)
    if shape is None or axes is None:
        return (shape,)
    seen = set()
    for index, axis in enumerate(axes.tolist()):
        at = axis + len(shape) if axis < 0 else axis
        if not 0 <= at < len(shape):
            raise ValueError(
                f"'axis'[{index}] = {axis} is out of valid range [0, {len(shape) - 1}]"
            )
        if at in seen:
            raise ValueError(f"axis {at} specified more than once.")
        seen.add(at)
    return (shape,)


def _reversed_sequence_shape(ctx: ShapeContext) -> rules.Shapes:
    """Require a length for each example of the batch."""
    shape, (count,) = ctx.inputs[0], rules.with_rank(ctx.inputs[1], 1)
    if shape is None:
        return (None,)
    sequence, batch = ctx.attrs["seq_dim"], ctx.attrs["batch_dim"]
    for name, axis in (("batch_dim", batch), ("seq_dim", sequence)):
        if axis >= len(shape):
            raise ValueError(f"{name} must be < input rank: {axis} vs. {len(shape)}")
    size = shapes.merge_dimension(shape[batch], count)
    return ((*shape[:batch], size, *shape[batch + 1 :]),)


def _bins(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[1], 0)
    size = ctx.constant(1)
    return ((None if size is None else int(size),),)


def _matrix_diag(ctx: ShapeContext) -> rules.Shapes:
    diagonal = shapes.with_rank_at_least(ctx.inputs[0], 1)
    return (None if diagonal is None else (*diagonal, diagonal[-1]),)


def _matrix_diag_part(ctx: ShapeContext) -> rules.Shapes:
    matrix = shapes.with_rank_at_least(ctx.inputs[0], 2)
    return (None if matrix is None else (*matrix[:-2], _smaller(*matrix[-2:])),)


def _smaller(rows: int | None, columns: int | None) -> int | None:
    return None if rows is None or columns is None else min(rows, columns)


def _set_diag(ctx: ShapeContext) -> rules.Shapes:
    matrix = shapes.with_rank_at_least(ctx.inputs[0], 2)
    shapes.with_rank_at_least(ctx.inputs[1], 1)
    if matrix is not None:
        shapes.merge(
            shapes.with_rank(ctx.inputs[1], len(matrix) - 1), (*matrix[:-2], _smaller(*matrix[-2:]))
        )
    return (matrix,)


def _diag(ctx: ShapeContext) -> rules.Shapes:
    diagonal = shapes.with_rank_at_least(ctx.inputs[0], 1)
    return (None if diagonal is None else diagonal + diagonal,)


def _diag_part(ctx: ShapeContext) -> rules.Shapes:
    tensor = ctx.inputs[0]
    if tensor is None:
        return (None,)
    half = len(tensor) // 2
    if len(tensor) % 2 or not half:
        raise ValueError(f"Input must have even and non-zero rank, input rank is {len(tensor)}")
    return (shapes.merge(tensor[:half], tensor[half:]),)


def _checked(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    message = b"Not a number (NaN) or infinity (Inf) values detected in gradient. "
    return (raw.CheckNumerics(grads[0], message=message + op.get_attr("message")),)


def _ensured(ctx: ShapeContext) -> rules.Shapes:
    return (shapes.merge(ctx.inputs[0], ctx.attrs["shape"].internal),)


def _set_diag_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (_, diagonal) = grads, op.inputs
    return raw.MatrixSetDiag(grad, raw.ZerosLike(diagonal)), raw.MatrixDiagPart(grad)


def _part_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.MatrixSetDiag(raw.ZerosLike(op.inputs[0]), grads[0]),)


define(
    OpDef(
        "ReverseV2",
        ("tensor: T", "axis: Tidx"),
        ("output: T",),
        attrs={"Tidx": dtypes.int32},
        shape=_reversed_shape,
        gradient=_reversed,
        types={"T": typesets.COMPARABLE, "Tidx": typesets.INDEX},
        host=("axis",),
    )
)
define(
    OpDef(
        "ReverseSequence",
        ("input: T", "seq_lengths: Tlen"),
        ("output: T",),
        attrs={"seq_dim": int, "batch_dim": 0, "Tlen": dtypes.int64},
        shape=_reversed_sequence_shape,
        gradient=_reversed_sequence,
        types={"Tlen": typesets.INDEX},
    )
)
define(
    OpDef(
        "LinSpace",
        ("start: T", "stop: T", "num: Tidx"),
        ("output: T",),
        attrs={"Tidx": dtypes.int32},
        shape=_line,
        not_differentiable=True,
        types={"T": (dtypes.bfloat16, *typesets.WIDE), "Tidx": typesets.INDEX},
        host=("start", "stop", "num", "output"),
    )
)
define(
    OpDef(
        "UniqueWithCounts",
        ("x: T",),
        ("y: T", "idx: out_idx", "count: out_idx"),
        attrs={"out_idx": dtypes.int32},
        shape=_counted,
        not_differentiable=True,
        types={"T": typesets.COMPARABLE, "out_idx": typesets.INDEX},
    )
)
define(
    OpDef(
        "ListDiff",
        ("x: T", "y: T"),
        ("out: T", "idx: out_idx"),
        attrs={"out_idx": dtypes.int32},
        shape=_vectors,
        not_differentiable=True,
        types={"T": typesets.COMPARABLE, "out_idx": typesets.INDEX},
    )
)
define(
    OpDef(
        "Bincount",
        ("arr: int32", "size: int32", "weights: T"),
        ("bins: T",),
        shape=_bins,
        not_differentiable=True,
        types={"T": (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)},
        host=("size",),
    )
)
_MATRICES = (*typesets.FIELD, dtypes.bool_)
_DIAGONALS: tuple[tuple[str, ShapeRule, GradientRule], ...] = (
    ("MatrixDiag", _matrix_diag, lambda op, grads, raw: (raw.MatrixDiagPart(grads[0]),)),
    ("Diag", _diag, lambda op, grads, raw: (raw.DiagPart(grads[0]),)),
    ("MatrixDiagPart", _matrix_diag_part, _part_grad),
    ("DiagPart", _diag_part, lambda op, grads, raw: (raw.Diag(grads[0]),)),
)
for _name, _shape, _gradient in _DIAGONALS:
    _is_part = _name.endswith("Part")
    define(
        OpDef(
            _name,
            ("input: T" if _is_part else "diagonal: T",),
            ("diagonal: T" if _is_part else "output: T",),
            shape=_shape,
            gradient=_gradient,
            types={"T": _MATRICES if _name.startswith("Matrix") else typesets.FIELD},
        )
    )
define(
    OpDef(
        "MatrixSetDiag",
        ("input: T", "diagonal: T"),
        ("output: T",),
        shape=_set_diag,
        gradient=_set_diag_grad,
        types={"T": _MATRICES},
    )
)
define(
    OpDef(
        "MatrixBandPart",
        ("input: T", "num_lower: Tindex", "num_upper: Tindex"),
        ("band: T",),
        attrs={"Tindex": dtypes.int64},
        shape=rules.unchanged,
        gradient=lambda op, grads, raw: (
            raw.MatrixBandPart(grads[0], op.inputs[1], op.inputs[2]),
            None,
            None,
        ),
        types={"T": _MATRICES, "Tindex": typesets.INDEX},
        host=("num_lower", "num_upper"),
    )
)
define(
    OpDef(
        "CheckNumerics",
        ("tensor: T",),
        ("output: T",),
        attrs={"message": bytes},
        shape=rules.unchanged,
        effect=facts.EXTERNAL,
        gradient=_checked,
        types={"T": typesets.FLOATING},
    )
)
define(
    OpDef(
        "EnsureShape",
        ("input: T",),
        ("output: T",),
        attrs={"shape": tensor_shape.TensorShape},
        shape=_ensured,
        effect=facts.EXTERNAL,
        gradient=lambda op, grads, raw: (grads[0],),
    )
)
