"""The row of `Einsum`, sums of products by the labels of axes (core/ops/linalg_ops.cc).

Its gradient is that of python/ops/linalg_grad.py.
"""

from typing import Any

from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import einsum_equation, rules, typesets, unbroadcast
from capstan.framework.ops.einsum_equation import ELLIPSIS, Labels


def _shape(ctx: ShapeContext) -> rules.Shapes:
    equation = einsum_equation.parse(ctx.attrs["equation"])
    known = [
        rules.with_rank(shape, len(labels)) if ELLIPSIS not in labels else shape
        for shape, labels in zip(ctx.inputs, equation.operands, strict=False)
    ]
    ranked = [shape for shape in known if shape is not None]
    if len(ranked) < len(ctx.inputs):
        return (None,)
    expanded = equation.expanded(list(map(len, ranked)))
    sizes = einsum_equation.sizes_of(expanded, ranked)
    return (einsum_equation.shape_of(expanded.output, sizes),)


def _gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    equation, grad = einsum_equation.parse(op.get_attr("equation")), grads[0]
    output = equation.output
    if len(op.inputs) == 1:
        return (_spread(grad, output, equation.operands[0], op.inputs[0], raw),)
    # An operand without an ellipsis is broadcast too if the output has one.
    is_broadcasting = ELLIPSIS in output
    labels = [
        (*each, ELLIPSIS) if is_broadcasting and ELLIPSIS not in each else each
        for each in equation.operands
    ]
    x, y = rules.conjugates(op, raw)
    slopes = [
        _slope(grad, output, (y, labels[1]), (op.inputs[0], labels[0]), raw),
        _slope(grad, output, (x, labels[0]), (op.inputs[1], labels[1]), raw),
    ]
    return _unbroadcast(op, slopes, labels, raw) if is_broadcasting else slopes


def _slope(
    grad: Any, output: Labels, other: tuple[Any, Labels], wanted: tuple[Any, Labels], raw: Raw
) -> Any:
    """Return the gradient of the operand `wanted`. Each operand comes with its labels."""
    kept = tuple(label for label in wanted[1] if label in output or label in other[1])
    product = raw.Einsum([grad, other[0]], equation=_text([output, other[1]], kept))
    return product if kept == wanted[1] else _spread(product, kept, wanted[1], wanted[0], raw)


def _spread(grad: Any, labels: Labels, wanted: Labels, tensor: Any, raw: Raw) -> Any:
    """Return the gradient of a tensor that was summed over the labels that `grad` lacks."""
    summed = tuple(dict.fromkeys(label for label in wanted if label not in labels))
    summed = tuple(label for label in summed if label != ELLIPSIS)
    if not summed:
        return raw.Einsum([grad], equation=_text([labels], wanted))
    sizes = raw.Shape(tensor)
    of_labels = [
        raw.StridedSlice(sizes, [axis], [axis + 1], [1], shrink_axis_mask=1)
        for axis in (_axis(wanted, label) for label in summed)
    ]
    ones = raw.Fill(raw.Pack(of_labels), raw.Cast(1, DstT=grad.dtype))
    return raw.Einsum([grad, ones], equation=_text([labels, summed], wanted))


def _axis(labels: Labels, label: str) -> int:
    """Return the first axis of a label, which is below 0 after an ellipsis."""
    at = labels.index(label)
    return at - len(labels) if ELLIPSIS in labels[:at] else at


def _unbroadcast(op: Op, slopes: list[Any], labels: list[Labels], raw: Raw) -> Gradients:
    """Sum the gradients over the axes of the ellipsis along which an operand was repeated."""
    starts = [each.index(ELLIPSIS) for each in labels]
    ends = [start + 1 - len(each) for start, each in zip(starts, labels, strict=True)]
    known = [
        None if shape is None else shape[start : end or None]
        for shape, start, end in zip(
            (tensor.shape.internal for tensor in op.inputs), starts, ends, strict=True
        )
    ]
    if unbroadcast.repeated_axes(known[0], known[1]) == ([], []):
        return slopes
    sizes = [raw.Shape(tensor) for tensor in op.inputs]
    repeated = raw.BroadcastGradientArgs(
        *(
            raw.StridedSlice(size, [start], [end], [1], end_mask=int(end == 0))
            for size, start, end in zip(sizes, starts, ends, strict=True)
        )
    )
    return [
        raw.Reshape(raw.Sum(slope, raw.Add(axes, start)), size)
        for slope, axes, start, size in zip(slopes, repeated, starts, sizes, strict=True)
    ]


def _text(operands: list[Labels], output: Labels) -> str:
    return f"{','.join(map(''.join, operands))}->{''.join(output)}"


define(
    OpDef(
        "Einsum",
        ("inputs: N * T",),
        ("output: T",),
        attrs={"equation": bytes},
        shape=_shape,
        gradient=_gradient,
        types={"T": typesets.FIELD},
        minima={"N": 1},
    )
)
